"""What POSIX alone has is asked for where it is needed, and missed in one sentence; accounting needs none of it."""

import subprocess
import sys

import pytest

from audits import cli
from tests.depth import deep

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


@deep
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


SAID = "error: this needs {} of Linux or macOS; run it there, on Windows in WSL (accounting works without)"
ATTACK = ["audit", "statistics:mean", "--epsilon", "1", "--shape", "5", "--low", "0", "--high", "1"]
BUDGET = ["--epsilon", "1", "--delta", "1e-6", "--unit", "person", "--relation", "replace-one"]
EVENTS = """{"schema": "dpaccount/events/1", "relation": "replace-one", "events": [{"event": "gaussian", "sigma": 9}]}"""


@deep
def test_an_attack_needs_processes(root):
    done = elsewhere(root, *ATTACK)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("runs code from")]
    assert (done.returncode, done.stdout, lines) == (2, "", [SAID.format("processes")])


@deep
def test_a_charge_needs_locks_and_leaves_the_ledger_as_it_was(root, tmp_path, capsys):
    url, events = f"sqlite:///{tmp_path}/a.db", tmp_path / "events.json"
    events.write_text(EVENTS)
    assert cli.run(["ledger", "init", url, *BUDGET]) == 0
    done = elsewhere(root, "ledger", "charge", url, str(events))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", SAID.format("the module fcntl") + "\n")
    capsys.readouterr()
    assert cli.run(["ledger", "log", url, "--csv"]) == 0
    assert "gaussian" not in capsys.readouterr().out
    assert cli.run(["ledger", "charge", url, str(events)]) == 0


@deep
def test_a_certificate_is_not_made_without_forks(root, tmp_path):
    done = elsewhere(root, "certify", "examples/mechanisms/histogram.toml", "--quick", "--out", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: this needs forks of Linux or macOS")
    assert list(tmp_path.iterdir()) == []
