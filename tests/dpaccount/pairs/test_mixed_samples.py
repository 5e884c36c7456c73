"""Several kinds of noise on one Poisson sample, which lattices compose; large families; rates near one."""

from dataclasses import replace
from fractions import Fraction

import pytest
from flint import acb, arb

from dpaccount.accounting.accountant import Accountant
from dpaccount.numerics.fourier import fourier
from dpaccount.numerics.fourier.contours import MOST_OF_FAMILY, Product
from dpaccount.numerics.fourier.sampled_gaussian import SampledGaussianTransform
from dpaccount.numerics.fourier.sampled_laplace import SampledLaplaceTransform
from dpaccount.numerics.intervals import precision
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.discrete import DiscreteGaussianPair
from dpaccount.pairs.poisson import SampledPair
from dpaccount.plan.events import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Plan,
    PoissonSubsampled,
    Pure,
    Sequence,
)
from tests.dpaccount.pairs.error_terms import assert_both_matter
from tests.looped import looped


def test_both_error_terms_of_the_line_matter(monkeypatch):
    assert_both_matter(SampledGaussianTransform(Fraction(1, 1000), Fraction(1)).tilted(arb(4)), monkeypatch)


# ------------------------------------------------------------------ what lattices are left with


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "noise", "known"),  # ε of 100 such releases by Fourier inversion of a quadrature, to 1e-6
    [
        ("0.1", (Laplace(scale=2), PoissonSubsampled(rate="0.5", of=Gaussian(sigma=1))), 5.3095115),
        ("0.01", (Pure(epsilon="0.5"), PoissonSubsampled(rate="0.1", of=Gaussian(sigma=2))), 0.1972489),
        ("0.1", (DiscreteGaussian(sigma=20), Gaussian(sigma=10)), 0.4580435),
        ("0.1", (Gaussian(sigma=2), Laplace(scale=10)), 2.7442662),
        ("0.01", (Gaussian(sigma=2), DiscreteLaplace(scale=10)), 0.2341741),
        ("0.1", (DiscreteGaussian(sigma=40), Laplace(scale=4), Gaussian(sigma=3)), 2.0435453),
    ],
)
def test_subsampled_or_discrete_noise_beside_other_noise_is_left_to_lattices(rate, noise, known):
    plan = Plan("add-remove", (PoissonSubsampled(rate=rate, of=Sequence(of=noise), count=100),))
    found = Accountant(plan).epsilon("1e-6")
    assert found.lower < known < found.upper < 1.002 * known


@pytest.mark.slow
def test_what_stands_for_a_large_family_costs_no_less_than_it():
    """Their largest losses differ, so that the rate alone does not order these transforms."""
    parts = tuple(
        (SampledLaplaceTransform(rate=Fraction(k + 1, 999), loss=Fraction(9 - k % 9, 9)), 1)
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


@pytest.mark.slow
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
