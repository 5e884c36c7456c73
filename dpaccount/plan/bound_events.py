"""Events of which a bound is known and nothing else: whatever keeps it is charged alike."""

from dataclasses import replace
from fractions import Fraction

from dpaccount.errors import InputError
from dpaccount.numerics.closed.group_privacy import chained
from dpaccount.plan.event_base import Amount, Event, Real, RealPairs, event_kind, exact


@event_kind
class Approximate(Event):
    """Any (ε, δ)-differentially private mechanism."""

    name = "approximate"
    epsilon: Real
    delta: Real

    def _pure(self) -> Amount:
        return None if self.delta else self.epsilon

    def _approximate(self) -> tuple[Fraction, Fraction]:
        return self.epsilon, self.delta

    def for_group(self, k: int) -> Event:
        """Return (kε, δ(e^{kε} − 1)/(e^ε − 1)) (Vadhan 2017)."""
        return replace(self, epsilon=k * self.epsilon, delta=chained(self.epsilon, self.delta, k))


@event_kind
class Zcdp(Event):
    """Any ρ-zCDP mechanism."""

    name = "zcdp"
    rho: Real

    def _zcdp(self) -> Amount:
        return self.rho

    def _pure(self) -> Amount:
        return None if self.rho else Fraction(0)

    def for_group(self, k: int) -> Event:
        """Return k²ρ (Bun & Steinke 2016)."""
        return replace(self, rho=k * k * self.rho)


@event_kind
class Rdp(Event):
    """Any mechanism whose Rényi divergence of each order is at most the ε beside it."""

    name = "rdp"
    points: RealPairs

    def _check(self) -> None:
        points = tuple((exact(self.name, a), exact(self.name, e)) for a, e in self.points)
        if not points:
            raise InputError("rdp: no points; give at least one [order, epsilon]")
        if any(order <= 1 or epsilon < 0 for order, epsilon in points):
            raise InputError("rdp: a point is out of range; orders exceed 1, epsilons are at least 0")
        object.__setattr__(self, "points", points)
