"""Example tables of a claim or a class: what only real tables have is tried on them, and they are never private."""

import json
import os
import shutil
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from audits import consistency
from audits.certificate.make import example_tables
from audits.claim import read_claim
from audits.hypothesis_tests.search import gather
from audits.subjects.catalogue import subject_of
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.subject import Domain, View
from tests.depth import deep
from tests.looped import looped

CLAIM = """
schema = "dpaccount/claim/1"
name = "sums"
[guarantee]
model = "central"
unit = "one row"
relation = "replace-one"
epsilon = 1
[subject]
use = "laplace-sum"
examples = "made.csv"
[subject.parameters]
column = "x"
scale = 10
[data]
file = "t.csv"
ledger = "sqlite:///t.db"
rows = 3
[data.columns]
x = { type = "number", low = 0, high = 10 }
[audit]
trials = 60
"""


def folder_of(tmp_path, example="x\n3\n1\n7.5\n"):
    (tmp_path / "claim.toml").write_text(CLAIM)
    (tmp_path / "t.csv").write_text("x\n1\n2\n3\n")
    (tmp_path / "made.csv").write_text(example)
    return tmp_path / "claim.toml"


def tables(path):
    claim = read_claim(path)
    return example_tables(claim, subject_of(claim))


@dataclass(frozen=True)
class ChecksTheForm(LaplaceSum):
    """Says whether all rows are of one form, and most of them differ, which no drawn table is."""

    rows: int = 9
    tables: bool = True

    def domain(self):
        return Domain(self.rows, (0.0, 0.0), (1.0, 996.0), (False, True))

    def query(self, data):
        return super().query(data[:, :1])

    def examples(self):
        numbers = np.arange(self.rows)
        return [np.stack([numbers / 9, (numbers * 571 + 13) % 997], axis=1)] if self.tables else []

    def play(self, data, noise, coins):
        formed = ((np.round(data[:, 0] * 9) * 571 + 13) % 997 == data[:, 1]).all()
        formed &= len(np.unique(data[:, 1])) > self.rows // 2  # a crowd of zeros and 13 is of the form
        return View(public={**super().play(data, noise, coins).public, "formed": np.array([formed])})


@deep
@pytest.mark.parametrize("tried", [True, False])
def test_what_only_an_example_has_is_found_on_it_alone(tried):
    subject = ChecksTheForm(low=Fraction(0), high=Fraction(1), tables=tried)
    found, _ = gather(subject, Proved(subject.proof(Fraction(0))), examples=20, seed=1, files=[])
    by_rule = {each.rule: each for each in found}
    assert (by_rule["assume_view"].status == "refuted") == tried
    if tried:
        assert "example" in str(by_rule["assume_view"].counterexample)


@dataclass(frozen=True)
class Wrong(LaplaceSum):
    """Names for examples what is no table of its domain."""

    given: str = ""

    def examples(self):
        return {"wide": [[[1.0, 2.0]]], "text": [[["a"]]], "empty": [np.zeros((0, 1))], "flat": [[1.0]]}[
            self.given
        ]


@looped("given", ["wide", "text", "empty", "flat"])
def test_what_is_no_table_is_refused(given):
    subject = Wrong(low=Fraction(0), high=Fraction(1), rows=3, given=given)
    with pytest.raises(InputError, match="an example table is no rows of 1 numbers"):
        gather(subject, Proved(subject.proof(Fraction(0))), examples=2, seed=1, files=[])


def test_a_claims_example_is_read_as_its_data_are(tmp_path):
    assert [rows.tolist() for rows in tables(folder_of(tmp_path))] == [[[3.0], [1.0], [7.5]]]
    with pytest.raises(InputError, match="2 rows"):
        tables(folder_of(tmp_path, "x\n1\n2\n"))
    (tmp_path / "made.csv").unlink()
    with pytest.raises(InputError, match=r"made\.csv"):
        tables(tmp_path / "claim.toml")


@pytest.mark.parametrize("way", [shutil.copy, os.link, os.symlink])
def test_the_private_data_are_no_example_under_any_name(tmp_path, way):
    path = folder_of(tmp_path)
    (tmp_path / "made.csv").unlink()
    way(tmp_path / "t.csv", tmp_path / "made.csv")
    with pytest.raises(
        InputError, match="this is the private data; name examples that are public or made up"
    ):
        tables(path)
    path.write_text(CLAIM.replace("[data]\n", "[data]\npublic = true\n"))
    assert len(tables(path)) == 1


def test_a_file_of_a_private_folder_is_no_example(tmp_path):
    path = folder_of(tmp_path)
    (tmp_path / "t.csv").rename(tmp_path / "x.csv")
    (tmp_path / "t.csv" / "w=A").mkdir(parents=True)
    (tmp_path / "x.csv").rename(tmp_path / "t.csv" / "w=A" / "x.csv")
    shutil.copy(tmp_path / "t.csv" / "w=A" / "x.csv", tmp_path / "made.csv")
    with pytest.raises(InputError, match="this is the private data"):
        tables(path)


@deep
def test_a_certificate_says_that_examples_were_tried(dpaccount, tmp_path):
    path = folder_of(tmp_path)
    path.write_text(CLAIM.replace('file = "t.csv"\nledger = "sqlite:///t.db"\n', ""))
    assert dpaccount("certify", "claim.toml")[0] == 0
    found = json.loads((tmp_path / "certificates" / "sums" / "certificate.json").read_text())
    said = [line for line in found["hazards"] if "example tables" in line]
    assert len(said) == 1
    silent = {**found, "hazards": [line for line in found["hazards"] if line not in said]}
    assert consistency.hazards_of(silent) == found["hazards"][: len(consistency.hazards_of(found))]
    assert dpaccount("check", tmp_path / "certificates" / "sums" / "certificate.json")[0] == 0


@deep
def test_a_plain_function_takes_no_examples(dpaccount, tmp_path):
    (tmp_path / "plain.py").write_text("def f(data, rng):\n    return rng.random()\n")
    (tmp_path / "made.csv").write_text("x\n1\n")
    head = CLAIM.partition("[subject.parameters]")[0].replace("laplace-sum", "plain:f")
    (tmp_path / "claim.toml").write_text(head + "[subject.data]\nshape = [3]\nlow = 0\nhigh = 1\n")
    code, _, said = dpaccount("certify", "claim.toml")
    assert code == 2
    assert "examples are for classes" in said
