"""Finds the most suspicious of many pairs: first by sensitivity, then by scores on more and more runs.

The movement of a pair is the difference of its two sides' results under the same noise.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np
from msgspec.structs import replace

from audits.attack.rules import Threshold, levels_at, most_beyond, plan_event
from audits.attack.runs import (
    SHARED_SEEDS,
    THIN,
    TRAIN,
    WIDE_PAIRS,
    Challenge,
    Progress,
    Runs,
    room_for,
    survey_for,
)
from audits.datasets.bases import ON_WALK, PLAIN, Pair
from audits.sandbox.crew import Crew, Survey
from audits.sandbox.outcomes import Outcome
from audits.scores.learned_scores import best_score
from audits.scores.outcome_columns import lowest_bit, padded
from audits.scores.sketch import DIRECTION
from dpaccount.noise.samplers import Floats

AT_ONCE = 2_000_000  #: numbers sent to a worker at a time
PAIRS_AT_ONCE = 64  #: pairs sent at a time at most
PAIRS_FIRST = 4  #: pairs sent first, which show how long a pair takes
SEARCH_SHARE = 1 / 3  #: of the time that is left, for pairs to be compared
CLEAR = 3.5  #: standard deviations beyond the claim at which a pair is preferred
PACE_RUNS = 12  #: runs a side before the time per run on a pair is known
UNPAIRED = 4  #: factor of more seeds and fewer pairs if noise does not cancel
KEPT = 4  #: one in KEPT candidates is reserved for pairs on which texts, failures or kinds of result differ
FINER = 0.03  #: minimum fraction of runs with finer bits than the other side's for a pair to be kept
BIT_ENTRIES = 8  #: number of entries whose bits are compared
LEAST_NOISE = 0.02  #: floor of a pair's own noise, as a fraction of the usual noise
NOISE_SEEDS = 5  #: runs that show the noise if pairs are run with one seed
RARE_PAIRS = 24  #: pairs of a walk that are compared with others
WALKED = 60  #: planned runs for each run of a walk
HANGS = 3  #: runs without an answer after which the search gives up
OTHER_KINDS = "results of different kinds"
#: a finding on all runs of a pair; also the case for a program that seeds itself by the clock
ALIKE = "the same result for every seed: noise, if there is any, is rare or does not follow the seed"


class Stuck(Exception):  # noqa: N818
    """The function cannot be attacked: it gives no result, or times out; the text says which."""


@dataclass(eq=False)
class Trial:
    """A candidate pair and all runs that were made on it so far."""

    candidate: Pair
    left: list[Outcome] = field(default_factory=list)
    right: list[Outcome] = field(default_factory=list)
    promise: float = -np.inf  #: the judge's value of the best score on its runs (`judge_of`)
    expected: float = -np.inf  #: the expected bound
    pace: float = 1e-6  #: seconds per run
    odd: int = 0  #: runs with the same noise whose sides differ in more than numbers
    moved: Floats | None = None  #: mean difference of the numbers of such runs
    survey: Survey = ()  #: how wide results are reduced
    new: int = 0  #: at δ > 0: columns in which the changed unit has a value that no other row of the pair has

    def hand_to(self, crew: Crew) -> None:
        """Make the pair's sides the datasets 0 and 1 of the crew."""
        crew.survey = self.survey
        crew.set_datasets([self.candidate.left, self.candidate.right])

    @property
    def unlike_runs(self) -> int:
        """Return the number of runs with a failure, text or kind that no run on the other side has."""
        sides = [Counter((each.structure, each.labels) for each in side) for side in (self.left, self.right)]
        unlike = [
            (one - Counter(dict.fromkeys(other, len(self.left)))).total()
            for one, other in permutations(sides)
        ]
        return self.odd + sum(unlike)

    @property
    def finer(self) -> float:
        """Return the fraction of runs on one side whose lowest set bit is below all of the other side's.

        Floating-point noise loses its low bits when it is added to a larger value (Mironov 2012).
        """
        sides = [lowest_bit(padded(side, BIT_ENTRIES)) for side in (self.left, self.right)]
        below = [(one < other.min(axis=0)).mean(axis=0).max() for one, other in permutations(sides)]
        return float(max(below))


@dataclass(frozen=True)
class Screen:
    """How movement is measured: on how many pairs, with which seeds on both sides.

    If `paired`, both sides have the same noise, which cancels.  If the function's noise does not follow the
    seed, fewer pairs are run more often, and means are compared.
    """

    pairs: int
    seeds: Sequence[int]
    paired: bool = True

    @staticmethod
    def of(planned: Runs, *, repeats: bool) -> "Screen":
        """Return the screen for a function, given whether the seed makes its runs reproducible."""
        if repeats or planned.seeds < len(SHARED_SEEDS):
            return Screen(planned.screened, SHARED_SEEDS[: planned.seeds], repeats)
        return Screen(
            max(planned.screened // UNPAIRED, 1), range(1, UNPAIRED * planned.seeds + 1), paired=False
        )


def note_mutation(findings: list[str], outcomes: Sequence[Outcome]) -> None:
    """Add a finding if the function changes its dataset in place."""
    if any(outcome.mutated for outcome in outcomes):
        findings.append("it changes the dataset that it is given")


def most_suspicious(
    crew: Crew,
    pairs: Sequence[Pair],
    challenge: Challenge,
    planned: Runs,
    screen: Screen,
    pace: float,
    findings: list[str],
    progress: Progress,
) -> tuple[Trial, int]:
    """Return the trial of the most suspicious pair, and the number of pairs screened."""
    most = planned.rounds[0][0] if planned.rounds else 1
    survey = survey_for(crew, challenge.seed, planned.train, min(len(pairs), most, WIDE_PAIRS), pace)
    if len(pairs) == 1:
        return Trial(pairs[0], pace=pace, survey=survey, moved=DIRECTION if survey else None), 1
    room = room_for(crew.tally.held)
    screened = pairs[: min(screen.pairs, max(room // len(screen.seeds), 1))]
    compared = _compared(crew, screened, challenge.seed, screen, findings)
    # Rounds keep fewer pairs each, by fixed numbers: what a confidence bound for each pair would save was not
    # tried, since attacks on sums of slow code succeed in ten of ten seeds as it is.
    new = {each: found for each in compared if challenge.delta and (found := new_values(each.pair))}
    trials = [
        Trial(
            each.pair,
            pace=pace,
            odd=each.odd,
            moved=movement(each.runs) if screen.paired else None,
            new=new.get(each, 0),
        )
        for each in _shortlist(compared, min(most, WIDE_PAIRS) if survey else most, new)
    ]
    for trial in trials if survey else ():
        trial.survey, trial.moved = survey, DIRECTION
    further = max(planned.certify // 2, 1000)
    judge = judge_of(challenge, further)

    def tried(runs: int, share: float) -> None:
        for trial in trials:  # crashes make a pair slow
            more_runs(crew, trial, runs, challenge.seed, share)
            note_mutation(findings, trial.left)
            if len(trial.left) >= TRAIN:
                learned = best_score(trial.left, trial.right, judge, trial.moved)
                trial.promise = learned.value
                trial.expected = expected_of(challenge, further, learned.left, learned.right)[1]
        trials.sort(key=lambda trial: -trial.promise)
        progress(f"{len(trials)} pairs compared")

    for number, (kept, of_base, runs) in enumerate(planned.rounds):
        trials = _next_round(trials, kept, of_base)
        share = (crew.seconds_left() - crew.seconds / 2) / (len(planned.rounds) - number) / len(trials)
        if share <= 0:
            crew.hurried = True
            break
        tried(min(runs, max(room // len(trials), THIN)), share)
    novel = [trial for trial in trials[1:] if trial.new and not trials[0].new]
    runs = min(planned.train, max(room // 2, THIN)) - len(trials[0].left)
    if novel and runs >= TRAIN and not crew.hurried:  # more runs show whether one is beyond δ
        trials = [trials[0], novel[0]]
        tried(runs, crew.seconds_left() / 8)
    return trials[0], len(compared)


def _next_round(trials: list[Trial], most: int, of_base: int) -> list[Trial]:
    """Return the `most` trials for the next round, sorted by promise; at most `of_base` of one base.

    A quarter is reserved for pairs whose texts, failures or kinds differ, however rarely, an eighth
    for those with finer bits on one side, one for those that move oddly, and one for new values, which a
    threshold shows too often.  The rest alternates between the
    highest promise and the best expected bound, since a violation in a few runs is mostly luck.  Noise is the
    same on all pairs, so where results move alike both are equal: one such pair comes before all others.
    """
    kept = sorted((trial for trial in trials if trial.unlike_runs), key=lambda trial: -trial.unlike_runs)[
        : most // KEPT
    ]
    finer = sorted(((trial.finer, trial) for trial in trials if trial.left), key=lambda each: -each[0])
    room = max(most // KEPT // 2, 1)
    kept += [trial for part, trial in finer[:room] if part > FINER and trial not in kept]
    kept += [trial for trial in trials if trial.candidate.base == ON_WALK and trial not in kept][:room]
    novel = [trial for trial in trials if trial.new and trial not in kept]
    kept += sorted(novel, key=lambda trial: (-trial.new, -trial.unlike_runs))[:room]
    by_bound = sorted(trials, key=lambda trial: -trial.expected)
    in_turn = [each for pair in zip(trials, by_bound, strict=True) for each in pair]
    kinds: dict[tuple[float, float], Trial] = {}
    for trial in in_turn if all(trial.left for trial in trials) else ():
        kinds.setdefault((trial.promise, trial.expected), trial)
    for trial in [*kinds.values(), *in_turn]:
        same = sum(other.candidate.base == trial.candidate.base for other in kept)
        if same < of_base and len(kept) < most and trial not in kept:
            kept.append(trial)
    return sorted(kept, key=lambda trial: -trial.promise)


def expected_of(challenge: Challenge, runs: int, left: Floats, right: Floats) -> tuple[Threshold, float]:
    """Return the event with the best bound expected of `runs` further runs a side, and that bound."""
    curve = challenge.curve
    levels = levels_at(challenge.delta) if curve is None else curve.lowers
    return plan_event(left, right, levels, challenge.risk, runs)


def judge_of(challenge: Challenge, runs: int) -> Callable[[Floats, Floats], float]:
    """Return the objective for scores: the expected bound if it refutes the claim, else weaker evidence.

    The value is 1000 + the expected bound; 100 + standard deviations beyond the claim; or less than 100.
    """
    epsilon, delta = float(challenge.epsilon), float(challenge.delta)
    curve = challenge.curve

    def judged(left: Floats, right: Floats) -> float:
        rule, expected = expected_of(challenge, runs, left, right)
        if expected > (epsilon if curve is None else curve.planned):
            return 1000.0 + expected
        beyond = 0.0
        if curve is None:
            beyond = most_beyond(left, right, epsilon, delta)[1]
        if beyond > CLEAR:
            return 100.0 + beyond
        sign = 1 if rule.direction == "left" else -1
        gap = float((sign * left >= rule.cut).mean() - (sign * right >= rule.cut).mean())
        return expected or abs(gap) - 1  # without a claim: the larger difference

    return judged


@dataclass(frozen=True, eq=False)
class ComparedPair:
    """A pair with runs on both sides.

    A pair's own noise differs from the usual one if rows are sampled: the other rows are noise too.
    """

    pair: Pair
    runs: list[tuple[Outcome, Outcome]]
    odd: int  #: runs that differ in texts or kinds; one more if any run fails on a pair of this base
    moved: float  #: movement in the usual noise
    alone: float = 0.0  #: movement in the pair's own noise

    @property
    def kind(self) -> tuple[int, float, float]:
        """Return how the results move, alike for many pairs."""
        return self.odd, round(self.moved, 6), round(self.alone, 6)


def new_values(pair: Pair) -> int:
    """Return in how many columns a unit has a value that no other row of either side has."""
    sides = pair.left, pair.right
    if any(side.dtype == object or side.ndim not in (1, 2) or not side.size for side in sides):
        return 0
    columns = [[Counter(column.tolist()) for column in side.reshape(len(side), -1).T] for side in sides]
    return sum(
        any(times == 1 and value not in other for value, times in one.items())
        or any(times == 1 and value not in one for value, times in other.items())
        for one, other in zip(*columns, strict=False)
    )


def rare_moves(crew: Crew, walk: Sequence[Pair], seed: int) -> list[Pair]:
    """Return a pair for each of the rarest ways in which results move along a walk, under the same noise."""
    crew.set_datasets([walk[0].left, *(pair.right for pair in walk)])
    start, *ends = crew.run([(k, seed, 1, SHARED_SEEDS[0]) for k in range(len(walk) + 1)])
    kinds: dict[object, list[Pair]] = {}
    for pair, end in zip(walk, ends, strict=True):
        moved = np.zeros(0)
        if end.structure == start.structure and len(end.numbers) == len(start.numbers):
            with np.errstate(invalid="ignore", over="ignore"):
                moved = np.sort(np.abs(end.numbers - start.numbers)).round(6)
        kinds.setdefault((end.structure, end.labels, moved[moved > 0].tobytes()), []).append(pair)
    return [pairs[0] for pairs in sorted(kinds.values(), key=len)[:RARE_PAIRS]]


def _compared(
    crew: Crew, pairs: Sequence[Pair], seed: int, screen: Screen, findings: list[str]
) -> list[ComparedPair]:
    """Return how far each pair moves.  Additive noise cancels, so three runs show the query's movement."""
    together = screen.seeds
    gathered: list[list[tuple[Outcome, Outcome]]] = []
    widest = 2 * max(pair.left.size + pair.right.size for pair in pairs)
    most = max(1, min(AT_ONCE // widest, PAIRS_AT_ONCE))
    hangs, step, begun = 0, min(PAIRS_FIRST, most), crew.seconds_left()
    while len(gathered) < len(pairs):
        group = pairs[len(gathered) : len(gathered) + step]
        crew.set_datasets([side for pair in group for side in (pair.left, pair.right)])
        plays = [(2 * k + side, seed, 1, s) for k in range(len(group)) for s in together for side in (0, 1)]
        outcomes = crew.run(plays)
        hangs += sum(outcome.silent for outcome in outcomes)
        if hangs >= HANGS:
            raise Stuck("the function gives no answer on some datasets")
        note_mutation(findings, outcomes)
        for k in range(len(group)):
            part = outcomes[2 * len(together) * k :]
            gathered.append([(part[2 * i], part[2 * i + 1]) for i in range(len(together))])
        spent = begun - crew.seconds_left()
        fit = int((begun * SEARCH_SHARE / spent - 1) * len(gathered)) if spent > 0 else most
        step = min(fit, most)
        if step < 1 and len(gathered) < len(pairs):
            crew.hurried, pairs = True, pairs[: len(gathered)]
    # Without these runs, all pairs of slow code that move anything look alike: at a second a run, a histogram
    # with one bin without noise was found in none of ten attacks, with them in four.
    noise = gathered
    if len(together) == 1:  # one seed does not show the noise, which a few runs on one dataset do
        crew.set_datasets([pairs[0].left])
        noise = [[(each, each) for each in crew.run([(0, seed, 1, s) for s in range(1, NOISE_SEEDS + 1)])]]
    scales = _noise_scales(noise)
    failing = {
        pair.base
        for pair, each in zip(pairs, gathered, strict=True)
        if any(a.failed or b.failed for a, b in each)
    }
    compared = []
    for pair, each in zip(pairs, gathered, strict=True):
        unlike = sum((a.structure, a.labels) != (b.structure, b.labels) for a, b in each)
        odd = unlike + (pair.base in failing)
        if screen.paired:
            moved = float(np.mean([_distance(a, b, scales) for a, b in each]))
            compared.append(ComparedPair(pair, each, odd, moved, _distance_in_own_noise(each, scales)))
        else:
            compared.append(ComparedPair(pair, each, odd, _distance_of_means(each, scales)))
    return compared


def _distance_in_own_noise(each: list[tuple[Outcome, Outcome]], scales: dict[str, Floats]) -> float:
    """Return the movement in units of this pair's own noise, which is bounded below."""
    own = _noise_scales([each])
    least = {kind: np.maximum(scale, LEAST_NOISE * scales[kind]) for kind, scale in own.items()}
    return float(np.mean([_distance(a, b, least) for a, b in each]))


def movement(each: list[tuple[Outcome, Outcome]]) -> Floats | None:
    """Return the mean difference of runs with the same noise; None if kinds differ or it is one number."""
    alike = [(a.numbers, b.numbers) for a, b in each if a.structure == b.structure]
    if not alike or len({len(a) for a, _ in alike}) > 1 or len(alike[0][0]) < 2:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        mean: Floats = np.nan_to_num(np.mean([a - b for a, b in alike], axis=0), posinf=0.0, neginf=0.0)
    return mean


def _noise_scales(gathered: list[list[tuple[Outcome, Outcome]]]) -> dict[str, Floats]:
    """Return, for each kind of result, the typical standard deviation of every entry over the seeds."""
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


def _distance_of_means(each: list[tuple[Outcome, Outcome]], scales: dict[str, Floats]) -> float:
    """Return the distance of the two sides' means, in units of the means' noise.

    If kinds or texts differ between runs: five times their total variation distance.
    """
    sides = [[pair[side] for pair in each] for side in (0, 1)]
    kinds = {(outcome.structure, outcome.labels) for side in sides for outcome in side}
    if len(kinds) > 1:
        shares = [Counter((outcome.structure, outcome.labels) for outcome in side) for side in sides]
        return 5.0 * sum(abs(shares[0][kind] - shares[1][kind]) for kind in kinds) / (2 * len(each))
    means = [np.mean([outcome.numbers for outcome in side], axis=0) for side in sides]
    left = scales.get(sides[0][0].structure, np.zeros(len(means[0]))) * (2 / len(each)) ** 0.5
    one, two = (replace(sides[0][0], numbers=mean) for mean in means)
    return _distance(one, two, {one.structure: left})


def _distance(a: Outcome, b: Outcome, scales: dict[str, Floats]) -> float:
    if a.key() == b.key():
        return 0.0
    if a.structure != b.structure:
        return 5.0
    text = 2.0 * (a.labels != b.labels)
    scale = scales.get(a.structure, np.zeros(len(a.numbers)))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        moved = np.nan_to_num(np.abs(a.numbers - b.numbers), nan=1.0, posinf=1e300)  # a finite stand-in
        units = np.minimum(moved / np.maximum(scale, 1e-3 * (np.abs(a.numbers) + 1e-12)), 10.0)
    units = np.nan_to_num(units, nan=10.0)
    return text + float(np.sqrt((units * units).sum())) or 2.0  # the sign of a zero, the bits of a NaN


def _shortlist(
    compared: Sequence[ComparedPair], most: int, new: Mapping[ComparedPair, int]
) -> list[ComparedPair]:
    """Return the `most` pairs for the first round, mostly by movement.

    Half of them are at most two of each base.  A quarter has odd runs.  A quarter moves most in units of
    its own noise; half of that quarter is on plain bases, without noise from other sampled rows.  A quarter
    moves as the fewest others do.  An eighth of `new` ones has most new values.
    """
    order = sorted(compared, key=lambda each: -each.moved)
    alike = Counter(each.kind for each in order)
    rare = sorted({each.kind: each for each in reversed(order)}.values(), key=lambda each: alike[each.kind])
    of_base: dict[str, list[ComparedPair]] = {}
    for each in order:
        of_base.setdefault(each.pair.base, []).append(each)
    unlike = sorted((each for each in order if each.odd), key=lambda each: -each.odd)[: most // KEPT]
    novel = sorted(new, key=lambda each: -new[each])[: most // KEPT // 2]
    spread = [each for ranked in of_base.values() for each in ranked[:2]][: most // 2]
    quiet = sorted(compared, key=lambda each: -each.alone)
    plain = [each for each in quiet if each.pair.base.startswith(PLAIN)][: most // KEPT // 2]
    quiet = [*plain, *quiet[: most // KEPT - len(plain)]]
    return list(dict.fromkeys([*unlike, *novel, *quiet, *rare[: most // KEPT], *spread, *order]))[:most]


def more_runs(crew: Crew, trial: Trial, runs: int, seed: int, seconds: float) -> None:
    """Make at least one and up to `runs` further runs on both sides of a pair, in about `seconds`.

    Marks the crew as `hurried` if it makes fewer.
    """
    trial.hand_to(crew)
    first = min(runs, PACE_RUNS, max(int(seconds / (2 * trial.pace)), 1))
    while first > 0:
        start, begun = len(trial.left), crew.seconds_left()
        for side, outcomes in ((0, trial.left), (1, trial.right)):
            outcomes.extend(crew.run([(side, seed, 2 + side, n) for n in range(start, start + first)]))
        trial.pace = max((begun - crew.seconds_left()) / (2 * first), 1e-7)
        runs, seconds = runs - first, seconds - (begun - crew.seconds_left())
        first = min(runs, int(seconds / (2 * trial.pace)))
    crew.hurried |= runs > 0


def note_kinds(runs: list[Outcome], some: list[Outcome], findings: list[str]) -> None:
    """Record as findings results that never vary, and results of different kinds."""
    each = [
        {outcome.key() for outcome in outcomes if not outcome.failed} for outcomes in (some[::2], some[1::2])
    ]
    if all(len(results) == 1 for results in each):  # on one dataset alone, rounding may explain it
        findings.append(ALIKE)
    kinds = dict.fromkeys(outcome.structure for outcome in runs)
    if len(kinds) > 1:
        shown = [kind[:30].replace(r"\x20", " ") for kind in list(kinds)[:3]]
        findings.append(f"{OTHER_KINDS}: {'; '.join(shown)}")
    note_mutation(findings, runs)


def note_all(trial: Trial, findings: list[str]) -> None:
    """Mend what the first runs let assume by what all training runs show: noise, and rare kinds of result."""
    sides = trial.left, trial.right
    if ALIKE in findings and any(len({each.key() for each in side if not each.failed}) > 1 for side in sides):
        findings.remove(ALIKE)
    kinds = Counter(each.structure for side in sides for each in side if not each.failed)
    if len(kinds) > 1 and not any(finding.startswith(OTHER_KINDS) for finding in findings):
        rare, count = kinds.most_common()[-1]
        findings.append(f"{OTHER_KINDS}: {rare[:60]} in {count} of {kinds.total()} training runs")


def movement_of(crew: Crew, trial: Trial, seed: int) -> Floats | None:
    """Return the difference of two runs with the same noise on the two sides of the trial's pair."""
    trial.hand_to(crew)
    one, other = crew.run([(side, seed, 1, SHARED_SEEDS[0]) for side in (0, 1)])
    return movement([(one, other)])
