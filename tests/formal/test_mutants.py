"""A rule that gives more than it should has no proof: every proved rule is weakened, and its proof fails.

Needs what `make formal` builds; every case compiles what the proof rests on again.
"""

import re
import shutil
import subprocess

import pytest

from tests.depth import deep
from tests.formal.test_table import FORMAL, MUTANTS, infers

pytestmark = pytest.mark.skipif(shutil.which("coqc") is None, reason="Coq is not installed")


def failing(folder, mutant):
    """Compile the proof of a rule with one change; return the files that Coq refuses."""
    copy = folder / "formal"
    shutil.copytree(FORMAL, copy)
    file = copy / infers(mutant)
    file.write_text(file.read_text().replace(mutant["old"], mutant["new"]))
    target = f"{mutant['proof']}.vok"  # of other files the statements alone
    words = [shutil.which("make"), "-f", "Makefile.coq", "-j1", target]
    made = subprocess.run(words, cwd=copy, capture_output=True, text=True, check=False)
    failed = re.findall(r'^File "(?:\./)?(.*?)".*\n(?:Error|.*\nError)', made.stderr, re.M)
    assert (made.returncode != 0) == bool(failed), made.stderr
    return failed


@deep(one_in=6)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant['rule']}: {mutant['new']}")
def test_a_weaker_rule_has_no_proof(tmp_path, mutant):
    assert failing(tmp_path, mutant) == [f"{mutant['proof']}.v"]


@deep
def test_without_a_change_of_meaning_all_compiles(tmp_path):
    for mutant in (MUTANTS[0], next(mutant for mutant in MUTANTS[::-1] if "family" in mutant)):
        assert not failing(tmp_path / mutant["rule"], {**mutant, "new": f"{mutant['old']} "})
