"""Ball arithmetic: exact numbers in, proved comparisons out.

A ball (python-flint's `arb`) is a midpoint and a radius and contains the number it stands for.
Comparisons are true only when they hold for every point of both balls, so a NaN ball, or one that
is too wide, never passes a sign test. The precision must be set before a number becomes a ball.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction

from flint import arb, ctx, fmpq, fmpz

from dpaccount.errors import NumericsError

MOST_BITS = 1 << 16  #: precision at which an undecided sign is reported as a defect
MOST_PRECISION = 1 << 19  #: beyond which a computation is not begun
LARGEST = 1 << 20  #: bits of the largest number that a bound is written out with


class OutOfReach(ArithmeticError):  # noqa: N818
    """A computation that would need too much time or memory; a simpler bound takes its place."""


class NotFinite(NumericsError):  # noqa: N818
    """A bound came out infinite or as NaN: its computation left the range it is meant for."""


_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)
_allowed: ContextVar[float] = ContextVar("allowed", default=math.inf)
_ticks = itertools.count()


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Give the block so much processor time (outer limits and the allowance hold), then `OutOfReach`."""
    token = _deadline.set(min(_deadline.get(), _allowed.get(), time.process_time() + seconds))
    try:
        yield
    finally:
        _deadline.reset(token)


@contextmanager
def allowance(seconds: float) -> Iterator[None]:
    """Let everything that asks for `patience` inside the block share so much processor time."""
    token = _allowed.set(min(_allowed.get(), time.process_time() + seconds))
    try:
        yield
    finally:
        _allowed.reset(token)


def spent() -> bool:
    """Say whether the allowance is used up."""
    return time.process_time() > _allowed.get()


@contextmanager
def unhurried() -> Iterator[None]:
    """Lift the limit inside the block: for bounds in closed form, which must always be found."""
    token = _deadline.set(math.inf)
    try:
        yield
    finally:
        _deadline.reset(token)


def out_of_time() -> bool:
    """Say whether the time of the innermost `patience` is over."""
    return time.process_time() > _deadline.get()


def seconds_left() -> float:
    """Return the processor time that is left to the innermost `patience`."""
    return _deadline.get() - time.process_time()


def affordable(seconds: float) -> None:
    """Raise `OutOfReach` before something that would outlast the time (an estimate)."""
    if time.process_time() + seconds > _deadline.get():
        raise OutOfReach("the time for an exact method would not suffice")


def tick() -> None:
    """Raise `OutOfReach` where the time is over; looks at the clock now and then."""
    if next(_ticks) % 32 == 0 and out_of_time():
        raise OutOfReach("the time for an exact method is over")


def bearable(size: float, most: float) -> None:
    """Raise `OutOfReach` before something of an absurd size is made."""
    if not size <= most:
        raise OutOfReach(f"a size above {most:g} is out of reach")


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute with `bits` bits inside the block."""
    before = ctx.prec
    bearable(bits, MOST_PRECISION)
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def ball(value: Fraction | int) -> arb:
    """Return the smallest ball of the current precision around an exact number."""
    tick()
    exact = Fraction(value)
    if exact.denominator == 1:
        return arb(fmpz(exact.numerator))
    return arb(fmpq(exact.numerator, exact.denominator))


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
        bearable(exponent, LARGEST)
        return Fraction(mantissa << exponent)
    if mantissa.bit_length() + exponent < -TINY:
        smallest = Fraction(1, 1 << TINY)
        return smallest if up and mantissa > 0 else -smallest if not up and mantissa < 0 else Fraction(0)
    return Fraction(mantissa, 1 << -exponent)


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
    after four doublings as it is: wide, never wrong.
    """
    at = start
    while True:
        with precision(at):
            found = value()
        if found.rel_accuracy_bits() >= bits or at >= 16 * start:
            return found
        at *= 2
