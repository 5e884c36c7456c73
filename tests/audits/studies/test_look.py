"""What `look` counts is what a release reads; only the holder of the file sees it."""

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pyarrow import parquet

import dpaccount as dp
from audits.claim import read_claim
from audits.studies import look as looking
from dpaccount.errors import InputError
from mechanisms.table.reading import batches
from tests.depth import deep, examples
from tests.dpaccount.checker.made import sealed
from tests.looped import looped

STUDY = """schema = "dpaccount/study/1"
name = "german"
[guarantee]
unit = "one patient"
relation = "add-remove"
epsilon = 1.5
delta = 1e-7
[data]
file = "visits.csv"
ledger = "sqlite:///visits.db"
unit_column = "Patient"
max_units = 400
max_contributions = 2
separator = ";"
encoding = "cp1252"
[data.columns]
Tag = { type = "date", low = "2024-01-01", high = "2024-12-31", date_format = "%d.%m.%Y" }
Stadt = { type = "category", values = ["Köln", "Bonn"], other = true, fold = true }
Kosten = { type = "number", low = 0, high = 1000, decimal = ",", thousands = ".", strip = "€" }
Frau = { type = "boolean", map = { w = "true", m = "false" } }
Alter = { type = "integer", low = 0, high = 110 }
Notiz = { type = "text", length = 4 }
[[statistic]]
name = "cost"
what = "mean"
column = "Kosten"
by = ["Stadt"]
"""
ROWS = """Patient;Tag;Stadt;Kosten;Frau;Alter;Notiz
1;01.03.2024;köln;1.234,50 €;w;40;ab
1;1.3.2023;KÖLN;12,5;m;nan;
1;2024-03-01;Düren;1.5;x;41.5;abcde
2;31.02.2024;Bonn ;k. A.;;-3;ab

"""


@pytest.fixture
def study(tmp_path):
    """Write the study and its file; return the study's path."""
    (tmp_path / "visits.csv").write_bytes(ROWS.encode("cp1252"))
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path / "study.toml"


def test_what_becomes_of_cells_is_counted(study):
    found = looking.look(read_claim(study))
    assert found.rows == 5
    assert {name: dict(each) for name, each in found.cells.items()} == {
        "Alter": {"": 1, "missing": 2, "not understood": 1, "clipped": 1},
        "Frau": {"": 2, "missing": 2, "not understood": 1},
        "Kosten": {"": 1, "clipped": 1, "missing": 1, "not understood": 2},
        "Notiz": {"": 2, "clipped": 1, "missing": 2},
        "Stadt": {"": 3, "unlisted": 1, "missing": 1},
        "Tag": {"": 1, "clipped": 1, "missing": 1, "not understood": 2},
    }
    assert list(found.examples["Kosten"]) == ["'1.5'", "'k. A.'"]
    assert sorted(found.of_units.tolist()) == [1, 1, 3]
    shown = looking.as_text(read_claim(study), found)
    assert shown.startswith("PRIVATE")
    assert "2 (40 %)" in shown
    assert "'Düren'" in shown


CELL = st.text("0159.,-€ aknfKöln/", max_size=7)


@examples(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from("123"), CELL, CELL, CELL), max_size=12))
def test_a_cell_that_is_taken_as_it_is_does_not_depend_on_what_missing_ones_count_as(study, rows):
    """A cell counts as not read, just where another declaration of `missing` changes what it counts as."""
    text = "\n".join(f"{who};01.01.2024;{a};{b};w;{c};n" for who, a, b, c in rows)
    (study.parent / "visits.csv").write_bytes(f"{ROWS.partition(chr(10))[0]}\n{text}".encode("cp1252"))
    claim = read_claim(study)
    other = STUDY.replace('strip = "€"', 'strip = "€", missing = 777').replace(
        "high = 110", "high = 110, missing = 7"
    )
    (study.parent / "other.toml").write_text(other, encoding="utf-8")
    tables = [claim.table, read_claim(study.parent / "other.toml").table]
    found, names = looking.look(claim), ("Kosten", "Alter", "Stadt")
    lost = Counter()
    for batch in batches(claim.data_file, names, (), claim.table.dialect):
        for name in names[:2]:
            one, two = (np.asarray(table.codes(name, batch[name])) for table in tables)
            lost[name] += int((one != two).sum())
        lost["Stadt"] += int((claim.table.codes("Stadt", batch["Stadt"]) == 2).sum())
    for name in names:
        fates = found.cells[name]
        assert fates["missing"] + fates["not understood"] + fates["unlisted"] == lost[name]
        assert fates.total() == len(rows)


def test_only_a_terminal_sees_it_and_nothing_is_written(dpaccount, study):
    before = sorted(study.parent.rglob("*"))
    code, out, err = dpaccount("look", study)
    assert (code, out) == (2, "")
    assert "no terminal; give --private-output" in err
    code, out, err = dpaccount("look", study, "--private-output")
    assert (code, err) == (0, "")
    assert out.startswith("PRIVATE")
    assert sorted(study.parent.rglob("*")) == before


@looped(
    "old, new, said",
    [
        ('file = "visits.csv"', 'file = "none.csv"', "No such file"),
        ("Kosten = {", "Preis = {", "no column"),
        ('encoding = "cp1252"', 'encoding = "utf-7"', "encoding is"),
        ("fold = true }", "fold = 1 }", "give true or false"),
    ],
)
def test_bad_files_are_one_line(dpaccount, study, old, new, said):
    study.write_text(
        STUDY.replace(old, new).replace('column = "Kosten"', 'column = "Alter"'), encoding="utf-8"
    )
    code, _, err = dpaccount("look", study, "--private-output")
    assert (code, err.count("\n")) == (2, 1)
    assert said in err


def test_lines_that_are_no_whole_rows_are_counted(study):
    file = study.parent / "visits.csv"
    before = looking.look(read_claim(study))
    assert before.broken_lines == 1
    with file.open("a", encoding="cp1252") as lines:
        lines.write('7;01.03.2024;Bonn;1;w;5;"a\nb"\n\n')
    found = looking.look(read_claim(study))
    assert (found.rows, found.broken_lines) == (before.rows + 3, 4)
    assert "4 (" in looking.as_text(read_claim(study), found).partition(" lines have not")[0]


def test_a_claim_without_a_table_has_nothing_to_look_at(dpaccount, root):
    code, _, err = dpaccount(
        "look", root / "examples" / "mechanisms" / "laplace-sum.toml", "--private-output"
    )
    assert (code, "there is no table" in err) == (2, True)


def test_a_frame_has_no_notation_of_files():
    """Its numbers are written with points: read with decimal commas they would be missing."""
    columns = {"x": {"type": "number", "low": 0, "high": 9, "decimal": ","}}
    total = {"epsilon": 1, "ledger": "sqlite:///x.db", "max_units": 3}
    with pytest.raises(InputError, match="convert the DataFrame's column"):
        _ = dp.Table({"x": [1.5]}, columns=columns, **total).mean("x").study


def test_files_that_a_release_refuses_are_refused(dpaccount, study):
    """Files of two types; and what is of CSV files alone, before any file is opened."""
    plain = STUDY.replace('separator = ";"\nencoding = "cp1252"\n', "").replace('"visits.csv"', '"parts"')
    (study.parent / "parts").mkdir()
    for name, ages in (("a", [1]), ("b", ["x"])):
        columns = {each: ["1"] for each in ("Patient", "Tag", "Stadt", "Kosten", "Frau", "Notiz")}
        parquet.write_table(pa.table({**columns, "Alter": ages}), study.parent / "parts" / f"{name}.parquet")
    study.write_text(plain, encoding="utf-8")
    code, _, err = dpaccount("look", study, "--private-output")
    assert (code, "write one type" in err) == (2, True)
    study.write_text(STUDY.replace("visits.csv", "visits.parquet"), encoding="utf-8")
    for command in (("plan", study), ("look", study, "--private-output")):
        code, _, err = dpaccount(*command)
        assert (code, "separator and encoding are of CSV files" in err) == (2, True)


def test_cells_of_a_frame_that_are_listed_are_texts():
    columns = {"x": {"type": "number", "low": 0, "high": 9, "map": {99: ""}}}
    total = {"epsilon": 1, "ledger": "sqlite:///x.db", "max_units": 3}
    with pytest.raises(InputError, match="write each in quotes"):
        _ = dp.Table({"x": [1.5]}, columns=columns, **total).mean("x").study


@deep
def test_a_study_of_another_notation_is_released_and_checked(dpaccount, study):
    """The certificate says how the file was read; the checker takes it, and no word that it does not know."""
    ledger = f"sqlite:///{study.parent / 'visits.db'}"
    words = ("--epsilon", "2", "--delta", "1e-6", "--unit", "one patient", "--relation", "add-remove")
    assert dpaccount("ledger", "init", ledger, *words)[0] == 0
    code, _, err = dpaccount("release", study, "--quick", "--out", study.parent / "made", "--json")
    assert code == 0, err
    path = study.parent / "made" / "certificate.json"
    assert dpaccount("check", path)[0] == 0
    document = json.loads(path.read_text(encoding="utf-8"))
    data = document["claim"]["data"]
    assert (data["separator"], data["columns"]["Kosten"]["thousands"]) == (";", ".")
    for column, word, value in (("Kosten", "fold", True), ("Stadt", "decimal", ","), ("Tag", "map", "x")):
        wrong = json.loads(json.dumps(document))
        wrong["claim"]["data"]["columns"][column][word] = value
        path.write_text(json.dumps(sealed(wrong)), encoding="utf-8")
        assert dpaccount("check", path)[0] == 1
