"""Connections to a ledger's file: each held by one thread at a time, none shared with a forked process.

SQLite keeps what it knows of locks in memory, one record per file.  A child that inherits it believes to hold
locks that its parent holds, and loses its log when the parent closes; so nothing is open across a fork.

Every commit is on the disk (write-ahead log, ``synchronous=EXTRA``) before it returns.  Once the ledger is
idle for a second its log is moved into the file, so that a copy of the file alone lacks little.
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
from dpaccount.ledger.storage.idle import Idle, Process
from dpaccount.ledger.storage.place import (
    Address,
    Identity,
    check_names,
    companions,
    identity,
    identity_and_names,
)
from dpaccount.noise import process

BUSY_SECONDS: Final = 60.0  #: how long a writer waits for the others, in line and for the lock
IDLE_SECONDS: Final = 1.0

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
_OPEN: Final[WeakSet["Link"]] = WeakSet()  #: all connections of this process, and what it inherited


def trouble(error: Exception) -> str:
    """Return what a database's error means, for the end of a sentence."""
    name = getattr(error, "sqlite_errorname", None) or "SQLITE_CORRUPT"
    text = _TROUBLE.get(name.split("_")[1], f"reads as damaged; {MAY_BE_WHOLE}")
    return text.format(wait=BUSY_SECONDS)


@dataclass(eq=False)
class Link:
    """An open connection of one process to `file`, the log that it writes to, and that log's index."""

    connection: sqlite3.Connection
    path: Path
    file: Identity | None
    log: Identity | None
    index: Identity | None  #: writers keep each other out by locks on it
    process: Process

    def close(self) -> None:
        """Close the connection; where its names lead to other files now, leave it open for ever.

        Whoever closes last moves the log and removes it by its name: here one that others may write.
        """
        now = (identity(self.path), *_beside(self.path))
        mine = (self.file, self.log, self.index)
        if any(found not in (None, known) for found, known in zip(now, mine, strict=True)):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        else:
            self.connection.close()
            _OPEN.discard(self)


class Database:
    """One ledger's file, open."""

    def __init__(self, where: Address) -> None:
        self.where, self.path = where, where.resolved
        self.name = str(where.path)
        self._named = where.path.absolute()  # the working directory may change
        self._file = identity(self._named)
        self.writable = os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._idle = Idle[Link]()
        self._mover: _Mover | None = None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """See one moment of the file."""
        with self._lent() as link, self._transaction(link.connection, "BEGIN"):
            yield link.connection

    @contextmanager
    def writing(self, began: float) -> Iterator[sqlite3.Connection]:
        """Hold the write lock and commit durably at the end; an exception undoes everything.

        The lock is waited for until `BUSY_SECONDS` after `began`.
        """
        if not self.writable:
            raise LedgerError(f"{self.name} {_TROUBLE['READONLY']}")
        with self._lent() as link:
            left = max(1.0, BUSY_SECONDS - (time.monotonic() - began))
            link.connection.execute(f"PRAGMA busy_timeout={left * 1000:.0f}")
            with self._transaction(link.connection, "BEGIN IMMEDIATE"):
                self._check_same(link)
                yield link.connection
                self._check_same(link)
        self._moved_when_idle()

    def page_size(self) -> int:
        """Return the length of a page."""
        with self._lent() as link:
            return int(link.connection.execute("PRAGMA page_size").fetchone()[0])

    def close(self) -> None:
        """Let go of the file; the last connection moves the log into it."""
        mover, self._mover = self._mover, None
        if mover is not None:
            mover.stop()
        with process.unforked():
            self._idle.let_go()
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None

    def _check_same(self, link: Link) -> None:
        """Refuse to write where the names lead elsewhere than when they were opened."""
        found, names = identity_and_names(self._named)
        if found != self._file:
            raise LedgerError(f"{self.name} was replaced or removed while it was open; nothing was changed")
        check_names(self.path, names)
        if link.log is not None and (link.log, link.index) != _beside(self.path):
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
    def _lent(self) -> Iterator[Link]:
        link = None
        with process.unforked():
            try:
                link = self._idle.take() or self._linked()
                yield link
            except (sqlite3.Error, UnicodeDecodeError) as error:  # the driver decodes SQLite's own messages
                raise LedgerError(f"{self.name} {trouble(error)}") from None
            finally:
                if link is not None:
                    self._idle.keep(link, link.process)

    def _linked(self) -> Link:
        if self.writable:
            return _link(self.path, "rw")
        if self._copy is None:
            try:
                return _link(self.path, "ro")
            except sqlite3.Error:
                if any(one.exists() for one in companions(self.path)[1:]):
                    raise  # somebody has it open, and we may not look
            self._copy = _copied(self.path)
        return _link(Path(self._copy.name) / self.path.name, "rw")

    def _moved_when_idle(self) -> None:
        with process.unforked():
            if self._mover is None or not self._mover.mine():
                self._mover = _Mover(self.path)
                self._mover.start()
            self._mover.again()


class _Mover(threading.Thread):
    """Moves the log into the file whenever nothing was written for a second."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True, name="ledger log")
        self._path = path
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._last = 0.0
        self._process = process.this()

    def mine(self) -> bool:
        """Say whether it runs in this process: a child inherits its name alone."""
        return self._process == process.this()

    def again(self) -> None:
        """Begin a new second."""
        self._last = time.monotonic()
        if not self._wake.is_set():
            self._wake.set()

    def stop(self) -> None:
        """End, at once."""
        if self.mine():
            self._ended.set()
            self._wake.set()
            self.join()

    def run(self) -> None:
        """Wait for writes, and for their end."""
        while self._wake.wait() and not self._ended.is_set():
            rest = self._last + IDLE_SECONDS - time.monotonic()
            if rest > 0:
                self._ended.wait(rest)
                continue
            self._wake.clear()
            with (
                suppress(sqlite3.Error, LedgerError),
                process.unforked(),
            ):  # the next commit or close moves it
                link = _link(self._path, "rw")
                try:
                    link.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                finally:
                    link.close()


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    name = f"file:{quote(str(path))}?mode={mode}"  # rw: never makes a file
    connection = sqlite3.connect(
        name, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    # what is not UTF-8 is for `verify` to find, not for the driver to stumble over
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return connection


def _link(path: Path, mode: str) -> Link:
    connection = _connected(path, mode)
    try:
        # FULL in a log; a copy may have a journal instead (VACUUM INTO), whose end is to be on the disk too
        connection.execute("PRAGMA synchronous=EXTRA")
        connection.execute("PRAGMA fullfsync=ON")  # macOS: flush the disk's own cache too
        connection.execute("PRAGMA schema_version").fetchone()  # the first look opens the log
        link = Link(connection, path, identity(path), *_beside(path), process.this())
        _check_alone(link, path)
    except BaseException:
        connection.close()
        raise
    _OPEN.add(link)
    return link


def _beside(path: Path) -> tuple[Identity | None, Identity | None]:
    log, index, _ = companions(path)
    return identity(log), identity(index)


def _check_alone(link: Link, path: Path) -> None:
    """Refuse a connection that SQLite joins to another one's memory of locks, where that is stale."""
    for other in [one for one in _OPEN if one.file == link.file]:
        if other.process != link.process:
            raise LedgerError(
                f"{path} was being read or written when this process was forked; open it in a new process"
            )
        if (other.log, other.index) != (link.log, link.index):
            raise LedgerError(
                f"the log of {path} was replaced or removed while it was open; open it in a new process"
            )


def _copied(path: Path) -> "tempfile.TemporaryDirectory[str]":
    """Return a folder of our own with the file and its log: where no index can be made beside the file."""
    folder = tempfile.TemporaryDirectory(prefix="ledger-")
    try:
        for part in (path, companions(path)[0]):
            if part.exists():
                shutil.copyfile(part, Path(folder.name) / part.name)
    except OSError:
        folder.cleanup()
        raise sqlite3.OperationalError from None
    return folder
