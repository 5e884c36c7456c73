"""pytest plugin: privacy and sensitivity claims about your own functions, one line each.

    def test_noisy_mean(dp_private):
        dp_private(noisy_mean, shape=(50,), low=0, high=1, epsilon=1)

    @pytest.mark.dp_sensitivity(norm="l1", bound=0.02, shape=(50,), low=0, high=1)
    def test_mean(dp_query):
        dp_query(mean)

All privacy assertions of a session together accuse a sound function with probability at most
`--dp-risk` (default 0.05).  Assertion n (in a worker of xdist, by a number that no other worker uses)
spends risk/(n(n+1)), whatever the others do, so the sum never exceeds the budget.
"""

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

Numbers = float | int | list[float] | tuple[float, ...]
RISK = "0.05"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the session's budget for false alarms."""
    group = parser.getgroup("dpaccount", "privacy and sensitivity claims")
    group.addoption(
        "--dp-risk",
        default=RISK,
        help="probability that any sound function is accused in the session (default 0.05)",
    )
    group.addoption(
        "--dp-trials", type=int, default=10_000, help="runs for one privacy claim (default 10000)"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers and open the budget."""
    config.addinivalue_line(
        "markers",
        "dp_private(epsilon, delta=0, shape, low, high, dtype='float', relation='replace-one'): dpaccount:"
        " defaults for the fixture dp_private of this test",
    )
    config.addinivalue_line(
        "markers",
        "dp_sensitivity(norm, bound, shape, low, high, dtype='float', relation='replace-one'): dpaccount:"
        " defaults for the fixture dp_query of this test",
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
    """The session's probability of a false alarm: stated, spent claim by claim, and what is left."""

    def __init__(self, risk: Fraction, worker: int = 0, workers: int = 1) -> None:
        self.risk, self.worker, self.workers = risk, worker, workers
        self.claims = 0
        self.spent = Fraction(0)

    def spend(self) -> Fraction:
        """Return the risk of the next claim; all of them, in all workers, add up to less than the budget."""
        number = self.claims * self.workers + self.worker + 1
        self.claims += 1
        share = self.risk / (number * (number + 1))
        self.spent += share
        return share


BUDGET = pytest.StashKey[Budget]()
REPORTS = pytest.StashKey[list[tuple[int, Fraction]]]()


@pytest.fixture
def dp_private(request: pytest.FixtureRequest) -> Callable[..., dict[str, Any]]:
    """dpaccount: assert (epsilon, delta)-privacy of f(data, rng); fails with the witness where it is refuted.

    dp_private(f, epsilon=…, delta=0, shape=(rows,) or (rows, columns), low=…, high=…, dtype="float",
    relation="replace-one") returns the audit's answer.  Passing proves nothing: no attack succeeded.
    """
    defaults = _marked(request, "dp_private")
    budget = request.config.stash[BUDGET]
    trials = int(request.config.getoption("--dp-trials"))

    def check(function: Callable[..., Any], **terms: Any) -> dict[str, Any]:
        from audits.alone import Asked, claim_of, option_described
        from audits.functions import audit_function
        from audits.isolation import Crew

        asked = Asked(**_options({**defaults, **terms}), subject=_name(function), trials=trials)
        share = budget.spend()
        claim = claim_of(asked)
        claim = _at_risk(claim, share)
        with Crew(_code(function), seconds=float(claim.audit.seconds)) as crew:
            answer = audit_function(crew, claim, option_described(asked), lambda _: None, early=True)
        if answer["refuted"]:
            pytest.fail(_violation(function, claim, answer, share), pytrace=False)
        return answer

    return check


@pytest.fixture
def dp_query(request: pytest.FixtureRequest) -> Callable[..., dict[str, Any]]:
    """dpaccount: assert the declared sensitivity of f(data); fails with two datasets where it is exceeded.

    dp_query(f, norm="l1", bound=…, shape=…, low=…, high=…, dtype="float", relation="replace-one")
    returns the answer of the search.  It has no false alarms.
    """
    defaults = _marked(request, "dp_sensitivity")

    def check(function: Callable[..., Any], **terms: Any) -> dict[str, Any]:
        from audits.alone import Asked, option_described
        from audits.isolation import Crew
        from audits.sensitivity import NORMS, Declared, answer, runnable, test_sensitivity

        given = {**defaults, **terms}
        norm, bound = given.pop("norm", None), given.pop("bound", None)
        if norm not in NORMS or bound is None:
            raise pytest.UsageError(f"norm is one of {', '.join(NORMS)}, and bound is a number")
        described = option_described(Asked(**_options(given), subject=_name(function)))
        declared = Declared(norm, Fraction(str(bound)), described.shape)
        with Crew(_code(function), seconds=60) as crew:
            found = test_sensitivity(crew, declared, seed=1)
        if found.refuted:
            said = f"{_name(function)} moves by {found.worst:g}, declared {norm} {bound}"
            pytest.fail(f"{said}; this test fails:\n\n{runnable(found, _name(function))}", pytrace=False)
        return answer(found)

    return check


def _marked(request: pytest.FixtureRequest, name: str) -> dict[str, Any]:
    marker = request.node.get_closest_marker(name)
    return {} if marker is None else dict(marker.kwargs)


def _options(terms: dict[str, Any]) -> dict[str, Any]:
    """Return Python values as the command line writes them."""

    def text(value: Any) -> str:
        return ",".join(map(repr, value)) if isinstance(value, list | tuple) else str(value)

    known = ("epsilon", "delta", "shape", "low", "high", "dtype", "relation", "radius")
    for key in terms:
        if key not in known:
            raise pytest.UsageError(f"unknown term {key!r}; known: {', '.join(known)}")
    return {key: text(value) for key, value in terms.items()}


def _name(function: Callable[..., Any]) -> str:
    """Return module:name of a function that a worker process can import."""
    module, name = function.__module__, function.__qualname__
    if not name.isidentifier():
        raise pytest.UsageError(f"{name} is not at the top of a module; a worker process cannot import it")
    return f"{module}:{name}"


def _code(function: Callable[..., Any]) -> Any:
    """Return the function's code, with the path of its module's outermost package."""
    from audits.isolation import Code

    module = function.__module__
    file = Path(str(sys.modules[module].__file__)).resolve()
    folder = file.parents[len(module.split(".")) - 1]
    if file.name == "__init__.py":
        folder = folder.parent
    if not folder.joinpath(*module.split(".")).with_suffix(".py").exists():
        # pytest's importlib mode names test modules after their place below the root
        return Code(f"{file.stem}:{function.__qualname__}", (str(file.parent),))
    return Code(_name(function), (str(folder),))


def _at_risk(claim: Any, share: Fraction) -> Any:
    from dataclasses import replace

    return replace(claim, audit=replace(claim.audit, confidence=1 - share))


def _violation(function: Callable[..., Any], claim: Any, answer: dict[str, Any], share: Fraction) -> str:
    witness = answer["witness"]
    promise = claim.guarantee
    return "\n".join(
        [
            f"{_name(function)} is not ({float(promise.epsilon):g}, {float(promise.delta):g})-private:"
            f" epsilon > {answer['epsilon_lower']:.4g} (wrong with probability {float(share):.2g})",
            f"left:  {json.dumps(witness['left'])[:400]}",
            f"right: {json.dumps(witness['right'])[:400]}",
            f"event: {witness['score']}; {witness['event']}",
            *(f"note:  {finding}" for finding in witness["findings"]),
        ]
    )


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Collect what a worker of xdist spent."""
    spent = getattr(node, "workeroutput", {}).get("dp_spent")
    if spent is not None:
        node.config.stash.setdefault(REPORTS, []).append((spent[0], Fraction(spent[1])))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the controlling process of xdist what this worker spent."""
    output = getattr(session.config, "workeroutput", None)
    budget = session.config.stash[BUDGET]
    if output is not None:
        output["dp_spent"] = [budget.claims, str(budget.spent)]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """State the budget, what was spent and what is left, if any privacy claim was tested."""
    budget = config.stash[BUDGET]
    parts = [(budget.claims, budget.spent), *config.stash.get(REPORTS, [])]
    claims, spent = sum(part[0] for part in parts), sum((part[1] for part in parts), Fraction(0))
    if claims:
        left = float(budget.risk - spent)
        terminalreporter.write_line(
            f"dpaccount: {claims} privacy claims tested; of a false-alarm budget of {float(budget.risk):g}"
            f" {float(spent):.4g} was spent, {left:.4g} is left"
        )
