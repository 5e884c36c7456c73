"""A group of units on Poisson samples of Gaussian noise: mixtures of shifted Gaussians (docs/numerics.md).

Each of k units is in the sample with probability q and moves the noisy value by at most μ.  With `there` of
them in one dataset alone and `gone` in the other alone, the worst vectors lie on one line, and the pair is
P = Σ_i w_i N(iμ, 1) and Q = Σ_j w'_j N(−jμ, 1) with binomial weights (Ganesh 2024, where gone = 0).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_poly, ctx

from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.work_budget import as_rate, kept

#: deviations beyond which no threshold is sought: only the tails are left there
MAX_DEVIATIONS = 2.0**30
NEWTON_WIDTH = 1e-7  #: relative width at which Newton's method takes over from bisection
STEPS = 80  #: of Newton's method, from a start in floats; it needs a few


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
