"""Factors of a privacy-loss transform: one class per kind of dominating pair.

For a pair (P, Q) with loss L = ln dP/dQ, M(s) = E_P e^{sL}; composition multiplies transforms. A factor
knows M at complex points in balls, and how fast |M(c + it)/M(c)| falls on a vertical line. All pairs here
are symmetric, M(−1 − s) = M(s), unless said otherwise.
"""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Self, TypeVar

from flint import acb, arb, ctx

from dpaccount.numerics.balls import ball, precision
from dpaccount.numerics.closed import discrete_losses
from dpaccount.numerics.work_budget import spend

Number = TypeVar("Number", arb, float)


class Decay:
    """Bounds on |M(c + it)/M(c)| along a vertical line; 1 where nothing better is known."""

    def near(self, t: arb) -> arb:
        """Return a bound for all τ from t to `reach(t)`."""
        return self.far(t)

    def reach(self, t: arb) -> arb | None:
        """Return where the range of `near(t)` ends; None where it has no end."""
        return None

    def far(self, t: arb) -> arb:
        """Return a bound for all τ ≥ t."""
        return arb(1)


@dataclass(frozen=True)
class Factor:
    """One dominating pair; the methods below speak of a single copy."""

    symmetric: ClassVar[bool] = True
    transform: ClassVar[bool] = True  #: whether M is known in closed form, or by quadrature

    def value(self, s: acb) -> acb:
        """Return M(s) (an `arb` for a real argument)."""
        raise NotImplementedError

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s)."""
        with precision(64 + 2 * count.bit_length()):
            return float((count * self.value(arb(s)).log()).mid())

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count."""
        return [self.value(acb(c, n * h)) for n in range(count)]

    def reversed(self) -> "Factor":
        """Return the pair of the other direction, (Q, P)."""
        return self

    def decay(self, c: arb, depth: float) -> Decay:
        """Return how |M(c + it)/M(c)| falls; `depth` is the −log of it that is worth resolving."""
        return Decay()

    def work(self, c: float, bits: int) -> float:
        """Return roughly how many steps of work one node on Re s = c takes at so many bits."""
        return 3.0

    def infinite(self) -> arb:
        """Return the mass at an infinite loss, which M leaves out."""
        return arb(0)

    def most_tilt(self) -> float:
        """Return the largest c of contours: where a quadrature of M becomes dear."""
        return math.inf

    def largest(self) -> Fraction | None:
        """Return the largest loss of the pair; None where it has none or it is not rational."""
        return None

    def ceiling(self) -> arb | None:
        """Return a ball around a bound on the loss; None where it is unbounded."""
        most = self.largest()
        return None if most is None else ball(most)


@dataclass(frozen=True)
class OnPoissonSample(Factor):
    """A pair (P, Q) on a Poisson sample of rate `rate`, when a unit is removed or `added`.

    With z = 1 − q + q dP/dQ and H(a) = E_Q z^a, removing a unit has M(s) = H(1 + s), adding one M(s) = H(−s).
    """

    rate: Fraction
    added: bool = field(default=False, kw_only=True)
    symmetric = False

    def reversed(self) -> Self:
        """Return the pair of the other direction."""
        return replace(self, added=not self.added)

    def power(self, s: Number) -> Number:
        """Return the a of H(a) that stands for M(s)."""
        return -s if self.added else 1 + s


def log_mean(a: float, mass: Any, logz: Any, excess: Any, *, lost: float = 0.0) -> float:
    """Return an estimate of log Σ mass·z^a, from ln z and z − 1 at the points of a law with E z = 1 − `lost`.

    Small deviations from 1 keep their digits.
    """
    import numpy as np

    power = a * logz
    if power.max() < 30:
        return float(np.log1p(mass @ (np.expm1(power) - a * excess) - a * lost))
    top = power.max()
    return float(top + np.log(mass @ np.exp(power - top) + 1e-300))


@dataclass(frozen=True)
class LaplaceFactor(Factor):
    """Laplace noise, `loss` = sensitivity/scale: M = e^{−ε₀/2}[cosh zε₀ + sinh(zε₀)/(2z)], z = s + 1/2."""

    loss: Fraction

    def value(self, s: acb) -> acb:
        """Return M(s)."""
        z = s + arb(1) / 2
        x = z * ball(self.loss)
        grown = x.exp()
        shrunk = 1 / grown
        half = (grown - shrunk) / 2
        quotient = half / z
        if not (quotient.is_finite()):  # the removable point z = 0
            quotient = _sinh_over(z, ball(self.loss))
        return ((grown + shrunk) / 2 + quotient / 2) * (-ball(self.loss) / 2).exp()

    def decay(self, c: arb, depth: float) -> Decay:
        """Return the proved decay along Re s = c."""
        return LaplaceDecay((c + arb(1) / 2) * ball(self.loss), ball(self.loss))

    def largest(self) -> Fraction | None:
        """Return the largest loss."""
        return self.loss


def _sinh_over(z: acb, loss: arb) -> acb:
    """Return sinh(z·loss)/z near z = 0: loss·(1 + w/6 + …), w = (z·loss)², the tail within |w|² of it."""
    w = (z * loss) ** 2
    return loss * blurred(1 + w / 6, abs(w) ** 2)


@dataclass(frozen=True)
class LaplaceDecay(Decay):
    """The decay at x = (c + 1/2)ε₀ in the variable y = tε₀, relative to cosh x + (ε₀/2) sinh(x)/x."""

    x: arb
    loss: arb

    def near(self, t: arb) -> arb:
        """Return a bound for all τ from t to `reach(t)`."""
        y = t * self.loss
        return (self._early(y) if y <= arb.pi() / 2 else arb(1)).min(self._late(y)).min(arb(1))

    def reach(self, t: arb) -> arb | None:
        """Return where the range of `near(t)` ends."""
        y = t * self.loss
        return arb.pi() / self.loss - t if y <= arb.pi() / 2 else None

    def far(self, t: arb) -> arb:
        """Return a bound for all τ ≥ t."""
        y = t * self.loss
        late = self._late(y).min(arb(1))
        return self._early(y).max(self._late(arb.pi() / 2)).min(late) if y <= arb.pi() / 2 else late

    def _early(self, y: arb) -> arb:
        """Return v(y), which decreases for 0 ≤ y ≤ π/2 and is a bound up to π − y.

        |cosh(x + iy)|² = cosh²x − sin²y falls; (sinh²x + sin²y)/(x² + y²) falls because
        x² sin 2y ≤ 2y sinh²x and y cos y ≤ sin y.
        """
        sine2 = y.sin() ** 2
        first = (self.x.cosh() ** 2 - sine2).sqrt()
        second = ((self.x.sinh() ** 2 + sine2) / (self.x**2 + y * y)).sqrt()
        return (first + self.loss / 2 * second) / self._peak()

    def _late(self, y: arb) -> arb:
        """Return [cosh x + (ε₀/2) cosh x/√(x² + y²)]/peak, which bounds all larger y too."""
        return self.x.cosh() * (1 + self.loss / 2 / (self.x**2 + y * y).sqrt()) / self._peak()

    def _peak(self) -> arb:
        return self.x.cosh() + self.loss / 2 * self.x.sinh() / self.x


MOST_ATOMS = 2000  #: beyond which no decay is sought
MANY_ATOMS = 20_000  #: beyond which they are not listed where a curve in closed form will do


@dataclass(frozen=True)
class AtomFactor(Factor):
    """A pair with finitely many rational losses; `kind` names it, as `discrete` does."""

    kind: str
    argument: Fraction
    number: int = 2

    def points(self) -> discrete_losses.Points:
        """Return the losses and their masses."""
        if self.kind == "pure":
            return discrete_losses.pure(self.argument)
        make = discrete_losses.response if self.kind == "response" else discrete_losses.laplace
        return make(self.argument, self.number)

    def _geometric(self, s: acb) -> acb:
        """Return M(s) of two-sided geometric noise: its inner losses form a geometric series."""
        scale, n = 1 / ball(self.argument), self.number
        r = (-scale).exp()
        g = (-(1 + 2 * s) * scale).exp()
        inner = (g - g**n) / (1 - g) * (1 - r)
        if not inner.is_finite() and n <= MOST_ATOMS:  # near s = −1/2
            inner = sum((g**x for x in range(1, n)), s * 0) * (1 - r)
        return (s * n * scale).exp() * (1 + inner + g**n) / (1 + r)

    @property
    def listed(self) -> bool:
        """Say whether losses are few enough to be listed one by one."""
        return self.size() <= MANY_ATOMS

    def step(self) -> Fraction:
        """Return the spacing of the losses."""
        if self.kind == "discrete_laplace":
            return 2 / self.argument if self.number > 1 else 2 * self.number / self.argument
        return 2 * self.argument if self.kind == "pure" else self.argument

    def size(self) -> int:
        """Return the number of losses."""
        return {"pure": 2, "response": 3}.get(self.kind, self.number + 1)

    def value(self, s: acb) -> acb:
        """Return M(s)."""
        if self.kind == "discrete_laplace" and self.number > 8:
            return self._geometric(s)
        return sum(
            (m * (s * t).exp() for t, m in _balls(self, ctx.prec)), acb(0) if isinstance(s, acb) else arb(0)
        )

    def decay(self, c: arb, depth: float) -> Decay:
        """Return the proved decay along Re s = c."""
        if self.size() > MOST_ATOMS:  # the two ends, each of mass up to a half, are enough
            odds = (-(2 * c + 1) * ball(self.number / self.argument)).exp()
            ends = 1 / (1 + (-1 / ball(self.argument)).exp()) / self._geometric(c)
            first = (c * ball(self.number / self.argument)).exp() * ends
            return PairDecay(first * first * odds, ball(self.number / self.argument))
        weights = [
            mass * (c * at).exp()
            for at, mass in sorted(_balls(self, ctx.prec), key=lambda x: float(x[0].mid()))
        ]
        total = sum(weights, arb(0))
        products = [a * b / total**2 for a, b in pairwise(weights)]
        return PairDecay(max(products, key=lambda x: float(x.mid())), ball(self.step() / 2))

    def largest(self) -> Fraction:
        """Return the largest loss."""
        return self.number / self.argument if self.kind == "discrete_laplace" else self.argument

    def delta(self, t: Fraction) -> arb:
        """Return δ(t) of two-sided geometric noise of any size: losses fall along the integers."""
        last = math.ceil((self.number - t * self.argument) / 2) - 1
        r = (-1 / ball(self.argument)).exp()

        def up_to(x: int) -> arb:
            tail = (ball(-abs(x if x < 0 else x + 1) / self.argument)).exp() / (1 + r)
            return tail if x < 0 else 1 - tail

        if last < 0 or last >= self.number:  # no loss is above t, or each is
            return arb(0) if last < 0 else -ball(t).expm1()
        return up_to(last) - ball(t).exp() * up_to(last - self.number)


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


@lru_cache(maxsize=256)
def _balls(factor: "AtomFactor", bits: int) -> list[tuple[arb, arb]]:
    return [(ball(t), mass()) for t, mass in factor.points()]


@dataclass(frozen=True)
class DiscreteGaussianFactor(Factor):
    """Discrete Gaussian noise of scale sigma moved by `shift`.

    With μ = shift/σ, M(s) = e^{s(s+1)μ²/2}·θ(s·shift)/θ(0), θ(a) = Σ_x e^{−(x+a)²/(2σ²)}. By Poisson
    summation θ(a)/θ(0) = [1 + 2Σ_k g_k cos 2πka]/[1 + 2Σ_k g_k], g_k = e^{−2π²σ²k²}.
    """

    sigma: Fraction
    shift: int

    @property
    def listed(self) -> bool:
        """Say whether the losses that matter are few enough to be listed one by one."""
        return 2 * discrete_losses.gaussian_reach(self.sigma, 200) <= MANY_ATOMS

    def delta(self, t: Fraction) -> arb:
        """Return δ(t), of the half-line where the loss (shift/σ²)(shift/2 − x) is above t."""
        last = math.ceil(Fraction(self.shift, 2) - t * self.sigma**2 / self.shift) - 1
        tails = discrete_losses.gaussian_tails(self.sigma, ctx.prec)

        def up_to(x: int) -> arb:
            at = max(-x, x + 1)
            tail = tails[at] if at < len(tails) else arb(0).union(tails[-1].upper())
            return tail if x < 0 else 1 - tail

        return up_to(last) - ball(t).exp() * up_to(last - self.shift)

    def value(self, s: acb) -> acb:
        """Return M(s); adding 2πij/step to s, step = shift/σ², multiplies it by (−1)^{j·shift}."""
        if isinstance(s, acb) and (turns := round(float(s.imag.mid()) * self._step() / (2 * math.pi))):
            near = s - acb(0, 2 * turns) * arb.pi() * ball(self.sigma) ** 2 / self.shift
            return self._value(near) * (-1) ** (turns * self.shift)
        return self._value(s)

    def _step(self) -> float:
        return self.shift / float(self.sigma) ** 2

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


def blurred(value: acb, radius: arb) -> acb:
    """Return the ball around `value` that holds everything within `radius` of it."""
    error = arb(0).union(radius).union(-radius)
    return value + (acb(error, error) if isinstance(value, acb) else error)
