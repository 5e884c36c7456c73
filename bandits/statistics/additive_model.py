"""A linear model of a sum over groups of coordinates: features of every group, Gaussian priors on weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np

from bandits.statistics import kernels
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.axes import eigenfeatures

SCALES = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8)  #: τ, of the sum's standard deviation
FEATURE, WEIGHT = 1e-3, 1e-4  #: least eigenvalues, over the first, that make features and their priors


class AdditiveModel:
    """Features φ = [1, F₁(x₁), …, F_G(x_G)] of points and Gaussian priors on their weights.

    `points[g]` [n, d_g] are the choices in group g, `lengths` the kernel's, smallest first.  F are
    eigenfeatures of the centred `kernel` (of `bandits.statistics.kernels`) at the smallest length; other
    lengths and scales are other priors on the same features.
    """

    def __init__(
        self, points: Sequence[Floats], lengths: tuple[float, ...], kernel: str = "squared-exponential"
    ) -> None:
        cached: dict[int, tuple[Floats, list[Floats]]] = {}  # groups often share their points
        for each in points:
            if id(each) not in cached:
                cached[id(each)] = _prior_roots(each, lengths, kernel)
        self.groups = [cached[id(each)][0] for each in points]
        self._roots = [cached[id(each)][1] for each in points]
        self.lengths = len(lengths)
        self.slices, self.size = _beside(self.groups)
        self._blocks: dict[tuple[int, int], Blocks] = {}

    def features(self, chosen: Integers) -> Floats:
        """Return φ of choices [n, groups], as rows."""
        parts = [features[chosen[:, g]] for g, features in enumerate(self.groups)]
        return np.concatenate([np.ones((len(chosen), 1)), *parts], axis=1)

    def prior_root(self, scale: int, length: int) -> "Blocks":
        """Return L [size, r] with LLᵀ the weights' covariance: level 1, group parts of total variance τ².

        The longer the length, the fewer its columns.
        """
        if (scale, length) not in self._blocks:
            size = SCALES[scale] / sqrt(len(self.groups))
            parts = [size * roots[length] for roots in self._roots]
            self._blocks[scale, length] = Blocks(self.slices, *_beside(parts), parts)
        return self._blocks[scale, length]

    def best(self, weights: Floats, among: Floats | None = None) -> Integers:
        """Return the choice of largest φᵀw, group by group, for every row w of `weights`.

        Where there is one group, it may be `among` these places only.
        """
        if among is not None:
            places = among.astype(np.int64)
            return places[np.argmax(weights[:, self.slices[0]] @ self.groups[0][places].T, axis=1)][:, None]
        parts = [
            np.argmax(weights[:, part] @ features.T, axis=1)
            for part, features in zip(self.slices, self.groups, strict=True)
        ]
        return np.stack(parts, axis=1)


def _beside(parts: Sequence[Floats]) -> tuple[list[slice], int]:
    """Return where the columns of each part stand after the level's, and how many there are in all."""
    edges = np.cumsum([1, *(part.shape[1] for part in parts)]).tolist()
    return [slice(a, b) for a, b in pairwise(edges)], edges[-1]


def _prior_roots(points: Floats, lengths: tuple[float, ...], kernel: str) -> tuple[Floats, list[Floats]]:
    """Return features of the smallest length and, for every length, a root of their weights' covariance."""
    features = _centred(kernels.matrix(kernel, points, points, lengths[0]), FEATURE)
    # All lengths share the features of the smallest, so that what was observed need not be learned again when
    # another length becomes likelier.
    inverse = np.linalg.pinv(features)
    matrices = (kernels.matrix(kernel, points, points, length) for length in lengths)
    return features, [inverse @ _centred(each, WEIGHT) for each in matrices]


def _centred(kernel: Floats, least: float) -> Floats:
    """Return eigenfeatures of the centred kernel, eigenvalues above `least` of the first, mean ‖F‖² = 1."""
    kernel = kernel - kernel.mean(axis=0) - kernel.mean(axis=1)[:, None] + kernel.mean()
    features = eigenfeatures(kernel, least, 60)
    return features / sqrt(np.mean((features**2).sum(axis=1)))


@dataclass(frozen=True)
class Blocks:
    """A block-diagonal matrix L with a 1 in its first corner and `parts` at rows × columns."""

    rows: list[slice]
    columns: list[slice]
    size: int  #: columns
    parts: list[Floats]

    def times(self, right: Floats) -> Floats:
        """Return L times a matrix or a vector."""
        return np.concatenate([right[:1], *self._each(self.columns, right, self.parts)])

    def transposed_times(self, right: Floats) -> Floats:
        """Return Lᵀ times a matrix or a vector."""
        return np.concatenate([right[:1], *self._each(self.rows, right, [p.T for p in self.parts])])

    @staticmethod
    def _each(places: list[slice], right: Floats, parts: list[Floats]) -> list[Floats]:
        return [part @ right[place] for place, part in zip(places, parts, strict=True)]

    def within(self, middle: Floats) -> Floats:
        """Return Lᵀ·middle·L of a symmetric `middle`."""
        return self.transposed_times(self.transposed_times(middle).T)
