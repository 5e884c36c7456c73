"""Radial kernels with k(w, w) = 1, in floating point and in balls.

Matérn kernels are those of the distance of two points (Rasmussen & Williams 2006, section 4.2); those with
``product-`` before their name are products over coordinates.
"""

from fractions import Fraction
from math import sqrt
from typing import Final

import numpy as np
from flint import arb

from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import one_of
from dpaccount.errors import InputError
from dpaccount.numerics.intervals import ball

MAX_LENGTH: Final = Fraction(10**15)  #: as claims take: doubles hold the squares of such lengths and bounds
KERNELS: Final = ("squared-exponential", "matern-1/2", "matern-3/2", "matern-5/2")
PRODUCT: Final = "product-"  #: of one-dimensional kernels, one a coordinate: product-matern-5/2
POINT_KERNELS: Final = (*KERNELS, *(PRODUCT + kernel for kernel in KERNELS[1:]))
INNER: Final = "inner-product"  #: of points that are features of a kernel matrix


def known(kernel: str, lengthscale: Fraction, among: tuple[str, ...] = KERNELS) -> None:
    """Refuse a kernel or a length scale that there is not; raises `InputError`."""
    one_of("kernel", kernel, among)
    moderate("the length scale", lengthscale)


def moderate(what: str, value: Fraction) -> None:
    """Refuse what is not above 0, or whose squares doubles may not hold; raises `InputError`."""
    if not value > 0:
        raise InputError(f"{what} is not positive", "it is above 0")
    if not 1 / MAX_LENGTH <= value <= MAX_LENGTH:
        raise InputError(f"{what} is too large or too small", "use magnitudes from 1e-15 to 1e15")


def at_distance(kernel: str, distance: Floats, lengthscale: float) -> Floats:
    """Return k at an array of distances, in floating point."""
    at = distance / lengthscale
    match kernel:
        case "squared-exponential":
            return np.exp(-at * at / 2)
        case "matern-5/2":
            return (1 + sqrt(5) * at + 5 * at * at / 3) * np.exp(-sqrt(5) * at)
        case "matern-3/2":
            return (1 + sqrt(3) * at) * np.exp(-sqrt(3) * at)
        case _:
            return np.exp(-at)


def ball_at(kernel: str, distance: arb, lengthscale: Fraction) -> arb:
    """Return k at a distance, in balls of the current precision."""
    at = distance / ball(lengthscale)
    match kernel:
        case "squared-exponential":
            return (-at * at / 2).exp()
        case "matern-5/2":
            root = arb(5).sqrt() * at
            return (1 + root + root * root / 3) * (-root).exp()
        case "matern-3/2":
            root = arb(3).sqrt() * at
            return (1 + root) * (-root).exp()
        case _:
            return (-at).exp()


def matrix(kernel: str, left: Floats, right: Floats, lengthscale: float) -> Floats:
    """Return the kernel matrix of points [n, d] and [m, d].

    A product of Matérn kernels over coordinates has a spectral density that is one, too (Dubey 2021,
    footnote 3: the modified Matérn kernel).
    """
    if kernel == INNER:
        return left @ right.T
    if kernel.startswith(PRODUCT):
        apart = np.abs(left[:, None, :] - right[None, :, :])
        return at_distance(kernel.removeprefix(PRODUCT), apart, lengthscale).prod(axis=-1)
    square = ((left[:, None, :] - right[None, :, :]) ** 2).sum(axis=-1)
    return at_distance(kernel, np.sqrt(square), lengthscale)
