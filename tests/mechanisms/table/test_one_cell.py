"""A cell is read by itself, to one value, whatever column, batch, file or class holds it."""

import gzip
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from audits.sandbox.other_engines import _of_frames
from dpaccount.errors import InputError
from mechanisms.table.cells import identity_of, shown, text_of, value_of
from mechanisms.table.columns import Column, Table
from mechanisms.table.persons import SECRET_BYTES, keys_of
from mechanisms.table.reading import Dialect, _column, batches, check_same_columns, files_of, header
from mechanisms.table.spelling import Spelling
from tests.depth import examples
from tests.looped import looped

SECRET = bytes(range(SECRET_BYTES))
NUMBER = Column("x", "number", Fraction(-10_000), Fraction(10_000), missing=Fraction(7777))
COUNT = Column("x", "integer", Fraction(0), Fraction(110), missing=Fraction(40))
DAYS = Column("x", "date", Fraction(date(2000, 1, 1).toordinal()), Fraction(date(2099, 12, 31).toordinal()))


class Broken:
    """A cell whose class raises whatever is asked of it."""

    def __str__(self):
        raise RuntimeError("no text")

    __float__ = __eq__ = __str__

    def __repr__(self):  # Hypothesis says what it draws
        return "Broken()"

    __hash__ = None


CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8),
    st.text("0123456789.eE+- ", max_size=20), st.decimals(), st.dates(), st.datetimes(), st.binary(max_size=4),
    st.fractions(), st.floats(width=32).map(np.float32), st.floats(width=16).map(np.float16),
    st.integers(-(2**63), 2**63 - 1).map(np.int64), st.booleans().map(np.bool_),
    st.sampled_from([pd.NA, pd.NaT, Broken(), pd.Timestamp("2024-03-01"), "\ud800", "1.2345678901234568e+17", "1e60"]),
)  # fmt: skip


@examples(300)
@given(cell=CELLS)
def test_a_cell_as_text_names_the_person_that_the_cell_names(cell):
    assert identity_of(shown(cell)) == identity_of(cell)
    assert text_of(shown(cell)) == text_of(cell) or isinstance(cell, str)
    if isinstance(cell, str):
        assert shown(cell) == cell


COLUMNS = (
    NUMBER,
    COUNT,
    DAYS,
    Column("x", "boolean"),
    Column("x", "text", length=12),
    Column("x", "category", values=("7", "0.1", "a"), other=True),
)


@examples(150)
@given(cells=st.lists(CELLS, min_size=1, max_size=6), column=st.sampled_from(COLUMNS))
def test_what_a_cell_counts_as_depends_on_no_other_cell_of_a_frame(cells, column):
    """Objects of a frame that an engine passes on; a type for all of them would depend on each."""
    decimal = Spelling(NUMBER, decimal=",", thousands=".")
    for read in (column, *([decimal] if column is NUMBER else [])):
        alone = [read.codes([cell]).tolist()[0] for cell in cells]
        frame = pd.DataFrame({"who": list(range(len(cells))), "x": pd.Series(cells, dtype=object)})
        (batch,) = _of_frames([frame], ["who", "x"], "who")
        assert read.codes(batch["x"]).tolist() == alone
        owners = pd.DataFrame({"who": pd.Series(cells, dtype=object)})
        (batch,) = _of_frames([owners], ["who"], "who")
        keys = np.concatenate([keys_of([cell], SECRET) for cell in cells])
        assert np.array_equal(keys_of(batch["who"], SECRET), keys)


@looped("odd", ["2.000", "\ud800", 7, "x\ud800", Broken()])
def test_an_odd_cell_does_not_turn_other_persons_thousands_into_ones(odd):
    read = Spelling(NUMBER, decimal=",", thousands=".")
    (batch,) = _of_frames([pd.DataFrame({"x": pd.Series(["1.000"] * 3 + [odd], dtype=object)})], ["x"], None)
    assert read.codes(batch["x"])[:3].tolist() == [1000, 1000, 1000]


def test_a_frame_with_an_identity_in_floating_point_is_refused():
    with pytest.raises(InputError, match="who is float64"):
        list(_of_frames([pd.DataFrame({"who": [1.0, None]})], ["who"], "who"))
    with pytest.raises(InputError, match="no column x"):
        list(_of_frames([pd.DataFrame({"who": [1]})], ["who", "x"], "who"))


@looped("column", COLUMNS)
def test_a_moment_that_is_none_is_missing(column):
    """Pandas writes −2^63 for a gap, and a file may have it without a mark that it is one."""
    moments = pa.array([-(2**63), 1704067200 * 10**9], pa.int64()).cast(pa.timestamp("ns"))
    assert column.codes(_column(moments))[0].tolist() == column.codes([None])[0].tolist()
    assert keys_of(_column(moments), SECRET)[0].tolist() == keys_of([None], SECRET)[0].tolist()


@looped(
    ("cell", "right"),
    [
        ("infinity", DAYS.high), ("-infinity", DAYS.low), ("10000-01-01", DAYS.high), ("9999-12-31", DAYS.high),
        ("0044-03-15 BC", DAYS.low), ("0044-03-15 (BC)", DAYS.low), (b"2024-03-01", date(2024, 3, 1).toordinal()),
        (datetime(2024, 3, 1, 5), date(2024, 3, 1).toordinal()), ("10000-13-01", DAYS.low), ("infinit", DAYS.low),
    ],
)  # fmt: skip
def test_days_beyond_the_calendar_are_clamped_and_bytes_are_read(cell, right):
    assert DAYS.codes([cell]).tolist() == [float(right)]


def test_days_of_arrow_beyond_the_calendar_are_clamped():
    far = pa.array([2**31 - 1, -(2**31), 19_783], pa.int32()).cast(pa.date32())
    assert DAYS.codes(_column(far)).tolist() == [
        float(DAYS.high),
        float(DAYS.low),
        date(2024, 3, 1).toordinal(),
    ]
    far = pa.array([2**62, -(2**62)], pa.int64()).cast(pa.timestamp("us"))
    assert DAYS.codes(_column(far)).tolist() == [float(DAYS.high), float(DAYS.low)]


@looped(("cell", "right"), [(119.5, 40), ("119.5", 40), (50.5, 40), (120, 110), ("1e400", 110), (110.0, 110)])
def test_an_integer_is_whole_before_it_is_within_its_bounds(cell, right):
    assert COUNT.codes([cell]).tolist() == [right]
    assert COUNT.codes(np.array([float(cell)])).tolist() == [right]


@looped(("cell", "right"), [("1_000", 7777), ("−5", -5), (True, 7777), (Decimal("2.50"), 2.5), (b"1.5", 1.5)])
def test_a_number_is_what_a_file_writes(cell, right):
    assert NUMBER.codes([cell]).tolist() == [right]


@looped("kind", [pa.float32(), pa.float16()])
def test_a_number_of_low_precision_is_the_shortest_decimal(kind):
    values = [np.float16(0.1), np.float16(1.5), None]
    cells = (
        pa.array(values, pa.float16()).cast(kind)
        if kind == pa.float16()
        else pa.array([0.1, 1.5, None], kind)
    )
    column = Column("x", "category", values=("0.1", "1.5"), other=True)
    for held in (cells, cells.dictionary_encode() if kind == pa.float32() else cells, cells.slice(0, 2)):
        assert NUMBER.codes(_column(held)).tolist()[:2] == [0.1, 1.5]
        assert column.codes(_column(held)).tolist()[:2] == [0, 1]
    assert value_of(np.float32(0.1)) == 0.1


@looped(
    ("types", "identity", "refused"),
    [
        ((pa.null(), pa.string()), None, False),
        ((pa.int64(), pa.float64()), None, False),
        ((pa.int64(), pa.float64()), "x", True),
        ((pa.null(), pa.int64()), "x", False),
        ((pa.int64(), pa.string()), None, True),
        ((pa.int8(), pa.float32()), None, False),
    ],
)
def test_types_of_a_column_that_depend_on_gaps_are_alike(tmp_path, types, identity, refused):
    for number, kind in enumerate(types):
        parquet.write_table(pa.table({"x": pa.nulls(2, kind)}), tmp_path / f"{number}.parquet")
    files = files_of(tmp_path)
    if refused:
        with pytest.raises(InputError, match="write one type"):
            check_same_columns(files, identity)
    else:
        check_same_columns(files, identity)
    for file in files:
        file.place.unlink()


def test_months_with_and_without_a_gap_are_read_alike(tmp_path):
    for number, cells in enumerate(([1, 2], [1, None], [None, None])):
        pd.DataFrame({"x": cells}).to_parquet(tmp_path / f"{number}.parquet")
    files = files_of(tmp_path)
    check_same_columns(files)
    read = [
        Table((NUMBER,), 9).codes("x", batch["x"]).tolist()
        for file in files
        for batch in batches(file, ["x"])
    ]
    assert read == [[1, 2], [1, 7777], [7777, 7777]]


MONEY = {"thousands": ",", "strip": "$€"}


@looped(
    ("cell", "more", "right"),
    [
        ("$5.00", {}, 5), ("-$5.00", {}, -5), ("-$1,234.50", {}, -1234.5), ("- 5 €", {}, -5), ("−€5", {}, -5),
        ("$-5", {}, -5), ("+$5", {}, 5), ("--$5", {}, 7777), ("-$-5", {}, 7777), ("(5.00)", {}, 7777),
        ("(5.00)", {"negative": "()"}, -5), ("$(1,234)", {"negative": "()"}, -1234), ("($5)", {"negative": "()"}, -5),
        ("(-5)", {"negative": "()"}, 7777), ("-(5)", {"negative": "()"}, 7777), ("()", {"negative": "()"}, 7777),
        ("5.00-", {"negative": "-"}, -5), ("5.00 -", {"negative": "-"}, -5), ("5.00−", {"negative": "-"}, -5),
        ("-5.00-", {"negative": "-"}, 7777), ("5.00-", {}, 7777), ("5-€", {"negative": "-"}, -5),
    ],
)  # fmt: skip
def test_the_sign_of_an_amount_is_beside_its_mark(cell, more, right):
    assert Spelling(NUMBER, **MONEY, **more).codes([cell]).tolist() == [right]


@looped("strip", ["(", ")", "-", "−", "[", "1", "+"])
def test_what_makes_a_number_negative_is_not_removed(strip):
    with pytest.raises(InputError, match="strip has"):
        Spelling(NUMBER, strip=strip)


def test_another_way_to_write_negative_numbers_is_refused():
    with pytest.raises(InputError, match="negative is 'CR'; known"):
        Spelling(NUMBER, negative="CR")


@looped(
    ("cell", "forms", "right"),
    [
        ("1.3.2024", "%d.%m.%Y", (2024, 3, 1)), ("01.03.24", "%d.%m.%y", (2024, 3, 1)),
        ("01.03.68", "%d.%m.%y", (2068, 3, 1)), ("01.03.69", "%d.%m.%y", None), ("01.03.2024", "%d.%m.%y", None),
        ("1-Mar-2024", "%d-%b-%Y", (2024, 3, 1)), ("1 march 24", "%d %b %y", (2024, 3, 1)),
        ("1 SEPT 24 10:00", "%d %b %y", (2024, 9, 1)), ("1 ju 24", "%d %b %y", None), ("1 Mär 24", "%d %b %y", None),
        ("Mar 1, 2024", "%b %d, %Y", (2024, 3, 1)), ("20240301", "%Y%m%d", (2024, 3, 1)),
        ("03/04/2024", ("%d/%m/%Y", "%m/%d/%Y"), (2024, 4, 3)), ("03/14/2024", ("%d/%m/%Y", "%m/%d/%Y"), (2024, 3, 14)),
        ("2024-03-01", ("%d.%m.%Y", "%Y-%m-%d"), (2024, 3, 1)), ("infinity", "%d.%m.%Y", (2099, 12, 31)),
    ],
)  # fmt: skip
def test_dates_are_read_in_the_first_format_that_has_one(cell, forms, right):
    expected = float(DAYS.low) if right is None else float(date(*right).toordinal())
    assert Spelling(DAYS, date_format=forms).codes([cell]).tolist() == [expected]


@looped("forms", ["%d.%m", "%d.%m.%Y.%y", "%d.%m.%b.%Y", "%d.%m.%Y %H", ("%d.%m.%Y",) * 11])
def test_formats_without_one_day_month_and_year_are_refused(forms):
    with pytest.raises(InputError, match="date_format"):
        Spelling(DAYS, date_format=forms)


@looped(
    ("cell", "right"),
    [("12,34,567", 1234567), ("1,23,456.5", 123456.5), ("1,234,567", 1234567), ("1,2,345", 7777), ("1,23", 7777), ("12,34", 7777)],
)  # fmt: skip
def test_thousands_are_grouped_as_in_india_too(cell, right):
    wide = Column("x", "number", Fraction(0), Fraction(10**7), missing=Fraction(7777))
    assert Spelling(wide, thousands=",").codes([cell]).tolist() == [right]


TEXT = "who,x\na,1\nb,2\n"


@looped(
    ("name", "raw", "dialect"),
    [
        ("t.csv", TEXT.encode(), {}), ("t.csv", b"\xef\xbb\xbf" + TEXT.encode(), {"encoding": "UTF8"}),
        ("t.csv", TEXT.encode("utf-16"), {"encoding": "utf-16"}), ("t.csv", TEXT.encode("utf-16"), {"encoding": "UTF_16"}),
        ("t.csv", b"\xfe\xff" + TEXT.encode("utf-16-be"), {"encoding": "utf16"}),
        ("t.csv", TEXT.encode(), {"encoding": "windows-1252"}), ("t.csv", TEXT.encode(), {"encoding": "ISO-8859-1"}),
        ("t.csv", b"sep=;\r\n" + TEXT.replace(",", ";").encode(), {}), ("t.csv", b'"sep=|"\n' + TEXT.replace(",", "|").encode(), {}),
        ("t.tsv", TEXT.replace(",", "\t").encode(), {}), ("t.tsv", TEXT.replace(",", ";").encode(), {"separator": ";"}),
        ("t.csv.gz", gzip.compress(TEXT.encode()), {}), ("t.TSV.GZ", gzip.compress(TEXT.replace(",", "\t").encode()), {}),
    ],
)  # fmt: skip
def test_lines_are_read_in_every_dialect(tmp_path, name, raw, dialect):
    path = tmp_path / name
    path.write_bytes(raw)
    (batch,) = batches(path, ["who", "x"], (), Dialect(**dialect))
    assert (list(batch["who"]), NUMBER.codes(batch["x"]).tolist()) == (["a", "b"], [1, 2])
    names, found = header(path, dialect.get("encoding", "utf-8"))
    assert names == ["who", "x"]
    (batch,) = batches(path, ["who"], (), found)
    assert list(batch["who"]) == ["a", "b"]
    path.unlink()


@looped("encoding", ["utf-7", "base64", "big5", "gb18030", "nothing", "utf-16-le\0", "shift_jis"])
def test_an_encoding_in_which_a_damaged_character_may_take_others_in_is_refused(encoding):
    with pytest.raises(InputError, match="convert the file to UTF-8"):
        Dialect(encoding=encoding)


def test_a_damaged_character_of_two_bytes_takes_nothing_else_in(tmp_path):
    path = tmp_path / "t.csv"
    for broken in (b"\x00\xd8", b"\x00\xdc", b"\x00\xd8\x00\xd8"):
        path.write_bytes(
            b"\xff\xfe" + "who,x\n".encode("utf-16-le") + broken + ",1\nb,2\n".encode("utf-16-le")
        )
        (batch,) = batches(path, ["who", "x"], (), Dialect(encoding="utf-16"))
        assert NUMBER.codes(batch["x"]).tolist() == [1, 2]
        assert list(batch["who"])[1] == "b"


def test_a_file_of_another_encoding_than_utf_16_is_one_sentence(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("who,x\na,1\n")
    for read in (
        lambda: header(path, "utf-16"),
        lambda: list(batches(path, ["x"], (), Dialect(encoding="utf-16"))),
    ):
        with pytest.raises(InputError, match="does not begin with the mark of UTF-16; convert it to UTF-8"):
            read()


@looped("raw", [gzip.compress(TEXT.encode())[:-9], b"no gzip", gzip.compress(TEXT.encode())[:12]])
def test_a_packed_file_that_is_damaged_is_one_sentence(tmp_path, raw):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(raw)
    with pytest.raises(InputError, match="give a readable data file"):
        list(batches(path, ["who"]))
