"""The plan finder's release through the command line: what is read, charged, written and printed again."""

import json
import shutil
from pathlib import Path

import pytest

from audits.consistency import agreement, hazards
from tests.audits.cli.test_before_a_charge import Terminal
from tests.audits.cli.test_cli import EXAMPLES, is_error, last_error
from tests.depth import deep


@pytest.fixture
def real(tmp_path, dpaccount):
    """A copy of the plan finder's example with a short audit and a fresh ledger."""
    folder = tmp_path / "plan"
    shutil.copytree(EXAMPLES / "plan_finder", folder, ignore=shutil.ignore_patterns("*.db*"))
    path = folder / "claim.toml"
    path.write_text(path.read_text().replace("trials = 20000", "trials = 200"))
    init = [
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--unit",
        "one person's whole record: plan, visits, spending",
        "--relation",
        "replace-one",
        "--measure",
        "approximate",
    ]
    assert dpaccount("ledger", "init", f"sqlite:///{folder}/plan-finder.db", *init)[0] == 0
    return path


def entries(dpaccount, path):
    return json.loads(dpaccount("ledger", "show", f"sqlite:///{path.parent}/plan-finder.db", "--json")[1])[
        "entries"
    ]


def kept():
    """Return the certificate that a release has written."""
    return json.loads(Path("certificates/plan-finder/certificate.json").read_text())


@deep
def test_certify_and_a_dry_run_read_no_data_and_charge_nothing(dpaccount, real):
    (real.parent / "insurance_trial.csv").unlink()
    for command in (["certify", "--dry-run"], ["certify"], ["release", "--dry-run"]):
        code, out, err = dpaccount(*command, real, "--json", "--quick", "--jobs", 1)
        assert (code, json.loads(out)["release"]) == (0, None)
        assert ("charges at most ε 0.9977 and δ 1e-06" in err) == (command[0] == "release")
        assert Path("certificates").exists() == (command != ["certify", "--dry-run"])
    assert entries(dpaccount, real) == 0


def test_a_release_that_is_declined_on_a_terminal_charges_nothing(dpaccount, real, monkeypatch):
    for said in ("n\n", "", "no\n"):
        monkeypatch.setattr("sys.stdin", Terminal(said))
        code, out, err = dpaccount("release", real)
        assert (code, out) == (1, "")
        assert "charge it? [y/N] nothing is charged" in err
    assert entries(dpaccount, real) == 0


@deep
def test_a_real_run_is_charged_once_and_reprinted(dpaccount, real):
    code, _, said = dpaccount("release", real, "--json", "--jobs", 1)
    first = kept()
    assert "charges at most ε 0.9977 and δ 1e-06; the ledger has ε 1 and δ 1e-06 left" in said
    assert (code, first["verdict"], first["releasable"]) == (0, "CERTIFIED", True)
    assert first["release"]["evaluation"]["note"].startswith("evaluation on public data, outside")
    assert entries(dpaccount, real) == 1
    code, _, err = dpaccount("release", real, "--json")
    assert (code, kept()) == (0, first)
    assert "printed again" in err
    assert entries(dpaccount, real) == 1
    assert dpaccount("check", "certificates/plan-finder/certificate.json")[0] == 0
    code, out, err = dpaccount("release", real, "--again", "--jobs", 1)
    assert (code, out) == (1, "")
    assert "nothing was charged" in err.splitlines()[-1]
    assert entries(dpaccount, real) == 1
    assert dpaccount("ledger", "verify", f"sqlite:///{real.parent}/plan-finder.db")[0] == 0


@deep
def test_a_missing_or_truncated_ledger_charges_and_writes_nothing(dpaccount, real):
    ledger = real.parent / "plan-finder.db"
    content = ledger.read_bytes()
    for damage in (
        lambda: ledger.unlink(),
        lambda: ledger.write_bytes(content[:3000]),
        lambda: ledger.write_bytes(b""),
    ):
        damage()
        is_error(dpaccount("release", real, "--json"))
        assert not Path("certificates").exists()


@deep
def test_a_bad_data_file_charges_and_writes_nothing(dpaccount, real):
    file = real.parent / "insurance_trial.csv"
    lines = file.read_text().splitlines(keepends=True)
    damaged = {
        "the claim declares 5630": lines[:-1],
        "no column md_visits": [lines[0].replace("md_visits", "visits"), *lines[1:]],
    }
    for said, text in damaged.items():
        file.write_text("".join(text))
        assert said in last_error(dpaccount("release", real))
    assert entries(dpaccount, real) == 0
    file.write_text("".join([lines[0], lines[1].replace(",12,", ",-12,"), *lines[2:]]))
    assert dpaccount("release", real, "--jobs", 1)[0] == 0  # a cell is private: a refusal would tell


@deep
def test_no_real_data_is_touched_unless_the_claim_is_certified(dpaccount, real):
    real.write_text(real.read_text().replace('model = "joint"', 'model = "local"'))
    code, out, _ = dpaccount("release", real, "--json", "--jobs", 1)
    assert (code, json.loads(out)["release"]) == (3, None)
    assert entries(dpaccount, real) == 0


#: no longer in the catalogue; certificates of them are still read
REMOVED = {"cell-points", "joint-gaussian", "ldp-gp-ucb", "range-predictor", "row-sketch"}


def test_bandits_are_listed_among_subjects(dpaccount):
    code, out, _ = dpaccount("subjects", "--json")
    assert code == 0
    names = {entry["name"] for entry in json.loads(out)}
    assert {"logged-policy", "arm-means", "jdp-gp-ucb"} <= names
    assert (agreement.EARLIER | set(hazards.EARLIER)) - REMOVED <= names
    assert not REMOVED & names
