"""Replays on any data, with any releases: a view is a function of releases and public coins alone.

Neighbours lead from every dataset to every other, and what a release shows must be equal for two
neighbours whenever both can make it.  So it is equal for any two datasets, and for releases that are
chosen far in the tail of the noise, if these are possible on all data: only such are replayed here.
Only this finds a statistic far from its threshold, or a branch that a hundred runs never take.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from audits.datasets.bases import Pair, dataset
from audits.datasets.tours import special
from audits.hypothesis_tests.replay import NOISY_CELLS, Run, differing, differing_anywhere
from audits.hypothesis_tests.workers import Failed, alike, recorded, replayed
from dpaccount.noise.laws import Law
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import Noise, NoiseSource, rehearse
from dpaccount.noise.samplers import Integers, Rehearsal
from dpaccount.relation import adjacency
from mechanisms.subject import Domain, Rows, Subject

#: bases of a run
FIRST_DRAWS = ("uniform", "low", "skewed", "tenths", "high", "few", "spread", "corners", "middle")
PLAIN = ("low", "high", "middle", "corners", "uniform", "spread", "few", "tenths")
#: runs with releases as drawn; their skewed datasets; datasets of a chosen run
DRAWN, SKEWED, SOME = 2, 14, 3


@dataclass(frozen=True)
class Way:
    """How to choose a release: a number of scales from the exact values, or from zero; None: as drawn."""

    steps: int | None = None
    exact: bool = True


FROM_EXACT, FROM_ZERO = (0, 1, -1, 30, -30), (0, 30, -30)  #: scales
WAYS = [Way()] * DRAWN + [Way(k) for k in FROM_EXACT] + [Way(k, exact=False) for k in FROM_ZERO]


@dataclass
class Chosen(NoiseSource):
    """A noise source that asks another, so that requests are checked, and answers what it chooses.

    `everywhere` says that all its answers are possible on all data.
    """

    inner: Noise
    noise: Mapping[str, Law]
    way: Way
    number: int
    everywhere: bool = True

    def _answer(self, how: str, key: str, part: Hashable, values: Integers) -> Integers:
        if how == NOISY_CELLS:  # no cells: that alone is possible on all data
            return self.inner.noisy_cells(key, part, values)[:0]
        law = self.noise[key]
        return self._chosen(law, values, getattr(self.inner, how)(key, part, values))

    def _chosen(self, law: Law, exact: Integers, drawn: Integers) -> Integers:
        steps = self.way.steps
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
        start = np.asarray(exact) if self.way.exact else np.zeros_like(drawn)
        return start + round(steps * law.scale)

    def _answers(self, law: Law, drawn: Integers) -> Integers:
        """Return outcomes that every symbol may have, as drawn where all are such or none is."""
        possible = [k for k, column in enumerate(zip(*law.table, strict=True)) if all(column)]
        full = len(possible) == len(law.table[0])
        self.everywhere &= bool(possible)
        if not possible or (full and self.way.steps is None):
            return drawn
        outcomes = np.array(possible, dtype=np.int64)
        chosen: Integers = outcomes[(np.arange(drawn.size) + self.number) % len(outcomes)]
        return chosen.reshape(drawn.shape)


def possible_everywhere(law: Law) -> bool:
    """Return whether every release of a distribution is possible on all data."""
    return law.kind != "stable-histogram" and (
        law.kind != "table" or all(all(column) or not any(column) for column in zip(*law.table, strict=True))
    )


def anywhere(
    subject: Subject, proved: Proved, domain: Domain, marks: tuple[float, ...], seed: int
) -> tuple[Pair, int, str] | None:
    """Return data on either side, coins, and what shows which of both it was with the same releases; or None.

    The data are a neighbour's, and unrelated.
    """
    for number, way in enumerate(WAYS):
        coins = seed + number
        base = FIRST_DRAWS[number % len(FIRST_DRAWS)]
        left = dataset(domain, base, seed)
        source = Chosen(rehearse(proved, Rehearsal(coins)), proved.laws, way, number)
        run = recorded(subject, left, source, coins)
        released = run.run if isinstance(run, Failed) else run
        if released is None:
            continue  # wrong by itself; of runs with drawn noise the search finds that
        here = Pair(left, left, base, seed, unit=1)
        more = special(domain, marks) if number == 0 else PLAIN
        for what, pair, unit in _others(
            subject, domain, here, number, way, more, everywhere=source.everywhere
        ):
            wrong = difference_shown(run, replayed(subject, pair.right, released, coins), unit)
            if wrong is not None:
                return pair, coins, f"{wrong} {what}{_said(way)}"
    return None


def _said(way: Way) -> str:
    if way.steps is None:
        return ""
    start = "the exact values" if way.exact else "zero"
    return f"; the releases were chosen {way.steps} scales from {start}, where the noise may lead"


def _others(
    subject: Subject,
    domain: Domain,
    here: Pair,
    number: int,
    way: Way,
    more: Sequence[str],
    *,
    everywhere: bool,
) -> list[tuple[str, Pair, int | None]]:
    """Return the data to replay on, each with the unit whose own parts may differ (None: all)."""
    pairs: list[tuple[str, Pair, int | None]] = []
    if way.steps is not None:
        pairs.append(("on a neighbour", _neighbour(subject, domain, here), here.unit))
    if not everywhere:
        return pairs
    bases = [("skewed", number * SKEWED + k) for k in range(SKEWED)]
    bases = bases[:SOME] if way.steps is not None else [*((base, number) for base in more), *bases]
    for place, (base, seed) in enumerate(bases):
        fewer = not place % 3 and adjacency(subject.relation).rows_vary
        rows = -(-domain.rows // 2) if fewer else domain.rows
        other: Rows = dataset(replace(domain, rows=rows), base, seed)
        what = f"on unrelated data (base {base}, seed {seed}, {rows} rows), to which neighbours lead"
        pairs.append((what, replace(here, right=other), None))
    return pairs


def _neighbour(subject: Subject, domain: Domain, here: Pair) -> Pair:
    """Return the pair in which the first record is mirrored, or missing on the right."""
    if adjacency(subject.relation).rows_vary:
        return replace(here, right=here.left[1:])
    right = here.left.copy()
    right[0] = np.array(domain.low) + np.array(domain.high) - right[0]
    return replace(here, right=right)


def difference_shown(run: Run | Failed, other: Run | Failed, unit: int | None) -> str | None:
    """Return what distinguishes two runs with the same releases, or None."""
    if isinstance(run, Failed):
        return None if alike(run, other) else run.wrong
    if isinstance(other, Failed):
        return other.wrong
    return differing_anywhere(run, other) if unit is None else differing(run, other, unit)
