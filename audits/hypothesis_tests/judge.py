"""Runs on neighbouring datasets, judged by the checks of all hypotheses: pair by pair, and along tours.

Along a tour the releases of its first run are replayed on every dataset, so that a neighbour costs one run.
That needs releases that are possible on all data; where some are not, every pair is run by itself.
"""

import hashlib
import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from statistics import median

import numpy as np

from audits.datasets.bases import Pair
from audits.datasets.tours import Walk
from audits.hypothesis_tests.checks import Check, Finding, between
from audits.hypothesis_tests.evidence import Example, Searched, WorstPair, describe
from audits.hypothesis_tests.extreme_inputs import difference_shown, possible_everywhere
from audits.hypothesis_tests.replay import Run, distance
from audits.hypothesis_tests.smoke_test import void
from audits.hypothesis_tests.workers import Failed, alike, recorded, replayed, side
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from mechanisms.subject import Rows, Subject

HELD = 6  #: size of the cache of a tour's runs
COARSE, FINE = 16, 24  #: steps of a walk looked at first, and where it moves otherwise than elsewhere


def rehearsed(subject: Subject, proved: Proved, data: Rows, coins: int) -> Run | Failed:
    """Return what a run with rehearsal noise did, which is made in the process that runs it."""
    return recorded(subject, data, rehearse(proved, Rehearsal(coins)), coins)


@dataclass
class Judge:
    """Judges pairs by `checks`, records what was `seen`; `apart`: sides in separate processes."""

    subject: Subject
    proved: Proved
    checks: list[Check]
    apart: bool = False
    seen: Searched = field(init=False)

    def __post_init__(self) -> None:
        self.seen = Searched(0, [Fraction(0)] * len(self.checks), [None] * len(self.checks))

    @cached_property
    def shared(self) -> bool:
        """Return whether the releases of a run can be replayed on any data."""
        return all(map(possible_everywhere, self.proved.laws.values()))

    def examined(self, pair: Pair, coins: int) -> tuple[float, bool]:
        """Run on the left, replay on the right; return the distance in noise units, and any failure."""
        run = side(partial(rehearsed, self.subject, self.proved, pair.left, coins), apart=self.apart)
        released = run.run if isinstance(run, Failed) else run
        if released is None:
            return self.judged(pair, coins, run, run)
        other = side(partial(replayed, self.subject, pair.right, released, coins), apart=self.apart)
        if self.apart and isinstance(run, Run) and isinstance(other, Run):
            self.seen.runs.append(Example(pair, coins, run, other))
        return self.judged(pair, coins, run, other)

    def judged(self, pair: Pair, coins: int, run: Run | Failed, other: Run | Failed) -> tuple[float, bool]:
        """Judge two runs with the same releases; return their distance in noise units, and any failure."""
        seen = self.seen
        seen.count += 1
        findings, size = self._findings(pair, run, other)
        if (seen.best is None or size > seen.best.distance) and pair.neighbours(self.subject.relation):
            seen.best = WorstPair(pair, coins, size)
        for index, finding in enumerate(findings):
            seen.worst[index] = max(seen.worst[index], finding.moved)
            if finding.wrong is not None:
                seen.failing[index] = describe(pair, coins, finding.wrong)
        return size, any(finding.wrong is not None for finding in findings)

    def _findings(self, pair: Pair, run: Run | Failed, other: Run | Failed) -> tuple[list[Finding], float]:
        """Return the findings and the distance.

        Code that raises is itself a finding, on every hypothesis, unless it raises the same type on the
        right with the same releases: then these decided it, and they are all that anybody learns.
        """
        seen = self.seen
        seen.printed |= run.printed or other.printed
        if isinstance(run, Failed):
            if run.mute:
                seen.raised, seen.why = seen.raised + 1, run.wrong
            return self._all(None if alike(run, other) else run.wrong), 0.0
        if isinstance(other, Failed):
            return self._all(other.wrong), 0.0
        seen.changed |= run.changed or other.changed
        seen.drawn |= bool(run.exact)
        seen.void += all(void(each.view) and not each.hidden for each in (run, other))
        asked = run.asked or other.asked
        if asked:
            return self._all(
                f"the code asks its noise for {asked[0]!r}; a run may not depend on who answers"
            ), 0.0
        try:
            findings = [between(check, pair)(run, other, pair.unit) for check in self.checks]
            return findings, distance(run, other, self.proved.laws)
        except Exception as error:  # an invalid view
            return self._all(f"{type(error).__name__}: {error}"), 0.0

    def _all(self, wrong: str | None) -> list[Finding]:
        return [Finding(Fraction(0), wrong) for _ in self.checks]

    def along(self, pairs: Iterable[Pair], coins: int) -> None:
        """Judge pairs that share datasets."""
        played = Tour(self, coins)
        for pair in pairs:
            self._met(played, pair)

    def _met(self, played: "Tour", pair: Pair) -> None:
        if not self.shared:
            self.examined(pair, played.coins)
            return
        run, other = played.on(pair.left), played.on(pair.right)
        self.judged(pair, played.coins, run, other)
        wrong = None if self.seen.strange or played.root is None else difference_shown(played.root, run, None)
        if wrong is not None:
            far = f"{wrong} between datasets to which neighbours lead"
            self.seen.strange = describe(pair, played.coins, far)

    def walked(self, walk: Walk, coins: int) -> None:
        """Judge steps of a walk: those asked for, and where it moves otherwise than in most parts.

        A part in which one step does so is halved until the step is found.
        """
        played = Tour(self, coins)
        points = np.unique(np.linspace(0, walk.steps, COARSE + 1).astype(int)).tolist()
        far = {ends: played.far(*map(walk.table, ends)) for ends in pairwise(points)}
        finite = [moved / (b - a) for (a, b), moved in far.items() if moved < np.inf]
        usual = median(finite or [0.0])
        parts = [(-abs(moved - usual * (b - a)), a, b) for (a, b), moved in far.items()]
        steps = {k for asked in walk.asked for k in (asked, asked + 1) if 0 < k <= walk.steps}
        heapq.heapify(parts)
        for _ in range(FINE):
            if not parts or -parts[0][0] <= usual * 1e-9:
                break
            _, a, b = heapq.heappop(parts)
            if b - a == 1:
                steps.add(b)
                continue
            for ends in pairwise((a, (a + b) // 2, b)):
                moved = played.far(*map(walk.table, ends))
                heapq.heappush(parts, (-abs(moved - usual * (ends[1] - ends[0])), *ends))
        for k in sorted(steps):
            for pair in walk.step(k):
                self._met(played, pair)


class Tour:
    """Runs on the datasets of a tour, with the releases of the first, its root, where they can be so."""

    def __init__(self, judge: Judge, coins: int) -> None:
        self._judge, self.coins = judge, coins
        self.root: Run | Failed | None = None
        self._held: dict[bytes, Run | Failed] = {}  #: cache of recent runs, by their data

    def on(self, data: Rows) -> Run | Failed:
        """Return the (cached) run on the data."""
        key = hashlib.blake2b(data.tobytes(), digest_size=16).digest()
        run = self._held.pop(key, None) or self._run(data)
        self.root = self.root or run
        self._held[key] = run
        if len(self._held) > HELD:
            del self._held[next(iter(self._held))]
        return run

    def _run(self, data: Rows) -> Run | Failed:
        judge, root = self._judge, self.root
        if root is None or not judge.shared:
            return rehearsed(judge.subject, judge.proved, data, self.coins)
        released = root.run if isinstance(root, Failed) else root
        return root if released is None else replayed(judge.subject, data, released, self.coins, again=False)

    def far(self, left: Rows, right: Rows) -> float:
        """Return the query's total change between two datasets; ∞ if the output differs."""
        run, other = self.on(left), self.on(right)
        if self._judge.shared and difference_shown(run, other, None) is not None:
            return np.inf
        if isinstance(run, Failed) or isinstance(other, Failed):
            both = isinstance(run, Failed) and isinstance(other, Failed) and run.kind == other.kind
            return 0.0 if both else np.inf
        if any(
            part not in other.exact or other.exact[part].shape != run.exact[part].shape for part in run.exact
        ):
            return np.inf
        return float(sum(np.abs(other.exact[part] - exact).sum() for part, exact in run.exact.items()))
