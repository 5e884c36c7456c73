"""Compares charges that name a certificate of their plan's cost with that certificate."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaccount.errors import InputError
from dpaccount.ledger import requests
from dpaccount.ledger.balances.bodies import ChargeBody, read_body
from dpaccount.ledger.balances.budget import Budget
from dpaccount.ledger.entry import CHARGE, Entry
from dpaccount.ledger.journal.entries import budget_of, facts_of, first_entry
from dpaccount.ledger.requests import CERTIFIED
from dpaccount.ledger.stores.rows import Rows, watched
from dpaccount.ledger.stores.store import Store
from dpaccount.ledger.team import for_units
from dpaccount.plan.events import Plan


@dataclass(frozen=True)
class CertifiedCost:
    """A certificate's bound: at `delta` the plan costs at most `epsilon`, written as `text`."""

    digest: str
    plan: Plan
    delta: Fraction
    epsilon: str


def naming(url: str, costs: list[CertifiedCost]) -> list[tuple[list[int], str | None]]:
    """Return for each certificate the numbers of charges that name it, and a fault or None.

    A charge and its certificate must agree in the plan, in the budget's δ and in ε.  The checker verifies
    the certificate itself, and `verify` the chain.
    """
    with closing(Store.open(url)) as store, store.reading() as rows:
        budget = budget_of(first_entry(rows))
        charges = {cost.digest: list[Entry]() for cost in costs}
        for digest, entry in _naming_charges(rows):
            if digest in charges:
                charges[digest].append(entry)
    return [
        ([entry.number for entry in charges[cost.digest]], _fault(budget, cost, charges[cost.digest]))
        for cost in costs
    ]


def _naming_charges(rows: Rows) -> Iterator[tuple[str, Entry]]:
    """Yield the charges that name a certificate, each with that certificate's digest."""
    for entry in watched(rows.entries(), rows, "entry"):
        if entry.kind == CHARGE and f'"{CERTIFIED[0]}":' in entry.body:  # parse only these: most name none
            named = facts_of(entry).get(CERTIFIED[0])
            if isinstance(named, str):
                yield named, entry


def _fault(budget: Budget, cost: CertifiedCost, entries: list[Entry]) -> str | None:
    """Return how the charges that name a certificate differ from it, or None."""
    if not entries:
        return "no charge of this ledger names it"
    if cost.delta != budget.delta:
        return "it answers at another delta than the ledger's"
    for entry in entries:
        facts = facts_of(entry)
        if facts.get(CERTIFIED[1]) != cost.epsilon:
            return f"entry {entry.number} confirms another epsilon"
        if not _same_plan(budget, cost.plan, facts, read_body(CHARGE, entry.body)):
            return f"entry {entry.number} charged another plan"
    return None


def _same_plan(budget: Budget, plan: Plan, facts: dict[str, Any], body: ChargeBody) -> bool:
    """Return whether a charge of this plan, in the entry's scope and to its cohort, is the same request."""
    try:
        units = None if body.units is None else [(first, last) for first, last in body.units]
        whole = plan if units is None else for_units(plan, units)
        asked = requests.of_plan(budget, whole, "plan").within(body.scope, body.cohort, units)
    except InputError:  # of another relation, or for other units than the cohort's
        return False
    return asked.digest == facts.get("digest")
