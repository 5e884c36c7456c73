"""What is answered of where a ledger stands: spent, remaining, and the sums of period, year and life."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dpaccount.accounting.measures import Amounts
from dpaccount.exact import printed
from dpaccount.ledger import entries
from dpaccount.ledger.budget import Budget
from dpaccount.ledger.chain import CHARGE, REFUSAL, RESERVATION, RESET
from dpaccount.ledger.state import changes
from dpaccount.ledger.state.changes import year_of
from dpaccount.ledger.state.state import State
from dpaccount.ledger.storage.rows import Rows
from dpaccount.ledger.totals import Totals
from dpaccount.ledger.tree import SpentTree

Shown = dict[str, Any]


def shown_at(rows: Rows, totals: Totals, budget: Budget) -> Shown:
    """Return what `show` says: ``spent`` and ``remaining`` of the period, the year's and the life's sum."""
    state = totals.state(rows.node)
    tree, year = state.period_tree(), state.year_tree(year_of({"time": entries.now()}))
    spent, life = tree.root.peak, amounts(budget, state.life.peak)
    return {
        "budget": budget.as_json(),
        "spent": amounts(budget, spent),
        "remaining": amounts(budget, budget.room(spent), up=False),
        "worst_unit": worst_unit(budget, tree),
        "period": amounts(budget, spent),
        "year": life if year is None else amounts(budget, year.root.peak),
        "life": life,
        "resets": rows.count(RESET),
        "scopes": [scope(state, budget, name, record) for name, record in scopes(state)],
        "entries": rows.count(CHARGE) + rows.count(RESERVATION),
        "refused": rows.count(REFUSAL),
        "head": totals.at.digest,
    }


def amounts(budget: Budget, found: Amounts, *, up: bool = True) -> Shown:
    """Return amounts with their names, and the ε that they come to at the budget's δ."""
    named = zip(budget.measure.amounts, found, strict=True)
    sums = {name: printed(amount, up=up) for name, amount in named}
    cost = budget.measure.enclosure if up else budget.measure.left
    return {**sums, "epsilon": cost(found, budget.delta).as_json()}


def scopes(state: State) -> Iterator[tuple[str, Shown]]:
    """Yield every scope with its record, in the order of their names."""
    if state.register.digest:
        found = (one for one in state.register.items() if one[0].startswith("scope "))
        yield from sorted((name.removeprefix("scope "), record) for name, record in found)


def scope(state: State, budget: Budget, name: str, record: Shown) -> Shown:
    """Return what a scope may spend, has spent in this period, and can still spend by its own cap."""
    limits, tree = changes.cap(budget, record), state.scope_tree(record)
    spent = tree.root.peak
    return {
        "scope": name,
        "cap": {"epsilon": record["epsilon"], "delta": record["delta"]},
        "spent": amounts(limits, spent),
        "remaining": amounts(limits, limits.room(spent), up=False),
        "worst_unit": worst_unit(limits, tree),
    }


def worst_unit(budget: Budget, tree: SpentTree) -> int | None:
    """Return the first unit with the largest share of the budget spent; None where all pay the same."""
    if tree.root.level:
        return None
    most = share(budget, tree.root.peak)
    return tree.leftmost(lambda spent: share(budget, spent) >= most)[0]


def share(budget: Budget, spent: Amounts) -> Fraction:
    """Return which share of the budget amounts are, of the amount of which it is most."""
    limits = (budget.epsilon, budget.delta) if budget.width == 2 else (budget.epsilon,) * budget.width
    return max(amount / (limit or 1) for amount, limit in zip(spent, limits, strict=True))
