"""Upper measures of releases of which only an upper curve is known: bounded range, zCDP, Rényi bounds.

They are the same in both directions of the relation: for x = e^t < 1 a curve C gives 1 − x + xC(1/x).
"""

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate, pairwise

from ..curves import range_delta
from ..documents import ensure, spend
from ..intervals import Interval, Pair, added, exact
from .measures import MAX_ATOMS, NONE, ONE, UpperMeasure, height, of_curve

ROUNDS = 12  # of a fixed-point iteration towards the best order
Curve = Callable[[Fraction], Decimal]  #: t ≥ 0 ↦ an upper bound on δ(e^t)


def both_signs(i: Interval, step: Fraction, most: Fraction, curve: Curve) -> UpperMeasure:
    """Return the measure of a curve by its heights at multiples of the step, up to `most` on either side."""
    last = math.ceil(most / step)
    ensure(2 * last < MAX_ATOMS, "more losses than this checker lists")
    right = [min(ONE, max(NONE, curve(k * step))) for k in range(last + 1)]
    heights = []
    for k in range(-last, last + 1):
        if k >= 0:
            heights.append(right[k])
            continue
        x = i.exp(i.of(k * step))  # 1 − x + xC = 1 − x(1 − C)
        heights.append(i.up.subtract(ONE, i.down.multiply(x[0], i.down.subtract(ONE, right[-k]))))
    return of_curve(i, step, -last, under_chords(i, step, -last, heights))


def under_chords(i: Interval, step: Fraction, first: int, heights: list[Decimal]) -> list[Decimal]:
    """Return the heights of the lower hull of (0, 1) and the points above e^{(first + k)·step}.

    δ is convex and falls: it lies under each given height left of it, and under each chord between
    two of them.  Which chords are looked at is a choice alone: each height is the least of valid
    ones.  The least of several curves is not convex, and its masses would have a sum above 1.
    """
    spend(80 * len(heights))
    at = [i.of(0), *(i.exp(i.of(step * (first + k))) for k in range(len(heights)))]
    points = [ONE, *accumulate(heights, min)]
    corners: list[int] = []
    for k in range(len(points)):
        while len(corners) > 1 and _above(i, at, points, (corners[-2], corners[-1], k)):
            corners.pop()
        corners.append(k)
    for a, b in pairwise(corners):
        drop, whole = i.down.subtract(points[a], points[b]), i.sub(at[b], at[a])
        for k in range(a + 1, b):
            share = max(NONE, i.div(i.sub(at[k], at[a]), whole)[0])
            points[k] = min(points[k], i.up.subtract(points[a], i.down.multiply(drop, share)))
    return points[1:]


def _above(i: Interval, at: list[Pair], points: list[Decimal], three: tuple[int, int, int]) -> bool:
    """Say whether the middle one of three points is on or above the chord of the others, roughly."""
    a, b, c = three
    rise, most = i.up.subtract(points[b], points[a]), i.up.subtract(points[c], points[a])
    left = i.up.multiply(rise, i.up.subtract(at[c][0], at[a][0]))
    return left >= i.up.multiply(most, i.up.subtract(at[b][0], at[a][0]))


def bounded_range(i: Interval, step: Fraction, eta: Fraction) -> UpperMeasure:
    """The largest curve of losses t and t − η, over all t (Dong, Durfee & Rogers 2020)."""
    return both_signs(i, step, eta, lambda t: range_delta(eta, t)(i)[1] if t < eta else NONE)


def renyi_delta(i: Interval, order: Fraction, divergence: Fraction, epsilon: Fraction) -> Pair:
    """Enclose e^{(α−1)(D−ε)} (1 − 1/α)^{α−1}/α (Canonne, Kamath & Steinke 2020)."""
    less = order - 1
    power = i.add(i.of(less * (divergence - epsilon)), i.mul(i.of(less), i.ln(i.of(1 - 1 / order))))
    return i.div(i.exp(power), i.of(order))


def zcdp(i: Interval, step: Fraction, rho: Fraction, *offset: Fraction) -> UpperMeasure:
    """D_α ≤ ξ + αρ, at an order near the best one for each ε."""
    digits = math.isqrt(5 * i.digits) + 2
    xi = added(offset)
    most = xi + rho + 2 * digits * root(rho)

    def curve(t: Fraction) -> Decimal:
        order = best_order(rho, t - xi)
        return renyi_delta(i, order, xi + order * rho, t)[1]

    return both_signs(i, step, most, curve)


def best_order(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return an order near that of the least δ: (2α − 1)ρ − ε + ln(1 − 1/α) = 0; any order is valid."""
    rough = Context(prec=12)
    spend(60 * ROUNDS)
    order = max((epsilon / rho + 1) / 2, Fraction(1001, 1000))
    for _ in range(ROUNDS):
        at = rough.divide(Decimal(order.numerator), Decimal(order.denominator))
        drop = exact(rough.ln(rough.subtract(ONE, rough.divide(ONE, at))))
        better = ((epsilon - drop) / rho + 1) / 2
        order = Fraction(round((order + better) / 2 * 2**20), 2**20)
        order = max(order, Fraction(1001, 1000))
    return order


def renyi(i: Interval, step: Fraction, points: tuple[tuple[Fraction, Fraction], ...]) -> UpperMeasure:
    """Divergences at some orders."""
    order, bound = max(points)
    most = bound + Fraction(5 * i.digits, 2) / (order - 1)
    return both_signs(i, step, most, lambda t: min(renyi_delta(i, a, d, t)[1] for a, d in points))


def without_replacement(
    i: Interval, step: Fraction, rate: Fraction, there: UpperMeasure, back: UpperMeasure
) -> UpperMeasure:
    """q·δ(1 + (x − 1)/q), x ≥ 1, of the worse direction (Balle, Barthe & Gaboardi 2018)."""
    q, values = i.of(rate), [height(i, there), height(i, back)]

    def curve(t: Fraction) -> Decimal:
        x = i.add(i.of(1), i.div(i.sub(i.exp(i.of(t)), i.of(1)), q))
        return i.up.multiply(q[1], max(value(x) for value in values))

    top = max(each.atoms[-1][0] for each in (there, back))
    grown = i.add(i.of(1), i.mul(q, i.sub((top, top), i.of(1))))
    return both_signs(i, step, max(step, exact(i.ln(grown)[1])), curve)


def root(value: Fraction) -> Fraction:
    """Return an upper bound on √value."""
    return Fraction(math.isqrt(math.ceil(value * 2**200)) + 1, 2**100)


CURVES: dict[str, Callable[..., UpperMeasure]] = {"range": bounded_range, "zcdp": zcdp, "rdp": renyi}
