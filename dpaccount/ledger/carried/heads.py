"""Verifying a ledger against heads that were noted outside it, and from one of them on."""

from functools import partial
from typing import Any, Final

from dpaccount.ledger.budget import Budget, read_budget
from dpaccount.ledger.chain import CHANGING, CHARGE, KINDS, Entry
from dpaccount.ledger.entries import said
from dpaccount.ledger.state import changes
from dpaccount.ledger.state.state import State
from dpaccount.ledger.storage.rows import Rows
from dpaccount.ledger.storage.store import Store
from dpaccount.ledger.totals import totals
from dpaccount.ledger.verification import (
    UNREADABLE,
    Bad,
    Charge,
    add,
    first_bad,
    read_charge,
    together,
    year,
)

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
    """Return what is wrong first after the entry with this digest, up to which all was verified; or None.

    Where later charges alone do not show that nothing is, the whole ledger is recomputed.
    """
    noted = _noted(rows, head)
    if noted is None:
        return NOTED
    try:
        sound = _sound_since(rows, noted)
    except UNREADABLE:
        sound = False
    return None if sound else first_bad(rows)


def _noted(rows: Rows, head: str) -> Entry | None:
    """Return the entry with this digest, if that is what it says; None where the chain has none."""
    entry = rows.ended(head)
    before = None if entry is None else rows.entry(entry.number - 1)
    if entry is None or not (entry.begins() if before is None else entry.follows(before.digest)):
        return None
    return entry


def _sound_since(rows: Rows, noted: Entry) -> bool:
    """Say whether the chain leads from this entry to its end by charges that its totals hold and that fit.

    What was arranged meanwhile cannot be taken away again and leaves it unsaid; so does the first charge of a
    year, of a cohort, or of a scope after a reset: the state without it is not the one that was.
    """
    origin = rows.entry(0)
    if origin is None or not origin.begins() or noted.root is None:
        return False
    budget = read_budget(origin.body)
    last, later = noted, list[Charge]()
    for entry in rows.entries(noted.number + 1):
        if entry.number != last.number + 1 or not entry.follows(last.digest):
            return False
        if entry.kind == CHARGE:
            later.append(read_charge(entry, budget.width))
        elif entry.kind in CHANGING or entry.kind not in KINDS or entry.root != last.root:
            return False
        last = entry
    return rows.head() == (last.number, last.digest) and _adds_up(rows, budget, noted, last, later)


def _adds_up(rows: Rows, budget: Budget, noted: Entry, last: Entry, later: list[Charge]) -> bool:
    """Say whether the totals without the later charges are those at `noted`, and what is spent fits.

    The tree of a ledger's life is the sum of all charges: what is left of it says all.  Where something is
    arranged, the charges are added again, too, since a scope, a cohort or a year may refuse them.
    """
    state = State(last.root, budget.width, rows.node)
    for facts, functions in together(later):
        changes.uncharged(state, facts, functions)
    if state.text != noted.root:
        return False
    where = {(facts["scope"], facts["cohort"]) for _, facts in later}
    if state.register.digest or where - {(None, None)}:
        if len(set(map(year, later))) > 1:
            return False
        add(state, later, partial(said, rows))
        if state.text != last.root:
            return False
    return all(changes.over(state, budget, scope) is None for scope in {None, *(scope for scope, _ in where)})
