"""`dpaccount sql`, `dpaccount.sql` and `Session`: a SELECT becomes a study, of a file, of a database or of a DataFrame."""

import json
import sys
import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

import dpaccount as dp
from audits.claim import claim_at, of_query, read_claim
from audits.reports.tables import study_of
from dpaccount.documents import parse_toml
from dpaccount.errors import BudgetError, InputError
from mechanisms.table.database import DatabaseTable
from tests.depth import deep
from tests.looped import looped

QUERY = "SELECT city, COUNT(*) AS visits, SUM(minutes) / SUM(stays) AS stay FROM visits WHERE age >= 18 GROUP BY city"
SAID = [
    *(
        "--unit",
        "patient",
        "--max-units",
        "900",
        "--max-contributions",
        "2",
        "--epsilon",
        "2",
        "--delta",
        "1e-6",
    ),
    *("--column", "city: category north, south, other", "--column", "minutes: number 0 to 100"),
    *("--column", "age: integer 0 to 110", "--column", "stays: integer 1 to 5"),
]


@pytest.fixture
def visits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    lines = [
        f"{place // 2},{rng.choice(['north', 'south', 'west'])},{rng.uniform(0, 100):.2f},{rng.integers(0, 111)},{rng.integers(1, 6)}"
        for place in range(1600)
    ]
    (tmp_path / "visits.csv").write_text("\n".join(["patient,city,minutes,age,stays", *lines, ""]))
    return tmp_path


def exactly(query, of="read_csv('visits.csv')"):
    asked = query.replace("city,", "CASE WHEN city = 'west' THEN 'other' ELSE city END AS city,", 1)
    return {row[0]: row[1:] for row in duckdb.sql(asked.replace("visits ", f"{of} ")).fetchall()}


def in_database(folder):
    with duckdb.connect(str(folder / "clinic.duckdb")) as database:
        database.execute("CREATE TABLE visits AS SELECT * FROM read_csv('visits.csv') ORDER BY random()")
    return "duckdb:///clinic.duckdb#visits"


def test_a_select_on_a_file_is_a_study_and_its_ledger(dpaccount, visits):
    code, out, err = dpaccount("sql", QUERY, "visits.csv", *SAID)
    assert code == 0, err
    text = (visits / "study.toml").read_text()
    assert len(text.splitlines()) <= 40
    assert tomllib.loads(text)["data"]["query"] == QUERY
    assert dpaccount("plan", "study.toml")[1] == out
    assert "ε 2, δ 1e-06" in dpaccount("ledger", "show", "sqlite:///visits.db")[1]
    code, shown, _ = dpaccount("sql", QUERY, "visits.csv", *SAID, "--name", "shown", "--show")
    assert code == 0
    assert {file.name for file in visits.iterdir()} == {"visits.csv", "study.toml", "visits.db"}
    # --show prints the study that is planned
    one, other = (claim_at(parse_toml(each, "a"), visits / "a.toml") for each in (text, shown))
    assert study_of(one) == study_of(other)
    assert "query" not in json.dumps(one.written)


def test_a_second_select_is_of_the_first_ones_declarations_and_ledger(dpaccount, visits):
    assert dpaccount("sql", QUERY, "visits.csv", *SAID)[0] == 0
    more = "SELECT MEDIAN(minutes) FROM visits"
    code, _, err = dpaccount("sql", more, "study.toml", "--name", "second", "--epsilon", "0.5")
    assert code == 0, err
    first, second = read_claim(visits / "study.toml"), read_claim(visits / "second.toml")
    assert (second.table, second.ledger, second.guarantee.unit) == (
        first.table,
        first.ledger,
        first.guarantee.unit,
    )
    assert (second.name, second.guarantee.epsilon, second.guarantee.delta) == (
        "second",
        0.5,
        first.guarantee.delta,
    )
    # a policy without statistics does as well
    document = "\n".join(
        line for line in (visits / "study.toml").read_text().split("\n") if "query" not in line
    )
    (visits / "policy.toml").write_text(document)
    assert dpaccount("sql", more, "policy.toml", "--name", "third", "--epsilon", "0.5")[0] == 0
    assert read_claim(visits / "third.toml").table == second.table


WRONG = [
    (("SELECT MEDIAN(minutes) FROM visits", "study.toml"), "--name is missing"),
    (("SELECT MEDIAN(minutes) FROM visits", "study.toml", "--name", "n", "--unit", "x"), "study.toml declares its unit"),
    (("SELECT MEDIAN(minutes) FROM visits", "study.toml", "--name", "../n"), "--name is '../n'; names match"),
    (("SELECT MEDIAN(minutes) FROM visits", "study.toml", "--name", "study"), "study.toml: File exists"),
    (("SELECT MEDIAN(minutes) FROM visits", "none.toml", "--name", "n"), "none.toml: No such file"),
    (("SELECT MAX(minutes) FROM visits", "study.toml", "--name", "n"), "data.query: 'MAX(minutes)' (Max) is not read"),
    ((QUERY, "visits.csv", "--max-units", "9"), "--unit is missing"),
    ((QUERY, "visits.csv", *SAID), "study.toml is there already"),
    ((QUERY, "visits.csv", *SAID, "--name", "A b"), "--name is 'A b'"),
    ((QUERY, "duckdb:///none.duckdb#visits", *SAID, "--name", "n"), "none.duckdb: no such file"),
    ((QUERY, "postgresql://me:secret@host/d#visits", *SAID, "--name", "n"), "without a password"),
]  # fmt: skip


def test_bad_requests_are_one_line_and_write_nothing(dpaccount, visits):
    assert dpaccount("sql", QUERY, "visits.csv", *SAID)[0] == 0
    before = {file.name: file.read_bytes() for file in visits.iterdir()}
    for words, why in WRONG:
        code, out, err = dpaccount("sql", *words)
        assert (code, out, why in err, err.count("\n")) == (2, "", True, 1), (words, err)
        assert "secret" not in err
        assert {file.name: file.read_bytes() for file in visits.iterdir()} == before


@deep
def test_a_table_of_a_database_is_released_as_the_file_is(dpaccount, visits):
    """The exact totals are the same to the last digit: so is the release that is printed again, without a charge."""
    from audits.certificate import release
    from audits.sandbox.private_data import on_disk

    url, totals = in_database(visits), []
    for file, name in (("visits.csv", "of-file"), (url, "of-table")):
        assert dpaccount("sql", QUERY, file, *SAID, "--name", name)[0] == 0
        with on_disk(read_claim(visits / f"{name}.toml")) as claim:
            subject = study_of(claim)
            identified = release.identify(claim, subject)
            totals.append(release.read(identified, subject).data.sums.tolist())
    assert totals[0] == totals[1]
    assert not list(Path("/tmp").glob("dpaccount-*/*.arrow"))  # noqa: S108  # nothing of it is left
    code, out, err = dpaccount("release", "of-table.toml", "--quick", "--yes", "--json")
    assert code == 0, err
    found = json.loads(out)["statistics"]
    truth = exactly(QUERY)
    for row in found["visits"]["rows"]:
        assert abs(row["estimate"] - truth[row["city"]][0]) < 60
    assert dpaccount("check", "certificates/of-table/certificate.json")[0] == 0
    # another order of rows is no other table, and another row is
    with duckdb.connect(str(visits / "clinic.duckdb")) as database:
        database.execute(
            "CREATE TABLE t AS SELECT * FROM visits ORDER BY minutes; DROP TABLE visits; ALTER TABLE t RENAME TO visits"
        )
    assert json.loads(dpaccount("release", "of-table.toml", "--quick", "--yes", "--json")[1]) == json.loads(
        out
    )
    with duckdb.connect(str(visits / "clinic.duckdb")) as database:
        database.execute("DELETE FROM visits WHERE patient = 3")
    code, _, err = dpaccount("release", "of-table.toml", "--quick", "--yes")
    assert (code, "nothing was charged" in err) == (1, True)
    code, looked, _ = dpaccount("look", "of-table.toml", "--private-output")
    assert (code, "1,598 rows" in looked) == (0, True)


def test_without_sqlglot_it_is_asked_for(dpaccount, visits, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    monkeypatch.delitem(sys.modules, "mechanisms.statistics.select", raising=False)
    code, _, err = dpaccount("sql", QUERY, "visits.csv", *SAID, "--show")
    assert code == 2
    assert err == "error: study.toml: sqlglot reads the query; pip install 'dpaccount[sql]'\n"


@deep
def test_a_release_reads_a_database_once(dpaccount, visits, monkeypatch):
    """The charge is announced for the rows that are released, also if a release is kept."""
    url, readings, snapshot = in_database(visits), [], DatabaseTable.snapshot
    monkeypatch.setattr(
        DatabaseTable, "snapshot", lambda self, names: readings.append(names) or snapshot(self, names)
    )
    query = "SELECT COUNT(*) AS n FROM visits"
    assert dpaccount("sql", query, url, *SAID)[0] == 0
    assert dpaccount("release", "study.toml", "--dry-run", "--quick")[0] == 0
    assert readings == []
    for many in (1, 2):  # the second prints the first again
        assert dpaccount("release", "study.toml", "--quick", "--yes")[0] == 0
        assert len(readings) == many


def frame(rows=900):
    rng = np.random.default_rng(4)
    return {
        "p": [place // 2 for place in range(rows)],
        "ward": rng.choice(["A", "B"], rows).tolist(),
        "x": rng.uniform(0, 9, rows).tolist(),
    }


DECLARED = {
    "unit": "p", "epsilon": 1, "max_units": 600, "max_contributions": 2, "columns": {"ward": ["A", "B"], "x": (0, 10)}
}  # fmt: skip


def test_a_select_on_a_frame_is_the_statistics_of_its_methods(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = {**DECLARED, "ledger": "sqlite:///t.db", "delta": 1e-6}
    asked = dp.sql(
        "SELECT ward, AVG(x) AS m, SUM(x) / SUM(x) AS r, STDDEV_POP(x) AS s FROM frame GROUP BY ward",
        frame(),
        **told,
    )
    named = dp.Table(frame(), **told).mean("x", by="ward", name="m").ratio("x", "x", by="ward", name="r")
    assert study_of(asked.study.claim) == study_of(named.stddev("x", by="ward", name="s").study.claim)
    with pytest.raises(InputError, match="data has a query, too"):
        asked.count().plan()
    with pytest.raises(InputError, match=r"data\.query: FROM other"):
        dp.sql("SELECT COUNT(*) FROM other", frame(), **told).plan()


def test_a_table_without_a_ledger_needs_a_name_for_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="there is no ledger; give its URL"):
        dp.Table(frame(), **DECLARED).count().plan()
    dp.Table(frame(), **DECLARED, name="mine").count().plan()
    assert not list(tmp_path.iterdir())  # a plan creates none


@deep
def test_a_new_ledger_is_said_and_has_room_for_one_release(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = dp.Table(frame(), **DECLARED, name="mine").count(by="ward")
    with pytest.warns(UserWarning, match=r"created mine\.db: a ledger with room for one release of mine"):
        first = table.release(quick=True)
    assert table.release(quick=True)["count by ward"] == first["count by ward"]
    with pytest.raises(BudgetError):
        table.release(quick=True, new_release=True)
    (tmp_path / "other.db").mkdir()
    with pytest.raises(dp.DpaccountError):
        dp.Table(frame(), **DECLARED, name="other").count().release(quick=True)


@deep
def test_a_session_is_studies_of_one_ledger(tmp_path, monkeypatch):
    """The next query may depend on the last answer; what does not fit is refused and charges nothing."""
    monkeypatch.chdir(tmp_path)
    dp.Ledger.create("sqlite:///s.db", epsilon=1, delta=1e-6, unit="one p", relation="add-remove").close()
    session = dp.Session(dp.Table(frame(), **DECLARED, ledger="sqlite:///s.db", name="visits"))
    by_ward = "SELECT ward, COUNT(*) AS n FROM frame GROUP BY ward"
    first = session.sql(by_ward, 0.5, quick=True)["n"]
    most = max(first, key=lambda row: row["estimate"])["ward"]
    second = session.release(session.table.mean("x", where=f"ward == '{most}'"), "0.3", quick=True)
    assert len(second.found.statistics) == 1
    left = session.left
    assert 0.19 < left["epsilon"]["lower"] <= 0.201
    with pytest.raises(BudgetError, match="nothing was charged"):
        session.sql(by_ward, 0.4, quick=True)
    for half in (0.5, "1/2", "0.500"):
        assert session.sql(by_ward, half, quick=True)["n"] == first  # printed again
    assert session.left == left
    names = {path.name for path in (tmp_path / "certificates").iterdir()}
    assert len(names) == 2
    assert all(name.startswith("visits-") for name in names)


def test_a_session_calls_one_cost_by_one_name(tmp_path, monkeypatch):
    """In all spellings of a number, so that no query is charged twice; and is of a table."""
    monkeypatch.chdir(tmp_path)
    session, names = dp.Session(dp.Table(frame(), **DECLARED, ledger="sqlite:///s.db", name="visits")), []
    monkeypatch.setattr(
        dp.Table, "release", lambda self, **how: names.append((self.name, self.study.claim.written))
    )
    for epsilon, delta in ((1, 0), ("1", "0"), (1.0, 0.0), (Fraction(1), Decimal(0))):
        session.sql("SELECT COUNT(*) FROM frame", epsilon, delta)
    assert all(each == names[0] for each in names)
    session.sql("SELECT COUNT(*) FROM frame", 2)
    session.release(session.table.sum("x"), 1)
    assert len({name for name, _ in names}) == 3
    with pytest.raises(InputError, match="a session is of a table"):
        dp.Session(None)


NO_QUERY = [
    (
        'query = "SELECT COUNT(*) FROM t"\n',
        "[[statistic]]\nname = 'n'\nwhat = 'count'\n",
        "data has a query, too",
    ),
    ("query = 3\n", "", "data.query: found a number"),
    ("", "", "no statistic; give one [[statistic]] or more, or a query in [data]"),
]


@looped(("query", "statistic", "why"), NO_QUERY)
def test_a_study_has_a_query_or_statistics(query, statistic, why, tmp_path_factory):
    text = f"""
schema = "dpaccount/study/1"
name = "t"
[guarantee]
unit = "one row"
relation = "add-remove"
epsilon = 1
[data]
file = "t.csv"
ledger = "sqlite:///t.db"
max_units = 9
{query}[data.columns]
x = {{ type = "boolean" }}
{statistic}"""
    with pytest.raises(InputError) as error:
        claim_at(parse_toml(text, "t.toml"), Path("t.toml"))
    assert why in str(error.value)
    assert of_query(parse_toml(text.replace(query, ""), "t.toml"), Path("t.toml")).value.get("data")


def test_a_plan_says_what_choices_cost(tmp_path, monkeypatch):
    """Rows of one unit, a key of unlisted values, a mean of some rows; nothing where there is no choice."""
    monkeypatch.chdir(tmp_path)
    told = {
        **DECLARED,
        "ledger": "sqlite:///t.db",
        "delta": 1e-6,
        "columns": {**DECLARED["columns"], "note": {"type": "text"}},
    }
    made = {**frame(), "note": ["…"] * 900}
    plan = dp.Table(made, **told).count(by="note").mean("x", where="x > 1", name="m").plan()
    assert (
        plan.warning.split("\n")[0]
        == "2 rows of a unit count; with a smaller max_contributions most noise is less."
    )
    assert "take half of δ" in plan.warning
    assert plan.warning.endswith("intervals of means and variances are wider")
    one, two = (
        dp.Table(made, **{**told, "max_contributions": most}).count(by="ward").sum("x").plan()
        for most in (1, 2)
    )
    assert not one.warning
    for first, second in zip(one.statistics, two.statistics, strict=True):
        for part, scale in first.noise.scales.items():
            assert second.noise.scales[part] == pytest.approx(2 * scale, rel=1e-3)
    per = dp.Table(made, **told).ratio("x", "x", name="r").plan().statistics[0].noise.scales
    assert per["sum"] == per["per"]  # both in the column's own units
