"""Tours of datasets in which each is played once: one record after the other changed, or one in many ways.

Neighbours share a dataset.  A walk leads from one dataset to a far one, record by record, so that what
happens at some number of rows, or of equal ones, happens between two neighbours on the way.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from audits.datasets.bases import MADE, Exemplified, Pair, crowd, dataset
from audits.datasets.domain_pairs import counts, marked_columns, near
from audits.datasets.records import sums, thin
from dpaccount.proof import ADD_REMOVE
from dpaccount.relation import radius_of
from mechanisms.subject import Domain, Rows

SEED = 1  #: of the drawn datasets of walks
UNITS = 100  #: rows that are changed, one by one
FEW_VALUES = 16  #: of a whole column: walks lead to rows that have each
TOTALS = 16  #: bases of which a column has a fixed sum
MARKED = 48  #: walks to rows that share a mark


def star(domain: Domain, relation: str, base: str, seed: int, unit: int, records: Rows) -> Iterator[Pair]:
    """Yield pairs in which one row of a dataset, at its low end, is replaced by each record, or goes."""
    left = dataset(domain, base, seed)
    left[unit - 1] = domain.low
    without = np.delete(left, unit - 1, axis=0)
    for record in records:
        right = left.copy()
        right[unit - 1] = record
        if relation == ADD_REMOVE:
            yield Pair(right, without, base, seed, unit)
        elif radius_of(relation) is None:
            yield Pair(left, right, base, seed, unit)
        else:
            other = right.copy()
            other[unit - 1] = near(record, np.array(domain.low) + np.array(domain.high) - record, relation)
            yield Pair(right, other, base, seed, unit)


def by_unit(domain: Domain, relation: str, base: str, seed: int, units: list[int]) -> Iterator[Pair]:
    """Yield pairs in which one row after the other goes from the low end to the high one, or goes.

    Of several columns one does so alone, too.
    """
    left = dataset(domain, base, seed)
    low, high = np.array(domain.low), np.array(domain.high)
    for number, unit in enumerate(units):
        alone = np.arange(len(low)) == number % len(low)
        for changed in (np.ones(len(low), dtype=bool), alone)[: len(low)]:
            here, other = left.copy(), left.copy()
            here[unit - 1] = np.where(changed, low, left[unit - 1])
            other[unit - 1] = near(here[unit - 1], np.where(changed, high, left[unit - 1]), relation)
            if relation == ADD_REMOVE:
                other = np.delete(other, unit - 1, axis=0)
            yield Pair(left if np.array_equal(here, left) else here, other, base, seed, unit)


def units(domain: Domain, more: set[int]) -> list[int]:
    """Return rows from 1: all, or of many 1, 2, 3, 4, 6, 8, …, the last ones, `more` and some between.

    Streams have short parts at their beginning, which a unit drawn at random seldom enters.
    """
    if domain.rows <= UNITS:
        return list(range(1, domain.rows + 1))
    first = {factor * 2**k for k in range(domain.rows.bit_length()) for factor in (1, 3)}
    even = np.linspace(1, domain.rows, UNITS // 2).astype(int).tolist()
    every = sorted(unit for unit in {*first, *even, *more} if 0 < unit <= domain.rows)
    return every[:: max(len(every) // (2 * UNITS), 1)]


@dataclass(frozen=True)
class Walk:
    """Datasets 0 … `steps`, each a step from the next: one row is replaced.

    Dataset k is called `base` with k in its braces.  With `leaving` a step takes the first row away.
    `asked` are steps that are looked at in any case.
    """

    domain: Domain
    relation: str
    base: str
    steps: int
    asked: tuple[int, ...] = ()
    leaving: bool = False

    def table(self, k: int) -> Rows:
        """Return dataset k."""
        gone = k if self.leaving else 0
        return _held(replace(self.domain, rows=self.domain.rows - gone), self.base.format(k))

    def step(self, k: int) -> list[Pair]:
        """Return the neighbours between dataset k − 1 and dataset k: under add-remove both lose that row."""
        before, after = ((self.table(at), self.base.format(at)) for at in (k - 1, k))
        if self.leaving:
            return [Pair(before[0], after[0], before[1], SEED, 1)]
        if self.relation == ADD_REMOVE:
            return [Pair(rows, np.delete(rows, k - 1, 0), base, SEED, k) for rows, base in (before, after)]
        return [Pair(before[0], after[0], before[1], SEED, k)]


@lru_cache(maxsize=8)
def _held(domain: Domain, base: str) -> Rows:
    """Return a dataset that stays the same array for a while: who has played it knows it again."""
    return dataset(domain, base, SEED)


def walks(domain: Domain, relation: str, marks: tuple[float, ...]) -> Iterator[Walk]:
    """Yield walks: to fewer rows, from one base to another, and to rows that share a value of a column."""
    rows, asked = domain.rows, counts(domain.rows, marks)
    given = examples(domain)
    for number, base in enumerate(("uniform", "rising 0 corners", "high", *given)):
        whole = range(1, rows + 1 if rows <= UNITS and not number else 1)
        fewer = tuple(rows - count for count in (*asked, *whole))
        if relation == ADD_REMOVE:
            yield Walk(domain, relation, f"last of {rows} {base}", rows, fewer, leaving=True)
    columns = len(domain.low)
    ends = [(start, example) for example in given for start in ("low", "high", "uniform")]
    ends += [("low", "high"), ("low", "uniform"), ("uniform", "high"), ("in turn", "falling")]
    ends += [("low", f"ends {1 << c}") for c in range(min(columns, 4)) if columns > 1]
    ends += [("high", f"ends {(1 << columns) - 1 - (1 << c)}") for c in range(min(columns, 4)) if columns > 1]
    for start, end in ends:
        yield Walk(domain, relation, f"first {{}} {end}, then {start}", rows)
    crowds = [(c, float(value)) for c, values in enumerate(_values(domain)) for value in values]
    noted = [place for place in marked_columns(domain, marks) if place not in crowds]
    crowds += noted[:: thin(len(noted), MARKED)]
    for number, (column, mark) in enumerate(crowds):
        others = ("low", "high", "uniform")[number % 3]
        base = crowd(0, mark, column, others).replace("crowd 0", "crowd {}")
        yield Walk(domain, relation, base, rows, tuple(asked))


def _values(domain: Domain) -> Iterator[list[float]]:
    """Yield the values of each whole column that has few, and none of others."""
    for low, high, whole in zip(domain.low, domain.high, domain.integer, strict=True):
        few = whole and high - low < FEW_VALUES
        yield np.arange(low, high + 1).tolist() if few else []


def examples(domain: Domain) -> list[str]:
    """Return the bases of example tables."""
    return [name for name, _ in domain.examples] if isinstance(domain, Exemplified) else []


def special(domain: Domain, marks: tuple[float, ...]) -> list[str]:
    """Return bases that real tables may be like and drawn ones are not: sorted, balanced, of fixed sums."""
    columns = range(min(len(domain.low), 6))
    ordered = [f"{way} {column} uniform" for column in columns for way in ("rising", "falling")]
    ends = [f"ends {bits}" for bits in range(1, min(2 ** len(domain.low), 17) - 1)]
    means = [(c, total / domain.rows) for total in (1.0, 100.0, *marks) for c in columns]
    shares = [
        crowd(domain.rows, mean, c, "uniform") for c, mean in means if domain.low[c] < mean < domain.high[c]
    ]
    return [
        *examples(domain),
        *MADE,
        *ordered,
        *ends,
        *sums(domain, marks),
        *shares[:: thin(len(shares), TOTALS)],
        *_each(domain, marks),
    ]


def _each(domain: Domain, marks: tuple[float, ...]) -> list[str]:
    """Return bases in which every mark that a column may hold stands once."""
    places = marked_columns(domain, marks)
    found = []
    for column in range(min(len(domain.low), 6)):
        held, base = [mark for of, mark in places if of == column][: domain.rows], "low"
        for number, mark in enumerate(held):
            base = crowd(len(held) - number, mark, column, base)
        found += [base] if held else []
    return found
