"""Where results are kept: an append-only SQLite file, which several commands may use at once.

A claim on a group is a lock of one byte of the file `….claims` beside it.  The kernel lets go of the
locks of a process that dies, so no claim outlives its claimant and no clock is asked.
"""

import hashlib
import io
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from dpaccount.documents import canonical
from dpaccount.errors import DpaccountError, InputError, posix_module
from dpaccount.work.series import Floats, SeedGroup, Series
from dpaccount.work.version import current

FORMAT = 0x64706177  #: of the file: "dpaw"
EDITION = 1
PATIENCE = 30.0  #: seconds that one command waits for another's transaction
OPENING = 0  #: the byte that is locked while the file is made
TABLES = """
CREATE TABLE series (digest TEXT PRIMARY KEY, name TEXT NOT NULL, specification TEXT NOT NULL) STRICT;
CREATE TABLE results (name TEXT PRIMARY KEY, series TEXT NOT NULL, start INTEGER NOT NULL,
  stop INTEGER NOT NULL, digest TEXT NOT NULL, seconds REAL NOT NULL, written REAL NOT NULL,
  result BLOB NOT NULL) STRICT;
CREATE INDEX results_of ON results (series);
"""


class ImpureTaskError(DpaccountError):
    """A task gave two results for the same seeds: it reads something besides them."""

    exit_code = 70

    def __init__(self, name: str, seeds: range) -> None:
        super().__init__(name, seeds)
        self.name, self.seeds = name, seeds

    def __str__(self) -> str:
        """Return which group, and what to do."""
        first, last = self.seeds.start, self.seeds.stop - 1
        return (
            f"{self.name}: seeds {first} ... {last} gave other results when they were done again; a task"
            " may read its specification and its seeds alone, no clock, no file and no other randomness"
        )


def default() -> Path:
    """Return where results are kept if nothing is said: ``DPACCOUNT_WORK``, else in the user's cache."""
    said = os.environ.get("DPACCOUNT_WORK")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(said) if said else cache / "dpaccount" / "work.db"


_STORE: ContextVar[Path | None] = ContextVar("store", default=None)


@contextmanager
def kept_in(store: Path | None) -> Iterator[None]:
    """Keep what `run` does in the block in this file; None: in memory, until it is returned."""
    token = _STORE.set(store)
    try:
        yield
    finally:
        _STORE.reset(token)


def store_in_use() -> Path | None:
    """Return the file in which results are kept here, if any."""
    return _STORE.get()


def as_bytes(values: Floats) -> bytes:
    """Return an array as bytes (NPY): the same ones for equal arrays."""
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(values, dtype=np.float64), allow_pickle=False)
    return file.getvalue()


def of_bytes(raw: bytes) -> Floats:
    """Return the array that was written as bytes."""
    values: Floats = np.load(io.BytesIO(raw), allow_pickle=False)
    return values


class Results:
    """An open store; without a path it is in memory and ends with the process."""

    def __init__(self, path: Path | None, *, new: bool = True) -> None:
        self.path, self._gate, self._claims = path, threading.RLock(), -1
        if path is not None and not new and not path.exists():
            raise InputError("there is no store of results", "name one with --store", path)
        with self._refusing():
            if path is not None:
                self._fcntl = posix_module("fcntl")
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                self._claims = os.open(path.with_name(path.name + ".claims"), flags, 0o600)
                self._fcntl.lockf(self._claims, self._fcntl.LOCK_EX, 1, OPENING)
            try:
                name = ":memory:" if path is None else path
                self._file = sqlite3.connect(
                    name, timeout=PATIENCE, isolation_level=None, check_same_thread=False
                )
                self._prepare()
            except BaseException:
                self.close()
                raise
            if path is not None:
                self._fcntl.lockf(self._claims, self._fcntl.LOCK_UN, 1, OPENING)

    def _prepare(self) -> None:
        """Make the tables of a new file; refuse one of another format."""
        found = [self._value(f"PRAGMA {key}") for key in ("application_id", "user_version")]
        if found == [0, 0] and not self._value("SELECT count(*) FROM sqlite_schema"):
            marks = f"PRAGMA application_id = {FORMAT}; PRAGMA user_version = {EDITION};"
            self._file.executescript(f"PRAGMA journal_mode = WAL; BEGIN; {TABLES} {marks} COMMIT;")
        elif found != [FORMAT, EDITION]:
            raise InputError(
                "this is no store of results of this program, or one of another edition",
                "name another file with --store",
                self.path,
            )
        self._file.execute("PRAGMA synchronous = NORMAL")  # a kill loses nothing, power loss the last groups

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Turn what the disk or SQLite refuses into one sentence; transactions leave nothing half-written."""
        with self._gate:
            try:
                yield
            except (sqlite3.Error, OSError) as error:
                said = error.strerror if isinstance(error, OSError) else str(error)
                raise InputError(
                    f"the store of results cannot be used: {said}",
                    "see to it, or name another file with --store; nothing half-written was left",
                    self.path,
                ) from None

    def _value(self, question: str, *given: object) -> Any:
        row = self._file.execute(question, given).fetchone()
        return None if row is None else row[0]

    def __enter__(self) -> "Results":
        """Return itself; the block ends with `close`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    def close(self) -> None:
        """Close the file and let go of all claims."""
        if hasattr(self, "_file"):
            self._file.close()
        if self._claims >= 0:
            os.close(self._claims)
            self._claims = -1

    # -------------------------------------------------------------- groups

    def begin(self, series: Iterable[Series]) -> None:
        """Note what is done here, for `listed`; raises `InputError` if a digest stands for something else."""
        with self._refusing():
            for each in series:
                text = canonical(each.specification).decode()
                told = [each.digest, each.name, text]
                self._file.execute("INSERT INTO series VALUES (?, ?, ?) ON CONFLICT DO NOTHING", told)
                if self._value("SELECT specification FROM series WHERE digest = ?", told[0]) != text:
                    raise InputError(
                        f"the store has two specifications of {each.name} under one digest",
                        f"remove it with `dpaccount work prune {told[0][:12]}`",
                        self.path,
                    )

    def missing(self, groups: Sequence[SeedGroup]) -> list[SeedGroup]:
        """Return the groups that are not done, in order."""
        with self._refusing():
            done: set[str] = set()
            for series in dict.fromkeys(group.series for group in groups):
                found = self._file.execute("SELECT name FROM results WHERE series = ?", [series])
                done |= {name for (name,) in found}
        return [group for group in groups if group.name not in done]

    def claim(self, group: SeedGroup) -> bool:
        """Say whether this process is to do a group: no other does, and it is not done.

        Threads of one process share its claims; groups that two of them do are the same, twice.
        """
        with self._refusing():
            if not self._locked(group):
                return False
            if self._value("SELECT 1 FROM results WHERE name = ?", group.name) is None:
                return True
            self.let_go(group)
            return False

    def _locked(self, group: SeedGroup) -> bool:
        if self.path is None:
            return True
        try:
            self._fcntl.lockf(self._claims, self._fcntl.LOCK_EX | self._fcntl.LOCK_NB, 1, _byte(group))
        except (BlockingIOError, PermissionError):  # either says that another process has it
            return False
        return True

    def let_go(self, group: SeedGroup) -> None:
        """End the claim on a group."""
        if self.path is not None:
            with self._refusing():
                self._fcntl.lockf(self._claims, self._fcntl.LOCK_UN, 1, _byte(group))

    def keep(self, name: str, group: SeedGroup, raw: bytes, seconds: float) -> None:
        """Keep a group's result, durably; raises `ImpureTaskError` if another one is there."""
        row = [group.name, group.series, group.seeds.start, group.seeds.stop]
        row += [hashlib.sha256(raw).hexdigest(), seconds, time.time(), raw]
        insert = "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
        with self._refusing():
            if not self._file.execute(insert, row).rowcount:
                self.compare(name, group, raw)

    def compare(self, name: str, group: SeedGroup, raw: bytes) -> None:
        """Raise `ImpureTaskError` unless a group's result is the one that was kept."""
        if self.result(group)[0] != raw:
            raise ImpureTaskError(name, group.seeds)

    def result(self, group: SeedGroup) -> tuple[bytes, float]:
        """Return a group's result and the processor seconds that it took."""
        with self._refusing():
            question = "SELECT result, seconds, digest FROM results WHERE name = ?"
            row = self._file.execute(question, [group.name]).fetchone()
        if row is None or hashlib.sha256(row[0]).hexdigest() != row[2]:
            raise InputError(
                "a result is not there, or does not read as it was written",
                f"remove the work with `dpaccount work prune {group.series[:12]}`",
                self.path,
            )
        return row[0], row[1]

    # -------------------------------------------------------------- what is there

    def listed(self) -> list[dict[str, Any]]:
        """Return what is known of each series, the latest last: `current` if this code made it."""
        question = (
            "SELECT s.digest, s.name, s.specification, count(r.name) AS groups,"
            " coalesce(sum(r.stop - r.start), 0) AS seeds, coalesce(sum(r.seconds), 0) AS seconds,"
            " coalesce(sum(length(r.result)), 0) AS bytes, max(r.written) AS written"
            " FROM series s LEFT JOIN results r ON r.series = s.digest GROUP BY s.digest ORDER BY written"
        )
        with self._refusing():
            answer = self._file.execute(question)
            keys = [column[0] for column in answer.description]
            found = [dict(zip(keys, row, strict=True)) for row in answer]
        for row in found:
            row["current"] = json.loads(row.pop("specification"))["code"] == current()
        return found

    def prune(self, digests: Sequence[str]) -> None:
        """Remove series and their results."""
        with self._refusing(), closing(self._file.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            for each in digests:
                cursor.execute("DELETE FROM results WHERE series = ?", [each])
                cursor.execute("DELETE FROM series WHERE digest = ?", [each])
            cursor.execute("COMMIT")
            cursor.execute("VACUUM")


def _byte(group: SeedGroup) -> int:
    """Return the byte that stands for a group; two that share one are merely not done at the same time."""
    return 1 + int(group.name[:15], 16)
