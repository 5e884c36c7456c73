"""Checks of a certificate beyond its proof: evidence, attack, columns, intervals and hazards; of one run too.

`dpaccount check` runs this after the checker, on which it builds.  Nothing here makes a guarantee hold: the
checker alone decides whether a claim follows from its derivation.  What is found here is that the document
contradicts itself, or lacks evidence, so that its verdict is another one.
"""

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

from audits.consistency import one_run
from audits.consistency.agreement import check_agreement, check_shape
from audits.consistency.hazards import hazards_of as hazards_of
from audits.consistency.releases import check_shares, check_study_release, unchecked
from audits.consistency.verdict import check_verdict
from dpaccount.checker import Rejected, Unreadable, accounting, certificate
from dpaccount.checker.accounting import SCHEMA as ACCOUNT
from dpaccount.checker.certificate import followed, opened
from dpaccount.checker.certificate.verdict import Concluded
from dpaccount.checker.documents import brief, ensure, parse, unbroken

OTHER_SCHEMAS = (ACCOUNT, one_run.SCHEMA)  #: schemas of other documents than certificates of a claim


def examined(raw: bytes, at: date | None = None, *, derivation: bool = False) -> tuple[str, str]:
    """Return the verdict of any valid document, and what was confirmed in words.

    Raises `Rejected` naming what fails, or `Unreadable`.
    """
    if derivation:  # the checker's alone
        return certificate.judged(raw, at, derivation=True)
    # Looked for as bytes, unless it may be written with escapes: nearly all documents are then parsed once.
    if b"\\" not in raw and not any(schema.encode() in raw for schema in OTHER_SCHEMAS):
        return judged(raw, at)
    document = parse(raw)
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema == one_run.SCHEMA:
        return one_run.judged(document)
    return accounting.examined(raw, at) if schema == ACCOUNT else judged(raw, at)


def judged(raw: bytes, at: date | None = None) -> tuple[str, str]:
    """Return the verdict of a valid certificate, and what was confirmed in words.

    Raises `Rejected` naming what fails, or `Unreadable`.
    """
    document = opened(raw, derivation=False)
    with unbroken():
        check_consistent(document, followed(document, at))
    steps, verdict = len(document["proved"]["derivation"]), document["verdict"]
    rest = f" (not checked again: {left})" if (left := unchecked(document)) else ""
    return verdict, f"{verdict}: digest, {steps} proof steps and verdict confirmed{rest}"


def refused(document: Mapping[str, Any]) -> str | None:
    """Return why a certificate's document is not valid, or None."""
    try:
        judged(json.dumps(document).encode())
    except (Rejected, Unreadable) as why:
        return str(why)
    return None


def check_consistent(document: dict[str, Any], concluded: Concluded) -> None:
    """Verify all that the checker does not look at, and that the verdict follows from it too."""
    check_shape(document)
    check_agreement(document, concluded.final)
    check_shares(document)
    check_study_release(document)
    first = hazards_of(document)
    ensure(document["hazards"][: len(first)] == first, f"not listed first among the hazards: {brief(first)}")
    check_verdict(document, concluded)


def to_read(raw: bytes) -> dict[str, list[dict[str, Any]]]:
    """Return the reading list of a valid document: its rules, and the files that they need."""
    return one_run.to_read() if json.loads(raw).get("schema") == one_run.SCHEMA else accounting.to_read(raw)
