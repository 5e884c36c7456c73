"""The best of a random number of runs: an upper curve from what is known of one run.

K ≥ 0 runs are made, K drawn from a public law with f(x) = E x^K, and only the best output is shown: nothing
where K = 0, which is as likely on all datasets and costs nothing.  Ties are broken by a tag that each run
draws; it changes no curve.  P and Q are the laws of one run on neighbours, δ(ε) the larger of both curves, u
and v how likely a run is better than a given output: the best has the laws f′(1 − u)P and f′(1 − v)Q.

The weight w: f′(1 − u) ≤ e^w f′(1 − v).  For every c is v ≤ e^c u + δ(c).  Truncated negative binomial K has
f′(1 − u) ∝ (1 + u/κ)^{−η−1}, κ = γ/(1 − γ), η > −1: κ + v ≤ e^c(κ + u) and w = (1 + η)c where
δ(c) ≤ κ(e^c − 1), at the latest c = −ln γ.  Poisson K of mean m: f′(1 − u) = m e^{−mu} and w = m δ(0).

The curve: with N = (P − e^{ε−w}Q)₊ it is at most ∫ f′(1 − u) dN, and N is a part of P of mass δ(ε − w), best
where f′, which rises, is largest: at most 1 − f(1 − δ(ε − w)).  The largest loss rises by w.
(Papernot & Steinke 2021, arXiv 2110.03620, by Rényi divergences; Koskela, Redberg & Wang 2024, arXiv
2401.13236, by curves.)

Rényi bounds, a = α − 1: f(0) + ∫ (P/Q)^a h dP for h = f′(1 − u)^α f′(1 − v)^{−a} ≤ E[K]e^{aw} gives
D_α + w + ln E[K]/a where f(0) = 0.  Poisson: h = m e^{−m(αu − av)} ≤ M = m e^{ma δ(c)} if e^c ≤ α/a (their
Theorem 6, true for m ≥ 1 only).  As (P/Q)^a ≥ α − a Q/P and M ≥ h, ∫ (P/Q)^a (M − h) dP is at least
∫ (M − h)(α du − a dv) = M + ∫ dh/m = M − 1 + f(0): the whole is at most 1 + M(e^{aD_α} − 1), for every m > 0.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

from flint import arb

from dpaccount.numerics.bisection import solve
from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampled_curves import Curve, two_sided
from dpaccount.numerics.intervals import NotFinite, ball, ceil_of, floor_of, precision
from dpaccount.numerics.work_budget import OutOfReach, kept, over_limit, spend
from dpaccount.pairs.composition import Composition, max_over_directions
from dpaccount.pairs.pair import Symmetric, UnknownEnds, UpperPair

BITS = 192
HEIGHT_STEPS = 150  #: of work that a height of the curve takes, about
OneRun = Callable[[Fraction], Fraction]  #: t ≥ 0 ↦ an upper bound on δ(t) of one run


@dataclass(frozen=True)
class RepeatedPair(Symmetric, UnknownEnds, UpperPair):
    """The best run of `inner`; K is Poisson of `mean`, or where that is 0 as `shape` and `gamma` say.

    `finite`: the mass at an infinite loss is left out, where the largest of the others is asked.
    """

    inner: Composition
    shape: Fraction
    gamma: Fraction
    mean: Fraction
    finite: bool = False
    rank: ClassVar[int] = 28
    repeats: ClassVar[bool] = True

    def ceiling(self) -> arb | None:
        """Return the largest loss of one run and the weight."""
        inner = self.inner.without_infinite_mass() if self.finite else self.inner
        most = max_over_directions(inner, Composition.ceiling, arb.max)
        return None if most is None else most + ball(_weight(self))

    def infinite_mass(self) -> Fraction | None:
        """Return a bound on the mass at an infinite loss, that of the best of K runs."""
        lost = Fraction(0) if self.finite else max_over_directions(self.inner, Composition.infinite_mass)
        return self.of_best(lost) if lost else lost

    def least_infinite_mass(self) -> Fraction:
        """Return the bound: a curve comes down to it, and spans end there."""
        return self.infinite_mass() or Fraction(0)

    def without_infinite_mass(self) -> Self:
        """Return the finite losses, whose weight is that of all."""
        return replace(self, finite=True) if self.infinite_mass() != 0 else self

    def own_curve(self, bits: int) -> Curve:
        """Return the curve, by what the pairs of one run know of theirs."""
        return two_sided(lambda t: ball(self.delta(t, _weight(self), self.one)), bits)

    def one(self, t: Fraction) -> Fraction:
        """Return δ(t) of one run, as the curves of its pairs bound it."""
        lost, rest = self.inner.failure()[1], self.inner.without_failures()
        spend(HEIGHT_STEPS)
        try:
            known = max_over_directions(rest, lambda way: ceil_of(_curve(way, BITS)(t)))
        except (OutOfReach, NotFinite):
            if over_limit():
                raise
            known = None
        return Fraction(1) if known is None else lost + (1 - lost) * min(Fraction(1), known)

    def weight(self, one: OneRun) -> Fraction:
        """Return w, rounded up, by what is known of one run."""
        if self.mean:
            return self.mean * one(Fraction(0))
        with precision(BITS):
            kappa, most = self._kappa(), ceil_of(-ball(self.gamma).log())
            largest = max_over_directions(self.inner, Composition.ceiling, arb.max)
            most = most if largest is None else min(most, ceil_of(largest))  # beyond, δ is 0
            # δ(c)/(κ(e^c − 1)) falls, and is at most 1 from the least c on.
            over: Curve = lambda c: ball(one(c)) / (kappa * ball(c).expm1())  # noqa: E731
            return (1 + self.shape) * solve(over, Fraction(1), Fraction(0), most, most / 10**6)[1]

    def delta(self, t: Fraction, weight: Fraction, one: OneRun) -> Fraction:
        """Return 1 − f(1 − δ(t − w)), t ≥ 0, or what the largest loss L leaves: (e^L − e^t)/(e^L + 1)."""
        with precision(BITS):
            curve, most = two_sided(lambda x: ball(one(x)), BITS), self.ceiling()
            found = self.of_best(min(Fraction(1), ceil_of(curve(t - weight))))
            if most is None:
                return found
            return max(Fraction(0), min(found, ceil_of((most.exp() - ball(t).exp()) / (most.exp() + 1))))

    def of_best(self, delta: Fraction) -> Fraction:
        """Return 1 − f(1 − delta), rounded up: what a mass becomes if the best runs have it."""
        with precision(BITS):
            if self.mean:
                return ceil_of(-(-ball(self.mean * delta)).expm1())
            grown = -(ball(delta) / self._kappa()).log1p()
            return min(Fraction(1), ceil_of(self._power(grown) / self._power(ball(self.gamma).log())))

    def of_one(self, best: Fraction) -> Fraction:
        """Return the delta with 1 − f(1 − delta) = best, 0 < best < 1, rounded down."""
        with precision(BITS):
            if self.mean:
                return floor_of(-(-ball(best)).log1p() / ball(self.mean))
            found, shape = ball(best) * self._power(ball(self.gamma).log()), ball(self.shape)
            grown = (found * shape).log1p() / shape if self.shape else found
            return floor_of(self._kappa() * (-grown).expm1())

    def renyi(self, order: Fraction) -> arb | None:
        """Return the bound by the Rényi divergence of one run; None where that has none."""
        inner = max_over_directions(self.inner, lambda way: way.renyi(order), arb.max)
        if inner is None or self.inner.failures:
            return None
        a = ball(order) - 1
        if self.mean:
            once = self.one(floor_of((1 / a).log1p()))
            most = ball(self.mean) * (a * ball(self.mean * once)).exp()
            return (most * (a * inner).expm1()).log1p() / a
        slope = -self._kappa() * self._power(ball(self.gamma).log())  # 1/E[K]
        return inner + ball(_weight(self)) - slope.log() / a

    def add_moments(self, total: Moments, count: int) -> bool:
        """Return False: the curve says more."""
        return False

    def _kappa(self) -> arb:
        return ball(self.gamma / (1 - self.gamma))

    def _power(self, x: arb) -> arb:
        """Return (e^{ηx} − 1)/η, which is x at η = 0."""
        return (ball(self.shape) * x).expm1() / ball(self.shape) if self.shape else x


_weight = kept(256)(lambda pair: pair.weight(pair.one))
_curve = kept(64)(Composition.curve)
