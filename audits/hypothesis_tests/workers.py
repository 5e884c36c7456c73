"""Runs one side of an example, here or in a separate process: a recorded or replayed run, or its failure."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from audits.hypothesis_tests.replay import (
    Recorder,
    Remembers,
    Replayer,
    ReplayError,
    Run,
    record,
    replay,
    with_report,
)
from audits.hypothesis_tests.transport import packed_run, unpacked_run
from audits.sandbox import fork
from audits.subjects.marks import MARKS
from dpaccount.errors import ReceiptError
from dpaccount.noise.receipt import Noise
from mechanisms.subject import Rows, Subject, View
from mechanisms.subject.isolation import NotPlain, fresh


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
        done = _run_in_process(play, output.fileno())
        output.seek(0)
        text = output.read().decode(errors="replace")
    sys.stderr.write(text)
    return replace(done, printed=True) if text else done


def _run_in_process(play: Play, output: int) -> Run | Failed:
    try:
        return _unpacked(fork.in_fork(lambda: _packed(play()), output))
    except fork.NoAnswer:
        return Failed("its process ended")
    except (ValueError, TypeError, AttributeError, LookupError):  # a corrupted answer
        return Failed("its process gave no run")


def _unpacked(answer: Any) -> Run | Failed:
    failure, run = answer
    if failure is None:
        return unpacked_run(run)
    wrong, mute, kind = failure
    return Failed(wrong, mute, kind, None if run is None else unpacked_run(run))


def _packed(done: Run | Failed) -> tuple[list[object] | None, object]:
    """Serialise a run or its failure; raises `ReceiptError` for parts that cannot be serialised."""
    if isinstance(done, Run):
        return None, packed_run(done)
    return [done.wrong, done.mute, done.kind], None if done.run is None else packed_run(done.run)


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
