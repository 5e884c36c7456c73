"""`audit` is five commands: each answers what `audit` answers with all options, and none shows too many of them."""

import sys
from fractions import Fraction

import pytest

from audits.api import dispatch
from audits.api.requests import Audit
from audits.api.verdicts import not_attacked
from audits.claim import AuditPlan
from audits.cli.app import app
from tests.audits.cli.test_help import COMMANDS, helped, options

OWN = ["shop:total", "--shape", "4", "--low", "0", "--high", "1", "--trials", "200", "--seconds", "30"]
PROGRAM = f"{sys.executable} program.py {{seed}} {{data}}"
#: the words of a command, and those by which `audit` asks the same
SAME = [
    (["audit-curve", *OWN, "--rho", "0.5", "--jobs", "2"], [*OWN, "--rho", "0.5", "--jobs", "2"]),
    (["audit-curve", "laplace-sum", "--mu", "9"], ["laplace-sum", "--mu", "9"]),
    (["audit-curve", "shop:total", "--renyi", "2:1"], ["shop:total", "--renyi", "2:1"]),
    (["audit-curve", "laplace-sum"], ["laplace-sum"]),
    (
        ["audit-program", PROGRAM, "--epsilon", "1", "--keep", "k", *OWN[1:]],
        ["--command", PROGRAM, "--epsilon", "1", "--keep", "k", *OWN[1:]],
    ),
    (
        ["audit-program", *OWN, "--python", sys.executable, "--epsilon", "1", "--stop-early"],
        [*OWN, "--python", sys.executable, "--epsilon", "1", "--stop-early"],
    ),
    (
        ["audit-program", "laplace-sum", "--python", sys.executable, "--epsilon", "1"],
        ["laplace-sum", "--python", sys.executable, "--epsilon", "1"],
    ),
    (
        ["audit-samples", "a.npy", "b.npy", "--points", "1:.1,2:0", "--seed", "3", "--confidence", ".9"],
        ["--samples", "a.npy", "b.npy", "--points", "1:.1,2:0", "--seed", "3", "--confidence", ".9"],
    ),
    (["audit-samples", "a.npy", "b.npy"], ["--samples", "a.npy", "b.npy"]),
    (
        ["audit-one-run", "run.csv", "--epsilon", "1", "--delta", "1e-5", "--certificate", "one.json"],
        ["--one-run", "run.csv", "--epsilon", "1", "--delta", "1e-5", "--certificate", "one.json"],
    ),
]


@pytest.fixture
def asked(monkeypatch):
    """Return the questions that are asked; each gets the answer of an attack that is not made."""
    questions = []

    def audit(question, _):
        questions.append(repr(question))
        return not_attacked(Audit("", Fraction(1), Fraction(0), AuditPlan()), "no attack is made")

    monkeypatch.setattr(dispatch, "audit", audit)
    return questions


@pytest.mark.parametrize(("own", "of_audit"), SAME, ids=[" ".join(own[:3]) for own, _ in SAME])
def test_a_command_asks_what_audit_asks(dpaccount, asked, own, of_audit):
    (code, _, said), (old_code, _, old_said) = dpaccount(*own), dpaccount("audit", *of_audit)
    assert (code, said) == (old_code, old_said)
    assert code == 2 or (len(asked) == 2 and asked[0] == asked[1])


def test_each_of_the_five_has_a_case():
    assert {own[0] for own, _ in SAME} == {name for name in app if name.startswith("audit-")}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_shows_at_most_22_options(words):
    assert len([label for label, _ in options(helped(words)) if "--" in label]) <= 22
