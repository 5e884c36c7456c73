"""Measures on equidistant losses: whole masses in parts of 10^D, composed exactly and rounded up.

Every operation gives an upper measure of what its arguments are upper measures of (`measures`): atoms are
split onto neighbouring nodes, masses are rounded up, a right tail is moved to an infinite loss and a left
one up to the first node that is kept.
"""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from ..documents import ensure, spend
from ..intervals import Interval, Pair, exact, multiply
from .measures import NONE, ONE, UpperMeasure

MAX_NODES = 400_000
FAR = 10**7  # nodes from loss 0, at most


class LatticeMeasure(NamedTuple):
    """Masses at (low + k)·step, and what is lost, all in parts of 10^digits."""

    step: Fraction
    low: int
    masses: list[int]
    lost: int


class Limits(NamedTuple):
    """How a power is kept short: digits of masses, nodes, and what one copy may move right and left."""

    digits: int
    nodes: int
    right: int
    left: int


def trimmed(i: Interval, measure: UpperMeasure, limits: Limits) -> UpperMeasure:
    """Lose rare large losses, and raise rare small ones to the first that is kept."""
    scale, first, last = Decimal(10) ** limits.digits, 0, len(measure.atoms) - 1
    right, left = (i.down.divide(Decimal(each), scale) for each in (limits.right, limits.left))
    lost, raised = NONE, NONE
    while first < last and (more := i.up.add(lost, measure.atoms[last][1])) <= right:
        lost, last = more, last - 1
    while first < last and (more := i.up.add(raised, measure.atoms[first][1])) <= left:
        raised, first = more, first + 1
    (z, p), *rest = measure.atoms[first : last + 1]
    return UpperMeasure([(z, i.up.add(p, raised)), *rest], i.up.add(measure.lost, lost))


def place(i: Interval, whole: UpperMeasure, step: Fraction, limits: Limits) -> LatticeMeasure:
    """Put a measure on the nodes: an atom between two is split onto both (`measures`, Splitting)."""
    measure = trimmed(i, whole, limits)
    up, down, scale = i.up, i.down, Decimal(10) ** limits.digits
    ratio = i.exp(i.of(-step))
    masses_at: dict[int, int] = {}
    gap = down.subtract(ONE, ratio[1])
    ensure(gap > 0, "the step is too narrow for this many digits")
    for z, p in measure.atoms:
        spend(600)
        mass = _ceiling(up.multiply(p, scale))
        node = math.floor(exact(i.down.ln(z)) / step)  # a guess
        ensure(abs(node) < FAR, "a loss is too many steps away from 0")
        at = i.exp(i.of(node * step))[0]
        above = down.divide(at, ratio[1])  # at most e^{(node + 1)·step}
        if z > above:
            node, at = node + 1, above
            ensure(z <= down.divide(at, ratio[1]), "a loss lies beyond its node")
        share = max(NONE, up.subtract(ONE, down.divide(at, z)))
        high = _ceiling(up.multiply(up.multiply(p, scale), up.divide(share, gap)))
        masses_at[node + 1] = masses_at.get(node + 1, 0) + high
        masses_at[node] = masses_at.get(node, 0) + max(0, mass - high)
    low, high = min(masses_at), max(masses_at)
    ensure(high - low < MAX_NODES, "more nodes than this checker keeps")
    spend(high - low)
    masses = [masses_at.get(k, 0) for k in range(low, high + 1)]
    return LatticeMeasure(step, low, masses, _ceiling(up.multiply(measure.lost, scale)))


def _ceiling(value: Decimal) -> int:
    return int(value.to_integral_value("ROUND_CEILING"))


def product(a: LatticeMeasure, b: LatticeMeasure, digits: int) -> LatticeMeasure:
    """Compose: losses add up, masses multiply, and what is lost in one is lost."""
    ensure(a.step == b.step, "two lattices of different steps")
    ensure(len(a.masses) + len(b.masses) < MAX_NODES, "more nodes than this checker keeps")
    masses, scale = multiply(a.masses, b.masses, digits), 10**digits
    lost = -(-(a.lost * (sum(b.masses) + b.lost) + sum(a.masses) * b.lost) // scale)
    ensure(sum(masses) + lost <= 2 * scale and lost <= scale, "too few digits for so many releases")
    return LatticeMeasure(a.step, a.low + b.low, masses, lost)


def shortened(a: LatticeMeasure, right: int, left: int) -> LatticeMeasure:
    """Move a right tail of at most this mass to an infinite loss, and a left one to the first node kept."""
    masses, lost, low = list(a.masses), a.lost, a.low
    spend(len(masses) // 8)
    while len(masses) > 1 and masses[-1] <= right:
        right -= masses[-1]
        lost += masses.pop()
    moved = 0
    begin = 0
    while begin + 1 < len(masses) and moved + masses[begin] <= left:
        moved += masses[begin]
        begin += 1
    masses = masses[begin:]
    masses[0] += moved
    return LatticeMeasure(a.step, low + begin, masses, lost)


def coarser(i: Interval, a: LatticeMeasure) -> LatticeMeasure:
    """Double the step: an atom at an odd node is split onto both neighbours, r : 1 … by their odds."""
    spend(len(a.masses))
    ratio, scale = i.exp(i.of(-a.step)), 10**i.digits
    share = _ceiling(i.up.multiply(i.up.divide(ONE, i.down.add(ONE, ratio[0])), Decimal(scale)))
    low = a.low // 2
    masses = [0] * ((a.low + len(a.masses)) // 2 - low + 1)
    for k, mass in enumerate(a.masses, a.low):
        if k % 2:
            high = -(-mass * share // scale)
            masses[(k + 1) // 2 - low] += high
            masses[(k - 1) // 2 - low] += max(0, mass - high)
        else:
            masses[k // 2 - low] += mass
    return LatticeMeasure(2 * a.step, low, masses, a.lost)


def power(i: Interval, base: LatticeMeasure, times: int, limits: Limits) -> LatticeMeasure:
    """Compose a release with itself, by repeated squaring; steps double where lattices grow too long."""
    square, copies = shortened(base, limits.right, limits.left), 1
    result: LatticeMeasure | None = None
    held = 0
    while True:
        if times & 1:
            if result is None:
                result, held = square, copies
            else:
                while result.step < square.step:
                    result = coarser(i, result)
                held += copies
                result = shortened(
                    product(result, square, limits.digits), limits.right * held, limits.left * held
                )
        times >>= 1
        if not times:
            ensure(result is not None, "a release is counted once at least")
            return result or square
        copies *= 2
        square = product(square, square, limits.digits)
        square = shortened(square, limits.right * copies, limits.left * copies)
        while len(square.masses) > limits.nodes:
            square = coarser(i, square)


def together(i: Interval, parts: list[LatticeMeasure], digits: int) -> LatticeMeasure:
    """Compose lattices whose steps are powers of two of each other; the shortest ones first."""
    step, even = max(part.step for part in parts), []
    for part in parts:
        doubled = part
        while doubled.step < step:
            doubled = coarser(i, doubled)
        ensure(doubled.step == step, "steps differ by other factors than powers of two")
        even.append(doubled)
    even.sort(key=lambda part: len(part.masses))
    *_, whole = accumulate(even, lambda a, b: product(a, b, digits))
    return whole


def delta(i: Interval, a: LatticeMeasure, epsilon: Fraction, digits: int) -> Decimal:
    """Bound D(e^ε) = lost + Σ m(1 − e^{ε − t}) over the nodes t > ε."""
    first = max(math.floor(epsilon / a.step) + 1 - a.low, 0)
    inside = a.masses[first:]
    spend(3 * len(inside))
    if not inside:
        return i.up.divide(Decimal(a.lost), Decimal(10) ** digits)
    fall = i.exp(i.of(-a.step))[0]
    weight = NONE  # Σ m e^{−(t − first)}, from the last one on
    for mass in reversed(inside):
        weight = i.down.fma(weight, fall, Decimal(mass))
    rest = i.exp(i.of(epsilon - a.step * (a.low + first)))[0]
    total = i.up.subtract(Decimal(sum(inside) + a.lost), i.down.multiply(weight, rest))
    return i.up.divide(total, Decimal(10) ** digits)


def as_measure(i: Interval, a: LatticeMeasure, digits: int) -> UpperMeasure:
    """Return the masses as atoms."""
    scale = Decimal(10) ** digits
    spend(60 * len(a.masses))
    atoms = [
        (_odds(i, a.step * (a.low + k))[1], i.up.divide(Decimal(mass), scale))
        for k, mass in enumerate(a.masses)
        if mass
    ]
    return UpperMeasure(atoms, i.up.divide(Decimal(a.lost), scale))


def _odds(i: Interval, loss: Fraction) -> Pair:
    return i.exp(i.of(loss))
