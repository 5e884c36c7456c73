"""The posterior of f at every released row, row by row: exact, incremental, without an n × n matrix.

Only queried rows enter it.  Their Cholesky rows are kept over all candidates, so that an answer costs
O(n(t + d)) after t of them, and n × T numbers of memory.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from bandits.outsourced_optimisation.kernels import RowKernel
from bandits.statistics.arrays import Floats

MIN_PIVOT_SHARE = 1e-10  #: share of the scale below which a pivot is rounding, not variance


@dataclass
class RowPosterior:
    """Mean and variance of f at every row of `points` [n, d], after answers at some of them."""

    points: Floats
    kernel: RowKernel
    noise: float  #: variance of an answer, σ_n²
    mean: float = 0.0  #: of the prior
    asked: list[int] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        count = len(self.points)
        self._flat = self.kernel.flat(self.points)
        self._squares = (self._flat**2).sum(axis=1)
        self._rows = np.empty((8, count))  # Cholesky rows V: K_{asked,·} = L V
        self._weights = np.empty(8)  # L⁻¹(y − mean)
        self.means = np.full(count, float(self.mean))
        self.variances = np.full(count, float(self.kernel.scale))

    def tell(self, index: int, answer: float) -> None:
        """Learn the answer at a row: one more Cholesky row."""
        t, rows = len(self.asked), self._room()
        before, at = rows[:t], rows[:t, index].copy()
        pivot = math.sqrt(
            max(self.kernel.scale + self.noise - float(at @ at), MIN_PIVOT_SHARE * self.kernel.scale)
        )
        rows[t] = (self._covariance(index) - at @ before) / pivot
        self._weights[t] = (answer - self.mean - float(at @ self._weights[:t])) / pivot
        self.means += self._weights[t] * rows[t]
        self.variances -= rows[t] ** 2
        self.asked.append(index)
        self.answers.append(answer)

    def _covariance(self, index: int) -> Floats:
        point = self._flat[index]
        squares = np.maximum(self._squares + self._squares[index] - 2 * (self._flat @ point), 0.0)
        covariance = self.kernel.of(squares, self.points.shape[1])
        covariance[index] = self.kernel.scale
        return covariance

    def _room(self) -> Floats:
        if len(self.asked) == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
            self._weights = np.concatenate([self._weights, np.empty_like(self._weights)])
        return self._rows

    def bounds(self, deviations: float) -> Floats:
        """Return mean + `deviations`·√max(variance − floor, 0) at every row; the floor is the row's own."""
        left = self.variances - self.kernel.floor(self.points.shape[1])
        return self.means + deviations * np.sqrt(np.maximum(left, 0.0))
