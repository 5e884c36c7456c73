"""Conditions with arithmetic: decided as by exact numbers, of one row alone, and alike in both programs."""

import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.consistency.formulas import every_column, where_reads
from dpaccount.checker.documents import Rejected, Work
from dpaccount.errors import InputError
from mechanisms.statistics.expressions import condition
from mechanisms.table.columns import Column
from tests.depth import deep
from tests.looped import looped
from tests.mechanisms.statistics.test_derived import COLUMNS, DECLARED, FORMULAS, exact, rows_of

COMPARED = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
TENTHS = Column("p", "number", Fraction(0), Fraction(10)), Column("q", "number", Fraction(0), Fraction(10))


def decimals(codes, place):
    """Return a row as it is written: each number is its shortest decimal."""
    return {name: Fraction(repr(float(each[place]))) for name, each in codes.items()}


@deep
@given(FORMULAS, st.sampled_from(list(COMPARED)), FORMULAS, st.integers(0, 2**32))
def test_a_comparison_of_formulas_is_decided_by_exact_numbers(left, sign, right, seed):
    """By Python's own evaluation; the checker reads the same columns, or refuses what we do."""
    Work.begin()
    formula, declared = f"{left} {sign} {right}", every_column(DECLARED)
    try:
        names, holds = condition(formula, COLUMNS)
    except InputError:
        with pytest.raises(Rejected):
            where_reads(formula, declared)
        return
    assert where_reads(formula, declared) == list(names)
    codes = rows_of(seed)
    flags = holds(codes)
    for place in range(len(flags)):
        row = decimals(codes, place)
        assert flags[place] == COMPARED[sign](exact(left, row), exact(right, row))
        assert holds({name: each[place : place + 1] for name, each in codes.items()})[0] == flags[place]


FORMS = ["p + {} {} q", "p * {} {} q", "p - q {} {}", "p / {} {} q", "p {} q", "min(p, {}) {} abs(q - 1)"]


@deep
@given(st.sampled_from(FORMS), st.sampled_from(list(COMPARED)), st.integers(1, 40), st.integers(0, 2**32))
def test_ties_of_decimals_are_ties(form, sign, tenth, seed):
    """Of tenths, whose doubles are no tenths: in a third of these forms doubles alone decide otherwise."""
    terms = [repr(tenth / 10), sign] if form.count("{}") == 2 else [sign]
    formula = form.format(*(reversed(terms) if form.startswith("p - q") else terms))
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, 40, 16) / 10 for name in "pq"}
    left, right = formula.split(f" {sign} ")
    flags = condition(formula, TENTHS)[1](codes)
    for place in range(len(flags)):
        row = decimals(codes, place)
        assert flags[place] == COMPARED[sign](exact(left, row), exact(right, row))


def test_doubles_alone_would_decide_otherwise():
    """What the comparison above would be without a second look: the test of ties can fail."""
    codes = {"p": np.array([0.1]), "q": np.array([0.3])}
    assert codes["p"] + 0.2 != codes["q"]
    assert condition("p + 0.2 == q", TENTHS)[1](codes).tolist() == [True]
    assert condition("p * 3 > q", TENTHS)[1](codes).tolist() == [False]


def test_a_missing_cell_counts_as_what_is_declared():
    column = Column("a", "number", Fraction(0), Fraction(9), missing=Fraction(5))
    codes = {"a": column.codes(["", "x", 4, 99])}
    assert condition("2 * a - 1 >= 9", (column,))[1](codes).tolist() == [True, True, False, True]


def test_a_column_that_is_named_as_a_truth_value_is_a_column():
    column = Column("true", "integer", Fraction(0), Fraction(9))
    codes = {"true": np.array([1.0, 2.0])}
    assert condition("true >= 2", (column,))[1](codes).tolist() == [False, True]
    assert condition("2 <= true", (column,))[1](codes).tolist() == [False, True]
    assert where_reads("2 <= true", {"true": {"type": "integer", "low": 0, "high": 9}}) == ["true"]


REFUSED = [
    ("a / x > 1", "may divide by 0"),
    ("a > big * big", "may be beyond 1e15"),
    ("a - mean(a) > 0", "'mean' is no declared column; a threshold is a number or a declared value"),
    ("a.mean() > 2", "is no arithmetic that is read"),
    ("a[0] > 2", "is no arithmetic that is read"),
    ("a > x if seen else 2", "is no comparison"),
    ("ward == ward", "ward is a category, which has no arithmetic"),
    ("ward + 1 > 2", "ward is a category, which has no arithmetic"),
    ("day - 1 > '2020-01-01'", "is no number within 1e15"),
    ("a + 1 in x", "an operator that is not read"),
    ("a - 1", "is no comparison"),
    ("1 + 1 < 3", "names no column"),
    ("a ** 2 > 3", "is no arithmetic that is read"),
    ("bins(a, 0, 1) == 1", "'bins' is no declared column"),
]


@looped(("formula", "why"), REFUSED)
def test_what_is_undefined_for_some_row_is_refused_by_both(formula, why):
    with pytest.raises(InputError) as error:
        condition(formula, COLUMNS)
    assert why in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises(Rejected):
        where_reads(formula, every_column(DECLARED))
