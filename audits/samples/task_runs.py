"""Runs of a function of one's own as tasks: they are kept, or come from other processes and machines.

Each task runs in the same kind of process as without.  What would depend on a machine's speed ends the
command: a run that gives no answer in time, and one that the system killed.  There is no limit of all runs.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from audits.attack.runs import Progress, progress_counter
from audits.datasets.forms import Layout
from audits.sandbox.crew import Crew, Play, Survey
from audits.sandbox.outcomes import Outcome, pack_outcome, unpack_outcome
from audits.subjects.code import Code
from dpaccount.errors import InputError
from dpaccount.work.run import Floats, Series, run
from dpaccount.work.workers import workers

SIZE = 25  #: runs of one task: of slow code, what an interruption loses
REPORTED_FROM = 1000  #: runs from which progress is reported
#: what a run may come to that does not come of its seed alone
OF_THE_MACHINE = ("raises MemoryError", "ends its process by signal SIGKILL")
UNLIMITED = 1e9  #: seconds that are left at any time


class UnhurriedCrew(Crew):
    """A process whose runs together have no limit."""

    def _seconds_left(self) -> float:
        return UNLIMITED

    def _run_plays(self, plays: Sequence[Play]) -> list[Outcome]:
        return self._chunk(self.first, plays)


@dataclass(frozen=True)
class SandboxedRuns:
    """Some runs of code that travels, on datasets; a single one may take a tenth of `seconds`."""

    code: Code
    seconds: float
    datasets: tuple[NDArray[Any], ...]
    layout: Layout | None
    plays: tuple[Play, ...]
    survey: Survey = None

    def __call__(self, runs: range) -> Floats:
        """Return the outcomes of some of the runs, a row for each: its length, then its words of 32 bits."""
        crew = _crew_of(self.code, self.seconds)
        crew.layout = self.layout
        crew.survey = self.survey
        crew.set_datasets(self.datasets)
        answers = []
        for k in runs:  # one by one: the first that hangs ends all
            [outcome] = crew.run_in_time([self.plays[k]])
            # No score: stored, the machine's failure would count as the code's wherever work is resumed.
            if outcome.silent or (outcome.failed and outcome.structure in OF_THE_MACHINE):
                what = f"a run of {self.code.use} {outcome.structure}, which may be the machine's doing"
                raise InputError(what, "allow more --seconds or memory, or leave out --store and --backend")
            answers.append(msgspec.msgpack.encode(pack_outcome(outcome)))
        return _rows(answers)


_HERE = threading.local()  #: of each thread of a worker, the crew that it used last


def _crew_of(code: Code, seconds: float) -> UnhurriedCrew:
    crew: UnhurriedCrew | None = getattr(_HERE, "crew", None)
    if crew is None or (crew.code, crew.seconds) != (code, seconds):
        _end_crew()
        crew = _HERE.crew = UnhurriedCrew(code, seconds=seconds)
    return crew


def _end_crew() -> None:
    if (crew := _HERE.__dict__.pop("crew", None)) is not None:
        crew.close()


def _rows(answers: Sequence[bytes]) -> Floats:
    width = -(-max(map(len, answers)) // 4)
    words = [np.frombuffer(answer.ljust(4 * width, b"\0"), "<u4") for answer in answers]
    return np.column_stack([[len(answer) for answer in answers], words]).astype(np.float64)


def _outcome(row: Floats) -> Outcome:
    raw = row[1:].astype("<u4").tobytes()[: int(row[0])]
    return unpack_outcome(msgspec.msgpack.decode(raw))


class TaskCrew(UnhurriedCrew):
    """A crew whose runs are tasks; see `dpaccount.work.run`, whose errors they raise."""

    def __init__(self, code: Code, *, seconds: float, jobs: int, progress: Progress) -> None:
        """Import the code here first; raises `InputError` where that fails or it is a class."""
        super().__init__(code, seconds=seconds)
        if self.kind != "function":
            self.close()
            right = "leave out --store and --backend: then it runs here"
            raise InputError(f"{code.use} is a class, and functions f(data, rng) are tasks", right)
        self._jobs, self._progress, self._data = jobs, progress, list[NDArray[Any]]()

    def _imported(self) -> str:
        """Import the code in the process that does this thread's tasks."""
        return _crew_of(self.code, self.seconds).kind

    def close(self) -> None:
        """End the processes of this thread."""
        super().close()
        _end_crew()

    def set_datasets(self, datasets: Sequence[NDArray[Any]]) -> None:
        """Hand the datasets that `run` then refers to by their place."""
        self._data = [np.asarray(data) for data in datasets]

    def _run_plays(self, plays: Sequence[Play]) -> list[Outcome]:
        series = Series(f"audit {self.code.use}", self._runs(plays), range(len(plays)), SIZE, uneven=True)
        tell = (
            progress_counter("runs", len(plays), self._progress)
            if len(plays) >= REPORTED_FROM
            else lambda _: None
        )
        with workers(self._jobs if len(plays) > SIZE else 1):
            [rows] = run([series], tell)
        return [_outcome(row) for row in rows]

    def _runs(self, plays: Sequence[Play]) -> SandboxedRuns:
        """Return runs with the datasets that they use, and no others; a survey uses both of a pair."""
        used = sorted({which for which, *_ in plays} | ({0, 1} if self.survey else set()))
        renamed = tuple((used.index(which), *map(int, seed)) for which, *seed in plays)
        datasets = tuple(self._data[k] for k in used)
        return SandboxedRuns(self.code, self.seconds, datasets, self.layout, renamed, self.survey)
