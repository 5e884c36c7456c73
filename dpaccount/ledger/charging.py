"""Whether a charge fits, and what is answered of it."""

import math
from dataclasses import dataclass
from functools import cached_property

from dpaccount.accounting.measures import Amounts
from dpaccount.errors import BudgetError
from dpaccount.exact import Enclosure, printed, shown
from dpaccount.ledger import spending
from dpaccount.ledger.amounts import Request
from dpaccount.ledger.budget import Budget
from dpaccount.ledger.chain import Entry
from dpaccount.ledger.tree import SpentTree


@dataclass(frozen=True)
class Charge:
    """A decided charge: its entry (None: a dry run), the head after it, and what it spends at the worst unit.

    `spends` is None where the ledger's measure has no bound.
    """

    entry: int | None
    head: str
    spends: Amounts | None
    budget: Budget

    @cached_property
    def epsilon(self) -> Enclosure:
        """Return the charge's own ε at the budget's δ."""
        if self.spends is None:
            return Enclosure(None, math.inf)
        return self.budget.measure.enclosure(self.spends, self.budget.delta)


class RefusedError(BudgetError):
    """A charge was refused; `charge` holds the refusal's entry and what was asked for."""

    def __init__(self, message: str, charge: Charge) -> None:
        super().__init__(message)
        self.charge = charge


def decided(budget: Budget, request: Request, number: int | None, at: Entry) -> Charge:
    """Return what is answered of a request that was decided, as the chain ends in `at`."""
    steps = request.steps
    return Charge(number, at.digest, None if steps is None else spending.most(steps, budget.width), budget)


def refusal(budget: Budget, request: Request, after: SpentTree) -> str | None:
    """Return why a charge, after which the totals would be `after`, is refused; None where it fits."""
    if request.steps is None:
        able = " or ".join(request.takers)
        right = f"a ledger in {able} takes it" if able else "prove it at one (ε, δ) and use approximate"
        return f"the charge has no bound in this ledger's measure, {budget.measure.name} ({right})"
    if budget.fits(after.root.peak):
        return None
    unit, total = after.leftmost(lambda spent: not budget.fits(spent))
    names = zip(budget.measure.amounts, total, strict=True)
    sums = ", ".join(f"{name} {printed(amount, up=True)}" for name, amount in names)
    epsilon = printed(budget.measure.enclosure(total, budget.delta).upper, up=True)
    at = f"ε {epsilon} at δ {shown(budget.delta)} ({sums})"
    return f"the charge would bring unit {unit} to {at}, beyond the budget's ε {shown(budget.epsilon)}"
