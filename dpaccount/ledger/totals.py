"""What the chain of entries says that units have spent: a charge is decided on this, not on the file's word.

The profile in the file is a copy that anyone can edit.  So each entry that the ledger writes holds a
digest of the whole profile: the sum of its steps' SHA-256, modulo 2²⁵⁶, in which a charge changes only
the steps that it reaches.  An open ledger reads the profile once and compares it with the last such
digest; from then on it follows the chain, entry by entry, and compares what a charge reaches with the file.
"""

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpaccount.errors import LedgerError
from dpaccount.ledger import spending
from dpaccount.ledger.chain import CHARGE, DRAWING, ORIGIN, REFUSAL, Entry
from dpaccount.ledger.spending import Step
from dpaccount.ledger.store import Rows

MEMBER = "totals"  #: the digest's name in the body of a charge, a refusal and a drawing

Line = tuple[int, str]  #: a step as it is stored


@dataclass(frozen=True)
class Next:
    """Totals with a charge more: `steps` stand for those from `start` to `end`, the others sum to `rest`."""

    start: int
    end: int
    steps: list[Step]
    rest: int

    @cached_property
    def lines(self) -> list[Line]:
        """Return the steps as they are stored: of a refused charge they may be too long to write."""
        return [(unit, spending.written(amounts)) for unit, amounts in self.steps]

    @cached_property
    def sum(self) -> int:
        """Return what the whole profile adds up to."""
        return (self.rest + _sum(self.lines)) % 2**256

    @property
    def digest(self) -> str:
        """Return the digest of the whole profile."""
        return _shown(self.sum)


@dataclass
class Totals:
    """The profile after the entry `at`, in order of units."""

    at: Entry
    width: int
    units: list[int]
    texts: list[str]
    sum: int

    @property
    def digest(self) -> str:
        """Return the digest of the whole profile."""
        return _shown(self.sum)

    def steps(self) -> list[Step]:
        """Return what every unit has spent."""
        return [(unit, spending.read(text, self.width)) for unit, text in self._lines(0, len(self.units))]

    def near(self, charge: list[Step]) -> list[Line]:
        """Return the steps within the reach of `charge` and the one before it."""
        start, end = self._slice(charge)
        return self._lines(max(start - 1, 0), end)

    def after(self, charge: list[Step]) -> Next:
        """Return what `charge` makes of the steps within its reach."""
        if not charge:
            return Next(0, 0, [], self.sum)
        (start, end), first = self._slice(charge), charge[0][0]
        level = spending.read(self.texts[start - 1], self.width) if start else spending.zero(self.width)
        known = self._lines(start, end)
        inside = [(unit, spending.read(text, self.width)) for unit, text in known]
        both = spending.total([[(first - 1, level), *inside], charge], self.width)
        return Next(start, end, [step for step in both if step[0] >= first], self.sum - _sum(known))

    def take(self, entry: Entry, found: Next) -> None:
        """Go on to `entry`, after which the totals are `found`."""
        self.units[found.start : found.end] = [unit for unit, _ in found.lines]
        self.texts[found.start : found.end] = [text for _, text in found.lines]
        self.at, self.sum = entry, found.sum

    def follow(self, rows: Rows) -> None:
        """Go on to the last entry; raises `LedgerError` where the chain does not lead there from here."""
        found = rows.entries(self.at.number)
        if next(found, None) != self.at:
            raise _broken()
        for entry in found:
            if not entry.follows(self.at.digest):
                raise _broken()
            self.take(entry, self.after(charged(entry, self.width)))
            if claim(entry) not in (None, self.digest):
                raise _broken()
        if rows.head() != (self.at.number, self.at.digest):
            raise _broken()

    def _slice(self, charge: list[Step]) -> tuple[int, int]:
        first, end = spending.touched(charge)
        stop = len(self.units) if end is None else bisect_right(self.units, end)
        return bisect_left(self.units, first), stop

    def _lines(self, start: int, end: int) -> list[Line]:
        return list(zip(self.units[start:end], self.texts[start:end], strict=True))


def totals(rows: Rows, width: int) -> Totals:
    """Return the totals at the end of the chain; raises `LedgerError` where the file's are others.

    Where the last charge was written without a digest, by an earlier version, all entries are added up.
    """
    last, head = rows.head()
    end = rows.entry(last) if isinstance(last, int) else None
    if end is None or end.digest != head:
        raise _broken()
    lines = rows.steps()
    if not all(type(unit) is int and isinstance(text, str) for unit, text in lines):
        raise _broken()
    found = _sum(lines)
    if (_last_claim(rows, end) or _added_up(rows, width)) != _shown(found):
        raise _broken()
    return Totals(end, width, [unit for unit, _ in lines], [text for _, text in lines], found)


def claim(entry: Entry) -> Any:
    """Return the digest of the totals that an entry of the ledger's own making holds, or None."""
    if entry.kind not in (CHARGE, REFUSAL, DRAWING):
        return None
    body = json.loads(entry.body)
    return body.get(MEMBER) if isinstance(body, dict) else None


def charged(entry: Entry, width: int) -> list[Step]:
    """Return the amounts over units that an entry added."""
    if entry.kind != CHARGE:
        return []
    return [(first, spending.read(text, width)) for first, text in json.loads(entry.body)["steps"]]


def digest_of(steps: Iterable[Step]) -> str:
    """Return the digest of a whole profile."""
    return _shown(_sum((unit, spending.written(amounts)) for unit, amounts in steps))


def _last_claim(rows: Rows, entry: Entry) -> str | None:
    """Return the latest digest of totals, linked to the end; None where a later charge wrote none."""
    while True:
        before = rows.entry(entry.number - 1)
        if not entry.follows(ORIGIN if before is None else before.digest):
            raise _broken()
        found = claim(entry)
        if found is not None:
            return str(found)
        if entry.kind == CHARGE:
            return None
        if before is None:
            return _shown(0)
        entry = before


def _added_up(rows: Rows, width: int) -> str:
    before, charges = ORIGIN, []
    for entry in rows.entries():
        if not entry.follows(before):
            raise _broken()
        charges.append(charged(entry, width))
        before = entry.digest
    return digest_of(spending.total(charges, width))


def _sum(lines: Iterable[Line]) -> int:
    return sum(int.from_bytes(hashlib.sha256(f"{unit} {text}".encode()).digest()) for unit, text in lines)


def _shown(total: int) -> str:
    return f"{total % 2**256:064x}"


def _broken() -> LedgerError:
    return LedgerError(
        "the ledger's chain is broken, or its totals are not the chain's; restore a backup that"
        " `ledger verify` accepts"
    )
