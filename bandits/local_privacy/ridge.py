"""Ridge regression on a table of features: what is known of every point of a finite domain.

With V = Σφφᵀ + λI over plays, the variance of a point is σ̃² = k(x, x) − φᵀφ + λφᵀV⁻¹φ, and its mean φᵀV⁻¹b
for the moment b = Σyφ (Zhou & Tan 2020, Algorithms 1 and 3; (2) and (3) where features are exact).
"""

from math import log1p

import numpy as np

from bandits.statistics.arrays import Floats, Integers

FRESH = 256  #: updates after which V is inverted anew, so that rounding does not add up


class Ridge:
    """ΦV⁻¹ and the variances of all points; a play costs O(n·m), for n points of m features.

    `features` has shape [n, m], `prior` holds k(x, x), `ridge` is λ > 0.
    """

    def __init__(self, features: Floats, prior: Floats, ridge: float, plays: Integers | None = None) -> None:
        self.features, self.ridge = features, ridge
        self.plays = np.zeros(len(features), dtype=np.int64) if plays is None else plays.copy()
        self._prior = prior
        self._updates = 0
        self._solve()

    def _solve(self) -> None:
        """Invert the current V."""
        phi = self.features
        inner = (phi.T * self.plays) @ phi + self.ridge * np.eye(phi.shape[1])
        self.solved: Floats = np.linalg.solve(inner, phi.T).T.astype(np.float64)  #: ΦV⁻¹
        if not self.plays.any():  # exact, so that equal points stay equal
            self.variance: Floats = self._prior.copy()
            self.gain = 0.0  #: ½ ln det(V/λ), the information gained so far
            return
        unseen = self._prior - (phi * phi).sum(axis=1)
        self.variance = unseen + self.ridge * (self.solved * phi).sum(axis=1)
        self.gain = float(np.linalg.slogdet(inner / self.ridge)[1]) / 2

    def play(self, point: int) -> None:
        """Count one more play of a point: V grows by φφᵀ (Sherman & Morrison 1950)."""
        self.plays[point] += 1
        self._updates += 1
        if self._updates % FRESH == 0:
            self._solve()
            return
        phi, solved = self.features[point], self.solved[point].copy()
        along, grown = self.solved @ phi, 1 + float(solved @ phi)
        self.solved -= np.outer(along / grown, solved)
        self.variance -= self.ridge / grown * along**2
        self.gain += log1p(grown - 1) / 2

    @property
    def size(self) -> int:
        """Return m, the number of features."""
        return int(self.features.shape[1])

    def deviation(self) -> Floats:
        """Return σ̃ of every point."""
        return np.sqrt(np.maximum(self.variance, 0.0))

    def mean(self, moment: Floats) -> Floats:
        """Return φᵀV⁻¹b of every point for the moment b, [m] or a column each [m, k]."""
        return self.solved @ moment
