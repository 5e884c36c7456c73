"""pytest plugin: privacy and sensitivity claims about your own functions, one line each.

    def test_noisy_mean(dp_private):
        dp_private(noisy_mean, shape=(50,), low=0, high=1, epsilon=1)

    @pytest.mark.dp_sensitivity(norm="l1", bound=0.02, shape=(50,), low=0, high=1)
    def test_mean(dp_query):
        dp_query(mean)

All privacy assertions of a session together accuse a sound function with probability at most
`--dp-risk` (default 0.05).  Assertion n (in a worker of xdist, by a number that no other worker uses)
spends risk/(n(n+1)), whatever the others do, so the sum never exceeds the budget.  One that could not
have accused anybody (NOT ATTACKED) spends nothing: the next assertion takes its number.

This module has a name of its own and imports nothing of this project until a fixture is called: every
session of an environment loads it, also where the project under test has packages of our names.
"""

import importlib
import importlib.util
from collections.abc import Callable, Generator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

RISK = "0.05"
PACKAGES = ("dpaccount", "mechanisms", "bandits", "audits")


class WrongRequest(Exception):  # noqa: N818
    """What was asked cannot be tested: one line, reported as an error rather than a failure."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the session's budget for false alarms, and how much work a claim may take."""
    group = parser.getgroup("dpaccount", "privacy and sensitivity claims")
    group.addoption(
        "--dp-risk",
        default=RISK,
        help="probability that any sound function is accused in the session (default 0.05)",
    )
    group.addoption(
        "--dp-trials", type=int, default=10_000, help="runs for one privacy claim (default 10000)"
    )
    group.addoption(
        "--dp-seconds", type=float, default=60.0, help="limit on the time of one claim's runs (default 60)"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers and open the budget."""
    config.addinivalue_line(
        "markers",
        "dp_private(epsilon, delta=0, shape, low, high, dtype='float', relation='replace-one', seconds=60):"
        " dpaccount: defaults for the fixture dp_private of this test",
    )
    config.addinivalue_line(
        "markers",
        "dp_sensitivity(norm, bound, shape, low, high, dtype='float', relation='replace-one', seconds=60):"
        " dpaccount: defaults for the fixture dp_query of this test",
    )
    config.stash[BUDGET] = Budget(_risk(config), *_place(config))


def _risk(config: pytest.Config) -> Fraction:
    try:
        risk = Fraction(str(config.getoption("--dp-risk")))
    except (ValueError, ZeroDivisionError):
        risk = Fraction(0)
    if not 0 < risk < 1:
        raise pytest.UsageError("--dp-risk lies strictly between 0 and 1; 0.05 is usual")
    return risk


def _place(config: pytest.Config) -> tuple[int, int]:
    """Return this process's number among xdist's workers, and how many there are."""
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return 0, 1
    return int(str(worker["workerid"]).removeprefix("gw") or 0), int(worker["workercount"])


class Budget:
    """The session's probability of a false alarm: stated, spent claim by claim, and what is left.

    `notes` are what tests that passed have to say.
    """

    def __init__(self, risk: Fraction, worker: int = 0, workers: int = 1) -> None:
        self.risk, self.worker, self.workers = risk, worker, workers
        self.claims = 0
        self.spent = Fraction(0)
        self.notes: list[str] = []

    def share(self) -> Fraction:
        """Return the risk of the next claim; all of them, in all workers, add up to less than the budget."""
        number = self.claims * self.workers + self.worker + 1
        return self.risk / (number * (number + 1))

    def spend(self) -> None:
        """Note that the claim which was given `share` was attacked, so that it could have been accused."""
        self.spent += self.share()
        self.claims += 1


BUDGET = pytest.StashKey[Budget]()
REPORTS = pytest.StashKey[list[tuple[int, Fraction]]]()


def ours() -> Any:
    """Return the module that does the work; raises `WrongRequest` where another package hides one of ours."""
    folder = Path(__file__).resolve().parent
    for name in PACKAGES:
        found = _file_of(name)
        if found is None or found.resolve() != folder / name / "__init__.py":
            where = "is not installed" if found is None else f"is hidden by {found}"
            raise WrongRequest(
                f"dpaccount cannot run here: its package {name} {where};"
                " run `pytest` instead of `python -m pytest`, or give yours another name"
            )
    return importlib.import_module("audits.pytest_plugin")


def _file_of(name: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    places = [*filter(None, [spec.origin]), *(spec.submodule_search_locations or ())]
    return Path(places[0])


@pytest.fixture
def dp_private(request: pytest.FixtureRequest) -> Callable[..., dict[str, Any]]:
    """dpaccount: assert (epsilon, delta)-privacy of f(data, rng); fails with the witness where it is refuted.

    dp_private(f, epsilon=…, delta=0, shape=(rows,) or (rows, columns), low=…, high=…, dtype="float",
    relation="replace-one", seconds=60) returns the audit's answer.  Passing proves nothing: no attack
    succeeded.  It fails too where the runs are too few to refute anything.
    """
    options, budget = request.config.option, request.config.stash[BUDGET]
    given = {"seconds": options.dp_seconds, **_marked(request, "dp_private")}

    def check(function: Callable[..., Any], **terms: Any) -> dict[str, Any]:
        __tracebackhide__ = True
        answer: dict[str, Any] = ours().private(function, {**given, **terms}, options.dp_trials, budget)
        return answer

    return check


@pytest.fixture
def dp_query(request: pytest.FixtureRequest) -> Callable[..., dict[str, Any]]:
    """dpaccount: assert the declared sensitivity of f(data); fails with two datasets where it is exceeded.

    dp_query(f, norm="l1", bound=…, shape=…, low=…, high=…, dtype="float", relation="replace-one",
    seconds=60) returns the answer of the search.  It has no false alarms.
    """
    budget = request.config.stash[BUDGET]
    given = {"seconds": request.config.option.dp_seconds, **_marked(request, "dp_sensitivity")}

    def check(function: Callable[..., Any], **terms: Any) -> dict[str, Any]:
        __tracebackhide__ = True
        answer: dict[str, Any] = ours().query(function, {**given, **terms}, budget)
        return answer

    return check


def _marked(request: pytest.FixtureRequest, name: str) -> dict[str, Any]:
    marker = request.node.get_closest_marker(name)
    return {} if marker is None else dict(marker.kwargs)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say a wrong request in one line."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, WrongRequest):
        report.longrepr = f"error: {call.excinfo.value}"
        report.dp_wrong = True  # type: ignore[attr-defined]  # it travels with the report
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Count a wrong request among the errors."""
    return ("error", "E", "ERROR") if getattr(report, "dp_wrong", False) else None


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Collect what a worker of xdist spent and noted."""
    spent = getattr(node, "workeroutput", {}).get("dp_spent")
    if spent is not None:
        node.config.stash.setdefault(REPORTS, []).append((spent[0], Fraction(spent[1])))
        node.config.stash[BUDGET].notes += spent[2]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the controlling process of xdist what this worker spent."""
    output = getattr(session.config, "workeroutput", None)
    budget = session.config.stash[BUDGET]
    if output is not None:
        output["dp_spent"] = [budget.claims, str(budget.spent), budget.notes]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """State the budget, what was spent and what is left, if any privacy claim was tested."""
    budget = config.stash[BUDGET]
    parts = [(budget.claims, budget.spent), *config.stash.get(REPORTS, [])]
    claims, spent = sum(part[0] for part in parts), sum((part[1] for part in parts), Fraction(0))
    for note in budget.notes:
        terminalreporter.write_line(f"dpaccount: note: {note}")
    if claims:
        left = float(budget.risk - spent)
        terminalreporter.write_line(
            f"dpaccount: {claims} privacy claims tested; of a false-alarm budget of {float(budget.risk):g}"
            f" {float(spent):.4g} was spent, {left:.4g} is left"
        )
