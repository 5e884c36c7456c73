"""Records worth a try in place of another: a grid over every column, marks, several at once, fixed sums.

Marks are numbers that code asks for.  What happens at them, beside them, between two of them, at multiples
and fractions, or where several columns have one, is not met by chance.
"""

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from audits.datasets.bases import dataset, summing
from mechanisms.subject import Domain, Rows

STRATA = 256  #: values of a column that its grid has, of whole ones all up to so many
PASSES = 4  #: groups of columns that take grid values while the others are at their high ends
NOTED = 160  #: values about marks of one column
MULTIPLES, FRACTIONS = 64, 12  #: of a mark
TOGETHER, MOST = 400, 4  #: records with marks of one expression in several columns, up to so many
COPIES = 8  #: records that stand in the dataset already
TOTALS, SUMMED = 24, 3  #: fixed sums, and records of each
OFFSET = 0.382  #: where in its stratum a value of the grid lies


def records(
    domain: Domain,
    marks: Sequence[float],
    derived: Sequence[float],
    groups: Sequence[tuple[float, ...]],
    bases: Sequence[str],
    seed: int,
) -> Rows:
    """Return all such records, each once, for a place in the uniform dataset of this seed.

    `derived` are numbers that follow from marks, `groups` are marks that stand together in the code;
    records of `bases` are there too.
    """
    found = [dataset(_of(domain, SUMMED), base, 1) for base in sums(domain, marks)]
    found += [_alike(domain), dataset(domain, "uniform", seed)[:COPIES]]
    for rows in (dataset(domain, base, seed) for base in bases):
        found.append(rows[:: thin(len(rows), NOTED)])
    together = _each_once(np.concatenate([_none(domain), *(_together(domain, group) for group in groups)]))
    return _each_once(
        np.concatenate([_grid(domain), _noted(domain, marks, derived), together[:TOGETHER], *found])
    )


def _each_once(rows: Rows) -> Rows:
    return rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]


def _none(domain: Domain) -> Rows:
    return np.zeros((0, len(domain.low)))


def sums(domain: Domain, marks: Sequence[float]) -> list[str]:
    """Return bases whose rows have a sum that code asks for: of all columns, or of all but one."""
    columns = len(domain.low)
    if columns == 1:
        return []
    low, high = np.array(domain.low), np.array(domain.high)
    found = []
    for free in range(-1, columns if columns > 2 else 0):
        held = np.arange(columns) != free
        least, most = low[held].sum(), high[held].sum()
        found += [summing(total, free) for total in {1.0, 100.0, *marks} if least < total < most]
    return sorted(found)[:: thin(len(found), TOTALS)]


def thin(many: int, most: int) -> int:
    """Return which every so-manieth of many there is room for: an evenly spread choice of at most so many."""
    return max(-(-many // max(most, 1)), 1)


def _of(domain: Domain, rows: int) -> Domain:
    return Domain(rows, domain.low, domain.high, domain.integer)


def _grid(domain: Domain) -> Rows:
    """Return records in which every column takes values of its whole range, evenly: alone and all at once."""
    rng, columns = np.random.default_rng(1), len(domain.low)
    low, high = np.array(domain.low), np.array(domain.high)
    whole = np.array(domain.integer)
    share = np.stack([rng.permutation(STRATA) for _ in domain.low], axis=1) + OFFSET
    every = low + (high - low + whole) * share / STRATA
    every = np.where(whole, np.minimum(np.floor(every), high), every)
    if columns == 1:
        return np.concatenate([every, [low, high]])
    groups = min(columns, PASSES)
    alone = [np.where(np.arange(columns) % groups == k, every, high) for k in range(groups)]
    ends = np.where(rng.random(every.shape) < 0.5, every, np.where(rng.random(every.shape) < 0.5, low, high))
    return np.concatenate([every, ends, *alone])


def _alike(domain: Domain) -> Rows:
    """Return records in which two columns, or all, have one value."""
    low, high = np.array(domain.low), np.array(domain.high)
    found = []
    for a, b in itertools.islice(itertools.combinations(range(len(low)), 2), COPIES):
        least, most = max(low[a], low[b]), min(high[a], high[b])
        if least <= most:
            record = high.copy()
            record[[a, b]] = np.floor((least + 3 * most) / 4).clip(least, most)
            found += [record, np.clip(record[a], low, high)]
    return np.array(found).reshape(len(found), len(low))


def _noted(domain: Domain, marks: Sequence[float], derived: Sequence[float]) -> Rows:
    """Return records that have a mark, or a number that follows from marks, in one column; others high."""
    found = []
    for column in range(len(domain.low)):
        values = about(domain, column, marks, derived)
        rows = np.tile(np.array(domain.high), (len(values), 1))
        rows[:, column] = values
        found.append(rows)
    return np.concatenate(found)


def about(domain: Domain, column: int, marks: Sequence[float], derived: Sequence[float]) -> list[float]:
    """Return what a column may hold of marks, and of numbers beside, between, times and parts of them."""
    low, high, whole = domain.low[column], domain.high[column], domain.integer[column]
    fits = sorted({mark for mark in marks if low <= mark <= high})
    between = [(a + b) / 2 for a, b in itertools.pairwise([low, *fits, high])]
    beside = [value for mark in fits for value in _beside(mark, whole=whole)]
    times = [value for mark in marks if mark > 0 for value in _times(mark, low, high)]
    chosen: list[float] = []
    for tier in (fits, beside, between, times, derived):
        kept = {float(np.floor(value)) if whole else value for value in tier}
        new = sorted(value for value in kept - set(chosen) if low <= value <= high)
        chosen += new[:: thin(len(new), NOTED)]
    return chosen


def _beside(mark: float, *, whole: bool) -> tuple[float, float]:
    return (
        (mark - 1, mark + 1)
        if whole
        else (float(np.nextafter(mark, -np.inf)), float(np.nextafter(mark, np.inf)))
    )


def _times(mark: float, low: float, high: float) -> Iterator[float]:
    """Yield multiples of a mark in a column's range, few of many; and fractions by a small whole one."""
    first, last = np.ceil(low / mark), np.floor(high / mark)
    if last - first <= MULTIPLES:
        yield from (k * mark for k in np.arange(first, last + 1))
    else:
        yield from (k * mark for k in range(2, FRACTIONS))
    if mark == np.floor(mark) and 2 <= mark <= FRACTIONS:
        yield from (k / mark for k in range(1, FRACTIONS))


def _together(domain: Domain, group: tuple[float, ...]) -> Rows:
    """Return records in which several columns have marks of one group, the others at one end."""
    fits = [
        [m for m in group if a <= m <= b and not (w and m != np.floor(m))] for a, b, w in _columns(domain)
    ]
    some, chosen = {column: held for column, held in enumerate(fits) if held}, []
    for size in range(2, MOST + 1):
        for number, way in enumerate(_ways(some, size, len(group))):
            record = np.array(domain.low if number % 4 == 3 else domain.high)
            record[list(way)] = list(way.values())
            chosen.append(record)
    return np.array(chosen).reshape(len(chosen), len(domain.low))


def _ways(fits: dict[int, list[float]], size: int, many: int) -> Iterator[dict[int, float]]:
    """Yield ways to put `many` marks into so many columns, into three or more each once.

    Of too many ways some are drawn.
    """
    if math.comb(len(fits), size) * (many**size if size == 2 else math.perm(many, size)) <= TOGETHER:
        for columns in itertools.combinations(fits, size):
            for values in itertools.product(*(fits[column] for column in columns)):
                if size == 2 or len(set(values)) == size:
                    yield dict(zip(columns, values, strict=True))
        return
    rng = np.random.default_rng(size)
    for _ in range(TOGETHER if len(fits) >= size else 0):
        drawn = rng.choice(sorted(fits), size, replace=False).tolist()
        yield {column: fits[column][rng.integers(len(fits[column]))] for column in drawn}


def _columns(domain: Domain) -> Iterator[tuple[float, float, bool]]:
    return zip(domain.low, domain.high, domain.integer, strict=True)
