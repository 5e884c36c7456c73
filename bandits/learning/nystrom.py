"""Nyström features: a kernel as it is seen from a dictionary of points, drawn by ridge leverage scores.

Zhou & Tan 2020, Algorithm 4 (after Calandriello et al. 2019 and Chowdhury & Gopalan 2019).  Every play of a
point joins the dictionary with probability min(q·σ̃², 1), σ̃² the point's posterior variance, which rewards do
not enter: so the dictionary reads none.  The embedding is φ̃(x) = (K_D^½)^† k_D(x); the text prints
(K_D^(−½))^†, which is its inverse on the range of K_D.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np
from numpy.typing import NDArray

from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.axes import settled_eigh
from dpaccount.errors import InputError, out_of_range

CUT = 1e-8  #: eigenvalues of K_D below this share of the largest count as 0 in its pseudo-inverse


def oversampling(accuracy: float, rounds: int, failure: float) -> float:
    """Return q = 6ρ ln(2T/δ)/ε², ρ = (1 + ε)/(1 − ε), of Lemma 8; Theorems 2 and 4 take it at δ/2.

    `accuracy` is ε in (0, 1), `rounds` is T and `failure` δ in (0, 1].
    """
    if not 0 < accuracy < 1 or rounds < 1 or not 0 < failure <= 1:
        raise out_of_range("accuracy in (0, 1), rounds >= 1 and failure in (0, 1]")
    return 6 * (1 + accuracy) / (1 - accuracy) * log(2 * rounds / failure) / accuracy**2


def inclusion(variances: Floats, q: float) -> Floats:
    """Return min(q·σ̃², 1), each play's probability of joining the dictionary."""
    return np.clip(q * variances, 0.0, 1.0)


def members(plays: Integers, variances: Floats, q: float, rng: np.random.Generator) -> Integers:
    """Return how many of each point's `plays` join a fresh dictionary, one coin a play (binomial)."""
    return rng.binomial(plays, inclusion(variances, q))


def root(kernel: Floats) -> Floats:
    """Return UΛ^(−½) for the kernel matrix K_D = UΛUᵀ of a dictionary, without directions that count as 0.

    k_D(x)ᵀUΛ^(−½) is φ̃(x) in the orthonormal basis U of its range: products are those of (K_D^½)^† k_D(x),
    with as many coordinates as K_D has rank, those of small eigenvalues first.  A dictionary that is
    empty, or of no variance, is refused.
    """
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1] or not kernel.size:
        raise InputError("the dictionary is empty", "needed at least one point")
    if not np.isfinite(kernel).all() or not kernel.diagonal().max() > 0:
        raise out_of_range("a finite kernel matrix with a point of positive variance in the dictionary")
    values, vectors = settled_eigh(kernel)
    kept = values > CUT * values[0]
    return (vectors[:, kept] / np.sqrt(values[kept]))[:, ::-1]


def embedding(kernel: Floats, dictionary: NDArray[np.bool_]) -> Floats:
    """Return φ̃ of all points of a finite domain, [n, rank], for the `dictionary` of points marked in it.

    A point that was drawn several times spans what it spans once.
    """
    return kernel[:, dictionary] @ root(kernel[np.ix_(dictionary, dictionary)])


@dataclass(frozen=True)
class NystromFeatures:
    """The embedding as a feature map over ℝ^d; its norm at x is at most √k(x, x).

    `kernel` gives the kernel matrix of points [n, d] and [m, d]; `dictionary` has shape [m, d].
    """

    kernel: Callable[[Floats, Floats], Floats]
    dictionary: Floats

    @cached_property
    def _root(self) -> Floats:
        return root(self.kernel(self.dictionary, self.dictionary))

    def __call__(self, points: Floats) -> Floats:
        """Return features of shape [..., size] for points of shape [..., d]."""
        dimension = self.dictionary.shape[1]
        if points.ndim < 1 or points.shape[-1] != dimension:
            raise InputError(
                f"points have shape {points.shape}", f"these features take {dimension} coordinates"
            )
        features = self.kernel(points.reshape(-1, dimension), self.dictionary) @ self._root
        return features.reshape(*points.shape[:-1], self.size)

    @property
    def size(self) -> int:
        """Return the number of features."""
        return int(self._root.shape[1])
