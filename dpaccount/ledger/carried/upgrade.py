"""A ledger of format 1 made into one of format 2: a new file beside the old one, with the same chain.

The old entries stand in the new file as they were, with their digests, so that every head noted before is
still on the chain; an entry of the kind ``upgrade`` follows, with the old head and the root of the tree
of what was spent.  The old file is closed first: no program charges it any more, also no earlier one.
"""

import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from typing import Any, Final

from dpaccount.errors import LedgerError, damaged
from dpaccount.ledger import spending
from dpaccount.ledger.chain import CHARGE, OLD_ORIGIN, UPGRADE, Entry, seal
from dpaccount.ledger.entries import as_written, facts_of, now
from dpaccount.ledger.storage.place import Address, check_folder, file_address
from dpaccount.ledger.storage.rows import Rows, begin
from dpaccount.ledger.storage.store import Store, create, discard_drafts
from dpaccount.ledger.verification import Changed, read_charge, replayed, scratch

CLOSED: Final = f"{OLD_ORIGIN} upgraded"  #: what stands for the format of a ledger that was upgraded
CLOSING: Final = f"{OLD_ORIGIN} upgrading"
_OLD: Final = (
    "SELECT number, kind, key, about, body, NULL, digest FROM entries WHERE number >= ? ORDER BY number"
)


class OldRows(Rows):
    """The rows of a ledger of format 1."""

    def head(self) -> tuple[int, str]:
        """Return the number and digest that the last entry should have."""
        rows = self._connection.execute("SELECT format, last, head FROM ledger LIMIT 2").fetchall()
        if len(rows) == 1 and rows[0][0] == CLOSED:
            raise LedgerError(f"{self._name} was upgraded; use the ledger that was made of it")
        if len(rows) != 1 or not (rows[0][0] == OLD_ORIGIN or str(rows[0][0]).startswith(CLOSING)):
            raise LedgerError(f"{self._name} is no ledger of an earlier format; it needs no upgrade")
        return rows[0][1], rows[0][2]

    def entries(self, first: int = 0) -> Iterator[Entry]:
        """Yield the entries from number `first` on."""
        for row in self._connection.execute(_OLD, (first,)):
            yield Entry(*row)

    def profile(self) -> list[tuple[Any, Any]]:
        """Return the totals as format 1 keeps them: steps over the units."""
        return list(self._connection.execute("SELECT first, amounts FROM profile ORDER BY first"))

    def check_way(self, way: str) -> None:
        """Refuse where the file says that it is being made into another one than `way` does."""
        [(said,)] = self._connection.execute("SELECT format FROM ledger")
        other = said.removeprefix(CLOSING).removeprefix(" to ")
        if said.startswith(CLOSING) and other and said != way:
            raise LedgerError(f"{self._name} is being made into {other}; go on with `--to` that file")

    def say(self, kind: str) -> None:
        """Write what format the file is of."""
        self._connection.execute("UPDATE ledger SET format = ?", (kind,))


def upgrade(url: str, to: str | None = None) -> dict[str, Any]:
    """Make a ledger of this format from one of format 1: ``{"file", "entries", "old_head", "head"}``.

    The new file is `to`, or else ``name.2.db`` beside ``name.db``.  An interrupted upgrade is gone on with.
    Raises `LedgerError` where the old ledger is not valid, is none of format 1, or is being made into
    another file: else each of two would spend the rest of the budget.
    """
    old = file_address(url)
    new = file_address(to) if to is not None else _beside(old)
    store = Store.on_file(old)
    try:
        discard_drafts(new.path)
        if not new.path.exists():
            _closed_and_copied(store, old, new)
        with store.database.writing(time.monotonic()) as connection:
            rows = OldRows(connection, store.database.name)
            _, head = rows.head()
            rows.check_way(_way(old, new))
            last = _made(new, head)
            rows.say(CLOSED)
    finally:
        store.close()
    return {"file": str(new.path), "entries": last.number, "old_head": head, "head": last.digest}


def _beside(old: Address) -> Address:
    return Address(old.path.with_name(f"{old.path.stem}.2{old.path.suffix}"), old.trusted)


def _way(old: Address, new: Address) -> str:
    """Return what the old file says until the new one is whole: a folder that moves takes both along."""
    return f"{CLOSING} to {os.path.relpath(new.resolved, old.resolved.parent)}"


def _closed_and_copied(store: Store, old: Address, new: Address) -> None:
    """Close the old ledger to charges, once it is found valid, and make the new one whole."""
    check_folder(new.path.parent, trusted=new.trusted)
    with scratch() as totals:
        with store.database.writing(time.monotonic()) as connection:
            rows = OldRows(connection, store.database.name)
            rows.check_way(_way(old, new))
            last, root = _checked(rows, totals)
            rows.say(_way(old, new))
        with store.database.reading() as connection:
            rows = OldRows(connection, store.database.name)
            text = as_written({"from": OLD_ORIGIN, "head": last.digest, "time": now()})
            digest = seal(last.digest, last.number + 1, UPGRADE, None, None, text, root)
            added = Entry(last.number + 1, UPGRADE, None, None, text, root, digest)
            create(new, lambda made, _: begin(made, _and(rows.entries(), added), totals.nodes()))


def _checked(rows: OldRows, totals: Rows) -> tuple[Entry, str]:
    """Return the last entry of a valid ledger of format 1, and the root of its charges' tree."""
    rows.head()
    try:
        chain = replayed(rows, totals)
        width = chain.budget.width
        steps = spending.total(
            (read_charge(one, width).steps for one in rows.entries() if one.kind == CHARGE), width
        )
        lines = [(first, spending.written(amounts)) for first, amounts in steps]
        if not chain.old or rows.profile() != lines or _last_claim(rows) not in (None, _digest(lines)):
            raise Changed("profile")
        if not rows.sound():
            raise Changed("totals")
    except Changed as found:
        raise damaged(f"the ledger is not valid (first bad: {found}) and was not upgraded") from None
    return chain.at, chain.state.text


def _last_claim(rows: OldRows) -> Any:
    """Return what the last entry that speaks of totals says; None where a later charge says nothing."""
    claim = None
    for entry in rows.entries(1):
        if entry.kind == CHARGE:
            claim = facts_of(entry).get("totals")
        elif entry.kind in ("refusal", "drawing"):
            claim = facts_of(entry).get("totals", claim)
    return claim


def _digest(lines: list[tuple[int, str]]) -> str:
    """Return the digest of format 1 for totals: the sum of the steps' SHA-256, modulo 2²⁵⁶."""
    each = (hashlib.sha256(f"{unit} {text}".encode()).digest() for unit, text in lines)
    return f"{sum(map(int.from_bytes, each)) % 2**256:064x}"


def _made(new: Address, old_head: str) -> Entry:
    """Return the last entry of the new ledger as it was made; raises `LedgerError` for another ledger."""
    store = Store.open(f"sqlite:///{new.path}" + ("?shared=trusted" if new.trusted else ""))
    try:
        with store.reading() as rows:
            found = next((one for one in rows.entries() if one.kind == UPGRADE), None)
    finally:
        store.close()
    if found is None or facts_of(found).get("head") != old_head:
        raise LedgerError(f"{new.path} exists already and is another ledger; give the new one another file")
    return found


def _and(entries: Iterable[Entry], last: Entry) -> Iterator[Entry]:
    yield from entries
    yield last
