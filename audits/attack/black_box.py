"""The black-box attack on a function: find a pair, learn a score, certify on fresh runs.

Search and learning use separate runs, so they may overfit; one rule, fixed on one pair, is then
measured on fresh runs.  Every run has a number, and its randomness depends only on the seed and that
number, whichever process makes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from audits.attack.bets import BET_ON_ALL, Bets
from audits.attack.confirmation import (
    FRESH,
    KEPT,
    exceeds,
    judged,
    leakage_bound,
    verdict_of,
    with_missing_runs,
)
from audits.attack.pair_search import (
    CLEAR,
    WALKED,
    Screen,
    Stuck,
    Trial,
    expected_of,
    judge_of,
    more_runs,
    most_suspicious,
    movement_of,
    note_all,
    note_kinds,
    rare_moves,
)
from audits.attack.rules import (
    BetRefutation,
    LowerBound,
    Planner,
    Rule,
    Threshold,
    most_beyond,
    plan_guess,
    plan_threshold,
)
from audits.attack.runs import (
    MIN_RUNS,
    SHARED_SEEDS,
    THIN,
    TRAIN,
    Challenge,
    Progress,
    Runs,
    asked_of,
    room_for,
    runs_within,
)
from audits.datasets.bases import Pair
from audits.sandbox.crew import KEEPS, Crew, TimeUp
from audits.sandbox.outcomes import WANTED, Outcome
from audits.scores.causes import cause
from audits.scores.grid import RoundingGrid, grid_for
from audits.scores.learned_scores import Learned, best_score
from audits.scores.sketch import FEATURES, WIDE_NUMBERS
from dpaccount.errors import InputError
from dpaccount.noise.samplers import Floats

RUNS_PER_REPORT = 5000  #: certifying runs between two reports of progress
RUNS_PER_BET = 500  #: certifying runs between two updates of the bets
SPARE = 0.8  #: fraction of the remaining time to plan for
EARLY = 1000  #: minimum certifying runs for early stopping
REPORTED = 5.0  #: approximate seconds between two reports of progress
ELSEWHERE = 40  #: further pairs to try if no run gave a result
CERTIFYING, CONFIRMING = 6, 10  #: numbers of these series of runs
CUT_SHORT = "time ended the attack before all runs that are asked for: --seconds {:.0f} should be enough"
DOUBTED = "the first runs reject the claim at the stated confidence, but {} fresh runs do not confirm it"

#: a score and a rule that are fixed, for results as they are or on a grid
Ruled = tuple[RoundingGrid | None, Learned, Rule]


@dataclass(frozen=True)
class RoundedBound:
    """The bound that the same runs give for results rounded to a grid."""

    grid: RoundingGrid
    reached: LowerBound


@dataclass(frozen=True)
class Certified:
    """The bound from `runs` certifying runs, and the one that total leakage in as many runs would give.

    Where the first bound was in doubt, `fresh` runs decided; `doubted` if they do not confirm it.
    """

    reached: LowerBound
    leaked: LowerBound
    runs: int
    on_grid: RoundedBound | None = None
    fresh: int = 0
    doubted: bool = False
    in_time: bool = True  #: whether time allowed all runs of both


@dataclass(frozen=True)
class _Scored:
    """Runs on sides that were chosen beforehand, and their scores by each of some rules."""

    rules: Sequence[Ruled]
    coins: NDArray[np.int64]
    scores: list[list[Floats]]
    runs: int = 0
    won: BetRefutation | None = None

    def bound(self, delta: Fraction, risk: Fraction, place: int = 0) -> LowerBound:
        """Return the bound that a rule shows, with missing runs counted against it."""
        scores = with_missing_runs(np.concatenate(self.scores[place]), self.coins)
        return self.rules[place][2].measure(scores[self.coins == 0], scores[self.coins == 1], delta, risk)


@dataclass(frozen=True)
class Attempt:
    """The result of an attack on the pair that it chose; `runs` were made on that pair.

    `leaked` is the bound that these runs would have given, had every one of them revealed its side.
    """

    candidate: Pair
    reached: LowerBound
    score: str
    runs: int
    searched: int
    findings: tuple[str, ...]
    leaked: LowerBound
    cause: str | None = None  #: the simplest event or column that refutes the claim by itself, if any
    on_grid: RoundedBound | None = None  #: if the claim is refuted: the bound for rounded results
    cut: str | None = None  #: what the time limit, or the results' width, reduced
    in_time: bool = True  #: whether the time limit reduced nothing

    @property
    def power(self) -> float:
        """Return the largest ε that these runs could have shown."""
        return max(self.leaked.epsilon_lower, self.reached.epsilon_lower)

    def verdict(self, epsilon: Fraction) -> str:
        """Return REFUTED, NOT REFUTED, or NOT ATTACKED if no result could refute the claim."""
        return verdict_of(self.reached.epsilon_lower, self.power, epsilon, in_time=self.in_time)


def attack(
    crew: Crew, pairs: Sequence[Pair], challenge: Challenge, progress: Progress, walk: Sequence[Pair] = ()
) -> Attempt:
    """Attack the claim on the most suspicious of `pairs`, and of those that move oddly along a `walk`.

    Raises `Stuck` if no attack is possible, and `InputError` if no run gives a result.
    """
    if not pairs:
        raise Stuck("no two neighbouring datasets of this shape exist")
    findings: list[str] = []
    crew.survey = ()
    try:
        pace, repeats = _probe(crew, pairs, challenge, findings)
        _require_result(crew, pairs, challenge, pace)
        asked = asked_of(challenge, len(pairs))
        if asked.cost > _affordable(crew, pace):  # perhaps at a bad moment
            pace = min(pace, _paced(crew, challenge)[0])
        planned = _planned(crew, pace, challenge, len(pairs))
        progress("search for the most suspicious pair")
        screen = Screen.of(planned, repeats=repeats)
        if repeats and planned == asked and not crew.hurried and len(walk) > 1 < len(pairs):
            pairs = [*rare_moves(crew, walk[: planned.cost // WALKED], challenge.seed), *pairs]
        trial, searched = most_suspicious(crew, pairs, challenge, planned, screen, pace, findings, progress)
        if repeats and trial.moved is None and crew.tally.widest > 1:
            trial.moved = movement_of(crew, trial, challenge.seed)
        progress(f"learning from {planned.train} runs a side")
        bets = _train(crew, trial, challenge, planned)
        certify = min(asked.certify, int(SPARE * crew.seconds_left() / trial.pace))
        if certify < 1 or len(trial.left) < TRAIN:
            raise TimeUp
        learned, rule = _learn(trial, challenge, certify)
        rules = [(None, learned, rule), *_rule_on_grid(trial, challenge, certify, learned)]
        progress(f"certifying on {certify} fresh runs")
        certified = _certify(crew, trial, rules, challenge, certify, progress, bets)
        note_all(trial, findings)
    except TimeUp:
        why = "; ".join(
            [f"its runs did not end within {crew.seconds:.3g} seconds", *crew.tally.failure_counts()]
        )
        raise Stuck(f"{why}; allow more seconds") from None
    if certified.doubted:
        findings.append(DOUBTED.format(certified.fresh))
    runs = len(trial.left) + len(trial.right) + certified.runs
    whole = planned == asked and certify >= asked.certify and not crew.hurried
    in_time = whole and (certified.in_time or isinstance(certified.reached, BetRefutation))
    fewer = runs < 2 * asked.train + asked.certify
    runs += certified.fresh
    what = f"{runs} of {challenge.trials} runs" if fewer else "the search for a pair"
    cuts = [] if in_time else [f"cut by time: {what} (a run takes {trial.pace:.2g} s)"]
    if not in_time:
        findings.append(_advice(crew, trial.pace, challenge, len(pairs)))
    cuts += _cut_by_width(crew, planned, len(pairs))
    refutes = exceeds(certified.reached, challenge.epsilon, challenge.curve)
    judge = judge_of(challenge, max(len(trial.left), 1))
    return Attempt(
        trial.candidate,
        certified.reached,
        learned.score.sentence(),
        runs,
        searched,
        tuple(dict.fromkeys([*crew.tally.failure_counts(), *findings, *cuts])),
        certified.leaked,
        cause(learned, trial.left, trial.right, judge) if refutes else None,
        certified.on_grid if refutes else None,
        "; ".join(cuts) or None,
        in_time,
    )


# ------------------------------------------------------------------ how many runs


def _planned(crew: Crew, pace: float, challenge: Challenge, pairs: int) -> Runs:
    try:
        return runs_within(_affordable(crew, pace), challenge, pairs)
    except TimeUp:
        few = f"a run takes {pace:.2g} s, and too few of them fit into {crew.seconds:.3g} seconds"
        raise Stuck(f"{few}; allow more seconds") from None


def _cut_by_width(crew: Crew, planned: Runs, pairs: int) -> list[str]:
    room, wide = room_for(crew.tally.held), f"cut by width: results of up to {crew.tally.widest} numbers"
    if crew.tally.widest > WIDE_NUMBERS:
        return [f"{wide}, reduced to {FEATURES} features"]
    if room < planned.at_once(pairs):
        return [f"{wide}, of which {max(room, THIN)} runs a side are compared at once"]
    return []


def _advice(crew: Crew, pace: float, challenge: Challenge, pairs: int) -> str:
    """Return how much time the runs that are asked for need, and how many fit into half of the time."""
    at_once = SPARE * crew.processes / pace
    said = CUT_SHORT.format(2 * max(asked_of(challenge, pairs).cost / at_once, crew.seconds))
    trials = challenge.trials
    while trials and asked_of(replace(challenge, trials=trials), pairs).cost > at_once * crew.seconds / 2:
        trials = trials // 2 if trials > MIN_RUNS else 0
    return f"{said}, or --trials {trials}" if 0 < trials < challenge.trials else said


def _affordable(crew: Crew, pace: float) -> int:
    return int(SPARE * crew.seconds_left() * crew.processes / pace)


def _paced(crew: Crew, challenge: Challenge) -> tuple[float, list[Outcome]]:
    """Make three runs; return the seconds per run, and their outcomes."""
    begun = crew.seconds_left()
    made = crew.run([(which, challenge.seed, 0, 1) for which in (0, 1, 1)])
    return max((begun - crew.seconds_left()) / 3, 1e-6), made


def _probe(
    crew: Crew, pairs: Sequence[Pair], challenge: Challenge, findings: list[str]
) -> tuple[float, bool]:
    """Make a few runs; return the seconds per run, and whether equal seeds give equal results."""
    first = next((pair for pair in pairs if pair.base == "uniform"), pairs[-1])
    crew.set_datasets([first.left, pairs[0].left])
    again = crew.run([(0, challenge.seed, 0, 1)])  # not timed: the first call may import modules
    pace, more = _paced(crew, challenge)
    again += more
    if all(outcome.silent for outcome in again):
        raise Stuck(f"the function {again[0].structure}")
    repeats = again[0].key() == again[1].key() and again[2].key() == again[3].key()
    some: list[Outcome] = []
    crew.hurried = 24 * pace > crew.seconds_left() / 8
    if not crew.hurried:
        plays = [(which, challenge.seed, 0, n) for n in range(2, 14) for which in (0, 1)]
        some, begun = crew.run(plays), crew.seconds_left()
        twice = crew.run(plays[:8])  # timed: everything is loaded by now
        pace = min(pace, max((begun - crew.seconds_left()) / len(twice), 1e-6))
        repeats &= all(one.key() == other.key() for one, other in zip(some, twice, strict=False))
    if not repeats:
        findings.append("the same dataset and seed give different results: it draws from elsewhere too")
    keys = {outcome.key() for outcome in [*again, *some]}
    if len(keys) == 1:  # twice, since a rare result of other randomness is no state
        afresh = {outcome.key() for outcome in crew.run_afresh([(1, challenge.seed, 0, 1)] * 2)}
        if len(afresh) == 1 and afresh != keys:
            raise Stuck(KEEPS)
    if some:
        note_kinds([*again, *some], some, findings)
    return pace, repeats


def _require_result(crew: Crew, pairs: Sequence[Pair], challenge: Challenge, pace: float) -> None:
    """Try other datasets if no run gave a result; raise `InputError` if none does there either."""
    if not crew.tally.empty:
        return
    tried = pairs[: max(min(ELSEWHERE, _affordable(crew, pace) // 4), 1)]
    crew.set_datasets([side for pair in tried for side in (pair.left, pair.right)])
    for place in range(2 * len(tried)):
        crew.run([(place, challenge.seed, 1, SHARED_SEEDS[0])])
        if not crew.tally.empty:
            return
    tally = crew.tally
    raise InputError(
        f"{crew.code.use} {tally.first} on every run that was tried ({tally.runs}, the first is shown)",
        WANTED,
    )


# ------------------------------------------------------------------ learning and certifying


def _train(crew: Crew, trial: Trial, challenge: Challenge, planned: Runs) -> Bets | None:
    """Make the training runs; return bets on them if so few runs are planned that every run is bet on."""
    runs = min(planned.train, max(room_for(crew.tally.held), THIN)) - len(trial.left)
    if challenge.counts_only or 2 * planned.train + planned.certify >= BET_ON_ALL:
        more_runs(
            crew, trial, runs, challenge.seed, max(crew.seconds_left() / 3, 2 * (TRAIN + 1) * trial.pace)
        )
        return None
    bets = Bets(trial, challenge)
    bets.train(crew, 2 * runs)
    return bets


def _learn(trial: Trial, challenge: Challenge, certify: int) -> tuple[Learned, Rule]:
    """Return the score and the rule to certify, both fixed now."""
    runs = max(certify // 2, 1)
    learned = best_score(trial.left, trial.right, judge_of(challenge, runs), trial.moved, crossed=True)
    if challenge.curve is not None:
        return learned, expected_of(challenge, runs, learned.left, learned.right)[0]
    planners: list[Planner] = [plan_threshold]
    if not challenge.for_certificate and not _should_bet(challenge, certify):
        planners.insert(0, plan_guess)  # first, so preferred if both expect 0: it needs the fewest runs
    rules = [
        planner(learned.left, learned.right, challenge.delta, challenge.risk, runs) for planner in planners
    ]
    rule, expected = max(rules, key=lambda rule: max(rule[1], 0.0))
    if challenge.delta and expected <= challenge.epsilon:  # a rare event of one side may be beyond δ
        epsilon, delta = float(challenge.epsilon), float(challenge.delta)
        event, beyond = most_beyond(learned.left, learned.right, epsilon, delta)
        rule = event if beyond > CLEAR else rule
    return learned, rule


def _rule_on_grid(trial: Trial, challenge: Challenge, certify: int, raw: Learned) -> list[Ruled]:
    """Return grid, score and rule for rounded results, if training runs suggest a refutation.

    None with bets, which may stop too early for a second rule, and of features of wide results.
    """
    if trial.survey or raw.value < 1000.0 or challenge.for_certificate or _should_bet(challenge, certify):
        return []
    grid = grid_for(raw, trial.left, trial.right)
    if grid is None:
        return []
    sides = [grid.rounded(side) for side in (trial.left, trial.right)]
    learned, rule = _learn(replace(trial, left=sides[0], right=sides[1]), challenge, certify)
    return [(grid, learned, rule)]


def _should_bet(challenge: Challenge, certify: int) -> bool:
    """Return whether to bet, at a share of the risk, in addition to counting."""
    return challenge.bets and certify >= EARLY


def _certify(
    crew: Crew,
    trial: Trial,
    rules: Sequence[Ruled],
    challenge: Challenge,
    runs: int,
    progress: Progress,
    bets: Bets | None = None,
) -> Certified:
    """Measure the first of the fixed `rules`, and the second, if any, on rounded results, on fresh runs.

    Runs cut by the time limit count against the attack, except in bets, which take their share of the
    risk.  What rejects the claim is confirmed (`audits.attack.confirmation`), in as much time again.  The
    verdict on rounded results is separate and has its own risk.
    """
    trial.hand_to(crew)
    _, learned, rule = rules[0]
    if bets is None and _should_bet(challenge, runs) and isinstance(rule, Threshold):
        bets = Bets(trial, challenge, (learned, rule))
    begun = crew.seconds_left()
    first = _scored(crew, trial, challenge, CERTIFYING, runs, rules, progress, bets)
    pace = (begun - crew.seconds_left()) / max(first.runs, 1)
    delta, share = challenge.delta, Fraction(0) if bets is None else bets.share
    more = min(FRESH * runs, int(SPARE * (crew.seconds_left() + crew.seconds) / max(pace, 1e-7)))
    if bets is not None and bets.rule is not None:
        rules = [(None, *bets.rule)]
    again: _Scored | None = None

    def at(risk: Fraction) -> LowerBound:
        counted = first.bound(delta, risk * (1 - share))
        return counted if bets is None else _larger_bound(bets.shown(risk), counted)

    def fresh(risk: Fraction) -> LowerBound:
        nonlocal again
        progress(f"confirming on {more} fresh runs")
        crew.allow(crew.seconds)
        again = _scored(crew, trial, challenge, CONFIRMING, more, rules, progress)
        return again.bound(delta, risk)

    def leaked(risk: Fraction) -> LowerBound:
        counted = leakage_bound(rule, first.coins, first.runs, delta, risk * (1 - share))
        return counted if bets is None else _larger_bound(bets.power(risk), counted)

    def leaked_again(risk: Fraction) -> LowerBound:
        return leakage_bound(rules[0][2], _sides(challenge, CONFIRMING, more), more, delta, risk)

    def beyond(reached: LowerBound) -> bool:
        return exceeds(reached, challenge.epsilon, challenge.curve)

    power = judged(leaked, beyond, challenge.risk, leaked_again if more else None)
    if first.won is not None:
        return Certified(first.won, power, first.runs)
    reached = judged(at, beyond, challenge.risk, fresh if more else None, kept=KEPT)
    on_grid = None
    if len(first.rules) > 1 and first.rules[1][0] is not None:
        other = None if again is None else partial(again.bound, delta, place=1)
        shown = judged(partial(first.bound, delta, place=1), beyond, challenge.risk, other, kept=KEPT)
        on_grid = RoundedBound(first.rules[1][0], shown)
    doubted = beyond(at(challenge.risk)) and not beyond(reached)
    in_time = first.runs == runs and (again is None or again.runs == FRESH * runs)
    return Certified(
        reached, power, first.runs, on_grid, 0 if again is None else again.runs, doubted, in_time
    )


def _sides(challenge: Challenge, stream: int, runs: int) -> NDArray[np.int64]:
    """Return the side of each run, 0 for left: by a fair coin, or for counts alone in turn."""
    if challenge.counts_only:
        return np.arange(runs) % 2
    return np.random.default_rng([challenge.seed, stream - 1]).integers(0, 2, runs)


def _scored(
    crew: Crew,
    trial: Trial,
    challenge: Challenge,
    stream: int,
    runs: int,
    rules: Sequence[Ruled],
    progress: Progress,
    bets: Bets | None = None,
) -> _Scored:
    """Make runs whose number is fixed beforehand, unless time ends or bets win; return their scores."""
    # A run that time cuts may be missing because of its side, so its side is drawn before it is made, and it
    # counts against the attack.
    coins = _sides(challenge, stream, runs)
    scores: list[list[Floats]] = [[np.zeros(0)] for _ in rules]
    counted, won = 0, None
    block = _block_size(crew, trial.pace, bets)
    for start in range(0, runs, block):
        sides = coins[start : start + block]
        outcomes = crew.run_in_time(
            [(int(side), challenge.seed, stream, start + n) for n, side in enumerate(sides)]
        )
        if outcomes:
            for scored, (grid, learned, _) in zip(scores, rules, strict=True):
                scored.append(learned.score.of(outcomes if grid is None else grid.rounded(outcomes)))
            counted += len(outcomes)
            won = None if bets is None else bets.feed(outcomes, sides[: len(outcomes)] == 0)
        if won is not None or len(outcomes) < len(sides):
            break
        if start + block < runs:
            progress(f"certifying: {start + block} of {runs} runs")
    return _Scored(rules, coins, scores, counted, won)


def _block_size(crew: Crew, pace: float, bets: Bets | None) -> int:
    """Return the number of runs between two reports; with bets it must not depend on the time.

    Stakes are chosen anew with every block.
    """
    room = room_for(crew.tally.held)
    if bets is not None:
        return max(min(RUNS_PER_BET, room), 1)
    return max(min(RUNS_PER_REPORT, room, int(REPORTED / pace)), 2 * crew.jobs)


def _larger_bound(won: BetRefutation | None, other: LowerBound) -> LowerBound:
    return other if won is None or won.epsilon_lower <= other.epsilon_lower else won
