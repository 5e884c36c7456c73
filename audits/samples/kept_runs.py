"""Runs that are kept in a file as they are made, so that the same command goes on from there.

All that an attack learns from outside is in the file, in order: the results of its runs, and how much time
was left whenever it asked.  So what follows from a file is what followed the first time, and an attack that
was killed goes on where the file ends.  The file is only appended to; an incomplete record at its end is cut.
"""

import os
import time
import zlib
from collections import deque
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from audits.sandbox.crew import Crew, Play
from audits.sandbox.frames import LENGTH, pack_array, pack_outcome, unpack_outcome
from audits.sandbox.outcomes import Outcome
from audits.subjects.code import Code
from dpaccount.documents import using
from dpaccount.errors import InputError, posix_module

SCHEMA = "dpaccount/kept-runs/1"
SYNC = 1.0  #: seconds after which records are written through to the disk
OTHER = "name another file to keep the runs in, or give the command that began this one"


class KeptRuns:
    """A file of records: what was asked, then runs, times, digests of data, with checksums."""

    def __init__(self, path: Path, asked: dict[str, str]) -> None:
        """Open or begin a file; raises `InputError` if it is not of these runs, or in use."""
        self.path, fcntl = path, posix_module("fcntl")
        with using(path, "name a file that can be written", "unreadable"):
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise InputError("another audit keeps its runs here", "name another file", path) from None
        self._synced = time.monotonic()
        try:
            self.records = self._opened(asked)
        except InputError:
            os.close(self._file)
            raise

    def _opened(self, asked: dict[str, str]) -> deque[list[Any]]:
        """Return the records after the first, which says what was asked; cut off an incomplete one."""
        raw = self.path.read_bytes()
        records, end = _records(raw)
        if raw and (not records or records[0][:2] != ["asked", SCHEMA]):
            raise InputError("no kept runs", OTHER, self.path)
        before = records[0][2] if records else asked
        for name, value in asked.items():
            if before.get(name) != value:
                was = " ".join(str(before.get(name)).split())[:200]
                what = f"these runs were kept of another {name} ({was})"
                raise InputError(what, OTHER, self.path)
        os.ftruncate(self._file, end)
        os.lseek(self._file, end, os.SEEK_SET)
        if not records:
            self.append("asked", SCHEMA, asked)
        return deque(records[1:])

    def append(self, *record: object) -> None:
        """Write one record."""
        body = msgspec.msgpack.encode(record)
        _write(self._file, LENGTH.pack(len(body)) + LENGTH.pack(zlib.crc32(body)) + body)
        if time.monotonic() - self._synced > SYNC:
            os.fsync(self._file)
            self._synced = time.monotonic()

    def close(self) -> None:
        """Write all records through to the disk, and let others use the file."""
        os.fsync(self._file)
        os.close(self._file)


def _records(raw: bytes) -> tuple[list[list[Any]], int]:
    """Return the complete records of a file, and where they end."""
    records: list[list[Any]] = []
    at, head = 0, 2 * LENGTH.size
    while at + head <= len(raw):
        length, checksum = LENGTH.unpack_from(raw, at)[0], LENGTH.unpack_from(raw, at + LENGTH.size)[0]
        body = raw[at + head : at + head + length]
        if not length or len(body) < length or zlib.crc32(body) != checksum:
            break  # of no bytes is what a file system that lost its last blocks shows: zeros
        records.append(msgspec.msgpack.decode(body))
        at += head + length
    return records, at


def _write(file: int, raw: bytes) -> None:
    while raw:
        raw = raw[os.write(file, raw) :]


def _digest(plays: Sequence[Play]) -> str:
    return sha256(repr([[int(word) for word in play] for play in plays]).encode()).hexdigest()


class KeepingCrew(Crew):
    """A crew whose runs are kept: first those in the file are given again, then others are made."""

    def __init__(self, code: Code, kept: KeptRuns, *, seconds: float, jobs: int = 1) -> None:
        self._kept_runs = kept
        super().__init__(code, seconds=seconds, jobs=jobs)
        self._last = seconds

    def _next(self, kind: str) -> list[Any] | None:
        """Take the next record, which must be of this kind; None at the end of the file."""
        records = self._kept_runs.records
        if not records:
            return None
        if records[0][0] != kind:
            raise InputError("these runs were kept of another attack", OTHER, self._kept_runs.path)
        record = records.popleft()
        if not records:  # from here on runs are made, in the time that was left
            self._limit(self._last)
        return record

    def seconds_left(self) -> float:
        """Return the seconds that are left of the limit, as often as it was asked before."""
        record = self._next("left")
        if record is not None:
            self._last = float(record[1])
            if not self._kept_runs.records:
                self._limit(self._last)
            return self._last
        left = super().seconds_left()
        self._kept_runs.append("left", left)
        return left

    def set_datasets(self, datasets: Sequence[NDArray[Any]]) -> None:
        """Hand datasets, which must be those of the kept runs."""
        layout = None if self.layout is None else self.layout.as_list()
        digest = sha256(repr((layout, self.survey) if self.survey else layout).encode())
        for data in datasets:
            kind, shape, raw = pack_array(np.asarray(data))
            digest.update(repr((kind, shape)).encode())
            digest.update(bytes(raw))  # type: ignore[call-overload]
        record = self._next("data")
        if record is None:
            self._kept_runs.append("data", digest.hexdigest())
        elif record[1] != digest.hexdigest():
            raise InputError("these runs were kept of other data", OTHER, self._kept_runs.path)
        super().set_datasets(datasets)

    def _run_plays(self, plays: Sequence[Play]) -> list[Outcome]:
        """Return kept outcomes, then those of further runs, which are kept as they are made."""
        outcomes: list[Outcome] = []
        records = self._kept_runs.records
        while len(outcomes) < len(plays) and records:
            if records[0][0] == "end":
                self._next("end")
                return outcomes
            record = self._next("runs")
            if record is not None:
                asked = plays[len(outcomes) : len(outcomes) + len(record[2])]
                if len(asked) < len(record[2]) or _digest(asked) != record[1]:
                    what = "these runs were kept of others than are asked for"
                    raise InputError(what, OTHER, self._kept_runs.path)
                outcomes += [unpack_outcome(each) for each in record[2]]
        while len(outcomes) < len(plays):
            batch = plays[len(outcomes) : len(outcomes) + self._chunk_size * self.jobs]
            part = super()._run_plays(batch)
            of = _digest(batch[: len(part)])
            self._kept_runs.append("runs", of, [pack_outcome(outcome) for outcome in part])
            outcomes += part
            if len(part) < len(batch):
                self._kept_runs.append("end")
                break
        return outcomes

    def close(self) -> None:
        """End all processes, and close the file."""
        super().close()
        self._kept_runs.close()
