"""The white-box attack on a proof or claim: known noise distributions, the worst pair found, counted runs.

Each run executes the real code on one of two datasets; its score is the exact log-likelihood ratio of
the releases, from the private values that the code passed to its noise source.  A proof is about the
releases; a claim is about the output, so it is tested by a score of the output alone
(`audits.attack.output_scores`).  A threshold is fixed on training runs; other runs certify it.
"""

import pickle
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import dpaccount_packages
from audits.attack.confirmation import exceeds, judged
from audits.attack.output_scores import Sample, ShownScore, learn, runs_to_fit, sample_of
from audits.attack.rules import LowerBound, Planner, plan_known_threshold
from audits.attack.runs import Progress, progress_counter, silent
from audits.consistency.verdict import asserted
from audits.datasets.bases import Pair
from audits.hypothesis_tests.checks import check_of
from audits.hypothesis_tests.judge import Judge, WorstPair
from audits.hypothesis_tests.replay import (
    Failed,
    Part,
    ReplayError,
    Run,
    differing,
    log_ratio,
    record,
    recorded,
    replay,
    replayed,
)
from audits.subjects.code import stay_on_path
from audits.tradeoff import EventClaim
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Floats, Integers, Rehearsal
from dpaccount.proof.search import delta_upper
from dpaccount.schemas.certificate import ShownPair
from dpaccount.work.described import DERIVED
from dpaccount.work.run import Series, run
from dpaccount.work.workers import workers
from mechanisms.subject import Subject

CHUNK = 250
TRAINING = 20  #: one run in this many is for training: few suffice for likelihood ratios
PROBES = 20  #: number of runs that measure the time per run
TIME_SHARE = 0.5  #: fraction of the wall-clock limit that the runs are planned for
SCORE_COLUMNS = {"proof": 0, "claim": 1}  #: a target's column: the score of releases, or of output
EXTRA = 200  #: maximum additional runs for fitting a map from output to releases
FIRST_EXTRA = 2**40  #: number of the first of these runs
LATER = 2**41  #: number of the first run for fitting any other score
CERTAIN = 1e9  #: the score of a run that is impossible in the other world
SCORES = 3  #: numbers of one run: two scores, and whether its replay differs
ODD = 5  #: runs of a world that are judged again


@dataclass(frozen=True)
class Target:
    """A point that the audit tests: ε must not exceed `limit` at `delta`; `of` is ``claim`` or ``proof``."""

    of: Literal["claim", "proof"]
    limit: Fraction
    delta: Fraction


@dataclass(frozen=True)
class Attacked:
    """The result of an audit: the pair, and the bound for every target; `failing`: what its runs refuted."""

    suspect: WorstPair
    trials: int
    results: tuple[tuple[Target, LowerBound], ...]
    failing: Sequence[ShownPair | None] = ()


def targets(proved: Proved, epsilon: Fraction, delta: Fraction, unit: int) -> list[Target]:
    """Return the claimed point, and points of the privacy profile that the proof asserts for `unit`.

    The profile's points are those at ε = 0 (total variation) and at half the claimed ε.
    """
    points = [Target("claim", epsilon, delta)]
    for curve in reversed([*asserted(proved.steps, unit)]):  # in the order of the derivation
        points += [Target("proof", limit, delta_upper(curve, limit)) for limit in (Fraction(0), epsilon / 2)]
    return points


@dataclass(frozen=True)
class AttackPlan:
    """2·`trials` runs, each on a side chosen by a fair coin; bounds hold together with confidence 1 − risk.

    `seconds` is a time limit, which reduces the runs.  The result depends on the seed and not on `jobs`,
    since every run is seeded by its number.  Worker processes import a user's class from `folders`.
    """

    trials: int
    risk: Fraction
    seed: int
    jobs: int = 1
    seconds: float | None = None
    folders: tuple[str, ...] = ()
    progress: Progress = silent


def attack(
    subject: Subject,
    proved: Proved,
    points: list[Target],
    suspect: WorstPair,
    plan: AttackPlan,
    *,
    planners: tuple[Planner, ...] = (plan_known_threshold,),
    curve: EventClaim | None = None,
) -> Attacked:
    """Attack `points` on one pair.

    The first twentieth of the runs chooses every point's rule, the most promising one of `planners`; the rest
    certifies it.  A rejection of the point, or of the `curve` that is claimed in its place, must be strong
    (`audits.attack.confirmation`).  No bets stop it early, as they stop a plain function's: they take half of
    the risk from every class that keeps its claim, and most do, to save runs on one that does not.
    """
    seed, jobs = plan.seed, plan.jobs
    worlds, trials, swapped, train = _prepared(subject, proved, suspect, plan)
    rights, tell = int(swapped.sum()), progress_counter("audit", 2 * trials, plan.progress)
    trained = train - int(swapped[:train].sum()), int(swapped[:train].sum())
    runs = range(2 * trials - rights), range(rights)
    left, right = scores(worlds, proved, runs, seed, jobs, tell)
    failing = refuted_by_runs(worlds, proved, (left[:, 2], right[:, 2]), seed)
    share = plan.risk / len(points)
    results = []
    for target in points:
        left_scores, right_scores = left[:, SCORE_COLUMNS[target.of]], right[:, SCORE_COLUMNS[target.of]]
        plans = [
            planner(
                left_scores[: trained[0]],
                right_scores[: trained[1]],
                target.delta,
                share,
                trials - train // 2,
            )
            for planner in planners
        ]
        rule = max(plans, key=lambda planned: planned[1])[0]
        scored = left_scores[trained[0] :], right_scores[trained[1] :]
        at = partial(rule.measure, *scored, target.delta)
        beyond = partial(exceeds, epsilon=target.limit, curve=curve)
        results.append((target, judged(at, beyond, share, points=len(points))))
    return Attacked(suspect, trials, tuple(results), failing)


def _prepared(
    subject: Subject, proved: Proved, suspect: WorstPair, plan: AttackPlan
) -> tuple[list["World"], int, NDArray[np.bool_], int]:
    """Return both worlds, the number of runs a side, which runs are on the right, and how many train."""
    pair = suspect.pair
    central = any(view.audience == "everyone" for view in proved.views)
    unit = 0 if central else pair.unit
    absent = unit if len(pair.left) == len(pair.right) else 0  # a removed unit has no row on the right
    world = World(subject, pair, suspect.coins, plan.folders, changed=unit)
    worlds = [replace(world, unit=unit), replace(world, unit=absent, swapped=True)]
    trials = affordable(worlds, proved, plan)
    # A coin of its own for every run, not equal halves: the bound of guesses is about coins.
    swapped = np.random.default_rng([plan.seed, 11]).integers(0, 2, 2 * trials) == 1
    train = max(2 * trials // TRAINING, 10)
    return with_learned_scores(worlds, proved, swapped[:train], plan.seed), trials, swapped, train


def affordable(worlds: list["World"], proved: Proved, plan: AttackPlan) -> int:
    """Return how many runs a side, at most `trials`, fit into the time limit, if there is one."""
    if plan.seconds is None:
        return plan.trials
    begun = time.process_time()  # waits for a processor are no work
    for world in worlds:
        for number in range(PROBES):
            world.score(proved, _sampler(world, plan.seed, number))
    pace = (time.process_time() - begun) / (2 * PROBES)
    return max(min(plan.trials, int(TIME_SHARE * plan.seconds * plan.jobs / (2 * pace))), 30)


@dataclass(frozen=True)
class World:
    """One side of the comparison: a subject on the pair's left dataset, or the right one if `swapped`.

    The adversary is everyone but `unit` (0: everyone); `shown` scores the output that they see.  The own
    part of `changed` may differ between the sides (0: of none).
    """

    subject: Subject
    pair: Pair
    coins: int
    folders: tuple[str, ...] = ()
    swapped: bool = False
    unit: int = 0
    changed: int = 0
    shown: ShownScore = field(default_factory=ShownScore)

    def score(self, proved: Proved, sampler: Rehearsal) -> tuple[float, float, float]:
        """Return the scores of one run, large for the left: of its releases, and of what it shows.

        And 1 if its replay on the other side fails, or shows something else.
        """
        run, other, ratio = self.run(proved, sampler)
        if run is None:
            return 0.0, 0.0, 0.0
        shown = self.shown.of(run, ratio, lambda released: self.again(released, run, proved), self.unit)
        return ratio, shown, float(self.differ(run, other))

    def differ(self, run: Run, other: Run | None) -> bool:
        """Return whether the replay of a run shows others something else."""
        return other is None or differing(*self.in_order(run, other), self.changed) is not None

    def in_order(self, run: Any, other: Any) -> tuple[Any, Any]:
        """Return what belongs to this side and to the other: the left first."""
        return (other, run) if self.swapped else (run, other)

    def run(self, proved: Proved, sampler: Rehearsal) -> tuple[Run | None, Run | None, float]:
        """Return a run in this world, its replay in the other, and the log-likelihood ratio of its releases.

        A run is None if the code fails in that world.
        """
        other: Run | None = None
        here, there = self.in_order(self.pair.left, self.pair.right)
        try:
            run = record(self.subject, here, rehearse(proved, sampler), self.coins)
        except (Exception, SystemExit) as error:
            self._tolerate(error)
            return None, None, 0.0
        try:
            other = replay(self.subject, there, run, self.coins)
            ratio = log_ratio(run, other, proved.laws)
        except ReplayError:
            ratio = CERTAIN
        except (Exception, SystemExit) as error:
            self._tolerate(error)
            ratio = 0.0
        return run, other, -ratio if self.swapped else ratio

    def training_sample(self, run: Run, other: Run | None, ratio: float) -> Sample:
        """Return the training sample of a run; if its replay has another output, that reveals the side."""
        if other is None or not self.differ(run, other):
            return sample_of(run, ratio, self.unit)
        return sample_of(run, -CERTAIN if self.swapped else CERTAIN, self.unit, certain=True)

    def again(self, released: dict[Part, Integers], like: Run, proved: Proved) -> float:
        """Return the log-likelihood ratio of any releases, from replays on both sides; 0 where one fails."""
        given = replace(like, exact=released, released=released)
        try:
            left, right = (
                replay(self.subject, rows, given, self.coins) for rows in (self.pair.left, self.pair.right)
            )
            return log_ratio(left, right, proved.laws)
        except (Exception, SystemExit) as error:
            self._tolerate(error)
            return 0.0

    def _tolerate(self, error: BaseException) -> None:
        """Treat an exception of a user's code as no information; property tests report it.

        Errors of the machine or of our own code are raised again: they may occur on one side only, and a
        score based on them could refute a true claim.
        """
        ours = dpaccount_packages.is_ours(type(self.subject).__module__)
        if isinstance(error, MemoryError | OSError) or (ours and not isinstance(error, ReplayError)):
            raise error


def with_learned_scores(
    worlds: list[World], proved: Proved, training: NDArray[np.bool_], seed: int
) -> list[World]:
    """Return the worlds with a score of the output that is learned from training runs, and extra ones."""

    def samples(world: World, runs: range) -> list[Sample]:
        played = (world.run(proved, _sampler(world, seed, n)) for n in runs)
        return [world.training_sample(run, other, ratio) for run, other, ratio in played if run is not None]

    right = int(training.sum())
    learned = samples(worlds[0], range(len(training) - right)) + samples(worlds[1], range(right))
    more = runs_to_fit(learned) - len(learned)
    if 0 < more <= EXTRA and learn(learned).weights is None:
        learned += samples(worlds[0], range(FIRST_EXTRA, FIRST_EXTRA + more))
    score = learn(learned)
    if score.weights is None:  # overfitted to its training runs, which choose the event: fit it to others
        sizes = len(training) - right, right
        later = [samples(world, range(LATER, LATER + n)) for world, n in zip(worlds, sizes, strict=True)]
        score = learn([*later[0], *later[1]])
    return [replace(world, shown=score) for world in worlds]


def _sampler(world: World, seed: int, number: int) -> Rehearsal:
    return Rehearsal(np.random.SeedSequence([seed, int(world.swapped), number]))


@dataclass(frozen=True)
class ScoredRuns:
    """Computes the scores of each run in one world, by number: see `World.score`.

    Scores are finite, and rounded so that ratios that differ by rounding errors are equal.
    """

    world: World
    delta: Fraction
    seed: int
    proved: Proved = field(metadata=DERIVED)  #: of the subject, at `delta`

    def __call__(self, runs: range) -> Floats:
        """Return the scores of some runs."""
        scored = [self.world.score(self.proved, _sampler(self.world, self.seed, n)) for n in runs]
        return np.array(scored).reshape(len(scored), SCORES).clip(-CERTAIN, CERTAIN).round(9)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the theorem, which cannot be pickled: each worker proves it again, once."""
        return _unpickled, (self.world.folders, pickle.dumps(self.world), self.delta, self.seed)


@lru_cache(maxsize=8)
def _unpickled(folders: tuple[str, ...], packed: bytes, delta: Fraction, seed: int) -> ScoredRuns:
    if folders:  # a user's code must not print to the worker's protocol stream
        sys.stdout = sys.stderr
    stay_on_path(folders)  # a user's class is imported from the same path
    world: World = pickle.loads(packed)  # noqa: S301  # made by this program a moment ago
    return ScoredRuns(world, delta, seed, Proved(world.subject.proof(delta)))


def scores(
    worlds: Sequence[World],
    proved: Proved,
    runs: Sequence[range],
    seed: int,
    jobs: int = 1,
    tell: Callable[[int], object] = lambda _: None,
) -> list[Floats]:
    """Return the scores of each world's runs; `tell` is called with the number of further runs done."""
    (_, delta), name = proved.point, f"audit {type(worlds[0].subject).__name__}"
    series = [
        Series(name, ScoredRuns(world, delta, seed, proved), part, CHUNK)
        for world, part in zip(worlds, runs, strict=True)
    ]
    few = sum(map(len, runs)) < 4 * CHUNK  # faster than starting another process
    with workers(1 if few else jobs):
        scored = run(series, tell)
    return [done.reshape(-1, SCORES) for done in scored]


def refuted_by_runs(
    worlds: Sequence[World], proved: Proved, differ: Sequence[Floats], seed: int
) -> list[ShownPair | None]:
    """Return failing examples by hypothesis, if runs that `differ` from their replays are such."""
    judge = Judge(worlds[0].subject, proved, [check_of(proved, each)[0] for each in proved.hypotheses])
    for world, differs in zip(worlds, differ, strict=True):
        here, there = world.in_order(world.pair.left, world.pair.right)
        for number in np.flatnonzero(differs)[:ODD].tolist():
            noise = rehearse(proved, _sampler(world, seed, number))
            run = recorded(world.subject, here, noise, world.coins)
            released = run.run if isinstance(run, Failed) else run
            if released is not None:
                other = replayed(world.subject, there, released, world.coins)
                judge.judge_runs(world.pair, world.coins, *world.in_order(run, other))
    return judge.seen.failing
