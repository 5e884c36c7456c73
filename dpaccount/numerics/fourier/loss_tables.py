"""Pairs with finitely many losses, whose transform is a sum, given or noise with a replaced row.

Few losses are counted one by one (`lattice.counted_losses`); many are summed on a contour here, once the
table is `summed`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

from flint import acb, arb, ctx

from dpaccount.cached import cached_property
from dpaccount.numerics.balls import ball, precision
from dpaccount.numerics.closed.sampling import shrunk
from dpaccount.numerics.fourier import exponential_sums
from dpaccount.numerics.fourier.sampled_laplace import SampledLaplaceFactor
from dpaccount.numerics.fourier.transforms import MANY_ATOMS, Factor
from dpaccount.numerics.work_budget import bearable, spend

Atoms = tuple[tuple[arb, arb], ...]  #: (loss, mass under P)


@dataclass(frozen=True)
class LossTable(Factor):
    """A pair with finitely many losses; `summed`: whether its transform is to be had, as a sum."""

    summed: bool = field(default=False, kw_only=True)

    @property
    def transform(self) -> bool:  # type: ignore[override]
        """Say whether the transform is to be summed."""
        return self.summed

    @property
    def listed(self) -> bool:
        """Say whether losses are few enough to be listed one by one."""
        return True

    def as_sum(self) -> Self:
        """Return the same pair with its transform."""
        return replace(self, summed=True)

    def losses(self) -> Atoms:
        """Return the finite losses, each with its mass under P, at the precision of the moment."""
        raise NotImplementedError

    def failing(self) -> Fraction:
        """Return the mass of P at an infinite loss."""
        return Fraction(0)

    def unfailing(self) -> "LossTable":
        """Return the table of the finite losses alone."""
        return self

    def infinite(self) -> arb:
        """Return that mass as a ball."""
        return ball(self.failing())

    def ceiling(self) -> arb | None:
        """Return the largest loss; None where some mass is at an infinite one."""
        if self.failing():
            return None
        return max((at for at, _ in _kept(self, ctx.prec)), key=lambda at: float(at.mid()))

    def value(self, s: acb) -> acb:
        """Return M(s)."""
        kept = _kept(self, ctx.prec)
        spend(2 * len(kept))
        return sum((mass * (s * at).exp() for at, mass in kept), s * 0)

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count."""
        points = [(mass * (c * at).exp(), at) for at, mass in _kept(self, ctx.prec)]
        return exponential_sums.along(points, h, count)

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s)."""
        import numpy as np

        at, mass, lost = _floats(self)
        power = s * at
        if np.abs(power).max() < 30:
            return float(count * np.log1p(mass @ np.expm1(power) - lost))
        top = power.max()
        return float(count * (top + np.log(mass @ np.exp(power - top) + 1e-300)))

    def work(self, c: float, bits: int) -> float:
        """Return roughly how many steps of work one node takes."""
        return exponential_sums.work(len(_kept(self, 64)), bits)

    def delta(self, t: Fraction) -> arb:
        """Return δ(t) = P(L = ∞) + E(1 − e^{t−L})₊ of one release, at any real t."""
        at, kept = ball(t), _kept(self, ctx.prec)
        spend(len(kept))
        found = ball(self.failing())
        for loss, mass in kept:
            found += mass * (-(at - loss).expm1()).max(arb(0))
        return found


@lru_cache(maxsize=64)
def _kept(table: LossTable, bits: int) -> Atoms:
    with precision(bits):
        return table.losses()


@lru_cache(maxsize=64)
def _floats(table: LossTable) -> Any:
    import numpy as np

    at, mass = np.array([[float(x.mid()), float(m.mid())] for x, m in _kept(table, 64)]).T
    return at, mass, float(table.failing())


@dataclass(frozen=True)
class PairTable(LossTable):
    """A pair of laws on the same outcomes, given by their exact probabilities."""

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]

    def __hash__(self) -> int:
        """Return the hash of both laws, which may have thousands of outcomes: once."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.p, self.q, self.summed))

    @cached_property
    def odds(self) -> dict[Fraction, Fraction]:
        """Return the mass under P of every p/q that is neither 0 nor infinite."""
        found: dict[Fraction, Fraction] = {}
        for a, b in zip(self.p, self.q, strict=True):
            if a and b:
                found[a / b] = found.get(a / b, Fraction(0)) + a
        return found

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Say whether (Q, P) has the same losses with the same masses."""
        return self.odds == self.reversed().odds and self.failing() == self.reversed().failing()

    def reversed(self) -> "PairTable":
        """Return the pair of the other direction."""
        return replace(self, p=self.q, q=self.p)

    def losses(self) -> Atoms:
        """Return the finite losses, each with its mass under P."""
        return tuple((ball(odds - 1).log1p(), ball(mass)) for odds, mass in self.odds.items())

    def failing(self) -> Fraction:
        """Return the mass of P where Q has none."""
        return self._failing

    @cached_property
    def _failing(self) -> Fraction:
        return sum((a for a, b in zip(self.p, self.q, strict=True) if not b), Fraction(0))

    def unfailing(self) -> "PairTable":
        """Return the outcomes that both laws allow."""
        kept = [(a, b) for a, b in zip(self.p, self.q, strict=True) if a and b]
        return replace(self, p=tuple(a for a, _ in kept), q=tuple(b for _, b in kept))


@dataclass(frozen=True)
class ReplacedTable(LossTable):
    """Two-sided geometric noise, moved by `shift`, on a Poisson sample of which one row is replaced.

    The noise is r^{|x|}(1 − r)/(1 + r), r = e^{−1/scale}; with the row at +shift and at −shift it is moved so
    far either way, and every x ≥ shift has the same two odds, as has every x ≤ −shift.
    """

    rate: Fraction
    scale: Fraction
    shift: int

    @property
    def listed(self) -> bool:
        """Say whether losses are few enough to be listed one by one."""
        return self.shift <= MANY_ATOMS

    def ceiling(self) -> arb:
        """Return the largest loss, that of every x ≥ shift."""
        return self._loss(self.shift)

    def _loss(self, x: int) -> arb:
        """Return ln z₊(x)/z₋(x), which rises with x."""
        up, down = (
            (ball(self.rate) * ball((abs(x) - abs(x - way * self.shift)) / self.scale).expm1()).log1p()
            for way in (1, -1)
        )
        return up - down

    def delta(self, t: Fraction) -> arb:
        """Return δ(t) by the tails of three geometric laws, right of the first integer of a loss above t."""
        if t < 0:
            return -ball(t).expm1() + ball(t).exp() * self.delta(-t)
        if not self._loss(self.shift) > ball(t):
            return arb(0)
        r, q = (-1 / ball(self.scale)).exp(), ball(self.rate)

        def right_of(x: int) -> arb:
            tail = ball(-Fraction(x if x > 0 else 1 - x) / self.scale).exp() / (1 + r)
            return tail if x > 0 else 1 - tail

        def beyond(x: int) -> arb:
            there, back = (q * right_of(x - way * self.shift) for way in (1, -1))
            return there - ball(t).exp() * back - (1 - q) * ball(t).expm1() * right_of(x)

        # where a loss is not told from t, it makes no difference that is seen on which side it is
        surely = self._first(lambda loss: bool(loss > ball(t)))
        maybe = self._first(lambda loss: not loss < ball(t))
        bearable(surely - maybe, 1)
        return beyond(surely).union(beyond(maybe))

    def _first(self, above: Callable[[arb], bool]) -> int:
        """Return the first integer whose loss is above, by bisection."""
        low, high = -self.shift, self.shift
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if above(self._loss(middle)) else (middle + 1, high)
        return low

    def losses(self) -> Atoms:
        """Return ln z₊(x)/z₋(x) with the mass that P = z₊·R has there, x from −shift to shift."""
        bearable(self.shift, MANY_ATOMS)
        q, r = ball(self.rate), ball(-1 / self.scale).exp()
        end = ball(-self.shift / self.scale).exp() / (1 + r)
        inner = [ball(-abs(x) / self.scale).exp() * (1 - r) / (1 + r) for x in range(self.shift)]
        steps = [Fraction(2 * x - self.shift) / self.scale for x in range(self.shift + 1)]
        odds = [(q * ball(t).expm1()).log1p() for t in steps]  # of the row that lies on the side of x
        found = []
        for x in range(self.shift + 1):
            mass, loss = (end if x == self.shift else inner[x]), odds[x] - odds[0]
            found.append((loss, mass * odds[x].exp()))
            if x:
                found.append((-loss, mass * odds[0].exp()))
        return tuple(found)


@dataclass(frozen=True)
class ReplacedLaplaceFactor(Factor):
    """Laplace noise of largest loss `loss` on a Poisson sample of rate `rate`, one row of which is replaced.

    Right of 0 z₋ is its least value w = 1 − q + q e^{−loss}, left of it z₊ is; so the law is made of those of
    a row removed and of one added, M(s) = w^{−s} M_removed(s) + w^{1+s} M_added(s) − w.
    """

    rate: Fraction
    loss: Fraction

    def _single(self) -> SampledLaplaceFactor:
        return SampledLaplaceFactor(self.rate, self.loss)

    def least(self) -> arb:
        """Return ln w."""
        return (ball(self.rate) * ball(-self.loss).expm1()).log1p()

    def ceiling(self) -> arb | None:
        """Return ln(1 + q(e^loss − 1)) − ln w."""
        return shrunk(ball(self.loss), ball(self.rate)) - self.least()

    def value(self, s: acb) -> acb:
        """Return M(s) for real s."""
        own, low = self._single(), self.least()
        both = (-s * low).exp() * own.value(s) + ((1 + s) * low).exp() * own.reversed().value(s)
        return both - low.exp()

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count."""
        own, low = self._single(), self.least()
        removed, added = own.nodes(c, h, count), own.reversed().nodes(c, h, count)
        points = [acb(c, n * h) for n in range(count)]
        return [
            (-s * low).exp() * there + ((1 + s) * low).exp() * back - low.exp()
            for s, there, back in zip(points, removed, added, strict=True)
        ]

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s)."""
        own, low = self._single(), float(self.least().mid())
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
