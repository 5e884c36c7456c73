"""Filters and odometers: budgets for parameters that are chosen from earlier answers.

Composition by dominating pairs holds for parameters fixed beforehand. When the next parameter depends on what
was released, only a bound that adds up in one measure, fixed at the start, stays valid (`measures`).

A `Filter` has a budget and refuses what would exceed it: everything it admits has the guarantee of the whole
budget, however the choices were made and whenever they end. An `Odometer` has none: it bounds the loss of
what was released so far, at all times at once, and pays for that.

>>> from dpaccount.plan.events import Gaussian
>>> from dpaccount import Filter, Measure
>>> budget = Filter(Measure("gdp"), budget=1)  # μ² = 1
>>> budget.charge(Gaussian(sigma=2))
Fraction(1, 4)
>>> round(float(budget.epsilon(1e-5)), 6)  # of the budget: stopping early does not lower it
4.377178
"""

import math
from dataclasses import field
from fractions import Fraction
from typing import Any

from dpaccount.accounting.measures import ADAPTIVE, Measure, unknown
from dpaccount.errors import BudgetError, InputError
from dpaccount.exact import Exact, exact_argument, shown
from dpaccount.plan import events as ev
from dpaccount.plan.event_base import Event, Real, record
from dpaccount.relation import Relation

FIRST: Any = Fraction(1, 1000)


@record()
class Odometer:
    """A running total of adaptively chosen events; each `charge` adds one.

    `measure` is what adds up, under `relation`. `first`, fixed before anything is released, is the
    smallest total to distinguish, in the measure.
    """

    measure: Measure
    relation: Relation = Relation.REPLACE_ONE
    first: Real = field(default=FIRST, kw_only=True)
    spent: Fraction = field(default=Fraction(0), init=False)

    def __post_init__(self) -> None:
        """Refuse a measure of two amounts, and a first step that is none."""
        if self.measure.name not in ADAPTIVE:
            raise unknown(self.measure.name)
        self.first = exact_argument("first", self.first)
        if not self.first > 0:
            raise InputError(f"the first total {shown(self.first)} is out of range", "it must be above 0")

    def charge(self, event: Event) -> Fraction:
        """Add an event and return the new total; raises `BudgetError` if the measure has no bound for it."""
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

    def epsilon(self, delta: Exact) -> Fraction | None:
        """Return a bound that the loss of all charges ever exceeds with probability at most delta.

        Filters of the budgets first·2^j, fixed beforehand, share delta as δ/((j+1)(j+2)): the first of them
        that holds the total has not stopped (Feldman & Zrnic 2021; Lécuyer 2021). None if it is infinite.
        """
        share = exact_argument("delta", delta)
        if self.measure.name == "pure" or self.spent == 0:
            return self.spent
        if share <= 0:
            return None
        # The total depends on the answers: converting it is not enough (Rogers, Roth, Ullman & Vadhan 2016).
        step = max(0, math.ceil(self.spent / self.first) - 1).bit_length()
        return self.measure.tail(self.first * 2**step, share / ((step + 1) * (step + 2)))


@record()
class Filter(Odometer):
    """A `budget`, fixed beforehand, in one `measure`: a charge that would exceed it is refused.

    `relation` and `first` are those of `Odometer`.
    """

    budget: Real = field(kw_only=True)

    def __post_init__(self) -> None:
        """Read the budget as an exact number."""
        super().__post_init__()
        self.budget = exact_argument("budget", self.budget)

    def charge(self, event: Event) -> Fraction:
        """Add an event and return the new total; raises `BudgetError` if it does not fit."""
        value = self.price(event)
        if self.spent + value > self.budget:
            left = self.budget - self.spent
            raise BudgetError(
                f"{event.name} costs {shown(value)} in {self.measure.name}; {shown(left)} of"
                f" {shown(self.budget)} is left, and nothing was charged"
            )
        self.spent += value
        return self.spent

    def epsilon(self, delta: Exact) -> Fraction | None:
        """Return an ε with (ε, delta) for everything that this filter ever admits; None if it is infinite."""
        # The ε of the budget, not of the total: when choices depend on answers, so does when they stop.
        return self.measure.epsilon(self.budget, exact_argument("delta", delta))
