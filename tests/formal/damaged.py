"""Random edits of derivations, with conclusions and digests that fit them where any do."""

import contextlib
import copy
from fractions import Fraction

from dpaccount import checker
from dpaccount.checker import Rejected
from dpaccount.checker.derivation import infer

NUMBERS = ["0", "1", "-1", "1/2", "2", "10000000", "1/0", "2/4", "1.5", "x", "", "9" * 700]
FACTORS = (Fraction(1, 2), Fraction(9, 10), Fraction(101, 100), Fraction(2), Fraction(-1))
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
        return str(Fraction(value) * rng.choice(FACTORS))
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
