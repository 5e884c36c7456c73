"""Covariances of f between rows that a modeler sees: exact rows, or rows with noise of known variance.

k(x, x′) = σ_y² exp(−|x − x′|²/(2l²)).  Where a row is z = x + n, n with variance s² in every coordinate, and
x has a flat prior, k(x_i, x_j) has for i ≠ j the expectation
σ_y² (1 + 2s²/l²)^{−d/2} exp(−|z_i − z_j|²/(2(l² + 2s²))), n taken as Gaussian (an integral over x_i − x_j;
Girard & Murray-Smith 2003); a row has σ_y² with itself.  Where s² differs by coordinate, each has its factor.
"""

from dataclasses import dataclass

import numpy as np

from bandits.statistics.arrays import Floats
from dpaccount.errors import InputError, out_of_range

MAX_KERNEL_NUMBER = 1e100  #: number of a modeler's, so that squares and their sums are doubles


@dataclass(frozen=True)
class RowKernel:
    """The squared-exponential kernel over rows with noise of variance `spread` (s²; 0: none).

    `spread` is one number for every coordinate, or one for each: coordinates that were divided by lengths of
    their own have noise of their own.
    """

    length: float
    scale: float = 1.0
    spread: float | tuple[float, ...] = 0.0

    def __post_init__(self) -> None:
        if not self.length > 0 or not self.scale > 0 or not (np.asarray(self.spread) >= 0).all():
            raise out_of_range("length > 0, scale > 0 and noise variance >= 0")

    def shrunk(self, dimension: int) -> float:
        """Return a = Π(1 + 2s²/l²)^{−1/2} over coordinates: what two rows at one place have in common."""
        spreads = np.broadcast_to(np.asarray(self.spread), dimension)
        return float(np.prod(1 + 2 * spreads / self.length**2) ** -0.5)

    def flat(self, points: Floats) -> Floats:
        """Return points in coordinates in which `of` takes squared distances: each divided by √(l² + 2s²)."""
        return points / np.sqrt(self.length**2 + 2 * np.asarray(self.spread))

    def of(self, squares: Floats, dimension: int) -> Floats:
        """Return the covariance of two different rows at squared distances `squares` of `flat` points."""
        return self.scale * self.shrunk(dimension) * np.exp(-squares / 2)

    def floor(self, dimension: int) -> float:
        """Return (1 − a)σ_y²: variance of a row's own that no other row can take away."""
        return self.scale * (1 - self.shrunk(dimension))


def squared_distances(points: Floats, others: Floats) -> Floats:
    """Return |p − q|² for rows p of `points` and q of `others`, of shape [points, others]."""
    total = (points**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * points @ others.T
    return np.maximum(total, 0.0)


def scaled(points: Floats, lengths: Floats) -> Floats:
    """Return rows with every coordinate divided by its own length, so that one length fits all."""
    if lengths.shape != (points.shape[1],) or not (lengths > 0).all():
        raise out_of_range(f"{points.shape[1]} lengths above 0, one for each coordinate")
    if not ((lengths >= 1 / MAX_KERNEL_NUMBER) & (lengths <= MAX_KERNEL_NUMBER)).all():
        raise InputError(
            "lengths are beyond what squares can be computed of", "give some from 1e-100 to 1e100"
        )
    return points / lengths
