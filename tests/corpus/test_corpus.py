"""What the program answers to the kept questions is what is kept (`make corpus KEEP=1` keeps a change)."""

import os
import subprocess
import sys

import pytest

from tests.corpus import corpus
from tests.depth import deep
from tests.looped import looped

QUICK = ("derivations", "rehearsals", "ledgers", "helps", "refusals")


def differences(root, section: str) -> str:
    done = subprocess.run(
        [sys.executable, "tests/corpus/corpus.py", section],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


@deep
@pytest.mark.parametrize("section", QUICK)
def test_answers_are_those_that_are_kept(root, section):
    assert not differences(root, section)


@deep
@pytest.mark.parametrize("section", sorted(corpus.SECTIONS.keys() - set(QUICK)))
def test_long_answers_are_those_that_are_kept(root, section):
    assert not differences(root, section)


def test_an_import_leaves_the_environment_alone():
    """Linear algebra that is already loaded does not follow it, and workers would."""
    code = (
        "import os; before = dict(os.environ); from tests.corpus import corpus; assert before == os.environ"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@looped(
    ("lower", "upper", "false"),
    [(1.0, 2.0, False), (None, 1.5, False), (2.0, "inf", False), (2.5, 3.0, True), (None, 0.5, True)],
)
def test_enclosures_of_one_number_overlap(lower, upper, false):
    before = corpus.lines({"a": [0, {"points": [{"epsilon": {"lower": 1.0, "upper": 2.0}}]}]})
    now = corpus.lines({"a": [0, {"points": [{"epsilon": {"lower": lower, "upper": upper}}]}], "b": [2, ""]})
    assert corpus.contradictions(before, now) == (["a"] if false else [])
