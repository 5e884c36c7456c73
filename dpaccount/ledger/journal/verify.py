"""Verifying a ledger: all of it, or only what follows a head that was noted outside it."""

from contextlib import closing
from itertools import islice
from typing import Any, Final

from dpaccount.documents import collector_paused
from dpaccount.ledger.balances import changes
from dpaccount.ledger.balances.bodies import formed
from dpaccount.ledger.balances.budget import read_budget
from dpaccount.ledger.balances.records import Overlay
from dpaccount.ledger.balances.segment_tree import Opened
from dpaccount.ledger.balances.state import State
from dpaccount.ledger.entry import CHANGING, CHARGE, Entry
from dpaccount.ledger.journal.entries import budget_of, check_linked, first_entry
from dpaccount.ledger.journal.replay import (
    ALONE,
    BAD_ENTRY,
    Bad,
    Chain,
    Fault,
    first_bad,
    together,
)
from dpaccount.ledger.journal.totals import totals
from dpaccount.ledger.stores.rows import Rows
from dpaccount.ledger.stores.store import Store

MOST_LATER: Final = 50_000  #: entries after a noted head that are held in memory, about 6 KB each
NOTED: Final = "noted head"  #: the fault of a chain that lacks a noted head


def verify(
    url: str, *, head: str | None = None, since: str | None = None, first: str | None = None
) -> dict[str, Any]:
    """Recompute a ledger: ``{"valid", "first_bad"}``; `head` must be on its chain.

    With `since`, the head of a ledger that was valid then, only later entries are recomputed: the
    balances minus their charges must be those of that entry, and adding the charges again must lead
    to the last root. That entry 0, with the budget, has not changed follows from all digests.  They
    are not computed if entry 0 is known by its own digest, given as `head` or signed together with
    `since` (`first`), and no other head must be on the chain.

    `first_bad` is the number of the first entry that was changed or is missing, or ``head``,
    ``totals``, ``file`` (the database's own structure) or ``noted head``.  Every line of a witness
    in the URL must be on the chain.
    """
    known = head if first is None else first if head in (None, since) else None
    with closing(Store.open(url)) as store, store.checked(every=True) as rows:
        if since is None:
            bad = first_bad(rows)
        else:
            bad = first_bad_since(rows, since, None if store.witnessed else known)
        if bad is None and head is not None and _noted(rows, head) is None:
            bad = NOTED
    return {"valid": bad is None, "first_bad": bad}


def standing(url: str) -> dict[str, Any]:
    """Return ``{"number", "head", "root"}`` of the last entry, and the digest of entry 0 as ``"first"``.

    All digests between them are verified.  Raises `LedgerError` if an entry was changed.
    """
    with closing(Store.open(url)) as store, store.reading() as rows:
        origin = first_entry(rows)
        at = totals(rows, budget_of(origin).width).at
        check_linked(rows, 0)
    return {"number": at.number, "head": at.digest, "root": at.root, "first": origin.digest}


def first_bad_since(rows: Rows, head: str, known: str | None = None) -> Bad | None:
    """Return the first fault after the entry with this digest, up to which the ledger was verified; or None.

    If later charges alone cannot show that there is none, the whole ledger is recomputed.  `known`
    is the digest of entry 0, if it is known; otherwise the digests of the whole chain are verified.
    """
    noted = _noted(rows, head)
    if noted is None:
        return NOTED
    try:
        with collector_paused():
            sound = _sound_since(rows, noted, known)
    except (Fault, *BAD_ENTRY):
        sound = False
    return None if sound else first_bad(rows)


def _noted(rows: Rows, head: str) -> Entry | None:
    """Return the entry with this digest; None if there is none, or its content does not match."""
    entry = rows.ended(head)
    before = None if entry is None else rows.entry(entry.number - 1)
    if entry is None or not (entry.begins() if before is None else entry.follows(before.digest)):
        return None
    return entry


def _sound_since(rows: Rows, noted: Entry, known: str | None) -> bool:
    """Return whether the balances minus later charges are those at `noted`, and the charges may follow.

    False is no verdict: arrangements cannot be undone, nor the first charge of a year, of a cohort,
    or of a scope after a reset.
    """
    origin, later = next(rows.entries(), None), list(islice(rows.entries(noted.number + 1), MOST_LATER + 1))
    last = later[-1] if later else noted
    if origin is None or not origin.begins() or noted.root is None or len(later) > MOST_LATER:
        return False
    if origin.digest != known:
        check_linked(rows, 0)
    budget = read_budget(origin.body)
    opened: dict[int, Opened] = {}
    state = State(last.root, budget.width, rows.node, opened)
    for where, functions in together(formed(one, budget.width) for one in later if one.kind == CHARGE):
        changes.uncharged(state, where, functions)
    if state.text != noted.root:
        return False
    nodes = _Before(rows.node)
    nodes.put(state.nodes.changed)
    before = State(noted.root, budget.width, nodes.node, opened)  # shares the cache of nodes
    chain = Chain(noted, budget, before, nodes, ALONE if len(later) <= ALONE else 0)
    for entry in later:
        if (entry.kind in CHANGING and entry.kind != CHARGE) or not _indexed(rows, entry):
            return False
        chain.take(entry)
    chain.add_up()
    if rows.head() != (last.number, last.digest) or chain.state.text != last.root:
        return False
    return origin.digest == known or rows.sound()


def _indexed(rows: Rows, entry: Entry) -> bool:
    """Return whether the database's indices return an entry by its key and its mark."""
    by_key = entry.key is None or rows.keyed(entry.key) == entry
    return by_key and (entry.about is None or rows.about(entry.about, entry.kind) == entry)


class _Before(Overlay):
    """The nodes of a ledger as they were at an entry: later changes undone."""

    def drop(self, low: int, high: int, /) -> None:
        raise Fault("totals")  # a year or a period began, which cannot be undone
