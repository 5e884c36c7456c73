"""Certificates of the plans that a ledger charged: written with a charge, and compared with it later."""

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from audits.accounts.certificate import written_certificate
from dpaccount import checker
from dpaccount.accounting.accountant import Accountant
from dpaccount.checker.accounting import SCHEMA
from dpaccount.documents import Place, parse_json, read_bytes
from dpaccount.errors import InputError
from dpaccount.ledger import requests
from dpaccount.ledger.certified import CertifiedCost, naming
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.requests import Certificate
from dpaccount.plan.plan_file import read_plan


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
    document = written_certificate(path, place.value, tight.as_json(), delta=budget.delta)
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
        _, sentence = checker.examined(raw)
    except (checker.Rejected, checker.Unreadable) as why:
        return str(why), None
    question, confirmed = place.value["question"], json.loads(raw)["confirmed"]["upper"]
    if set(question) != {"delta"}:
        return "it does not say what one unit pays at a delta", None
    plan = read_plan(place.child("plan"))
    return sentence, CertifiedCost(place.value["digest"], plan, Fraction(question["delta"]), confirmed)
