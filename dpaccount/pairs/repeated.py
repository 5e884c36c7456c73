"""The best of a random number of runs, as in tuning: upper curves and Rényi bounds."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import ClassVar, Self

from flint import arb

from dpaccount.forks import cached_property
from dpaccount.numerics.bisection import bisect, bisect_ratio
from dpaccount.numerics.closed import renyi, sampled_curves
from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.intervals import ball, ceil_of, floor_of, log_float, precision
from dpaccount.pairs.composition import Composition, max_over_directions
from dpaccount.pairs.pair import Symmetric, UnknownEnds, UpperPair

BITS = 128


@dataclass(frozen=True)
class RepeatedBound(Symmetric, UnknownEnds, UpperPair):
    """The best of N runs of `inner`, E N = `mean`: truncated negative binomial of `shape`; None: Poisson.

    Let f be the generating function of N, Q(y) the probability that a run ends in y, or in what the order of
    results puts below y up to a random share of y itself: X.  The best is y with probability Q(y)·E f'(X)
    (Papernot & Steinke 2022, arXiv 2110.03620), f' ≤ f'(1) = mean; on the neighbour Q', X'.

    *Negative binomial* of η = `shape`: f'(x) = mean·(u/γ)^{−η−1}, u = 1 − (1 − γ)x ∈ [γ, 1].  Where u' ≤ cu
    for all X, f'(X) ≤ c^{η+1}f'(X'), hence δ(t) ≤ mean·δ_Q(t − (η+1)ln c) and, by Hölder, D_λ ≤ D_λ(Q) +
    (η+1)ln c + ln(mean)/(λ−1).  Such c: 1/γ; e^s where (1 − γ)δ_Q(s) ≤ (e^s − 1)γ, since 1 − X' is at most
    e^s(1 − X) + δ_Q(s) (cf. Koskela, Redberg & Wang 2024); and γ^{−1/a}e^{(1−1/a)D_a} of any order a, since
    u'^a u^{1−a} ≤ γ + (1 − γ)e^{(a−1)D_a} (their Theorem 2).  A pure ε gives c = e^ε, and (2 + η)ε in all.

    *Poisson*: ln f'(X)/f'(X') = mean·(X − X') ≤ mean·δ_Q(0); in D_λ, λX − (λ−1)X' − 1 = (λ−1)(1 − X') −
    λ(1 − X) ≤ (λ−1)δ_Q(ln λ/(λ−1)) (their Theorem 6).
    """

    inner: Composition
    mean: Fraction
    shape: Fraction | None
    known: Fraction | None = None  #: `moved` of the same where some losses are infinite
    rank: ClassVar[int] = 25

    @property
    def closed_curve(self) -> bool:  # type: ignore[override]
        """Say whether a run is one release, so that no lattice is needed for its curve."""
        return [count for _, count in self.inner.parts] == [1]

    @cached_property
    def rare(self) -> arb:
        """Return an upper bound on x = ln 1/γ, by E N = η(e^x − 1)/(1 − e^{−ηx}), of η = 0 (e^x − 1)/x."""
        shape = self.shape or Fraction(0)

        def enough(x: float) -> bool:
            at = arb(x)
            rest = -(-ball(shape) * at).expm1() / ball(shape) if shape else at
            return bool(at.expm1() >= ball(self.mean) * rest)

        with precision(BITS):
            return arb(bisect_ratio(enough, 1e-18, 2 * log_float(self.mean) + 40, 100)[1])

    @cached_property
    def inner_curve(self) -> Curve:
        """Return δ_Q in the worse direction, failures and all."""
        ways = [
            sampled_curves.with_infinite_mass(way.curve(BITS), *way.failure())
            for way in self.inner.directions
        ]
        return lambda t: reduce(arb.max, [way(t) for way in ways]).max(arb(0)).min(arb(1))

    @cached_property
    def moved(self) -> Fraction:
        """Return an upper bound on ln f'(X)/f'(X'), the least of those known."""
        if self.known is not None:
            return self.known
        with precision(BITS):
            if self.shape is None:
                return ceil_of(ball(self.mean) * self.inner_curve(Fraction(0)))
            x, gamma = self.rare, (-self.rare).exp()

            def apart(s: Fraction) -> bool:
                return bool((1 - gamma) * self.inner_curve(s) <= ball(s).expm1() * gamma)

            def at(order: Fraction) -> arb | None:
                known = self._renyi_inner(order)
                return None if known is None else (1 - 1 / ball(order)) * known + x / ball(order)

            most = [ceil_of(x), bisect(apart, Fraction(0), ceil_of(x), 40)[1]]
            by_orders = renyi.least(at, [])
            return (1 + self.shape) * min([*most, *([ceil_of(by_orders)] if by_orders is not None else [])])

    def _renyi_inner(self, order: Fraction) -> arb | None:
        if self.inner.failures:
            return None
        return max_over_directions(self.inner, lambda way: way.renyi(order), arb.max)

    def ceiling(self) -> arb | None:
        """Return (2 + η)·most, of Poisson runs most + mean·tanh(most/2); None where some loss is infinite."""
        most = max_over_directions(self.inner, Composition.ceiling, arb.max)
        if most is None or self.inner.infinite_mass() != 0:
            return None
        if self.known is not None:
            return most + ball(self.known)
        if self.shape is None:
            return most + ball(self.mean) * (most / 2).tanh()
        return ball(2 + self.shape) * most

    def infinite_mass(self) -> Fraction | None:
        """Return the mean times the inner mass, in the worse direction."""
        masses = [way.infinite_mass() for way in self.inner.directions]
        return (
            None if None in masses else min(Fraction(1), self.mean * max(m for m in masses if m is not None))
        )

    def least_infinite_mass(self) -> Fraction:
        """Return the mass that the curve comes down to."""
        return self.infinite_mass() or Fraction(0)

    def without_infinite_mass(self) -> Self:
        """Return the same of finite inner losses, whose ratio of both f' is the one before."""
        return replace(self, inner=self.inner.without_infinite_mass(), known=self.moved)

    def _own(self, t: Fraction) -> arb:
        return (ball(self.mean) * self.inner_curve(t - self.moved)).min(arb(1))

    def _kept(self, u: Fraction) -> arb:
        return ball(-u).exp() * (1 - self._own(u))

    @cached_property
    def _turn(self) -> Fraction:
        """Return about the u at which most is kept, e^{−u}(1 − δ(u))."""
        low, high = Fraction(0), 3 * self.moved + 20
        for _ in range(45):
            a, b = (2 * low + high) / 3, (low + 2 * high) / 3
            low, high = (low, b) if 0 < self._kept(a).mid() >= self._kept(b).mid() else (a, high)
            low, high = (Fraction(round(x * 2**80), 2**80) for x in (low, high))
        return low

    def own_curve(self, bits: int) -> Curve:
        """Return mean·δ_Q at t − ln of the ratio of both f', or 1 − e^{−u}(1 − δ(u)) where that is less.

        The latter bounds δ(−u), by the other direction, and so all δ(t), t ≥ −u.
        """

        def value(t: Fraction) -> arb:
            with precision(BITS):
                least = 1 - self._kept(max(-t, self._turn))
                return self._own(t).min(least) if t >= 0 else least

        return value

    def renyi(self, order: Fraction) -> arb | None:
        """Return the bound on D_order, where the inner one is known."""
        known = self._renyi_inner(order)
        if known is None:
            return None
        moved = ball(self.moved)
        if self.shape is None:
            moved = ball(self.mean) * self.inner_curve(floor_of((ball(order) / ball(order - 1)).log()))
        return known + moved + ball(self.mean).log() / ball(order - 1)

    def add_moments(self, total: Moments, count: int) -> bool:
        """Return False: a mean needs orders near 1."""
        return False

    def extent(self) -> int:
        """Return how many bits the magnitudes of the parameters span."""
        return super().extent() + self.inner.extent()
