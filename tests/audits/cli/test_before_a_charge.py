"""Before a charge: its cost in the ledger's measure, and files that no release may replace."""

import io
import re

import pytest

from audits import study as python
from audits.certificate import figures, files, make
from audits.claim import read_claim
from audits.subjects.catalogue import subject_of
from dpaccount.errors import InputError
from dpaccount.ledger.ledger import Ledger

STUDY = """
schema = "dpaccount/study/1"
name = "s"
[guarantee]
unit = "one patient"
relation = "replace-one"
epsilon = 1.5
delta = 1e-9
[data]
file = "{file}"
ledger = "sqlite:///b.db"
max_units = 3
[data.columns]
x = {{ type = "number", low = 0, high = 10, missing = 0 }}
seen = {{ type = "boolean", missing = true }}
[[statistic]]
name = "n"
what = "count"
[[statistic]]
name = "all x"
what = "sum"
column = "x"
{by}"""
CLAIM = """
schema = "dpaccount/claim/1"
name = "s"
[guarantee]
model = "central"
unit = "one patient"
relation = "replace-one"
epsilon = 1.5
delta = 1e-9
[subject]
use = "histogram"
parameters = { column = "x" }
[data]
file = "FILE"
ledger = "sqlite:///b.db"
rows = 3
columns = { x = { type = "category", values = ["1", "2"], other = true } }
"""
MEASURES = ["approximate", "pure", "zcdp", "gdp", "either"]
TERMS = ("--unit", "one patient", "--relation", "replace-one")
OWN = (*files.STANDARD, "n.csv", "all-x.csv")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def init(dpaccount, measure="approximate", epsilon=20):
    delta = 0 if measure == "pure" else "1e-6"
    words = ("--epsilon", epsilon, "--delta", delta, *TERMS, "--measure", measure)
    assert dpaccount("ledger", "init", "sqlite:///b.db", *words)[0] == 0


def study(file="a.csv", law="laplace"):
    by = "" if law == "laplace" else 'by = ["seen"]'  # sums by groups get Gaussian noise
    python.Path("study.toml").write_text(STUDY.format(file=file, by=by))
    return python.Path("study.toml")


def entries():
    with Ledger.open("sqlite:///b.db") as ledger:
        return ledger.show()["entries"]


# ------------------------------------------------------------------ what is charged


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_a_release_announces_at_least_what_its_entry_charges(dpaccount, monkeypatch, measure, law):
    """Gaussian noise on a grid has (ε, δ) alone, for which the other ledgers have no bound."""
    init(dpaccount, measure)
    path = study(law=law)
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    code, _, err = dpaccount("release", path, *(("--new-release",) if law == "gaussian" else ()))
    claim = read_claim(path)
    subject = subject_of(claim)
    assert (subject.law, code, entries()) == (law, 1, 0)
    if law == "gaussian" and measure != "approximate":
        assert f"the charge has no bound in this ledger's measure, {measure}" in err
        assert "charge it?" not in err
        return
    assert "charge it? [y/N] nothing is charged" in err
    said = err.split("charges at most ")[1].split("; the ledger has")[0]
    proved = make.proof_of(claim, subject)
    with Ledger.open("sqlite:///b.db") as ledger:
        ledger.charge(proved.theorem, "it", proved.units)
        spent = ledger.show()["spent"]
    words = {"μ²": "mu_squared", "ρ": "rho", "pure ε": "pure", "and δ": "delta"}
    found = {name: number(said, word) for word, name in words.items() if word in said}
    assert found.keys() == {name for name in words.values() if spent.get(name, 10**9) < 10**9}
    found["ε"], spent["ε"] = number(said, "(?<!pure )ε"), spent["epsilon"]["upper"]
    assert all(spent[name] <= amount <= 1.001 * spent[name] for name, amount in found.items())


def number(text, after):
    return float(re.search(rf"{after} ([0-9.Ee+-]+)", text)[1])


def test_a_release_that_does_not_fit_is_refused_before_it_asks(dpaccount, monkeypatch):
    """Laplace noise of ε = 1.5 costs more than ε = 8 in a ledger in GDP."""
    init(dpaccount, "gdp", 8)
    for options in ((), ("--yes",), ("--new-release", "--yes"), ("--dry-run",)):
        monkeypatch.setattr("sys.stdin", Terminal("y\n"))
        python.Path("a.csv").write_text("x\n1\n2\n3\n")
        code, out, err = dpaccount("release", study(), *options)
        assert (code, out, entries()) == (1, "", 0)
        assert "beyond the budget's ε 8" in err
        assert "charge it?" not in err


# ------------------------------------------------------------------ files that are kept


@pytest.mark.parametrize("name", OWN)
def test_no_release_replaces_its_own_data(dpaccount, tmp_path, name):
    init(dpaccount)
    path = study(name)
    (tmp_path / name).write_text("x\n1\n2\n3\n")
    others = [("release", path, "--yes"), ("certify", path), ("release", path, "--dry-run")]
    for words in others[: 3 if name in files.STANDARD else 1]:
        code, out, err = dpaccount(*words, "--out", ".")
        assert (code, out, entries()) == (2, "", 0)
        assert f"error: {name} is a file of the claim; name another folder with --out\n" in err
    with pytest.raises(InputError, match="is a file of the claim"):
        python.Study.read(path).release(tmp_path)
    assert (tmp_path / name).read_text() == "x\n1\n2\n3\n"
    assert entries() == 0


@pytest.mark.parametrize("name", [*files.STANDARD, *figures.FILES])
def test_no_release_of_a_claim_replaces_its_data(dpaccount, tmp_path, name):
    init(dpaccount)
    (tmp_path / "c.toml").write_text(CLAIM.replace("FILE", name))
    (tmp_path / name).write_text("x\n1\n2\n1\n")
    code, _, err = dpaccount("release", "c.toml", "--yes", "--out", tmp_path)
    assert (code, entries(), (tmp_path / name).read_text()) == (2, 0, "x\n1\n2\n1\n")
    assert "is a file of the claim" in err


def test_no_release_replaces_a_file_that_is_not_of_a_release(dpaccount, tmp_path):
    init(dpaccount)
    for name in ("n.csv", "all-x.csv"):
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out" / name).write_text("mine")
        (tmp_path / "a.csv").write_text("x\n1\n2\n3\n")
        code, _, err = dpaccount("release", study(), "--yes", "--out", "out")
        assert (code, entries(), (tmp_path / "out" / name).read_text()) == (2, 0, "mine")
        assert f"out/{name} is not of an earlier release" in err
        (tmp_path / "out" / name).unlink()


def test_data_that_an_earlier_release_lists_are_kept(dpaccount, tmp_path):
    """A list is read only after its names were compared with the claim's files."""
    init(dpaccount)
    (tmp_path / files.LISTED).write_text(f"{files.LIST_HEAD}\na.csv\nb.db\n")
    (tmp_path / "a.csv").write_text("x\n1\n2\n3\n")
    for words in (("release", study(), "--yes"), ("certify", study())):
        assert dpaccount(*words, "--out", ".")[0] == 2
    assert (tmp_path / "a.csv").exists()
    assert entries() == 0


def test_no_release_is_written_among_the_files_of_its_data(dpaccount, tmp_path):
    init(dpaccount)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "1.csv").write_text("x\n1\n2\n3\n")
    code, _, err = dpaccount("release", study("folder"), "--yes", "--out", "folder/out")
    assert (code, entries()) == (2, 0)
    assert "is a file of the claim" in err
