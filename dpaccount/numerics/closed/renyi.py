"""Rényi and zCDP bounds, and their conversion to (ε, δ).

A bound is a function τ(α) ≥ D_α(P‖Q) for α > 1. Bounds add under adaptive composition (Mironov 2017).
Conversion: (ε, δ) with ε = τ(α) + ln(1 − 1/α) − (ln δ + ln α)/(α − 1) for any α > 1 (Canonne, Kamath &
Steinke 2020; Balle et al. 2020; it follows from δ(ε) ≤ E e^{(α−1)(L−ε)}·max_x (1 − e^{−x})e^{−(α−1)x}).
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from flint import arb

from dpaccount.numerics.balls import ball, ceil_of, precision

Bound = Callable[[Fraction], arb | None]  #: α ↦ a ball whose upper end bounds D_α; None: no bound there


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
        if tau is None:
            return None
        a = ball(order)
        return (a - 1) * (tau - ball(epsilon)) + a * (1 - 1 / a).log() - (a - 1).log()

    with precision(160):
        found = _least(at, orders)
        return None if found is None else min(Fraction(1), ceil_of(found.exp()))


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

    best = min((step / 2 for step in range(-60, 121)), key=height)
    low, high, golden = best - 0.5, best + 0.5, (math.sqrt(5) - 1) / 2
    for _ in range(44):
        a, b = high - golden * (high - low), low + golden * (high - low)
        if height(a) <= height(b):
            high = b
        else:
            low = a
    return (_order(min(cache, key=height)),)


def _order(x: float) -> Fraction:
    return 1 + Fraction(math.exp(x))


def points_bound(points: tuple[tuple[Fraction, Fraction], ...], order: Fraction) -> Fraction | None:
    """Return a bound on D_order from bounds at other orders; None above the largest of them.

    (α − 1) D_α is convex in α and 0 at α = 1, so chords from (1, 0) and between points lie above it
    (van Erven & Harremoës 2014).
    """
    reach = [(a, (a - 1) * e) for a, e in points]
    right = [(a, v) for a, v in reach if a >= order]
    if not right:
        return None
    left = [(Fraction(1), Fraction(0)), *((a, v) for a, v in reach if a < order)]
    best = min(v if a == b else u + (v - u) * (order - a) / (b - a) for a, u in left for b, v in right)
    return best / (order - 1)
