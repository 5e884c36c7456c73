"""From nothing to a released table, by commands alone: a messy hospital's CSV, a survey in Parquet, events in PostgreSQL.

Each takes at most 25 typed lines.  Every interval contains the true value; the study's file does not depend on the rows.
"""

import json

import numpy as np
import pyarrow as arrow
import pytest
from pyarrow import parquet

from tests.depth import deep
from tests.dpaccount.ledger.postgres import PostgresServer

pytestmark = deep
ROWS = 3000


def hospital(folder, seed):
    """Decimal commas, points between thousands, times with zones, names of wards in any case, cells of other kinds."""
    rng = np.random.default_rng(seed)
    cost, ward = rng.uniform(0, 4000, ROWS).round(2), rng.choice(["Surgery", "Eye"], ROWS)
    lines = ["Fall;Station;Aufnahme;Kosten"]
    for place in range(ROWS):
        text = f"{cost[place]:,.2f}".translate(str.maketrans(",.", ".,")) + rng.choice(["", " €"])
        day = f"{rng.integers(1, 29):02d}.{rng.integers(1, 13):02d}.2024 {rng.integers(0, 24):02d}:30+02:00"
        lines.append(f"{place // 2};{rng.choice([str.upper, str.lower, str])(ward[place])} ;{day};{text}")
    (folder / "klinik.csv").write_text("\n".join([*lines, "9999;;;"]), encoding="cp1252")
    return {
        name: (int((ward == name).sum()), float(cost[ward == name].mean())) for name in ("Surgery", "Eye")
    }


def survey(folder, seed):
    rng = np.random.default_rng(seed)
    age, score = rng.integers(18, 90, ROWS), rng.normal(5, 2, ROWS).clip(0, 10)
    region = rng.choice(["north", "south"], ROWS)
    columns = {"age": age, "score": score, "region": region, "weight": rng.uniform(0.5, 2, ROWS)}
    parquet.write_table(arrow.table(columns), folder / "survey.parquet")
    return {name: float(np.median(score[region == name])) for name in ("north", "south")}


@pytest.fixture(scope="module")
def server():
    postgres = PostgresServer()
    yield postgres
    postgres.remove()


def events(server, seed):
    rng = np.random.default_rng(seed)
    month, amount = rng.integers(1, 4, ROWS), rng.uniform(0, 100, ROWS)
    rows = [
        (f"u{place // 3}", f"2024-{month[place]:02d}-{rng.integers(1, 29):02d} 12:00", float(amount[place]))
        for place in range(ROWS)
    ]
    with server.connect() as connection:
        connection.execute(
            "DROP TABLE IF EXISTS events; CREATE TABLE events (who text, at timestamp, amount double precision)"
        )
        connection.cursor().executemany("INSERT INTO events VALUES (%s, %s, %s)", rows)
        connection.commit()
    return {
        str(k): (float(np.median(amount[month == k])), float(amount[month == k].sum())) for k in (1, 2, 3)
    }


def typed(dpaccount, *commands):
    """Run commands, which are at most 25 lines where each option is on its own; return the released rows."""
    lines = sum(sum(str(word).startswith("--") for word in words) + 1 for words in commands)
    assert lines <= 25
    for words in commands:
        code, out, err = dpaccount(*words)
        assert code == 0, err
    return {name: each["rows"] for name, each in json.loads(out)["statistics"].items()}


RELEASE = ("release", "study.toml", "--quick", "--yes", "--json")


def test_a_messy_hospital(dpaccount, tmp_path):
    truth, files = None, []
    for seed in (5, 6):
        for file in ("study.toml", "klinik.db"):
            (tmp_path / file).unlink(missing_ok=True)
        truth = hospital(tmp_path, seed)
        said = [
            *("--unit", "Fall", "--max-units", 2000, "--max-contributions", 2, "--epsilon", 2),
            *("--encoding", "cp1252", "--decimal", ",", "--thousands", ".", "--date-format", "%d.%m.%Y"),
            *("--column", "Station: category Surgery, Eye, other", "--column", "Kosten: number 0 to 4000"),
            *(
                "--column",
                "Aufnahme: date 2024-01-01 to 2024-12-31",
                "--statistic",
                "count by Station",
                "--statistic",
                "mean Kosten by Station",
            ),
        ]
        assert dpaccount("new", "klinik.csv", *said)[0] == 0
        files.append((tmp_path / "study.toml").read_bytes())
    assert files[0] == files[1]
    looked = dpaccount("look", "study.toml", "--private-output")[1]
    assert "'1.234" not in looked
    assert "€" in looked  # the holder sees what is not understood, and says so
    text = (tmp_path / "study.toml").read_text()
    text = text.replace('thousands = "."', 'thousands = ".", strip = "€"').replace(
        "other = true", "other = true, fold = true"
    )
    (tmp_path / "study.toml").write_text(text)
    assert sum(str(word).startswith("--") for word in said) <= 20
    found = typed(dpaccount, RELEASE)
    for row in found["count by Station"]:
        if row["Station"] != "other":
            assert row["low"] <= truth[row["Station"]][0] <= row["high"]
    for row in found["mean Kosten by Station"]:
        if row["Station"] != "other":
            assert row["low"] <= truth[row["Station"]][1] <= row["high"]
            assert row["high"] - row["low"] < 400


def test_a_survey_in_parquet(dpaccount, tmp_path):
    truth = survey(tmp_path, 3)
    query = "SELECT region, MEDIAN(score) AS middle, SUM(score * weight) / SUM(weight) AS weighted FROM survey GROUP BY region"
    said = [
        *("--unit", "-", "--max-units", 5000, "--epsilon", 2, "--column", "region: category north, south"),
        *("--column", "score: number 0 to 10", "--column", "weight: number 0 to 2"),
    ]
    found = typed(dpaccount, ("sql", query, "survey.parquet", *said), RELEASE)
    for row in found["middle"]:
        assert row["low"] <= truth[row["region"]] <= row["high"]
        assert row["high"] - row["low"] < 3
    assert all(4 < row["low"] < row["high"] < 6 for row in found["weighted"])


def test_events_in_postgresql(dpaccount, tmp_path, server):
    url, files = server.url().partition("?")[0], []
    for seed in (7, 8):
        for file in ("study.toml", "events.db"):
            (tmp_path / file).unlink(missing_ok=True)
        truth = events(server, seed)
        query = 'SELECT month("at") AS month, MEDIAN(amount) AS middle, SUM(amount) AS total FROM events GROUP BY month'
        said = [
            *("--unit", "who", "--max-units", 1500, "--max-contributions", 3, "--epsilon", 2),
            *("--column", "at: date 2024-01-01 to 2024-12-31", "--column", "amount: number 0 to 100"),
        ]
        asked = ("sql", query, f"{url}#public.events", *said)
        if seed == 7:
            assert dpaccount(*asked)[0] == 0
            files.append((tmp_path / "study.toml").read_bytes())
    found = typed(dpaccount, asked, RELEASE)
    assert (tmp_path / "study.toml").read_bytes() == files[0]
    for row in found["middle"]:
        middle, _ = truth.get(row["month"], (None, None))
        assert middle is None or row["low"] <= middle <= row["high"]
    for row in found["total"]:
        _, total = truth.get(row["month"], (None, 0))
        assert row["low"] <= total <= row["high"]
    certificate = json.loads((tmp_path / "certificates" / "events" / "certificate.json").read_text())
    assert certificate["claim"]["data"]["file"] == f"{url}#public.events"
    assert dpaccount("check", "certificates/events/certificate.json")[0] == 0
