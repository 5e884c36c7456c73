"""The black-box attack on a function: find a pair, learn a score, certify on fresh runs.

Search and learning spend runs of their own, so they may be as greedy as they like; one rule, fixed
on one pair, is then measured on runs that neither has seen.  Every run has a number, and its
randomness follows from the seed and that number, whichever process makes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from audits.attack.bets import BET_ON_ALL, Bets
from audits.attack.e_process import Won
from audits.attack.membership_guessing import plan_guess
from audits.attack.pair_search import (
    Screen,
    Stuck,
    Trial,
    judge_of,
    more_runs,
    most_suspicious,
    movement,
    note,
)
from audits.attack.planning import Floats
from audits.attack.power import against, leakage, verdict_of
from audits.attack.runs import (
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
from audits.attack.thresholds import (
    LowerBound,
    Planner,
    Rule,
    Threshold,
    plan_event,
    plan_threshold,
    shown_by,
)
from audits.datasets.bases import Pair
from audits.sandbox.crew import Crew, TimeUp
from audits.sandbox.outcomes import Outcome
from audits.scores.causes import cause
from audits.scores.grid import RoundingGrid, grid_for
from audits.scores.learned_scores import Learned, best_score
from dpaccount.errors import InputError

RUNS_PER_REPORT = 5000  #: certifying runs between two reports of progress
RUNS_PER_BET = 500  #: certifying runs after which it is seen whether bets refute the claim
SPARE = 0.8  #: fraction of the remaining time that is planned for
EARLY = 1000  #: number of certifying runs from which early stopping pays off
REPORTED = 5.0  #: seconds of certifying runs between two reports of progress, about
ELSEWHERE = 40  #: pairs on which a function without any result so far is tried
#: of a few runs; a program that seeds itself by the clock gives the same for a while, too
ALIKE = "the same result for every seed: no noise was seen, or it does not follow the seed; draw it from rng"

Rounded = tuple[RoundingGrid, Learned, Rule]  #: a grid, and what is certified of results on it


@dataclass(frozen=True)
class RoundedBound:
    """What the same runs show of rounded results."""

    grid: RoundingGrid
    reached: LowerBound


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
    cause: str | None = None  #: what refutes the claim by itself, if that has a plain description
    on_grid: RoundedBound | None = None  #: where the claim is refuted: what rounded results show
    cut: str | None = None  #: what the wall-clock limit, or the results' width, reduced

    @property
    def power(self) -> float:
        """Return the largest ε that these runs could have shown."""
        return max(self.leaked.epsilon_lower, self.reached.epsilon_lower)

    def refuted(self, epsilon: Fraction) -> bool:
        """Return whether the bound on ε is above a claim."""
        return self.reached.epsilon_lower > epsilon

    def verdict(self, epsilon: Fraction) -> str:
        """Return REFUTED, NOT REFUTED, or NOT ATTACKED if no result could refute the claim."""
        return verdict_of(self.reached.epsilon_lower, self.power, epsilon)


def attack(crew: Crew, pairs: Sequence[Pair], challenge: Challenge, progress: Progress) -> Attempt:
    """Attack the claim on the most suspicious of `pairs`.

    Raises `Stuck` if no attack is possible, and `InputError` if no run gives a result.
    """
    if not pairs:
        raise Stuck("no two neighbouring datasets of this shape exist")
    findings: list[str] = []
    try:
        pace, repeats = _probe(crew, pairs, challenge, findings)
        _anything(crew, pairs, challenge, pace)
        asked, planned = asked_of(challenge, len(pairs)), _planned(crew, pace, challenge, len(pairs))
        progress("search for the most suspicious pair")
        how = Screen.of(planned, repeats=repeats)
        trial, searched = most_suspicious(crew, pairs, challenge, planned, how, pace, findings, progress)
        if repeats and trial.moved is None and crew.tally.most > 1:
            trial.moved = _movement(crew, trial, challenge.seed)
        progress(f"learning from {planned.train} runs a side")
        train = min(planned.train, max(room_for(crew.tally.most), THIN)) - len(trial.left)
        few = not challenge.only_counts and 2 * planned.train + planned.certify < BET_ON_ALL
        bets = Bets(trial, challenge) if few else None
        if bets is None:
            more_runs(crew, trial, train, challenge.seed, max(crew.left() / 3, 2 * (TRAIN + 1) * trial.pace))
        else:
            bets.train(crew, 2 * train)
        certify = min(asked.certify, int(SPARE * crew.left() / trial.pace))
        if certify < 1 or len(trial.left) < TRAIN:
            raise TimeUp
        learned, rule = _learn(trial, challenge, certify)
        grid_rule = _rounded(trial, challenge, certify, learned)
        progress(f"certifying on {certify} fresh runs")
        reached, leaked, total, on_grid = _certify(
            crew, trial, (learned, rule), challenge, certify, progress, grid_rule, bets
        )
    except TimeUp:
        why = "; ".join(
            [f"its runs did not end within {crew.seconds:.3g} seconds", *crew.tally.failure_counts()]
        )
        raise Stuck(f"{why}; allow more seconds") from None
    runs = len(trial.left) + len(trial.right) + total
    cuts = []
    short = certify < asked.certify or (total < certify and not isinstance(reached, Won))
    if planned != asked or short or crew.hurried:
        fewer = runs < 2 * asked.train + asked.certify
        what = f"{runs} of {challenge.trials} runs" if fewer else "the search for a pair"
        cuts.append(f"cut by time: {what} (a run takes {trial.pace:.2g} s)")
    room = room_for(crew.tally.most)
    if room < planned.at_once(len(pairs)):
        wide = f"results of up to {crew.tally.most} numbers"
        cuts.append(f"cut by width: {wide}, of which {max(room, THIN)} runs a side are compared at once")
    findings += cuts
    findings[:0] = crew.tally.failure_counts()
    return Attempt(
        trial.candidate,
        reached,
        learned.score.sentence(),
        runs,
        searched,
        tuple(dict.fromkeys(findings)),
        leaked,
        _cause(trial, learned, challenge) if _refutes(reached, challenge) else None,
        on_grid if _refutes(reached, challenge) else None,
        "; ".join(cuts) or None,
    )


# ------------------------------------------------------------------ how many runs


def _planned(crew: Crew, pace: float, challenge: Challenge, pairs: int) -> Runs:
    try:
        return runs_within(_affordable(crew, pace), challenge, pairs)
    except TimeUp:
        few = f"a run takes {pace:.2g} s, and too few of them fit into {crew.seconds:.3g} seconds"
        raise Stuck(f"{few}; allow more seconds") from None


def _affordable(crew: Crew, pace: float) -> int:
    return int(SPARE * crew.left() * crew.processes / pace)


def _probe(
    crew: Crew, pairs: Sequence[Pair], challenge: Challenge, findings: list[str]
) -> tuple[float, bool]:
    """Run a little; note how the function behaves; return a run's seconds, and whether seeds repeat a run."""
    first = next((pair for pair in pairs if pair.base == "uniform"), pairs[-1])
    crew.keep([first.left, pairs[0].left])
    again = crew.run([(0, challenge.seed, 0, 1)])  # alone: what is loaded at the first call is not the pace
    begun = crew.left()
    again += crew.run([(which, challenge.seed, 0, 1) for which in (0, 1, 1)])
    if all(outcome.silent for outcome in again):
        raise Stuck(f"the function {again[0].structure}")
    repeats = again[0].key() == again[1].key() and again[2].key() == again[3].key()
    pace = max((begun - crew.left()) / 3, 1e-6)
    some: list[Outcome] = []
    crew.hurried = 24 * pace > crew.left() / 20
    if not crew.hurried:  # else every run counts
        plays = [(which, challenge.seed, 0, n) for n in range(2, 14) for which in (0, 1)]
        some, begun = crew.run(plays), crew.left()
        twice = crew.run(plays[:8])  # what is loaded late, at the first of them, is not the pace either
        pace = max((begun - crew.left()) / len(twice), 1e-6)
        repeats &= all(one.key() == other.key() for one, other in zip(some, twice, strict=False))
    if not repeats:
        findings.append("the same dataset and seed give different results: it draws from elsewhere too")
    if some:
        _note_kinds([*again, *some], some, findings)
    return pace, repeats


def _note_kinds(runs: list[Outcome], some: list[Outcome], findings: list[str]) -> None:
    """Record as findings results that never vary, and results of different kinds."""
    each = [
        {outcome.key() for outcome in outcomes if not outcome.failed} for outcomes in (some[::2], some[1::2])
    ]
    if all(len(results) == 1 for results in each):  # on one dataset alone it may well be what is rounded to
        findings.append(ALIKE)
    kinds = dict.fromkeys(outcome.structure for outcome in runs)
    if len(kinds) > 1:
        shown = [kind[:30].replace(r"\x20", " ") for kind in list(kinds)[:3]]
        findings.append(f"results of different kinds: {'; '.join(shown)}")
    note(findings, runs)


def _anything(crew: Crew, pairs: Sequence[Pair], challenge: Challenge, pace: float) -> None:
    """Try other datasets if no run gave a result; raise `InputError` if none does there either."""
    if not crew.tally.empty:
        return
    tried = pairs[: max(min(ELSEWHERE, _affordable(crew, pace) // 4), 1)]
    crew.keep([side for pair in tried for side in (pair.left, pair.right)])
    for place in range(2 * len(tried)):
        crew.run([(place, challenge.seed, 1, SHARED_SEEDS[0])])
        if not crew.tally.empty:
            return
    raise nothing(crew)


def nothing(crew: Crew) -> InputError:
    """Return the error for a function without a result on any run."""
    tally = crew.tally
    return InputError(
        f"{crew.code.use} {tally.first} on every run that was tried ({tally.runs}, the first is shown)",
        "fix it, so that it returns numbers or text",
    )


# ------------------------------------------------------------------ learning and certifying


def _movement(crew: Crew, trial: Trial, seed: int) -> Floats | None:
    """Return by how much the numbers of two runs with the same noise differ on a pair that is given."""
    crew.keep([trial.candidate.left, trial.candidate.right])
    one, other = crew.run([(side, seed, 1, SHARED_SEEDS[0]) for side in (0, 1)])
    return movement([(one, other)])


def _learn(trial: Trial, challenge: Challenge, certify: int) -> tuple[Learned, Rule]:
    """Return the score and the rule to certify, both fixed now."""
    runs = max(certify // 2, 1)
    learned = best_score(trial.left, trial.right, judge_of(challenge, runs), trial.moved, crossed=True)
    if challenge.curve is not None:
        levels = challenge.curve.lowers
        return learned, plan_event(learned.left, learned.right, levels, challenge.risk, runs)[0]
    planners: list[Planner] = [plan_threshold]
    if not challenge.counts_only and not _bets(challenge, certify):
        planners.insert(0, plan_guess)  # where nothing is expected of either, it needs the fewest runs
    rules = [
        planner(learned.left, learned.right, challenge.delta, challenge.risk, runs) for planner in planners
    ]
    return learned, max(rules, key=lambda rule: rule[1])[0]


def _rounded(trial: Trial, challenge: Challenge, certify: int, raw: Learned) -> Rounded | None:
    """Return grid, score and rule for rounded results, if training runs promise that the claim falls.

    Bets may stop before the runs that a second rule needs.
    """
    if raw.value < 1000.0 or challenge.counts_only or _bets(challenge, certify):
        return None
    grid = grid_for(raw, trial.left, trial.right)
    if grid is None:
        return None
    sides = [grid.rounded(side) for side in (trial.left, trial.right)]
    return grid, *_learn(replace(trial, left=sides[0], right=sides[1]), challenge, certify)


def _refutes(reached: LowerBound, challenge: Challenge) -> bool:
    claim = challenge.curve
    return shown_by(reached, claim) > (challenge.epsilon if claim is None else claim.level)


def _cause(trial: Trial, learned: Learned, challenge: Challenge) -> str | None:
    """Return what refutes the claim by itself."""
    return cause(learned, trial.left, trial.right, judge_of(challenge, max(len(trial.left), 1)))


def _bets(challenge: Challenge, certify: int) -> bool:
    """Return whether bets, which share the risk with counts, are worth it."""
    return challenge.bets and certify >= EARLY


def _certify(
    crew: Crew,
    trial: Trial,
    fixed: tuple[Learned, Rule],
    challenge: Challenge,
    runs: int,
    progress: Progress,
    grid_rule: Rounded | None = None,
    bets: Bets | None = None,
) -> tuple[LowerBound, LowerBound, int, RoundedBound | None]:
    """Return the bound that `rule` reaches on fresh runs, that of total leakage, and the runs made.

    Bets share the error: runs that time cuts do not count against them.  Last is what the rule `grid_rule`
    it shows of the same runs: a verdict of its own, with its own error.
    A fair coin chooses the side of each; where only counts are wanted, the sides take turns.  Which
    runs count is fixed beforehand: those that time does not allow count against the attack.
    """
    crew.keep([trial.candidate.left, trial.candidate.right])
    coins = np.random.default_rng([challenge.seed, 5]).integers(0, 2, runs)  # 0: left
    if challenge.only_counts:
        coins = np.arange(runs) % 2
    learned, rule = fixed
    if bets is None and _bets(challenge, runs) and isinstance(rule, Threshold):
        bets = Bets(trial, challenge, (learned, rule))
    risk = challenge.risk - (0 if bets is None else bets.risk)
    scores: list[Floats] = []
    rounded: list[Floats] = []
    counted = 0
    room = room_for(crew.tally.most)
    block = max(min(RUNS_PER_REPORT, room, int(REPORTED / trial.pace)), 2 * crew.jobs)
    if bets is not None:  # stakes are chosen anew with every block: never by the clock
        block = max(min(RUNS_PER_BET, room), 1)
    for start in range(0, runs, block):
        sides = coins[start : start + block]
        outcomes = crew.some([(int(side), challenge.seed, 6, start + n) for n, side in enumerate(sides)])
        won = None
        if outcomes:
            scores.append(learned.score.of(outcomes))
            if grid_rule is not None:
                rounded.append(grid_rule[1].score.of(grid_rule[0].rounded(outcomes)))
            counted += len(outcomes)
            won = None if bets is None else bets.feed(outcomes, sides[: len(outcomes)] == 0)
        if won is not None:
            return won, leakage(rule, coins, counted, challenge.delta, risk), counted, None
        if len(outcomes) < len(sides):
            break
        if start + block < runs:
            progress(f"certifying: {start + block} of {runs} runs")

    def measured(by: Rule, scored: list[Floats]) -> LowerBound:
        whole = against(np.concatenate([np.zeros(0), *scored]), coins)
        return by.measure(whole[coins == 0], whole[coins == 1], challenge.delta, risk)

    on_grid = None if grid_rule is None else RoundedBound(grid_rule[0], measured(grid_rule[2], rounded))
    reached = measured(rule, scores)
    leaked = leakage(rule, coins, counted, challenge.delta, risk)
    if bets is not None:
        reached, leaked = _better(bets.shown(), reached), _better(bets.power(), leaked)
    return reached, leaked, counted, on_grid


def _better(won: Won | None, other: LowerBound) -> LowerBound:
    return other if won is None or won.epsilon_lower <= other.epsilon_lower else won
