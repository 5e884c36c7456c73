"""Samples of fixed size, without replacement: an upper curve from that of the sampled composition."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

from flint import arb

from dpaccount.numerics.closed import sampled_curves
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.closed.sampling import shrunk
from dpaccount.numerics.intervals import ball
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.pair import OfSample, Sampling, Symmetric, UnknownEnds, UpperPair

SPARE_BITS = 2  #: of precision, at least, for the image of the inner bound


@dataclass(frozen=True)
class WithoutReplacement(Symmetric, UnknownEnds, OfSample, UpperPair):
    """A composition on a sample of the fraction `rate`, in both directions at once.

    Balle, Barthe & Gaboardi 2018.
    """

    rate: Fraction
    inner: Composition
    rank: ClassVar[int] = 21

    def ceiling(self) -> arb | None:
        """Return ln(1 + q(e^most − 1)) of the inner bound."""
        most = self.inner.ceiling()
        return None if most is None else shrunk(most, ball(self.rate))

    def infinite_mass(self) -> Fraction | None:
        """Return the rate times the inner mass, in both directions."""
        inner = self.inner.infinite_mass()
        return None if inner is None else self.rate * inner

    def without_infinite_mass(self) -> Self:
        """Return the sample of the inner finite losses."""
        return replace(self, inner=self.inner.without_infinite_mass())

    def own_curve(self, bits: int) -> Curve:
        """Return q·δ(ε) at ln(1 + q(e^ε − 1)), for ε < 0 by the complement."""
        inner = sampled_curves.with_infinite_mass(self.inner.curve(bits), *self.inner.failure())
        return sampled_curves.two_sided(sampled_curves.without_replacement(self.rate, inner))

    def renyi(self, order: Fraction) -> arb | None:
        """Return the bound by joint convexity of the moment."""
        return self.inner.sampled_renyi(order, self.rate)

    def whole(self) -> Composition:
        """Return the composition."""
        return self.inner

    def sampling(self) -> Sampling:
        """Return the sample and its composition."""
        return Sampling(self.rate, self.inner, exact=True)

    def extent(self) -> int:
        """Return how many bits the magnitudes of the parameters span."""
        return max(SPARE_BITS, super().extent()) + self.inner.extent()
