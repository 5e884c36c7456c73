"""Lattice measures: privacy losses on a grid, with exact integer masses rounded to one side.

A lattice measure has masses m_j ≥ 0 at losses origin + (first + j)·step and a mass at +∞; its curve
is D(ε) = m_∞ + Σ m_j (1 − e^{ε − t_j})₊. Masses are integers over 2^bits. Rounded `up`, the curve lies
above the true one; rounded down, below. Rounding, tails and composition keep the side:

- D grows with every mass and with every position. Up: masses are rounded up, a right tail moves to
  +∞, a left tail to the first kept node. Down: masses are rounded down, a right tail moves to the
  last kept node, a left tail is dropped.
- If D₁ ≥ δ₁ and D₂ ≥ δ₂ everywhere, the convolution dominates the composition (Fubini on
  δ₁₂(ε) = ∫ δ₂(ε − l) dω₁(l)); likewise below. Losses add, masses multiply, +∞ absorbs.

Privacy-loss distributions on grids: Meiser & Mohammadi 2018; Koskela, Jälkö & Honkela 2020; connecting
the dots of the curve: Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb, fmpz, fmpz_poly

from dpaccount.numerics.balls import ball, bearable, ceil_of, floor_of, precision, tick

MOST_NODES = 10_000_000  #: of a single pair
MOST_BITS = 1 << 30  #: of the coefficients of a product


@dataclass(frozen=True)
class Grid:
    """Where the nodes are and how masses are rounded."""

    step: Fraction
    bits: int
    up: bool
    tail: int  #: mass (in units of 2^−bits) that a product may move at either end


@dataclass(frozen=True)
class Lattice:
    """Integer masses at origin + (first + j)·step, and `infinite` at +∞."""

    grid: Grid
    origin: Fraction
    first: int
    masses: fmpz_poly
    infinite: int = 0
    spread: Fraction = Fraction(0)  #: how far losses were spread onto nodes, as `numerics.spread` counts it
    moved: int = 0  #: a bound on the mass moved otherwise: tails

    @property
    def size(self) -> int:
        """Return the number of nodes."""
        return int(self.masses.length())

    def position(self, index: int) -> Fraction:
        """Return the loss at node `index`."""
        return self.origin + (self.first + index) * self.grid.step


def atoms(
    grid: Grid, points: Iterable[tuple[Fraction, Callable[[], arb]]], infinite: Fraction = Fraction(0)
) -> Lattice:
    """Return the measure with the given masses at rational losses; between nodes only for an upper measure.

    There a mass is split onto both neighbours, 1/(1 − e^{−h})·(1 − e^{−a}) of it to the right one where the left
    one is a away, which keeps E e^{−L}.
    """
    found = sorted(((at, mass) for at, mass in points), key=lambda point: point[0])
    origin = found[0][0]
    length = math.ceil((found[-1][0] - origin) / grid.step) + 1
    bearable(length, MOST_NODES)
    row = [fmpz(0)] * length
    spread = Fraction(0)
    with precision(grid.bits + 32):
        for at, mass in found:
            index = (at - origin) / grid.step
            left = math.floor(index)
            if index == left:
                row[left] += _units(grid, mass())
            elif grid.up:
                away = ball(left * grid.step - at + origin).expm1()
                share = away / (-ball(grid.step)).expm1()
                row[left + 1] += _units(grid, mass() * share)
                row[left] += _units(grid, mass() * (1 - share))
                spread = grid.step**2 / 4
            else:
                raise ValueError(f"{at} is not on the grid of step {grid.step} through {origin}")
        return Lattice(grid, origin, 0, fmpz_poly(row), _units(grid, ball(infinite)), spread)


def _units(grid: Grid, mass: arb) -> int:
    scaled = mass * (fmpz(1) << grid.bits)
    if grid.up:
        top = ceil_of(scaled)
        return max(0, -(-top.numerator // top.denominator))
    return max(0, int(floor_of(scaled) // 1))


def identity(grid: Grid) -> Lattice:
    """Return the measure of an event that releases nothing: all mass at loss 0."""
    return Lattice(grid, Fraction(0), 0, fmpz_poly([fmpz(1) << grid.bits]))


def compose(a: Lattice, b: Lattice) -> Lattice:
    """Return the convolution, rounded and trimmed to the grid's side."""
    tick()
    grid = a.grid
    bearable(float(a.size + b.size) * grid.bits, MOST_BITS)
    row = _shifted(a.masses * b.masses, grid)
    total_a, total_b = _total(a.masses), _total(b.masses)
    lost = a.infinite * (total_b + b.infinite) + total_a * b.infinite
    infinite = -((-lost) >> grid.bits) if grid.up else lost >> grid.bits
    spread, moved = a.spread + b.spread, a.moved + b.moved
    found = Lattice(grid, a.origin + b.origin, a.first + b.first, fmpz_poly(row), infinite, spread, moved)
    return _trimmed(found, row)


def _total(masses: fmpz_poly) -> int:
    return int(masses(1)) if masses.length() else 0


def _shifted(product: fmpz_poly, grid: Grid) -> list[fmpz]:
    """Return the coefficients over 2^bits, rounded to the grid's side."""
    bits = grid.bits
    if grid.up:
        carry = (fmpz(1) << bits) - 1
        return [(value + carry) >> bits for value in product.coeffs()]
    return [value >> bits for value in product.coeffs()]


def _trimmed(lattice: Lattice, row: list[fmpz]) -> Lattice:
    """Move the tails, each of mass at most `grid.tail`, to where the grid's side allows."""
    grid = lattice.grid
    if not row:  # every mass was rounded away
        return lattice
    right, high = 0, len(row)
    while high > 1 and right + row[high - 1] <= grid.tail:
        right += row[high - 1]
        high -= 1
    left, low = 0, 0
    while low < high - 1 and left + row[low] <= grid.tail:
        left += row[low]
        low += 1
    kept = row[low:high]
    infinite = lattice.infinite
    if grid.up:
        kept[0] += left
        infinite += int(right)
    else:
        kept[-1] += right
    moved = lattice.moved + int(left) + int(right)
    return replace(
        lattice, first=lattice.first + low, masses=fmpz_poly(kept), infinite=infinite, moved=moved
    )


def power(base: Lattice, count: int, cap: int | None = None) -> Lattice:
    """Return the composition of `count` copies; where `cap` is given, coarser steps keep it that small."""
    square, found = base, None
    while True:
        if count & 1:
            found = square if found is None else compose(*aligned(found, square))
        count >>= 1
        if not count:
            return found if found is not None else identity(base.grid)
        square = compose(square, square)
        while cap is not None and square.size > cap:
            square = coarser(square)


def aligned(a: Lattice, b: Lattice) -> tuple[Lattice, Lattice]:
    """Return both measures on the coarser of their two grids (steps differ by powers of two)."""
    while a.grid.step < b.grid.step:
        a = coarser(a)
    while b.grid.step < a.grid.step:
        b = coarser(b)
    return a, b


def coarser(lattice: Lattice) -> Lattice:
    """Return a measure on twice the step, above or below the given one as its grid says.

    Up: an odd atom splits onto its two neighbours so that its mass under both distributions is
    kept, p/(1 + e^{−h}) to the right and the rest to the left, each rounded up: a spread that keeps
    E e^{−L} raises a convex curve. Down: see `_contracted`.
    """
    grid = replace(lattice.grid, step=2 * lattice.grid.step)
    row = list(lattice.masses.coeffs())
    first = lattice.first
    if first % 2:
        row.insert(0, fmpz(0))
        first -= 1
    if len(row) % 2 == 0:
        row.append(fmpz(0))
    out = _spread(lattice.grid, row) if grid.up else _contracted(lattice.grid, row)
    low = 0
    while low < len(out) - 1 and out[low] == 0:
        low += 1
    spread = lattice.spread + lattice.grid.step**2
    return replace(
        lattice, grid=grid, first=first // 2 + low, masses=fmpz_poly(out[low:]), spread=spread
    )


def _spread(grid: Grid, row: list[fmpz]) -> list[fmpz]:
    with precision(grid.bits + 32):
        share = ball(1) / (1 + (-ball(grid.step)).exp())
        unit = fmpz(1) << grid.bits
        top = share * unit
        right = -(-ceil_of(top).numerator // ceil_of(top).denominator)
        left = unit - int(floor_of(top) // 1)
    carry = unit - 1
    out = [row[2 * j] for j in range(len(row) // 2 + 1)]
    for j in range(len(row) // 2):
        odd = row[2 * j + 1]
        if odd:
            out[j] += (odd * left + carry) >> grid.bits
            out[j + 1] += (odd * right + carry) >> grid.bits
    return out


def _contracted(grid: Grid, row: list[fmpz]) -> list[fmpz]:
    """Merge the odd atoms into even nodes, keeping E e^{−L} where both neighbours can pay for it.

    Merging atoms at their mean of e^{−L} lowers a convex curve: a from t − h and a·e^h (rounded up) from
    t + h meet at t. Every odd atom offers one half to either side; what finds no partner moves to the
    next lower even node, which lowers the curve too.
    """
    with precision(grid.bits + 32):
        growth = _units(replace(grid, up=True), ball(grid.step).exp())
    bits, cells = grid.bits, len(row) // 2
    out = [row[2 * j] for j in range(cells + 1)]
    offered = fmpz(0)  # by the odd atom to the left of the node at hand
    for j in range(cells + 1):
        odd = row[2 * j + 1] if j < cells else fmpz(0)
        left_half = odd >> 1
        up = min(offered, (left_half << bits) // growth)
        out[j] += up + left_half  # left_half ≥ up·e^h moves down, in balance with what moves up
        if j:
            out[j - 1] += offered - up
        offered = odd - left_half
    return out


def epsilon(lattice: Lattice, target: Fraction) -> arb | None:
    """Return a ball whose safe end bounds the least ε ≥ 0 with D(ε) ≤ target > 0; None if it is infinite.

    From the top: with A = Σ m_i and B = Σ m_i e^{−t_i} over i ≥ j, D = m_∞ + A − e^ε B on the segment
    below t_j, and everywhere D is the largest of these lines. Any j bounds the crossing from below;
    the right one gives it.
    """
    with precision(lattice.grid.bits + 64):
        goal = ball(target) * (fmpz(1) << lattice.grid.bits) - lattice.infinite
        if not goal > 0:
            return None if lattice.grid.up else ball(0)
        row = lattice.masses.coeffs()
        weight = (-ball(lattice.position(len(row) - 1))).exp()
        growth = ball(lattice.grid.step).exp()
        above, tilted, edge = fmpz(0), ball(0), None
        for index in range(len(row) - 1, -1, -1):
            above += row[index]
            tilted += row[index] * weight
            weight *= growth
            if above > goal and not above - tilted / weight < goal:
                # undecided: the crossing may lie in the segment below, hence below this edge
                edge = None if above - tilted / weight > goal else ball(lattice.position(index - 1))
                break
        if not above > goal:
            return ball(0)
        found = ((above - goal) / tilted).log()
        if lattice.grid.up and edge is not None:
            found = found.max(edge)
        return found.max(ball(0))


def delta(lattice: Lattice, epsilon: Fraction) -> arb:
    """Return a ball around D(ε) (a bound on δ(ε) on the grid's side)."""
    step = lattice.grid.step
    start = max(0, int((epsilon - lattice.origin) / step // 1) + 1 - lattice.first)
    row = lattice.masses.coeffs()[start:]
    with precision(lattice.grid.bits + 64):
        total = ball(lattice.infinite)
        if row:
            tilted, shrink = ball(0), (-ball(step)).exp()
            for mass in reversed(row):
                tilted = tilted * shrink + mass
            total += sum(row, fmpz(0)) - tilted * ball(epsilon - lattice.position(start)).exp()
        return total / (fmpz(1) << lattice.grid.bits)
