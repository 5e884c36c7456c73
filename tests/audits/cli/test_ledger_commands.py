"""The ledger's commands end to end: logs, exports, checkpoints, upgrades, refusals."""

import csv
import json
import sys

import pytest

from audits import cli
from tests.audits.certificate.test_sign import keys

EVENTS = {
    "schema": "dpaccount/events/1",
    "relation": "replace-one",
    "events": [{"event": "gaussian", "sigma": 20}],
}


@pytest.fixture
def run(tmp_path, monkeypatch, capfdbinary):
    """Return a function that runs a command in a folder of its own: code, output, errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.json").write_text(json.dumps(EVENTS))

    def ran(*words: str) -> tuple[int, str, str]:
        capfdbinary.readouterr()
        code = cli.run(["ledger", *words])
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    budget = ["--epsilon", "1", "--delta", "1e-6", "--unit", "person", "--relation", "replace-one"]
    assert ran("init", "team.db", *budget)[0] == 0
    return ran


def test_a_charge_says_why_and_who_and_the_log_repeats_it(run):
    again = ["charge", "team.db", "plan.json", "--key", "a", "--purpose", "mean age", "--by", "ada", "--json"]
    answers = [json.loads(run(*again)[1]) for _ in range(2)]
    assert [answer["already_charged"] for answer in answers] == [False, True]
    assert run(*again)[2] == "entry 1 charged this under the same key before; nothing more was charged\n"
    log = json.loads(run("log", "team.db", "--json")[1])
    assert (log[1]["purpose"], log[1]["by"], log[1]["key"]) == ("mean age", "ada", "a")
    [_, row] = csv.DictReader(run("log", "team.db", "--csv")[1].splitlines())
    assert row["by"] == "ada"
    assert "by ada" in run("log", "team.db")[1]
    assert "μ² adds up" in run("show", "team.db")[1]


def test_a_checkpoint_and_an_export_hold(run, tmp_path):
    private, public = (str(key) for key in keys(tmp_path, "one"))
    code, note, _ = run("checkpoint", "team.db", "--key", private)
    assert code == 0
    (tmp_path / "note.json").write_text(note)
    run("charge", "team.db", "plan.json")
    signed = ["--checkpoint", "note.json", "--key", public]
    assert run("verify", "team.db", *signed)[0] == 0
    assert run("verify", "team.db", "--since", json.loads(note)["head"])[0] == 0
    assert run("verify", "team.db", "--head", "sha256:0")[0] == 1
    code, _, error = run("verify", "team.db", *signed[:2])
    assert (code, error.count("\n")) == (2, 1)
    code, exported, _ = run("export", "team.db")
    (tmp_path / "lines").write_text(exported)
    assert run("import", "lines", "new.db")[0] == 0
    heads = [json.loads(run("show", name, "--json")[1])["head"] for name in ("team.db", "new.db")]
    assert heads[0] == heads[1]
    assert run("verify", "new.db", *signed)[0] == 0


def test_wrong_requests_are_one_line(run, tmp_path):
    for words in (
        ["upgrade", "team.db"],
        ["import", "plan.json", "new.db"],
        ["export", "missing.db"],
        ["checkpoint", "team.db", "--key", "plan.json"],
        ["show", "sqlite:///team.db?witness=nowhere"],
    ):
        code, out, error = run(*words)
        assert (code, out, error.count("\n")) == (2, "", 1), words
        assert error.startswith("error: ")
        assert "; " in error
    (tmp_path / "other.db").hardlink_to(tmp_path / "team.db")
    code, _, error = run("charge", "team.db", "plan.json")
    assert (code, error.count("\n")) == (2, 1)
    assert "hard links" in error
