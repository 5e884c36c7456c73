"""Lattices above compositions of any pairs, and the enclosures they prove.

The fallback for whatever has no transform that decays: unequal atoms, few steps, pairs on samples; the only
method for upper curves (`exposure.Bounded`), of which nothing is known from below.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial, reduce

from flint import arb

from dpaccount.cost import pair_curves
from dpaccount.cost.exposure import Bounded, Drawn, Exposure, Kind, RangeBound, Sampled, failure
from dpaccount.cost.pair_curves import Curve, GaussianKind, failing, parts
from dpaccount.exact import Number
from dpaccount.numerics.balls import accurate, ball, between, ceil_of, floor_of, log_float, precision
from dpaccount.numerics.closed import gaussian, laplace
from dpaccount.numerics.closed.sampling import shrunk
from dpaccount.numerics.fourier.loss_tables import LossTable, ReplacedLaplaceFactor, ReplacedTable
from dpaccount.numerics.fourier.replaced_gaussian import ReplacedGaussianFactor
from dpaccount.numerics.fourier.sampled_gaussian import SampledGaussianFactor
from dpaccount.numerics.fourier.transforms import AtomFactor, DiscreteGaussianFactor, Factor, LaplaceFactor
from dpaccount.numerics.lattice import connect_dots, exact_grids, lattice
from dpaccount.numerics.lattice.excess import Excess
from dpaccount.numerics.lattice.lattice import Grid, Masses
from dpaccount.numerics.sampled_groups import SampledGroupFactor
from dpaccount.numerics.work_budget import (
    LATTICE,
    ONE_LATTICE,
    UPPER_LATTICE,
    OutOfReach,
    at_least,
    granted,
    steps_done,
    steps_left,
    unlimited,
)

CAP = 1 << 15  #: nodes beyond which a composed lattice may be made coarser
FIRST = 100  #: nodes of the narrowest pair on the first lattice
FINEST = 1 << 17  #: nodes of a lattice inside a sample


def epsilon(
    total: Exposure, target: Fraction, gap: Fraction, least: Number = Fraction(0)
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
        low, high = max(low, below), above if high is None or above is None else min(high, above)
        if high is None or high <= least:
            break
        made.ratio = float(_apart(total, low, before, high) / gap / max(Fraction(1), high))
    return (None if total.bounded else low), high


def delta(total: Exposure, at: Fraction, gap: Fraction) -> tuple[Fraction | None, Fraction]:
    """Return bounds on δ(ε), gap·δ apart where they can; None below where only upper curves are known."""
    low, high, log2_delta = Fraction(0), Fraction(1), -40.0
    while high > 0:  # how small it is must be known first
        high = min(high, ceil_of(next(_finer(total, log2_delta)).highest(at)))
        if _log2(high) > log2_delta:
            break
        log2_delta = 2 * _log2(high)
    for made in _finer(total, _log2(high)) if high > 0 else ():
        with unlimited():
            before, value = high, made.curve(at)
        low, high = max(low, floor_of(value)), min(high, ceil_of(value))
        made.ratio = float(_apart(total, low, before, high) / high / gap) if high else 0.0
    return (None if total.bounded else low), high


def _log2(value: Fraction) -> float:
    return log_float(value) / math.log(2)


def _apart(total: Exposure, low: Fraction, before: Fraction | None, high: Fraction) -> Fraction:
    """Return how far the bounds are apart, or by how much upper curves came down the last time."""
    if total.bounded:
        return Fraction(1) if before is None else before - high
    return high - low


def _finer(total: Exposure, log2_delta: float) -> Iterator[Excess]:
    """Yield lattices, each finer by what the last one was too wide by (its `ratio`), while work is left.

    The rise is second order in the step.
    """
    share = steps_left() * (0.8 if total.symmetric else 0.6)  # there is another direction
    begun, most = steps_done(), min(share, granted(UPPER_LATTICE if total.bounded else LATTICE))
    started, last = begun, _first_lattice(total, log2_delta)
    while True:
        yield last
        if last.ratio <= 1:
            return
        now = steps_done()
        finer = (most - (now - begun)) / (1.2 * (now - started))  # by which work allows for more nodes
        ratio = min(max(2.0, math.sqrt(1.5 * min(last.ratio, 100.0))), finer)
        if ratio < 1.5:
            return
        step, started = last.made.grid.step / Fraction(ratio), now
        try:
            last = Excess(compose(total, _fitting(total, step, int(-log2_delta) + 40), log2_delta))
        except OutOfReach:
            return


def _first_lattice(total: Exposure, log2_delta: float) -> Excess:
    """Return the finest of some coarse lattices that is within reach, also where other methods did much."""
    for nodes in (FIRST, FIRST // 5, FIRST // 25):
        with suppress(OutOfReach), at_least(ONE_LATTICE):
            return Excess(compose(total, _step(total, nodes, int(-log2_delta) + 40), log2_delta))
    raise OutOfReach("not even a coarse lattice is within reach")


def curve(kind: Kind, bits: int) -> Curve:
    """Return the curve of a pair to about `bits` bits; precisions are shared in steps of 64."""
    return _curve(kind, -(-bits // 64) * 64)


@lru_cache(maxsize=256)
def _curve(kind: Kind, bits: int) -> Curve:
    """Return t ↦ a ball around δ(t) at every real t (for bounded kinds: its upper end bounds δ(t))."""
    if isinstance(kind, GaussianKind):
        mu2 = kind.mu2
        return lambda t: gaussian.delta(t, mu2, bits)
    if isinstance(kind, LaplaceFactor):
        loss = kind.loss
        return lambda t: laplace.delta_single(t, loss, bits)
    if isinstance(kind, AtomFactor | DiscreteGaussianFactor) and not kind.listed:
        return lambda t: accurate(lambda: kind.delta(t), bits, max(96, bits + 32))
    if isinstance(kind, AtomFactor | DiscreteGaussianFactor):
        return exact_grids.compose(((kind, 1),), -float(bits)).curve
    if isinstance(kind, SampledGaussianFactor):
        inner: Curve = curve(GaussianKind((kind.mu2, kind.mu2)), bits)
        return pair_curves.on_sample(kind.rate, inner, inner, bits, added=kind.added)
    if isinstance(kind, Sampled):
        return _sampled_exposure(kind, bits)
    return _own_curve(kind, bits) if isinstance(kind, Factor) else _bounded_curve(kind, bits)


def _own_curve(kind: Factor, bits: int) -> Curve:
    """Return the curve of a table of losses, of a sampled group, or of a row that is replaced."""
    if isinstance(kind, LossTable | SampledGroupFactor):
        return lambda t: accurate(lambda: kind.delta(t), bits, max(96, bits + 32))
    if isinstance(kind, ReplacedGaussianFactor):
        return pair_curves.on_replaced_gaussian(kind.rate, kind.mu2, bits)
    if isinstance(kind, ReplacedLaplaceFactor):
        return pair_curves.on_replaced_laplace(kind, curve(LaplaceFactor(kind.loss), bits), bits)
    raise TypeError(f"{kind} has no curve of its own")


def _sampled_exposure(kind: Sampled | Drawn, bits: int) -> Curve:
    there = _exposure_curve(kind.inner, bits)
    inner = kind.inner
    back = there if inner.symmetric else _exposure_curve(inner.turned(), bits)
    mass = failure(kind.inner)
    return pair_curves.on_sample(
        kind.rate, failing(there, *mass), failing(back, *mass), bits, added=kind.added
    )


def _exposure_curve(total: Exposure, bits: int) -> Curve:
    """Return the curve of a composition (its failures left out) at every real t."""
    found = parts(total)
    if not found:
        return lambda t: accurate(lambda: 1 - ball(t).exp(), bits) if t < 0 else ball(0)
    if len(found) == 1 and found[0][1] == 1:
        return curve(found[0][0], bits)
    if total.bounded:
        return pair_curves.renyi_curve(total, bits)
    return _composed_curve(replace(total, failures=()), bits)


def _bounded_curve(kind: Bounded, bits: int) -> Curve:
    if isinstance(kind, RangeBound):
        return pair_curves.range_curve(kind.eta, bits)
    if isinstance(kind, Drawn):
        if kind.poisson:
            return _sampled_exposure(kind, bits)
        inner = failing(_exposure_curve(kind.inner, bits), *failure(kind.inner))
        return pair_curves.two_sided(pair_curves.on_drawn(kind.rate, inner))
    return pair_curves.renyi_curve(Exposure(bounded=((kind, 1),)), bits)


def _composed_curve(total: Exposure, bits: int) -> Curve:
    """Return the curve of a composition, failures left out, as one lattice knows it."""
    depth = int(bits) + 40
    return Excess(compose(total, _step(total, 10 * FIRST, depth), -float(bits))).curve


def compose(total: Exposure, step: Fraction, log2_delta: float) -> Masses:
    """Return a lattice measure above the composition, for curves down to about 2^log2_delta."""
    found = parts(total)
    rounds = sum(2 * count.bit_length() for _, count in found) + len(found)
    most = max(count for _, count in found).bit_length()
    bits = int(-log2_delta) + 56 + 2 * rounds.bit_length() + 2 * most
    grid = Grid(step, bits, max(0, 2 ** (bits + int(log2_delta) - 44 - rounds.bit_length())))
    depth = int(-log2_delta) + 40 + most
    return lattice.product([lattice.power(_base(kind, grid, depth), n, CAP) for kind, n in found], CAP)


def stepped(total: Exposure, nodes: int, log2_delta: float) -> Masses:
    """Return such a measure on a lattice with so many nodes for the narrowest pair."""
    return compose(total, _step(total, nodes, int(-log2_delta) + 40), log2_delta)


def _base(kind: Kind, grid: Grid, depth: int) -> Masses:
    """Return a lattice measure above one pair."""
    if isinstance(kind, LaplaceFactor):
        return connect_dots.laplace(kind.loss, grid)
    if isinstance(kind, LossTable) and kind.listed:
        return _of_table(kind, grid)
    if isinstance(kind, AtomFactor | DiscreteGaussianFactor) and kind.listed:
        return exact_grids.base(grid, kind)
    if isinstance(kind, Sampled) and not is_simple(kind):
        return _on_sample(kind, grid, depth)
    low, high = _span(kind, depth)
    low -= grid.step  # the bounds on tails look one node inward
    value = curve(kind, depth + 40)
    if isinstance(kind, GaussianKind):
        value = partial(gaussian.delta_plain, mu2=kind.mu2, bits=grid.bits + 64)
    count = math.ceil((high - low) / grid.step) + 2
    if isinstance(kind, Factor):
        known = _ends(kind) is not None
        return connect_dots.spread(value, grid, low, count, _infinite(kind), bounded=known)
    return connect_dots.above(value, grid, low, count)


def _of_table(kind: LossTable, grid: Grid) -> Masses:
    """Return a lattice measure above a table of losses: outcomes between two nodes are split onto them."""
    with precision(grid.bits + 64):
        losses = kind.losses() or ((arb(0), arb(0)),)
        first = floor_of(reduce(arb.min, (at for at, _ in losses)))
        found = lattice.placed(grid, first, losses)
        return replace(found, infinite=lattice.units(grid, kind.infinite()))


def is_simple(kind: Sampled) -> bool:
    """Say whether the sampled total is one pair, whose curve is known beyond lattices."""
    found = parts(kind.inner)
    return len(found) <= 1 and all(n == 1 and not isinstance(inner, Sampled) for inner, n in found)


def _on_sample(kind: Sampled, grid: Grid, depth: int) -> Masses:
    """Return a lattice above a pair on a sample, from one above the inner pair (when added, its reverse).

    A node of mass p at t becomes, removing, p(q + (1 − q)e^{−t}) at ln(1 − q + qe^t); adding, from the
    reverse, p at −ln(1 − q + qe^{−t}). Removing, mass under Q that the inner lattice lost at its tails is put
    where it raises the curve: at the first node, or at +∞.
    """
    inner = replace(kind.inner, failures=())
    inner = inner.turned() if kind.added else inner
    low, high = _span_of(inner, depth)
    count = sum(n for _, n in parts(inner))
    step = max(grid.step / math.isqrt(count), (high - low) / FINEST)
    made = compose(inner, _fitting(inner, step, depth), -float(depth + 64 + 3 * math.ceil(abs(low))))
    known = Excess(made)
    with precision(made.grid.bits + 64):
        rate, fail = ball(kind.rate), between(*failure(kind.inner))
        least, kept = (-rate).log1p(), (1 - fail) / known.unit
        points = []
        for index, mass in enumerate(known.row):
            at = ball(made.position(index))
            if kind.added:
                points.append((-(rate * (-at).expm1()).log1p(), kept * mass))
            else:
                weight = rate + (1 - rate) * (-at).exp()
                points.append(((rate * at.expm1()).log1p(), kept * mass * weight))
        if kind.added:
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


@lru_cache(maxsize=256)
def _span(kind: Kind, depth: int) -> tuple[Fraction, Fraction]:
    """Return [low, high] such that about 2^−depth of the mass lies above and below."""
    known = _ends(kind)
    if known is not None:
        return known
    if isinstance(kind, Sampled) and not is_simple(kind):
        low, high = _span_of(kind.inner, depth)
        with precision(128):
            image = [_shrunk(ball(t), ball(kind.rate)) for t in (low, high)]
            return (
                (floor_of(-image[1]), ceil_of(-image[0]))
                if kind.added
                else (floor_of(image[0]), ceil_of(image[1]))
            )
    value, tiny, limit = curve(kind, depth + 40), arb(2) ** -depth, ball(_infinite(kind))

    def gone(t: Fraction) -> bool:
        with precision(depth + 64):
            return bool((value(t) - limit).mid() < tiny)

    def gone_below(t: Fraction) -> bool:
        with precision(depth + 64):
            return bool((value(-t) + ball(-t).expm1()).mid() < tiny)

    return -_first(gone_below), _first(gone)


def _span_of(total: Exposure, depth: int) -> tuple[Fraction, Fraction]:
    """Return the range of the sum of all losses, each at its widest."""
    found = [(n, *_span(kind, depth)) for kind, n in parts(total)]
    return sum((n * low for n, low, _ in found), Fraction(0)), sum(
        (n * high for n, _, high in found), Fraction(0)
    )


def _ends(kind: Kind) -> tuple[Fraction, Fraction] | None:
    """Return the least and the largest finite loss, rounded outward; None where they are unbounded.

    On a sample what fails in the other direction has the loss ln(1 − q) where the unit is removed.
    """
    most = kind.eta if isinstance(kind, RangeBound) else kind.largest() if isinstance(kind, Factor) else None
    if isinstance(kind, ReplacedTable):
        with precision(256):
            most = ceil_of(kind.ceiling())
    if most is not None:
        return -most, most
    if isinstance(kind, LossTable):
        with precision(256):
            losses = [at for at, _ in kind.losses()] or [arb(0)]
            return floor_of(reduce(arb.min, losses)), ceil_of(reduce(arb.max, losses))
    if not isinstance(kind, Sampled) or not is_simple(kind):
        return None
    inner = next((_ends(part) for part, _ in parts(kind.inner)), (Fraction(0), Fraction(0)))
    if inner is None:
        return None
    with precision(1280):
        low, high = (_shrunk(ball(end), ball(kind.rate)) for end in inner)
        if kind.inner.failures:
            low = (-ball(kind.rate)).log1p()
        return (floor_of(-high), ceil_of(-low)) if kind.added else (floor_of(low), ceil_of(high))


def _shrunk(loss: arb, rate: arb) -> arb:
    """Return ln(1 + q(e^t − 1)) for a loss of either sign."""
    return shrunk(loss, rate) if loss > 0 else (rate * loss.expm1()).log1p()


def _infinite(kind: Kind) -> Fraction:
    """Return a lower bound on the mass at an infinite loss: of a removed unit, what the sample makes fail."""
    if isinstance(kind, Sampled) and not kind.added:
        return kind.rate * failure(kind.inner)[0]
    return kind.failing() if isinstance(kind, LossTable) else Fraction(0)


def _first(gone: Callable[[Fraction], bool]) -> Fraction:
    """Return a t, at most a quarter too large, with gone(t) (or 2^40)."""
    t = Fraction(1, 1 << 40)
    while not gone(t) and t < 1 << 40:
        t *= 2
    low = t / 2
    for _ in range(3):
        middle = (low + t) / 2
        low, t = (low, middle) if gone(middle) else (middle, t)
    return t


def _step(total: Exposure, nodes: int, depth: int) -> Fraction:
    """Return a grid step: the narrowest pair gets `nodes` nodes, the widest at most ten times as many."""
    widths = [high - low for kind, _ in parts(total) for low, high in [_span(kind, depth)]]
    return _fitting(total, max(min(widths) / nodes, max(widths) / (10 * nodes)), depth)


def _fitting(total: Exposure, step: Fraction, depth: int) -> Fraction:
    """Return about this step, such that the atoms ±most of the widest pair that has them lie on nodes.

    A pair narrower than the step is split onto nodes: fitted to it, the others would take too many.
    """
    exact = [_span(kind, depth) for kind, _ in parts(total) if isinstance(kind, AtomFactor | LaplaceFactor)]
    width = max((high - low for low, high in exact), default=Fraction(0))
    if width >= step:
        return width / math.ceil(width / step)
    return Fraction(float(step))
