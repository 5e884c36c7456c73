"""Verifying and repairing a ledger by replaying its journal: all of it, or what follows a noted head.

Entries are streamed in order; every digest and their order are verified.  Charges are added in batches to
balances in a temporary file, which must end with the root that the chain holds and the nodes that the
ledger stores.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice, zip_longest
from typing import Any, Final

from dpaccount.documents import collector_paused
from dpaccount.errors import DpaccountError, LedgerError
from dpaccount.ledger.balances import bodies, segment_tree
from dpaccount.ledger.balances.bodies import Formed, ScopeBody, Spending, formed
from dpaccount.ledger.balances.budget import Budget, read_budget
from dpaccount.ledger.balances.segment_tree import Opened
from dpaccount.ledger.balances.state import Nodes, Overlay, State
from dpaccount.ledger.balances.step_functions import Step
from dpaccount.ledger.entry import BUDGET, CHANGING, CHARGE, REQUEST, RESERVATION, Entry
from dpaccount.ledger.journal.entries import budget_of, check_linked, first_entry, totals
from dpaccount.ledger.stores.rows import HIGHEST, LOWEST, MAX_CHARGES, TABLES, Rows, watched
from dpaccount.ledger.stores.store import Store

Bad = int | str  #: the number of an entry, or ``head``, ``totals``, ``file``

ALONE: Final = 1000  #: charges whose roots are each compared; after them one in `TOGETHER` is
TOGETHER: Final = 4_000
NO_ROOM: Final = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN")  #: errors of a temporary file
BAD_ENTRY: Final = (DpaccountError, ValueError)  #: what reading or applying an entry raises if it is wrong
MOST_LATER: Final = 50_000  #: entries after a noted head that are held in memory, about 6 KB each
_ROWS: Final = 2000  #: nodes that a repair writes at a time
NOTED: Final = "noted head"  #: the fault of a chain that lacks a noted head


class Fault(Exception):  # noqa: N818 - not an error: the result of a search
    """The first thing that is wrong with a ledger."""

    def __init__(self, where: Bad) -> None:
        super().__init__(str(where))
        self.where = where


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
            bad = first_bad_since(rows, since, known if store.witness.path is None else None)
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


def first_bad(rows: Rows) -> Bad | None:
    """Return the first thing that is wrong: an entry that was changed or is missing, or a part; or None."""
    try:
        with scratch() as ours:
            replayed(rows, ours)
            if differ(ours, rows):
                raise Fault("totals")
    except Fault as fault:
        return fault.where
    return None if rows.sound() else "file"


def differ(ours: Rows, theirs: Rows) -> bool:
    """Return whether two stores hold different balances."""
    return any(mine != other for mine, other in zip_longest(ours.nodes(), theirs.nodes()))


def replayed(rows: Rows, scratch: Rows) -> "Chain":
    """Verify the chain and its head and recompute balances in `scratch`; raises `Fault` at a fault."""
    chain = chain_of(watched(rows.entries(), rows, "replaying entry"), scratch)
    last, head = rows.head()
    if (last, head) != (chain.at.number, chain.at.digest):
        raise Fault(chain.at.number + 1 if last > chain.at.number else "head")
    return chain


def chain_of(entries: Iterable[Entry], scratch: Rows) -> "Chain":
    """Verify a chain of entries and recompute its balances in `scratch`; raises `Fault` at a fault."""
    chain: Chain | None = None
    for entry in entries:
        try:
            chain = Chain.begin(entry, scratch) if chain is None else chain.take(entry)
        except (Fault, *BAD_ENTRY) as error:
            if chain is not None and entry.succeeds(chain.at):
                entry.check_records()
            if isinstance(error, Fault):
                raise
            raise Fault(0 if chain is None else chain.at.number + 1) from None
    if chain is None:
        raise Fault(0)
    chain.add_up()
    return chain


class Chain:
    """The entries verified so far, and a batch of charges that are not yet added to the balances.

    `at` is the last entry; `state` has the balances before that batch, which begins after `alone` charges.
    """

    def __init__(self, at: Entry, budget: Budget, state: State, scratch: Nodes, alone: int) -> None:
        self.at, self.budget, self.state, self._scratch, self.alone = at, budget, state, scratch, alone
        self._bodies: dict[int, str] = {}  #: of reservations, by entry
        self._kept: list[tuple[Entry, Formed]] = []
        self._begun = set[tuple[str, str]]()  #: calendar periods of scopes that the batch begins
        self._taken = 0

    @classmethod
    def begin(cls, first: Entry, scratch: Nodes) -> "Chain":
        """Return the chain of entry 0 alone; raises `ValueError` for any other entry."""
        budget = read_budget(first.body)
        nothing = segment_tree.nothing(budget.width).text
        if first.kind != BUDGET or not first.begins() or first.root != nothing:
            raise ValueError
        return cls(first, budget, State(nothing, budget.width, scratch.node), scratch, ALONE)

    def take(self, entry: Entry) -> "Chain":
        """Verify the next entry; raises `ValueError` or `DpaccountError` if it does not follow."""
        if not (entry.succeeds(self.at) and entry.has_its_root(self.at)):
            raise ValueError
        added = formed(entry, self.budget.width)  # only entry 0 is a budget
        if entry.kind == CHARGE:
            self._wait(entry, added)
        elif entry.kind in CHANGING:
            self._change(entry)
        self.at = entry
        enough = self._taken <= self.alone or len(self._kept) >= TOGETHER
        if self._kept and enough and entry.root is not None:
            self.add_up()
        return self

    def agrees(self, entry: Entry) -> bool:
        """Return whether an entry's root is that of the balances."""
        return entry.root == self.state.text

    def add_up(self) -> None:
        """Add the batch; its last root must match, and every limit must hold."""
        kept, self._kept, self._begun = self._kept, [], set()
        if not kept:
            return
        before = self.state.text
        if not self._adds(kept):
            self.state = State(before, self.budget.width, self._scratch.node)
            run: list[tuple[Entry, Formed]] = []
            for one in kept:  # find the wrong one
                run.append(one)
                if one[0].root is not None:
                    if not self._adds(run):
                        raise Fault(run[0][0].number)  # any of them: what is left ends with a root
                    run = []
            if run:  # no entry after them has their root
                raise Fault(run[0][0].number)
        self._check_fits({charge.where.scope for _, charge in kept})
        self.state.keep(self._scratch)

    def _wait(self, entry: Entry, charge: Formed) -> None:
        """Put a charge into the batch, whose charges are of one year; what renews a cap begins another."""
        _, first = self._kept[0] if self._kept else (entry, charge)
        turns = self.state.register.digest and first.where.year != charge.where.year
        begins = {*self.state.to_renew(charge.where.scope, charge.where.time)} - self._begun
        if turns or begins:
            self.add_up()
            self._begun = begins
        if len(self._kept) > TOGETHER + MAX_CHARGES:
            raise ValueError  # no commit has more charges; the last has a root
        self._kept.append((entry, charge))
        self._taken += 1

    def _change(self, entry: Entry) -> None:
        self.add_up()
        self._bodies[entry.number] = entry.body
        body = bodies.apply(self.state, self.budget, entry.kind, entry.number, self._body)
        if entry.kind not in (REQUEST, RESERVATION):  # only these are read again
            del self._bodies[entry.number]
        if not self.agrees(entry):
            raise Fault(entry.number)
        self._check_fits({body.scope if isinstance(body, Spending | ScopeBody) else None})
        self.state.keep(self._scratch)

    def _body(self, number: int) -> str:
        if number not in self._bodies:
            raise ValueError(f"entry {number} is no reservation or request")
        return self._bodies[number]

    def _adds(self, charges: list[tuple[Entry, Formed]]) -> bool:
        """Add charges; return whether they are allowed and lead to the root of the last of them."""
        added = [charge for _, charge in charges]
        try:
            if any(charge.where.permit(self.state) is not None for charge in added):
                return False
            if any(self.state.over_one(self.budget, steps, where.scope) for steps, where in added):
                return False
            for where, functions in together(added):
                where.charge(self.state, functions, self._body)
        except BAD_ENTRY:
            return False
        return self.agrees(charges[-1][0])

    def _check_fits(self, scopes: set[str | None]) -> None:
        if any(self.state.over(self.budget, scope) is not None for scope in scopes):
            raise Fault("totals")


def together(charges: Iterable[Formed]) -> list[tuple[Spending, list[list[Step]]]]:
    """Return the steps of all charges with the same scope, cohort and units, next to the first of them."""
    alike: dict[tuple[Any, ...], tuple[Spending, list[list[Step]]]] = {}
    for steps, where in charges:
        units = None if where.units is None else tuple(where.units)
        alike.setdefault((where.scope, where.cohort, units), (where, []))[1].append(steps)
    return list(alike.values())


@contextmanager
def scratch() -> Iterator[Rows]:
    """Provide an empty temporary database, which is deleted when it is closed."""
    connection = sqlite3.connect("", isolation_level=None)
    try:
        connection.execute("BEGIN")
        connection.execute(TABLES[-1])
        yield Rows(connection, "the temporary file of totals")
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "").startswith(NO_ROOM):
            raise LedgerError(
                f"the totals cannot be added up ({error}); make room for temporary files"
            ) from None
        raise  # an error of the ledger itself
    finally:
        connection.close()


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
    return entry if entry is not None and entry.stands_on(before) else None


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
    # The noted root is trusted, the stored nodes are not: undoing the charges must lead to that root.
    for where, functions in together(formed(one, budget.width) for one in later if one.kind == CHARGE):
        state.spend(functions, where.scope, back=True)
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


def repair(url: str, head: str | None = None) -> dict[str, Any]:
    """Rebuild a ledger's balances and head from its entries: ``{"repaired", "entries", "head"}``.

    Entries themselves are never changed: where one was, nothing is repaired.
    `repaired` names what was wrong: ``balances``, ``head``, both or nothing.  `head` is the digest
    of the last entry, given by somebody who vouches that no later one was lost; it is needed only
    where the ledger's own note of its head is not on the chain.  Raises `LedgerError` where an
    entry was changed or may be missing, and then changes nothing.
    """
    with closing(Store.open(url)) as store, store.writing() as rows, scratch() as ours:
        end = _end(rows, ours)
        if head is not None and head != end.digest:
            raise LedgerError(
                f"--head is {head[:80]!r}, and the last entry {end.number} has the digest {end.digest}"
            )
        repaired = ["balances"] if differ(ours, rows) else []
        if rows.head() != (end.number, end.digest):
            _check_whole(rows, end, head)
            repaired.append("head")
        if "balances" in repaired:
            rows.drop(LOWEST, HIGHEST)
            nodes = ours.nodes()
            while page := dict(islice(nodes, _ROWS)):
                rows.put(page)
                rows.finish()
        if repaired:  # for balances alone, too: a commit that is cut is then reported as unknown
            rows.point(end)
    return {"repaired": repaired, "entries": end.number, "head": end.digest}


def _end(rows: Rows, ours: Rows) -> Entry:
    """Return the last entry, with the balances added up in `ours`; raises `LedgerError` for a bad entry."""
    try:
        end = chain_of(rows.entries(), ours).at
    except Fault as fault:
        raise _beyond_repair(fault.where) from None
    if not rows.sound():
        raise _beyond_repair("file")
    return end


def _beyond_repair(where: int | str) -> LedgerError:
    what = f"entry {where}" if isinstance(where, int) else f"the ledger's {where}"
    return LedgerError(
        f"{what} is wrong, and only balances and the head can be rebuilt; nothing was changed:"
        " see `dpaccount ledger verify`"
    )


def _check_whole(rows: Rows, end: Entry, head: str | None) -> None:
    """Refuse a ledger whose note of its head is not on the chain, unless somebody vouches for its end."""
    last, noted = rows.head()
    entry = rows.entry(last)
    if head is None and (entry is None or entry.digest != noted):
        raise LedgerError(
            f"the entries end with {end.number}, the ledger notes another end, {last}: entries may be lost;"
            f" repair with --head {end.digest}, and charge what may be lost by `dpaccount ledger forfeit`"
        )
