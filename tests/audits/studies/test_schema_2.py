"""Studies of schema 2: a missing cell is left out, and which rows of a unit count depends on its cells alone."""

import json
import math
import re

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.claim import claim_at, of_query, read_claim
from audits.consistency.formulas import check_joined, every_column
from audits.reports.tables import study_of
from audits.sandbox.private_data import digest_of, on_disk
from audits.studies.new import asking
from audits.studies.results import plan
from audits.studies.translate import translated
from dpaccount.checker.certificate.tables import check_column
from dpaccount.checker.documents import Rejected, Work
from dpaccount.documents import canonical, parse_json, parse_toml
from dpaccount.errors import InputError
from mechanisms.table.columns import Column
from mechanisms.table.user_level import named
from tests.depth import deep, examples
from tests.looped import looped

HEAD = """
schema = "dpaccount/study/2"
name = "visits"
[guarantee]
unit = "one patient"
relation = "add-remove"
epsilon = 900
delta = 1e-6
[data]
file = "visits.csv"
ledger = "sqlite:///v.db"
unit_column = "patient"
max_units = 100
max_contributions = 2
[data.columns]
"""
COLUMNS = """
ward = { type = "category", values = ["north", "2.5"] }
cost = { type = "number", low = 10, high = 300 }
age = { type = "integer", low = 0, high = 110, missing = 40 }
"""
MEAN = """
[[statistic]]
name = "cost"
what = "mean"
column = "cost"
"""


def claim_of(text, folder):
    path = folder / "study.toml"
    path.write_text(text)
    return read_claim(path)


@looped(
    ("columns", "why"),
    [
        (
            'cost = { type = "number", low = 1, high = 3, gaps = false }',
            "no gaps, and no value for a missing cell",
        ),
        (
            'cost = { type = "number", low = 1, high = 3, gaps = true, missing = 2 }',
            "leave gaps or missing out",
        ),
        ('cost = { type = "number", low = 1, high = 3, gaps = 1 }', "cost.gaps"),
        ('cost = { type = "category", values = ["a", "a"] }', "list each once"),
    ],
)
def test_declarations_that_contradict_themselves_are_refused(tmp_path, columns, why):
    with pytest.raises(InputError, match=why):
        claim_of(HEAD + columns + MEAN, tmp_path)


def test_the_schema_stands_at_the_top_and_gaps_only_in_the_second(tmp_path):
    with pytest.raises(InputError, match=r"data\.schema: the key 'schema' is unknown"):
        claim_of(HEAD.replace("[data]", "[data]\nschema = 2") + COLUMNS + MEAN, tmp_path)
    first = HEAD.replace("study/2", "study/1")
    with pytest.raises(InputError, match="unknown"):
        claim_of(first + 'cost = { type = "number", low = 1, high = 3, gaps = true }' + MEAN, tmp_path)
    with pytest.raises(InputError, match="schema"):
        claim_of(HEAD.replace("study/2", "study/3") + COLUMNS + MEAN, tmp_path)


def test_a_claim_of_another_subject_has_no_schema_of_studies(tmp_path):
    written = claim_of(HEAD + COLUMNS + MEAN, tmp_path).written
    other = {**written, "subject": {"use": "gaussian-sum", "parameters": {"column": "cost", "sigma": 3}}}
    with pytest.raises(InputError, match="schema"):
        claim_at(parse_json(canonical(other), "a claim"), tmp_path / "study.toml")


def test_the_claim_of_a_certificate_is_read_with_the_same_meaning(tmp_path):
    claim = claim_of(HEAD + COLUMNS + MEAN, tmp_path)
    again = claim_at(parse_json(canonical(claim.written), "a claim"), claim.path)
    assert again.table == claim.table
    assert [(column.gaps, column.schema) for column in again.table.columns] == [
        (False, 2),
        (True, 2),
        (True, 2),
    ]
    assert again.table.by_digest
    assert study_of(again) == study_of(claim)


def test_where_all_cells_are_there_both_schemas_are_one_study(tmp_path):
    """With a value for each missing cell, the second schema has the first one's draws, noise and totals."""
    columns = COLUMNS.replace(" } \n", " }\n").replace('"2.5"] }', '"2.5"], missing = "2.5" }')
    columns = columns.replace("high = 300 }", "high = 300, missing = 10 }")
    one, two = (
        claim_of(HEAD.replace("study/2", s) + columns + MEAN, tmp_path) for s in ("study/1", "study/2")
    )
    first, second = (named(study_of(each)) for each in (one, two))
    assert first.draws == second.draws
    assert first.scales == second.scales
    assert study_of(one).exact_rows == study_of(two).exact_rows


def test_under_replace_one_a_mean_of_cells_that_may_be_missing_has_a_private_divisor(tmp_path):
    bare = HEAD.replace("add-remove", "replace-one").replace('unit_column = "patient"\n', "")
    bare = bare.replace("max_contributions = 2\n", "")
    keys, notes = {}, {}
    for gaps, columns in (
        (True, COLUMNS),
        (False, COLUMNS.replace("high = 300", "high = 300, missing = 20")),
    ):
        claim = claim_of(bare + columns + MEAN, tmp_path)
        keys[gaps] = {draw.key for draw in study_of(claim).draws}
        notes[gaps] = "Cells of cost may be missing" in str(plan(claim))
    assert notes == {True: True, False: False}
    assert keys == {True: {"cost/sum", "cost/count"}, False: {"cost/sum"}}


def test_an_edition_keeps_its_schema(tmp_path):
    from audits.editions import SAME

    assert "schema" in SAME


def test_a_query_of_a_study_keeps_its_schema(tmp_path):
    place = parse_toml(HEAD + COLUMNS + MEAN, str(tmp_path / "study.toml"))
    claim = claim_at(
        asking(place, "asked", "SELECT COUNT(cost) FROM visits WHERE ward IS NOT NULL"), tmp_path / "s"
    )
    assert claim.written["data"]["schema"] == 2
    [statistic] = claim.written["subject"]["parameters"]["statistic"]
    assert statistic["where"] == "((not (`ward` is null))) and ((`cost` is not null))"


# ------------------------------------------------------------------ released


ROWS = "patient,ward,cost,age\na,north,100,30\nb,2.50,50,\nc,,,44\nd,south,NA,50\ne,north,400,9\n"
SEVERAL = (
    MEAN
    + """
[[statistic]]
name = "nothing"
what = "count"
where = "cost is null"
[[statistic]]
name = "wards"
what = "histogram"
column = "ward"
[[statistic]]
name = "age"
what = "sum"
column = "age"
[[statistic]]
name = "cheap"
what = "count"
where = "not cost > 60"
"""
)


@deep
@pytest.mark.statistical(1e-6)
def test_a_release_leaves_missing_cells_out(tmp_path, monkeypatch, dpaccount):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "study.toml").write_text(HEAD.replace("900", "1000") + COLUMNS + SEVERAL)
    init = ["--epsilon", "1000", "--delta", "1e-6", "--unit", "one patient", "--relation", "add-remove"]
    assert dpaccount("ledger", "init", "sqlite:///v.db", *init)[0] == 0
    code, out, _ = dpaccount("release", "study.toml", "--quick", "--json")
    assert code == 0
    found = {
        name: [row["estimate"] for row in each["rows"]]
        for name, each in json.loads(out)["statistics"].items()
    }
    assert np.allclose(found["cost"], [150], atol=25)  # 100, 50 and 300
    assert np.allclose(found["age"], [30 + 40 + 44 + 50 + 9], atol=25)
    assert (found["nothing"], found["wards"], found["cheap"]) == ([2], [2, 1], [1])
    assert dpaccount("check", "certificates/visits/certificate.json")[0] == 0


# ------------------------------------------------------------------ translated


def test_a_study_of_the_first_schema_is_translated_with_what_changes(tmp_path, dpaccount):
    first = HEAD.replace("study/2", "study/1") + COLUMNS + MEAN
    (tmp_path / "study.toml").write_text(f"# mine\n{first}")
    code, out, err = dpaccount("study", str(tmp_path / "study.toml"), "--to", "2")
    assert code == 0
    assert out == f"# mine\n{HEAD}{COLUMNS}{MEAN}"
    assert err.splitlines() == [
        "cost: a missing cell is left out; before it counted as 10",
        "ward: a missing cell is left out; before it counted as none of the values",
        "a category's cell is compared as text, then as a number: 2.50 is 2.5",
        "which 2 rows of a unit count, where it has more: by a digest of their cells, no longer by their order in"
        " the file",
    ]
    assert (tmp_path / "study.toml").read_text() == f"# mine\n{first}"
    (tmp_path / "study.toml").write_text(out)
    code, out, err = dpaccount("study", str(tmp_path / "study.toml"), "--to", "2")
    assert (code, out) == (2, "")
    assert "no study of schema 1" in err


# ------------------------------------------------------------------ the identity of a database's rows

IN_DUCKDB = HEAD.replace("visits.csv", "duckdb:///v.duckdb#visits")


def in_duckdb(rows, folder, text):
    (folder / "v.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "v.duckdb")) as database:
        database.execute("CREATE TABLE visits (patient INTEGER, ward VARCHAR, cost DOUBLE, age INTEGER)")
        database.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", rows)
    return claim_of(text, folder)


@examples(15)
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 3),
            st.sampled_from(["a", "a\x00", None]),
            st.sampled_from([1.5, None]),
            st.integers(0, 2),
        ),
        min_size=1,
        max_size=5,
    ),
    data=st.data(),
)
def test_rows_have_one_identity_in_any_order_and_another_one_where_a_cell_is(tmp_path_factory, rows, data):
    folder = tmp_path_factory.mktemp("rows")

    def found(rows, columns=()):
        with on_disk(in_duckdb(rows, folder, IN_DUCKDB + COLUMNS + MEAN)) as claim:
            return digest_of(claim, columns)

    at, other = data.draw(st.integers(0, len(rows) - 1)), list(rows)
    other[at] = data.draw(
        st.sampled_from([(*rows[at][:3], 7), (*rows[at][:2], 9.0, rows[at][3]), (8, *rows[at][1:])])
    )
    assert found(rows) == found(data.draw(st.permutations(rows)))
    assert found(rows) != found(other)
    assert found(rows) != found([*rows, rows[at]])
    few = ("patient", "ward")
    assert (found(rows, few) == found(other, few)) == (rows[at][:2] == other[at][:2])
    assert found(rows, few) != found(rows)


@deep
def test_an_edition_of_a_database_study_declares_another_column(tmp_path, monkeypatch, dpaccount):
    monkeypatch.chdir(tmp_path)
    few = COLUMNS.replace('age = { type = "integer", low = 0, high = 110, missing = 40 }\n', "")
    text = IN_DUCKDB.replace("epsilon = 900", "epsilon = 9").replace("max_units = 100", "max_units = 3")
    rows = [(1, "north", 20.0, 30), (1, None, 30.0, 31), (2, "2.50", None, 4)]
    in_duckdb(rows, tmp_path, text + few + MEAN)
    init = ["--epsilon", "90", "--delta", "1e-4", "--unit", "one patient", "--relation", "add-remove"]
    assert dpaccount("ledger", "init", "sqlite:///v.db", *init)[0] == 0
    assert dpaccount("release", "study.toml", "--quick")[0] == 0
    first = json.loads((tmp_path / "certificates/visits/certificate.json").read_text())
    later = f'edition = 2\nfollows = "{first["digest"]}"\n'
    more = MEAN + '[[statistic]]\nname = "n"\nwhat = "count"\nwhere = "age > 20"\n'
    for changed, code in ((rows[::-1], 0), ([*rows[:2], (2, "2.50", 9.0, 4)], 2)):
        in_duckdb(
            changed, tmp_path, text.replace('name = "visits"\n', f'name = "visits"\n{later}') + COLUMNS + more
        )
        found, _, err = dpaccount("release", "study.toml", "--quick", "--new-release")
        assert found == code, err
    assert "duckdb:///v.duckdb#visits: the data changed since visits was released" in err


# ------------------------------------------------------------------ what an attack found


def test_a_text_in_a_comparison_that_is_decided_by_exact_numbers(tmp_path):
    """Of a text there are several codes: in fractions it is there or not."""
    columns = 'x = { type = "number", low = 0, high = 1 }\ny = { type = "number", low = 0, high = 1 }\nt = { type = "text" }'
    where = '[[statistic]]\nname = "n"\nwhat = "count"\nwhere = "(x if t is null else y) + x > 0.6"'
    [statistic] = study_of(claim_of(HEAD + columns + "\n" + where, tmp_path)).statistics
    own = {column.name: column for column in statistic.declared}
    rows = [(0.5, 0.2, "abc"), (0.3, 0.3, ""), (0.2, 0.4, "b"), (0.2, 0.5, "b"), (0.31, 0.0, None)]
    codes = {name: own[name].codes([row[at] for row in rows]) for at, name in enumerate("xyt")}
    assert statistic.group_of(codes).tolist() == [0, -1, -1, 0, 0]


@looped("low", ["0.1", "2.3", "1e-9", "1000.1", "-7"])
def test_a_gap_of_a_joined_column_is_known_to_the_checker(tmp_path, low):
    (tmp_path / "wards.csv").write_text("ward,rate\nnorth,2000\n")
    join = f'[data.join.wards]\nfile = "wards.csv"\nkey = "ward"\n[data.join.wards.columns]\nrate = {{ type = "number", low = {low}, high = 3000 }}'
    claim = claim_of(HEAD + COLUMNS + join + MEAN.replace('"cost"\n', '"rate"\n'), tmp_path)
    [found] = [column for column in claim.table.derived if column.name == "rate"]
    Work.begin()
    check_joined(
        {"name": "rate", "found": [json.loads(json.dumps(code)) for code in found.found]},
        every_column(claim.written["data"]),
    )
    beyond = [*found.found[:-1], found.found[-1] + 0.5]
    with pytest.raises(Rejected, match="none of its column's"):
        check_joined({"name": "rate", "found": beyond}, every_column(claim.written["data"]))


@looped(
    ("text", "why"),
    [
        (HEAD + COLUMNS.replace("cost", "null") + MEAN.replace('"cost"\n', '"null"\n'), "rename it"),
        (HEAD + COLUMNS + '[data.derived]\nnull = "cost + 1"' + MEAN, "rename it"),
        (HEAD.replace("study/2", "study/9") + COLUMNS + MEAN, "schema: unknown value 'dpaccount/study/9'"),
        (HEAD + COLUMNS + MEAN + 'where = "cost == null"', "write x is null"),
    ],
)
def test_null_and_unknown_schemas_are_refused_in_their_own_words(tmp_path, text, why):
    with pytest.raises(InputError, match=re.escape(why)):
        study_of(claim_of(text, tmp_path))


def test_values_that_look_like_gaps_or_like_numbers_are_those_that_are_declared():
    column = Column("c", "category", values=("nan", "7", "7.0", "120"), gaps=True, schema=2)
    cells = ["nan", "NaN", "", None, "7", 7, "7.0", "07", "007", "120.0", "0120", math.nan]
    assert column.codes(cells).tolist() == [0, -2, -2, -2, 1, 1, 2, -1, -1, 3, -1, -2]


def test_a_column_with_nothing_as_its_default_is_no_column():
    Work.begin()
    for later in (True, False):
        with pytest.raises(Rejected, match="nothing as its default"):
            check_column("x", {"type": "number", "low": 0, "high": 1, "missing": None}, later=later)


@looped(
    ("change", "why"),
    [
        (
            lambda text: text.replace(
                'name = "visits"', 'name = "visits"\nedition = 2\nfollows = "sha256:' + "0" * 64 + '"'
            ),
            "an edition keeps the schema",
        ),
        (lambda text: text.replace('schema = "dp', '"schema" = "dp'), "the line of the schema is not found"),
        (lambda text: "\ufeff" + text, ""),
        (lambda text: text.replace("\n", "\r\n"), ""),
    ],
)
def test_what_is_translated_keeps_its_lines_or_is_refused(tmp_path, change, why):
    (tmp_path / "study.toml").write_text(
        change(HEAD.replace("study/2", "study/1") + COLUMNS + MEAN), newline=""
    )
    if why:
        with pytest.raises(InputError, match=why):
            translated(tmp_path / "study.toml")
    else:
        assert translated(tmp_path / "study.toml")[0] == change(HEAD + COLUMNS + MEAN)


@looped("schema", ["study/1", "study/2"])
@looped(
    "select",
    ["AVG(cost)", "SUM(cost) / COUNT(*)", "COUNT(*)", "SUM(age)", "MEDIAN(cost)", "VAR_POP(age), AVG(age)"],
)
def test_a_query_that_is_shown_asks_for_what_its_study_does(tmp_path, schema, select):
    query = f'query = "SELECT ward, {select} FROM visits GROUP BY ward"\n'
    text = HEAD.replace("study/2", schema).replace("[data.columns]", query + "[data.columns]") + COLUMNS
    shown = of_query(parse_toml(text, str(tmp_path / "study.toml")), tmp_path / "study.toml").value
    claim = claim_of(text, tmp_path)
    assert shown["statistic"] == claim.written["subject"]["parameters"]["statistic"]
    assert shown["data"].get("derived", {}) == claim.written["data"].get("derived", {})
    assert "schema" not in shown["data"]
