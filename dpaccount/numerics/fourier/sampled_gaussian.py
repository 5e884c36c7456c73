"""The Poisson-subsampled Gaussian: its transform by shifted quadrature, and a proved decay of it.

With σ = 1/μ and z(u) = 1 − q + q e^{v}, v = u/σ − 1/(2σ²), everything is H(a) = ∫ φ(u) z(u)^a du: removing a
unit has M(s) = H(1 + s), adding one M(s) = H(−s) (Abadi et al. 2016; Mironov, Talwar & Zhang 2019; that
the pair dominates: Zhu, Dong & Wang 2022).
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

from flint import acb, arb, ctx

from dpaccount.forks import cached_property
from dpaccount.numerics import exponential_sums
from dpaccount.numerics.fourier.saddlepoint import SampledGaussians
from dpaccount.numerics.fourier.shifted_line import Number, ShiftedLine, Tilted
from dpaccount.numerics.fourier.transforms import (
    Counted,
    Decay,
    OnPoissonSample,
    Transform,
    log_integral,
)
from dpaccount.numerics.intervals import ball, ceil_of, precision
from dpaccount.numerics.work_budget import as_rate, kept, log_rest, spend

FloatParts = tuple[tuple[float, float], ...]  #: (log weight, move), by rising moves
LEAST_JOINT = 8  #: transforms that have a joint estimate
MOST_JOINT_MU2 = 16  #: of them
DEVIATIONS = 30.0  #: turns of a deviation beyond which the bound by parts will do
FLOATS = 200  #: exponentials of floats in a step of work
FLOAT_BITS = 100  #: of what becomes floats: rates near 1 lose fifty
DECAY_BITS = 64  #: of the nodes of a decay
FLOAT_ERROR = 1e-9  #: of M(c + it)/M(c) in a table
DECAY_SECONDS = 0.3  #: for the nodes of one decay (a rough estimate)


class ByParts(Transform):
    """Gaussian noise on a Poisson sample: its tilted law is that of a loss that grows with u."""

    mu2: Fraction
    slow_decay = True

    def line(self, a: arb) -> Tilted:
        """Return the integrand of H(a), or of M(a)."""
        raise NotImplementedError

    def whole(self, a: arb) -> arb:
        """Return its integral for real a."""
        if a.rad() == 0 and a.is_finite():
            mantissa, exponent = a.man_exp()
            return _kept_whole(self, int(mantissa), int(exponent), ctx.prec)
        return ShiftedLine.real(self.line(a)).total()

    def tilted(self, c: arb) -> Tilted:
        """Return the integrand of M on Re s = c."""
        raise NotImplementedError

    def by_parts(self, c: arb) -> list[tuple[float, float]]:
        """Return (1 − p_b, V_b), rounded up, for candidate cuts b (`SampledDecay`)."""
        raise NotImplementedError

    def most_tilt(self) -> float:
        """Return a c whose shift of u by c·μ is large."""
        return 3000 / min(1.0, math.sqrt(float(self.mu2)))

    def work(self, c: float, bits: int) -> float:
        """Return roughly how many steps of work one node on Re s = c takes."""
        with precision(bits):
            return exponential_sums.work(ShiftedLine.shifted(self.tilted(arb(c))).size, bits)

    def decay(self, c: arb, depth: float) -> Decay:
        """Return the proved decay along Re s = c, kept: it costs some ten milliseconds."""
        at_least = 2.0 ** math.ceil(math.log2(depth)) if depth > 0 else depth
        return _kept_decay(self, float(c.mid()), at_least)


@dataclass(frozen=True)
class OnLine(ByParts, OnPoissonSample):
    """A Poisson sample whose H(a) is an integral along the line of the noise, by quadrature."""

    units = 1  #: of μ² each, which are in the sample or not, each by itself

    def whole(self, a: arb) -> arb:
        """Return H(a) for real a, which both directions share."""
        return ByParts.whole(replace(self, added=False), a)

    def value(self, s: acb) -> acb:
        """Return M(s) for real s."""
        return self.whole(self.power(s))

    def tilted(self, c: arb) -> Tilted:
        """Return the integrand of M on Re s = c."""
        return self.line(self.power(c))

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count; adding a unit mirrors the line, so it is conjugated."""
        values = ShiftedLine.shifted(self.tilted(c)).along(h, count)
        return [value.conjugate() for value in values] if self.added else values


@dataclass(frozen=True)
class SampledGaussianTransform(OnLine):
    """The Gaussian pair of μ² = `mu2` on a Poisson sample of rate `rate`; `added`: the direction."""

    mu2: Fraction

    def line(self, a: arb) -> "TiltedSample":
        """Return φ z^a."""
        return TiltedSample(self, a)

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s), by the trapezoid rule in floats."""
        q, a = as_rate(self.rate), self.power(s)
        parts = (math.log1p(-q), 0.0), (math.log(q), math.sqrt(float(self.mu2)))
        return count * float_log(parts, a, max(a, 0.0))

    @classmethod
    def jointly(cls, parts: Counted) -> tuple[Callable[[float], float] | None, Counted]:
        """Return an estimate of log M(s) of many such transforms together, and those left over."""
        own = [(each, n) for each, n in parts if isinstance(each, cls) and each.bound()]
        if len(own) < LEAST_JOINT:
            return None, parts
        left = {each for each, _ in parts} - {each for each, _ in own}
        rest = tuple(part for part in parts if part[0] in left)
        return lru_cache(SampledGaussians(own).log_m), rest

    def family(self) -> Self:
        """Return the transform of another μ²: with that alone the law of z rises in convex order."""
        return replace(self, mu2=Fraction(1))

    def order(self) -> Fraction:
        """Return μ²."""
        return self.mu2

    def bound(self) -> float | None:
        """Return ∞ where squares are known."""
        return math.inf if type(self) is SampledGaussianTransform and self.mu2 <= MOST_JOINT_MU2 else None

    def deviation(self, c: float) -> float:
        """Return a bound on the deviation of L under the tilted law."""
        return _tabled(self, c)[2]

    def settled(self, c: float) -> float:
        """Return the frequency from which on the squares are those of the bound by parts."""
        return DEVIATIONS / _tabled(self, c)[2]

    def squares(self, c: float, t: Any) -> Any:
        """Return |M(c + it)/M(c)|² in floats, where they are settled the square of the bound by parts."""
        import numpy as np

        weights, logs, _ = _tabled(self, c)
        near = t[t < self.settled(c)]
        spend(len(near) * len(logs) / FLOATS)
        turns = np.multiply.outer(near, logs.real)  # e^{itℓ} by parts: complex underflow is slow
        sizes = np.exp(-np.minimum(np.multiply.outer(near, logs.imag), 300.0))
        first = np.abs((sizes * np.cos(turns)) @ weights + 1j * ((sizes * np.sin(turns)) @ weights))
        rests, totals = np.array(self.by_parts(arb(c))).T
        far = (rests[:, None] + totals[:, None] / t[len(near) :]).min(axis=0)
        return np.minimum(np.concatenate([first, far]), 1.0) ** 2

    def by_parts(self, c: arb) -> list[tuple[float, float]]:
        """Return (1 − p_b, V_b), rounded up, for candidate cuts b: cells of u, bounded by their ends.

        In floats, with a margin for their errors.
        """
        import numpy as np

        with precision(FLOAT_BITS):
            whole = float(self.whole(self.power(c)).log().lower())
        a, mu, q = float(self.power(c).mid()), math.sqrt(float(self.mu2)), as_rate(self.rate)
        # Cell by cell: Jensen's z^{a+1} ≤ 1 − q + q e^{(a+1)v} has a closed form, and cuts 10³ times too far.
        end = max(a * mu, 0.0) + 12.0
        u = np.linspace(-12.0, end, min(900, int((end + 12.0) / 0.04)) + 1)
        rest = log_rest(self.rate)
        logs = np.logaddexp(rest, math.log(q) + u * mu - mu * mu / 2)
        spend(len(u) / 20)
        low, high, width = u[:-1], u[1:], u[1] - u[0]
        bells = -(np.clip(0.0, low, high) ** 2) / 2 - math.log(2 * math.pi) / 2 - whole  # logs of the most φ
        first = max(a * logs[0], a * rest) - 72.0 - whole  # Φ(−12) < e^−72
        left = width * np.exp(np.minimum(bells + a * (logs[1:] if a >= 0 else logs[:-1]), 700.0))
        rests = math.exp(min(first, 700.0)) + np.cumsum(left) - left
        far = -((np.clip(-mu, low, high) + mu) ** 2) / 2 + mu * mu - math.log(mu * q)  # of φ e^{−v}/μq
        sups = far - math.log(2 * math.pi) / 2 - whole + (a + 1) * (logs[1:] if a + 1 >= 0 else logs[:-1])
        best = np.maximum.accumulate(sups[::-1])[::-1]
        pieces = 2 if a + 1 <= 0 or (a + 1) * mu * mu / 4 < 1 - 1e-9 else 4
        slack = 1 + 1e-9 + 1e-13 * float(np.abs((a + 1) * logs).max())  # exponentials of large logs err more
        return list(zip(slack * rests, slack * pieces * np.exp(np.minimum(best, 700.0)), strict=True))


@lru_cache(maxsize=1 << 14)
def float_log(parts: FloatParts, a: float, most: float) -> float:
    """Return an estimate of log H(a) for these parts, on a grid for powers up to `most`."""
    reach = parts[-1][1]
    left, right = (2 ** math.ceil(math.log2(1 + max(side, 0.0) * reach)) for side in (-a, most))
    u, weight, logs, excess = float_grid(parts, left, right)
    return log_integral(u, weight, a * logs, (a, excess))


@lru_cache(maxsize=64)
def float_grid(parts: FloatParts, left: int, right: int) -> Any:
    """Return float quadrature points, their weights, log z and z − 1, for a law moved left and right."""
    import numpy as np

    (least, first), *moved = parts
    step = min(0.1, 0.5 / parts[-1][1])
    # left of it z is nearly the weight of what does not move
    turns = ((math.log(1e-3 / len(moved)) + least - log + m * m / 2) / m for log, m in moved)
    turn = -math.inf if first else min(turns)
    low, high = -9.0 - min(left, max(0.0, -turn) + 1), 9.0 + right
    u = np.linspace(low, high, min(int((high - low) / step) + 2, 200_001))
    weight = np.exp(-u * u / 2) * (u[1] - u[0]) / math.sqrt(2 * math.pi)
    excess, logs = np.zeros_like(u), np.full_like(u, -np.inf)
    for log, m in parts:
        move = m * u - m * m / 2
        excess += math.exp(log) * np.expm1(np.minimum(move, 600))
        logs = np.logaddexp(logs, log + move)
    near = (logs > -0.5) & (logs < 300)  # where the excess has more digits
    return u, weight, np.where(near, np.log1p(np.clip(excess, -0.5, 1e200)), logs), excess


@dataclass(frozen=True)
class TiltedSample(Tilted):
    """The integrand φ z^{a + iτ} of H; of k units z has k factors 1 + x/r, x = e^{μu}.

    In the strip 0 ≤ y < πσ, 0 ≤ arg z(u + iy) and cos(y/2σ)^k z(u) ≤ |z(u + iy)| ≤ z(u).
    """

    factor: OnLine
    a: arb

    @property
    def low(self) -> arb:
        """Return k·min(a, 0)."""
        return self.factor.units * self.a.min(arb(0))

    def least(self) -> arb:
        """Return log (1 − q)^k, the infimum of log z."""
        return self.factor.units * (-ball(self.factor.rate)).log1p()

    @cached_property
    def _balls(self) -> dict[int, tuple[arb, arb, arb]]:
        """Return a place for μ, μ²/2 and q at each precision that is asked for."""
        return {}

    def log_z(self, u: Number) -> Number:
        """Return log z(u)."""
        known = self._balls.get(ctx.prec)
        if known is None:
            square = ball(self.mu2)
            known = self._balls[ctx.prec] = square.sqrt(), square / 2, ball(self.factor.rate)
        mu, half, q = known
        return (q * (u * mu - half).expm1()).log1p()

    def logs(self, u: Number) -> tuple[Number, Number]:
        """Return a·log z and log z."""
        log_z = self.log_z(u)
        return self.a * log_z, log_z

    def whole(self) -> arb:
        """Return H(a)."""
        return self.factor.whole(self.a)

    def tails(self, left: arb, right: arb) -> arb:
        """Return a bound on the sum over the nodes left out on a real line, both sides.

        Left, φ rises and (a ≥ 0) z^a ≤ z(u₀)^a; right of u₁ > ak/σ, log(φ z^a) has slope at most ak/σ − u₁.
        For a < 0: z^a ≤ (1 − q)^{ka}.
        """
        if self.a >= 0:
            room = right - self.a * self.factor.units * ball(self.mu2).sqrt()
            if not (room > 0 and left < 0):
                return arb.pos_inf()
            return self.before(left) + self.density(right) / room
        if not (self.a < 0 and left < 0 and right > 0):
            return arb.pos_inf()
        return self.before(left) + (self.a * self.least()).exp() * normal(-right)

    def before(self, left: arb) -> arb:
        """Return a bound on ∫ φz^a left of a point below 0."""
        return (self.a * (self.log_z(left) if self.a >= 0 else self.least())).exp() * normal(left)

    def peaks(self) -> tuple[float, float, float]:
        """Return where φz^a rises first and falls last, and −log of the least z^a if a < 0."""
        a = float(self.a.mid())
        penalty = -min(a, 0.0) * self.factor.units * -log_rest(self.factor.rate)
        return 0.0, max(a, 0.0) * self.factor.units * math.sqrt(float(self.mu2)), penalty


def normal(x: arb) -> arb:
    """Return Φ(x)."""
    return (-x / arb(2).sqrt()).erfc() / 2


@kept(1 << 13)
def _kept_whole(factor: ByParts, mantissa: int, exponent: int, bits: int) -> arb:
    """Return the integral at mantissa·2^exponent and the precision of the moment, which is `bits`."""
    return ShiftedLine.real(factor.line(arb((mantissa, exponent)))).total()


@kept(32)
def _kept_decay(factor: ByParts, c: float, depth: float) -> "SampledDecay":
    return SampledDecay(factor, arb(c), depth)


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
        with precision(DECAY_BITS):
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
        return min(1.0, float((rest + total / t).min()) * (1 + 1e-12))  # up by more than floats err

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
            # The supremum over [A, 2A] alone: with that over all t ≥ A the cut came out 8 times too far at q
            # = 1e-5.
            # n·t ≥ A for n = ⌈A/t⌉, and n·t < A + t ≤ 2A
            window = max(self.cells[j : 2 * j + 1], default=1.0)
            if 2 * j + 1 > len(self.cells):
                window = max(window, self.suffix[-1])
            times = math.ceil(j * self.step / at * (1 + 1e-12))  # no quotient is rounded below a node
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


@kept(1 << 12)
def _tabled(factor: SampledGaussianTransform, c: float) -> Any:
    """Return weights and log z at the nodes of a shifted line, and a bound on the deviation of L.

    Where floats would err too much the weights are 1 at one node: then squares are 1.
    """
    import numpy as np

    with precision(40):
        line = ShiftedLine.shifted(factor.tilted(at := arb(c)))
    with precision(FLOAT_BITS):
        whole, found = factor.value(at), line.points()
        points = [(weight / whole, log) for weight, log in found]
        error = float_up(line.error() / whole + sum((abs(weight).rad() for weight, _ in points), arb(0)))
        weights, logs = (
            np.array([complex(float(x.real.mid()), float(x.imag.mid())) for x in row])
            for row in zip(*points, strict=True)
        )
    heavy = np.abs(weights) > FLOAT_ERROR / 10 / len(weights)
    weights, logs, error = weights[heavy], logs[heavy], error + FLOAT_ERROR / 10
    deviation = float_up(_variance(factor, at).sqrt())
    phase = 1e-14 + 1e-15 * DEVIATIONS / deviation * np.abs(logs).max()
    if not error + phase * np.abs(weights).sum() < FLOAT_ERROR:
        weights, logs = np.ones(1), np.zeros(1)
    return weights, logs, deviation


def _variance(factor: ByParts, c: arb) -> arb:
    """Return an upper bound on the variance of L under the tilted law, by M at c and c ± η."""
    middle = float(c.mid())
    wide = 1e-3 * max(middle, 1e-3)
    logs = [factor.log_m(middle + d, 1) for d in (-wide, 0.0, wide)]
    rough = max((logs[0] - 2 * logs[1] + logs[2]) / wide**2, 1e-30)
    slope = (logs[2] - logs[0]) / (2 * wide)

    def sides(eta: float) -> float:
        found = (factor.log_m(middle + d, 1) - logs[1] - d * slope for d in (-eta, eta))
        return sum(math.expm1(min(side, 700.0)) for side in found)

    most = min(0.3 / math.sqrt(rough), max(middle, 1.0))
    # M may explode beyond c: then a small η is better
    best = min((most / 4**k for k in range(5)), key=lambda eta: sides(eta) / eta**2)
    lost = -math.log2(min(max(sides(best), 1e-60), 1.0))  # bits, in the difference
    with precision(FLOAT_BITS + int(lost)):
        eta, mean = arb(best), arb(slope)
        here = factor.value(c)
        up, down = factor.value(c + eta), factor.value(c - eta)
        value = ((-eta * mean).exp() * up + (eta * mean).exp() * down - 2 * here) / (eta * eta * here)
        return value.upper()
