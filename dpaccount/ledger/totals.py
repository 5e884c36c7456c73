"""Where the chain stands and what units have spent there: charges are decided on this, not the file's word.

Every entry holds the root of the tree of what was spent after it (`dpaccount.ledger.tree`).  An open ledger
checks the last entry against the head and the one before it, and from then on follows the chain, entry by
entry; what a charge reads of the tree must belong to the root.
"""

from dataclasses import dataclass
from functools import cached_property

from dpaccount.errors import LedgerError
from dpaccount.ledger import tree as trees
from dpaccount.ledger.chain import CHARGE, Entry
from dpaccount.ledger.storage.rows import Rows
from dpaccount.ledger.tree import SpentTree


@dataclass(frozen=True)
class Totals:
    """The totals after the entry `at`, of `width` amounts."""

    at: Entry
    width: int

    @classmethod
    def known(cls, at: Entry, width: int, root: trees.Root) -> "Totals":
        """Return the totals after an entry that was just made with this root."""
        found = cls(at, width)
        found.__dict__["root"] = root
        return found

    @cached_property
    def root(self) -> trees.Root:
        """Return the root of the tree of what was spent; raises `ValueError` where it is none."""
        return trees.read(self.at.root, self.width)

    @property
    def text(self) -> str:
        """Return the root as entries hold it."""
        return self.root.text

    def tree(self, rows: Rows) -> SpentTree:
        """Return the tree, to be read or charged."""
        return SpentTree(self.root, rows.node)

    def followed(self, rows: Rows) -> "Totals":
        """Go on to the last entry; raises `LedgerError` where the chain does not lead there from here."""
        found = rows.entries(self.at.number)
        at = next(found, None)
        if at != self.at:
            raise _broken()
        for entry in found:
            at = _next(at, entry)
        if rows.head() != (at.number, at.digest):
            raise _broken()
        return self if at.number == self.at.number else Totals(at, self.width)


def totals(rows: Rows, width: int) -> Totals:
    """Return the totals at the end of the chain; raises `LedgerError` where its last entry was changed."""
    last, head = rows.head()
    end = rows.entry(last) if isinstance(last, int) else None
    if end is None or end.digest != head or end.root is None:
        raise _broken()
    before = rows.entry(end.number - 1)
    if not (end.begins() if before is None else end.follows(before.digest)):
        raise _broken()
    return Totals(end, width)


def _next(at: Entry, entry: Entry) -> Entry:
    kept = entry.root is not None and (entry.kind == CHARGE or entry.root == at.root)
    if entry.number != at.number + 1 or not entry.follows(at.digest) or not kept:
        raise _broken()
    return entry


def _broken() -> LedgerError:
    return LedgerError("the ledger's chain is broken; restore a backup that `ledger verify` accepts")
