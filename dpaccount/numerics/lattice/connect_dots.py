"""Lattice measures above any privacy curve: connect the dots.

In x = e^ε a privacy curve is convex and falls, δ(0) = 1, δ(x) ≥ 1 − x. A lattice curve is piecewise linear
in x with kinks at the nodes, so it lies above δ once it does at the nodes: a chord is above a convex curve.
The dots connected are the law of the loss with everything between two nodes split onto them, its mass under
both distributions kept (`numerics.lattice.excess`).
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from flint import arb, fmpz, fmpz_poly

from dpaccount.numerics.closed.laplace import delta_single
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.lattice.lattice import Grid, Masses, two_points, units
from dpaccount.numerics.work_budget import bearable, kept, spend

MOST_NODES = 1_000_000
Curve = Callable[[Fraction], arb]  #: loss t (any real) ↦ a ball that contains δ(t)


def spread(
    curve: Curve, grid: Grid, first: Fraction, count: int, infinite: Fraction, *, bounded: bool
) -> Masses:
    """Return the law behind a curve that is known in thin balls, on the nodes first + j·step, j < count.

    With d_i = δ(t_i) and a = 1/(e^h − 1), m_i = a(d_{i+1} − d_i) + (1 + a)(d_{i−1} − d_i), m_∞ = d_N, and
    what lies left of the first node moves there. `infinite` is a lower bound on the mass at +∞. Unless the
    loss is `bounded`, and between the end nodes, what lies beyond them counts as moved: P(L > t_N) is at most
    (δ(t_{N−1}) − m_∞)/(1 − e^{−h}) and, by δ(t) − 1 + e^t = E(e^{t−L} − 1)₊, P(L < t_0) at most
    (δ(t_1) − 1 + e^{t_1})/(e^h − 1).
    """
    bearable(count, MOST_NODES)
    with precision(grid.bits + 64):
        dots = [curve(first + j * grid.step) for j in range(count)]
        growth = ball(grid.step).expm1()
        row = connected(dots, 1 / growth, grid)
        moved = 0
        if not bounded:
            moved += units(grid, (dots[-2] - ball(infinite)) * (1 + growth) / growth)
            moved += units(grid, (dots[1] + ball(first + grid.step).expm1()) / growth)
        return Masses(grid, first, 0, fmpz_poly(row), units(grid, dots[-1]), two_points(grid.step), moved)


def connected(dots: list[arb], share: arb, grid: Grid) -> list[fmpz]:
    """Return the masses on nodes under these dots; `share` is 1/(e^h − 1)."""
    # Second differences cancel 2·log₂(1/h) bits of the dots, so curves come in far thinner balls than masses
    # need.
    row = []
    for i, dot in enumerate(dots):
        right = share * (dots[i + 1] - dot) if i + 1 < len(dots) else arb(0)
        left = (1 + share) * (dots[i - 1] - dot) if i else 1 - dot
        row.append(fmpz(units(grid, right + left)))
    return row


def laplace(loss: Fraction, grid: Grid) -> Masses:
    """Return the law of one Laplace pair of largest loss ε₀, whose atom at ε₀ lies on the last node.

    Between the atoms δ = 1 − e^{(t−ε₀)/2}, so the mass at ε₀ − ih is tanh(h/4)e^{−ih/2}, and at ε₀ itself
    (1 + tanh(h/4))/2; the two lowest nodes are left to the dots.
    """
    cells = math.ceil(2 * loss / grid.step)
    bearable(cells, MOST_NODES)
    first = loss - cells * grid.step
    with precision(grid.bits + 64):
        dots = [delta_single(first + j * grid.step, loss, grid.bits + 48) for j in range(min(cells + 1, 4))]
        row = connected(dots, 1 / ball(grid.step).expm1(), grid)
        if cells > 3:
            inside = (ball(grid.step) / 4).tanh()
            share, shift = fmpz(units(grid, inside)), grid.bits + 32
            falling = _falling(replace(grid, bits=shift), -(-cells // 1024) * 1024)
            row = [*row[:2], *(((share * power) >> shift) + 1 for power in falling[cells - 2 : 0 : -1])]
            row.append(fmpz(units(grid, (1 + inside) / 2)))
    return Masses(grid, first, 0, fmpz_poly(row), spread=two_points(grid.step))


@kept(8)
def _falling(grid: Grid, count: int) -> list[fmpz]:
    """Return e^{−ih/2}, i < count, in the grid's units, rounded up."""
    shrink, value, found = (-ball(grid.step) / 2).exp(), arb(1), []
    for _ in range(count):
        spend()
        found.append(fmpz(units(grid, value)))
        value *= shrink
    return found


def above(curve: Curve, grid: Grid, first: Fraction, count: int) -> Masses:
    """Return a measure above a curve of which only upper bounds are known; all its mass counts as moved.

    Masses that rounding would make negative are dropped to 0, which only raises the curve, as rounding
    up does. The total is at least 1, so the curve also lies above δ left of the first node.
    """
    bearable(count, MOST_NODES)
    with precision(grid.bits + 64):
        dots = _convex([curve(first + j * grid.step).upper().min(arb(1)) for j in range(count)], first, grid)
        row = connected(dots, 1 / ball(grid.step).expm1(), grid)
        beyond = units(grid, dots[-1])
        row[0] += max(0, (1 << grid.bits) - int(sum(row, fmpz(0))) - beyond)
        return Masses(grid, first, 0, fmpz_poly(row), beyond, moved=1 << grid.bits)


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


def _slope(points: list[tuple[arb, arb]], a: int, b: int) -> arb:
    return (points[b][1] - points[a][1]) / (points[b][0] - points[a][0])
