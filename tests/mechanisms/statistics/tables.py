"""Tables and statistics for tests, and what a statistic is of rows by Python's own exact numbers."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from dpaccount.proof import ADD_REMOVE
from mechanisms.noisy_statistics import NoisyStatistics
from mechanisms.statistics.draws import draws
from mechanisms.statistics.statistic import Statistic
from mechanisms.table.columns import Column

BOUNDS = [
    (Fraction(0), Fraction(10)),
    (Fraction(-1, 3), Fraction(1)),
    (Fraction(-33, 10), Fraction(7)),
    (Fraction(10**9), Fraction(10**9 + 1)),
    (Fraction(-5), Fraction(-1)),
    (Fraction(0), Fraction(1, 1000)),
]
WARD = Column("ward", "category", values=("a", "b"))  # a cell of neither has the code −1
CITY = Column("city", "category", values=("n", "s"), other=True)
SEEN = Column("seen", "boolean")
AGE = Column("age", "integer", Fraction(-3), Fraction(4))
PERS = (
    Column("y", "number", Fraction(0), Fraction(3)),
    Column("y", "integer", Fraction(2), Fraction(5)),
    SEEN,
)
GROUPS = [(), (WARD,), (CITY, SEEN), (AGE, WARD)]


def known(cell, meets):
    """Return whether a cell meets a condition, None where it is missing."""
    return None if cell is None else meets(cell)


def either(*truths):
    """Return `or` of three values (Kleene)."""
    return True if True in truths else None if None in truths else False


def opposite(truth):
    return None if truth is None else not truth


#: conditions, and the same of a row in Python
CONDITIONS = [
    ("", lambda row: True),
    (
        'seen == true and ward != "b"',
        lambda row: opposite(
            either(known(row["seen"], lambda code: code != 1), known(row["ward"], lambda code: code == 1))
        ),
    ),
    (
        "not (-1 <= age < 2) or seen",
        lambda row: either(
            known(row["age"], lambda code: not -1 <= code < 2), known(row["seen"], lambda code: code == 1)
        ),
    ),
    ('ward == "a"', lambda row: known(row["ward"], lambda code: code == 0)),
]
ASKING = [
    ("age is null or not seen", lambda row: either(row["age"] is None, known(row["seen"], lambda c: c != 1))),
    (
        "not (ward is not null and coalesce(age, 3) > 1)",
        lambda row: row["ward"] is None or (3 if row["age"] is None else row["age"]) <= 1,
    ),
]  #: for missing cells
STEP = Column("step", "integer", Fraction(0), Fraction(3))
NEEDING = ("mean", "variance", "stddev", "median", "quantile", "regression")  #: a cell of their column
SUMMED = ("sum", "mean", "ratio", "variance", "stddev")
PURE = ("count", "histogram", "top", "median", "quantile")


def with_gaps(column):
    """Return a column whose cells may be missing."""
    return replace(column, gaps=True, schema=2)


def value(low, high):
    return Column("x", "number", low, high)


@st.composite
def statistics(draw, kinds=(*PURE, *SUMMED, "regression")):
    """Return a statistic, and its condition in Python."""
    kind, gaps = draw(st.sampled_from(kinds)), draw(st.booleans())
    of = with_gaps if gaps else lambda column: column
    x = of(value(*draw(st.sampled_from(BOUNDS))))
    text, holds = draw(st.sampled_from(CONDITIONS + ASKING * gaps))
    by = tuple(map(of, draw(st.sampled_from(GROUPS))))
    terms = {"by": by, "where": text, "declared": tuple(map(of, (AGE, SEEN, WARD)))}
    if kind != "count":
        terms["column"] = x
    if kind in ("histogram", "top"):
        terms["column"] = draw(st.sampled_from([of(STEP), x]))
        if terms["column"] is x:
            low, high = x.low, x.high
            terms["bins"] = (low, (low + high) / 2, high)
    if kind == "top":
        terms["k"] = 2
    if kind == "ratio":
        terms["per"] = of(draw(st.sampled_from(PERS)))
    if kind == "quantile":
        terms["q"] = draw(st.sampled_from([(Fraction(1, 10),), (Fraction(2, 3), Fraction(9, 10))]))
    if kind == "regression":
        terms |= {"by": (), "on": tuple(map(of, draw(st.sampled_from([(AGE,), (AGE, SEEN)]))))}
    return Statistic("s", kind, **terms), holds


def study(what, law="gaussian", relation=ADD_REMOVE, *, rows=50, exact=False, scale=Fraction(4)):
    """Return the study of one statistic, with noise of one scale in all draws."""
    many = len(draws(what, known=exact and what.is_whole))
    return NoisyStatistics((what,), (scale,) * many, law, rows, relation, exact)


@st.composite
def coded(draw, columns, most=8):
    """Return rows of a study: whether each is there, then codes, often at the ends of their bounds."""
    size, rng = draw(st.integers(0, most)), np.random.default_rng(draw(st.integers(0, 2**32)))
    found = [rng.integers(0, 4, size) > 0]
    for column in columns:
        low, high = column.bounds
        if column.kind == "number":
            ends = rng.choice([low, high, (low + high) / 2, np.nextafter(high, low)], size)
            found.append(np.where(rng.integers(0, 2, size), ends, rng.uniform(low, high, size)))
        else:
            found.append(rng.integers(int(low), int(high) + 1, size))
        if column.gaps:
            found[-1] = np.where(rng.integers(0, 4, size), found[-1], column.gap)
    return np.column_stack(found).astype(float)


def plain(rows, columns):
    """Return the rows that are there as dictionaries of exact numbers, None for what is missing."""
    return [
        {
            column.name: None if column.gaps and code == column.gap else Fraction(code)
            for column, code in zip(columns, row[1:].tolist(), strict=True)
        }
        for row in rows
        if row[0] == 1
    ]


def groups(what, holds, rows):
    """Return the rows of each group that count, in the order of `keys`."""
    rows_by_key = {tuple(key.values()): [] for key in what.keys}
    needed = [what.column.name] if what.what in NEEDING else []
    needed += [each.name for each in what.on]
    for row in rows:
        if any(row[name] is None for name in (*needed, *(each.name for each in what.by))):
            continue
        codes = [int(row[each.name]) for each in what.by]
        if holds(row) is True and all(
            code >= int(each.bounds[0]) for code, each in zip(codes, what.by, strict=True)
        ):
            labels = [label_of(each, code) for code, each in zip(codes, what.by, strict=True)]
            if None not in labels:
                rows_by_key[tuple(labels)].append(row)
    return list(rows_by_key.values())


def label_of(column, code):
    if column.kind == "integer":
        return str(code)
    return column.labels[code] if code >= 0 else None
