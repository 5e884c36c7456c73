"""Rounds real numbers to a grid, so that the declared sensitivity holds for the code, bit for bit.

A grid step is a power of two, so scaling by it is exact.  Truncation toward zero never lengthens a
vector.  NaN becomes 0 and infinities the nearest bound before anything else: a public constant each.
"""

import math
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np

from dpaccount.errors import InputError
from dpaccount.noise.samplers import Floats, Integers


@cache
def step(bits: int) -> Fraction:
    """Return the grid step 2^−bits."""
    return Fraction(1, 2**bits)


def room(total: Fraction, bits: int) -> None:
    """Refuse settings whose largest sum, `total` in the data's units, overflows 64-bit grid units.

    Also checks that `bits` lies in 0 … 40.  Half of the room is left for noise.
    """
    if not 0 <= bits <= 40:
        raise InputError(f"bits is {bits}", "it lies in 0 ... 40")
    if total * 2**bits >= 2**61:
        raise InputError(
            f"sums may reach 2^{math.ceil(total).bit_length()} or so, too large for a grid of 2^-{bits}",
            "use fewer bits",
        )


def most(magnitude: Fraction, bits: int) -> int:
    """Return the last place of a grid of 2^−`bits` that is no further from 0 than `magnitude`."""
    return int(magnitude * 2**bits // 1)


def spanned(low: Fraction, high: Fraction) -> None:
    """Refuse an interval whose ends are equal doubles, or whose ends or width are beyond 2^±1000.

    Such ends would divide by zero or overflow later, when an error could depend on private rows.
    """
    try:
        ends = float(low), float(high)
        fine = -(2.0**1000) < ends[0] < ends[1] < 2.0**1000 and ends[1] - ends[0] > 2.0**-1000
    except OverflowError:
        fine = False
    if not fine:
        raise InputError("low and high are too close, or too large", "needed some that differ as doubles")


def clipped(values: Floats, low: Fraction, high: Fraction, bits: int) -> Integers:
    """Return every value clipped to [low, high] and truncated to steps of 2^−`bits`, in grid units.

    The result lies in [low, high] exactly, whatever the input: integer bounds are applied last.
    Raises `InputError` if no grid point lies within.
    """
    scale, (least, most) = 2.0**bits, _ends(low, high, bits)
    limited = np.clip(values, float(low), float(high))
    unknown = np.isnan(limited)
    if unknown.any():
        limited = np.where(unknown, np.clip(0.0, float(low), float(high)), limited)
    return np.clip((limited * scale).astype(np.int64), least, most)  # a cast truncates


@lru_cache(maxsize=64)
def _ends(low: Fraction, high: Fraction, bits: int) -> tuple[int, int]:
    """Return the least and the largest place of the grid within an interval."""
    least, most = -(-low * 2**bits // 1), high * 2**bits // 1  # ceiling, floor
    if least > most:
        raise InputError(f"no multiple of 2^-{bits} lies in [{low}, {high}]", "use a finer grid")
    if max(abs(least), abs(most)) >= 2**62:
        raise InputError(f"[{low}, {high}] is too wide for a grid of 2^-{bits}", "use a coarser grid")
    return int(least), int(most)


def in_ball(rows: Floats, radius: Fraction, bits: int) -> Integers:
    """Return every row projected onto the ℓ2 ball of `radius` and truncated to the grid, in grid units.

    The squared length is at most (radius·2^bits)² exactly: the projection leaves a margin of 2^−40
    for its own rounding, and truncation toward zero does not lengthen.
    """
    # infinities become the largest doubles
    safe = rows if np.isfinite(rows).all() else np.nan_to_num(rows, nan=0.0)
    largest = np.maximum(np.abs(safe).max(axis=-1, keepdims=True), 1e-300)
    unit = safe / largest  # so that squares neither overflow nor vanish
    # summed one by one: further columns of zeros leave a row's length unchanged, to the last bit
    squares = np.cumsum(unit * unit, axis=-1)[..., -1:]
    length = np.maximum(np.sqrt(squares), 1e-300)
    limit = float(radius) * (1 - 2.0**-40)
    shrunk = unit * np.minimum(largest, limit / length)
    # Integers from here on: a sum of clipped floats may move by more than twice the radius, as it does where
    # one of several rows (1, 1, 1) becomes (−1, −1, −1).
    return np.trunc(shrunk * 2.0**bits).astype(np.int64)
