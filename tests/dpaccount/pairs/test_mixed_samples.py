"""Samples of Gaussian and bounded noise together: by quadrature, by lattices, in both directions."""

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest
from flint import acb, arb

from dpaccount.accounting.account import NARROW
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.methods import exact
from dpaccount.accounting.methods.answer import EpsilonAt
from dpaccount.numerics import sampled_mixed
from dpaccount.numerics.fourier import fourier
from dpaccount.numerics.fourier.contours import MOST_OF_FAMILY, Product
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.sampled_mixed import SampledMixedTransform
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.discrete import DiscreteGaussianPair, GeometricPair, ResponsePair
from dpaccount.pairs.laplace import LaplacePair
from dpaccount.pairs.poisson import SampledPair
from dpaccount.plan.events import DiscreteGaussian, Gaussian, Laplace, Plan, PoissonSubsampled, Pure, Sequence
from tests.depth import deep
from tests.dpaccount.pairs.error_terms import assert_both_matter
from tests.looped import looped

RESPONSE = ((ResponsePair(Fraction(3, 4)).transform(), 2),)
GEOMETRIC = ((GeometricPair(Fraction(2), 3).transform(), 1),)
CASES = {
    "laplace": (Fraction(1, 1000), Fraction(1), (), Fraction(1)),
    "little noise": (Fraction(1, 2), Fraction(9), (), Fraction(2)),
    "finite": (Fraction(1, 20), Fraction(1, 4), RESPONSE, Fraction(0)),
    "both": (Fraction(3, 10), Fraction(1, 2), GEOMETRIC, Fraction(1, 4)),
    "far apart": (Fraction(1, 10), Fraction(1, 25), (), Fraction(3)),
}


def transform(name, *, added=False):
    rate, mu2, inner, loss = CASES[name]
    return SampledMixedTransform(rate, mu2, added=added, inner=inner, loss=loss)


def by_quadrature(factor, power):
    """Return H(power) by FLINT's adaptive quadrature in u for each finite loss, Laplace noise by panels."""
    mu, q, loss = ball(factor.mu2).sqrt(), ball(factor.rate), ball(factor.loss)

    def given(t):
        def integrand(u, analytic):
            z = 1 + q * (u * mu - mu * mu / 2 + t).expm1()
            return (power * z.log(analytic=analytic) - u * u / 2).exp() / (2 * arb.pi()).sqrt()

        ends = [-30, -4, 0, 4, 40]
        return sum((acb.integral(integrand, acb(a), acb(b)) for a, b in itertools.pairwise(ends)), acb(0))

    integral = acb(0)
    for at, mass in factor.bounded().items():
        if not factor.loss:
            integral += mass * given(ball(at))
            continue
        middle = ball(at)
        integral += mass * (given(middle - loss) + (-loss).exp() * given(middle + loss)) / 2
        nodes = [arb.legendre_p_root(12, k, weight=True) for k in range(12)]
        integral += sum(
            (
                w * loss * (-(loss + x * loss) / 2).exp() / 4 * mass * given(middle + x * loss)
                for x, w in nodes
            ),
            acb(0),
        )
    return integral


@deep
@pytest.mark.parametrize("name", CASES)
def test_the_transform_is_that_of_the_mixture(name):
    factor = transform(name)
    with precision(80):
        line = factor.nodes(arb(2), arb("1.5"), 3)
        assert abs(line[0].real / factor.value(arb(2)) - 1) < arb("1e-18")
        for n in (0, 2):
            true = by_quadrature(factor, acb(3, n * arb("1.5")))
            # twelve nodes on Laplace noise know about ten digits
            assert abs(line[n] - true) < arb("1e-8") * abs(line[0]) + arb("1e-15")
        assert factor.value(arb(0)).overlaps(arb(1))
        back = transform(name, added=True)
        assert back.value(arb(-1)).overlaps(factor.value(arb(0)))
        assert back.value(arb(2)).overlaps(factor.value(arb(-3)))
        assert abs(factor.log_m(2.0, 5) - float(5 * factor.value(arb(2)).log())) < 1e-6


@deep
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("added", [False, True])
def test_the_decay_bounds_the_transform(name, added):
    factor = transform(name, added=added)
    with precision(80):
        decay, h = factor.decay(arb(2), 3.0), arb("0.71")
        values = factor.nodes(arb(2), h, 60)
        for n in range(1, 60, 3):
            assert not decay.far(n * h) < abs(values[n]) / values[0].real
        assert decay.far(arb(10) ** 9) < arb("0.2")


@deep
def test_parts_bound_the_transform_by_themselves():
    """Without the table of nodes: (1 − p_b) + V_b/t for every cut."""
    for name in CASES:
        for added in (False, True):
            factor = transform(name, added=added)
            with precision(80):
                values = factor.nodes(arb(3), arb(2), 60)
                for n in range(1, 60, 7):
                    size = float((abs(values[n]) / values[0].real).lower())
                    assert all(rest + v / (2 * n) >= size for rest, v in factor.by_parts(arb(3)))


def test_both_error_terms_of_the_line_matter(monkeypatch):
    assert_both_matter(transform("laplace").tilted(arb(4)), monkeypatch)


@deep
@pytest.mark.parametrize("name", ["laplace", "both"])
@pytest.mark.parametrize("added", [False, True])
def test_a_lattice_encloses_what_inversion_encloses(name, added, monkeypatch):
    rate, mu2, _, loss = CASES[name]
    pairs = ((GeometricPair(Fraction(2), 3), 1),) if name == "both" else ()
    inner = Composition((mu2, mu2), (*pairs, (LaplacePair(loss), 1)))
    total = Composition(pairs=((SampledPair(rate, inner, added=added), 20),))
    target = Fraction(1, 1000)
    close = exact.by_inversion(total, EpsilonAt(target, Fraction(1, 10**6)))
    monkeypatch.setattr(SampledPair, "summed_transform", lambda _: None)
    wide = exact.by_lattice(total, EpsilonAt(target, Fraction(1, 100)))
    assert close.upper - close.lower <= Fraction(1, 10**6)
    assert wide.lower <= close.upper
    assert close.lower <= wide.upper
    assert wide.upper - wide.lower < Fraction(1, 5)


def mixed(count, rate="0.1", sigma=2, scale=4):
    inside = Sequence(of=(Gaussian(sigma=sigma), Laplace(scale=scale)))
    return PoissonSubsampled(rate=rate, of=inside, count=count)


@deep
def test_mixed_samples_are_narrow_and_cost_more_with_more():
    def cost(*events):
        epsilon = Accountant(Plan("add-remove", events)).epsilon("1e-6")
        assert epsilon.upper - epsilon.lower <= NARROW * max(1, epsilon.upper)
        return epsilon

    thousand = cost(mixed(1000))
    assert cost(mixed(900)).upper < thousand.lower
    assert cost(mixed(1000, rate="0.09")).upper < thousand.lower
    assert cost(mixed(1000, scale=5)).upper < thousand.lower
    alone = PoissonSubsampled(rate="0.1", of=Gaussian(sigma=2), count=1000)
    assert cost(alone).upper < thousand.lower
    assert thousand.upper < cost(mixed(1000), Pure(epsilon="0.01")).lower


def test_losses_too_many_for_a_sum_are_left_to_lattices():
    inner = Composition((Fraction(1), Fraction(1)), ((LaplacePair(Fraction(1)), 2),))
    assert SampledPair(Fraction(1, 10), inner).summed_transform() is None
    many = Composition((Fraction(1), Fraction(1)), ((GeometricPair(Fraction(2), 3), 9),))
    assert SampledPair(Fraction(1, 10), many).summed_transform() is None
    failing = Composition((Fraction(1), Fraction(1)), failures=((Fraction(1, 10), 1),))
    assert SampledPair(Fraction(1, 10), failing).summed_transform() is None
    between = Composition((Fraction(1), Fraction(2)), ((LaplacePair(Fraction(1)), 1),))
    assert SampledPair(Fraction(1, 10), between).summed_transform() is None
    assert sampled_mixed.MOST_ATOMS < 4**9


# ------------------------------------------------------------------ what lattices are left with


@deep
@pytest.mark.parametrize(
    ("rate", "noise", "known"),  # ε of 100 such releases by Fourier inversion of a quadrature, to 1e-6
    [
        ("0.1", (Laplace(scale=2), PoissonSubsampled(rate="0.5", of=Gaussian(sigma=1))), 5.3095115),
        ("0.01", (Pure(epsilon="0.5"), PoissonSubsampled(rate="0.1", of=Gaussian(sigma=2))), 0.1972489),
        ("0.1", (DiscreteGaussian(sigma=20), Gaussian(sigma=10)), 0.4580435),
        ("0.1", (DiscreteGaussian(sigma=40), Laplace(scale=4), Gaussian(sigma=3)), 2.0435453),
    ],
)
def test_subsampled_or_discrete_noise_beside_other_noise_is_left_to_lattices(rate, noise, known):
    plan = Plan("add-remove", (PoissonSubsampled(rate=rate, of=Sequence(of=noise), count=100),))
    found = Accountant(plan).epsilon("1e-6")
    assert found.lower < known < found.upper < 1.002 * known


@deep
def test_what_stands_for_a_large_family_costs_no_less_than_it():
    """Their bounded losses differ, so that μ² alone does not order these transforms."""
    parts = tuple(
        (SampledMixedTransform(Fraction(1, 10), 1 + Fraction(k, 999), loss=Fraction(9 - k % 9, 9)), 1)
        for k in range(MOST_OF_FAMILY + 2)
    )
    product = Product((Fraction(0), Fraction(0)), parts)
    with precision(60):
        assert not product.above(arb(5)) < product.value(arb(5))


@looped("sigma", ["0.7", "2"])
def test_discrete_noise_is_not_taken_for_continuous_noise(sigma):
    inner = Composition((Fraction(1, 2),) * 2, ((DiscreteGaussianPair(Fraction(sigma), 1), 1),))
    assert SampledPair(Fraction(1, 10), inner).summed_transform() is None


def test_many_factors_are_multiplied_without_widening():
    """One after the other a thousand of them would widen balls by √2 each."""
    with precision(100):
        turn = acb(0, 1).exp()
        found = fourier._multiplied([acb(1), acb(2)], ([turn, turn] for _ in range(1001)))
        assert abs(found[0] - acb(0, 1001).exp()) < arb(2) ** -70
        assert abs(found[1] - 2 * acb(0, 1001).exp()) < arb(2) ** -70


@deep
@pytest.mark.parametrize(
    ("kind", "above"), [("gaussian", Fraction(1, 10**17)), ("laplace", Fraction(1, 10**300))]
)
def test_a_rate_near_one_lies_between_a_smaller_one_and_one(kind, above):
    inside = Gaussian(sigma=1) if kind == "gaussian" else Laplace(scale=1)
    rates = (1 - Fraction(1, 1000), 1 - above)
    less, near = (
        Accountant(PoissonSubsampled(rate=r, of=inside, count=3), relation="add-remove").epsilon("1e-6")
        for r in rates
    )
    whole = Accountant(replace(inside, count=3), relation="add-remove").epsilon("1e-6")
    assert less.upper < near.lower
    assert near.lower <= whole.upper
    assert near.upper >= whole.lower
    assert near.upper - near.lower < Fraction(1, 10**6)
