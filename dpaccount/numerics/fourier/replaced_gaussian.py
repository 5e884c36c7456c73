"""Gaussian noise on a Poisson sample of which one row is replaced: its transform and a proved decay of it.

With μ = sensitivity/σ, z±(u) = 1 − q + q e^{±μu − μ²/2}, the pair is P = φz₊, Q = φz₋ (that it dominates:
docs/numerics.md), and M(s) = ∫ φ z₊^{1+s} z₋^{−s} du = M(−1 − s), so that Re s ≥ −1/2 is enough.

On the line Im u = y ∈ [0, πσ) arg z₊ ≥ 0 ≥ arg z₋, so that |z₊^{iτ} z₋^{−iτ}| ≤ 1 for τ ≥ 0, and
cos(y/2σ) z± ≤ |z±(u + iy)| ≤ z±(u): the shifted quadrature of `sampled_gaussian` serves here too.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import acb, arb

from dpaccount.numerics.fourier.sampled_gaussian import ByParts, float_up, normal
from dpaccount.numerics.fourier.shifted_line import Number, ShiftedLine, Tilted
from dpaccount.numerics.fourier.transforms import log_integral
from dpaccount.numerics.intervals import ball
from dpaccount.numerics.work_budget import as_rate

DECAY_CELLS = 900  #: of u in one decay, at most


@dataclass(frozen=True)
class ReplacedGaussianTransform(ByParts):
    """Gaussian noise of μ² = `mu2` on a Poisson sample of rate `rate`, one row of which is replaced."""

    rate: Fraction
    mu2: Fraction

    def value(self, s: acb) -> acb:
        """Return M(s) for real s."""
        return self.whole(_folded(s))

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s), by the trapezoid rule in floats."""
        return count * _float_log(self.rate, self.mu2, max(s, -1 - s))

    def line(self, a: arb) -> "_TiltedRow":
        """Return φ z₊^{1+a} z₋^{−a}."""
        return _TiltedRow(self, a)

    def tilted(self, c: arb) -> "_TiltedRow":
        """Return that of c, or its mirror image."""
        return _TiltedRow(self, _folded(c))

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count; left of −1/2 the line is mirrored, so it is conjugated."""
        values = ShiftedLine.shifted(self.tilted(c)).along(h, count)
        return values if c >= arb(-1) / 2 else [value.conjugate() for value in values]

    def by_parts(self, c: arb) -> list[tuple[float, float]]:
        """Return (1 − p_b, V_b), rounded up, for candidate cuts b, c ≥ 0 (`sampled_gaussian.SampledDecay`).

        With f = g/L′, g the tilted density, V_b = f(b) + ∫_b |f′| ≤ sup_{u≥b} 1/L′ · (m sup_{u≥b} g + μ),
        since |L″| ≤ μL′. (log g)′ = −u + (1+c)μp₊ + cμp₋, p± logistic: its slope is below 0 where
        (1+c)μ²/4 < 1, and g has one maximum (m = 2); else the slope has the sign of a polynomial of degree 4
        in e^{μu}, and g has at most three (m = 6).
        """
        line = _TiltedRow(self, c)
        whole, mu = self.value(c), ball(self.mu2).sqrt()
        start, end = -12.0, float(line.last_peak().upper()) + 12.0
        count = int(min(DECAY_CELLS, (end - start) / 0.04))
        edges = [arb(start) + (arb(end) - start) * j / count for j in range(count + 1)]
        weights, masses = [line.logs(u)[0].exp() for u in edges], [normal(u) for u in edges]
        pieces = 2 if (1 + c) * ball(self.mu2) / 4 < 1 else 6
        left, rests = masses[0] * weights[0], []
        for j in range(count):  # the weight z₊^{1+c} z₋^{−c} rises
            rests.append(left / whole)
            left += (masses[j + 1] - masses[j]) * weights[j + 1]
        best, cuts = arb(0), []
        for j in range(count - 1, -1, -1):
            near = edges[j].max(edges[j + 1].min(arb(0)))
            best = best.max(weights[j + 1] * (-near * near / 2).exp() / (2 * arb.pi()).sqrt() / whole)
            steep = line.least_slope(edges[j])
            cuts.append((float_up(rests[j]), float_up((pieces * best + mu) / steep)))
        return cuts


def _folded(s: arb) -> arb:
    """Return s or −1 − s, whichever is at least −1/2."""
    return s if s >= arb(-1) / 2 else -1 - s


@dataclass(frozen=True)
class _TiltedRow(Tilted):
    """The tilted law φ z₊^{1+c} z₋^{−c}, and what is known of its slopes."""

    factor: ReplacedGaussianTransform
    c: arb

    @property
    def low(self) -> arb:
        """Return min(−c, 0): of z₊^{1+c} z₋^{−c} only z₋ can have a power below 0, as 1 + c > 0."""
        return (-self.c).min(arb(0))

    def logs(self, u: Number) -> tuple[Number, Number]:
        """Return log z₊^{1+c} z₋^{−c} and log z₊/z₋."""
        mu, q = ball(self.mu2).sqrt(), ball(self.factor.rate)
        up = (q * (u * mu - mu * mu / 2).expm1()).log1p()
        down = (q * (-u * mu - mu * mu / 2).expm1()).log1p()
        return (1 + self.c) * up - self.c * down, up - down

    def whole(self) -> arb:
        """Return M(c)."""
        return self.factor.value(self.c)

    def peaks(self) -> tuple[float, float, float]:
        """Return where the law rises first and falls last."""
        return -math.sqrt(float(self.mu2)), float(self.last_peak().mid()), 0.0

    def share(self, u: arb) -> arb:
        """Return p₋(u) = q e^{−μu − μ²/2}/z₋(u), which falls."""
        mu, q = ball(self.factor.mu2).sqrt(), ball(self.factor.rate)
        return 1 / (1 + (1 - q) / q * (u * mu + mu * mu / 2).exp())

    def last_peak(self) -> arb:
        """Return a u right of which the law falls: (1+c)μ + cμp₋((1+c)μ)."""
        mu = ball(self.factor.mu2).sqrt()
        near = (1 + self.c) * mu
        return near + self.c.max(arb(0)) * mu * self.share(near)

    def tails(self, low: arb, high: arb) -> arb:
        """Return a bound on the masses left of `low` and right of `high`; infinite where none is proved.

        The slope of the log of the law is −u + (1+c)μp₊ + cμp₋.
        """
        mu = ball(self.factor.mu2).sqrt()
        left = -low + self.c.min(arb(0)) * mu
        right = high - (1 + self.c) * mu - self.c.max(arb(0)) * mu * self.share(high)
        if not (left > 0 and right > 0):
            return arb.pos_inf()
        return self.density(low) / left + self.density(high) / right

    def least_slope(self, cut: arb) -> arb:
        """Return a lower bound on L′ = μ(p₊ + p₋) right of `cut`.

        With A = 1 − q, B = q e^{−μ²/2} and y = 2 cosh μu, L′ = μB(Ay + 2B)/(ABy + A² + B²), monotone in y
        with the limit μ: the least is at the smallest y, or μ.
        """
        mu, q = ball(self.factor.mu2).sqrt(), ball(self.factor.rate)
        a, b = 1 - q, q * (-mu * mu / 2).exp()
        y = 2 * (mu * cut.max(arb(0))).cosh()
        return (mu * b * (a * y + 2 * b) / (a * b * y + a * a + b * b)).min(mu)


@lru_cache(maxsize=1 << 14)
def _float_log(rate: Fraction, mu2: Fraction, c: float) -> float:
    """Return an estimate of log M(c), c ≥ −1/2."""
    u, weight, logs, excess = _float_grid(rate, mu2, 2 ** math.ceil(math.log2(1 + max(c, 0.0))))
    power = (1 + c) * logs[0] - c * logs[1]
    return log_integral(u, weight, power, (1 + c, excess[0]), (-c, excess[1]))


@lru_cache(maxsize=64)
def _float_grid(rate: Fraction, mu2: Fraction, most: int) -> Any:
    """Return float quadrature points, their weights, log z± and z± − 1, for powers up to `most`."""
    import numpy as np

    mu, q = math.sqrt(float(mu2)), as_rate(rate)
    low, high = -9.0 - mu, 9.0 + (1 + 2 * most) * mu
    u = np.linspace(low, high, min(int((high - low) / min(0.1, 0.5 / max(mu, 1e-300))) + 2, 200_001))
    losses = np.array([u * mu - mu * mu / 2, -u * mu - mu * mu / 2])
    excess = q * np.expm1(np.minimum(losses, 600))
    logs = np.where(losses < 600, np.log1p(excess), losses + math.log(q))
    return u, np.exp(-u * u / 2) * (u[1] - u[0]) / math.sqrt(2 * math.pi), logs, excess
