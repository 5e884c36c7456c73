"""Finds numbers that code builds from constants at run time: bin edges, borders, lists of codes.

Two runs on unrelated data are watched: the numbers in the variables of the subject's own functions, and those
that meet the data in arithmetic, comparisons and look-ups.  What both runs have, and no data, is a constant.
"""

import contextlib
import sys
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np

from audits.datasets.bases import dataset
from audits.sandbox import fork
from audits.subjects.code_constants import Landmarks, landmarks, numbers_in
from audits.subjects.sources import modules_of
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.relation import adjacency
from mechanisms.subject import Rows, Subject
from mechanisms.subject.isolation import fresh
from mechanisms.table.user_level import named

FRAMES = 2000  #: of which the variables are read
MAX_ARRAY_NUMBERS = 4096  #: numbers of one array or list
CELLS_PER_CALL = 3  #: of data, that take as long as a call


class Meeting(np.ndarray[Any, np.dtype[np.float64]]):
    """An array that records its operands; `notes` are shared by all arrays derived from it."""

    notes: set[float] = set()  # noqa: RUF012  # replaced for each run

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        return _meet(getattr(ufunc, method), inputs, more)

    def __array_function__(self, function: Any, types: Any, given: Any, more: Any) -> Any:
        return _meet(function, given, more)


def _meet(call: Any, given: Any, more: Any) -> Any:
    _note([*given, *more.values()])
    result = call(*map(_plain, given), **{name: _plain(value) for name, value in more.items()})
    return result.view(Meeting) if type(result) is np.ndarray else result


def _plain(value: Any) -> Any:
    if isinstance(value, Meeting):
        return value.view(np.ndarray)
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value


def _note(values: list[Any]) -> None:
    for value in values:
        if isinstance(value, tuple | list):
            _note(list(value[:MAX_ARRAY_NUMBERS]))
        elif not isinstance(value, Meeting):
            Meeting.notes.update(
                numbers_in(value.ravel()[:MAX_ARRAY_NUMBERS] if isinstance(value, np.ndarray) else value)
            )


def observed(subject: Subject, proved: Proved, seed: int) -> Landmarks:
    """Return the numbers that code asks for, those that it builds, and how much work a run is."""
    domain, notes, work = subject.domain(), list[set[float]](), 0
    fewer = -(-domain.rows // 2) if adjacency(subject.relation).rows_vary else domain.rows
    for number, rows in enumerate((domain.rows, fewer)):
        data = dataset(replace(domain, rows=rows), "uniform", seed + number)
        calls, noted = 0, []
        with contextlib.suppress(fork.NoAnswer):
            calls, noted = fork.in_fork(partial(_watched, subject, proved, data, seed))
        notes.append(set(noted) - set(data.ravel().tolist()))
        work = max(work, calls + data.size // CELLS_PER_CALL)
    work = 1 << work.bit_length()  # coarse: what it leads to is the same on every machine
    return landmarks(subject, notes[0] & notes[1], work)


def _watched(subject: Subject, proved: Proved, data: Rows, coins: int) -> list[Any]:
    """Return the calls of a run after loading, and the numbers another combines with data."""
    own, calls, frames = {str(file) for file in _files(subject)}, count(), count()

    def tally(*_: object) -> None:
        next(calls)

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "return" and frame.f_code.co_filename in own and next(frames) < FRAMES:
            _note(list(frame.f_locals.values()))

    Meeting.notes = set()
    for profile, given in ((None, data), (tally, data), (watch, data.view(Meeting))):
        with contextlib.suppress(Exception, SystemExit):
            inner = rehearse(proved, Rehearsal(coins))
            noise: Any = SimpleNamespace(
                noisy=lambda key, part, exact: inner.noisy(key, part, np.asarray(exact)),  # noqa: B023
                noisy_symmetric=lambda key, part, exact: inner.noisy_symmetric(key, part, np.asarray(exact)),  # noqa: B023
            )
            sys.setprofile(profile)
            try:
                fresh(subject).play(given.copy(), noise, coins)
            finally:
                sys.setprofile(None)
    return [next(calls), sorted(Meeting.notes)]


def _files(subject: Subject) -> list[Path]:
    try:
        return modules_of(type(named(subject)))
    except InputError:  # a class that was typed in
        return []
