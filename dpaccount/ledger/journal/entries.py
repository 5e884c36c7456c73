"""Reading and writing entries: charges, marks that drawing began, kept releases."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from secrets import token_hex
from typing import Any

from dpaccount.documents import canonical
from dpaccount.errors import InputError, LedgerError, ReceiptError, damaged
from dpaccount.ledger.balances import bodies, step_functions
from dpaccount.ledger.balances.budget import Budget, read_budget
from dpaccount.ledger.balances.state import State
from dpaccount.ledger.balances.step_functions import Step
from dpaccount.ledger.entry import BUDGET, CHARGE, DRAWING, FORFEIT, RELEASE, Entry
from dpaccount.ledger.journal.totals import Totals
from dpaccount.ledger.stores.rows import Rows, watched
from dpaccount.noise import process


@dataclass(frozen=True)
class RunState:
    """The state of one key's run, in one snapshot of the ledger.

    `kept` is the release, `charged` whether the key has a charge.  If drawing began and no release
    was kept, exactly one of two holds.  `drawing`: another process began it and may still run, here
    or on another machine.  `lost`: that process ended, or is this one; its noise may have been seen
    and is not drawn again. A charge before a forfeit that was not drawn is lost, too.
    """

    kept: dict[str, Any] | None = None
    charged: bool = False
    drawing: bool = False
    lost: bool = False


def stamped(facts: Mapping[str, Any], stamp: Mapping[str, str]) -> dict[str, Any]:
    """Return the facts of a new entry with its time, a salt, and what a server knows of the client.

    The salt keeps the head from revealing a key, which may depend on private data, and makes the
    entry unique: after an interrupted commit it is looked up by its digest.
    """
    return {**facts, **stamp, "time": now(), "salt": token_hex(16)}


def check_server(rows: Rows, totals: Totals) -> None:
    """Refuse to write to another server or copy than the one that the last entry was written to."""
    here = rows.stamp.get("server")
    signed = here and (totals.signed or rows.before_releases())
    if signed and facts_of(signed).get("server") not in (None, here):
        raise LedgerError(
            "the ledger was last written on another server, or to another copy: what was charged there since"
            " may be missing here; say what it can be at most by `dpaccount ledger forfeit`"
        )


def written(steps: list[Step]) -> list[list[Any]]:
    """Return amounts over units as an entry holds them."""
    return [[first, step_functions.written(amounts)] for first, amounts in steps]


def check_own(rows: Rows, entry: Entry) -> None:
    """Raise `LedgerError` if another role of the server charged `entry`; a file knows no roles."""
    if entry.author not in (None, rows.stamp.get("role")):
        raise LedgerError(
            f"entry {entry.number} is of the role {entry.author}, who alone may draw for it, keep its release"
            " or return its parts; make a charge of your own"
        )


def charge_of(rows: Rows, charge: int | str) -> Entry:
    """Return a charge, given its number or key."""
    entry = rows.entry(charge) if isinstance(charge, int) else rows.keyed(charge)
    if entry is None or entry.kind != CHARGE:
        raise LedgerError(f"{charge!r} is not a charge of this ledger; give a charge's entry or key")
    return entry


def own_charge(rows: Rows, charge: int | str) -> Entry:
    """Return a charge as `charge_of` does; raises as `check_own` does."""
    check_own(rows, entry := charge_of(rows, charge))
    return entry


def check_undrawn(rows: Rows, entry: int, seen: int | None = None) -> int:
    """Refuse to draw for a charge whose drawing began, or whose release is kept; return the last entry.

    All entries after the charge (after `seen`, if the earlier ones were read before) are read,
    since a damaged index could hide a mark.
    """
    own_charge(rows, entry)
    last, kinds = check_linked(rows, entry if seen is None else seen, entry)
    if FORFEIT in kinds:
        raise forfeited(entry)
    if RELEASE in kinds or rows.about(entry, RELEASE) is not None:
        raise ReceiptError(
            f"entry {entry} was drawn and its release is kept; print that, or make a new charge"
        )
    if DRAWING in kinds or rows.about(entry, DRAWING) is not None:
        raise ReceiptError(
            f"drawing for entry {entry} began and its release was never kept, so drawing again would be a"
            " second release; make a new charge under another key"
        )
    return last


def forfeited(entry: int) -> ReceiptError:
    """Return the error to raise for a charge that may have been drawn by entries that are lost."""
    return ReceiptError(
        f"entry {entry} was charged before a forfeit, and what was lost may have drawn it; make a new charge"
        " under another key"
    )


def marked(
    rows: Rows, root: str, entry: int, before: int | None, seen: int | None, draws: tuple[int, int]
) -> Entry:
    """Mark draws of a charge, after its mark `before`; raises `ReceiptError` if another run drew."""
    if before is None:
        check_undrawn(rows, entry, seen)
    elif rows.about(before, DRAWING) is not None:
        raise ReceiptError(f"entry {entry} is drawn by another run; make a new charge")
    body = as_written(mark_of(*draws, rows.stamp))
    return rows.append(DRAWING, body, root, about=entry if before is None else before)


def mark_of(first: int, last: int, stamp: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of the entry that marks these draws."""
    return stamped({"process": process.name(), "draws": [first, last]}, stamp)


def kept(rows: Rows, root: str, charge: int | str, text: str) -> Entry:
    """Store the release of a charge, once."""
    entry = own_charge(rows, charge)
    if rows.about(entry.number, RELEASE) is not None:
        raise LedgerError(f"entry {entry.number} has its release already; make a new charge for another")
    return rows.append(RELEASE, text, root, about=entry.number)


def unkept(begun: Entry) -> RunState:
    """Return the state of a run that began to draw and kept no release."""
    who = str(facts_of(begun).get("process", ""))
    drawing = bool(who) and who != process.name() and process.running(who) is not False
    return RunState(charged=True, drawing=drawing, lost=not drawing)


def check_unchanged(rows: Rows, entry: Entry) -> None:
    """Raise `LedgerError` if an entry does not link to its neighbours in the chain."""
    if entry.author == "":
        raise LedgerError(
            f"entry {entry.number} is of a role that may not write it; see `dpaccount ledger verify`"
        )
    before, after = rows.entry(entry.number - 1), rows.entry(entry.number + 1)
    held = after.follows(entry.digest) if after is not None else rows.head() == (entry.number, entry.digest)
    if before is None or not entry.follows(before.digest) or not held:
        raise damaged(f"entry {entry.number} was changed")


def check_linked(rows: Rows, number: int, about: int | None = None) -> tuple[int, set[str]]:
    """Verify the chain after an entry; raises `LedgerError` if an entry was changed or removed.

    Returns the number of the last entry, and the kinds of later entries that are about `about` or
    are forfeits.
    """
    at, kinds = rows.entry(number), set()
    entries = (
        rows.entries(number + 1) if number else islice(rows.entries(), 1, None)
    )  # none may come before 0
    for entry in watched(entries, rows, "digest of entry"):
        if at is None or not entry.succeeds(at):
            break
        at = entry
        if entry.kind == FORFEIT or (entry.about is not None and entry.about == about):
            kinds.add(entry.kind)
    if at is None or rows.head() != (at.number, at.digest):
        where = number if at is None else at.number + 1
        raise damaged(f"entry {where} was changed or removed")
    return at.number, kinds


def body_of(rows: Rows, number: int) -> str:
    """Return the body of an entry; raises `LedgerError` if it is missing."""
    entry = rows.entry(number)
    if entry is None:
        raise damaged(f"entry {number} is missing")
    return entry.body


def apply(rows: Rows, state: State, budget: Budget, kind: str, body: str) -> None:
    """Apply the next entry, which is not written yet, to the balances; raises as `bodies.apply` does."""
    new = rows.head()[0] + 1
    bodies.apply(state, budget, kind, new, lambda number: body if number == new else body_of(rows, number))


def facts_of(entry: Entry) -> dict[str, Any]:
    """Parse the body of an entry; raises `LedgerError` if it is damaged."""
    try:
        facts = json.loads(entry.body)
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        raise damaged(f"entry {entry.number} is damaged")
    return facts


def releases(rows: Rows, text: str) -> Iterator[tuple[int, Any]]:
    """Yield the releases with a text in them, after their charges; raises `LedgerError` for a changed one."""
    for entry in rows.entries():
        if entry.kind == RELEASE and text in entry.body:
            check_unchanged(rows, entry)
            yield entry.about or 0, facts_of(entry)


def first_entry(rows: Rows) -> Entry:
    """Return entry 0; raises `LedgerError` if it was changed."""
    first = rows.entry(0)
    if first is None or first.kind != BUDGET or not first.begins():
        raise damaged("the ledger's budget was changed")
    return first


def budget_of(origin: Entry) -> Budget:
    """Return the budget that entry 0 holds."""
    try:
        return read_budget(origin.body)
    except (InputError, ValueError):
        raise damaged("the ledger's budget is damaged") from None


def as_written(body: dict[str, Any]) -> str:
    """Return canonical JSON; raises `InputError` for values that JSON does not have."""
    try:
        return canonical(body).decode()
    except (TypeError, ValueError):
        raise InputError("a release is kept as JSON", "give text, finite numbers, lists and tables") from None


def now() -> str:
    """Return the current time in ISO 8601, as entries hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
