"""Premises of one rule are about one thing: statements about other queries, draws or laws are not put together.

`compose` and `parallel` are for statements about different things; they too refuse one key with two laws.
"""

import copy
from fractions import Fraction as F  # noqa: N817

import pytest

from dpaccount import checker
from dpaccount.checker import Rejected
from dpaccount.checker.derivation import check_derivation, infer
from dpaccount.errors import RuleError
from dpaccount.proof import (
    ADD_REMOVE,
    REPLACE_ONE,
    assume_clipped,
    assume_covers,
    assume_points,
    assume_split,
    laplace,
    lattice_gaussian,
    linear,
    nodes,
    partition,
    write,
)
from tests.dpaccount.rules.asked import REFUSED, gives
from tests.dpaccount.rules.cases import HONEST
from tests.dpaccount.rules.statements import DERIVATIONS
from tests.looped import looped

APART = ("compose", "parallel")  #: statements about different things are put together here
OBSERVED = ("post_process", "billboard", "local_view")  #: a view has a name of its own; its keys bind it
SEVERAL = sorted({case[0] for case in HONEST if len(case[1]) > 1})


@looped("rule", [rule for rule in SEVERAL if rule not in (*APART, *OBSERVED)])
def test_premises_about_another_query_are_refused(rule):
    """One premise after the other is about another query, everything else is as it was."""
    tried = 0
    for _, premises, given, *_ in (case for case in HONEST if case[0] == rule and len(case[1]) > 1):
        for at in range(len(premises)):
            if premises[at][0] == "Split":  # is about the whole, and names its cells
                continue
            other = copy.deepcopy(premises)
            other[at][1] = "another"
            with pytest.raises(REFUSED):
                gives(rule, other, given)
            tried += 1
    assert tried


# ------------------------------------------------------------------ draws


def below(steps, index):
    """Return the indices of the steps that one rests on, itself included."""
    wanted = {index}
    for k in range(index, -1, -1):
        if k in wanted:
            wanted.update(steps[k]["from"])
    return sorted(wanted)


def grafted(steps, index, at, change):
    """Return the derivation of a step whose premise `at` rests on changed noise; None where nothing changed."""
    kept, moved, known = [], {}, {}

    def add(k, changed):
        step = copy.deepcopy(steps[k])
        step["from"] = [moved[j, changed] for j in step["from"]]
        if changed and "key" in step["with"]:
            change(step["with"])
        step["gives"] = infer(step["rule"], [kept[j]["gives"] for j in step["from"]], step["with"])
        body = {name: step[name] for name in ("rule", "with", "gives")}
        step["digest"] = checker.digest({**body, "from": [kept[j]["digest"] for j in step["from"]]})
        if step["digest"] not in known:
            known[step["digest"]] = len(kept)
            kept.append(step)
        moved[k, changed] = known[step["digest"]]

    premises = steps[index]["from"]
    if not any("key" in steps[k]["with"] for k in below(steps, premises[at])):
        return None
    for place, premise in enumerate(premises):
        for k in below(steps, premise):
            add(k, place == at)
    last = copy.deepcopy(steps[index])
    last["from"] = [moved[premise, place == at] for place, premise in enumerate(premises)]
    last["gives"] = infer(last["rule"], [kept[j]["gives"] for j in last["from"]], last["with"])
    body = {name: last[name] for name in ("rule", "with", "gives")}
    last["digest"] = checker.digest({**body, "from": [kept[j]["digest"] for j in last["from"]]})
    return [*kept, last]


def renamed(given):
    given["key"] += " of another draw"


def named_by_others(steps, index):
    """Say whether a step's premises name draws, or state them twice."""
    rule = steps[index]["rule"]
    return rule in (*OBSERVED, "mixture") or (rule == "partition" and len(steps[index]["from"]) > 3)


def test_premises_about_another_draw_are_refused():
    tried = set()
    for steps in DERIVATIONS:
        for index, step in enumerate(steps):
            for at in range(len(step["from"]) if named_by_others(steps, index) else 0):
                if (other := grafted(steps, index, at, renamed)) is None:
                    continue
                with pytest.raises(Rejected):
                    check_derivation(other)
                tried.add(step["rule"])
    assert tried == {*OBSERVED, "mixture", "partition"}


# ------------------------------------------------------------------ partitions


def cell(name, relation, *, low=1000, key="k", scale=1, units=None):
    """A number of a cell, between `low` and 1001, with Laplace noise."""
    leaf = laplace(
        linear(assume_clipped(name, F(low), F(1001), relation, "t")), F(scale), F(1), f"{key}-{name}"
    )
    return leaf if units is None else nodes(leaf, assume_covers(name, units, "t"))


SPLIT = ("table", ["a", "b"], "t")


def both(**of_steps):
    """Both relations' statements about two cells: the second list with the noise given here."""
    swaps = [cell(name, REPLACE_ONE, units=of_steps.pop("swapped", None)) for name in "ab"]
    return [*swaps, *(cell(name, ADD_REMOVE, **of_steps) for name in "ab")]


def test_cells_of_both_relations_are_drawn_once():
    """Numbers in [1000, 1001]: quiet noise for a replaced record and loud noise for an added one prove nothing."""
    whole = partition(assume_split(*SPLIT), *both())
    assert whole.conclusion.curve.epsilon == 2002  # a record leaves one cell and enters the other
    for other in ({"key": "l", "scale": 10**6}, {"scale": 10**6}, {"key": "l"}):
        with pytest.raises(RuleError, match=r"draws other noise|names two draws"):
            partition(assume_split(*SPLIT), *both(**other))


def test_cells_of_both_relations_are_drawn_over_the_same_covers():
    swaps = [cell(name, REPLACE_ONE, units=[(1, 4)]) for name in "ab"]
    for units in (None, [(1, 4), (5, 8)], [(1, 5)]):
        steps = [cell(name, ADD_REMOVE, units=units) for name in "ab"]
        with pytest.raises(RuleError, match=r"draws other noise|names two draws"):
            partition(assume_split(*SPLIT), *swaps, *steps)
    check_derivation(
        write(partition(assume_split(*SPLIT), *swaps, *(cell(n, ADD_REMOVE, units=[(1, 4)]) for n in "ab")))
    )


@looped("rule", ["compose", "mixture"])
def test_one_key_has_one_law(rule):
    """A key with two scales, or two rules, is two draws, whichever statements use it."""
    from dpaccount import proof

    one = cell("a", REPLACE_ONE, units=[(1, 4)])
    louder = cell("a", REPLACE_ONE, scale=2, units=[(1, 4)])
    points = proof.differences(assume_points("a", [(0,), (1,)], REPLACE_ONE, "t"))
    lattice = proof.to_approximate(lattice_gaussian(points, F(4), "k-a"), F(1), F(1, 2))
    for first, second in ((one, louder), (proof.to_approximate(one, F(1), F(0)), lattice)):
        with pytest.raises(RuleError, match="names two draws"):
            getattr(proof, rule)(first, second)
