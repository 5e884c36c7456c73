"""Privacy-loss transforms M(s) = E_P e^{sL} of pairs (P, Q) with the loss L = ln dP/dQ.

Composition multiplies them. A transform is known at complex points in balls, with how fast |M(c + it)/M(c)|
falls on a vertical line. Those here are symmetric, M(−1 − s) = M(s), unless their docstring says otherwise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeVar

from flint import acb, arb, ctx

from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.work_budget import OutOfReach, spend

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
class Transform:
    """The transform of one copy of a pair."""

    slow_decay: ClassVar[bool] = False  #: where `decay` takes many nodes

    def value(self, s: acb) -> acb:
        """Return M(s) (an `arb` for a real argument)."""
        raise NotImplementedError

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s)."""
        with precision(64 + 2 * count.bit_length()):
            return float((count * self.value(arb(s)).log()).mid())

    @classmethod
    def jointly(cls, parts: "Counted") -> "tuple[Callable[[float], float] | None, Counted]":
        """Return an estimate of log M(s) of many transforms of this class together, and those left over."""
        return None, parts

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count."""
        return [self.value(acb(c, n * h)) for n in range(count)]

    def reversed(self) -> "Transform":
        """Return the transform of the reversed pair, (Q, P)."""
        return self

    def decay(self, c: arb, depth: float) -> Decay:
        """Return how |M(c + it)/M(c)| falls; `depth` is the −log of it that is worth resolving."""
        return Decay()

    def bound(self) -> float | None:
        """Return a bound on |L| where `squares` is known, infinite where it has none; None elsewhere."""
        return None

    def deviation(self, c: float) -> float:
        """Return a bound on the deviation of L under the law tilted by e^{cL}, where `squares` is known."""
        return self.bound() or 0.0

    def squares(self, c: float, t: Any) -> Any:
        """Return |M(c + it)/M(c)|² in floats, for an ascending array of t ≥ 0."""
        raise NotImplementedError

    def settled(self, c: float) -> float:
        """Return from which t on `squares` bounds all that follow; infinite where they come back."""
        return math.inf

    def family(self) -> Any:
        """Return a key of transforms whose laws rise in convex order with `order`; None: there is none.

        So M(s) rises for s ≥ 0 and for s ≤ −1.
        """
        return None

    def order(self) -> Fraction:
        """Return the number by which transforms of one family are ordered."""
        return Fraction(0)

    def work(self, c: float, bits: int) -> float:
        """Return roughly how many steps of work one node on Re s = c takes at so many bits."""
        return 3.0

    def weight(self, c: float) -> float:
        """Return how much more the nodes of a line at c cost than those of one at 0, roughly."""
        return 1.0

    def infinite(self) -> arb:
        """Return the mass at an infinite loss, which M leaves out."""
        return arb(0)

    def atoms(self) -> list[tuple[arb, arb]]:
        """Return (loss, mass under P) of all finite losses; raise `OutOfReach` where they are not few."""
        raise OutOfReach("too many losses to be counted")

    def most_tilt(self) -> float:
        """Return the largest c of contours: where a quadrature of M becomes expensive."""
        return math.inf


Counted = tuple[tuple[Transform, int], ...]


@dataclass(frozen=True)
class OfOdds(Transform):
    """The transform of a unit that is removed, or `added`, by H(a) = E_Q z^a of the odds z = dP/dQ.

    Removing a unit has M(s) = H(1 + s), adding one M(s) = H(−s).
    """

    added: bool = field(default=False, kw_only=True)

    def reversed(self) -> Self:
        """Return the transform of the other direction."""
        return replace(self, added=not self.added)

    def power(self, s: Number) -> Number:
        """Return the a of H(a) that stands for M(s)."""
        return -s if self.added else 1 + s


@dataclass(frozen=True)
class OnPoissonSample(OfOdds):
    """The transform of a pair on a Poisson sample of rate `rate`: z = 1 − q + q·(the odds of the pair)."""

    rate: Fraction


def log_mean(a: float, mass: Any, logz: Any, excess: Any, *, lost: float = 0.0) -> float:
    """Return an estimate of log Σ mass·z^a, from ln z and z − 1 at the points of a law with E z = 1 − `lost`.

    Small deviations from 1 keep their digits.
    """
    import numpy as np

    power = a * logz
    # Without subtracting a(z − 1), whose mean is 0, rounding of 10^8 copies of a small sample drowns log M.
    if power.max() < 30:
        deviation = mass @ (np.expm1(power) - a * excess) - a * lost
        return float(np.log1p(max(deviation, -1 + 1e-16)))
    top = power.max()
    return float(top + np.log(mass @ np.exp(power - top) + 1e-300))


def log_integral(u: Any, weight: Any, power: Any, *linear: tuple[float, Any]) -> float:
    """Return an estimate of log ∫ φ e^power du, from the power at u and the `weight` φ du of each u.

    Small deviations from 1 keep their digits: the parts a(z − 1) of the power, `linear`, have the mean 0.
    """
    import numpy as np

    if power.max() < 30:
        deviations = np.expm1(power)
        for a, excess in linear:
            deviations = deviations - a * excess
        return float(np.log1p(weight @ deviations))
    top = power - u * u / 2
    peak = top.max()
    return float(peak + np.log(np.exp(top - peak).sum() * (u[1] - u[0]) / math.sqrt(2 * math.pi)))


def float_odds(loss: Any, rate: float) -> tuple[Any, Any]:
    """Return ln z and z − 1, z = 1 − q + q e^loss, in floats."""
    import numpy as np

    excess = rate * np.expm1(np.minimum(loss, 600))
    return np.where(loss < 600, np.log1p(excess), loss + math.log(rate)), excess


@dataclass(frozen=True)
class LaplaceTransform(Transform):
    """Laplace noise, `loss` = sensitivity/scale: M = e^{−ε₀/2}[cosh zε₀ + sinh(zε₀)/(2z)], z = s + 1/2."""

    loss: Fraction

    def value(self, s: acb) -> acb:
        """Return M(s)."""
        loss = ball(self.loss)
        return _laplace(s + arb(1) / 2, loss, (-loss / 2).exp() / 2)

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count."""
        loss, z = ball(self.loss), c + arb(1) / 2
        scale = (-loss / 2).exp() / 2
        found = []
        for n in range(count):
            spend(2 + ctx.prec / 256)
            found.append(_laplace(acb(z, n * h), loss, scale))
        return found

    def decay(self, c: arb, depth: float) -> Decay:
        """Return the proved decay along Re s = c."""
        return LaplaceDecay((c + arb(1) / 2) * ball(self.loss), ball(self.loss))

    def bound(self) -> float:
        """Return ε₀, rounded up."""
        return math.nextafter(float(self.loss), math.inf)

    def squares(self, c: float, t: Any) -> Any:
        """Return |M(c + it)/M(c)|² in floats, both divided by e^{(c+1/2)ε₀}/2, which may overflow."""
        import numpy as np

        loss = float(self.loss)

        def divided(z: Any, x: Any) -> Any:
            return np.exp(1j * x) * (1 + 0.5 / z) + np.exp(-2 * (c + 0.5) * loss - 1j * x) * (1 - 0.5 / z)

        return np.abs(divided(c + 0.5 + 1j * t, t * loss) / divided(c + 0.5, 0.0)) ** 2

    @classmethod
    def jointly(cls, parts: Counted) -> tuple[Callable[[float], float] | None, Counted]:
        """Return an estimate of log M(s) of many Laplace transforms together, and those left over."""
        own = [(each.loss, n) for each, n in parts if isinstance(each, cls) and n < 1 << 20]
        if len(own) < 8:
            return None, parts
        import numpy as np

        arrays = np.array([float(loss) for loss, _ in own]), np.array([float(n) for _, n in own])
        rest = tuple((each, n) for each, n in parts if not n < 1 << 20)
        return lambda s: _log_laplaces(*arrays, s + 0.5), rest


def _log_laplaces(losses: Any, counts: Any, z: float) -> float:
    """Return an estimate of Σ n·log{e^{−ε₀/2}[cosh zε₀ + sinh(zε₀)/(2z)]}."""
    import numpy as np

    x = np.abs(z) * losses
    ratio = -np.expm1(-2 * x) / 2  # sinh(x) e^{−x}
    over = np.where(x > 1e-8, ratio / max(abs(z), 1e-300), losses)
    return float(counts @ (x - losses / 2 + np.log((1 + np.exp(-2 * x)) / 2 + over / 2)))


def _laplace(z: acb, loss: arb, scale: arb) -> acb:
    """Return 2·scale·[cosh z·loss + sinh(z·loss)/(2z)]."""
    grown = (z * loss).exp()
    shrunk = 1 / grown
    quotient = (grown - shrunk) / (2 * z)
    if not quotient.is_finite():  # the removable point z = 0
        w = (z * loss) ** 2  # sinh(z·loss)/z is loss·(1 + w/6 + …), the tail within |w|² of it
        quotient = loss * blurred(1 + w / 6, abs(w) ** 2)
    return (grown + shrunk + quotient) * scale


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


def blurred(value: acb, radius: arb) -> acb:
    """Return the ball around `value` that holds everything within `radius` of it."""
    error = arb(0).union(radius).union(-radius)
    return value + (acb(error, error) if isinstance(value, acb) else error)
