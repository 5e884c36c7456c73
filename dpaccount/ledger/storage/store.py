"""One ledger's file: made whole, opened only where it is safe, read in one moment, written by one at a time.

`Store.writing` is the only way to change anything: it holds the write lock from its first read to its
commit, and the commit is on the disk before it returns.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from dpaccount.documents import sync_folder
from dpaccount.errors import LedgerError
from dpaccount.ledger.storage.database import Database, trouble
from dpaccount.ledger.storage.line import turn
from dpaccount.ledger.storage.place import Address, address, check_file, check_folder, companions
from dpaccount.ledger.storage.rows import Rows
from dpaccount.ledger.storage.witness import Witness
from dpaccount.noise import process

Fill = Callable[[sqlite3.Connection], None]


class Store:
    """One ledger's file, open; threads may share it, and a forked process opens its own connection."""

    def __init__(self, where: Address) -> None:
        self.database = Database(where)
        self._witness = None if where.witness is None else Witness(where.witness)

    @classmethod
    def open(cls, url: str) -> "Store":
        """Open an existing ledger; makes nothing and changes nothing."""
        store = cls.on_file(address(url))
        try:
            with store.reading() as rows:
                rows.check()
                store.check_heads(rows)
        except LedgerError:
            store.close()
            raise
        return store

    @classmethod
    def on_file(cls, where: Address) -> "Store":
        """Open a database without asking what it holds; refuses a place where it could be overspent."""
        if not where.path.is_file():
            raise LedgerError(f"{where.path} is not there; make a ledger with `dpaccount ledger init`")
        check_file(where)
        logged = any(log.exists() for log in companions(where.resolved))
        store = cls(where)
        try:
            if not logged and store._cut():
                raise LedgerError(f"{where.path} is damaged, cut inside a page; restore it from a backup")
        except LedgerError:
            store.close()
            raise
        return store

    @contextmanager
    def writing(self) -> Iterator[Rows]:
        """Hold the write lock and commit durably at the end; an exception undoes everything."""
        began = time.monotonic()
        with process.unforked(), turn(self.database.path):
            with self.database.writing(began) as connection:
                rows = Rows(connection, self.database.name)
                self.check_heads(rows)
                before = rows.head()
                yield rows
            if self._witness is not None and rows.head() != before:
                self._witness.note(rows.head())

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """See one moment of the ledger."""
        with process.unforked(), self.database.reading() as connection:
            yield Rows(connection, self.database.name)

    def check_heads(self, rows: Rows, *, every: bool = False) -> None:
        """Refuse a chain that lacks a head that was noted outside: the latest, or any of them."""
        if self._witness is not None:
            (self._witness.check_all if every else self._witness.check)(rows)

    def close(self) -> None:
        """Let go of the file."""
        self.database.close()

    def _cut(self) -> bool:
        """Say whether the main file ends inside a page; without a log beside it nothing mends it.

        SQLite reads what is missing of a page as zeros, so that rows vanish without a word.
        """
        page = self.database.page_size()
        return self._uneven(page) and self._uneven(page)  # twice: it may grow

    def _uneven(self, page: int) -> bool:
        return self.database.path.stat().st_size % page != 0


def create(where: Address, fill: Fill) -> None:
    """Make the file of a new ledger, which `fill` writes; never replaces a file."""
    path = where.path
    for taken in (path, *companions(path)):
        if os.path.lexists(taken):
            raise LedgerError(f"{taken} exists already; give the ledger a new file")
    check_folder(path.parent, trusted=where.trusted)
    draft = path.with_name(f".{path.name}.{token_hex(8)}")
    try:
        _fill(draft, fill)
        os.link(draft, path)  # unlike a rename, never replaces a file that appeared meanwhile
        draft.unlink()
        sync_folder(path.parent)
    except sqlite3.Error as error:
        raise LedgerError(f"{path} {trouble(error)}") from None
    except FileExistsError:
        raise LedgerError(f"{path} exists already; give the ledger a new file") from None
    except OSError as error:
        raise LedgerError(
            f"{path} cannot be made ({error.strerror}); give a file in a writable folder"
        ) from None
    finally:
        for made in (draft, *companions(draft)):
            made.unlink(missing_ok=True)


def _fill(draft: Path, fill: Fill) -> None:
    """Write a whole new ledger to the file `draft`, which only its owner may read."""
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    connection = sqlite3.connect(draft, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("BEGIN IMMEDIATE")
        fill(connection)
        connection.execute("COMMIT")
    finally:
        connection.close()  # the last connection moves the log into the file
