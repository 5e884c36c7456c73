"""Random derivations over all rules: premises that fit, and numbers at, just above and just below the edges.

A derivation grows from a pool of lines.  A turn takes a rule, a premise from the pool that the rule takes, such
premises beside it as belong to it, and a witness whose numbers come from the facts before it, as they are or moved by
a little.  What belongs to it is made where the pool has none: a hypothesis on the same query, a group of as many
rows as a person has.  Whether the step follows or not, the derivation that ends in it is a case; where it
follows, it joins the pool.  What a step gives is inferred from what the lines before it say on paper, where rows
and persons have one word: a rule that mixes them gives what a careless checker would accept.
"""

import math
from fractions import Fraction

from dpaccount import checker
from dpaccount.checker import Rejected
from dpaccount.checker.derivation import followed, infer
from dpaccount.checker.documents import Work
from dpaccount.checker.facts import RULES
from tests.dpaccount.rules.statements import DERIVATIONS

F = Fraction
REFUSED = (Rejected, ArithmeticError, ValueError, TypeError, KeyError, IndexError, AttributeError)
QUERIES, KEYS = ("q", "v"), ("k", "l", "m")
RELATIONS = ("replace-one", "add-remove", "bounded-row, radius 1/2", "bounded-row, radius 1")
WORDS = (
    "everyone",
    "others",
    "public",
    "coin",
    "dp-output",
    "event",
    "distance",
    "central",
    "local",
    "other",
)
#: what an exact number becomes: itself mostly, a neighbour, or another size
FACTORS = (F(1), F(1), F(1), F(999, 1000), F(1001, 1000), F(1, 2), F(2), F(0), F(-1), F(1, 10**6), F(10**6))
NEARLY = (F(1), F(1), F(1), F(1), F(999, 1000), F(1001, 1000), F(2))
OFTEN = {"query": 0.1, "key": 0.1, "releases": 0.2, "parts": 0.2, "cells": 0.2}  #: a name is varied
MOST_EPSILON = 1000  #: of pure DP as GDP: at 10,000 the extracted checker has not the digits, and refuses
SEVERAL = ("compose", "parallel", "mixture")
WORTH_MORE = (
    "persons",
    "group",
    "compose",
    "mixture",
    "partition",
    "replace_one",
    "nodes",
    "parallel",
    "local_view",
)


def templates():
    """Return for each rule its steps in DERIVATIONS: witness, kinds of premises."""
    found = {rule: [] for rule in RULES}
    for steps in DERIVATIONS:
        for step in steps:
            kinds = [steps[k]["gives"][0] for k in step["from"]]
            found[step["rule"]].append((step["with"], kinds))
    return found


TEMPLATES = templates()
TURNS = [
    rule for rule in RULES for _ in range(8 if rule in WORTH_MORE else 2 if TEMPLATES[rule][0][1] else 1)
]


# ------------------------------------------------------------------ what is varied


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
    if name == "because":
        return value
    if name in ("query", "key"):
        return rng.choice(QUERIES if name == "query" else KEYS)
    if name == "relation" and rng.random() < 0.5:
        return rng.choice(RELATIONS)
    if is_number(value):
        base = rng.choice(near) if near and rng.random() < 0.6 else F(value)
        return str(base * rng.choice(FACTORS)) if rng.random() < 0.5 else value
    if type(value) is int:
        return rng.choice((max(0, value - 1), value + 1, 0)) if rng.random() < 0.4 else value
    if isinstance(value, str):
        return rng.choice(WORDS) if rng.random() < 0.2 else value
    if isinstance(value, list) and value and rng.random() < 0.5:
        at = rng.randrange(len(value))
        others = ([varied(rng, name + " part", value[at], near)], [], [value[at]] * 2)
        return [*value[:at], *rng.choice((*others[:1] * 3, *others)), *value[at + 1 :]]
    return value


def damaged(rng, before):
    """Return premises of which one is missing, another one, or twice there."""
    at = rng.randrange(len(before))
    return rng.choice((before[:at] + before[at + 1 :], [*before, before[at]], before[::-1]))


# ------------------------------------------------------------------ what fits


class Pool:
    """The lines so far, all of which follow."""

    def __init__(self, *derivations):
        self.steps, self.done, self.of_persons = [], [], []
        for steps in derivations:
            places = []
            for step in steps:
                same = [k for k, old in enumerate(self.steps) if old["digest"] == step["digest"]]
                if not same:
                    self.tried(step["rule"], [places[k] for k in step["from"]], step["with"])
                places.append(same[0] if same else len(self.steps) - 1)

    def of(self, kind, fits=lambda _: True):
        """Return the places of facts of a kind, as written, that fit."""
        gives = [step["gives"] for step in self.steps]
        return [k for k, fact in enumerate(gives) if fact[0] == kind and fits(fact)]

    def keys(self, place):
        return sorted(self.done[place].drawn)

    def tried(self, rule, before, given):
        """Return the derivation that ends in this step, which joins the pool if it follows."""
        Work.begin()
        wires = [self.steps[k]["gives"] for k in before]
        try:
            gives = infer(rule, wires, given)
        except REFUSED:
            gives = ["Numbers", "q", 1]
        body = {"rule": rule, "with": given, "gives": gives}
        digest = checker.digest({**body, "from": [self.steps[k]["digest"] for k in before]})
        step = {**body, "from": before, "digest": digest}
        case = [*self.steps, step]
        try:
            self.done.append(followed(step, self.done))
            self.steps.append(step)
            self.of_persons.append(rule == "persons" or any(self.of_persons[k] for k in before))
        except REFUSED:
            pass
        return case


#: what the first premise of a rule should be, as written
FIRST = {
    "laplace": lambda f: f[2] == "l1",
    "sparse_vector": lambda f: f[2] == "each",
    "finite": lambda f: f[2] == "points" and f[5][:2] == [[0], [1]],
    "shuffled": lambda f: f[2] == "points" and f[5][:2] == [[0], [1]],
    "stable_histogram": lambda f: f[2] == "cell",
    "joint": lambda f: f[2] == "rank-one",
    "stream_l1": lambda f: f[2] == "interval",
    "differences": lambda f: f[2] in ("points", "cell"),
    "nodes": lambda f: f[5] is None and "groups" not in f[3] and f[4] == "central",
    "local": lambda f: f[5] is None and f[3] == "replace-one" and f[4] == "central",
    "parallel": lambda f: f[5] is not None,
    "partition": lambda f: f[3] == "add-remove" and f[4] == "central",
    "persons": lambda f: f[5] is None and f[4] == "central" and "-row" not in f[3] and "rounds" not in f[3],
    "replace_one": lambda f: f[3].startswith("add-remove"),
    "within": lambda f: f[3].startswith("bounded-row"),
    "local_view": lambda f: f[4] == "local",
    "post_process": lambda f: f[4] == "central",
    "billboard": lambda f: f[4] == "central",
    "group": lambda f: f[2][0] not in ("renyi", "lattice", "bounded-range"),
    "despite": lambda f: f[2][0] == "approximate",
    "to_pure": lambda f: f[2][0] == "bounded-range",
    "to_gdp": lambda f: f[2][0] in ("pure", "bounded-range"),
    "to_near_gdp": lambda f: f[2][0] == "gdp",
    "to_renyi": lambda f: f[2][0] == "zcdp",
    "to_zcdp": lambda f: f[2][0] in ("pure", "gdp", "lattice", "bounded-range"),
    "refute": lambda f: f[2] in ("gaussian", "laplace", "event"),
    "apart": lambda f: f[2] in ("number", "vector", "symmetric"),
}
FIRST |= dict.fromkeys(("exponential", "permute_and_flip"), lambda f: f[2] == "range")
FIRST |= dict.fromkeys(("gaussian", "discrete_gaussian", "fine_gaussian"), lambda f: f[2].endswith("squared"))
FIRST |= dict.fromkeys(
    ("centred", "factorised", "buffered", "k_norm"), lambda f: f[2] == "l2-squared" and f[5] is None
)


def alike(one, other):
    """Return whether two statements on privacy are of one measure, relation and observer, as written."""
    return (one[2][0], one[3], one[4]) == (other[2][0], other[3], other[4])


class Turn:
    """One rule with what it needs: each part is a step that is tried, and then a case."""

    def __init__(self, rng, pool):
        self.rng, self.pool = rng, pool

    def cases(self, rule):
        """Yield a case for every step that the turn tries; the last one is by the rule itself."""
        rng, pool = self.rng, self.pool
        given, kinds = rng.choice(TEMPLATES[rule])
        first = next((kind for kind in kinds if kind not in ("Choice", "Split")), None)
        if first is None:
            yield self.tried(rule, [], given, named=rng.random() < 0.9)
            return
        fits = FIRST.get(rule) if rng.random() < 0.95 else None
        places = pool.of(first, fits or (lambda _: True))[-8:]
        if rule in ("persons", "replace_one") and places and rng.random() < 0.9:
            places = yield from self.grouped(rule, places)
        if not places:
            return
        persons = [k for k in places if pool.of_persons[k]]
        at = rng.choice(persons if persons and rng.random() < 0.6 else places)
        fact = pool.steps[at]["gives"]
        if rule == "to_gdp" and max(numbers_in(fact[2]), default=0) > MOST_EPSILON:
            return
        if rule in SEVERAL:
            more = [k for k in pool.of("Private", lambda f: alike(f, fact)) if k != at or rng.random() < 0.2]
            before = [at, *rng.sample(more, min(len(more), rng.randint(0, 2)))]
            if rule == "mixture":
                yield from self.chosen(before)
                before = [len(pool.steps) - 1, *before]
        elif rule == "partition":
            before = yield from self.split(at)
        else:
            before = [at]
            for kind in kinds[1:]:
                beside = yield from self.beside(rule, kind, at, given)
                before += [beside]
        given = self.witness(rule, fact, given)
        yield self.tried(rule, before, given, named=False)

    def tried(self, rule, before, given, *, named):
        """Try a step, of which some things may be varied: a name that fits less often."""
        rng, pool = self.rng, self.pool
        near = [n for k in before for n in numbers_in(pool.steps[k]["gives"])]
        for name, value in given.items():
            if rng.random() < (0.3 if named else OFTEN.get(name, 0.3)):
                given = {**given, name: varied(rng, name, value, near)}
        if "key" in given and rng.random() < 0.6:
            given = {**given, "key": f"key {len(pool.steps)}"}
        if before and rng.random() < 0.06:
            before = damaged(rng, before)
        return pool.tried(rule, before, given)

    def grouped(self, rule, places):
        """Make groups, and for a replaced record of two, where the pool has none."""
        rng, pool = self.rng, self.pool
        have = [k for k in places if "groups of" in pool.steps[k]["gives"][3]]
        if have and rng.random() < 0.5:
            return have
        single = [k for k in places if k not in have and FIRST["group"](pool.steps[k]["gives"])]
        if not single:
            return have or places
        at, given = rng.choice(single), {"size": 2 if rule == "replace_one" else rng.randint(2, 4)}
        yield self.tried("group", [at], self.witness("group", pool.steps[at]["gives"], given), named=False)
        return [len(pool.steps) - 1] if pool.steps[-1]["rule"] == "group" else have

    def beside(self, rule, kind, at, given):
        """Return a premise that belongs to another one: of the pool, or made."""
        rng, pool = self.rng, self.pool
        fact = pool.steps[at]["gives"]
        known = pool.of(kind, lambda f: f[1] == fact[1])
        if kind == "Contribution" or (known and rng.random() < 0.2):
            return rng.choice(known or pool.of(kind) or [at])
        maker = {
            **{"Persons": "assume_persons", "Rare": "assume_rare", "View": "assume_view"},
            **{"Numbers": "assume_numbers", "Rounds": "assume_rounds", "Covered": "assume_covers"},
        }[kind]
        made = {**rng.choice(TEMPLATES[maker])[0], "query": fact[1]}
        if kind == "View":
            named = {"query": f"view {len(pool.steps)}", "releases": pool.keys(at)}
            made |= {**named, "audience": {"billboard": "others"}.get(rule, "everyone")}
        if kind == "Numbers":
            made["most"] = given["coordinates"]
        if kind == "Rounds" and rule == "stream_l1":
            made |= {"participations": 2, "separation": made["rounds"]}
        if kind == "Persons":
            rows, comma, many = fact[3].rpartition(", groups of ")
            rows, most = (rows, int(many)) if comma else (many, 2)
            made |= {"rows": rows, "relation": rng.choice((rows, "replace-one")), "most": most}
        if kind == "Covered" and rule == "local":
            made["covers"] = [[1, 1], [2, 2]]
        if kind == "Covered" and rule == "nodes":
            first = rng.randint(1, 6)
            made["covers"] = [[first, first + rng.randint(0, 2)] for _ in range(rng.randint(1, 2))]
        yield self.tried(maker, [], made, named=False)
        return len(pool.steps) - 1

    def chosen(self, before):
        """Make the choice among parts."""
        subjects = [self.pool.steps[k]["gives"][1] for k in before]
        parts = [self.pool.keys(k) for k in before]
        given = {"query": " or ".join(subjects), "parts": parts, "because": "t"}
        yield self.tried("assume_choice", [], given, named=False)

    def split(self, at):
        """Return cells that are alike, and of each also the statement on replaced records, if all have one."""
        rng, pool = self.rng, self.pool
        fact = pool.steps[at]["gives"]
        others = pool.of("Private", lambda f: alike(f, fact) and f[1] != fact[1])
        cells = [at, *rng.sample(others, min(len(others), rng.randint(0, 1)))]
        names, swaps = [pool.steps[k]["gives"][1] for k in cells], []
        for k, name in zip(cells, names, strict=True):
            same = pool.of("Private", lambda f, name=name: f[1] == name and f[3] == "replace-one")
            swaps += [j for j in same if pool.done[j].drawn == pool.done[k].drawn][-1:]
        given = {"query": "p", "cells": names, "because": "t"}
        yield self.tried("assume_split", [], given, named=False)
        both = swaps if len(swaps) == len(cells) and rng.random() < 0.8 else []
        return [len(pool.steps) - 1, *both, *cells]

    def witness(self, rule, fact, given):
        """Return a witness that may just do, where the numbers of the premise say what would."""
        rng, nearly = self.rng, self.rng.choice(NEARLY)
        law, *numbers = fact[2] if fact[0] == "Private" else [""]
        match rule, law:
            case "group", "approximate":
                size, (epsilon, delta) = given["size"], map(F, numbers)
                sum_ = sum(math.exp(min(700, k * float(epsilon))) for k in range(size))
                return {"size": size, "delta": str(min(F(1), delta * F(sum_ * (1 + 1e-9)) * nearly))}
            case "group", _:
                return {"size": given["size"]}
            case "to_gdp", "pure" | "bounded-range":
                epsilon = F(numbers[0]) / (1 if law == "pure" else 2)
                return {"mu_squared": str(epsilon**2 * F(15708, 10000) * nearly)}
            case "to_approximate", "approximate":
                return {"epsilon": str(F(numbers[0]) * nearly), "delta": numbers[1]}
            case "to_approximate", _:
                epsilon = F(numbers[0]) if law == "pure" else F(rng.choice((1, 4, 20)))
                order = (
                    {"order": str(rng.choice((F(2), F(3), F(7, 2), F(9))))}
                    if law in ("zcdp", "renyi")
                    else {}
                )
                return {"epsilon": str(epsilon * nearly), "delta": rng.choice(("1/4", "1/100"))} | order
            case "despite", "approximate":
                return {"delta": str(min(F(1), F(numbers[1]) + F(1, rng.choice((20, 100, 1000)))))}
        return given


# ------------------------------------------------------------------ derivations


def grown(rng, turns=20):
    """Yield derivations; each is one that follows with one more step, which follows or not.

    They begin as one or two of DERIVATIONS do; the next step of the first is tried with other witnesses first.
    """
    whole, beside = rng.choice(DERIVATIONS), rng.choice(DERIVATIONS)
    start = rng.randrange(len(whole))
    rule, before, given = (whole[start][name] for name in ("rule", "from", "with"))
    for _ in range(turns // 4):
        pool = Pool(whole[:start])
        near = [n for k in before for n in numbers_in(pool.steps[k]["gives"])]
        same = ("query", "key", "because", "source")
        yield pool.tried(
            rule, before, {k: v if k in same else varied(rng, k, v, near) for k, v in given.items()}
        )
    pool = Pool(whole[: start + 1], *([beside] if rng.random() < 0.5 else []))
    for _ in range(turns):
        yield from Turn(rng, pool).cases(rng.choice(TURNS))
