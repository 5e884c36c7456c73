"""Finite feature maps Φ of kernels: Φ(x)·Φ(x′) equals or approaches k(x, x′), and ‖Φ(x)‖ ≤ 1.

Quadrature Fourier features of stationary kernels whose spectral density is a product over coordinates
(Mutny & Krause 2018; Dubey 2021, Definition 4), random ones, monomials, Nyström's, and principal subspaces.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from math import factorial, pi, prod, sqrt
from typing import Final, Protocol

import numpy as np

from bandits.learning.nystrom import NystromFeatures
from bandits.statistics import kernels
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.axes import settled_eigh
from bandits.statistics.calibration import one_of
from dpaccount.errors import InputError, out_of_range

Kernel = Callable[[Floats, Floats], Floats]  #: points [n, d] and [m, d] ↦ [n, m]

MAP_KERNELS: Final = (*kernels.POINT_KERNELS, "additive", "linear", "polynomial")
BASES: Final = ("chosen", "quadrature", "random-fourier", "nystrom", "cells")
squared_exponential = partial(kernels.matrix, "squared-exponential")
DEGREE = 3  #: of the polynomial kernel
RADIUS = 2.0  #: of the ball on which the polynomial kernel is at most 1, and which cells divide
PUBLIC_COIN = 2021
MAX_MAP_FEATURES = 4096  #: features of one map
NORM_ROUNDING = 1e-9  #: a norm of 1 may exceed 1 by so much in floating point; beyond that a map is refused


class Features(Protocol):
    """A feature map."""

    @property
    def size(self) -> int:
        """Return the number of features."""

    def __call__(self, points: Floats) -> Floats:
        """Return features of shape [..., size] for points of shape [..., d]."""


def _coordinates(points: Floats, dimension: int) -> None:
    if points.ndim < 1 or points.shape[-1] != dimension:
        width = points.shape[-1] if points.ndim else 0
        raise InputError(f"points have {width} coordinates", f"these features take {dimension}")


@dataclass(frozen=True)
class FourierFeatures:
    """Features (√w cos ωx, √w sin ωx), of norm 1 up to rounding.

    `frequencies` has shape [F, d] and `weights` sums to 1: Φ(x)·Φ(x′) = Σ w cos ω·(x − x′).
    """

    frequencies: Floats
    weights: Floats

    def __post_init__(self) -> None:
        """Refuse weights that do not make a norm of 1, such as the negative ones of a misprinted formula."""
        if self.weights.min() < 0 or abs(self.weights.sum() - 1) > NORM_ROUNDING:
            raise out_of_range("weights of at least 0 that sum to 1")

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
    (the weight printed in Dubey 2021, Definition 4, is negative at some nodes).  ω and −ω give the same
    features up to a sign: one of each pair is kept, with both weights.
    """
    if per_axis < 1 or not lengthscale > 0:
        raise InputError(f"found {per_axis} and {lengthscale}", "needed per_axis >= 1 and lengthscale > 0")
    if dimension < 1:
        raise InputError(f"the dimension is {dimension}", "it is at least 1")
    if per_axis**dimension > MAX_MAP_FEATURES:
        raise InputError(
            f"{per_axis} nodes on {dimension} axes are above {MAX_MAP_FEATURES}", "use fewer, or groups"
        )
    nodes, weights = np.polynomial.hermite.hermgauss(per_axis)
    axis, mass = np.sqrt(2) * nodes / lengthscale, weights / sqrt(pi)
    grid = np.array([*product(range(per_axis), repeat=dimension)])
    at = np.arange(len(grid))
    kept = at <= at[::-1]  # the mirror image of a place stands as far from the other end
    frequencies = axis[grid[kept]]
    products = np.where(at == at[::-1], 1.0, 2.0)[kept] * mass[grid[kept]].prod(axis=1)
    if not abs(products.sum() - 1) <= NORM_ROUNDING:
        raise InputError(f"{per_axis} nodes per axis are too many for double precision", "use fewer")
    return FourierFeatures(frequencies, products / products.sum())


def random_features(kernel: str, dimension: int, count: int, lengthscale: float) -> FourierFeatures:
    """Return features at `count` frequencies, drawn by public coins from the kernel's spectral density.

    Normal for the squared-exponential kernel; Student's t with 2ν degrees of freedom for Matérn's (Rahimi &
    Recht 2008; Rasmussen & Williams 2006, section 4.2.1).
    """
    kernels.known(kernel, Fraction(lengthscale), kernels.POINT_KERNELS)
    rng = np.random.default_rng([PUBLIC_COIN, 2])
    frequencies = rng.normal(size=(count, dimension)) / lengthscale
    if kernel != "squared-exponential":
        twice = int(kernel[-3])  # 2ν, as the name has it
        alone = kernel.startswith(kernels.PRODUCT)  # every coordinate has a frequency of its own law
        frequencies *= np.sqrt(twice / rng.chisquare(twice, (count, dimension if alone else 1)))
    return FourierFeatures(frequencies, np.full(count, 1 / count))


@dataclass(frozen=True)
class AdditiveFeatures:
    """One-dimensional features of each coordinate side by side, over √d: for the mean of their kernels."""

    axis: Features
    dimension: int

    def __call__(self, points: Floats) -> Floats:
        """Return features of shape [..., size] for points of shape [..., d]."""
        _coordinates(points, self.dimension)
        parts = [self.axis(points[..., j : j + 1]) for j in range(self.dimension)]
        return np.concatenate(parts, axis=-1) / sqrt(self.dimension)

    @property
    def size(self) -> int:
        """Return the number of features."""
        return self.dimension * self.axis.size


@dataclass(frozen=True)
class PolynomialFeatures:
    """Weighted monomials whose products are exactly ((1 + x·x′/R²)/2)^p; p = `degree`, R = `RADIUS`."""

    dimension: int
    degree: int = DEGREE

    @property
    def _powers(self) -> Integers:
        powers = product(range(self.degree + 1), repeat=self.dimension)
        return np.array([each for each in powers if sum(each) <= self.degree])

    def __call__(self, points: Floats) -> Floats:
        """Return features of shape [..., size] for points of shape [..., d]."""
        _coordinates(points, self.dimension)
        powers = self._powers
        ways = [
            factorial(self.degree)
            / (factorial(self.degree - sum(each)) * prod(map(factorial, each)))
            / 2**self.degree
            for each in powers.tolist()
        ]
        monomials = np.prod((points[..., None, :] / RADIUS) ** powers, axis=-1)
        return np.sqrt(ways) * monomials

    @property
    def size(self) -> int:
        """Return the number of features."""
        return len(self._powers)


@dataclass(frozen=True)
class LinearFeatures:
    """A point's own coordinates, over `RADIUS`."""

    dimension: int

    def __call__(self, points: Floats) -> Floats:
        """Return features of shape [..., d] for points of shape [..., d]."""
        _coordinates(points, self.dimension)
        return points / RADIUS

    @property
    def size(self) -> int:
        """Return the number of features."""
        return self.dimension


def kernel_of(kernel: str, lengthscale: float) -> Kernel:
    """Return the kernel of a name in `MAP_KERNELS`; ``additive`` is the mean of one over each coordinate.

    Raises `InputError` with the known names.
    """
    one_of("kernel", kernel, MAP_KERNELS)
    if not lengthscale > 0:
        raise InputError(f"lengthscale is {lengthscale:g}", "it is above 0")
    if kernel in ("linear", "polynomial"):
        if lengthscale != 1:
            raise InputError(f"a {kernel} kernel has no length scale", "leave lengthscale at 1")
        if kernel == "linear":
            return lambda left, right: left @ right.T / RADIUS**2
        return lambda left, right: ((1 + left @ right.T / RADIUS**2) / 2) ** DEGREE
    if kernel == "additive":
        return partial(_additive, lengthscale)
    return lambda left, right: kernels.matrix(kernel, left, right, lengthscale)


def _additive(lengthscale: float, left: Floats, right: Floats) -> Floats:
    square = (left[:, None, :] - right[None, :, :]) ** 2
    return np.exp(-square / (2 * lengthscale**2)).mean(axis=-1)


def _same_cell(per_axis: int, left: Floats, right: Floats) -> Floats:
    """Return 1 for points in the same one of the `per_axis`^d cells of [−R, R]^d, and 0 for others."""
    here, there = (
        np.clip(np.floor((each / RADIUS + 1) * per_axis / 2), 0, per_axis - 1) for each in (left, right)
    )
    return (here[:, None, :] == there[None, :, :]).all(axis=-1).astype(np.float64)


def feature_map(
    kernel: str, basis: str, per_axis: int, lengthscale: float, dictionary: Callable[[int], Floats]
) -> Features:
    """Return features of a kernel by a basis.

    `kernel`, `lengthscale`: a name in `MAP_KERNELS`, and its length in units of the points.
    `basis`: a name in `BASES`.  ``chosen`` is quadrature where frequencies are normal, all monomials of a
    polynomial, Nyström's for Matérn kernels; ``cells`` is a histogram, without a kernel.
    `per_axis`: nodes on each of d axes: about `per_axis`^d features, or d·`per_axis` if additive.
    `dictionary`: gives that many public points [n, d], for Nyström's.
    Raises `InputError` if a kernel has no such features, or for parameters that make no sense.
    """
    exact, dimension = kernel_of(kernel, lengthscale), dictionary(1).shape[1]
    one_of("basis", basis, BASES)
    if not 1 <= per_axis <= MAX_MAP_FEATURES:
        raise InputError(f"nodes_per_axis is {per_axis}", f"it lies in 1 ... {MAX_MAP_FEATURES}")
    if basis == "cells":
        if (kernel, lengthscale) != ("squared-exponential", 1):
            raise InputError("cells have neither kernel nor length scale", "leave both out")
        _at_most(per_axis**dimension)
        centres = RADIUS * ((2 * np.arange(per_axis) + 1) / per_axis - 1)
        return NystromFeatures(partial(_same_cell, per_axis), np.array([*product(centres, repeat=dimension)]))
    if kernel == "polynomial" and basis == "chosen":
        return PolynomialFeatures(dimension)
    if kernel == "linear" and basis == "chosen":
        return LinearFeatures(dimension)
    if basis == "nystrom" or (basis == "chosen" and "matern" in kernel):
        return NystromFeatures(exact, dictionary(_at_most(per_axis**dimension)))
    if kernel == "additive":
        return AdditiveFeatures(_fourier("squared-exponential", basis, 1, per_axis, lengthscale), dimension)
    return _fourier(kernel, basis, dimension, per_axis, lengthscale)


def _fourier(kernel: str, basis: str, dimension: int, per_axis: int, lengthscale: float) -> FourierFeatures:
    if basis == "random-fourier" and kernel in kernels.POINT_KERNELS:
        count = max(_at_most(per_axis**dimension) // 2, 1)
        return random_features(kernel, dimension, count, lengthscale)
    if kernel != "squared-exponential":
        raise InputError(
            f"there are no {basis} features of a {kernel} kernel", "use the basis chosen or nystrom"
        )
    return quadrature_features(dimension, per_axis, lengthscale)


def _at_most(count: int) -> int:
    if count > MAX_MAP_FEATURES:
        raise InputError(f"{count} features are above {MAX_MAP_FEATURES}", "use fewer nodes_per_axis")
    return count


@dataclass(frozen=True)
class PrincipalFeatures:
    """Another map's features in an orthonormal basis of a subspace, so no longer than they were."""

    inner: Features
    basis: Floats  #: [inner.size, size], orthonormal columns
    eigenvalues: Floats  #: [size], of the second moment that the basis was made by

    def __call__(self, points: Floats) -> Floats:
        """Return features of shape [..., size] for points of shape [..., d]."""
        return self.inner(points) @ self.basis

    @property
    def size(self) -> int:
        """Return the number of features."""
        return int(self.basis.shape[1])


def principal(inner: Features, points: Floats, size: int) -> PrincipalFeatures:
    """Return features in the `size` leading directions of Σ = mean φφᵀ over public points [n, d]."""
    phi = inner(points)
    values, vectors = settled_eigh(phi.T @ phi / len(phi))
    kept = min(size, inner.size)
    return PrincipalFeatures(inner, vectors[:, :kept], np.maximum(values[:kept], 0.0))


def eigenfeatures(kernel: Floats, error: float) -> Floats:
    """Return the fewest eigenfeatures of a kernel matrix [n, n] whose products err by at most `error`.

    Row i has the features of point i, no longer than √K_ii.
    """
    values, vectors = settled_eigh(kernel)
    scaled: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    left = kernel.copy()
    for size in range(1, len(kernel) + 1):
        left -= np.outer(scaled[:, size - 1], scaled[:, size - 1])
        if np.abs(left).max() <= error:
            return scaled[:, :size]
    return scaled
