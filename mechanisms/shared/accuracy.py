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


def sums(law: str, shown: Array, scale: Fraction, bits: int, level: Fraction, of: str) -> Interval:
    """Return the interval of sums with discrete noise, of a `law` and `scale` as in `reach`, on 2^−`bits`."""
    alpha = confidence.missed(level) / shown.size
    return around(shown, reach(law, scale, grid.step(bits), alpha), level, of)


def reach(law: str, scale: Fraction, step: Fraction, alpha: Fraction, terms: int = 1) -> int | float:
    """Return how far the sum of `terms` draws of noise is, but for a probability of `alpha`.

    `law` is ``laplace`` or ``gaussian``, `scale` its scale or standard deviation and `step` that of its grid;
    all are in one unit, in which the reach is an integer for steps of 1, else rounded up.
    """
    if law == "laplace":
        steps = confidence.laplace_sum(double_up(scale / step), terms, alpha)
    else:
        steps = confidence.gaussian_sum(root_up((scale / step) ** 2), terms, alpha)
    return steps if step == 1 else double_up(steps * step)


def quotient(
    low: Array | float, high: Array | float, fewest: Array | float, most: Array | float
) -> tuple[Array, Array]:
    """Return the ends of a sum over a count, each of which lies between two bounds; counts are positive."""
    return np.minimum(low / fewest, low / most), np.maximum(high / fewest, high / most)
