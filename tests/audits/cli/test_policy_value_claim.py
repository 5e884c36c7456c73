"""The value of a policy from a file: a claim that is certified and released, and refusals."""

import json

import pytest

from tests.bandits.test_policy_value import VALUE, log

CLAIM = """
schema = "dpaccount/claim/1"
name = "value"
[guarantee]
model = "central"
unit = "person"
relation = "{relation}"
epsilon = 1.0
delta = 1e-6
[data]
file = "log.csv"
ledger = "sqlite:///log.db"
rows = 60
[data.columns]
paid = {{ type = "boolean" }}
p = {{ type = "number", low = 0, high = 1 }}
q = {{ type = "number", low = 0, high = 1 }}
arm = {{ type = "category", values = ["a", "b"] }}
[subject]
use = "policy-value"
[subject.parameters]
{said}
[audit]
trials = 100
"""
SAID = 'columns = ["paid", "p", "q"]\ncap = 3'


@pytest.mark.slow
@pytest.mark.statistical  # seeded
def test_a_log_in_a_file_is_evaluated(dpaccount, tmp_path):
    (tmp_path / "claim.toml").write_text(CLAIM.format(relation="replace-one", said=SAID))
    rows = [f"{'true' if y else 'false'},{p},{q},a" for y, p, q in log(60, 3)]
    (tmp_path / "log.csv").write_text("\n".join(["paid,p,q,arm", *rows]))
    budget = ["--epsilon", 5, "--delta", "1e-5", "--unit", "person", "--relation", "replace-one"]
    assert dpaccount("ledger", "init", "sqlite:///log.db", *budget, "--measure", "approximate")[0] == 0
    code, out, err = dpaccount("release", "claim.toml", "--json", "--quick", "--jobs", 1)
    assert code == 0, err
    answer = json.loads(out)
    assert (answer["verdict"], answer["releasable"]) == ("CERTIFIED", True)
    report = answer["release"]
    assert dpaccount("check", answer["certificate"])[0] == 0
    assert report["low"] <= VALUE <= report["high"]


@pytest.mark.parametrize(
    ("relation", "said", "why"),
    [
        ("add-remove", SAID, "the relation must be"),
        ("replace-one", SAID.replace('"p"', '"arm"'), "arm is a category; a number belongs here"),
        ("replace-one", SAID.replace('"q"', '"q", "q"'), "found 4 columns; name the reward, its chance"),
        ("replace-one", SAID.replace('"q"', '"p"'), "a column is named twice"),
        ("replace-one", SAID.replace("cap = 3", "cap = 1e6"), "cap is 1000000"),
        ("replace-one", "cap = 3", "columns"),
    ],
)
def test_what_does_not_fit_is_one_sentence(dpaccount, tmp_path, relation, said, why):
    (tmp_path / "claim.toml").write_text(CLAIM.format(relation=relation, said=said))
    code, out, err = dpaccount("certify", "claim.toml")
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("error: ")
    assert why in line
