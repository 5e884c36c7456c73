"""Where results are kept: an append-only SQLite file, which several commands may use at once.

A claim on a group is a lock of one byte of the file `….claims` beside it.  The kernel lets go of the
locks of a process that dies, so no claim outlives its claimant and no clock is asked.
"""

import hashlib
import os
import sqlite3
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from dpaccount.errors import DpaccountError, InputError, posix_module

FORMAT, EDITION = 0x64706177, 1  #: of the file: "dpaw"
PATIENCE = 30.0  #: seconds that one command waits for another's transaction
LAYOUT = f"""
PRAGMA journal_mode = WAL; BEGIN IMMEDIATE;
CREATE TABLE results (name TEXT PRIMARY KEY, series TEXT NOT NULL, work TEXT NOT NULL,
  code TEXT NOT NULL, seeds INTEGER NOT NULL, digest TEXT NOT NULL, seconds REAL NOT NULL,
  written TEXT NOT NULL, result BLOB NOT NULL);
PRAGMA application_id = {FORMAT}; PRAGMA user_version = {EDITION}; COMMIT;
"""
STORE: ContextVar[Path | None] = ContextVar("store", default=None)  #: where results are kept


@contextmanager
def kept_in(store: Path | None) -> Iterator[None]:
    """Keep what `run` does in the block in this file; None: in memory, until it is returned."""
    token = STORE.set(store)
    try:
        yield
    finally:
        STORE.reset(token)


class ImpureTaskError(DpaccountError):
    """A task gave two results for the same seeds: it reads something besides them."""

    exit_code = 70


class Results:
    """An open store, to be closed; without a path it is in memory and ends with the process."""

    def __init__(self, path: Path | None) -> None:
        self.path, self._gate, self._claims = path, threading.Lock(), -1
        try:
            if path is not None:
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                self._claims = os.open(path.with_name(path.name + ".claims"), flags, 0o600)
                self._lock(0, "LOCK_EX")
            self._file = sqlite3.connect(
                path or ":memory:", timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            self._prepare()
            self._lock(0, "LOCK_UN")
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise self._refused(error) from None
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        """Lay out a new file; refuse one of another format."""
        (edition,), (found,) = (
            self._file.execute(f"PRAGMA {key}").fetchone() for key in ("user_version", "application_id")
        )
        if edition == found == 0 and not self._file.execute("SELECT * FROM sqlite_master").fetchone():
            self._file.executescript(LAYOUT)
        elif (found, edition) != (FORMAT, EDITION):
            what = "this is no store of results of this program, or one of another edition"
            raise InputError(what, "name another file with --store", self.path)
        # a kill loses nothing, a power failure the last groups
        self._file.execute("PRAGMA synchronous = NORMAL")

    def close(self) -> None:
        """Close the file and let go of all claims."""
        if hasattr(self, "_file"):
            self._file.close()
        if self._claims >= 0:
            os.close(self._claims)

    def _refused(self, error: Exception) -> InputError:
        said = getattr(error, "strerror", None) or str(error)
        right = "see to it, or name another file with --store; nothing half-written was left"
        return InputError(f"the store of results cannot be used: {said}", right, self.path)

    def _asked(self, question: str, *given: object) -> list[Any]:
        """Return the rows of an answer; each question is a transaction of its own."""
        with self._gate:
            try:
                return self._file.execute(question, given).fetchall()
            except sqlite3.Error as error:
                raise self._refused(error) from None

    def _lock(self, byte: int, *how: str) -> None:
        if self.path is not None:
            fcntl = posix_module("fcntl")
            fcntl.lockf(self._claims, sum(getattr(fcntl, each) for each in how), 1, byte)

    def done(self, series: Collection[str]) -> set[str]:
        """Return the names of the groups of some series that are done."""
        question = "SELECT name FROM results WHERE series = ?"
        return {name for each in series for (name,) in self._asked(question, each)}

    def claim(self, name: str) -> bool:
        """Say whether this process is to do a group: no other does, and it is not done.

        Threads of one process share its claims; what two of them do is the same, twice.
        """
        try:
            self._lock(_byte(name), "LOCK_EX", "LOCK_NB")
        except (BlockingIOError, PermissionError):  # either says that another process has it
            return False
        return not self._asked("SELECT 1 FROM results WHERE name = ?", name)

    def keep(self, name: str, seeds: range, raw: bytes, seconds: float, *about: str) -> None:
        """Keep a group's result; `about`: its series, the work's name, the digest of the code.

        Raises `ImpureTaskError` if another result is there.
        """
        found = hashlib.sha256(raw).hexdigest()
        insert = "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, datetime(), ?)"
        self._asked(f"{insert} ON CONFLICT DO NOTHING", name, *about, len(seeds), found, seconds, raw)
        if self._asked("SELECT digest FROM results WHERE name = ?", name) != [(found,)]:
            raise ImpureTaskError(
                f"{about[1]}: seeds {seeds.start} ... {seeds.stop - 1} gave other results when they were"
                " done again; a task reads what it is given and its seeds, no clock, no other randomness"
            )
        self._lock(_byte(name), "LOCK_UN")

    def result(self, name: str) -> tuple[bytes, float]:
        """Return a group's result and the processor seconds that it took."""
        rows = self._asked("SELECT result, seconds, digest FROM results WHERE name = ?", name)
        if not rows or hashlib.sha256(rows[0][0]).hexdigest() != rows[0][2]:
            what = "a result is gone, or does not read as it was written"
            raise InputError(what, "remove that work with dpaccount work prune DIGEST", self.path)
        return rows[0][:2]  # type: ignore[no-any-return]

    def listed(self, code: str) -> list[dict[str, Any]]:
        """Return what is known of each series, the latest last; `current` if this code made it."""
        keys = ("digest", "name", "current", "groups", "seeds", "seconds", "bytes", "written")
        question = (
            "SELECT series, work, code, count(*), sum(seeds), sum(seconds), sum(length(result)),"
            " max(written) FROM results GROUP BY series ORDER BY max(written)"
        )
        rows = [dict(zip(keys, row, strict=True)) for row in self._asked(question)]
        return [{**row, "current": row["current"] == code} for row in rows]

    def prune(self, series: Collection[str]) -> None:
        """Remove series."""
        for each in series:
            self._asked("DELETE FROM results WHERE series = ?", each)
        self._asked("VACUUM")


def _byte(name: str) -> int:
    """Return the byte that stands for a group; two that share one are not done at the same time."""
    return 1 + int(hashlib.sha256(name.encode()).hexdigest()[:15], 16)
