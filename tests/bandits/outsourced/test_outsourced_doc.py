"""The page on outsourced optimisation runs, and its examples are claims that curate takes."""

import doctest
import json

import pytest

from audits.claim import read_claim
from audits.cli import run
from audits.subjects.catalogue import subject_of


def test_the_page_runs(root):
    failed, tried = doctest.testfile(str(root / "docs" / "outsourced.md"), module_relative=False)
    assert (failed, tried > 8) == (0, True)


def test_the_example_is_a_claim_about_the_unit_of_its_rows(root):
    claim = read_claim(root / "examples" / "outsourced" / "claim.toml")
    subject = subject_of(claim)
    assert claim.data_file is None
    assert (subject.rows, subject.unit, subject.relation) == (400, 1, "bounded-row, radius 1")
    assert float(subject.proof(claim.guarantee.delta).conclusion.curve.epsilon) <= 3


@pytest.mark.slow
def test_the_published_example_is_refuted(root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = root / "examples" / "outsourced"
    words = ["curate", str(folder / "field.csv"), "unsafe.csv", "--claim", str(folder / "published.toml")]
    assert run(words) == 2
    assert run([*words, "--published-unsound", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["verdict"], answer["rows"]) == ("REFUTED", 400)
    assert run(["check", answer["certificate"]]) == 1
