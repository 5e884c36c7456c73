"""`sgd --tried`: what tuning on the same data costs is said in the answer and in the statement."""

import json

import pytest

from audits import cli

RUN = ["sgd", "--examples", "600", "--batch", "600", "--sigma", "9", "--steps", "3", "--delta", "1e-5"]


def answer(capsys, *more):
    assert cli.run([*RUN, "--json", *more]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_statement_counts_the_runs_that_were_tried(capsys):
    alone, tuned = answer(capsys), answer(capsys, "--tried", "4")
    assert "on the same data is not counted" in alone["statement"]
    assert "not counted" not in tuned["statement"]
    assert "geometric distribution with mean 4" in tuned["statement"]
    assert float(tuned["tuned_epsilon"]) > float(alone["epsilon"]["upper"])
    assert tuned["epsilon"] == alone["epsilon"]
    assert "tuned_epsilon" not in alone


@pytest.mark.parametrize("mean", ["0.5", "0", "often"])
def test_a_number_of_runs_that_is_none_is_refused_in_one_line(capsys, mean):
    assert cli.run([*RUN, "--tried", mean]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "mean" in said or "--tried" in said
