"""The Poisson-subsampled Gaussian: its transform by shifted quadrature, and a proved decay of it.

With σ = 1/μ and z(u) = 1 − q + q e^{v}, v = u/σ − 1/(2σ²), everything is H(a) = ∫ φ(u) z(u)^a du: removing a
unit has M(s) = H(1 + s), adding one M(s) = H(−s) (Abadi et al. 2016; Mironov, Talwar & Zhang 2019; that
the pair dominates: Zhu, Dong & Wang 2022).
"""

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

from flint import acb, arb, ctx

from dpaccount.numerics.balls import ball, ceil_of, precision
from dpaccount.numerics.fourier import exponential_sums
from dpaccount.numerics.fourier.transforms import Decay, OnPoissonSample, blurred
from dpaccount.numerics.limits import bearable, tick

MOST_POINTS = 200_000  #: of a quadrature
DECAY_SECONDS = 0.3  #: for the nodes of one decay (a rough estimate)

Strip = tuple[float, float, float]  #: the step of a line, how high it lies, and the top of its strip


@dataclass(frozen=True)
class SampledGaussianFactor(OnPoissonSample):
    """The Gaussian pair of μ² = `mu2` on a Poisson sample of rate `rate`; `added`: the direction."""

    mu2: Fraction

    def ceiling(self) -> arb | None:
        """Return −ln(1 − q), the largest loss when a unit is added; removing one has no bound."""
        return -(-ball(self.rate)).log1p() if self.added else None

    def value(self, s: acb) -> acb:
        """Return M(s) for real s."""
        return _real_h(self, self.power(s))

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s), by the trapezoid rule in floats."""
        return count * _float_log_h(self.rate, self.mu2, self.power(s))

    def most_tilt(self) -> float:
        """Return a c whose shift of u by c·μ is large."""
        return 3000 / min(1.0, math.sqrt(float(self.mu2)))

    def work(self, c: float, bits: int) -> float:
        """Return roughly how long one node on Re s = c takes, in units of 10 µs."""
        with precision(bits):
            return exponential_sums.work(_Line.shifted(self, self.power(arb(c))).size, bits)

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count; adding a unit mirrors the line, so it is conjugated."""
        values = _Line.shifted(self, self.power(c)).along(h, count)
        return [value.conjugate() for value in values] if self.added else values

    def by_parts(self, c: arb) -> list[tuple[float, float]]:
        """Return (1 − p_b, V_b), rounded up, for candidate cuts b."""
        return _by_parts(self, c)

    def decay(self, c: arb, depth: float) -> Decay:
        """Return the proved decay along Re s = c, kept for the next time: it costs some ten milliseconds."""
        return _kept_decay(self, float(c.mid()), 2.0 ** math.ceil(math.log2(depth)) if depth > 0 else depth)


@lru_cache(maxsize=1 << 14)
def _float_log_h(rate: Fraction, mu2: Fraction, a: float) -> float:
    """Return an estimate of log H(a); small deviations from 1 keep their digits, as ∫ φ(z − 1) = 0."""
    import numpy as np

    u, weight, logz, excess = _float_grid(rate, mu2, min(a, 0.0), max(a, 0.0))
    power = a * logz
    if power.max() < 30:
        return float(np.log1p(weight @ (np.expm1(power) - a * excess)))
    top = power - u * u / 2
    peak = top.max()
    return float(peak + np.log(np.exp(top - peak).sum() * (u[1] - u[0]) / math.sqrt(2 * math.pi)))


def _float_grid(rate: Fraction, mu2: Fraction, low: float, high: float) -> Any:
    """Return float quadrature points, their weights, log z and z − 1, for powers in [low, high]."""
    reach = math.sqrt(float(mu2))
    left = 2 ** math.ceil(math.log2(1 + abs(low) * reach))
    right = 2 ** math.ceil(math.log2(1 + high * reach))
    return _cached_grid(rate, mu2, left, right)


@lru_cache(maxsize=64)
def _cached_grid(rate: Fraction, mu2: Fraction, left: int, right: int) -> Any:
    import numpy as np

    mu = math.sqrt(float(mu2))
    step = min(0.1, 0.5 / max(mu, 1e-300))
    turn = (math.log(1e-3 * (1 - float(rate)) / float(rate)) + mu * mu / 2) / mu  # left of it z ≈ 1 − q
    low, high = -9.0 - min(left, max(0.0, -turn) + 1), 9.0 + right
    u = np.linspace(low, high, min(int((high - low) / step) + 2, 200_001))
    v = u * mu - mu * mu / 2
    q = float(rate)
    excess = q * np.expm1(np.minimum(v, 600))
    logz = np.where(v < 600, np.log1p(excess), v + math.log(q) if q else v)
    weight = np.exp(-u * u / 2) * (u[1] - u[0]) / math.sqrt(2 * math.pi)
    return u, weight, logz, excess


@dataclass(frozen=True)
class _Line:
    """Quadrature of H on the line Im u = y₀: nodes u_j + iy₀, j < size, step η, and its proved error.

    |error| ≤ H(a)·[1/(e^{2πy₀/η} − 1) + e^{Y²/2} κ(Y)/(e^{2π(Y−y₀)/η} − 1)] + tails·e^{y₀²/2} κ(y₀), with
    κ(y) = cos(y/2σ)^{min(a,0)}: between the real line and Im u = Y < πσ the integrand is analytic, 0 ≤ arg z,
    so |z^{iτ}| ≤ 1 for τ ≥ 0, and cos(y/2σ) z(u) ≤ |z(u + iy)| ≤ z(u). The bound does not depend on τ.
    For y₀ = 0 both sides are alike (trapezoid rule on a strip: Trefethen & Weideman 2014).
    """

    factor: SampledGaussianFactor
    a: arb
    step: arb
    first: arb
    size: int
    shift: arb
    top: arb

    @staticmethod
    def real(factor: SampledGaussianFactor, a: arb) -> "_Line":
        """Return a line for the real H(a), accurate to the precision of the moment."""
        depth = ctx.prec * math.log(2)
        return _Line._made(factor, a, real_strip(factor.mu2, depth, min(float(a.mid()), 0.0)), depth)

    @staticmethod
    def shifted(factor: SampledGaussianFactor, a: arb) -> "_Line":
        """Return a line for all H(a + iτ), τ ≥ 0, accurate relative to H(a)."""
        depth = ctx.prec * math.log(2)
        return _Line._made(factor, a, shifted_strip(factor.mu2, depth, min(float(a.mid()), 0.0)), depth)

    @staticmethod
    def _made(factor: SampledGaussianFactor, a: arb, strip: Strip, depth: float) -> "_Line":
        step, shift, top = strip
        middle = max(float(a.mid()), 0.0) * math.sqrt(float(factor.mu2))
        penalty = -min(float(a.mid()), 0.0) * -math.log1p(-float(factor.rate))
        wide = math.sqrt(2 * (depth + shift * shift / 2 + penalty + 8)) + 1
        left = min(-wide, -1.0)
        size = math.ceil((middle + wide + 1 - left) / step) + 1
        bearable(size, MOST_POINTS)
        return _Line(factor, a, arb(step), arb(left), size, arb(shift), arb(top))

    def _points(self) -> list[tuple[acb, acb]]:
        """Return (η φ(u) z(u)^a, log z(u)) at the nodes."""
        factor = self.factor
        mu, q = ball(factor.mu2).sqrt(), ball(factor.rate)
        scale = self.step / (2 * arb.pi()).sqrt()
        found = []
        for j in range(self.size):
            tick()
            real = self.first + j * self.step
            u = acb(real, self.shift) if self.shift > 0 else real
            log_z = (q * (u * mu - mu * mu / 2).expm1()).log1p()
            found.append((scale * (self.a * log_z - u * u / 2).exp(), log_z))
        return found

    def total(self) -> arb:
        """Return H(a) for a real line."""
        value = sum((weight for weight, _ in self._points()), arb(0))
        near = 2 * self._kappa(self.top) / ((2 * arb.pi() * self.top / self.step).exp() - 1)
        # the error is relative to H itself: H ≤ (sum + tails)/(1 − near)
        bound = (value + self._tails()) / (1 - near)
        return blurred(value, near * bound + self._tails())

    def along(self, h: arb, count: int) -> list[acb]:
        """Return H(a + inh) for n < count, as one product of matrices of exponentials."""
        flat = exponential_sums.along(self._points(), h, count)
        error = self._error()
        return [blurred(value, error) for value in flat]

    def _error(self) -> arb:
        """Return the error bound of a shifted line, absolute."""
        turn = 2 * arb.pi() / self.step
        near = 1 / ((turn * self.shift).exp() - 1)
        near += self._kappa(self.top) / ((turn * (self.top - self.shift)).exp() - 1)
        return near * _real_h(self.factor, self.a) + self._tails() * self._kappa(self.shift)

    def _kappa(self, y: arb) -> arb:
        """Return e^{y²/2} cos(y/2σ)^{min(a,0)}; infinite where the strip is too wide."""
        cosine = (y * ball(self.factor.mu2).sqrt() / 2).cos()
        grown = (y * y / 2).exp()
        if not cosine > 0:
            return arb.pos_inf()
        return grown if self.a >= 0 else grown * (self.a.min(arb(0)) * cosine.log()).exp()

    def _tails(self) -> arb:
        """Return a bound on the sum over the nodes left out on a real line, both sides.

        Left, φ rises and (a ≥ 0) z^a ≤ z(u₀)^a; right of u₁ > a/σ, log(φ z^a) has slope at most a/σ − u₁.
        For a < 0: z^a ≤ (1 − q)^a.
        """
        mu, q = ball(self.factor.mu2).sqrt(), ball(self.factor.rate)
        left, right = self.first, self.first + (self.size - 1) * self.step

        def log_z(u: arb) -> arb:
            return (q * (u * mu - mu * mu / 2).expm1()).log1p()

        if self.a >= 0:
            room = right - self.a * mu
            if not (room > 0 and left < 0):
                return arb.pos_inf()
            density = (self.a * log_z(right) - right * right / 2).exp() / (2 * arb.pi()).sqrt()
            return (self.a * log_z(left)).exp() * normal(left) + density / room
        if not (self.a < 0 and left < 0 and right > 0):
            return arb.pos_inf()
        return (self.a * (1 - q).log()).exp() * (normal(left) + normal(-right))


def normal(x: arb) -> arb:
    """Return Φ(x)."""
    return (-x / arb(2).sqrt()).erfc() / 2


def _real_h(factor: SampledGaussianFactor, a: arb) -> arb:
    if a.rad() == 0 and arb(float(a)) == a:
        return _kept_h(replace(factor, added=False), float(a), ctx.prec)
    return _Line.real(factor, a).total()


@lru_cache(maxsize=1 << 10)
def _kept_h(factor: SampledGaussianFactor, a: float, bits: int) -> arb:
    """Return H(a) at the precision of the moment, which is `bits`."""
    return _Line.real(factor, arb(a)).total()


def real_strip(mu2: Fraction, depth: float, low: float) -> Strip:
    """Return the strip of the largest step for a real line."""
    sigma = 1 / math.sqrt(float(mu2))
    step, top = max((_real_step(y, depth, sigma, low), y) for y in _heights(sigma, depth))
    return step, 0.0, top


def shifted_strip(mu2: Fraction, depth: float, low: float) -> Strip:
    """Return the strip of the largest step for a line that may lie anywhere in it."""
    sigma = 1 / math.sqrt(float(mu2))
    return max((*_shifted_step(y, depth, sigma, low), y) for y in _heights(sigma, depth))


def _heights(sigma: float, depth: float) -> list[float]:
    """Return heights of strips to try."""
    most = min(0.98 * math.pi * sigma, 3 * math.sqrt(depth))
    return [most * step / 24 for step in range(1, 25)]


def _penalty(y: float, sigma: float, low: float) -> float:
    """Return the log of e^{y²/2} cos(y/2σ)^low."""
    return y * y / 2 + (low * math.log(math.cos(min(y / (2 * sigma), 1.5707))) if low else 0.0)


def _real_step(y: float, depth: float, sigma: float, low: float) -> float:
    """Return the largest step for a real line in the strip up to height y."""
    return 2 * math.pi * y / (depth + 2 + _penalty(y, sigma, low))


def _shifted_step(y: float, depth: float, sigma: float, low: float) -> tuple[float, float]:
    """Return the largest step for the strip [0, y], and the line in it where both sides err alike."""
    far = depth + 2 + _penalty(y, sigma, low)
    shift = y * (depth + 2) / (depth + 2 + far)
    return 2 * math.pi * shift / (depth + 2), shift


@lru_cache(maxsize=16)
def _kept_decay(factor: SampledGaussianFactor, c: float, depth: float) -> "SampledDecay":
    return SampledDecay(factor, arb(c), depth)


class ByParts(Protocol):
    """A factor whose tilted law is that of a loss that grows with u."""

    def value(self, s: acb) -> acb:
        """Return M(s) for real s."""
        ...

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s)."""
        ...

    def work(self, c: float, bits: int) -> float:
        """Return roughly how long one node on Re s = c takes, in units of 10 µs."""
        ...

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count."""
        ...

    def by_parts(self, c: arb) -> list[tuple[float, float]]:
        """Return (1 − p_b, V_b), rounded up, for candidate cuts b."""
        ...


class SampledDecay(Decay):
    """A proved bound on |φ(t)|, φ(t) = M(c + it)/M(c), for all τ ≥ t, from three facts.

    1. By parts on u ≥ b, with g the tilted density, ℓ = log z, f = g/ℓ′: |φ(t)| ≤ (1 − p_b) + V_b/t, where
       p_b is the tilted mass of u ≥ b and V_b = m sup_{u≥b} f. (log f)′ = −u − 1/σ + (a+1)p(u)/σ with p
       logistic, p′ ≤ 1/(4σ): it has one zero (m = 2) where (a+1)/(4σ²) < 1, else at most three (m = 4).
    2. ψ = |φ|² = E cos t(L − L′), and 1 − cos nθ ≤ n²(1 − cos θ), so 1 − ψ(t) ≥ (1 − ψ(nt))/n²: from
       B = sup of ψ on [A, 2A] follows ψ(t) ≤ 1 − (1 − B)/n² for t ≤ A, n = ⌈A/t⌉.
    3. Between the nodes of a grid of step h, ψ exceeds the larger end by at most h²/8·sup|ψ″| ≤ h² Var(L)/4,
       and Var(L) ≤ [e^{−ηm}M(c+η) + e^{ηm}M(c−η) − 2M(c)]/(η² M(c)), as cosh x − 1 ≥ x²/2.
    """

    def __init__(self, factor: ByParts, c: arb, depth: float) -> None:
        self.factor = factor
        self.c = c
        with precision(64):
            import numpy as np

            self._parts = np.array(factor.by_parts(c)).T
            variance = _variance(factor, c)
            goal = max(math.exp(-2 * depth), 1e-12)  # the level of ψ that is worth resolving, and can be
            self._end = self._where(goal)
            self._grid(variance, goal)

    def _where(self, goal: float) -> float:
        """Return a t from which the bound by parts alone reaches the level (or is the best there is)."""
        t = 1e-6
        while self._bound(t) ** 2 > goal and t < 1e12:
            t *= 1.2
        return t

    def _bound(self, t: float) -> float:
        rest, total = self._parts
        return min(1.0, float((rest + total / t).min()) * (1 + 1e-12))

    def _grid(self, variance: arb, goal: float) -> None:
        """Tabulate ψ from half a deviation to where the bound by parts takes over."""
        deviation = float(variance.upper()) ** 0.5
        if not 0 < deviation < math.inf:  # then the bound by parts is all there is
            self.step, self.cells, self.suffix = 1.0, [], [1.0]
            return
        step = min(0.25, 2 * math.sqrt(goal)) / deviation
        most = 2 + int(DECAY_SECONDS / (1e-5 * self.factor.work(float(self.c.mid()), ctx.prec)))
        count = min(max(2, math.ceil(self._end / step) + 2), most, 4000)
        h = arb(step)
        self.step = step
        slack = h * h * variance / 4
        values = self.factor.nodes(self.c, h, count)
        real = values[0].real
        squares = [(abs(value) / real) ** 2 for value in values]
        cells = [(a.max(b) + slack).min(arb(1)) for a, b in itertools.pairwise(squares)]
        self.cells = [float_up(cell) for cell in cells]
        last = self._bound((count - 1) * step) ** 2
        self.suffix = [last]
        for cell in reversed(self.cells):
            self.suffix.append(max(cell, self.suffix[-1]))
        self.suffix.reverse()  # suffix[j] bounds ψ on [j·step, ∞)

    def far(self, t: arb) -> arb:
        """Return the least of the three bounds."""
        at = float(t.lower())
        square = min(
            self._bound(at) ** 2, self.suffix[min(int(at / self.step * (1 - 1e-12)), len(self.suffix) - 1)]
        )
        best = arb(square).min(arb(1))
        for j in self._windows(at):
            # n·t ≥ A for n = ⌈A/t⌉, and n·t < A + t ≤ 2A
            window = max(self.cells[j : 2 * j + 1], default=1.0)
            if 2 * j + 1 > len(self.cells):
                window = max(window, self.suffix[-1])
            times = math.ceil(j * self.step / at * (1 + 1e-12))
            if times * at > 2 * j * self.step * (1 - 1e-12):
                continue
            best = best.min((1 - (1 - arb(window)) / times**2).max(arb(self.suffix[j])))
        return best.sqrt()

    def _windows(self, at: float) -> list[int]:
        """Return grid indices A/step with A just below a multiple of t, in geometric progression."""
        found: list[int] = []
        times = 1
        while True:
            j = int(times * at / self.step * (1 - 1e-12))
            if j >= len(self.cells):
                return found
            if j >= 1:
                found.append(j)
            times = max(times + 1, int(times * 1.25))


def float_up(value: arb) -> float:
    """Return a double above the ball."""
    return math.nextafter(float(ceil_of(value)), math.inf)


def _by_parts(factor: SampledGaussianFactor, c: arb) -> list[tuple[float, float]]:
    """Return (1 − p_b, V_b), rounded up, for candidate cuts b: cells of u, bounded by their ends."""
    a = factor.power(c)
    mu, q = ball(factor.mu2).sqrt(), ball(factor.rate)
    whole = _real_h(factor, a)
    start = -12.0
    end = max(float((a * mu).upper()), 0.0) + 12.0
    count = int(min(900, (end - start) / 0.04))
    edges = [arb(start) + (arb(end) - start) * j / count for j in range(count + 1)]
    logs = [(q * (u * mu - mu * mu / 2).expm1()).log1p() for u in edges]
    masses = [normal(u) for u in edges]
    lead = 1 / (mu * q * whole * (2 * arb.pi()).sqrt()) * (mu * mu).exp()  # φ e^{−v} = e^{−(u+μ)²/2 + μ²}/√2π
    many = 2 if a + 1 <= 0 or (a + 1) * mu * mu / 4 < 1 else 4
    left = masses[0] * (a * logs[0]).exp() if a >= 0 else masses[0] * (a * (1 - q).log()).exp()
    found_left, sups = [], []
    for j in range(count):
        high = logs[j + 1] if a >= 0 else logs[j]
        found_left.append(left / whole)
        left += (masses[j + 1] - masses[j]) * (a * high).exp()
        near = edges[j].max(edges[j + 1].min(-mu)) + mu
        rise = logs[j + 1] if a + 1 >= 0 else logs[j]
        sups.append(lead * (-near * near / 2 + (a + 1) * rise).exp())
    best, cuts = arb(0), []
    for j in range(count - 1, -1, -1):
        best = best.max(sups[j])
        cuts.append((float_up(found_left[j]), float_up(many * best)))
    return cuts


def _variance(factor: ByParts, c: arb) -> arb:
    """Return an upper bound on the variance of L under the tilted law, by M at c and c ± η."""
    with precision(160):
        middle = float(c.mid())
        wide = 1e-3 * max(middle, 1e-3)
        logs = [factor.log_m(middle + d, 1) for d in (-wide, 0.0, wide)]
        rough = max((logs[0] - 2 * logs[1] + logs[2]) / wide**2, 1e-30)
        eta = arb(min(0.3 / math.sqrt(rough), max(middle, 1.0)))
        mean = arb((logs[2] - logs[0]) / (2 * wide))
        here = factor.value(c)
        up, down = factor.value(c + eta), factor.value(c - eta)
        value = ((-eta * mean).exp() * up + (eta * mean).exp() * down - 2 * here) / (eta * eta * here)
        return value.upper()
