"""GP-UCB over finitely many points, on answers through a local channel or on rewards as they are."""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from bandits.local_privacy.learner import Question
from bandits.local_privacy.subject import LocalRewards
from bandits.statistics.arrays import Floats
from dpaccount.errors import out_of_range


class PointGpUcb:
    """Ask for the point of largest mean + `width`·deviation (Srinivas et al. 2010), the first by coins.

    `prior` is the covariance of mean rewards, `own_noise` the variance of a reward without channel noise.
    The posterior's `mean` [n] and `covariance` [n, n] are updated by rank one in O(n²).
    """

    def __init__(self, prior: Floats, own_noise: float, width: float, coins: int) -> None:
        self.mean, self.covariance = np.zeros(len(prior)), prior.copy()
        self._own, self._width = own_noise, width
        self._rng = np.random.default_rng((coins, 0))

    def ask(self) -> Question:
        """Return the point to play; of points that share the best bound, one by coins."""
        bounds = self.mean + self._width * np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        best = np.flatnonzero(bounds >= bounds.max() - 1e-12)
        return Question(int(best[0] if len(best) == 1 else self._rng.choice(best)))

    def tell(self, point: int, value: float, variance: float | None) -> None:
        """Learn from one message about a point."""
        along = self.covariance[point].copy()
        weight = 1 / (along[point] + (self._own + (variance or 0.0)))
        self.mean += weight * (value - self.mean[point]) * along
        self.covariance -= np.outer(along, weight * along)


def prior_of(kernel: Floats, bound: float) -> Floats:
    """Return the kernel of functions that reach about `bound`: deviation B/2 where they vary most."""
    scale = bound / (2 * sqrt(float(np.diag(kernel).max())))
    return kernel * max(scale, 1e-6) ** 2


@dataclass(frozen=True)
class LdpGpUcb(LocalRewards):
    """Base of GP-UCB on answers; `width` times the posterior's deviation is the bonus.

    With `privacy` ``none`` it is GP-UCB itself.
    """

    width: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width < 0:
            raise out_of_range("width >= 0")

    def learner(self, coins: int) -> PointGpUcb:
        """Return the learner, for which a reward's own noise is uniform on ±R, of variance R²/3."""
        prior = prior_of(self.prior, float(self.bound))
        own = float(self.noise_bound) ** 2 / 3 + 1e-9
        return PointGpUcb(prior, own, float(self.width), coins)
