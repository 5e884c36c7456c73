"""Store of one ledger: created atomically, opened only where safe, snapshot reads, one writer.

`Store.writing` is the only way to change anything: it holds the write lock from its first read to
its commit, and the commit is on the disk before it returns.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from dpaccount.documents import sync_folder
from dpaccount.errors import InputError, LedgerError, NoLedgerError, damaged
from dpaccount.ledger.stores.address import Address, ServerAddress, address
from dpaccount.ledger.stores.fair_lock import turn
from dpaccount.ledger.stores.file_checks import check_file, check_folder, companions
from dpaccount.ledger.stores.head_log import Note, Witness
from dpaccount.ledger.stores.rows import Prefetch, Rows, Statements
from dpaccount.ledger.stores.sqlite_file import Database, trouble
from dpaccount.noise import process

if TYPE_CHECKING:
    from dpaccount.ledger.stores.server import LedgerServer

Fill = Callable[[Statements, dict[str, str]], None]  #: writes a new ledger (role and server given)
_DRAFT = 8  #: random bytes in the name of a draft


class Store:
    """One open ledger; threads may share it, and a forked process opens its own connection."""

    def __init__(self, where: Address | ServerAddress) -> None:
        self.place: Database | LedgerServer = (
            _server(where) if isinstance(where, ServerAddress) else Database(where)
        )
        self._witness = None if where.witness is None else Witness(where.witness)

    @classmethod
    def open(cls, url: str) -> "Store":
        """Open an existing ledger, changing nothing; raises `LedgerError` if it is not a ledger."""
        where, logged = address(url), False
        if isinstance(where, Address):
            if not where.path.is_file():
                raise NoLedgerError(where.path)
            check_file(where)
            logged = any(log.exists() for log in companions(where.resolved))
        store = cls(where)
        try:
            if isinstance(store.place, Database) and not logged and store.place.cut():
                raise damaged(f"{where.path} is damaged, cut inside a page")
            with store.checked() as rows:
                rows.check()
        except LedgerError:
            store.close()
            raise
        return store

    @property
    def witnessed(self) -> bool:
        """Return whether there is a witness, whose noted heads must be on the chain."""
        return self._witness is not None

    @contextmanager
    def writing(self, wants: Prefetch | None = None, asked: float | None = None) -> Iterator[Rows]:
        """Hold the write lock and commit durably at the end; an exception rolls back.

        `wants` is prefetched.  For a file the timeout counts from `asked` (of `time.monotonic`; by
        default now), so that it includes time in the queue of a group commit.
        """
        process.outside_tasks()
        began = time.monotonic()
        line: AbstractContextManager[None] = nullcontext()
        nodes: Collection[int] = ()
        opened: AbstractContextManager[Rows]
        if isinstance(self.place, Database):
            began = began if asked is None else asked
            line, opened = turn(self.place.path, began), self.place.writing(began)
            nodes = () if wants is None else wants.nodes
        else:
            opened = self.place.writing(began, wants)
        with self.place.alone(), line:
            with opened as rows:
                if nodes:
                    rows.bring(nodes)
                if self._witness is not None:
                    self._check(rows, self._witness.notes())
                before = rows.head()
                yield rows
            if self._witness is not None and rows.head() != before:
                self._witness.note(rows.head())

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """Yield the rows of one snapshot."""
        with self.place.alone(), self.place.reading() as rows:
            yield rows

    @contextmanager
    def checked(self, *, every: bool = False) -> Iterator[Rows]:
        """Yield one snapshot after checking the latest (or `every`) head that a witness noted."""
        notes = [] if self._witness is None else self._witness.notes(every=every)
        with self.reading() as rows:
            self._check(rows, notes)
            yield rows

    def close(self) -> None:
        """Close the ledger's connections."""
        self.place.close()

    def _check(self, rows: Rows, notes: list[Note]) -> None:
        for note in notes:
            if self._witness is not None:
                self._witness.check(rows, note)


def grant(url: str, role: str, *, read_only: bool = False, arrange: bool = False) -> None:
    """Let `role` charge the ledger at `url`; if `read_only` only read, if `arrange` also arrange.

    Raises `InputError` for both options or an invalid role, `LedgerError` for a file.
    """
    if read_only and arrange:
        raise InputError("a role cannot both only read and arrange", "ask for one of the two")
    where = address(url)
    if not isinstance(where, ServerAddress):
        raise LedgerError("roles are those of a PostgreSQL server; a file is given by its owner and mode")
    if not role or "\0" in role or role == "public":  # "public" means every role
        raise InputError("that is no role", "give the name of a role that the server knows")
    with closing(_server(where)) as server:
        server.grant(role, read_only=read_only, arrange=arrange)


def _server(where: ServerAddress) -> "LedgerServer":
    from dpaccount.ledger.stores.server import LedgerServer  # its driver is an extra

    return LedgerServer(where)


def create(where: Address | ServerAddress, fill: Fill) -> None:
    """Create a new ledger and `fill` it; raises `LedgerError` if it, or a file of its, exists."""
    if isinstance(where, ServerAddress):
        with closing(_server(where)) as server:
            server.make(fill)
    else:
        _create_file(where, fill)


def _create_file(where: Address, fill: Fill) -> None:
    path = where.path
    for taken in (path, *companions(path)):
        if os.path.lexists(taken):
            raise LedgerError(f"{taken} exists already; give the ledger a new file")
    check_folder(path.parent, trusted=where.trusted)
    draft = path.with_name(f".{path.name}.{token_hex(_DRAFT)}")
    try:
        _fill(draft, fill)
        os.link(draft, path)  # unlike a rename, never replaces a file that appeared meanwhile
        draft.unlink(missing_ok=True)
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
        for leftover in (draft, *companions(draft)):
            with suppress(OSError):  # the name may be too long
                leftover.unlink(missing_ok=True)


def _fill(draft: Path, fill: Fill) -> None:
    """Write a whole new ledger to the file `draft`, readable by its owner only."""
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    # closing the last connection moves the log into the file
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("BEGIN IMMEDIATE")
        fill(connection, {})
        connection.execute("COMMIT")
