"""Finds numbers that code computes from constants at run time: bin edges, boundaries, lists of codes.

Two runs on unrelated data are observed: the numbers in local variables of the subject's functions, and the
operands that are combined with the data.  A number that both runs have and the data do not is a constant.
"""

import contextlib
import sys
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from types import FrameType
from typing import Any

import numpy as np

from audits.datasets.bases import dataset
from audits.sandbox import fork
from audits.subjects.code_constants import Landmarks, files_of, landmarks, numbers_in
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import Noise, rehearse
from dpaccount.noise.samplers import Integers, Rehearsal
from dpaccount.relation import adjacency
from mechanisms.subject import Rows, Subject
from mechanisms.subject.isolation import fresh

FRAMES = 2000  #: maximum number of calls whose variables are read
MAX_ARRAY_NUMBERS = 4096  #: numbers of one array or list
CELLS_PER_CALL = 3  #: cells of data that take about as long as a call


class RecordingArray(np.ndarray[Any, np.dtype[np.float64]]):
    """An array that records its operands; `notes` are shared by all arrays derived from it."""

    notes: set[float] = set()  # noqa: RUF012  # replaced for each run

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        return _record_operands(getattr(ufunc, method), inputs, more)

    def __array_function__(self, function: Any, types: Any, given: Any, more: Any) -> Any:
        return _record_operands(function, given, more)


@dataclass
class _OfPlainArrays(Noise):
    """Noise whose answers record nothing."""

    inner: Noise

    def _answer(self, how: str, key: str, part: Hashable, values: Integers) -> Integers:
        found: Integers = getattr(self.inner, how)(key, part, np.asarray(values))
        return found


def _record_operands(call: Any, given: Any, more: Any) -> Any:
    _collect([*given, *more.values()])
    result = call(*map(_plain, given), **{name: _plain(value) for name, value in more.items()})
    return result.view(RecordingArray) if type(result) is np.ndarray else result


def _plain(value: Any) -> Any:
    if isinstance(value, RecordingArray):
        return value.view(np.ndarray)
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value


def _collect(values: list[Any]) -> None:
    for value in values:
        if isinstance(value, tuple | list):
            _collect(list(value[:MAX_ARRAY_NUMBERS]))
        elif not isinstance(value, RecordingArray):
            RecordingArray.notes.update(
                numbers_in(value.ravel()[:MAX_ARRAY_NUMBERS] if isinstance(value, np.ndarray) else value)
            )


def observed_landmarks(subject: Subject, proved: Proved, seed: int) -> Landmarks:
    """Return the numbers in the source code, those that a run computes, and the work of a run."""
    domain, notes, work = subject.domain(), list[set[float]](), 0
    fewer = -(-domain.rows // 2) if adjacency(subject.relation).rows_vary else domain.rows
    for number, rows in enumerate((domain.rows, fewer)):
        data = dataset(replace(domain, rows=rows), "uniform", seed + number)
        calls, noted = 0, []
        with contextlib.suppress(fork.NoAnswer):
            calls, noted = fork.in_fork(partial(_watched, subject, proved, data, seed))
        notes.append(set(noted) - set(data.ravel().tolist()))
        work = max(work, calls + data.size // CELLS_PER_CALL)
    work = 1 << work.bit_length()  # a power of two, so that small differences between machines do not matter
    return landmarks(subject, notes[0] & notes[1], work)


def _watched(subject: Subject, proved: Proved, data: Rows, coins: int) -> list[Any]:
    """Return the number of calls of a second run, and the numbers that a third one combines with data."""
    own, calls, frames = {str(file) for file in files_of(subject)}, count(), count()

    def tally(*_: object) -> None:
        next(calls)

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "return" and frame.f_code.co_filename in own and next(frames) < FRAMES:
            _collect(list(frame.f_locals.values()))

    RecordingArray.notes = set()
    # The first run imports and fills caches, whose calls would count as work of every run.
    for profile, given in ((None, data), (tally, data), (watch, data.view(RecordingArray))):
        with contextlib.suppress(Exception, SystemExit):
            noise = _OfPlainArrays(rehearse(proved, Rehearsal(coins)))
            sys.setprofile(profile)
            try:
                fresh(subject).play(given.copy(), noise, coins)
            finally:
                sys.setprofile(None)
    return [next(calls), sorted(RecordingArray.notes)]
