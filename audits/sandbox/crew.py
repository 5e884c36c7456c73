"""Worker processes for untrusted code, with a wall-clock timeout and a memory limit.

What such code does to its process (an exit, a crash, a hang) reaches this program as an `Outcome`.
"""

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from audits.datasets.forms import Layout
from audits.sandbox.frames import LENGTH, packed, received, write_frame
from audits.sandbox.outcomes import MAX_NUMBERS, SILENT, UNMEANT, Outcome
from audits.subjects.code import Code
from dpaccount.errors import POSIX_ONLY, InputError

MEMORY = 4 * 2**30  #: bytes of address space of one process
PATIENCE = 0.1  #: the part of the wall limit that a single run may take
IMPORT = 60.0  #: seconds that an import may take, however little time the runs have
#: what keeps a process to one thread; with a thread for every core, address space would be short
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
CHUNK = 100  #: runs that one process does before it takes the next batch
BATCH = 1.0  #: seconds that such a batch should take, so that few slow runs use all processes

WORKER = "import dpaccount_packages; dpaccount_packages.run('audits.api.worker')"  #: what a process runs

Play = tuple[int, ...]  #: which dataset, then the seed words; none: a query, without a generator


class TimeUp(Exception):  # noqa: N818
    """The wall limit is spent."""


class Gone(Exception):  # noqa: N818
    """The process died or was killed; the text describes how."""


class Process:
    """One process; `start` imports the code, `kill` ends it and all that it started."""

    def __init__(self, code: Code, memory: int = MEMORY) -> None:
        self.code, self.memory = code, memory
        self.kind = ""
        self.starts = 0
        self._popen: subprocess.Popen[bytes] | None = None
        self._buffer = bytearray()
        self._folder: TemporaryDirectory[str] | None = None  #: where a program's data are

    def start(self) -> str:
        """Start and import; return ``function``, ``class`` or another type's name.

        Raises `InputError` if that fails.
        """
        if not hasattr(os, "fork"):  # nor can a pipe be waited for with a limit
            raise InputError(POSIX_ONLY.format("processes"))
        threads = dict.fromkeys(THREADS, "1")
        self.starts += 1
        self._popen = subprocess.Popen(
            [sys.executable, "-P", "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # so that what it starts can be killed with it
            env={**os.environ, **threads},
        )
        self._buffer.clear()
        if self.code.closed is not None:
            self.send(["close", self.code.closed])
        self.send(self._loading())
        try:
            answer, text = self.receive(IMPORT)
        except Gone as gone:
            answer, text = "failed", str(gone)
        if answer == "failed":
            self.kill()
            if (self.code.command or self.code.python or self.code.archived) is not None:
                raise InputError(text)
            raise InputError(f"importing {self.code.use.partition(':')[0]} failed ({text})", "fix it")
        self.kind = text
        return self.kind

    def _loading(self) -> list[object]:
        """Return the request that brings the code there: by its name, or by value."""
        folders = list(self.code.folders)
        if self.code.command is not None:
            self._folder = TemporaryDirectory(prefix="dpaccount-")
            return ["load_program", self.code.command, self._folder.name]
        if self.code.python is not None:
            return ["load_python", self.code.python, self.code.use, folders]
        if self.code.value is not None:
            return ["load_value", self.code.value, folders, self.memory]
        if (made := self.code.archived) is not None:
            return ["load_archive", made.archive, made.digest, made.module, made.name, self.memory]
        return ["load", self.code.use, folders, self.memory, self.code.meant()]

    def send(self, request: Sequence[object]) -> None:
        """Send a request; a process that is gone is noticed when the answer is awaited."""
        if self._popen is not None and self._popen.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                write_frame(self._popen.stdin, request)

    def receive(self, seconds: float) -> Any:
        """Return the next answer; raises `Gone` if none comes in time or the process ends."""
        child, until = self._popen, time.monotonic() + seconds
        if child is None or child.stdout is None:
            raise Gone("not started")
        pipe = child.stdout.fileno()
        while (document := self._taken()) is None:
            left = until - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                self.kill()
                raise Gone(f"gives {SILENT} within {seconds:.3g} seconds")
            piece = os.read(pipe, 1 << 16)
            if not piece:
                code = child.wait()
                self.kill()
                how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
                raise Gone(f"ends its process {how}")
            self._buffer += piece
        return msgspec.msgpack.decode(document)

    def _taken(self) -> bytes | None:
        if len(self._buffer) < LENGTH.size:
            return None
        end = LENGTH.size + LENGTH.unpack_from(self._buffer)[0]
        if len(self._buffer) < end:
            return None
        document = bytes(self._buffer[LENGTH.size : end])
        del self._buffer[:end]
        return document

    def kill(self) -> None:
        """End the process and all of its session."""
        child, self._popen = self._popen, None
        if child is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.cleanup()

    @property
    def alive(self) -> bool:
        """Return whether the process was started and not killed."""
        return self._popen is not None


@dataclass
class Tally:
    """What the runs of a crew came to: how many, how many without a result or an answer, and why."""

    runs: int = 0
    void: int = 0
    silent: int = 0
    most: int = 0  #: numbers that one result had
    first: str = ""
    opaque: str = ""  #: the first result with a member that cannot be seen
    failures: dict[str, list[Any]] = field(default_factory=dict)  #: by kind: how many, the first one shown

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Count further runs."""
        for outcome in outcomes:
            self.first = self.first or outcome.shown_as_failure()
            if outcome.opaque:
                self.opaque = self.opaque or outcome.shown_as_failure()
            self.runs += 1
            self.void += outcome.void
            self.silent += outcome.silent
            self.most = max(self.most, len(outcome.numbers))
            if outcome.failed:
                self.failures.setdefault(outcome.structure, [0, outcome.shown_as_failure()])[0] += 1

    def failure_counts(self) -> list[str]:
        """Return a sentence on each kind of failure, the most frequent first."""
        kinds = sorted(self.failures.values(), key=lambda kind: -kind[0])
        return [f"{count:,} of {self.runs:,} runs {_plural(what)}" for count, what in kinds]

    @property
    def empty(self) -> bool:
        """Return whether no run gave anything that can be compared, though some did end."""
        return self.void == self.runs > self.silent


def _plural(did: str) -> str:
    """Return what one run did as what several do: raises, exits, gives no answer, ends its process."""
    return re.sub(r"^(\w+)s\b", r"\1", did).replace("end its", "end their", 1)


def at_once(jobs: int) -> int:
    """Return how many of the processes can work at the same time."""
    return min(max(jobs, 1), os.cpu_count() or 1)


class Crew:
    """`jobs` processes with the same code; the outcomes do not depend on how many there are.

    All runs together may take `seconds` from the moment the crew is made, a single one a tenth of that.
    """

    hurried: bool = False  #: whether the wall limit reduced the work, and so what an attack prints
    layout: Layout | None = None  #: how a dataset becomes what the function gets; None: it is that already

    def __init__(self, code: Code, *, seconds: float, jobs: int = 1) -> None:
        self.code, self.seconds, self.jobs = code, seconds, max(jobs, 1)
        self.tally = Tally()
        self._processes = [Process(code) for _ in range(self.jobs)]
        self._datasets: list[list[object]] = []
        self._chunk_size = CHUNK
        self.kind = self._imported()
        self._until = time.monotonic() + seconds

    def _imported(self) -> str:
        """Import the code; return what it is.  Raises `InputError` where that fails."""
        return self.first.start()

    @property
    def first(self) -> Process:
        """Return the process that is always there."""
        return self._processes[0]

    @property
    def processes(self) -> int:
        """Return how many runs are made at once."""
        return at_once(self.jobs)

    def left(self) -> float:
        """Return the seconds that are left of the wall limit."""
        return self._left()

    def _left(self) -> float:
        return self._until - time.monotonic()

    def keep(self, datasets: Sequence[NDArray[Any]]) -> None:
        """Hand the datasets that `run` then refers to by their place."""
        self._datasets = [packed(data) for data in datasets]
        for process in self._processes:
            if process.alive:
                process.send(self._kept())

    def _kept(self) -> list[object]:
        return ["keep", self._datasets, None if self.layout is None else self.layout.as_list()]

    def run(self, plays: Sequence[Play]) -> list[Outcome]:
        """Return the outcome of every run, in order.  Raises `TimeUp` when the wall limit is spent."""
        outcomes = self.some(plays)
        if len(outcomes) < len(plays):
            raise TimeUp
        return outcomes

    def some(self, plays: Sequence[Play]) -> list[Outcome]:
        """Return the outcomes of the first runs, in order: of as many as the wall limit allows."""
        outcomes = self._made(plays)
        for outcome in outcomes[:1] + outcomes[-1:]:
            if outcome.structure.startswith(UNMEANT):
                raise InputError(outcome.structure.removeprefix(UNMEANT).strip())
        self.tally.add(outcomes)
        if self.tally.opaque and not self.tally.empty:
            raise InputError(
                f"{self.code.use} {self.tally.opaque} (one of {self.tally.runs} runs), whose content cannot"
                " be compared",
                f"return numbers or text, at most {MAX_NUMBERS:,} of them",
            )
        return outcomes

    def _made(self, plays: Sequence[Play]) -> list[Outcome]:
        """Make runs; return the outcomes of as many as the wall limit allows."""
        size, begun = self._chunk_size, self._left()
        chunks = [plays[i : i + size] for i in range(0, len(plays), size)]
        if len(self._processes) == 1 or len(chunks) == 1:
            parts = [self._chunk(self._processes[0], chunk) for chunk in chunks]
        else:
            parts = self._at_once(chunks)
        outcomes: list[Outcome] = []
        for chunk, part in zip(chunks, parts, strict=True):
            outcomes += part
            if len(part) < len(chunk):
                break
        pace = max(begun - self._left(), 1e-9) / max(len(outcomes), 1)
        self._chunk_size = max(1, min(CHUNK, int(BATCH / pace)))
        return outcomes

    def _at_once(self, chunks: Sequence[Sequence[Play]]) -> list[list[Outcome]]:
        idle: SimpleQueue[Process] = SimpleQueue()
        for process in self._processes:
            idle.put(process)

        def one(chunk: Sequence[Play]) -> list[Outcome]:
            process = idle.get()
            try:
                return self._chunk(process, chunk)
            finally:
                idle.put(process)

        with ThreadPoolExecutor(len(self._processes)) as pool:
            return list(pool.map(one, chunks))

    def _chunk(self, process: Process, plays: Sequence[Play]) -> list[Outcome]:
        """Return the outcomes of runs that one process makes; fewer when the wall limit is spent."""
        done: list[Outcome] = []
        asked = False
        while len(done) < len(plays):
            left = self._left()
            if left <= 0:
                process.kill()  # answers may still be on their way
                break
            if not process.alive:
                process.start()
                process.send(self._kept())
                asked = False
            if not asked:
                process.send(["play", [list(play) for play in plays[len(done) :]]])
                asked = True
            patience = self.seconds * PATIENCE
            try:
                done.append(received(process.receive(min(left, patience))))
            except Gone as gone:
                if left < patience and SILENT in str(gone):
                    break  # the limit of all runs cut it short, not its own
                done.append(Outcome(str(gone), (), np.zeros(0), failed=True))
        return done

    def close(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.kill()

    def __enter__(self) -> Self:
        """Return the crew, for a `with` that closes it."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes."""
        self.close()
