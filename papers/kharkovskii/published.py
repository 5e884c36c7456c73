"""Algorithm 1 of PO-GP-UCB (Kharkovskii, Dai & Low 2020) as published.  It provides no privacy.

With at least two rows more than columns, Z lies in the column space of the centred data, which a neighbour
moves: Z distinguishes the two with certainty (`dpaccount claims kharkovskii-theorem1`).
"""

import math
from dataclasses import dataclass

import numpy as np

from bandits.statistics.arrays import Floats
from dpaccount.errors import out_of_range


def width(epsilon: float, delta: float, columns: int) -> float:
    """Return the threshold ω of line 5, as read, as a double: what a run takes; no bound rests on it."""
    return 16 * math.sqrt(columns * math.log(2 / delta)) * math.log(16 * columns / delta) / epsilon


def needed_columns(rows: int, mu: float, nu: float) -> int:
    """Return the least r that Lemma 1 asks for: r ≥ 8 ln(n²/μ)/ν², 0 < ν ≤ ½ and 0 < μ < 1."""
    if rows < 2 or not 0 < mu < 1 or not 0 < nu <= 0.5:
        raise out_of_range("n >= 2, 0 < mu < 1 and 0 < nu <= 1/2")
    return math.ceil(8 * math.log(rows**2 / mu) / nu**2)


def centred(rows: Floats) -> Floats:
    """Return the rows minus their mean (line 2)."""
    return rows - rows.mean(axis=0)


def least_singular_value(rows: Floats) -> float:
    """Return σ_min of the centred rows; 0 where they have at most as many rows as columns."""
    if len(rows) <= rows.shape[1]:
        return 0.0
    return float(np.linalg.svd(centred(rows), compute_uv=False).min())


@dataclass(frozen=True)
class LiftedRows:
    """Centred rows [n, d] as lines 2–9 leave them: `rows` lifted or not, σ_min and σ_max of them before."""

    rows: Floats
    least: float
    largest: float
    lifted: bool

    def projected(self, columns: int, rng: np.random.Generator) -> Floats:
        """Return Z = r^{−1/2}XM, M with standard Gaussian entries (lines 3, 7 and 10)."""
        projection = rng.normal(size=(self.rows.shape[1], columns)) / math.sqrt(columns)
        return self.rows @ projection


def lifted(rows: Floats, threshold: float) -> LiftedRows:
    """Return the centred rows, their singular values lifted to √(Σ² + ω²) where σ_min < ω (lines 2–9)."""
    left, values, right = np.linalg.svd(centred(rows), full_matrices=False)
    # Centring takes a dimension away: at most d rows have a least singular value of 0, which rounding would
    # hide.
    least = float(values.min()) if len(rows) > rows.shape[1] else 0.0
    below = least < threshold
    raised = np.sqrt(values**2 + threshold**2) if below else values
    return LiftedRows(left * raised @ right, least, float(values.max()), below)


def transform(rows: Floats, threshold: float, columns: int, rng: np.random.Generator) -> Floats:
    """Return Z [n, r], Algorithm 1's release of X [n, d] at r = `columns`."""
    return lifted(rows, threshold).projected(columns, rng)


def column_basis(rows: Floats) -> Floats:
    """Return an orthonormal basis of the column space of the centred rows."""
    return np.linalg.svd(centred(rows), full_matrices=False)[0]


def outside(released: Floats, basis: Floats) -> float:
    """Return the part of a release outside the space of an orthonormal basis, relative to its size."""
    rest = released - basis @ (basis.T @ released)
    return float(np.linalg.norm(rest) / np.linalg.norm(released))
