"""Filters and odometers: budgets for parameters that are chosen from earlier answers.

Composition by dominating pairs holds for parameters fixed beforehand. When the next parameter depends on what
was released, only a bound that adds up in one measure, fixed at the start, stays valid:

- pure ε (Rogers, Roth, Ullman & Vadhan 2016),
- zCDP, and Rényi at one order (Feldman & Zrnic 2021; Lécuyer 2021; Whitehouse, Ramdas, Rogers & Wu 2023),
- Gaussian DP (Smith & Thakurta 2022).

A `Filter` has a budget and refuses what would exceed it: everything it admits has the guarantee of the whole
budget, however the choices were made and whenever they end. An `Odometer` has none: it bounds the loss of
what was released so far, at all times at once, and pays for that.

>>> from fractions import Fraction
>>> from dpaccount.plan.events import Gaussian
>>> from dpaccount.accounting.filters import Filter, Measure
>>> budget = Filter(Measure("gdp"), budget=Fraction(1))  # μ² = 1
>>> budget.charge(Gaussian(sigma=2))
Fraction(1, 4)
>>> round(float(budget.epsilon(Fraction(1, 10**5))), 6)  # of the budget: stopping early does not lower it
4.377178
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from flint import arb

from dpaccount.cost.exposure import directions, exposure_of
from dpaccount.cost.renyi_bounds import renyi_bound
from dpaccount.errors import BudgetError, InputError
from dpaccount.exact import shown
from dpaccount.numerics.balls import ball, ceil_of, precision
from dpaccount.numerics.closed import gaussian, renyi
from dpaccount.plan import events as ev
from dpaccount.plan.event_base import Event
from dpaccount.relation import Relation

MEASURES = ("zcdp", "gdp", "rdp", "pure")
NOTHING = Fraction(0)


@dataclass(frozen=True)
class Measure:
    """What adds up: ρ, μ², the Rényi ε at one order, or pure ε."""

    name: str
    order: Fraction | None = None

    def __post_init__(self) -> None:
        """Refuse unknown measures, and orders where they have no meaning."""
        if self.name not in MEASURES:
            raise InputError(f"unknown measure {self.name!r}; known here: {', '.join(MEASURES)}")
        if (self.name == "rdp") != (self.order is not None) or (self.order is not None and self.order <= 1):
            raise InputError(
                f"measure {self.name!r} with order {self.order}; rdp needs one order above 1, others none"
            )

    def cost(self, event: Event) -> Fraction | None:
        """Return an upper bound on the event's cost in this measure; None where it has none."""
        if self.order is None:
            bound: Callable[[Event], Fraction | None] = {
                "zcdp": Event.zcdp,
                "gdp": Event.mu_squared,
                "pure": Event.pure,
            }[self.name]
            return bound(event)
        total = exposure_of([(event, 1)])
        if total.failures:
            return None
        with precision(192):
            found = [renyi_bound(way)(self.order) for way in directions(total)]
            known = [ceil_of(tau) for tau in found if tau is not None and tau.is_finite()]
        return max(known) if len(known) == len(found) else None

    def epsilon(self, total: Fraction, delta: Fraction) -> Fraction | None:
        """Return an ε with (ε, delta) for whatever has this `total`; None where it is infinite.

        GDP by its exact curve, ρ and Rényi by their conversions (`numerics.closed.renyi`).
        """
        if self.name == "pure" or total == 0:
            return total
        if delta == 0:
            return None
        if delta == 1:
            return NOTHING
        if self.name == "gdp":
            return gaussian.epsilon(delta, (total, total), Fraction(1, 10**15))[1]
        if self.name == "zcdp":
            return renyi.epsilon(lambda order: ball(order * total), delta)
        order = self.order or Fraction(2)
        return renyi.epsilon(lambda at: _at_order(at, order, total), delta, [order])

    def tail(self, total: Fraction, delta: Fraction) -> Fraction:
        """Return what the loss of a total exceeds with probability at most delta > 0, at any time so far.

        By Ville's inequality: ρ + 2√(ρ ln(1/δ)), with ρ = μ²/2 for GDP; at one order τ + ln(1/δ)/(α − 1).
        """
        if self.name == "pure" or total == 0:
            return total
        with precision(128):
            log = -ball(delta).log()
            if self.order is not None:
                return ceil_of(ball(total) + log / (ball(self.order) - 1))
            rho = ball(total / 2 if self.name == "gdp" else total)
            return ceil_of(rho + 2 * (rho * log).sqrt())


def _at_order(at: Fraction, order: Fraction, spent: Fraction) -> arb | None:
    return ball(spent) if at == order else None


@dataclass
class Odometer:
    """A running total of adaptively chosen events; each `charge` adds one.

    `first` is the smallest total worth telling apart, in the measure; fixed before anything is released.
    """

    measure: Measure
    relation: Relation = Relation.REPLACE_ONE
    first: Fraction = field(default=Fraction(1, 1000), kw_only=True)
    spent: Fraction = field(default=NOTHING, init=False)

    def __post_init__(self) -> None:
        """Refuse a first step that is none."""
        if not self.first > 0:
            raise InputError(f"the first total {shown(self.first)} is out of range; it must be above 0")

    def charge(self, event: Event) -> Fraction:
        """Add an event and return the new total; raises `BudgetError` where the measure cannot take it."""
        self.spent += self.price(event)
        return self.spent

    def price(self, event: Event) -> Fraction:
        """Return what an event would add."""
        ev.Plan(self.relation, (event,))  # refuses what has no meaning under the relation
        value = self.measure.cost(event)
        if value is None:
            takers = [name for name in ("gdp", "zcdp", "pure") if Measure(name).cost(event) is not None]
            way = (
                f"a measure that takes it: {', '.join(takers)}" if takers else "no adaptive measure takes it"
            )
            raise BudgetError(f"{event.name} has no bound in {self.measure.name}; {way}")
        return value

    def epsilon(self, delta: Fraction) -> Fraction | None:
        """Return what the loss of all that was charged exceeds with probability at most delta, at no time.

        The total itself depends on the answers, so that converting it is not enough (Rogers, Roth, Ullman &
        Vadhan 2016). Filters of the budgets first·2^j, fixed beforehand, share delta as δ/((j+1)(j+2)): the
        first of them that holds the total has not stopped (Feldman & Zrnic 2021; Lécuyer 2021). None where
        it is infinite.
        """
        if self.measure.name == "pure" or self.spent == 0:
            return self.spent
        if delta <= 0:
            return None
        step = max(0, math.ceil(self.spent / self.first) - 1).bit_length()
        return self.measure.tail(self.first * 2**step, delta / ((step + 1) * (step + 2)))


@dataclass
class Filter(Odometer):
    """A budget, fixed beforehand, in one measure: a charge that would exceed it is refused."""

    budget: Fraction = field(kw_only=True)

    def charge(self, event: Event) -> Fraction:
        """Add an event and return the new total; raises `BudgetError` where it does not fit."""
        value = self.price(event)
        if self.spent + value > self.budget:
            left = self.budget - self.spent
            raise BudgetError(
                f"{event.name} costs {shown(value)} in {self.measure.name}; {shown(left)} of"
                f" {shown(self.budget)} is left, and nothing was charged"
            )
        self.spent += value
        return self.spent

    def epsilon(self, delta: Fraction) -> Fraction | None:
        """Return an ε with (ε, delta) for everything that this filter ever admits; None where it is infinite.

        That is the ε of the budget: when choices depend on answers, so does the moment at which they stop.
        """
        return self.measure.epsilon(self.budget, delta)
