"""Many different samples of Gaussian noise: what they share, and how close the answer is."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from flint import arb

from dpaccount.accounting import account
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.methods import exact
from dpaccount.accounting.methods.answer import EpsilonAt
from dpaccount.numerics.fourier.contours import Product
from dpaccount.numerics.fourier.sampled_gaussian import SampledGaussianTransform
from dpaccount.numerics.fourier.sampled_laplace import SampledLaplaceTransform
from dpaccount.numerics.intervals import precision
from dpaccount.pairs.of_events import composition_of
from dpaccount.plan.events import DiscreteLaplace, Gaussian, Laplace, Plan, PoissonSubsampled
from tests.depth import deep
from tests.looped import looped

RATES = ("0.001", "0.01", "0.2", "0.9")


def transforms(rng, count):
    """Different samples at one rate, in one direction."""
    rate, added = Fraction(rng.choice(RATES)), rng.random() < 0.5
    squares = {Fraction(round(1000 * rng.uniform(0.05, 4)), 1000) for _ in range(count)}
    return [SampledGaussianTransform(rate, mu2, added=added) for mu2 in squares]


@pytest.mark.parametrize("seed", range(4))
def test_the_costliest_of_a_family_bound_the_moments_of_all(seed):
    rng = random.Random(seed)
    counted = tuple((each, 1 + k % 3) for k, each in enumerate(transforms(rng, 60)))
    product = Product((Fraction(0), Fraction(0)), counted)
    assert len(product._costliest) < len(product.parts)
    for s in (arb(3) / 2, arb(0), arb(-1), arb(-5) / 2):
        with precision(96):
            above, value = product.above(s), product.value(s)
        assert above.upper() >= value.lower()
        most = value.log() + abs(value.log()) / 20 + arb(1) / 100
        assert above.log().lower() <= most.upper()


@looped("seed", range(4))
def test_joint_estimates_are_the_sums_of_single_ones(seed):
    rng = random.Random(seed)
    parts = tuple((each, rng.choice([1, 5])) for each in transforms(rng, 12))
    estimate, left = SampledGaussianTransform.jointly(parts)
    assert not left
    for s in (1e-3, 0.3, 4.0, 30.0, -0.5, -1.7, -8.0):
        single = sum(each.log_m(s, count) for each, count in parts)
        assert estimate(s) == pytest.approx(single, rel=1e-3, abs=1e-9)


@looped("seed", range(4))
def test_joint_estimates_of_laplace_noise_are_the_sums_of_single_ones(seed):
    rng = random.Random(seed)
    parts = tuple(
        (SampledLaplaceTransform(Fraction(rng.randint(1, 900), 1000), Fraction(rng.randint(1, 40), 10)), n)
        for n in rng.choices([1, 5, 10**6], k=12)
    )
    estimate, left = SampledLaplaceTransform.jointly(parts)
    assert not left
    assert SampledLaplaceTransform.jointly(parts[:7]) == (None, parts[:7])
    for s in (1e-3, 0.3, 4.0, 300.0, -0.5, -1.7, -8.0):
        single = sum(each.log_m(s, count) for each, count in parts)
        assert estimate(s) == pytest.approx(single, rel=1e-9, abs=1e-7)


@deep
@pytest.mark.parametrize("delta", ["1e-3", "1e-9"])
@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_different_samples_by_two_methods(kind, delta):
    """By Fourier inversion with a joint table of decays, and by lattices, which know nothing of transforms."""
    noises = [kind(**{"scale" if kind is Laplace else "sigma": 1 + Fraction(k, 5)}) for k in range(8)]
    events = [
        PoissonSubsampled(rate=Fraction(1 + k, 50), of=noise, count=12) for k, noise in enumerate(noises)
    ]
    found = Accountant(Plan("add-remove", events)).worst_epsilon(delta)
    assert found.method == "Fourier inversion"
    assert found.bounds.upper - found.bounds.lower <= Fraction(1, 10**6) * found.bounds.upper
    total = composition_of([(each, 1) for each in events])
    ways = [exact.by_lattice(way, EpsilonAt(Fraction(delta), Fraction(1, 1000))) for way in total.directions]
    low, high = (max(getattr(way, end) for way in ways) for end in ("lower", "upper"))
    assert low <= found.bounds.upper
    assert found.bounds.lower <= high <= low * (1 + Fraction(1, 200))


def steps(count):
    """Different noise levels from 1 to 2, one step each at one rate."""
    sigmas = [1 + Fraction(k, count) for k in range(count)]
    return [PoissonSubsampled(rate="0.01", of=Gaussian(sigma=sigma)) for sigma in sigmas]


@deep
@pytest.mark.parametrize("size", [140, 1000])
def test_samples_at_different_rates_are_enclosed_as_closely(size):
    """Between two dozen sorts they were 3 to 8 % wide, which still are around them."""
    rng = random.Random(size)
    events = [
        PoissonSubsampled(
            rate=Fraction(rng.randint(100, 200), 10**4), of=Gaussian(sigma=1 + Fraction(k, size))
        )
        for k in range(size)
    ]
    found = Accountant(Plan("add-remove", events)).epsilon("1e-6")
    assert found.upper - found.lower <= Fraction(1, 10**6) * max(1, found.upper)
    total = composition_of([(each, 1) for each in events])
    less, more = (
        account.epsilon(each, Fraction(1, 10**6), Fraction(1, 1000)).bounds
        for each in total.bracketing_pairs()
    )
    assert less.lower < found.lower < found.upper < more.upper


@deep
def test_many_samples_are_enclosed_as_closely_as_few():
    """Beyond 133 there were only the ends of two dozen simpler pairs, some per cent apart."""
    plan = Plan("add-remove", steps(140))
    bounds = Accountant(plan).epsilon("1e-6")
    assert bounds.upper - bounds.lower <= Fraction(1, 10**6)
    sevens = [steps(140)[k : k + 7] for k in range(0, 140, 7)]
    above, below = (
        Accountant(Plan("add-remove", [replace(seven[end], count=7) for seven in sevens])) for end in (0, 6)
    )
    assert below.epsilon("1e-6").upper < bounds.lower
    assert bounds.upper < above.epsilon("1e-6").lower


def test_a_contour_that_is_no_short_number_is_no_error():
    """Laplace noise on nearly whole samples at a δ near 1: what is kept was found by a rounded number."""
    laplace = PoissonSubsampled(rate="4/5", of=Laplace(scale="1/2"), count=100)
    other = PoissonSubsampled(rate="1/5", of=DiscreteLaplace(scale=2, sensitivity=2))
    found = Accountant(Plan("add-remove", (laplace, other))).delta("0.1")
    assert 0.99 < found.lower <= found.upper < 1
