"""Gaussian and bounded noise together on a Poisson sample: its transform, and a proved decay of it.

Let T be the loss of what is bounded, of law R under Q, and μu − μ²/2 that of the Gaussian part. With w =
u + T/μ the whole loss is v = μw − μ²/2, so that H(a) = ∫ g(w) z(w)^a dw with z(w) = 1 − q + q e^v as for
Gaussian noise alone, and g(w) = E_R φ(w − T/μ) for φ(w). As |φ(w + iy)| = e^{y²/2}φ(w), also |g(w + iy)| ≤
e^{y²/2}g(w): what `fourier.shifted_line` proves of φ holds of g.

For Laplace noise of largest loss ε₀, T = ±ε₀ have masses ½e^{−ε₀} and ½, and the density between them,
¼e^{−(ε₀+T)/2}, adds (μ/4)e^{−ε₀/2−μw/2+μ²/8}[Φ(ε₀/μ − w + μ/2) − Φ(−ε₀/μ − w + μ/2)] to g.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb, ctx

from dpaccount.numerics.fourier.sampled_atoms import Inner, summed_losses
from dpaccount.numerics.fourier.sampled_gaussian import (
    SampledGaussianTransform,
    TiltedSample,
    float_up,
    normal,
)
from dpaccount.numerics.fourier.shifted_line import Number
from dpaccount.numerics.fourier.transforms import float_odds, log_mean
from dpaccount.numerics.intervals import ball
from dpaccount.numerics.work_budget import OutOfReach, as_rate, bearable, kept, spend

MOST_ATOMS = 200  #: of what is bounded
CELL, MOST_W_CELLS, MOST_PAIRS = 0.06, 900, 40_000  #: of w, and of w with T, in one decay
DEVIATIONS = 12.0  #: deviations of the noise around all T that a decay looks at
SLACK = 1e-6  #: of a cell: more than the floats can err that put T into one

Masses = dict[Fraction, arb]


@dataclass(frozen=True)
class SampledMixedTransform(SampledGaussianTransform):
    """Gaussian noise of μ² = `mu2`, finite losses `inner` and Laplace noise of largest `loss`, on one sample.

    `loss` is 0 where there is no Laplace noise.
    """

    inner: Inner = ()
    loss: Fraction = Fraction(0)

    def line(self, a: arb) -> TiltedSample:
        """Return g z^a."""
        return _TiltedMixture(self, a)

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s), by quadrature in floats."""
        a = self.power(s)
        left, right = (2 ** math.ceil(math.log2(1 + abs(end))) for end in (min(a, 0.0), max(a, 0.0)))
        try:
            grid = _float_points(replace(self, added=False), left, right)
        except OutOfReach:  # so far out that too many nodes would matter
            return math.inf
        return count * log_mean(a, *grid)

    def bounded(self) -> Masses:
        """Return the finite losses under Q with their masses, before Laplace noise."""
        return _bounded(self.inner, ctx.prec)

    def most(self) -> Fraction:
        """Return the largest T; the least is −T."""
        return sum((count * atom.largest() for atom, count in self.inner), self.loss)

    def by_parts(self, c: arb) -> list[tuple[float, float]]:
        """Return (1 − p_b, V_b), rounded up, for candidate cuts b.

        For each T by itself what `SampledDecay` says of Gaussian noise holds, with (log f)′ = −(w − T/μ) −
        μ + (a+1)μp(w); so V_b = E_R m sup_{w≥b} f. T/μ and w are in cells of one width, and φ(w − T/μ) is at
        most that of the distance of their cells.
        """
        a, mu = self.power(c), ball(self.mu2).sqrt()
        whole, q, most = self.whole(a), ball(self.rate), float(self.most()) / math.sqrt(float(self.mu2))
        span = 2 * most + 2 * DEVIATIONS + max(float((a * mu).upper()), 0.0)
        width = max(CELL, span / MOST_W_CELLS, math.sqrt(span * 2 * most / MOST_PAIRS))
        lowest, before, count = arb(-most - SLACK), math.ceil(DEVIATIONS / width), math.ceil(span / width)
        masses = self._cells(lowest, width)
        spend(count * len(masses) / 5)
        edges = [lowest + (j - before) * arb(width) for j in range(count + 1)]
        logs = [(q * (w * mu - mu * mu / 2).expm1()).log1p() for w in edges]
        near = [(arb(d) - 1 - 2 * arb(SLACK)).max(arb(0)) * width for d in range(count + len(masses) + 1)]
        bells = [(-x * x / 2).exp() / (2 * arb.pi()).sqrt() for x in near]
        pieces = 2 if a + 1 <= 0 or (a + 1) * mu * mu / 4 < 1 else 4
        left = normal(edges[0] - lowest)
        left *= (a * logs[0]).exp() if a >= 0 else (a * (1 - q).log()).exp()
        rests, sups = [], []
        for j in range(count):
            rests.append(left / whole)
            high = logs[j + 1] if a >= 0 else logs[j]
            here = sum((mass * bells[abs(j - before - k)] for k, mass in enumerate(masses)), arb(0))
            left += width * here * (a * high).exp()
            rise = logs[j + 1] if a + 1 >= 0 else logs[j]
            sups.append(((a + 1) * rise - edges[j] * mu + mu * mu / 2).exp() / (mu * q * whole))
        best, cuts = [arb(0)] * len(masses), []
        for j in range(count - 1, -1, -1):
            best = [one.max(sups[j] * bells[abs(j - before - k)]) for k, one in enumerate(best)]
            total = sum((mass * one for mass, one in zip(masses, best, strict=True)), arb(0))
            cuts.append((float_up(rests[j]), float_up(pieces * total)))
        return cuts

    def _cells(self, lowest: arb, width: float) -> list[arb]:
        """Return bounds on the masses of T/μ in cells of this width from `lowest` on, up to a `SLACK`."""
        mu = ball(self.mu2).sqrt()
        size = int(-2 * float(lowest) / width) + 2
        found = [arb(0)] * size

        def add(at: Fraction, mass: arb) -> None:
            found[min(max(int((float(at) / float(mu.mid()) - float(lowest)) / width), 0), size - 1)] += mass

        loss = ball(self.loss)
        for at, mass in self.bounded().items():
            if not self.loss:
                add(at, mass)
                continue
            add(at - self.loss, mass / 2)
            add(at + self.loss, mass * (-loss).exp() / 2)
            edges = [
                (mu * (lowest + k * arb(width)) - ball(at)).max(-loss).min(loss) for k in range(size + 1)
            ]
            falls = [(-(loss + x) / 2).exp() / 2 for x in edges]
            for k in range(size):
                found[k] += mass * (falls[k] - falls[k + 1]).max(arb(0))
        return found


@kept(64)
def _bounded(inner: Inner, bits: int) -> Masses:
    """Return losses under Q with masses; equal ones merged."""
    whole = summed_losses((([(-t, mass()) for t, mass in atom.points()], n) for atom, n in inner), MOST_ATOMS)
    bearable(len(whole), MOST_ATOMS)
    return whole


@dataclass(frozen=True)
class _TiltedMixture(TiltedSample):
    """The integrand g z^{a + iτ} of H; of the same strip as φ z^{a + iτ}."""

    factor: SampledMixedTransform

    def terms(self, u: Number) -> list[tuple[Number, Number]]:
        """Return √(2π)·g z^a and log z."""
        log_z = self.log_z(u)
        return [((self.a * log_z).exp() * _density(self.factor, u), log_z)]

    def tails(self, left: arb, right: arb) -> arb:
        """Return a bound on the sum over the nodes left out on a real line, both sides.

        As for φ, from where on all φ(w − T/μ) rise on the left, and fall faster than z^a rises on the right.
        """
        mu = ball(self.factor.mu2).sqrt()
        most = ball(self.factor.most()) / mu
        if not (left < -most and right > most):
            return arb.pos_inf()
        if self.a >= 0:
            room = right - most - self.a * mu
            if not room > 0:
                return arb.pos_inf()
            density = (self.a * self.log_z(right) - (right - most) ** 2 / 2).exp() / (2 * arb.pi()).sqrt()
            return (self.a * self.log_z(left)).exp() * normal(left + most) + density / room
        lowest = (self.a * (1 - ball(self.factor.rate)).log()).exp()
        return lowest * (normal(left + most) + normal(most - right))

    def peaks(self) -> tuple[float, float, float]:
        """Return where g z^a rises first and falls last, and −log of the least z^a if a < 0."""
        _, last, penalty = super().peaks()
        most = float(self.factor.most()) / math.sqrt(float(self.factor.mu2))
        return -most, last + most, penalty


def _density(factor: SampledMixedTransform, w: Number) -> Number:
    """Return √(2π)·g(w)."""
    mu, loss = ball(factor.mu2).sqrt(), ball(factor.loss)
    found = w * 0
    masses = factor.bounded()
    spend(len(masses) * (8 if factor.loss else 1))
    for at, mass in masses.items():
        x = w - ball(at) / mu
        if not factor.loss:
            found += mass * (-x * x / 2).exp()
            continue
        low, high = x + loss / mu, x - loss / mu
        found += mass * ((-low * low / 2).exp() + (-loss - high * high / 2).exp()) / 2
        root = arb(2).sqrt()
        between = ((high - mu / 2) / root).erfc() - ((low - mu / 2) / root).erfc()
        scale = mu / 8 * (2 * arb.pi()).sqrt()
        found += mass * scale * (-loss / 2 - mu * x / 2 + mu * mu / 8).exp() * between
    return found


@lru_cache(maxsize=64)
def _float_points(factor: SampledMixedTransform, left: int, right: int) -> Any:
    """Return float weights, ln z and z − 1, for powers from −left to right."""
    import numpy as np

    mu, q, loss = math.sqrt(float(factor.mu2)), as_rate(factor.rate), float(factor.loss)
    most = float(factor.most()) / mu
    at = np.array([float(t) for t in factor.bounded()])
    mass = np.array([float(m.mid()) for m in factor.bounded().values()])
    if loss:
        at, mass = _with_laplace(at, mass, loss, max(1, math.ceil(4 * max(loss, loss / mu))))
    turn = (math.log(1e-3 * (1 - q) / q) + mu * mu / 2) / mu  # left of it z ≈ 1 − q
    step = min(0.1, 0.5 / mu)
    low = -9.0 - most - min(left * mu, max(0.0, -most - turn) + 1)
    high = 9.0 + most + right * mu
    bearable((high - low) / step * len(at), 2e7)
    u = np.linspace(low, high, int((high - low) / step) + 2)
    weight = sum(m * np.exp(-((u - s / mu) ** 2) / 2) for s, m in zip(at, mass, strict=True))
    weight = weight * (u[1] - u[0]) / math.sqrt(2 * math.pi)
    return weight, *float_odds(u * mu - mu * mu / 2, q)


def _with_laplace(at: Any, mass: Any, loss: float, panels: int) -> tuple[Any, Any]:
    """Return float losses and masses together with those of Laplace noise, by quadrature over panels."""
    import numpy as np

    x, weight = np.polynomial.legendre.leggauss(8)
    t = np.concatenate([-loss + loss / panels * (2 * j + 1 + x) for j in range(panels)])
    own = np.tile(weight * loss / panels, panels) * np.exp(-(loss + t) / 2) / 4
    t, own = np.append(t, [-loss, loss]), np.append(own, [0.5, 0.5 * math.exp(-loss)])
    return np.add.outer(at, t).ravel(), np.multiply.outer(mass, own).ravel()
