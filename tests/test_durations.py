"""slow_tests.txt names tests that are there, and the measure behind it finds what is slow."""

import subprocess
import sys

import pytest

from tests import durations


def test_every_line_names_a_test_that_is_not_kept(root):
    for name, share in durations.listed().items():
        _, package, *_ = name.split("/")
        there = (root / "tests" / package).exists()  # tests of bandits and papers go with their packages
        assert not there or durations.exists(name), f"{name} is gone; take its line out of slow_tests.txt"
        assert share != 1, f"{name}: one of one case stays, so the line does nothing"
        assert not name.startswith(durations.KEPT), f"{name} is of the kernel or checker, whose tests stay"


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
