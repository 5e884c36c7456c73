"""Laplace noise on a Poisson sample: its transform by quadrature on a contour that suits all frequencies.

With ε₀ = sensitivity/scale and z(t) = 1 − q + q e^t, H(a) = E_Q z^a over the Laplace pair (P, Q): Q has ½
at t = −ε₀, ½e^{−ε₀} at ε₀ and the density ¼e^{−(ε₀+t)/2} between. Removing a unit has
M(s) = H(1 + s), adding one M(s) = H(−s).

ln z is analytic where |Im t| < π. At low frequencies few nodes between −ε₀ and ε₀ do; at others the path goes
up from −ε₀, across, and down to ε₀: there |z^{iτ}| = e^{−τ arg z} ≤ 1, so one set of nodes serves all τ ≥ 0.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import acb, arb, ctx

from dpaccount.numerics import exponential_sums
from dpaccount.numerics.closed.sampled_curves import least_log_ratio
from dpaccount.numerics.closed.sampling import shrunk
from dpaccount.numerics.fourier.sampled_gaussian import FLOATS, LEAST_JOINT, ByParts, float_up
from dpaccount.numerics.fourier.transforms import (
    Counted,
    Decay,
    OnPoissonSample,
    Transform,
    blurred,
    float_odds,
    log_mean,
)
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.work_budget import as_rate, bearable, kept, spend

MOST_NODES = 4000  #: of the quadrature
FEW_NODES = 300  #: up to which the path stays on the real line
MOST_ENDS = 0.9  #: the share of the ends up to which the rest makes up for them
MOST_JOINT = 100  #: their largest loss before sampling
RATIO = 4  #: of the ends of a panel
ELLIPSE = 2.6  #: ρ of the ellipses on which the integrand is bounded; 3 would touch the corner
STRIP = 2.0  #: half the height of those around panels of the real line, below π
ARCS = 32  #: of an ellipse, each bounded at once

Noise = tuple[arb, arb]  #: the rate q and the largest loss, as balls
Side = tuple[tuple[acb, acb], float]  #: a panel's ends, and the ρ of its ellipse


@dataclass(frozen=True)
class SampledLaplaceTransform(ByParts, OnPoissonSample):
    """The Laplace pair of largest loss `loss` on a Poisson sample of rate `rate`; `added`: the direction."""

    loss: Fraction

    def value(self, s: acb) -> acb:
        """Return M(s) for real s, by adaptive quadrature in t (no frequency needs a contour)."""
        a, q, loss = self.power(s), ball(self.rate), ball(self.loss)
        evaluations = 0  # counted, as nothing may be raised inside FLINT's quadrature

        def integrand(t: acb, analytic: bool) -> acb:  # noqa: FBT001
            nonlocal evaluations
            evaluations += 1
            return (a * (1 + q * t.expm1()).log(analytic=analytic) - (loss + t) / 2).exp() / 4

        whole = acb.integral(integrand, acb(-loss), acb(loss)).real
        spend(evaluations * (3 + ctx.prec / 128))
        return whole + sum(self._masses(a))

    def _masses(self, a: arb) -> tuple[arb, arb]:
        """Return the tilted masses at the least and the largest loss."""
        low, high = _ends(self.rate, self.loss)
        return (a * low).exp() / 2, (a * high - ball(self.loss)).exp() / 2

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count; adding a unit mirrors the line, so it is conjugated."""
        with precision(ctx.prec + 64):  # exactly, as what is kept is found by it
            a = self.power(c)
        most = 2.0 ** math.ceil(math.log2(max(float((h * (count - 1)).upper()), 1.0)))  # contours share it
        points, error = _rule(self, a, most, ctx.prec)
        low, high = _ends(self.rate, self.loss)
        ends = zip(self._masses(a), (low, high), strict=True)
        found = [blurred(value, error) for value in exponential_sums.along([*ends, *points], h, count)]
        return [value.conjugate() for value in found] if self.added else found

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s)."""
        return count * log_mean(self.power(s), *_float_points(self.rate, self.loss))

    def decay(self, c: arb, depth: float) -> Decay:
        """Return the proved decay along Re s = c, if the masses at the ends let it fall so far."""
        return super().decay(c, depth) if self.by_parts(c)[0][0] < math.exp(-depth) else Decay()

    def by_parts(self, c: arb) -> list[tuple[float, float]]:
        """Return the share of the masses at the ends, and V of what lies between (`SampledDecay`).

        There f = ¼e^{−ε₀/2} e^{−3t/2} z^{a+1}/q; (log f)′ = −3/2 + (a + 1)p(t), p rising, so f falls before
        it rises: its variation and its ends together are at most twice the sum of f at both ends.
        """
        a, whole = self.power(c), self.value(c)
        low, high = _ends(self.rate, self.loss)
        loss = ball(self.loss)
        ends = ((a + 1) * low + loss).exp() + ((a + 1) * high - 2 * loss).exp()
        return [(float_up(sum(self._masses(a)) / whole), float_up(ends / (2 * ball(self.rate) * whole)))]

    def bound(self) -> float | None:
        """Return ℓ₁, which is the largest |L|, rounded up; None where floats do not reach."""
        return float_up(_ends(self.rate, self.loss)[1]) if self.loss <= MOST_JOINT else None

    def settled(self, c: float) -> float:
        """Return from where on the squares fall: infinite where nearly all of the law is at its ends."""
        return self._resolved(c) if self._tilted(c)[0][:2].sum() < MOST_ENDS else math.inf

    def _tilted(self, c: float) -> tuple[Any, Any]:
        """Return the tilted masses of the float points, the ends first, and ln z there."""
        import numpy as np

        mass, log_z, _ = _float_points(self.rate, self.loss)
        power = self.power(c) * log_z
        weights = mass * np.exp(power - power.max())
        return weights / weights.sum(), log_z

    def _resolved(self, c: float) -> float:
        """Return a frequency up to which the float points will do.

        The rule of 16 points on a panel of half-width η ≤ ½ errs by at most 3e-19·B η, with B the largest
        value on the ellipse of ρ = 4 around it (`_missed`), 1.13η beyond its ends and 1.88η high, where ln z
        has an imaginary part of at most y·min(1, 2p) for p the share of the sampled at the right end. For
        a ≥ 0 the density is log-convex, for a < 0 it falls, and |z| ≥ z cos(y/2).
        """
        a, q, loss = self.power(c), as_rate(self.rate), float(self.loss)
        half = loss / math.ceil(2 * loss)
        far = loss + 1.13 * half
        ends = (a * math.log1p(q * math.expm1(t)) - (t + loss) / 2 for t in (-far, far))
        largest = max(ends) + min(a, 0.0) * math.log(math.cos(0.95 * half)) + math.log(2 * loss + 2)
        over = largest - log_mean(a, *_float_points(self.rate, self.loss))
        share = q / (q + (1 - q) * math.exp(-far))
        return max(0.0, 20 - over) / (1.9 * half * min(1.0, 2 * share))

    def squares(self, c: float, t: Any) -> Any:
        """Return |M(c + it)/M(c)|² in floats; where the points will not do, V/t bounds all but the ends."""
        import numpy as np

        weight, log_z = self._tilted(c)
        near, far = np.split(t, [t.searchsorted(self._resolved(c))])
        spend((len(near) * len(weight) + len(far)) / FLOATS)
        first = np.abs(np.exp(1j * np.multiply.outer(near, log_z)) @ weight)
        rise = weight[:2] @ np.exp(log_z[:2] + np.array([1, -1]) * float(self.loss)) / as_rate(self.rate)
        ends = weight[:2].sum()
        if ends >= MOST_ENDS:  # they come back
            ends = np.abs(weight[0] + weight[1] * np.exp(1j * far * (log_z[1] - log_z[0])))
        rest = ends + rise / np.maximum(far, rise)  # `rise` is V
        return np.minimum(np.concatenate([first, rest]), 1.0) ** 2

    @classmethod
    def jointly(cls, parts: Counted) -> tuple[Callable[[float], float] | None, Counted]:
        """Return an estimate of log M(s) of many such transforms together, and those left over."""
        own = [(each, n) for each, n in parts if isinstance(each, cls)]
        return (_JointEstimate(own).log_m, ()) if len(own) >= LEAST_JOINT else (None, parts)

    def most_tilt(self) -> float:
        """Return a c at which nearly all of the law lies near the largest loss."""
        return 3000 / min(1.0, float(self.loss))

    def work(self, c: float, bits: int) -> float:
        """Return roughly how many steps of work one node on Re s = c takes."""
        return exponential_sums.work(FEW_NODES, bits)


class _JointEstimate:
    """Float estimates of Σ n·log M(s), of all points together."""

    def __init__(self, parts: list[tuple[SampledLaplaceTransform, int]]) -> None:
        import numpy as np

        known = [_float_points(each.rate, each.loss) for each, _ in parts]
        self.sizes = np.array([len(mass) for mass, _, _ in known])
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.mass, self.log_z, self.excess = (np.concatenate(row) for row in zip(*known, strict=True))
        self.added = np.repeat([each.added for each, _ in parts], self.sizes)
        self.counts = np.array([float(n) for _, n in parts])

    def log_m(self, s: float) -> float:
        """Return the estimate; small deviations from 1 keep their digits, as E z = 1."""
        import numpy as np

        a = np.where(self.added, -s, 1 + s)
        power = a * self.log_z
        spend(len(power) / FLOATS)
        if power.max() < 30:
            deviations = self.mass * (np.expm1(power) - a * self.excess)
            return float(self.counts @ np.log1p(np.add.reduceat(deviations, self.starts)))
        top = np.maximum.reduceat(power, self.starts)
        sums = np.add.reduceat(self.mass * np.exp(power - np.repeat(top, self.sizes)), self.starts)
        return float(self.counts @ (top + np.log(sums)))


def _ends(rate: Fraction, loss: Fraction) -> tuple[arb, arb]:
    """Return ℓ₀ and ℓ₁."""
    return least_log_ratio(rate, loss), shrunk(ball(loss), ball(rate))


@kept(32)
def _rule(
    factor: SampledLaplaceTransform, a: arb, most: float, bits: int
) -> tuple[list[tuple[acb, acb]], arb]:
    """Return (weight·z^a, ln z) at the nodes of Gauss–Legendre rules on straight panels.

    And a bound on the error at any τ in [0, most].
    """
    wanted = log_mean(float(a.mid()), *_float_points(factor.rate, factor.loss)) - bits * math.log(2)
    noise = ball(factor.rate), ball(factor.loss)
    for sides in (_straight(factor), _path(factor, a, most)):
        bounds = [_largest(noise, a, *side, most) for side in sides]
        panels = [(each, b, _size(b, each[1], wanted)) for each, b in zip(sides, bounds, strict=True)]
        if sum(count for *_, count in panels) <= FEW_NODES:
            break
    bearable(sum(count for *_, count in panels), MOST_NODES)
    points, error = [], arb(0)
    for ((start, end), rho), largest, count in panels:
        half = (end - start) / 2
        for x, weight in _gauss_legendre(count, ctx.prec):
            spend()
            value, log_z = _density(noise, a, (start + end) / 2 + half * x)
            points.append((weight * half * value, log_z))
        error += abs(half) * _missed(largest, arb(rho), count)
    return points, error


def _missed(largest: arb, rho: arb, count: int) -> arb:
    """Bound the error of a rule of n = `count` ≥ 2 points on [−1, 1] by (64/15)·B ρ^{−2n}/(1 − ρ^{−2}).

    B = `largest` is the largest value of the integrand on the ellipse of ρ around it (Trefethen 2008).
    """
    return largest * 64 / 15 * rho ** (-2 * count) / (1 - rho**-2)


def _straight(factor: SampledLaplaceTransform) -> list[Side]:
    """Return panels on the real line."""
    count = math.ceil(factor.loss)
    bearable(count, MOST_NODES)
    half = ball(factor.loss) / count
    high = STRIP / float(half)
    edges = [acb(2 * j * half - ball(factor.loss)) for j in range(count + 1)]
    return [(ends, high + math.hypot(high, 1)) for ends in itertools.pairwise(edges)]


def _path(factor: SampledLaplaceTransform, a: arb, most: float) -> list[Side]:
    """Return panels up, across and down.

    Towards the corners each is RATIO times shorter than the last, down to one over which τ·arg z is about 1.
    """
    loss, q = ball(factor.loss), as_rate(factor.rate)
    height = min(1.5, 4 / math.sqrt(1 + abs(float(a.mid()))))
    turn = q / (q + (1 - q) * math.exp(-float(loss)))  # of arg z, the most per Im t
    corner = [0.0, *_geometric(1 / (most * turn), height)]
    across = math.ceil(2 * float(loss) / height)
    bearable(len(corner) + across, MOST_NODES)
    lift, step = acb(0, 1), 2 * loss / across
    edges = [lift * y - loss for y in corner]
    edges += [lift * height - loss + j * step for j in range(1, across + 1)]
    edges += [lift * y + loss for y in corner[-2::-1]]
    return [(ends, ELLIPSE) for ends in itertools.pairwise(edges)]


def _geometric(first: float, last: float) -> list[float]:
    found = [last]
    while found[-1] > first:
        found.append(found[-1] / RATIO)
    return found[::-1]


def _density(noise: Noise, a: arb, at: acb) -> tuple[acb, acb]:
    """Return ¼e^{−(ε₀+t)/2} z^a and ln z."""
    rate, loss = noise
    log_z = (rate * at.expm1()).log1p()
    return (a * log_z - (loss + at) / 2).exp() / 4, log_z


def _largest(noise: Noise, a: arb, ends: tuple[acb, acb], rho: float, most: float) -> arb:
    """Return the largest value of the integrand on an ellipse, for any τ; infinite unless |Im t| < π."""
    middle, half, found = (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2, arb(0)
    for j in range(ARCS):  # the integrand is analytic inside, so it is largest on the boundary
        spend()
        angle = arb.pi() * (arb(2 * j + 1) + arb(0).union(arb(1)).union(arb(-1))) / ARCS
        turn = rho * acb(angle.cos(), angle.sin())
        at = middle + half * (turn + 1 / turn) / 2
        if not abs(at.imag) < arb.pi():
            return arb.pos_inf()
        value, log_z = _density(noise, a, at)
        grown = (-most * log_z.imag.min(arb(0))).exp()  # |z^{iτ}|
        found = found.max((abs(value) * grown).upper())
    return found


def _size(largest: arb, rho: float, wanted: float) -> int:
    """Return how many points bring a panel's error to e^wanted."""
    if not largest.is_finite():
        return MOST_NODES
    return max(2, math.ceil((float(largest.log().mid()) + 2 - wanted) / (2 * math.log(rho))))


@lru_cache(maxsize=256)
def _gauss_legendre(count: int, bits: int) -> list[tuple[arb, arb]]:
    return [arb.legendre_p_root(count, k, weight=True) for k in range(count)]


@lru_cache(maxsize=1)
def _float_rule() -> Any:
    """Return the nodes and weights of 16 points in floats."""
    import numpy as np

    return np.polynomial.legendre.leggauss(16)


@kept(1 << 12)
def _float_points(rate: Fraction, loss: Fraction) -> Any:
    """Return masses, ln z and z − 1 as floats."""
    import numpy as np

    q, most = as_rate(rate), float(loss)
    panels = max(1, math.ceil(2 * most))
    x, weight = _float_rule()
    spend(10 + panels)
    width = most / panels
    t = np.concatenate([-most + width * (2 * j + 1 + x) for j in range(panels)])
    mass = np.tile(weight * width, panels) * np.exp(-(most + t) / 2) / 4
    t = np.concatenate([[-most, most], t])
    mass = np.concatenate([[0.5, 0.5 * math.exp(-most)], mass])
    return mass, *float_odds(t, q)


@dataclass(frozen=True)
class ReplacedLaplaceTransform(Transform):
    """Laplace noise of largest loss `loss` on a Poisson sample of rate `rate`, one row of which is replaced.

    Right of 0 z₋ is its least value w = 1 − q + q e^{−loss}, left of it z₊ is; so the law is made of those of
    a row removed and of one added, M(s) = w^{−s} M_removed(s) + w^{1+s} M_added(s) − w.
    """

    rate: Fraction
    loss: Fraction

    def _single(self) -> SampledLaplaceTransform:
        return SampledLaplaceTransform(self.rate, self.loss)

    def value(self, s: acb) -> acb:
        """Return M(s) for real s."""
        own = self._single()
        return self._of_both(s, own.value(s), own.reversed().value(s))

    def _of_both(self, s: acb, removed: acb, added: acb) -> acb:
        low = least_log_ratio(self.rate, self.loss)
        return (-s * low).exp() * removed + ((1 + s) * low).exp() * added - low.exp()

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count."""
        both = zip(
            self._single().nodes(c, h, count), self._single().reversed().nodes(c, h, count), strict=True
        )
        return [self._of_both(acb(c, n * h), *values) for n, values in enumerate(both)]

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s)."""
        own, low = self._single(), float(least_log_ratio(self.rate, self.loss).mid())
        there, back = own.log_m(s, 1) - s * low, own.reversed().log_m(s, 1) + (1 + s) * low
        if max(there, back) < 30:
            return count * math.log1p(math.expm1(there) + math.expm1(back) - math.expm1(low))
        return count * float(max(there, back) + math.log1p(math.exp(-abs(there - back))))

    def most_tilt(self) -> float:
        """Return a c at which nearly all of the law lies near the largest loss."""
        return self._single().most_tilt()

    def work(self, c: float, bits: int) -> float:
        """Return roughly how many steps of work one node on Re s = c takes."""
        return 2 * self._single().work(c, bits)
