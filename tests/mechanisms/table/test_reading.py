"""A line of a file is a row whatever it holds; what it holds changes no other row, and is never refused."""

import csv
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pyarrow import feather, parquet

from dpaccount.errors import InputError
from mechanisms.table import Column, reading
from mechanisms.table.persons import SECRET_BYTES, keys_of
from mechanisms.table.reading import ArrowCells, batches
from tests.depth import deep, examples

LINES = ["p1,31,north", "p2,64,south", 'p1,"4,7",north', "p3,,"]
NAMES = ("who", "age", "city")


def rows(path, names=NAMES):
    return [
        row for batch in batches(path, names) for row in zip(*(batch[name] for name in names), strict=True)
    ]


def written(folder, lines, header="who,age,city"):
    path = folder / "table.csv"
    path.write_bytes("\n".join([header, *lines, ""]).encode("utf-8", errors="surrogateescape"))
    return path


@deep
@examples(100, 100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    line=st.one_of(
        st.text(st.characters(blacklist_characters="\n", blacklist_categories=["Cs"])),
        st.sampled_from(['"', ',",', '"a', "a,b,c,d,e", "", "\r"]),
    ),
    at=st.integers(0, 3),
)
def test_a_line_changes_its_own_row_alone(tmp_path, line, at):
    before = rows(written(tmp_path, LINES))
    changed = [*LINES[:at], line, *LINES[at + 1 :]]
    after = rows(written(tmp_path, changed))
    assert len(after) == len(before)
    assert [a for i, a in enumerate(after) if i != at] == [b for i, b in enumerate(before) if i != at]


def test_long_cells_strange_bytes_and_line_ends_are_cells(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(
        b"\xef\xbb\xbfwho,age,city\r\np1,1,north\r\np2," + b"9" * 200_000 + b",\xff\xfe\r\np3\r\n"
    )
    cells_read = rows(path)
    assert cells_read[0] == ("p1", "1", "north")
    assert (len(cells_read[1][1]), cells_read[1][2]) == (200_000, "��")
    assert cells_read[2] == ("p3", None, None)


def test_an_empty_table_has_no_rows(tmp_path):
    assert rows(written(tmp_path, [])) == []


def test_batches_are_the_rows_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 3)
    lines = [f"p{i},{i},x" for i in range(10)]
    path = written(tmp_path, lines)
    assert [len(batch["who"]) for batch in batches(path, NAMES)] == [3, 3, 3, 1]
    assert [row[1] for row in rows(path)] == [str(i) for i in range(10)]


def columnar(folder, kind):
    table = pa.table(
        {"who": ["p1", "p2", None], "age": [1.5, None, 3.0], "n": [1, 2, 3], "city": ["a", None, "b"]}
    )
    path = folder / f"table{kind}"
    if kind == ".parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path)
    return path


@pytest.mark.parametrize("kind", [".parquet", ".arrow", ".feather"])
def test_columnar_files_give_the_same_cells(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(reading, "BATCH", 2)
    cells_read = rows(columnar(tmp_path, kind), ("age", "n", "city", "who"))
    assert [row[0] for row in cells_read] == [1.5, None, 3.0]
    assert [int(row[1]) for row in cells_read] == [1, 2, 3]
    assert [row[2] for row in cells_read] == ["a", None, "b"]
    assert [row[3] for row in cells_read] == ["p1", "p2", None]


def test_what_is_public_is_refused_in_one_sentence(tmp_path):
    cases = {
        "no column town": (written(tmp_path, LINES), ("town",)),
        "appears twice": (written(tmp_path, LINES, "who,age,age"), ("age",)),
    }
    for match, (path, names) in cases.items():
        with pytest.raises(InputError, match=match):
            rows(path, names)
    for name, match in (
        ("none.csv", "No such file"),
        ("none.parquet", "No such file"),
        ("t.xlsx", "unknown kind"),
    ):
        with pytest.raises(InputError, match=match):
            rows(tmp_path / name)
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"not parquet at all")
    with pytest.raises(InputError, match="write it again"):
        rows(bad)


@pytest.mark.parametrize("raw", ["p7,41,north\np8,52,south\n", "who,age\rp7,41\r"])
def test_a_first_line_that_may_be_a_row_is_not_quoted(tmp_path, raw):
    path = tmp_path / "table.csv"
    path.write_text(raw, newline="")
    with pytest.raises(InputError, match="let the first line name every declared column") as refused:
        rows(path)
    assert "p7" not in str(refused.value)
    assert "41" not in str(refused.value)


def test_a_csv_file_as_the_library_writes_it_is_read_back(tmp_path):
    path = tmp_path / "table.csv"
    cells = [['a "quoted" one', "1,5", "x"], ["", "=1", "'"]]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([NAMES, *cells])
    assert [list(row) for row in rows(Path(path))] == cells


def test_numbers_without_gaps_come_as_arrays(tmp_path):
    batch = next(batches(columnar(tmp_path, ".parquet"), ("n", "age")))
    assert isinstance(batch["n"], np.ndarray)
    assert isinstance(batch["age"], ArrowCells)


CELL = st.one_of(
    st.floats(allow_nan=False, width=32).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str),
    st.integers(-(10**19), 10**19).map(str),
    st.sampled_from(
        ["", " 1", "1 ", "1_0", "nan", "inf", "+3", "1e5", "1E-5", "1e400", ".5", "5.", "0x1", "-0"]
    ),
    st.sampled_from(["true", "No", "a", "other", "é", 'a"b', '"', "a\rb", "\x00", "NULL", "N/A"]),
    st.text(st.characters(codec="ascii", exclude_characters="\n,"), max_size=4),
)
DECLARED = (
    Column("x", "number", Fraction(-5), Fraction(10**15), missing=Fraction(1, 3)),
    Column("x", "integer", Fraction(-5), Fraction(10**15)),
    Column("x", "category", values=("a", "1", "5"), other=True),
    Column("x", "boolean"),
    Column("x", "text"),
)


@deep
@examples(150, 150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=st.lists(CELL, max_size=9), ragged=st.integers(0, 20), width=st.integers(1, 3))
def test_plain_lines_have_the_codes_that_any_lines_have(tmp_path, cells, ragged, width):
    """Which reader a batch gets depends on all its lines: no cell may depend on the reader."""
    header = ["x", "y", "z"][:width]
    lines = [",".join([cell] * (width + (row == ragged))) for row, cell in enumerate(cells)]
    (tmp_path / "t.csv").write_text("\n".join([",".join(header), *lines, ""]), newline="\n")
    read = list(batches(tmp_path / "t.csv", header))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_plain_columns", lambda *_: None)
        expected = list(batches(tmp_path / "t.csv", header))
    for one, other in zip(read, expected, strict=True):
        for name in header:
            assert len(one[name]) == len(other[name])
            for column in DECLARED:
                assert np.array_equal(column.codes(one[name]), column.codes(other[name]))
            secret = bytes(SECRET_BYTES)
            assert np.array_equal(keys_of(one[name], secret), keys_of(other[name], secret))


def test_plain_lines_are_read_by_pyarrow(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,2\n-3.5e2,\n")
    assert isinstance(next(batches(tmp_path / "t.csv", ("x",)))["x"], ArrowCells)
    (tmp_path / "t.csv").write_text('x,y\n1,2\n"3",4\n')
    assert isinstance(next(batches(tmp_path / "t.csv", ("x",)))["x"], list)
