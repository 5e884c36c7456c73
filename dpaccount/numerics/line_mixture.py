"""Two mixtures of unit Gaussians on a line, those of P moved right and those of Q left: their curve.

Their loss ln Σ w_i e^{a_i x − a_i²/2} − ln Σ v_j e^{−b_j x − b_j²/2}, a_i, b_j ≥ 0, rises along the line, so
that P exceeds e^t·Q right of where it is t.
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction

from flint import arb, ctx

from dpaccount.numerics.intervals import ball
from dpaccount.numerics.work_budget import spend

#: deviations beyond which no threshold is sought: only the tails are left there
MAX_DEVIATIONS = 2.0**30
DISTANT = 2.0**20  #: deviations from which on it is first asked whether there is a threshold
NEWTON_ERROR = 1e-13  #: relative error at which balls take over from floats
STEPS, FLOAT_STEPS = 80, 12  #: of Newton's method, which needs a few
Law = list[tuple[arb, arb]]  #: (weight, move) of the parts


class LineMixture(ABC):
    """A pair of such mixtures."""

    @abstractmethod
    def laws(self) -> tuple[Law, Law]:
        """Return (weight, move) of the parts of P, and of Q, where moves are at most 0."""

    def loss(self, x: arb) -> tuple[arb, arb]:
        """Return the loss at x and its slope there."""
        there, gone = (log_sum(law, x) for law in self.laws())
        return there[0] - gone[0], there[1] - gone[1]

    def moment_bound(self, s: arb) -> arb:
        """Return an upper bound on M(s), s > 0, in both directions: P^{1+s} Q^{−s} is jointly convex."""
        here, other = self.laws()
        parts = (w * v * (s * (s + 1) * (m - n) ** 2 / 2).exp() for w, m in here for v, n in other)
        return sum(parts, arb(0))

    def delta(self, t: Fraction) -> arb:
        """Return δ(t) at any real t, at the precision of the moment."""
        at = ball(t)
        low, high = self._threshold(t)
        here, other = self.laws()

        def mass(x: arb, law: Law, sign: int) -> arb:
            """Return the mass right of x (sign 1), or left of it, of a mixture."""
            return sum((w * (sign * (x - m) / arb(2).sqrt()).erfc() / 2 for w, m in law), arb(0))

        if high is None:  # the loss stays below t as far as is looked
            return arb(0).union(mass(_required(low), here, 1))
        if low is None:
            return -at.expm1() + at.exp() * arb(0).union(mass(high, other, -1))
        x = low.union(high)
        if t >= 0:
            return mass(x, here, 1) - at.exp() * mass(x, other, 1)
        # Left of 0 by the complement: both masses right of x are near 1 there, and their difference would
        # cancel.
        return -at.expm1() + at.exp() * mass(x, other, -1) - mass(x, here, -1)

    def _threshold(self, t: Fraction) -> tuple[arb | None, arb | None]:
        """Return x on either side of where the loss is t, proved; None beyond `MAX_DEVIATIONS`."""
        at, bits = self._estimate(float(t)), ctx.prec
        if abs(at) > DISTANT and self._surely(MAX_DEVIATIONS, t) < 0:
            return arb(MAX_DEVIATIONS), None
        if abs(at) > DISTANT and self._surely(-MAX_DEVIATIONS, t) > 0:
            return None, arb(-MAX_DEVIATIONS)
        x = arb(at)
        for _ in range(STEPS):
            loss, slope = self.loss(x)
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
        apart = self.loss(arb(x))[0] - ball(t)
        return 1 if apart > 0 else -1 if apart < 0 else 0

    def _estimate(self, t: float) -> float:
        """Return about where the loss is t, by bisection and Newton's method in floats."""
        there, gone = (
            [(float((w.log() - m * m / 2).mid()), float(m.mid())) for w, m in law] for law in self.laws()
        )

        def loss(at: float) -> tuple[float, float]:
            (top, up), (down, less) = (_float_sum(terms, at) for terms in (there, gone))
            return top - down, up - less

        low, high = -MAX_DEVIATIONS, MAX_DEVIATIONS
        for step in range(STEPS):
            middle = (low + high) / 2 if step > 3 else (-16.0, 16.0, -256.0, 256.0)[step]
            if low < middle < high:
                low, high = (middle, high) if loss(middle)[0] < t else (low, middle)
            if high - low < 1 + abs(low) / 4:
                break
        at = (low + high) / 2
        for _ in range(FLOAT_STEPS):
            found, slope = loss(at)
            if not slope > 0 or abs(t - found) < NEWTON_ERROR * slope * (1 + abs(at)):
                break
            at = min(max(at + (t - found) / slope, low), high)
        return at


def _float_sum(terms: list[tuple[float, float]], at: float) -> tuple[float, float]:
    """Return ln Σ e^{fixed + move·at}, and the mean of the moves under these terms."""
    if len(terms) == 1:
        return terms[0][0] + terms[0][1] * at, terms[0][1]
    logs = [fixed + move * at for fixed, move in terms]
    top = max(logs)
    masses = [math.exp(each - top) for each in logs]
    total = sum(masses)
    moved = sum(mass * move for mass, (_, move) in zip(masses, terms, strict=True))
    return top + math.log(total), moved / total


def _required(x: arb | None) -> arb:
    if x is None:
        raise ValueError("a threshold has one end at least")
    return x


def log_sum(law: Law, x: arb) -> tuple[arb, arb]:
    """Return ln Σ w e^{mx − m²/2}, and the mean of m under these terms, all positive."""
    spend(len(law))
    terms = [(w * (m * x - m * m / 2).exp(), m) for w, m in law]
    total = sum((term for term, _ in terms), arb(0))
    return total.log(), sum((term * m for term, m in terms), arb(0)) / total
