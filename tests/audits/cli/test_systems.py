"""What POSIX alone has is asked for where it is needed, and missed in one sentence; accounting needs none of it."""

import subprocess
import sys

import pytest

ELSEWHERE = """
import os, sys
for name in ("fork", "killpg", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
sys.modules.update(dict.fromkeys(("fcntl", "resource", "pwd", "grp", "termios")))
from audits import cli
sys.exit(cli.run(sys.argv[1:]))
"""


def elsewhere(root, *words):
    """Run a command as on a system without POSIX's modules."""
    return subprocess.run(
        [sys.executable, "-c", ELSEWHERE, *words], cwd=root, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["calibrate", "gaussian", "--epsilon", "1", "--delta", "1e-5"],
        ["check", "tests/audits/reports/received.json"],
        ["report", "tests/audits/reports/received.json", "--md"],
        ["subjects"],
        ["completion", "bash"],
    ],
    ids=lambda words: words[0],
)
def test_accounting_and_reading_need_no_posix(root, words):
    done = elsewhere(root, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["ledger", "init", "sqlite:///{}/a.db", "--epsilon", "1", "--delta", "0", "--unit", "person", "--relation", "replace-one"],
         "the module fcntl"),
        (["audit", "statistics:mean", "--epsilon", "1", "--shape", "5", "--low", "0", "--high", "1"], "processes"),
    ],
    ids=["ledger", "audit"],
)  # fmt: skip
def test_what_needs_posix_says_so_in_a_sentence(root, tmp_path, words, what):
    done = elsewhere(root, *(word.format(tmp_path) for word in words))
    lines = [line for line in done.stderr.splitlines() if not line.startswith("runs code from")]
    said = f"error: this needs {what} of Linux or macOS; run it there, on Windows in WSL (accounting works without)"
    assert (done.returncode, done.stdout, lines) == (2, "", [said])


@pytest.mark.slow
def test_a_certificate_is_not_made_without_forks(root, tmp_path):
    done = elsewhere(root, "certify", "examples/mechanisms/histogram.toml", "--quick", "--out", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: this needs forks of Linux or macOS")
    assert list(tmp_path.iterdir()) == []
