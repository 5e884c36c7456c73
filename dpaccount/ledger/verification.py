"""Recomputing a ledger: every digest, the order of the entries, and the tree of what was spent.

Entries are read once, in order, and forgotten.  Charges are added up many at a time in a tree of a temporary
file of our own, which ends as the root that the chain says and the nodes that the ledger holds.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dpaccount.accounting.measures import Amounts
from dpaccount.errors import InputError, LedgerError
from dpaccount.ledger import spending
from dpaccount.ledger import tree as trees
from dpaccount.ledger.budget import Budget, read_budget
from dpaccount.ledger.chain import BUDGET, CHARGE, UPGRADE, Entry
from dpaccount.ledger.spending import Step
from dpaccount.ledger.storage.rows import TABLES, Rows
from dpaccount.ledger.tree import Mark, SpentTree

Bad = int | str  #: the number of an entry, or ``head``, ``totals``, ``file``

ALONE: Final = 1000  #: so many charges are checked one by one; later ones `TOGETHER`
TOGETHER: Final = 20_000
UNREADABLE: Final = (InputError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError)


class Changed(Exception):  # noqa: N818 - no error: the answer of a search
    """What is wrong with a ledger."""

    def __init__(self, where: Bad) -> None:
        super().__init__(str(where))
        self.where = where


def first_bad(rows: Rows) -> Bad | None:
    """Return what is wrong first, or None: the entry that is changed or missing, the head, or the totals."""
    try:
        with scratch() as ours:
            chain = replayed(rows, ours)
            if chain.old or not within(chain.budget, chain.root, ours):
                raise Changed("totals")
            if any(mine != theirs for mine, theirs in _side_by_side(ours.nodes(), rows.nodes())):
                raise Changed("totals")
    except Changed as found:
        return found.where
    return None if rows.sound() else "file"


def within(budget: Budget, root: trees.Root, rows: Rows) -> bool:
    """Say whether no unit of a tree, whose nodes are in `rows`, has spent more than it may."""
    try:
        return SpentTree(root, rows.node).beyond(budget.fits) is None
    except LedgerError:  # a node that does not belong to it
        return False


def replayed(rows: Rows, scratch: Rows) -> "Chain":
    """Check the chain and add up its charges in `scratch`; raises `Changed` at the first thing wrong."""
    chain: Chain | None = None
    for entry in rows.entries():
        try:
            chain = Chain(entry, scratch) if chain is None else chain.take(entry)
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

    `at` is the last entry, `root` what the charges before those that wait come to.
    """

    def __init__(self, first: Entry, scratch: Rows) -> None:
        if first.kind != BUDGET or not first.begins():
            raise ValueError
        self.at, self.budget, self._scratch = first, read_budget(first.body), scratch
        self.root = trees.nothing(self.budget.width)
        self.old = first.root is None  #: whether the entries so far are of format 1
        self._kept: list[tuple[Entry, list[Step]]] = []
        self._taken = 0
        if not self.old and first.root != self.root.text:
            raise ValueError

    def take(self, entry: Entry) -> "Chain":
        """Go on to the next entry."""
        if entry.number != self.at.number + 1 or not entry.follows(self.at.digest):
            raise ValueError
        upgraded = self.old and entry.kind == UPGRADE
        if (entry.root is None) != (self.old and not upgraded) or (entry.kind == UPGRADE and not upgraded):
            raise ValueError
        if entry.kind == CHARGE:
            self._kept.append((entry, charged(entry, self.budget.width)))
            self._taken += 1
        elif entry.root != self.at.root and not upgraded:
            raise ValueError
        if upgraded:
            self.add_up()
            if entry.root != self.root.text:
                raise Changed(entry.number)
            self.old = False
        self.at = entry
        if self._kept and (self._taken <= ALONE or len(self._kept) >= TOGETHER):
            self.add_up()
        return self

    def add_up(self) -> None:
        """Add the charges that wait; the root must be the one of the last of them."""
        kept, self._kept = self._kept, []
        if not kept:
            return
        tree = self._after([steps for _, steps in kept])
        wanted = kept[-1][0].root
        if wanted is not None and tree.root.text != wanted:
            for entry, steps in kept:  # which one is it?
                tree = self._after([steps])
                self._store(tree)
                if tree.root.text != entry.root:
                    raise Changed(entry.number)
        self._store(tree)

    def _after(self, charges: list[list[Step]]) -> SpentTree:
        tree = SpentTree(self.root, self._scratch.node)
        tree.add(*together(charges, self.budget.width))
        return tree

    def _store(self, tree: SpentTree) -> None:
        self._scratch.put(tree.changed)
        self.root = tree.root


def together(charges: list[list[Step]], width: int) -> tuple[Amounts, list[Mark]]:
    """Return the marks of many charges: what they take of everyone, and of ranges of units beyond that."""
    everyone, marks = spending.zero(width), list[Mark]()
    for steps in charges:
        all_pay, some_pay = trees.marks_of(steps, width)
        everyone = spending.plus(everyone, all_pay)
        marks += some_pay
    return everyone, marks


def charged(entry: Entry, width: int) -> list[Step]:
    """Return the amounts over units that a charge added; raises `ValueError` for what no charge says."""
    steps = [(first, spending.read(text, width)) for first, text in json.loads(entry.body)["steps"]]
    if any(type(first) is not int for first, _ in steps):
        raise ValueError
    trees.marks_of(steps, width)
    return steps


@contextmanager
def scratch() -> Iterator[Rows]:
    """Hold an empty temporary database, in a file that goes when it is closed."""
    connection = sqlite3.connect("", isolation_level=None)
    try:
        connection.execute("BEGIN")
        connection.execute(TABLES[-1])
        yield Rows(connection, "the temporary file of totals")
    except sqlite3.Error as error:
        raise LedgerError(f"the totals cannot be added up ({error}); make room for temporary files") from None
    finally:
        connection.close()


def _side_by_side(
    ours: Iterator[tuple[int, object]], theirs: Iterator[tuple[int, object]]
) -> Iterator[tuple[object, object]]:
    for mine in ours:
        yield mine, next(theirs, None)
    for other in theirs:
        yield None, other
