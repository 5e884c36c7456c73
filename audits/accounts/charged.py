"""Certificates of the plans that a ledger charged: written with a charge, and compared with it later."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from audits.accounts.certificate import certificate, write
from dpaccount import checker
from dpaccount.accounting.accountant import Accountant
from dpaccount.checker.accounting import SCHEMA, examined
from dpaccount.documents import Place, parse_json, read_bytes
from dpaccount.errors import InputError
from dpaccount.ledger import requests
from dpaccount.ledger.balances.bodies import ChargeBody, read_body
from dpaccount.ledger.balances.budget import Budget
from dpaccount.ledger.entry import CERTIFIED, CHARGE, Entry
from dpaccount.ledger.journal.entries import budget_of, facts_of, first_entry
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.requests import Certificate
from dpaccount.ledger.stores.rows import Rows, watched
from dpaccount.ledger.stores.store import Store
from dpaccount.plan.events import Plan
from dpaccount.plan.plan_file import read_plan


@dataclass(frozen=True)
class CertifiedCost:
    """A certificate's bound: at `delta` the plan costs at most `epsilon`, written as `text`."""

    digest: str
    plan: Plan
    delta: Fraction
    epsilon: str


def of_charge(url: str, place: Place, path: Path) -> tuple[dict[str, Any], Certificate | None]:
    """Write the certificate of what a plan costs at a ledger's δ; return it, and what the entry says of it.

    That is its digest with the confirmed ε; None where the checker confirms nothing.  Raises `InputError` for
    a plan under another relation.
    """
    plan = read_plan(place)
    with Ledger.open(url) as ledger:
        budget = ledger.budget
    requests.of_plan(budget, plan, "plan")  # refuses another relation before the work
    tight = Accountant(plan).epsilon(budget.delta)
    document = certificate(place.value, tight.as_json(), delta=budget.delta)
    write(path, document)
    upper = document["confirmed"]["upper"]
    return document, None if upper is None else (document["digest"], upper)


def compared(url: str, files: Sequence[Path]) -> list[dict[str, Any]]:
    """Return ``{"file", "digest", "epsilon", "entries", "wrong"}`` for each certificate of charges.

    `wrong` is null where the checker confirms it and every charge that names it (one at least) charged its
    plan and says its ε.  Raises `InputError` for a file that is no certificate of a plan.
    """
    read = [_read(file) for file in files]
    costs = [cost for _, cost in read if cost is not None]
    named = iter(naming(url, costs))
    answers = []
    for file, (verdict, cost) in zip(files, read, strict=True):
        entries, wrong = next(named) if cost is not None else ([], verdict)
        digest, epsilon = (cost.digest, cost.epsilon) if cost is not None else (None, None)
        answers.append(
            {"file": str(file), "digest": digest, "epsilon": epsilon, "entries": entries, "wrong": wrong}
        )
    return answers


def _read(file: Path) -> tuple[str, CertifiedCost | None]:
    """Return what the checker says of a certificate, and what follows from it: None where nothing does."""
    raw = read_bytes(file)
    place = parse_json(raw.decode(errors="replace"), str(file))
    if not isinstance(place.value, dict) or place.value.get("schema") != SCHEMA:
        raise InputError("not the certificate of a plan", f"give a document of schema {SCHEMA}", file)
    try:
        _, sentence = examined(raw)
    except (checker.Rejected, checker.Unreadable) as why:
        return str(why), None
    question, confirmed = place.value["question"], json.loads(raw)["confirmed"]["upper"]
    if set(question) != {"delta"}:
        return "it does not say what one unit pays at a delta", None
    plan = read_plan(place.child("plan"))
    return sentence, CertifiedCost(place.value["digest"], plan, Fraction(question["delta"]), confirmed)


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
        # Whoever charges may name any certificate: the fault is the entry's.
        who = facts.get("by") or facts.get("role")
        names = f"entry {entry.number}{f' by {who!r}' if who else ''} names it"
        if facts.get(CERTIFIED[1]) != cost.epsilon:
            return f"{names} with another epsilon"
        if not _same_plan(budget, cost.plan, facts, read_body(CHARGE, entry.body)):
            return f"{names}, and charged another plan"
    return None


def _same_plan(budget: Budget, plan: Plan, facts: dict[str, Any], body: ChargeBody) -> bool:
    """Return whether a charge of this plan, in the entry's scope and to its cohort, is the same request."""
    try:
        units = None if body.units is None else [(first, last) for first, last in body.units]
        whole = plan if units is None else requests.for_units(plan, units)
        asked = requests.of_plan(budget, whole, "plan").within(body.scope, body.cohort, units)
    except InputError:  # of another relation, or for other units than the cohort's
        return False
    return asked.digest == facts.get("digest")
