"""Curves of single pairs at every real ε, and lattice measures above and below their composition.

The fallback for whatever has no transform that decays: few steps, pairs on samples, upper curves only.
Curves of loose kinds (`totals.Loose`) are upper bounds and make sense on the upper side alone.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from flint import arb, fmpz

from dpaccount.numerics import dots, finite, gaussian, laplace, lattice, renyi
from dpaccount.numerics.amplified import shrunk
from dpaccount.numerics.balls import OutOfReach, accurate, ball, ceil_of, floor_of, precision
from dpaccount.numerics.factors import AtomFactor, DiscreteGaussianFactor, Factor, LaplaceFactor
from dpaccount.numerics.lattice import Grid, Lattice
from dpaccount.numerics.sampled import SampledGaussianFactor
from dpaccount.numerics.sampled_atoms import SampledAtomsFactor, sampled_atoms
from dpaccount.numerics.sampled_laplace import SampledLaplaceFactor
from dpaccount.totals import Drawn, Loose, RangeBound, RdpBound, Sampled, Total, ZcdpBound

Curve = Callable[[Fraction], arb]
Kind = Factor | Loose
CAP = 1 << 15  #: nodes beyond which a composed lattice is made coarser


def parts(total: Total) -> list[tuple[Kind, int]]:
    """Return everything in a total as counted pairs, its Gaussians as one."""
    found: list[tuple[Kind, int]] = [*total.pairs, *total.loose]
    if total.mu2[1]:
        found.append((GaussianKind(*total.mu2), 1))
    return found


class GaussianKind(Factor):
    """The Gaussian pair of μ² in [low, high]."""

    def __init__(self, low: Fraction, high: Fraction) -> None:
        object.__setattr__(self, "mu2", (low, high))

    mu2: tuple[Fraction, Fraction]

    def __hash__(self) -> int:
        return hash(self.mu2)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GaussianKind) and self.mu2 == other.mu2


def curve(kind: Kind, bits: int) -> Curve:
    """Return the curve of a pair to about `bits` bits; precisions are shared in steps of 64."""
    return _curve(kind, -(-bits // 64) * 64)


@lru_cache(maxsize=256)
def _curve(kind: Kind, bits: int) -> Curve:
    """Return t ↦ a ball around δ(t) at every real t (for loose kinds: its upper end bounds δ(t))."""
    if isinstance(kind, GaussianKind):
        mu2 = kind.mu2
        return lambda t: gaussian.delta(t, mu2, bits)
    if isinstance(kind, LaplaceFactor):
        loss = kind.loss
        return lambda t: laplace.delta_single(t, loss, bits)
    if isinstance(kind, AtomFactor | DiscreteGaussianFactor):
        return _lattice_curve(Total(pairs=((kind, 1),)), bits, exact=True)
    if isinstance(kind, SampledGaussianFactor):
        inner: Curve = curve(GaussianKind(kind.mu2, kind.mu2), bits)
        return _on_sample(kind.rate, inner, inner, bits, added=kind.added)
    if isinstance(kind, Sampled):
        return _sampled_total(kind, bits)
    if isinstance(kind, Factor):
        raise TypeError(f"{kind} has no curve of its own")
    return _loose_curve(kind, bits)


def _sampled_total(kind: Sampled, bits: int) -> Curve:
    there = _total_curve(kind.inner, bits)
    inner = kind.inner
    back = there if inner.symmetric else _total_curve(_turned(inner), bits)
    low, high = _failure(kind.inner)
    return _on_sample(
        kind.rate, _failing(there, low, high), _failing(back, low, high), bits, added=kind.added
    )


def _turned(total: Total) -> Total:
    return replace(total, pairs=tuple((kind.reversed(), count) for kind, count in total.pairs))


def _failure(total: Total) -> tuple[Fraction, Fraction]:
    from dpaccount.cost import failure

    return failure(total)


def _failing(inner: Curve, low: Fraction, high: Fraction) -> Curve:
    """Return the curve with a mass in [low, high] at an infinite loss beside it."""
    if high == 0:
        return inner

    def value(t: Fraction) -> arb:
        mass = ball(low).union(ball(high)) if low != high else ball(low)
        return mass + (1 - mass) * inner(t)

    return value


def _total_curve(total: Total, bits: int) -> Curve:
    """Return the curve of a composition (its failures left out) at every real t."""
    found = parts(total)
    if not found:
        return lambda t: accurate(lambda: 1 - ball(t).exp(), bits) if t < 0 else ball(0)
    if len(found) == 1 and found[0][1] == 1:
        return curve(found[0][0], bits)
    if total.loose:
        return _renyi_curve(total, bits)
    return _lattice_curve(replace(total, failures=()), bits, exact=False)


def _on_sample(rate: Fraction, there: Curve, back: Curve, bits: int, *, added: bool) -> Curve:
    """Return the curve of a pair on a Poisson sample, from the inner curve and its reverse.

    Removing: δ(x) = q δ_in((x − 1 + q)/q) for x = e^t > 1 − q, else 1 − x. Adding, by the complement: for
    t ≥ 0 δ = (1 − (1−q)e^t)·δ_in,rev at q e^t/(1 − (1−q)e^t), and 0 where 1 ≤ (1−q)e^t; for t < 0 by the
    complement     δ(t) = 1 − e^t + e^t δ_remove(−t) again (Zhu, Dong & Wang 2022).
    """

    def remove(t: Fraction) -> arb:
        if t < 0:
            return _complement(t, add(-t), bits)
        with precision(bits + 64):
            at = (ball(t).expm1() / ball(rate)).log1p()
            return ball(rate) * _at(there, at)

    def add(t: Fraction) -> arb:
        if t < 0:
            return _complement(t, remove(-t), bits)
        with precision(bits + 64):
            room = 1 - (1 - ball(rate)) * ball(t).exp()
            if not room > 0:
                return arb(0).union(room.upper().max(arb(0)))
            return room * _at(back, (ball(rate) * ball(t).exp() / room).log())

    return add if added else remove


def _complement(t: Fraction, other: arb, bits: int) -> arb:
    """Return δ(t) = 1 − e^t + e^t δ_rev(−t)."""
    with precision(bits + 64):
        return -(ball(t).expm1()) + ball(t).exp() * other


def _at(inner: Curve, t: arb) -> arb:
    """Return the curve at an enclosed argument: it falls, so the ends bound it."""
    return inner(ceil_of(t)).union(inner(floor_of(t)))


def _lattice_curve(total: Total, bits: int, *, exact: bool) -> Curve:
    """Return the curve of a composition by lattices below and above it."""
    low, high = (_SuffixSums(_composed(total, bits, up=up, exact=exact)) for up in (False, True))
    return lambda t: low.delta(t).union(high.delta(t))


def _composed(total: Total, bits: int, *, up: bool, exact: bool) -> Lattice:
    from dpaccount.numerics import grids

    if exact or (total.mu2[1] == 0 and grids.suits(total.pairs, lambda: 20.0)):
        return grids.compose(total.pairs, -float(bits), up=up)
    return compose(total, _step(total, 200, bits), -float(bits), up=up)


class _SuffixSums:
    """A lattice measure prepared for evaluation: δ(t) = m_∞ + A_j − e^t B_j, sums over the nodes above t."""

    def __init__(self, made: Lattice) -> None:
        self.made = made
        row = made.masses.coeffs()
        self.above, self.tilted = [fmpz(0)], [arb(0)]
        with precision(made.grid.bits + 64):
            weight = (-ball(made.position(len(row) - 1))).exp()
            growth = ball(made.grid.step).exp()
            for mass in reversed(row):
                self.above.append(self.above[-1] + mass)
                self.tilted.append(self.tilted[-1] + mass * weight)
                weight *= growth

    def delta(self, t: Fraction) -> arb:
        """Return a ball around D(t)."""
        made = self.made
        with precision(made.grid.bits + 64):
            over = made.size - max(0, math.floor((t - made.origin) / made.grid.step) + 1 - made.first)
            over = max(0, min(over, made.size))
            total = self.above[over] - ball(t).exp() * self.tilted[over] + made.infinite
            return total / (fmpz(1) << made.grid.bits)


def _loose_curve(kind: Loose, bits: int) -> Curve:
    if isinstance(kind, RangeBound):
        return _range_curve(kind.eta, bits)
    if isinstance(kind, Drawn):
        there = _failing(_total_curve(kind.inner, bits), *_failure(kind.inner))
        if kind.poisson:
            return _on_sample(kind.rate, _two_sided(there), _two_sided(there), bits, added=False)
        return _two_sided(_drawn(kind.rate, there))
    return _renyi_curve(Total(loose=((kind, 1),)), bits)


def _range_curve(eta: Fraction, bits: int) -> Curve:
    """Return the curve that dominates one η-bounded-range mechanism: (e^{η/2} − e^{ε/2})²/(e^η − 1), |ε| ≤ η.

    The largest of the curves of two-point losses {t, t − η}, attained at t = (η + ε)/2 (Dong, Durfee & Rogers
    2020).
    """

    def value(t: Fraction) -> arb:
        if t >= eta:
            return ball(0)
        if t <= -eta:
            return accurate(lambda: 1 - ball(t).exp(), bits)
        return accurate(lambda: ((ball(eta) / 2).exp() - (ball(t) / 2).exp()) ** 2 / ball(eta).expm1(), bits)

    return value


def _drawn(rate: Fraction, inner: Curve) -> Curve:
    """Return δ′(ln(1 + q(e^ε − 1))) ≤ q δ(ε), ε ≥ 0 (Balle, Barthe & Gaboardi 2018; without replacement)."""

    def value(t: Fraction) -> arb:
        with precision(256):
            at = (ball(t).expm1() / ball(rate)).log1p()
            return ball(rate) * _at(inner, at)

    return value


def _two_sided(inner: Curve) -> Curve:
    """Return an upper curve for both signs of ε from one for ε ≥ 0 of a symmetric relation."""

    def value(t: Fraction) -> arb:
        return inner(t) if t >= 0 else _complement(t, inner(-t), 128)

    return value


def _renyi_curve(total: Total, bits: int) -> Curve:
    """Return the upper curve that Rényi bounds at many orders give."""
    from dpaccount.cost import renyi_bound

    bound = renyi_bound(total)
    orders = [1 + Fraction(round(1000 * math.exp(x / 6)), 1000) for x in range(-42, 90)]
    known = [(order, tau) for order in orders if (tau := bound(order)) is not None]
    slopes = [(float(order - 1), float(tau.mid())) for order, tau in known]

    def value(t: Fraction) -> arb:
        if not known:
            return ball(1)
        at = float(t)
        _, index = min(
            (a * (tau - at) + (a + 1) * math.log1p(-1 / (a + 1)) - math.log(a), i)
            for i, (a, tau) in enumerate(slopes)
        )
        found = renyi.delta(bound, t, [known[index][0]])
        return ball(1 if found is None else found)

    return _two_sided(value)


def transformed(total: Total) -> Total:
    """Return the total with samples as pairs of known transform, where they have one; the same law."""
    return replace(total, pairs=tuple((_transformed(kind), count) for kind, count in total.pairs))


def _transformed(kind: Factor) -> Factor:
    if not isinstance(kind, Sampled):
        return kind
    loss, inner = _sampled_laplace(kind), kind.inner
    found: Factor | None = None
    if loss is not None:
        found = SampledLaplaceFactor(kind.rate, loss)
    elif not (inner.loose or inner.mu2[1]) and _failure(inner)[0] == _failure(inner)[1]:
        found = sampled_atoms(kind.rate, inner.pairs, _failure(inner)[0])
    if found is None:
        return kind
    return found.reversed() if kind.added else found


FEW = 256  #: losses of a pair that are counted one by one


def finite_losses(total: Total, depth: float) -> finite.Composed | None:
    """Return the composition of pairs with few losses, down to about e^−depth; None if others join."""
    bits = 160 + int(3 * depth) + 4 * sum(n for _, n in total.pairs).bit_length()
    with precision(bits):
        kinds = [(_atoms(kind), count) for kind, count in total.pairs]
        known = [(found[0], found[1], count) for found, count in kinds if found is not None]
        if total.mu2[1] or total.loose or len(known) < len(kinds):
            return None
        try:
            return finite.compose(known, int(depth * 1.45) + 64, bits)
        except OutOfReach:
            return None


def _atoms(kind: Factor) -> tuple[finite.Atoms, arb] | None:
    """Return the losses of a pair with their masses, the rarest first, and its mass at +∞."""
    if isinstance(kind, AtomFactor) and kind.size() <= FEW:
        found = [(ball(t), mass()) for t, mass in kind.points()]
        return finite.ordered(found), arb(0)
    if not isinstance(kind, Sampled):
        return None
    noisy = _transformed(kind)
    if isinstance(noisy, SampledAtomsFactor):
        atoms = noisy.atoms()  # the rarest losses of noise are left out; their mass counts as at +∞
        return (finite.ordered(atoms), noisy.infinite()) if len(atoms) <= FEW else None
    return None


def compose(total: Total, step: Fraction, log2_delta: float, *, up: bool) -> Lattice:
    """Return a lattice measure above or below the composition, for curves down to about 2^log2_delta."""
    found = parts(total)
    rounds = sum(2 * count.bit_length() for _, count in found) + len(found)
    most = max(count for _, count in found).bit_length()
    bits = int(-log2_delta) + 72 + 2 * rounds.bit_length() + 2 * most
    grid = Grid(step, bits, up, max(0, 2 ** (bits + int(log2_delta) - 44 - rounds.bit_length())))
    depth = int(-log2_delta) + 40 + most
    made = [lattice.power(_base(kind, grid, depth), count, CAP) for kind, count in found]
    while len(made) > 1:
        made = [_joined(made[i : i + 2]) for i in range(0, len(made), 2)]
    return made[0]


def _joined(two: list[Lattice]) -> Lattice:
    if len(two) == 1:
        return two[0]
    found = lattice.compose(*lattice.aligned(*two))
    while found.size > 2 * CAP:
        found = lattice.coarser(found)
    return found


def _base(kind: Kind, grid: Grid, depth: int) -> Lattice:
    value = curve(kind, depth + 40)
    low, high = _span(kind, depth)
    cells = (high - low) / grid.step
    top = _top(kind)
    if top is not None and cells.denominator == 1 and cells >= 2:
        return dots.measure(value, grid, low, int(cells) + 1, dots.Known(top=top))
    return dots.measure(value, grid, low, max(3, math.ceil(cells) + 2), dots.Known(_limit(kind)))


@lru_cache(maxsize=256)
def _span(kind: Kind, depth: int) -> tuple[Fraction, Fraction]:
    """Return [low, high]: about 2^−depth of the mass lies above, 2^−40 below; exact for a bounded loss.

    What lies far below matters little: it is dropped, or moved up to the first node.
    """
    most = kind.eta if isinstance(kind, RangeBound) else kind.largest() if isinstance(kind, Factor) else None
    if most is not None:
        return -most, most
    if isinstance(kind, Sampled) and (ends := _sampled_ends(kind)) is not None:
        return ends
    value, tiny, limit = curve(kind, depth + 40), arb(2) ** -depth, ball(_limit(kind))

    def gone(t: Fraction) -> bool:
        with precision(depth + 64):
            return bool((value(t) - limit).mid() < tiny)

    def gone_below(t: Fraction) -> bool:
        with precision(depth + 64):
            return bool((value(-t) + ball(-t).expm1()).mid() < arb(2) ** -40)

    return -_first(gone_below), _first(gone)


def _sampled_ends(kind: Sampled) -> tuple[Fraction, Fraction] | None:
    """Return the least and the largest loss of a sample of one Laplace pair, both rounded down.

    Its atoms lie there, so that they fall on nodes (but for the rounding, which only widens the bounds); the
    precision is fixed, so that every grid has them at the same place.
    """
    loss = _sampled_laplace(kind)
    if loss is None:
        return None
    with precision(1280):
        low, high = (_shrunk(ball(sign * loss), ball(kind.rate)) for sign in (-1, 1))
        return (floor_of(-high), floor_of(-low)) if kind.added else (floor_of(low), floor_of(high))


def _shrunk(loss: arb, rate: arb) -> arb:
    """Return ln(1 + q(e^t − 1)) for a loss of either sign."""
    return shrunk(loss, rate) if loss > 0 else (rate * loss.expm1()).log1p()


def _sampled_laplace(kind: Kind) -> Fraction | None:
    """Return ε₀ where a kind is a Poisson sample of one Laplace pair."""
    if not isinstance(kind, Sampled) or kind.inner.failures or kind.inner.loose or kind.inner.mu2[1]:
        return None
    if len(kind.inner.pairs) != 1 or kind.inner.pairs[0][1] != 1:
        return None
    factor = kind.inner.pairs[0][0]
    return factor.loss if isinstance(factor, LaplaceFactor) else None


def _top(kind: Kind) -> Fraction | None:
    """Return a lower bound on the mass of the largest loss of a Laplace pair, or of a sample of one.

    P has ½ at ε₀ and ½e^{−ε₀} at −ε₀; a sample has (1 − q)Q + qP there when a unit is removed, Q when added.
    """
    if isinstance(kind, LaplaceFactor):
        return Fraction(1, 2)
    loss = _sampled_laplace(kind)
    if loss is None or not isinstance(kind, Sampled):
        return None
    if kind.added:
        return Fraction(1, 2)
    with precision(128):
        return floor_of((ball(kind.rate) + (1 - ball(kind.rate)) * (-ball(loss)).exp()) / 2)


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


def _step(total: Total, nodes: int, depth: int) -> Fraction:
    """Return a grid step: the narrowest pair gets `nodes` nodes, the widest at most ten times as many.

    Where a pair has atoms ±most the step divides their distance.
    """
    spans = [(high - low, kind) for kind, _ in parts(total) for low, high in [_span(kind, depth)]]
    wide = max(width for width, _ in spans)
    narrow = min(width for width, _ in spans)
    step = max(narrow / nodes, wide / (10 * nodes))
    exact = [width for width, kind in spans if isinstance(kind, AtomFactor) or _top(kind)]
    if exact:
        first = max(exact)
        return first / max(1, math.ceil(first / step))
    return Fraction(float(step))


def _limit(kind: Kind) -> Fraction:
    """Return a lower bound on the mass at an infinite loss: of a removed unit, what the sample makes fail."""
    if isinstance(kind, Sampled) and not kind.added:
        return kind.rate * _failure(kind.inner)[0]
    return Fraction(0)


def epsilon(
    total: Total, target: Fraction, log2_delta: float, nodes: int
) -> tuple[Fraction | None, Fraction | None]:
    """Return bounds on ε(target) from lattices of `nodes` nodes; None: no lower bound, or above ∞."""
    step = _step(total, nodes, int(-log2_delta) + 40)
    above = lattice.epsilon(compose(total, step, log2_delta, up=True), target)
    high = None if above is None else ceil_of(above)
    if total.loose:
        return None, high
    below = lattice.epsilon(compose(total, step, log2_delta, up=False), target)
    return (Fraction(0) if below is None else max(Fraction(0), floor_of(below))), high


def delta(total: Total, at: Fraction, log2_delta: float, nodes: int) -> tuple[Fraction | None, Fraction]:
    """Return bounds on δ(ε) from lattices of about `nodes` nodes; None below for loose totals."""
    step = _step(total, nodes, int(-log2_delta) + 40)
    high = min(Fraction(1), ceil_of(lattice.delta(compose(total, step, log2_delta, up=True), at)))
    if total.loose:
        return None, high
    low = floor_of(lattice.delta(compose(total, step, log2_delta, up=False), at))
    return max(Fraction(0), low), high


__all__ = ["RdpBound", "ZcdpBound", "compose", "curve", "delta", "epsilon", "parts"]
