"""The law of every kind of noise that a proof can name, read from its leaf.

A law maps private integers to released integers of the same shape: sums get noise added, scores of
candidates become the indicator of the chosen one.  Code never states a scale; it is read here.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpaccount.derivation import Leaf
from dpaccount.errors import ReceiptError
from dpaccount.noise import Integers, exact_root, root_up

ADDITIVE = ("gaussian", "laplace", "symmetric")
SELECTION = ("exponential", "permute-and-flip")


@dataclass(frozen=True)
class Law:
    """One kind of noise: ``gaussian``, ``laplace`` and ``symmetric`` add, the others choose.

    `scale` is in grid units: standard deviation, Laplace scale, or the scores that make a factor e.
    """

    kind: str
    scale: float


def law(leaf: Leaf) -> Law:
    """Return the law of a leaf; refuses laws that no exact sampler has.

    A zCDP or pure leaf may be drawn with a scale rounded up, which only lowers its cost; an exact
    lattice curve is about one scale, which must be a double.
    """
    match leaf.rule:
        case "exponential":
            return Law("exponential", double_up(1 / Fraction(leaf.parameters["rate"])))
        case "permute_and_flip":
            return Law("permute-and-flip", double_up(1 / Fraction(leaf.parameters["rate"])))
        case "lattice_gaussian":
            scale = exact_root(Fraction(leaf.parameters["variance"]))
            if scale is None:
                raise ReceiptError(
                    f"the standard deviation of {leaf.key!r} must be a double; round it up to one first"
                )
            return Law("gaussian", scale)
    if "grid" not in leaf.parameters:
        raise ReceiptError(
            f"the leaf {leaf.key!r} has continuous noise, which cannot be drawn exactly; prove it on a grid"
        )
    if leaf.rule == "laplace":
        grid = Fraction(leaf.parameters["grid"])
        return Law("laplace", double_up(Fraction(leaf.parameters["scale"]) / grid))
    kind = "symmetric" if leaf.rule == "symmetric_gaussian" else "gaussian"
    return Law(kind, root_up(grid_variance(leaf)))


def grid_variance(leaf: Leaf) -> Fraction:
    """Return the variance of a Gaussian leaf in squared grid units."""
    return Fraction(leaf.parameters["variance"]) / Fraction(leaf.parameters["grid"]) ** 2


def double_up(value: Fraction) -> float:
    """Return the least double that is at least `value`."""
    near = float(value)
    return near if Fraction(near) >= value else float(np.nextafter(near, np.inf))


def log_ratio(noise: Law, released: Integers, here: Integers, there: Integers) -> float:
    """Return ln P(released | here) − ln P(released | there), in floating point: a score for attacks."""
    match noise.kind:
        case "laplace":
            return float((np.abs(released - there) - np.abs(released - here)).sum() / noise.scale)
        case "exponential":
            return _log_softmax(noise, released, here) - _log_softmax(noise, released, there)
        case "permute-and-flip":
            return float(
                np.log(_flip_masses(noise, here)[released.argmax()])
                - np.log(_flip_masses(noise, there)[released.argmax()])
            )
    a, b = (released - here).astype(np.float64), (released - there).astype(np.float64)
    total = float((b * b - a * a).sum() / (2 * noise.scale**2))
    # of a symmetric matrix, off-diagonal entries stand twice; the diagonal has twice the variance
    return total / 2 if noise.kind == "symmetric" else total


def _log_softmax(noise: Law, released: Integers, scores: Integers) -> float:
    scaled = (scores - scores.max()) / noise.scale
    return float(scaled[released.argmax()] - np.log(np.exp(scaled).sum()))


def _flip_masses(noise: Law, scores: Integers) -> NDArray[np.float64]:
    """Return the masses of permute-and-flip: with a = e^{(s − max)/scale}, a ∫₀¹ Π_{j≠i}(1 − a_j x) dx.

    The maximum of scores plus exponential noise is at i with noise level x = e^{−level}: the others
    stay below with probability 1 − a_j x (Ding et al. 2021).  The integrand is a polynomial.
    """
    chance = np.exp((scores - scores.max()) / noise.scale)
    nodes, weights = np.polynomial.legendre.leggauss(64)
    at = (nodes + 1) / 2
    factors = 1 - np.outer(at, chance)
    # the factor of i itself is divided out in logarithms; at < 1 keeps every factor above 0
    others = np.exp(np.log(factors).sum(axis=1)[:, None] - np.log(factors))
    masses: NDArray[np.float64] = chance * (weights[:, None] / 2 * others).sum(axis=0)
    return masses
