"""Numbers that code builds from constants while it runs: edges of bins, borders, lists of codes.

Two runs on unrelated data are watched: the numbers in the variables of the subject's own functions, and those
that meet the data in arithmetic, comparisons and look-ups.  What both runs have, and no data, is a constant.
"""

import contextlib
import sys
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

from audits.datasets.bases import dataset
from audits.sandbox import fork
from audits.subjects.landmarks import Landmarks, landmarks, numbers_in
from audits.subjects.sources import modules_of
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import Noise, rehearse
from dpaccount.noise.samplers import Integers, Rehearsal
from dpaccount.proof import ADD_REMOVE
from mechanisms.subject import Rows, Subject
from mechanisms.subject.playing import fresh
from mechanisms.table.by_person import named

FRAMES = 2000  #: of which the variables are read
MOST = 4096  #: numbers of one array or list
CELLS = 3  #: of data, that take as long as a call


class Meeting(np.ndarray[Any, np.dtype[np.float64]]):
    """Data that note what they meet; `notes` are shared by all that is made of them."""

    notes: set[float] = set()  # noqa: RUF012  # replaced for each run

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        """Do what plain data would, and note the other operands."""
        _note(self.notes, inputs)
        given = {name: tuple(map(_plain, value)) if name == "out" else value for name, value in more.items()}
        return _noting(getattr(ufunc, method)(*map(_plain, inputs), **given))

    def __array_function__(self, function: Any, types: Any, given: Any, more: Any) -> Any:
        """Do what plain data would, and note what else is given."""
        _note(self.notes, (given, more))
        return _noting(function(*map(_plain, given), **{name: _plain(value) for name, value in more.items()}))


def _plain(value: Any) -> Any:
    if isinstance(value, Meeting):
        return value.view(np.ndarray)
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value


def _noting(value: Any) -> Any:
    return value.view(Meeting) if type(value) is np.ndarray else value


def _note(notes: set[float], value: Any) -> None:
    if isinstance(value, tuple | list):
        for each in value[:MOST]:
            _note(notes, each)
    elif isinstance(value, dict):
        _note(notes, list(value.values()))
    elif not isinstance(value, Meeting):
        notes.update(numbers_in(value[:MOST] if isinstance(value, np.ndarray) and value.ndim else value))


@dataclass(frozen=True)
class _PlainOnly:
    """Noise that is asked with plain arrays."""

    inner: Noise

    def noisy(self, key: str, part: Hashable, values: Integers) -> Integers:
        return self.inner.noisy(key, part, np.asarray(values))

    def noisy_symmetric(self, key: str, part: Hashable, matrix: Integers) -> Integers:
        return self.inner.noisy_symmetric(key, part, np.asarray(matrix))


def observed(subject: Subject, proved: Proved, seed: int) -> Landmarks:
    """Return the numbers that code asks for, those that it builds, and how much work a run is."""
    domain, whole = subject.domain(), subject.relation != ADD_REMOVE
    notes, work = [], 0
    for number, rows in enumerate((domain.rows, domain.rows if whole else -(-domain.rows // 2))):
        data = dataset(replace(domain, rows=rows), "uniform", seed + number)
        try:
            calls, noted = fork.apart(partial(_watched, subject, proved, data, seed))
        except fork.NoAnswer:
            calls, noted = 0, []
        notes.append(set(noted) - set(data.ravel().tolist()))
        work = max(work, calls + data.size // CELLS)
    return landmarks(subject).seen(notes[0] & notes[1], work)


def _watched(subject: Subject, proved: Proved, data: Rows, coins: int) -> list[Any]:
    """Return the calls of a run, once all is loaded, and the numbers of another one that meets its data."""
    try:
        own = {str(file) for file in modules_of(type(named(subject)))}
    except InputError:
        own = set()
    notes: set[float] = set()
    frames = calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal frames
        if event == "return" and frame.f_code.co_filename in own and frames < FRAMES:
            frames += 1
            _note(notes, list(frame.f_locals.values()))

    Meeting.notes = notes
    for profile, given in ((None, data), (count, data), (watch, data.view(Meeting))):
        with contextlib.suppress(Exception, SystemExit):
            noise = _PlainOnly(rehearse(proved, Rehearsal(coins)))
            sys.setprofile(profile)
            try:
                fresh(subject).play(given.copy(), noise, coins)
            finally:
                sys.setprofile(None)
    return [calls, sorted(notes)]
