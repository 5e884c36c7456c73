"""Upper bounds without an exact pair: zCDP, Rényi bounds at some orders, bounded range."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb

from dpaccount.forks import cached_property
from dpaccount.numerics.bisection import Ends
from dpaccount.numerics.closed import bounded_range, renyi, sampled_curves
from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.intervals import ball
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.pair import CommonSupport, Symmetric, Unbounded, UpperPair


@dataclass(frozen=True)
class RenyiBound(Symmetric, CommonSupport, Unbounded, UpperPair):
    """A bound that is known by its Rényi divergences alone."""

    renyi_only: ClassVar[bool] = True

    def own_curve(self, bits: int) -> Curve:
        """Return the curve above all with these Rényi bounds."""
        return Composition.of(self).renyi_curve(bits)


@dataclass(frozen=True)
class ZcdpBound(RenyiBound):
    """(ξ, ρ)-zCDP: D_α ≤ ξ + ρα, ρ > 0."""

    rho: Fraction
    xi: Fraction = Fraction(0)
    rank: ClassVar[int] = 24

    def only_zcdp(self) -> tuple[Fraction, Fraction]:
        """Return ρ and ξ."""
        return self.rho, self.xi

    def renyi(self, order: Fraction) -> arb:
        """Return ξ + ρα."""
        return ball(self.xi + order * self.rho)

    def own_curve(self, bits: int) -> Curve:
        """Return the conversion at about the best order for each ε ≥ 0, for ε < 0 the complement.

        There is (2α − 1)ρ + ξ − ε + ln(1 − 1/α) = 0.  Any order is valid, so it is sought in floats.
        """

        def value(t: Fraction) -> arb:
            bound = renyi.delta(self.renyi, t, [renyi.zcdp_order(float(self.rho), float(t - self.xi))])
            return ball(1 if bound is None else bound)

        return sampled_curves.two_sided(value, bits)

    def add_moments(self, total: Moments, count: int) -> bool:
        """Add the mean ξ + ρ and the variance 2ρ (Bun & Steinke 2016)."""
        total.only_above(count * ball(self.xi + self.rho), 2 * count * ball(self.rho))
        return True


@dataclass(frozen=True)
class RdpBound(RenyiBound):
    """Rényi bounds at some orders."""

    points: tuple[tuple[Fraction, Fraction], ...]
    rank: ClassVar[int] = 23

    @cached_property
    def hull(self) -> renyi.Hull:
        """Return the bound that the points imply at an order between them."""
        return renyi.hull_of(self.points)

    @property
    def orders(self) -> tuple[Fraction, ...]:
        """Return the orders at which bounds are given."""
        return tuple(order for order, _ in self.points)

    def renyi(self, order: Fraction) -> arb | None:
        """Return the bound by the points; None right of the last of them."""
        return None if order > self.hull.orders[-1] else ball(self.implied(order))

    def implied(self, order: Fraction) -> Fraction:
        """Return the least bound that the points imply at an order, up to the last of them."""
        bound = renyi.hull_bound(self.hull, order)
        if bound is None:
            raise ValueError("no point implies a bound at a larger order")
        return bound

    def add_moments(self, total: Moments, count: int) -> bool:
        """Return False: a mean needs orders near 1."""
        return False


@dataclass(frozen=True)
class RangeBound(Symmetric, CommonSupport, UpperPair):
    """η-bounded range, adaptively chosen (hence also η-DP and η²/8-zCDP)."""

    eta: Fraction
    rank: ClassVar[int] = 22

    def ceiling(self) -> arb:
        """Return η."""
        return ball(self.eta)

    def ends(self) -> Ends:
        """Return −η and η."""
        return -self.eta, self.eta

    def own_curve(self, bits: int) -> Curve:
        """Return the largest curve of one mechanism."""
        return bounded_range.curve(self.eta, bits)

    def renyi(self, order: Fraction) -> arb:
        """Return αη²/8, and never more than η (Dong, Durfee & Rogers 2020; Cesar & Rogers 2021)."""
        return ball(min(order * self.eta**2 / 8, self.eta))

    def add_moments(self, total: Moments, count: int) -> bool:
        """Add the mean and the variance of η²/8-zCDP."""
        rho = ball(self.eta**2 / 8)
        total.only_above(count * rho, 2 * count * rho)
        return True
