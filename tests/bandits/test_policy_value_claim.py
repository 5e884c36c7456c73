"""The value of a policy from a file: a claim that is certified and released, and refusals."""

import json

import pytest

from tests.bandits.test_policy_value import VALUE, log
from tests.depth import deep

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


@deep
@pytest.mark.statistical(0.1)  # a sound claim is refuted, or an interval of 95 % misses; the noise is secure
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
        ("replace-one", SAID.replace('"p"', '"arm"'), "arm is a category; give a column of numbers"),
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


@pytest.mark.parametrize(
    ("column", "kind", "why"),
    [
        ("p", "low = 0.05, high = 1", "a missing p counts as 0.05"),
        ("p", "low = 0, high = 1, missing = 0.5", "a missing p counts as 0.5"),
        ("q", "low = 0, high = 1, missing = 1", "a missing q counts as 1"),
        ("p", "low = 0, high = 100", "p leaves [0, 1]"),
        ("q", "low = -1, high = 1", "q leaves [0, 1]"),
    ],
)
def test_a_column_that_would_give_false_weights_is_refused(dpaccount, tmp_path, column, kind, why):
    """Percentages would be clipped to 1, and a record without a chance would have the largest weight."""
    claim = CLAIM.format(relation="replace-one", said=SAID)
    old = f'{column} = {{ type = "number", low = 0, high = 1 }}'
    assert old in claim
    new = f'{column} = {{ type = "number", {kind} }}'
    (tmp_path / "claim.toml").write_text(claim.replace(old, new))
    code, out, err = dpaccount("certify", "claim.toml")
    assert (code, out) == (2, "")
    assert why in err
