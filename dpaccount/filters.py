"""Filters and odometers: budgets for parameters that are chosen from earlier answers.

Composition by dominating pairs holds for parameters fixed beforehand. When the next parameter depends
on what was released, only a bound that adds up in one measure, fixed at the start, stays valid:
zCDP and Rényi at one order (Feldman & Zrnic 2021; Lécuyer 2021) and Gaussian DP (Smith & Thakurta 2022).
A filter stops before its budget is exceeded; an odometer reports what has been spent so far.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from flint import arb

from dpaccount import cost
from dpaccount import events as ev
from dpaccount.errors import BudgetError, InputError
from dpaccount.exact import shown
from dpaccount.numerics import gaussian, renyi
from dpaccount.numerics.balls import ball, ceil_of
from dpaccount.totals import Total, total_of

MEASURES = ("zcdp", "gdp", "rdp", "pure")


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

    def cost(self, event: ev.Event) -> Fraction | None:
        """Return an upper bound on the event's cost in this measure; None where it has none."""
        if self.order is None:
            bound: Callable[[ev.Event], Fraction | None] = {
                "zcdp": ev.zcdp,
                "gdp": ev.gdp_mu_squared,
                "pure": ev.pure,
            }[self.name]
            return bound(event)
        total = total_of([(event, 1)])
        if total.failures:
            return None
        found = [cost.renyi_bound(way)(self.order) for way in cost.directions(total)]
        known = [ceil_of(tau) for tau in found if tau is not None and tau.is_finite()]
        return max(known) if len(known) == len(found) else None

    def epsilon(self, spent: Fraction, delta: Fraction) -> Fraction | None:
        """Return an ε with (ε, delta) for a total of `spent`; None where it is infinite."""
        if self.name == "pure" or spent == 0:
            return spent
        if delta == 0:
            return None
        if self.name == "gdp":
            return gaussian.epsilon(delta, (spent, spent), Fraction(1, 10**15))[1]
        if self.name == "zcdp":
            return renyi.epsilon(lambda order: ball(order * spent), delta)
        order = self.order or Fraction(2)
        return renyi.epsilon(lambda at: _at_order(at, order, spent), delta, [order])


def _at_order(at: Fraction, order: Fraction, spent: Fraction) -> arb | None:
    return ball(spent) if at == order else None


@dataclass
class Odometer:
    """A running total of adaptively chosen events; each `charge` adds one."""

    measure: Measure
    relation: ev.Relation = ev.Relation.REPLACE_ONE
    spent: Fraction = field(default=Fraction(0))

    def charge(self, event: ev.Event) -> Fraction:
        """Add an event and return the new total; raises `BudgetError` where the measure cannot take it."""
        self.spent += self.price(event)
        return self.spent

    def price(self, event: ev.Event) -> Fraction:
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
        """Return an ε with (ε, delta) for all that was charged; None where it is infinite.

        Valid at the end of the interaction; at a stopping time chosen from the answers, use a `Filter`.
        """
        return self.measure.epsilon(self.spent, delta)


@dataclass
class Filter(Odometer):
    """An odometer with a budget: a charge that would exceed it is refused and changes nothing."""

    budget: Fraction = field(default=Fraction(0))

    def charge(self, event: ev.Event) -> Fraction:
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


def refuse_adaptive(total: Total) -> None:
    """Raise for parameters chosen adaptively: fixed-parameter composition does not cover them."""
    raise BudgetError(
        f"{len(total.pairs) + len(total.loose)} kinds of adaptively chosen events cannot be composed as a"
        " fixed plan; charge them one by one to a Filter in one measure"
    )
