"""Samples of bounded noise and subsampled Gaussian noise: by quadrature, by lattices, in both directions."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb

from dpaccount.accounting.account import NARROW
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.methods import exact
from dpaccount.numerics import sampled_nested
from dpaccount.numerics.fourier import sampled_laplace
from dpaccount.numerics.fourier.contours import MOST_OF_FAMILY, Product
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.sampled_mixed import SampledMixedTransform
from dpaccount.numerics.sampled_nested import SampledNestedTransform
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.discrete import GeometricPair
from dpaccount.pairs.laplace import LaplacePair
from dpaccount.pairs.poisson import SampledGaussian, SampledPair
from dpaccount.pairs.response import ResponsePair
from dpaccount.plan.events import Gaussian, Laplace, Plan, PoissonSubsampled, Pure, Sequence
from tests.dpaccount.pairs.error_terms import assert_both_matter

RESPONSE = ((ResponsePair(Fraction(3, 4)).transform(), 2),)
CASES = {
    "laplace": (Fraction(1, 10), Fraction(1), Fraction(1, 2), (), Fraction(1)),
    "rare": (Fraction(1, 1000), Fraction(4), Fraction(1, 100), (), Fraction(1, 3)),
    "finite": (Fraction(1, 20), Fraction(1, 4), Fraction(9, 10), RESPONSE, Fraction(0)),
    "both": (Fraction(3, 10), Fraction(1, 2), Fraction(1, 3), ((RESPONSE[0][0], 1),), Fraction(3, 2)),
}


def transform(name, *, added=False):
    rate, mu2, own, inner, loss = CASES[name]
    return SampledNestedTransform(rate, mu2, added=added, inner=inner, loss=loss, own=own)


def by_quadrature(factor, power):
    """Return H(power) by FLINT's adaptive quadrature in u for each T, Laplace noise by 40 of them."""
    mu, q, own, loss = ball(factor.mu2).sqrt(), ball(factor.rate), ball(factor.own), ball(factor.loss)

    def given(t):
        def integrand(u, analytic):
            z = 1 + q * (t.exp() * (1 + own * (u * mu - mu * mu / 2).expm1()) - 1)
            return (power * z.log(analytic=analytic) - u * u / 2).exp() / (2 * arb.pi()).sqrt()

        ends = [-30, -4, 0, 4, 40]
        return sum((acb.integral(integrand, acb(a), acb(b)) for a, b in itertools.pairwise(ends)), acb(0))

    nodes = [arb.legendre_p_root(40, k, weight=True) for k in range(40)] if factor.loss else []
    integral = acb(0)
    for at, mass in factor.bounded().items():
        middle = ball(at)
        if not factor.loss:
            integral += mass * given(middle)
            continue
        integral += mass * (given(middle - loss) + (-loss).exp() * given(middle + loss)) / 2
        for x, w in nodes:
            integral += w * loss * (-(loss + x * loss) / 2).exp() / 4 * mass * given(middle + x * loss)
    return integral


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_transform_is_that_of_the_mixture(name):
    factor = transform(name)
    with precision(80):
        line = factor.nodes(arb(2), arb("1.5"), 9)
        assert abs(line[0].real / factor.value(arb(2)) - 1) < arb("1e-12")
        for n in (0, 8):
            true = by_quadrature(factor, acb(3, n * arb("1.5")))
            assert abs(line[n] - true) < arb("1e-11") * abs(line[0])
        assert factor.tilted(arb(2)).whole().overlaps(factor.value(arb(2)))  # errors are relative to it
        assert factor.value(arb(0)).overlaps(arb(1))
        assert factor.value(arb(-1)).overlaps(arb(1))
        back = transform(name, added=True)
        assert back.value(arb(2)).overlaps(factor.value(arb(-3)))
        away = by_quadrature(factor, acb(-2, arb(3)))
        assert abs(back.nodes(arb(2), arb(3), 2)[1] - away.conjugate()) < arb("1e-11")
        assert abs(factor.log_m(2.0, 5) - float(5 * factor.value(arb(2)).log())) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("added", [False, True])
def test_noise_on_a_sample_that_holds_nearly_all_is_nearly_noise_without_it(added):
    rate, mu2, _, inner, loss = CASES["laplace"]
    whole = SampledMixedTransform(rate, mu2, added=added, inner=inner, loss=loss)
    own = 1 - Fraction(1, 10**12)
    factor = SampledNestedTransform(rate, mu2, added=added, inner=inner, loss=loss, own=own)
    with precision(100):
        for s in ("0.1", "3", "20", "-7"):
            one, other = factor.value(arb(s)), whole.value(arb(s))
            assert arb(0) < 1 - one / other < arb("1e-10")
        pairs = zip(factor.nodes(arb(3), arb(5), 12), whole.nodes(arb(3), arb(5), 12), strict=True)
        assert all(abs(value - other) < arb("1e-10") * whole.value(arb(3)) for value, other in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("added", [False, True])
def test_the_decay_bounds_the_transform(name, added):
    """Also the bound by parts alone, for every cut, and where powers are large."""
    factor = transform(name, added=added)
    for c in (2, 30):
        with precision(80):
            decay, h = factor.decay(arb(c), 3.0), arb("3.71")
            values = factor.nodes(arb(c), h, 60)
            parts = factor.by_parts(arb(c))
            for n in range(1, 60, 3):
                size = abs(values[n]) / values[0].real
                assert not decay.far(n * h) < size
                assert all(rest + v / (3.71 * n) >= float(size.lower()) for rest, v in parts)
            assert decay.far(arb(10) ** 12) < arb("0.2")


@pytest.mark.parametrize("name", ["laplace", "both"])
def test_the_error_of_the_quadrature_over_laplace_noise_counts(name, monkeypatch):
    """With two nodes on each panel the balls still hold the transform, and without that error they do not."""
    factor = transform(name)
    with precision(80):
        fine = factor.nodes(arb(2), arb(6), 6)
        monkeypatch.setattr(sampled_laplace, "_size", lambda *_: 2)
        coarse = factor.nodes(arb(2), arb(6), 6)
        assert all(rough.overlaps(value) for rough, value in zip(coarse, fine, strict=True))
        monkeypatch.setattr(sampled_laplace, "_missed", lambda *_: arb(0))
        wrong = factor.nodes(arb(2), arb(6), 6)
        assert not any(rough.overlaps(value) for rough, value in zip(wrong, fine, strict=True))


def test_nodes_hold_at_frequencies_above_those_of_a_line():
    """A rule over Laplace noise is proved up to the largest frequency, on which its bounds grow."""
    factor = transform("laplace")
    law = sampled_nested._TiltedNested(factor, arb(3), 10.0)
    assert len(law.terms(arb(-2))) < len(replace(law, most=5000.0).terms(arb(-2)))
    with precision(80):
        near, far = factor.nodes(arb(2), arb(40), 3), factor.nodes(arb(2), arb(40), 60)
        assert all(value.overlaps(other) for value, other in zip(near, far, strict=False))


def test_both_error_terms_of_the_line_matter(monkeypatch):
    assert_both_matter(transform("laplace").tilted(arb(4)), monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("own", [1, Fraction(1, 2)])
def test_what_stands_for_a_large_family_costs_no_less_than_it(own):
    """The losses beside the Gaussian noise differ: no μ² orders such transforms."""
    parts = tuple(
        (
            SampledNestedTransform(
                Fraction(1, 10), 1 + Fraction(k, 999), loss=Fraction(9 - k % 9, 9), own=own
            ),
            1,
        )
        if own < 1
        else (SampledMixedTransform(Fraction(1, 10), 1 + Fraction(k, 999), loss=Fraction(9 - k % 9, 9)), 1)
        for k in range(MOST_OF_FAMILY + 2)
    )
    product = Product((Fraction(0), Fraction(0)), parts)
    with precision(60):
        assert not product.above(arb(5)) < product.value(arb(5))


def nested(count, rate="0.1", own="0.5", sigma=1, scale=1):
    inside = PoissonSubsampled(rate=own, of=Gaussian(sigma=sigma))
    return PoissonSubsampled(rate=rate, of=Sequence(of=(Laplace(scale=scale), inside)), count=count)


def cost(*events, delta="1e-6"):
    epsilon = Accountant(Plan("add-remove", events)).epsilon(delta)
    assert epsilon.upper - epsilon.lower <= NARROW * max(1, epsilon.upper)
    return epsilon


@pytest.mark.slow
def test_nested_samples_are_narrow_and_cost_more_with_more():
    ten = cost(nested(10))
    less = [nested(9), nested(10, rate="0.09"), nested(10, own="0.45"), nested(10, scale="1.1")]
    for event in (*less, nested(10, sigma="1.1")):
        assert cost(event).upper < ten.lower
    for inside in (Laplace(scale=1), PoissonSubsampled(rate="0.5", of=Gaussian(sigma=1))):
        assert cost(PoissonSubsampled(rate="0.1", of=inside, count=10)).upper < ten.lower
    whole = PoissonSubsampled(rate="0.1", of=Sequence(of=(Laplace(scale=1), Gaussian(sigma=1))), count=10)
    assert ten.upper < cost(whole).lower
    assert ten.upper < cost(nested(10), Pure(epsilon="0.01")).lower
    assert cost(replace(nested(10), rate=Fraction(0))).upper == 0


@pytest.mark.slow
@pytest.mark.parametrize("added", [False, True])
def test_a_lattice_encloses_what_inversion_encloses(added, monkeypatch):
    inner = Composition(pairs=((GeometricPair(Fraction(2), 3), 1), (LaplacePair(Fraction(1, 2)), 1)))
    inner = replace(inner, pairs=(*inner.pairs, (SampledGaussian(Fraction(1, 3), Fraction(1, 2)), 1)))
    total = Composition(pairs=((SampledPair(Fraction(1, 5), inner, added=added), 20),))
    target = Fraction(1, 1000)
    close = exact.inverted_epsilon(total, target, Fraction(1, 10**6), Fraction(0))
    monkeypatch.setattr(SampledPair, "summed_transform", lambda _: None)
    wide = exact.lattice_epsilon(total, target, Fraction(1, 100), Fraction(0))
    assert close.upper - close.lower <= Fraction(1, 10**6)
    assert wide.lower <= close.upper
    assert close.lower <= wide.upper
    assert wide.upper - wide.lower < Fraction(1, 5)


@pytest.mark.slow
@pytest.mark.parametrize("added", [False, True])
def test_inversion_agrees_with_convolution_in_floats(added):
    """Losses of a fine mesh, rounded down or up to a grid and convolved, bracket ε, but for the mesh."""
    rate, mu2, own, _, loss = (float(x) if isinstance(x, Fraction) else x for x in CASES["laplace"])
    x, weight = np.polynomial.legendre.leggauss(200)
    t, mass = loss * x, weight * loss * np.exp(-(loss + loss * x) / 2) / 4
    t, mass = np.append(t, [-loss, loss]), np.append(mass, [0.5, 0.5 * math.exp(-loss)])
    u = np.arange(-10, 14, 0.002)
    bell = np.exp(-u * u / 2) * 0.002 / math.sqrt(2 * math.pi)
    z = 1 + rate * np.expm1(np.add.outer(t, np.log1p(own * np.expm1(math.sqrt(mu2) * u - mu2 / 2)))).ravel()
    mass = np.multiply.outer(mass, bell).ravel()
    losses, mass = (-np.log(z), mass) if added else (np.log(z), mass * z)
    step, count, target = 1e-4, 5, 1e-6
    rate, mu2, own, _, loss = CASES["laplace"]
    inner = Composition(pairs=((LaplacePair(loss), 1), (SampledGaussian(own, mu2), 1)))
    total = Composition(pairs=((SampledPair(rate, inner, added=added), count),))
    found = exact.inverted_epsilon(total, Fraction(1, 10**6), Fraction(1, 10**6), Fraction(0))
    for rounded, epsilon, below in ((np.floor, found.upper, True), (np.ceil, found.lower, False)):
        cells = rounded(losses / step).astype(int)
        row = np.bincount(cells - cells.min(), mass)
        size = 1 << (count * len(row) - 1).bit_length()
        whole = np.fft.irfft(np.fft.rfft(row, size) ** count, size)
        at = (np.arange(size) + count * cells.min()) * step
        above = at > float(epsilon)
        delta = float(whole[above] @ -np.expm1(float(epsilon) - at[above]))
        assert delta < target * (1 + 1e-5) if below else delta > target * (1 - 1e-5)


def test_two_subsampled_gaussian_releases_are_left_to_lattices():
    gaussian = SampledGaussian(Fraction(1, 2), Fraction(1))
    for pairs, mu2 in (
        (((LaplacePair(Fraction(1)), 1), (gaussian, 2)), 0),
        (((LaplacePair(Fraction(1)), 2), (gaussian, 1)), 0),
        (((LaplacePair(Fraction(1)), 1), (gaussian, 1)), 1),
        (((gaussian.reversed(), 1), (LaplacePair(Fraction(1)), 1)), 0),
    ):
        inner = Composition((Fraction(mu2), Fraction(mu2)), pairs)
        assert SampledPair(Fraction(1, 10), inner).summed_transform() is None
