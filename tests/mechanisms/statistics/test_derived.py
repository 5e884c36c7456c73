"""Derived columns: exact by another program, within their bounds, of one row alone, and refused where undefined."""

import ast
import math
from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.consistency.formulas import every_column
from dpaccount.checker.documents import Rejected, Work
from dpaccount.errors import InputError
from mechanisms.noisy_statistics import NoisyStatistics
from mechanisms.statistics.expressions import code_of, derived, sources_of
from mechanisms.statistics.statistic import Statistic
from mechanisms.table.columns import Column
from tests.depth import deep
from tests.looped import looped

DAYS = date(2019, 12, 30), date(2021, 3, 1)
COLUMNS = (
    Column("a", "integer", Fraction(-3), Fraction(7)),
    Column("x", "number", Fraction(-1, 3), Fraction(5, 2)),
    Column("big", "number", Fraction(1), Fraction(10**9)),
    Column("seen", "boolean"),
    Column("day", "date", *(Fraction(day.toordinal()) for day in DAYS)),
    Column("ward", "category", values=("n", "s")),
)
DECLARED = {
    "columns": {
        "a": {"type": "integer", "low": -3, "high": 7},
        "x": {"type": "number", "low": "-1/3", "high": 2.5},
        "big": {"type": "number", "low": 1, "high": 1e9},
        "seen": {"type": "boolean"},
        "day": {"type": "date", "low": str(DAYS[0]), "high": str(DAYS[1])},
        "ward": {"type": "category", "values": ["n", "s"]},
    }
}
LEAF = st.sampled_from(
    ["a", "x", "big", "seen", "day", "2", "-0.1", "1e3", "month(day)", "year(day)", "quarter(day)"]
)
TESTS = st.sampled_from(["a >= 2", "x < a", "ward == 'n'", "not seen and x <= 0.5", "big * 2 > a + 1e9"])
FORMULAS = st.recursive(
    LEAF,
    lambda some: st.one_of(
        st.tuples(some, st.sampled_from("+-*/"), some).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["min", "max"]), some, some).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(st.sampled_from(["abs", "-", "floor"]), some).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(some, TESTS, some).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
    ),
    max_leaves=6,
)


def rows_of(seed, many=12):
    """Return codes of some rows, often at the ends of bounds."""
    rng, columns = np.random.default_rng(seed), {}
    for column in COLUMNS:
        low, high = column.bounds
        inside = rng.uniform(low, high, many)
        inside = inside if column.kind == "number" else np.floor(inside)
        columns[column.name] = np.where(rng.integers(0, 2, many), rng.choice([low, high], many), inside)
    return columns


def exact(formula, row):
    """Return a formula's value in a row by Python's own evaluation, in exact numbers."""

    class Exact(ast.NodeTransformer):
        def visit_Constant(self, node):
            if isinstance(node.value, str):
                return node
            return ast.parse(f"Fraction({repr(node.value)!r})", mode="eval").body

    tree = ast.fix_missing_locations(Exact().visit(ast.parse(formula, mode="eval")))
    parts = {
        "year": lambda n: date.fromordinal(int(n)).year,
        "month": lambda n: date.fromordinal(int(n)).month,
        "quarter": lambda n: (date.fromordinal(int(n)).month + 2) // 3,
        "floor": math.floor,
    }
    names = {
        "Fraction": Fraction,
        **parts,
        **row,
        "ward": "ns"[int(row["ward"])] if row.get("ward", -1) >= 0 else "",
    }
    return eval(compile(tree, "formula", "eval"), names)  # noqa: S307


@deep
@given(FORMULAS, st.integers(0, 2**32))
def test_a_formula_is_exact_and_within_its_bounds_and_of_one_row(formula, seed):
    """By Python's own evaluation; the checker finds the same declaration, or refuses what we do."""
    Work.begin()
    declared = {**DECLARED, "derived": {"d": formula}}
    try:
        column = derived("d", formula, COLUMNS)
    except InputError:
        with pytest.raises(Rejected):
            every_column(declared)
        return
    declaration = every_column(declared)["d"]
    assert (declaration["type"], Fraction(declaration["low"]), Fraction(declaration["high"])) == (
        column.kind,
        column.low,
        column.high,
    )
    assert (
        declaration["of"] == [each.name for each in column.of] == [each.name for each in sources_of(column)]
    )
    codes = rows_of(seed)
    values = code_of(column, codes)
    low, high = column.bounds
    assert np.isfinite(values).all()
    assert (values >= low).all()
    assert (values <= high).all()
    size = max(map(abs, (low, high)))
    for place in range(len(values)):
        row = {name: Fraction(repr(float(each[place]))) for name, each in codes.items()}
        alone = code_of(column, {name: each[place : place + 1] for name, each in codes.items()})
        assert alone[0] == values[place]
        value = exact(formula, row)
        if column.kind == "integer":
            assert value == values[place]
        elif "/" not in formula and "*" not in formula:
            assert abs(value - Fraction(values[place])) <= 1e-5 * (1 + size)  # single terms are up to 1e9


@given(st.dates(date(1899, 1, 1), date(2101, 1, 1)), st.dates(date(1899, 1, 1), date(2101, 1, 1)), st.data())
def test_periods_are_those_of_the_calendar(one, other, data):
    """The first day of a year, quarter or month, as DuckDB's date_trunc, or its number; by both programs."""
    low, high = sorted((one, other))
    day, unit = (
        data.draw(st.dates(low, high)),
        data.draw(st.sampled_from(["year", "quarter", "month", "%Y", "%Y-%m"])),
    )
    column = Column("day", "date", Fraction(low.toordinal()), Fraction(high.toordinal()))
    formula = f'period(day, "{unit}")'
    Work.begin()
    declared = {
        "columns": {"day": {"type": "date", "low": str(low), "high": str(high)}},
        "derived": {"d": formula},
    }
    found = derived("d", formula, (column,))
    first = {
        "year": day.replace(month=1, day=1),
        "quarter": day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
        "month": day.replace(day=1),
    }.get(unit, day)
    label = first.strftime(unit) if unit.startswith("%") else str(first)
    assert found.values[int(code_of(found, {"day": np.array([float(day.toordinal())])})[0])] == label
    assert every_column(declared)["d"]["values"] == list(found.values)


def test_a_whole_number_below_a_quotient_is_that_of_decimals():
    """3 tenths are three times one, though 0.3 / 0.1 is less than 3 in double precision."""
    x = Column("x", "number", Fraction(0), Fraction(5))
    for formula, cells, whole in (
        ("floor(x / 0.1)", [0.3, 0.7, 2.9999, 0.29], [3, 7, 29, 2]),
        ("floor(x) * 2", [2.5, 5.0], [4, 10]),
    ):
        column = derived("d", formula, (x,))
        assert code_of(column, {"x": np.array(cells)}).tolist() == whole
        assert column.kind == "integer"


@looped(
    "formula",
    [
        'period(day, "week")',
        "period(day, month)",
        'period(a, "month")',
        "period(day)",
        'period(day + 1, "month")',
    ],
)
def test_what_is_no_period_is_refused(formula):
    Work.begin()
    with pytest.raises(InputError):
        derived("d", formula, COLUMNS)
    with pytest.raises(Rejected):
        every_column({**DECLARED, "derived": {"d": formula}})


@deep
@given(st.integers(0, 2**32))
def test_quotients_and_products_are_rounded_a_little(seed):
    codes = rows_of(seed)
    for formula in ("x / big", "a * x", "(a - x) / max(big, 2)", "x * x / (a + 4)"):
        values = code_of(derived("d", formula, COLUMNS), codes)
        for place in range(len(values)):
            value = float(exact(formula, {name: Fraction(each[place]) for name, each in codes.items()}))
            assert values[place] == pytest.approx(value, rel=1e-12, abs=1e-15)


@given(st.dates(date(1, 1, 1), date(9999, 12, 31)))
def test_parts_of_dates_are_those_of_the_calendar(day):
    column = Column("day", "date", Fraction(1), Fraction(date(9999, 12, 31).toordinal()))
    codes = {"day": column.codes([str(day), day, datetime(day.year, day.month, day.day, 7), f" {day}T07:00"])}
    for name, right in (("year", day.year), ("month", day.month), ("weekday", day.isoweekday())):
        part = derived("d", f"{name}(day)", (column,))
        assert part.kind == "integer"
        assert part.low <= right <= part.high
        assert code_of(part, codes).tolist() == [right] * 4


def test_what_is_no_date_is_the_default_and_dates_are_clipped():
    column = Column("day", "date", *(Fraction(day.toordinal()) for day in DAYS))
    cells = ["", None, "2020-13-01", "20200101", 738000, "soon", True, "2018-01-01", "2030-01-01"]
    low, high = column.bounds
    assert column.codes(cells).tolist() == [low] * 8 + [high]
    assert column.codes(np.array([738000])).tolist() == [low]


def test_conditions_and_bins():
    codes = {"a": np.arange(-3.0, 8.0)}
    small = derived("d", "not (a >= 0)", COLUMNS)
    assert (small.kind, code_of(small, codes).tolist()) == ("boolean", [1.0] * 3 + [0.0] * 8)
    bins = derived("d", "bins(a + 0.5, -2, 0, 3.5)", COLUMNS)
    assert bins.labels == ("[-2, 0)", "[0, 3.5]")
    assert code_of(bins, codes).tolist() == [-1, 0, 0, 1, 1, 1, 1, -1, -1, -1, -1]
    assert every_column({**DECLARED, "derived": {"d": "bins(a + 0.5, -2, 0, 3.5)"}})["d"]["values"] == list(
        bins.labels
    )


@given(st.integers(0, 2**32))
def test_a_statistic_of_a_derived_column_is_that_of_a_plain_one_with_its_codes(seed):
    """All kinds: so the movements of the proof hold for derived columns as for any other."""
    codes = rows_of(seed)
    column = derived("d", "max(0, min(a * 2 - x, 9))", COLUMNS)
    group = derived("g", "bins(x, 0, 1, 2.5)", COLUMNS)
    plain = Column("d", "number", Fraction(0), Fraction(9)), Column("g", "category", values=group.labels)
    terms = [("count", {}), ("sum", {}), ("mean", {}), ("variance", {}), ("median", {})]

    def study(value, by):
        of = [{"column": value} if what != "count" else {} for what, _ in terms]
        every = tuple(
            Statistic(what, what, by=(by,), where="d >= 1", declared=(value,), **each)
            for (what, _), each in zip(terms, of, strict=True)
        )
        return NoisyStatistics(every, (Fraction(8),) * 7, rows=12)

    derived_one, plain_one = study(column, group), study(*plain)
    assert [each.name for each in derived_one.columns] == ["a", "x"]
    ones = np.ones(12)
    rows = np.column_stack([ones, codes["a"], codes["x"]])
    same = np.column_stack([ones, code_of(column, codes), code_of(group, codes)])
    assert derived_one.query(rows).tolist() == plain_one.query(same).tolist()


REFUSED = [
    ("a / x", "may divide by 0"),
    ("a / (x - x)", "may divide by 0"),
    ("a / 0", "may divide by 0"),
    ("a / 1e-16", "may divide by 0"),
    ("big * big", "may be beyond 1e15"),
    ("a + 1e16", "is no number within 1e15"),
    ("a + 1e999", "is no number within 1e15"),
    ("a + 'x'", "is no number within 1e15"),
    ("a + 1j", "is no number within 1e15"),
    ("a ** 2", "is no arithmetic that is read"),
    ("a % 2", "is no arithmetic that is read"),
    ("mean(a)", "'mean' is no declared column"),
    ("a - median", "'median' is no declared column"),
    ("min(a)", "is no arithmetic that is read"),
    ("a if x else 2", "is no comparison"),
    ("a if seen else 'n'", "is no number within 1e15"),
    ("big if seen else big * big", "may be beyond 1e15"),
    ("a.real", "is no arithmetic that is read"),
    ("ward + 1", "ward is a category"),
    ("year(a)", "a is no date, so it has no year"),
    ("year(day + 1)", "is no arithmetic that is read"),
    ("bins(a, 1)", "bins has 1 edges"),
    ("bins(a, 2, 1)", "bins do not rise"),
    ("bins(a, 0, 1, x=2)", "is no arithmetic that is read"),
    ("year(day, x=2)", "is no arithmetic that is read"),
    ("bins(a, 0, x)", "is no number within 1e15"),
    ("1 + bins(a, 0, 1)", "is no arithmetic that is read"),
    ("3", "a formula names no column"),
    ("a +", "is no formula"),
    ("", "is no formula"),
    ("+".join("a" * 200), "has too many parts"),
]


@looped(("formula", "why"), REFUSED)
def test_what_is_not_defined_for_some_row_is_refused(formula, why):
    """In one sentence; and the checker refuses it in a certificate."""
    with pytest.raises(InputError) as error:
        derived("d", formula, COLUMNS)
    assert why in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises(Rejected):
        every_column({**DECLARED, "derived": {"d": formula}})


@given(
    TESTS,
    st.sampled_from(["a", "x * 2", "-0.1"]),
    st.sampled_from(["x", "big", "1 / 3"]),
    st.integers(0, 2**32),
)
def test_a_conditional_value_is_that_of_its_side(test, one, other, seed):
    """Also where the condition is at a tie; its bounds are those of both sides."""
    formula = f"{one} if {test} else {other}"
    column, codes = derived("d", formula, COLUMNS), rows_of(seed)
    sides = [derived("d", f"{side} + 0 * a", COLUMNS) for side in (one, other)]
    assert column.bounds == (min(s.bounds[0] for s in sides), max(s.bounds[1] for s in sides))
    holds = code_of(derived("c", f"not not ({test})", COLUMNS), codes) == 1
    first, second = (code_of(side, codes) for side in sides)
    assert code_of(column, codes) == pytest.approx(np.where(holds, first, second), rel=1e-12, abs=1e-12)
    for place, value in enumerate(code_of(column, codes)):
        exactly = exact(formula, {name: Fraction(each[place]) for name, each in codes.items()})
        assert value == pytest.approx(float(exactly), rel=1e-12, abs=1e-12)
