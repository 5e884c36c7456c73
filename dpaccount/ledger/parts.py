"""Noise of one charge that many processes draw, one after another: a stream of releases proved together.

A `Receipt` ends with its process, and what it drew is one release.  Here every part of a charge is a
release of its own, kept when it is drawn: the mark that it is drawn and its value are committed to the
ledger in one transaction, and are returned after it.  Who dies before the commit has shown nothing and
left nothing, so that the part is drawn by whoever goes on; after it, the part is read back.  Nobody is
ever shown two values of one part.

The marks of a charge are one line, as those of a receipt are: each is about the one before it, and only one
can be.  So of two processes that go on at once one is refused, before it is shown anything; and a charge is
drawn by a receipt or in parts, never both.
"""

import json
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from dpaccount.errors import LedgerError, ReceiptError, damaged
from dpaccount.ledger.chain import DRAWING, FORFEIT, RELEASE
from dpaccount.ledger.entries import as_written, check_linked, facts_of, forfeited, mark_of
from dpaccount.ledger.storage.group import again
from dpaccount.ledger.storage.rows import Rows
from dpaccount.ledger.storage.store import Store
from dpaccount.ledger.totals import Totals
from dpaccount.noise import process
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import issue
from dpaccount.noise.samplers import Integers, Secure

Name = list[Any]  #: a leaf's key and its part, as JSON has them
After = Callable[[], str]  #: where the record of who draws stands when a part is drawn


def nowhere() -> str:
    """Return the place of who has no record."""
    return ""


class KeptNoise:
    """What `Ledger.charge_in_parts` returns: secure noise, every part drawn and kept once.

    `entry` is the charge, `after` says of every part where the record of who drew it stood.  Threads may
    share it; a forked process is refused, as by a receipt.
    """

    releasable = True

    def __init__(
        self,
        store: Store,
        totals: Callable[[Rows], Totals],
        proved: Proved,
        entry: int,
        after: After = nowhere,
    ) -> None:
        self.entry = entry
        self.after: list[str] = []
        self._now = after
        self._store, self._totals = store, totals
        self._receipt = issue(proved, Secure(), entry, lambda _drawn, _most: None)  # marked here instead
        self._process, self._gate = process.this(), threading.Lock()
        self._kept: dict[str, Integers] = {}
        self._last = entry
        for number, name, value, place in again(self._line):
            self._recall(number, name, value)
            self.after.append(place)

    def __len__(self) -> int:
        """Return how many parts are drawn and kept."""
        return len(self._kept)

    def noisy(self, key: str, part: Hashable, values: Integers) -> Integers:
        """Return the kept value of a part; or draw it, keep it and return it then.

        Raises `ReceiptError` as a receipt does, and where another process draws from this charge;
        `LedgerError` for a part that was kept in another shape.
        """
        return self._part("noisy", key, part, np.asarray(values))

    def noisy_symmetric(self, key: str, part: Hashable, matrix: Integers) -> Integers:
        """Do so with symmetric noise."""
        return self._part("noisy_symmetric", key, part, np.asarray(matrix))

    def noisy_cells(self, key: str, part: Hashable, cells: Integers) -> Integers:
        """Refuse: how many cells are shown is drawn with them, so no part has a shape to be kept in."""
        raise ReceiptError(
            f"{key!r} is a histogram of unknown cells; release it at once, by a charge of its own"
        )

    def _part(self, how: str, key: str, part: Hashable, given: Integers) -> Integers:
        name = [how, key, _written(part)]
        if self._process != process.this():  # before the lock, which a fork may have left held
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
        """Mark, draw and keep in one transaction; nothing is known of the value before it is committed.

        Where the connection was cut before the commit the same value is kept by another transaction.
        """
        drawn: list[Integers] = []

        def write() -> int:
            with self._store.writing() as rows:
                totals = self._totals(rows)
                if totals.forfeited > self.entry:
                    raise forfeited(self.entry)
                if rows.about(self._last, DRAWING) is not None:
                    raise ReceiptError(
                        f"another process draws from entry {self.entry}; let it end, then open this anew"
                    )
                count = len(self._kept) + 1
                mark = as_written(mark_of(count, count, rows.stamp))
                made = rows.append(DRAWING, mark, totals.text, about=self._last)
                if not drawn:
                    drawn.append(getattr(self._receipt, how)(key, part, given))
                kept = {"part": name, "value": drawn[0].tolist(), "after": self._now()}
                rows.append(RELEASE, as_written(kept), totals.text, about=made.number)
                return made.number

        self._last = again(write)
        self._kept[_text(name)] = drawn[0]
        return drawn[0].copy()

    def _line(self) -> list[tuple[int, Name, Integers, str]]:
        with self._store.reading() as rows:
            if FORFEIT in check_linked(rows, self.entry)[1]:
                raise forfeited(self.entry)
            return list(_line(rows, self.entry))

    def _recall(self, number: int, name: Name, value: Integers) -> None:
        """Take a part that was kept: the receipt counts it, and will not draw it."""
        how, key, part = name
        rows = (value.shape or (1,))[0]
        numbers = value.size if how == "noisy" else rows * (rows + 1) // 2
        self._receipt.recall(key, _read(part), numbers)
        self._kept[_text(name)], self._last = value, number


def _line(rows: Rows, entry: int) -> Iterator[tuple[int, Name, Integers, str]]:
    """Yield mark, name, value and place of every part that is kept, in the order of drawing."""
    said = {(one.kind, one.about): one for one in rows.entries(entry) if one.kind in (DRAWING, RELEASE)}
    mark = said.get((DRAWING, entry))
    while mark is not None:
        kept = said.get((RELEASE, mark.number))
        if kept is None:
            raise ReceiptError(
                f"entry {entry} was drawn by a run that kept no parts; make a new charge under another key"
            )
        facts = facts_of(kept)
        try:
            how, key, part = facts["part"]
            value = np.array(facts["value"], dtype=np.int64)
            yield mark.number, [how, key, part], value, str(facts["after"])
        except (KeyError, TypeError, ValueError, OverflowError):
            raise damaged(f"entry {kept.number} is damaged") from None
        mark = said.get((DRAWING, mark.number))


def _written(part: Hashable) -> Any:
    """Return a part as JSON holds it: a whole number, a text, or a list of these."""
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
    """Return a part's name as text: the same part of the same key, however it is asked for, is one."""
    return json.dumps(name[1:])
