"""Tests on unrelated data and extreme releases that an output depends on releases and public coins alone.

Any two datasets are connected by a chain of neighbours, and the output must be equal for two neighbours
whenever both can make the same releases.  So it must be equal for any two datasets, also for releases
chosen far in the tail of the noise, provided that they are possible on all data: only such are replayed.
This finds outputs that depend on a statistic far from its threshold, and branches that are rarely taken.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from audits.datasets.bases import Pair, dataset
from audits.datasets.tours import special
from audits.hypothesis_tests.replay import (
    NOISY_CELLS,
    Failed,
    Run,
    differing,
    differing_anywhere,
    fail_alike,
    note,
    recorded,
    replayed,
)
from audits.subjects.code_constants import Landmarks
from dpaccount.noise.laws import Law
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import Noise, rehearse
from dpaccount.noise.samplers import Integers, Rehearsal
from dpaccount.relation import adjacency
from mechanisms.subject import Domain, Rows, Subject

#: bases of a run
FIRST_DRAWS = ("uniform", "low", "skewed", "tenths", "high", "few", "spread", "corners", "middle")
PLAIN = ("low", "high", "middle", "corners", "uniform", "spread", "few", "tenths")
#: runs with releases as drawn; their skewed datasets; datasets of a chosen run
DRAWN, SKEWED, SOME = 2, 14, 3


@dataclass(frozen=True)
class ReleaseChoice:
    """How to choose releases: `steps` noise scales from the exact values, or from zero; None: as drawn.

    Or every `period`-th number is `value`, in units of the noise or of the data (NaN: the one before).
    """

    steps: int | None = None
    exact: bool = True
    value: float | None = None
    period: int = 1
    in_units: bool = False


WORK = 3 * 10**7  #: approximate total work of all tours of datasets
UNMARKED = ("stable-histogram", "table", "shuffled", "sparse-vector")  #: laws of other answers
MARKED, PERIODS, LARGEST_MARK = 60, (1, 3), 2.0**40  #: values of a release; which numbers have them; most
FROM_EXACT, FROM_ZERO = (0, 1, -1, 30, -30), (0, 30, -30)  #: scales
CHOICES = (
    [ReleaseChoice()] * DRAWN
    + [ReleaseChoice(k) for k in FROM_EXACT]
    + [ReleaseChoice(k, exact=False) for k in FROM_ZERO]
)


@dataclass
class ChosenReleases(Noise):
    """A noise source that passes requests to another, to validate them, and returns releases of its choice.

    `everywhere`: all its answers are possible on all data.
    """

    inner: Noise
    noise: Mapping[str, Law]
    choice: ReleaseChoice
    number: int
    units: Mapping[str, Fraction] = field(default_factory=dict)  #: of the noise, by key, in those of the data
    everywhere: bool = True
    answered: int = 0  #: numbers that were asked for
    last: int = 0

    def _answer(self, how: str, key: str, part: Hashable, values: Integers) -> Integers:
        if how == NOISY_CELLS:  # only an answer without cells is possible on all data
            return self.inner.noisy_cells(key, part, values)[:0]
        law = self.noise[key]
        drawn = getattr(self.inner, how)(key, part, values)
        if self.choice.value is None or law.kind in UNMARKED:
            return self._chosen(law, values, drawn)
        return self._marked(law, drawn, float(self.units[key]) if self.choice.in_units else 1.0)

    def _marked(self, law: Law, drawn: Integers, unit: float) -> Integers:
        """Return the drawn numbers, every `period`-th replaced by the value, if it is a possible answer."""
        value, flat = float(self.choice.value or 0) / unit, drawn.ravel()
        place = self.answered + np.arange(flat.size)
        asked = (place % self.choice.period == self.number % self.choice.period).reshape(drawn.shape)
        self.answered += flat.size
        if law.kind in ("exponential", "permute-and-flip"):
            if not 0 <= value < drawn.shape[-1]:
                return drawn
            return np.broadcast_to(np.eye(drawn.shape[-1], dtype=np.int64)[int(value)], drawn.shape)
        if law.kind == "symmetric":
            asked |= asked.T
        before = np.concatenate([[self.last], flat[:-1]]).reshape(drawn.shape)
        one = before
        if not math.isnan(value):
            one = np.full_like(drawn, round(value) if abs(value) < LARGEST_MARK else 0)
        chosen: Integers = np.where(asked, one, drawn)
        self.last = int(chosen.ravel()[-1]) if chosen.size else self.last
        return chosen

    def _chosen(self, law: Law, exact: Integers, drawn: Integers) -> Integers:
        steps = self.choice.steps
        match law.kind:
            case "stable-histogram":  # empty cells always show 0: only this is possible everywhere
                return np.zeros_like(drawn)
            case "table":
                return self._answers(law, drawn)
        if steps is None:
            return drawn
        match law.kind:
            case "exponential" | "permute-and-flip":
                one = np.roll(np.eye(1, drawn.shape[-1], dtype=np.int64)[0], self.number)
                return np.broadcast_to(one, drawn.shape).copy()
            case "sparse-vector":
                passes = np.full_like(drawn, steps >= 0)
                return np.where(np.cumsum(passes) - passes < law.limit, passes, -1)
        start = np.asarray(exact) if self.choice.exact else np.zeros_like(drawn)
        return start + round(steps * law.scale)

    def _answers(self, law: Law, drawn: Integers) -> Integers:
        """Return outcomes that are possible for every symbol; as drawn if all are, or none is."""
        # An outcome that some symbol never gives may tell symbols apart: the proof has paid for that.
        possible = [k for k, column in enumerate(zip(*law.table, strict=True)) if all(column)]
        full = len(possible) == len(law.table[0])
        self.everywhere &= bool(possible)
        if not possible or (full and self.choice.steps is None):
            return drawn
        outcomes = np.array(possible, dtype=np.int64)
        chosen: Integers = outcomes[(np.arange(drawn.size) + self.number) % len(outcomes)]
        return chosen.reshape(drawn.shape)


def possible_everywhere(law: Law) -> bool:
    """Return whether every release of a distribution is possible on all data."""
    return law.kind != "stable-histogram" and (
        law.kind != "table" or all(all(column) or not any(column) for column in zip(*law.table, strict=True))
    )


def _choices(proved: Proved, marks: tuple[float, ...], most: int) -> list[ReleaseChoice]:
    """Return how releases are chosen; among others, so that they meet numbers of the code, or each other."""
    near = {mark + k for mark in marks for k in (-1, 0, 1)}
    integers = sorted((value for value in near if value == int(value)), key=abs)[:most]
    chosen = [ReleaseChoice(value=value, period=p) for value in (*integers, math.nan) for p in PERIODS]
    if set(proved.grids.values()) != {1.0}:
        more = sorted(marks, key=abs)[:most]
        chosen += [ReleaseChoice(value=value, period=p, in_units=True) for value in more for p in PERIODS]
    return [*CHOICES, *chosen]


def difference_on_any_data(
    subject: Subject, proved: Proved, domain: Domain, marks: Landmarks, seed: int
) -> tuple[Pair, int, str] | None:
    """Return two datasets, coins, and how the output differs between them for the same releases; or None.

    The second dataset is a neighbour or unrelated.
    """
    for number, choice in enumerate(_choices(proved, marks.numbers, min(MARKED, WORK // marks.work // 500))):
        coins = seed + number
        base = FIRST_DRAWS[number % len(FIRST_DRAWS)]
        left = dataset(domain, base, seed)
        drawn = rehearse(proved, Rehearsal(coins))
        source = ChosenReleases(drawn, proved.laws, choice, number, proved.grids)
        run = recorded(subject, left, source, coins)
        released = run.run if isinstance(run, Failed) else run
        if released is None:
            continue  # a failure, which the search finds and reports
        here = Pair(left, left, base, seed, unit=1)
        more = special(domain, marks.numbers) if number == 0 else PLAIN
        for what, pair, unit in _others(
            subject, domain, here, number, choice, more, everywhere=source.everywhere
        ):
            other = replayed(subject, pair.right, released, coins)
            note(run, other)
            wrong = difference_shown(run, other, unit)
            if wrong is not None:
                return pair, coins, f"{wrong} {what}{_described(choice)}"
    return None


def _described(choice: ReleaseChoice) -> str:
    if choice.value is not None:
        return "; the releases were chosen to meet numbers of the code, or each other"
    if choice.steps is None:
        return ""
    start = "the exact values" if choice.exact else "zero"
    return f"; the releases were chosen {choice.steps} scales from {start}, where the noise may lead"


def _others(
    subject: Subject,
    domain: Domain,
    here: Pair,
    number: int,
    choice: ReleaseChoice,
    more: Sequence[str],
    *,
    everywhere: bool,
) -> Iterator[tuple[str, Pair, int | None]]:
    """Yield the data to replay on, each with the unit whose own parts may differ (None: all)."""
    if choice != ReleaseChoice():
        mirrored = np.array(domain.low) + np.array(domain.high) - here.left[0]
        right = adjacency(subject.relation).neighbour(here.left, 0, mirrored)
        yield "on a neighbour", replace(here, right=right), here.unit
    if not everywhere:
        return
    bases = [("skewed", number * SKEWED + k) for k in range(SKEWED)]
    most = 1 if choice.value is not None else SOME
    bases = bases[:most] if choice != ReleaseChoice() else [*((base, number) for base in more), *bases]
    for place, (base, seed) in enumerate(bases):
        fewer = not place % 3 and adjacency(subject.relation).rows_vary
        rows = -(-domain.rows // 2) if fewer else domain.rows
        other: Rows = dataset(replace(domain, rows=rows), base, seed)
        what = f"on unrelated data (base {base}, seed {seed}, {rows} rows), to which neighbours lead"
        yield what, replace(here, right=other), None


def difference_shown(run: Run | Failed, other: Run | Failed, unit: int | None) -> str | None:
    """Return how two runs with the same releases differ for all but `unit` (None: compare public parts)."""
    if isinstance(run, Failed):
        return None if fail_alike(run, other) else run.wrong
    if isinstance(other, Failed):
        return other.wrong
    return differing_anywhere(run, other) if unit is None else differing(run, other, unit)
