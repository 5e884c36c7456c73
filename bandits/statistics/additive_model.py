"""A linear model of a sum over groups of coordinates: features of every group, Gaussian priors on weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
SCALES = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8)  #: τ, of the sum's standard deviation


class AdditiveModel:
    """Features φ = [1, F₁(x₁), …, F_G(x_G)] of points and Gaussian priors on their weights.

    `points[g]` [n, d_g] are the choices in group g, `lengths` the kernel's, smallest first.  F are
    eigenfeatures of the centred squared-exponential kernel at the smallest length; other lengths and scales
    are other priors on the same features.
    """

    def __init__(self, points: Sequence[Floats], lengths: tuple[float, ...]) -> None:
        made: dict[int, tuple[Floats, list[Floats]]] = {}  # groups often share their points
        for each in points:
            if id(each) not in made:
                made[id(each)] = _prior_roots(each, lengths)
        self.groups = [made[id(each)][0] for each in points]
        self._roots = [made[id(each)][1] for each in points]
        self.lengths = len(lengths)
        edges = np.cumsum([1, *(features.shape[1] for features in self.groups)])
        self.slices = [slice(a, b) for a, b in pairwise(edges.tolist())]
        self.size = int(edges[-1])

    def features(self, chosen: Indices) -> Floats:
        """Return φ of choices [n, groups], as rows."""
        parts = [features[chosen[:, g]] for g, features in enumerate(self.groups)]
        return np.concatenate([np.ones((len(chosen), 1)), *parts], axis=1)

    def prior_root(self, scale: int, length: int) -> "Blocks":
        """Return L with LLᵀ the weights' covariance: level 1, group parts of total variance τ²."""
        size = SCALES[scale] / sqrt(len(self.groups))
        parts = [size * roots[length] for roots in self._roots]
        return Blocks(self.slices, parts)

    def best(self, weights: Floats) -> Indices:
        """Return the choice of largest φᵀw, group by group, for every row w of `weights`."""
        parts = [
            np.argmax(weights[:, part] @ features.T, axis=1)
            for part, features in zip(self.slices, self.groups, strict=True)
        ]
        return np.stack(parts, axis=1)


def _prior_roots(points: Floats, lengths: tuple[float, ...]) -> tuple[Floats, list[Floats]]:
    """Return features of the smallest length and, for every length, a root of their weights' covariance."""
    features = _eigenfeatures(points, lengths[0])
    inverse = np.linalg.pinv(features)
    parts = [inverse @ _eigenfeatures(points, length) for length in lengths]
    return features, [cholesky(part @ part.T + 1e-6 * np.eye(len(part)), lower=True) for part in parts]


def _eigenfeatures(points: Floats, length: float) -> Floats:
    """Return eigenfeatures of the centred kernel, eigenvalues above 1e-3 of the first, mean ‖F‖² = 1."""
    square = ((points[:, None] - points[None]) ** 2).sum(axis=-1)
    kernel = np.exp(-square / (2 * length**2))
    kernel = kernel - kernel.mean(axis=0) - kernel.mean(axis=1)[:, None] + kernel.mean()
    values, vectors = np.linalg.eigh(kernel)
    kept = np.flatnonzero(values > 1e-3 * values[-1])[::-1][:60]
    features: Floats = vectors[:, kept] * np.sqrt(values[kept])
    return features / sqrt(np.mean((features**2).sum(axis=1)))


@dataclass(frozen=True)
class Blocks:
    """A block-diagonal matrix L with a 1 in its first corner and `parts` at `slices`."""

    slices: list[slice]
    parts: list[Floats]

    def times(self, right: Floats) -> Floats:
        """Return L times a matrix or a vector."""
        product = right.copy()
        for place, part in zip(self.slices, self.parts, strict=True):
            product[place] = part @ right[place]
        return product

    def transposed_times(self, right: Floats) -> Floats:
        """Return Lᵀ times a matrix or a vector."""
        return Blocks(self.slices, [part.T for part in self.parts]).times(right)

    def around(self, middle: Floats) -> Floats:
        """Return I + Lᵀ·middle·L of a symmetric `middle`."""
        inner = self.transposed_times(self.transposed_times(middle).T)
        inner[np.diag_indices_from(inner)] += 1.0
        return inner
