"""Kernel and checker are two programs: on thousands of damaged derivations they must agree.

What the checker accepts the kernel proves, with the same words; so an edit is rejected, or it leaves a
statement that another program, with other arithmetic, proves too.
"""

import contextlib
import copy
import random
from fractions import Fraction

import pytest

from dpaccount import checker
from dpaccount.checker import Rejected
from dpaccount.checker.derivation import check_derivation, infer
from dpaccount.checker.facts import RULES
from tests.dpaccount.rules.cases import HONEST
from tests.dpaccount.rules.programs import REFUSALS, WITNESSES, by_checker, proved_again
from tests.dpaccount.rules.statements import DERIVATIONS
from tests.looped import looped

F = Fraction


def test_every_rule_is_among_them():
    used = {step["rule"] for steps in DERIVATIONS for step in steps}
    assert used >= set(RULES) | set(WITNESSES)
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
    with pytest.raises(REFUSALS["checker"]):
        by_checker(rule, premises, given)


@looped("steps", DERIVATIONS)
def test_both_prove_the_same(steps):
    assert check_derivation(steps) == proved_again(steps) == [step["gives"] for step in steps]


NUMBERS = ["0", "1", "-1", "1/2", "2", "10000000", "1/0", "2/4", "1.5", "x", "", "9" * 700]
OTHERS = [None, True, 0, 1, 2, 3, -1, 10**30, 0.5, [], {}, "replace-one", "add-remove", "local", "coin"]


def damaged(rng, value):  # noqa: PLR0911
    """Return a random edit of one place of a JSON value: another value, a swap, a loss, a repetition."""
    if isinstance(value, dict) and value:
        key = rng.choice(sorted(value))
        if rng.random() < 0.05:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: damaged(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.95:
        at, action = rng.randrange(len(value)), rng.random()
        if action < 0.05:
            return value[:at] + value[at + 1 :]
        if action < 0.1:
            return [*value, value[at]]
        if action < 0.15:
            return rng.sample(value, len(value))
        return [*value[:at], damaged(rng, value[at]), *value[at + 1 :]]
    if isinstance(value, str) and value.replace("/", "").lstrip("-").isdigit() and rng.random() < 0.7:
        return str(F(value) * rng.choice([F(1, 2), F(9, 10), F(101, 100), F(2), F(-1)]))
    if type(value) is int and rng.random() < 0.7:
        return value + rng.choice([-1, 1])
    return rng.choice(NUMBERS + OTHERS)


def honest_digests(steps):
    for step in steps:
        body = {"rule": step["rule"], "with": step["with"], "gives": step["gives"]}
        step["digest"] = checker.digest({**body, "from": [steps[k]["digest"] for k in step["from"]]})


def forged(rng, steps):
    """Return damaged steps with conclusions and digests made to fit where the checker's rules allow any."""
    steps = damaged(rng, copy.deepcopy(steps))
    with contextlib.suppress(
        Rejected, ArithmeticError, KeyError, TypeError, IndexError, AttributeError, ValueError
    ):
        facts = []
        for step in steps:
            facts.append(infer(step["rule"], [facts[k] for k in step["from"]], step["with"]))
            step["gives"] = facts[-1]
    with contextlib.suppress(KeyError, TypeError, IndexError, AttributeError, ValueError):
        honest_digests(steps)
    return steps


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_what_the_checker_accepts_the_kernel_proves(seed):
    """1,000 damaged derivations a seed, whose later steps were made consistent with the damage."""
    rng = random.Random(seed)
    accepted = 0
    for _ in range(1000):
        steps = forged(rng, rng.choice(DERIVATIONS))
        try:
            facts = check_derivation(steps)
        except Rejected:
            continue
        accepted += 1
        assert proved_again(steps) == facts
    assert 50 < accepted < 700  # the damage is neither always harmless nor always fatal
