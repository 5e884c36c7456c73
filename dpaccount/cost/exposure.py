"""From the events that cover one unit to what the numerics compose.

An `Exposure` is the multiset of dominating pairs: Gaussians merged into one μ², failures (mass at an
infinite loss) set apart, the other pairs counted by kind, and beside them what has only upper bounds.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from flint import arb

from dpaccount.cached import cached_property
from dpaccount.errors import InputError
from dpaccount.numerics.balls import ball, ceil_of, floor_of, precision
from dpaccount.numerics.closed import renyi
from dpaccount.numerics.closed.sampling import shrunk
from dpaccount.numerics.fourier.loss_tables import PairTable, ReplacedLaplaceFactor, ReplacedTable
from dpaccount.numerics.fourier.replaced_gaussian import ReplacedGaussianFactor
from dpaccount.numerics.fourier.sampled_gaussian import SampledGaussianFactor
from dpaccount.numerics.fourier.transforms import (
    AtomFactor,
    DiscreteGaussianFactor,
    Factor,
    LaplaceFactor,
    OnPoissonSample,
)
from dpaccount.plan import events as ev
from dpaccount.plan.event_base import Event


@dataclass(frozen=True)
class Bounded:
    """What has upper bounds only; they hold in both directions of the relation unless said otherwise."""

    symmetric: ClassVar[bool] = True

    def reversed(self) -> Self:
        """Return the bounds of the other direction."""
        return self

    def ceiling(self) -> arb | None:
        """Return a ball around a bound on the loss; None where none is known."""
        return None


@dataclass(frozen=True)
class ZcdpBound(Bounded):
    """ρ-zCDP: D_α ≤ ρα."""

    rho: Fraction


@dataclass(frozen=True)
class RangeBound(Bounded):
    """η-bounded range, adaptively chosen (hence also η-DP and η²/8-zCDP)."""

    eta: Fraction

    def ceiling(self) -> arb:
        """Return η."""
        return ball(self.eta)


@dataclass(frozen=True)
class RdpBound(Bounded):
    """Rényi bounds at some orders."""

    points: tuple[tuple[Fraction, Fraction], ...]

    @cached_property
    def hull(self) -> renyi.Hull:
        """Return what the points say of the orders between them."""
        return renyi.hull_of(self.points)


@dataclass(frozen=True)
class Drawn(Bounded):
    """A total on a sample of the fraction `rate` of which only an upper curve is known.

    Without replacement, in both directions at once; or a Poisson sample of what has only upper bounds
    itself, when a unit is removed or `added`.
    """

    rate: Fraction
    inner: "Exposure"
    poisson: bool = False
    added: bool = False

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Say whether the curve holds in both directions."""
        return not self.poisson

    def reversed(self) -> Self:
        """Return the bounds of the other direction."""
        return replace(self, added=not self.added) if self.poisson else self

    def ceiling(self) -> arb | None:
        """Return the inner bound's image."""
        return _sampled_ceiling(self.inner, self.rate, added=self.added)


Kind = Factor | Bounded
Pairs = tuple[tuple[Factor, int], ...]


@dataclass(frozen=True)
class Sampled(OnPoissonSample):
    """A total on a Poisson sample: the pair ((1−q)Q + qP, Q) when a unit is removed, reversed when added."""

    inner: "Exposure"
    transform = False

    def value(self, s: arb) -> arb:
        """Return an upper bound on M(s), s > 0; infinite where the inner total has none.

        P^α Q^{1−α} is jointly convex (a perspective): M(s) ≤ 1 − q + q·M_in(s), α = 1 + s, the inner pair
        reversed when a unit is added; and M(s) ≤ e^{s·most}.
        """
        most = self.ceiling()
        bounds = [] if most is None else [(s * most).exp()]
        if not (self.inner.failures or self.inner.bounded):
            found = (s * (s + 1) * ball(self.inner.mu2[1]) / 2).exp()
            for kind, count in self.inner.pairs:
                found *= (kind.reversed() if self.added else kind).value(s) ** count
            bounds.append(1 - ball(self.rate) + ball(self.rate) * found)
        finite = [bound for bound in bounds if bound.is_finite()]
        return min(finite, key=lambda bound: float(bound.log().mid()), default=arb("inf"))

    def ceiling(self) -> arb | None:
        """Return the largest loss, from that of the inner total."""
        return _sampled_ceiling(self.inner, self.rate, added=self.added)


def _sampled_ceiling(inner: "Exposure", rate: Fraction, *, added: bool) -> arb | None:
    """Return ln(1 + q(e^most − 1)) of the inner total's bound, added −ln(1 − q + qe^−most) of its reverse."""
    most = (inner.turned() if added else inner).ceiling()
    if not added:
        return None if most is None else shrunk(most, ball(rate))
    return -(ball(rate) * (ball(-1) if most is None else (-most).expm1())).log1p()


@dataclass(frozen=True)
class Exposure:
    """What composes into one curve: an enclosure of μ², counted pairs, failures (δ, count), upper bounds.

    `dominated`: some pair dominates what is released without being attained by it, so that the curve is an
    upper bound only.
    """

    mu2: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
    pairs: Pairs = ()
    failures: tuple[tuple[Fraction, int], ...] = ()
    bounded: tuple[tuple[Bounded, int], ...] = ()
    dominated: bool = False

    @property
    def kinds(self) -> tuple[tuple[Kind, int], ...]:
        """Return the counted pairs, and the bounded kinds beside them."""
        return (*self.pairs, *self.bounded)

    @property
    def orders(self) -> list[Fraction]:
        """Return the orders at which Rényi bounds are given."""
        return [order for kind, _ in self.bounded if isinstance(kind, RdpBound) for order, _ in kind.points]

    @property
    def one_pair(self) -> Factor | None:
        """Return the pair where one pair, released once, is all there is."""
        alone = len(self.pairs) == 1 and not (self.mu2[1] or self.failures or self.bounded)
        return self.pairs[0][0] if alone and self.pairs[0][1] == 1 else None

    @property
    def empty(self) -> bool:
        """Say whether nothing is released."""
        return self.mu2[1] == 0 and not (self.pairs or self.failures or self.bounded)

    def ceiling(self) -> arb | None:
        """Return a ball around the largest loss, a bound on it beside upper bounds; None: unbounded."""
        if self.mu2[1] or self.failures:
            return None
        found = arb(0)
        for kind, count in self.kinds:
            most = kind.ceiling()
            if most is None:
                return None
            found += count * most
        return found

    @property
    def symmetric(self) -> bool:
        """Say whether both directions of the relation cost the same."""
        return all(kind.symmetric for kind, _ in self.kinds)

    def turned(self) -> "Exposure":
        """Return the total of the other direction."""
        if self.symmetric:
            return self
        pairs = tuple((kind.reversed(), count) for kind, count in self.pairs)
        return replace(
            self, pairs=pairs, bounded=tuple((kind.reversed(), count) for kind, count in self.bounded)
        )

    @property
    def attained(self) -> bool:
        """Say whether the curve is what some releases cost, and not just an upper bound on it.

        One permute-and-flip alone attains the curve of its pair point by point (docs/numerics.md).
        """
        alone = isinstance(replace(self, failures=()).one_pair, LaplaceFactor)
        return not self.bounded and (not self.dominated or alone)


def directions(total: Exposure) -> list[Exposure]:
    """Return the total of each direction of the relation: one where they cost the same."""
    return [total] if total.symmetric else [total, total.turned()]


def failure(total: Exposure) -> tuple[Fraction, Fraction]:
    """Return an enclosure of the mass at an infinite loss, 1 − Π(1 − δ_i)^{n_i}."""
    sizes = sum(n * d.denominator.bit_length() for d, n in total.failures)
    if sizes <= 1 << 16:
        exact = 1 - math.prod(((1 - d) ** n for d, n in total.failures), start=Fraction(1))
        return exact, exact
    with precision(256):
        if any(d == 1 for d, _ in total.failures):
            return Fraction(1), Fraction(1)
        value = -sum((n * (-ball(d)).log1p() for d, n in total.failures), arb(0)).expm1()
        return max(Fraction(0), floor_of(value)), min(Fraction(1), ceil_of(value))


class Total:
    """Adds events up, each kind in its own place."""

    def __init__(self) -> None:
        self.low = self.high = Fraction(0)
        self.pairs: Counter[Factor] = Counter()
        self.failures: Counter[Fraction] = Counter()
        self.bounded: Counter[Bounded] = Counter()
        self.dominated = False

    def add(self, event: Event, count: int) -> None:
        """Add `count` times `event`, whose own count multiplies it."""
        _ADD[type(event)](self, event, count * event.count)

    def shift(self, low: Fraction, high: Fraction, count: int) -> None:
        """Add a Gaussian pair of μ² in [low, high]."""
        self.low += low * count
        self.high += high * count

    def pure(self, epsilon: Fraction, count: int) -> None:
        """Add the pair that dominates every ε-DP mechanism."""
        if epsilon > 0:
            self.pairs[AtomFactor("pure", epsilon)] += count

    def exposure(self) -> Exposure:
        """Return the sum."""
        return Exposure(
            (self.low, self.high),
            tuple(sorted(self.pairs.items(), key=_rank)),
            tuple(sorted(self.failures.items())),
            tuple(sorted(self.bounded.items(), key=_rank)),
            self.dominated,
        )


def _rank(value: Any) -> str:
    """Return a text to sort kinds by (a number as hexadecimal digits: decimal ones may be too many)."""
    if isinstance(value, Fraction):
        return f"{value.numerator:x}/{value.denominator:x}"
    if isinstance(value, int):
        return f"{value:x}"
    if isinstance(value, tuple):
        return f"({','.join(map(_rank, value))})"
    if is_dataclass(value):
        return type(value).__name__ + _rank(tuple(getattr(value, item.name) for item in fields(value)))
    return str(value)


def exposure_of(items: Iterable[tuple[Event, int]]) -> Exposure:
    """Return the total of events with multiplicities (covers are not looked at)."""
    found = Total()
    for event, count in items:
        found.add(event, count)
    return found.exposure()


def _gaussian(found: Total, event: Any, count: int) -> None:
    mu2 = (event.sensitivity / event.sigma) ** 2
    found.shift(mu2, mu2, count)


def _stream(found: Total, event: Any, count: int) -> None:
    """Add what the round that lies under most noise meets."""
    low, high = event.moved_by_group(1)
    found.shift(low, high, count)


def _ftrl(found: Total, event: ev.DpFtrl, count: int) -> None:
    low, high = event.movement()
    found.shift(low, high, count)


def _laplace(found: Total, event: ev.Laplace, count: int) -> None:
    if event.sensitivity:
        found.pairs[LaplaceFactor(event.sensitivity / event.scale)] += count


def _discrete_laplace(found: Total, event: ev.DiscreteLaplace, count: int) -> None:
    if event.sensitivity:
        found.pairs[AtomFactor("discrete_laplace", event.scale, int(event.sensitivity))] += count


def _discrete_gaussian(found: Total, event: ev.DiscreteGaussian, count: int) -> None:
    if event.sensitivity and event.dimension == 1:
        found.pairs[DiscreteGaussianFactor(event.sigma, int(event.sensitivity))] += count
    elif event.sensitivity:
        found.bounded[ZcdpBound((event.sensitivity / event.sigma) ** 2 / 2)] += count


def _response(found: Total, event: ev.RandomizedResponse, count: int) -> None:
    if event.k == 2:
        found.pure(event.epsilon, count)
    elif event.epsilon:
        found.pairs[AtomFactor("response", event.epsilon, event.k)] += count


def _range(found: Total, event: ev.BoundedRange, count: int) -> None:
    if event.eta:
        found.bounded[RangeBound(event.eta)] += count


def _permute_and_flip(found: Total, event: ev.PermuteAndFlip, count: int) -> None:
    """Add the Laplace pair of the same ε, which dominates it (docs/numerics.md)."""
    if event.epsilon:
        found.pairs[LaplaceFactor(event.epsilon)] += count
        found.dominated = True


def _approximate(found: Total, event: ev.Approximate, count: int) -> None:
    """Add what dominates (ε, δ)-DP: a failure of probability δ, else the ε-DP pair.

    Kairouz, Oh & Viswanath 2015.
    """
    found.pure(event.epsilon, count)
    if event.delta:
        found.failures[event.delta] += count


def _given_pair(found: Total, event: ev.DominatingPair, count: int) -> None:
    if event.p != event.q:
        found.pairs[PairTable(event.p, event.q)] += count


def _zcdp(found: Total, event: ev.Zcdp, count: int) -> None:
    if event.rho:
        found.bounded[ZcdpBound(event.rho)] += count


def _rdp(found: Total, event: ev.Rdp, count: int) -> None:
    found.bounded[RdpBound(event.points)] += count


def _poisson(found: Total, event: ev.PoissonSubsampled, count: int) -> None:
    inner = exposure_of([(event.of, 1)])
    if event.rate == 0 or inner.empty:
        return
    found.dominated |= inner.dominated
    if event.rate == 1:
        found.add(event.of, count)
    elif not (inner.pairs or inner.failures or inner.bounded) and inner.mu2[0] == inner.mu2[1]:
        found.pairs[SampledGaussianFactor(event.rate, inner.mu2[0])] += count
    elif inner.bounded:
        found.bounded[Drawn(event.rate, inner, poisson=True)] += count
    elif isinstance(again := inner.one_pair, Sampled | SampledGaussianFactor):  # a sample of a sample
        found.pairs[replace(again, rate=event.rate * again.rate)] += count
    else:
        found.pairs[Sampled(event.rate, replace(inner, dominated=False))] += count


def _replaced(found: Total, event: ev.PoissonReplaced, count: int) -> None:
    """Add the pair of a row that is replaced in a Poisson sample, what pure ε costs as geometric noise."""
    inner = exposure_of([(event.of, 1)])
    if event.rate == 0 or inner.empty:
        return
    found.dominated |= inner.dominated
    if event.rate == 1:
        twice = event.of.for_group(2)
        if twice is None:
            raise InputError(f"{event.name}: no bound is known for {event.of.name} where a row is replaced")
        found.add(twice, count)
    elif not inner.pairs:
        found.pairs[ReplacedGaussianFactor(event.rate, inner.mu2[1])] += count
    elif isinstance(noise := inner.pairs[0][0], LaplaceFactor):
        found.pairs[ReplacedLaplaceFactor(event.rate, noise.loss)] += count
    elif isinstance(noise, AtomFactor):
        scale, shift = (1 / noise.argument, 1) if noise.kind == "pure" else (noise.argument, noise.number)
        found.pairs[ReplacedTable(event.rate, scale, shift)] += count


def _drawn(found: Total, event: ev.SampledWithoutReplacement, count: int) -> None:
    inner = exposure_of([(event.of, 1)])
    if event.size == event.population:
        found.add(event.of, count)
    elif not inner.empty:
        found.bounded[Drawn(Fraction(event.size, event.population), inner)] += count


def _sequence(found: Total, event: ev.Sequence, count: int) -> None:
    for part in event.of:
        found.add(part, count)


_ADD: dict[type[Event], Callable[[Total, Any, int], None]] = {
    ev.Gaussian: _gaussian,
    ev.Gdp: lambda found, event, count: found.shift(event.mu**2, event.mu**2, count),
    ev.Tree: _stream,
    ev.MatrixFactorisation: _stream,
    ev.DpFtrl: _ftrl,
    ev.Laplace: _laplace,
    ev.DiscreteLaplace: _discrete_laplace,
    ev.DiscreteGaussian: _discrete_gaussian,
    ev.RandomizedResponse: _response,
    ev.Exponential: lambda found, event, count: _range(found, ev.BoundedRange(eta=event.epsilon), count),
    ev.BoundedRange: _range,
    ev.PermuteAndFlip: _permute_and_flip,
    ev.Pure: lambda found, event, count: found.pure(event.epsilon, count),
    ev.Approximate: _approximate,
    ev.DominatingPair: _given_pair,
    ev.Zcdp: _zcdp,
    ev.Rdp: _rdp,
    ev.PoissonSubsampled: _poisson,
    ev.PoissonReplaced: _replaced,
    ev.SampledWithoutReplacement: _drawn,
    ev.Sequence: _sequence,
}
