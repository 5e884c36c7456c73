"""Planted: range predictors, each broken in one place."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from bandits.private_prediction import covariance
from bandits.private_prediction.predictor import REACH
from bandits.range_predictor import RangePredictor
from dpaccount.proof import assume_covers, assume_range, exponential, nodes, to_pure
from dpaccount.proof.search import approximate
from mechanisms.subject import shown


@dataclass(frozen=True)
class ObservedWidth(RangePredictor):
    """W(c) is taken over the actions and contexts that were observed only."""

    loses: ClassVar[set[str]] = {"assume_range"}

    rounds: int = 4
    actions: int = 3
    contexts: int = 3

    def play(self, data, noise, coins):
        actions = np.random.default_rng(coins).integers(0, self.actions, self.rounds)
        OBSERVED[:] = [self.grid.place_of(data[:, 0], actions)]
        return super().play(data, noise, coins)

    def table(self, matrix, cell):
        rows = self.rows_of(matrix, cell)
        above = rows - rows.min(axis=0)
        return np.floor(above * (REACH / above[:, OBSERVED[0]].max())).astype(np.int64)


OBSERVED: list[np.ndarray] = []


@dataclass(frozen=True)
class RidgeOfData(RangePredictor):
    """τ is the variance of the rewards that were paid, so that every table moves with each of them."""

    loses: ClassVar[set[str]] = {"assume_range"}

    rounds: int = 30
    actions: int = 3
    contexts: int = 3

    def totals(self, data, actions):
        rewards = np.nan_to_num(data[np.arange(len(data)), 1 + actions])
        OBSERVED[:] = [np.array(max(float(np.var(np.clip(rewards, -4, 4))), 1e-6))]
        return super().totals(data, actions)

    def matrix(self, coins):
        return covariance.expected(self.grid, self.rounds, 10 * float(OBSERVED[0]))

    def table(self, matrix, cell):  # in units of the ridge that the proof was made for
        rows = self.rows_of(matrix, cell)
        above = rows - rows.min(axis=0)
        scale = self.widest(above)
        return np.floor(above * (REACH / scale)).astype(np.int64)


@dataclass(frozen=True)
class PriceOfOne(RangePredictor):
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
        return shown(approximate(nodes(leaf, covers), delta), "range-predictor")

    def play(self, data, noise, coins):
        return super().play(data, _OneKey(noise), coins)


class _OneKey:
    """Noise of one leaf for all predictions."""

    def __init__(self, noise):
        self._noise = noise

    def noisy(self, key, part, values):
        return self._noise.noisy("prediction", int(key.rpartition("-")[2]), values)
