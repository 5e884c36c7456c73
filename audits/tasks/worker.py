"""A process for code that this program did not write: started, fed and killed by `audits.isolation`.

Requests come on standard input and answers go to standard output, each a MessagePack document after
its length.  The code that is run sees neither: its input is empty, its output goes elsewhere.
"""

import contextlib
import importlib
import os
import queue
import random
import resource
import struct
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from audits.evidence.closed import close
from audits.sandbox.outcomes import Outcome, of_error, of_value

LENGTH = struct.Struct("<I")
_encode = msgspec.msgpack.Encoder().encode


def read_frame(stream: IO[bytes]) -> Any:
    """Return the next document; raises `EOFError` at the end of the stream."""
    head = stream.read(LENGTH.size)
    body = stream.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else b""
    if len(head) < LENGTH.size or len(body) < LENGTH.unpack(head)[0]:
        raise EOFError
    return msgspec.msgpack.decode(body)


def write_frame(stream: IO[bytes], document: object) -> None:
    """Write one document and flush, so that nothing is lost if the next run kills the process."""
    body = _encode(document)
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def packed(data: NDArray[Any]) -> list[object]:
    """Return a dataset as it travels: type, shape, bytes."""
    return [str(data.dtype), list(data.shape), data.tobytes()]


def unpacked(parts: list[Any]) -> NDArray[Any]:
    """Return a dataset that travelled."""
    return np.frombuffer(parts[2], dtype=np.dtype(parts[0])).reshape(parts[1]).copy()


def import_subject(use: str, folders: list[str]) -> Any:
    """Import ``package.module:name`` with `folders` at the end of the path, and only meanwhile."""
    module_name, _, attribute = use.partition(":")
    sys.path.extend(folders)
    try:
        return getattr(importlib.import_module(module_name), attribute)
    finally:
        for folder in folders:
            with contextlib.suppress(ValueError):
                sys.path.remove(folder)


def same_file(module_name: str, file: str | None) -> None:
    """Raise `ImportError` where the module that was imported is not the one of `file`."""
    got = getattr(sys.modules[module_name], "__file__", None)
    if file is None or (got is not None and Path(got).samefile(file)):
        return
    raise ImportError(f"{file} is hidden by {got or 'a built-in module'} of the same name; rename the file")


def limit_memory(most: int) -> None:
    """Let allocations beyond `most` bytes of address space fail with MemoryError."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))


def played(function: Callable[..., Any], data: NDArray[Any], seed: list[int] | None) -> Outcome:
    """Run once on a copy of the dataset; with a seed the function gets a generator, else the data alone.

    The global generators are seeded as well, so that code that uses them repeats itself too.
    """
    given = data.copy()
    try:
        if seed is None:
            value = function(given)
        else:
            mixed = np.random.SeedSequence(seed)
            number = int(mixed.generate_state(1)[0])
            random.seed(number)
            np.random.seed(number)  # noqa: NPY002  # for code that draws from the old global generator
            value = function(given, np.random.default_rng(mixed))
        outcome = of_value(value)
    except BaseException as error:  # whatever it raises is what it did
        outcome = of_error(error)
    changed = given.shape != data.shape or given.tobytes() != data.tobytes()
    return replace(outcome, mutated=True) if changed else outcome


def sent(outcome: Outcome) -> list[object]:
    """Return an outcome as it travels."""
    flags = int(outcome.failed) + 2 * int(outcome.mutated) + 4 * int(outcome.opaque)
    return [outcome.structure, outcome.labels, outcome.numbers.tobytes(), flags]


class Worker:
    """Holds the imported subject and the datasets of the moment."""

    def __init__(self, answers: IO[bytes]) -> None:
        self.answers = answers
        self.subject: Any = None
        self.datasets: list[NDArray[Any]] = []

    def close(self, path: str) -> None:
        """Keep a file from what is loaded next."""
        close(path)

    def load(self, use: str, folders: list[str], memory: int, file: str | None = None) -> None:
        """Import the subject under the memory limit; say what it is, or why it cannot be used."""
        limit_memory(memory)
        try:
            self.subject = import_subject(use, folders)
            same_file(use.partition(":")[0], file)
        except BaseException as error:  # a module may raise anything, SystemExit too
            write_frame(self.answers, ["failed", f"{type(error).__name__}: {error}"])
            return
        kind = "function" if callable(self.subject) else type(self.subject).__name__
        if isinstance(self.subject, type):
            ours = hasattr(self.subject, "proof") and hasattr(self.subject, "play")
            kind = "class" if ours else "another class"
        write_frame(self.answers, ["loaded", kind])

    def keep(self, datasets: list[list[Any]]) -> None:
        """Keep datasets for the runs to come."""
        self.datasets = [unpacked(each) for each in datasets]

    def play(self, plays: list[list[int]]) -> None:
        """Run once for every (dataset, seed…), answering each before the next; no seed: a query."""
        for which, *seed in plays:
            write_frame(
                self.answers, sent(played(self.subject, self.datasets[which], seed if seed else None))
            )

    def prove(self, norm: str, bound: str, shape: dict[str, Any], seconds: float) -> None:
        """Search for a proof of a query's sensitivity; see `audits.branch_and_bound`."""
        from audits.datasets.shape import Shape
        from audits.sensitivity.branch_and_bound import prove

        silence()
        data = Shape(**{**shape, "low": tuple(shape["low"]), "high": tuple(shape["high"])})
        found = prove(self.subject, data, norm, Fraction(bound), seconds=seconds)
        pair = [None if side is None else packed(side) for side in (found.left, found.right)]
        write_frame(self.answers, [found.status, found.lower, found.upper, found.boxes, found.why, *pair])

    def task(self, document: bytes) -> None:
        """Do a whole task on a class of the user's own; see `audits.own_class`."""
        from audits.tasks.in_worker import perform

        silence()
        write_frame(self.answers, ["progress", "proof"])  # from here on the code runs, not the imports
        try:
            perform(self.subject, document, lambda answer: write_frame(self.answers, answer))
        except BaseException as error:  # of the user's code; what is ours is a DpaccountError
            said = f"{self.subject.__name__} {of_error(error).shown_as_failure()}; mend it"
            write_frame(self.answers, ["error", 2, said])


def main() -> None:
    """Serve requests until the parent closes the pipe; then end at once, whatever is running."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    waiting: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()

    def receive() -> None:
        with contextlib.suppress(EOFError):
            while True:
                waiting.put(read_frame(requests))
        os._exit(0)

    threading.Thread(target=receive, daemon=True).start()
    worker = Worker(answers)
    while True:
        name, *given = waiting.get()
        if name == "play" and worker.datasets:
            silence()
        getattr(worker, name)(*given)  # close, load, keep, play, prove or task


_SILENT: list[int] = []


def silence() -> None:
    """Send what thousands of runs print nowhere; what the import printed went to standard error."""
    if not _SILENT:
        sys.stdout.flush()
        _SILENT.append(os.open(os.devnull, os.O_WRONLY))
        os.dup2(_SILENT[0], 1)


if __name__ == "__main__":
    main()
