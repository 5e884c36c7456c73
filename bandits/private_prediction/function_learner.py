"""A function learned from noisy sums of phases: directions, clips and posterior are public or of releases.

Weights θ of f = φᵀθ have the prior N(0, D), D_j = s·λ_j^p/Σλ_i^{p+1}: with p = 1 the energy of a finite sum
of kernels, with p = 0 that of a Gaussian process.  (s, p) are those of largest marginal likelihood of the
releases, with a weak prior on both: post-processing.

*Directions.*  A phase of n people releases Σ g·clip(y − ŷ, ±C)/C + noise, g(w) = Ah(w)/‖Ah(w)‖ for
h(w) = P^½φ(w) in the axes where E hhᵀ is diag(e).  Row j of A is √(b_j/e_j), with shares b_j that sum to 1
and leave the least posterior variance Σ e_j(N + nvb_j)/(N + nvb_j + n²e_j b_j) for released numbers of
noise variance N = (C·noise)²: b_j = (n e_j √(N/μ) − N)₊/(nv + n²e_j) (reverse water-filling).

*The Gram matrix* of a phase is its public expectation: H = κ n E[gφᵀ] over the grid, where κ is the clip's
slope, and the noise of r = Hθ + … is N·I + n v E[ggᵀ]; observed contexts enter nothing but the sum itself.
"""

from collections.abc import Callable
from math import log, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bandits.private_prediction.public_grid import Eigenfeatures, Places
from bandits.statistics import clipped_sums
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.axes import settled_eigh
from bandits.statistics.clipped_sums import CONTRIBUTION_BITS
from bandits.statistics.linear_posterior import LinearPosterior, evidence
from dpaccount.numerics.bisection import bisect

Noise = Callable[[int], float]  #: numbers of a release ↦ deviation of each, in units of the clip

OWN_NOISE: Final = sqrt(0.1)  #: deviation of a reward about its mean, in units of the bound on rewards
SCALES: Final = (0.03, 0.1, 0.3, 1.0, 3.0)  #: s: mean square of f, in units of the bound squared
POWERS: Final = (0.0, 0.5, 1.0)  #: p
START: Final = (0.3, 1.0)  #: (s, p) before anything is released
SPAN: Final = (log(3), 0.5)  #: steps of ln s and p whose prior weight is e^(−½)


class FunctionLearner:
    """Begin a phase, add up what its people contribute, tell the noisy sum; phase after phase."""

    def __init__(
        self, features: Eigenfeatures, noise: Noise, most: int, bound: float, law: Floats | None = None
    ) -> None:
        self._law = law  #: the chance of every place; None if all are alike
        self._phi, self._eigenvalues = features.phi, features.eigenvalues
        self._noise, self._most, self._bound = noise, most, bound
        self._observed = LinearPosterior(features.size)
        self._prior, self._told = self._variances(*START), 0
        self._settle()

    def begin(self, people: int) -> None:
        """Choose directions and clip of a phase of `people`, from public numbers and releases."""
        self._people = people
        values, vectors = settled_eigh(self._covariance)
        whitened = self._phi @ (vectors * np.sqrt(np.maximum(values, 0.0)))
        unsure = float(self._mean_over((whitened**2).sum(axis=1, keepdims=True))[0])
        width = min(sqrt((OWN_NOISE * self._bound) ** 2 + unsure), self._bound)
        # the first phase predicts nothing, and clips rewards at the public bound
        self._clip = clipped_sums.Clip(self._bound, 1.0, width**2)
        self._aim(whitened)
        if self._told:
            gram = people * self._expected(self._directions, self._directions)
            typical = clipped_sums.typical(gram)
            self._clip = clipped_sums.best_clip(width, self._noise(len(gram)), typical)
            self._aim(whitened)

    def _aim(self, whitened: Floats) -> None:
        """Compute the unit vector g of every place."""
        values, axes = settled_eigh(self._expected(whitened, whitened))
        values = np.maximum(values, 1e-12)
        shares = self._shares(values)
        kept = shares > 0
        mixed = whitened @ (axes[:, kept] * np.sqrt(shares[kept] / values[kept]))
        length = np.linalg.norm(mixed, axis=1, keepdims=True)
        self._directions = mixed / np.maximum(length, 1e-12)

    def _mean_over(self, values: Floats) -> Floats:
        """Return the mean over people's places of values [places, n]."""
        return values.mean(axis=0) if self._law is None else self._law @ values

    def _expected(self, left: Floats, right: Floats) -> Floats:
        """Return E left·rightᵀ over people's places, of rows [places, n] and [places, m]."""
        if self._law is None:
            return left.T @ right / len(left)
        return (left * self._law[:, None]).T @ right

    def _shares(self, values: Floats) -> Floats:
        """Return b for the number of directions, at most `most`, that leaves the least variance."""
        # K-norm noise grows with the number of released values, so their best number is searched; Gaussian
        # noise does not.
        people, spread = self._people, self._people * self._clip.variance
        best, least = np.zeros_like(values), np.inf
        grows = self._noise(2) > self._noise(1)
        for size in range(1, min(self._most, len(values)) + 1) if grows else (len(values),):
            noise = (self._noise(size) * self._clip.bound) ** 2
            shares = np.zeros_like(values)
            shares[:size] = water_filled(values[:size], people, spread, noise)
            known = noise + spread * shares
            left = float((values * known / (known + people**2 * values * shares)).sum())
            if left < least:
                best, least = shares, left
        return best

    # ------------------------------------------------------------------ a phase's people

    def contributions(self, places: Places, rewards: Floats, answered: NDArray[np.bool_]) -> Integers:
        """Return the exact sum of g·clip(y − ŷ, ±C)/C in grid units; each person's has norm at most 1.

        Who did not answer adds zero, and so does a reward that is no number.
        """
        missing = np.isnan(rewards)
        known = np.clip(np.where(missing, 0.0, rewards), -self._bound, self._bound)
        residual = np.where(missing, 0.0, known - self.values()[places])
        return clipped_sums.contributions(self._directions[places], residual, self._clip.bound, answered)

    def tell(self, units: Integers) -> None:
        """Learn from a phase's noisy sum, in grid units of the clip."""
        released = units / 2.0**CONTRIBUTION_BITS * self._clip.bound
        size, people = self._directions.shape[1], self._people
        shape = self._clip.slope * people * self._expected(self._directions, self._phi)
        noise = people * self._clip.variance * self._expected(self._directions, self._directions)
        noise[np.diag_indices_from(noise)] += (self._noise(size) * self._clip.bound) ** 2
        self._observed.learn(shape, noise, released + shape @ self._mean)
        self._told += 1
        models = [(scale, power) for scale in SCALES for power in POWERS]
        self._prior = self._variances(*max(models, key=lambda model: self._evidence(*model)))
        self._settle()

    def values(self) -> Floats:
        """Return the predicted reward of every place."""
        return self._phi @ self._mean

    @property
    def numbers(self) -> int:
        """Return how many numbers the phase under way releases."""
        return int(self._directions.shape[1])

    @property
    def spread(self) -> float:
        """Return the root mean square, over places, of the posterior's deviation of f."""
        square = ((self._phi @ self._covariance) * self._phi).sum(axis=1, keepdims=True)
        return sqrt(max(float(self._mean_over(square)[0]), 0.0))

    # ------------------------------------------------------------------ the posterior

    def _variances(self, scale: float, power: float) -> Floats:
        weights = self._eigenvalues**power
        return scale * self._bound**2 * weights / (weights * self._eigenvalues).sum()

    def _settle(self) -> None:
        """Compute covariance P = (D⁻¹ + J)⁻¹ and mean P·h."""
        self._covariance = self._observed.covariance(self._prior)
        self._mean: Floats = self._covariance @ self._observed.moment

    def _evidence(self, scale: float, power: float) -> float:
        """Return ln p(releases) up to a constant, plus the prior's of (s, p)."""
        root = np.sqrt(self._variances(scale, power))
        away = (log(scale / START[0]) / SPAN[0]) ** 2 + ((power - START[1]) / SPAN[1]) ** 2
        known = self._observed.around(root)[None], (root * self._observed.moment)[None]
        return float(evidence(*known)[0]) - away / 2


def water_filled(values: Floats, people: int, spread: float, noise: float) -> Floats:
    """Return shares b ≥ 0 that sum to 1 and minimise Σ e_j(N + sb_j)/(N + sb_j + n²e_j b_j).

    `values` are e_j, `people` is n, `spread` is s and `noise` is N.
    """

    def shares(root: float) -> Floats:
        return np.maximum((people * values * root - noise) / (spread + people**2 * values), 0.0)

    high = 1.0
    while shares(high).sum() < 1:
        high *= 2
    filled = shares(bisect(lambda root: bool(shares(root).sum() >= 1), 0.0, high, 60)[1])
    return filled / filled.sum()
