"""pytest plugin: privacy and sensitivity claims about your own functions, one line each.

    def test_noisy_mean(dp_private):
        dp_private(noisy_mean, shape=(50,), low=0, high=1, epsilon=1)

    @pytest.mark.dp_sensitivity(norm="l1", bound=0.02, shape=(50,), low=0, high=1)
    def test_mean(dp_query):
        dp_query(mean)

All privacy assertions of a session together accuse a sound function with probability at most
`--dp-risk` (default 0.05).  Assertion n is tested at first at the risk r = risk/(n(n+1)), n = 1, 2, …; in
worker w of xdist (gw0 is w = 1; one that replaces a crashed worker has a number of its own) at
risk/(w(w+1)·n(n+1)).  These add up to at most the budget, whatever the others do and however many there are.
What it rejects is confirmed, so an assertion spends min(r, 1/1000).  One that could not have accused anybody
(NOT ATTACKED) spends nothing: the next assertion takes its number.

A test that asks for a fixture and passes without an answer from it is an error, and so is one that
has a marker without its fixture: nothing was tested.

This module has a name of its own and imports nothing of this project until a fixture is called: every
session of an environment loads it, also where the project under test has packages of our names.
"""

import importlib
import inspect
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

RISK = "0.05"
PROFILES = {"quick": (2_000, 20.0), "normal": (10_000, 60.0), "thorough": (100_000, 600.0)}  #: runs, seconds
FALSE_ALARM = Fraction(1, 1000)  #: of one claim, which `audits.attack.confirmation` limits
FIXTURES = {"dp_private": "dp_private", "dp_sensitivity": "dp_query"}  #: by the marker of the same purpose


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
        "--dp-profile",
        choices=tuple(PROFILES),
        default="normal",
        help="how much work a claim takes: quick (2000 runs, 20 s), normal (10000, 60 s), thorough (100000,"
        " 600 s)",
    )
    group.addoption("--dp-trials", type=int, help="runs for one privacy claim, in place of the profile's")
    group.addoption(
        "--dp-seconds", type=float, help="limit on the time of one claim's runs, in place of the profile's"
    )
    group.addoption("--dp-seed", type=int, default=1, help="seed of datasets and runs (default 1)")


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
    config.stash[BUDGET] = Budget(_risk(config), _place(config))
    config.stash[TALLY] = Tally(_risk(config))
    config.pluginmanager.register(Listener(config.stash[TALLY]))


def _risk(config: pytest.Config) -> Fraction:
    try:
        risk = Fraction(str(config.getoption("--dp-risk")))
    except (ValueError, ZeroDivisionError):
        risk = Fraction(0)
    if not 0 < risk < 1:
        raise pytest.UsageError("--dp-risk lies strictly between 0 and 1; 0.05 is usual")
    return risk


def _place(config: pytest.Config) -> int | None:
    """Return this process's number among xdist's workers, from 1; None without xdist."""
    worker = getattr(config, "workerinput", None)
    return None if worker is None else _number(str(worker["workerid"]))


def _number(worker: str) -> int:
    """Return the number of a worker, from 1: xdist counts on where one replaces another."""
    return int(worker.removeprefix("gw")) + 1


@dataclass(frozen=True)
class Effort:
    """How much work a claim takes, from which seed."""

    trials: int
    seconds: float
    seed: int


def _effort(config: pytest.Config) -> Effort:
    option = config.option
    trials, seconds = PROFILES[option.dp_profile]
    return Effort(
        trials if option.dp_trials is None else option.dp_trials,
        seconds if option.dp_seconds is None else option.dp_seconds,
        option.dp_seed,
    )


class Budget:
    """The probability of a false alarm that this process may spend, claim by claim.

    `worker` is its number, from 1, or None where it is alone.  `notes` are what tests that passed have to
    say.
    """

    def __init__(self, risk: Fraction, worker: int | None = None) -> None:
        self.risk, self.worker = whole_of(risk, worker), worker
        self.claims = 0
        self.spent = Fraction(0)
        self.notes: list[str] = []

    def share(self) -> Fraction:
        """Return the risk of the next claim; all of them, in all workers, add up to less than the budget."""
        return self.risk / ((self.claims + 1) * (self.claims + 2))

    def spend(self) -> None:
        """Note that the claim which was given `share` was attacked, so that it could have been accused."""
        self.spent += min(self.share(), FALSE_ALARM)
        self.claims += 1

    def said(self) -> list[Any]:
        """Return all that is spent so far, as it travels with a report, and the notes since the last one."""
        notes, self.notes = self.notes, []
        return [self.worker, self.claims, str(self.spent), notes]


def whole_of(risk: Fraction, worker: int | None) -> Fraction:
    """Return the part of the session's risk that all claims of a worker together may spend."""
    return risk if worker is None else risk / (worker * (worker + 1))


class Tally:
    """What all processes of a session spent, as their reports say.

    A worker that crashed may have spent more than it reported: it counts as having spent all it could.
    """

    def __init__(self, risk: Fraction) -> None:
        self.risk = risk
        self.by_worker: dict[int | None, tuple[int, Fraction]] = {}
        self.notes: list[str] = []

    def add(self, said: list[Any]) -> None:
        """Note what a process has said."""
        worker, claims, spent, notes = said
        self.by_worker[worker] = claims, Fraction(spent)
        self.notes += notes

    def crashed(self, worker: int) -> None:
        """Note that a worker crashed: from now on it says nothing."""
        claims, _ = self.by_worker.get(worker, (0, Fraction(0)))
        self.by_worker[worker] = claims, whole_of(self.risk, worker)

    def total(self) -> tuple[int, Fraction]:
        """Return how many claims were tested, and what was spent at most."""
        claims, spent = zip(*self.by_worker.values(), strict=True) if self.by_worker else ((), ())
        return sum(claims), sum(spent, Fraction(0))


BUDGET = pytest.StashKey[Budget]()
TALLY = pytest.StashKey[Tally]()
PASSED = pytest.StashKey[bool]()
SERVED = pytest.StashKey[set[str]]()


def ours() -> Any:
    """Return the module that does the work; raises `WrongRequest` where another package hides one of ours."""
    try:
        importlib.import_module("dpaccount_packages").need()
    except ImportError as error:
        raise WrongRequest(str(error)) from None
    return importlib.import_module("audits.pytest_plugin")


Check = Callable[..., dict[str, Any]]


def _checking(request: pytest.FixtureRequest, marker: str, answer: str) -> Iterator[Check]:
    """Yield a fixture's check by the function that answers it, with the marker's terms as defaults.

    Raises `WrongRequest` where the test passes and none of its calls was answered.
    """
    effort, budget = _effort(request.config), request.config.stash[BUDGET]
    given = {"seconds": effort.seconds, **_marked(request, marker)}
    answered = False

    def check(function: Callable[..., Any], **terms: Any) -> dict[str, Any]:
        __tracebackhide__ = True
        nonlocal answered
        try:
            work = getattr(ours(), answer)
            found: dict[str, Any] = work(function, {**given, **terms}, effort, budget, _patched(request))
        except pytest.fail.Exception:  # refuted, or said to be no test: an answer too
            answered = True
            raise
        except ours().DpaccountError as error:
            raise WrongRequest(str(error)) from None
        answered = True
        return found

    yield check
    if not answered and request.node.stash.get(PASSED, False):
        name = FIXTURES[marker]
        raise WrongRequest(f"{request.node.name} got no answer from {name}: nothing was tested; call it")


@pytest.fixture
def dp_private(request: pytest.FixtureRequest) -> Iterator[Check]:
    """dpaccount: assert (epsilon, delta)-privacy of f(data, rng); fails with the witness where it is refuted.

    dp_private(f, epsilon=…, delta=0, shape=(rows,) or (rows, columns), low=…, high=…, dtype="float",
    relation="replace-one", seconds=60) returns the audit's answer.  Of a table: rows=…, columns={name: {…}},
    id=…, max_rows=…, as_="pandas" in place of shape, low, high and dtype.  Passing proves nothing: no attack
    succeeded.  It fails too where the runs are too few to refute anything.
    """
    yield from _checking(request, "dp_private", "private")


@pytest.fixture
def dp_query(request: pytest.FixtureRequest) -> Iterator[Check]:
    """dpaccount: assert the declared sensitivity of f(data); fails with two datasets where it is exceeded.

    dp_query(f, norm="l1", bound=…, shape=…, low=…, high=…, dtype="float", relation="replace-one",
    seconds=60) returns the answer of the search; or rows=… and columns=… of a table.  It has no false alarms.
    """
    yield from _checking(request, "dp_sensitivity", "query")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Note which fixtures the tests of a class or module have that bears a marker of ours."""
    for item in items:
        for node, _ in item.iter_markers_with_node():
            node.stash.setdefault(SERVED, set()).update(getattr(item, "fixturenames", ()))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a marker without the fixture that it is for: nothing would be tested.

    One of a class or module is for its tests that have the fixture; it is refused where none has it.
    """
    item.stash[PASSED] = False
    for node, marker in item.iter_markers_with_node():
        fixture = FIXTURES.get(marker.name)
        served = node.stash.get(SERVED, set()) | set(_parameters(getattr(node, "obj", None)))
        if fixture is not None and fixture not in served:
            raise WrongRequest(
                f"{item.name} has the marker {marker.name} without the fixture {fixture}: nothing is tested;"
                f" call {fixture}"
            )


def _parameters(holder: object) -> Iterator[str]:
    """Yield the parameters of the tests in a class or module, also of those that are not run this time."""
    for name in dir(holder):
        member = getattr(holder, name, None) if name.lower().startswith("test") else None
        if inspect.isfunction(member):
            yield from inspect.signature(member).parameters
        elif inspect.isclass(member):
            yield from _parameters(member)


def _patched(request: pytest.FixtureRequest) -> str:
    """Return what the test has patched by its fixture `monkeypatch`; empty without it."""
    patch = getattr(request.node, "funcargs", {}).get("monkeypatch")
    names = [name for _, name, _ in getattr(patch, "_setattr", ())]
    return f"the test has patched {names[0]}" if names else ""


def _marked(request: pytest.FixtureRequest, name: str) -> dict[str, Any]:
    marker = request.node.get_closest_marker(name)
    return {} if marker is None else dict(marker.kwargs)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say a wrong request in one line; send along what was spent."""
    report = yield
    if call.when == "call":
        item.stash[PASSED] = call.excinfo is None
    report.dp_spent = item.config.stash[BUDGET].said()  # type: ignore[attr-defined]  # it travels too
    if call.excinfo is not None and isinstance(call.excinfo.value, WrongRequest):
        report.longrepr = f"error: {call.excinfo.value}"
        report.dp_wrong = True  # type: ignore[attr-defined]  # it travels with the report
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Count a wrong request among the errors."""
    return ("error", "E", "ERROR") if getattr(report, "dp_wrong", False) else None


class Listener:
    """Keeps the tally of a session: reports come from this process or from workers of xdist."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what was spent and noted."""
        said = getattr(report, "dp_spent", None)
        if said is not None:
            self.tally.add(said)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Note a worker of xdist that crashed."""
        if error:
            self.tally.crashed(_number(str(node.gateway.id)))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """State the budget, what was spent and what is left, if any privacy claim was tested."""
    tally = config.stash[TALLY]
    claims, spent = tally.total()
    for note in tally.notes:
        terminalreporter.write_line(f"dpaccount: note: {note}")
    if claims:
        left = float(tally.risk - spent)
        terminalreporter.write_line(
            f"dpaccount: {claims} privacy claims tested; of a false-alarm budget of {float(tally.risk):g}"
            f" {float(spent):.4g} was spent, {left:.4g} is left"
        )
