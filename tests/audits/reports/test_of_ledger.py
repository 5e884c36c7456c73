"""A ledger's report: what stands in it is what the ledger says, in every format, and damage is said first."""

import csv
import io
import json
import re
import sqlite3
from fractions import Fraction

import numpy as np
import pytest

from audits.cli.app import run
from audits.reports import review, standards
from dpaccount.errors import BudgetError
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.events import Approximate, Plan, Pure, Relation
from dpaccount.proof import REPLACE_ONE, assume_ball, assume_covers, discrete_gaussian, linear, nodes
from tests.depth import deep


def plan(epsilon, cover=None) -> Plan:
    return Plan(Relation.REPLACE_ONE, (Pure(epsilon=Fraction(epsilon), cover=cover),))


@pytest.fixture
def url(tmp_path) -> str:
    url = f"sqlite:///{tmp_path}/team.db"
    init(url, epsilon=1, delta=0, unit="<b>person</b>", relation="replace-one", measure="pure")
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", "1/2")
        ledger.charge_plan(plan("1/4", (3, 9)), "=cmd()", scope="team", by="ada")
        ledger.reserve_plan(plan("1/8", (9, 12)), "stream", "k", rounds=2, scope="team")
        ledger.draw_parts("k")
        with pytest.raises(BudgetError):
            ledger.charge_plan(plan("3/5", (9, 9)), "<script>alert(1)</script>")
        ledger.charge_plan(plan("1/4", (9, 9)), "more")
    return url


def test_committed_and_reserved_are_of_the_worst_unit(url):
    shown_report = review.report(url)
    whole, team = shown_report["scopes"]
    assert (whole["scope"], whole["worst_unit"], team["scope"], team["worst_unit"]) == (None, 9, "team", 9)
    amounts = [
        [one[name]["epsilon"]["upper"] for name in ("committed", "reserved", "spent")]
        for one in (whole, team)
    ]
    assert amounts == [[0.625, 0.125, 0.75], [0.375, 0.125, 0.5]]
    assert [one["remaining"]["epsilon"]["lower"] for one in (whole, team)] == [0.25, 0.0]
    assert [one["cap"]["epsilon"] for one in (whole, team)] == ["1", "0.5"]
    assert shown_report["replay"] == {"valid": True, "first_bad": None, "digests": True, "totals": True}
    assert shown_report["refused"]["all"] == 1
    [day] = shown_report["spending"]["rows"]
    assert {name: day[name] for name in ("charges", "refused", "drawn", "returned")} == {
        "charges": 3,
        "refused": 1,
        "drawn": 1,
        "returned": 0,
    }
    assert day["spent"] == {"epsilon": 0.75}
    [line] = shown_report["reservations"]["rows"]
    assert (line["parts"], line["drawn"], line["returned"], line["open"]) == (2, 1, 0, "2")


def test_units_come_largest_first_and_as_the_tree_has_them(url):
    rows = review.report(url)["units"]["rows"]
    spent = {unit: row["epsilon"] for row in rows for unit in range(row["first"], min(row["last"], 20) + 1)}
    assert spent == {
        **dict.fromkeys((1, 2, *range(13, 21)), 0.0),
        **dict.fromkeys(range(3, 9), 0.25),
        9: 0.75,
        **dict.fromkeys((10, 11, 12), 0.25),
    }


def test_of_many_units_those_that_spent_most_are_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(review, "MOST", 5)
    url = f"sqlite:///{tmp_path}/many.db"
    init(url, epsilon=1, delta=0, unit="day", relation="replace-one", measure="pure")
    with Ledger.open(url) as ledger:
        ledger.charge_many([(plan(Fraction(n * 7 % 40, 100), (n, n)), "x", None) for n in range(1, 40)])
    shown_report = review.report(url)
    assert shown_report["units"]["more"]
    largest = sorted((n * 7 % 40 for n in range(1, 40)), reverse=True)[:5]
    assert sorted(row["epsilon"] for row in shown_report["units"]["rows"]) == pytest.approx(
        sorted(one / 100 for one in largest)
    )


def test_a_page_shows_all_and_obeys_nothing(url, tmp_path, capsys):
    page = tmp_path / "report.html"
    assert run(["ledger", "report", url, "-o", str(page)]) == 0
    text = page.read_text()
    assert "VALID" in text
    assert "Content-Security-Policy" in text
    assert "<script" not in text
    assert "<b>person" not in text
    assert not re.search(r"(src|href)=\"(?!#)", text)
    for words in (
        "team.db",
        "committed",
        "not stated",
        "beyond the budget",
        "This is the guarantee",
        "Nodes",
        "head",
    ):
        assert words in text
    assert str(tmp_path) not in text
    capsys.readouterr()


def test_json_and_csv(url, capsys):
    assert run(["ledger", "report", url, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "dpaccount/ledger-report/1"
    assert {one["point"] for one in document["nist"]} == set(standards.POINTS)
    assert any(one["answer"] == "not stated" for one in document["nist"])
    assert run(["ledger", "report", url, "--format", "csv"]) == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[0] == ["table", "row", "name", "value"]
    assert ["scopes", "2", "scope", "team"] in rows
    assert ["scopes", "1", "reserved.epsilon.upper", "0.125"] in rows
    assert not any(value.startswith(("=", "+", "@")) for row in rows for value in row)
    assert run(["ledger", "report", url, "--format", "pdf"]) == 2
    assert not capsys.readouterr().out


def told(capsys, url, *only):
    assert run(["ledger", "report", url, "--json", *only]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("only", "of_line"),
    [
        (("--scope", "team"), lambda line: f"{line['scope']}/".startswith("team/")),
        (("--by", "nobody"), lambda line: False),
        (("--since", "2020-01-01", "--until", "2999-01-01"), lambda line: True),
        (("--until", "2020-01-01"), lambda line: False),
        (("--since", "2999-01-01"), lambda line: False),
    ],
)
def test_a_chosen_part_is_listed_and_the_whole_is_summed(url, capsys, only, of_line):
    """A list has the lines that are asked for; what is spent, left, refused and replayed does not change."""
    whole, some = told(capsys, url), told(capsys, url, *only)
    assert some.pop("only") == {
        "since": None,
        "until": None,
        "by": None,
        "scope": None,
        **{key.removeprefix("--"): value for key, value in zip(only[::2], only[1::2], strict=True)},
    }
    for name in ("charged", "refused", "resets"):
        assert some[name]["rows"] == [line for line in whole[name]["rows"] if of_line({"scope": "", **line})]
        assert (some[name]["all"], some[name]["in_ledger"]) == (len(some[name]["rows"]), whole[name]["all"])
    assert sum(row["charges"] for row in some["teams"]["rows"]) == some["charged"]["all"]
    for name in ("budget", "life", "guaranteed", "scopes", "units", "heads", "replay", "nist"):
        assert some[name] == whole[name]
    assert run(["ledger", "report", url, *only]) == 0
    page = capsys.readouterr().out
    assert f"entries {only[0].removeprefix('--')} {only[1]}" in page
    assert "What is spent and left is of the whole ledger." in page


def test_a_day_that_is_none_is_refused(url, capsys):
    assert run(["ledger", "report", url, "--since", "soon"]) == 2
    assert "--since is 'soon'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET body = replace(body, 'more', 'less')",
        "UPDATE nodes SET body = replace(body, '3/4', '1/4')",
        "DELETE FROM entries WHERE number = 3",
    ],
)
def test_damage_is_said_first(url, change, capsys):
    with sqlite3.connect(url.removeprefix("sqlite:///")) as database:
        database.execute(change)
    database.close()
    code = run(["ledger", "report", url])
    output = capsys.readouterr()
    assert (code == 2 and "error: " in output.err) or (code == 1 and "DAMAGED" in output.out)


@deep
def test_nodes_of_a_stream_are_listed(tmp_path):
    url = f"sqlite:///{tmp_path}/stream.db"
    init(url, epsilon=100, delta=Fraction(1, 10**6), unit="round", relation=REPLACE_ONE, measure="zcdp")
    ball = linear(assume_ball("stream", Fraction(30), REPLACE_ONE, "movement"))
    covers = assume_covers("stream", [(i, i) for i in range(1, 5)], "movement")
    sums = nodes(discrete_gaussian(ball, Fraction(3600), Fraction(1), "sums"), covers)
    with Ledger.open(url) as ledger:
        drawn = ledger.charge_in_parts(sums, "stream", None, "stream")
        for part in (2, 0):
            drawn.noisy("sums", part, np.zeros(2, dtype=np.int64))
    section = review.report(url)["nodes"]
    assert [(row["charge"], row["key"], row["part"]) for row in section["rows"]] == [
        (1, "sums", "2"),
        (1, "sums", "0"),
    ]


def test_a_large_ledger_is_replayed_by_digests_unless_asked(url, monkeypatch):
    monkeypatch.setattr(review, "REPLAYED", 2)
    assert review.report(url)["replay"]["totals"] is False
    assert review.report(url, replay=True)["replay"]["totals"] is True
    with sqlite3.connect(url.removeprefix("sqlite:///")) as database:
        database.execute("UPDATE entries SET body = replace(body, 'ada', 'bob') WHERE number = 2")
    database.close()
    assert review.report(url)["replay"]["first_bad"] == 2


def test_neighbours_that_spent_the_same_are_one_row(url):
    rows = review.report(url)["units"]["rows"]
    assert [(row["first"], row["last"]) for row in rows] == [
        (1, 2),
        (3, 8),
        (9, 9),
        (10, 12),
        (13, 2**63 - 2),
    ]


def test_a_series_of_many_days_is_by_months():
    days = {
        f"20{year:02}-{month:02}-01": {
            "charges": 1,
            "refused": 0,
            "drawn": 0,
            "returned": 0,
            "spent": (year, month),
        }
        for year in range(40)
        for month in range(1, 13)
    }
    days["2039-12-31"] = {"charges": 2, "refused": 1, "drawn": 0, "returned": 0, "spent": (40, 0)}
    months = review._shorter(days)
    assert len(months) == 480
    assert months["2039-12"] == {"charges": 3, "refused": 1, "drawn": 0, "returned": 0, "spent": (40, 0)}


def test_accepted_charges_are_listed_and_added_up_by_team_and_purpose(url, capsys):
    shown_report = review.report(url)
    assert [row["purpose"] for row in shown_report["charged"]["rows"]] == ["=cmd()", "stream", "more"]
    assert shown_report["charged"]["all"] == sum(row["charges"] for row in shown_report["teams"]["rows"]) == 3
    by_purpose = {row["purpose"]: row for row in shown_report["teams"]["rows"]}
    assert (by_purpose["=cmd()"]["scope"], by_purpose["=cmd()"]["by"]) == ("team", "ada")
    spent = {purpose: row["spent"]["epsilon"] for purpose, row in by_purpose.items()}
    assert spent == {"=cmd()": 0.25, "stream": 0.25, "more": 0.25}
    [day] = shown_report["spending"][
        "rows"
    ]  # nothing was returned: all teams together spent what the unit did
    assert sum(spent.values()) == day["spent"]["epsilon"]
    assert run(["ledger", "report", url]) == 0
    assert "Accepted charges by month" in capsys.readouterr().out


def test_too_many_purposes_are_added_up_without_one(tmp_path, monkeypatch):
    monkeypatch.setattr(review, "TEAMS", 2)
    url = f"sqlite:///{tmp_path}/many.db"
    init(url, epsilon=1, delta=0, unit="day", relation="replace-one", measure="pure")
    with Ledger.open(url) as ledger:
        for n in range(5):
            ledger.charge_plan(plan("1/10"), f"purpose {n}", by="ada")
    rows = review.report(url)["teams"]["rows"]
    assert sorted((str(row["purpose"]), row["charges"]) for row in rows) == [
        ("None", 3),
        ("purpose 0", 1),
        ("purpose 1", 1),
    ]
    assert sum(row["spent"]["epsilon"] for row in rows) == pytest.approx(0.5)


def test_a_log_has_the_chosen_entries_alone(url, capsys):
    everything = logged(capsys, url)
    today = next(line["time"][:10] for line in everything if line["kind"] == "charge")
    assert logged(capsys, url, "--since", today, "--until", today) == [e for e in everything if e["time"]]
    assert logged(capsys, url, "--since", "2100-01-01") == []
    assert logged(capsys, url, "--until", "2000-01-01") == []
    assert [line["purpose"] for line in logged(capsys, url, "--by", "ada")] == ["=cmd()"]
    assert {line["scope"] for line in logged(capsys, url, "--scope", "team")} == {"team"}
    assert logged(capsys, url, "--scope", "tea") == []
    assert run(["ledger", "log", url, "--since", "yesterday"]) == 2
    assert "--since is 'yesterday'; write a date as YYYY-MM-DD" in capsys.readouterr().err


def logged(capsys, url, *options):
    assert run(["ledger", "log", url, *options, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_what_is_shown_is_a_row_for_each_scope(url, capsys):
    assert run(["ledger", "show", url]) == 0
    lines = capsys.readouterr().out.splitlines()
    whole, team = (
        next(line for line in lines if line.strip().startswith(name)) for name in ("(all)", "team")
    )
    assert whole.split()[:7] == ["(all)", "ε", "1", "ε", "0.75", "ε", "0.25"]
    assert team.split()[:7] == ["team", "ε", "0.5", "ε", "0.5", "ε", "0"]
    assert ("█" * 8 + "░" * 2 in whole, "█" * 10 in team) == (True, True)


@pytest.mark.parametrize("measure", ["zcdp", "gdp", "either", "approximate", "pure"])
def test_every_measure_has_a_table(tmp_path, capsys, measure):
    """What is left is in the words of the cap, ε; of zCDP it is what the ledger counts for the ρ that is left."""
    url, delta = f"sqlite:///{tmp_path}/a.db", 0 if measure == "pure" else 1e-6
    terms = ["--unit", "person", "--relation", "add-remove", "--measure", measure]
    assert run(["ledger", "init", url, "--epsilon", "9", "--delta", str(delta), *terms]) == 0
    with Ledger.open(url) as ledger:
        ledger.charge_plan(Plan(Relation.ADD_REMOVE, (Pure(epsilon=Fraction(1, 2)),)), "half")
    capsys.readouterr()
    assert run(["ledger", "show", url]) == 0
    [row] = [line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("(all)")]
    assert "ρ" not in row


def test_what_is_spent_is_never_shown_as_less(tmp_path, capsys):
    """Its double is rounded outwards; a table shows no less than the exact amount."""
    url = f"sqlite:///{tmp_path}/spent.db"
    init(url, epsilon=1, delta="1e-7", unit="person", relation="replace-one", measure="approximate")
    with Ledger.open(url) as ledger:
        spends = Approximate(epsilon=Fraction(1, 10), delta=Fraction(1, 10**7))
        ledger.charge_plan(Plan(Relation.REPLACE_ONE, (spends,)), "all of delta")
        spent = Fraction(1, 10**7)
        assert spent <= Fraction(ledger.show()["spent"]["delta"])
    assert run(["ledger", "show", url]) == 0
    shown = [Fraction(each) for each in re.findall(r"δ ([0-9.e-]+[0-9])", capsys.readouterr().out)]
    assert any(spent <= each <= spent * 101 / 100 for each in shown)
    assert run(["ledger", "log", url]) == 0
    [logged] = re.findall(r"δ ([0-9.e-]+[0-9])", capsys.readouterr().out)
    assert spent <= Fraction(logged) <= spent * 101 / 100
