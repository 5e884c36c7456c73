"""GP-UCB over finite features, in ask/tell: the non-private algorithm that the private ones follow."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dger, dsymv, dsyr

from dpaccount.errors import InputError

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
    values, vectors = np.linalg.eigh(matrix)
    found: Floats = (vectors * np.maximum(values + 1 + shift, 1.0)) @ vectors.T
    return found


@dataclass
class GpUcb:
    """Ask for a candidate, tell its reward; `ridge` is λ, `width` the confidence width.

    G⁻¹ is kept and follows each observation by a symmetric rank-one update (Sherman & Morrison 1950):
    one matrix–vector product and one outer product, in the upper triangle only.
    """

    size: int
    ridge: float = 1.0
    width: float = 0.3
    moment: Floats = field(init=False)
    _inverse: Floats = field(init=False)  #: upper triangle of G⁻¹, by columns as BLAS likes it

    def __post_init__(self) -> None:
        """Start from the prior."""
        if self.size < 1 or not self.ridge > 0 or not self.width >= 0:
            raise InputError("needed size >= 1, ridge > 0 and width >= 0")
        self._inverse = np.asfortranarray(np.eye(self.size) / self.ridge)
        self.moment = np.zeros(self.size)

    def ask(self, candidates: Floats) -> int:
        """Return the index of the candidate to play; rows of `candidates` are features."""
        if candidates.ndim != 2 or candidates.shape[1] != self.size:
            raise InputError(f"candidates have shape {candidates.shape}; needed rows of {self.size} features")
        upper = np.triu(self._inverse)
        inverse = upper + np.triu(upper, 1).T
        solved = candidates @ inverse
        deviation = np.sqrt(np.maximum((candidates * solved).sum(axis=1), 0.0))
        return int(np.argmax(solved @ self.moment + self.width * deviation))

    def tell(self, features: Floats, reward: float) -> None:
        """Learn from one observed reward."""
        if features.shape != (self.size,) or not np.isfinite(reward):
            raise InputError(f"needed {self.size} features and a finite reward")
        along = dsymv(1.0, self._inverse, features)
        self._inverse = dsyr(-1.0 / (1.0 + float(features @ along)), along, a=self._inverse, overwrite_a=1)
        self.moment += reward * features


class Scores:
    """Means and spreads of a fixed set of candidates, updated with each observation in O(n m).

    With w = G⁻¹φ of the point played, every candidate's φᵢᵀG⁻¹φᵢ falls by (φᵢᵀw)²/(1 + φᵀw) and its mean
    moves by φᵢᵀw·(y − mean)/(1 + φᵀw).
    """

    def __init__(self, candidates: Floats, ridge: float = 1.0) -> None:
        if not ridge > 0:
            raise InputError(f"the ridge is {ridge}; it must be above 0")
        self._candidates = candidates
        self._solved = np.asfortranarray(candidates / ridge)  #: rows φᵢᵀG⁻¹
        self.mean = np.zeros(len(candidates))
        self.variance = (candidates * self._solved).sum(axis=1)

    def tell(self, index: int, reward: float) -> None:
        """Learn that candidate `index` paid `reward`."""
        along = self._solved[index].copy()
        shared = self._candidates @ along
        scale = 1.0 / (1.0 + shared[index])
        self.mean += shared * ((reward - self.mean[index]) * scale)
        self.variance -= shared**2 * scale
        self._solved = dger(-scale, shared, along, a=self._solved, overwrite_a=1)
