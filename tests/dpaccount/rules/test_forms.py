"""What the members of a witness may be; and the kernel's functions write the steps that the checker infers."""

import contextlib
import copy
from fractions import Fraction

import pytest

from dpaccount import proof
from dpaccount.checker.derivation import check_derivation
from dpaccount.checker.facts import RULES, Optional
from dpaccount.checker.intervals import number, positive
from dpaccount.errors import RuleError
from dpaccount.proof import write
from tests.dpaccount.rules.asked import REFUSED, gives
from tests.dpaccount.rules.cases import HONEST
from tests.dpaccount.rules.statements import DERIVATIONS
from tests.looped import looped

F = Fraction


def test_every_rule_is_among_them():
    assert {step["rule"] for steps in DERIVATIONS for step in steps} >= set(RULES)
    assert {case[0] for case in HONEST} == set(RULES)


@looped(("rule", "premises", "given"), [case[:3] for case in HONEST])
def test_witnesses_hold_what_they_should_and_premises_are_of_their_kind(rule, premises, given):
    optional = (
        {"grid", "bound_squared", "order", "most", "ends"}
        if rule not in ("discrete_gaussian", "fine_gaussian")
        else set()
    )
    optional |= {"group": {"delta"}, "moved": {"radius"}}.get(rule, set())
    for name in given.keys() - optional:
        refused(rule, premises, {k: v for k, v in given.items() if k != name})
    refused(rule, premises, {**given, "more": "1"})
    refused(rule, [*premises, ["Split", "q", ["a"]]], given)
    for at in range(len(premises)):
        if rule not in ("compose", "parallel"):  # one premise is enough there
            refused(rule, premises[:at] + premises[at + 1 :], given)
        other = copy.deepcopy(premises)
        other[at][0] = "Nothing"
        refused(rule, other, given)
    if "key" in given:
        refused(rule, premises, {**given, "key": 1})
    if rule.startswith("assume_"):
        refused(rule, premises, {**given, "query": 1})


@looped(("rule", "premises", "given"), [case[:3] for case in HONEST])
def test_a_list_is_never_read_from_the_characters_of_a_text(rule, premises, given):
    for name in [name for name, value in given.items() if isinstance(value, list)]:
        for other in ("2", "ab", dict.fromkeys("ab"), {}):
            refused(rule, premises, {**given, name: other})
            if given[name] and isinstance(given[name][0], list):
                refused(rule, premises, {**given, name: [other] * len(given[name])})


def refused(rule, premises, given):
    with pytest.raises(REFUSED):
        gives(rule, premises, given)


# ------------------------------------------------------------------ the kernel's functions

CALLED = {
    "participations": "times",
    "separation": "apart",
    "releases": "keys",
}  #: otherwise than in a witness
ABSENT = {"laplace": {"grid": None}, "moved": {"radius": None}}
#: premises that the kernel could add itself
NAMED = {"fine_gaussian": {"numbers": 1}, "mixture": {"choice": 0}}


def called(step, premises):
    """Return the function of a step's rule, premises, and each member of its witness by its name."""
    rule, given = step["rule"], dict(ABSENT.get(step["rule"], {}))
    for name, value in step["with"].items():
        reader = RULES[rule].members[name]
        exactly = (reader.of if isinstance(reader, Optional) else reader) in (number, positive)
        given[CALLED.get(name, name)] = F(value) if exactly else value
    named = {"contribution": 2} if rule == "factorised" and len(premises) > 2 else NAMED.get(rule, {})
    given |= {name: premises[at] for name, at in named.items()}
    rest = [premise for at, premise in enumerate(premises) if at not in named.values()]
    return getattr(proof, rule), rest, given


def floated(value):
    """Yield a member with one of its numbers as a float, one after the other."""
    if isinstance(value, list):
        for k, each in enumerate(value):
            yield from ([*value[:k], other, *value[k + 1 :]] for other in floated(each))
    elif isinstance(value, int | str | F):
        with contextlib.suppress(ValueError):
            yield float(F(value))


@looped("steps", DERIVATIONS)
def test_every_function_writes_what_it_is_given(steps):
    """Members are passed by name in any order; floats are refused; the checker accepts each step."""
    theorems = []
    for step in steps:
        rule, premises, given = called(step, [theorems[k] for k in step["from"]])
        for name, other in [(name, other) for name, value in given.items() for other in floated(value)]:
            with pytest.raises(RuleError, match="exact, found float"):
                rule(*premises, **{**given, name: other})
        theorems.append(rule(*premises, **given))
        assert write(theorems[-1])[-1]["digest"] == step["digest"]
    assert check_derivation(steps) == [step["gives"] for step in steps]
