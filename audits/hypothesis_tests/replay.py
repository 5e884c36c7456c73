"""Records a subject's run, and replays its releases on a neighbouring dataset.

Given the same public coins and releases, a run on a neighbour must show everyone else the same output,
and the private value behind each release may move by the declared sensitivity at most.  Both are observed
on the running code, through the noise source that it is given.
"""

import contextlib
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dpaccount.noise import likelihood
from dpaccount.noise.laws import Law, side_by_side
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, in_range
from mechanisms.subject import Rows, Subject, View
from mechanisms.subject.isolation import identical, kept, plain, reported, watched

Part = tuple[str, Hashable]
NOISY_CELLS = "noisy_cells"


class ReplayError(Exception):
    """The neighbour's run requested a release that the recorded run did not make."""


@dataclass
class Recorder(Noise):
    """A noise source that forwards requests and records their inputs and releases."""

    inner: Noise
    exact: dict[Part, Integers] = field(default_factory=dict)
    released: dict[Part, Integers] = field(default_factory=dict)
    asked_by: dict[Part, str] = field(default_factory=dict)

    def _answer(self, how: str, key: str, part: Hashable, values: Integers) -> Integers:
        exact = in_range(values)
        drawn: Integers = getattr(self.inner, how)(key, part, values)
        self.exact[key, part], self.released[key, part], self.asked_by[key, part] = exact, drawn, how
        return drawn.copy()


@dataclass
class Replayer(Noise):
    """A noise source that answers with the releases of an earlier run, and records its inputs.

    Raises `ReplayError` for a request that the recorded run did not make, or with another shape (the number
    of cells is private and may differ).  `wrong` describes the first one, even if the code catches the error.
    """

    released: dict[Part, Integers]
    asked_by: dict[Part, str]
    exact: dict[Part, Integers] = field(default_factory=dict)
    wrong: str | None = None

    def _answer(self, how: str, key: str, part: Hashable, values: Integers) -> Integers:
        exact = in_range(values)
        recorded = self.released.get((key, part))
        first = int(how == NOISY_CELLS)  # the number of cells is private
        if recorded is None or recorded.shape[first:] != exact.shape[first:]:
            self._refuse(f"the neighbour's run releases {key!r}, part {part!r}, shape {exact.shape}")
        if self.asked_by.get((key, part), how) != how:
            self._refuse(f"the neighbour's run releases {key!r}, part {part!r}, by {how}")
        if (key, part) in self.exact:
            self._refuse(f"the neighbour's run releases {key!r}, part {part!r}, once more")
        self.exact[key, part] = exact
        answer: Integers = self.released[key, part]
        return answer.copy()

    def _refuse(self, wrong: str) -> NoReturn:
        self.wrong = self.wrong or wrong
        raise ReplayError(wrong)


@dataclass(frozen=True)
class Run:
    """One run: the private values, the releases, the output, and side effects.

    `report` is the repr of what a fresh instance reports of the view; None without such a method.
    """

    exact: dict[Part, Integers]
    released: dict[Part, Integers]
    view: View
    asked_by: dict[Part, str] = field(default_factory=dict)
    hidden: dict[str, NDArray[np.generic]] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    changed: bool = False
    printed: bool = False
    report: str | None = None
    marks: frozenset[int] = frozenset()  #: in the code, that it made


def record(subject: Subject, data: Rows, noise: Noise, coins: int) -> Run:
    """Run a subject and record it.  Raises `NotPlain` and what the subject raises."""
    recorder = noise if isinstance(noise, Recorder) else Recorder(noise)
    done = watched(subject, data, recorder, coins)
    return Run(recorder.exact, recorder.released, asked_by=recorder.asked_by, **vars(done))


def replay(subject: Subject, data: Rows, run: Run, coins: int, replayer: Replayer | None = None) -> Run:
    """Run a subject on other data with the releases of `run`; raises `ReplayError` if it requests others.

    A caller's `replayer` of these releases keeps the inputs even if the subject raises.
    """
    replayer = replayer or Replayer(run.released, run.asked_by)
    try:
        done = watched(subject, data, replayer, coins)
    finally:
        if replayer.wrong is not None:  # even if the code caught it
            raise ReplayError(replayer.wrong)
    if replayer.exact.keys() != run.exact.keys():
        missing = next(part for part in run.exact if part not in replayer.exact)
        raise ReplayError(f"the neighbour's run never releases {missing[0]!r}, part {missing[1]!r}")
    return Run(replayer.exact, run.released, asked_by=run.asked_by, **vars(done))


def with_report(subject: Subject, instance: Subject | None, run: Run) -> Run:
    """Return the run with the report of a fresh instance, which is post-processing of the view.

    Raises `Remembers` if the `instance` that ran reports something else.
    """
    if not callable(getattr(subject, "report", None)):
        return run
    failure: BaseException | None = None
    text = remembered = ""
    try:
        text = repr(reported(subject, run.view))
    except (Exception, SystemExit) as error:
        failure = error
    with contextlib.suppress(Exception, SystemExit):
        if instance is not None:
            remembered = repr(plain(instance.report(kept(run.view)), "the report"))  # type: ignore[attr-defined]
    if instance is not None and remembered != text:
        raise Remembers("the report changes with what play kept in the instance; it may read the view only")
    if failure is not None:
        raise failure
    return replace(run, report=text)


class Remembers(Exception):  # noqa: N818
    """A report that depends on more than the view."""


def differing(run: Run, other: Run, unit: int) -> str | None:
    """Return how two outputs differ for all but `unit` (1-based; 0: for everyone), or None.

    Arrays are compared bit for bit, with type and shape, signs of zeros, masked values and attributes;
    the order of parts and the report are compared too.
    """
    wrong = _differing_public(run, other)
    if wrong is not None:
        return wrong
    for name, whole in run.view.own.items():
        wrong = _differing_own(name, whole, other.view.own[name], unit)
        if wrong is not None:
            return wrong
    return _differing_hidden(run, other)


def differing_anywhere(run: Run, other: Run) -> str | None:
    """Return how the outputs of runs with the same releases on any two datasets differ, or None.

    A unit's own part may differ in its values, but not in its name and position.
    """
    return _differing_public(run, other) or _differing_hidden(run, other)


def _differing_public(run: Run, other: Run) -> str | None:
    if list(run.view.own) != list(other.view.own) or list(run.view.public) != list(other.view.public):
        return "the views have different parts, or in another order"
    if run.report != other.report:
        return "the report differs"
    for name, shown in run.view.public.items():
        if not identical(shown, other.view.public[name]):
            return f"the public {name} differs"
    return None


def _differing_own(
    name: str, whole: NDArray[np.generic], against: NDArray[np.generic], unit: int
) -> str | None:
    if identical(whole, against):
        return None
    if not whole.ndim or not against.ndim:
        return f"{name} has no rows, one for each unit"
    removed = unit > 0 and len(whole) == len(against) + 1  # add-remove: no row on the right
    shown = np.delete(whole, unit - 1, axis=0) if removed else whole
    if (shown.shape, shown.dtype) != (against.shape, against.dtype):
        return f"{name} has another shape or type"
    changed = [row + 1 for row in _rows_apart(shown, against)]
    if removed and changed:
        return f"{name} of another unit differs, although only unit {unit} was removed"
    strangers = [person for person in changed if person != unit]
    if strangers:
        return f"{name} of unit {strangers[0]} differs, although only unit {unit or 'one'} changed"
    return None


def _rows_apart(one: NDArray[np.generic], other: NDArray[np.generic]) -> list[int]:
    """Return the rows in which two arrays of the same shape and type differ."""
    if one.dtype.kind == "O" or not one.size:
        return [i for i in range(len(one)) if not identical(one[i : i + 1], other[i : i + 1])]
    bits = (np.ascontiguousarray(each).view(np.uint8).reshape(len(one), -1) for each in (one, other))
    return np.flatnonzero(np.not_equal(*bits).any(axis=1)).tolist()


def _differing_hidden(run: Run, other: Run) -> str | None:
    """Return how hidden parts of arrays (masked values, attributes) differ; a release would drop them."""
    if run.hidden.keys() != other.hidden.keys():
        return "arrays carry other things along"
    moved = [name for name, a in run.hidden.items() if not identical(a, other.hidden[name])]
    return f"{moved[0]} differs, which does not show and travels along" if moved else None


def unlike(run: Run, again: Run) -> str | None:
    """Return how two runs on the same data with the same releases differ, or None, as it should be."""
    if any(not np.array_equal(exact, again.exact[part]) for part, exact in run.exact.items()):
        return "what is released"
    return differing(run, again, 0)


def moves(run: Run, other: Run, part: Part) -> Integers:
    """Return the difference of the private values of a release; for cells, of each cell's count."""
    here, there = run.exact[part], other.exact[part]
    if run.asked_by.get(part) == NOISY_CELLS:
        here, there = side_by_side(here, there)
    return (there - here).ravel()


def log_ratio(run: Run, other: Run, noise: Mapping[str, Law]) -> float:
    """Return ln P(releases | `run`'s values) − ln P(releases | `other`'s): known noise, nothing fitted.

    It is ±∞ if a release is impossible under one of them, and 0 if there are such releases for both.
    """
    ratios = []
    for part in run.exact:
        values = [run.released[part], run.exact[part], other.exact[part]]
        if run.asked_by.get(part) == NOISY_CELLS:
            values = side_by_side(*values)
        ratios.append(likelihood.log_ratio(noise[part[0]], *values))
    forbidden = {value for value in ratios if math.isinf(value)}
    return forbidden.pop() if len(forbidden) == 1 else 0.0 if forbidden else math.fsum(ratios)


def distance(run: Run, other: Run, noise: Mapping[str, Law]) -> float:
    """Return Σ ‖shift‖²/scale² over the releases: how far apart the two runs are in noise units."""
    total = 0.0
    for part in run.exact:
        moved = moves(run, other, part).astype(np.float64)
        total += float(moved @ moved) / (noise[part[0]].scale or 1.0) ** 2  # a table has no scale
    return total
