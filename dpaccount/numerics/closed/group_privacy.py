"""Chains of neighbours: what k units lose together, from what one loses.

A chain of k neighbours gives (kε, δ(e^{kε} − 1)/(e^ε − 1)) from (ε, δ) (Vadhan 2017).
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import chain, count

from flint import arb

from dpaccount.numerics.bisection import solve
from dpaccount.numerics.intervals import ball, ceil_of, precision

CHAIN_WIDTH = Fraction(1, 10**6)  #: how close to the least ε a chain is searched
CHAIN_FACTORS = (
    Fraction(1025, 1024),
    Fraction(65, 64),
    Fraction(9, 8),
)  #: times the first ε: there δ(ε) may fall


def chained(epsilon: Fraction, delta: Fraction, k: int) -> Fraction:
    """Return δ(e^{kε} − 1)/(e^ε − 1), rounded up, at most 1."""
    with precision(192):
        found = ball(delta) * _growth(epsilon, k)
        return ceil_of(found) if found < 1 else Fraction(1)


def _growth(epsilon: Fraction, k: int) -> arb:
    """Return (e^{kε} − 1)/(e^ε − 1), which is k at ε = 0."""
    if epsilon == 0:
        return ball(k)
    return (ball((k - 1) * epsilon)).exp() * (-ball(k * epsilon)).expm1() / (-ball(epsilon)).expm1()


def chain_delta(delta_of: Callable[[Fraction], Fraction], epsilon: Fraction, k: int) -> Fraction:
    """Return a bound on δ(ε) for k units from a bound `delta_of` for one."""
    return chained(epsilon / k, delta_of(epsilon / k), k)


def chain_epsilon(
    delta_of: Callable[[Fraction], Fraction], target: Fraction, k: int, least: Fraction
) -> Fraction | None:
    """Return an ε with δ(ε) ≤ target for k units, near the least; None where none is found below k·2^40.

    The search starts near k/2^20, at 1/1024 for small groups (below that nothing is gained), and not below
    k·`least`, a bound from below on one unit's ε(target/k): a chain makes k times as much of δ, or more.
    """
    first = max(Fraction(max(1, k >> 10), 1024), k * least)
    # A chain's bound falls and rises again, so that doubling may pass by where it is met.
    tried = chain((first, *(first * times for times in CHAIN_FACTORS)), (first * 2**n for n in count(1)))
    high = next(at for at in tried if at > k << 40 or chain_delta(delta_of, at, k) <= target)
    if high > k << 40:
        return None
    if target == 0:
        return high
    enough = [high]  # where little work is left bounds are looser: the least ε that was proved counts

    def curve(at: Fraction) -> arb:
        found = chain_delta(delta_of, at, k)
        if found <= target:
            enough.append(at)
        return ball(found)

    solve(curve, target, max(high / 2, k * least), high, CHAIN_WIDTH * max(Fraction(1), high))
    return min(enough)
