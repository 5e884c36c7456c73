"""GP-UCB over finite features, in ask/tell: the non-private algorithm that the private ones follow."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsymm, dsymv, dsyr
from scipy.linalg.lapack import dpotrf

from dpaccount.errors import InputError, out_of_range

Floats = NDArray[np.float64]


def upper_bounds(candidates: Floats, gram: Floats, moment: Floats, width: float) -> Floats:
    """Return mean + width·deviation of every candidate (row of features).

    mean = φᵀ G⁻¹ u and deviation = √(φᵀ G⁻¹ φ) with G = `gram` (positive definite), u = `moment`
    (Srinivas et al. 2010; Dubey 2021, Algorithm 1, with a constant width).
    """
    solved = np.linalg.solve(gram, np.column_stack([moment, candidates.T]))
    mean = candidates @ solved[:, 0]
    deviation = np.sqrt(np.maximum((candidates * solved[:, 1:].T).sum(axis=1), 0.0))
    bounds: Floats = mean + width * deviation
    return bounds


def raised(matrix: Floats, shift: float) -> Floats:
    """Return a symmetric matrix plus (1 + `shift`)·I, with eigenvalues that are still below 1 raised to 1."""
    identity = np.eye(len(matrix))
    if dpotrf(matrix + shift * identity)[1] == 0:  # positive definite: no eigenvalue of the whole is below 1
        whole: Floats = matrix + (1 + shift) * identity
        return whole
    values, vectors = np.linalg.eigh(matrix)
    found: Floats = (vectors * np.maximum(values + 1 + shift, 1.0)) @ vectors.T
    return found


class SolvedPosterior:
    """Weights as G = `gram` and u = `moment` have them, G positive definite: solved once, asked often."""

    def __init__(self, gram: Floats, moment: Floats) -> None:
        self.gram, self.moment = gram, moment
        self._inverse = cho_solve(cho_factor(gram), np.eye(len(gram)))
        self._mean = self._inverse @ moment

    def upper_bounds(self, candidates: Floats, width: float) -> Floats:
        """Return what `upper_bounds` does."""
        deviation = np.sqrt(np.maximum(np.vecdot(candidates @ self._inverse, candidates), 0.0))
        bounds: Floats = candidates @ self._mean + width * deviation
        return bounds


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
        """Start from the prior."""
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
