"""Scores learned from runs: how much more likely an outcome is on the left dataset than on the right.

The score is an additive model over binned columns (a log-odds table for each column, fitted
together by Newton steps), a single column's table, or a single column itself.  The choice is made by
cross-validation; a model with many different scores is then refitted to all runs.
A poor score costs power, never validity: other runs certify it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from audits.sandbox.outcomes import Outcome
from audits.scores.outcome_columns import CLIPPED, MAX_ENTRIES, SHIFT, Columns, learn
from dpaccount.noise.samplers import Floats

#: number of bins and ridge penalty on their log-odds: fine for one strong column, coarse for many weak ones
GRAINS = ((24, 1.0), (8, 10.0))
MAX_ADDITIVE_COLUMNS = 20  #: columns in the additive model
ALONE = 6  #: number of columns tried individually
SWEEPS = 12
LUCK = 0.05  #: fraction of its value by which a fitted score must exceed one that is not
CROSSED = 5_000_000  #: maximum numbers of one side for two-fold cross-validation


@dataclass(frozen=True)
class ScoreTable:
    """Log-odds for the bins of one column; `edges` separate them, `atoms` (repeated values) stand alone."""

    column: int
    atoms: Floats
    edges: Floats
    odds: Floats
    ridge: float = 1.0

    def bins(self, values: Floats) -> NDArray[np.int64]:
        """Return each value's bin: atoms first, then intervals, then missing values."""
        bins = len(self.atoms) + np.searchsorted(self.edges, values, side="right")
        bins[np.isnan(values)] = len(self.atoms) + len(self.edges) + 1
        if len(self.atoms):
            place = np.searchsorted(self.atoms, values)
            place[place == len(self.atoms)] = 0
            exact = self.atoms[place] == values
            bins[exact] = place[exact]
        return bins

    def score(self, values: Floats) -> Floats:
        """Return the log-odds of each value."""
        return self.odds[self.bins(values)]


def binned(column: int, values: Floats, grain: tuple[int, float]) -> ScoreTable:
    """Return an empty table for a column: a bin per frequent value, quantiles for the others."""
    bins, ridge = grain
    levels, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    often = counts >= max(3, len(values) // 200)
    if often.sum() > 200:
        often[:] = False
        often[np.argsort(-counts)[:200]] = True
    atoms, others = levels[often], np.repeat(levels[~often], counts[~often])
    edges = np.zeros(0)
    if len(others):
        size = int(np.clip(len(others) // 20, 1, bins))
        ranks = np.concatenate([np.linspace(0, 1, size + 1)[1:-1], [0.01, 0.99]])
        edges = np.unique(others[np.floor((len(others) - 1) * ranks).astype(np.intp)])
    return ScoreTable(column, atoms, edges, np.zeros(len(atoms) + len(edges) + 2), ridge)


def fit(tables: list[ScoreTable], values: Floats, sides: Floats) -> list[ScoreTable]:
    """Return the tables fitted together: penalised logistic regression, one column at a time in turn.

    `sides` is 1 for rows from the left and 0 for rows from the right.
    """
    places = [table.bins(values[:, table.column]) for table in tables]
    odds = [table.odds.copy() for table in tables]
    alone = len(tables) == 1  # then all values of a bin have one sum of log-odds, which is kept once
    total = np.full(
        len(odds[0]) if alone else len(values), np.log((sides.sum() + 1) / (len(sides) - sides.sum() + 1))
    )
    for _ in range(6 if alone else SWEEPS):
        for table, place, log_odds in zip(tables, places, odds, strict=True):
            chance = 1 / (1 + np.exp(-np.clip(total, -30, 30)))
            chance = chance[place] if alone else chance
            gradient = np.bincount(place, sides - chance, len(log_odds)) - table.ridge * log_odds
            curvature = np.bincount(place, chance * (1 - chance), len(log_odds)) + table.ridge
            step = np.clip(gradient / curvature, -1.0, 1.0)
            log_odds += step  # in place, so `odds` changes  # noqa: PLW2901
            total += step if alone else step[place]
    return [replace(table, odds=each) for table, each in zip(tables, odds, strict=True)]


@dataclass(frozen=True)
class Score:
    """A fixed function from outcomes to numbers: large means left."""

    columns: Columns
    tables: tuple[ScoreTable, ...] = ()
    column: int = -1
    sign: float = 1.0

    def of(self, outcomes: Sequence[Outcome]) -> Floats:
        """Return the score of every outcome."""
        return self.of_table(self.columns.table(outcomes))

    def of_table(self, values: Floats) -> Floats:
        """Return the scores of rows of the table of columns, rounded so that equal ones are equal."""
        if self.column >= 0:
            values = np.clip(self.sign * values[:, self.column], -1e100, 1e100)
            return np.nan_to_num(values, nan=-2e100)
        return np.round(sum((t.score(values[:, t.column]) for t in self.tables), np.zeros(len(values))), 6)

    def sentence(self) -> str:
        """Describe the score in words."""
        if self.column >= 0:
            return ("" if self.sign > 0 else "minus ") + self.columns.each[self.column].name
        names = [self.columns.each[table.column].name for table in self.tables]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"learned log-odds of {', '.join(names[:3])}{more}"


Judge = Callable[[Floats, Floats], float]


@dataclass(frozen=True)
class Learned:
    """A score, its values on the training runs for choosing thresholds, and the judge's value."""

    score: Score
    left: Floats
    right: Floats
    value: float


def best_score(
    left: Sequence[Outcome],
    right: Sequence[Outcome],
    judge: Judge,
    moved: Floats | None = None,
    *,
    crossed: bool = False,
) -> Learned:
    """Return the score that `judge` (a function of left and right scores) rates highest.

    Candidates are fitted to the even runs and judged on the odd ones; if `crossed`, also the other way
    round, and the chosen one is refitted to all.  `moved`: see `audits.scores.outcome_columns.learn`.
    """
    crossed = crossed and sum(len(each.numbers) for each in left) <= CROSSED
    validated = _validated(left, right, moved, crossed=crossed)
    values = [judge(a, b) for _, a, b in validated]
    best = int(np.argmax([_worth(score, v) for (score, *_), v in zip(validated, values, strict=True)]))
    chosen, *to_plan = validated[best]
    few = 2 * len(np.unique(to_plan[0])) <= len(to_plan[0])  # repeated scores: thresholds lie on them
    columns = learn(left, right, moved) if crossed else chosen.columns
    a, b = columns.table(left), columns.table(right)
    if crossed:
        chosen = [chosen, *_candidates(columns, a, b, _key(chosen))][-1]
        if few and chosen.columns is columns:
            to_plan = [chosen.of_table(a), chosen.of_table(b)]
    elif not chosen.tables:
        to_plan = [chosen.of_table(a), chosen.of_table(b)]
    elif not few:
        used = [table.column for table in chosen.tables]
        grain = next(grain for grain in GRAINS if grain[1] == chosen.tables[0].ridge)
        sides = np.repeat([1.0, 0.0], [len(a), len(b)])
        chosen = _additive(columns, used, np.concatenate([a, b]), sides, grain)
    return Learned(chosen, to_plan[0], to_plan[1], values[best])


def _validated(
    left: Sequence[Outcome], right: Sequence[Outcome], moved: Floats | None, *, crossed: bool
) -> list[tuple[Score, Floats, Floats]]:
    """Return the candidates with their scores of validation runs, in both folds if `crossed`."""
    even, odd = slice(0, None, 2), slice(1, None, 2)
    found: dict[object, list[tuple[Score, Floats, Floats]]] = {}
    # Columns too are chosen by the runs of one half alone: chosen by all, twenty lucky ones of sixty columns
    # of noise seem to show .64 of ε.
    for fitted, validation in [(even, odd), (odd, even)][: 1 + crossed]:
        columns = learn(left[fitted], right[fitted], moved)
        a, b = columns.table(left), columns.table(right)
        for score in _candidates(columns, a[fitted], b[fitted]):
            runs = slice(None) if not crossed and _not_fitted(score) else validation
            found.setdefault(_key(score), []).append(
                (score, score.of_table(a[runs]), score.of_table(b[runs]))
            )
    return [
        (folds[0][0], np.concatenate([a for _, a, _ in folds]), np.concatenate([b for *_, b in folds]))
        for folds in found.values()
        if len(folds) == 1 + crossed
    ]


def _candidates(columns: Columns, left: Floats, right: Floats, only: object = None) -> list[Score]:
    """Return scores fitted to these runs, of the columns that separate them best; or `only` that of a key."""
    fitted, sides = np.concatenate([left, right]), np.repeat([1.0, 0.0], [len(left), len(right)])
    varying = [j for j in range(fitted.shape[1]) if _varies(fitted[:, j])]
    scores = []
    for grain in GRAINS:
        if only not in (None, grain[1]) and (isinstance(only, float) or grain != GRAINS[0]):
            continue
        gains = _gains(varying, left, right, grain)
        order = [varying[k] for k in np.argsort(-gains)]
        useful = [j for j, gain in zip(order, np.sort(gains)[::-1], strict=True) if gain > -np.log(2)]
        models = [useful[:MAX_ADDITIVE_COLUMNS]] if len(useful) > 1 else []
        alone = list[int]()
        if grain == GRAINS[0]:
            shift = [j for j in order[ALONE:] if columns.each[j] in (SHIFT, CLIPPED)]
            alone = [*order[:ALONE], *shift]  # the direction of the shift is always a candidate
        scores += [
            _additive(columns, used, fitted, sides, grain)
            for used in (*models, *([j] for j in alone))
            if only in (None, _key_of(columns, used, grain[1]))
        ]
        plain = [j for j in alone if columns.each[j].codes is None]
        scores += [Score(columns, column=j, sign=sign) for j in plain for sign in (1.0, -1.0)]
    scores.append(Score(columns, column=0))
    return scores if only is None else [score for score in scores if _key(score) == only]


def _gains(columns: list[int], left: Floats, right: Floats, grain: tuple[int, float]) -> Floats:
    """Return the mean log-likelihood of sides under each column's table, fitted to the other half."""
    gains = np.zeros(len(columns))
    for fold in (0, 1):
        fitted = np.concatenate([left[fold::2], right[fold::2]])
        sides = np.repeat([1.0, 0.0], [len(left[fold::2]), len(right[fold::2])])
        single = [fit([binned(j, fitted[:, j], grain)], fitted, sides)[0] for j in columns]
        gains += _log_likelihoods(single, left[1 - fold :: 2], right[1 - fold :: 2]) / 2
    return gains


def _key(score: Score) -> object:
    """Return the identity of a candidate across fits to different runs."""
    if score.tables:
        return _key_of(score.columns, [table.column for table in score.tables], score.tables[0].ridge)
    return False, score.columns.each[score.column].name, score.sign


def _key_of(columns: Columns, used: Sequence[int], ridge: float) -> object:
    """Return a key of these tables: their ridge for several columns, the column for a single one."""
    return ridge if len(used) > 1 else (True, columns.each[used[0]].name, 1.0)


def _worth(score: Score, value: float) -> float:
    """Return the value to compare scores by.

    Tables may be lucky.  Where no bound is expected, the known shift is preferred.  Ties go to named entries.
    """
    if score.column >= 0 and score.columns.each[score.column] == SHIFT and value < 0:
        return value / 2
    if score.tables:
        value -= LUCK * (max(value, 0.0) % 100.0)
    column = score.tables[0].column if score.tables else score.column
    return value + 1e-9 * (len(score.tables) < 2 and score.columns.each[column].keyed)


def _not_fitted(score: Score) -> bool:
    """Return whether a score is not fitted to runs, so all may judge it: an entry, or the known shift."""
    if score.tables:
        return False
    column = score.columns.each[score.column]
    chosen = score.columns.width > MAX_ENTRIES  # among many entries, by the runs of one half
    return column == SHIFT or (column.rank == 0 and not chosen)


def _log_likelihoods(single: list[ScoreTable], left: Floats, right: Floats) -> Floats:
    """Return the mean log-likelihood of the runs' sides under each column's table."""
    runs, truth = np.concatenate([left, right]), np.repeat([1.0, -1.0], [len(left), len(right)])
    return np.array([-np.logaddexp(0, -truth * t.score(runs[:, t.column])).mean() for t in single])


def _additive(
    columns: Columns, used: list[int], values: Floats, sides: Floats, grain: tuple[int, float]
) -> Score:
    empty = [binned(column, values[:, column], grain) for column in used]
    return Score(columns, tables=tuple(fit(empty, values, sides)))


def _varies(values: Floats) -> bool:
    known = values[~np.isnan(values)]
    return len(known) > 0 and (len(known) < len(values) or bool((known != known[0]).any()))
