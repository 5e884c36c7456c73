"""What is believed of the arms' means: normal, for every arm apart, linear in its point, or a mixture.

An arm's noisy sum over n people, less ½ each, is n(m − ½) plus an error: that of n rewards, and the noises of
its blocks.  A late answer enters the sum of the arm's next block.  So an arm's blocks are pooled: the number
of all its people, and the sum of all its answers.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bandits.space.points import Space
from bandits.statistics.arrays import Floats
from bandits.statistics.axes import symmetric_root

PRIOR_VARIANCE: Final = 0.09  #: of a mean about ½, before anything is known; of linear ones on average
REWARD_VARIANCE: Final = 0.25  #: of a reward in [0, 1], at most
ARMS_APART: Final = 0.8  #: of the arms' means about their level, where that is nearer than this to 0 or 1
OWN_SHARE: Final = 0.1  #: share of the variance of related means that is each arm's own
LEAST_VARIANCE: Final = 1e-12  #: of a mean
LEVEL_SHARE: Final = 0.25  #: of the variance of means, that of their level about the one that sums say
EDGE: Final = 0.003  #: a level nearer to 0 or 1 is taken for this


def spread_about(level: float) -> float:
    """Return the deviation of the arms' means about a level, before anything is known of one."""
    return min(float(np.sqrt(PRIOR_VARIANCE)), 2 * ARMS_APART * min(level, 1 - level))


class ArmBelief:
    """Sums of all blocks by arm; what they say of the means is left to each kind of belief."""

    def __init__(self, arms: int) -> None:
        self._people, self._rest, self._noise = (np.zeros(arms) for _ in range(3))

    def learn(self, arm: int, people: float, rest: float, noise: float) -> None:
        """Add a block: its people, the noisy sum of their rewards less ½ each, and its noise's variance.

        With all three negated, it is forgotten again.
        """
        self._people[arm] += people
        self._rest[arm] += rest
        self._noise[arm] += noise

    @property
    def level(self) -> float:
        """Return the mean of the arms that the noisy sums themselves say (empirical Bayes); ½ before any."""
        known, level = self._people > 0, 0.5
        if known.any():
            people = self._people[known]
            each = np.clip(self._rest[known] / people + 0.5, 0.0, 1.0)
            # Arms weigh about equally, however many people they had: else the level would be the winner's.
            level = float(np.average(each, weights=1 / (REWARD_VARIANCE + 1 / people)))
        return min(max(level, EDGE), 1 - EDGE)

    def _observed(self, level: float, variance: float) -> tuple[Floats, Floats]:
        """Return by arm how precisely its mean is observed, and that times the mean less `level`."""
        error = self._people * variance + self._noise
        weight = np.where(self._people > 0, self._people / np.maximum(error, 1e-12), 0.0)
        return weight * self._people, weight * (self._rest + (0.5 - level) * self._people)

    def _about_level(self) -> tuple[float, float, Floats, Floats]:
        """Return the level, the spread of the means about it, and what is `_observed` about it."""
        level = self.level
        return level, spread_about(level), *self._observed(level, max(level * (1 - level), EDGE))

    def means(self) -> Floats:
        """Return the expected means, less a level that all share."""
        raise NotImplementedError

    def precisions(self) -> Floats:
        """Return one over the variance of every mean."""
        raise NotImplementedError

    def draw(self, width: float, hope: float, coins: np.random.Generator) -> Floats:
        """Return a draw of the means of `width` times the belief's spread; `hope`: see `ApartBelief`."""
        raise NotImplementedError


class ApartBelief(ArmBelief):
    """Means about their `level`.

    With a fixed level, an arm that has not been played would be expected to pay ½, whatever the others pay.
    The spread is fixed: among many equal arms and one better arm, a learned spread takes the better arm for
    noise.
    """

    def means(self) -> Floats:
        """Return the expected means, less their level."""
        _, _, precision, moment = self._posterior()
        return moment / precision

    def precisions(self) -> Floats:
        """Return one over the variance of every mean."""
        return self._posterior()[2]

    def draw(self, width: float, hope: float, coins: np.random.Generator) -> Floats:
        """Return a draw of the means, whose spread is `width` times the belief's.

        With a `hope` of 1, the prior mean is one spread above the level, and at least ½ for an arm that has
        not been played: every arm is tried, and tried again after a bad start.  With 0, it is the level.
        """
        level, spread, precision, moment = self._posterior()
        hoped = hope * np.where(self._people > 0, spread, max(spread, 0.5 - level))
        means = (moment + hoped / spread**2) / precision
        return means + width / np.sqrt(precision) * coins.normal(size=len(means))

    def _posterior(self) -> tuple[float, float, Floats, Floats]:
        """Return level and spread of the means; by arm the precision, and that times the mean."""
        level, spread, precision, moment = self._about_level()
        return level, spread, precision + 1 / spread**2, moment


class LinearBelief(ArmBelief):
    """Means that are a constant and a linear function of the points, half of the prior variance each."""

    def __init__(self, space: Space) -> None:
        super().__init__(len(space))
        points = space.points if space.alike else space.in_ball(1.0).points
        scale = np.sqrt(max(float((points**2).sum(axis=1).mean()), 1e-12))
        self._phi = np.column_stack([np.ones(len(points)), points / scale]) * np.sqrt(0.5)

    def _posterior(self) -> tuple[Floats, Floats]:
        """Return the precision of the weights, and their expectation."""
        precision, moment = self._observed(0.5, REWARD_VARIANCE)
        whole = np.eye(self._phi.shape[1]) / PRIOR_VARIANCE + (self._phi.T * precision) @ self._phi
        return whole, np.linalg.solve(whole, self._phi.T @ moment)

    def means(self) -> Floats:
        """Return the expected means, less ½."""
        return self._phi @ self._posterior()[1]

    def precisions(self) -> Floats:
        """Return one over the variance of every mean."""
        return 1 / np.einsum("ij,ji->i", self._phi, np.linalg.solve(self._posterior()[0], self._phi.T))

    def draw(self, width: float, hope: float, coins: np.random.Generator) -> Floats:
        """Return a draw of the means, whose spread is `width` times the belief's."""
        precision, weights = self._posterior()
        root = np.linalg.cholesky(precision)
        # LLᵀ is the precision, so L⁻ᵀξ has its inverse for a covariance.
        away = np.linalg.solve(root.T, coins.normal(size=len(root)))
        return self._phi @ (weights + width * away)


class MixedBelief(ArmBelief):
    """Means that are linear, smooth, rough or unrelated over the points, about their `level`.

    Each is a Gaussian model of the same spread, weighed by the likelihood of the noisy sums.  Where a
    kernel matrix is given, it replaces the smooth and the rough model.
    """

    def __init__(self, space: Space) -> None:
        super().__init__(len(space))
        self._models, self._roots = _models(space)

    def _posterior(self) -> "MixedPosterior":
        _, spread, precision, moment = self._about_level()
        seen = precision > 0
        root: Floats = np.sqrt(precision[seen])
        across = spread**2 * root[:, None] * self._models[:, seen]
        inner: Floats = np.eye(len(root)) + across[:, :, seen] * root
        factor = np.linalg.cholesky(inner)
        half = np.linalg.solve(factor, across)
        fitted = np.linalg.solve(factor, np.tile(moment[seen] / root, (len(factor), 1))[..., None])
        logs = -np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1) - (fitted**2).sum(axis=(1, 2)) / 2
        chances = np.exp(logs - logs.max())
        means = np.einsum("mka,mk->ma", half, fitted[..., 0])
        return MixedPosterior(spread, seen, root, factor, half, means, chances / chances.sum())

    def means(self) -> Floats:
        """Return the expected means, less their level."""
        posterior = self._posterior()
        return posterior.chances @ posterior.means

    def precisions(self) -> Floats:
        """Return one over the variance of every mean."""
        posterior = self._posterior()
        own = posterior.spread**2 * np.diagonal(self._models, axis1=1, axis2=2)
        away = posterior.means - posterior.chances @ posterior.means
        # Rounding may leave nothing of what is known very well.
        within = np.maximum(own - (posterior.half**2).sum(axis=1), LEAST_VARIANCE)
        return 1 / (posterior.chances @ (within + away**2))

    def draw(self, width: float, hope: float, coins: np.random.Generator) -> Floats:
        """Return a draw of the means by one of the models, whose spread is `width` times the model's."""
        posterior = self._posterior()
        model = coins.choice(len(self._models), p=posterior.chances)
        # A draw of the prior, less what its own noisy observations would say of it, is one of the posterior.
        prior = posterior.spread * self._roots[model] @ coins.normal(size=len(self._people))
        told = posterior.root * prior[posterior.seen] + coins.normal(size=len(posterior.root))
        away = prior - np.linalg.solve(posterior.factor[model], told) @ posterior.half[model]
        return posterior.means[model] + width * away


@dataclass(frozen=True)
class MixedPosterior:
    """Of k arms that are `seen`, in each of m models with covariance C: I + RCR = LLᵀ, R² the precision."""

    spread: float
    seen: NDArray[np.bool_]
    root: Floats  #: the diagonal of R
    factor: NDArray[np.floating[Any]]  #: L
    half: Floats  #: L⁻¹RC, [m, k, arms]
    means: Floats  #: what every model expects, [m, arms]
    chances: Floats


@lru_cache(maxsize=8)
def _models(space: Space) -> tuple[Floats, Floats]:
    """Return the covariances of means over the points of every model, for a spread of 1, and their roots."""
    points, unrelated = space.points, np.eye(len(space))
    squares = (points**2).sum(axis=1)
    apart = np.sqrt(np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0.0))
    length = max(float(np.median(apart[np.triu_indices(len(apart), 1)])), 1e-9)
    centred = points - points.mean(axis=0)
    # A kernel matrix that is given is neither smooth nor rough.
    kernels = ("squared-exponential", "matern-3/2")[: 1 if space.alike else 2]
    related = [centred @ centred.T, *(space.kernel(name, length) for name in kernels)]
    related = [each / max(float(np.diag(each).mean()), 1e-12) for each in related]
    models = [*((1 - OWN_SHARE) * each + OWN_SHARE * unrelated for each in related), unrelated]
    whole = np.array(models) + LEVEL_SHARE
    return whole, symmetric_root(whole)
