"""A ledger as lines of JSON: everything that it is, to read elsewhere or to make the same ledger of again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dpaccount.documents import canonical
from dpaccount.errors import LedgerError
from dpaccount.ledger.chain import ORIGIN, Entry
from dpaccount.ledger.entries import check_linked
from dpaccount.ledger.storage.place import address
from dpaccount.ledger.storage.rows import Rows, begin
from dpaccount.ledger.storage.store import Store, create
from dpaccount.ledger.verification import Changed, replayed, scratch

SCHEMA: Final = "dpaccount/ledger-export/1"
_MEMBERS: Final = ("number", "kind", "key", "about", "body", "root", "digest")
_MOST: Final = 64 * 2**20  #: bytes of a line


def lines(url: str) -> Iterator[bytes]:
    """Yield a ledger's lines: one with its format, last number and head, then an entry each.

    Raises `LedgerError` where the chain is broken.
    """
    store = Store.open(url)
    try:
        with store.reading() as rows:
            check_linked(rows, 0)
            last, head = rows.head()
            yield canonical({"schema": SCHEMA, "format": ORIGIN, "last": last, "head": head}) + b"\n"
            for entry in rows.entries():
                yield canonical({name: getattr(entry, name) for name in _MEMBERS}) + b"\n"
    finally:
        store.close()


def made(file: Path, url: str) -> dict[str, Any]:
    """Make a new ledger of exported lines: ``{"file", "entries", "head"}``; its head is that of the old one.

    Every digest and total is recomputed first.  Raises `LedgerError` for lines that are no valid ledger, and
    where the new file exists.
    """
    new = address(url)
    source = _Lines(file)
    with scratch() as totals:
        try:
            chain = replayed(source, totals)
        except Changed as found:
            raise LedgerError(f"{file} is no valid ledger (first bad: {found}); export it again") from None
        create(new, lambda connection, _: begin(connection, source.entries(), totals.nodes()))
    return {"file": str(new.path), "entries": chain.at.number, "head": chain.at.digest}


class _Lines(Rows):
    """Exported lines, as far as replaying a chain asks for rows."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def head(self) -> tuple[int, str]:
        """Return what the first line says of the end."""
        first = next(self._read(), None)
        if not isinstance(first, dict) or first.get("schema") != SCHEMA or first.get("format") != ORIGIN:
            raise LedgerError(
                f"{self._file} is no exported ledger of this kind; it should begin with {SCHEMA}"
            )
        return first.get("last", -1), first.get("head", "")

    def entries(self, first: int = 0) -> Iterator[Entry]:
        """Yield the entries."""
        self.head()
        for place, line in enumerate(self._read()):
            if place > first:
                if not isinstance(line, dict) or set(line) != set(_MEMBERS):
                    raise LedgerError(f"{self._file}: line {place + 1} is no entry; export the ledger again")
                yield Entry(**line)

    def _read(self) -> Iterator[Any]:
        try:
            with self._file.open("rb") as file:
                while line := file.readline(_MOST):
                    yield json.loads(line)
        except OSError as error:
            raise LedgerError(
                f"{self._file} cannot be read ({error.strerror}); give an exported ledger"
            ) from None
        except (ValueError, RecursionError):
            raise LedgerError(f"{self._file} is not lines of JSON; give an exported ledger") from None
