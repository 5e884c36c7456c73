"""Runs with another time zone and locale: a hypothesis is about the code on any machine, not on this one.

A fork with another zone, in which the subject's modules are imported again, searches where results differ.
Other modules there may keep what they read of this machine.  So what is found counts only if the same pair
fails in a new process, which has that zone and locale from its start.
"""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace as changed

from audits.datasets import tours
from audits.datasets.bases import Pair, dataset
from audits.datasets.records import records, thin
from audits.hypothesis_tests.checks import Check
from audits.hypothesis_tests.extreme_inputs import WORK
from audits.hypothesis_tests.judge import Judge, SearchResult, rehearsed
from audits.hypothesis_tests.replay import Failed, Run, packed, replayed, run_side, unlike, unpacked
from audits.sandbox import fork
from audits.sandbox.data_guard import guard_again, guarded
from audits.subjects.code_constants import Landmarks
from audits.subjects.sources import modules_of, root_of, source_file
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.schemas.certificate import ShownPair
from dpaccount_packages import is_ours
from mechanisms.subject import Domain, Rows, Subject
from mechanisms.table.user_level import named

MOST_TABLES, LEAST_TABLES = 200, 20  #: of either kind, whose runs are compared; with slow code
SECONDS = 120.0  #: in which a new process imports the code and repeats a pair
PROCESS = "import dpaccount_packages; dpaccount_packages.run('audits.hypothesis_tests.elsewhere')"


@dataclass(frozen=True)
class Zone:
    """A time zone by name, by its rule where no zones are installed, and its seconds west of Greenwich."""

    name: str
    rule: str
    west: int

    def move(self) -> None:
        """Give this process the zone, and another locale."""
        os.environ["LC_ALL"] = "C" if os.environ.get("LC_ALL", "") != "C" else "C.UTF-8"
        for name in (self.name, self.rule):
            os.environ["TZ"] = name
            time.tzset()
            if time.timezone == self.west:
                break


#: far from where most are, with clocks that change, in other months; the second for machines in the first
ZONES: Final = (
    Zone("Pacific/Auckland", "NZST-12NZDT,M9.5.0,M4.1.0/3", -43_200),
    Zone("America/St_Johns", "NST3:30NDT,M3.2.0,M11.1.0", 12_600),
)


@dataclass(frozen=True)
class Elsewhere:
    """What a search found for each check (nothing where no run differs), and what was not repeated, or ""."""

    failing: list[ShownPair | None]
    open: str = ""


class NotRepeated(Exception):  # noqa: N818
    """A new process could not run the pair."""


def other_zone() -> Zone:
    """Return a zone of another offset than this process has."""
    return next(zone for zone in ZONES if zone.west != time.timezone)


def failing_elsewhere(
    subject: Subject,
    proved: Proved,
    checks: list[Check],
    runs: Iterable[tuple[Rows, Run, int]],
    search: Callable[[Subject], SearchResult],
) -> Elsewhere:
    """Return for each check what a search finds in another environment, and a new process confirms.

    It searches if any of these runs, with their data and public coins, differs there.  Raises `InputError`
    if the code ends its process there.
    """
    zone, none = other_zone(), list[ShownPair | None]([None] * len(checks))

    def there() -> bytes:
        zone.move()
        moved, found, unsure = _imported_again(subject), [*none], ""
        seen = search(moved) if any(_differs(moved, *each) for each in runs) else None
        for number, where in {} if seen is None else seen.failed_on.items():
            try:
                shown = _confirmed(moved, proved, checks[number], *where)
            except NotRepeated:
                unsure = f"With TZ={zone.name} a test fails, which no new process could repeat."
                continue
            found[number] = shown and changed(shown, wrong=f"with TZ={zone.name}: {shown.wrong}")
        return msgspec.json.encode(Elsewhere(found, unsure))

    try:
        return msgspec.json.decode(fork.in_fork(there), type=Elsewhere)
    except fork.NoAnswer:
        raise InputError(
            f"with TZ={zone.name} the subject's code ended its process", "let it return"
        ) from None


def more_runs(
    subject: Subject, proved: Proved, domain: Domain, marks: Landmarks
) -> list[tuple[Rows, Run, int]]:
    """Return runs on uniform tables, and on tables of the records that tours try; fewer of slow code."""
    most = min(MOST_TABLES, max(WORK // marks.work // 50, LEAST_TABLES))
    tried = records(domain, (*marks.numbers, *marks.built), marks.together, tours.examples(domain))
    whole = np.resize(tried, (-(-len(tried) // domain.rows), domain.rows, len(domain.low)))
    tables = [dataset(domain, "uniform", seed) for seed in range(most)]
    tables += [domain.clamped(table) for table in whole[:: thin(len(whole), most)]]
    if domain.missing:
        tables += [pair.right for pair in tours.empty(domain, subject.relation)]
    made = [(table, rehearsed(subject, proved, table, 0)) for table in tables]
    return [(table, run, 0) for table, run in made if isinstance(run, Run)]


def _differs(subject: Subject, data: Rows, run: Run, coins: int) -> bool:
    again = replayed(subject, data, run, coins)
    return isinstance(again, Failed) or unlike(run, again) is not None


def _imported_again(subject: Subject) -> Subject:
    """Return the subject of its own modules, imported anew for what they read of the machine; else itself."""
    made_by = type(named(subject))
    if is_ours(made_by.__module__):
        return subject
    removed = {}
    try:
        kept, files = pickle.dumps(subject), {str(file) for file in modules_of(made_by)}
        last = {file.rpartition(os.sep)[2] for file in files}
        sys.path.append(_root(made_by))
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None) or ""
            if file.rpartition(os.sep)[2] in last and str(Path(file).resolve()) in files:
                removed[name] = sys.modules.pop(name)
        import_module(made_by.__module__)
        again: Subject = pickle.loads(kept)  # noqa: S301  # made above
    except (Exception, SystemExit):  # it has no file or name of its own, or cannot be imported twice
        sys.modules.update(removed)
        return subject
    return again


def _root(made_by: type) -> str:
    return str(root_of(made_by.__module__, source_file(made_by)))


def _confirmed(subject: Subject, proved: Proved, check: Check, pair: Pair, coins: int) -> ShownPair | None:
    """Return what a check says of a pair that a new process of this zone and locale runs; None if nothing.

    Raises `NotRepeated` if it cannot run it, as of a class without a name.
    """
    run = rehearsed(subject, proved, pair.left, coins)
    released = run.run if isinstance(run, Failed) else run
    try:
        if released is None:
            raise NotRepeated
        path = [*sys.path, _root(type(named(subject)))]
        asked = path, guarded(), pickle.dumps(subject), (pair.left, pair.right), packed(released), coins
        answer = subprocess.run(
            [sys.executable, "-P", "-c", PROCESS],
            input=pickle.dumps(asked),
            stdout=subprocess.PIPE,
            timeout=SECONDS,
            check=True,
        ).stdout
        runs = msgspec.msgpack.decode(answer, type=tuple[bytes, bytes])
    except Exception:
        raise NotRepeated from None
    judge = Judge(subject, proved, [check])
    judge.judge_runs(pair, coins, *map(unpacked, runs))
    return judge.seen.failing[0]


def main() -> None:
    """Run a pair, each side in a process of its own, and answer the runs: what a new process does."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    path, files, subject, sides, released, coins = pickle.load(sys.stdin.buffer)  # noqa: S301  # from our own
    guard_again(files)
    sys.path[:] = path
    moved, run = pickle.loads(subject), unpacked(released)  # noqa: S301
    if isinstance(run, Run):
        done = [run_side(partial(replayed, moved, side, run, coins), apart=True) for side in sides]
        answers.write(msgspec.msgpack.encode([*map(packed, done)]))
        answers.flush()
