"""The pytest plugin, as users have it: in a session of its own, found by its entry point."""

import subprocess
import sys
from fractions import Fraction

import pytest

from audits.pytest_plugin import Budget

TESTS = """
import numpy as np
import pytest

BITS = dict(shape=(5,), low=0, high=1, dtype="int", epsilon=1)

def noise(rng):
    return int(rng.geometric(0.6) - rng.geometric(0.6))

def count(data, rng):
    return int(data.sum()) + noise(rng)

def thrice(data, rng):
    return 3 * int(data.sum()) + noise(rng)

def mean(data):
    return data.mean()

def test_count(dp_private):
    assert dp_private(count, **BITS)["refuted"] is False

@pytest.mark.dp_private(**BITS)
def test_thrice(dp_private):
    dp_private(thrice)

@pytest.mark.dp_sensitivity(norm="l1", bound=0.2, shape=(5,), low=0, high=1)
def test_mean(dp_query):
    assert dp_query(mean)["worst"] >= 0.2

def test_mean_of_a_narrow_claim(dp_query):
    dp_query(mean, norm="l1", bound=0.1, shape=(5,), low=0, high=1)
"""


def session(tmp_path, *words):
    (tmp_path / "test_mine.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--dp-trials", "2000", *words]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=200)


@pytest.mark.statistical  # seeded: one sound claim at level .025
@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_session_states_and_spends_its_budget(tmp_path, words):
    done = session(tmp_path, *words)
    assert "2 failed, 2 passed" in done.stdout, done.stdout
    assert "test_mine:thrice is not (1, 0)-private" in done.stdout
    assert "left:  [" in done.stdout
    assert "event: " in done.stdout
    assert "test_mine:mean moves by 0.2, declared l1 0.1" in done.stdout
    assert "def test_sensitivity_of_mean():" in done.stdout
    assert "2 privacy claims tested; of a false-alarm budget of 0.05" in done.stdout
    assert "is left" in done.stdout


def test_fixtures_and_markers_are_listed(tmp_path):
    fixtures = session(tmp_path, "--fixtures").stdout
    markers = session(tmp_path, "--markers").stdout
    for name in ("dp_private", "dp_query"):
        assert f"{name} --" in fixtures or f"{name} [" in fixtures
    assert fixtures.count("dpaccount: assert") == 2
    assert "dpaccount: defaults" in markers


def test_a_budget_out_of_range_is_a_usage_error(tmp_path):
    done = session(tmp_path, "--dp-risk", "2")
    assert done.returncode == 4
    assert "--dp-risk lies" in done.stderr


def test_the_shares_of_all_workers_never_exceed_the_budget():
    budgets = [Budget(Fraction(1, 20), worker, 3) for worker in range(3)]
    shares = [budget.spend() for _ in range(200) for budget in budgets]
    assert len(set(shares)) == len(shares)
    assert sum(shares) < Fraction(1, 20)
    assert sum(shares) == sum(budget.spent for budget in budgets)
