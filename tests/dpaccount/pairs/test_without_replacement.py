"""Samples of fixed size: what all small data cost, draw by draw, lies within both ends."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpaccount import Accountant, Plan
from dpaccount.plan import events as ev
from tests.looped import looped

FAR = 60  #: beyond which noise has no mass that counts


def law(noise, ones, size, population):
    """The law of the number of ones in a sample, with noise, where so many units are ones."""
    x = np.arange(-FAR, FAR + size + 1)
    found = np.zeros(len(x))
    for sample in itertools.combinations(range(population), size):
        found += noise(x - sum(unit < ones for unit in sample))
    return found / math.comb(population, size)


def worst(noise, size, population, steps, epsilon):
    """δ(ε) of the worst two neighbours, each step from a fresh sample."""
    laws, found = [law(noise, ones, size, population) for ones in range(population + 1)], 0.0
    for pair in itertools.pairwise(laws):
        for there, back in (pair, pair[::-1]):
            p, q = (x if steps == 1 else np.multiply.outer(x, x).ravel() for x in (there, back))
            found = max(found, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
    return found


def geometric(scale):
    ratio = math.exp(-1 / scale)
    return lambda x: (1 - ratio) / (1 + ratio) * ratio ** np.abs(x)


def gaussian(sigma):
    total = sum(math.exp(-(x**2) / (2 * sigma**2)) for x in range(-FAR, FAR + 1))
    return lambda x: np.exp(-(x**2) / (2 * sigma**2)) / total


@looped(
    ("noise", "event"),
    [
        (geometric(1.5), ev.DiscreteLaplace(scale="1.5")),
        (geometric(0.5), ev.DiscreteLaplace(scale="0.5")),
        (gaussian(1), ev.DiscreteGaussian(sigma=1)),
    ],
)
def test_the_worst_small_data_lie_within_both_ends(noise, event):
    for (size, population), steps, at in itertools.product([(1, 3), (3, 4)], (1, 2), ("0", "0.3")):
        drawn = ev.SampledWithoutReplacement(size=size, population=population, of=event, count=steps)
        found = Accountant(Plan("replace-one", drawn)).delta(at, "1e-2")
        truth = worst(noise, size, population, steps, float(at))
        assert found.lower <= truth * (1 + 1e-9)
        assert found.lower > 0 or truth < 1e-12
        assert truth * (1 - 1e-9) <= found.upper
        assert steps == 2 or found.upper <= found.lower * (1 + Fraction(1, 100))


NOISE = (
    ev.Gaussian(sigma=1),
    ev.Laplace(scale=2),
    ev.Pure(epsilon=1),
    ev.Approximate(epsilon=1, delta="1e-7"),
    ev.Sequence(of=(ev.Gaussian(sigma=2), ev.DiscreteLaplace(scale=2))),
)


@looped("of", NOISE)
def test_the_lower_end_is_that_of_a_poisson_sample(of):
    """Alone, and beside another release; Poisson samples are counted under add-remove."""
    for count, more in ((1, ()), (12, (ev.Laplace(scale=3),))):
        fixed = ev.SampledWithoutReplacement(size=1, population=5, of=of, count=count)
        drawn = ev.PoissonSubsampled(rate="1/5", of=of, count=count)
        found = Accountant(Plan("replace-one", (fixed, *more))).epsilon("1e-5", "1e-2")
        least = Accountant(Plan("add-remove", (drawn, *more))).epsilon("1e-5", "1e-2")
        assert least.lower == found.lower <= found.upper
        assert count == 12 or found.upper <= found.lower * (1 + Fraction(1, 100))


@pytest.mark.parametrize(
    "of",
    [
        ev.Exponential(epsilon=1),
        ev.PermuteAndFlip(epsilon=1),
        ev.Zcdp(rho="0.1"),
        ev.Shuffled(epsilon=1, population=4),
        ev.PoissonReplaced(rate="1/2", of=ev.Gaussian(sigma=1)),
        ev.SampledWithoutReplacement(size=1, population=4, of=ev.Gaussian(sigma=1)),
    ],
)
def test_what_is_not_attained_by_a_value_in_the_sample_has_no_lower_end(of):
    drawn = ev.SampledWithoutReplacement(size=4, population=8, of=of)
    assert Accountant(Plan("replace-one", drawn)).epsilon("1e-5", "1e-2").lower is None
    beside = Plan("replace-one", (drawn, ev.SampledWithoutReplacement(size=1, population=8, of=NOISE[0])))
    assert Accountant(beside).epsilon("1e-5", "1e-2").lower is None


def test_a_contour_that_is_no_short_number_is_no_error():
    """Laplace noise on nearly whole samples at a δ near 1: what is kept was found by a rounded number."""
    laplace = ev.SampledWithoutReplacement(size=4, population=5, of=ev.Laplace(scale=1), count=100)
    other = ev.SampledWithoutReplacement(size=1, population=5, of=ev.DiscreteLaplace(scale=2))
    found = Accountant(Plan("replace-one", (laplace, other))).delta("0.1")
    assert 0.99 < found.lower <= found.upper < 1
