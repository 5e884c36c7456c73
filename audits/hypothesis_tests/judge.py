"""Runs neighbouring datasets and applies the checks of all hypotheses: pair by pair, and along tours.

Along a tour the releases of its first run are replayed on every dataset, so each neighbour costs one run.
If some releases are not possible on all data, every pair is run separately instead.
"""

import hashlib
import heapq
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise, product
from statistics import median

import numpy as np
from msgspec.structs import replace as changed

from audits.datasets.bases import Pair
from audits.datasets.tours import SEED, Walk, star
from audits.hypothesis_tests.checks import Check, Finding, for_pair
from audits.hypothesis_tests.extreme_inputs import difference_shown, possible_everywhere
from audits.hypothesis_tests.replay import (
    Failed,
    Run,
    distance,
    fail_alike,
    note,
    recorded,
    replayed,
    run_side,
    unlike,
)
from audits.hypothesis_tests.smoke_test import NO_VALUE, void
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Floats, Rehearsal
from dpaccount.proof import Hypothesis
from dpaccount.schemas.certificate import Evidence, ShownPair, Status
from mechanisms.subject import Domain, Rows, Subject

IN_PLACE = "The code writes to the data that it is given; every run gets a copy, so nothing of it stays."
PRINTS = (
    "The code prints, logs or warns while it runs; that text is not certified, and can hold private data."
)


def evidence_on(
    about: Hypothesis,
    stated: tuple[str, str],
    status: Status,
    seen: tuple[int, object, ShownPair | None],
    source: str,
) -> Evidence:
    """Return an entry of a certificate.

    `stated` is (bound, relation); `seen` is (number of examples, worst movement, failing example).
    """
    examples, worst, failing = seen
    known = (about.rule, about.query, about.digest, *stated, status, about.because)
    return Evidence(*known, examples, str(worst), failing, source)


def refuted_by(evidence: list[Evidence], failing: Sequence[ShownPair | None]) -> list[Evidence]:
    """Return the evidence with failing examples that were found later, in the same order."""
    return [
        entry
        if wrong is None or entry.status == "refuted"
        else changed(entry, status="refuted", counterexample=wrong)
        for entry, wrong in zip(evidence, failing, strict=True)
    ]


@dataclass(frozen=True)
class WorstPair:
    """A pair and public coins, with `distance` = Σ ‖shift‖²/scale² over the releases of a run on it.

    `notes` are remarks on the code for a certificate; `drawn`: some run drew noise.
    """

    pair: Pair
    coins: int
    distance: float
    notes: tuple[str, ...] = ()
    drawn: bool = True


@dataclass(frozen=True)
class Example:
    """A pair with public coins, and a run on either side."""

    pair: Pair
    coins: int
    run: Run
    other: Run

    def sides(self) -> tuple[tuple[Rows, Run], tuple[Rows, Run]]:
        """Return the data and the run of either side."""
        return (self.pair.left, self.run), (self.pair.right, self.other)


@dataclass
class SearchResult:
    """The result of a search: per check the largest movement and a failing example; the most distant pair.

    `raised` counts examples whose left run failed (`why`: the last reason), `void` those without an output
    value on either side.  Some run wrote to its data (`changed`) or to a standard stream (`printed`), or drew
    noise (`drawn`).  `runs` are those in separate processes.  `unrelated` is an example whose output differs
    between two datasets that need not be neighbours; `skipped` says what tours left out.
    """

    count: int
    worst: list[Fraction]
    failing: list[ShownPair | None]
    best: WorstPair | None = None
    raised: int = 0
    why: str = ""
    changed: bool = False
    runs: list[Example] = field(default_factory=list)
    void: int = 0
    drawn: bool = False
    unrelated: ShownPair | None = None
    skipped: str = ""
    printed: bool = False
    failed_on: dict[int, tuple[Pair, int]] = field(default_factory=dict)  #: pair and coins, by check

    def require_runs(self, subject: Subject) -> "SearchResult":
        """Return self; raises `InputError` if every run failed, so that nothing was tested."""
        if self.raised + self.void == self.count:
            name, why = type(subject).__name__, self.why or f"it {NO_VALUE}"
            raise InputError(f"{name} fails on every run ({self.count} tried): {why}", "fix it")
        return self

    def worst_pair(self) -> WorstPair:
        """Return the most distant pair, with notes."""
        if self.best is None:
            raise ValueError("no neighbouring pair was tried")
        fails = f"{self.raised} of {self.count} runs fail, on neighbours alike: {self.why}"
        odd = (IN_PLACE if self.changed else "", PRINTS if self.printed else "")
        notes = (*odd, fails if self.raised else "", self.skipped)
        return replace(self.best, notes=tuple(note for note in notes if note), drawn=self.drawn)

    def joined(self, other: "SearchResult") -> "SearchResult":
        """Return both searches as one."""
        bests = [each for each in (self.best, other.best) if each is not None]
        return SearchResult(
            self.count + other.count,
            [max(pair) for pair in zip(self.worst, other.worst, strict=True)],
            [mine or its for mine, its in zip(self.failing, other.failing, strict=True)],
            max(bests, key=lambda each: each.distance, default=None),
            self.raised + other.raised,
            self.why or other.why,
            self.changed or other.changed,
            void=self.void + other.void,
            drawn=self.drawn or other.drawn,
            unrelated=self.unrelated or other.unrelated,
            skipped=self.skipped or other.skipped,
            printed=self.printed or other.printed,
        )


def describe(pair: Pair, coins: int, wrong: str) -> ShownPair:
    """Describe a pair reproducibly: changed record, base of the others, what differs."""
    here = pair.unit - 1
    removed = len(pair.right) < len(pair.left)
    return ShownPair(
        unit=pair.unit,
        left=pair.left[here].tolist(),
        right=None if removed else pair.right[here].tolist(),
        rows=len(pair.left),
        other_rows={"base": pair.base, "seed": pair.seed},
        coins=coins,
        wrong=wrong,
    )


CACHED_RUNS = 6  #: size of the cache of a tour's runs
BESIDE = 30  #: records that one of an unusual total is compared with
SIGNED_SUMS = 64  #: of the values of a query: of seven values all there are, but for the sign
SAME = 8  #: datasets that have the same total, where all but few do
COARSE, FINE = 16, 24  #: parts of a walk measured first, and halvings of parts with unusual movement


def rehearsed(subject: Subject, proved: Proved, data: Rows, coins: int) -> Run | Failed:
    """Return a run with rehearsal noise, or how it failed."""
    return recorded(subject, data, rehearse(proved, Rehearsal(coins)), coins)


@dataclass
class Judge:
    """Applies `checks` to pairs and records the result in `seen`; `apart`: each side in its own process."""

    subject: Subject
    proved: Proved
    checks: list[Check]
    apart: bool = False
    seen: SearchResult = field(init=False)

    def __post_init__(self) -> None:
        self.seen = SearchResult(0, [Fraction(0)] * len(self.checks), [None] * len(self.checks))

    @cached_property
    def shared(self) -> bool:
        """Return whether the releases of a run can be replayed on any data."""
        return all(map(possible_everywhere, self.proved.laws.values()))

    def run_pair(self, pair: Pair, coins: int) -> tuple[float, bool]:
        """Run on the left, replay on the right; return the distance in noise units, and any failure."""
        run = run_side(partial(rehearsed, self.subject, self.proved, pair.left, coins), apart=self.apart)
        released = run.run if isinstance(run, Failed) else run
        if released is None:
            return self.judge_runs(pair, coins, run, run)
        other = run_side(partial(replayed, self.subject, pair.right, released, coins), apart=self.apart)
        if self.apart and isinstance(run, Run) and isinstance(other, Run):
            self.seen.runs.append(Example(pair, coins, run, other))
        return self.judge_runs(pair, coins, run, other)

    def judge_runs(
        self, pair: Pair, coins: int, run: Run | Failed, other: Run | Failed
    ) -> tuple[float, bool]:
        """Judge two runs with the same releases; return their distance in noise units, and any failure."""
        seen = self.seen
        seen.count += 1
        findings, size = self._findings(pair, run, other)
        note(run, other)
        if (seen.best is None or size > seen.best.distance) and pair.neighbours(self.subject.relation):
            seen.best = WorstPair(pair, coins, size)
        for index, finding in enumerate(findings):
            seen.worst[index] = max(seen.worst[index], finding.moved)
            if finding.wrong is not None:
                seen.failing[index] = describe(pair, coins, finding.wrong)
                seen.failed_on[index] = pair, coins
        return size, any(finding.wrong is not None for finding in findings)

    def _findings(self, pair: Pair, run: Run | Failed, other: Run | Failed) -> tuple[list[Finding], float]:
        """Return the findings and the distance.

        An exception is a finding on every hypothesis, unless both sides raise the same type after the
        same releases: then it reveals no more than the releases.
        """
        seen = self.seen
        seen.printed |= run.printed or other.printed
        if isinstance(run, Failed):
            if run.mute:
                seen.raised, seen.why = seen.raised + 1, run.wrong
            return self._all(None if fail_alike(run, other) else run.wrong), 0.0
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
            findings = [for_pair(check, pair)(run, other, pair.unit) for check in self.checks]
            return findings, distance(run, other, self.proved.laws)
        except Exception as error:  # an invalid view
            return self._all(f"{type(error).__name__}: {error}"), 0.0

    def _all(self, wrong: str | None) -> list[Finding]:
        return [Finding(Fraction(0), wrong) for _ in self.checks]

    def along(self, pairs: Iterable[Pair], coins: int) -> None:
        """Judge pairs that share datasets."""
        tour = Tour(self, coins)
        for pair in pairs:
            self._judge_pair(tour, pair)

    def _judge_pair(self, tour: "Tour", pair: Pair) -> None:
        if not self.shared:
            self.run_pair(pair, tour.coins)
            return
        run, other = tour.run_on(pair.left), tour.run_on(pair.right)
        self.judge_runs(pair, tour.coins, run, other)
        wrong = None if self.seen.unrelated or tour.root is None else difference_shown(tour.root, run, None)
        if wrong is not None:
            change = f"{wrong} between datasets to which neighbours lead"
            self.seen.unrelated = describe(pair, tour.coins, change)

    def along_walk(self, walk: Walk, coins: int) -> None:
        """Judge the requested steps of a walk, and steps with unusual movement, which bisection finds."""
        tour = Tour(self, coins)
        points = np.unique(np.linspace(0, walk.steps, COARSE + 1).astype(int)).tolist()
        change = {ends: tour.change(*map(walk.table, ends)) for ends in pairwise(points)}
        finite = [moved / (b - a) for (a, b), moved in change.items() if moved < np.inf]
        usual = median(finite or [0.0])
        parts = [(-abs(moved - usual * (b - a)), a, b) for (a, b), moved in change.items()]
        steps = {k for number in walk.requested for k in (number, number + 1) if 0 < k <= walk.steps}
        heapq.heapify(parts)
        for _ in range(FINE):
            if not parts or -parts[0][0] <= usual * 1e-9:
                break
            _, a, b = heapq.heappop(parts)
            if b - a == 1:
                steps.add(b)
                continue
            for ends in pairwise((a, (a + b) // 2, b)):
                moved = tour.change(*map(walk.table, ends))
                heapq.heappush(parts, (-abs(moved - usual * (ends[1] - ends[0])), *ends))
        for k in sorted(steps):
            for pair in walk.step(k):
                self._judge_pair(tour, pair)

    def along_values(self, domain: Domain, records: Rows, coins: int) -> None:
        """Judge pairs in which one row becomes each of the records, and pairs of records far apart.

        The ℓ1 distance is the largest difference of signed sums, of which some are looked at.
        """
        tour, unit = Tour(self, coins), domain.rows // 2 + 1
        kept, sums, signs = list[Pair](), list[Floats](), None
        for pair in star(domain, self.subject.relation, "uniform", unit, records):
            self._judge_pair(tour, pair)
            exact = tour.exact(pair.right) if len(pair.right) == domain.rows else None
            if exact is not None and self.shared:
                signs = _signs(len(exact)) if signs is None else signs
                if signs.shape[1] == len(exact):
                    kept.append(pair)
                    sums.append(signs @ exact)
        ends = np.stack([np.argmax(sums, axis=0), np.argmin(sums, axis=0)], axis=1) if sums else ()
        for one, other in dict.fromkeys(map(tuple, np.array(ends).tolist())):
            left, right = kept[one].right, kept[other].right
            self._judge_pair(tour, Pair(left, right, kept[one].base, kept[one].seed, unit))

    def along_coins(self, pair: Pair, seeds: Iterable[int]) -> None:
        """Judge one pair under many public coins, where these change anything, with releases of one run."""
        data = max(pair.left, pair.right, key=np.sum)  # zeros hide a factor
        root = rehearsed(self.subject, self.proved, data, 0)
        if isinstance(root, Failed) or not self.shared:
            return
        for coins in seeds:
            run = replayed(self.subject, data, root, coins, again=False)
            if isinstance(run, Failed) or unlike(root, run) is not None:
                self.run_pair(pair, coins)

    def along_records(self, domain: Domain, records: int) -> None:
        """Judge a pair with a record that adds more or less, in total, than all others, if there is one.

        Every dataset has new records.  If all but few have one total, a search finds such a record.
        """
        tour, usual = Tour(self, 0), None
        for number in range(records // domain.rows):
            base, other = (f"last of {domain.rows * (k + 1)} uniform" for k in (0, number))
            walk = Walk(domain, self.subject.relation, f"first {{}} {other}, then {base}", domain.rows)
            total = tour.total(walk.table(domain.rows))
            usual = total if usual is None else usual
            if total is None or usual != total:
                steps = range(1, domain.rows + 1) if total is not None and number > SAME else ()
                found = bisect_left(steps, 1, key=lambda k: int(tour.total(walk.table(k)) != usual))
                for pair in walk.step(found + 1) if steps else ():
                    self._judge_pair(tour, pair)
                if steps:
                    self.along_values(domain, walk.table(found + 1)[max(found - BESIDE, 0) : found + 1], 0)
                return


class Tour:
    """Runs on the datasets of a tour; those after the first (`root`) replay its releases if possible."""

    def __init__(self, judge: Judge, coins: int) -> None:
        self._judge, self.coins = judge, coins
        self.root: Run | Failed | None = None
        self._cache: dict[bytes, Run | Failed] = {}  #: cache of recent runs, by their data

    def run_on(self, data: Rows) -> Run | Failed:
        """Return the (cached) run on the data."""
        # Neighbours along a tour share datasets, so that each pair costs about one run.
        key = hashlib.blake2b(data.tobytes(), digest_size=16).digest()
        run = self._cache.pop(key, None) or self._run(data)
        self.root = self.root or run
        self._cache[key] = run
        if len(self._cache) > CACHED_RUNS:
            del self._cache[next(iter(self._cache))]
        return run

    def _run(self, data: Rows) -> Run | Failed:
        judge, root = self._judge, self.root
        if root is None or not judge.shared:
            return rehearsed(judge.subject, judge.proved, data, self.coins)
        released = root.run if isinstance(root, Failed) else root
        return root if released is None else replayed(judge.subject, data, released, self.coins, again=False)

    def exact(self, data: Rows) -> Floats | None:
        """Return all exact values of a run, rounded; None if it fails or has none."""
        run = self.run_on(data)
        if isinstance(run, Failed) or not run.exact:
            return None
        return np.concatenate([np.asarray(exact, np.float64).ravel() for exact in run.exact.values()])

    def total(self, data: Rows) -> int | None:
        """Return the sum of all exact values of a run; None if it fails."""
        run = self.run_on(data)
        return None if isinstance(run, Failed) else sum(int(exact.sum()) for exact in run.exact.values())

    def change(self, left: Rows, right: Rows) -> float:
        """Return the query's total change between two datasets; ∞ if the output differs."""
        run, other = self.run_on(left), self.run_on(right)
        note(run, other)
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


def _signs(width: int) -> Floats:
    """Return rows of signs: all that begin with +, or, of many, their sum and drawn ones."""
    if 2 ** (width - 1) <= SIGNED_SUMS:
        return np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=width - 1)])
    drawn = np.random.default_rng(SEED).choice([1.0, -1.0], (SIGNED_SUMS - 1, width))
    return np.vstack([np.ones(width), drawn])
