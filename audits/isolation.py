"""Code of others runs in processes of their own, under a wall limit and a memory limit.

What such code does to its process (an exit, a crash, a hang) reaches this program as an `Outcome`.
"""

import contextlib
import importlib.machinery
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from audits.outcomes import Outcome
from audits.worker import LENGTH, packed, write_frame
from dpaccount.errors import InputError

MEMORY = 4 * 2**30  #: bytes of address space of one process
PATIENCE = 0.1  #: the part of the wall limit that a single run may take
CHUNK = 100  #: runs that one process does before it takes the next batch

Play = tuple[int, ...]  #: which dataset, then the seed words; none: a query, without a generator


class TimeUp(Exception):  # noqa: N818
    """The wall limit is spent."""


class Gone(Exception):  # noqa: N818
    """The process died or was killed; the text says how."""


@dataclass(frozen=True)
class Code:
    """A user's code: ``package.module:name``, found in `folders` (at the end of the path) or installed."""

    use: str
    folders: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return the module's own name with hyphens, as certificates name a subject."""
        return self.use.partition(":")[0].rpartition(".")[2].replace("_", "-")

    def file(self) -> Path | None:
        """Return the file that the import will run, found without importing anything."""
        first, *rest = self.use.partition(":")[0].split(".")
        spec = importlib.machinery.PathFinder.find_spec(first, [*sys.path, *self.folders])
        if spec is None or spec.origin in (None, "built-in", "frozen"):
            return None
        found = Path(str(spec.origin))
        if rest:
            found = found.parent.joinpath(*rest)
            return found / "__init__.py" if found.is_dir() else found.with_suffix(".py")
        return found


def code_of(use: str, folder: Path, *, allow_code: bool) -> Code:
    """Return the code that ``package.module:name`` stands for, having said on standard error that it runs.

    `folder` (the claim's) and the working directory are searched last.  Raises `InputError` where
    the name is malformed or code is not allowed.
    """
    module_name, _, attribute = use.partition(":")
    if not all(part.isidentifier() for part in [*module_name.split("."), attribute]):
        raise InputError(f"{use[:70]!r} is not package.module:name; write such as clinic:noisy_mean")
    if not allow_code:
        raise InputError(f"{use} runs code, and --no-code forbids it; name a catalogued subject")
    code = Code(use, (str(folder.resolve()), str(Path.cwd())))
    file = code.file()
    where = file if file is None or not file.is_relative_to(Path.cwd()) else file.relative_to(Path.cwd())
    sys.stderr.write(f"runs code from {where or module_name}\n")
    return code


class Worker:
    """One process; `start` imports the code, `kill` ends it and all that it started."""

    def __init__(self, code: Code, memory: int = MEMORY) -> None:
        self.code, self.memory = code, memory
        self.kind = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = bytearray()

    def start(self, seconds: float) -> str:
        """Start and import; return ``function`` or ``class``.  Raises `InputError` where that fails."""
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "audits.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # so that what it starts can be killed with it
            env={**os.environ, **threads},
        )
        self._buffer.clear()
        self.send(["load", self.code.use, list(self.code.folders), self.memory])
        try:
            answer, said = self.receive(seconds)
        except Gone as gone:
            answer, said = "failed", str(gone)
        if answer == "failed":
            self.kill()
            raise InputError(f"importing {self.code.use.partition(':')[0]} failed ({said}); mend it")
        self.kind = said
        return self.kind

    def send(self, request: Sequence[object]) -> None:
        """Send a request; a process that is gone is noticed when the answer is awaited."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                write_frame(self._process.stdin, request)

    def receive(self, seconds: float) -> Any:
        """Return the next answer; raises `Gone` if none comes in time or the process ends."""
        process, until = self._process, time.monotonic() + seconds
        if process is None or process.stdout is None:
            raise Gone("not started")
        pipe = process.stdout.fileno()
        while (document := self._taken()) is None:
            left = until - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                self.kill()
                raise Gone(f"gives no answer within {seconds:.3g} seconds")
            piece = os.read(pipe, 1 << 16)
            if not piece:
                code = process.wait()
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
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    @property
    def alive(self) -> bool:
        """Say whether the process was started and not killed."""
        return self._process is not None


class Crew:
    """`jobs` workers with the same code; the outcomes do not depend on how many there are.

    All runs together may take `seconds` from the moment the crew is made, a single one a tenth of that.
    """

    def __init__(self, code: Code, *, seconds: float, jobs: int = 1) -> None:
        self.code, self.seconds, self.jobs = code, seconds, max(jobs, 1)
        self._workers = [Worker(code) for _ in range(self.jobs)]
        self._datasets: list[list[object]] = []
        self.kind = self._workers[0].start(seconds)
        self._until = time.monotonic() + seconds

    @property
    def first(self) -> Worker:
        """Return the worker that is always there."""
        return self._workers[0]

    def left(self) -> float:
        """Return the seconds that are left of the wall limit."""
        return self._until - time.monotonic()

    def keep(self, datasets: Sequence[NDArray[Any]]) -> None:
        """Hand the datasets that `run` then refers to by their place."""
        self._datasets = [packed(data) for data in datasets]
        for worker in self._workers:
            if worker.alive:
                worker.send(["keep", self._datasets])

    def run(self, plays: Sequence[Play]) -> list[Outcome]:
        """Return the outcome of every run, in order.  Raises `TimeUp` when the wall limit is spent."""
        chunks = [plays[i : i + CHUNK] for i in range(0, len(plays), CHUNK)]
        if len(self._workers) == 1 or len(chunks) == 1:
            found = [self._chunk(self._workers[0], chunk) for chunk in chunks]
        else:
            idle: SimpleQueue[Worker] = SimpleQueue()
            for worker in self._workers:
                idle.put(worker)

            def one(chunk: Sequence[Play]) -> list[Outcome]:
                worker = idle.get()
                try:
                    return self._chunk(worker, chunk)
                finally:
                    idle.put(worker)

            with ThreadPoolExecutor(len(self._workers)) as pool:
                found = list(pool.map(one, chunks))
        return [outcome for part in found for outcome in part]

    def _chunk(self, worker: Worker, plays: Sequence[Play]) -> list[Outcome]:
        done: list[Outcome] = []
        asked = False
        while len(done) < len(plays):
            left = self.left()
            if left <= 0:
                worker.kill()  # answers may still be on their way
                raise TimeUp
            if not worker.alive:
                worker.start(max(left, 1.0))
                worker.send(["keep", self._datasets])
                asked = False
            if not asked:
                worker.send(["play", [list(play) for play in plays[len(done) :]]])
                asked = True
            try:
                done.append(received(worker.receive(min(left, self.seconds * PATIENCE))))
            except Gone as gone:
                done.append(Outcome(str(gone), (), np.zeros(0), failed=True))
        return done

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.kill()

    def __enter__(self) -> "Crew":
        """Return the crew, for a `with` that closes it."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes."""
        self.close()


def received(answer: list[Any]) -> Outcome:
    """Return an outcome that travelled."""
    structure, labels, numbers, flags = answer
    return Outcome(
        structure, tuple(labels), np.frombuffer(numbers), failed=bool(flags & 1), mutated=bool(flags & 2)
    )
