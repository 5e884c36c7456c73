"""Pairs on Poisson samples: what one unit pays where each row is in the sample with probability q.

With z = 1 − q + q dP/dQ over the sampled pair (P, Q), removing a unit has the pair (zQ, Q), adding
one (Q, zQ) (Zhu, Dong & Wang 2022).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

from flint import arb

from dpaccount.numerics.bisection import Ends
from dpaccount.numerics.closed import gaussian, sampled_curves
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.closed.sampling import shrunk
from dpaccount.numerics.fourier.sampled_atoms import DiscreteParts
from dpaccount.numerics.fourier.sampled_gaussian import SampledGaussianTransform
from dpaccount.numerics.fourier.sampled_laplace import SampledLaplaceTransform
from dpaccount.numerics.fourier.transforms import Transform
from dpaccount.numerics.intervals import accurate, ball, ceil_of, floor_of, precision
from dpaccount.numerics.lattice import composing
from dpaccount.numerics.lattice.lattice import Grid, Masses
from dpaccount.numerics.sampled_mixed import MOST_ATOMS, SampledMixedTransform
from dpaccount.numerics.sampled_units import SampledMixture, SampledUnitsTransform
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.laplace import LaplacePair
from dpaccount.pairs.pair import (
    CommonSupport,
    ExactPair,
    LossPair,
    OfSample,
    OneWay,
    Sampling,
    TransformPair,
    UnknownEnds,
    UpperPair,
)
from dpaccount.pairs.table import TablePair

MOST_RATE = 1 - Fraction(1, 1 << 50)  #: above it a rate stands between this one and 1
MOST_FACTORS = 64  #: units on a sample whose transform is taken


@dataclass(frozen=True)
class PoissonPair(OneWay, OfSample):
    """A pair on a Poisson sample of rate `rate`, when a unit is removed or `added`."""

    rate: Fraction

    def sampling(self) -> Sampling:
        """Return the sample and its composition; adding a unit costs no more."""
        return Sampling(self.rate, self.whole(), exact=not self.added)

    def resampled(self, rate: Fraction) -> Self:
        """Return a sample of this sample."""
        return replace(self, rate=rate * self.rate)

    def bracketing_pairs(self) -> tuple[LossPair, Composition] | None:
        """Return the pair of a smaller rate and the whole, where the rate is too near to 1 for floats."""
        whole = self.whole()
        # Contours are sought in floats, which lose 1 − q of a rate so near to 1.
        if whole.failures or self.rate <= MOST_RATE:
            return None
        return replace(self, rate=MOST_RATE), whole.reversed() if self.added else whole


@dataclass(frozen=True)
class PoissonComposition(PoissonPair):
    """A composition on a Poisson sample."""

    inner: Composition

    def ceiling(self) -> arb | None:
        """Return ln(1 + q(e^most − 1)) of the inner loss, added −ln(1 − q + qe^−most) of its reverse."""
        most = (self.inner.reversed() if self.added else self.inner).ceiling()
        if not self.added:
            return None if most is None else shrunk(most, ball(self.rate))
        return -(ball(self.rate) * (ball(-1) if most is None else (-most).expm1())).log1p()

    def infinite_mass(self) -> Fraction | None:
        """Return the rate times the inner mass, 0 when a unit is added."""
        # The sample may have left an added unit out: no loss is above −ln(1 − q).
        if self.added:
            return Fraction(0)
        inner = self.inner.infinite_mass()
        return None if inner is None else self.rate * inner

    def without_infinite_mass(self) -> "Self | TablePair":
        """Return the sample of the inner finite losses; of none, the loss ln(1 − q) of not being drawn."""
        # Where a unit is added, what fails inside has the finite loss −ln(1 − q), and stays.
        if not self.added and self.inner.infinite_mass() == 1:
            return TablePair((1 - self.rate,), (Fraction(1),))
        return self if self.added else replace(self, inner=self.inner.without_infinite_mass())

    def own_curve(self, bits: int) -> Curve:
        """Return the curve from the inner one and its reverse."""
        inner = self.inner
        there = inner.curve(bits)
        back = there if inner.symmetric else inner.reversed().curve(bits)
        mass = inner.failure()
        there, back = (sampled_curves.with_infinite_mass(each, *mass) for each in (there, back))
        return sampled_curves.on_sample(self.rate, there, back, bits, added=self.added)

    def whole(self) -> Composition:
        """Return the composition."""
        return self.inner

    def extent(self) -> int:
        """Return how many bits the magnitudes of the parameters span."""
        return super().extent() + self.inner.extent()


def _laplace(pair: LossPair | None) -> tuple[Fraction, ...]:
    """Return the largest loss of Laplace noise; nothing for other pairs."""
    return (pair.loss,) if isinstance(pair, LaplacePair) else ()


@dataclass(frozen=True)
class SampledPair(PoissonComposition, ExactPair):
    """A composition of known pairs on a Poisson sample."""

    rank: ClassVar[int] = 9

    @property
    def closed_curve(self) -> bool:  # type: ignore[override]
        """Return whether one pair is sampled, whose curve is known without lattices."""
        parts = self.inner.parts
        return len(parts) <= 1 and all(n == 1 and not isinstance(pair, SampledPair) for pair, n in parts)

    def ends(self) -> Ends | None:
        """Return the least and the largest finite loss.

        What fails in the other direction has the loss ln(1 − q) where the unit is removed.
        """
        if not self.closed_curve:
            return None
        inner = next((pair.ends() for pair, _ in self.inner.parts), (Fraction(0), Fraction(0)))
        if inner is None:
            return None
        with precision(1280):
            low, high = (shrunk(ball(end), ball(self.rate)) for end in inner)
            if self.inner.reversed().infinite_mass() != 0:
                low = (-ball(self.rate)).log1p()
            if self.added:
                return floor_of(-high), ceil_of(-low)
            return floor_of(low), ceil_of(high)

    def least_infinite_mass(self) -> Fraction:
        """Return the rate times the mass of failures, 0 when a unit is added."""
        return Fraction(0) if self.added else self.rate * self.inner.failure()[0]

    def summed_transform(self) -> Transform | None:
        """Return a quadrature for Laplace noise, a sum over discrete losses; None for mixed pairs."""
        inner, parts = self.inner, DiscreteParts()
        low, high = inner.failure()
        transform: Transform | None = None
        if loss := _laplace(inner.one_pair):
            transform = SampledLaplaceTransform(self.rate, *loss)
        if transform is None and not (inner.upper or inner.mu2[1]) and low == high:
            discrete = all(pair.add_discrete(parts, count) for pair, count in inner.pairs)
            transform = parts.on_sample(self.rate, low) if discrete else None
        if transform is None and inner.mu2[0] == inner.mu2[1] and not (inner.upper or inner.failures):
            transform = self._mixed()
        if transform is None:
            return None
        return transform.reversed() if self.added else transform

    def _mixed(self) -> Transform | None:
        """Return the transform of Gaussian noise, finite losses and at most one Laplace noise."""
        parts, mu2 = DiscreteParts(), self.inner.mu2[0]
        others = [(pair, n) for pair, n in self.inner.pairs if not pair.add_discrete(parts, n)]
        laplaces = [loss for pair, n in others if n == 1 for loss in _laplace(pair)]
        if len(laplaces) < len(others) or len(laplaces) > 1 or not mu2 or parts.noises:
            return None
        if math.prod(atom.size() ** n for atom, n in parts.atoms) > MOST_ATOMS:
            return None
        if not (parts.atoms or laplaces):
            return SampledGaussianTransform(self.rate, mu2)
        loss = laplaces[0] if laplaces else Fraction(0)
        return SampledMixedTransform(self.rate, mu2, inner=tuple(parts.atoms), loss=loss)

    def moment(self, s: arb) -> arb:
        """Return an upper bound on M(s), s > 0; infinite where the inner total has none.

        P^α Q^{1−α} is jointly convex (a perspective): M(s) ≤ 1 − q + q·M_in(s), α = 1 + s, the inner pair
        reversed when a unit is added; and M(s) ≤ e^{s·most}.
        """
        most = self.ceiling()
        bounds = [] if most is None else [(s * most).exp()]
        inner = self.inner.reversed() if self.added else self.inner
        if inner.infinite_mass() == 0:
            product = (s * (s + 1) * ball(inner.mu2[1]) / 2).exp()
            for pair, count in inner.pairs:
                product *= pair.moment(s) ** count
            bounds.append(1 - ball(self.rate) + ball(self.rate) * product)
        finite = [bound for bound in bounds if bound.is_finite()]
        return min(finite, key=lambda bound: float(bound.log().mid()), default=arb("inf"))

    def peak(self) -> tuple[arb, arb] | None:
        """Return the largest loss and its mass.

        A loss t has under Q the law of −t under P; removing a unit, P is (1 − q)Q + qP at ln(1 − q + qe^t).
        """
        inner = (self.inner.reversed() if self.added else self.inner).peak()
        if inner is None:
            return None
        (most, odds), rate = inner, ball(self.rate)
        if self.added:
            return -(rate * (-most).expm1()).log1p(), odds
        return shrunk(most, rate), odds * (rate + (1 - rate) * (-most).exp())

    def own_span(self, depth: int) -> Ends:
        """Return the image of the inner span where more than one pair is sampled."""
        if self.closed_curve:
            return super().own_span(depth)
        span = composing.span_of(self.inner.parts, depth)
        with precision(128):
            low, high = (shrunk(ball(t), ball(self.rate)) for t in span)
            return (floor_of(-high), ceil_of(-low)) if self.added else (floor_of(low), ceil_of(high))

    def lattice(self, grid: Grid, depth: int) -> Masses:
        """Return a lattice measure from one above the inner pairs, where they are more than one."""
        if self.closed_curve:
            return super().lattice(grid, depth)
        inner = self.inner.without_failures()
        parts = (inner.reversed() if self.added else inner).parts
        return composing.on_sample(parts, self.inner.failure(), self.rate, grid, depth, added=self.added)

    def monotone_parameters(self) -> tuple[Fraction, ...]:
        """Return q and ε₀ of Laplace noise: 1 − q + qY rises in convex order, and so does Y with ε₀."""
        loss = _laplace(self.inner.one_pair)
        return (self.rate, *loss) if loss else ()

    def with_parameters(self, values: Sequence[Fraction]) -> Self:
        """Return the sample at another rate, of Laplace noise of another largest loss."""
        rate, loss = values
        return replace(self, rate=rate, inner=replace(self.inner, pairs=((LaplacePair(loss), 1),)))


@dataclass(frozen=True)
class SampledBound(UnknownEnds, PoissonComposition, UpperPair):
    """A composition of which some part is an upper bound, on a Poisson sample."""

    rank: ClassVar[int] = 20

    def renyi(self, order: Fraction) -> arb | None:
        """Return the bound by joint convexity of the moment, of the inner reverse when a unit is added."""
        return (self.inner.reversed() if self.added else self.inner).sampled_renyi(order, self.rate)


@dataclass(frozen=True)
class SampledGaussian(UnknownEnds, PoissonPair, TransformPair):
    """The Gaussian pair of μ² = `mu2` on a Poisson sample (Mironov, Talwar & Zhang 2019)."""

    mu2: Fraction
    rank: ClassVar[int] = 10
    closed_curve: ClassVar[bool] = True
    quick_dots: ClassVar[bool] = True

    def ceiling(self) -> arb | None:
        """Return −ln(1 − q), the largest loss when a unit is added; removing one has no bound."""
        return -(-ball(self.rate)).log1p() if self.added else None

    def own_curve(self, bits: int) -> Curve:
        """Return the curve from the Gaussian one."""
        mu2 = (self.mu2, self.mu2)

        def inner(t: Fraction) -> arb:
            return gaussian.delta(t, mu2, bits)

        return sampled_curves.on_sample(self.rate, inner, inner, bits, added=self.added)

    def dots(self, first: Fraction, step: Fraction, count: int, bits: int) -> list[arb]:
        """Return heights of the curve to an absolute error only, which is quicker."""
        if self.added:
            return super().dots(first, step, count, bits)
        return sampled_curves.gaussian_dots(self.rate, self.mu2, (first, step, count), bits)

    def transform(self) -> SampledGaussianTransform:
        """Return the transform by quadrature."""
        return SampledGaussianTransform(self.rate, self.mu2, added=self.added)

    def monotone_parameters(self) -> tuple[Fraction, ...]:
        """Return q and μ²: 1 − q + qY rises in convex order."""
        return self.rate, self.mu2

    def with_parameters(self, values: Sequence[Fraction]) -> Self:
        """Return the pair of other parameters."""
        rate, mu2 = values
        return replace(self, rate=rate, mu2=mu2)

    def whole(self) -> Composition:
        """Return the Gaussian noise alone."""
        return Composition((self.mu2, self.mu2))

    def group(self, there: int, gone: int) -> "SampledGroup":
        """Return the mixtures of a group."""
        return SampledGroup(self.rate, self.mu2, there, gone)


@dataclass(frozen=True)
class SampledGroup(UnknownEnds, OfSample, CommonSupport, ExactPair):
    """A group on a Poisson sample of Gaussian noise: `there` units against `gone` others, of μ² each.

    They are in one dataset alone and in the other alone (`numerics.sampled_units`).
    """

    rate: Fraction
    mu2: Fraction
    there: int
    gone: int
    rank: ClassVar[int] = 11
    closed_curve: ClassVar[bool] = True

    def reversed(self) -> "SampledGroup":
        """Return the pair of the other direction."""
        return SampledGroup(self.rate, self.mu2, self.gone, self.there)

    def ceiling(self) -> arb | None:
        """Return −gone·ln(1 − q) if none of the group is there; else losses have no bound."""
        return None if self.there else -self.gone * (-ball(self.rate)).log1p()

    def _mixture(self) -> SampledMixture:
        return SampledMixture(self.rate, self.mu2, self.there, self.gone)

    def own_curve(self, bits: int) -> Curve:
        """Return the curve of two mixtures of Gaussians on a line."""
        return lambda t: accurate(lambda: self._mixture().delta(t), bits, max(96, bits + 32))

    def transform(self) -> SampledUnitsTransform | None:
        """Return the transform by quadrature where all units are in one dataset, and not very many."""
        units = self.there or self.gone
        if units > MOST_FACTORS or self.there * self.gone:
            return None
        return SampledUnitsTransform(self.rate, self.mu2, units, added=not self.there)

    def moment(self, s: arb) -> arb:
        """Return an upper bound on M(s)."""
        return self._mixture().moment_bound(s)

    def bracketing_pairs(self) -> tuple[LossPair, Composition] | None:
        """Return the group at a smaller rate, and all of it in every sample, at a rate near 1."""
        return (replace(self, rate=MOST_RATE), self.whole()) if self.rate > MOST_RATE else None

    def sampling(self) -> Sampling:
        """Return an upper bound: a sample that holds all of the group or none."""
        return Sampling(1 - (1 - self.rate) ** (self.there + self.gone), self.whole(), exact=False)

    def whole(self) -> Composition:
        """Return the noise against all of the group at once."""
        mu2 = (self.there + self.gone) ** 2 * self.mu2
        return Composition((mu2, mu2))


def on_sample(inner: Composition, rate: Fraction) -> LossPair:
    """Return the pair of a composition on a Poisson sample, 0 < rate < 1, when a unit is removed."""
    gaussian_only = not (inner.pairs or inner.failures or inner.upper)
    if gaussian_only and inner.mu2[0] == inner.mu2[1]:
        return SampledGaussian(rate, inner.mu2[0])
    if inner.upper:
        return SampledBound(rate, inner)
    again = None if inner.one_pair is None else inner.one_pair.resampled(rate)
    return again or SampledPair(rate, inner)
