"""What is believed of the arms' means, about ½: normal, for every arm apart or linear in its point."""

from typing import Final

import numpy as np

from bandits.space.points import Space
from bandits.statistics.arrays import Floats

PRIOR_VARIANCE: Final = 0.09  #: of an arm's mean about ½; of linear ones on average


class ApartBelief:
    """Means that say nothing of each other."""

    def __init__(self, arms: int) -> None:
        self._precision, self._moment = np.full(arms, 1 / PRIOR_VARIANCE), np.zeros(arms)

    def learn(self, arm: int, precision: float, moment: float) -> None:
        """Add an observation of an arm, moment/precision, of variance 1/precision."""
        self._precision[arm] += precision
        self._moment[arm] += moment

    def means(self) -> Floats:
        """Return the expected means."""
        return self._moment / self._precision

    def precisions(self) -> Floats:
        """Return one over the variance of every mean."""
        return self._precision

    def draw(self, width: float, coins: np.random.Generator) -> Floats:
        """Return a draw of the means, whose spread is `width` times the belief's."""
        return self.means() + width / np.sqrt(self._precision) * coins.normal(size=len(self._moment))


class LinearBelief:
    """Means that are a constant and a linear function of the points, half of the prior variance each."""

    def __init__(self, space: Space) -> None:
        points = space.points if space.alike else space.in_ball(1.0).points
        scale = np.sqrt(max(float((points**2).sum(axis=1).mean()), 1e-12))
        self._phi = np.column_stack([np.ones(len(points)), points / scale]) * np.sqrt(0.5)
        self._precision = np.eye(self._phi.shape[1]) / PRIOR_VARIANCE
        self._moment = np.zeros(len(self._precision))

    def learn(self, arm: int, precision: float, moment: float) -> None:
        """Add an observation of an arm, moment/precision, of variance 1/precision."""
        self._precision += precision * np.outer(self._phi[arm], self._phi[arm])
        self._moment += moment * self._phi[arm]

    def means(self) -> Floats:
        """Return the expected means."""
        return self._phi @ np.linalg.solve(self._precision, self._moment)

    def precisions(self) -> Floats:
        """Return one over the variance of every mean."""
        return 1 / np.einsum("ij,ji->i", self._phi, np.linalg.solve(self._precision, self._phi.T))

    def draw(self, width: float, coins: np.random.Generator) -> Floats:
        """Return a draw of the means, whose spread is `width` times the belief's."""
        root = np.linalg.cholesky(self._precision)
        # LLᵀ is the precision, so L⁻ᵀξ has its inverse for a covariance.
        away = np.linalg.solve(root.T, coins.normal(size=len(root)))
        return self.means() + width * (self._phi @ away)


#: Normal means of the arms, less ½; what is learned adds up, and may be taken off again.
ArmBelief = ApartBelief | LinearBelief
