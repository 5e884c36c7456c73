"""What the program answers to the kept questions is what is kept (`make corpus KEEP=1` keeps a change)."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.corpus import corpus
from tests.depth import deep, parts
from tests.looped import looped


def differences(root, section: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "tests/corpus/corpus.py", section, *words],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


@deep
@pytest.mark.parametrize("section", corpus.SHORT)
def test_answers_are_those_that_are_kept(root, section):
    assert not differences(root, section)


def in_parts(root, section, depth) -> str:
    return differences(root, section, "--part", f"{depth.part + 1}/{depth.of}")


@deep
@parts(20)
def test_accounts_are_those_that_are_kept(root, depth):
    assert not in_parts(root, "accounts", depth)


@deep
@parts(10)
def test_certificates_are_those_that_are_kept(root, depth):
    assert not in_parts(root, "certificates", depth)


@deep
@parts(12)
def test_reproductions_are_those_that_are_kept(root, depth):
    assert not in_parts(root, "reproductions", depth)


SHARED = {"accounts": 20, "certificates": 10, **({"reproductions": 12} if find_spec("papers") else {})}


@looped(("section", "of"), SHARED.items())
def test_shares_are_all_that_is_asked_and_kept(section, of):
    shares = [corpus.share(section, part, of) for part in range(of)]
    kept = (corpus.KEPT / f"{section}.jsonl").read_text().splitlines()
    assert sorted(name for each in shares for name in each) == sorted(map(corpus.name_of, kept))


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
