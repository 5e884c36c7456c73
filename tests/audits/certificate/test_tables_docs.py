"""docs/tables.md is followed literally: its claim is the example's, its commands and its Python run."""

import json
import re
import shutil
import tomllib
from fractions import Fraction

import pytest

from audits.claim import read_claim
from audits.subjects.catalogue import subject_of
from dpaccount.proof.derivation import point


@pytest.fixture
def page(root):
    return (root / "docs" / "tables.md").read_text()


def test_the_claim_of_the_page_is_that_of_the_example(root, page):
    (block,) = re.findall(r"```toml\n(schema.*?)```", page, re.DOTALL)
    folder = root / "examples" / "clinic_visits"
    assert tomllib.loads(block) == tomllib.loads((folder / "cities.toml").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("file", ["cities.toml", "ages-by-city.toml", "mean-minutes.toml", "minutes.toml"])
def test_the_claims_of_the_example_are_proved_and_not_much_less_would_be(root, page, file):
    claim = read_claim(root / "examples" / "clinic_visits" / file)
    epsilon, delta = point(subject_of(claim).proof(claim.guarantee.delta))
    assert epsilon <= claim.guarantee.epsilon <= epsilon * Fraction(11, 10)
    assert delta <= claim.guarantee.delta
    assert file in page


@pytest.mark.slow
@pytest.mark.statistical  # seeded; a sound claim is refuted with probability at most .05
def test_the_commands_of_the_page_release(root, page, tmp_path, monkeypatch, dpaccount):
    shutil.copytree(root / "examples" / "clinic_visits", tmp_path / "visits")
    monkeypatch.chdir(tmp_path / "visits")
    (block,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    _, opened, released = block.strip().splitlines()
    words = re.findall(r'"[^"]*"|\S+', opened.removeprefix("dpaccount "))
    assert dpaccount(*(word.strip('"') for word in words))[0] == 0
    code, out, err = dpaccount(*released.removeprefix("dpaccount ").split(), "--json")
    found = json.loads(out)
    assert (code, found["verdict"], len(found["release"]["counts"])) == (0, "CERTIFIED", 3), err
