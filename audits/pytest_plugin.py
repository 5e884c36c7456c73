"""What the fixtures of the pytest plugin do; the plugin itself is the module `pytest_dpaccount`.

Errors are `DpaccountError`, of which the plugin makes one line.
"""

import sys
from collections.abc import Callable, MutableMapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace as changed

from audits.api.arguments import (
    DATA,
    MAX_SECONDS,
    MAX_TRIALS,
    Arguments,
    declared_sensitivity,
    described,
    terms_of,
)
from audits.api.on_code.audit import audit_function
from audits.api.on_code.data import described_by
from audits.api.requests import Audit
from audits.attack.confirmation import FALSE_ALARM
from audits.attack.runs import silent
from audits.cli.options import differing, short
from audits.sandbox.crew import Crew
from audits.sensitivity.search import NORMS, answer, runnable, test_sensitivity
from audits.subjects.code import Code
from audits.subjects.sources import root_of
from dpaccount.errors import DpaccountError, InputError  # noqa: F401  # pytest_dpaccount catches the first
from dpaccount.exact import to_digits, whole_argument

if TYPE_CHECKING:
    from dpaccount.schemas.results import AuditAnswer
    from pytest_dpaccount import Budget, Effort


Terms = MutableMapping[str, Any]  #: what a fixture's call and its marker say, by name


def private(
    function: Callable[..., Any], terms: Terms, effort: "Effort", budget: "Budget", patched: str = ""
) -> dict[str, Any]:
    """Audit a function at the risk that is next in the budget; see the fixture `dp_private`."""
    __tracebackhide__ = True
    seconds, name, trials = _seconds(terms), _name(function), Fraction(effort.trials)
    whole_argument("--dp-trials", trials, 10, MAX_TRIALS)  # named as the session's option
    asked = _arguments(terms, trials=trials, seed=effort.seed, early=True).request(name)
    data = described_by(name, asked.data)
    # The risk is taken before the attack and spent after it: what attacked nothing leaves it to the next.
    share = budget.share()
    asked = changed(asked, plan=replace(asked.plan, confidence=1 - share))
    with _crew(function, seconds) as crew:
        answer = audit_function(crew, asked, data, silent)
    if answer.verdict == "NOT ATTACKED":
        pytest.fail(_not_attacked(function, asked, answer), pytrace=False)
    budget.spend()
    if answer.refuted:
        pytest.fail(_violation(function, asked, answer, share), pytrace=False)
    strength = _strength(asked, answer)
    budget.notes += [f"{name}: {finding}" for finding in (strength, *answer.witness.findings)]
    _note_patched(budget, name, patched)
    return to_builtins(answer)


def query(
    function: Callable[..., Any], terms: Terms, effort: "Effort", budget: "Budget", patched: str = ""
) -> dict[str, Any]:
    """Test the declared sensitivity of a query; see the fixture `dp_query`."""
    __tracebackhide__ = True
    seconds = _seconds(terms)
    norm, bound = terms.pop("norm", None), terms.pop("bound", None)
    if norm not in NORMS or bound is None:
        raise InputError(f"norm is one of {', '.join(NORMS)}, and bound is a number")
    name, asked = _name(function), _arguments(terms, bound=bound)
    data = described(asked.terms, asked.relation, asked.radius)
    declared = declared_sensitivity(norm, asked.bound, described_by(name, data))
    with _crew(function, seconds) as crew:
        search = test_sensitivity(crew, declared, effort.seed)
    if search.refuted:
        sentence = f"{name} moves by {search.worst:g}, declared {norm} {bound}"
        pytest.fail(f"{sentence}; this test fails:\n\n{runnable(search, name)}", pytrace=False)
    if not search.measured:
        pytest.fail(f"{name} was not measured: {'; '.join(search.odd)}", pytrace=False)
    budget.notes += [f"{name}: {sentence}" for sentence in search.odd]
    _note_patched(budget, name, patched)
    return to_builtins(answer(search))


def _note_patched(budget: "Budget", name: str, patched: str) -> None:
    """Note what was patched: another process imports modules as their files are."""
    if patched:
        budget.notes.append(f"{name}: {patched}; another process ran it, with modules as their files are")


CLAIMED = ("epsilon", "delta", "radius", "relation")
TABLE = ("rows", "id", "max_rows", "as_")  #: terms of a table, next to its columns


def _arguments(terms: Terms, **more: object) -> Arguments:
    """Return the terms of a test as arguments of a request, with what the session says."""
    for key in terms:
        if key not in (*CLAIMED, *DATA, *TABLE):
            raise InputError(f"unknown term {key!r}", f"known: {', '.join((*CLAIMED, *DATA))}")
    data = {key: terms[key] for key in DATA if key in terms}
    if isinstance(data.get("columns"), dict):  # as in [subject.data] of a claim
        data["columns"] = {key.rstrip("_"): terms[key] for key in ("columns", *TABLE) if key in terms}
    relation = {"relation": str(terms["relation"])} if "relation" in terms else {}
    return Arguments.read({**terms, **relation, **more, "terms": terms_of(data)})


def _seconds(terms: Terms) -> float:
    seconds = terms.pop("seconds", 60.0)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= MAX_SECONDS:
        raise InputError(f"seconds is {seconds!r}", f"give a number above 0 and at most {MAX_SECONDS}")
    return float(seconds)


def _crew(function: Callable[..., Any], seconds: float) -> Crew:
    crew = Crew(_code(function), seconds=seconds)
    if crew.kind != "function":
        crew.close()
        raise InputError(f"{_name(function)} is no function of the data", "name one")
    return crew


def _name(function: Callable[..., Any]) -> str:
    """Return module:name of a function of a module; a lambda or local function has a name for people only."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if not callable(function) or isinstance(function, type) or _module_file(function) is None:
        raise InputError(f"{function!r:.70} is not a function of a module", "name one")
    return f"{module}:{name or type(function).__qualname__}"


def _module_file(function: Callable[..., Any]) -> str | None:
    return getattr(sys.modules.get(str(getattr(function, "__module__", None))), "__file__", None)


def _by_name(function: Callable[..., Any]) -> bool:
    """Say whether a worker process that imports the module finds this very function under its name.

    All others travel by value: lambdas, local functions, and what only bears another's name.
    """
    name = getattr(function, "__qualname__", "")
    return name.isidentifier() and getattr(sys.modules[function.__module__], name, None) is function


def _code(function: Callable[..., Any]) -> Any:
    """Return the function's code, with the path of its module's outermost package; or the function itself."""
    if not _by_name(function):
        return Code(
            _name(function), tuple(path or str(Path.cwd()) for path in sys.path), value=_sent(function)
        )
    module, file = function.__module__, Path(str(_module_file(function))).resolve()
    folder = root_of(module, file)
    if not folder.joinpath(*module.split(".")).with_suffix(".py").exists():
        # pytest's importlib mode names test modules after their place below the root
        return Code(f"{file.stem}:{function.__qualname__}", (str(file.parent),))
    return Code(_name(function), (str(folder),))


def _sent(function: Callable[..., Any]) -> bytes:
    """Return a function as it travels: by cloudpickle, with all that it uses of its own module."""
    import cloudpickle

    own = sys.modules.get(str(getattr(function, "__module__", None)))
    by_name = own is None or own.__name__ in cloudpickle.list_registry_pickle_by_value()
    try:
        if by_name:
            return bytes(cloudpickle.dumps(function))
        cloudpickle.register_pickle_by_value(own)
        try:
            return bytes(cloudpickle.dumps(function))
        finally:
            cloudpickle.unregister_pickle_by_value(own)
    except Exception as error:  # pickling raises whatever objects raise
        raise InputError(f"{_name(function)} cannot be sent to another process: {error}") from None


def _strength(question: Audit, answer: "AuditAnswer") -> str:
    """Return what the attack on a function that passed showed, and what its runs could have shown."""
    shown = to_digits(answer.epsilon_lower, up=False, digits=4)
    most = to_digits(answer.epsilon_power, up=True, digits=4)
    return (
        f"{answer.trials} runs show epsilon >= {shown}, and {float(question.epsilon):g} is claimed;"
        f" they could have shown up to {most}"
    )


def _not_attacked(function: Callable[..., Any], question: Audit, answer: "AuditAnswer") -> str:
    epsilon = float(question.epsilon)
    most = to_digits(answer.epsilon_power, up=True, digits=4)
    lines = [
        f"{_name(function)} was NOT ATTACKED: its {answer.trials} runs could have shown no more than"
        f" epsilon = {most}, and {epsilon:g} is claimed; allow more runs (--dp-trials)"
        " or more time (--dp-seconds)",
        *(f"note:  {finding}" for finding in answer.witness.findings),
    ]
    return "\n".join(lines)


def _violation(function: Callable[..., Any], question: Audit, answer: "AuditAnswer", share: Fraction) -> str:
    witness = differing(to_builtins(answer.witness))
    return "\n".join(
        [
            f"{_name(function)} is not ({float(question.epsilon):g}, {float(question.delta):g})-private:"
            f" epsilon > {to_digits(answer.epsilon_lower, up=False, digits=4)}"
            f" (wrong with probability {to_digits(min(share, FALSE_ALARM), up=True, digits=2)})",
            f"left:  {short(witness['left'])[:400]}",
            f"right: {short(witness['right'])[:400]}",
            f"others: {witness['base']}",
            f"event: {witness['score']}; {witness['event']}",
            *(f"note:  {finding}" for finding in witness["findings"]),
        ]
    )
