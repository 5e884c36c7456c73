"""Records a subject's run, and replays its releases on a neighbouring dataset.

Given the same public coins and releases, a run on a neighbour must show everyone else the same output,
and the private value behind each release may move by the declared sensitivity at most.  Both are observed
on the running code, through the noise source that it is given.
"""

import contextlib
import io
import math
import pickle
import sys
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from tempfile import TemporaryFile
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from audits.sandbox import fork
from audits.subjects.marks import MARKS
from dpaccount.errors import ReceiptError
from dpaccount.noise import likelihood
from dpaccount.noise.laws import Law, side_by_side
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, in_range
from mechanisms.subject import Rows, Subject, View
from mechanisms.subject.isolation import NotPlain, fresh, identical, kept, plain, reported, watched

Part = tuple[str, Hashable]
NOISY_CELLS = "noisy_cells"
NUMPY = {"ndarray", "dtype", "scalar", "empty", "_reconstruct", "_frombuffer"}  #: what arrays are pickled as


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
    for name, own in run.view.own.items():
        wrong = _differing_own(name, own, other.view.own[name], unit)
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
    name: str, own: NDArray[np.generic], against: NDArray[np.generic], unit: int
) -> str | None:
    if identical(own, against):
        return None
    if not own.ndim or not against.ndim:
        return f"{name} has no rows, one for each unit"
    removed = unit > 0 and len(own) == len(against) + 1  # add-remove: no row on the right
    shown = np.delete(own, unit - 1, axis=0) if removed else own
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


# ------------------------------------------------------------------ runs that may fail, here or in a fork


@dataclass(frozen=True)
class Failed:
    """How a run failed, in one sentence (`wrong`).  `mute`: there is nothing to judge.

    `kind` is the type of the exception, and `run` what was released before it; both are None if the
    failure alone is a violation, regardless of the other side.  `printed` is that of a `Run`.
    """

    wrong: str
    mute: bool = True
    kind: str | None = None
    run: Run | None = None
    printed: bool = False
    marks: frozenset[int] = frozenset()


Play = Callable[[], Run | Failed]


def recorded(subject: Subject, data: Rows, noise: Noise, coins: int) -> Run | Failed:
    """Return a run with its report, or how it failed."""
    recorder = Recorder(noise)

    def play() -> Run:
        instance = fresh(subject)
        return with_report(subject, instance, record(instance, data, recorder, coins))

    return _run_or_failure(play, recorder)


def replayed(subject: Subject, data: Rows, run: Run, coins: int, *, again: bool = True) -> Run | Failed:
    """Return a run on other data with the releases of `run`, or how it failed.

    `again`: the instance that ran must report the same as a fresh one.
    """
    replayer = Replayer(run.released, run.asked_by)

    def play() -> Run:
        instance = fresh(subject)
        done = replay(instance, data, run, coins, replayer)
        return with_report(subject, instance if again else None, done)

    return _run_or_failure(play, replayer)


def run_side(play: Play, *, apart: bool = False) -> Run | Failed:
    """Return a run, or how it failed: in this process, or in a separate one with `apart`.

    Any output of the separate process to its standard streams sets `printed`.
    """
    if not apart:
        return play()
    with TemporaryFile() as output:
        try:
            done = unpacked(fork.in_fork(lambda: packed(play()), output.fileno()))
        except fork.NoAnswer:
            done = Failed("its process ended")
        output.seek(0)
        text = output.read().decode(errors="replace")
    sys.stderr.write(text)
    return replace(done, printed=True) if text else done


def packed(done: Run | Failed) -> bytes:
    """Serialise a run or its failure; raises `ReceiptError` if a part's name is neither a number nor text.

    Marks stay behind: `note` counts what both sides of a pair met in this process.
    """
    run = done.run if isinstance(done, Failed) else done
    if run is not None:
        run = replace(
            run,
            exact=_plainly_named(run.exact),
            released=_plainly_named(run.released),
            asked_by=_plainly_named(run.asked_by),
            hidden={name: _with_plain_cells(array) for name, array in run.hidden.items()},
            marks=frozenset(),
        )
    written = io.BytesIO()
    _Pickler(written).dump(Failed(done.wrong, done.mute, done.kind, run) if isinstance(done, Failed) else run)
    return written.getvalue()


def unpacked(written: bytes) -> Run | Failed:
    """Deserialise a run or its failure, executing no code of it; any other answer is a failure."""
    with contextlib.suppress(Exception):  # what a corrupted answer raises
        done = _Unpickler(io.BytesIO(written)).load()
        if isinstance(done, Run | Failed):
            return done
    return Failed("its process gave no run")


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: object) -> Any:
        """Return an empty array as its shape and type: NumPy's own form loses the byte order of one."""
        if type(obj) is np.ndarray and not obj.size:
            return np.empty, (obj.shape, obj.dtype)
        return NotImplemented


# A format of our own had a form for every type of names and arrays; pickle has them all, and is safe to read
# where it finds no name but these: the code under test shares its process, and may write the answer itself.
class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Return a structure of ours, or what NumPy makes arrays of; the code under test may ask for more."""
        ours = {(each.__module__, each.__name__) for each in (Run, Failed, View, Fraction)}
        if (module, name) in ours or (module.partition(".")[0] == "numpy" and name in NUMPY):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(name)


def _with_plain_cells(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return an array of objects with those that are neither numbers nor text as their repr."""
    if array.dtype.kind != "O":
        return array
    cells = np.empty_like(array)
    for place, value in np.ndenumerate(array):
        try:
            cells[place] = _name(value)
        except ReceiptError:
            cells[place] = repr(value)
    return cells


def _plainly_named(draws: Mapping[Part, Any]) -> dict[Part, Any]:
    return {(key, _name(part)): value for (key, part), value in draws.items()}


def _name(value: Any) -> Any:
    """Return a part's name or a cell as an equal value of Python's or NumPy's own type."""
    if isinstance(value, tuple):
        return tuple(map(_name, value))
    if value is None or isinstance(value, bool | np.generic):
        return value
    kinds: dict[type, Any] = {str: str.__str__, **{each: each for each in (int, float, bytes, Fraction)}}
    for kind, plainly in kinds.items():
        if isinstance(value, kind):  # of an enumeration its text, not its name
            return plainly(value)
    raise ReceiptError(f"{value!r} cannot name a part; give a number, a text, or a tuple of these")


def _run_or_failure(play: Callable[[], Run], noise: Recorder | Replayer) -> Run | Failed:
    MARKS.taken()
    done = _ended(play, noise)
    marks = MARKS.taken()
    return replace(done, marks=marks) if marks else done


def _ended(play: Callable[[], Run], noise: Recorder | Replayer) -> Run | Failed:
    try:
        return play()
    except NotPlain as error:
        return Failed(str(error))
    except (ReplayError, Remembers, ReceiptError) as error:
        return Failed(str(error), mute=False)
    except (Exception, SystemExit) as error:
        before = Run(noise.exact, noise.released, View(), noise.asked_by)
        return Failed(f"{type(error).__name__}: {error}", kind=_kind(error), run=before)


def _kind(error: BaseException) -> str:
    """Return what others can observe of a failure: its type, and the code of an exit, but not its text."""
    return repr(error) if isinstance(error, SystemExit) else type(error).__name__


def note(run: Run | Failed, other: Run | Failed) -> None:
    """Note what two runs with the same releases met; it counts if their exact values differ."""
    one, two = (each.run if isinstance(each, Failed) else each for each in (run, other))
    exact = [{} if each is None else each.exact for each in (one, two)]
    moved = any(not np.array_equal(values, exact[1].get(part, ())) for part, values in exact[0].items())
    MARKS.compared(run.marks, other.marks, moved=moved)


def fail_alike(one: Failed, other: Run | Failed) -> bool:
    """Return whether both sides fail with the same type after the same releases."""
    if one.run is None or not isinstance(other, Failed) or other.run is None:
        return False
    return one.kind == other.kind and one.run.exact.keys() == other.run.exact.keys()
