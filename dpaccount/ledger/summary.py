"""Summary of a ledger's balances: spent, remaining, and the sums of period, year and lifetime."""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dpaccount.accounting.measures import Amounts
from dpaccount.exact import shown
from dpaccount.ledger.balances.budget import Budget
from dpaccount.ledger.balances.segment_tree import SpentTree
from dpaccount.ledger.balances.state import State
from dpaccount.ledger.balances.step_functions import zero
from dpaccount.ledger.entry import CHARGE, REFUSAL, RESERVATION, RESET
from dpaccount.ledger.journal import entries
from dpaccount.ledger.journal.entries import Totals
from dpaccount.ledger.stores.rows import Rows

Shown = dict[str, Any]


def shown_at(rows: Rows, totals: Totals, budget: Budget) -> Shown:
    """Return the result of `Ledger.show`; `spent` and `remaining` are those of the period."""
    state = totals.state(rows.node)
    tree, year = state.period_tree(), state.year_tree(int(entries.now()[:4]))
    spent, life = tree.root.peak, amounts(budget, state.life.peak)
    whole = budget.of_life
    return {
        "budget": budget.as_json(),
        "spent": amounts(budget, spent),
        "remaining": amounts(budget, room(budget, state), up=False),
        "worst_unit": worst_unit(budget, tree),
        "period": amounts(budget, spent),
        "year": life if year is None else amounts(budget, year.root.peak),
        "life": life,
        **({"life_remaining": amounts(whole, whole.room(state.life.peak), up=False)} if whole else {}),
        "resets": rows.count(RESET),
        "scopes": [scope(*one) for one in scopes(state, budget)],
        "entries": rows.count(CHARGE) + rows.count(RESERVATION),
        "refused": rows.count(REFUSAL),
        "head": totals.at.digest,
    }


def room(budget: Budget, state: State) -> Amounts:
    """Return what a charge to every unit may cost: within the period's budget, and the life cap."""
    limits, left = budget.of_life, budget.room(state.period_tree().root.peak)
    if limits is None:
        return left
    return tuple(map(min, left, limits.room(state.life.peak)))


def amounts(budget: Budget, spent: Amounts, *, up: bool = True) -> Shown:
    """Return amounts by name, and their ε at the budget's δ; rounded up, or if not `up` down."""
    cost = budget.measure.enclosure if up else budget.measure.left
    return {**budget.named(spent, up=up), "epsilon": cost(spent, budget.delta).as_amount()}


def scopes(state: State, budget: Budget) -> Iterator[tuple[str, Budget, SpentTree]]:
    """Yield the name, the limits and the tree of every scope, sorted by name."""
    records = {name: record for name, record in state.register.items() if name.startswith("scope ")}
    for name, record in sorted(records.items()):
        yield (
            name.removeprefix("scope "),
            budget.capped(record.epsilon, record.delta),
            state.scope_tree(record),
        )


def scope(name: str, limits: Budget, tree: SpentTree) -> Shown:
    """Return a scope's cap, and what is spent in this period and remains under that cap alone."""
    spent = tree.root.peak
    return {
        "scope": name,
        "cap": cap(limits),
        "spent": amounts(limits, spent),
        "remaining": amounts(limits, limits.room(spent), up=False),
        "worst_unit": worst_unit(limits, tree),
    }


def cap(limits: Budget) -> dict[str, str]:
    """Return a limit as an entry holds it."""
    return {"epsilon": shown(limits.epsilon), "delta": shown(limits.delta)}


def worst_unit(budget: Budget, tree: SpentTree) -> int | None:
    """Return the first unit with the largest share of the budget spent; None if all are equal."""
    if not tree.root.edge.top.some:
        return None
    most = share(budget, tree.root.peak)
    return (tree.beyond(lambda spent: share(budget, spent) < most) or (1, most))[0]


def share(budget: Budget, spent: Amounts) -> Fraction:
    """Return the largest share of its limit that any of the amounts takes."""
    limits = _limits(budget) if budget.width == 2 else (budget.epsilon,) * budget.width
    return max(amount / (limit or 1) for amount, limit in zip(spent, limits, strict=True))


@lru_cache(maxsize=256)
def _limits(budget: Budget) -> Amounts:
    return budget.room(zero(budget.width))
