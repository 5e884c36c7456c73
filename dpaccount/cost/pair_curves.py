"""Curves of single pairs at every real ε, and other ways to write pairs on samples.

Curves of kinds with upper bounds only (`exposure.Bounded`) make sense on the upper side alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb

from dpaccount.cost.exposure import Exposure, Kind, Sampled, failure
from dpaccount.cost.renyi_bounds import renyi_bound
from dpaccount.numerics.balls import accurate, ball, ceil_of, floor_of, precision
from dpaccount.numerics.closed import renyi
from dpaccount.numerics.fourier.loss_tables import LossTable, ReplacedLaplaceFactor
from dpaccount.numerics.fourier.sampled_atoms import SampledAtomsFactor, sampled_atoms
from dpaccount.numerics.fourier.sampled_laplace import SampledLaplaceFactor
from dpaccount.numerics.fourier.transforms import AtomFactor, Factor, LaplaceFactor
from dpaccount.numerics.lattice import counted_losses
from dpaccount.numerics.work_budget import OutOfReach

Curve = Callable[[Fraction], arb]


def parts(total: Exposure) -> list[tuple[Kind, int]]:
    """Return everything in a total as counted pairs, its Gaussians as one."""
    return [*total.kinds, *([(GaussianKind(total.mu2), 1)] if total.mu2[1] else [])]


@dataclass(frozen=True)
class GaussianKind(Factor):
    """The Gaussian pair of μ² in [low, high]."""

    mu2: tuple[Fraction, Fraction]


def failing(inner: Curve, low: Fraction, high: Fraction) -> Curve:
    """Return the curve with a mass in [low, high] at an infinite loss beside it."""
    if high == 0:
        return inner

    def value(t: Fraction) -> arb:
        mass = ball(low).union(ball(high)) if low != high else ball(low)
        return mass + (1 - mass) * inner(t)

    return value


def on_sample(rate: Fraction, there: Curve, back: Curve, bits: int, *, added: bool) -> Curve:
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


def on_replaced_gaussian(rate: Fraction, mu2: Fraction, bits: int) -> Curve:
    """Return the curve of Gaussian noise on a Poisson sample of which one row is replaced.

    With A = 1 − q, B = qe^{−μ²/2} and x = e^t ≥ 1, A + Bw > x(A + B/w) right of
    w = [A(x − 1) + √(A²(x − 1)² + 4xB²)]/(2B), w = e^{μu}; left of t = 0 by the complement.
    """

    def value(t: Fraction) -> arb:
        if t < 0:
            return _complement(t, value(-t), bits)
        return accurate(lambda: _right_of(ball(rate), ball(mu2), ball(t)), bits)

    return value


def _right_of(q: arb, mu2: arb, t: arb) -> arb:
    """Return P − e^tQ of the half-line where that is largest, t ≥ 0."""
    mu, x = mu2.sqrt(), t.exp()
    odds = (1 - q) / q * t.expm1() * (mu2 / 2).exp()
    cut = ((odds + (odds * odds + 4 * x).sqrt()) / 2).log() / mu
    there, here, back = ((cut - at) / arb(2).sqrt() for at in (mu, arb(0), -mu))
    return (q * there.erfc() - (1 - q) * t.expm1() * here.erfc() - x * q * back.erfc()) / 2


def on_replaced_laplace(kind: ReplacedLaplaceFactor, inner: Curve, bits: int) -> Curve:
    """Return the curve of Laplace noise on a Poisson sample of which one row is replaced.

    For t ≥ 0 P exceeds e^tQ only where z₋ is its least value w: δ(t) = δ_removed(t + ln w).
    """
    removed = on_sample(kind.rate, inner, inner, bits, added=False)

    def value(t: Fraction) -> arb:
        if t < 0:
            return _complement(t, value(-t), bits)
        with precision(bits + 64):
            return _at(removed, ball(t) + kind.least())

    return value


def _complement(t: Fraction, other: arb, bits: int) -> arb:
    """Return δ(t) = 1 − e^t + e^t δ_rev(−t)."""
    with precision(bits + 64):
        return -(ball(t).expm1()) + ball(t).exp() * other


def _at(inner: Curve, t: arb) -> arb:
    """Return the curve at an enclosed argument: it falls, so the ends bound it."""
    return inner(ceil_of(t)).union(inner(floor_of(t)))


def range_curve(eta: Fraction, bits: int) -> Curve:
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


def on_drawn(rate: Fraction, inner: Curve) -> Curve:
    """Return δ′(ln(1 + q(e^ε − 1))) ≤ q δ(ε), ε ≥ 0 (Balle, Barthe & Gaboardi 2018; without replacement)."""

    def value(t: Fraction) -> arb:
        with precision(256):
            at = (ball(t).expm1() / ball(rate)).log1p()
            return ball(rate) * _at(inner, at)

    return value


def two_sided(inner: Curve) -> Curve:
    """Return an upper curve for both signs of ε from one for ε ≥ 0 of a symmetric relation."""

    def value(t: Fraction) -> arb:
        return inner(t) if t >= 0 else _complement(t, inner(-t), 128)

    return value


def renyi_curve(total: Exposure, bits: int) -> Curve:
    """Return the upper curve of Rényi bounds at many orders, for ε < 0 by those of the other direction."""
    there = _renyi_side(total)
    back = there if total.symmetric else _renyi_side(total.turned())
    return lambda t: there(t) if t >= 0 else _complement(t, back(-t), bits)


def _renyi_side(total: Exposure) -> Curve:
    """Return the upper curve, for ε ≥ 0 alone."""
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

    return value


def transformed(total: Exposure) -> Exposure:
    """Return the total with samples as pairs of known transform, where they have one; the same law."""
    return replace(total, pairs=tuple((_transformed(kind), count) for kind, count in total.pairs))


def _transformed(kind: Factor) -> Factor:
    if isinstance(kind, LossTable):
        return kind.as_sum() if kind.listed else kind
    if not isinstance(kind, Sampled):
        return kind
    inner = kind.inner
    found: Factor | None = None
    if isinstance(inner.one_pair, LaplaceFactor):
        found = SampledLaplaceFactor(kind.rate, inner.one_pair.loss)
    elif not (inner.bounded or inner.mu2[1]) and failure(inner)[0] == failure(inner)[1]:
        found = sampled_atoms(kind.rate, inner.pairs, failure(inner)[0])
    if found is None:
        return kind
    return found.reversed() if kind.added else found


FEW = 256  #: losses of a pair that are counted one by one


def finite_losses(total: Exposure, depth: float) -> counted_losses.Composed | None:
    """Return the composition of pairs with few losses, down to about e^−depth; None if others join."""
    bits = 160 + int(3 * depth) + 4 * sum(n for _, n in total.pairs).bit_length()
    with precision(bits):
        kinds = [(_atoms(kind), count) for kind, count in total.pairs]
        known = [(found[0], found[1], count) for found, count in kinds if found is not None]
        if total.mu2[1] or total.bounded or len(known) < len(kinds):
            return None
        try:
            return counted_losses.compose(known, int(depth * 1.45) + 64, bits)
        except OutOfReach:
            return None


def _atoms(kind: Factor) -> tuple[counted_losses.Atoms, arb] | None:
    """Return the losses of a pair with their masses, the rarest first, and its mass at +∞."""
    if isinstance(kind, AtomFactor) and kind.size() <= FEW:
        found = [(ball(t), mass()) for t, mass in kind.points()]
        return counted_losses.ordered(found), arb(0)
    if isinstance(kind, LossTable) and kind.listed:
        losses = kind.losses()
        return (counted_losses.ordered(losses), kind.infinite()) if len(losses) <= FEW else None
    if not isinstance(kind, Sampled):
        return None
    noisy = _transformed(kind)
    if isinstance(noisy, SampledAtomsFactor):
        atoms = noisy.atoms()  # the rarest losses of noise are left out; their mass counts as at +∞
        return (counted_losses.ordered(atoms), noisy.infinite()) if len(atoms) <= FEW else None
    return None
