"""The data file of a claim is for `read` alone: what else opens it is stopped, in whatever process it runs."""

import os

import pytest

from audits.cli import run
from audits.sandbox.data_guard import access, guard
from audits.sandbox.fork import in_fork
from dpaccount.ledger.ledger import Ledger, init
from tests.depth import deep

OWN = """
from fractions import Fraction
import csv
from dataclasses import dataclass
import numpy as np
from dpaccount.proof import REPLACE_ONE, assume_clipped
from dpaccount.proof import laplace, linear
from mechanisms.subject import Domain, View, shown_to_all

def ages(path):
    with open(path) as file:
        return np.array([[float(line["age"])] for line in csv.DictReader(file)])

AGES = ages(FILE) if {at_import} else None

@dataclass(frozen=True)
class Own:
    source = "us"
    status = "sound"
    relation = REPLACE_ONE
    rows: int = 5
    def domain(self):
        return Domain(self.rows, (0.0,), (100.0,), (False,))
    def proof(self, delta):
        row = assume_clipped("sum", Fraction(0), Fraction(100), REPLACE_ONE, "movement")
        return shown_to_all(laplace(linear(row), Fraction(200), Fraction(1), "sum"), "own", delta)
    def read(self, path):
        return ages(path)
    def play(self, data, noise, coins):
        total = noise.noisy("sum", 0, np.array([int(np.floor(np.clip(data[:, 0], 0, 100)).sum())]))
        return View(public={{"sum": total, "most": np.array([float(ages(FILE).max()) if {at_play} else 0.0])}})
    def report(self, view):
        return {{"sum": int(view.public["sum"][0]), "n": len(ages(FILE)) if {at_report} else 0}}
    def evaluate(self, data, view, coins):
        return {{}}
"""
CLAIM = """
schema = "dpaccount/claim/1"
name = "own"
guarantee = {model = "central", unit = "row", relation = "replace-one", epsilon = 0.5}
subject = {use = "own:Own"}
data = {file = "people.csv", ledger = "sqlite:///own.db"}
audit = {trials = 400}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age\n11\n22\n33\n44\n93.217\n")
    (tmp_path / "claim.toml").write_text(CLAIM)
    init(
        f"sqlite:///{tmp_path}/own.db", epsilon=1, delta=0, unit="row", relation="replace-one", measure="pure"
    )
    return tmp_path


def certify(files, capfd, **at):
    places = {f"at_{place}": at.get(place, False) for place in ("import", "play", "report")}
    source = OWN.format(**places).replace("FILE", repr(str(files / "people.csv")))
    (files / "own.py").write_text(source)
    code = run(["release", "claim.toml", "--quick", "--jobs", "1"])
    with Ledger.open(f"sqlite:///{files}/own.db") as ledger:
        return code, *capfd.readouterr(), ledger.show()["entries"]


@deep
@pytest.mark.parametrize("place", ["import", "play", "report"])
def test_code_that_opens_the_data_file_by_itself_is_a_wrong_request(files, capfd, place):
    code, out, err, charged = certify(files, capfd, **{place: True})
    assert (code, out, charged) == (2, "", 0)
    assert "PermissionError" in err.splitlines()[-1]
    assert "93.2" not in err


@deep
def test_a_reader_may_open_it(files, capfd):
    code, out, _, charged = certify(files, capfd)
    assert (code, charged) == (0, 1)
    assert out.startswith("CERTIFIED")


def test_a_closed_file_is_closed_by_any_name_and_for_forks(tmp_path):
    """In a fork, since what is closed stays so."""
    there, link, other = tmp_path / "data.csv", tmp_path / "link.csv", tmp_path / "other.csv"
    there.write_text("1")
    other.write_text("2")
    os.link(there, link)

    def tried(path):
        try:
            return path.read_text()
        except PermissionError:
            return "closed"

    def all_tried():
        guard(str(there))
        with access():
            reading = there.read_text()
        return reading, tried(there), tried(link), tried(other), in_fork(lambda: tried(there))

    assert tuple(in_fork(all_tried)) == ("1", "closed", "closed", "2", "closed")
    assert there.read_text() == "1"
