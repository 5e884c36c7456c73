"""Tours of datasets that share one run's releases: changed records, changed rows, walks.

A walk leads from one dataset to a distant one record by record, so that a change of behaviour at some number
of rows, or of equal rows, occurs between two neighbours on the way.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np

from audits.datasets.bases import (
    BACKGROUNDS,
    GENERATORS,
    Exemplified,
    Pair,
    alike,
    counts,
    crowd,
    dataset,
    marked_columns,
    middle,
)
from audits.datasets.records import TOTALS, sums, thin
from dpaccount.relation import adjacency
from mechanisms.subject import Domain, Rows

SEED = 1  #: of datasets that are drawn
UNITS = 100  #: number of rows that are changed, one by one
FEW_VALUES = 16  #: number of values up to which walks lead to every value of an integer column
EACH_WAITS, SOME_WAIT = 64, 8  #: rows each of which answers late, one by one; of more rows, how many do
MARKED = 48  #: maximum number of walks to rows that share a mark
CROWDS, TIES, MOST_TIES = 30, 6, 5  #: walks between two crowds, and to equal rows; the most of these
TOTALS_TO = 200  #: whole totals of a column at which one row is changed
EACH_VALUE = 10_000  #: values of an integer column up to which one row takes each of them
MAX_SORTED_COLUMNS = 6  #: number of columns by which tables are sorted, or filled with marks


def star(domain: Domain, relation: str, base: str, unit: int, records: Rows) -> Iterator[Pair]:
    """Yield pairs in which one row of a dataset, at the low end, is replaced by each record, or removed."""
    left, low, high = dataset(domain, base, SEED), np.array(domain.low), np.array(domain.high)
    for record in records:
        moves = adjacency(relation).radius is not None  # then from the record, not to it
        yield _changed(
            left, relation, base, unit, *((record, low + high - record) if moves else (low, record))
        )


def each_value(domain: Domain) -> Iterator[tuple[int, Rows]]:
    """Yield integer columns with few values, and a row of a dataset with each of these in turn."""
    row = dataset(domain, "uniform", SEED)[domain.rows // 2]
    for column, (low, high) in enumerate(zip(domain.low, domain.high, strict=True)):
        if domain.integer[column] and 1 < high - low < EACH_VALUE:
            values = np.arange(low, high + 1)
            records = np.repeat(row[None], len(values), axis=0)
            records[:, column] = values
            yield column, records


def wide_columns(domain: Domain) -> list[tuple[int, float]]:
    """Return the integer columns with too many values for a row to take each, and how many they have."""
    return [
        (column, high - low + 1)
        for column, (low, high) in enumerate(zip(domain.low, domain.high, strict=True))
        if domain.integer[column] and high - low >= EACH_VALUE
    ]


def empty(domain: Domain, relation: str) -> Iterator[Pair]:
    """Yield pairs in which a row has nothing: all its numbers are missing, as of who is offered nothing."""
    nothing = domain.clamped(np.full((1, len(domain.low)), np.nan))
    for unit in (1, (domain.rows + 1) // 2):
        yield from star(domain, relation, "uniform", unit, nothing)


def waiting(domain: Domain, relation: str) -> Iterator[Pair]:
    """Yield pairs in which a row, before at the low end, answers with all others, who are at one end.

    All who come before a row answer when it comes.
    """
    # Where no more answers may wait than there is room for, one drives out another person's.
    each = 1 if domain.rows <= EACH_WAITS else domain.rows // SOME_WAIT
    for column in delays(domain):
        for row in (domain.rows // 2, 3 * domain.rows // 4):
            until = ",".join(f"{row - before}.0" for before in range(row))
            for others, end in (("low", domain.high), ("high", domain.low)):
                for unit in range(1, row + 1, each):
                    record = np.array([[*end[:column], row - unit + 1, *end[column + 1 :]]])
                    yield from star(domain, relation, f"series 0 {column} {until} {others}", unit, record)


def delays(domain: Domain) -> list[int]:
    """Return columns of delays, in rows: whole numbers of which as many as there are rows means never."""
    columns = zip(domain.low, domain.high, domain.integer, domain.nothing, strict=True)
    return [place for place, of in enumerate(columns) if of == (0.0, domain.rows, True, domain.rows)]


def by_unit(domain: Domain, relation: str, base: str, units: list[int]) -> Iterator[Pair]:
    """Yield pairs in which one row after the other moves from the low end to the high one, or is removed.

    With several columns, also pairs in which only one column differs.
    """
    left, low, high = dataset(domain, base, SEED), np.array(domain.low), np.array(domain.high)
    for number, unit in enumerate(units):
        alone = np.arange(len(low)) == number % len(low)
        for changed in (alone | True, alone)[: len(low)]:
            ends = (np.where(changed, end, left[unit - 1]) for end in (low, high))
            yield _changed(left, relation, base, unit, *ends)


def _changed(rows: Rows, relation: str, base: str, unit: int, here: Rows, there: Rows) -> Pair:
    """Return the pair in which a row is `here` and `there`; under add-remove, `there` and missing."""
    left, near = rows.copy(), adjacency(relation)
    left[unit - 1] = there if near.rows_vary else here
    return Pair(left, near.neighbour(left, unit - 1, there), base, SEED, unit)


def units(domain: Domain, more: set[int]) -> list[int]:
    """Return numbers of rows from 1: all, or of many 1, 2, 3, 4, 6, 8, …, `more`, evenly spaced."""
    # Streams have short parts at their beginning, which a random unit rarely enters.
    first = {factor * 2**k for k in range(domain.rows.bit_length()) for factor in (1, 3)}
    even = np.linspace(1, domain.rows, min(UNITS, domain.rows)).astype(int).tolist()
    numbers = sorted(unit for unit in {*first, *even, *more} if 0 < unit <= domain.rows)
    return numbers[:: thin(len(numbers), 3 * UNITS)]


@dataclass(frozen=True)
class Walk:
    """Datasets 0 … `steps`, each a step from the next: one row is replaced.

    The name of dataset k is `base.format(k)`.  With `leaving` each step removes the first row.
    `requested` are steps to judge in any case.
    """

    domain: Domain
    relation: str
    base: str
    steps: int
    requested: tuple[int, ...] = ()
    leaving: bool = False

    def table(self, k: int) -> Rows:
        """Return dataset k."""
        rows = self.domain.rows - k * self.leaving
        return dataset(replace(self.domain, rows=rows), self.base.format(k), SEED)

    def step(self, k: int) -> list[Pair]:
        """Return the neighbours between datasets k − 1 and k; under add-remove, both without that row."""
        (before, base), (after, then) = ((self.table(at), self.base.format(at)) for at in (k - 1, k))
        near = adjacency(self.relation)
        if self.leaving or not near.rows_vary:
            return [Pair(before, after, base, SEED, 1 if self.leaving else k)]
        sides = ((before, base), (after, then))
        rest = [near.neighbour(rows, k - 1, rows[k - 1]) for rows, _ in sides]
        return [Pair(side, less, name, SEED, k) for (side, name), less in zip(sides, rest, strict=True)]


def series(domain: Domain, relation: str, sequences: Iterable[tuple[float, ...]]) -> Iterator[Pair]:
    """Yield pairs in which consecutive rows have numbers that stand in a sequence, on one side or on both."""
    low, high, near = np.array(domain.low), np.array(domain.high), adjacency(relation)
    for number, sequence in enumerate(sequences):
        marked = [column for column, _ in marked_columns(domain, sequence)]
        columns = [column for column in dict.fromkeys(marked) if marked.count(column) == len(sequence)]
        if not columns or len(sequence) > domain.rows:
            continue
        start = (domain.rows - len(sequence)) // 2 * (number % 2)
        written = ",".join(map(repr, sequence))
        base = f"series {start} {columns[number % len(columns)]} {written} {BACKGROUNDS[number % 3]}"
        left = dataset(domain, base, SEED)
        for place in range(start, start + len(sequence)):
            other = np.where(left[place] == high, low, high)
            yield Pair(left, near.neighbour(left, place, other), base, SEED, place + 1)


def totals(domain: Domain, relation: str) -> Iterator[Pair]:
    """Yield pairs in which the last row goes from low to high in a column; the others have a whole total."""
    low, high, columns = np.array(domain.low), np.array(domain.high), range(min(len(domain.low), 4))
    for column in columns:
        most = min(TOTALS_TO // len(columns), int(middle(domain, column) * (domain.rows - 1)))
        for total in range(most + 1):
            base = f"total {total} {column}"
            record = dataset(domain, base, SEED)[-1]
            changed = np.arange(len(low)) == column
            ends = (np.where(changed, end, record) for end in (low, high))
            yield _changed(dataset(domain, base, SEED), relation, base, domain.rows, *ends)


def crowds(domain: Domain, relation: str, groups: tuple[tuple[float, ...], ...]) -> Iterator[Walk]:
    """Yield walks from rows of one record to rows of another, of marks that stand together or between them.

    And walks to a few rows of the same record, which is drawn.
    """
    # Code may compare numbers of equal rows; tables that are drawn have none.
    rng, rows = np.random.default_rng(SEED), domain.rows
    for record in dataset(replace(domain, rows=TIES), "uniform", SEED).tolist():
        few = min(MOST_TIES, rows)
        yield Walk(domain, relation, alike("{}", record, "uniform"), few, tuple(range(1, few + 1)))
    pairs = list(combinations(next(_values(domain)), 2)) if len(domain.low) == 1 else []
    for number in range(CROWDS):
        group = groups[number % len(groups)] if groups else ()
        one, two = ([_one_of(domain, c, group, rng) for c in range(len(domain.low))] for _ in range(2))
        if pairs:
            one, two = ([value] for value in pairs[number * len(pairs) // CROWDS])
        base = alike("{}", one, alike(rows - rows % 2, two, "uniform"))
        yield Walk(domain, relation, base, rows, (rows // 2,))


def _one_of(domain: Domain, column: int, marks: tuple[float, ...], rng: np.random.Generator) -> float:
    """Return a value of a column: a mark, or one between two."""
    low, high = domain.low[column], domain.high[column]
    fits = sorted({mark for mark in marks if low <= mark <= high})
    places = [*fits, *((a + b) / 2 for a, b in pairwise([low, *fits, high]))]
    place = float(places[rng.integers(len(places))])
    return float(np.floor(place)) if domain.integer[column] else place


def walks(domain: Domain, relation: str, marks: tuple[float, ...]) -> Iterator[Walk]:
    """Yield walks: to fewer rows, from one base to another, and to rows that share a value of a column."""
    rows, requested, given = domain.rows, counts(domain.rows, marks), examples(domain)
    for number, base in enumerate(("uniform", "rising 0 corners", "high", *given)):
        steps = range(rows if rows <= UNITS and not number else 0)
        fewer = (*steps, *(rows - count for count in requested))
        if adjacency(relation).rows_vary:
            yield Walk(domain, relation, f"last of {rows} {base}", rows, fewer, leaving=True)
    some, mask = range(min(len(domain.low), 4) if len(domain.low) > 1 else 0), (1 << len(domain.low)) - 1
    ends = [(start, example) for example in given for start in ("low", "high", "uniform")]
    ends += [
        ("low", "high"),
        ("high", "low"),
        ("low", "uniform"),
        ("uniform", "high"),
        ("in turn", "falling"),
    ]
    ends += [("low", f"ends {1 << c}") for c in some] + [("high", f"ends {mask - (1 << c)}") for c in some]
    at_once = [f"ends {mask - (1 << column)}" for column in delays(domain)]  # high, and nobody is late
    ends += [pair for high in at_once for pair in (("low", high), (high, "low"))]
    for start, end in ends:
        yield Walk(domain, relation, f"first {{}} {end}, then {start}", rows)
    crowds = [(c, value) for c, values in enumerate(_values(domain)) for value in values]
    noted = [place for place in marked_columns(domain, marks) if place not in crowds]
    for number, (column, mark) in enumerate([*crowds, *noted[:: thin(len(noted), MARKED)]]):
        base = crowd("{}", mark, column, ("low", "high", "uniform")[number % 3])
        yield Walk(domain, relation, base, rows, tuple(requested))


def _values(domain: Domain) -> Iterator[list[float]]:
    """Yield the values of every column: a list if it is of integers and has few, else an empty one."""
    for low, high, integer in zip(domain.low, domain.high, domain.integer, strict=True):
        yield np.arange(low, high + 1).tolist() if integer and high - low < FEW_VALUES else []


def examples(domain: Domain) -> list[str]:
    """Return the bases of example tables."""
    return [name for name, _ in domain.examples] if isinstance(domain, Exemplified) else []


def special(domain: Domain, marks: tuple[float, ...]) -> list[str]:
    """Return bases that resemble real tables: sorted, balanced, of fixed sums."""
    columns = range(min(len(domain.low), MAX_SORTED_COLUMNS))
    ordered = [f"{way} {column} uniform" for column in columns for way in ("rising", "falling")]
    ends = [f"ends {bits}" for bits in range(1, min(2 ** len(domain.low), 17) - 1)]
    fits = marked_columns(domain, tuple(total / domain.rows for total in (1.0, 100.0, *marks)))
    means = [crowd(domain.rows, mean, column, "uniform") for column, mean in fits if column in columns]
    by_column = [_every_mark(domain, marks, column) for column in columns]
    sorts = [*examples(domain), *GENERATORS, *ordered, *ends, *by_column]
    return [*sorts, *sums(domain, marks), *means[:: thin(len(means), TOTALS)]]


def _every_mark(domain: Domain, marks: tuple[float, ...], column: int) -> str:
    """Return the base that contains every possible mark of a column once."""
    base, marked = "low", [mark for of, mark in marked_columns(domain, marks) if of == column][: domain.rows]
    for number, mark in enumerate(marked):
        base = crowd(len(marked) - number, mark, column, base)
    return base
