"""Plain GP-UCB over finitely many points, for answers that a channel made noisy."""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from bandits.local_privacy.learner import Question

Floats = NDArray[np.float64]


class PointPosterior:
    """Gaussian process posterior over n points, updated by rank one in O(n²).

    `mean` [n] and `covariance` [n, n] begin at 0 and at the prior covariance.
    """

    def __init__(self, prior: Floats) -> None:
        self.mean, self.covariance = np.zeros(len(prior)), prior.copy()

    def tell(self, point: int, value: float, variance: float) -> None:
        """Learn from a value at a point, of this variance."""
        along = self.covariance[point].copy()
        weight = 1 / (along[point] + variance)
        self.mean += weight * (value - self.mean[point]) * along
        self.covariance -= np.outer(along, weight * along)

    def deviation(self) -> Floats:
        """Return the standard deviation at every point."""
        found: Floats = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return found


class PointGpUcb:
    """Ask for the point of largest mean + `width`·deviation (Srinivas et al. 2010), the first by coins.

    `prior` is the covariance of mean rewards, `own_noise` the variance of a reward without channel noise.
    """

    def __init__(self, prior: Floats, own_noise: float, width: float, coins: int) -> None:
        self._posterior, self._own, self._width = PointPosterior(prior), own_noise, width
        self._rng = np.random.default_rng((coins, 0))

    def ask(self) -> Question:
        """Return the point to play; of points that share the best bound, one by coins."""
        bounds = self._posterior.mean + self._width * self._posterior.deviation()
        best = np.flatnonzero(bounds >= bounds.max() - 1e-12)
        return Question(int(best[0] if len(best) == 1 else self._rng.choice(best)))

    def tell(self, point: int, value: float, variance: float | None) -> None:
        """Learn from what is told of a point."""
        self._posterior.tell(point, value, self._own + (variance or 0.0))


def prior_of(kernel: Floats, bound: float) -> Floats:
    """Return the kernel of functions that reach about `bound`: deviation B/2 where they vary most."""
    scale = bound / (2 * sqrt(float(np.diag(kernel).max())))
    return kernel * max(scale, 1e-6) ** 2
