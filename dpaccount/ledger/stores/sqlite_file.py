"""SQLite connections to a ledger's file: one thread at a time, none shared with a forked process.

SQLite keeps lock state in memory, one record per file.  A child that inherits it believes that it
holds its parent's locks, and loses its log when the parent closes; so none is open across a fork.

Every commit is on the disk (write-ahead log, ``synchronous=EXTRA``) before it returns.  After a
second without writes a checkpoint moves the log into the file: a copy of the file lacks little.
"""

import ctypes
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote
from weakref import WeakSet

from dpaccount.errors import MAY_BE_WHOLE, LedgerError
from dpaccount.forks import holds_off_forks, unforked
from dpaccount.ledger.stores.connection_pool import Pool, Process
from dpaccount.ledger.stores.place import (
    Address,
    Identity,
    check_names,
    companions,
    identity,
    identity_and_names,
)
from dpaccount.ledger.stores.rows import NO_PREFETCH, Prefetch, Rows
from dpaccount.noise import process

BUSY_SECONDS: Final = 60.0  #: timeout of writers, for the fair lock and SQLite's lock together
IDLE_SECONDS: Final = 1.0  #: without writes, before a checkpoint

_TROUBLE: Final = {
    "BUSY": "was held by other processes for {wait:.0f} s and nothing was changed; try again",
    "CANTOPEN": "cannot be opened; give a file that can be read and written",
    "ERROR": "is not a ledger; make one with `dpaccount ledger init`",
    "FULL": "has no room on its disk; make room and try again",
    "IOERR": f"cannot be read or written; {MAY_BE_WHOLE}",
    "NOTADB": "is not a ledger; make one with `dpaccount ledger init`",
    "PERM": "cannot be opened; give a file that can be read and written",
    "READONLY": "cannot be written; give a ledger in a writable file and folder",
}
#: identities of a database, its log, and the index of that, which holds SQLite's locks
Files = tuple[Identity | None, Identity | None, Identity | None]
_OPEN: Final[WeakSet["FileConnection"]] = WeakSet()  #: including inherited ones


def trouble(error: Exception) -> str:
    """Translate a database error into the end of a sentence."""
    name = getattr(error, "sqlite_errorname", None) or "SQLITE_CORRUPT"
    text = _TROUBLE.get(name.split("_")[1], f"reads as damaged; {MAY_BE_WHOLE}")
    return text.format(wait=BUSY_SECONDS)


@dataclass(eq=False)
class FileConnection:
    """An open connection of one process, and the files that it has open."""

    connection: sqlite3.Connection
    path: Path
    files: Files
    process: Process

    def close(self) -> None:
        """Close the connection; leak it if its paths lead to other files now.

        The last close checkpoints the log and deletes it by name, which could hit another writer's.
        """
        # Leaking costs a descriptor; closing would take another ledger's last charges away.
        now = _files(self.path)
        if any(present not in (None, known) for present, known in zip(now, self.files, strict=True)):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        else:
            self.connection.close()
            _OPEN.discard(self)


class Database:
    """One open ledger file."""

    def __init__(self, where: Address) -> None:
        self.where, self.path = where, where.resolved
        self.name = str(where.path)
        self._named = where.path.absolute()  # the working directory may change
        self._file = identity(self._named)
        self.writable = os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._idle = Pool[FileConnection]()
        self._mover: _Mover | None = None

    #: for threads of this process and forks: both wait until a transaction has ended
    alone, held = staticmethod(unforked), staticmethod(holds_off_forks)

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """Yield the rows of one snapshot of the file."""
        with self._lent() as link, self._transaction(link.connection, "BEGIN"):
            yield Rows(link.connection, self.name)

    @contextmanager
    def writing(self, began: float, wants: Prefetch = NO_PREFETCH) -> Iterator[Rows]:
        """Hold the write lock and commit durably at the end; an exception rolls back.

        The lock's timeout is `BUSY_SECONDS` after `began` (of `time.monotonic`), or 1 s from now.
        """
        if not self.writable:
            raise LedgerError(f"{self.name} {_TROUBLE['READONLY']}")
        with self._lent() as link:
            left = max(1.0, BUSY_SECONDS - (time.monotonic() - began))
            link.connection.execute(f"PRAGMA busy_timeout={left * 1000:.0f}")
            with self._transaction(link.connection, "BEGIN IMMEDIATE"):
                self._check_same(link)
                rows = Rows(link.connection, self.name)
                if wants.nodes:
                    rows.bring(wants.nodes)
                yield rows
                rows.finish()
                self._check_same(link)
        self._checkpoint_when_idle()

    def cut(self) -> bool:
        """Return whether the main file ends inside a page, which only a log could repair."""
        # SQLite reads the missing part of a page as zeros, so rows would vanish without an error.
        with self._lent() as link:
            page = int(link.connection.execute("PRAGMA page_size").fetchone()[0])
        return all(self.path.stat().st_size % page for _ in range(2))  # twice: it may grow

    def close(self) -> None:
        """Close the file; closing the last connection moves the log into it."""
        mover, self._mover = self._mover, None
        if mover is not None:
            mover.stop()
        with unforked():
            self._idle.let_go()
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None

    def _check_same(self, link: FileConnection) -> None:
        """Raise if file or log were replaced or removed, or the file was linked, since opening."""
        file, names = identity_and_names(self._named)
        if file != self._file:
            raise LedgerError(f"{self.name} was replaced or removed while it was open; nothing was changed")
        check_names(self.path, names)
        if link.files[1] is not None and link.files[1:] != _files(self.path)[1:]:
            raise LedgerError(
                f"the log of {self.name} was replaced or removed while it was open; nothing was changed"
            )

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection, begin: str) -> Iterator[None]:
        try:
            connection.execute(begin)
            yield
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _lent(self) -> Iterator[FileConnection]:
        link = None
        with unforked():
            try:
                link = self._idle.take() or self._linked()
                yield link
            except (sqlite3.Error, UnicodeDecodeError) as error:  # the driver decodes SQLite's own messages
                raise LedgerError(f"{self.name} {trouble(error)}") from None
            finally:
                if link is not None:
                    self._idle.keep(link, link.process)

    def _linked(self) -> FileConnection:
        if self.writable:
            return _link(self.path, "rw")
        if self._copy is None:
            try:
                return _link(self.path, "ro")
            except sqlite3.Error:
                if any(one.exists() for one in companions(self.path)[1:]):
                    raise  # another process has it open, and we cannot read its index
            self._copy = _copied(self.path)
        return _link(Path(self._copy.name) / self.path.name, "rw")

    def _checkpoint_when_idle(self) -> None:
        with unforked():
            if self._mover is None or not self._mover.mine():
                self._mover = _Mover(self.path)
                self._mover.start()
            self._mover.again()


class _Mover(threading.Thread):
    """Background thread that checkpoints the log after `IDLE_SECONDS` without writes."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True, name="ledger log")
        self._path = path
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._last = 0.0
        self._process = process.identity()

    def mine(self) -> bool:
        """Return whether it runs in this process: a forked child inherits no threads."""
        return self._process == process.identity()

    def again(self) -> None:
        """Restart the idle time."""
        self._last = time.monotonic()
        if not self._wake.is_set():
            self._wake.set()

    def stop(self) -> None:
        """Stop the thread at once and wait for it."""
        if self.mine():
            self._ended.set()
            self._wake.set()
            self.join()

    def run(self) -> None:
        """Wait for a write, then for idle time, then checkpoint; repeat."""
        while self._wake.wait() and not self._ended.is_set():
            rest = self._last + IDLE_SECONDS - time.monotonic()
            if rest > 0:
                self._ended.wait(rest)
                continue
            self._wake.clear()
            # On failure the next commit or close checkpoints.
            with suppress(sqlite3.Error, LedgerError), unforked():
                link = _link(self._path, "rw")
                try:
                    link.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                finally:
                    link.close()


def _link(path: Path, mode: str) -> FileConnection:
    name = f"file:{quote(str(path))}?mode={mode}"  # rw: never makes a file
    connection = sqlite3.connect(
        name, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    # `verify` reports invalid UTF-8; the driver must not raise
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        # like FULL for a log; with a journal (a copy by VACUUM INTO) its deletion is synced too
        connection.execute("PRAGMA synchronous=EXTRA")
        connection.execute("PRAGMA fullfsync=ON")  # macOS: flush the disk's own cache too
        connection.execute("PRAGMA schema_version").fetchone()  # the first read opens the log
        link = FileConnection(connection, path, _files(path), process.identity())
        _check_alone(link, path)
    except BaseException:
        connection.close()
        raise
    _OPEN.add(link)
    return link


def _files(path: Path) -> Files:
    log, index, _ = companions(path)
    return identity(path), identity(log), identity(index)


def _check_alone(link: FileConnection, path: Path) -> None:
    """Raise if SQLite would share stale lock state of another connection with this one."""
    for other in [one for one in _OPEN if one.files[0] == link.files[0]]:
        if other.process != link.process:
            raise LedgerError(
                f"{path} was being read or written when this process was forked; open it in a new process"
            )
        if other.files != link.files:
            raise LedgerError(
                f"the log of {path} was replaced or removed while it was open; open it in a new process"
            )


def _copied(path: Path) -> "tempfile.TemporaryDirectory[str]":
    """Copy file and log to a private folder, for when no index can be made next to the file."""
    folder = tempfile.TemporaryDirectory(prefix="ledger-")
    try:
        for part in (path, companions(path)[0]):
            if part.exists():
                shutil.copyfile(part, Path(folder.name) / part.name)
    except OSError:
        folder.cleanup()
        raise sqlite3.OperationalError from None
    return folder
