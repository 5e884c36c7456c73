"""The interface of a dominating pair of distributions (P, Q), one class for each kind of pair.

The privacy loss is L = ln dP/dQ under P, and the hockey-stick curve δ(ε) = E(1 − e^{ε−L})₊. Whatever a wrong
default could make unsound is abstract; each class states it. A default is always sound: "not known this way".
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

from flint import arb

from dpaccount.numerics.bisection import Ends
from dpaccount.numerics.closed import sampled_curves
from dpaccount.numerics.closed.laplace import TruncatedPowers
from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.fourier.sampled_atoms import DiscreteParts
from dpaccount.numerics.fourier.transforms import Transform
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.lattice import composing, connect_dots
from dpaccount.numerics.lattice.exact_grids import OnGrid
from dpaccount.numerics.lattice.lattice import Grid, Masses
from dpaccount.numerics.work_budget import OutOfReach, kept, over_limit

MAX_LISTED = 20_000  #: losses that are listed where a curve in closed form will do

Atoms = tuple[tuple[arb, arb], ...]  #: (loss, mass under P)


class Sampling(NamedTuple):
    """The sample of a pair: the rate at which a unit is in it, and the composition it then meets."""

    rate: Fraction
    whole: Any  #: a `composition.Composition`
    exact: bool  #: whether the pair is a sample of `whole`, and not just dominated by one


@dataclass(frozen=True)
class LossPair(ABC):
    """A dominating pair (`ExactPair`), or a bound on one (`UpperPair`)."""

    rank: ClassVar[int]  #: where the class comes in the order of a composition, on which digits depend
    closed_curve: ClassVar[bool] = False  #: whether one release is best answered by its own curve
    quick_dots: ClassVar[bool] = False  #: whether a height of the curve takes but a few operations
    renyi_only: ClassVar[bool] = False  #: whether nothing but Rényi bounds is known
    repeats: ClassVar[bool] = False  #: whether it is the best of several runs

    # ---- both directions and the ends of the loss

    @abstractmethod
    def reversed(self) -> "LossPair":
        """Return the pair (Q, P) of the other direction of the relation; itself where that is the same."""

    @property
    def symmetric(self) -> bool:
        """Return whether both directions cost the same."""
        other = self.reversed()
        return other is self or other == self

    @abstractmethod
    def ceiling(self) -> arb | None:
        """Return a ball around the largest loss, of upper bounds a bound on it; None: unbounded."""

    def largest(self) -> Fraction | None:
        """Return the largest loss where it is rational and has a mass; None where that is not known."""
        return None

    @abstractmethod
    def ends(self) -> Ends | None:
        """Return the least and the largest finite loss, rounded outward; None: unbounded or not known."""

    @abstractmethod
    def infinite_mass(self) -> Fraction | None:
        """Return the mass of P at an infinite loss, of upper bounds a bound on it; None: a huge number."""

    @abstractmethod
    def without_infinite_mass(self) -> "LossPair":
        """Return the pair without its mass at an infinite loss: the same finite losses."""

    def least_infinite_mass(self) -> Fraction:
        """Return a lower bound on the mass at an infinite loss, as lattices use it."""
        return Fraction(0)

    # ---- curve, transform, Rényi bound, moments

    @abstractmethod
    def own_curve(self, bits: int) -> Curve:
        """Return t ↦ a ball around δ(t), at every real t; of upper bounds its upper end counts."""

    def curve(self, bits: int) -> Curve:
        """Return the curve to about `bits` bits; precisions are shared in steps of 64."""
        return _curve(self, -(-bits // 64) * 64)

    def transform(self) -> Transform | None:
        """Return the transform in closed form or by quadrature; None: unknown, or others are quicker."""
        return None

    def summed_transform(self) -> Transform | None:
        """Return a transform that may take a long sum."""
        return self.transform()

    @abstractmethod
    def renyi(self, order: Fraction) -> arb | None:
        """Return a bound on the Rényi divergence D_order(P‖Q); None where there is none."""

    @property
    def orders(self) -> tuple[Fraction, ...]:
        """Return the orders at which Rényi bounds are given; empty: at all of them."""
        return ()

    def only_zcdp(self) -> tuple[Fraction, Fraction]:
        """Return ρ and ξ where nothing but D_α ≤ ξ + ρα is known; else 0 and 0."""
        return Fraction(0), Fraction(0)

    @abstractmethod
    def add_moments(self, total: Moments, count: int) -> bool:
        """Add mean and deviation of `count` copies of the loss; return False where they are not known."""

    def peak(self) -> tuple[arb, arb] | None:
        """Return the largest loss and its mass under P; None where there is none or it is not known."""
        return None

    # ---- lattices and lists of losses

    @kept(256)
    def span(self, depth: int) -> Ends:
        """Return [low, high] such that about 2^−depth of the mass lies above and below."""
        return self.own_span(depth)

    def own_span(self, depth: int) -> Ends:
        """Return the span, from the ends of the loss where they are known, else from the curve."""
        known = self.ends()
        if known is not None:
            return known
        value, tiny = self.curve(depth + 40), arb(2) ** -depth
        limit = ball(self.least_infinite_mass())

        def gone(t: Fraction) -> bool:
            with precision(depth + 64):
                return bool((value(t) - limit).mid() < tiny)

        def gone_below(t: Fraction) -> bool:
            with precision(depth + 64):
                return bool((value(-t) + ball(-t).expm1()).mid() < tiny)

        return -composing.first_where(gone_below), composing.first_where(gone)

    def lattice(self, grid: Grid, depth: int) -> Masses:
        """Return a lattice measure above the pair, by its curve at the nodes."""
        first, count = self._nodes(grid, depth)
        return connect_dots.spread(
            self.lattice_curve(grid, depth),
            grid,
            first,
            count,
            self.least_infinite_mass(),
            bounded=self.ends() is not None,
        )

    def lattice_curve(self, grid: Grid, depth: int) -> Curve:
        """Return the curve that a lattice connects."""
        return self.curve(depth + 40)

    def dots(self, first: Fraction, step: Fraction, count: int, bits: int) -> list[arb]:
        """Return the heights of the curve at first + j·step, j < count, to about 2^−bits."""
        curve = self.curve(bits)
        return [curve(first + j * step) for j in range(count)]

    def _nodes(self, grid: Grid, depth: int) -> tuple[Fraction, int]:
        """Return the first node and how many there are."""
        low, high = self.span(depth)
        low -= grid.step  # the bounds on tails look one node inward
        return low, math.ceil((high - low) / grid.step) + 2

    def on_grid(self) -> OnGrid | None:
        """Return the pair as one whose losses lie on a rational grid; None where they do not."""
        return None

    def copies(self, count: int) -> TruncatedPowers | None:
        """Return a closed form of `count` copies; None where there is none or others are better."""
        return None

    # ---- samples

    def monotone_parameters(self) -> tuple[Fraction, ...]:
        """Return the parameters in which the curve is proved to be increasing, in both directions."""
        return ()

    def with_parameters(self, values: Sequence[Fraction]) -> Self:
        """Return the pair with other `monotone_parameters`, in the same order."""
        return self

    def bracketing_pairs(self) -> "tuple[LossPair, Any] | None":
        """Return simpler pairs that cost no more and no less (the latter may be a composition), if any."""
        return None

    def sampling(self) -> Sampling | None:
        """Return what this pair is a sample of; None where it is no sample."""
        return None

    def resampled(self, rate: Fraction) -> "LossPair | None":
        """Return the pair on a Poisson sample where that is a pair of the same class; None elsewhere."""
        return None

    def group(self, there: int, gone: int) -> "LossPair | None":
        """Return the pair of a group on this sample: `there` units in one dataset, `gone` in the other."""
        return None

    def add_discrete(self, parts: DiscreteParts, count: int) -> bool:
        """Add `count` copies to the discrete losses; return False where its losses are not discrete."""
        return False

    # ---- size

    def extent(self) -> int:
        """Return how many bits the magnitudes of the parameters span."""
        values = [getattr(self, item.name) for item in fields(self)]
        return 2 * max((extent(x) for x in values if isinstance(x, Fraction | int)), default=0)


class ExactPair(LossPair):
    """A pair that is known: its curve is what some release costs."""

    @abstractmethod
    def reversed(self) -> "ExactPair":
        """Return the pair (Q, P) of the other direction of the relation; itself where that is the same."""

    @abstractmethod
    def without_infinite_mass(self) -> "ExactPair":
        """Return the pair without its mass at an infinite loss: the same finite losses."""

    @abstractmethod
    def moment(self, s: arb) -> arb:
        """Return M(s) = E_P e^{sL} over finite losses for real s > 0, or an upper bound on it."""

    def renyi(self, order: Fraction) -> arb | None:
        """Return log M(order − 1)/(order − 1); None where some mass is infinite or it is out of reach."""
        if self.infinite_mass() != 0:
            return None
        try:
            value = self.moment(ball(order) - 1).log() / (ball(order) - 1)
        # One order may be out of reach where others are not; spent work ends the method.
        except OutOfReach:
            if over_limit():
                raise
            return None
        return value if value.is_finite() else None


class UpperPair(LossPair):
    """A bound on a pair: no mechanism need attain it, and it has no transform."""

    def lattice(self, grid: Grid, depth: int) -> Masses:
        """Return a lattice measure above the curve, which need not be that of a pair."""
        first, count = self._nodes(grid, depth)
        curve = self.curve(depth + 40)
        if not self.symmetric:
            return connect_dots.above(curve, grid, first, count)
        first = math.floor(first / grid.step) * grid.step  # then nodes lie at ±t, and share the work
        both = sampled_curves.two_sided(cache(curve), depth + 40)
        return connect_dots.above(both, grid, first, count + 1)


class Symmetric(LossPair):
    """States that both directions of the relation have the same pair."""

    def reversed(self) -> Self:
        """Return the pair itself."""
        return self


@dataclass(frozen=True)
class OneWay(LossPair):
    """States that the pair is of one direction: a unit is removed, or `added`."""

    added: bool = field(default=False, kw_only=True)

    def reversed(self) -> Self:
        """Return the pair of the other direction."""
        return replace(self, added=not self.added)


class CommonSupport(LossPair):
    """States that both distributions have the same support, so that no loss is infinite."""

    def infinite_mass(self) -> Fraction:
        """Return 0."""
        return Fraction(0)

    def without_infinite_mass(self) -> Self:
        """Return the pair itself."""
        return self


class RationalEnds(LossPair):
    """States that the largest loss is rational and has a mass, and that the least loss is its negative."""

    @abstractmethod
    def largest(self) -> Fraction:
        """Return the largest loss."""

    def ceiling(self) -> arb:
        """Return the largest loss."""
        return ball(self.largest())

    def ends(self) -> Ends:
        """Return the least and the largest loss."""
        return -self.largest(), self.largest()


class UnknownEnds(LossPair):
    """States that finite losses have no bound, or none that is used: a span is sought on the curve."""

    def ends(self) -> None:
        """Return None."""
        return


class Unbounded(UnknownEnds):
    """States that losses have no bound."""

    def ceiling(self) -> None:
        """Return None."""
        return


class OfSample(LossPair):
    """States that the pair is of a random sample of the units, on which `whole` is released."""

    @abstractmethod
    def whole(self) -> Any:
        """Return the `composition.Composition` that a unit meets which every sample holds."""

    @abstractmethod
    def sampling(self) -> Sampling:
        """Return what this pair is a sample of."""

    def add_moments(self, total: Moments, count: int) -> bool:
        """Add the moments of the whole, which those of a sample do not exceed."""
        return self.whole().add_moments_of_sample(total, count)


@dataclass(frozen=True)
class TransformPair(CommonSupport, ExactPair):
    """A pair of known transform, without mass at an infinite loss."""

    @abstractmethod
    def transform(self) -> Transform:
        """Return the transform."""

    def moment(self, s: arb) -> arb:
        """Return M(s)."""
        return self.transform().value(s)


def extent(value: Fraction | int) -> int:
    """Return how many bits a number is away from 1."""
    exact = Fraction(value)
    return abs(exact.numerator.bit_length() - exact.denominator.bit_length())


@kept(256)
def _curve(pair: LossPair, bits: int) -> Curve:
    return pair.own_curve(bits)
