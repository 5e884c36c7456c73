"""Numbers that claims are compared with, each as a proved enclosure.

Exact fractions go in; balls of doubling precision decide; what comes out is [lower, upper] about
1e-12 wide.  Squares of noise scales are kept, because the scales are rarely rational.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from dpaccount.errors import InputError
from dpaccount.exact import Enclosure
from dpaccount.numerics.bisection import solve
from dpaccount.numerics.closed import gaussian
from dpaccount.numerics.intervals import accurate, ball, between, ceil_of, floor_of, precision

CLOSED_FORM_BITS = 100  #: accuracy of closed forms
WIDTH = Fraction(1, 10**12)  #: relative width of what is solved for
HUGE = 10**30  #: μ² beyond which ε is μ²/2 to 14 digits
EXACTLY_ONE = Enclosure(Fraction(1), Fraction(1))
ZERO = Enclosure(Fraction(0), Fraction(0))
INFINITE = Enclosure(math.inf, math.inf)


def exactly(value: Fraction | int) -> Enclosure:
    """Return the enclosure of a known number."""
    return Enclosure(Fraction(value), Fraction(value))


def enclose(value: Callable[[], arb]) -> Enclosure:
    """Return an enclosure of a closed form, about 100 bits wide."""
    enclosed = accurate(value, CLOSED_FORM_BITS, start=160)
    return Enclosure(floor_of(enclosed), ceil_of(enclosed))


def of(value: Enclosure) -> arb:
    """Return a ball that contains an enclosure."""
    return between(*_ends(value))


def root(square: Enclosure) -> Enclosure:
    """Return the square root."""
    return enclose(lambda: of(square).sqrt()) if square.upper else ZERO


def ratio(over: Enclosure, under: Enclosure) -> Enclosure | None:
    """Return over/under; None if the denominator may vanish."""
    return None if not under.lower else enclose(lambda: of(over) / of(under))


def gaussian_epsilon(mu2: Enclosure, delta: Fraction) -> Enclosure:
    """Return the exact ε of μ-GDP at 0 < δ < 1: the least ε ≥ 0 with δ(ε) ≤ delta."""
    if mu2.upper == 0:
        return ZERO
    if mu2.lower is not None and mu2.lower > HUGE:
        return _huge_epsilon(mu2, delta)
    top = gaussian.epsilon_bound(delta, Fraction(mu2.upper))
    width = WIDTH * min(Fraction(1), top) if top < 1 else WIDTH * top
    return Enclosure(*gaussian.epsilon(delta, _ends(mu2), width))


def gaussian_delta(mu2: Enclosure, epsilon: Fraction) -> Enclosure:
    """Return the exact δ of μ-GDP at ε ≥ 0 (Balle & Wang 2018)."""
    if mu2.lower is not None and mu2.lower > HUGE and 4 * epsilon < mu2.lower:
        return Enclosure(1 - Fraction(1, 2**1000), Fraction(1))  # `_huge_epsilon` at t = μ/2 − ε/μ > 10^14
    enclosed = gaussian.delta(epsilon, _ends(mu2))
    return Enclosure(max(Fraction(0), floor_of(enclosed)), min(Fraction(1), ceil_of(enclosed)))


def _huge_epsilon(mu2: Enclosure, delta: Fraction) -> Enclosure:
    """Return μ²/2 ± μt, accurate also for very large μ.

    At ε = μ²/2 − μt both P(L ≤ ε) and e^ε Q(L > ε) are at most e^{−t²/2}, so δ(ε) ≥ 1 − 2e^{−t²/2}; at
    ε = μ²/2 + μt it is at most e^{−t²/2}.
    """

    def end(side: int, exponent: Callable[[], arb]) -> Enclosure:
        return enclose(lambda: of(mu2) / 2 + side * of(mu2).sqrt() * (2 * exponent()).sqrt())

    low = end(-1, lambda: log(2 / (1 - delta)))
    return Enclosure(low.lower, end(1, lambda: -log(delta)).upper)


def permitted_mu2(epsilon: Fraction, delta: Fraction) -> Enclosure:
    """Return μ² of the largest μ for which μ-GDP gives (ε, δ), for ε > 0 and 0 < δ < 1.

    The lower end surely meets (ε, δ), the upper end surely does not.
    """
    scale = falling(lambda noise: gaussian.delta(epsilon, (1 / noise**2,) * 2), delta)
    return Enclosure(1 / Fraction(scale.upper) ** 2, 1 / Fraction(scale.lower or 1) ** 2)


def falling(curve: Callable[[Fraction], arb], target: Fraction) -> Enclosure:
    """Return where a decreasing positive function of a positive number crosses `target`.

    The upper end is proved to be at or below the target, the lower end above it.
    """
    high = Fraction(1)
    for _ in range(2200):  # beyond all doubles
        if ceil_of(curve(high)) <= target:
            break
        high *= 2
    else:
        raise InputError("no noise within reach meets the claim", "give less extreme parameters")
    low = high / 2
    for _ in range(2200):
        if floor_of(curve(low)) > target:
            break
        low, high = low / 2, low
    else:
        raise InputError("any noise meets the claim", "give less extreme parameters")
    return Enclosure(*solve(curve, target, low, high, high * WIDTH))


def ceiling(value: Callable[[], arb]) -> int:
    """Return the least integer that is at least an irrational closed form."""
    for bits in (128, 512, 2048):
        with precision(bits):
            top, bottom = value().upper().ceil(), value().lower().ceil()
            if bool(top == bottom):
                return int(top.unique_fmpz())
    raise InputError("a ceiling cannot be decided", "give other parameters")


def log(value: Fraction) -> arb:
    """Return a ball around the natural logarithm at the working precision."""
    return ball(value).log()


def _ends(value: Enclosure) -> tuple[Fraction, Fraction]:
    if value.lower is None:
        raise ValueError("needed a number with two ends")
    return Fraction(value.lower), Fraction(value.upper)
