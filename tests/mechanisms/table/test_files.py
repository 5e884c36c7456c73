"""Where a table's files are changes nothing: folders whose names give columns, and URLs."""

import csv
import os
from fractions import Fraction
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pyarrow import feather, parquet

from audits.sandbox.private_data import digest_of_data, stamp_of
from dpaccount.errors import InputError
from mechanisms.table import Column, Table
from mechanisms.table.persons import SECRET_BYTES
from mechanisms.table.reading import NULL_FOLDER, DataFile, Remote, batches, files_of
from mechanisms.table.totals import TablePart
from tests.depth import examples
from tests.looped import looped
from tests.mechanisms.table.test_totals import summed

WARDS = ("A", "B C", "ö/é=1", None)
COLUMNS = (
    Column("ward", "category", values=tuple(w for w in WARDS if w), missing="A"),
    Column("age", "number", Fraction(0), Fraction(10)),
)
SECRET = bytes(SECRET_BYTES)


def cells(file, names):
    return [row for b in batches(file, names) for row in zip(*(list(b[n]) for n in names), strict=True)]


def stored(path, ages, kind):
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == ".csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([["age"], *[[age] for age in ages]])
    elif kind == ".parquet":
        parquet.write_table(pa.table({"age": ages}), path)
    else:
        feather.write_feather(pa.table({"age": ages}), path)


@examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from([".csv", ".parquet", ".arrow"]),
    rows=st.lists(st.tuples(st.sampled_from(WARDS), st.integers(0, 9).map(float)), min_size=1, max_size=12),
)
def test_a_column_of_folders_names_is_read_as_one_of_the_file(tmp_path_factory, kind, rows):
    folder = tmp_path_factory.mktemp("t")
    for ward in {ward for ward, _ in rows}:
        named = NULL_FOLDER if ward is None else quote(ward, safe="")
        stored(folder / f"ward={named}" / f"part{kind}", [age for w, age in rows if w == ward], kind)
    read = [row for file in files_of(folder) for row in cells(file, ("ward", "age"))]
    assert sorted((ward or "", float(age)) for ward, age in read) == sorted((w or "", a) for w, a in rows)
    for file in files_of(folder):  # of the folder's name alone, too
        assert len(cells(file, ("ward",))) == len(cells(file, ("age",)))


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_file_with_two_names_is_refused_and_a_link_that_is_no_data_is_not(tmp_path, link):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "t.csv").write_text("age\n1\n")
    link(tmp_path / "_old.csv", tmp_path / "a" / "t.csv")
    assert [file.name for file in files_of(tmp_path)] == ["a/t.csv"]
    link(tmp_path / "z.csv", tmp_path / "a" / "t.csv")
    with pytest.raises(InputError, match=r"a/t\.csv and z\.csv are one file"):
        files_of(tmp_path)


def test_contradictory_folders_are_refused(tmp_path):
    stored(tmp_path / "age=1" / "a.csv", [1.0], ".csv")
    with pytest.raises(InputError, match="the column age is in the file and in the name of its folder"):
        cells(files_of(tmp_path)[0], ("age",))
    stored(tmp_path / "two" / "ward=A" / "ward=B" / "a.csv", [1.0], ".csv")
    with pytest.raises(InputError, match="two folders in a path give the same column"):
        files_of(tmp_path / "two")
    (tmp_path / "two" / "ward=A" / "ward=B" / "a.csv").unlink()
    stored(tmp_path / "b.csv", [1.0], ".csv")
    with pytest.raises(InputError, match="some folders' names give other columns"):
        files_of(tmp_path)


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".arrow"])
def test_a_url_is_read_as_the_folder_that_it_copies(tmp_path, kind):
    MemoryFileSystem.store.clear()
    for ward in ("A", "B"):
        stored(tmp_path / f"ward={ward}" / f"x{kind}", [1.0, 2.0] if ward == "A" else [3.0], kind)
        MemoryFileSystem().pipe(
            f"/t/ward={ward}/x{kind}", (tmp_path / f"ward={ward}" / f"x{kind}").read_bytes()
        )
    MemoryFileSystem().pipe("/t/_SUCCESS", b"")
    there, here = files_of(Remote("memory://t")), files_of(tmp_path)
    assert [file.name for file in there] == [file.name for file in here]
    for one, other in zip(there, here, strict=True):
        assert cells(one, ("age", "ward")) == cells(other, ("age", "ward"))
    assert digest_of_data(Remote("memory://t/")) == digest_of_data(tmp_path)
    single = Remote(f"memory://t/ward=A/x{kind}")
    assert digest_of_data(single) == digest_of_data(tmp_path / "ward=A" / f"x{kind}")
    before = stamp_of(Remote("memory://t"))
    assert stamp_of(Remote("memory://t")) == before
    MemoryFileSystem().pipe(f"/t/ward=B/x{kind}", b"another")
    assert stamp_of(Remote("memory://t")) != before


@looped(
    ("url", "message"),
    [
        ("file:///etc/passwd", "URLs of file are not read; known: s3, "),
        ("s3://key:secret@bucket/t.csv", "no plain URL; give scheme://place, without credentials"),
        ("https://host/t.csv?token=1", "no plain URL"),
        ("simplecache::s3://bucket/t.csv", "no plain URL"),
        ("memory://nothing/t.parquet", r"memory://nothing/t\.parquet: .*give a readable data file"),
        ("s3://bucket/t.csv", r"s3://bucket/t\.csv: Install s3fs to access S3; install it"),
    ],
)
def test_urls_that_are_not_read_are_one_line(url, message):
    with pytest.raises(InputError, match=message) as refusal:
        list(batches(files_of(Remote(url))[0], ("age",)))
    assert "\n" not in str(refusal.value)


# ------------------------------------------------------------------ one part for each file


def by_file(folder, table, secret=SECRET):
    files = files_of(folder)
    what = summed("laplace-sum", table)
    return [what.of(files, TablePart(k, len(files), secret, by_file=True)) for k in range(len(files))]


PEOPLE = Table(
    (Column("who", "text"), Column("age", "number", Fraction(0), Fraction(10)), *COLUMNS[:1]), 50, "who", 2
)
WHO = {int: lambda k: k, str: lambda k: f"p{k}"}


@examples(20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30),
    files=st.integers(1, 4),
    kind=st.sampled_from([int, str]),
    strayed=st.booleans(),
)
def test_files_of_whole_persons_sum_to_the_table_and_one_who_strays_is_seen(
    tmp_path_factory, rows, files, kind, strayed
):
    """Marks of two files have one in common exactly if a person has rows in both."""
    folder = tmp_path_factory.mktemp("t")
    where = [(who + (strayed and k == 0)) % files for k, (who, _) in enumerate(rows)]
    for number in range(files):
        own = [row for row, at in zip(rows, where, strict=True) if at == number]
        ids = pa.array([WHO[kind](who) for who, _ in own], pa.int64() if kind is int else pa.string())
        ages = pa.array([float(age) for _, age in own], pa.float64())
        table = pa.table({"who": ids, "age": ages, "ward": pa.array(["A"] * len(own), pa.string())})
        parquet.write_table(table, folder / f"{number}.parquet")
    parts = by_file(folder, PEOPLE)
    marks = np.concatenate([np.frombuffer(each.marks, "<u8") for each in parts])
    homes = {who: {at for (w, _), at in zip(rows, where, strict=True) if w == who} for who, _ in rows}
    assert (len(np.unique(marks)) < len(marks)) == any(len(each) > 1 for each in homes.values())
    if not strayed:
        whole = summed("laplace-sum", PEOPLE).of(files_of(folder), TablePart(0, 1, os.urandom(SECRET_BYTES)))
        assert sum(each.sums for each in parts).tolist() == whole.sums.tolist()
        assert sum(each.units for each in parts) == whole.units


def test_of_very_many_persons_a_sample_is_compared(tmp_path, monkeypatch):
    from mechanisms.table import totals

    monkeypatch.setattr(totals, "MOST_MARKS", 1000)
    table = pa.table({"who": np.arange(10_000), "age": np.ones(10_000), "ward": ["A"] * 10_000})
    parquet.write_table(table, tmp_path / "a.parquet")
    parquet.write_table(table, tmp_path / "b.parquet")
    many = Table(PEOPLE.columns, 20_000, "who", 2)
    one, other = (each.marks for each in by_file(tmp_path, many, bytes(range(SECRET_BYTES))))
    assert one == other
    assert 400 < len(one) // 8 < 600


def test_a_nested_column_is_refused(tmp_path):
    parquet.write_table(pa.table({"age": [[1.0], [2.0]], "ward": ["A", "B"]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"the column age is nested \(list<.*\); give each cell one value"):
        cells(DataFile(tmp_path / "t.parquet", "t.parquet"), ("age",))
    assert cells(DataFile(tmp_path / "t.parquet", "t.parquet"), ("ward",)) == [("A",), ("B",)]


def test_a_row_group_of_other_bytes_is_one_line(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"age": np.arange(4000.0)}), path, row_group_size=1000, compression="zstd")
    start = parquet.ParquetFile(path).metadata.row_group(2).column(0).data_page_offset
    whole = bytearray(path.read_bytes())
    whole[start : start + 40] = b"\xff" * 40
    path.write_bytes(whole)
    with pytest.raises(InputError, match=r"write it again|give a readable data file") as refusal:
        cells(DataFile(path, "t.parquet"), ("age",))
    assert "\n" not in str(refusal.value)


def test_a_null_where_no_missing_value_is_declared_counts_as_the_bound_and_is_no_error(tmp_path):
    """Whether a cell is there is private: an error would tell it."""
    parquet.write_table(
        pa.table({"who": [1, 2], "age": [None, 3.0], "ward": ["A", None]}), tmp_path / "t.parquet"
    )
    found = summed("laplace-sum", PEOPLE).of(files_of(tmp_path), TablePart(0, 1, SECRET))
    assert (found.sums.tolist(), found.units) == ([3 * 2**20], 2)
