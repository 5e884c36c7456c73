"""A rule is two statements, cases and a proof: docs/add-a-rule.md followed literally."""

import re
import shutil
import tomllib

import pytest

from tests.depth import deep
from tests.formal import test_mutants

BUILT = """
from fractions import Fraction as F
from dpaccount.checker.derivation import check_derivation
from dpaccount.errors import RuleError
from dpaccount.proof import REPLACE_ONE, assume_clipped, laplace, linear, weaken, write

part = laplace(linear(assume_clipped("q", F(0), F(1), REPLACE_ONE, "t")), F(7, 2), None, "k")
print(check_derivation(write(weaken(part, F(1, 3))))[-1])
try:
    weaken(part, F(1, 4))
except RuleError as error:
    print(error)
"""


@pytest.fixture
def section(root):
    return (root / "docs" / "add-a-rule.md").read_text()


@deep
def test_in_python_it_is_a_function_a_builder_a_line_and_cases(section, copy_of, root):
    copy = copy_of("dpaccount", "tests", "docs")
    (copy.folder / "formal").symlink_to(root / "formal")
    assert copy.apply(section.partition("## 3")[0]) == [
        *("dpaccount/checker/conversions.py", "dpaccount/proof/__init__.py", "dpaccount/proof/rules.py"),
        *("tests/dpaccount/rules/cases.py", "tests/dpaccount/rules/statements.py"),
    ]
    built = copy.run(["-c", BUILT])
    assert built.returncode == 0, built.stderr[-3000:]
    gives, refused = built.stdout.splitlines()
    assert gives == "['Private', 'q', ['pure', '1/3'], 'replace-one', 'central', None]"
    assert refused == "weaken: epsilon is too small"
    assert copy.run(["docs/write_rules.py"]).returncode == 0
    row = "| R17 | `weaken` | Private pure ε → pure ε′ | ε ≤ ε′ | – |\n"
    assert row in (copy.folder / "docs" / "rules.md").read_text()
    done = copy.follow(section)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 80


@deep
@pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is not installed")
@pytest.mark.parametrize("proof", ["careless", "conversions/Measures", "core/EveryRule", "check/Json"])
def test_in_coq_it_has_a_proof_that_a_careless_version_breaks(section, copy_of, tmp_path, monkeypatch, proof):
    """Needs what `make formal` builds, as mutants do."""
    copy = copy_of("formal", "dpaccount", "tests")
    copy.apply(section)
    monkeypatch.setattr(test_mutants, "FORMAL", copy.folder / "formal")
    mutants = tomllib.loads((copy.folder / "formal" / "mutants.toml").read_text())["mutant"]
    (mutant,) = (mutant for mutant in mutants if mutant["rule"] == "weaken")
    if proof == "careless":
        assert test_mutants.failing(tmp_path / proof, mutant) == ["conversions/Measures.v"]
    else:
        same = {**mutant, "new": f"{mutant['old']} ", "proof": proof}
        assert not test_mutants.failing(tmp_path / proof, same)
