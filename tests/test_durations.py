"""slow_tests.txt and nightly_tests.txt name tests that are there, and the measure behind them finds what is slow."""

import subprocess
import sys

import pytest

from tests import durations


def test_every_line_names_a_test_that_is_not_kept(root):
    for name, share in [*durations.listed().items(), *durations.listed(durations.NIGHTLY).items()]:
        _, package, *_ = name.split("/")
        there = (root / "tests" / package).exists()  # tests of bandits and papers go with their packages
        assert not there or durations.exists(name), f"{name} is gone; take its line out of the list"
        assert share != 1, f"{name}: one of one case stays, so the line does nothing"
    kept = [name for name in durations.listed() if name.startswith(durations.KEPT)]
    assert not kept, "tests of the kernel and checker stay in the default run"


def test_what_is_slow_is_found():
    assert durations.too_slow([0.1, 0.2], 0.5) is None
    assert durations.too_slow([0.7], 0.5) == 0
    assert durations.too_slow([0.1] * 100, 0.5) == 5
    assert durations.measured(
        "0.20s call     tests/a/test_b.py::test_c[x-1]\n0.10s setup    tests/a/test_b.py::test_c[x-1]"
    ) == {"tests/a/test_b.py::test_c": [pytest.approx(0.3)]}


def test_listed_tests_are_slow(root):
    file = "tests/mechanisms/test_moved_rows.py"
    listed = {name for name, share in durations.listed().items() if name.startswith(file) and share == 0}

    def collected(marks):
        words = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--collect-only", "-m", marks, file]
        done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
        return {line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line}

    assert listed
    assert listed <= collected("slow")
    assert not listed & collected("not slow and not nightly")


def test_of_slow_tests_that_wait_for_the_night_some_cases_stay(root):
    nightly = durations.listed(durations.NIGHTLY)
    file = "tests/mechanisms/test_contract.py"
    [(name, share)] = [(name, share) for name, share in nightly.items() if name.startswith(file)]

    def cases(marks):
        words = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--collect-only", "-m", marks, file]
        done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
        return {line for line in done.stdout.splitlines() if line.startswith(name)}

    slow, late = cases("slow and not nightly"), cases("nightly")
    assert slow
    assert not slow & late
    assert len(slow) <= -(-len(slow | late) // share) + 1
