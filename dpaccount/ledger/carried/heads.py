"""Verifying a ledger against heads that were noted outside it, and from one of them on."""

from typing import Any, Final

from dpaccount.errors import LedgerError
from dpaccount.ledger import tree as trees
from dpaccount.ledger.budget import read_budget
from dpaccount.ledger.chain import CHANGING, CHARGE, KINDS, Entry
from dpaccount.ledger.entries import facts_of
from dpaccount.ledger.spending import Step
from dpaccount.ledger.state import changes
from dpaccount.ledger.state.state import State, split
from dpaccount.ledger.storage.rows import Rows
from dpaccount.ledger.storage.store import Store
from dpaccount.ledger.totals import totals
from dpaccount.ledger.tree import SpentTree
from dpaccount.ledger.verification import UNREADABLE, Bad, Changed, charged, first_bad

NOTED: Final = "noted head"  #: what is wrong where the chain lacks a head that was noted


def verify(url: str, *, head: str | None = None, since: str | None = None) -> dict[str, Any]:
    """Recompute a ledger: ``{"valid", "first_bad"}``; `head` must be on its chain.

    With `since`, the head of a ledger that was valid, only what came after it is recomputed: the entries, and
    that the totals without their charges are those of that entry.  `first_bad` is the number of the first
    entry that is changed or missing, or ``head``, ``totals``, ``file`` (the database's own structure) or
    ``noted head``.  A witness in the URL must be on the chain with every line.
    """
    store = Store.open(url)
    try:
        with store.checked(every=True) as rows:
            bad = first_bad(rows) if since is None else first_bad_since(rows, since)
            if bad is None and head is not None and _noted(rows, head) is None:
                bad = NOTED
    finally:
        store.close()
    return {"valid": bad is None, "first_bad": bad}


def standing(url: str) -> dict[str, Any]:
    """Return where a ledger stands: ``{"number", "head", "root"}`` of its last entry, which is checked."""
    store = Store.open(url)
    try:
        with store.reading() as rows:
            at = totals(rows, 1).at
    finally:
        store.close()
    return {"number": at.number, "head": at.digest, "root": at.root}


def first_bad_since(rows: Rows, head: str) -> Bad | None:
    """Return what is wrong first after the entry with this digest, up to which all was verified; or None."""
    noted, origin = _noted(rows, head), rows.entry(0)
    if noted is None:
        return NOTED
    if origin is None or not origin.begins():
        return 0
    if noted.root is None:
        return first_bad(rows)
    try:
        budget = read_budget(origin.body)
        last, later = _since(rows, noted, budget.width)
        if later is None:
            return first_bad(rows)
        _check_taken_away(rows, noted, last, later, budget.width)
        over = changes.over(State(last.root, budget.width, rows.node), budget, None)
    except Changed as changed:
        return changed.where
    except UNREADABLE:
        return "totals"
    return None if over is None else "totals"


def _noted(rows: Rows, head: str) -> Entry | None:
    """Return the entry with this digest, if that is what it says; None where the chain has none."""
    entry = rows.ended(head)
    before = None if entry is None else rows.entry(entry.number - 1)
    if entry is None or not (entry.begins() if before is None else entry.follows(before.digest)):
        return None
    return entry


def _since(rows: Rows, noted: Entry, width: int) -> tuple[Entry, list[list[Step]] | None]:
    """Return the last entry, and the charges after `noted`; None where an entry did more than add to totals.

    What a team arranged stands in the register, which only charges outside of it leave as it is.
    """
    at, later, alone, arranged = noted, [], True, split(noted.root)[1]
    for entry in rows.entries(noted.number + 1):
        if entry.number != at.number + 1 or not entry.follows(at.digest):
            raise Changed(at.number + 1)
        try:
            if entry.kind == CHARGE:
                later.append(charged(entry, width))
                alone = alone and split(entry.root)[1] == arranged and not _arranges(entry)
            elif entry.kind in CHANGING:
                alone = False
            elif entry.kind not in KINDS or entry.root != at.root:
                raise Changed(entry.number)
        except UNREADABLE:
            raise Changed(entry.number) from None
        at = entry
    if rows.head() != (at.number, at.digest):
        raise Changed("head")
    return at, later if alone else None


def _arranges(charge: Entry) -> bool:
    """Say whether a charge is in a scope or for a cohort."""
    facts = facts_of(charge)
    return facts.get("scope") is not None or facts.get("cohort") is not None


def _check_taken_away(rows: Rows, noted: Entry, last: Entry, later: list[list[Step]], width: int) -> None:
    """Take the later charges away from the stored totals: what remains must be the totals at `noted`."""
    tree = SpentTree(trees.read(split(last.root)[0], width), rows.node)
    everyone, marks = trees.together(later, width)
    negative = [(first, end, tuple(-one for one in spent)) for first, end, spent in marks]
    try:
        tree.add(tuple(-one for one in everyone), negative)
        tree.shrink()
    except LedgerError:
        raise Changed("totals") from None
    if tree.root.text != split(noted.root)[0]:
        raise Changed("totals")
