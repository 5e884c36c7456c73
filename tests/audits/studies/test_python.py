"""`dpaccount.Study`: what the commands do on a study, from Python."""

import json
import shutil

import pytest

import dpaccount as dp
from audits import consistency
from audits.api.functions import CertificateContent
from dpaccount import checker
from dpaccount.errors import InputError, LedgerError
from dpaccount.ledger.ledger import Ledger
from tests.depth import deep

URL = "sqlite:///visits.db"


@pytest.fixture
def clinic(root, tmp_path, monkeypatch):
    """Return a folder with a study of one statistic, its data and its ledger."""
    monkeypatch.chdir(tmp_path)
    for file in ("visits.csv", "study.toml"):
        shutil.copy(root / "examples" / "clinic_visits" / file, tmp_path)
    text = (tmp_path / "study.toml").read_text().split("[[statistic]]")
    (tmp_path / "study.toml").write_text("[[statistic]]".join(text[:2]))
    budget = {"epsilon": 2, "delta": "1e-6", "unit": "one patient", "relation": "replace-one"}
    dp.Ledger.create(URL, **budget, measure="approximate").close()
    return tmp_path


def spent():
    with Ledger.open(URL) as ledger:
        return ledger.show()["entries"]


def test_a_plan_reads_no_data_and_charges_nothing(clinic):
    (clinic / "visits.csv").unlink()
    plan = dp.Study.read("study.toml").plan()
    assert [each.name for each in plan.statistics] == ["visits by city"]
    assert plan.statistics[0].half_width > 0
    assert plan.statistics[0].epsilon <= plan.total.epsilon == 1.5
    assert spent() == 0


def test_what_is_printed_is_what_the_terminal_shows(clinic, dpaccount, root):
    """A plan, a certificate; and a ledger that is there is not created again."""
    assert f"{dp.Study.read('study.toml').plan()}\n" == dpaccount("plan", "study.toml")[1]
    kept = (root / "tests" / "audits" / "reports" / "received.json").read_text()
    certificate = CertificateContent(json.loads(kept))
    assert str(certificate).startswith(
        f"{certificate['verdict']}  {certificate['claim']['name']}\n  promised"
    )
    assert json.loads(json.dumps(certificate)) == json.loads(kept)
    with pytest.raises(LedgerError, match="exists"):
        dp.Ledger.create(URL, epsilon=9, delta=0, unit="one patient", relation="replace-one")
    assert spent() == 0


def test_a_file_that_is_no_study_is_refused(root, clinic):
    with pytest.raises(InputError, match="this is no study"):
        dp.Study.read(root / "examples" / "mechanisms" / "histogram.toml")


@deep
def test_a_study_is_certified_without_its_data_then_released_once(clinic):
    study = dp.Study.read("study.toml")
    data = (clinic / "visits.csv").read_bytes()
    (clinic / "visits.csv").unlink()
    assert study.certify(quick=True)["release"] is None
    (clinic / "visits.csv").write_bytes(data)
    first = study.release(quick=True)
    assert (first.verdict, spent()) == ("CERTIFIED", 1)
    assert "visits by city" in str(first)
    rows = first["visits by city"]
    assert [row["city"] for row in rows] == ["north", "south", "other"]
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in rows)
    assert first.to_pandas("visits by city")["estimate"].tolist() == [row["estimate"] for row in rows]
    assert (clinic / "certificates" / "clinic" / "visits-by-city.csv").is_file()
    whole = first.consistent()["visits by city"]
    assert [row["city"] for row in whole] == ["north", "south", "other"]
    assert all(row.keys() == {"city", "estimate"} and row["estimate"] >= 0 for row in whole)
    assert study.release(quick=True)["visits by city"] == rows
    assert spent() == 1
    with pytest.raises(InputError, match="no statistic 'ages' is released; released: visits by city"):
        first["ages"]


@deep
def test_a_chosen_median_says_its_ranks_and_no_interval(clinic):
    """From the file's word to certificate, checker, table and CSV; several rows of a unit count."""
    head = (clinic / "study.toml").read_text().partition("[[statistic]]")[0]
    words = 'name = "half"\nwhat = "median"\ncolumn = "minutes"\nmethod = "exponential"\n'
    others = (
        'name = "halves"\n{}by = ["city"]\n[[statistic]]\nname = "v"\nwhat = "variance"\ncolumn = "minutes"\n'
    )
    others = others.format(words.partition("\n")[2])
    (clinic / "study.toml").write_text(f"{head}[[statistic]]\n{words}[[statistic]]\n{others}")
    study = dp.Study.read("study.toml")
    planned = study.plan()
    assert planned.rows[0][3].startswith("no interval; within ")
    released = study.release(quick=True)
    (row,), cities = released["half"], released["halves"]
    for each in (row, *cities):
        assert 0 <= each["estimate"] <= 120
        assert (each["low"], each["high"]) == (None, None)
    bounds = [released.found.statistics[name].ranks for name in ("half", "halves")]
    assert bounds == [each.half_width for each in planned.statistics[:2]]
    written = next((clinic / "certificates").rglob("halves.csv")).read_text().splitlines()
    assert written[0] == "city,estimate,low,high,ranks"
    assert [line.rpartition(",")[2] for line in written[1:]] == [str(bounds[1])] * len(cities)
    assert "ranks farther off than the best candidate" in released._repr_html_()
    document = json.loads(json.dumps(released.certificate))
    assert "CERTIFIED" in str(consistency.judged(json.dumps(document).encode()))
    document["release"]["report"]["accuracy"]["half"]["ranks"] /= 2
    body = {key: each for key, each in document.items() if key not in ("digest", "signature")}
    forged = {**body, "digest": checker.digest(body), "signature": None}
    with pytest.raises(checker.Rejected, match="fewer ranks than its scale allows"):
        consistency.judged(json.dumps(forged).encode())
