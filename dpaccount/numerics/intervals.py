"""Ball arithmetic: exact numbers in, proved comparisons out.

A ball (python-flint's `arb`) is a midpoint and a radius and contains the number it stands for.
Comparisons are true only when they hold for every point of both balls, so a NaN ball, or one that
is too wide, never passes a sign test. The precision must be set before a number becomes a ball.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from fractions import Fraction

from flint import arb, ctx, fmpq, fmpz

from dpaccount import precision as working
from dpaccount.errors import NumericsError
from dpaccount.numerics.work_budget import OutOfReach, bearable, spend

MAX_PRECISION = 1 << 19  #: beyond which a computation is not begun
LONG_NUMBER = 1 << 14  #: bits beyond which the work of a number grows as the square of its length
MAX_BITS = 1 << 20  #: bits of the largest number that a bound is written out with


class NotFinite(NumericsError):  # noqa: N818
    """A bound came out infinite or as NaN: its computation left the range it is meant for."""


def precision(bits: int) -> AbstractContextManager[None]:
    """Compute with `bits` bits inside the block; raises `OutOfReach` for too many."""
    bearable(bits, MAX_PRECISION)
    return working.precision(bits)


def ball(value: Fraction | int) -> arb:
    """Return the smallest ball of the current precision around an exact number."""
    # Exact numbers only: 0.01 as a double is 2e-19 too large, which a composition multiplies by its steps.
    spend(1 + ctx.prec / 512 * max(1.0, ctx.prec / LONG_NUMBER))
    if value.denominator == 1:
        return arb(fmpz(value.numerator))
    return arb(fmpq(value.numerator, value.denominator))


def between(lower: Fraction | int, upper: Fraction | int) -> arb:
    """Return a ball that contains [lower, upper]."""
    return ball(lower) if lower == upper else ball(lower).union(ball(upper))


TINY = 1 << 17  #: exponent below which a number is rounded away from (or to) 0, to stay writable


def floor_of(value: arb) -> Fraction:
    """Return an exact number at most every point of a ball."""
    return _exact(value.lower(), up=False)


def ceil_of(value: arb) -> Fraction:
    """Return an exact number at least every point of a ball."""
    return _exact(value.upper(), up=True)


def mid_of(value: arb) -> Fraction:
    """Return the midpoint of a ball (an estimate, not a bound)."""
    return _exact(value.mid(), up=True)


def _exact(point: arb, *, up: bool) -> Fraction:
    if not point.is_finite():
        raise NotFinite(f"a bound came out as {point}; a finite ball was needed")
    mantissa, exponent = (int(part) for part in point.man_exp())
    if exponent >= 0:
        bearable(exponent, MAX_BITS)
        return Fraction(mantissa << exponent)
    if mantissa.bit_length() + exponent < -TINY:
        smallest = Fraction(1, 1 << TINY)
        return smallest if up and mantissa > 0 else -smallest if not up and mantissa < 0 else Fraction(0)
    if -exponent > LONG_NUMBER:
        spend(64 * (exponent / LONG_NUMBER) ** 2)
    return Fraction(mantissa, 1 << -exponent)


def whole(value: arb, most: int) -> int:
    """Return an exact whole number; raise `OutOfReach` where it is above `most`, which may not be written."""
    if not value.is_finite():
        raise NotFinite(f"a number came out as {value}; a finite ball was needed")
    if not value <= most:
        raise OutOfReach(f"a number above {most:g} is out of reach")
    return int(value.unique_fmpz())


def log_float(value: Fraction) -> float:
    """Return the natural logarithm of an exact positive number as a float (an estimate)."""
    if value <= 0:
        return -math.inf
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    scaled = value / Fraction(2) ** shift
    return math.log(float(scaled)) + shift * math.log(2)


def accurate(value: Callable[[], arb], bits: int, start: int = 96) -> arb:
    """Return `value()` at the least doubled precision where it has `bits` correct bits.

    A ball that stays inaccurate (its input is itself an interval, or the value is 0) is returned
    as it is, wide and never wrong: after four doublings, or once a doubling adds hardly a bit to some.
    """
    at, before = start, 0
    while at < min(bits, 16 * start):  # fewer digits than that cannot have as many correct ones
        at *= 2
    while True:
        with precision(at):
            found = value()
        correct = found.rel_accuracy_bits()
        if correct >= bits or at >= 16 * start or (before > 0 and correct < before + at // 8):
            return found
        at, before = 2 * at, correct
