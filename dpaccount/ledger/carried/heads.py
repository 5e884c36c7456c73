"""Verifying a ledger against heads that were noted outside it, and from one of them on."""

from itertools import islice
from typing import Any, Final

from dpaccount.errors import damaged
from dpaccount.ledger.budget import read_budget
from dpaccount.ledger.chain import CHANGING, CHARGE, Entry
from dpaccount.ledger.entries import check_linked
from dpaccount.ledger.state import changes
from dpaccount.ledger.state.state import State
from dpaccount.ledger.storage.rows import Rows
from dpaccount.ledger.storage.store import Store
from dpaccount.ledger.totals import totals
from dpaccount.ledger.tree import Opened
from dpaccount.ledger.verification import (
    ALONE,
    UNREADABLE,
    Bad,
    Chain,
    Changed,
    first_bad,
    read_charge,
    together,
)
from dpaccount.plan.plan_file import collector_paused

MOST_LATER: Final = 50_000  #: entries after a noted head that are held in memory: some 6 KB each
NOTED: Final = "noted head"  #: what is wrong where the chain lacks a head that was noted


def verify(
    url: str, *, head: str | None = None, since: str | None = None, first: str | None = None
) -> dict[str, Any]:
    """Recompute a ledger: ``{"valid", "first_bad"}``; `head` must be on its chain.

    With `since`, the head of a ledger that was valid, only what came after it is recomputed: the entries, and
    that the totals without their charges are those of that entry, and with them again what the chain says.
    That entry 0, which holds the budget, is the one of that time follows from all digests.  They are not
    computed where entry 0 is known by its own digest, as `head` or as what was signed together with `since`
    (`first`), and nothing else must be on the chain.

    `first_bad` is the number of the first entry that is changed or missing, or ``head``, ``totals``, ``file``
    (the database's own structure) or ``noted head``.  A witness in the URL must be on the chain with every
    line.
    """
    store = Store.open(url)
    known = head if first is None else first if head in (None, since) else None
    try:
        with store.checked(every=True) as rows:
            if since is None:
                bad = first_bad(rows)
            else:
                bad = first_bad_since(rows, since, None if store.witnessed else known)
            if bad is None and head is not None and _noted(rows, head) is None:
                bad = NOTED
    finally:
        store.close()
    return {"valid": bad is None, "first_bad": bad}


def standing(url: str) -> dict[str, Any]:
    """Return where a ledger stands: ``{"number", "head", "root"}`` of its last entry, and ``"first"``.

    That is the digest of entry 0, to which all digests lead from the head; they are computed.  Raises
    `LedgerError` where one was changed.
    """
    store = Store.open(url)
    try:
        with store.reading() as rows:
            at, origin = totals(rows, 1).at, rows.entry(0)
            if origin is None or not origin.begins():
                raise damaged("entry 0 was changed or removed")
            check_linked(rows, 0)
    finally:
        store.close()
    return {"number": at.number, "head": at.digest, "root": at.root, "first": origin.digest}


def first_bad_since(rows: Rows, head: str, known: str | None = None) -> Bad | None:
    """Return what is wrong first after the entry with this digest, up to which all was verified; or None.

    Where later charges alone do not show that nothing is, the whole ledger is recomputed.  That entry 0, with
    the budget, is what it was follows from the digests of the whole chain, or is `known` by its own.
    """
    noted = _noted(rows, head)
    if noted is None:
        return NOTED
    try:
        with collector_paused():
            sound = _sound_since(rows, noted, known)
    except (Changed, *UNREADABLE):
        sound = False
    return None if sound else first_bad(rows)


def _noted(rows: Rows, head: str) -> Entry | None:
    """Return the entry with this digest, if that is what it says; None where the chain has none."""
    entry = rows.ended(head)
    before = None if entry is None else rows.entry(entry.number - 1)
    if entry is None or not (entry.begins() if before is None else entry.follows(before.digest)):
        return None
    return entry


def _sound_since(rows: Rows, noted: Entry, known: str | None) -> bool:
    """Say whether later charges, taken away from the totals, leave those at `noted`, and may follow on them.

    What was arranged meanwhile cannot be taken away again and leaves it unsaid; so does the first charge of a
    year, of a cohort, or of a scope after a reset: the state without it is not the one that was.
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
    for facts, functions in together(read_charge(one, budget.width) for one in later if one.kind == CHARGE):
        changes.uncharged(state, facts, functions)
    if state.text != noted.root:
        return False
    nodes = _Before(rows, state.changed)
    before = State(noted.root, budget.width, nodes.node, opened)  # what nodes say is not read twice
    chain = Chain(noted, budget, before, nodes, ALONE if len(later) <= ALONE else 0)
    for entry in later:
        if (entry.kind in CHANGING and entry.kind != CHARGE) or not _found(rows, entry):
            return False
        chain.take(entry)
    chain.add_up()
    if rows.head() != (last.number, last.digest) or chain.state.text != last.root:
        return False
    return origin.digest == known or rows.sound()


def _found(rows: Rows, entry: Entry) -> bool:
    """Say whether its key and its mark lead to an entry: the database orders them by themselves."""
    by_key = entry.key is None or rows.keyed(entry.key) == entry
    return by_key and (entry.about is None or rows.about(entry.about, entry.kind) == entry)


class _Before:
    """The nodes of a ledger as they were at an entry, with what later ones put over them."""

    def __init__(self, rows: Rows, changed: dict[int, str | None]) -> None:
        self._rows, self._changed = rows, changed

    def node(self, node: int, /) -> Any:
        return self._changed[node] if node in self._changed else self._rows.node(node)

    def put(self, nodes: dict[int, str | None], /) -> None:
        self._changed.update(nodes)

    def drop(self, low: int, high: int, /) -> None:
        raise Changed("totals")  # a year or a period begins, which cannot be taken away
