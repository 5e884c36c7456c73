"""Confidence intervals for the noise alone, as returned by `accuracy` of a mechanism.

An interval contains the value without noise (after clipping and rounding to the grid), for all
numbers of a release at once, with probability `level` at least.  They do not cover the sampling of people.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaccount.noise.laws import double_up
from dpaccount.noise.samplers import root_up
from mechanisms.shared import confidence, grid

Array = NDArray[Any]
Interval = dict[str, object]


def interval(low: Array, high: Array, level: Fraction, of: str) -> Interval:
    """Return an interval as plain values.

    `low` and `high` have the shape of the released array; `level` is the probability that all
    intervals hold; `of` describes what they estimate.
    """
    return {"low": low.tolist(), "high": high.tolist(), "level": float(level), "of": of}


def around(shown: Array, reach: Array | float, level: Fraction, of: str) -> Interval:
    """Return `shown` ± `reach`: exact for integers, else rounded outwards.

    A margin of 2^−45 of the numbers covers floating-point rounding of `shown`.
    """
    if shown.dtype.kind in "iu" and np.asarray(reach).dtype.kind in "iu":
        return interval(shown - reach, shown + reach, level, of)
    wide = np.asarray(reach) * (1 + 2.0**-45) + np.abs(shown) * 2.0**-45
    return interval(shown - wide, shown + wide, level, of)


def outwards(low: Array, high: Array, level: Fraction, of: str, least: float = -np.inf) -> Interval:
    """Return an interval whose ends are floating-point results, widened by 2^−40 of their size.

    `least` is a known lower limit of the estimated values; the other arguments are those of
    `interval`.
    """
    wide = (np.abs(low) + np.abs(high)) * 2.0**-40
    return interval(np.maximum(low - wide, least), high + wide, level, of)


def laplace(shown: Array, scale: Fraction, bits: int, level: Fraction, of: str) -> Interval:
    """Return the interval of sums with discrete Laplace noise of `scale` on steps of 2^−`bits`."""
    alpha = confidence.missed(level) / shown.size
    step = grid.step(bits)
    return around(shown, in_units(confidence.laplace(double_up(scale / step), alpha), bits), level, of)


def gaussian(shown: Array, sigma: Fraction, bits: int, level: Fraction, of: str) -> Interval:
    """Return the interval of sums with discrete Gaussian noise of deviation `sigma` on steps of 2^−`bits`."""
    alpha = confidence.missed(level) / shown.size
    step = grid.step(bits)
    return around(shown, in_units(confidence.gaussian(root_up((sigma / step) ** 2), alpha), bits), level, of)


def in_units(steps: int, bits: int) -> int | float:
    """Return `steps` steps of 2^−`bits` in the data's units: an integer for steps of 1, else rounded up."""
    return steps if bits == 0 else double_up(steps * grid.step(bits))
