"""Subsampled Gaussian noise and bounded noise together on a Poisson sample: the transform, and its decay.

Let T be the loss of what is bounded, of law R under Q, and ζ(u) = 1 − p + p e^{μu − μ²/2} the odds of the
Gaussian noise, which is on a sample of its own, of rate p. Together they have the odds z = 1 − q + q e^T ζ,
so that H(a) = E_R ∫ φ(u) z^a du.

For each T, z is a number above 0 and a multiple of e^{μu}, as for Gaussian noise alone: in the strip
0 ≤ y < πσ, 0 ≤ arg z(u + iy) ≤ y/σ and cos(y/2σ) z(u) ≤ |z(u + iy)| ≤ z(u). So what `fourier.shifted_line`
proves holds for each T, and for the mean over R. At each node u of that line, T is added up, or, for Laplace
noise, integrated over panels of the real line (`fourier.sampled_laplace`), where ln ζ is a constant.
"""

import itertools
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from flint import acb, arb, ctx

from dpaccount.cached import cached_property
from dpaccount.numerics.fourier import exponential_sums, sampled_laplace
from dpaccount.numerics.fourier.sampled_gaussian import FLOAT_BITS, FLOATS, TiltedSample, float_up
from dpaccount.numerics.fourier.shifted_line import Number, ShiftedLine
from dpaccount.numerics.fourier.transforms import blurred, float_odds, log_mean
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.sampled_mixed import SampledMixedTransform, with_laplace
from dpaccount.numerics.work_budget import OutOfReach, affordable, as_rate, bearable, log_rest, spend

STRIP = 0.6  #: of the room that the argument of ζe^t has below π, the height of ellipses around panels
LOSS_CELLS = 64  #: of T in a bound by parts
PHASE_BITS = 31  #: bits of a contour that its phases need, but not the quadratures
MOST_POWER = 150  #: times μ, of contours
ONE_IN = 16  #: nodes shows how many points there are
SUMMED = 2000  #: points, together: their powers take memory
MOST_POINTS = 300_000  #: in floats


@dataclass(frozen=True)
class SampledNestedTransform(SampledMixedTransform):
    """Gaussian noise of μ² = `mu2` on a sample of rate `own`, and bounded noise, on a sample of rate `rate`.

    What is bounded are the finite losses `inner` and Laplace noise of largest `loss`, 0 where there is none.
    """

    own: Fraction = field(kw_only=True)
    costly = True
    decay_bits: ClassVar[int] = 36
    variance_bits: ClassVar[int] = 60

    def line(self, a: arb) -> "_TiltedNested":
        """Return φ z^a, as it is needed at τ = 0."""
        return _TiltedNested(self, a)

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s), by quadrature in floats."""
        a = self.power(s)
        if abs(a) * max(1.0, math.sqrt(self.mu2)) > MOST_POWER:  # a line would take too many nodes
            return math.inf
        left, right = (2 ** math.ceil(math.log2(1 + abs(end))) for end in (min(a, 0.0), max(a, 0.0)))
        try:
            log_mass, log_z, excess = _float_points(replace(self, added=False), left, right)
        except OutOfReach:  # so far out that too many nodes would matter
            return math.inf
        import numpy as np

        power = a * log_z
        if power.max() < 30:
            return count * log_mean(a, np.exp(log_mass), log_z, excess)
        top = (power + log_mass).max()  # masses may be too small for floats where powers are large
        return count * float(top + np.log(np.exp(power + log_mass - top).sum()))

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count; adding a unit mirrors the line, so it is conjugated."""
        most, bits = float_up(h * (count - 1)), self._shown(ctx.prec)
        law = _TiltedNested(self, self.power(c), most, bits)
        with precision(bits):
            line = ShiftedLine.shifted(law)
        some = [acb(line.first + j * line.step, line.shift) for j in range(0, line.size, ONE_IN)]
        many = ONE_IN * sum(len(law.terms(u)) for u in some)  # points, about: others may do with the work
        affordable(many * (2 + math.sqrt(count) / 5) + exponential_sums.work(many, ctx.prec) * count)
        points, error = line.points(), line.error()
        rows = [
            exponential_sums.along(points[k : k + SUMMED], h, count) for k in range(0, len(points), SUMMED)
        ]
        found = [blurred(sum(column, acb(0)), error) for column in zip(*rows, strict=True)]
        return [value.conjugate() for value in found] if self.added else found

    def work(self, c: float, bits: int) -> float:
        """Return roughly how many steps of work one node on Re s = c takes."""
        shown = self._shown(bits)
        with precision(shown):
            size = ShiftedLine.shifted(self.tilted(arb(c))).size
        each = 1 + math.ceil(self.loss) * (40 + shown // 4)
        return exponential_sums.work(size * len(self.bounded()) * each, bits)

    def _shown(self, bits: int) -> int:
        """Return how many of so many bits the quadratures must show."""
        return min(bits, max(self.decay_bits, bits - PHASE_BITS))

    def by_parts(self, c: arb) -> list[tuple[float, float]]:
        """Return (1 − p_b, V_b), rounded up, for candidate cuts b: cells of u and T bound by their corners.

        For each T by itself what `SampledDecay` says of Gaussian noise holds: with v = μu − μ²/2 and
        ℓ′ = μqp e^{T+v}/z, f = φ z^{a+1} e^{−v−T}/(μqp) and (log f)′ = −u − μ + (a+1)μs(u), s logistic; so
        V_b = E_R m sup_{u≥b} f. In floats, with a margin for their errors.
        """
        import numpy as np

        with precision(FLOAT_BITS):
            power = self.power(c)
            whole = float(self.whole(power).log().lower())
        a, mu, q, own = float(power.mid()), math.sqrt(self.mu2), as_rate(self.rate), as_rate(self.own)
        least, most, mass = self._cells_of_loss()
        end = max(a * mu, 0.0) + 12.0
        u = np.linspace(-12.0, end, min(900, int((end + 12.0) / 0.04)) + 1)
        spend(len(u) * len(mass) / FLOATS)
        losses = np.logaddexp(log_rest(self.own), math.log(own) + u * mu - mu * mu / 2)  # ln ζ
        rest = log_rest(self.rate)
        logs_low, logs_high = (
            np.logaddexp(rest, math.log(q) + np.add.outer(t, losses)) for t in (least, most)
        )
        rise, fall = logs_high[:, 1:], logs_low[:, :-1]
        low, high, width = u[:-1], u[1:], u[1] - u[0]
        bells = -(np.clip(0.0, low, high) ** 2) / 2 - math.log(2 * math.pi) / 2 - whole  # logs of the most φ
        first = max(a * float(logs_high[:, 0].max()), a * rest) - 72.0 - whole  # Φ(−12) < e^−72
        left = mass @ np.exp(np.minimum(bells + a * (rise if a >= 0 else fall), 700.0))
        rests = math.exp(min(first, 700.0)) + width * (np.cumsum(left) - left)
        far = -((np.clip(-mu, low, high) + mu) ** 2) / 2 + mu * mu - math.log(2 * math.pi) / 2 - whole
        far -= math.log(mu) + math.log(q) + math.log(own)  # of φ e^{−v}/μqp
        sups = far - least[:, None] + (a + 1) * (rise if a + 1 >= 0 else fall)
        best = np.maximum.accumulate(sups[:, ::-1], axis=1)[:, ::-1]
        many = 2 if a + 1 <= 0 or (a + 1) * mu * mu / 4 < 1 - 1e-9 else 4
        largest = float(max(np.abs(logs_low).max(), np.abs(logs_high).max()))
        slack = 1 + 1e-9 + 1e-13 * (abs(a) + 1) * largest
        totals = slack * many * (mass @ np.exp(np.minimum(best, 700.0)))
        return list(zip(slack * rests, totals, strict=True))

    def float_losses(self) -> tuple[Any, Any]:
        """Return the finite losses under Q with their masses."""
        import numpy as np

        with precision(FLOAT_BITS):
            found = self.bounded()
        return np.array([float(t) for t in found]), np.array([float(mass.mid()) for mass in found.values()])

    def _cells_of_loss(self) -> tuple[Any, Any, Any]:
        """Return the least and the largest T of each cell, and its mass."""
        import numpy as np

        at, mass = self.float_losses()
        loss = float(self.loss)
        if not loss:
            return at, at, mass
        edges = np.linspace(-loss, loss, max(4, LOSS_CELLS // len(at)) + 1)
        falls = np.exp(-(loss + edges) / 2) / 2
        least = np.concatenate([[-loss, loss], edges[:-1]])
        most = np.concatenate([[-loss, loss], edges[1:]])
        own = np.concatenate([[0.5, math.exp(-loss) / 2], falls[:-1] - falls[1:]])
        least, most = (np.add.outer(at, t).ravel() for t in (least, most))
        return least, most, np.multiply.outer(mass, own).ravel()


@dataclass(frozen=True)
class _TiltedNested(TiltedSample):
    """The integrand E_R φ z^{a + iτ} of H, for 0 ≤ τ ≤ `most`.

    What `TiltedSample` proves of nodes that are left out needs log z where it is largest, at the largest T.
    """

    factor: SampledNestedTransform
    most: float = 0.0
    bits: int = 0  #: that the quadrature over T shows at least; 0: those of the moment

    def own_loss(self, u: Number) -> Number:
        """Return ln ζ."""
        mu = ball(self.mu2).sqrt()
        return (ball(self.factor.own) * (u * mu - mu * mu / 2).expm1()).log1p()

    def log_z(self, u: Number) -> Number:
        """Return log z at the largest T."""
        return self._on_sample(ball(self.factor.most()) + self.own_loss(u))

    def _on_sample(self, loss: Number) -> Number:
        return (ball(self.factor.rate) * loss.expm1()).log1p()

    @cached_property
    def _wanted(self) -> float:
        """Return the log of the error that is wanted of each integral over T."""
        single = replace(self.factor, added=False)
        return single.log_m(float(self.a.mid()) - 1, 1) - (self.bits or ctx.prec) * math.log(2)

    def terms(self, u: Number) -> list[tuple[Number, Number]]:
        """Return √(2π)·φ z^a and log z for each T, or each node of its quadrature, and the error of that."""
        bell, own, found = (-u * u / 2).exp(), self.own_loss(u), []
        for at, mass in self.factor.bounded().items():
            found += self._given(bell * mass, ball(at) + own)
        return found

    def _given(self, weight: Number, moved: Number) -> list[tuple[Number, Number]]:
        """Return the terms of Laplace noise, if there is any, beside a loss of `moved`."""
        spend()
        if not self.factor.loss:
            log_z = self._on_sample(moved)
            return [(weight * (self.a * log_z).exp(), log_z)]
        loss, found = ball(self.factor.loss), list[tuple[Number, Number]]()
        for t, mass in ((-loss, arb(1) / 2), (loss, (-loss).exp() / 2)):
            log_z = self._on_sample(t + moved)
            found.append((weight * mass * (self.a * log_z).exp(), log_z))
        wanted = self._wanted - float(abs(weight).log().mid())
        if not math.isfinite(wanted):
            raise OutOfReach("no error of a quadrature is known to be small enough")
        noise = sampled_laplace.SampledNoise(ball(self.factor.rate), loss, acb(moved))
        panels = sampled_laplace.bounded(noise, self.a, self._sides(noise), self.most, wanted)
        points, error = sampled_laplace.along(noise, self.a, [_rounded(panel) for panel in panels])
        found.append((blurred(weight * 0, abs(weight) * error), moved * 0))
        for value, log_z in points:
            real = isinstance(moved, arb)
            found.append((weight * value.real, log_z.real) if real else (weight * value, log_z))
        return found

    def _sides(self, noise: sampled_laplace.SampledNoise) -> list[sampled_laplace.Side]:
        """Return panels of the real line, with ellipses on which ζe^t stays off the negative numbers.

        Their height is a choice: on high ones |z^{iτ}| grows, on low ones the error falls slowly.
        """
        size, turned = (float(part.mid()) for part in (noise.moved.real, noise.moved.imag))
        loss = float(self.factor.loss)
        odds = math.exp(max(-600.0, min(size + loss, 600.0)))
        share = 1 / (1 + (1 / as_rate(self.factor.rate) - 1) / odds)

        def nodes(choice: tuple[int, float]) -> float:
            count, height = choice
            grown = self.most * share * max(0.0, height - turned) + ctx.prec
            return count * (3 + grown / math.asinh(height * count / loss))

        heights = [STRIP * (math.pi - turned) * 0.75**step for step in range(12)]
        least = math.ceil(self.factor.loss)
        bearable(least, sampled_laplace.MOST_NODES)
        count, height = min(((n * least, y) for n in (1, 2, 4) for y in heights), key=nodes)
        half = noise.loss / count
        rho = math.exp(math.asinh(height * count / loss))
        edges = [acb(2 * j * half - noise.loss) for j in range(count + 1)]
        return [(ends, rho) for ends in itertools.pairwise(edges)]


def _rounded(panel: sampled_laplace.Panel) -> sampled_laplace.Panel:
    """Return the panel with one of few numbers of nodes: each number has its own rule."""
    side, largest, count = panel
    grain = max(1, 2 ** (count.bit_length() - 4))
    return side, largest, -(-count // grain) * grain


@lru_cache(maxsize=16)
def _float_points(factor: SampledNestedTransform, left: int, right: int) -> Any:
    """Return the logs of float weights, ln z and z − 1, for powers from −left to right."""
    import numpy as np

    mu, q, own, loss = math.sqrt(factor.mu2), as_rate(factor.rate), as_rate(factor.own), float(factor.loss)
    at, mass = factor.float_losses()
    if loss:
        bearable(loss, sampled_laplace.MOST_NODES)
        at, mass = with_laplace(at, mass, loss, max(1, math.ceil(2 * loss)))
    turn = (math.log(1e-3) - math.log(q) - math.log(own) + mu * mu / 2 - float(factor.most())) / mu
    low, high, step = -9.0 - min(left * mu, max(0.0, -turn) + 1), 9.0 + right * mu, min(0.1, 0.5 / mu)
    bearable((high - low) / step * len(at), MOST_POINTS)
    u = np.linspace(low, high, int((high - low) / step) + 2)
    bell = -u * u / 2 + math.log((u[1] - u[0]) / math.sqrt(2 * math.pi))
    noise, _ = float_odds(u * mu - mu * mu / 2, own)
    return np.add.outer(np.log(mass), bell).ravel(), *float_odds(np.add.outer(at, noise).ravel(), q)
