"""What each relation says of itself is held to an enumeration of all datasets of a few small records."""

from fractions import Fraction as F  # noqa: N817
from functools import cache
from itertools import product

import numpy as np
import pytest

from dpaccount.checker import relation as checker
from dpaccount.errors import InputError, RuleError
from dpaccount.proof import assume_ball, assume_cell, assume_clipped, assume_event, assume_persons
from dpaccount.relation import (
    RELATION_CLASSES,
    AddRemove,
    BoundedRow,
    ReplaceOne,
    adjacency,
    radius_of,
    squared_distance,
)
from dpaccount.schemas.catalogue import schemas
from tests.looped import looped

VALUES = range(4)  #: of a record; steps of 1 between them stand for a convex set
DATASETS = [rows for size in range(4) for rows in product(VALUES, repeat=size)]
PAIRS = [(left, right) for left, right in product(DATASETS, repeat=2) if left != right]
KNOWN = (ReplaceOne(), AddRemove(), BoundedRow(F(1)), BoundedRow(F(2)), BoundedRow(F(3)))


def by_definition(word, radius, left, right):
    """Return whether two different datasets are neighbours, by the words of docs/proofs.md."""
    if word == "add-remove":
        longer, shorter = sorted((left, right), key=len, reverse=True)
        return any(longer[:k] + longer[k + 1 :] == shorter for k in range(len(longer)))
    moved = [abs(a - b) for a, b in zip(left, right, strict=False) if a != b]
    return len(left) == len(right) and len(moved) == 1 and (radius is None or moved[0] <= radius)


def array(rows):
    return np.array(rows, dtype=float).reshape(len(rows), 1)


def made(relation, rows):
    """Return all datasets that the relation makes of one, other than itself."""
    tries = product(range(len(rows)), VALUES)
    found = (relation.neighbour(array(rows), unit, np.array([float(other)])) for unit, other in tries)
    return {tuple(map(int, each[:, 0])) for each in found} - {rows}


@cache
def pairs_of(word, radius):
    return [pair for pair in PAIRS if by_definition(word, radius, *pair)]


@cache
def steps_between(finer, start):
    """Return the least number of steps of `finer` to every dataset that they lead to."""
    steps, latest = {start: 0}, {start}
    while latest:
        latest = {
            right for left, right in pairs_of(finer.word, finer.radius) if left in latest
        } - steps.keys()
        steps |= dict.fromkeys(latest, max(steps.values()) + 1)
    return steps


def wrong(relation, word):
    """Return what a class says wrongly of the relation of this name."""
    pairs = pairs_of(word, relation.radius)
    found = {(rows, other) for rows in DATASETS for other in made(relation, rows)}
    tests = {
        "neighbour": found | {(b, a) for a, b in found} == set(pairs),
        "adjacent": {pair for pair in PAIRS if relation.adjacent(*map(array, pair))} == set(pairs),
        "rows_vary": relation.rows_vary == any(len(left) != len(right) for left, right in pairs),
    }
    if not relation.has_radius:  # values from −3/2 to 3/2
        sums = {rows: sum(x - F(3, 2) for x in rows) for rows in DATASETS}
        most = max(abs(sums[left] - sums[right]) for left, right in pairs)
        tests["contributions"] = relation.contributions * F(3, 2) == most
    for finer in KNOWN:
        needed = max(steps_between(finer, left).get(right, 99) for left, right in pairs)
        tests[f"steps of {finer}"] = relation.steps(finer) in (None, needed)
    return {name for name, right in tests.items() if not right}


@looped("relation", KNOWN)
def test_a_relation_is_as_enumerated(relation):
    assert wrong(relation, relation.word) == set()


class FarRow(BoundedRow):
    def nearest(self, here, other):
        return other


class LocalReplacement(ReplaceOne):
    contributions = 1

    def steps(self, finer):
        return 1

    def adjacent(self, left, right):
        return len(left) == len(right)


class PublicSize(AddRemove):
    rows_vary = False

    def neighbour(self, rows, unit, other):
        return rows[:unit]


@looped(
    ("planted", "caught"),
    [
        (FarRow(F(1)), {"neighbour"}),
        (
            LocalReplacement(),
            {
                "contributions",
                "adjacent",
                "steps of add-remove",
                *(f"steps of bounded-row, radius {r}" for r in (1, 2)),
            },
        ),
        (PublicSize(), {"rows_vary", "neighbour"}),
    ],
)
def test_what_a_class_says_wrongly_is_found(planted, caught):
    assert wrong(planted, planted.word) == caught


def test_a_relation_is_what_its_text_says():
    for relation in KNOWN:
        assert adjacency(str(relation)) == relation
        assert radius_of(str(relation)) == relation.radius
        assert type(relation) is RELATION_CLASSES[relation.word]
    for text in (
        "swap",
        "",
        "bounded-row",
        "bounded-row, radius 0",
        "bounded-row, radius 2/4",
        "replace-one, groups of 2",
    ):
        assert radius_of(text) is None
        with pytest.raises(InputError, match="unknown relation"):
            adjacency(text)


def test_a_new_relation_passes_no_rule_that_is_proved_for_others(monkeypatch):
    class Exchange(ReplaceOne):
        word = "exchange"

    monkeypatch.setitem(RELATION_CLASSES, "exchange", Exchange)
    assert str(adjacency("exchange")) == "exchange"
    ways = [
        lambda: assume_clipped("q", F(0), F(1), "exchange", "t"),
        lambda: assume_ball("q", F(1), "exchange", "t"),
        lambda: assume_cell("q", "exchange", "t"),
        lambda: assume_persons("q", "replace-one", "exchange", 2, "t"),
        lambda: assume_event("q", F(1), F(0), "exchange", "t"),
    ]
    for way in ways:
        with pytest.raises(RuleError, match="unknown relation exchange"):
            way()


def test_the_checker_and_the_schemas_know_the_same_relations_by_name():
    parts = schemas()["certificate"]["$defs"]
    for table in ("GuaranteeTable", "StatedGuarantee"):
        written = parts[table]["properties"]["relation"]
        assert list(RELATION_CLASSES) == list(checker.WORDS) == written["enum"]


def test_a_class_that_leaves_a_question_open_says_nothing():
    for relation in RELATION_CLASSES.values():
        questions = {name for base in relation.__mro__ for name in getattr(base, "__annotations__", ())}
        assert {name for name in questions if not hasattr(relation, name)} <= {"radius"}
        assert not relation.__abstractmethods__


def test_a_radius_is_a_distance_in_the_plane():
    near, here, there = BoundedRow(F(5)), np.zeros(2), np.array([3.0, 4.0])
    assert squared_distance((0, 0), (3, 4)) == near.radius**2 < squared_distance((0, 0), (3, 5))
    assert near.nearest(here, there) is there
    pulled = near.nearest(here, 10 * there)
    assert squared_distance((0, 0), pulled.tolist()) <= near.radius**2
    assert np.abs(pulled - there).max() < 1e-9
