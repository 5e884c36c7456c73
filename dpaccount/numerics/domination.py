"""A Gaussian pair above a whole privacy curve, and one that is nearly the least.

δ is the curve of a pair that costs the same in both directions and whose largest loss is `end`.  A pair is
μ-GDP where δ(ε) ≤ δ_μ(ε) for all ε ≥ 0 in both directions (Dong, Roth & Su 2022, Corollary 2.13).  What is
known of δ are upper bounds at single points, and three facts fill the space between them:

- In x = e^ε a privacy curve is convex, so on [a, b] it lies below the chord of bounds at a and b.
- For the event S that the Gaussian loss exceeds some m, δ_μ(ε) ≥ P(S) − e^ε Q(S) at every ε, with equality at
  ε = m: a straight line in x.  P(S) = Φ(μ/2 − m/μ) and Q(S) = Φ(−μ/2 − m/μ).  A chord lies below a line where
  its ends do.  So the cell [a, b] is settled by two comparisons, with m in its middle or at its right end.
- From `end` on δ is 0.

A cell that is not settled is halved, down to a width of μ/512; one that is still not settled refutes
nothing, and a larger μ is tried.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise

from flint import arb

from dpaccount.numerics.bisection import bisect
from dpaccount.numerics.closed import gaussian
from dpaccount.numerics.intervals import ball, precision

Curve = Callable[[Fraction], Fraction]  #: ε ≥ 0 ↦ an upper bound on δ(ε)

BITS = 192
WIDE, NARROW = 4, 512  #: parts of μ: the cells that are begun with, and the narrowest
LOOKED_AT = 48  #: quarters of μ at which the least μ is estimated
DIGITS = 6  #: of the bound on μ²
MOST_CELLS = 20_000
MOST_APART = 1 << 60  #: times that a μ² may lie below the largest one that is thought of


def least(
    curve: Curve,
    end: Fraction,
    most: Fraction,
    slack: Fraction = Fraction(1, 10**5),
    known: Callable[[], Iterable[Fraction]] = tuple,
) -> Fraction:
    """Return μ² ≤ `most` of a Gaussian pair proved to dominate; `most` is known to.

    `slack`: how far above the least μ², relative to it, is tried first.
    `known`: at which points the curve has been computed, so that cells begin and end there.
    """
    found = _estimated(curve, end, most)
    while found and (tried := _decimal(found * (1 + slack))) < most:
        if dominates(tried, curve, end, known()):
            return tried
        slack *= 2
    return most


def dominates(mu2: Fraction, curve: Curve, end: Fraction, known: Iterable[Fraction] = ()) -> bool:
    """Say whether δ(ε) ≤ δ_μ(ε) is proved for all ε ≥ 0."""
    with precision(BITS):
        mu, unit = ball(mu2).sqrt(), Fraction(math.sqrt(mu2))
        inside = sorted({Fraction(0), end, *(at for at in known if 0 < at < end)})
        cells = list(pairwise(inside))[::-1]
        for _ in range(MOST_CELLS):
            a, b = cells.pop()
            if b - a > unit / WIDE:
                cells += [(a + unit / WIDE, b), (a, a + unit / WIDE)]
            elif not _settled(mu, curve, a, b):
                if b - a < unit / NARROW:
                    return False
                cells += [((a + b) / 2, b), (a, (a + b) / 2)]
            if not cells:
                return True
        return False


def _settled(mu: arb, curve: Curve, a: Fraction, b: Fraction) -> bool:
    """Say whether the chord of the bounds over [a, b] is proved to lie below a line below δ_μ."""
    left, right = ball(curve(a)), ball(curve(b))
    return any(
        left <= here - ball(a).exp() * there and right <= here - ball(b).exp() * there
        for here, there in (_beyond(mu, m) for m in ((a + b) / 2, b))
    )


def _beyond(mu: arb, m: Fraction) -> tuple[arb, arb]:
    """Return the chances P(S) and Q(S) that the Gaussian loss exceeds m."""
    at, root = ball(m) / mu, arb(2).sqrt()
    return ((at - mu / 2) / root).erfc() / 2, ((at + mu / 2) / root).erfc() / 2


def _estimated(curve: Curve, end: Fraction, most: Fraction) -> Fraction:
    """Return about the least μ² that holds at some points, nothing proved."""
    found, at = Fraction(0), Fraction(0)
    for _ in range(LOOKED_AT):
        height = curve(at)
        if height > 0 and not (found and gaussian.delta(at, (found, found), 30) >= ball(height)):
            found = least_at(at, height, found, most)[1]
        at += Fraction(math.sqrt(found)) / WIDE
        if not found or at >= end:
            break
    return found


def least_at(
    at: Fraction, height: Fraction, low: Fraction, high: Fraction, digits: int = DIGITS
) -> tuple[Fraction, Fraction]:
    """Return [a, b] around the least μ² with δ_μ(at) ≥ height, between `low` and `high`; a is proved.

    Every μ² below a has δ_μ(at) < height, if those below `low` have.  Far below `high` there is no search.
    """

    def reached(mu2: Fraction) -> bool:
        return not gaussian.delta(at, (mu2, mu2), 20 + 4 * digits) < ball(height)

    if not low and reached(high / MOST_APART):
        return low, high / MOST_APART
    return (low, low) if reached(low) else bisect(reached, low, high, relative=Fraction(1, 10**digits))


def _decimal(value: Fraction) -> Fraction:
    """Return a number of a few decimal digits, rounded up."""
    places = DIGITS
    while value * 10**places < 10 ** (DIGITS - 1):
        places += 1
    return Fraction(-(-value.numerator * 10**places // value.denominator), 10**places)
