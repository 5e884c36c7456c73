"""Where results are kept: an append-only SQLite file, which several commands may use at once.

It is its owner's alone: nobody else may write what is taken for a result.  Whoever has it open holds a
lock of SQLite that the system drops when the process dies, so that nothing is pruned under a command.
"""

import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from dpaccount.documents import OWN, sha256
from dpaccount.errors import InputError

FORMAT = 0x64707702  #: of the file: "dpw" and its edition
PATIENCE = 30.0  #: seconds that one command waits for another's transaction
BESIDE = ("-wal", "-shm", "-journal")  #: what SQLite keeps beside a file, and takes for a part of it
LAYOUT = f"""
CREATE TABLE IF NOT EXISTS results (name TEXT PRIMARY KEY, series TEXT NOT NULL, work TEXT NOT NULL,
  code TEXT NOT NULL, seeds INTEGER NOT NULL, digest TEXT NOT NULL, result BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS begun (name TEXT PRIMARY KEY);
PRAGMA application_id = {FORMAT}; COMMIT"""
STORE: ContextVar[Path | None] = ContextVar("store", default=None)  #: where results are kept


@contextmanager
def kept_in(store: Path | None) -> Iterator[None]:
    """Keep what `run` does in the block in this file; None: only until it is returned."""
    token = STORE.set(store)
    try:
        yield
    finally:
        STORE.reset(token)


class Results:
    """An open store, to be closed; `alone` refuses one that a command uses, and keeps others out."""

    def __init__(self, path: Path, *, alone: bool = False) -> None:
        self.path, self._alone, self._last, self._gate = path, alone, 0, threading.Lock()
        try:
            _own(path)
            wait = 0.1 if alone else PATIENCE
            self._file = sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)
        except (sqlite3.Error, OSError) as error:
            raise self._refused(error) from None
        try:
            self._asked(f"PRAGMA locking_mode = {'EXCLUSIVE' if alone else 'NORMAL'}")
            new = not self._asked("SELECT * FROM sqlite_master")
            if not new and self._asked("PRAGMA application_id") != [(FORMAT,)]:
                what = "this is no store of results of this program, or one of another edition"
                raise InputError(what, "name another file with --store", path)
            # out of WAL only goes who has the file alone; a power failure may lose the last groups
            self._asked(f"PRAGMA journal_mode = {'DELETE' if alone else 'WAL'}")
            self._asked("PRAGMA synchronous = NORMAL")
            for each in (f"BEGIN {'EXCLUSIVE' if alone else 'IMMEDIATE'}", *LAYOUT.split(";")):
                self._asked(each)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _refused(self, error: Exception) -> InputError:
        said = getattr(error, "strerror", None) or str(error)
        right = "see to it, or name another file with --store; nothing half-written was left"
        if said == "database is locked":
            said, right = "another command uses it", "try again when that has ended"
        return InputError(f"the store of results cannot be used: {said}", right, self.path)

    def _asked(self, question: str, *given: object) -> list[Any]:
        try:
            with self._gate:  # joblib asks for more work in a thread of its own
                return self._file.execute(question, given).fetchall()
        except sqlite3.Error as error:
            raise self._refused(error) from None

    def added(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
        """Yield the names and results kept since the last call, in this process or another."""
        for number, name in self._asked("SELECT rowid, name FROM results WHERE rowid > ?", self._last):
            self._last = max(self._last, number)
            if wanted(name):
                yield name, self._result(name)

    def _result(self, name: str) -> bytes:
        rows = self._asked("SELECT result, digest FROM results WHERE name = ?", name)
        if not rows or sha256(rows[0][0]) != rows[0][1]:
            what = "a result is gone, or does not read as it was written"
            raise InputError(what, "remove that work with dpaccount work prune DIGEST", self.path)
        return rows[0][0]

    def begin(self, name: str) -> bool:
        """Return whether no command has begun this group; who was killed may have: others do it last."""
        with suppress(InputError):  # without room for a note, at worst something is done twice
            return bool(self._asked("INSERT INTO begun VALUES (?) ON CONFLICT DO NOTHING RETURNING 1", name))
        return True

    def keep(self, name: str, raw: bytes, seeds: int, *about: str) -> bytes:
        """Keep a group's result unless one is; return what is kept.  `about`: series, name, code."""
        row = (name, *about, seeds, sha256(raw), raw)
        self._asked("INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", *row)
        return self._result(name)

    def digest_of(self, name: str) -> str | None:
        """Return the digest of a result that is kept; None if it is not."""
        rows = self._asked("SELECT digest FROM results WHERE name = ?", name)
        return rows[0][0] if rows else None

    def listed(self, code: str) -> list[dict[str, Any]]:
        """Return what is known of each series, the latest last; `current` if this code made it."""
        rows = self._asked(
            "SELECT series, work, code, count(*), sum(seeds), sum(length(result)) FROM results"
            " GROUP BY series ORDER BY max(rowid)"
        )
        keys = ("digest", "name", "current", "groups", "seeds", "bytes")
        return [dict(zip(keys, (*row[:2], row[2] == code, *row[3:]), strict=True)) for row in rows]

    def remove(self, series: Iterable[str]) -> None:
        """Remove series; who is alone gives their room back."""
        for each in series:
            self._asked("DELETE FROM results WHERE series = ?", each)
            self._asked("DELETE FROM begun WHERE name LIKE ? || ' %'", each)
        if self._alone:
            self._asked("VACUUM")


def _own(path: Path) -> None:
    """Create a file for its owner alone; refuse one of somebody else, that others can use, or a link.

    It is looked at by name: to close another descriptor of it would drop the locks of SQLite.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWN))
    for end in ("", *BESIDE):
        file = path.with_name(path.name + end)
        try:
            found = file.lstat()
        except FileNotFoundError:
            if end:  # another command ended, say
                continue
            raise
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            what = "a store of results is a file of your own that nobody else can use, and no link"
            raise InputError(what, "chmod 600 it, or name another file with --store", file)
