"""Which hypotheses a test can have looked at, what it looked for, and how far it may have found things to move."""

import json
from fractions import Fraction

import pytest

from audits import consistency
from audits.consistency.verdict import TESTED, evidence, furthest, limit_of, promised
from dpaccount.checker import Rejected
from dpaccount.checker.derivation import RULES
from dpaccount.checker.facts import Contribution, Numbers, Shifts, Stable
from tests.dpaccount.checker.made import HONEST, R, edited, sealed, step
from tests.looped import looped

WHY = {"because": "test"}
POINTS = {"query": "q", "points": [[0, 0], [1, 0], [2, 2]], "relation": R, **WHY}
SUM = [("linear", [0], {}), ("gaussian", [1], {"variance": "1", "key": "k"})]
BALL = [("assume_ball", [], {"query": "q", "radius": "1/2", "relation": R, **WHY}), *SUM]
POINTED = [("assume_points", [], POINTS)]
LATTICE = [("differences", [0], {}), ("lattice_gaussian", [1], {"variance": "4", "key": "k"})]
CELL = [
    ("assume_cell", [], {"query": "q", "relation": "add-remove", **WHY}),
    ("stable_histogram", [0], {"scale": "1", "threshold": 5, "delta": "1/10", "key": "k"}),
]
SYMBOLS = ("assume_points", [], {"query": "q", "points": [[0], [1]], "relation": R, **WHY})
TABLE = {"table": [["1/2", "1/2"]] * 2, "epsilon": "0", "key": "k"}
ROUNDS = ("assume_rounds", [], {"query": "q", "rounds": 2, **WHY})
TWICE = ("assume_rounds", [], {"query": "q", "rounds": 2, "participations": 2, "separation": 1, **WHY})
COVERS = ("assume_covers", [], {"query": "q", "covers": [[1, 2]], **WHY})
TREE = ("assume_tree", [], {"query": "q", "rounds": 2, "levels": 2, **WHY})
ALL = {"query": "all", "releases": ["k"], **WHY}


def derivation(*rows):
    steps = []
    for rule, before, given in rows:
        step(steps, rule, before, **given)
    return steps


def centred(rounds):
    """A query with rounds on which noise is drawn, or only another query's."""
    return [*BALL[:2], rounds, ("centred", [1, 2], {}), ("gaussian", [3], SUM[1][2])]


def covered(covers):
    """Noise on a query, and which of its releases a unit meets."""
    return [*BALL, covers, ("nodes", [2, 3], {})]


def of_rule(steps, rule):
    return next(s for s in steps if s["rule"] == rule)


#: a derivation, the hypothesis asked for, what is promised of it, and whether a test of it is known
PROMISED = [
    (BALL, "assume_ball", "l2-squared 1", True),
    (BALL[:2], "assume_ball", "no release of q is tested", False),
    (BALL[:1], "assume_ball", "no release of q is tested", False),
    ([*POINTED, *LATTICE], "assume_points", "shifts [[],[1],[2,1],[2,2]]", True),
    ([SYMBOLS, ("finite", [0], TABLE)], "assume_points", "contributions: points", True),
    (CELL, "assume_cell", "contributions: cell", True),
    (covered(COVERS), "assume_covers", "only covering releases move", True),
    (covered(TREE), "assume_tree", "only covering releases move", True),
    ([*BALL[:2], COVERS], "assume_covers", "no release of q is tested", False),
    ([*BALL[:2], TREE], "assume_tree", "no release of q is tested", False),
    (centred(ROUNDS), "assume_rounds", "a unit enters the round of its number alone", True),
    (centred(ROUNDS)[:4], "assume_rounds", "no release of q is tested", False),
    ([ROUNDS], "assume_rounds", "no release of q is tested", False),
]


@looped(("rows", "rule", "words", "known"), PROMISED)
def test_what_a_test_looks_for(rows, rule, words, known):
    steps = derivation(*rows)
    assert promised(steps, of_rule(steps, rule)["digest"]) == (words, known)


def test_a_round_that_units_enter_twice_is_not_tested():
    """Tests change one round; a unit of several participations could move more."""
    rows = [*BALL[:2], TWICE, ("factorised", [1, 2, 0], {"matrix": [[1], [0, 1]], "bits": 0})]
    steps = derivation(*rows, ("gaussian", [3], SUM[1][2]))
    rounds = of_rule(steps, "assume_rounds")["digest"]
    assert promised(steps, rounds) == ("no release of q is tested", False)
    assert promised(steps, steps[0]["digest"])[1]


def test_that_a_unit_enters_one_round_of_any_is_tested():
    free = ("assume_rounds", [], {**TWICE[2], "separation": 2})
    rows = [*BALL[:2], free, ("factorised", [1, 2, 0], {"matrix": [[1], [0, 1]], "bits": 0})]
    steps = derivation(*rows, ("gaussian", [3], SUM[1][2]))
    assert promised(steps, of_rule(steps, "assume_rounds")["digest"]) == (
        "a unit enters one round alone",
        True,
    )


def test_a_view_is_promised_to_those_who_see_it():
    for audience, words in (("everyone", "everyone's"), ("others", "others'")):
        shown = "post_process" if audience == "everyone" else "billboard"
        steps = derivation(*BALL, ("assume_view", [], {**ALL, "audience": audience}), (shown, [2, 3], {}))
        assert promised(steps, steps[3]["digest"]) == (f"{words} view is unchanged", True)


def test_numbers_are_counted_where_they_are_drawn():
    numbers = ("assume_numbers", [], {"query": "q", "most": 7, **WHY})
    law = {"variance": "1", "grid": "1/10", "coordinates": 7, "distance": "1", "key": "k"}
    steps = derivation(*BALL[:2], numbers, ("fine_gaussian", [1, 2], law))
    assert promised(steps, steps[2]["digest"]) == ("numbers: at most 7", True)
    assert limit_of(steps, steps[2]) == 7
    assert promised(steps[:3], steps[2]["digest"]) == ("no release of q is tested", False)


def test_a_choice_is_tested():
    more = ("gaussian", [1], {"variance": "1", "key": "more"})
    choice = ("assume_choice", [], {"query": "q or q", "parts": [["k"], ["more"]], **WHY})
    steps = derivation(*BALL, more, choice, ("mixture", [4, 2, 3], {}))
    assert promised(steps, steps[4]["digest"]) == ("one part is drawn", True)
    assert limit_of(steps, steps[4]) == 0


def test_hypotheses_that_no_test_knows():
    rare = {"query": "q", "kind": "event", "probability": "1/10", **WHY}
    split = {"query": "q", "cells": ["a"], **WHY}
    charges = {"query": "q", "measure": "pure", "budget": ["1"], "relation": R, **WHY}
    for rule, given in (("assume_rare", rare), ("assume_split", split), ("assume_filter", charges)):
        steps = derivation(*BALL, (rule, [], given))
        assert promised(steps, steps[3]["digest"]) == (f"no test of {rule} is known", False)
    assert {rule for rule in RULES if rule.startswith("assume_")} - TESTED == {
        *("assume_rare", "assume_split", "assume_filter", "assume_event", "assume_neighbours")
    }


@looped(
    ("fact", "most"),
    [
        (Stable("q", "l1", Fraction(3), R, None), 9),
        (Stable("q", "l1", Fraction(1, 2), R, None), Fraction(1, 4)),
        (Stable("q", "l2-squared", Fraction(3), R, None), 3),
        (Stable("q", "frobenius-squared", Fraction(3), R, None), 3),
        (Stable("q", "range", Fraction(3), R, None), None),
        (Stable("q", "each", Fraction(3), R, None), None),
        (Shifts("q", ((1,), (2, 2), (3,)), R), 9),
        (Shifts("q", ((2, 2), (3,), (1,)), R), 9),
        (Contribution("q", "cell", Fraction(0), Fraction(1), (), R, "public"), None),
        (Numbers("q", 3), None),
    ],
)
def test_what_moves_in_another_norm_moves_no_further_in_squared_l2(fact, most):
    """The ℓ2 norm is at most the ℓ1 norm; of a list of moves the longest; elsewhere no number is known."""
    assert furthest(fact) == most


def test_a_step_of_what_was_found_lies_within_its_own_bound():
    """The worst of a list of shifts is its longest."""
    steps = derivation(*POINTED, *LATTICE)
    assert limit_of(steps, steps[0]) == 8


def test_where_a_unit_counts_says_nothing_of_how_far_it_moves():
    """A clip that is forgotten refutes the movement; the releases that a unit is in may be right all the same."""
    covers = ("assume_covers", [], {"query": "q", "covers": [[1, 1]], **WHY})
    steps = derivation(*BALL, covers, ("nodes", [2, 3], {}))
    assert promised(steps, steps[3]["digest"])[1]
    assert limit_of(steps, steps[3]) is None
    assert limit_of(steps, steps[0]) is not None


def test_evidence_on_a_hypothesis_of_another_derivation_is_named():
    stray = {**HONEST["sensitivity"][0], "step": "sha256:" + "0" * 64}
    document = edited(HONEST, (("sensitivity",), [*HONEST["sensitivity"], stray]))
    with pytest.raises(Rejected, match="evidence on a hypothesis that the derivation does not use"):
        evidence(document)
    with pytest.raises(Rejected):
        consistency.judged(json.dumps(sealed(document)).encode())
