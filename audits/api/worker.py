"""Worker process for untrusted code: started, fed and killed by `audits.sandbox.crew`.

It is the top of the import graph; nothing imports it.  Requests arrive on standard input and
answers go to standard output, each a length-prefixed MessagePack document.  The user's code sees
neither: its input is empty, its output is redirected.
"""

import contextlib
import importlib
import os
import pickle
import queue
import resource
import sys
import threading
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import numpy as np
from msgspec import convert

from audits.datasets.forms import Given, Layout
from audits.sandbox.data_guard import guard
from audits.sandbox.foreign import OtherPython, Program
from audits.sandbox.outcomes import (
    ALIGNED,
    WRONG_CODE,
    Ending,
    Outcome,
    of_error,
    pack_array,
    pack_outcome,
    read_frame,
    run_outcome,
    unpack_array,
    write_frame,
)
from audits.scores.sketch import WIDE_NUMBERS, Sketch, surveyed, unguided
from audits.subjects.code import (
    Code,
    check_imports,
    compile_from_source,
    same_file,
    stay_on_path,
)
from audits.subjects.marks import MARKS, public
from dpaccount.errors import InputError

SURVEYS = 1000  #: seeds of a survey begin here
KEPT_SKETCHES = 8


def limit_memory(most: int) -> None:
    """Limit the address space to `most` bytes: larger allocations fail with MemoryError."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))


class Worker:
    """State of the worker: the imported subject and the current datasets."""

    def __init__(self, answers: IO[bytes]) -> None:
        self.answers = answers
        self.subject: Any = None
        self.datasets: list[Given] = []
        self.survey: list[int] | None = None
        self.pair: tuple[Any, ...] = ()  #: the datasets and the survey
        self.sketches: dict[tuple[Any, ...], Sketch] = {}
        self.kept = 0  #: how many times datasets were

    def load(self, document: dict[str, Any], file: str | None, folder: str, memory: int) -> None:
        """Import the code under the memory limit; answer its kind, or why it cannot be used.

        A name must lead to its `file`; what a program reads is written to `folder`.
        """
        code = convert(document, Code)
        try:
            found = self._found(code, file, Path(folder), memory)
        except BaseException as error:  # a module may raise anything, SystemExit too
            ours = isinstance(error, InputError) and code.elsewhere
            why = str(error) if ours else code.failed(f"{type(error).__name__}: {error}")
            write_frame(self.answers, ["failed", why])
            return
        kind = "function" if callable(found) else type(found).__name__
        if isinstance(found, type):
            kind = "class" if hasattr(found, "proof") and hasattr(found, "play") else "another class"
        self.subject = found
        write_frame(self.answers, ["loaded", kind])

    def _found(self, code: Code, file: str | None, folder: Path, memory: int) -> Any:
        """Return what the name, the value, or the program is."""
        if code.guarded is not None:
            guard(code.guarded)
        if code.command is not None:
            return Program(code.command, folder)
        if code.python is not None:
            return OtherPython(code.python, code.use, list(code.folders))
        limit_memory(memory)
        if code.value is not None:
            stay_on_path(code.folders)
            return pickle.loads(code.value)  # noqa: S301  # made by the process that started this one
        compile_from_source(code.folders)
        stay_on_path(code.folders)
        found = getattr(importlib.import_module(code.module), code.use.partition(":")[2])
        same_file(code.module, file)
        return found

    def keep(self, datasets: list[list[Any]], layout: object = None, survey: list[int] | None = None) -> None:
        """Store datasets for later runs, converted by a layout if there is one, and how to reduce results."""
        self.survey, self.kept = survey, self.kept + 1
        self.pair = (*(survey or ()), *((kind, *shape, raw) for kind, shape, raw in datasets if survey))
        dataset = (lambda matrix: matrix) if layout is None else convert(layout, Layout).dataset
        self.datasets = [Given(dataset(unpack_array(each))) for each in datasets]

    def play(self, plays: list[list[int]]) -> None:
        """Run once for every (dataset, seed…), sending each outcome at once; without a seed it is a query."""
        for which, *seed in plays:
            MARKS.taken()
            outcome = run_outcome(self.subject, self.datasets[which], seed if seed else None)
            MARKS.ran((self.kept, which), MARKS.taken())
            if self.survey is not None and len(outcome.numbers) > WIDE_NUMBERS:
                outcome = self._sketch(len(outcome.numbers)).of(outcome)
            try:
                check_imports()
            except InputError as error:  # the code that ran is not the project's
                outcome = Outcome(f"{WRONG_CODE} {error}", (), np.zeros(0), Ending.FAILED)
            write_frame(self.answers, pack_outcome(outcome))

    def unmet(self, relation: str) -> None:
        """Answer which lines no run met, and what authors say of lines; None where nothing was recorded."""
        answer = [MARKS.missed(public(relation)), MARKS.never] if MARKS.seen else None
        write_frame(self.answers, answer)

    def _sketch(self, width: int) -> Sketch:
        """Return how results of this width are reduced; a survey of a pair is made once."""
        if not self.survey:
            return unguided(width)
        if (key := (width, *self.pair)) not in self.sketches:
            seed, runs = self.survey
            while len(self.sketches) >= KEPT_SKETCHES:
                del self.sketches[next(iter(self.sketches))]
            self.sketches[key] = surveyed(
                lambda side, n: run_outcome(self.subject, self.datasets[side], [seed, ALIGNED, SURVEYS + n]),
                runs,
                width,
            )
        return self.sketches[key]

    def trace(self, seed: list[int], again: bool) -> None:  # noqa: FBT001  # as the request has it
        """Record a run on the first dataset, and replay it on the second; see `audits.trace.paired_runs`."""
        from audits.trace.paired_runs import trace_pair

        silence()
        left, right = self.datasets
        write_frame(self.answers, trace_pair(self.subject, left, right, seed, again=again))

    def trace_rows(self, seed: list[int], rows: int) -> None:
        """Replay a run on the first dataset on the others, in which one of its `rows` rows is replaced."""
        from audits.trace.paired_runs import trace_rows

        silence()
        base, *others = self.datasets
        each = len(others) // rows
        parts = [others[k : k + each] for k in range(0, len(others), each)]
        write_frame(self.answers, trace_rows(self.subject, base, parts, seed))

    def prove(self, norm: str, bound: str, shape: object, boxes: int) -> None:
        """Search for a proof of a query's sensitivity; see `audits.sensitivity.branch_and_bound`."""
        from audits.datasets.shape import Shape
        from audits.sensitivity.branch_and_bound import prove

        silence()
        proof = prove(self.subject, convert(shape, Shape), norm, Fraction(bound), boxes=boxes)
        pair = [None if side is None else pack_array(side) for side in (proof.left, proof.right)]
        write_frame(self.answers, [proof.status, proof.lower, proof.upper, proof.boxes, proof.why, *pair])

    def task(self, document: bytes) -> None:
        """Run a whole task on a user's class; see `audits.api.on_subject`."""
        from audits.api.on_subject import perform

        silence()
        write_frame(self.answers, ["progress", "proof"])  # from here on the code runs, not the imports
        try:
            perform(self.subject, document, lambda answer: write_frame(self.answers, answer))
        except BaseException as error:  # raised by the user's code; ours raises DpaccountError
            failure = f"{self.subject.__name__} {of_error(error).shown_as_failure()}; fix it"
            write_frame(self.answers, ["error", 2, failure])


def main() -> None:
    """Serve requests until the parent closes the pipe; then exit at once."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    waiting: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()

    def receive() -> None:
        with contextlib.suppress(EOFError):
            while True:
                waiting.put(read_frame(requests))
        os._exit(0)

    # Requests are read in a thread, so that the process ends with its parent, even within a run.
    threading.Thread(target=receive, daemon=True).start()
    worker = Worker(answers)
    while True:
        name, *given = waiting.get()
        if name == "play" and worker.datasets:
            silence()
        getattr(worker, name)(*given)  # load, keep, play, prove, task, trace, …


_SILENT: list[int] = []


def silence() -> None:
    """Discard the output of the runs; output during the import went to standard error."""
    if not _SILENT:
        sys.stdout.flush()
        _SILENT.append(os.open(os.devnull, os.O_WRONLY))
        os.dup2(_SILENT[0], 1)
