"""What the entries of a chain say: charges, drawings and releases, read with care and written in one form."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from secrets import token_hex
from typing import Any

from dpaccount.documents import canonical
from dpaccount.errors import InputError, LedgerError, ReceiptError, damaged
from dpaccount.ledger import spending
from dpaccount.ledger.amounts import Request
from dpaccount.ledger.budget import Budget, read_budget
from dpaccount.ledger.chain import BUDGET, CHARGE, DRAWING, FORFEIT, REFUSAL, RELEASE, Entry
from dpaccount.ledger.spending import Step
from dpaccount.ledger.storage.rows import Rows
from dpaccount.ledger.totals import Totals
from dpaccount.noise import process


class KeyTakenError(LedgerError):
    """A key belongs to a different charge."""


@dataclass(frozen=True)
class RunState:
    """What a ledger knows of the run of one key, all at one moment.

    `kept` is the release, `charged` says whether the key has a charge.  Where drawing began and nothing
    is kept, exactly one of two holds.  `drawing`: another process began, and runs still or cannot be seen
    from here (another machine or container).  `lost`: that process ended, or is this one: what was drawn
    may have been seen, and is not drawn again.  So it is where nothing was drawn before a forfeit.
    """

    kept: dict[str, Any] | None = None
    charged: bool = False
    drawing: bool = False
    lost: bool = False


def said_of(request: Request, stamp: Mapping[str, str]) -> dict[str, Any]:
    """Return what the entry of a request says beside its amounts, and who a server knows to ask for it.

    Its salt makes the head after it say nothing of the key, which may follow from private data.
    """
    return {**request.facts, **stamp, "digest": request.digest, "time": now(), "salt": token_hex(16)}


def check_server(rows: Rows, totals: Totals) -> None:
    """Refuse to write on another server, or to another copy, than the last entry was written on."""
    here = rows.stamp.get("server")
    signed = here and (totals.signed or rows.before_releases())
    if signed and facts_of(signed).get("server") not in (None, here):
        raise LedgerError(
            "the ledger was last written on another server, or to another copy: what was charged there since"
            " may be missing here; say what it can be at most by `dpaccount ledger forfeit`"
        )


def accepted(facts: dict[str, Any], request: Request) -> str:
    """Return the body of the entry of an accepted request, a charge or a reservation."""
    if request.parts is None:
        return as_written({**facts, "steps": written(request.steps or [])})
    return as_written({**facts, "parts": [[count, written(steps)] for count, steps in request.parts]})


def refused(rows: Rows, totals: Totals, facts: dict[str, Any], key: str | None, reason: str) -> Entry:
    """Write the entry of a refused request."""
    return rows.append(REFUSAL, as_written({**facts, "key": key, "reason": reason}), totals.text)


def written(steps: list[Step]) -> list[list[Any]]:
    """Return amounts over units as an entry holds them."""
    return [[first, spending.written(amounts)] for first, amounts in steps]


def same_charge(rows: Rows, known: Entry, request: Request) -> Entry:
    """Return the charge that has this key already, if it is the one that is asked for."""
    check_unchanged(rows, known)
    if facts_of(known).get("digest") != request.digest:
        raise KeyTakenError(
            f"the key {known.key!r} belongs to entry {known.number}, a different charge; use a new key"
        )
    return known


def charge_number(rows: Rows, charge: int | str) -> int:
    """Return the entry of a charge, given by its number or its key."""
    found = rows.entry(charge) if isinstance(charge, int) else rows.keyed(charge)
    if found is None or found.kind != CHARGE:
        raise LedgerError(f"{charge!r} is not a charge of this ledger; give a charge's entry or key")
    return found.number


def check_undrawn(rows: Rows, entry: int, seen: int | None = None) -> int:
    """Refuse to draw for a charge whose drawing began, or whose release is kept; return the last entry.

    The entries after the charge are read themselves, from `seen` on where those before were: an index of
    marks that lost a page would say that there are none.
    """
    last, said = check_linked(rows, entry if seen is None else seen, entry)
    if FORFEIT in said:
        raise forfeited(entry)
    if RELEASE in said or rows.about(entry, RELEASE) is not None:
        raise ReceiptError(
            f"entry {entry} was drawn and its release is kept; print that, or make a new charge"
        )
    if DRAWING in said or rows.about(entry, DRAWING) is not None:
        raise ReceiptError(
            f"drawing for entry {entry} began and its release was never kept, so drawing again would be a"
            " second release; make a new charge under another key"
        )
    return last


def forfeited(entry: int) -> ReceiptError:
    """Return the error to raise where a charge may have been drawn by what was lost."""
    return ReceiptError(
        f"entry {entry} was charged before a forfeit, and what was lost may have drawn it; make a new charge"
        " under another key"
    )


def marked(
    rows: Rows, root: str, entry: int, before: int | None, seen: int | None, draws: tuple[int, int]
) -> Entry:
    """Mark these draws of a charge, after its mark `before`; raises `ReceiptError` where another run drew."""
    if before is None:
        charge_number(rows, entry)
        check_undrawn(rows, entry, seen)
    elif rows.about(before, DRAWING) is not None:
        raise ReceiptError(f"entry {entry} is drawn by another run; make a new charge")
    body = as_written(mark_of(*draws, rows.stamp))
    return rows.append(DRAWING, body, root, about=entry if before is None else before)


def mark_of(first: int, last: int, stamp: Mapping[str, str]) -> dict[str, Any]:
    """Return what the entry of a mark says of the draws that it marks.

    Its salt tells it from any other's: where a commit was cut, the entry is looked for by its digest.
    """
    told = {**stamp, "time": now(), "process": process.name(), "salt": token_hex(16)}
    return {**told, "draws": [first, last]}


def kept(rows: Rows, root: str, charge: int | str, text: str) -> Entry:
    """Keep what a charge paid for; once only."""
    entry = charge_number(rows, charge)
    if rows.about(entry, RELEASE) is not None:
        raise LedgerError(f"entry {entry} has its release already; make a new charge for another")
    return rows.append(RELEASE, text, root, about=entry)


def unkept(begun: Entry) -> RunState:
    """Return the state of a run that began to draw and kept nothing."""
    who = str(facts_of(begun).get("process", ""))
    drawing = bool(who) and who != process.name() and process.running(who) is not False
    return RunState(charged=True, drawing=drawing, lost=not drawing)


def check_unchanged(rows: Rows, entry: Entry) -> None:
    """Refuse an entry that does not stand in the chain between its neighbours as it was written."""
    before, after = rows.entry(entry.number - 1), rows.entry(entry.number + 1)
    held = after.follows(entry.digest) if after is not None else rows.head() == (entry.number, entry.digest)
    if before is None or not entry.follows(before.digest) or not held:
        raise damaged(f"entry {entry.number} was changed")


def check_linked(rows: Rows, number: int, about: int | None = None) -> tuple[int, set[str]]:
    """Refuse a chain in which something after this entry was changed or taken out: a mark, it may be.

    Returns the number of the last entry, and the kinds of those after `number` that are about `about`, or
    are forfeits.
    """
    at, said = rows.entry(number), set()
    entries = rows.entries(number + 1) if number else islice(rows.entries(), 1, None)  # none stands before 0
    for entry in entries:
        if at is None or entry.number != at.number + 1 or not entry.follows(at.digest):
            break
        at = entry
        if entry.kind == FORFEIT or (entry.about is not None and entry.about == about):
            said.add(entry.kind)
    if at is None or rows.head() != (at.number, at.digest):
        where = number if at is None else at.number + 1
        raise damaged(f"entry {where} was changed or removed")
    return at.number, said


def said(rows: Rows, number: int) -> str:
    """Return the body of an entry; raises `LedgerError` where it is missing."""
    entry = rows.entry(number)
    if entry is None:
        raise damaged(f"entry {number} is missing")
    return entry.body


def facts_of(entry: Entry) -> dict[str, Any]:
    """Return what an entry holds; raises `LedgerError` where it is damaged."""
    try:
        found = json.loads(entry.body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise damaged(f"entry {entry.number} is damaged")
    return found


def first_entry(rows: Rows) -> Entry:
    """Return entry 0 as it was written when the ledger was made."""
    first = rows.entry(0)
    if first is None or first.kind != BUDGET or not first.begins():
        raise damaged("the ledger's budget was changed")
    return first


def budget_of(origin: Entry) -> Budget:
    """Return the budget that entry 0 holds."""
    try:
        return read_budget(origin.body)
    except (InputError, ValueError, RecursionError):
        raise damaged("the ledger's budget is damaged") from None


def as_written(body: dict[str, Any]) -> str:
    """Return canonical JSON; raises `InputError` for what is no JSON."""
    try:
        return canonical(body).decode()
    except (TypeError, ValueError):
        raise InputError("a release is kept as JSON; give text, finite numbers, lists and tables") from None


def now() -> str:
    """Return the time as entries hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
