"""Lattices above compositions of any pairs, and the enclosures they prove.

Each part says how it lies on a lattice and how wide its losses are; what kind of pair it is does not matter.
Of parts that are upper bounds themselves, only the upper ends are proved.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Protocol

from flint import arb

from dpaccount.exact import Number
from dpaccount.numerics.bisection import Ends, bisect
from dpaccount.numerics.fourier.contours import kept
from dpaccount.numerics.intervals import ball, between, ceil_of, floor_of, log_float, precision
from dpaccount.numerics.lattice import lattice
from dpaccount.numerics.lattice.excess import Excess
from dpaccount.numerics.lattice.lattice import Grid, Masses
from dpaccount.numerics.work_budget import (
    LATTICE,
    ONE_LATTICE,
    UPPER_LATTICE,
    OutOfReach,
    at_least,
    granted,
    own_steps,
    part_left,
    steps_done,
    unlimited,
)

MAX_NODES = 1 << 15  #: beyond which a composed lattice may be made coarser, where all have one step
LEAST_NODES = 1 << 10  #: the same where each has its own, if no pair has more
ONE_STEP_COPIES = 10**6  #: copies of a pair beyond which one step for all would take too much work
MOST_FINER = math.sqrt(150)  #: times that a lattice is as fine as the one before
FIRST = 100  #: nodes, at most, of each pair on the first lattice
MAX_INNER_NODES = 1 << 17  #: of a lattice inside a sample
Curve = Callable[[Fraction], arb]


class LatticePart(Protocol):
    """A pair as lattices see it."""

    def lattice(self, grid: Grid, depth: int) -> Masses:
        """Return a lattice measure above the pair."""

    def span(self, depth: int) -> Ends:
        """Return [low, high] such that about 2^−depth of the mass lies above and below."""

    def largest(self) -> Fraction | None:
        """Return the largest loss where it is an atom at a rational number; else None."""


Parts = Sequence[tuple[LatticePart, int]]


class LatticeTotal(Protocol):
    """A composition as lattices see it."""

    @property
    def parts(self) -> Parts:
        """Return the counted pairs."""

    @property
    def symmetric(self) -> bool:
        """Say whether both directions cost the same."""

    @property
    def upper(self) -> Parts:
        """Return those that are upper bounds only."""


def epsilon(
    total: LatticeTotal, target: Fraction, gap: Fraction, least: Number = Fraction(0)
) -> tuple[Fraction | None, Fraction | None]:
    """Return bounds on ε(target), 0 < target < 1, gap·max(1, ε) apart if they can and it may exceed `least`.

    None below: only upper curves are known; None above: infinite.
    """
    low: Fraction = Fraction(0)
    high: Fraction | None = None
    for made in _finer(total, _log2(target)):
        before = high
        with unlimited():  # what is made is worth evaluating
            below, above = made.epsilon(target, gap / 16)
        low, high = max(low, below), min((end for end in (high, above) if end is not None), default=None)
        if high is not None and high <= least:
            break
        made.ratio = math.inf
        if above is not None:
            made.ratio = float(_apart(total, below, before, above) / gap / max(Fraction(1), above))
    return (None if total.upper else low), high


def delta(total: LatticeTotal, at: Fraction, gap: Fraction) -> tuple[Fraction | None, Fraction]:
    """Return bounds on δ(ε), gap·δ apart where they can; None below where only upper curves are known."""
    low, high, log2_delta = Fraction(0), Fraction(1), -40.0
    before: Fraction | None = None
    while high > 0:  # how small it is must be known first
        high = min(high, ceil_of(next(_finer(total, log2_delta)).highest(at)))
        if _log2(high) > log2_delta:
            break
        log2_delta = 2 * _log2(high)
    depth = _log2(high) if high > 0 and kept() is None else log2_delta  # of few depths, lattices are shared
    for made in _finer(total, depth) if high > 0 else ():
        with unlimited():
            value = made.curve(at)
        below, above = floor_of(value), ceil_of(value)
        low, high = max(low, below), min(high, above)
        made.ratio = float(_apart(total, below, before, above) / above / gap) if above else 0.0
        before = high
    return (None if total.upper else low), high


def _log2(value: Fraction) -> float:
    return log_float(value) / math.log(2)


def _apart(total: LatticeTotal, low: Fraction, before: Fraction | None, high: Fraction) -> Fraction:
    """Return how far the bounds are apart, or by how much upper curves came down from the best before."""
    if total.upper:
        return Fraction(1) if before is None else before - high
    return high - low


def _finer(total: LatticeTotal, log2_delta: float) -> Iterator[Excess]:
    """Yield lattices, each finer by what the last one was too wide by (its `ratio`), while work is left.

    All pairs have one step, or each its own (`compose`); which is better depends on the pairs.  Where both
    ends are known, coarse lattices show it: the rise is second order in the step.  Where only upper ends
    are, one lattice with steps of their own follows those with one step.  Millions of copies have their own.
    """
    share = part_left(0.8 if total.symmetric else 0.6)  # there is another direction
    end = steps_done() + min(share, granted(UPPER_LATTICE if total.upper else LATTICE))
    most = max(count for _, count in total.parts)
    own_only, both = most > ONE_STEP_COPIES, 1 < most <= ONE_STEP_COPIES and bool(total.upper)
    rows: list[_LatticeRow] = []
    for own in (True,) if own_only else (False,) if total.upper else (False, True):
        with suppress(OutOfReach):
            rows.append(_LatticeRow.begun(total.parts, log2_delta, own=own))
            yield rows[-1].last
            if rows[-1].last.ratio <= 1:
                return
    if not rows:
        raise OutOfReach("not even a coarse lattice is within reach")
    row = min(rows, key=lambda row: row.last.ratio * row.work**2)
    if row.last.ratio == math.inf:
        return
    while row.last.ratio > 1 and row.finer(_times(max(2.0, math.sqrt(1.5 * row.last.ratio))), end):
        yield row.last
    if both and row.last.ratio > 1:
        with suppress(OutOfReach):
            row = _LatticeRow.begun(total.parts, log2_delta, own=True)
            row.finer(math.inf, steps_done() + own_steps())
            yield row.last


@dataclass
class _LatticeRow:
    """Ever finer lattices above one composition: the last one, its step, and the work that it took."""

    parts: Parts
    log2_delta: float
    own: bool  #: whether each pair has a step of its own
    last: Excess
    step: Fraction
    work: float

    @classmethod
    def begun(cls, parts: Parts, log2_delta: float, *, own: bool) -> "_LatticeRow":
        """Return the finest coarse lattice that is within reach, also where other methods did much."""
        for nodes in (FIRST, FIRST // 5, FIRST // 25):
            with suppress(OutOfReach), at_least(ONE_LATTICE):
                step = step_for(parts, nodes, int(-log2_delta) + 40, own=own)
                made, work = _made(parts, step, log2_delta, own=own)
                return cls(parts, log2_delta, own, made, step, work)
        raise OutOfReach("not even a coarse lattice is within reach")

    def finer(self, needed: float, end: float) -> bool:
        """Make a lattice up to `needed` times as fine before `end`; say whether that was worth it.

        Not much more than twelve times at once, unless no work would be left for another.
        """
        allowed = (end - steps_done()) / (1.2 * self.work)  # work allows for more nodes
        ratio = min(needed, allowed if allowed < 2.4 * MOST_FINER else MOST_FINER)
        if ratio < 1.5:
            return False
        step = _fitting(self.parts, self.step / Fraction(ratio), int(-self.log2_delta) + 40, own=self.own)
        try:
            self.last, self.work = _made(self.parts, step, self.log2_delta, own=self.own)
        except OutOfReach:
            return False
        self.step = step
        return True


def _times(finer: float) -> float:
    """Return by how much a lattice is to be finer; a power of 2 where similar questions share lattices."""
    return finer if kept() is None else 2.0 ** math.ceil(math.log2(finer))


def _made(parts: Parts, step: Fraction, log2_delta: float, *, own: bool) -> tuple[Excess, float]:
    """Return what `compose` makes, and the work that it takes; similar questions share it."""
    shared, key = kept(), ("lattice", tuple(parts), step, log2_delta, own)
    if shared is not None and key in shared:
        made: tuple[Excess, float] = shared[key]
        return made
    begun = steps_done()
    made = Excess(compose(parts, step, log2_delta, own=own)), steps_done() - begun
    if shared is not None:
        shared[key] = made
    return made


def curve(parts: Parts, bits: int) -> Curve:
    """Return the curve of a composition as one lattice knows it."""
    depth = int(bits) + 40
    return Excess(compose(parts, step_for(parts, 10 * FIRST, depth), -float(bits))).curve


def compose(parts: Parts, step: Fraction, log2_delta: float, *, own: bool = True) -> Masses:
    """Return a lattice measure above the composition, for curves down to about 2^log2_delta.

    The step is that of all pairs, or, where each has its own, that of a pair that is counted once; those of
    others are finer by powers of two.  Beyond some nodes compositions are made coarser where that is cheap.
    """
    rounds = sum(2 * count.bit_length() for _, count in parts) + len(parts)
    most = max(count for _, count in parts).bit_length()
    bits = int(-log2_delta) + 56 + 2 * rounds.bit_length() + 2 * most
    # What one product may trim: that of all products stays about 2^44 times below δ.
    grid = Grid(step, bits, max(0, 2 ** (bits + int(log2_delta) - 44 - rounds.bit_length())))
    depth = int(-log2_delta) + 40 + most
    steps = [_balanced(step, n) if own else step for _, n in parts]
    made = [
        (part.lattice(replace(grid, step=h), depth), n) for h, (part, n) in zip(steps, parts, strict=True)
    ]
    cap = max(LEAST_NODES, *(2 * base.size for base, _ in made)) if own else MAX_NODES
    return lattice.product([lattice.power(base, n, cap) for base, n in made], cap)


def _balanced(step: Fraction, count: int) -> Fraction:
    """Return about step/√count: so `count` copies spread their losses as much as one does."""
    return step / (1 << round(math.log2(count) / 2))


def of_table(
    losses: Callable[[], Sequence[tuple[arb, arb]]], infinite: Callable[[], arb], grid: Grid
) -> Masses:
    """Return a lattice measure above a table of losses: outcomes between two nodes are split onto them."""
    with precision(grid.bits + 64):
        points = losses() or ((arb(0), arb(0)),)
        first = floor_of(reduce(arb.min, (at for at, _ in points)))
        found = lattice.placed(grid, first, points)
        return replace(found, infinite=lattice.units(grid, infinite()))


def on_sample(
    parts: Parts, failure: Ends, sampling_rate: Fraction, grid: Grid, depth: int, *, added: bool
) -> Masses:
    """Return a lattice above a pair on a sample, from one above the inner pair (when added, its reverse).

    `parts`: the pairs that compose to the inner one, with counts.
    `failure`: bounds on the inner pair's probability of an infinite loss.
    `sampling_rate`: the probability q of a unit to be in the sample.
    `grid`: the lattice's step and precision.
    `depth`: −ln of probabilities that no longer matter.
    `added`: the direction, in which a unit comes rather than goes.

    A node of mass p at t becomes, removing, p(q + (1 − q)e^{−t}) at ln(1 − q + qe^t); adding, from the
    reverse, p at −ln(1 − q + qe^{−t}). Removing, mass under Q that the inner lattice lost at its tails is put
    where it raises the curve: at the first node, or at +∞.
    """
    low, high = span_of(parts, depth)
    count = sum(n for _, n in parts)
    step = max(grid.step, (high - low) * math.isqrt(count) / MAX_INNER_NODES)
    made = compose(parts, _fitting(parts, step, depth), -float(depth + 64 + 3 * math.ceil(abs(low))))
    known = Excess(made)
    with precision(made.grid.bits + 64):
        rate, fail = ball(sampling_rate), between(*failure)
        least, kept = (-rate).log1p(), (1 - fail) / known.unit
        points = []
        for index, mass in enumerate(known.row):
            at = ball(made.position(index))
            if added:
                points.append((-(rate * (-at).expm1()).log1p(), kept * mass))
            else:
                weight = rate + (1 - rate) * (-at).exp()
                points.append(((rate * at.expm1()).log1p(), kept * mass * weight))
        if added:
            infinite, lost = arb(0), arb(0)
            points.append((-least, kept * made.infinite + fail))
        else:
            lost = _lost(known)
            infinite = kept * (rate * made.infinite + (1 - rate) * made.moved) + rate * fail
            points += [(points[0][0], kept * (1 - rate) * lost), (least, (1 - rate) * fail)]
        first = floor_of(min(at.lower() for at, _ in points))
        found = lattice.placed(grid, first, points)
        moved = found.moved + lattice.units(grid, kept * (made.moved + lost))
        beyond = lattice.units(grid, infinite)
        return replace(found, infinite=beyond, moved=moved, spread=found.spread + made.spread)


def _lost(known: Excess) -> arb:
    """Return a bound on the mass under Q, in units, that is not where the lattice has it: moved left tails.

    The nodes have Σ m_j e^{−t_j} of it; what was added to the law there counts at most as at the first node.
    """
    found = known.unit - known.tilted[-1] + known.added * (-ball(known.made.position(0))).exp()
    return found.upper().max(arb(0))


def span_of(parts: Parts, depth: int) -> Ends:
    """Return the range of the sum of all losses, each at its widest."""
    found = [(n, *part.span(depth)) for part, n in parts]
    return sum((n * low for n, low, _ in found), Fraction(0)), sum(
        (n * high for n, _, high in found), Fraction(0)
    )


def first_where(gone: Callable[[Fraction], bool]) -> Fraction:
    """Return a t, at most a quarter too large, with gone(t) (or 2^40)."""
    t = Fraction(1, 1 << 40)
    while not gone(t) and t < 1 << 40:
        t *= 2
    return bisect(gone, t / 2, t, 3)[1]


def step_for(parts: Parts, nodes: int, depth: int, *, own: bool = True) -> Fraction:
    """Return a step at which every pair gets at most about `nodes` nodes.

    With one step for all the narrowest gets as many, and the widest at most ten times as many.
    """
    widths = [(high - low, count) for part, count in parts for low, high in [part.span(depth)]]
    if own:
        step = max(width / _balanced(Fraction(1), n) for width, n in widths) / nodes
    else:
        step = max(min(widths)[0], max(widths)[0] / 10) / nodes
    return _fitting(parts, step, depth, own=own)


def _fitting(parts: Parts, step: Fraction, depth: int, *, own: bool = True) -> Fraction:
    """Return about this step, such that the atoms ±most of the widest pair that has them lie on nodes.

    A pair narrower than its step is split onto nodes: fitted to it, the others would take too many.
    """
    exact = [
        (high - low, n) for part, n in parts if part.largest() is not None for low, high in [part.span(depth)]
    ]
    width, count = max(exact, default=(Fraction(0), 1))
    finer = _balanced(step, count) if own else step
    if width >= finer:
        return width / math.ceil(width / finer) * (step / finer)
    return Fraction(float(step))
