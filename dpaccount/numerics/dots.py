"""Lattice measures above and below any privacy curve: connect the dots, and lines under the curve.

In x = e^ε a privacy curve is convex and falls, δ(0) = 1, δ(x) ≥ 1 − x. A lattice curve is piecewise linear
in x with kinks at the nodes, so it lies above δ once it does at the nodes (a chord is above a convex
curve), and below once, on each cell, it lies under one line that is below δ everywhere.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb, fmpz, fmpz_poly

from dpaccount.numerics.balls import ball, bearable, ceil_of, floor_of, precision
from dpaccount.numerics.lattice import Grid, Lattice

MOST_NODES = 1_000_000
Curve = Callable[[Fraction], arb]  #: loss t (any real) ↦ a ball that contains δ(t)


@dataclass(frozen=True)
class Known:
    """What is known of a curve besides its values: the mass at +∞, and of an atom on the last node."""

    infinite: Fraction = Fraction(0)
    top: Fraction = Fraction(0)


def measure(curve: Curve, grid: Grid, first: Fraction, count: int, known: Known = Known()) -> Lattice:
    """Return a lattice measure at first + j·step, j < count, on the grid's side of the curve.

    `known` holds lower bounds; only the measure below the curve uses them.
    """
    bearable(count, MOST_NODES)
    with precision(grid.bits + 64):
        if grid.up:
            return _above(curve, grid, first, count)
        return _below(curve, grid, first, count, known)


def _above(curve: Curve, grid: Grid, first: Fraction, count: int) -> Lattice:
    """Connect the dots d_i = δ(t_i): m_i = a(d_{i+1} − d_i) + (1 + a)(d_{i−1} − d_i), m_∞ = d_N.

    Here a = 1/(e^h − 1).

    Masses that rounding would make negative are dropped to 0, which only raises the curve, as rounding
    up does. The total is at least 1, so the curve also lies above δ left of the first node.
    """
    dots = _convex([curve(first + j * grid.step).upper().min(arb(1)) for j in range(count)], first, grid)
    share = 1 / ball(grid.step).expm1()
    row = []
    for i, dot in enumerate(dots):
        right = share * (dots[i + 1] - dot) if i + 1 < count else arb(0)
        left = (1 + share) * (dots[i - 1] - dot) if i else 1 - dot
        row.append(fmpz(_ceil(right + left, grid)))
    short = (1 << grid.bits) - int(sum(row, fmpz(0))) - _ceil(dots[-1], grid)
    row[0] += max(0, short)
    return Lattice(grid, first, 0, fmpz_poly(row), _ceil(dots[-1], grid))


def _convex(dots: list[arb], first: Fraction, grid: Grid) -> list[arb]:
    """Return heights on the lower convex hull of the dots: a convex curve below the dots is below their hull.

    The hull is sought in floats of the slopes; wherever it is cut, the chord between two dots stands.
    """
    x = [ball(first + j * grid.step).exp() for j in range(len(dots))]
    points = list(zip(x, dots, strict=True))
    kept: list[int] = []
    for i in range(len(points)):
        while len(kept) >= 2 and _slope(points, kept[-2], kept[-1]) > _slope(points, kept[-1], i):
            kept.pop()
        kept.append(i)
    found = list(dots)
    for a, b in itertools.pairwise(kept):
        slope = _slope(points, a, b)
        for i in range(a + 1, b):
            found[i] = (dots[a] + slope * (x[i] - x[a])).upper()
    return found


def _below(curve: Curve, grid: Grid, first: Fraction, count: int, known: Known) -> Lattice:
    """Take the lower hull of heights g_i that lie, cell by cell, under tangents at the cells' middles.

    The tangent at m has a slope between the chords to the two ends of its cell, so at the right end it
    is at least δ(m) + (δ(m) − δ(x_i))/(m − x_i)·(x_{i+1} − m), and likewise at the left. Left of the first
    node 1 − x is the line; from the last node on the curve is the mass at an infinite loss.
    """
    half = grid.step / 2
    marks = [first + j * half for j in range(2 * count - 1)]
    x = [ball(t).exp() for t in marks]
    low = [_clip(curve(t)) for t in marks]
    infinite = int(known.infinite * 2**grid.bits // 1)
    rest = ball(Fraction(infinite, 1 << grid.bits))
    left, right = _tangents(x, low)
    if known.top and not infinite:  # the line of the event that the loss is the largest one
        left[-1], right[-1] = (ball(known.top) * (1 - x[-3] / x[-1])).lower(), arb(2) ** -grid.bits
    heights = [min(low[0].lower(), (1 - x[0]).lower(), left[0], key=_value)]
    heights += [min(low[2 * i].lower(), left[i], right[i - 1], key=_value) for i in range(1, count - 1)]
    heights = [(height - rest).lower() for height in heights]
    # where a tangent has fallen below the limit, the limit itself is the line, from that cell on
    end = next((i for i in range(count - 1) if not right[i] > rest or not heights[i] > 0), count - 1)
    heights = [*heights[:end], *[arb(0)] * (count - end)]
    return replace(_hull(grid, first, x[::2], heights, 1 - rest), infinite=infinite)


def _tangents(x: list[arb], low: list[arb]) -> tuple[list[arb], list[arb]]:
    """Return lower bounds at the left and the right end of each cell on the tangent at its middle."""
    left, right = [], []
    for i in range(0, len(x) - 2, 2):
        fall = (low[i + 2] - low[i + 1]) / (x[i + 2] - x[i + 1])
        left.append((low[i + 1] - fall * (x[i + 1] - x[i])).lower())
        fall = (low[i + 1] - low[i]) / (x[i + 1] - x[i])
        right.append((low[i + 1] + fall * (x[i + 2] - x[i + 1])).lower())
    return left, right


def _value(point: arb) -> Fraction:
    return floor_of(point) if point.is_finite() else Fraction(-1)


def _clip(value: arb) -> arb:
    return value.max(arb(0)).min(arb(1))


def _hull(grid: Grid, first: Fraction, x: list[arb], heights: list[arb], total: arb) -> Lattice:
    """Return the lower convex hull of (0, total) and the points as masses, shrunk until proved below them."""
    points = [(arb(0), total), *zip(x, heights, strict=True)]
    kept: list[int] = []
    for i in range(len(points)):
        while len(kept) >= 2 and not _turns_up(points, kept[-2], kept[-1], i):
            kept.pop()
        kept.append(i)
    slopes = [_slope(points, a, b) for a, b in itertools.pairwise(kept)]
    slopes.append(arb(0))
    masses = {kept[j] - 1: points[kept[j]][0] * (slopes[j] - slopes[j - 1]) for j in range(1, len(kept))}
    shrink = arb(1)
    while True:
        row = [fmpz(_floor(masses[i] * shrink, grid)) if i in masses else fmpz(0) for i in range(len(x))]
        lattice = Lattice(grid, first, 0, fmpz_poly(row) if any(row) else fmpz_poly([0]))
        if _proved_below(grid, row, x, heights, total):
            return lattice
        shrink *= 1 - arb(2) ** -24


def _slope(points: list[tuple[arb, arb]], a: int, b: int) -> arb:
    return (points[b][1] - points[a][1]) / (points[b][0] - points[a][0])


def _turns_up(points: list[tuple[arb, arb]], a: int, b: int, c: int) -> bool:
    return bool(_slope(points, a, b).mid() < _slope(points, b, c).mid())


def _proved_below(grid: Grid, row: list[fmpz], x: list[arb], heights: list[arb], total: arb) -> bool:
    """Say whether D(x_i) = Σ_{j>i} m_j (1 − x_i/x_j) ≤ height_i is proved at every node, and D(0) ≤ total."""
    above, tilted, unit = fmpz(0), arb(0), fmpz(1) << grid.bits
    for i in range(len(row) - 1, -1, -1):
        if not (above - x[i] * tilted).lower() <= 0 and not above - x[i] * tilted <= heights[i] * unit:
            return False
        above += row[i]
        tilted += row[i] / x[i]
    return not above > total * unit


def _ceil(mass: arb, grid: Grid) -> int:
    top = ceil_of(mass * (fmpz(1) << grid.bits))
    return max(0, -(-top.numerator // top.denominator))


def _floor(mass: arb, grid: Grid) -> int:
    return max(0, int(floor_of(mass * (fmpz(1) << grid.bits)) // 1) - 1)
