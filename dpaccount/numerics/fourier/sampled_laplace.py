"""Laplace noise on a Poisson sample: its transform by quadrature on a contour that suits all frequencies.

With ε₀ = sensitivity/scale and z(t) = 1 − q + q e^t, H(a) = E_Q z^a over the Laplace pair (P, Q): Q has ½
at t = −ε₀, ½e^{−ε₀} at ε₀ and the density ¼e^{−(ε₀+t)/2} between. Removing a unit has
M(s) = H(1 + s), adding one M(s) = H(−s). In ℓ = ln z the continuous part is ∫ e^{aℓ} w(ℓ) dℓ from
ℓ₀ = ln z(−ε₀) to ℓ₁ = ln z(ε₀) with

    w(ℓ) = ¼ e^{−ε₀/2} √q e^ℓ (e^ℓ − 1 + q)^{−3/2},

analytic but for a cut on the real line left of ln(1 − q) < ℓ₀. For a + iτ, τ ≥ 0, the path goes up from ℓ₀ to
ℓ₀ + iY, across, and down to ℓ₁: there |e^{iτℓ}| = e^{−τ Im ℓ} ≤ 1, so one set of nodes serves all τ.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import acb, arb, ctx

from dpaccount.numerics.closed.sampled_curves import least_log_ratio
from dpaccount.numerics.closed.sampling import shrunk
from dpaccount.numerics.fourier import exponential_sums
from dpaccount.numerics.fourier.transforms import OnPoissonSample, Transform, blurred, log_mean
from dpaccount.numerics.intervals import ball
from dpaccount.numerics.work_budget import as_rate, bearable, kept, spend

MOST_NODES = 4000  #: of the quadrature
RATIO = 4  #: of the ends of a panel
ELLIPSE = 2.6  #: ρ of the ellipses on which the integrand is bounded; 3 would touch the corner
ARCS = 96  #: of an ellipse, each bounded at once


@dataclass(frozen=True)
class SampledLaplaceTransform(OnPoissonSample):
    """The Laplace pair of largest loss `loss` on a Poisson sample of rate `rate`; `added`: the direction."""

    loss: Fraction

    def value(self, s: acb) -> acb:
        """Return M(s) for real s, by adaptive quadrature in t (no frequency needs a contour)."""
        a, q, loss = self.power(s), ball(self.rate), ball(self.loss)
        low, high = _ends(self.rate, self.loss)

        evaluations = 0  # counted, as nothing may be raised inside FLINT's quadrature

        def integrand(t: acb, analytic: bool) -> acb:  # noqa: FBT001
            nonlocal evaluations
            evaluations += 1
            return (a * (1 + q * t.expm1()).log(analytic=analytic) - (loss + t) / 2).exp() / 4

        whole = acb.integral(integrand, acb(-loss), acb(loss)).real
        spend(evaluations * (3 + ctx.prec / 128))
        return whole + (a * low).exp() / 2 + (a * high - loss).exp() / 2

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count; adding a unit mirrors the line, so it is conjugated."""
        a = self.power(c)
        points, error = _contour(self, a, _binary(float((h * (count - 1)).upper())), ctx.prec)
        low, high = _ends(self.rate, self.loss)
        atoms = [((a * low).exp() / 2, low), ((a * high - ball(self.loss)).exp() / 2, high)]
        found = [blurred(value, error) for value in exponential_sums.along([*atoms, *points], h, count)]
        return [value.conjugate() for value in found] if self.added else found

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s)."""
        return count * log_mean(self.power(s), *_float_points(self.rate, self.loss))

    def most_tilt(self) -> float:
        """Return a c at which nearly all of the law lies near the largest loss."""
        return 3000 / min(1.0, float(self.loss))

    def work(self, c: float, bits: int) -> float:
        """Return roughly how many steps of work one node on Re s = c takes."""
        return exponential_sums.work(8 * bits, bits)


def _binary(value: float) -> float:
    """Return the next power of two, so that contours can be kept."""
    return 2.0 ** math.ceil(math.log2(value)) if value > 1 else 1.0


def _ends(rate: Fraction, loss: Fraction) -> tuple[arb, arb]:
    """Return ℓ₀ and ℓ₁."""
    return least_log_ratio(rate, loss), shrunk(ball(loss), ball(rate))


@kept(32)
def _contour(
    factor: SampledLaplaceTransform, a: arb, most: float, bits: int
) -> tuple[list[tuple[acb, acb]], arb]:
    """Return (weight·e^{aℓ}, ℓ) on the path and a bound on the error at any τ in [0, most].

    Gauss–Legendre rules on panels: towards the corners each panel is RATIO times shorter than the last, down
    to one as short as 1/most and as the distance of the singularity. The n-point rule on a panel of half
    length r errs by at most r·(64/15)·B ρ^{−2n}/(1 − ρ^{−2}), B the largest value of the integrand on the
    ellipse of parameter ρ around the panel (Trefethen 2008).
    """
    low, high = _ends(factor.rate, factor.loss)
    middle = float(a.mid())
    height = min(1.0, 6.0 / (1 + abs(middle)))
    count = math.ceil(bits * math.log(2) / (2 * math.log(ELLIPSE))) + 3
    gap = float((low - (-ball(factor.rate)).log1p()).lower())
    first = min(1 / most, gap / 4)
    corner = [0.0, *_geometric(first, height)]
    across = max(1, math.ceil(float((high - low).upper()) / height))
    bearable(count * (2 * len(corner) + across), MOST_NODES)
    lift = acb(0, 1)
    sides = [(low + lift * x, low + lift * y) for x, y in itertools.pairwise(corner)]
    step = (high - low) / across
    sides += [(low + lift * height + j * step, low + lift * height + (j + 1) * step) for j in range(across)]
    sides += [(high + lift * y, high + lift * x) for x, y in itertools.pairwise(corner)]
    points, error = [], arb(0)
    for start, end in sides:
        spend()
        own, missed = _panel(factor, a, acb(start), acb(end), count, most)
        points += own
        error += missed
    return points, error


def _geometric(first: float, last: float) -> list[float]:
    found = [last]
    while found[-1] > first:
        found.append(found[-1] / RATIO)
    return found[::-1]


def _panel(
    factor: SampledLaplaceTransform, a: arb, start: acb, end: acb, count: int, most: float
) -> tuple[list[tuple[acb, acb]], arb]:
    """Return the weighted nodes of one straight panel and the bound on its error for every τ."""
    centre, half = (start + end) / 2, (end - start) / 2
    points = []
    for x, weight in _gauss_legendre(count, ctx.prec):
        at = centre + half * x
        points.append((weight * half * _density(factor, at) * (a * at).exp(), at))
    rho = arb(ELLIPSE)
    largest = arb(0)
    for j in range(ARCS):  # the integrand is analytic inside, so it is largest on the boundary
        angle = 2 * arb.pi() * (arb(2 * j + 1) + arb(0).union(arb(1)).union(arb(-1))) / (2 * ARCS)
        turn = acb(angle.cos(), angle.sin())
        at = centre + half * (rho * turn + 1 / (rho * turn)) / 2
        grown = (-most * at.imag.min(arb(0))).exp()  # |e^{iτℓ}|
        size = abs(at.exp()) / abs(at.expm1() + ball(factor.rate)) ** arb("1.5")
        largest = largest.max((size * abs((a * at).exp()) * grown).upper())
    largest *= (-ball(factor.loss) / 2).exp() * ball(factor.rate).sqrt() / 4
    return points, abs(half) * largest * 64 / 15 * rho ** (-2 * count) / (1 - rho**-2)


def _density(factor: SampledLaplaceTransform, at: acb) -> acb:
    """Return w(ℓ)."""
    q = ball(factor.rate)
    grown = at.exp()
    root = (at.expm1() + q).sqrt()
    return (-ball(factor.loss) / 2).exp() * q.sqrt() / 4 * grown / root**3


@lru_cache(maxsize=64)
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
    excess = q * np.expm1(np.minimum(t, 600))
    return mass, np.where(t < 600, np.log1p(excess), t + math.log(q)), excess


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
        own, low = self._single(), least_log_ratio(self.rate, self.loss)
        both = (-s * low).exp() * own.value(s) + ((1 + s) * low).exp() * own.reversed().value(s)
        return both - low.exp()

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count."""
        own, low = self._single(), least_log_ratio(self.rate, self.loss)
        removed, added = own.nodes(c, h, count), own.reversed().nodes(c, h, count)
        points = [acb(c, n * h) for n in range(count)]
        return [
            (-s * low).exp() * there + ((1 + s) * low).exp() * back - low.exp()
            for s, there, back in zip(points, removed, added, strict=True)
        ]

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
