"""Units on Poisson samples of Gaussian noise: mixtures of shifted Gaussians (docs/numerics.md).

Each of k units is in the sample with probability q and moves the noisy value by at most μ.  With `there` of
them in one dataset alone and `gone` in the other alone, the worst vectors lie on one line, and the pair is
P = Σ_i w_i N(iμ, 1) and Q = Σ_j w'_j N(−jμ, 1) with binomial weights (Ganesh 2024, where gone = 0).

Where all are in one dataset there is a transform, with a proved decay.  Where they are drawn the odds of the
noise u are z(u) = Σ w_i e^{iμu − i²μ²/2}, w_i binomial, a polynomial in
x = e^{μu}.  That of (1 − q + qx)^k has real roots alone, and e^{−i²μ²/2} is a multiplier sequence (Laguerre;
Pólya & Schur 1914), so that z has real roots too, all below 0: z = (1 − q)^k Π(1 + x/r_j), r_j > 0.  In the
strip 0 ≤ y < πσ each factor has its argument in [0, π) and cos(y/2σ) times its real value as its least size:
0 ≤ arg z(u + iy), and cos(y/2σ)^k z(u) ≤ |z(u + iy)| ≤ z(u), so that the quadrature of one unit
(`fourier.sampled_gaussian`) serves here, with k·min(a, 0) in place of min(a, 0).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import acb_poly, arb, arb_poly, ctx

from dpaccount.numerics.fourier.sampled_gaussian import OnLine, TiltedSample, float_up, normal
from dpaccount.numerics.fourier.shifted_line import Number
from dpaccount.numerics.fourier.transforms import log_integral
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.work_budget import OutOfReach, as_rate, kept, spend

#: deviations beyond which no threshold is sought: only the tails are left there
MAX_DEVIATIONS = 2.0**30
NEWTON_WIDTH = 1e-7  #: relative width at which Newton's method takes over from bisection
STEPS = 80  #: of Newton's method, from a start in floats; it needs a few
DECAY_CELLS = 900  #: of u in one decay, at most
MOST_BITS = 1 << 17  #: units × bits beyond an answer's: roots that lie nearer take minutes to isolate


@dataclass(frozen=True)
class SampledMixture:
    """The pair of `there` units against `gone` others on a Poisson sample of `rate`; `mu2`: μ² of each."""

    rate: Fraction
    mu2: Fraction
    there: int
    gone: int

    def moment_bound(self, s: arb) -> arb:
        """Return an upper bound on M(s), s > 0: P^{1+s} Q^{−s} is jointly convex."""
        mu2, found = ball(self.mu2), arb(0)
        for i, here in enumerate(self.weights(self.there)):
            for j, other in enumerate(self.weights(self.gone)):
                found += here * other * (s * (s + 1) * (i + j) ** 2 * mu2 / 2).exp()
        return found

    def weights(self, units: int) -> list[arb]:
        """Return the chances that 0, 1, … of so many units are in the sample."""
        return _weights(self.rate, units, ctx.prec)

    def delta(self, t: Fraction) -> arb:
        """Return δ(t) at any real t, at the precision of the moment.

        The loss rises along the line, so that P exceeds e^t·Q right of where it is t.
        """
        mu, at = ball(self.mu2).sqrt(), ball(t)
        low, high = self._threshold(t)
        here, other = self.weights(self.there), self.weights(self.gone)

        def mass(x: arb, weights: list[arb], step: arb, sign: int) -> arb:
            """Return the mass right of x (sign 1), or left of it, of a mixture of N(i·step, 1)."""
            return sum(
                (w * (sign * (x - i * step) / arb(2).sqrt()).erfc() / 2 for i, w in enumerate(weights)),
                arb(0),
            )

        if high is None:  # the loss stays below t as far as is looked
            return arb(0).union(mass(_required(low), here, mu, 1))
        if low is None:
            return -at.expm1() + at.exp() * arb(0).union(mass(high, other, -mu, -1))
        x = low.union(high)
        if t >= 0:
            return mass(x, here, mu, 1) - at.exp() * mass(x, other, -mu, 1)
        # Left of 0 by the complement: both masses right of x are near 1 there, and their difference would
        # cancel.
        return -at.expm1() + at.exp() * mass(x, other, -mu, -1) - mass(x, here, mu, -1)

    def _threshold(self, t: Fraction) -> tuple[arb | None, arb | None]:
        """Return x on either side of where the loss is t, proved; None beyond `MAX_DEVIATIONS`."""
        if self._surely(MAX_DEVIATIONS, t) < 0:
            return arb(MAX_DEVIATIONS), None
        if self._surely(-MAX_DEVIATIONS, t) > 0:
            return None, arb(-MAX_DEVIATIONS)
        x, bits = arb(self._estimate(float(t))), ctx.prec
        for _ in range(STEPS):
            loss, slope = self._loss(x)
            step = ((loss - ball(t)) / slope).mid() if slope > 0 else arb(0)
            x = (x - step).mid()
            if abs(step) < abs(x) * arb(2) ** (-bits // 2) + arb(2) ** (-bits // 2):
                break
        reach = arb(2) ** (8 - bits) * (1 + abs(x))
        while reach < MAX_DEVIATIONS:
            if self._surely(x - reach, t) < 0 < self._surely(x + reach, t):
                return x - reach, x + reach
            reach *= 4
        return arb(-MAX_DEVIATIONS), arb(MAX_DEVIATIONS)

    def _surely(self, x: arb | float, t: Fraction) -> int:
        """Return the sign of loss − t at x; 0 where the precision does not tell."""
        apart = self._loss(arb(x))[0] - ball(t)
        return 1 if apart > 0 else -1 if apart < 0 else 0

    def _loss(self, x: arb) -> tuple[arb, arb]:
        """Return the loss at x and its slope there."""
        mu = ball(self.mu2).sqrt()
        there, up = log_mixture(self.rate, self.mu2, self.there, (mu * x).exp())
        gone, down = log_mixture(self.rate, self.mu2, self.gone, (-mu * x).exp())
        return there - gone, mu * (up + down)

    def _estimate(self, t: float) -> float:
        """Return about where the loss is t, by bisection in floats."""
        mu, q = math.sqrt(self.mu2), as_rate(self.rate)
        logit = math.log(q) - math.log1p(-q)
        fixed = [
            [math.log(math.comb(n, i)) + i * logit - (i * mu) ** 2 / 2 for i in range(n + 1)]
            for n in (self.there, self.gone)
        ]
        apart = (self.there - self.gone) * math.log1p(-self.rate) - t

        def log_sum(terms: list[float], at: float) -> float:
            logs = [term + i * at for i, term in enumerate(terms)]
            top = max(logs)
            return top + math.log(sum(math.exp(each - top) for each in logs))

        low, high = -MAX_DEVIATIONS, MAX_DEVIATIONS
        for step in range(STEPS):
            middle = (low + high) / 2 if step > 3 else (-16.0, 16.0, -256.0, 256.0)[step]
            if low < middle < high:
                below = log_sum(fixed[0], mu * middle) - log_sum(fixed[1], -mu * middle) + apart < 0
                low, high = (middle, high) if below else (low, middle)
            if high - low < NEWTON_WIDTH * (1 + abs(low)):
                break
        return (low + high) / 2


def _required(x: arb | None) -> arb:
    if x is None:
        raise ValueError("a threshold has one end at least")
    return x


def log_mixture(rate: Fraction, mu2: Fraction, units: int, odds: arb) -> tuple[arb, arb]:
    """Return ln Σ w_i odds^i e^{−i²μ²/2}, and the mean of i under these terms, all positive."""
    terms, slopes = mixture_terms(rate, mu2, units, ctx.prec)
    total = terms(odds)
    return total.log(), odds * slopes(odds) / total


@kept(64)
def _weights(rate: Fraction, units: int, bits: int) -> list[arb]:
    with precision(bits):
        q = ball(rate)
        return [math.comb(units, i) * q**i * (1 - q) ** (units - i) for i in range(units + 1)]


@kept(64)
def mixture_terms(rate: Fraction, mu2: Fraction, units: int, bits: int) -> tuple[arb_poly, arb_poly]:
    """Return the polynomial Σ w_i e^{−i²μ²/2} x^i, and its derivative."""
    with precision(bits):
        weights = _weights(rate, units, bits)
        whole = arb_poly([w * (-i * i * ball(mu2) / 2).exp() for i, w in enumerate(weights)])
        return whole, whole.derivative()


@dataclass(frozen=True)
class SampledUnitsTransform(OnLine):
    """`units` units of μ² = `mu2` each, removed from a Poisson sample of rate `rate`, or `added`."""

    mu2: Fraction
    units: int

    @property
    def reach(self) -> arb:
        """Return kμ, a bound on the slope of the loss."""
        return self.units * ball(self.mu2).sqrt()

    def most_tilt(self) -> float:
        """Return a c whose shift of u by c·kμ is large."""
        return 3000 / min(1.0, float(self.reach.mid()))

    def line(self, a: arb) -> "_TiltedUnits":
        """Return φ z^a."""
        return _TiltedUnits(self, a)

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s), by the trapezoid rule in floats."""
        return count * _float_log(self.rate, self.mu2, self.units, self.power(s))

    def by_parts(self, c: arb) -> list[tuple[float, float]]:
        """Return (1 − p_b, V_b), rounded up, for candidate cuts b (`sampled_gaussian.SampledDecay`).

        With g the tilted density and f = g/ℓ′, ℓ = log z: ℓ′ = μΣp_j rises to kμ, p_j logistic, and
        ℓ″ ≤ μℓ′.
        So V_b = f(b) + ∫_b |f′| ≤ (g(b) + ∫_b g·(|u| + |a|kμ) du + μ)/ℓ′(b), cell by cell; beyond the last
        one g falls at least as fast as at its end.
        """
        line = self.line(self.power(c))
        whole, move = line.whole(), line.a * self.reach
        start, end = -12.0, max(float(move.upper()), 0.0) + 12.0
        count = int(min(DECAY_CELLS, (end - start) / 0.04))
        edges = [arb(start) + (arb(end) - start) * j / count for j in range(count + 1)]
        weights = [(line.a * line.log_z(u)).exp() / whole for u in edges]
        masses = [normal(u) for u in edges]
        cells = [(masses[j + 1] - masses[j]) * weights[j].max(weights[j + 1]) for j in range(count)]
        rests = [masses[0] * (weights[0] if line.a >= 0 else (line.a * line.least()).exp() / whole)]
        for cell in cells:
            rests.append(rests[-1] + cell)
        room = edges[-1] - move.max(arb(0))
        last = weights[-1] * (-edges[-1] * edges[-1] / 2).exp()  # √(2π) times g, at most
        varied, cuts = last * ((edges[-1] + abs(move)) / room + 1 / room**2), []
        for j in range(count - 1, -1, -1):
            varied += cells[j] * (abs(edges[j]).max(abs(edges[j + 1])) + abs(move))
            here = weights[j] * (-edges[j] * edges[j] / 2).exp()
            mu = ball(self.mu2).sqrt()
            steep = mu * log_mixture(self.rate, self.mu2, self.units, (mu * edges[j]).exp())[1]
            cuts.append((float_up(rests[j]), float_up((here + varied + mu) / steep)))
        return cuts


@dataclass(frozen=True)
class _TiltedUnits(TiltedSample):
    """The integrand φ z^{a + iτ} of H."""

    factor: SampledUnitsTransform

    def log_z(self, u: Number) -> Number:
        """Return log z(u), of each factor by itself."""
        odds, spent = (ball(self.mu2).sqrt() * u).exp(), self.least()
        spend(self.factor.units)
        factors = _inverse_roots(self.factor.rate, self.mu2, self.factor.units, ctx.prec)
        return sum(((odds * root).log1p() for root in factors), spent)


@kept(64)
def _inverse_roots(rate: Fraction, mu2: Fraction, units: int, bits: int) -> list[arb]:
    """Return 1/r_j of all factors 1 + x/r_j, isolated one by one; raises `OutOfReach` where they are not."""
    for more in (units * 16, units * 64, units * 256):
        if units * more > MOST_BITS:
            break
        with precision(bits + more):
            terms = mixture_terms(rate, mu2, units, bits + more)[0]
            try:
                roots = acb_poly(terms).roots(tol=arb(2) ** -(bits + 64))
            except ValueError:
                continue
            if len(roots) == units and all(root.imag.contains(0) and root.real < 0 for root in roots):
                return [-1 / root.real for root in roots]  # isolated and conjugate: real
    raise OutOfReach("the roots of a mixture are too near to each other")


@lru_cache(maxsize=1 << 14)
def _float_log(rate: Fraction, mu2: Fraction, units: int, a: float) -> float:
    """Return an estimate of log H(a)."""
    reach = units * math.sqrt(float(mu2))
    left, right = (2 ** math.ceil(math.log2(1 + max(side, 0.0) * reach)) for side in (-a, max(a, 1.0)))
    u, weight, logs, excess = _float_grid(rate, mu2, units, left, right)
    return log_integral(u, weight, a * logs, (a, excess))


@lru_cache(maxsize=64)
def _float_grid(rate: Fraction, mu2: Fraction, units: int, left: int, right: int) -> Any:
    """Return float quadrature points, their weights, log z and z − 1, for a law moved left and right."""
    import numpy as np

    mu, q = math.sqrt(float(mu2)), as_rate(rate)
    step = min(0.1, 0.5 / (units * mu))
    turn = (math.log(1e-3 * (1 - q) / (q * units)) + mu * mu / 2) / mu  # left of it z ≈ (1 − q)^k
    low, high = -9.0 - min(left, max(0.0, -turn) + 1), 9.0 + right
    u = np.linspace(low, high, min(int((high - low) / step) + 2, 200_001))
    weight = np.exp(-u * u / 2) * (u[1] - u[0]) / math.sqrt(2 * math.pi)
    excess, logs = np.zeros_like(u), np.full_like(u, -np.inf)
    for i in range(units + 1):
        log = math.log(math.comb(units, i)) + i * math.log(q) + (units - i) * math.log1p(-q)
        move = i * mu * u - (i * mu) ** 2 / 2
        excess += math.exp(log) * np.expm1(np.minimum(move, 600))
        logs = np.logaddexp(logs, log + move)
    near = (logs > -0.5) & (logs < 300)  # where the excess has more digits
    return u, weight, np.where(near, np.log1p(np.clip(excess, -0.5, 1e200)), logs), excess
