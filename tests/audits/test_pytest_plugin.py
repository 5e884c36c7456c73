"""The pytest plugin, as users have it: in a session of its own, found by its entry point."""

import functools
import inspect
import pickle
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

import dpaccount_packages
import pytest_dpaccount
from audits import pytest_plugin
from audits.datasets import domain_pairs as plain_functions
from pytest_dpaccount import Budget, Listener, Tally, WrongRequest
from tests.depth import deep

PYTEST = Path(sys.executable).parent / "pytest"
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
    command += (
        [] if "--dp-seconds" in words else ["--dp-seconds", "1e6"]
    )  # the machine's load decides nothing
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


@deep
@pytest.mark.statistical(1e-3)  # one sound claim
@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_session_states_and_spends_its_budget(tmp_path, words):
    done = session(tmp_path, *words)
    assert "2 failed, 2 passed" in done.stdout, done.stdout
    assert "test_mine:thrice is not (1, 0)-private" in done.stdout
    assert "left:  row " in done.stdout
    assert "event: " in done.stdout
    assert "test_mine:mean moves by 0.2, declared l1 0.1" in done.stdout
    assert "def test_sensitivity_of_mean():" in done.stdout
    assert "2 privacy claims tested; of a false-alarm budget of 0.05" in done.stdout
    assert re.search(
        r"note: test_mine:count: \d+ runs show epsilon >= [\d.]+, and 1 is claimed; they", done.stdout
    )
    assert "is left" in done.stdout


PATCHED = """
import rates

def mean(data):
    return rates.SCALE * data.mean()

def test_patched(dp_query, monkeypatch):
    monkeypatch.setattr(rates, "SCALE", 3)
    dp_query(mean, norm="l1", bound=0.5, shape=(2,), low=0, high=1)
"""


@deep
def test_what_a_test_has_patched_is_noted_for_it_was_not_what_ran(tmp_path):
    (tmp_path / "rates.py").write_text("SCALE = 1")
    (tmp_path / "test_patched.py").write_text(PATCHED)
    said = session(tmp_path, "test_patched.py").stdout
    assert "1 passed" in said
    assert "note: test_patched:mean: the test has patched SCALE; another process ran it" in said


@deep
def test_fixtures_and_markers_are_listed(tmp_path):
    fixtures = session(tmp_path, "--fixtures").stdout
    markers = session(tmp_path, "--markers").stdout
    for name in ("dp_private", "dp_query"):
        assert f"{name} --" in fixtures or f"{name} [" in fixtures
    assert fixtures.count("dpaccount: assert") == 2
    assert "dpaccount: defaults" in markers


@deep
def test_a_budget_out_of_range_is_a_usage_error(tmp_path):
    done = session(tmp_path, "--dp-risk", "2")
    assert done.returncode == 4
    assert "--dp-risk lies" in done.stderr


@deep
def test_the_shares_of_all_workers_never_exceed_the_budget():
    """Also where workers crash and others, of higher numbers, take their places."""
    alone, many = [None], range(1, 40)
    for workers, claims in ((alone, 5000), (many, 200)):
        shares_add_up([Budget(Fraction(1, 20), worker) for worker in workers], claims)


def shares_add_up(budgets, claims):
    shares = []
    for _ in range(claims):
        for budget in budgets:
            shares.append(budget.share())
            assert budget.share() == shares[-1]  # one that is not attacked leaves its share to the next
            budget.spend()
    assert len(shares) == claims * len(budgets)
    assert sum(shares) < Fraction(1, 20)
    spent = sum(budget.spent for budget in budgets)
    assert spent == sum(min(share, Fraction(1, 1000)) for share in shares)
    assert spent < Fraction("0.0132" if len(budgets) == 1 else "0.0283")  # docs/pytest-plugin.md


def test_a_crashed_worker_counts_as_having_spent_all_it_could():
    risk, tally = Fraction(1, 20), Tally(Fraction(1, 20))
    lost, other = Budget(risk, 1), Budget(risk, 2)
    for budget in (lost, lost, other):
        budget.spend()
        budget.notes.append("odd")
        tally.add(budget.said())
    before = lost.spent + other.spent
    assert tally.total() == (3, before)
    assert tally.notes == ["odd"] * 3  # each is said once
    Listener(tally).pytest_testnodedown(SimpleNamespace(gateway=SimpleNamespace(id="gw1")), None)
    assert tally.total() == (3, before)
    Listener(tally).pytest_testnodedown(SimpleNamespace(gateway=SimpleNamespace(id="gw0")), "gone")
    assert tally.total() == (3, risk / 2 + other.spent)
    assert before < tally.total()[1] < risk


NOTHING_ASKED = """
import functools
import inspect
import pytest

BITS = dict(shape=(2,), low=0, high=1, dtype="int", epsilon=1)
MEAN = dict(norm="l1", bound=1, shape=(2,), low=0, high=1)

def constant(data, rng=None):
    return 0

def total(data):
    return float(data.sum())

old = total

def total(data):
    return 0.0

def test_body_pass(dp_private):
    pass

@pytest.mark.dp_sensitivity(**MEAN)
def test_empty_loop(dp_query):
    for function in []:
        dp_query(function)

@pytest.mark.dp_private(**BITS)
def test_marker_alone():
    pass

@pytest.mark.dp_sensitivity(**MEAN)
@pytest.mark.dp_private(**BITS)
def test_half_marked(dp_query):
    dp_query(total)

def test_swallowed(dp_query):
    try:
        dp_query(total, norm="none")
    except Exception:
        pass

def test_wraps(dp_query):
    @functools.wraps(total)
    def leak(data):
        return 100 * float(data.sum())
    dp_query(leak, **MEAN)

def test_old(dp_query):
    dp_query(old, **MEAN)

@pytest.mark.parametrize("bound", [float("nan"), float("inf"), "one", True])
def test_bound(dp_query, bound):
    dp_query(total, **{**MEAN, "bound": bound})

@pytest.mark.skip
@pytest.mark.dp_private(**BITS)
def test_skipped():
    pass

def test_skips(dp_private):
    pytest.skip("not today")

@pytest.mark.xfail(strict=True)
def test_expected(dp_private):
    raise ValueError

@pytest.mark.dp_sensitivity(**MEAN)
def test_measured(dp_query):
    dp_query(total)
"""


@deep
@pytest.mark.parametrize("words", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_what_asks_nothing_or_another_function_is_an_error(tmp_path, words):
    (tmp_path / "test_nothing.py").write_text(NOTHING_ASKED)
    done = session(tmp_path, "test_nothing.py", *words)
    # a body that passes counts as such, and its teardown as an error; only two other tests pass
    assert "1 failed, 5 passed, 2 skipped, 1 xfailed, 9 errors" in done.stdout, done.stdout
    for said in (
        "test_body_pass got no answer from dp_private",
        "test_empty_loop got no answer from dp_query",
        "test_swallowed got no answer from dp_query",
        "test_marker_alone has the marker dp_private without the fixture dp_private",
        "test_half_marked has the marker dp_private without the fixture dp_private",
        "test_nothing:total moves by 100, declared l1 1",  # the function that was given, not its namesake
        "error: bound: 'nan' is not a finite decimal number",
        "error: bound: 'inf' is not a finite decimal number",
        "error: bound: 'one' is not a finite decimal number",
        "error: bound: True is a truth value",
    ):
        assert said in done.stdout, said
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize("under", ["another name", "its own"])
def test_the_function_itself_is_tested_and_not_its_namesake(under):
    """For any function: it travels by value unless a worker that imports its module finds it by its name."""

    def at_top(function):
        return getattr(sys.modules[function.__module__], function.__qualname__, None) is function

    functions = list(filter(inspect.isroutine, vars(plain_functions).values()))
    if under == "another name":
        functions = [functools.wraps(each)(lambda *given: 0) for each in functions]
    assert len(functions) > 8
    for function in functions:
        code = pytest_plugin._code(function)
        assert code.use == f"{function.__module__}:{function.__qualname__}"
        assert (code.value is None) == at_top(function)
        if code.value is not None and under == "another name":
            assert pickle.loads(code.value)() == 0  # noqa: S301  # made here
    assert any(map(at_top, functions)) == (under == "its own")


# ------------------------------------------------------------------ what measures nothing


IDLE = """
import pytest

BITS = dict(shape=(2,), low=0, high=1, dtype="int", epsilon=1)
MEAN = dict(norm="l1", bound=1, shape=(2,), low=0, high=1)

def always(data, rng=None):
    raise ValueError("no data")

def half(data, rng):
    if rng.random() < 0.5:
        raise KeyError("unlucky")
    return 1.0

def test_raises(dp_private):
    dp_private(always, **BITS)

def test_query_raises(dp_query):
    dp_query(always, **MEAN)

def test_nested(dp_query):
    dp_query(lambda data: 1.0, **MEAN)

def test_large_claim(dp_private):
    dp_private(half, **{**BITS, "epsilon": 20})

def test_half(dp_private):
    dp_private(half, **BITS)

def test_other():
    pass
"""


@deep
@pytest.mark.statistical(1e-3)  # one sound claim
@pytest.mark.parametrize("words", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_what_measures_nothing_is_an_error_or_fails(tmp_path, words):
    (tmp_path / "test_idle.py").write_text(IDLE)
    done = session(tmp_path, "test_idle.py", *words)
    assert "1 failed, 3 passed, 2 errors" in done.stdout, done.stdout
    assert done.stdout.count("raises ValueError: no data on every run") >= 2
    assert "test_idle:half was NOT ATTACKED" in done.stdout
    assert "runs raise KeyError: 'unlucky'" in done.stdout  # noted, though it passes
    assert "1 privacy claims tested; of a false-alarm budget of 0.05 0.001 was spent" in done.stdout
    assert "Traceback" not in done.stdout


# ------------------------------------------------------------------ projects with packages of our names


SHADOWED = """
import {name}
from {name}.module import value

def bit(data, rng):
    return int(data.sum())

def test_theirs():
    assert value == 7
    assert {name}.__file__ is not None

def test_ours(dp_private):
    dp_private(bit, shape=(2,), low=0, high=1, dtype="int", epsilon=1)
"""


NAMES = ["audits", "mechanisms", "dpaccount"]
WAYS = [
    (name, start, mode)
    for name in NAMES
    for start in ("python -m pytest", "pytest")
    for mode in ("prepend", "importlib")
]
QUICK = {("audits", "pytest", "importlib"), *((name, "python -m pytest", "prepend") for name in NAMES)}


@deep
@pytest.mark.parametrize(
    ("name", "start", "mode"),
    [pytest.param(*way, marks=() if way in QUICK else deep) for way in WAYS],
)
def test_a_project_with_a_package_of_our_name_is_not_disturbed(tmp_path, name, start, mode):
    package = tmp_path / name
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "module.py").write_text("value = 7")
    (tmp_path / "test_theirs.py").write_text(SHADOWED.format(name=name))
    command = [sys.executable, "-m", "pytest"] if start != "pytest" else [str(PYTEST), "--rootdir=."]
    options = ["-q", "-p", "no:cacheprovider", f"--import-mode={mode}", "-W", "error"]
    if start == "pytest" and mode == "importlib":
        options += ["-o", "pythonpath=."]  # else such a project could not import its own package
    done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed, 1 error" in done.stdout, done.stdout + done.stderr
    (line,) = {
        line for line in done.stdout.splitlines() if line.startswith("error: dpaccount cannot run here")
    }
    assert f"its package {name} is hidden by " in line
    assert str(package / "__init__.py") in line


@deep
@pytest.mark.parametrize("name", ["bandits", "papers"])
def test_a_function_of_a_project_s_own_bandits_or_papers_is_tested(tmp_path, name):
    """Which is not ours: the process that runs it finds the project's."""
    package = tmp_path / name
    package.mkdir()
    (package / "__init__.py").write_text("def raw(data, rng):\n    return float(data.sum())\n")
    (tmp_path / "test_theirs.py").write_text(
        f"from {name} import raw\n\ndef test_raw(dp_private):\n"
        "    dp_private(raw, shape=(2,), low=0, high=1, dtype='int', epsilon=1)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed" in done.stdout, done.stdout + done.stderr
    assert f"{name}:raw is not (1, 0)-private" in done.stdout


@deep
@pytest.mark.parametrize("kind", ["a module", "a namespace"])
def test_other_things_of_our_name(tmp_path, kind):
    if kind == "a module":
        (tmp_path / "audits.py").write_text("value = 7")
    else:  # a folder without __init__.py does not hide a package
        (tmp_path / "audits").mkdir()
        (tmp_path / "audits" / "module.py").write_text("value = 7")
    (tmp_path / "test_theirs.py").write_text(
        "def f(data, rng):\n    return 1\n\n"
        "def test_ours(dp_private):\n    dp_private(f, shape=(1,), low=0, high=1, epsilon=1)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--dp-trials", "60"]
    done = subprocess.run(
        [*command, "--dp-seconds", "1e6"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ("1 error" if kind == "a module" else "1 passed") in done.stdout, done.stdout


@deep
def test_the_plugin_loads_nothing_of_ours():
    code = "import sys, pytest_dpaccount; print(sorted({m.partition('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.strip("[]\n").replace("'", "").split(", "))
    assert not loaded & {"numpy", "scipy", "hypothesis", *dpaccount_packages.folders()}


def test_a_package_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr(dpaccount_packages, "CORE", ("no_such_package_here",))
    with pytest.raises(WrongRequest, match="its package no_such_package_here is not installed"):
        pytest_dpaccount.ours()


def test_a_claim_that_passed_states_how_far_its_attack_came_and_could_have_come():
    answer = SimpleNamespace(trials=2000, epsilon_lower=0.60299, epsilon_power=4.9061)
    told = pytest_plugin._strength(SimpleNamespace(epsilon=Fraction(1)), answer)
    bounds = "epsilon >= 0.6029, and 1 is claimed; they could have shown up to 4.907"  # rounded outwards
    assert told == f"2000 runs show {bounds}"


HELD_BY_OTHERS = """
import pytest

MEAN = dict(norm="l1", bound=1, shape=(2,), low=0, high=1)

def total(data):
    return float(data.sum())

@pytest.mark.dp_private(shape=(2,), low=0, high=1, dtype="int", epsilon=1)
class TestMarked:
    def test_untested(self):
        pass

    def test_another(self, dp_query):
        dp_query(total, **MEAN)

@pytest.mark.dp_sensitivity(**MEAN)
class TestServed:
    def test_beside(self):
        pass

    def test_measured(self, dp_query):
        dp_query(total)

    class TestInside:
        def test_far(self):
            pass
"""


@deep
def test_a_marker_of_a_class_or_module_needs_its_fixture_somewhere(tmp_path):
    (tmp_path / "test_held.py").write_text(HELD_BY_OTHERS)
    done = session(tmp_path, "test_held.py")
    assert "3 passed, 2 errors" in done.stdout, done.stdout
    for name in ("test_untested", "test_another"):
        assert f"{name} has the marker dp_private without the fixture dp_private" in done.stdout
    (tmp_path / "test_held.py").write_text(
        HELD_BY_OTHERS + "\npytestmark = pytest.mark.dp_private(epsilon=1)\n"
    )
    done = session(tmp_path, "test_held.py")
    assert "5 errors" in done.stdout, done.stdout
    (tmp_path / "test_held.py").write_text(HELD_BY_OTHERS)
    done = session(tmp_path, "test_held.py::TestServed::test_beside")  # the others have it, though not now
    assert "1 passed" in done.stdout, done.stdout
