"""Resumable receipt: one charge whose noise several processes draw in parts, one after another.

A `Receipt` ends with its process, and all that it drew is one release.  Here each part of a charge
is its own release: its mark and value are committed to the ledger in one transaction, and only then
is the value returned.  If the process dies before the commit, nothing was shown or stored, and the
next process draws the part; after the commit, the part is read back.  No part ever has two values.

The marks of a charge form a chain, as with a receipt: each refers to the one before, and only one
can.  So of two processes that draw at the same time one is refused before it returns anything, and
a charge is drawn by a receipt or in parts, never both.
"""

import json
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from dpaccount.errors import LedgerError, ReceiptError, damaged
from dpaccount.ledger.entry import DRAWING, FORFEIT, RELEASE
from dpaccount.ledger.journal import entries
from dpaccount.ledger.journal.entries import Totals
from dpaccount.ledger.stores.rows import Rows, again
from dpaccount.ledger.stores.store import Store
from dpaccount.noise import process
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import Noise, issue
from dpaccount.noise.samplers import Integers

Name = list[Any]  #: how, key and part, as JSON values
After = Callable[[], str]  #: returns the caller's position in its state file, at a draw


class ResumableReceipt(Noise):
    """The result of `Ledger.charge_in_parts`: secure noise, each part drawn and kept once.

    `entry` is the charge's number, `after` the caller's position at each part kept before.  Threads
    may share it; a forked process is refused, as by a receipt.  A part that was kept before is
    returned as it was.  Raises `ReceiptError` as a receipt does, and if another process draws from
    this charge; `LedgerError` for a part that was kept in another shape.
    """

    releasable = True

    def __init__(
        self, store: Store, totals: Callable[[Rows], Totals], proved: Proved, entry: int, after: After = str
    ) -> None:
        self.entry = entry
        self.after: list[str] = []
        self._now = after
        self._store, self._totals = store, totals
        self._receipt = issue(proved, entry, lambda _drawn, _most: None)  # marked here instead
        self._process, self._gate = process.identity(), threading.Lock()
        self._kept: dict[str, Integers] = {}
        self._last = entry
        for number, name, value, place in again(self._line):
            self._recall(number, name, value)
            self.after.append(place)

    def __len__(self) -> int:
        """Return the number of parts that are drawn and kept."""
        return len(self._kept)

    def noisy_cells(self, key: str, part: Hashable, cells: Integers) -> Integers:
        """Raise `ReceiptError`: the number of cells is random, so a part has no fixed shape."""
        raise ReceiptError(
            f"{key!r} is a histogram of unknown cells; release it at once, by a charge of its own"
        )

    def _answer(self, how: str, key: str, part: Hashable, values: Integers) -> Integers:
        name, given = [how, key, _written(part)], np.asarray(values)
        if self._process != process.identity():  # before the lock: a fork may have left it held
            raise ReceiptError("this charge is drawn by the process that opened it; open it here anew")
        with self._gate:
            kept = self._kept.get(_text(name))
            if kept is None:
                return self._drawn(name, how, key, part, given)
        if kept.shape != given.shape:
            raise LedgerError(
                f"part {part!r} of {key!r} was released with shape {kept.shape}, not {given.shape};"
                " this is another run: give it a ledger key of its own"
            )
        return kept.copy()

    def _drawn(self, name: Name, how: str, key: str, part: Hashable, given: Integers) -> Integers:
        """Mark, draw and keep in one transaction; the value is not returned before the commit."""
        drawn: list[Integers] = []

        def write() -> int:
            with self._store.writing() as rows:
                totals = self._totals(rows)
                if totals.forfeited > self.entry:
                    raise entries.forfeited(self.entry)
                if rows.about(self._last, DRAWING) is not None:
                    raise ReceiptError(
                        f"another process draws from entry {self.entry}; let it end, then open this anew"
                    )
                count = len(self._kept) + 1
                mark = entries.as_written(entries.mark_of(count, count, rows.stamp))
                marked = rows.append(DRAWING, mark, totals.text, about=self._last)
                # A retry after a cut connection keeps the value: drawn again, a part could have two.
                if not drawn:
                    drawn.append(getattr(self._receipt, how)(key, part, given))
                kept = {"part": name, "value": drawn[0].tolist(), "after": self._now()}
                rows.append(RELEASE, entries.as_written(kept), totals.text, about=marked.number)
                return marked.number

        self._last = again(write)
        self._kept[_text(name)] = drawn[0]
        return drawn[0].copy()

    def _line(self) -> list[tuple[int, Name, Integers, str]]:
        with self._store.reading() as rows:
            entries.own_charge(rows, self.entry)
            if FORFEIT in entries.check_linked(rows, self.entry)[1]:
                raise entries.forfeited(self.entry)
            return list(_line(rows, self.entry))

    def _recall(self, number: int, name: Name, value: Integers) -> None:
        """Restore a kept part: the receipt counts it and will not draw it again."""
        how, key, part = name
        rows = (value.shape or (1,))[0]
        numbers = value.size if how == "noisy" else rows * (rows + 1) // 2
        self._receipt.recall(key, _read(part), numbers)
        self._kept[_text(name)], self._last = value, number


def _line(rows: Rows, entry: int) -> Iterator[tuple[int, Name, Integers, str]]:
    """Yield mark, name, value and position of every kept part, in the order of drawing."""
    marks = {(one.kind, one.about): one for one in rows.entries(entry) if one.kind in (DRAWING, RELEASE)}
    mark = marks.get((DRAWING, entry))
    while mark is not None:
        kept = marks.get((RELEASE, mark.number))
        if kept is None:
            raise ReceiptError(
                f"entry {entry} was drawn by a run that kept no parts; make a new charge under another key"
            )
        facts = entries.facts_of(kept)
        try:
            how, key, part = facts["part"]
            value = np.array(facts["value"], dtype=np.int64)
            yield mark.number, [how, key, part], value, str(facts["after"])
        except (KeyError, TypeError, ValueError, OverflowError):
            raise damaged(f"entry {kept.number} is damaged") from None
        mark = marks.get((DRAWING, mark.number))


def _written(part: Hashable) -> Any:
    """Return a part as a JSON value: an integer, a string, or a list of these."""
    if isinstance(part, tuple):
        return [_written(member) for member in part]
    if isinstance(part, str):
        return part
    if isinstance(part, int | np.integer) and not isinstance(part, bool):
        return int(part)
    raise ReceiptError(f"{part!r} cannot name a part; give a whole number, a text, or a tuple of these")


def _read(part: Any) -> Hashable:
    return tuple(map(_read, part)) if isinstance(part, list) else part


def _text(name: Name) -> str:
    """Serialise key and part."""
    # Without the method: the same part is one release, whichever method draws it.
    return json.dumps(name[1:])
