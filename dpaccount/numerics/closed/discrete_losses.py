"""Losses of mechanisms whose privacy loss takes few values: exact points and masses.

Each function yields (loss, mass) under P; losses are exact, masses are thunks that evaluate to balls at
the precision of the moment. All pairs here are symmetric: (Q, P) has the same losses.
"""

from collections.abc import Callable
from fractions import Fraction
from math import isqrt

from flint import arb, ctx

from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.work_budget import bearable, kept, spend

MOST_POINTS = 2_000_000  #: of one pair
Points = list[tuple[Fraction, Callable[[], arb]]]


def response(epsilon: Fraction, k: int) -> Points:
    """Return the losses of k-ary randomised response: e^ε, 1, …, 1 over e^ε + k − 1.

    That of two answers dominates every ε-DP mechanism (Kairouz, Oh & Viswanath 2015 and 2016).
    """
    points: Points = [
        (epsilon, lambda: 1 / (1 + (k - 1) * (-ball(epsilon)).exp())),
        (-epsilon, lambda: 1 / (k - 1 + ball(epsilon).exp())),
    ]
    return points if k == 2 else [*points, (Fraction(0), lambda: (k - 2) / (k - 1 + ball(epsilon).exp()))]


def laplace(scale: Fraction, shift: int) -> Points:
    """Return the losses of two-sided geometric noise, P(x) ∝ e^{−|x|/scale}, moved by `shift`.

    The loss is (|x − shift| − |x|)/scale: shift/scale for x ≤ 0, of mass 1/(1 + r) with r = e^{−1/scale},
    −shift/scale for x ≥ shift, of mass r^shift/(1 + r), linear between (Ghosh, Roughgarden &
    Sundararajan 2012). A smaller shift is dominated: half-lines attain δ, and their mass falls with it.
    """

    def tail(x: int) -> Callable[[], arb]:
        return lambda: (ball(-x / scale)).exp() / (1 + ball(-1 / scale).exp())

    def inner(x: int) -> Callable[[], arb]:
        return lambda: (ball(-x / scale)).exp() * (-(ball(-1 / scale)).expm1()) / (1 + ball(-1 / scale).exp())

    bearable(shift, MOST_POINTS)
    inside = [((shift - 2 * x) / scale, inner(x)) for x in range(1, shift)]
    return [(shift / scale, tail(0)), *inside, (-shift / scale, tail(shift))]


def gaussian(sigma: Fraction, shift: int, reach: int) -> Points:
    """Return the losses of discrete Gaussian noise moved by `shift`, for noise values |x| ≤ reach.

    P(x) ∝ e^{−x²/(2σ²)} on the integers; the loss is (shift/σ²)(shift/2 − x) (Canonne, Kamath & Steinke
    2020). Smaller shifts are dominated: half-lines attain δ, and P(X + s ≤ t) falls with s.
    """

    def mass(x: int) -> Callable[[], arb]:
        return lambda: (ball(-x * x / (2 * sigma * sigma))).exp() / gaussian_total(sigma)

    bearable(reach, MOST_POINTS)
    step = shift / sigma**2
    return [(step * (Fraction(shift, 2) - x), mass(x)) for x in range(-reach, reach + 1)]


def gaussian_total(sigma: Fraction) -> arb:
    """Return Σ_x e^{−x²/(2σ²)} over the integers, the tail bounded by a geometric series."""
    return _total(sigma, ctx.prec)


@kept(64)
def _total(sigma: Fraction, bits: int) -> arb:
    rate = ball(1) / (2 * ball(sigma) ** 2)
    if sigma < 4:
        return _plain_sum(rate, bits)
    # Poisson summation: σ√(2π) Σ_k e^{−2π²σ²k²}, which converges at once where σ is large
    dual = 2 * (arb.pi() * ball(sigma)) ** 2
    return ball(sigma) * (2 * arb.pi()).sqrt() * _plain_sum(dual, bits)


def _plain_sum(rate: arb, bits: int) -> arb:
    """Return Σ_x e^{−rate·x²}; beyond r the terms fall at least by e^{−rate(2r+1)} each."""
    total, x = ball(1), 0
    while True:
        spend()
        x += 1
        term = 2 * (-rate * x * x).exp()
        total += term
        if term < arb(2) ** -bits:
            ratio = (-rate * (2 * x + 1)).exp()
            return total + ball(0).union(term * ratio / (1 - ratio))


def gaussian_tail(sigma: Fraction, reach: int) -> arb:
    """Return a bound on P(|X| > reach): twice a geometric series from the first dropped term."""
    x = reach + 1
    rate = ball(1) / (2 * ball(sigma) ** 2)
    return 2 * (-rate * x * x).exp() / (1 - (-rate * (2 * x + 1)).exp()) / gaussian_total(sigma)


@kept(2)
def gaussian_tails(sigma: Fraction, bits: int) -> list[arb]:
    """Return P(X ≥ x) for x = 0, 1, … as far as 2^−bits matters, by sums from the far end.

    Each weight is the last one times a ratio that falls geometrically; the rest is the first tail's radius.
    """
    reach = gaussian_reach(sigma, bits)
    bearable(reach, MOST_POINTS // 5)
    with precision(bits + 3 * reach.bit_length() + 16):
        rate = 1 / (2 * ball(sigma) ** 2)
        fall, ratio, weight, weights = (-2 * rate).exp(), (-rate).exp(), 1 / gaussian_total(sigma), []
        for _ in range(reach + 1):
            spend()
            weights.append(weight)
            weight, ratio = weight * ratio, ratio * fall
        # From the far end: as 1 less a sum from the near end, a far tail would lose all its digits to
        # cancellation.
        found = [arb(0).union(gaussian_tail(sigma, reach).upper())]
        for each in reversed(weights):
            found.append(found[-1] + each)
        return found[::-1]


def gaussian_reach(sigma: Fraction, bits: int) -> int:
    """Return a reach beyond which the discrete Gaussian has about 2^−bits of its mass (an estimate)."""
    return isqrt(int(2 * sigma * sigma * (Fraction(7, 10) * bits + 4))) + 2
