"""How likely a release is under one private value against another: the score of white-box attacks.

Floating point throughout: scores rank runs, they prove nothing.
"""

import numpy as np
from numpy.typing import NDArray

from dpaccount.noise.laws import Law
from dpaccount.noise.samplers import Integers

Floats = NDArray[np.float64]


def log_ratio(noise: Law, released: Integers, here: Integers, there: Integers) -> float:
    """Return ln P(released | here) − ln P(released | there); infinite where only one can have made it."""
    match noise.kind:
        case "gaussian" | "symmetric":
            a, b = (released - here).astype(np.float64), (released - there).astype(np.float64)
            total = float((b * b - a * a).sum() / (2 * noise.scale**2))
            # of a symmetric matrix, off-diagonal entries stand twice; the diagonal has twice the variance
            return total / 2 if noise.kind == "symmetric" else total
        case "laplace":
            return float((np.abs(released - there) - np.abs(released - here)).sum() / noise.scale)
        case "k-norm":
            lengths = [float(np.linalg.norm((released - value).ravel())) for value in (here, there)]
            return (lengths[1] - lengths[0]) / noise.scale
    with np.errstate(divide="ignore"):
        return float(log_mass(noise, released, here) - log_mass(noise, released, there))


def log_mass(noise: Law, released: Integers, value: Integers) -> float:
    """Return ln P(released | value) for a law with finitely many outcomes, and for shown counts."""
    match noise.kind:
        case "exponential":
            scaled = (value - value.max(axis=-1, keepdims=True)) / noise.scale
            return float((scaled * released).sum() - np.log(np.exp(scaled).sum(axis=-1)).sum())
        case "permute-and-flip":
            masses = np.array([_flip_masses(noise, scores) for scores in np.atleast_2d(value)])
            return float(np.log((masses * np.atleast_2d(released)).sum(axis=-1)).sum())
        case "table":
            return float(np.log(noise.chances[value, released]).sum())
        case "shuffled":
            ones = np.ones(1)  # how likely so many of the answers are 1
            for symbol in value.tolist():
                ones = np.convolve(ones, noise.chances[symbol])
            return float(np.log(ones[released.sum()]))
        case "sparse-vector":
            return _log_answers(noise, released, value)
        case "stable-histogram":
            return float(_log_shown(noise, released, value).sum())
    raise ValueError(f"{noise.kind} has no mass function here")


def _flip_masses(noise: Law, scores: Integers) -> Floats:
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
    return chance * (weights[:, None] / 2 * others).sum(axis=0)


def at_least(level: Floats, scale: float) -> Floats:
    """Return P(X ≥ level) for discrete Laplace X and integer levels."""
    ratio = np.exp(-1 / scale)
    upper = np.exp(-np.abs(level) / scale) / (1 + ratio)
    return np.where(level > 0, upper, 1 - upper * ratio)


def _log_answers(noise: Law, answers: Integers, numbers: Integers) -> float:
    """Return ln P(answers), summed over what the noisy threshold may have been."""
    reach = int(40 * noise.threshold) + 1
    threshold = np.arange(-reach, reach + 1).astype(np.float64)
    weights = np.exp(-np.abs(threshold) / noise.threshold)
    passing = at_least(threshold[:, None] - numbers.astype(np.float64), noise.scale)
    each = np.where(answers == 1, passing, np.where(answers == 0, 1 - passing, 1.0))
    return float(np.log((weights * each.prod(axis=1)).sum() / weights.sum()))


def _log_shown(noise: Law, shown: Integers, counts: Integers) -> Floats:
    ratio = np.exp(-1 / noise.scale)
    visible = np.exp(-np.abs(shown - counts) / noise.scale) * (1 - ratio) / (1 + ratio)
    hidden = 1 - at_least(noise.threshold - counts.astype(np.float64), noise.scale)
    masses = np.where(counts == 0, shown == 0, np.where(shown == 0, hidden, visible))
    return np.log(masses)
