"""A rule that gives more than it should does not go unnoticed: its proof fails, or the three programs disagree.

Needs what `make formal` builds; every case compiles the proofs again.
"""

import re
import shutil
import subprocess

import pytest

from tests.dpaccount.rules.statements import DERIVATIONS
from tests.formal import test_agreement
from tests.formal.test_table import FORMAL, formal

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is not installed"),
]

#: of proved rules: a file, what stands there, what a careless hand would write, and the proof that should fail
PROVED = [
    ("composition", 'combined " + " plus parts.', 'combined " + " larger parts.', "Compose"),
    ("composition", "negb (existsb is_range parts)", "true", "Compose"),
    ("composition", "check observer_eqb o needed && shown a;", "check observer_eqb o needed;", "Views"),
    ("composition", 'combined " or " larger parts', 'combined " or " (fun a _ => a) parts', "Mixture"),
    ("composition", "disjoint (map reads_of parts) && ", "", "Spread"),
    ("composition", "Lattice variance shifts (count * most)", "Lattice variance shifts count", "Nodes"),
    ("composition", "(widest =? 1)%Z", "(widest <=? 2)%Z", "Nodes"),
    (
        "composition",
        "zip_with larger (map two_dearest moving)",
        "zip_with larger (map largest moving)",
        "Partition",
    ),
    (
        "conversions",
        "Qle_bool (plus spent chance) delta",
        "Qle_bool (larger spent chance) delta",
        "Departures",
    ),
    ("conversions", "Some (Pure (times k e))", "Some (Pure e)", "Families"),
    ("conversions", "Some (over (times e e) (of_Z 2))", "Some (over (times e e) (of_Z 4))", "Measures"),
    ("conversions", "Gdp m => Some (over m (of_Z 2))", "Gdp m => Some (over m (of_Z 3))", "Measures"),
    (
        "conversions",
        "(longest shifts))) variance) (of_Z 2)",
        "(longest shifts))) variance) (of_Z 3)",
        "Measures",
    ),
    ("conversions", "Some (over (times e e) (of_Z 8))", "Some (over (times e e) (of_Z 9))", "Measures"),
    (
        "conversions",
        "BoundedRange eta => Some (over eta (of_Z 2))",
        "BoundedRange eta => Some (over eta (of_Z 3))",
        "Gaussians",
    ),
    (
        "conversions",
        "let more := Times (Num distance) (Plus (Num 1) (Exp (Num epsilon))) in",
        "let more := Num distance in",
        "Approximate",
    ),
    ("conversions", "forallb (fun shift => lattice_at_most", "existsb (fun shift => lattice_at_most", "Approximate"),
    ("conversions", "(Ln (Num (minus 1 (over 1 order))))", "(Ln (Num (over 1 order)))", "Approximate"),
    ("conversions", "(Groups AddRemove 2)", "(Groups AddRemove _)", "Relations"),
    ("conversions", "below 0 radius && Qle_bool radius step", "below 0 radius", "Relations"),
    ("conversions", "(size =? most)%Z && ", "", "Persons"),
    ("noise", "(Pure (over bound scale)) rel", "(Pure (over bound (times scale two))) rel", "Proofs"),
    (
        "noise",
        "Some (over (over bound variance) two)",
        "Some (over (over bound variance) (4 # 1))",
        "Gaussian",
    ),
    ("noise", "drawn_on q (Gdp square) rel", "drawn_on q (Gdp (over square two)) rel", "Gaussian"),
    ("noise", "(Zcdp (over square two))", "(Zcdp (over square (times two two)))", "Gaussian"),
    ("noise", "(BoundedRange (times rate bound))", "(BoundedRange (over (times rate bound) two))", "Choices"),
    ("sensitivity", "let follows := plus slack (times r factor)", "let follows := times r factor", "Proofs"),
    ("noise", " && (most =? coordinates)%Z", "", "Grids"),
    ("noise", "square) (201643 # 10000000)", "square) (101643 # 10000000)", "Grids"),
    ("noise", "(Lattice variance shifts 1)", "(Lattice variance shifts 0)", "Lattices"),
    ("noise", "forallb is_law table", "true", "Tables"),
    (
        "noise",
        "Qle_bool moved (times bound bound)",
        "Qle_bool moved (times bound (times two bound))",
        "Norms",
    ),
    ("noise", "(over (times two (of_Z limit)) scale)", "(over (of_Z limit) scale)", "Sparse"),
    ("sensitivity", "(minus 1 (Qred (1 # Z.to_pos n)))", "(minus 1 (Qred (2 # Z.to_pos n)))", "Streams"),
    (
        "sensitivity",
        "let most := floor_of (if replaces rel then plus high high else high) in",
        "let most := floor_of high in",
        "Moves",
    ),
    ("sensitivity", "(over (times reach reach) two)", "(over (times reach reach) four)", "Stacks"),
    ("refutations", "&& at_most e (minus 0 least)", "&& at_most e 0", "Proofs"),
]
#: of rules that are only inferred; the other programs notice
INFERRED = [
    ("noise", "(Pure (times rate bound)) rel reads", "(Pure (over (times rate bound) two)) rel reads"),
    (
        "sensitivity",
        "if replaces rel then times four high else high",
        "if replaces rel then times two high else high",
    ),
]


def mutated(folder, family, old, new):
    """Compile the proofs with one change; return Coq's first error, or nothing."""
    copy = folder / "formal"
    shutil.copytree(FORMAL, copy)
    file = copy / family / "Infer.v"
    assert file.read_text().count(old) == 1
    file.write_text(file.read_text().replace(old, new))
    coqc, make = shutil.which("coqc"), shutil.which("make")
    subprocess.run([coqc, "-Q", ".", "DP", f"{family}/Infer.v"], cwd=copy, check=True, capture_output=True)
    made = subprocess.run(
        [make, "-f", "Makefile.coq", "-j1"], cwd=copy, capture_output=True, text=True, check=False
    )
    failed = re.findall(r'^File "(.*?)".*\n(?:Error|.*\nError)', made.stderr, re.M)
    assert (made.returncode != 0) == bool(failed)
    return copy, failed


@pytest.mark.parametrize(("family", "old", "new", "proof"), PROVED)
def test_a_weaker_rule_has_no_proof(tmp_path, family, old, new, proof):
    _, failed = mutated(tmp_path, family, old, new)
    assert [name.removeprefix("./").split("/")[-1] for name in failed][-1:] == [f"{proof}.v"]


@pytest.mark.parametrize(("family", "old", "new"), INFERRED)
def test_a_weaker_rule_that_is_only_inferred_disagrees(tmp_path, monkeypatch, family, old, new):
    copy, failed = mutated(tmp_path, family, old, new)
    assert not failed
    monkeypatch.setattr(formal, "FORMAL", copy)
    formal.extracted()
    monkeypatch.setattr(test_agreement, "CHECKER", copy / "check" / "checker")
    with pytest.raises(AssertionError):
        test_agreement.agree(DERIVATIONS)


def test_without_a_change_all_compiles(tmp_path):
    _, failed = mutated(tmp_path, "noise", "(Pure (over bound scale)) rel", "(Pure  (over bound scale)) rel")
    assert not failed
