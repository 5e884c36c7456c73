"""The attack on a function that nothing is known about: find a pair, learn a score, certify on fresh runs.

Search and learning spend runs of their own, so they may be as greedy as they like; one rule, fixed
on one pair, is then measured on runs that neither has seen.  Every run has a number, and its
randomness follows from the seed and that number, whichever process makes it.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from audits.betting import Won, bettor_of
from audits.candidates import Candidate
from audits.coin import plan_guess
from audits.estimate import Planner, Reached, Rule, Threshold, plan_threshold, violation
from audits.isolation import Crew, TimeUp
from audits.learned import Learned, best_score
from audits.outcomes import Outcome
from audits.planning import Floats

TOGETHER = (1, 2, 3)  #: seeds of the runs that both sides of a pair make with the same randomness
#: of each round of the search: pairs kept, how many of one base, runs a side that it adds
ROUNDS = ((40, 40, 150), (15, 5, 450), (6, 3, 1200))
SCREENED = 800  #: pairs whose movement is measured
AT_ONCE = 2_000_000  #: numbers handed to a worker at a time
BLOCK = 5000  #: certifying runs between two reports of progress
CLEAR = 3.5  #: standard deviations beyond the claim from which a pair is preferred for them
LEAST = 60  #: certifying runs
FIRST = 12  #: runs a side before the pace on a pair is known
HANGS = 3  #: runs without an answer after which the search gives up

Progress = Callable[[str], None]


class Stuck(Exception):  # noqa: N818
    """The function cannot be attacked: it gives no answer, or not in time; the text says which."""


@dataclass(frozen=True)
class Plan:
    """What is claimed and how hard to attack it.

    `counts_only`: the bound must rest on counts of one event, which a certificate can hold;
    `early`: stop at the first refutation, by betting.
    """

    epsilon: Fraction
    delta: Fraction
    trials: int
    risk: Fraction
    seed: int
    counts_only: bool = False
    early: bool = False


@dataclass(frozen=True)
class Attack:
    """What an attack reached on the pair that it chose; `runs` were made on that pair."""

    candidate: Candidate
    reached: Reached
    score: str
    runs: int
    searched: int
    findings: tuple[str, ...]

    def refuted(self, epsilon: Fraction) -> bool:
        """Say whether the bound is above a claim."""
        return self.reached.epsilon_lower > epsilon


@dataclass
class Suspect:
    """A pair under suspicion and all runs that were made on it so far."""

    candidate: Candidate
    left: list[Outcome] = field(default_factory=list)
    right: list[Outcome] = field(default_factory=list)
    promise: float = 0.0
    pace: float = 1e-6  #: seconds that a run on it takes


def attack(crew: Crew, pairs: Sequence[Candidate], plan: Plan, progress: Progress) -> Attack:
    """Attack the claim on the most suspicious of `pairs`.  Raises `Stuck` where no attack is possible."""
    if not pairs:
        raise Stuck("no two neighbouring datasets of this shape exist")
    found: list[str] = []
    try:
        pace = _probe(crew, pairs, plan, found)
        budget = _budget(crew, plan, pace, found)
        progress("search for the most suspicious pair")
        suspect, searched = _search(crew, pairs, plan, budget, found, progress)
        progress(f"learning from {budget.train} runs a side")
        share = crew.left() / 2
        _more(crew, suspect, budget.train - len(suspect.left), plan.seed, share / 3)
        certify = max(min(budget.certify, int(share / suspect.pace)), 20)
        learned, rule = _learn(suspect, plan, certify // 2)
        progress(f"certifying on {certify} fresh runs")
        reached, made = _certify(crew, suspect, learned, rule, plan, certify, progress)
    except TimeUp:
        limit = f"{crew.seconds:.3g}"
        raise Stuck(f"its runs did not end within {limit} seconds; give [audit] seconds more") from None
    runs = len(suspect.left) + len(suspect.right) + made
    return Attack(
        suspect.candidate, reached, learned.score.said(), runs, searched, tuple(dict.fromkeys(found))
    )


# ------------------------------------------------------------------ how many runs


@dataclass(frozen=True)
class Budget:
    """Runs: `screened` pairs, `scale` of the search's rounds, `train` a side, `certify` in all."""

    screened: int
    scale: float
    train: int
    certify: int


def _budget(crew: Crew, plan: Plan, pace: float, found: list[str]) -> Budget:
    """Return the runs that fit into the wall limit: all that were asked for, or fewer in proportion."""
    train, certify = max(plan.trials // 6, LEAST), max(plan.trials * 2 // 3, LEAST)
    scale = min(1.0, max(plan.trials / 10_000, 0.2))
    search = 2 * len(TOGETHER) * SCREENED + scale * 2 * sum(pairs * runs for pairs, _, runs in ROUNDS)
    most = 0.6 * crew.left() * min(crew.jobs, os.cpu_count() or 1) / pace  # some spare
    asked = search + 2 * train + certify
    if asked <= most:
        return Budget(SCREENED, scale, train, certify)
    share = most / asked
    found.append(f"a run takes {pace:.2g} s: runs cut to {share:.2g} of what was asked for")
    return Budget(
        max(int(SCREENED * share), 12),
        scale * share,
        max(int(train * share), 20),
        max(int(certify * share), LEAST),
    )


def _probe(crew: Crew, pairs: Sequence[Candidate], plan: Plan, found: list[str]) -> float:
    """Run a little; note how the function behaves; return the seconds that a run takes."""
    first = next((pair for pair in pairs if pair.base == "uniform"), pairs[-1])
    crew.keep([first.left, pairs[0].left])
    again = crew.run([(which, plan.seed, 0, 1) for which in (0, 0, 1, 1)])
    if all(outcome.failed and "no answer" in outcome.structure for outcome in again):
        raise Stuck(f"the function {again[0].structure}")
    if again[0].key() != again[1].key() or again[2].key() != again[3].key():
        found.append("the same dataset and rng give different results: it draws from elsewhere too")
    begun = crew.left()
    some = crew.run([(which, plan.seed, 0, n) for n in range(2, 14) for which in (0, 1)])
    pace = max((begun - crew.left()) / len(some), 1e-6)
    each = [
        {outcome.key() for outcome in outcomes if not outcome.failed} for outcomes in (some[::2], some[1::2])
    ]
    if all(len(results) == 1 for results in each):  # on one dataset alone it may well be what is rounded to
        found.append("deterministic: different rng, the same result")
    kinds = dict.fromkeys(outcome.structure for outcome in [*again, *some])
    if len(kinds) > 1:
        found.append(f"results of different kinds: {'; '.join(kind[:30] for kind in list(kinds)[:3])}")
    _note(found, [*again, *some])
    return pace


def _note(found: list[str], outcomes: Sequence[Outcome]) -> None:
    """Add to the findings what every user of the function should know."""
    failures = {outcome.shown() for outcome in outcomes if outcome.failed}
    if len(failures) > 0 and not any(said.startswith("some runs fail") for said in found):
        found.append(f"some runs fail: it {min(failures)}")
    if any(outcome.mutated for outcome in outcomes):
        found.append("it changes the dataset that it is given")


# ------------------------------------------------------------------ search


def _search(
    crew: Crew,
    pairs: Sequence[Candidate],
    plan: Plan,
    budget: Budget,
    found: list[str],
    progress: Progress,
) -> tuple[Suspect, int]:
    """Return the most suspicious pair, and how many were tried."""
    if len(pairs) == 1:
        return Suspect(pairs[0]), 1
    screened = pairs[: budget.screened]
    moved = _movements(crew, screened, plan.seed, found)
    suspects = [Suspect(screened[k]) for k in _shortlist(screened, moved, ROUNDS[0][0])]
    judge = _judge(plan, max(budget.certify // 2, 1000))
    for kept, of_base, runs in ROUNDS:
        suspects = _mixed(suspects, kept, of_base)
        share = crew.seconds / 8 / len(suspects)  # a pair on which the function crashes is slow
        for suspect in suspects:
            _more(crew, suspect, max(int(runs * budget.scale), 20), plan.seed, share)
            _note(found, suspect.left)
            suspect.promise = best_score(suspect.left, suspect.right, judge).value
        suspects.sort(key=lambda suspect: -suspect.promise)
        progress(f"{len(suspects)} pairs compared")
    return suspects[0], len(screened)


def _mixed(suspects: list[Suspect], most: int, of_base: int) -> list[Suspect]:
    """Return the first `most` suspects with at most `of_base` of one base: what is rare shows on few."""
    kept: list[Suspect] = []
    for suspect in suspects:
        same = sum(other.candidate.base == suspect.candidate.base for other in kept)
        if same < of_base and len(kept) < most:
            kept.append(suspect)
    return kept


def _judge(plan: Plan, runs: int) -> Callable[[Floats, Floats], float]:
    """Return how scores are judged: by the bound expected if it breaks the claim, else by signs of that."""
    epsilon, delta = float(plan.epsilon), float(plan.delta)

    def judged(held: Floats, out: Floats) -> float:
        rule, expected = plan_threshold(held, out, plan.delta, plan.risk, runs)
        if expected > epsilon:
            return 1000.0 + expected
        beyond = max(violation(held, out, epsilon, delta), violation(-out, -held, epsilon, delta))
        if beyond > CLEAR:
            return 100.0 + beyond
        sign = 1 if rule.direction == "left" else -1
        gap = float((sign * held >= rule.cut).mean() - (sign * out >= rule.cut).mean())
        return expected or abs(gap) - 1  # where nothing is promised: the larger difference

    return judged


def _movements(crew: Crew, pairs: Sequence[Candidate], seed: int, found: list[str]) -> Floats:
    """Return how far the sides of each pair are apart when both use the same randomness.

    Additive noise cancels, so three runs show what the query moves by, in units of the noise.
    """
    gathered: list[list[tuple[Outcome, Outcome]]] = []
    step = max(1, min(AT_ONCE // (2 * max(pair.left.size + pair.right.size for pair in pairs)), 64))
    hangs = 0
    for start in range(0, len(pairs), step):
        group = pairs[start : start + step]
        crew.keep([side for pair in group for side in (pair.left, pair.right)])
        plays = [(2 * k + side, seed, 1, s) for k in range(len(group)) for s in TOGETHER for side in (0, 1)]
        outcomes = crew.run(plays)
        hangs += sum(outcome.failed and "no answer" in outcome.structure for outcome in outcomes)
        if hangs >= HANGS:
            raise Stuck("the function gives no answer on some datasets")
        _note(found, outcomes)
        for k in range(len(group)):
            part = outcomes[2 * len(TOGETHER) * k :]
            gathered.append([(part[2 * i], part[2 * i + 1]) for i in range(len(TOGETHER))])
    scales = _noise_scales(gathered)
    return np.array([np.mean([_apart(a, b, scales) for a, b in each]) for each in gathered])


def _noise_scales(gathered: list[list[tuple[Outcome, Outcome]]]) -> dict[str, Floats]:
    """Return, by kind of result, each entry's typical spread over the randomness."""
    spreads: dict[str, list[Floats]] = {}
    for each in gathered:
        for side in (0, 1):
            same = [pair[side] for pair in each if pair[side].structure == each[0][side].structure]
            if len(same) > 1:
                with np.errstate(invalid="ignore", over="ignore"):
                    spreads.setdefault(same[0].structure, []).append(
                        np.std([outcome.numbers for outcome in same], axis=0)
                    )
    with np.errstate(invalid="ignore"):
        return {kind: np.nan_to_num(np.median(all_, axis=0)) for kind, all_ in spreads.items()}


def _apart(a: Outcome, b: Outcome, scales: dict[str, Floats]) -> float:
    if a.key() == b.key():
        return 0.0
    if a.structure != b.structure:
        return 5.0
    text = 2.0 * (a.labels != b.labels)
    scale = scales.get(a.structure, np.zeros(len(a.numbers)))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        moved = np.nan_to_num(np.abs(a.numbers - b.numbers), nan=1.0, posinf=1e300)
        units = np.minimum(moved / np.maximum(scale, 1e-3 * (np.abs(a.numbers) + 1e-12)), 10.0)
    units = np.nan_to_num(units, nan=10.0)
    return text + float(np.sqrt((units * units).sum()))


def _shortlist(pairs: Sequence[Candidate], moved: Floats, most: int) -> list[int]:
    """Return the places of the pairs that move most, three quarters of them at most two of each base."""
    order = [int(k) for k in np.argsort(-moved, kind="stable")]
    of_base: dict[str, list[int]] = {}
    for k in order:
        of_base.setdefault(pairs[k].base, []).append(k)
    spread = [k for ranked in of_base.values() for k in ranked[:2]][: most * 3 // 4]
    return list(dict.fromkeys([*spread, *order]))[:most]


def _more(crew: Crew, suspect: Suspect, runs: int, seed: int, seconds: float) -> None:
    """Make up to `runs` further runs on both sides of a pair, in about `seconds` at most."""
    crew.keep([suspect.candidate.left, suspect.candidate.right])
    first = min(runs, FIRST)
    begun = crew.left()
    while runs > 0:
        start = len(suspect.left)
        for side, made in ((0, suspect.left), (1, suspect.right)):
            made.extend(crew.run([(side, seed, 2 + side, n) for n in range(start, start + first)]))
        if first > 0:
            suspect.pace = max((begun - crew.left()) / (2 * first), 1e-7)
        runs, seconds, begun = runs - first, seconds - (begun - crew.left()), crew.left()
        first = min(runs, int(seconds / (2 * suspect.pace)))
        if first <= 0:
            return


# ------------------------------------------------------------------ learning and certifying


def _learn(suspect: Suspect, plan: Plan, runs: int) -> tuple[Learned, Rule]:
    """Return the score and the rule to certify, both fixed now."""
    learned = best_score(suspect.left, suspect.right, _judge(plan, runs))
    planners: list[Planner] = [plan_threshold]
    if not plan.counts_only and not plan.early:
        planners.append(plan_guess)
    rules = [planner(learned.left, learned.right, plan.delta, plan.risk, runs) for planner in planners]
    return learned, max(rules, key=lambda rule: rule[1])[0]


def _certify(
    crew: Crew, suspect: Suspect, learned: Learned, rule: Rule, plan: Plan, runs: int, progress: Progress
) -> tuple[Reached, int]:
    """Return the bound that `rule` reaches on fresh runs, each on a side that a fair coin chose."""
    crew.keep([suspect.candidate.left, suspect.candidate.right])
    coins = np.random.default_rng([plan.seed, 5]).integers(0, 2, runs)  # 0: left
    bettor = None
    if plan.early and isinstance(rule, Threshold):
        bettor = bettor_of(rule, learned.left, learned.right, plan.epsilon, plan.delta, plan.risk / 2)
    scores: list[Floats] = []
    for start in range(0, runs, BLOCK):
        sides = coins[start : start + BLOCK]
        outcomes = crew.run([(int(side), plan.seed, 6, start + n) for n, side in enumerate(sides)])
        scores.append(learned.score.of(outcomes))
        won: Won | None = None if bettor is None else bettor.feed(scores[-1], sides == 0)
        if won is not None:
            return won, start + len(sides)
        if start + BLOCK < runs:
            progress(f"certifying: {start + BLOCK} of {runs} runs")
    whole = np.concatenate(scores)
    risk = plan.risk / 2 if bettor is not None else plan.risk
    return rule.measure(whole[coins == 0], whole[coins == 1], plan.delta, risk), runs
