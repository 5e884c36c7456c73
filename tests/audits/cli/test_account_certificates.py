"""`--certificate` of account, calibrate and sgd: what they write, `check` confirms, here and as one zip file."""

import json
import re
import subprocess
import sys
from fractions import Fraction

import pytest

from audits.accounts.certificate import confirming
from tests.documents import wrong

EVENTS = [{"event": "gaussian", "sigma": 4.5, "count": 3}, {"event": "tree", "rounds": 6, "sigma": "100/3"}]
PLAN = {"schema": "dpaccount/events/1", "relation": "replace-one", "events": EVENTS}
RUN = ["sgd", "--examples", 100, "--batch", 100, "--sigma", 2, "--steps", 2, "--delta", "1e-5"]
TARGET = ["--epsilon", 1, "--delta", "1e-6"]


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    return tmp_path / "plan.json"


@pytest.mark.parametrize(
    ("words", "question"),
    [
        (["account", "plan.json", "--delta", "1e-5"], {"delta": "1e-05"}),
        (["account", "plan.json", "--epsilon", "1"], {"epsilon": "1"}),
        (["calibrate", "gaussian", "--count", 4, *TARGET], {"delta": "1e-06"}),
        (RUN, {"delta": "1e-05"}),
    ],
)
def test_a_command_writes_what_check_confirms(dpaccount, plan, root, words, question):
    code, out, err = dpaccount(*words, "--certificate", "out.json", "--json")
    assert code == 0, err
    answer = json.loads(out)
    document = json.loads((plan.parent / "out.json").read_text())
    assert wrong("account-certificate", document) == []
    assert document["question"] == question
    if words[:2] == ["account", "plan.json"]:
        assert document["plan"] == PLAN
        assert document["tight"] == answer["epsilon" if "delta" in question else "delta"]
    confirmed = Fraction(document["confirmed"]["upper"])
    assert Fraction(document["tight"]["upper"]) <= confirmed
    assert confirmed <= Fraction(document["tight"]["upper"]) * Fraction(10001, 10000)
    assert answer["confirmed"] == document["confirmed"]
    code, out, _ = dpaccount("check", "out.json")
    assert (code, out.split(":")[0]) == (0, "valid")
    assert dpaccount("check", "out.json", "--json", "--rules")[0] == 0
    command = [sys.executable, "-I", "-S", root / "dpaccount" / "checker", "out.json"]
    assert subprocess.run(command, check=False, capture_output=True, cwd=plan.parent).returncode == 0


def test_the_statement_for_a_paper_says_what_is_confirmed(dpaccount, plan):
    plain = json.loads(dpaccount(*RUN, "--json")[1])["statement"]
    said = json.loads(dpaccount(*RUN, "--certificate", "out.json", "--json")[1])["statement"]
    document = json.loads((plan.parent / "out.json").read_text())
    [bound] = re.findall(r" An independent checker confirms epsilon at most ([\d.]+) ", said)
    assert said.startswith(plain)
    assert document["digest"] in said
    upper = Fraction(document["confirmed"]["upper"])
    assert upper <= Fraction(bound) <= upper * Fraction(1001, 1000)
    assert confirming({**document, "confirmed": {"upper": None, "why": "no measure"}}) == ""


def test_a_changed_plan_is_not_valid(dpaccount, plan):
    dpaccount("account", "plan.json", "--delta", "1e-5", "--certificate", "out.json")
    file = plan.parent / "out.json"
    file.write_text(file.read_text().replace("4.5", "4.4"))
    assert dpaccount("check", "out.json")[0] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["account", "plan.json"], "give --delta or --epsilon"),
        (["account", "plan.json", "--delta", "1e-5", "--certificate", "none/out.json"], "writable"),
    ],
)
def test_what_is_no_question_is_refused(dpaccount, plan, words, said):
    more = [] if "--certificate" in words else ["--certificate", "out.json"]
    code, _, err = dpaccount(*words, *more)
    assert code == 2
    assert said in err
    assert not (plan.parent / "out.json").exists()


def test_what_the_checker_cannot_confirm_is_said_and_not_valid(dpaccount, plan):
    """Losses of 1e9: more than a lattice holds, and no bound at any order."""
    table = {"event": "dominating_pair", "p": ["1/2", "1/2", 0], "q": ["1/2", 0, "1/2"], "count": 10**12}
    plan.write_text(json.dumps({**PLAN, "events": [table]}))
    code, out, err = dpaccount(
        "account", "plan.json", "--delta", "1e-5", "--certificate", "out.json", "--json"
    )
    assert code == 3, err
    confirmed = json.loads(out)["confirmed"]
    assert confirmed["upper"] is None
    assert confirmed["why"]
    code, out, _ = dpaccount("check", "out.json")
    assert code == 1
    assert "nothing is confirmed" in out
