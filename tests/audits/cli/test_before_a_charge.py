"""Before a charge: its cost in the ledger's measure, and files that no release may replace."""

import io
import re
import shlex

import pytest

from audits import study as python
from audits.api import dispatch
from audits.certificate import folder, make, release, release_files
from audits.claim import read_claim
from audits.subjects.catalogue import subject_of
from dpaccount.errors import InputError
from dpaccount.ledger.ledger import Ledger
from mechanisms.count import Count
from tests.audits.studies.test_studies import COUNT, HEAD, statistics
from tests.depth import deep


class Terminal(io.StringIO):
    """Standard input where somebody types."""

    def isatty(self):
        return True


SHORT = HEAD.replace("1e-6", "1e-9")
MORE = "[subject]\nuse = 'histogram'\n[guarantee]\nmodel = 'central'"
CLAIM = SHORT.replace("study/1", "claim/1").replace("[guarantee]", MORE)
MEASURES = ["approximate", "approximate-zcdp", "pure", "zcdp", "gdp", "either"]
DATA = "x,seen\n1,true\n2,true\n3,false\n"
TERMS = ("--unit", "one patient", "--relation", "replace-one")


def init(dpaccount, measure="approximate", epsilon=20):
    delta = 0 if measure == "pure" else "1e-6"
    words = ("--epsilon", epsilon, "--delta", delta, *TERMS, "--measure", measure)
    assert dpaccount("ledger", "init", "sqlite:///b.db", *words)[0] == 0


def study(file="a.csv", law="laplace"):
    said = statistics(COUNT, 'name = "all x"\nwhat = "sum"\ncolumn = "x"\n')
    head = SHORT.replace("a.csv", file).replace("[guarantee]", f'law = "{law}"\n[guarantee]', 1)
    python.Path("study.toml").write_text(head + said)
    return python.Path("study.toml")


def entries():
    with Ledger.open("sqlite:///b.db") as ledger:
        return ledger.show()["entries"]


# ------------------------------------------------------------------ what is charged


@deep
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_a_release_announces_at_least_what_its_entry_charges(dpaccount, monkeypatch, measure, law):
    """Gaussian noise on a fine grid has no bound in measures without a δ of their own."""
    init(dpaccount, measure, 13 if measure == "approximate-zcdp" else 20)
    path = study(law=law)
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    code, _, err = dpaccount("release", path, *(("--new-release",) if law == "gaussian" else ()))
    claim = read_claim(path)
    subject = subject_of(claim)
    assert (subject.law, code, entries()) == (law, 1, 0)
    if law == "gaussian" and not measure.startswith("approximate"):
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


@deep
def test_a_release_that_does_not_fit_is_refused_before_it_asks(dpaccount, monkeypatch):
    """Laplace noise of ε = 1 costs more than ε = 4 in a ledger in GDP."""
    init(dpaccount, "gdp", 4)
    for options in ((), ("--yes",), ("--new-release", "--yes"), ("--dry-run",)):
        monkeypatch.setattr("sys.stdin", Terminal("y\n"))
        python.Path("a.csv").write_text(DATA)
        code, out, err = dpaccount("release", study(), *options)
        assert (code, out, entries()) == (1, "", 0)
        assert "beyond the budget's ε 4" in err
        assert "charge it?" not in err


def test_a_release_that_was_paid_before_a_crash_needs_no_second_charge(dpaccount, monkeypatch):
    """The ledger has no room for another one, and the noise of the one that it paid is not drawn yet."""

    def certify(question, progress, claim=None):
        raise InputError("enough is seen")

    init(dpaccount, epsilon=1)
    monkeypatch.setattr(dispatch, "certify", certify)
    python.Path("a.csv").write_text(DATA)
    path = study()
    claim = read_claim(path)
    proved = make.proof_of(claim, subject_of(claim))
    due = release.identify(claim, subject_of(claim))
    with Ledger.open("sqlite:///b.db") as ledger:
        ledger.charge(proved.theorem, "another", proved.units, due.numbered(2))
    assert "beyond the budget" in dpaccount("release", path, "--yes")[2]
    with Ledger.open("sqlite:///b.db") as ledger:
        ledger.reset("for the test")
        ledger.charge(proved.theorem, claim.name, proved.units, due.numbered(1))
    assert "enough is seen" in dpaccount("release", path, "--yes")[2]


@deep
def test_a_release_that_is_kept_is_printed_without_a_question(dpaccount, monkeypatch):
    init(dpaccount)
    rows = "".join(f"A,40,{row % 50},true,n,7,B\n" for row in range(600))
    python.Path("a.csv").write_text("ward,age,x,seen,note,big,low\n" + rows)
    path = study()
    code, first, err = dpaccount("release", path, "--yes", "--quick")
    assert code == 0, err
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    code, again, said = dpaccount("release", path, "--quick")
    assert (code, again, entries()) == (0, first, 1)
    assert "charge" not in said.replace("nothing drawn or charged", "")
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    code, _, said = dpaccount("release", path, "--quick", "--new-release")
    assert (code, entries()) == (1, 1)
    assert "charges at most" in said


# ------------------------------------------------------------------ files that are kept


@deep
@pytest.mark.parametrize("name", [*folder.STANDARD, "n.csv", "all-x.csv"])
def test_no_release_of_a_study_replaces_its_own_data(dpaccount, tmp_path, name):
    init(dpaccount)
    path = study(name)
    words = [("release", path, "--yes"), ("certify", path), ("release", path, "--dry-run")]
    for each in words[: 3 if name in folder.STANDARD else 1]:
        refused(dpaccount, tmp_path / name, *each)
    with pytest.raises(InputError, match="is a file of the claim"):
        python.Study.read(path).release(tmp_path)
    assert (entries(), (tmp_path / name).read_text()) == (0, DATA)


@pytest.mark.parametrize("name", [*folder.STANDARD, *release_files.FILES])
def test_no_release_of_a_claim_replaces_its_own_data(dpaccount, tmp_path, name):
    init(dpaccount)
    (tmp_path / "c.toml").write_text(CLAIM.replace("a.csv", name))
    refused(dpaccount, tmp_path / name, "release", "c.toml", "--yes")


def test_data_that_an_earlier_release_lists_are_kept(dpaccount, tmp_path):
    init(dpaccount)
    (tmp_path / folder.LISTED).write_text(f"{folder.LIST_HEAD}\na.csv\nb.db\n")
    for words in (("release", study(), "--yes"), ("certify", study())):
        refused(dpaccount, tmp_path / "a.csv", *words)


def test_no_release_is_written_among_its_data(dpaccount, tmp_path):
    init(dpaccount)
    (tmp_path / "in").mkdir()
    refused(dpaccount, tmp_path / "in" / "1.csv", "release", study("in"), "--yes", out="in/out")


@pytest.mark.parametrize("name", ["n.csv", "all-x.csv"])
def test_no_release_replaces_a_file_that_is_not_of_a_release(dpaccount, tmp_path, name):
    init(dpaccount)
    refused(dpaccount, tmp_path / name, "release", study(), "--yes", why="not of an earlier release")


def refused(dpaccount, kept, *words, out=".", why="is a file of the claim"):
    kept.write_text(DATA)
    code, said, err = dpaccount(*words, "--out", out)
    assert (code, said, entries(), kept.read_text()) == (2, "", 0, DATA)
    assert why in err


class Editor(Terminal):
    """Somebody who edits a file before the answer is typed."""

    def readline(self):
        path = python.Path("study.toml")
        path.write_text(path.read_text().replace("epsilon = 1", "epsilon = 2"))
        return super().readline()


def test_a_claim_that_is_edited_before_the_answer_is_certified_as_announced(dpaccount, monkeypatch):
    certified = []

    def certify(question, progress, claim=None):
        certified.append(claim or read_claim(question.claim))
        raise InputError("enough is seen")

    init(dpaccount)
    monkeypatch.setattr(dispatch, "certify", certify)
    monkeypatch.setattr("sys.stdin", Editor("y\n"))
    path = study()
    code, _, err = dpaccount("release", path)
    assert (code, "enough is seen" in err) == (2, True)
    assert [claim.guarantee.epsilon for claim in certified] == [1]
    assert read_claim(path).guarantee.epsilon == 2


def test_an_inherited_proof_is_told_by_which_name_to_end(dpaccount):
    twin = type("Twin", (Count,), {"__module__": "count_twin"})()
    assert "count does; end it with one view of count-twin" in make.proof_of(read_claim(study()), twin)


def test_where_there_is_no_ledger_the_command_that_makes_it_is_said(dpaccount, monkeypatch):
    """The ledger that it makes pays for one release: what it does not pay for is refused before it asks."""
    path = study()
    python.Path("a.csv").write_text(DATA)
    code, out, err = dpaccount("release", path, "--yes")
    assert (code, out) == (2, "")
    words = shlex.split(err.split("create a ledger with `dpaccount ")[1].partition("`")[0])
    assert dpaccount(*words)[0] == 0
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    code, _, err = dpaccount("release", path)
    assert (code, "charge it? [y/N] nothing is charged" in err, entries()) == (1, True, 0)
    claim = read_claim(path)
    proved = make.proof_of(claim, subject_of(claim))
    with Ledger.open("sqlite:///b.db") as ledger:
        ledger.charge(proved.theorem, "it", proved.units)


# ------------------------------------------------------------------ what was released stays


@deep
def test_the_files_of_a_release_are_replaced_by_another_one_only_where_that_is_said(dpaccount, tmp_path):
    init(dpaccount)
    rows = "".join(f"A,40,{row % 50},true,n,7,B\n" for row in range(600))
    python.Path("a.csv").write_text("ward,age,x,seen,note,big,low\n" + rows)
    path = study()
    assert dpaccount("release", path, "--yes", "--quick", "--out", "out")[0] == 0
    kept = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    text = path.read_text()
    python.Path("a.csv").write_text("ward,age,x,seen,note,big,low\n" + rows.replace("A,40,1,", "A,40,2,", 1))
    for other in (text, text.replace("epsilon = 1", "epsilon = 2")):
        path.write_text(other)
        code, out, err = dpaccount("release", path, "--yes", "--quick", "--out", "out")
        assert (code, out, entries()) == (2, "", 1)
        assert "holds another release, which is not replaced; name another --out" in err
        with pytest.raises(InputError, match="holds another release"):
            python.Study.read(path).release("out", quick=True)
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == kept
    path.write_text(text)
    assert dpaccount("release", path, "--yes", "--quick", "--out", "out", "--new-release")[0] == 0
    assert (entries(), (tmp_path / "out/certificate.json").read_bytes() == kept["certificate.json"]) == (
        2,
        False,
    )


def test_a_ledger_without_a_measure_takes_what_a_study_and_a_plan_cost(dpaccount):
    """At the budget that the study promises, and after a plan of Gaussian noise."""
    assert dpaccount("ledger", "init", "sqlite:///b.db", "--epsilon", 3, "--delta", "1e-6", *TERMS)[0] == 0
    python.Path("e.json").write_text(
        '{"schema": "dpaccount/events/1", "relation": "replace-one", "events": [{"event": "gaussian", "sigma": 9}]}'
    )
    assert dpaccount("ledger", "charge", "sqlite:///b.db", "e.json")[0] == 0
    for law in ("laplace", "gaussian"):
        claim = read_claim(study(law=law))
        proved = make.proof_of(claim, subject_of(claim))
        with Ledger.open("sqlite:///b.db") as ledger:
            ledger.charge(proved.theorem, "it", proved.units)
    assert entries() == 3


def test_a_report_on_a_ledger_is_its_owners_alone(dpaccount, tmp_path):
    init(dpaccount)
    for kind in ("html", "json", "csv"):
        assert dpaccount("ledger", "report", "sqlite:///b.db", "-o", f"r.{kind}", "--format", kind)[0] == 0
        assert (tmp_path / f"r.{kind}").stat().st_mode & 0o777 == 0o600
