"""Runs that are kept in a file as they are made, so that the same command goes on from there.

All that an attack learns from outside is in the file, in order: the results of its runs, and how much time
was left whenever it asked.  So what follows from a file is what followed the first time, and an attack that
was killed goes on where the file ends.
"""

from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from audits.sandbox.crew import Crew, Play
from audits.sandbox.outcomes import Outcome, pack_array, pack_outcome, unpack_outcome
from audits.subjects.code import Code
from dpaccount.documents import sha256
from dpaccount.errors import InputError
from dpaccount.work.journal import Journal, JournalKind

OTHER: Final = "name another file to keep the runs in, or give the command that began this one"
NONE_KEPT: Final = ("no kept runs", OTHER)
KIND: Final = JournalKind(
    "dpaccount/kept-runs/2",
    ("name a file that can be written", "name a file that can be written"),
    busy=("another audit keeps its runs here", "name another file"),
    damaged=NONE_KEPT,
    other=NONE_KEPT,
    again=True,
    sync=1.0,  # a run costs less than a line that is written through
)


def kept_runs(path: Path, asked: dict[str, str]) -> Journal:
    """Open or begin a file of runs; raises `InputError` if it is not of these runs, or in use."""
    journal = Journal(path, {"asked": asked}, KIND)
    for name, value in asked.items():
        before = journal.head["asked"].get(name)
        if before != value:
            journal.close()
            what = f"these runs were kept of another {name} ({' '.join(str(before).split())[:200]})"
            raise InputError(what, OTHER, path)
    return journal


def _packed(outcomes: Sequence[Outcome]) -> str:
    return b64encode(msgspec.msgpack.encode([pack_outcome(each) for each in outcomes])).decode()


def _unpacked(text: str) -> list[Outcome]:
    return [unpack_outcome(each) for each in msgspec.msgpack.decode(b64decode(text))]


def _digest(plays: Sequence[Play]) -> str:
    return sha256(repr([[int(word) for word in play] for play in plays]).encode())


class KeepingCrew(Crew):
    """A crew whose runs are kept: first those in the file are given again, then others are made."""

    def __init__(self, code: Code, kept: Journal, *, seconds: float, jobs: int = 1) -> None:
        self._kept, self._again = kept, deque(kept.events)
        super().__init__(code, seconds=seconds, jobs=jobs)
        self._last = seconds

    def _next(self, kind: str) -> Any:
        """Take the next event, which must be of this kind; None at the end of the file."""
        if not self._again:
            return None
        if kind not in self._again[0]:
            raise self._other("these runs were kept of another attack")
        event = self._again.popleft()
        if not self._again:  # from here on runs are made, in the time that was left
            self._limit(self._last)
        return event[kind]

    def _other(self, what: str) -> InputError:
        return self._kept.refused((what, OTHER))

    def seconds_left(self) -> float:
        """Return the seconds that are left of the limit, as often as it was asked before."""
        # An attack plans by the time left: given another answer, it would ask for other runs.
        left = self._next("left")
        if left is None:
            left = super().seconds_left()
            self._kept.append({"left": left})
            return left
        self._last = float(left)
        if not self._again:
            self._limit(self._last)
        return self._last

    def set_datasets(self, datasets: Sequence[NDArray[Any]]) -> None:
        """Hand datasets, which must be those of the kept runs."""
        parts = [repr((self.layout, self.survey) if self.survey else self.layout).encode()]
        for data in datasets:
            kind, shape, raw = pack_array(np.asarray(data))
            parts += [repr((kind, shape)).encode(), bytes(raw)]  # type: ignore[call-overload]
        digest, before = sha256(b"".join(parts)), self._next("data")
        if before is None:
            self._kept.append({"data": digest})
        elif before != digest:
            raise self._other("these runs were kept of other data")
        super().set_datasets(datasets)

    def _run_plays(self, plays: Sequence[Play]) -> list[Outcome]:
        """Return kept outcomes, then those of further runs, which are kept as they are made."""
        outcomes: list[Outcome] = []
        while len(outcomes) < len(plays) and self._again:
            if "end" in self._again[0]:
                self._next("end")
                return outcomes
            of, packed = self._next("runs")
            some = _unpacked(packed)
            asked = plays[len(outcomes) : len(outcomes) + len(some)]
            # With another number of jobs other runs are asked for: a verdict by these could be false.
            if len(asked) < len(some) or _digest(asked) != of:
                raise self._other("these runs were kept of others than are asked for")
            outcomes += some
        while len(outcomes) < len(plays):
            batch = plays[len(outcomes) : len(outcomes) + self._chunk_size * self.jobs]
            part = super()._run_plays(batch)
            self._kept.append({"runs": [_digest(batch[: len(part)]), _packed(part)]})
            outcomes += part
            if len(part) < len(batch):
                self._kept.append({"end": True})
                break
        return outcomes

    def close(self) -> None:
        """End all processes, and close the file."""
        super().close()
        self._kept.close()
