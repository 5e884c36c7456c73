"""Contextual kernel bandit whose prediction is chosen with the scores' own range as its scale.

A prediction at context c has weights ∝ exp(εs(x)/W(c)), W(c) = 2B·max_w(max_x h_x(w) − min_x h_x(w)) over all
places w of the public grid, observed or not: a bounded range of ε, about twice as much use of it as a bound
of scores from above and below makes.  h_x(w) = φ(x, c)ᵀ(TΛ + τI)⁻¹φ(w), Λ the public quadrature.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandits.private_prediction import covariance
from bandits.private_prediction.predictor import REACH, Predictor
from bandits.statistics.arrays import Floats, Integers


@dataclass(frozen=True)
class RangePredictor(Predictor):
    """Predict at `predictions` contexts by the exponential mechanism or permute-and-flip (`rule`).

    Tables hold h_x(w) − min_x h_x(w) in units that make W(c) the same integer for every context.  One
    prediction is pure `epsilon`; more are composed to (`epsilon`, `delta`), and function-release serves
    any number.  Fields as of `usca`.
    """

    source: ClassVar[str] = "ours; bounded range (Durfee & Rogers 2019), setting of Pavlovic et al. 2025"
    doubled: ClassVar[int] = 2

    def matrix(self, coins: int) -> Floats:
        """Return h of the public quadrature."""
        return covariance.expected(self.grid, self.rounds, self.ridge)

    @property
    def ridge(self) -> float:
        """Return τ, of public quantities alone."""
        share = 1 / float(self.noise_scale)
        return covariance.public_ridge(self.grid, self.rounds, float(self.bound), share, 2.0)

    def table(self, matrix: Floats, cell: int) -> Integers:
        """Return the table of a cell: integers of 0 … REACH, for every place of the grid."""
        rows = self.rows_of(matrix, cell)
        above = rows - rows.min(axis=0)  # what all actions have in common does not choose
        # Scaled by this context's own range: contexts at which no place matters much still use all of ε.
        scaled = np.floor(above * (REACH / max(self.widest(above), 1e-300)))
        return np.clip(scaled, 0, REACH).astype(np.int64)

    def widest(self, above: Floats) -> float:
        """Return max_w(max_x h_x(w) − min_x h_x(w)), enumerated over all places."""
        return float(above.max())
