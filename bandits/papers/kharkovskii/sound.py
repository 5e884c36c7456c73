"""Ours in the experiments: K-norm noise on every row, as `k-norm` proves it, and its law simulated.

A run of an experiment draws noise for up to 10 000 rows, so it draws in floating point from the law without
the lattice, rounded to it: for measuring regret only, never for real data.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from bandits.papers.kharkovskii.fields import NORM
from bandits.statistics.arrays import Floats
from dpaccount.proof import Theorem
from mechanisms.k_norm import KNorm
from mechanisms.shared import moved_rows

RADIUS = Fraction(int(NORM))
ROW_RADIUS = Fraction(1)  #: a neighbour's row moves by at most 1, of a norm of at most 25
GRID_BITS = 10


@dataclass(frozen=True)
class KNormRows:
    """Rows of norm at most 25 released by `k-norm` at pure ε for rows that move by at most 1."""

    epsilon: Fraction
    rows: int
    columns: int
    delta: Fraction = Fraction(0)

    @property
    def subject(self) -> KNorm:
        """Return the catalogued mechanism, with the largest rate that costs no more than ε."""
        reach = ROW_RADIUS + moved_rows.slack(RADIUS, self.columns, GRID_BITS)
        rate = Fraction(int(self.epsilon / reach * 2**30), 2**30)
        return KNorm(rate, RADIUS, ROW_RADIUS, self.rows, self.columns, GRID_BITS)

    def proof(self, delta: Fraction) -> Theorem:
        """Return the mechanism's own proof."""
        return self.subject.proof(delta)

    @property
    def noise_scale(self) -> Fraction:
        """Return 1/rate: a coordinate's deviation is √(columns + 1) times this."""
        return 1 / self.subject.rate

    @property
    def spread(self) -> float:
        """Return the variance of the noise in a coordinate, (d + 1)/rate²."""
        return (self.columns + 1) * float(self.noise_scale) ** 2

    def simulated(self, points: Floats, rng: np.random.Generator) -> Floats:
        """Return points with noise of density ∝ exp(−rate·‖v‖₂), on the lattice, clipped to their box.

        A direction and a length of law Gamma(d, 1/rate).  The box is public, and clipping is free.
        """
        normal = rng.normal(size=points.shape)
        length = rng.gamma(self.columns, float(self.noise_scale), size=(len(points), 1))
        noisy = points + normal / np.linalg.norm(normal, axis=1, keepdims=True) * length
        return np.clip(np.round(noisy * 2**GRID_BITS) / 2**GRID_BITS, points.min(axis=0), points.max(axis=0))
