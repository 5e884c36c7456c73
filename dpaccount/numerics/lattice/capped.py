"""Lattices of a few losses that are bounded below: only what may stay below ε is composed.

Where every loss L_i is at least b_i, one above ε − Σ_{j≠i} b_j leaves the sum T above ε whatever the others
are.  By the complement

    δ(ε) = 1 − e^ε + E(e^{ε−T} − 1)₊

no more of a law is needed than what lies below that: of few samples at a small rate a range of about ε,
where losses that matter reach a hundred times as far.  Products of rows are cut there too: they multiply as
power series do.  The other direction has δ(ε) = e^ε E(e^{−ε−T} − 1)₊ with T of this one.

Losses are spread onto nodes as in `excess`, and its bound on the rise holds: where some loss lies beyond the
range, neither the sum nor what it is spread to is below ε, so there the rise is 0.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Protocol

from flint import arb, fmpz_poly

from dpaccount.numerics.bisection import Ends
from dpaccount.numerics.intervals import ball, ceil_of, floor_of, log_float, precision
from dpaccount.numerics.lattice.connect_dots import connected
from dpaccount.numerics.lattice.excess import Excess
from dpaccount.numerics.lattice.lattice import Grid, Masses, rounded_up, two_points
from dpaccount.numerics.work_budget import bearable, spend, steps_done

MOST_CAPPED_NODES = 1 << 20
FIRST_NODES = 200  #: nodes of the first lattice
LOG2 = math.log(2)
MOST_FINER = 32.0  #: times that a lattice is as fine as the one before
GUARD = 44  #: bits of masses beyond those of δ and of their number
WIDEST = 700.0  #: range of losses, whose exponential is a float
Row = tuple[fmpz_poly, int]  #: masses at 0, 1, … steps above the first node, and what roundings added to them


class BoundedBelow(Protocol):
    """A pair as these lattices see it."""

    def dots(self, first: Fraction, step: Fraction, count: int, bits: int) -> list[arb]:
        """Return the heights of the curve at first + j·step, j < count, to about 2^−bits."""


Parts = Sequence[tuple[BoundedBelow, int, Fraction]]  #: pairs, counts, and what no loss lies below


class Capped(Excess):
    """A lattice above a sum of few losses, for ε up to a cap; `mirrored`: for the other direction."""

    def __init__(
        self, parts: Parts, step: Fraction, cap: Fraction, log2_delta: float, *, mirrored: bool
    ) -> None:
        count = sum(n for _, n, _ in parts)
        origin = sum((n * first for _, n, first in parts), Fraction(0))
        spread = count * two_points(step)
        size = max(2, math.ceil((cap - origin) / step))
        bits = GUARD + math.ceil(-log2_delta) + 2 * count.bit_length() + size.bit_length()
        size += 3 + math.ceil(math.sqrt(count * (bits + 17)))  # beyond the cap, where the rise looks
        bearable(size, MOST_CAPPED_NODES)
        bearable(float(cap - origin), WIDEST)
        grid = Grid(step, bits, 0)
        rows = [_power(_once(part, first, grid, size), n, grid, size) for part, n, first in parts]
        masses, added = reduce(lambda a, b: _times(a, b, grid, size), rows)
        # A mass counts with e^{ε−t} − 1, which may exceed 1.
        moved = added * (1 + math.ceil(math.exp(float(cap - origin))))
        super().__init__(Masses(grid, origin, 0, masses, 0, spread, moved))
        self.mirrored = mirrored
        self.top = -origin if mirrored else cap

    def highest(self, t: Fraction) -> arb:
        """Return a ball around a number that δ(t) is at most, t from 0 to `top`."""
        made, x = self.made, -t if self.mirrored else t
        with precision(made.grid.bits + 64):
            over = max(0, made.size - max(0, math.floor((x - made.origin) / made.grid.step) + 1))
            below = self.tilted[-1] - self.tilted[over], self.above[-1] - self.above[over]
            rest = (ball(x).exp() * below[0] - below[1]) / self.unit
            return ball(t).exp() * rest if self.mirrored else rest - ball(t).expm1()

    def lowest(self, t: Fraction) -> arb:
        """Return a ball around a number that δ(t) is at least."""
        with precision(self.made.grid.bits + 64):
            lost = (self.added + self.rise(-t if self.mirrored else t)) / self.unit
            return (self.highest(t) - (ball(t).exp() if self.mirrored else 1) * lost).max(arb(0))


def _once(part: BoundedBelow, first: Fraction, grid: Grid, size: int) -> Row:
    """Return the row of one pair: its masses sum to 1 − d_N + (d_{N+1} − d_N)/(e^h − 1), N the last node."""
    thin = grid.bits + 8 + max(0, math.ceil(-log_float(grid.step) / LOG2))  # slopes of the dots are taken
    with precision(grid.bits + 64):
        dots = part.dots(first, grid.step, size + 1, thin)
        share = 1 / ball(grid.step).expm1()
        row = fmpz_poly(connected(dots, share, grid)[:-1])
        total = 1 - dots[-2] + share * (dots[-1] - dots[-2])
        return row, max(0, int(row(1)) - math.floor(floor_of(total) * (1 << grid.bits)))


def _times(a: Row, b: Row, grid: Grid, size: int) -> Row:
    """Return the product, cut; each of its masses is rounded up by less than a unit."""
    spend(1 + size / 4 + size * grid.bits / 3500)
    (rows, added), (others, more), unit = a, b, 1 << grid.bits
    masses = rounded_up(rows.mul_low(others, size), grid)
    return masses, -(-(added * (unit + more) + more * unit) >> grid.bits) + size


def _power(base: Row, count: int, grid: Grid, size: int) -> Row:
    """Return the row of `count` copies."""
    found = base
    for bit in bin(count)[3:]:
        found = _times(found, found, grid, size)
        if bit == "1":
            found = _times(found, base, grid, size)
    return found


class CappedSearch:
    """Ever finer lattices of one sum, while `most` steps of work last."""

    def __init__(self, parts: Parts, most: float, *, mirrored: bool) -> None:
        self.parts, self.mirrored, self.left = parts, mirrored, most
        self.step = self.needed = Fraction(1)
        self.each = 0.0  # steps of work for a node
        self.origin = sum((n * first for _, n, first in parts), Fraction(0))

    def lattice(self, cap: Fraction, log2_delta: float) -> Capped | None:
        """Return a lattice up to a cap; None where it takes too much work."""
        wide = cap - self.origin
        self.step = Fraction(min(float(self.step), float(wide) / FIRST_NODES))  # with few digits
        if self.each * float(wide / min(self.step, self.needed)) > self.left:
            return None
        begun = steps_done()
        made = Capped(self.parts, self.step, cap, log2_delta, mirrored=self.mirrored)
        self.left -= steps_done() - begun
        self.each = float((steps_done() - begun) * self.step / wide)
        return made

    def finer(self, ratio: float) -> None:
        """Take finer steps: what the last lattice proved is so many times as wide as wanted."""
        times = max(math.sqrt(1.3 * ratio), 1.1)
        self.needed = self.step / Fraction(times)
        self.step /= Fraction(min(times, MOST_FINER))

    def epsilon(self, target: Fraction, gap: Fraction, near: float) -> tuple[Fraction, Fraction | None]:
        """Return bounds on ε(target), gap·max(1, ε) apart if the work lasts; `near`: about ε."""
        low: Fraction = Fraction(0)
        high: Fraction | None = None
        cap = Fraction(0) if self.mirrored else Fraction(1.25 * near)
        while (made := self.lattice(cap, log_float(target) / LOG2)) is not None:
            below, above = made.epsilon(target, gap / 16)
            if above is None:
                cap += cap - self.origin
                continue
            low, high = max(low, below), above if high is None else min(high, above)
            width = gap * max(Fraction(1), high)
            if high - low <= width:
                break
            self.finer(float((above - below) / width))
            cap = Fraction(0) if self.mirrored else high + width
        return low, high

    def delta(self, at: Fraction, gap: Fraction, log2_delta: float) -> Ends:
        """Return bounds on δ(ε), gap·δ apart if the work lasts; `log2_delta`: about log₂ δ."""
        low, high = Fraction(0), Fraction(1)
        while (made := self.lattice(-at if self.mirrored else at, log2_delta)) is not None:
            value = made.curve(at)
            below, above = floor_of(value), ceil_of(value)
            low, high = max(low, below), min(high, above)
            if high - low <= gap * high:
                break
            log2_delta = min(log2_delta, log_float(high) / LOG2)
            self.finer(float((above - below) / (gap * high)))
        return low, high
