"""Planted: USCA, each time broken in one place."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from bandits.private_prediction import covariance
from bandits.private_prediction.predictor import BOUND_STEPS, REACH
from bandits.usca import Usca
from dpaccount.proof import assume_covers, assume_range, exponential, nodes, to_pure
from dpaccount.proof.search import approximate
from mechanisms.subject import shown


@dataclass(frozen=True)
class ObservedZ(Usca):
    """Z is made of the contexts and actions that were observed; the supremum is that of their law."""

    loses: ClassVar[set[str]] = {"assume_range"}

    rounds: int = 100
    actions: int = 2
    contexts: int = 2
    lengthscale: Fraction = Fraction(2, 5)

    def totals(self, data, actions):
        found = self.grid.place_of(data[:, 0], actions)
        COUNTS[:] = [np.bincount(found, minlength=self.grid.places)]
        return super().totals(data, actions)

    def matrix(self, coins):
        return covariance.by_features(self.grid, COUNTS[0], 1, self.ridge)

    def largest(self, matrix):
        places = self.grid.places
        even = covariance.by_features(self.grid, np.full(places, self.rounds / places), 1, self.ridge)
        return super().largest(even)

    def table(self, matrix, cell):
        return np.trunc(self.rows_of(matrix, cell) * (REACH / self.largest(matrix))).astype(np.int64)


COUNTS: list[np.ndarray] = []


@dataclass(frozen=True)
class CoarseSupremum(Usca):
    """sup σ̄² is a maximum over a coarse grid, which misses the places between."""

    loses: ClassVar[set[str]] = {"assume_range"}

    rounds: int = 6
    actions: int = 3
    contexts: int = 3
    lengthscale: Fraction = Fraction(1, 10)
    gamma: Fraction | None = Fraction(1000)

    def largest(self, matrix):
        return float(np.sort(matrix.diagonal())[0])  # the places that Z happens to hold most often

    def table(self, matrix, cell):
        return np.trunc(self.rows_of(matrix, cell) * (REACH / self.largest(matrix))).astype(np.int64)


@dataclass(frozen=True)
class LooseClip(Usca):
    """Rewards are clipped at B + R ln(T/δ) for a small δ; the exponent keeps B."""

    loses: ClassVar[set[str]] = {"assume_range"}

    rounds: int = 6
    actions: int = 3
    contexts: int = 2
    lengthscale: Fraction = Fraction(1, 10)

    def totals(self, data, actions):
        rewards = np.nan_to_num(data[np.arange(len(data)), 1 + actions]) / float(self.bound)
        units = np.trunc(np.clip(rewards, -4, 4) * BOUND_STEPS).astype(np.int64)
        found = np.zeros(self.grid.places, dtype=np.int64)
        np.add.at(found, self.grid.place_of(data[:, 0], actions), units)
        return found


@dataclass(frozen=True)
class PriceOfOne(Usca):
    """Predicts several times and pays once: as if every prediction read records of its own."""

    loses: ClassVar[set[str]] = {"assume_covers"}

    rounds: int = 8
    predictions: int = 4
    actions: int = 3
    contexts: int = 3

    def proof(self, delta):
        moved = assume_range("scores", Fraction(self.width), self.relation, "movement")
        leaf = to_pure(exponential(moved, self.epsilon / self.width, "prediction"))
        each = self.rounds // self.predictions
        reads = [(j * each + 1, (j + 1) * each) for j in range(self.predictions)]
        covers = assume_covers("scores", reads, "movement")
        return shown(approximate(nodes(leaf, covers), delta), "usca")

    def play(self, data, noise, coins):
        return super().play(data, _OneKey(noise), coins)


class _OneKey:
    """Noise of one leaf for all predictions."""

    def __init__(self, noise):
        self._noise = noise

    def noisy(self, key, part, values):
        return self._noise.noisy("prediction", int(key.rpartition("-")[2]), values)
