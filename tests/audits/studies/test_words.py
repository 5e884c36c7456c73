"""What a study's user wrote is what its errors say; what a plan promises is said; cells and keys have limits."""

import re
import resource
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpaccount as dp
from audits.claim import read_claim
from audits.studies import results
from dpaccount.documents import MAX_KEY_PARTS, csv_text, parse_toml
from dpaccount.errors import InputError
from dpaccount.exact import as_exact
from mechanisms.table import reading
from mechanisms.table.reading import batches
from tests.audits.studies.test_studies import HEAD, statistics
from tests.depth import deep

ROOT = Path(dp.__file__).parents[1]
COUNT = statistics('name = "n"\nwhat = "count"')
GOOD = ("ROWS = 600", 'ID = "who"', "MOST = 1")
FAULTS = [
    ("", *GOOD[1:]), ("ROWS = 0", *GOOD[1:]), ("ROWS = 1e10", *GOOD[1:]), ("ROWS = 1.5", *GOOD[1:]),
    ('ROWS = "many"', *GOOD[1:]), (GOOD[0], "ID = 7", GOOD[2]), (GOOD[0], "MOST = 2"), (*GOOD[:2], "MOST = 0"),
    (*GOOD[:2], "MOST = 1001"), (*GOOD[:2], "MOST = 1.5"), (*GOOD, "unit = 3"), (*GOOD[:2], 'MOST = "1"'),
]  # fmt: skip
WORDS = {"ROWS": "max_units", "ID": "unit_column", "MOST": "max_contributions"}
KEPT = {"ROWS": "rows", "ID": "id", "MOST": "max_rows"}


@pytest.mark.parametrize("lines", FAULTS)
def test_an_error_of_a_study_has_the_keys_that_its_user_wrote(tmp_path, lines):
    """And one of a file with a certificate's names has those."""
    for words, others in ((WORDS, KEPT), (KEPT, WORDS)):
        text = HEAD.replace("rows = 600", "\n".join(lines))
        for mark, word in words.items():
            text = text.replace(mark, word)
        (tmp_path / "s.toml").write_text(text + COUNT)
        with pytest.raises(InputError) as error:
            read_claim(tmp_path / "s.toml")
        said = re.findall(r"\w+", str(error.value).removeprefix(str(tmp_path)))
        assert not {*others.values()} & {*said}, error.value


@pytest.mark.parametrize(("delta", "units", "said"), [
    ("0.01", 1000, "delta = 0.01 is large: publishing all rows of each of the 1,000 units with that probability, of 10"
                   " units on average, would satisfy it; values far below 1 in 1,000 are usual"),
    ("0.999", 600, "of 599 units on average"), ("1e-6", 10_000_000, "of 10 units on average"),
    ("1e-6", 1000, None), ("0", 1000, None),
])  # fmt: skip
def test_a_plan_says_what_a_large_delta_allows(tmp_path, delta, units, said):
    text = HEAD.replace("delta = 1e-6", f"delta = {delta}").replace("rows = 600", f"rows = {units}")
    (tmp_path / "s.toml").write_text(text + COUNT)
    plan = results.plan(read_claim(tmp_path / "s.toml"))
    assert (said or "") in (plan.warning or "")
    assert (plan.warning or "") in plan.title
    assert bool(plan.warning) == bool(said)


FRAMES = (dict, pd.DataFrame, pl.DataFrame, pa.table, lambda cells: pl.DataFrame(cells).lazy())


@pytest.mark.parametrize("frame", FRAMES)
def test_a_column_that_a_frame_lacks_is_refused_before_any_plan(frame):
    held = frame({"who": [1, 2], "age": [30, 40]})
    given = {"epsilon": 1, "ledger": "sqlite:///l.db", "max_units": 9}
    assert dp.Table(held, unit="who", columns={"age": (0, 9)}, **given).count().plan()
    for unit, column in (("nope", "age"), (None, "nope")):
        with pytest.raises(InputError, match="no column 'nope'; the columns are who, age"):
            dp.Table(held, unit=unit, columns={column: (0, 9)}, **given).count().plan()


@pytest.mark.parametrize(
    "kind", [np.float16, np.float32, np.float64, np.longdouble, np.int8, np.uint64, np.array]
)
def test_numbers_of_numpy_are_what_they_print(kind):
    assert as_exact(kind("2") if kind is np.longdouble else kind(2)) == 2
    if np.dtype(type(kind(1)) if kind is not np.array else float).kind == "f":
        assert as_exact(kind("1.1") if kind is np.longdouble else kind(1.1)) == Fraction(11, 10)
    for wrong in (np.float32("nan"), np.array([1.0]), np.bool_(True), np.str_("x")):
        with pytest.raises(InputError):
            as_exact(wrong)


@pytest.mark.parametrize("part", ["a", "'a'", '"\\""', "a ", '"."'])
@pytest.mark.parametrize("form", ["{} = 1", "[{}]", "x = {{ {} = 1 }}", "[[{}]]"])
def test_a_key_of_many_parts_is_refused_before_it_is_parsed(part, form):
    """A parser would take memory as the square of their number: 6 GB of 100 kB."""
    assert parse_toml(form.format(".".join([part] * MAX_KEY_PARTS)), "s.toml").value
    for many in (MAX_KEY_PARTS + 1, 50_000):
        with pytest.raises(InputError, match=f"s.toml: a key of more than {MAX_KEY_PARTS} parts"):
            parse_toml(form.format(".".join([part] * many)), "s.toml")
    numbers = ", ".join(["1.5"] * 100)
    assert len(parse_toml(f'x = "{"." * 99}"\ny = [{numbers}]', "s.toml").value["y"]) == 100


def test_a_byte_order_mark_before_toml_is_no_statement():
    assert (
        parse_toml(b"\xef\xbb\xbfx = 1", "s.toml").value
        == parse_toml("\ufeffx = 1", "s.toml").value
        == {"x": 1}
    )


@given(
    st.text(max_size=3),
    st.sampled_from("=+-@\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b"),
    st.text(max_size=3),
)
def test_no_cell_of_csv_begins_a_formula(before, sign, after):
    for cell in (sign + after, f" {sign}{after}", f"\t{before}", f"\r{before}", f"\n{before}"):
        assert csv_text([[cell, -1, "x"]]).lstrip('"').startswith("'" + cell[0])
    assert csv_text([[f"x{sign}", -1.5, None]]).startswith("x")


def test_csv_is_written_in_one_place():
    """But for the private file of a frame, which no spreadsheet opens."""
    known = {"dpaccount/documents.py", "audits/studies/frame.py"}
    for folder in ("dpaccount", "mechanisms", "audits", "bandits", "papers", "service"):
        for path in (ROOT / folder).rglob("*.py"):
            writes = re.search(r"DictWriter|\.writerows?\(|\.to_csv\(", path.read_text())
            assert writes is None or str(path.relative_to(ROOT)) in known, path


@pytest.mark.parametrize("longest", [2**12, pytest.param(reading.LONGEST_LINE, marks=deep)])
def test_a_long_cell_changes_no_other_row_and_takes_little_memory(tmp_path, monkeypatch, longest):
    monkeypatch.setattr(reading, "LONGEST_LINE", longest)
    monkeypatch.setattr(reading, "CHUNK", longest // 8)
    long = "x" * (6 * longest)
    lines = ["who,age", "a,1", f"b,{long}", "c,3", f'd,"{long}"', "e,5", f"f,{'y' * (longest - 9)}"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    del long
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cells = [
        row
        for batch in batches(tmp_path / "t.csv", ("who", "age"))
        for row in zip(*batch.values(), strict=True)
    ]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 250_000  # kB
    assert [row[0] or "" for row in cells] == ["a", "", "c", "", "e", "f"]
    assert [row[1] for row in cells[::2]] == ["1", "3", "5"]
    table = pa.table({"who": ["a", "b", "c"], "age": pa.array(["1", "x" * (longest + 1), "3"])})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    (batch,) = batches(tmp_path / "t.parquet", ("who", "age"))
    assert list(zip(*batch.values(), strict=True)) == [("a", "1"), ("b", None), ("c", "3")]
