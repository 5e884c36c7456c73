"""Transforms of pairs with discrete losses: randomised response, geometric and Gaussian noise, and tables."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Protocol

from flint import acb, arb, ctx

from dpaccount.numerics import exponential_sums
from dpaccount.numerics.closed import discrete_losses
from dpaccount.numerics.fourier.joint_decay import OwnDecay
from dpaccount.numerics.fourier.transforms import Counted, Decay, Transform, blurred
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.work_budget import OutOfReach, kept, spend

FEW_ATOMS, LEAST_JOINT = 3, 8  #: losses, and transforms of so few, that are looked at together in floats
LEAST_LOSSES = 16  #: of a table whose decay is tabulated
MAX_ATOMS = 2000  #: up to which all losses are looked at for a decay


@dataclass(frozen=True)
class AtomTransform(Transform):
    """The transform of a pair with finitely many rational losses."""

    def points(self) -> discrete_losses.Points:
        """Return the losses and their masses under P."""
        raise NotImplementedError

    def step(self) -> Fraction:
        """Return the spacing of the losses."""
        raise NotImplementedError

    def size(self) -> int:
        """Return the number of losses."""
        raise NotImplementedError

    def largest(self) -> Fraction:
        """Return the largest loss."""
        raise NotImplementedError

    def value(self, s: acb) -> acb:
        """Return M(s)."""
        return sum(
            (m * (s * t).exp() for t, m in _balls(self, ctx.prec)), acb(0) if isinstance(s, acb) else arb(0)
        )

    @classmethod
    def jointly(cls, parts: Counted) -> tuple[Callable[[float], float] | None, Counted]:
        """Return an estimate of log M(s) of many such transforms together, and those left over."""
        own = [
            (each, n)
            for each, n in parts
            if isinstance(each, cls) and each.size() <= FEW_ATOMS and n < 1 << 20
        ]
        if len(own) < LEAST_JOINT:
            return None, parts
        import numpy as np

        counts = np.array([float(n) for _, n in own])
        found = [_floats(each) for each, _ in own]
        losses, masses = (
            np.array([row[k] + (0.0,) * (FEW_ATOMS - len(row[k])) for row in found]) for k in (0, 1)
        )

        def log_m(s: float) -> float:
            top = (s * losses).max(axis=1)
            return float(counts @ (top + np.log((masses * np.exp(s * losses - top[:, None])).sum(axis=1))))

        taken = {each for each, _ in own}
        return log_m, tuple(part for part in parts if part[0] not in taken)

    def bound(self) -> float | None:
        """Return the largest of a few losses, rounded up."""
        return math.nextafter(float(self.largest()), math.inf) if self.size() <= FEW_ATOMS else None

    def squares(self, c: float, t: Any) -> Any:
        """Return |M(c + it)/M(c)|² of a few losses in floats."""
        import numpy as np

        losses, masses = _floats(self)
        weights = [
            mass * math.exp(c * (loss - max(losses))) for loss, mass in zip(losses, masses, strict=True)
        ]
        sums = sum(w * np.exp(1j * (t * loss)) for w, loss in zip(weights, losses, strict=True))
        return (np.abs(sums) / sum(weights)) ** 2

    def decay(self, c: arb, depth: float) -> Decay:
        """Return the proved decay along Re s = c."""
        weights = [
            mass * (c * at).exp()
            for at, mass in sorted(_balls(self, ctx.prec), key=lambda x: float(x[0].mid()))
        ]
        total = sum(weights, arb(0))
        products = [a * b / total**2 for a, b in pairwise(weights)]
        return PairDecay(max(products, key=lambda x: float(x.mid())), ball(self.step() / 2))


@lru_cache(maxsize=1 << 14)
def _floats(atoms: AtomTransform) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the losses and their masses under P."""
    with precision(64):
        points = [(float(at), float(mass().mid())) for at, mass in atoms.points()]
    losses, masses = zip(*points, strict=True)
    return losses, masses


@dataclass(frozen=True)
class ResponseTransform(AtomTransform):
    """k-ary randomised response of `epsilon`; k = 2 dominates every ε-DP mechanism."""

    epsilon: Fraction
    k: int

    def atoms(self) -> list[tuple[arb, arb]]:
        """Return (loss, mass under P) of all losses."""
        return _balls(self, ctx.prec)

    def points(self) -> discrete_losses.Points:
        """Return the losses and their masses under P."""
        return discrete_losses.response(self.epsilon, self.k)

    def step(self) -> Fraction:
        """Return the spacing of the losses."""
        return 2 * self.epsilon if self.k == 2 else self.epsilon

    def size(self) -> int:
        """Return the number of losses."""
        return min(self.k, 3)

    def largest(self) -> Fraction:
        """Return the largest loss."""
        return self.epsilon


@dataclass(frozen=True)
class GeometricTransform(AtomTransform):
    """Two-sided geometric noise, P(x) ∝ e^{−|x|/scale}, moved by `shift`."""

    scale: Fraction
    shift: int

    def points(self) -> discrete_losses.Points:
        """Return the losses and their masses under P."""
        return discrete_losses.laplace(self.scale, self.shift)

    def step(self) -> Fraction:
        """Return the spacing of the losses."""
        return 2 / self.scale if self.shift > 1 else 2 * self.shift / self.scale

    def size(self) -> int:
        """Return the number of losses."""
        return self.shift + 1

    def largest(self) -> Fraction:
        """Return the largest loss."""
        return self.shift / self.scale

    def value(self, s: acb) -> acb:
        """Return M(s)."""
        return self._geometric(s) if self.shift > 8 else super().value(s)

    def _geometric(self, s: acb) -> acb:
        """Return M(s): the inner losses form a geometric series."""
        scale, n = 1 / ball(self.scale), self.shift
        r = (-scale).exp()
        g = (-(1 + 2 * s) * scale).exp()
        inner = (g - g**n) / (1 - g) * (1 - r)
        if not inner.is_finite() and n <= MAX_ATOMS:  # near s = −1/2
            inner = sum((g**x for x in range(1, n)), s * 0) * (1 - r)
        return (s * n * scale).exp() * (1 + inner + g**n) / (1 + r)

    def decay(self, c: arb, depth: float) -> Decay:
        """Return the proved decay along Re s = c."""
        if self.size() <= MAX_ATOMS:
            return super().decay(c, depth)
        # the two ends, each of mass up to a half, are enough
        odds = (-(2 * c + 1) * ball(self.largest())).exp()
        ends = 1 / (1 + (-1 / ball(self.scale)).exp()) / self._geometric(c)
        first = (c * ball(self.largest())).exp() * ends
        return PairDecay(first * first * odds, ball(self.largest()))


@dataclass(frozen=True)
class PairDecay(Decay):
    """Two neighbouring atoms, 2·`loss` apart, of tilted masses p and p′: |φ(t)|² ≤ 1 − 4pp′ sin²(t·loss).

    1 − |φ|² = Σ p_i p_j (1 − cos t(l_i − l_j)) over all pairs, of which one is kept twice; period π/loss.
    """

    product: arb  #: p·p′
    loss: arb

    def near(self, t: arb) -> arb:
        """Return a bound for all τ from t to `reach(t)`."""
        y = t * self.loss
        if not y <= arb.pi() / 2:
            return arb(1)
        return (1 - 4 * self.product * y.sin() ** 2).max(arb(0)).sqrt()

    def reach(self, t: arb) -> arb | None:
        """Return where the range of `near(t)` ends."""
        return arb.pi() / self.loss - t


@kept(256)
def _balls(transform: AtomTransform, bits: int) -> list[tuple[arb, arb]]:
    return [(ball(t), mass()) for t, mass in transform.points()]


@dataclass(frozen=True)
class DiscreteGaussianTransform(Transform):
    """Discrete Gaussian noise of scale sigma moved by `shift`.

    With μ = shift/σ, M(s) = e^{s(s+1)μ²/2}·θ(s·shift)/θ(0), θ(a) = Σ_x e^{−(x+a)²/(2σ²)}. By Poisson
    summation θ(a)/θ(0) = [1 + 2Σ_k g_k cos 2πka]/[1 + 2Σ_k g_k], g_k = e^{−2π²σ²k²}.
    """

    sigma: Fraction
    shift: int

    def value(self, s: acb) -> acb:
        """Return M(s); adding 2πij/step to s, step = shift/σ², multiplies it by (−1)^{j·shift}."""
        step = float(self.shift / self.sigma**2)
        if isinstance(s, acb) and (turns := round(float(s.imag.mid()) * step / (2 * math.pi))):
            # Far up the line the waves grow faster than g_k falls, and cancel; one period holds all there is
            # to know.
            near = s - acb(0, 2 * turns) * arb.pi() * ball(self.sigma) ** 2 / self.shift
            return self._value(near) * (-1) ** (turns * self.shift)
        return self._value(s)

    def _value(self, s: acb) -> acb:
        """Return M(s) within the first period, where few waves matter."""
        if self.sigma < 1:
            return self._direct(s, ctx.prec)
        mu2 = ball(Fraction(self.shift) ** 2 / self.sigma**2)
        bits = ctx.prec
        return (s * (s + 1) * mu2 / 2).exp() * self._wave(s * self.shift, bits) / self._wave(arb(0), bits)

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s): the Gaussian one where sigma hides the lattice."""
        if self.sigma < 4:
            return super().log_m(s, count)
        return s * (s + 1) * float(count * Fraction(self.shift) ** 2 / self.sigma**2) / 2

    def _wave(self, a: acb, bits: int) -> acb:
        """Return 1 + 2Σ g_k cos 2πka, the tail bounded once terms at least halve and are below 2^−bits."""
        growth = 2 * arb.pi() * abs(a.imag if isinstance(a, acb) else arb(0))
        rate = 2 * (arb.pi() * ball(self.sigma)) ** 2
        total = a * 0 + 1
        first = 2 * (growth - rate).exp()
        if first < arb(2) ** -bits and (growth - 3 * rate).exp() < arb(1) / 2:
            return blurred(total, 2 * first)  # all terms together, as they at least halve
        k = 0
        while True:
            spend()
            k += 1
            size = 2 * (growth * k - rate * k * k).exp()
            ratio = (growth - rate * (2 * k + 1)).exp()
            total += 2 * (-rate * k * k).exp() * (2 * arb.pi() * k * a).cos()
            if size * ratio < arb(2) ** -bits and ratio < arb(1) / 2:
                return blurred(total, 2 * size * ratio)

    def _direct(self, s: acb, bits: int) -> acb:
        """Return Σ P(x) e^{sL(x)} over |x + Re(s)·shift| ≤ r, the rest bounded by a geometric series."""
        real = s.real if isinstance(s, acb) else s
        mu2 = ball(Fraction(self.shift) ** 2 / self.sigma**2)
        rate, middle = 1 / (2 * ball(self.sigma) ** 2), -round(float(real.mid()) * self.shift)
        reach = discrete_losses.gaussian_reach(self.sigma, bits) + 2
        step = ball(self.shift / self.sigma**2)
        total = s * 0
        for x in range(middle - reach, middle + reach + 1):
            total += (-rate * x * x + s * step * (ball(Fraction(self.shift, 2)) - x)).exp()
        edge = reach  # every dropped x is at least this far from −Re(s)·shift
        dropped = 2 * (-rate * edge * edge).exp() / (1 - (-rate * (2 * edge + 1)).exp())
        peak = (real * (real + 1) * mu2 / 2).exp()
        return blurred(total, dropped * peak) / discrete_losses.gaussian_total(self.sigma)

    def decay(self, c: arb, depth: float) -> Decay:
        """Return the proved decay along Re s = c."""
        if self.sigma < 1:
            return Decay()
        return ThetaDecay(ball(self.sigma), self.shift)


@dataclass(frozen=True)
class ThetaDecay(Decay):
    """|M(c+iτ)/M(c)| ≤ Σ_k g(τ − kp)/w, g(x) = e^{−x²μ²/2}, p = 2πσ²/shift, w ≤ 1 + 2Σ g_k cos.

    For τ in [t, p − t] the terms k = 0, 1 are at most g(t) + g(p − t) where t/(p − t) ≥ e^{−(p−2t)pμ²/2}
    (then x g(x) at t is at least that at p − t, and so at every τ between t and p/2: the log of the ratio
    is first increasing, then decreasing in p − 2τ, from 0); all others are at most g(p + t), g(2p + t), …
    """

    sigma: arb
    shift: int

    def near(self, t: arb) -> arb:
        """Return a bound for all τ from t to `reach(t)`."""
        p, mu2 = self._period(), (self.shift / self.sigma) ** 2
        if not (2 * t <= p and t / (p - t) >= (-(p - 2 * t) * p * mu2 / 2).exp()):
            return arb(1)

        def g(x: arb) -> arb:
            return (-x * x * mu2 / 2).exp()

        rate = 2 * (arb.pi() * self.sigma) ** 2
        least = 1 - 2 * (-rate).exp() / (1 - (-3 * rate).exp())
        return ((g(t) + g(p - t) + 2 * g(p + t) / (1 - (-rate).exp())) / least).min(arb(1))

    def reach(self, t: arb) -> arb | None:
        """Return where the range of `near(t)` ends."""
        return self._period() - t

    def _period(self) -> arb:
        return 2 * arb.pi() * self.sigma**2 / self.shift


# ---- tables of losses

Atoms = tuple[tuple[arb, arb], ...]  #: (loss, mass under P)


class TableOfLosses(Protocol):
    """Finitely many losses of a pair and the mass at an infinite one."""

    def __hash__(self) -> int: ...

    def losses(self) -> Atoms:
        """Return the finite losses, each with its mass under P, at the precision of the moment."""

    def infinite_mass(self) -> Fraction:
        """Return the mass of P at an infinite loss."""

    def reversed(self) -> Any:
        """Return the table of the reversed pair."""


@dataclass(frozen=True)
class TableTransform(Transform):
    """The transform of the finite losses of a table."""

    table: TableOfLosses
    slow_decay: ClassVar[bool] = True

    def reversed(self) -> "TableTransform":
        """Return the transform of the reversed pair."""
        return TableTransform(self.table.reversed())

    def infinite(self) -> arb:
        """Return the mass at an infinite loss."""
        return ball(self.table.infinite_mass())

    def atoms(self) -> list[tuple[arb, arb]]:
        """Return (loss, mass under P) of all finite losses."""
        return list(kept_losses(self.table, ctx.prec))

    def value(self, s: acb) -> acb:
        """Return M(s)."""
        kept = kept_losses(self.table, ctx.prec)
        spend(2 * len(kept))
        return sum((mass * (s * at).exp() for at, mass in kept), s * 0)

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count."""
        return exponential_sums.along(_tilted(self.table, c), h, count)

    def decay(self, c: arb, depth: float) -> Decay:
        """Return how |M(c + it)/M(c)| falls, where tabulated: few losses come back too soon."""
        # Their phases nearly meet again after a short stretch, so a table of the decay would not pay.
        if len(kept_losses(self.table, 64)) < LEAST_LOSSES:
            return Decay()
        return _kept_decay(self.table, float(c.mid()), depth)

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s)."""
        import numpy as np

        at, mass, lost = _table_floats(self.table)
        power = s * at
        if np.abs(power).max() < 30:
            return float(count * np.log1p(max(mass @ np.expm1(power) - lost, -1 + 1e-16)))
        top = power.max()
        return float(count * (top + np.log(mass @ np.exp(power - top) + 1e-300)))

    def work(self, c: float, bits: int) -> float:
        """Return roughly how many steps of work one node takes."""
        return exponential_sums.work(len(kept_losses(self.table, 64)), bits)


@kept(64)
def kept_losses(table: TableOfLosses, bits: int) -> Atoms:
    """Return the losses of a table at a precision, computed once."""
    with precision(bits):
        return table.losses()


def _tilted(table: TableOfLosses, c: arb) -> list[tuple[arb, arb]]:
    """Return (mass·e^{c·loss}, loss) of all losses."""
    return [(mass * (c * at).exp(), at) for at, mass in kept_losses(table, ctx.prec)]


@kept(16)
def _kept_decay(table: TableOfLosses, c: float, depth: float) -> OwnDecay:
    with precision(96):
        return OwnDecay(_tilted(table, arb(c)), depth)


@kept(64)
def _table_floats(table: TableOfLosses) -> Any:
    import numpy as np

    losses = kept_losses(table, 64)
    if not losses:
        raise OutOfReach("no loss is finite")
    at, mass = np.array([[float(x.mid()), float(m.mid())] for x, m in losses]).T
    return at, mass, float(table.infinite_mass())
