"""GP-UCB over finite features: by noisy sums of second moments, and, not private, in ask/tell."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsymm, dsymv, dsyr
from scipy.linalg.lapack import dpotrf

from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.second_moments import contribution, within
from dpaccount.errors import InputError, out_of_range
from mechanisms.symmetric_gaussian import FEATURE_BITS


def raised(matrix: Floats, shift: float) -> Floats:
    """Return a symmetric matrix plus (1 + `shift`)·I, with eigenvalues that are still below 1 raised to 1."""
    identity = np.eye(len(matrix))
    if dpotrf(matrix + shift * identity)[1] == 0:  # positive definite: no eigenvalue of the whole is below 1
        return matrix + (1 + shift) * identity
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values + 1 + shift, 1.0)) @ vectors.T


class SolvedPosterior:
    """Weights as G = `gram` and u = `moment` have them, G positive definite: solved once, asked often."""

    def __init__(self, gram: Floats, moment: Floats) -> None:
        self.gram, self.moment = gram, moment
        self.inverse: Floats = cho_solve(cho_factor(gram), np.eye(len(gram)))
        self.mean: Floats = self.inverse @ moment

    def upper_bounds(self, candidates: Floats, width: float) -> Floats:
        """Return mean + `width`·deviation of every candidate, a row of features.

        The mean is φᵀG⁻¹u and the deviation √(φᵀG⁻¹φ) (Srinivas et al. 2010; Dubey 2021, Algorithm 1,
        with a constant width).
        """
        deviation = np.sqrt(np.maximum(np.vecdot(candidates @ self.inverse, candidates), 0.0))
        return candidates @ self.mean + width * deviation


class SecondMomentBelief:
    """Weights by noisy sums [G, u; uᵀ, ·] of [φφᵀ, φy; yφᵀ, ·]; the policy is an upper bound.

    Rewards in [0, 1] are `centred`, |y| ≤ ½, and the corner y², which nothing reads, is left out; or
    neither.  `shift` says, by the people in a sum, how much it takes to be positive definite.  Sums that
    do not end with one of `ends` are released for later ones, and not read.
    """

    def __init__(
        self, size: int, width: float, shift: Callable[[int], float], ends: Iterable[int], *, centred: bool
    ) -> None:
        self.posterior, self.width = SolvedPosterior(np.eye(size), np.zeros(size)), width
        self._size, self._shift, self._ends, self._centred = size, shift, frozenset(ends), centred

    def scores(self, candidates: Floats) -> Floats:
        """Return upper confidence bounds of rows of features."""
        return self.posterior.upper_bounds(candidates, self.width)

    def contribution(self, features: Floats, reward: float | None) -> Integers:
        """Return a person's statistics; rewards outside [0, 1] are clipped."""
        if features.shape != (self._size,):
            raise InputError(f"features have shape {features.shape}", f"this learner takes ({self._size},)")
        known = None if reward is None else within(reward) - (0.5 if self._centred else 0.0)
        bound = Fraction(1, 2) if self._centred else Fraction(1)
        return contribution(features, known, bound, corner=not self._centred)

    def learn(self, released: NDArray[Any], people: int) -> None:
        """Take (G, u) from a noisy prefix: symmetric, shifted to be positive definite.

        The shift reads public numbers only; eigenvalues that are still below 1 are raised to 1.
        """
        if people in self._ends:
            total, size = released / 2.0 ** (2 * FEATURE_BITS), self._size
            gram = raised(total[:size, :size], self._shift(people))
            self.posterior = SolvedPosterior(gram, total[:size, size].copy())


@dataclass
class GpUcb:
    """Ask for a candidate, tell its reward; `ridge` is λ, `width` the confidence width.

    G⁻¹ and the mean weights G⁻¹u are kept and follow each observation by a symmetric rank-one update (Sherman
    & Morrison 1950; recursive least squares): one matrix–vector product and one outer product, in the upper
    triangle only; `ask` reads them as they stand.
    """

    size: int
    ridge: float = 1.0
    width: float = 0.3
    weights: Floats = field(init=False)  #: posterior means, G⁻¹u
    _inverse: Floats = field(init=False)  #: upper triangle of G⁻¹, by columns as BLAS likes it

    def __post_init__(self) -> None:
        if self.size < 1 or not self.ridge > 0 or not self.width >= 0:
            raise out_of_range("size >= 1, ridge > 0 and width >= 0")
        self._inverse = np.asfortranarray(np.eye(self.size) / self.ridge)
        self.weights = np.zeros(self.size)

    def ask(self, candidates: Floats) -> int:
        """Return the index of the candidate to play; rows of `candidates` are features."""
        if candidates.shape[1:] != (self.size,):
            raise InputError(
                f"candidates have shape {candidates.shape}", f"needed rows of {self.size} features"
            )
        solved = dsymm(self.width * self.width, self._inverse, candidates.T).T
        bounds = np.vecdot(candidates, solved)  # squares of width·deviation, below 0 by rounding only
        np.sqrt(np.abs(bounds, bounds), bounds)
        bounds += candidates.dot(self.weights)
        return int(bounds.argmax())  # a method: np.argmax takes microseconds more

    def tell(self, features: Floats, reward: float) -> None:
        """Learn from one observed reward."""
        if features.shape != (self.size,) or not np.isfinite(reward):
            raise out_of_range(f"{self.size} features and a finite reward")
        along = dsymv(1.0, self._inverse, features)
        share = 1.0 / (1.0 + float(features @ along))
        self._inverse = dsyr(-share, along, a=self._inverse, overwrite_a=1)
        self.weights += share * (reward - float(features @ self.weights)) * along
