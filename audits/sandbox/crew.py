"""Worker processes for untrusted code, with time limits and a memory limit.

Time in which a process waits for a processor is not counted where the system tells it (Linux): on a busy
machine code gets as far as on an idle one, only later.  Sleeping and waiting for anything else counts.

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
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from audits.datasets.forms import Layout
from audits.sandbox.outcomes import (
    LENGTH,
    MAX_NUMBERS,
    SILENT,
    WRONG_CODE,
    Ending,
    Outcome,
    pack_array,
    unpack_outcome,
    write_frame,
)
from audits.subjects.code import Code
from audits.subjects.marks import NOT_RECORDED, Marks
from dpaccount.errors import POSIX_ONLY, InputError

MEMORY = 4 * 2**30  #: bytes of address space of one process
PATIENCE = 0.1  #: fraction of the time limit that a single run may take
IMPORT = 60.0  #: time limit of the import in seconds
#: limits libraries to one thread: the stacks of one per core would exhaust the address space
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
CHUNK = 500  #: runs that one process does before it takes the next batch
SOON = 0.05  #: seconds after which it is asked how long a process waited for a processor
PIPE = 2**15  #: bytes of answers that a process can write before it must wait for them to be read
LEAST_PAUSE, MOST_PAUSE = 1e-4, 5e-3  #: seconds in which answers of fast runs are left to gather
BATCH = 1.0  #: target seconds per batch, so that slow runs are spread over all processes

WORKER = "import dpaccount_packages; dpaccount_packages.run('audits.api.worker')"  #: what a process runs

#: how wide results are reduced: not at all; () without knowledge of the pair of datasets; or by a survey of
#: the pair, with a seed and this many runs a side (`audits.scores.sketch`)
Survey = tuple[int, ...] | None
Play = tuple[int, ...]  #: one run: index of the dataset, then the seed's words (none for a query)


class TimeUp(Exception):  # noqa: N818
    """The time limit is spent."""


class Gone(Exception):  # noqa: N818
    """The process died or was killed; the text describes how."""


def waited(pid: int | str) -> float:
    """Return the seconds in which a process could run and had no processor; 0 if the system does not tell."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


class Process:
    """One worker process; `start` imports the code, `kill` ends the process and its children."""

    def __init__(self, code: Code, memory: int = MEMORY) -> None:
        self.code, self.memory = code, memory
        self.kind = ""
        self._waited = 0.0  #: by processes that ended
        self._popen: subprocess.Popen[bytes] | None = None
        self._buffer = bytearray()
        self._since = self._pause = 0.0  #: when answers came last; seconds until most of the others are there
        self._folder: TemporaryDirectory[str] | None = None  #: of a program's data files

    def start(self) -> str:
        """Start and import; return ``function``, ``class`` or another type's name.

        Raises `InputError` if that fails.
        """
        if not hasattr(os, "fork"):  # nor can `select` wait for a pipe there
            raise InputError(POSIX_ONLY.format("processes"))
        threads = dict.fromkeys(THREADS, "1")
        self._popen = subprocess.Popen(
            [sys.executable, "-P", "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # so that its children can be killed with it
            # one order of sets of texts in every run: what is tested is what is released
            env={**os.environ, **threads, "PYTHONHASHSEED": "0"},
        )
        self._buffer.clear()
        folder = ""
        if self.code.command is not None:
            self._folder = TemporaryDirectory(prefix="dpaccount-")
            folder = self._folder.name
        by_name = self.code.value is None and not self.code.elsewhere
        file = self.code.meant() if by_name else None
        self.send(["load", self.code, file, folder, self.memory])
        try:
            answer, text = self.receive(IMPORT)
        except Gone as gone:
            answer, text = "failed", self.code.failed(gone)
        if answer == "failed":
            self.kill()
            raise InputError(text)
        self.kind = text
        return self.kind

    def send(self, request: Sequence[object]) -> None:
        """Send a request; `receive` reports a process that has died."""
        self._since, self._pause = time.monotonic(), 0.0
        if self._popen is not None and self._popen.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                write_frame(self._popen.stdin, request)

    def receive(self, seconds: float) -> Any:
        """Return the next answer; raises `Gone` if none comes in time or the process ends."""
        return self.receive_some(seconds, 1)[0]

    def receive_some(self, seconds: float, most: int) -> list[Any]:
        """Return the answers that have come, at least one of the `most` that will; see `receive`."""
        child, until, before = self._popen, time.monotonic() + seconds, None
        if child is None or child.stdout is None:
            raise Gone("not started")
        pipe = child.stdout.fileno()
        if self._pause > LEAST_PAUSE:
            time.sleep(min(self._pause, seconds))
        while not (documents := self._whole(most)):
            # Waiting for a processor is looked up only where an answer is late: that costs as much as a run.
            left = until - time.monotonic() + (0.0 if before is None else self.waited - before)
            if left > 0 and not select.select([pipe], [], [], min(left, SOON) if before is None else left)[0]:
                before = self.waited if before is None else before
                continue
            if left <= 0:
                self.kill()
                raise Gone(f"gives {SILENT} within {seconds:.3g} seconds")
            piece = os.read(pipe, 1 << 16)
            if not piece:
                code = child.wait()
                self.kill()
                how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
                raise Gone(f"ends its process {how}")
            self._buffer += piece
        return documents

    def _whole(self, most: int) -> list[Any]:
        """Return the answers that have come whole; see when most of those that are left will be there."""
        end, documents = 0, list[Any]()
        while len(documents) < most and len(self._buffer) >= (begin := end + LENGTH.size):
            if len(self._buffer) < (after := begin + LENGTH.unpack_from(self._buffer, end)[0]):
                break
            documents.append(msgspec.msgpack.decode(self._buffer[begin:after]))
            end = after
        del self._buffer[:end]
        if documents:
            # Woken by each answer, two processes take longer over that than over fast runs.
            now = time.monotonic()
            left = min(most - len(documents), PIPE * len(documents) / end)
            self._pause, self._since = min((now - self._since) / len(documents) * left, MOST_PAUSE), now
        return documents

    def kill(self) -> None:
        """End the process and all of its session."""
        self._waited = self.waited
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
    def waited(self) -> float:
        """Return the seconds in which it had no processor."""
        return self._waited + (0.0 if self._popen is None else waited(self._popen.pid))

    @property
    def alive(self) -> bool:
        """Return whether the process was started and not killed."""
        return self._popen is not None


@dataclass
class Tally:
    """Counts of a crew's runs: all, those without a result (`void`) or an answer, and failures by kind."""

    runs: int = 0
    void: int = 0
    silent: int = 0
    widest: int = 0  #: numbers in the result that has most of them
    held: int = 0  #: the same, but features where results are reduced
    first: str = ""  #: the first run as a failure, in words
    opaque: str = ""  #: the first result with a member that cannot be read
    failures: dict[str, list[Any]] = field(default_factory=dict)  #: by kind: count, first one in words

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Count further runs."""
        self.runs += len(outcomes)
        self.void += sum([outcome.void for outcome in outcomes])
        self.widest = max([self.widest, *[outcome.width for outcome in outcomes]])
        self.held = max([self.held, *[len(outcome.numbers) for outcome in outcomes]])
        self.first = self.first or next((outcome.shown_as_failure() for outcome in outcomes), "")
        value = Ending.VALUE
        for outcome in outcomes:
            if outcome.ending is value:
                continue
            self.silent += outcome.silent
            if outcome.failed:
                self.failures.setdefault(outcome.structure, [0, outcome.shown_as_failure()])[0] += 1
            else:
                self.opaque = self.opaque or outcome.shown_as_failure()

    def failure_counts(self) -> list[str]:
        """Return a sentence on each kind of failure, the most frequent first."""
        kinds = sorted(self.failures.values(), key=lambda kind: -kind[0])
        return [f"{count:,} of {self.runs:,} runs {_plural(what)}" for count, what in kinds]

    @property
    def empty(self) -> bool:
        """Return whether no run gave anything to compare, although some ended."""
        return self.void == self.runs > self.silent


def _plural(did: str) -> str:
    """Turn a verb phrase into the plural: raises, exits, gives no answer, ends its process."""
    return re.sub(r"^(\w+)s\b", r"\1", did).replace("end its", "end their", 1)


def at_once(jobs: int) -> int:
    """Return how many of `jobs` processes can run at the same time."""
    return min(max(jobs, 1), os.cpu_count() or 1)


#: a finding on code that gives every dataset one result, and in a new process another one
KEEPS = "the code keeps its first result: a new process gives another one, and then that for every dataset"


class Crew:
    """A pool of `jobs` processes with the same code; the outcomes do not depend on their number.

    All runs together may take `seconds` from the creation of the crew, a single run a tenth of that.
    """

    hurried: bool = False  #: whether the time limit reduced the work, which an attack reports
    layout: Layout | None = None  #: converts a dataset to the function's argument; None: no conversion
    survey: Survey = None  #: how wide results are reduced from the next `set_datasets` on

    def __init__(self, code: Code, *, seconds: float, jobs: int = 1) -> None:
        self.code, self.seconds, self.jobs = code, seconds, max(jobs, 1)
        self.tally = Tally()
        self._processes = [Process(code) for _ in range(self.jobs)]
        self._datasets: list[list[object]] = []
        self._chunk_size = CHUNK
        self.kind = self.first.start()
        self._limit(seconds)

    def _limit(self, seconds: float) -> None:
        """Let this many seconds be left."""
        self._delay = self._delayed()
        self._until = time.monotonic() - self._delay + seconds

    def allow(self, seconds: float) -> None:
        """Allow all runs together this much more time."""
        self._until += seconds

    def _delayed(self) -> float:
        """Return the seconds in which this process or, on average, its workers had no processor."""
        return waited("self") + sum(process.waited for process in self._processes) / max(self.jobs, 1)

    @property
    def first(self) -> Process:
        """Return the first process, which is always started."""
        return self._processes[0]

    @property
    def processes(self) -> int:
        """Return the number of concurrent runs."""
        return at_once(self.jobs)

    def seconds_left(self) -> float:
        """Return the seconds that are left of the limit."""
        self._delay = self._delayed()
        return self._seconds_left()

    def _seconds_left(self) -> float:
        """Return the same, or less: delays are asked for anew only where time seems to be up."""
        if (left := self._until + self._delay - time.monotonic()) > 0:
            return left
        self._delay = self._delayed()
        return self._until + self._delay - time.monotonic()

    def set_datasets(self, datasets: Sequence[NDArray[Any]]) -> None:
        """Send the datasets that plays refer to by index."""
        self._datasets = [pack_array(data) for data in datasets]
        for process in self._processes:
            if process.alive:
                process.send(["keep", self._datasets, self.layout, self.survey])

    def run(self, plays: Sequence[Play]) -> list[Outcome]:
        """Return the outcome of every run, in order.  Raises `TimeUp` if the time limit is reached."""
        outcomes = self.run_in_time(plays)
        if len(outcomes) < len(plays):
            raise TimeUp
        return outcomes

    def run_afresh(self, plays: Sequence[Play]) -> list[Outcome]:
        """Return the outcome of every run, each the first one of a new process."""
        outcomes: list[Outcome] = []
        for play in plays:
            self.first.kill()
            outcomes += self.run([play])
        return outcomes

    def run_in_time(self, plays: Sequence[Play]) -> list[Outcome]:
        """Return the outcomes of the first runs, in order: as many as the time limit allows."""
        outcomes = self._run_plays(plays)
        for outcome in outcomes[:1] + outcomes[-1:]:
            if outcome.structure.startswith(WRONG_CODE):
                raise InputError(outcome.structure.removeprefix(WRONG_CODE).strip())
        self.tally.add(outcomes)
        if self.tally.opaque and not self.tally.empty:
            raise InputError(
                f"{self.code.use} {self.tally.opaque} (one of {self.tally.runs} runs), whose content cannot"
                " be compared",
                f"return numbers or text, at most {MAX_NUMBERS:,} of them",
            )
        return outcomes

    def unmet(self, relation: str) -> list[str]:
        """Return, in sentences, which lines of the code's own files no run met; or that none was marked."""
        answers = list[Any]()
        for process in self._processes:
            process.send(["unmet", relation])
            with contextlib.suppress(Gone):
                answers.append(process.receive(IMPORT))
        marks, met = Marks(), [each for each in answers if each]
        if not met or self.code.use.startswith("audits."):  # ours
            return [NOT_RECORDED] if not self.code.use.startswith("audits.") else []
        marks.never = met[0][1]
        return marks.in_words(each for each in met[0][0] if all(each in other for other, _ in met))

    def _run_plays(self, plays: Sequence[Play]) -> list[Outcome]:
        """Run without checking the outcomes; return as many as the time limit allows."""
        size, begun = self._chunk_size, self._seconds_left()
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
        pace = max(begun - self._seconds_left(), 1e-9) / max(len(outcomes), 1)
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
        """Return the outcomes of runs in one process; fewer if the time limit is reached."""
        done: list[Outcome] = []
        asked = False
        while len(done) < len(plays):
            left = self._seconds_left()
            if left <= 0:
                process.kill()  # it would still send answers
                break
            if not process.alive:
                process.start()
                process.send(["keep", self._datasets, self.layout, self.survey])
                asked = False
            if not asked:
                process.send(["play", [list(play) for play in plays[len(done) :]]])
                asked = True
            patience = self.seconds * PATIENCE
            try:
                answers = process.receive_some(min(left, patience), len(plays) - len(done))
                done += map(unpack_outcome, answers)
            except Gone as gone:
                if left < patience and SILENT in str(gone):
                    break  # the limit of all runs ended it, not its own
                done.append(Outcome(str(gone), (), np.zeros(0), Ending.FAILED))
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
