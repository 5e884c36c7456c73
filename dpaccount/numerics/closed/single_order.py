"""The optimal conversion of one Rényi bound D_α(P‖Q) ≤ τ to (ε, δ), as an upper bound.

Among all pairs with E_{e^ε}(P‖Q) = δ the least Rényi divergence is that of a pair of Bernoullis, p against
q = (p − δ)e^{−ε}: D_α = ln M(δ)/(α − 1) with

    M(δ) = min_{δ≤p≤1} e^{(α−1)ε} [p^α (p − δ)^{1−α} + (1 − p)^α (e^ε − p + δ)^{1−α}]

(Asoodeh, Liao, Calmon, Kosut & Sankar 2021, Three Variants of Differential Privacy: the joint range of two
f-divergences is that of Bernoulli pairs). The bracket is convex in (p, δ) jointly (perspectives), so M is
convex, 1 at δ = 0, and rising: δ(ε) ≤ δ* as soon as ln M(δ*) ≥ (α − 1)τ. For one p the slope bounds the
minimum from below: h(p′) ≥ h(p) + h′(p)(p′ − p).
"""

from fractions import Fraction

from flint import arb

from dpaccount.numerics.bisection import bisect
from dpaccount.numerics.intervals import ball, log_float, precision

ORDER_BITS = 200
TILT_HALVINGS = 63  #: after which doubles near 0 are apart by their last bits


def epsilon(order: Fraction, tau: arb, target: Fraction, high: Fraction, width: Fraction) -> Fraction:
    """Return an ε ≤ high with δ(ε) ≤ target, 0 < target < 1; `high` is known to be one by other means."""
    low = Fraction(0)
    with precision(ORDER_BITS + _extra(order, high)):
        if excludes(order, tau, low, target):
            return low
        return bisect(lambda middle: excludes(order, tau, middle, target), low, high, width=width)[1]


def delta(order: Fraction, tau: arb, epsilon: Fraction, high: Fraction) -> Fraction:
    """Return a δ ≤ high that bounds δ(ε); `high` is known to be one by other means."""

    def excluded(delta: Fraction) -> bool:
        return excludes(order, tau, epsilon, delta)

    with precision(ORDER_BITS + _extra(order, epsilon)):
        return bisect(excluded, Fraction(0), high, 60, relative=Fraction(1, 10**9))[1]


def excludes(order: Fraction, tau: arb, epsilon: Fraction, delta: Fraction) -> bool:
    """Say whether D_order ≤ tau is proved to rule out δ(ε) > delta: ln M(delta) ≥ (order − 1)·tau."""
    if delta >= 1:
        return True
    if delta <= 0:
        return False
    pairs = _Pairs(order, epsilon, delta)
    least = pairs.least(pairs.minimiser(abs(log_float(delta))))
    return bool(least > 0) and bool(least.log() + (ball(order) - 1) * (ball(epsilon) - tau) >= 0)


class _Pairs:
    """The bracket h(p) and its slope, p = δ + (1 − δ)/(1 + e^−x) for real x: both ends are within reach."""

    def __init__(self, order: Fraction, epsilon: Fraction, delta: Fraction) -> None:
        self.order, self.delta = ball(order), ball(delta)
        self.grown, self.room = ball(epsilon).exp(), 1 - ball(delta)

    def parts(self, x: float) -> tuple[arb, arb]:
        """Return p − δ and 1 − p."""
        return self.room / (1 + arb(-x).exp()), self.room / (1 + arb(x).exp())

    def at(self, x: float) -> tuple[arb, arb]:
        """Return h = p^α (p − δ)^{1−α} + (1 − p)^α (e^ε − p + δ)^{1−α} and its derivative in p."""
        a, (over, under) = self.order, self.parts(x)
        p = over + self.delta
        first, second = (p / over).log(), (under / (self.grown - over)).log()
        left, right = ((a - 1) * first).exp(), ((a - 1) * second).exp()
        slope = left * (a - (a - 1) * first.exp()) - right * (a - (a - 1) * second.exp())
        return p * left + under * right, slope

    def least(self, x: float) -> arb:
        """Return a lower bound on the minimum of h, by its tangent at x down to the end to which it falls."""
        value, slope = self.at(x)
        over, under = self.parts(x)
        room = over if slope > 0 else under if slope < 0 else self.room
        return value - abs(slope) * room

    def minimiser(self, depth: float) -> float:
        """Return an x near the minimum: the zero of the rising slope, by bisection."""
        # Undecided signs turn right: the tangent at any x is a bound, so a wrong turn costs sharpness only.
        return bisect(lambda x: self.at(x)[1] > 0, -4000.0 - 2 * depth, 4000.0, TILT_HALVINGS)[0]


def _extra(order: Fraction, epsilon: Fraction) -> int:
    """Return bits beyond the usual ones for large orders and losses."""
    return 2 * int(order).bit_length() + 4 * int(epsilon).bit_length()
