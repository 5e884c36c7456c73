"""Bisection, and from a decreasing curve δ(ε) to an enclosure of ε(δ): float search, then two sign tests."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from flint import arb

from dpaccount.numerics.intervals import ball, ceil_of, floor_of, mid_of, precision
from dpaccount.precision import USUAL, certified

Curve = Callable[[Fraction], arb]  #: ε ↦ a ball that contains δ(ε)
FLAT = Fraction(1, 10**30)  #: relative distance from its target below which a curve is taken as flat

Ends = tuple[Fraction, Fraction]  #: the ends of a proved interval
N = TypeVar("N", float, Fraction)
MOST_HALVINGS = 1 << 20  #: never reached: a width or a ratio ends the bisection before


def bisect(
    past: Callable[[N], bool],
    low: N,
    high: N,
    halvings: int = MOST_HALVINGS,
    *,
    width: Fraction | float = 0,
    relative: Fraction | int = 0,
) -> tuple[N, N]:
    """Return a bracket [a, b] of the point from which on `past` is true, within [`low`, `high`].

    The bracket is halved at most `halvings` times, until it is no wider than `width` + `relative`·b.
    """
    for _ in range(halvings):
        if high - low <= width + relative * high:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if past(middle) else (middle, high)
    return low, high


def bisect_ratio(
    past: Callable[[float], bool], low: float, high: float, halvings: int = MOST_HALVINGS, *, ratio: float = 1
) -> tuple[float, float]:
    """Return a bracket like `bisect`, of positive numbers: logarithms are halved until a `ratio` apart."""
    for _ in range(halvings):
        if high / low <= ratio:
            break
        middle = math.sqrt(low * high)
        low, high = (low, middle) if past(middle) else (middle, high)
    return low, high


def least_integer(past: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first integer above `low` that is `past`, as all after it are; at most `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if past(middle) else (middle, high)
    return high


@certified
def solve(
    curve: Curve, target: Fraction, low: Fraction, high: Fraction, width: Fraction, hint: Ends | None = None
) -> Ends:
    """Return [a, b] with δ(a) > target ≥ δ(b), both proved, so that ε(target) lies in [a, b].

    `curve`: δ, which decreases, as balls of any precision.
    `low`, `high`: where to look: δ(high) ≤ target, or high is a bound by other means.
    `width`: the most that the interval is wide, where the balls are thin enough.
    `hint`: where the crossing is thought to be; a wrong one costs time only.
    """
    # The search may be wrong in any way: the two sign tests after it are the proof, and they need no more of
    # the curve than that it falls.
    guess = crossing(curve, target, low, high, width / 8, hint)
    reach = width / 3  # two of which are less than `width`, and the guess errs by less than one
    below = guess - reach
    step = reach
    while below > low and not _closely(floor_of, curve(below)) > target:
        step *= 2
        below = guess - step
    above = guess + reach
    step = reach
    while above < high and not _closely(ceil_of, curve(above)) <= target:
        step *= 2
        above = guess + step
    return max(below, low), min(above, high)


def _closely(end: Callable[[arb], Fraction], value: arb) -> Fraction:
    """Return an end of a ball, rounded no more coarsely than its middle is."""
    # Rounded outward at fewer bits, the end of a thin ball could cross the target, and its test would fail
    # for good.
    with precision(max(USUAL, value.bits() + 8)):
        return end(value)


@certified
def crossing(
    curve: Curve,
    target: Fraction,
    low: Fraction,
    high: Fraction,
    close: Fraction,
    hint: Ends | None = None,
    *,
    sure: bool = False,
) -> Fraction:
    """Return an estimate of the crossing, by secants on log δ kept inside a shrinking bracket.

    `sure`: end at a point whose ball holds the target, where more points cost much and tell little.
    """
    known: list[tuple[Fraction, float]] = []
    for step in range(400):  # ends in any case: a bad guess costs time only
        if high - low <= close:
            break
        if hint is not None and step < 2 and low < hint[step] < high:
            point = hint[step]
        else:
            point = _secant(known, low, high) if len(known) >= 2 else (low + high) / 2
            point = _rounded_to_dyadic(point, close)
        if known and abs(point - known[-1][0]) <= close and len(known) > 2:
            return point
        value = curve(point)
        if sure and value.contains(ball(target)):
            return point
        height = _log_ratio(value, target)
        if height > 0:
            low = max(low, point)
        else:
            high = min(high, point)
        known.append((point, height))
    return (low + high) / 2


def _secant(known: list[tuple[Fraction, float]], low: Fraction, high: Fraction) -> Fraction:
    """Return where the line through the last two points crosses zero, or the middle if outside.

    Every eighth step halves the bracket, so that a crooked curve costs a logarithm of steps.
    """
    (a, fa), (b, fb) = known[-2:]
    middle = (low + high) / 2
    if len(known) % 8 == 7 or fa == fb or not (abs(fa) < 1e300 and abs(fb) < 1e300):
        return middle
    point = b - (b - a) * Fraction(fb) / Fraction(fb - fa)
    return point if low < point < high else middle


def _rounded_to_dyadic(point: Fraction, close: Fraction) -> Fraction:
    """Round to a dyadic much finer than `close`, so that exact numbers stay small."""
    bits = max(0, close.denominator.bit_length() - close.numerator.bit_length()) + 4
    return Fraction(round(point * (1 << bits)), 1 << bits)


def _log_ratio(value: arb, target: Fraction) -> float:
    """Return an estimate of log(value/target); −1e308 stands for −inf, where the value is not positive.

    Where the curve is all but flat at the target it is ±1e308: halving finds the crossing then, not secants.
    """
    over = mid_of(value) / target - 1
    if 0 < abs(over) < FLAT:
        return 1e308 if over > 0 else -1e308
    with precision(64):
        middle = ball(mid_of(value))
        if not middle > 0:
            return -1e308
        return float((middle / ball(target)).log().mid())
