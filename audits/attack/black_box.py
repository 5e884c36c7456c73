"""The attack on a function that nothing is known about: find a pair, learn a score, certify on fresh runs.

Search and learning spend runs of their own, so they may be as greedy as they like; one rule, fixed
on one pair, is then measured on runs that neither has seen.  Every run has a number, and its
randomness follows from the seed and that number, whichever process makes it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from audits.attack.bets import Won, bettor_of
from audits.attack.coin_guesses import plan_guess
from audits.attack.learned_scores import Learned, best_score
from audits.attack.planning import Floats
from audits.attack.power import against, power, verdict_of
from audits.attack.thresholds import Planner, Reached, Rule, Threshold, plan_threshold, violation
from audits.datasets.bases import Pair as Candidate
from audits.sandbox.crew import Crew, TimeUp
from audits.sandbox.outcomes import Outcome
from dpaccount.errors import InputError

TOGETHER = (1, 2, 3)  #: seeds of the runs that both sides of a pair make with the same randomness
#: of each round of the search: pairs kept, how many of one base, runs a side that it adds
ROUNDS = ((40, 40, 150), (15, 5, 450), (6, 3, 1200))
SCREENED = 800  #: pairs whose movement is measured
AT_ONCE = 2_000_000  #: numbers handed to a worker at a time
BLOCK = 5000  #: certifying runs between two reports of progress
CLEAR = 3.5  #: standard deviations beyond the claim from which a pair is preferred for them
LEAST = 60  #: certifying runs that are asked for
FIRST = 12  #: runs a side before the pace on a pair is known
HANGS = 3  #: runs without an answer after which the search gives up
SPARE = 0.8  #: the part of the time left that is planned for
TRAIN = 4  #: training runs a side without which nothing can be learned
THIN = 20  #: runs a side with which the search's rounds compare pairs at least
CELLS = (
    20_000_000  #: numbers of all runs that are held at once, about; wide results are compared on fewer runs
)
EARLY = 1000  #: certifying runs from which it pays to stop early
ELSEWHERE = 40  #: pairs on which a function that gave nothing so far is tried

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
    """What an attack reached on the pair that it chose; `runs` were made on that pair.

    `power` is the largest ε that these runs could have shown, had every one of them told its side.
    """

    candidate: Candidate
    reached: Reached
    score: str
    runs: int
    searched: int
    findings: tuple[str, ...]
    power: float
    cut: str | None = None  #: what the wall limit cut

    def refuted(self, epsilon: Fraction) -> bool:
        """Say whether the bound is above a claim."""
        return self.reached.epsilon_lower > epsilon

    def verdict(self, epsilon: Fraction) -> str:
        """Return REFUTED, NOT REFUTED, or NOT ATTACKED where no result could have refuted the claim."""
        return verdict_of(self.reached.epsilon_lower, self.power, epsilon)


@dataclass
class Suspect:
    """A pair under suspicion and all runs that were made on it so far."""

    candidate: Candidate
    left: list[Outcome] = field(default_factory=list)
    right: list[Outcome] = field(default_factory=list)
    promise: float = -np.inf
    pace: float = 1e-6  #: seconds that a run on it takes


def attack(crew: Crew, pairs: Sequence[Candidate], plan: Plan, progress: Progress) -> Attack:
    """Attack the claim on the most suspicious of `pairs`.

    Raises `Stuck` where no attack is possible, and `InputError` where no run gives a result.
    """
    if not pairs:
        raise Stuck("no two neighbouring datasets of this shape exist")
    found: list[str] = []
    try:
        pace = _probe(crew, pairs, plan, found)
        _anything(crew, pairs, plan, pace)
        asked, budget = asked_of(plan, len(pairs)), _planned(crew, pace, plan, len(pairs))
        progress("search for the most suspicious pair")
        suspect, searched = _search(crew, pairs, plan, budget, pace, found, progress)
        progress(f"learning from {budget.train} runs a side")
        train = min(budget.train, max(CELLS // (2 + 2 * crew.tally.most), THIN))
        _more(crew, suspect, train - len(suspect.left), plan.seed, crew.left() / 3)
        certify = min(asked.certify, int(SPARE * crew.left() / suspect.pace))
        if certify < 1 or len(suspect.left) < TRAIN:
            raise TimeUp
        learned, rule = _learn(suspect, plan, certify)
        progress(f"certifying on {certify} fresh runs")
        reached, power, made = _certify(crew, suspect, learned, rule, plan, certify, progress)
    except TimeUp:
        why = "; ".join([f"its runs did not end within {crew.seconds:.3g} seconds", *crew.tally.said()])
        raise Stuck(f"{why}; allow more seconds") from None
    runs = len(suspect.left) + len(suspect.right) + made
    cut = None
    if budget != asked or certify < asked.certify or (made < certify and not isinstance(reached, Won)):
        cut = f"cut by time: {runs} of {plan.trials} runs (a run takes {suspect.pace:.2g} s)"
        found.append(cut)
    found[:0] = crew.tally.said()
    return Attack(
        suspect.candidate,
        reached,
        learned.score.said(),
        runs,
        searched,
        tuple(dict.fromkeys(found)),
        power,
        cut,
    )


# ------------------------------------------------------------------ how many runs


@dataclass(frozen=True)
class Budget:
    """Runs: `screened` pairs with `seeds` runs a side, the search's `rounds`, `train` a side, `certify`."""

    screened: int
    seeds: int
    rounds: tuple[tuple[int, int, int], ...]
    train: int
    certify: int

    @property
    def cost(self) -> int:
        """Return the runs in all."""
        compared = sum(pairs * runs for pairs, _, runs in self.rounds)
        return 2 * (self.screened * self.seeds + compared + self.train) + self.certify


def asked_of(plan: Plan, pairs: int) -> Budget:
    """Return the runs that are asked for."""
    train, certify = max(plan.trials // 6, LEAST), max(plan.trials * 2 // 3, LEAST)
    if pairs == 1:
        return Budget(0, 0, (), train, certify)
    scale = min(1.0, max(plan.trials / 10_000, 0.2))
    return Budget(SCREENED, len(TOGETHER), _thinned(scale), train, certify)


def _thinned(scale: float) -> tuple[tuple[int, int, int], ...]:
    return tuple((kept, of_base, max(int(runs * scale), THIN)) for kept, of_base, runs in ROUNDS)


def budget_of(most: int, plan: Plan, pairs: int) -> Budget:
    """Return the runs that fit into `most`: all that were asked for, or fewer, half of them to certify.

    Raises `TimeUp` where there is no room for an attack.
    """
    asked = asked_of(plan, pairs)
    if asked.cost <= most:
        return asked
    certify, rest = min(asked.certify, most // 2), most - min(asked.certify, most // 2)
    if pairs == 1:
        train = min(asked.train, max(most // 8, TRAIN))
        certify = min(asked.certify, most - 2 * train)
    else:
        train = min(asked.train, max(rest // 6, TRAIN))
    search = rest - 2 * train
    if certify < 1 or (pairs > 1 and search < 2):
        raise TimeUp
    if pairs == 1:
        return Budget(0, 0, (), train, certify)
    rounds = _rounds_in(search * 2 // 3)
    left = search - 2 * sum(kept * runs for kept, _, runs in rounds)
    seeds = len(TOGETHER) if left >= 2 * len(TOGETHER) * ROUNDS[0][0] else 1
    return Budget(min(left // (2 * seeds), SCREENED), seeds, rounds, train, certify)


def _rounds_in(runs: int) -> tuple[tuple[int, int, int], ...]:
    """Return rounds of the search that take at most so many runs: thinner ones, then of fewer pairs."""
    whole = 2 * sum(kept * each for kept, _, each in ROUNDS)
    scaled = _thinned(min(runs / whole, 1.0))
    most = 2 * sum(kept * each for kept, _, each in scaled)
    part = min(1.0, runs / most)
    fewer = ((int(kept * part), max(int(of_base * part), 1), each) for kept, of_base, each in scaled)
    return tuple(round_ for round_ in fewer if round_[0] > 1)


def _planned(crew: Crew, pace: float, plan: Plan, pairs: int) -> Budget:
    try:
        return budget_of(_affordable(crew, pace), plan, pairs)
    except TimeUp:
        few = f"a run takes {pace:.2g} s, and too few of them fit into {crew.seconds:.3g} seconds"
        raise Stuck(f"{few}; allow more seconds") from None


def _affordable(crew: Crew, pace: float) -> int:
    return int(SPARE * crew.left() * crew.processes / pace)


def _probe(crew: Crew, pairs: Sequence[Candidate], plan: Plan, found: list[str]) -> float:
    """Run a little; note how the function behaves; return the seconds that a run takes."""
    first = next((pair for pair in pairs if pair.base == "uniform"), pairs[-1])
    crew.keep([first.left, pairs[0].left])
    again = crew.run([(0, plan.seed, 0, 1)])  # alone: what is loaded at the first call is not the pace
    begun = crew.left()
    again += crew.run([(which, plan.seed, 0, 1) for which in (0, 1, 1)])
    if all(outcome.silent for outcome in again):
        raise Stuck(f"the function {again[0].structure}")
    if again[0].key() != again[1].key() or again[2].key() != again[3].key():
        found.append("the same dataset and rng give different results: it draws from elsewhere too")
    pace = max((begun - crew.left()) / 3, 1e-6)
    if 24 * pace > crew.left() / 20:  # every run counts
        return pace
    begun = crew.left()
    some = crew.run([(which, plan.seed, 0, n) for n in range(2, 14) for which in (0, 1)])
    each = [
        {outcome.key() for outcome in outcomes if not outcome.failed} for outcomes in (some[::2], some[1::2])
    ]
    if all(len(results) == 1 for results in each):  # on one dataset alone it may well be what is rounded to
        found.append("deterministic: different rng, the same result")
    kinds = dict.fromkeys(outcome.structure for outcome in [*again, *some])
    if len(kinds) > 1:
        found.append(f"results of different kinds: {'; '.join(kind[:30] for kind in list(kinds)[:3])}")
    _note(found, [*again, *some])
    return max((begun - crew.left()) / len(some), 1e-6)


def _anything(crew: Crew, pairs: Sequence[Candidate], plan: Plan, pace: float) -> None:
    """Try other datasets where no run gave a result; raise `InputError` where none does on these either."""
    if not crew.tally.empty:
        return
    tried = pairs[: max(min(ELSEWHERE, _affordable(crew, pace) // 4), 1)]
    crew.keep([side for pair in tried for side in (pair.left, pair.right)])
    for place in range(2 * len(tried)):
        crew.run([(place, plan.seed, 1, TOGETHER[0])])
        if not crew.tally.empty:
            return
    raise nothing(crew)


def nothing(crew: Crew) -> InputError:
    """Return the error of a function that gave nothing on any run."""
    tally = crew.tally
    return InputError(
        f"{crew.code.use} {tally.first} on every run that was tried ({tally.runs}, the first is shown);"
        " mend it, so that it returns numbers or text"
    )


def _note(found: list[str], outcomes: Sequence[Outcome]) -> None:
    """Add to the findings what every user of the function should know."""
    if any(outcome.mutated for outcome in outcomes):
        found.append("it changes the dataset that it is given")


# ------------------------------------------------------------------ search


def _search(
    crew: Crew,
    pairs: Sequence[Candidate],
    plan: Plan,
    budget: Budget,
    pace: float,
    found: list[str],
    progress: Progress,
) -> tuple[Suspect, int]:
    """Return the most suspicious pair, and how many were tried."""
    if len(pairs) == 1:
        return Suspect(pairs[0], pace=pace), 1
    wide = 1 + crew.tally.most
    screened = pairs[: min(budget.screened, max(CELLS // (2 * budget.seeds * wide), 1))]
    moved = _movements(crew, screened, plan.seed, TOGETHER[: budget.seeds], found)
    most = budget.rounds[0][0] if budget.rounds else 1
    suspects = [Suspect(screened[k], pace=pace) for k in _shortlist(screened, moved, most)]
    judge = _judge(plan, max(budget.certify // 2, 1000))
    for number, (kept, of_base, runs) in enumerate(budget.rounds):
        suspects = _mixed(suspects, kept, of_base)
        share = (crew.left() - crew.seconds / 2) / (len(budget.rounds) - number) / len(suspects)
        if share <= 0:
            break
        runs = min(runs, max(CELLS // (2 * len(suspects) * wide), THIN))  # noqa: PLW2901
        for suspect in suspects:  # a pair on which the function crashes is slow
            _more(crew, suspect, runs, plan.seed, share)
            _note(found, suspect.left)
            if len(suspect.left) >= TRAIN:
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


def _movements(
    crew: Crew, pairs: Sequence[Candidate], seed: int, together: Sequence[int], found: list[str]
) -> Floats:
    """Return how far the sides of each pair are apart when both use the same randomness.

    Additive noise cancels, so three runs show what the query moves by, in units of the noise.
    """
    gathered: list[list[tuple[Outcome, Outcome]]] = []
    step = max(1, min(AT_ONCE // (2 * max(pair.left.size + pair.right.size for pair in pairs)), 64))
    hangs = 0
    for start in range(0, len(pairs), step):
        group = pairs[start : start + step]
        crew.keep([side for pair in group for side in (pair.left, pair.right)])
        plays = [(2 * k + side, seed, 1, s) for k in range(len(group)) for s in together for side in (0, 1)]
        outcomes = crew.run(plays)
        hangs += sum(outcome.silent for outcome in outcomes)
        if hangs >= HANGS:
            raise Stuck("the function gives no answer on some datasets")
        _note(found, outcomes)
        for k in range(len(group)):
            part = outcomes[2 * len(together) * k :]
            gathered.append([(part[2 * i], part[2 * i + 1]) for i in range(len(together))])
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
    return text + float(np.sqrt((units * units).sum())) or 2.0  # the sign of a zero, the bits of a NaN


def _shortlist(pairs: Sequence[Candidate], moved: Floats, most: int) -> list[int]:
    """Return the places of the pairs that move most, three quarters of them at most two of each base."""
    order = [int(k) for k in np.argsort(-moved, kind="stable")]
    of_base: dict[str, list[int]] = {}
    for k in order:
        of_base.setdefault(pairs[k].base, []).append(k)
    spread = [k for ranked in of_base.values() for k in ranked[:2]][: most * 3 // 4]
    return list(dict.fromkeys([*spread, *order]))[:most]


def _more(crew: Crew, suspect: Suspect, runs: int, seed: int, seconds: float) -> None:
    """Make up to `runs` further runs on both sides of a pair, in about `seconds` at most; one at least."""
    crew.keep([suspect.candidate.left, suspect.candidate.right])
    first = min(runs, FIRST, max(int(seconds / (2 * suspect.pace)), 1))
    while first > 0:
        start, begun = len(suspect.left), crew.left()
        for side, made in ((0, suspect.left), (1, suspect.right)):
            made.extend(crew.run([(side, seed, 2 + side, n) for n in range(start, start + first)]))
        suspect.pace = max((begun - crew.left()) / (2 * first), 1e-7)
        runs, seconds = runs - first, seconds - (begun - crew.left())
        first = min(runs, int(seconds / (2 * suspect.pace)))


# ------------------------------------------------------------------ learning and certifying


def _learn(suspect: Suspect, plan: Plan, certify: int) -> tuple[Learned, Rule]:
    """Return the score and the rule to certify, both fixed now."""
    runs = max(certify // 2, 1)
    learned = best_score(suspect.left, suspect.right, _judge(plan, runs))
    planners: list[Planner] = [plan_threshold]
    if not plan.counts_only and not _bets(plan, certify):
        planners.insert(0, plan_guess)  # where nothing is expected of either, it needs the fewest runs
    rules = [planner(learned.left, learned.right, plan.delta, plan.risk, runs) for planner in planners]
    return learned, max(rules, key=lambda rule: rule[1])[0]


def _bets(plan: Plan, certify: int) -> bool:
    """Say whether bets, which share the risk with counts, are worth it."""
    return plan.early and certify >= EARLY


def _certify(
    crew: Crew, suspect: Suspect, learned: Learned, rule: Rule, plan: Plan, runs: int, progress: Progress
) -> tuple[Reached, float, int]:
    """Return the bound that `rule` reaches on fresh runs, what it could have reached, and the runs made.

    A fair coin chooses the side of each; where only counts are wanted, the sides take turns.  Which
    runs count is fixed beforehand: those that time does not allow count against the attack.
    """
    crew.keep([suspect.candidate.left, suspect.candidate.right])
    coins = np.random.default_rng([plan.seed, 5]).integers(0, 2, runs)  # 0: left
    if plan.counts_only:
        coins = np.arange(runs) % 2
    bettor, risk = None, plan.risk
    if _bets(plan, runs) and isinstance(rule, Threshold):
        risk = plan.risk / 2
        bettor = bettor_of(rule, learned.left, learned.right, plan.epsilon, plan.delta, risk)
    scores: list[Floats] = []
    made = 0
    block = max(min(BLOCK, CELLS // (2 + 2 * crew.tally.most)), 1)
    for start in range(0, runs, block):
        sides = coins[start : start + block]
        outcomes = crew.some([(int(side), plan.seed, 6, start + n) for n, side in enumerate(sides)])
        won: Won | None = None
        if outcomes:
            scores.append(learned.score.of(outcomes))
            made += len(outcomes)
            won = None if bettor is None else bettor.feed(scores[-1], sides[: len(outcomes)] == 0)
        if won is not None:
            return won, max(won.epsilon_lower, power(rule, coins, made, plan.delta, risk)), made
        if len(outcomes) < len(sides):
            break
        if start + block < runs:
            progress(f"certifying: {start + block} of {runs} runs")
    whole = against(np.concatenate([np.zeros(0), *scores]), coins)
    reached = rule.measure(whole[coins == 0], whole[coins == 1], plan.delta, risk)
    return reached, power(rule, coins, made, plan.delta, risk), made
