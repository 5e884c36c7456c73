"""Subjects that draw what their proofs pay for, and of which one hypothesis is false (test_hypotheses.py)."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpaccount.proof import assume_ball, discrete_gaussian, fine_gaussian, linear, mixture
from dpaccount.proof.search import approximate
from mechanisms.buffered_toeplitz import BufferedToeplitz
from mechanisms.gaussian_sum import GaussianSum
from mechanisms.optimal_factor import OptimalFactor
from mechanisms.shared import grid
from mechanisms.sqrt_toeplitz import SqrtToeplitz
from mechanisms.stable_histogram import StableHistogram
from mechanisms.subject import View, shown

DELTA = Fraction(1, 10**6)


HUGE = Fraction(10**6)


@dataclass(frozen=True)
class Spread(StableHistogram):
    """Counts a row in its cell and in the next one."""

    def query(self, data):
        counts = super().query(data)
        return counts + np.roll(counts, 1)


@dataclass(frozen=True)
class SameTwo(StableHistogram):
    """Counts every row that names a cell in two fixed ones: replacing moves as much as going and coming may."""

    def query(self, data):
        found = np.zeros(self.cells, dtype=np.int64)
        found[:2] = super().query(data).sum()
        return found


@dataclass(frozen=True)
class Halved(SqrtToeplitz):
    """Adds half of every vector in its own round, and half in the next one."""

    def play(self, data, noise, coins):
        return super().play((data + np.roll(data, 1, axis=0)) / 2, noise, coins)


@dataclass(frozen=True)
class Late(SqrtToeplitz):
    """Lets every unit enter the round after its own."""

    def play(self, data, noise, coins):
        return super().play(np.roll(data, 1, axis=0), noise, coins)


@dataclass(frozen=True)
class LateDense(OptimalFactor):
    """The same, of an explicit factor."""

    def play(self, data, noise, coins):
        return super().play(np.roll(data, 1, axis=0), noise, coins)


@dataclass(frozen=True)
class HalvedBuffers(BufferedToeplitz):
    """The same as `Halved`, with decaying buffers."""

    def play(self, data, noise, coins):
        return super().play((data + np.roll(data, 1, axis=0)) / 2, noise, coins)


def sums(subject):
    return linear(assume_ball("g", subject.radius, subject.relation, "movement"))


@dataclass(frozen=True)
class Fewer(GaussianSum):
    """Draws as many numbers as it has columns, and says one fewer: their distance would be too small."""

    def proof(self, delta):
        far, step = Fraction(1, 1000), grid.step(self.bits)
        one = fine_gaussian(sums(self), HUGE, step, self.columns - 1, far, "sum")
        return shown(approximate(one, Fraction(1, 10)), "fewer")


@dataclass(frozen=True)
class Both(GaussianSum):
    """Pays for the worst of two parts, of which one is drawn, and draws both."""

    def proof(self, delta):
        step = grid.step(self.bits)
        parts = [discrete_gaussian(sums(self), self.sigma**2, step, key) for key in "ab"]
        return shown(approximate(mixture(*parts), delta), "both")

    def play(self, data, noise, coins):
        return View(public={key: noise.noisy(key, 0, self.query(data)) for key in "ab"})
