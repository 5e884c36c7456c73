"""Examples of the page on outsourced optimisation are claims that curate takes."""

import json

import numpy as np
import pytest

from audits.claim import read_claim
from audits.cli import answers, run
from audits.subjects.catalogue import subject_of
from tests.depth import deep


def test_the_example_is_a_claim_about_the_unit_of_its_rows(root):
    claim = read_claim(root / "examples" / "outsourced" / "claim.toml")
    subject = subject_of(claim)
    assert claim.data_file is None
    assert (subject.rows, subject.unit, subject.relation) == (400, 1, "bounded-row, radius 1")
    assert float(subject.proof(claim.guarantee.delta).conclusion.curve.epsilon) <= 3


@deep
def test_the_published_example_is_refuted(root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = root / "examples" / "outsourced"
    words = ["curate", str(folder / "field.csv"), "unsafe.csv", "--claim", str(folder / "published.toml")]
    assert run(words) == 2
    assert run([*words, "--published-unsound", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["verdict"], answer["rows"]) == ("REFUTED", 400)
    assert run(["check", answer["certificate"]]) == 1


@pytest.mark.parametrize("name", ["claim", "outputs"])
def test_both_examples_are_proved_of_one_unit_in_one_ledger(root, name):
    claim = read_claim(root / "examples" / "outsourced" / f"{name}.toml")
    proved = subject_of(claim).proof(claim.guarantee.delta).conclusion
    assert proved.relation == "bounded-row, radius 1"
    assert 2.99 < float(proved.curve.epsilon) <= 3
    assert claim.guarantee.unit == "a point moves by at most one unit"


@deep
def test_noisy_outputs_are_charged_beside_the_rows_and_a_modeler_learns_from_them(
    root, tmp_path, monkeypatch, capsys
):
    """The page's words on outputs: both claims, one ledger, no output in the clear, the variance as it says."""
    monkeypatch.chdir(tmp_path)
    folder, url = root / "examples" / "outsourced", "sqlite:///field.db"
    unit = ["--unit", "a point moves by at most one unit", "--relation", "bounded-row, radius 1"]
    assert run(["ledger", "init", url, "--epsilon", "6", "--delta", "0", "--measure", "pure", *unit]) == 0
    for name, target in (("claim", "rows.csv"), ("outputs", "answers.csv")):
        assert run(["certify", str(folder / f"{name}.toml"), "--quick", "--jobs", "1"]) == 0
        words = ["curate", str(folder / "field.csv"), target, "--claim", str(folder / f"{name}.toml")]
        assert run([*words, "--ledger", url]) == 0
    assert answers.show(url)["entries"] == 2
    facts = json.loads((tmp_path / "answers.csv.json").read_text())
    assert facts["noise_variance"] == pytest.approx(0.2225, rel=0.01)
    noisy = np.loadtxt(tmp_path / "answers.csv", skiprows=1)
    clear = np.loadtxt(folder / "field.csv", delimiter=",", skiprows=1)[:, 2]
    assert (noisy != clear).all()
    assert 0.1 < np.var(noisy - clear) < 0.5
    capsys.readouterr()
    begin = ["--table", "rows.csv", "--noise", str(facts["noise_variance"])]
    for t in range(6):
        assert run(["ask", "model.state", *(begin if t == 0 else [])]) == 0
        index = int(capsys.readouterr().out)
        assert run(["tell", "model.state", str(index), repr(float(noisy[index]))]) == 0
        capsys.readouterr()
