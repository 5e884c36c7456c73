"""The optimal conversion of one Rényi bound D_α(P‖Q) ≤ τ to (ε, δ), as an upper bound.

Among all pairs with E_{e^ε}(P‖Q) = δ the least Rényi divergence is that of a pair of Bernoullis, p against
q = (p − δ)e^{−ε}: D_α = ln M(δ)/(α − 1) with

    M(δ) = min_{δ≤p≤1} e^{(α−1)ε} [p^α (p − δ)^{1−α} + (1 − p)^α (e^ε − p + δ)^{1−α}]

(Asoodeh, Liao, Calmon, Kosut & Sankar 2021, Three Variants of Differential Privacy: the joint range of two
f-divergences is that of Bernoulli pairs). The bracket is convex in (p, δ) jointly (perspectives), so M is
convex, 1 at δ = 0, and rising: δ(ε) ≤ δ* as soon as ln M(δ*) ≥ (α − 1)τ. For one p the slope bounds the
minimum from below: h(p′) ≥ h(p) + h′(p)(p′ − p).
"""

import math
from fractions import Fraction

from flint import arb

from dpaccount.numerics.balls import ball, log_float, precision

BITS = 200


def epsilon(order: Fraction, tau: arb, target: Fraction, high: Fraction, width: Fraction) -> Fraction:
    """Return an ε ≤ high with δ(ε) ≤ target, 0 < target < 1; `high` is known to be one by other means."""
    low = Fraction(0)
    with precision(BITS + _extra(order, high)):
        if excludes(order, tau, low, target):
            return low
        while high - low > width:
            middle = (low + high) / 2
            if excludes(order, tau, middle, target):
                high = middle
            else:
                low = middle
    return high


def delta(order: Fraction, tau: arb, epsilon: Fraction, high: Fraction) -> Fraction:
    """Return a δ ≤ high that bounds δ(ε); `high` is known to be one by other means."""
    low = Fraction(0)
    with precision(BITS + _extra(order, epsilon)):
        for _ in range(60):
            middle = (low + high) / 2
            if excludes(order, tau, epsilon, middle):
                high = middle
            else:
                low = middle
            if high - low <= high / 10**9:
                break
    return high


def excludes(order: Fraction, tau: arb, epsilon: Fraction, delta: Fraction) -> bool:
    """Say whether D_order ≤ tau is proved to rule out δ(ε) > delta: ln M(delta) ≥ (order − 1)·tau."""
    if delta >= 1:
        return True
    if delta <= 0:
        return False
    p = _minimiser(order, epsilon, delta)
    value, slope = _bracket(order, epsilon, delta, p)
    least = value - abs(slope) * _room(slope, p, delta)
    return bool(least > 0) and bool(least.log() + (ball(order) - 1) * (ball(epsilon) - tau) >= 0)


def _room(slope: arb, p: Fraction, delta: Fraction) -> arb:
    """Return how far from p the minimum may lie, on the side to which the bracket falls."""
    if slope > 0:
        return ball(p - delta)
    return ball(1 - p) if slope < 0 else ball(1)


def _bracket(order: Fraction, epsilon: Fraction, delta: Fraction, p: Fraction) -> tuple[arb, arb]:
    """Return p^α (p − δ)^{1−α} + (1 − p)^α (e^ε − p + δ)^{1−α} and its derivative in p."""
    a, rest = ball(order), ball(epsilon).exp() - ball(p - delta)
    first = (ball(p) / ball(p - delta)).log()
    second = (ball(1 - p) / rest).log()
    left, right = ((a - 1) * first).exp(), ((a - 1) * second).exp()
    value = ball(p) * left + ball(1 - p) * right
    slope = left * (a - (a - 1) * first.exp()) - right * (a - (a - 1) * second.exp())
    return value, slope


def _minimiser(order: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a p near the minimum: the zero of the rising slope, by bisection in ln((p − δ)/(1 − p))."""
    low, high = -4000.0 - 2 * abs(log_float(delta)), 4000.0
    for _ in range(200):
        middle = (low + high) / 2
        p = _place(delta, middle)
        _, slope = _bracket(order, epsilon, delta, p)
        if slope > 0:
            high = middle
        else:
            low = middle
        if high - low < 1e-15 * max(1.0, abs(low)):
            break
    return _place(delta, (low + high) / 2)


def _place(delta: Fraction, odds: float) -> Fraction:
    """Return δ + (1 − δ)/(1 + e^−odds), strictly between δ and 1."""
    weight = Fraction(2) ** math.floor(odds / math.log(2))
    weight *= Fraction(math.exp(odds - math.floor(odds / math.log(2)) * math.log(2)))
    return delta + (1 - delta) * weight / (1 + weight)


def _extra(order: Fraction, epsilon: Fraction) -> int:
    """Return bits beyond the usual ones for large orders and losses."""
    return 2 * int(order).bit_length() + 4 * int(epsilon).bit_length()
