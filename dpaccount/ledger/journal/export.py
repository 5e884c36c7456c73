"""Export of a ledger as lines of JSON, and import into a new ledger."""

import json
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from dpaccount.documents import canonical
from dpaccount.errors import LedgerError
from dpaccount.ledger.entry import ORIGIN, Entry, OlderRecordsError
from dpaccount.ledger.journal.entries import check_linked
from dpaccount.ledger.journal.older import rewritten
from dpaccount.ledger.journal.verify import Fault, replayed, scratch
from dpaccount.ledger.stores.place import address
from dpaccount.ledger.stores.rows import Rows, begin
from dpaccount.ledger.stores.store import Note, Store, Witness, create

SCHEMA: Final = "dpaccount/ledger-export/1"
_MOST: Final = 64 * 2**20  #: bytes of a line


def lines(url: str) -> Iterator[bytes]:
    """Yield a ledger's lines: first its format, last number and head, then one line per entry.

    Raises `LedgerError` if the chain is broken.
    """
    with closing(Store.open(url)) as store, store.reading() as rows:
        check_linked(rows, 0)
        last, head = rows.head()
        yield canonical({"schema": SCHEMA, "format": ORIGIN, "last": last, "head": head}) + b"\n"
        for entry in rows.entries():
            yield canonical(entry.fields()) + b"\n"


def imported(file: Path, url: str) -> dict[str, Any]:
    """Make a new ledger of exported lines, with the same head; return ``{"file", "entries", "head"}``.

    Every digest and balance is recomputed first.  Of lines whose records an earlier version stored the
    roots and digests are new, and ``was`` is the head that they had.  Raises `LedgerError` for lines that
    are not a valid ledger, and if the new file exists.
    """
    source = _Lines(file)
    try:
        return _made(source, url)
    except OlderRecordsError:
        pass
    except Fault as fault:
        raise _invalid(file, fault) from None
    try:
        with rewritten(source, SCHEMA) as lines:
            return {**_made(_Lines(lines), url), "was": source.head()[1]}
    except Fault as fault:
        raise _invalid(file, fault) from None


def _invalid(file: Path, fault: Fault) -> LedgerError:
    return LedgerError(f"{file} is no valid ledger (first bad: {fault}); export it again")


def _made(source: "_Lines", url: str) -> dict[str, object]:
    """Make a ledger of a valid chain; raises `Fault` for another one."""
    new = address(url)
    with scratch() as totals:
        chain = replayed(source, totals)
        create(new, lambda connection, _: begin(connection, source.entries(), totals.nodes()))
    return {"file": str(new.path), "entries": chain.at.number, "head": chain.at.digest}


class _Lines(Rows):
    """Exported lines as rows, as far as a replay needs them."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._noted = list[Note]()
        with suppress(LedgerError):  # it is an export that nobody continued, or none, as is said below
            self._noted = Witness(file).notes(every=True)

    def head(self) -> Note:
        """Return the latest number and head, of the first line or noted after it."""
        return max([*self._noted, self._stated()])

    def _stated(self) -> Note:
        first = next(self._lines(), None)
        if not isinstance(first, dict) or first.get("schema") != SCHEMA or first.get("format") != ORIGIN:
            raise LedgerError(
                f"{self._file} is no exported ledger of this kind; it should begin with {SCHEMA}"
            )
        last = first.get("last")
        return last if type(last) is int else -1, str(first.get("head"))

    def entries(self, first: int = 0) -> Iterator[Entry]:
        """Yield the entries; writers that noted theirs at once may have come in another order."""
        missing = {self._stated(), *self._noted}
        waiting, together = dict[int, Entry](), list[Entry]()
        for place, line in enumerate(self._lines()):
            if place == 0:
                continue
            try:
                entry = msgspec.convert(line, Entry)
            except msgspec.ValidationError:
                entry = None
            if entry is None or set(line) != set(entry.fields()):
                raise LedgerError(f"{self._file}: entry {place - 1} is no entry; export the ledger again")
            waiting[entry.number] = entry
            while first in waiting:
                together.append(waiting.pop(first))
                first += 1
                if together[-1].root is not None:  # else a crash may have cut the commit that it is of
                    yield from together
                    missing -= {(entry.number, entry.digest) for entry in together}
                    together.clear()
        if missing:
            why = f"entry {min(missing)[0]} is noted otherwise than its chain has it"
            raise LedgerError(f"{self._file} is no valid ledger ({why}); export it again")

    def _lines(self) -> Iterator[Any]:
        try:
            with self._file.open("rb") as file:
                while line := file.readline(_MOST):
                    try:
                        if line[:1] == b"{" or not self._noted:
                            yield json.loads(line)
                    except ValueError:
                        if not self._noted:  # else a crash cut the line, before it was acknowledged
                            raise
        except OSError as error:
            raise LedgerError(
                f"{self._file} cannot be read ({error.strerror}); give an exported ledger"
            ) from None
        except (ValueError, RecursionError):
            raise LedgerError(f"{self._file} is not lines of JSON; give an exported ledger") from None
