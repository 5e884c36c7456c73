"""A cell is read in one way, whatever file it is in and however a program spells it."""

import io
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from unicodedata import normalize

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet

from audits.studies.frame import as_file
from mechanisms.table.cells import identity_of, text_of
from mechanisms.table.columns import Column
from mechanisms.table.persons import SECRET_BYTES, PersonCounters, keys_of, owners_of
from mechanisms.table.reading import ArrowCells, batches
from tests.depth import deep, examples

SECRET = bytes(range(SECRET_BYTES))
COLUMNS = (
    Column("ward", "category", values=("1", "2", "-3"), other=True),
    Column("sure", "category", values=("True", "False"), other=True),
    Column("flag", "boolean"),
    Column("note", "text"),
    Column("code", "category", values=("7", "café"), other=True),
    Column("size", "number", Fraction(-5), Fraction(5)),
    Column("when", "date", Fraction(730_000), Fraction(740_000)),
    Column("moment", "category", values=("2024-03-01", "2024-03-02 01:30:00.5"), other=True),
)
NAMES = (*(column.name for column in COLUMNS), "who")

#: A whole number's spellings: of programs, and by hand.
SPELLED = ("{}", "{}.0", "{}.00", "{}.", "{}e0", "{}E+0", "{}.0e0", " {} ")


def spelled(number, how):
    text = SPELLED[how % len(SPELLED)].format(number)
    return "+" + text.strip() if how % 2 and number >= 0 else text


whole = st.one_of(st.none(), st.integers(-3, 3))
flags = st.one_of(st.none(), st.booleans())
days = st.one_of(st.none(), st.dates(date(2024, 2, 28), date(2024, 3, 3)))
moments = st.sampled_from([None, datetime(2024, 3, 1), datetime(2024, 3, 2, 1, 30, 0, 500_000)])
rows = st.tuples(
    whole, flags, flags, whole, st.sampled_from([None, "7", "7.0", "café", normalize("NFD", "café")]),
    st.one_of(st.none(), st.floats(-6, 6)), days, moments, st.one_of(whole, st.integers(2**52, 2**53 - 1)),
)  # fmt: skip


def by_hand(frame, hows):
    """Return a frame as CSV, each whole number and truth value in a spelling of its own."""
    out = io.StringIO()
    words = {True: ("true", "True", "TRUE"), False: ("false", "False", "FALSE"), None: ("", "", "")}
    print(",".join(NAMES), file=out)
    for row, how in zip(zip(*frame.values(), strict=True), hows, strict=False):
        cells = [
            words[cell][how % 3] if cell is None or isinstance(cell, bool)
            else spelled(cell, how + at) if isinstance(cell, int) else repr(cell) if isinstance(cell, float)
            else str(cell)
            for at, cell in enumerate(row)
        ]  # fmt: skip
        print(",".join(cells), file=out)
    return out.getvalue()


def read(path):
    """Return the codes, keys and units of a file, and which of its rows count, at most two of a person."""
    table = {name: [] for name in (*NAMES, "keys", "kept")}
    persons = PersonCounters(2, 0)
    for batch in batches(path, NAMES):
        for column in COLUMNS:
            table[column.name] += column.codes(batch[column.name]).tolist()
        table["who"] += owners_of(batch["who"])
        keys = keys_of(batch["who"], SECRET)
        table["keys"] += keys.tolist()
        table["kept"] += persons.keep(keys).tolist()
    return table


@deep
@examples(60, 60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    given=st.lists(rows, min_size=1, max_size=8), hows=st.lists(st.integers(0, 99), min_size=8, max_size=8)
)
def test_one_frame_has_the_same_codes_units_and_totals_in_every_format(tmp_path, given, hows):
    frame = dict(zip(NAMES, map(list, zip(*given, strict=True)), strict=True))
    kinds = (pa.int64(), pa.bool_(), pa.bool_(), pa.int64(), pa.string(), pa.float64(), pa.date32(),
             pa.timestamp("us"), pa.int64())  # fmt: skip
    table = pa.table([pa.array(frame[name], kind) for name, kind in zip(NAMES, kinds, strict=True)], NAMES)
    narrow, polars = table.to_pandas(), pl.from_arrow(table)  # integers with gaps are floats in pandas
    parquet.write_table(table, tmp_path / "a.parquet")
    feather.write_feather(table, str(tmp_path / "a.arrow"))
    narrow.to_parquet(tmp_path / "pandas.parquet")
    parquet.write_table(
        table.cast(pa.schema([(name, pa.string()) for name in NAMES])), tmp_path / "text.parquet"
    )
    arrow_csv.write_csv(table, tmp_path / "arrow.csv")
    narrow.to_csv(tmp_path / "pandas.csv", index=False)
    polars.write_csv(tmp_path / "polars.csv")
    (tmp_path / "hand.csv").write_text(by_hand(frame, hows), encoding="utf-8")
    files = ["a.arrow", "pandas.parquet", "text.parquet", "arrow.csv", "pandas.csv", "polars.csv", "hand.csv"]
    expected = read(tmp_path / "a.parquet")
    for name in files:
        assert read(tmp_path / name) == expected, name
    for held in (frame, table, narrow, polars):
        with as_file(held, NAMES) as path:
            assert read(path) == expected, type(held)


NUMBERS = st.one_of(
    st.integers(-(10**6), 10**6), st.integers(-(2**70), 2**70), st.sampled_from([10**15, 2**53])
)
IDENTITIES = st.one_of(
    st.tuples(NUMBERS, st.integers(0, 9)).map(lambda pair: spelled(*pair)),
    st.floats().map(repr), st.text("0123456789.eE+-/", max_size=6), st.text("tTrRuUeEnNaA<>", max_size=5),
    st.datetimes().map(datetime.isoformat), st.text("9", min_size=4400, max_size=4402),
    st.sampled_from(["007", "7", "1e18", "2024-01-01T05:00:00Z", "2024-01-01-05", "2024-01-01T050000", "1" + "0" * 70, "café", "cafe\N{COMBINING ACUTE ACCENT}", "\N{FULLWIDTH DIGIT SEVEN}", "true", "x" * 70]),
)  # fmt: skip


@deep
@given(cells=st.lists(IDENTITIES, min_size=1, max_size=12))
def test_a_unit_is_the_same_in_every_batch_and_two_spellings_are_never_two_units(cells):
    """Batches choose how to compute keys by all their cells; exact arithmetic is the judge of numbers."""
    together = keys_of(ArrowCells(pa.array(cells)), SECRET)
    alone = np.concatenate([keys_of(ArrowCells(pa.array([cell])), SECRET) for cell in cells])
    assert np.array_equal(together, alone)
    assert np.array_equal(together, keys_of(cells, SECRET))
    owners = owners_of(cells)
    assert PersonCounters(1, 0).keep(together).sum() == len({*owners} - {None})
    values = [exact(cell) for cell in cells]
    for one, a, x in zip(values, owners, cells, strict=True):
        for other, b, y in zip(values, owners, cells, strict=True):
            equal = x.strip() == y.strip() or (one is not None and one == other)
            assert not equal or a == b or None in (a, b), (x, y)


def exact(cell):
    """Return a number's value, None for what is none."""
    try:
        value = Decimal(cell.strip())
    except ArithmeticError:
        return None
    return value if value.is_finite() and abs(value.adjusted()) < 10**6 else None


@deep
@given(number=st.integers(2**53, 2**70), sign=st.sampled_from([1, -1]))
def test_a_number_that_lost_its_digits_is_nobodys(number, sign):
    """A gap in a column makes pandas hold it in double precision: 2^53 + 1 becomes 2^53, another person."""
    own, lost = identity_of(str(sign * number)), pd.Series([sign * number, None], dtype="float64")
    assert str(own) == str(sign * number)
    text = lost.to_csv(index=False, header=False).split("\n")[0]
    for cells in (
        ArrowCells(pa.array([text])),
        [text],
        lost.to_numpy()[:1],
        ArrowCells(pa.array(lost).slice(0, 1)),
    ):
        assert not PersonCounters(1, 0).keep(keys_of(cells, SECRET)).any()
    with as_file({"who": [float(sign * number)]}, ["who"]) as path:
        assert not PersonCounters(1, 0).keep(keys_of(next(batches(path, ("who",)))["who"], SECRET)).any()
    table = pl.DataFrame({"who": [float(number)]}).write_csv().split("\n")[1]
    assert not PersonCounters(1, 0).keep(keys_of([table], SECRET)).any()


def test_monthly_files_have_one_patient_each_with_and_without_a_gap(tmp_path):
    """A program writes a column of whole numbers with a gap as 7.0."""
    persons, kept = PersonCounters(1, 0), 0
    for month, who in enumerate([[7, 8, 9], [7, 8, 9, None]]):
        pd.DataFrame({"who": who, "city": "north"}).to_csv(tmp_path / f"{month}.csv", index=False)
        for batch in batches(tmp_path / f"{month}.csv", ("who",)):
            kept += persons.keep(keys_of(batch["who"], SECRET)).sum()
    assert (kept, persons.number) == (4, 4)


@pytest.mark.parametrize("cell", ["007", "+07", "12e45", "1.50", "1.10", "-", ".", "a", "3d", "2024-03"])
def test_what_is_no_whole_number_of_a_program_keeps_its_text(cell):
    assert text_of(cell) == cell
