"""A cell that is written as declared has the code of the same cell as we write it; every other one is missing."""

import re
from dataclasses import replace
from datetime import date
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from pyarrow import parquet

from dpaccount.documents import parse_toml
from dpaccount.errors import InputError
from mechanisms.table import Column
from mechanisms.table.cells import text_of
from mechanisms.table.reading import ENCODINGS, SEPARATORS, ArrowCells, Dialect, batches, record_batches
from mechanisms.table.rows import Reading, read_rows
from mechanisms.table.spelling import Spelling, read_file_table
from tests.depth import examples
from tests.mechanisms.table.test_columns import CELLS, COLUMNS, TEXTS

F = Fraction
AMOUNT = Column("amount", "number", F(-(10**15)), F(10**15), missing=F(1, 7))
SMALL = Column("small", "integer", F(-9), F(9), missing=F(3))
DAY = Column("day", "date", F(1), F(3_652_059), missing=F(2))
SEX = Column("sex", "category", values=("Mann", "Straße"), other=True)
NOTE = Column("note", "text", missing="?")
GERMAN = Spelling(AMOUNT, decimal=",", thousands=".", strip="€ ")
SPELLINGS = [
    GERMAN,
    Spelling(AMOUNT, thousands=","),
    Spelling(AMOUNT, decimal=",", thousands=" ", map=(("k. A.", ""), ("halb", "0.5"))),
    Spelling(SMALL, decimal=",", map=(("neun", "9"),)),
    Spelling(DAY, date_format="%d.%m.%Y", map=(("nie", "0001-01-01"),)),
    Spelling(SEX, fold=True, map=(("m", "Mann"), ("99", ""))),
    Spelling(NOTE, fold=True, strip='"', map=(("x", "Y"),)),
    Spelling(Column("on", "boolean", missing=True), map=(("ja", "true"), ("nein", "false"))),
]
WRITTEN = st.text("0123456789.,-+eE €'\u2212\u00a0 mMneiajßS/\"x", max_size=12)


@given(st.sampled_from(SPELLINGS), st.lists(st.one_of(CELLS, WRITTEN), min_size=1, max_size=6))
def test_a_cell_is_read_by_itself_and_never_refused(spelling, cells):
    """Alone, among others, and as Arrow holds it: within the column's bounds."""
    together = spelling.codes(cells)
    alone = np.concatenate([spelling.codes([cell]) for cell in cells])
    assert np.array_equal(together, alone)
    low, high = spelling.column.bounds
    assert ((together >= low) & (together <= high)).all()
    texts = [cell for cell in cells if isinstance(cell, str) and cell.isprintable()]
    held = pa.array(texts, pa.string())
    assert np.array_equal(spelling.codes(ArrowCells(held)), spelling.codes(texts))


@given(st.sampled_from([*COLUMNS, *TEXTS]), st.lists(st.one_of(CELLS, WRITTEN), max_size=6))
def test_what_declares_nothing_changes_nothing(column, cells):
    assert np.array_equal(Spelling(column).codes(cells), column.codes(cells))


@given(
    number=st.decimals(-(10**12), 10**12, places=3),
    marks=st.sampled_from([(",", "."), (",", " "), (",", "'"), (",", ""), (".", ","), (".", "_")]),
    unit=st.sampled_from(["", " €", "€"]),
    minus=st.sampled_from(["-", "\u2212"]),
    inner=st.sampled_from([" ", "\u00a0", "\u202f"]),
)
def test_a_number_in_its_notation_has_the_code_of_the_number(number, marks, unit, minus, inner):
    """And without its marks: groups of three, or none."""
    decimal, thousands = marks
    plain = Spelling(AMOUNT).codes([str(number)])
    spelling = Spelling(AMOUNT, decimal=decimal, thousands=thousands, strip="€")
    for group in (",", ""):
        text = f"{number:{group}f}".replace(",", "T").replace(".", decimal).replace("-", minus)
        text = text.replace("T", inner if thousands == " " else thousands)
        if group and not thousands:
            continue
        assert spelling.codes([text + unit]) == plain, text


@given(st.sampled_from([(",", "."), (",", ""), (".", ","), (",", "'")]), WRITTEN)
@example((",", "."), "1.5")
@example((",", "."), "12.34,5")
@example((".", ","), "1,5")
@example((",", ""), "1.5")
def test_a_number_has_one_meaning_or_none(marks, text):
    """What is read has its marks where the declaration puts them; nothing else becomes a number by chance."""
    decimal, thousands = marks
    code = float(Spelling(AMOUNT, decimal=decimal, thousands=thousands).codes([text])[0])
    if code == float(F(1, 7)):
        return
    whole, _, part = text.strip().lstrip("+-\u2212").lower().partition("e")[0].partition(decimal)
    groups = whole.split(thousands) if thousands else [whole]
    assert all(each == "" or each.isdigit() for each in [*groups, part])
    assert len(groups) == 1 or (1 <= len(groups[0]) <= 3 and all(len(each) == 3 for each in groups[1:]))


@given(st.dates(), st.sampled_from(["%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d %m %Y"]), st.booleans())
def test_a_date_in_its_format_is_that_day(day, form, timed):
    spelling = Spelling(DAY, date_format=form)
    text = (
        form.replace("%Y", f"{day.year:04d}")
        .replace("%m", f"{day.month:02d}")
        .replace("%d", f"{day.day:02d}")
    )
    assert spelling.codes([text + (" 10:15" if timed else "")]) == [day.toordinal()]
    assert spelling.codes([date(2024, 2, 3)]) == [date(2024, 2, 3).toordinal()]
    for wrong in ("31.02.2024", "02/30/2024", text + "1", "x" + text, "20240231", "2024111"):
        assert spelling.codes([wrong]) == [2]


@given(st.sampled_from(["Mann", "MANN", "mann ", "m", "M"]), st.sampled_from(["STRASSE", "straße"]))
def test_case_and_listed_cells_are_read_as_declared(man, street):
    spelling = SPELLINGS[5]
    assert spelling.codes([man, street, "99", 99, 99.0, "", None, "Frau"]).tolist() == [
        0,
        1,
        2,
        2,
        2,
        2,
        2,
        2,
    ]
    assert SPELLINGS[6].read("X") == SPELLINGS[6].read("y") == "y"
    assert SPELLINGS[6].read('"Ab"') == "ab"


@pytest.mark.parametrize(
    ("column", "terms", "said"),
    [
        (AMOUNT, {"decimal": ";"}, "known: . ,"),
        (AMOUNT, {"thousands": "x"}, "known: '.'"),
        (AMOUNT, {"decimal": ",", "thousands": ","}, "two different marks"),
        (AMOUNT, {"strip": "-"}, "with which a value begins"),
        (AMOUNT, {"map": (("a", "b"),)}, "give a number"),
        (AMOUNT, {"map": (("1", "2"), ("1.0", "3"))}, "list each once"),
        (AMOUNT, {"map": (("", "2"),)}, "list each once"),
        (SMALL, {"map": (("a", "2.5"),)}, "give a integer"),
        (DAY, {"date_format": "%d.%m"}, "and %Y or %y, once each"),
        (DAY, {"date_format": "%d.%m.%Y %Y"}, "and %Y or %y, once each"),
        (DAY, {"map": (("nie", "31.12.2024"),)}, "give a date"),
        (SEX, {"map": (("f", "Frau"),)}, "give a category"),
        (AMOUNT, {"strip": "\u2212"}, "with which a value begins"),
        (SEX, {"strip": "M"}, "with which a value begins"),
        (Column("b", "boolean"), {"strip": "t"}, "with which a value begins"),
        (DAY, {"date_format": ""}, "and %Y or %y, once each"),
        (DAY, {"date_format": "%d1%m1%Y"}, "and %Y or %y, once each"),
        (DAY, {"date_format": " %d.%m.%Y"}, "begins or ends"),
        (DAY, {"date_format": "%d/%m/%Y/", "strip": "/"}, "begins or ends"),
        (Column("x", "number", F(5), F(5)), {"map": (("x", "garbage"),)}, "give a number"),
        (Column("c", "category", values=("a", "A")), {"fold": True}, "leave fold out"),
        (Column("b", "boolean"), {"map": (("ja", "doch"),)}, "give a boolean"),
    ],
)
def test_declarations_that_contradict_themselves_are_one_line(column, terms, said):
    with pytest.raises(InputError, match=re.escape(said)):
        Spelling(column, **terms)


NARROW = [
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.int8(),
    pa.int64(),
    pa.string(),
    pa.bool_(),
    pa.date32(),
]


@pytest.mark.parametrize("kind", NARROW, ids=str)
@pytest.mark.parametrize("at", range(len(SPELLINGS)))
def test_a_gap_changes_no_other_cell_of_any_type(kind, at):
    """A reader holds a column without gaps otherwise than one with: each cell is read alike in both."""
    cells = (
        [date(2024, 2, 3)] * 3 if kind == pa.date32() else ["9.9"] * 3 if kind == pa.string() else [1, 0, 1]
    )
    if kind == pa.bool_():
        cells = [True, False, True]
    if pa.types.is_floating(kind):
        cells = [np.float16(9.9), np.float16(0.5), np.float16(3)]
    spelling = SPELLINGS[at]
    spelling = replace(spelling, map=(*spelling.map, ("0.1", "")))
    read = []
    for other in (cells[2], None):
        table = pa.table({"x": pa.array([*cells[:2], other], kind)})
        ((_, batch),) = record_batches(table.to_batches()[0], ("x",))
        read.append(spelling.codes(batch["x"])[:2].tolist())
    assert read[0] == read[1]


def test_a_listed_cell_is_that_cell_alone():
    """In a notation 99.000 is no 99, and 1.0 none at all."""
    marks = {"decimal": ",", "thousands": "."}
    spelling = Spelling(AMOUNT, **marks, map=(("99", ""), ("1", "3")))
    missing = float(F(1, 7))
    assert spelling.codes(["99", 99, "99.000", "1", "1.0", "1.000"]).tolist() == [
        missing,
        missing,
        99000,
        3,
        missing,
        1000,
    ]


def test_a_long_cell_takes_no_longer_than_its_length():
    """Where an expression tried every way to divide its digits, these would take many minutes."""
    for text in ("1" * 300_000 + "x", "1," * 150_000, "a" + "\u0315" * 150_000 + "\u0316" * 150_000):
        for spelling in SPELLINGS:
            spelling.read(text)
    assert text_of("1" * 300_000 + "x")[-1] == "x"


# ------------------------------------------------------------------ files

ROWS = [("p1", "1,5", "Köln"), ("p2", "-2", "Düren"), ("p3", "x", "Köln")]


def table(data=""):
    text = f"""max_units = 3\n{data}\n[columns]
x = {{ type = "number", low = -9, high = 9, decimal = "," }}
city = {{ type = "category", values = ["Köln", "Düren"] }}"""
    return read_file_table(parse_toml(text, "study.toml"))


def has_umlauts(encoding):
    return "Köln".encode(encoding, "replace").decode(encoding) == "Köln"


@pytest.mark.parametrize("encoding", [*filter(has_umlauts, ENCODINGS)])
@pytest.mark.parametrize("separator", [each for each in SEPARATORS if each != ","])
def test_a_table_is_read_as_its_file_is_written(tmp_path, separator, encoding):
    path = tmp_path / "t.csv"
    lines = [separator.join(row) for row in [("who", "x", "city"), *ROWS]]
    path.write_bytes("\r\n".join(lines).encode(encoding))
    declared = table(f'separator = "{separator.encode("unicode_escape").decode()}"\nencoding = "{encoding}"')
    found = read_rows(path, declared, Reading(("x", "city"), lambda codes: codes, (0.0, 0.0)), "replace-one")
    assert found.tolist() == [[1.5, 0], [-2, 1], [-9, 0]]


@examples(100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([each for each in ENCODINGS if each != "utf-16"]),  # of two bytes: test_one_cell
    st.sampled_from(SEPARATORS),
    st.binary(max_size=12).filter(lambda line: b"\n" not in line),
    st.integers(0, 3),
)
@example("utf-8", ";", b"\xe2\x82", 1)
@example("utf-8", ";", b'"', 2)
def test_whatever_bytes_a_line_has_it_is_one_row(tmp_path, encoding, separator, line, at):
    """In every encoding and with every separator: the others are as before."""
    mark = separator.encode()
    lines = [mark.join(row) for row in ((b"a", b"1"), (b"b", b"2"), (b"c", b"3"), (b"d", b"4"))]

    def read(of):
        path = tmp_path / "t.csv"
        path.write_bytes(b"\n".join([mark.join((b"who", b"x")), *of, b""]))
        parts = [
            list(zip(b["who"], b["x"], strict=True))
            for b in batches(path, ("who", "x"), (), Dialect(separator, encoding))
        ]
        return [row for part in parts for row in part]

    before, after = read(lines), read([*lines[:at], line, *lines[at + 1 :]])
    assert len(after) == len(before) == 4
    assert [a for i, a in enumerate(after) if i != at] == [b for i, b in enumerate(before) if i != at]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ('encoding = "utf-7"', "encoding is 'utf-7'"),
        ('separator = "\\n"', "separator is"),
        ("separator = 1", "give a string"),
    ],
)
def test_what_would_join_rows_is_refused(data, said):
    with pytest.raises(InputError, match=said):
        table(data)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ('type = "boolean", decimal = ","', "decimal is for number, integer"),
        ('type = "number", low = 0, high = 1, fold = true', "fold is for category, text"),
        ('type = "text", map = { a = 1 }', "give a string"),
        ('type = "text", map = "a"', "give a table"),
        (
            'type = "text", trim = true',
            "unknown key 'trim'; known here: type, low, high, values, other, missing, length, strip",
        ),
    ],
)
def test_words_of_another_type_are_refused_where_they_stand(words, said):
    with pytest.raises(InputError, match=said) as error:
        read_file_table(parse_toml(f"max_units = 1\n[columns]\nx = {{ {words} }}", "study.toml"))
    assert "columns.x" in str(error.value)


def test_a_file_without_lines_has_no_dialect(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"x": [1.5]}), path)
    with pytest.raises(InputError, match="are of CSV files"):
        list(batches(path, ("x",), (), Dialect(";")))
    assert [list(b["x"]) for b in batches(path, ("x",), ())] == [[1.5]]
