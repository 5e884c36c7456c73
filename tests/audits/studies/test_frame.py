"""`dpaccount.Table`: a DataFrame's study is that of a TOML file, and each cell is written by itself."""

import dataclasses
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpaccount as dp
from audits.claim import read_claim
from audits.studies import results
from audits.studies.frame import as_file
from dpaccount.documents import read_bytes
from dpaccount.errors import BudgetError, InputError
from dpaccount.ledger.ledger import Ledger, init
from mechanisms.table.columns import Column
from mechanisms.table.reading import batches
from tests.depth import deep, examples

URL = "sqlite:///visits.db"
TOML = """
schema = "dpaccount/study/2"
name = "table"
[guarantee]
unit = "one patient"
relation = "add-remove"
epsilon = 0.7
delta = 1e-6
[data]
file = "frame.csv"
ledger = "sqlite:///visits.db"
unit_column = "patient"
max_units = 300
max_contributions = 3
[data.columns]
ward = { type = "category", values = ["a", "b"] }
stay = { type = "number", low = 0, high = 30.5 }
age = { type = "integer", low = 0, high = 110 }
seen = { type = "boolean" }
cost = { type = "number", low = 0, high = 9, missing = 3 }
[[statistic]]
name = "mean of stay by ward"
what = "mean"
column = "stay"
by = ["ward"]
where = "age >= 18"
share = 2
[[statistic]]
name = "count by ward, seen"
what = "count"
by = ["ward", "seen"]
[[statistic]]
name = "q"
what = "quantile"
column = "cost"
q = 0.9
[[statistic]]
name = "histogram of age"
what = "histogram"
column = "age"
bins = [0, 50, 110]
[[statistic]]
name = "regression of stay"
what = "regression"
column = "stay"
on = ["age"]
"""
COLUMNS = {
    "ward": ["a", "b"],
    "stay": (0, 30.5),
    "age": range(111),
    "seen": bool,
    "cost": {"type": "number", "low": 0, "high": 9, "missing": 3},
}
CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from(["a", "b", " b ", "a\nb", "a,b", '"', '"a', "a\r", "3", "3.0", "\0", "\ud800", "yes", "\x85", ""]),
    st.text(max_size=4),
)  # fmt: skip
KINDS = (
    Column("x", "number", -5, 7, missing=2),
    Column("x", "integer", -5, 7, missing=2),
    Column("x", "category", values=("a", "b", "3", "True"), other=True),
    Column("x", "boolean", missing=True),
)


def rows(count=500):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "patient": rng.integers(0, 200, count),
            "ward": rng.choice(["a", "b"], count),
            "stay": rng.uniform(0, 30, count),
            "age": rng.integers(0, 100, count),
            "seen": rng.random(count) < 0.5,
            "cost": rng.uniform(0, 9, count),
        }
    )


def table(frame=None, **changed):
    said = {
        "epsilon": 0.7, "delta": 1e-6, "ledger": URL, "columns": COLUMNS, "max_units": 300, "max_contributions": 3
    }  # fmt: skip
    return dp.Table(rows() if frame is None else frame, unit="patient", **{**said, **changed})


@deep
@pytest.mark.parametrize(("unit", "library"), [("patient", dict), (None, pl.DataFrame)])
def test_a_plain_count_of_a_frame_is_released(tmp_path, monkeypatch, unit, library):
    """The noise has a standard deviation below 30: beyond 300 is no false alarm in any lifetime."""
    monkeypatch.chdir(tmp_path)
    init(
        URL, epsilon=1, delta=1e-6, unit=f"one {unit or 'row'}", relation="add-remove", measure="approximate"
    )
    said = {"epsilon": 1, "delta": 1e-6, "ledger": URL, "columns": {"stay": (0, 30)}, "max_units": 1000}
    some = {"unit": unit, "max_contributions": 3} if unit else {}
    frame = library(rows(600)[["patient", "stay"]].to_dict("list"))
    (row,) = dp.Table(frame, **said, **some).count().release(quick=True)["count"]
    assert abs(row["estimate"] - 550) < 350


def test_a_table_is_the_study_of_a_file_with_the_same_words(tmp_path):
    (tmp_path / "s.toml").write_text(TOML)
    written = read_claim(tmp_path / "s.toml")
    made = table().mean("stay", by="ward", where="age >= 18", share=2).count(by=("ward", "seen"))
    made = made.quantile("cost", 0.9, name="q").histogram("age", bins=np.array([0, 50, 110]).tolist())
    made = made.regression("stay", on=["age"])
    assert made.study.claim.written == written.written
    assert made.plan() == results.plan(written)
    assert "regression of stay" in made.plan()._repr_html_()


@deep
@examples(40)
@given(st.lists(CELLS, min_size=1, max_size=8))
def test_each_cell_is_one_line_and_counts_as_it_does_by_itself(cells):
    frames = [{"x": cells}]
    if all(cell is None or (isinstance(cell, str) and "\ud800" not in cell) for cell in cells):
        frames += [{"x": pl.Series(cells, dtype=pl.String)}, {"x": pa.array(cells, pa.string())}]
    found = []
    for frame in (*frames, pd.DataFrame({"x": pd.Series(cells, dtype=object)})):
        with as_file(frame, ["x"]) as path:
            found.append(read_bytes(path))
            (batch,) = batches(path, ["x"])
            for column in KINDS:
                alone = [float(column.codes([cell])[0]) for cell in cells]
                assert column.codes(batch["x"]).tolist() == alone
    assert len(set(found)) == 1
    assert found[0].count(b"\n") == len(cells) + 1
    assert not path.exists()


def test_frames_of_every_kind_are_one_file():
    frame = rows(50)
    frame.loc[3, "age"] = math.nan  # integers of pandas are floats then
    frame["seen"] = pd.array([True, None] * 25, dtype="boolean")
    frame["day"] = pd.to_datetime(["2026-01-02", None] * 25)
    exact = frame.convert_dtypes()
    found = []
    for each in (frame, exact, pl.from_pandas(exact), pl.from_pandas(exact).lazy(), pa.table(exact)):
        with as_file(each, ["patient", "ward", "stay", "age", "seen"]) as path:
            assert path.parent.stat().st_mode & 0o77 == 0  # nobody else looks in
            found.append(read_bytes(path))
    assert len(set(found)) == 1


def test_a_cell_that_python_cannot_hold_is_missing_and_no_error():
    """Nor what a class of one's own raises: errors would reveal the cell."""
    days = pl.Series([10**7, 3], dtype=pl.Int32).cast(pl.Date)
    late = pl.Series([2**62, 0], dtype=pl.Int64).cast(pl.Datetime("ms"))
    stamps = pa.array([10**13, 0], type=pa.timestamp("s"))
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"\xffa")]
    )
    for frame in (
        pl.DataFrame({"x": days}),
        pl.DataFrame({"x": late}),
        pa.table({"x": stamps}),
        pa.table({"x": broken}),
    ):
        with as_file(frame, ["x"]) as path:
            first, second = path.read_text("utf-8-sig").splitlines()[1:]
            assert path.stat().st_mode & 0o77 == 0
        assert first in ("", '""')
        assert second


def test_two_identities_stay_two():
    names = ["a\nb", "a b", "\ud800", "\ud801"]
    with as_file({"x": names}, ["x"]) as path:
        assert len(set(path.read_text("utf-8-sig").splitlines()[1:])) == 4


def test_an_edition_follows_what_its_own_ledger_kept(tmp_path, monkeypatch):
    """Not one of the same name in the working folder: the claim names no path of this machine."""
    monkeypatch.chdir(tmp_path)
    asked = []

    def kept(url, digest):
        asked.append(url)
        raise InputError("no release is kept", "give its digest")

    monkeypatch.setattr("audits.editions.kept_before", kept)
    later = {"edition": 2, "follows": "sha256:" + "0" * 64}
    with pytest.raises(InputError, match="no release is kept"):
        table(ledger=f"sqlite:///{tmp_path}/far/visits.db", sections=later).count().plan()
    assert asked == [f"sqlite:///{tmp_path}/far/visits.db"]


def test_wrong_types_are_one_sentence():
    for wrong in (
        {"ledger": None},
        {"columns": None},
        {"columns": {3: (0, 1)}},
        {"sections": None},
        {"frame": dataclasses},
    ):
        with pytest.raises(InputError):
            dataclasses.replace(table(), **wrong).count().release()
    with pytest.raises(InputError, match="there is no DataFrame"):
        dataclasses.replace(table(), frame=None).count().plan()
    for by in (None, 3, [None]):
        with pytest.raises(InputError, match="give the name of a column"):
            table().count(by=by)


def test_what_declares_nothing_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for wrong, said in (
        (table(columns={**COLUMNS, "stay": 30}), r"columns.stay: 30 declares no column"),
        (table(columns={**COLUMNS, "stay": (0, math.inf)}), "inf"),
        (table(epsilon=math.nan), "nan"),
        (table(max_units=None), "the key 'max_units' is missing"),
        (table(sections={"guarantee": {}}), "sections has 'guarantee'"),
        (table(relation="bounded"), "bounded"),
    ):
        with pytest.raises(InputError, match=said):
            wrong.count().plan()
    with pytest.raises(InputError, match="no column 'los' is declared"):
        table().mean("los").plan()
    with pytest.raises(InputError, match="unknown key"):
        table().mean("stay", were="age > 3").plan()
    with pytest.raises(InputError, match="no statistic"):
        table().plan()
    with pytest.raises(InputError, match="no column 'x'; the columns are y"), as_file({"y": [1]}, ["x"]):
        pass
    twice = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(InputError, match="'x' appears twice"), as_file(twice, ["x"]):
        pass
    odd = pd.DataFrame({"x": [1], "collect": [2], "column_names": [3]})
    with as_file(odd, ["x", "collect"]) as path:
        assert path.read_text("utf-8-sig") == "x,collect\n1,2\n"
    with pytest.raises(InputError, match="a int is no table"), as_file(3, ["x"]):
        pass
    with pytest.raises(InputError, match="different lengths"), as_file({"x": [1], "y": []}, ["x", "y"]):
        pass


def entries():
    with Ledger.open(URL) as ledger:
        return ledger.show()["entries"]


@deep
def test_a_table_is_released_and_charged_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few = {"audit": {"trials": 60}}
    counts = table(columns={"ward": ["a", "b"]}, sections=few).count(by="ward")
    with pytest.raises(Exception, match=r"visits\.db"):
        counts.release(quick=True)  # a ledger is never made here
    budget = {"epsilon": "0.75", "delta": "1e-6", "relation": "add-remove", "measure": "approximate"}
    init(URL, **budget, unit="one patient")
    with pytest.raises(InputError, match="the claim's unit is 'one ward', its ledger's 'one patient'"):
        dataclasses.replace(counts, protects="one ward").release(quick=True)
    assert entries() == 0
    first = counts.release(quick=True)
    assert (first.verdict, entries()) == ("CERTIFIED", 1)
    assert first.certificate["proved"]["epsilon"]["upper"] <= 0.7
    found = first["count by ward"]
    assert [row["ward"] for row in found] == ["a", "b"]
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in found)
    assert first.to_pandas().to_dict("records") == first.to_polars().to_dicts() == found
    assert "CERTIFIED" in first._repr_html_()
    assert (tmp_path / "certificates" / "table" / "count-by-ward.csv").is_file()
    published = (tmp_path / "certificates" / "table" / "certificate.json").read_bytes()
    again = dataclasses.replace(counts, frame=pl.from_pandas(rows())).release(quick=True)
    assert (again["count by ward"], entries()) == (found, 1)
    another = dataclasses.replace(counts, frame=rows(499))  # another table is another release
    with pytest.raises(InputError, match="holds another release, which is not replaced"):
        another.release(quick=True)
    with pytest.raises(BudgetError):
        another.release(quick=True, new_release=True)
    assert (tmp_path / "certificates" / "table" / "certificate.json").read_bytes() == published
    assert entries() == 1
