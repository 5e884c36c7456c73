"""Audits two sets of results that were drawn elsewhere: an event from one part, its counts from the other.

What the bound rests on, and nothing here can check: the results of each file are independent draws
on one dataset, and the two datasets are neighbours.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from audits.attack.confirmation import could_show, exceeds, judged
from audits.attack.pair_search import expected_of, judge_of
from audits.attack.rules import CountedBound, LowerBound
from audits.attack.runs import TRAIN, Challenge
from audits.samples.reading import DrawnResults
from audits.sandbox.outcomes import Outcome
from audits.scores.learned_scores import best_score
from audits.scores.outcome_columns import Columns
from dpaccount.errors import InputError

UNSEEN = (
    "the results were drawn elsewhere: this program saw neither the code nor the datasets; the bound holds if"
    " each file has independent results on one dataset, and the two datasets are neighbours"
)
UNSCORED = (
    "{} of the {} results that the event is counted in are unique texts, of which no event can be chosen:"
    " round the numbers in them, or give these columns of their own"
)
MIN_RESULTS = 2 * TRAIN  #: of one side
#: Of the results, from which the event is chosen.  Over six laws and 500 and 2,000 results a half shows less
#: of ε, above all of rare events, and a quarter less where results are wide.
LEARN = Fraction(1, 3)
UNLIKELY = 1e-9  #: two files of less likely the same results, in whatever order, are one sample


@dataclass(frozen=True)
class Compared:
    """The bound from the second parts, what total leakage would have given, and the score."""

    reached: CountedBound
    leaked: LowerBound
    score: str
    findings: tuple[str, ...]


def compare(left: DrawnResults, right: DrawnResults, challenge: Challenge) -> Compared:
    """Return the bound of two samples; a seeded third of each chooses the event that the rest counts.

    Raises `InputError` if a side has fewer than `MIN_RESULTS` results, and for one sample given twice.
    """
    for sample in (left, right):
        if len(sample.results) < MIN_RESULTS:
            raise InputError(
                f"{len(sample.results)} results are too few", f"give at least {MIN_RESULTS}", sample.path
            )
    counts, others = (Counter(result.key() for result in sample.results) for sample in (left, right))
    # One file given twice would be NOT REFUTED under every claim.
    if counts == others and _chance_of_alike(counts.values()) < UNLIKELY:
        what = f"{left.path.name} and {right.path.name} hold the same results, which two draws do not give"
        raise InputError(what, "give each dataset the results that were drawn on it", right.path)
    rng = np.random.default_rng([challenge.seed, 7])
    train_left, held = _parts(left, rng)
    train_right, out = _parts(right, rng)
    runs = min(len(held), len(out))
    learned = best_score(train_left, train_right, judge_of(challenge, runs), crossed=True)
    rule, _ = expected_of(challenge, runs, learned.left, learned.right)
    delta = challenge.delta if challenge.curve is None else Fraction(0)
    at = partial(rule.measure, learned.score.of(held), learned.score.of(out), delta)
    beyond = partial(exceeds, epsilon=challenge.epsilon, curve=challenge.curve)
    reached = judged(at, beyond, challenge.risk)
    scored = _scored(learned.score.columns, held if reached.direction == "left" else out)
    unscored = UNSCORED.format(reached.runs - scored, reached.runs)
    findings = (UNSEEN, unscored) if 2 * scored < reached.runs else (UNSEEN,)
    leaked = could_show(reached, beyond, most=scored)
    return Compared(reached, leaked, learned.score.sentence(), findings)


def _scored(columns: Columns, results: Sequence[Outcome]) -> int:
    """Return how many results have more than unique texts and a constant: of those no event can be chosen."""
    often = {at: codes for (kind, at), codes in columns.places.items() if kind == "text"}
    varying = any(result.numbers.tobytes() != results[0].numbers.tobytes() for result in results)
    return sum(
        not result.labels
        or (varying and not np.isnan(result.numbers).all())
        or any(text in often.get(at, ()) for at, text in enumerate(result.labels))
        for result in results
    )


def _chance_of_alike(counts: Iterable[int]) -> float:
    """Return how likely a second sample has the same counts, by their own frequencies: a multinomial."""
    seen = np.array([*counts])
    logs = seen * np.log(seen / seen.sum()) - [math.lgamma(count + 1) for count in seen]
    return math.exp(math.lgamma(seen.sum() + 1) + logs.sum())


def _parts(sample: DrawnResults, rng: np.random.Generator) -> tuple[list[Outcome], list[Outcome]]:
    # One part of a file may differ from another: files are sorted, and long jobs drift.
    order = rng.permutation(len(sample.results))
    few = max(int(LEARN * len(order)), TRAIN)
    return [sample.results[k] for k in order[:few]], [sample.results[k] for k in order[few:]]
