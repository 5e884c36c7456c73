"""Random derivations over all rules, whose numbers lie at, just above and just below the edges of side conditions.

A derivation grows step by step.  A step takes a rule, premises of the kinds that the rule takes, and a witness
whose exact numbers come from the facts before it, as they are or moved by a little.  Whether the step follows or
not, the derivation that ends in it is a case; where it follows, the next step may rest on it.
"""

from fractions import Fraction

from dpaccount import checker
from dpaccount.checker import Rejected
from dpaccount.checker.derivation import infer
from dpaccount.checker.documents import Work
from dpaccount.checker.facts import RULES
from tests.dpaccount.rules.statements import DERIVATIONS

F = Fraction
REFUSED = (Rejected, ArithmeticError, ValueError, TypeError, KeyError, IndexError, AttributeError)
NAMES = ("query", "key", "because", "source")
QUERIES, KEYS = ("q", "v"), ("k", "l", "m")
RELATIONS = ("replace-one", "add-remove", "bounded-row, radius 1/2", "bounded-row, radius 1")
#: what an exact number becomes: itself mostly, a neighbour, or another size
FACTORS = (F(1), F(1), F(1), F(999, 1000), F(1001, 1000), F(1, 2), F(2), F(0), F(-1), F(1, 10**6), F(10**6))


def templates():
    """Return for each rule its steps in DERIVATIONS: witness, kinds of premises."""
    found = {rule: [] for rule in RULES}
    for steps in DERIVATIONS:
        for step in steps:
            kinds = [steps[k]["gives"][0] for k in step["from"]]
            found[step["rule"]].append((step["with"], kinds))
    return found


TEMPLATES = templates()


def is_number(value):
    return isinstance(value, str) and value.replace("/", "").lstrip("-").isdigit()


def numbers_in(value):
    """Yield the exact numbers of a fact."""
    if is_number(value):
        yield F(value)
    elif isinstance(value, list):
        for part in value:
            yield from numbers_in(part)


def varied(rng, name, value, near):
    """Return a value of a witness, or one like it."""
    if name in ("because", "source"):
        return value
    if name in ("query", "key"):
        return rng.choice(QUERIES if name == "query" else KEYS)
    if name == "relation" and rng.random() < 0.5:
        return rng.choice(RELATIONS)
    if is_number(value) and rng.random() < 0.5:
        base = rng.choice(near) if near and rng.random() < 0.6 else F(value)
        return str(base * rng.choice(FACTORS))
    if type(value) is int and rng.random() < 0.4:
        return max(0, value + rng.choice((-1, 1)))
    if isinstance(value, list) and value and rng.random() < 0.3:
        at = rng.randrange(len(value))
        return [*value[:at], varied(rng, name + " part", value[at], near), *value[at + 1 :]]
    return value


def step(rng, steps):
    """Return a next step: its rule, premises and witness."""
    kinds = [each["gives"][0] for each in steps]
    fitting = [
        (rule, given, needed)
        for rule, found in TEMPLATES.items()
        for given, needed in found
        if set(needed) <= set(kinds) and (needed or rng.random() < 0.25)
    ]
    rule, given, needed = rng.choice(fitting or [("assume_numbers", *TEMPLATES["assume_numbers"][0])])
    if rule in ("compose", "parallel"):
        needed = needed[:1] * rng.randint(1, 3)
    places = {kind: [k for k, found in enumerate(kinds) if found == kind][-4:] for kind in needed}
    before = [rng.choice(places[kind]) for kind in needed]
    if before and rng.random() < 0.7:  # of one query, so that what is put together belongs together
        query = steps[before[0]]["gives"][1]
        alike = [[j for j in places[kind] if steps[j]["gives"][1] == query] for kind in needed]
        before = [rng.choice(found or [k]) for k, found in zip(before, alike, strict=True)]
    return rule, before, given


def grown(rng, length=14):
    """Yield derivations; each is one that follows with one more step, which follows or not.

    They begin as one of DERIVATIONS does, whose next step is tried with other witnesses first.
    """
    whole = rng.choice(DERIVATIONS)
    start = rng.randrange(len(whole))
    steps = whole[:start]
    for turn in range(length):
        if turn < length // 2:
            rule, before, given = (whole[start][name] for name in ("rule", "from", "with"))
            names = False
        else:
            (rule, before, given), names = step(rng, steps), True
        near = [n for k in before for n in numbers_in(steps[k]["gives"])]
        given = {
            name: varied(rng, name, value, near) if names or name not in NAMES else value
            for name, value in given.items()
        }
        Work.spent = 0
        try:
            gives, follows = infer(rule, [steps[k]["gives"] for k in before], given), True
        except REFUSED:
            gives, follows = ["Numbers", "q", 1], False
        body = {"rule": rule, "with": given, "gives": gives}
        digest = checker.digest({**body, "from": [steps[k]["digest"] for k in before]})
        case = [*steps, {**body, "from": before, "digest": digest}]
        yield case
        if follows and turn >= length // 2 - 1:
            try:
                checker.check_derivation(case)
            except Rejected:
                continue
            steps = case
