"""Finite feature maps Φ of kernels: Φ(x)·Φ(x′) equals or approaches k(x, x′), and ‖Φ(x)‖ ≤ 1.

Quadrature Fourier features of stationary kernels whose spectral density is a product over coordinates
(Mutny & Krause 2018; Dubey 2021, Definition 4), random Fourier features (Rahimi & Recht 2008), sums
over groups of coordinates, and the exact features of linear and polynomial kernels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import comb, lgamma, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError

Floats = NDArray[np.float64]
MOST = 4096  #: features of one map
ROUNDING = 1e-9  #: a norm of 1 may exceed 1 by so much in floating point; beyond that a map is refused


class Features(Protocol):
    """A feature map."""

    @property
    def size(self) -> int:
        """Return the number of features."""

    def __call__(self, points: Floats) -> Floats:
        """Return features of shape [..., size] for points of shape [..., d]."""


def bounded(features: Features, points: Floats) -> Floats:
    """Return features of points; raises `InputError` where a norm is above 1 or is not a number."""
    found = features(points)
    largest = float(np.max(np.linalg.norm(found, axis=-1), initial=0.0))
    if not largest <= 1 + ROUNDING:
        raise InputError("a feature vector is longer than 1; scale the kernel")
    return found


def _coordinates(points: Floats, dimension: int) -> None:
    if points.ndim < 1 or points.shape[-1] != dimension:
        found = points.shape[-1] if points.ndim else 0
        raise InputError(f"points have {found} coordinates; these features take {dimension}")


# ------------------------------------------------------------------ Fourier features


@dataclass(frozen=True)
class FourierFeatures:
    """Features (√w cos ωx, √w sin ωx), of norm 1 up to rounding.

    `frequencies` has shape [F, d] and `weights` sums to 1: Φ(x)·Φ(x′) = Σ w cos ω·(x − x′).
    """

    frequencies: Floats
    weights: Floats

    def __post_init__(self) -> None:
        """Refuse weights that do not make a norm of 1, such as the negative ones of a misprinted formula."""
        if self.weights.min() < 0 or abs(self.weights.sum() - 1) > ROUNDING:
            raise InputError("needed weights of at least 0 that sum to 1")

    def __call__(self, points: Floats) -> Floats:
        """Return features of shape [..., 2F] for points of shape [..., d]."""
        _coordinates(points, self.frequencies.shape[1])
        phase = points @ self.frequencies.T
        root = np.sqrt(self.weights)
        return np.concatenate([root * np.cos(phase), root * np.sin(phase)], axis=-1)

    @property
    def size(self) -> int:
        """Return the number of features."""
        return 2 * len(self.weights)


def quadrature_features(dimension: int, per_axis: int, lengthscale: float) -> FourierFeatures:
    """Return Gauss–Hermite features of exp(−‖x−x′‖²/(2ℓ²)), `per_axis` nodes on each axis.

    k(x − x′) = E cos(ω·(x − x′)) with ω ~ N(0, I/ℓ²).  Gauss–Hermite nodes ξ of weight
    w = 2^{m−1} m! √π/(m² H_{m−1}(ξ)²) integrate against e^{−ξ²}, so ω = √2 ξ/ℓ with probability w/√π
    (the weight printed in Dubey 2021, Definition 4, is negative at some nodes).
    """
    if per_axis < 1 or not lengthscale > 0:
        raise InputError(f"needed per_axis >= 1 and lengthscale > 0; found {per_axis} and {lengthscale}")
    nodes, weights = np.polynomial.hermite.hermgauss(per_axis)
    return _tensor(dimension, np.sqrt(2) * nodes / lengthscale, weights / sqrt(np.pi))


def matern_features(dimension: int, per_axis: int, lengthscale: float, smoothness: float) -> FourierFeatures:
    """Return features of the product over coordinates of one-dimensional Matérn kernels.

    The Matérn kernel itself is a product for d = 1 only; this product is the modified kernel that
    Mutny & Krause 2018 use for d > 1 and Dubey 2021 after them.  ω·ℓ has Student's law with 2ν degrees
    of freedom.  With cos θ = u, ω = √(2ν)·cot θ/ℓ, the mean is an integral over θ ∈ (0, π) with density
    ∝ sin^{2ν−1} θ: Gauss–Gegenbauer nodes u integrate (1 − u²)^{ν−1} du exactly.
    """
    if per_axis < 1 or not min(lengthscale, smoothness) > 0:
        raise InputError("needed per_axis >= 1, lengthscale > 0 and smoothness > 0")
    from scipy.special import roots_gegenbauer

    nodes, weights = roots_gegenbauer(per_axis, smoothness - 0.5)
    frequencies = np.sqrt(2 * smoothness) * nodes / np.sqrt(1 - nodes**2) / lengthscale
    return _tensor(dimension, frequencies, weights / weights.sum())


def _tensor(dimension: int, axis: Floats, mass: Floats) -> FourierFeatures:
    """Return the tensor product of a rule that is symmetric about 0.

    ω and −ω give the same features up to a sign: one of each pair is kept, with both weights.
    """
    per_axis = len(axis)
    if dimension < 1:
        raise InputError(f"the dimension is {dimension}; it is at least 1")
    if per_axis**dimension > MOST:
        raise InputError(f"{per_axis} nodes on {dimension} axes are above {MOST}; use fewer, or groups")
    grid = list(product(range(per_axis), repeat=dimension))
    mirrored = [tuple(per_axis - 1 - i for i in index) for index in grid]
    kept = [
        (index, 1.0 if index == other else 2.0)
        for index, other in zip(grid, mirrored, strict=True)
        if index <= other
    ]
    frequencies = np.array([[axis[i] for i in index] for index, _ in kept])
    found = np.array([times * np.prod([mass[i] for i in index]) for index, times in kept])
    if not abs(found.sum() - 1) <= ROUNDING:
        raise InputError(f"{per_axis} nodes per axis are too many for double precision; use fewer")
    return FourierFeatures(frequencies, found / found.sum())


def random_features(dimension: int, count: int, lengthscale: float, seed: int) -> FourierFeatures:
    """Return 2·`count` random Fourier features of exp(−‖x−x′‖²/(2ℓ²)) (Rahimi & Recht 2008).

    Frequencies are public coins.  Their error falls as count^(−1/2), too slowly for a regret bound
    (Dubey 2021, Remark 4).
    """
    if dimension < 1 or not 1 <= count <= MOST or not lengthscale > 0:
        raise InputError(f"needed dimension >= 1, 1 <= count <= {MOST} and lengthscale > 0")
    frequencies = np.random.default_rng(seed).normal(0, 1 / lengthscale, (count, dimension))
    return FourierFeatures(frequencies, np.full(count, 1 / count))


# ------------------------------------------------------------------ sums, products, subspaces


@dataclass(frozen=True)
class AdditiveFeatures:
    """Features of k(x, x′) = Σ_g k_g(x_g, x′_g)/G over G groups of coordinates."""

    groups: tuple[tuple[int, ...], ...]
    parts: tuple[Features, ...]

    def __post_init__(self) -> None:
        """Refuse groups without features of their own."""
        if not self.groups or len(self.groups) != len(self.parts):
            raise InputError("needed one feature map for each group of coordinates")

    def __call__(self, points: Floats) -> Floats:
        """Return features of shape [..., size]."""
        top = max(i for group in self.groups for i in group)
        if points.shape[-1] <= top:
            raise InputError(f"points have {points.shape[-1]} coordinates; the groups name {top + 1}")
        pairs = zip(self.groups, self.parts, strict=True)
        whole = np.concatenate([part(points[..., list(group)]) for group, part in pairs], axis=-1)
        return whole / sqrt(len(self.parts))

    @property
    def size(self) -> int:
        """Return the number of features."""
        return sum(part.size for part in self.parts)


@dataclass(frozen=True)
class PolynomialFeatures:
    """Exact features of ((c + x·x′)/(c + r²))^p on the ball of radius r: ‖Φ‖ ≤ 1 and no error.

    `degree` 1 and `offset` 0 make the linear kernel x·x′/r².  Points beyond the ball are drawn back to it.
    """

    dimension: int
    degree: int = 1
    offset: float = 0.0
    radius: float = 1.0

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense."""
        if min(self.dimension, self.degree) < 1 or self.offset < 0 or not self.radius > 0:
            raise InputError("needed dimension >= 1, degree >= 1, offset >= 0 and radius > 0")
        if self.size > MOST:
            raise InputError(f"{self.size} features are above {MOST}; use a smaller degree")

    def __call__(self, points: Floats) -> Floats:
        """Return the weighted monomials, shape [..., size]."""
        _coordinates(points, self.dimension)
        length = np.linalg.norm(points, axis=-1, keepdims=True)
        inside = points * np.minimum(1.0, self.radius / np.maximum(length, 1e-300))
        total = self.offset + self.radius**2
        columns = []
        for powers in self._powers():
            left = self.degree - sum(powers)
            ways = lgamma(self.degree + 1) - lgamma(left + 1) - sum(lgamma(p + 1) for p in powers)
            weight = np.exp(ways / 2) * sqrt(self.offset) ** left / sqrt(total) ** self.degree
            columns.append(weight * np.prod(inside ** np.array(powers), axis=-1))
        return np.stack(columns, axis=-1)

    def _powers(self) -> list[tuple[int, ...]]:
        every = product(range(self.degree + 1), repeat=self.dimension)
        return [p for p in every if sum(p) == self.degree or (sum(p) < self.degree and self.offset > 0)]

    @property
    def size(self) -> int:
        """Return the number of monomials."""
        down = self.dimension + (self.offset > 0) - 1
        return comb(down + self.degree, self.degree)


@dataclass(frozen=True)
class PrincipalFeatures:
    """Another map's features in an orthonormal basis of a subspace, so no longer than they were."""

    inner: Features
    basis: Floats  #: [inner.size, size], orthonormal columns

    def __call__(self, points: Floats) -> Floats:
        """Return features of shape [..., size]."""
        projected: Floats = self.inner(points) @ self.basis
        return projected

    @property
    def size(self) -> int:
        """Return the number of features."""
        return int(self.basis.shape[1])


def principal(inner: Features, points: Floats, size: int) -> tuple[PrincipalFeatures, Floats]:
    """Return the `size` leading directions of Σ = mean φφᵀ over public points, and Σ's eigenvalues there."""
    phi = inner(points)
    values, vectors = np.linalg.eigh(phi.T @ phi / len(phi))
    order = np.argsort(values)[::-1][: min(size, inner.size)]
    return PrincipalFeatures(inner, vectors[:, order]), np.maximum(values[order], 0.0)


# ------------------------------------------------------------------ kernels


def squared_exponential(left: Floats, right: Floats, lengthscale: float) -> Floats:
    """Return the kernel matrix exp(−‖x−x′‖²/(2ℓ²)) of points [n, d] and [m, d]."""
    square = ((left[:, None, :] - right[None, :, :]) ** 2).sum(axis=-1)
    kernel: Floats = np.exp(-square / (2 * lengthscale**2))
    return kernel


def matern_product(left: Floats, right: Floats, lengthscale: float, smoothness: float) -> Floats:
    """Return the product over coordinates of Matérn kernels with ν = 1/2, 3/2 or 5/2."""
    apart = np.abs(left[:, None, :] - right[None, :, :]) * sqrt(2 * smoothness) / lengthscale
    forms = {0.5: apart * 0 + 1, 1.5: 1 + apart, 2.5: 1 + apart + apart**2 / 3}
    if smoothness not in forms:
        raise InputError(f"the smoothness is {smoothness}; closed forms are here for 0.5, 1.5 and 2.5")
    kernel: Floats = np.prod(forms[smoothness] * np.exp(-apart), axis=-1)
    return kernel


def additive_features(groups: Sequence[Sequence[int]], per_axis: int, lengthscale: float) -> AdditiveFeatures:
    """Return quadrature features of a mean of squared-exponential kernels over groups of coordinates."""
    parts = tuple(quadrature_features(len(group), per_axis, lengthscale) for group in groups)
    return AdditiveFeatures(tuple(tuple(group) for group in groups), parts)
