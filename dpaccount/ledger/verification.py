"""Recomputing a ledger: every digest, the order of the entries, and the tree of what was spent.

Entries are read once, in order, and forgotten.  Charges are added up many at a time in a tree of a temporary
file of our own, which ends as the root that the chain says and the nodes that the ledger holds.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from dpaccount.documents import canonical
from dpaccount.errors import DpaccountError, LedgerError
from dpaccount.ledger import tree as trees
from dpaccount.ledger.budget import Budget, read_budget
from dpaccount.ledger.chain import BUDGET, CHANGING, CHARGE, KINDS, RELEASE, RESERVATION, Entry
from dpaccount.ledger.spending import Step
from dpaccount.ledger.state import changes
from dpaccount.ledger.state.changes import Facts
from dpaccount.ledger.state.state import State
from dpaccount.ledger.storage.rows import TABLES, Nodes, Rows

Bad = int | str  #: the number of an entry, or ``head``, ``totals``, ``file``

ALONE: Final = 1000  #: so many charges are checked one by one; later ones `TOGETHER`
TOGETHER: Final = 20_000
NO_ROOM: Final = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN")  #: what a temporary file ends with
UNREADABLE: Final = (
    *(DpaccountError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError),
    RecursionError,  # JSON of many brackets
)


class Added(NamedTuple):
    """What a charge adds, and what it says of when, where and for whom."""

    steps: list[Step]
    facts: Facts


class Changed(Exception):  # noqa: N818 - no error: the answer of a search
    """What is wrong with a ledger."""

    def __init__(self, where: Bad) -> None:
        super().__init__(str(where))
        self.where = where


def first_bad(rows: Rows) -> Bad | None:
    """Return what is wrong first, or None: the entry that is changed or missing, the head, or the totals."""
    try:
        with scratch() as ours:
            replayed(rows, ours)
            if any(mine != theirs for mine, theirs in _side_by_side(ours.nodes(), rows.nodes())):
                raise Changed("totals")
    except Changed as found:
        return found.where
    for number in (rows.unlawful(), _misattributed(rows)):
        if number is not None:
            return number
    return None if rows.sound() else "file"


def _misattributed(rows: Rows) -> int | None:
    """Return the first entry that names another role than the server saw, or that nobody can read.

    What a release holds is its author's: a `role` in it is no claim about who wrote the entry.
    """
    for entry, role in rows.written():
        try:
            if json.loads(entry.body).get("role", role) != role and entry.kind != RELEASE:
                return entry.number
        except UNREADABLE:
            return entry.number
    return None


def replayed(rows: Rows, scratch: Rows) -> "Chain":
    """Check the chain and add up its charges in `scratch`; raises `Changed` at the first thing wrong."""
    chain: Chain | None = None
    for entry in rows.entries():
        try:
            chain = Chain.begin(entry, scratch) if chain is None else chain.take(entry)
        except UNREADABLE:
            raise Changed(0 if chain is None else chain.at.number + 1) from None
    if chain is None:
        raise Changed(0)
    last, head = rows.head()
    if (last, head) != (chain.at.number, chain.at.digest):
        raise Changed(chain.at.number + 1 if isinstance(last, int) and last > chain.at.number else "head")
    chain.add_up()
    return chain


class Chain:
    """The entries read so far, and their charges that are not yet added up.

    `at` is the last entry, `state` what the entries before the charges that wait come to.
    """

    def __init__(self, at: Entry, budget: Budget, state: State, scratch: Nodes, alone: int) -> None:
        self.at, self.budget, self.state, self._scratch, self._alone = at, budget, state, scratch, alone
        self._bodies: dict[int, str] = {}  #: of reservations
        self._kept: list[tuple[Entry, Added]] = []
        self._taken = 0

    @classmethod
    def begin(cls, first: Entry, scratch: Nodes) -> "Chain":
        """Return the chain of entry 0 alone; raises `ValueError` where it is none."""
        if first.kind != BUDGET or not first.begins():
            raise ValueError
        budget = read_budget(first.body)
        nothing = trees.nothing(budget.width).text
        if first.root != nothing:
            raise ValueError
        return cls(first, budget, State(nothing, budget.width, scratch.node), scratch, ALONE)

    def take(self, entry: Entry) -> "Chain":
        """Go on to the next entry."""
        if entry.number != self.at.number + 1 or not entry.follows(self.at.digest):
            raise ValueError
        if entry.kind == BUDGET:  # entry 0 alone says it
            raise ValueError
        if entry.kind == CHARGE:
            self._wait(entry)
        elif entry.kind in CHANGING:
            self._change(entry)
        elif entry.kind not in KINDS or entry.root != self.at.root:
            raise ValueError
        self.at = entry
        if self._kept and (self._taken <= self._alone or len(self._kept) >= TOGETHER):
            self.add_up()
        return self

    def add_up(self) -> None:
        """Add the charges that wait; the state must be the one of the last of them, and fit."""
        kept, self._kept = self._kept, []
        if not kept:
            return
        before = self.state.text
        if not self._adds(kept):
            self.state = State(before, self.budget.width, self._scratch.node)
            for one in kept:  # which one is it?
                if not self._adds([one]):
                    raise Changed(one[0].number)
        self._check_fits({charge.facts["scope"] for _, charge in kept})
        self.state.keep(self._scratch)

    def _wait(self, entry: Entry) -> None:
        """Let a charge wait until several can be added together: of one year."""
        charge = read_charge(entry, self.budget.width)
        _, first = self._kept[0] if self._kept else (entry, charge)
        if self.state.register.digest and changes.year_of(first.facts) != changes.year_of(charge.facts):
            self.add_up()
        self._kept.append((entry, charge))
        self._taken += 1

    def _change(self, entry: Entry) -> None:
        self.add_up()
        facts = json.loads(entry.body)
        if entry.kind == RESERVATION:
            self._bodies[entry.number] = entry.body
        changes.apply(self.state, self.budget, entry.kind, facts, entry.number, self._bodies.__getitem__)
        if entry.root != self.state.text:
            raise Changed(entry.number)
        scope = facts.get("scope")
        self._check_fits({scope})
        self.state.keep(self._scratch)

    def _adds(self, charges: list[tuple[Entry, Added]]) -> bool:
        """Add charges together; say whether they may follow, and the state is the one of the last of them."""
        wanted = charges[-1][0].root
        try:
            for facts, functions in together(charge for _, charge in charges):
                changes.charged(self.state, facts, functions, self._bodies.__getitem__)
        except UNREADABLE:
            return False
        return self.state.text == wanted

    def _check_fits(self, scopes: set[str | None]) -> None:
        if any(changes.over(self.state, self.budget, scope) is not None for scope in scopes):
            raise Changed("totals")


def read_charge(entry: Entry, width: int) -> Added:
    """Return what a charge added, and where; raises `ValueError` or `LookupError` for what no charge says."""
    facts = json.loads(entry.body)
    where = {name: facts.get(name) for name in ("time", "scope", "cohort", "units")}
    return Added(changes.steps_of(facts["steps"], width), where)


def together(charges: Iterable[Added]) -> list[tuple[Facts, list[list[Step]]]]:
    """Return the charges of each scope, cohort and units together, with what says where."""
    alike: dict[bytes, tuple[Facts, list[list[Step]]]] = {}
    for steps, facts in charges:
        kind = canonical([facts["scope"], facts["cohort"], facts["units"]])
        alike.setdefault(kind, (facts, []))[1].append(steps)
    return list(alike.values())


@contextmanager
def scratch() -> Iterator[Rows]:
    """Hold an empty temporary database, in a file that goes when it is closed."""
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
        raise  # of the ledger itself
    finally:
        connection.close()


def _side_by_side(
    ours: Iterator[tuple[int, object]], theirs: Iterator[tuple[int, object]]
) -> Iterator[tuple[object, object]]:
    for mine in ours:
        yield mine, next(theirs, None)
    for other in theirs:
        yield None, other
