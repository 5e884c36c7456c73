"""Replacement records to try: a grid over every column, marks, several at once, fixed sums.

Marks are constants in the code.  Random data rarely hit a constant, its neighbours, the midpoint of two, a
multiple or a fraction, or constants in several columns at once.
"""

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from audits.datasets import bases
from audits.datasets.bases import MOST_TIMES, between, dataset
from mechanisms.subject import Domain, Rows

STRATA = 256  #: grid values of a column; an integer column with fewer values has all of them
OFFSET = 0.382  #: where in its stratum a value of the grid lies
PASSES = 4  #: groups of columns that take grid values while the others are at their high ends
FITS, NOTED = 400, 160  #: marks of one column that are tried, and values that follow from them
MULTIPLES, FRACTIONS = 64, 12  #: of a mark
TERMS = 5  #: numbers of one statement that are put together
TOGETHER, DRAWN, MOST_MARKED = (
    800,
    80,
    4,
)  #: records with marks that stand together: in all, for a mark; columns
TOTALS, FREE, FEW = 24, 6, 8  #: fixed sums, columns left out of them; records that a dataset has
MAX_MARKED_COLUMNS = 32  #: that have marks alone


def thin(count: int, most: int) -> int:
    """Return the step of a slice that picks at most `most` of `count` items, evenly spaced."""
    return max(-(-count // max(most, 1)), 1)


def records(
    domain: Domain, marks: Sequence[float], groups: Sequence[tuple[float, ...]], bases: Sequence[str]
) -> Rows:
    """Return all such records, each once; `groups` are marks that stand together in the code.

    Records of `bases` are there too.
    """
    few, columns = Domain(FEW, domain.low, domain.high, domain.integer), len(domain.low)
    together = np.zeros((0, columns))
    for seed, group in enumerate([*groups, *filter(None, map(_solving, groups))] if columns > 1 else ()):
        if len(together) < TOGETHER:
            together = _each_once(np.concatenate([together, _together(domain, group, seed)]))
    candidates = [_grid(domain), _noted(domain, marks, groups), together[:TOGETHER]]
    candidates += [dataset(few, base, 1) for base in ("uniform", "in line", *sums(domain, marks))]
    for rows in (dataset(domain, base, 1) for base in bases):
        candidates.append(rows[:: thin(len(rows), NOTED)])
    return _each_once(np.concatenate(candidates))


def _each_once(rows: Rows) -> Rows:
    return rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]


def sums(domain: Domain, marks: Sequence[float]) -> list[str]:
    """Return bases whose rows have a sum that code asks for: of all columns, or of all but one."""
    columns, conditions = np.arange(len(domain.low)), []
    for free in range(-1, min(len(columns), FREE) if len(columns) > 2 else 0):
        least, most = (np.array(ends)[columns != free].sum() for ends in (domain.low, domain.high))
        conditions += [f"sum {total!r} {free}" for total in {1.0, 100.0, *marks} if least < total < most]
    return sorted(conditions)[:: thin(len(conditions), TOTALS)] if len(columns) > 1 else []


def _grid(domain: Domain) -> Rows:
    """Return records in which every column takes values of its whole range, evenly: alone and all at once."""
    rng, columns = np.random.default_rng(1), np.arange(len(domain.low))
    low, high = np.array(domain.low), np.array(domain.high)
    # A Latin hypercube: each column has its own order of the strata, so that every band of its values is
    # tried once, in combination with different values of the others.
    share = (np.stack([rng.permutation(STRATA) for _ in columns], axis=1) + OFFSET) / STRATA
    spread = between(domain, share)
    ends = np.where(rng.random(spread.shape) < 0.5, low, high)
    groups = min(len(columns), PASSES)
    alone = [np.where(columns % groups == k, spread, high) for k in range(groups)]
    return np.concatenate([spread, np.where(rng.random(spread.shape) < 0.5, spread, ends), *alone])


def _noted(domain: Domain, marks: Sequence[float], groups: Sequence[tuple[float, ...]]) -> Rows:
    """Return records that have a mark, or a number that follows from marks, in one column; others high."""
    low, high = np.array(domain.low), np.array(domain.high)
    candidates = [np.clip(np.array(marks)[:, None], low, high)]  # and such that have it in all
    for column in range(0, len(low), thin(len(low), MAX_MARKED_COLUMNS)):
        values = about(domain, column, marks, groups)
        candidates.append(np.tile(high, (len(values), 1)))
        candidates[-1][:, column] = values
    return np.concatenate(candidates)


def about(
    domain: Domain, column: int, marks: Sequence[float], groups: Sequence[tuple[float, ...]] = ()
) -> list[float]:
    """Return values for a column: marks, their neighbours, midpoints, multiples and fractions."""
    low, high, integer = domain.low[column], domain.high[column], domain.integer[column]
    fits = sorted({mark for mark in marks if low <= mark <= high})
    neighbours = [
        mark + k if integer else float(np.nextafter(mark, mark + k)) for mark in fits for k in (-1, 1)
    ]
    middles = [(a + b) / 2 for a, b in itertools.pairwise([low, *fits, high])]
    times = [value for mark in marks if mark > 0 for value in _times(mark, low, high)]
    joined = [value for group in groups if len(group) <= TERMS for value in _joined(group)]
    chosen: list[float] = []
    dated = (MOST_TIMES, bases.times(low, high))
    for most, tier in (
        (FITS, fits),
        *((NOTED, each) for each in (neighbours, middles, times, joined)),
        dated,
    ):
        kept = {float(np.floor(value)) if integer else value for value in tier}
        new = sorted(value for value in kept - set(chosen) if low <= value <= high)
        chosen += new[:: thin(len(new), most)]
    return chosen


def _times(mark: float, low: float, high: float) -> Iterator[float]:
    """Yield multiples of a mark in a column's range; and fractions by a small whole one."""
    if math.isinf(low / mark) or math.isinf(high / mark):
        return  # so small that every value is about a multiple
    first, count = math.ceil(low / mark), math.floor(high / mark) - math.ceil(low / mark) + 1
    yield from (k * mark for k in range(first, first + count, thin(count, MULTIPLES)))
    if mark in range(2, FRACTIONS):
        yield from (k / mark for k in range(1, FRACTIONS))


def _joined(group: tuple[float, ...]) -> Iterator[float]:
    # A code that the function splits by division and remainder has the form a·m + b.
    for a, m, b in itertools.product(group, (1.0, *group), (0.0, *group)):
        yield a * m + b


def _solving(group: tuple[float, ...]) -> tuple[float, ...]:
    """Return the two numbers that have a sum and a difference of a small group, for all such."""
    pairs = list(itertools.permutations(group, 2)) if len(group) < TERMS else []
    return tuple(dict.fromkeys((a + sign * b) / 2 for a, b in pairs for sign in (1, -1)))


def _together(domain: Domain, group: tuple[float, ...], seed: int) -> Rows:
    """Return records in which two columns or more have marks of one group, in ways that are drawn.

    Other columns are at their high ends, now and then at their low ones.
    """
    rng, low, high = np.random.default_rng(seed), np.array(domain.low), np.array(domain.high)
    candidates = np.where(np.arange(DRAWN * len(group))[:, None] % 4 == 3, low, high)
    for record in candidates:
        columns = rng.permutation(len(low))[: rng.integers(2, MOST_MARKED + 1)]
        for column, mark in zip(columns, rng.permutation([*group, *group]).tolist(), strict=False):
            excluded = domain.integer[column] and mark != np.floor(mark)
            if low[column] <= mark <= high[column] and not excluded:
                record[column] = mark
    return candidates
