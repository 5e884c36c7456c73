"""Rényi and zCDP bounds, and their conversion to (ε, δ).

A bound is a function τ(α) ≥ D_α(P‖Q) for α > 1. Bounds add under adaptive composition (Mironov 2017).
Conversion: (ε, δ) with ε = τ(α) + ln(1 − 1/α) − (ln δ + ln α)/(α − 1) for any α > 1 (Canonne, Kamath &
Steinke 2020; Balle et al. 2020; it follows from δ(ε) ≤ E e^{(α−1)(L−ε)}·max_x (1 − e^{−x})e^{−(α−1)x}).
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from dpaccount.numerics.bisection import bisect_ratio
from dpaccount.numerics.intervals import ball, ceil_of, precision

Bound = Callable[[Fraction], arb | None]  #: α ↦ a ball whose upper end bounds D_α; None: no bound there
Corner = tuple[Fraction, Fraction]


def epsilon(bound: Bound, target: Fraction, orders: Iterable[Fraction] = ()) -> Fraction | None:
    """Return an ε ≥ 0 with δ(ε) ≤ target, proved at the best order found; None where no order has a bound.

    Without `orders` the best of all is sought; with them only they are tried.
    """
    with precision(160):
        found = _least(lambda order: epsilon_at(bound, target, order), orders)
        return None if found is None else max(Fraction(0), ceil_of(found))


def epsilon_at(bound: Bound, target: Fraction, order: Fraction) -> arb | None:
    """Return ε(target) as one order bounds it."""
    tau = bound(order)
    if tau is None:
        return None
    a = ball(order)
    return tau + (1 - 1 / a).log() - (ball(target).log() + a.log()) / (a - 1)


def delta(bound: Bound, epsilon: Fraction, orders: Iterable[Fraction] = ()) -> Fraction | None:
    """Return an upper bound on δ(ε), at most 1, at the best order found; None where no order has a bound."""

    def at(order: Fraction) -> arb | None:
        tau = bound(order)
        return None if tau is None else log_delta(order, tau, epsilon)

    with precision(160):
        found = _least(at, orders)
        return None if found is None else min(Fraction(1), ceil_of(found.exp()))


def log_delta(order: Fraction, tau: arb, epsilon: Fraction) -> arb:
    """Return (α−1)(τ − ε) + α ln(1 − 1/α) − ln(α−1), at least ln δ(ε), for D_α ≤ τ."""
    a = ball(order)
    return (a - 1) * (tau - ball(epsilon)) + a * (1 - 1 / a).log() - (a - 1).log()


def zcdp_order(rho: float, epsilon: float) -> Fraction:
    """Return about the order of the least δ(ε) of ρ-zCDP: (2α − 1)ρ − ε + ln(1 − 1/α) = 0."""

    def past(a: float) -> bool:
        """Say whether the left side, which rises, is positive at α = 1 + a."""
        return (2 * a + 1) * rho - epsilon - math.log1p(1 / a) > 0

    return 1 + Fraction(bisect_ratio(past, 1e-9, max(1.0, epsilon / rho) + 1 / math.sqrt(rho), 60)[1])


def _least(value: Callable[[Fraction], arb | None], orders: Iterable[Fraction]) -> arb | None:
    """Return the least value at the given orders, or at the best order where none are given."""
    tried = [value(order) for order in (tuple(orders) or _best(value))]
    return min(
        (found for found in tried if found is not None), key=lambda found: float(found.mid()), default=None
    )


def _best(value: Callable[[Fraction], arb | None]) -> tuple[Fraction, ...]:
    """Return the order α = 1 + e^x of the least value, by a scan and golden sections in x."""
    cache: dict[float, float] = {}

    def height(x: float) -> float:
        if x not in cache:
            found = value(_order(x))
            cache[x] = math.inf if found is None or not found.is_finite() else float(found.mid())
        return cache[x]

    # The scan comes first because golden sections need a single valley, and bounds may be missing at some
    # orders.
    best = min((step / 2 for step in range(-60, 121)), key=height)
    low, high, golden = best - 0.5, best + 0.5, (math.sqrt(5) - 1) / 2
    for _ in range(44):  # 0.618^44 = 6e-10
        a, b = high - golden * (high - low), low + golden * (high - low)
        if height(a) <= height(b):
            high = b
        else:
            low = a
    return (_order(min(cache, key=height)),)


def _order(x: float) -> Fraction:
    return 1 + Fraction(math.exp(x))


@dataclass(frozen=True)
class Hull:
    """Corners of the lower convex hull of (1, 0) and of points (α, (α − 1) D_α), by rising order.

    (α − 1) D_α is convex in α and 0 at α = 1, so chords from (1, 0) and between points lie above it
    (van Erven & Harremoës 2014); the hull is the least of all chords.
    """

    orders: tuple[Fraction, ...]
    values: tuple[Fraction, ...]


def hull_bound(hull: Hull, order: Fraction) -> Fraction | None:
    """Return a bound on D_order from bounds at other orders; None above the largest of them."""
    orders, values = hull.orders, hull.values
    at = bisect_left(orders, order)
    if at == len(orders):
        return None
    share = (order - orders[at - 1]) / (orders[at] - orders[at - 1])
    return (values[at - 1] + (values[at] - values[at - 1]) * share) / (order - 1)


def hull_of(points: Iterable[Corner]) -> Hull:
    """Return the hull of bounds D_α at orders α, given as points (α, D_α)."""
    corners = [(Fraction(1), Fraction(0))]
    for a, v in sorted((a, (a - 1) * bound) for a, bound in points):
        if a == corners[-1][0]:
            continue  # the same order once more, with a larger bound
        while len(corners) > 1 and _above(corners[-1], corners[-2], (a, v)):
            corners.pop()
        corners.append((a, v))
    return Hull(tuple(a for a, _ in corners), tuple(v for _, v in corners))


def _above(middle: Corner, left: Corner, right: Corner) -> bool:
    """Say whether the middle one of three points is not below the chord of the other two."""
    rise = (middle[1] - left[1]) * (right[0] - left[0])
    return rise >= (right[1] - left[1]) * (middle[0] - left[0])
