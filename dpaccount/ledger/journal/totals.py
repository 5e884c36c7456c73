"""The last entry of the chain, whose root authenticates the balances that charges are decided on.

When a ledger is opened, the last entry is verified against the head and the entry before it; from
then on each new entry is verified, one by one.  Balances that a charge reads must match the root of
the last entry (`dpaccount.ledger.balances`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpaccount.errors import DpaccountError, LedgerError, damaged
from dpaccount.ledger.balances.bodies import formed
from dpaccount.ledger.balances.segment_tree import Opened
from dpaccount.ledger.balances.state import State
from dpaccount.ledger.entry import ARRANGING, BUDGET, CHANGING, CHARGE, FORFEIT, KINDS, MOVING, RELEASE, Entry
from dpaccount.ledger.stores.rows import Rows


@dataclass(frozen=True)
class Totals:
    """The totals after the entry `at`, of `width` amounts."""

    at: Entry
    width: int
    #: the last entry, other than a release, if known: it names the server that it was written on
    signed: Entry | None = None
    forfeited: int = 0  #: the number of the last forfeit among the verified entries

    @property
    def text(self) -> str:
        """Return the line that authenticates the balances."""
        return self.at.root or ""

    def state(self, fetch: Callable[[int], Any], opened: dict[int, Opened] | None = None) -> State:
        """Return the balances; raises `LedgerError` for a malformed root."""
        return State(self.at.root, self.width, fetch, opened)

    def followed(self, rows: Rows) -> "Totals":
        """Verify later entries and return the totals after the last; raises `LedgerError` for a bad chain."""
        entries = rows.entries(self.at.number)
        at = next(entries, None)
        if at != self.at:
            raise _broken()
        after = self
        for entry in entries:
            after = after.next(_next(after.at, entry, self.width))
        if rows.head() != (after.at.number, after.at.digest) or after.at.root is None:
            raise _broken()
        return after

    def next(self, entry: Entry) -> "Totals":
        """Return the totals after the next entry."""
        signed = self.signed if entry.kind == RELEASE else entry
        forfeited = entry.number if entry.kind == FORFEIT else self.forfeited
        return Totals(entry, self.width, signed, forfeited)


def totals(rows: Rows, width: int) -> Totals:
    """Return the totals at the end of the chain; raises `LedgerError` if its last entry was changed."""
    last, head = rows.head()
    end = rows.entry(last) if isinstance(last, int) else None
    if end is None or end.digest != head or end.root is None:
        raise _broken()
    before = rows.entry(end.number - 1)
    _check_known(end, width, before)
    if not (end.begins() if before is None else end.follows(before.digest)):
        raise _broken()
    end.check_records()
    number = rows.unlawful()
    if number is not None:
        raise _unlawful(number)
    return Totals(end, width, None if end.kind == RELEASE else end)


def _next(at: Entry, entry: Entry, width: int) -> Entry:
    _check_known(entry, width, at)
    if at.root is None or entry.root is None:  # charges that were added together: the last has the root
        kept = entry.kind == CHARGE
    else:
        kept = entry.kind in CHANGING or entry.root == at.root
    if not entry.succeeds(at) or not kept:
        raise _broken()
    return entry


def _check_known(entry: Entry, width: int, before: Entry | None) -> None:
    """Refuse an entry of an unknown kind, or one that no client writes: SQL may have added it."""
    if entry.kind == BUDGET and entry.number:
        raise _broken()
    if entry.kind not in KINDS:
        raise LedgerError(
            f"entry {entry.number} is of a kind that this program does not know; use the one that wrote it"
        )
    if entry.author == "" and entry.kind in ARRANGING:
        raise _unlawful(entry.number)
    try:
        moves = entry.number > 0 and (formed(entry, width).steps or entry.kind in MOVING)
        if moves and before is not None and before.root == entry.root is not None:
            raise ValueError("the balances do not hold it")
    except (DpaccountError, ValueError) as error:
        raise LedgerError(
            f"entry {entry.number} is no entry that a client writes ({error}); nothing is charged behind it:"
            " show its owner `dpaccount ledger verify` and `dpaccount ledger log`"
        ) from None


def _unlawful(number: int) -> LedgerError:
    return LedgerError(
        f"entry {number} arranges the ledger, and its role may not; show its owner `dpaccount ledger log`"
    )


def _broken() -> LedgerError:
    return damaged("the ledger's chain is broken")
