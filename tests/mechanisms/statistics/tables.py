"""Tables and statistics for tests, and what a statistic is of rows by Python's own exact numbers."""

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
#: conditions, and the same of a row in Python
CONDITIONS = [
    ("", lambda row: True),
    ('seen == true and ward != "b"', lambda row: row["seen"] == 1 and row["ward"] != 1),
    ("not (-1 <= age < 2) or seen", lambda row: not -1 <= row["age"] < 2 or row["seen"] == 1),
    ('ward == "a"', lambda row: row["ward"] == 0),
]
SUMMED = ("sum", "mean", "ratio", "variance", "stddev")
PURE = ("count", "histogram", "top", "median", "quantile")


def value(low, high):
    return Column("x", "number", low, high)


@st.composite
def statistics(draw, kinds=(*PURE, *SUMMED, "regression")):
    """Return a statistic, and its condition in Python."""
    kind = draw(st.sampled_from(kinds))
    x = value(*draw(st.sampled_from(BOUNDS)))
    text, holds = draw(st.sampled_from(CONDITIONS))
    terms = {"by": draw(st.sampled_from(GROUPS)), "where": text, "declared": (AGE, SEEN, WARD)}
    if kind != "count":
        terms["column"] = x
    if kind in ("histogram", "top"):
        terms["column"] = draw(st.sampled_from([Column("step", "integer", Fraction(0), Fraction(3)), x]))
        if terms["column"] is x:
            low, high = x.low, x.high
            terms["bins"] = (low, (low + high) / 2, high)
    if kind == "top":
        terms["k"] = 2
    if kind == "ratio":
        terms["per"] = draw(st.sampled_from(PERS))
    if kind == "quantile":
        terms["q"] = draw(st.sampled_from([(Fraction(1, 10),), (Fraction(2, 3), Fraction(9, 10))]))
    if kind == "regression":
        terms |= {"by": (), "on": draw(st.sampled_from([(AGE,), (AGE, SEEN)]))}
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
    return np.column_stack(found).astype(float)


def plain(rows, columns):
    """Return the rows that are there as dictionaries of exact numbers."""
    names = [column.name for column in columns]
    return [dict(zip(names, map(Fraction, row[1:].tolist()), strict=True)) for row in rows if row[0] == 1]


def groups(what, holds, rows):
    """Return the rows of each group that count, in the order of `keys`."""
    rows_by_key = {tuple(key.values()): [] for key in what.keys}
    for row in rows:
        codes = [int(row[each.name]) for each in what.by]
        if holds(row) and all(code >= int(each.bounds[0]) for code, each in zip(codes, what.by, strict=True)):
            labels = [label_of(each, code) for code, each in zip(codes, what.by, strict=True)]
            if None not in labels:
                rows_by_key[tuple(labels)].append(row)
    return list(rows_by_key.values())


def label_of(column, code):
    if column.kind == "integer":
        return str(code)
    return column.labels[code] if code >= 0 else None
