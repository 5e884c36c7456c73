"""Explains a refutation: the simplest event or column that shows nearly all of the bound by itself.

Among columns that separate the datasets equally well, one with a plain meaning is preferred (`Columns.rank`).
This only describes a refutation; the bound rests on the score that was fixed before.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from audits.sandbox.outcomes import Outcome
from audits.scores.learned_scores import Judge, Learned
from audits.scores.outcome_columns import Columns
from dpaccount.noise.samplers import Floats

NEARLY = 0.8  #: minimum fraction of the score's value
TRIED = 30  #: maximum number of candidates of one rank
TIERS = (1000.0, 100.0, 0.0)  #: what a judge adds for a refutation, and for a clear violation


def cause(learned: Learned, left: Sequence[Outcome], right: Sequence[Outcome], judge: Judge) -> str | None:
    """Return the simplest description whose value on training runs is near the score's, or None."""
    columns = learned.score.columns
    a, b = columns.table(left[1::2]), columns.table(right[1::2])
    shown = min(learned.value, judge(learned.score.of_table(a), learned.score.of_table(b)))
    tier = next((each for each in TIERS if shown >= each), 0.0)
    enough = tier + NEARLY * (shown - tier)
    for candidates in (_events(columns, a, b), _directions(columns, a, b)):
        ranked = sorted(candidates, key=lambda each: (each[0], -each[1]))
        for rank in sorted({each[0] for each in ranked}):
            tried = [each for each in ranked if each[0] == rank][:TRIED]
            judged = [(judge(one, other), sentence) for _, _, sentence, one, other in tried]
            # ties are broken for descriptions by a key of the result
            value, sentence = max(judged, key=lambda each: (each[0], "result" in each[1]))
            if value >= enough:
                return sentence
    return None


Candidate = tuple[int, float, str, Floats, Floats]  #: rank, difference, description, scores of both sides


def _events(columns: Columns, a: Floats, b: Floats) -> Iterator[Candidate]:
    """Yield for each column of rank 0 or 1 the value whose frequency differs most."""
    for j, column in enumerate(columns.each):
        if column.rank > 1:
            continue
        levels, counts = np.unique(np.concatenate([a[:, j], b[:, j]]), return_counts=True)
        levels = levels[(counts >= 3) & ~np.isnan(levels)]
        if not len(levels) or len(levels) > len(a):
            continue
        often = [((a[:, j] == v).mean(), (b[:, j] == v).mean(), v) for v in levels[-200:]]
        one, other, v = max(often, key=lambda each: (abs(each[0] - each[1]), -len(f"{each[2]:.6g}")))
        here, there = a[:, j] == v, b[:, j] == v
        sentence = (
            f"{column.name} is {column.meaning(float(v))} in {here.sum()} of {len(a)} training runs"
            f" on the left, in {there.sum()} of {len(b)} on the right"
        )
        sign = 1.0 if one >= other else -1.0
        yield column.rank, abs(one - other), sentence, sign * here, sign * there


def _directions(columns: Columns, a: Floats, b: Floats) -> Iterator[Candidate]:
    """Yield each column that varies, as larger or smaller on the left."""
    for j, column in enumerate(columns.each):
        both = np.nan_to_num(np.concatenate([a[:, j], b[:, j]]), nan=-1e300, posinf=1e300, neginf=-1e300)
        if (both == both[0]).all():
            continue
        one, other = both[: len(a)], both[len(a) :]
        ends = np.unique(both)
        gap = _share_up_to(one, ends) - _share_up_to(other, ends)
        place = int(np.argmax(np.abs(gap)))
        word, sign = ("larger", 1.0) if gap[place] < 0 else ("smaller", -1.0)
        name, plain = column.name, column.rank < 3
        sentence = f"{name} is {word} on the left" if plain else f"{name} differs"
        yield column.rank, float(abs(gap[place])), sentence, sign * one, sign * other


def _share_up_to(values: Floats, ends: Floats) -> Floats:
    return np.searchsorted(np.sort(values), ends, side="right") / len(values)
