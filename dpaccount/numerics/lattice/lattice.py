"""Lattice measures: privacy losses on a grid, with exact integer masses that are rounded up.

A lattice measure has masses m_j ≥ 0 at losses origin + (first + j)·step and a mass at +∞; its curve
is D(ε) = m_∞ + Σ m_j (1 − e^{ε − t_j})₊, and it lies above the true one. Masses are integers over 2^bits.
Rounding, tails and composition keep that:

- D grows with every mass and with every position: masses are rounded up, a right tail moves to +∞, a left
  tail to the first kept node.
- If D₁ ≥ δ₁ and D₂ ≥ δ₂ everywhere, the convolution dominates the composition (Fubini on
  δ₁₂(ε) = ∫ δ₂(ε − l) dω₁(l)). Losses add, masses multiply, +∞ absorbs.

How far above, `excess` says from what a measure carries along: the spread of its losses and the mass
that was moved. Every true mass is either among the moved ones or, spread onto nodes, at most what is there.

Privacy-loss distributions on grids: Meiser & Mohammadi 2018; Koskela, Jälkö & Honkela 2020; connecting
the dots of the curve: Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb, fmpz, fmpz_poly

from dpaccount.numerics.intervals import ball, ceil_of, floor_of, precision, whole
from dpaccount.numerics.work_budget import bearable, spend

MOST_NODES = 10_000_000  #: of a single pair
MOST_BITS = 1 << 30  #: of the coefficients of a product
LITTLE = 8  #: what coarsening may add to the spread: one part in so many


@dataclass(frozen=True)
class Grid:
    """Where the nodes are and how masses are rounded."""

    step: Fraction
    bits: int
    tail: int  #: mass (in units of 2^−bits) that a product may move at either end


@dataclass(frozen=True)
class Masses:
    """Integer masses at origin + (first + j)·step, and `infinite` at +∞."""

    grid: Grid
    origin: Fraction
    first: int
    masses: fmpz_poly
    infinite: int = 0
    #: how far losses were spread onto nodes, as `numerics.lattice.excess` counts it
    spread: Fraction = Fraction(0)
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
) -> Masses:
    """Return the measure with the given masses at rational losses, of which the least is on the first node.

    `infinite` is the mass at +∞, all of which counts as moved.
    """
    found = sorted(((at, mass) for at, mass in points), key=lambda point: point[0])
    with precision(grid.bits + 32):
        made = placed(grid, found[0][0], [(at, mass()) for at, mass in found])
        beyond = units(grid, ball(infinite))
    return replace(made, infinite=beyond, moved=beyond)


def placed(grid: Grid, origin: Fraction, points: Sequence[tuple[Fraction | arb, arb]]) -> Masses:
    """Return masses at losses ≥ origin as a measure; what lies between nodes is split onto its neighbours.

    A share (1 − e^{−a})/(1 − e^{−h}) goes to the right one where the left one is a away: that keeps E e^{−L}.
    A loss that is a ball may lie below its cell; then a little of its mass was moved up (less than rounding
    up adds there).
    """
    row: dict[int, fmpz] = {}
    between, moved = False, 0
    start, step = ball(origin), ball(grid.step)
    width = (-step).expm1()
    for at, mass in points:
        if isinstance(at, Fraction):
            index = (at - origin) / grid.step
            left = math.floor(index)
            away = ball(at - origin - left * grid.step)
        else:
            left = max(0, whole(((at - start) / step).upper().floor(), MOST_NODES))
            away = at - start - left * step
        share = (-away).expm1() / width
        row[left] = row.get(left, fmpz(0)) + units(grid, mass * (1 - share))
        if share == 0:
            continue
        row[left + 1] = row.get(left + 1, fmpz(0)) + units(grid, mass * share)
        moved += units(grid, -mass * share)
        between = True
    bearable(max(row) + 1, MOST_NODES)
    masses = fmpz_poly([row.get(j, fmpz(0)) for j in range(max(row) + 1)])
    return Masses(grid, origin, 0, masses, 0, two_points(grid.step) if between else Fraction(0), moved)


def two_points(step: Fraction) -> Fraction:
    """Return the spread of a loss split onto two nodes one step apart (see `numerics.lattice.excess`)."""
    return step * step / 4


def units(grid: Grid, mass: arb) -> int:
    """Return a mass in units of 2^−bits, rounded up, at least 0."""
    top = (mass * (fmpz(1) << grid.bits)).upper().ceil()
    return max(0, whole(top, 1 << grid.bits + 64))  # a bound far above 1 says nothing


def compose(a: Masses, b: Masses) -> Masses:
    """Return the convolution, rounded up and trimmed."""
    grid, size = a.grid, a.size + b.size
    bearable(float(size) * grid.bits, MOST_BITS)
    spend(1 + size / 4 + size * grid.bits / 3500)
    masses = rounded_up(a.masses * b.masses, grid)
    lost = a.infinite * (_total(b.masses) + b.infinite) + _total(a.masses) * b.infinite
    infinite = -((-lost) >> grid.bits)
    spread, moved = a.spread + b.spread, a.moved + b.moved
    return _trimmed(Masses(grid, a.origin + b.origin, a.first + b.first, masses, infinite, spread, moved))


def _total(masses: fmpz_poly) -> int:
    return int(masses(1)) if masses.length() else 0


def rounded_up(product: fmpz_poly, grid: Grid) -> fmpz_poly:
    """Return the coefficients over 2^bits, rounded up."""
    unit = fmpz(1) << grid.bits
    return (product + fmpz_poly([unit - 1] * product.length())) // unit


def _trimmed(lattice: Masses) -> Masses:
    """Move tails of mass at most `grid.tail`: the right one to +∞, the left one to the first node."""
    tail, row = lattice.grid.tail, lattice.masses
    right, high = 0, lattice.size
    while high > 1 and right + row[high - 1] <= tail:
        right += int(row[high - 1])
        high -= 1
    left, low = 0, 0
    while low < high - 1 and left + row[low] <= tail:
        left += int(row[low])
        low += 1
    return replace(
        lattice,
        first=lattice.first + low,
        masses=row.truncate(high).right_shift(low) + left,
        infinite=lattice.infinite + right,
        moved=lattice.moved + left + right,
    )


def power(base: Masses, count: int, cap: int | None = None) -> Masses:
    """Return the composition of `count` ≥ 1 copies, beyond `cap` nodes on coarser grids if that is cheap."""
    square, found = base, None
    budget = count * max(base.spread, two_points(base.grid.step))
    while count > 1:
        if count & 1:
            found = square if found is None else compose(*aligned(found, square))
        count >>= 1
        square = compose(square, square)
        # Coarser grids keep sizes bounded; as the step then grows like the root of the copies made so far,
        # the error grows with the number of squarings, not of copies.
        while cap is not None and square.size > cap and count * square.grid.step**2 <= budget / LITTLE:
            square = coarser(square)
    return square if found is None else compose(*aligned(found, square))


def product(made: list[Masses], cap: int | None = None) -> Masses:
    """Return the composition of all, pair by pair: that keeps both sides of a product about equally long."""
    while len(made) > 1:
        budget = sum((one.spread for one in made), Fraction(0)) / LITTLE
        while (
            cap is not None
            and max(one.size for one in made) > cap
            and len(made) * max(one.grid.step for one in made) ** 2 <= budget
        ):
            made = [coarser(one) for one in made]
        pairs = [made[i : i + 2] for i in range(0, len(made), 2)]
        made = [compose(*aligned(*pair)) if len(pair) == 2 else pair[0] for pair in pairs]
    return made[0]


def aligned(a: Masses, b: Masses) -> tuple[Masses, Masses]:
    """Return both measures on the coarser of their two grids (steps differ by powers of two)."""
    while a.grid.step < b.grid.step:
        a = coarser(a)
    while b.grid.step < a.grid.step:
        b = coarser(b)
    return a, b


def coarser(lattice: Masses) -> Masses:
    """Return a measure on twice the step.

    An odd atom splits onto its two neighbours so that its mass under both distributions is
    kept, p/(1 + e^{−h}) to the right and the rest to the left, each rounded up: a spread that keeps
    E e^{−L} raises a convex curve.
    """
    grid = replace(lattice.grid, step=2 * lattice.grid.step)
    row = list(lattice.masses.coeffs())
    first = lattice.first
    if first % 2:
        row.insert(0, fmpz(0))
        first -= 1
    if len(row) % 2 == 0:
        row.append(fmpz(0))
    out = _split(lattice.grid, row)
    low = 0
    while low < len(out) - 1 and out[low] == 0:
        low += 1
    spread = lattice.spread + two_points(grid.step)
    return replace(lattice, grid=grid, first=first // 2 + low, masses=fmpz_poly(out[low:]), spread=spread)


def _split(grid: Grid, row: list[fmpz]) -> list[fmpz]:
    """Return the masses on every other node: those between are split onto both sides, rounded up."""
    with precision(grid.bits + 32):
        share = ball(1) / (1 + (-ball(grid.step)).exp())
        unit = fmpz(1) << grid.bits
        top = share * unit
        right = -(-ceil_of(top).numerator // ceil_of(top).denominator)
        left = unit - int(floor_of(top) // 1)
    carry = unit - 1
    spend(len(row) / 4)
    out = [row[2 * j] for j in range(len(row) // 2 + 1)]
    for j in range(len(row) // 2):
        odd = row[2 * j + 1]
        if odd:
            out[j] += (odd * left + carry) >> grid.bits
            out[j + 1] += (odd * right + carry) >> grid.bits
    return out
