"""The checker on hostile files: a small document never buys much work, and wrong shapes are rejections."""

import io
import json
import sys
from fractions import Fraction

import pytest

from dpaccount.checker import Rejected, documents
from dpaccount.checker.__main__ import main
from dpaccount.checker.derivation import check_derivation
from tests.depth import deep
from tests.dpaccount.checker.test_costs import chained as document
from tests.dpaccount.checker.test_costs import points
from tests.looped import looped

MUCH = "more arithmetic"
BALL = ("assume_ball", [], {"query": "q", "radius": "1", "relation": "replace-one", "because": "t"})
LINEAR = ("linear", [0], {})


def rounds(count, **more):
    return "assume_rounds", [], {"query": "q", "rounds": count, **more, "because": "t"}


def test_a_matrix_for_many_rounds_needs_as_many_rows():
    given = {"matrix": [[1], [1, 1]], "bits": 0}
    with pytest.raises(Rejected, match="diagonal"):
        check_derivation(document(BALL, LINEAR, rounds(5 * 10**8), ("factorised", [1, 2], given)))


def test_long_vectors_cost_work():
    sides = {"left": ["1/3"] * 4096, "right": ["1/7"] * 4096}
    given = {"query": "q", "kind": "outer", **sides, "relation": "replace-one"}
    step = ("assume_neighbours", [], {**given, "observer": "central", "because": "t"})
    with pytest.raises(Rejected, match=MUCH):
        check_derivation(document(step))


@deep
def test_many_differences_cost_work(monkeypatch):
    one = document(points(256, 64), ("differences", [0], {}))
    monkeypatch.setattr(documents, "MAX_WORK", 10**7)  # a third of the work, a third of the time
    with pytest.raises(Rejected, match=MUCH):
        check_derivation([*one, *[dict(one[1]) for _ in range(280)]])


@deep
def test_many_overlaps_cost_work(monkeypatch):
    matrix = [[(5 * k) % 9 + 1 for k in range(2048)]]
    many = rounds(2048, participations=2, separation=1)
    one = document(BALL, LINEAR, many, ("factorised", [1, 2, 0], {"matrix": matrix, "bits": 0}))
    monkeypatch.setattr(documents, "MAX_WORK", 10**7)
    steps = one + [dict(one[3]) for _ in range(100)]
    with pytest.raises(Rejected, match=MUCH):
        check_derivation(steps)


@looped("table", [5, [5], [[None]], None, [[], []]])
def test_a_step_that_breaks_is_rejected_and_never_passed_over(table):
    """What went before must not stand in for a step that raises anything else than a refusal."""
    steps = document(points(2, 1), ("finite", [0], {"table": table, "epsilon": "1", "key": "k"}))
    for claimed in (steps[0]["gives"], ["unknown"]):
        with pytest.raises(Rejected):
            check_derivation([steps[0], {**steps[1], "gives": claimed}])


def test_tables_hold_short_numbers():
    row = ["1/" + "1" * 300] * 3
    given = {"table": [row], "epsilon": "1", "key": "k"}
    with pytest.raises(Rejected, match="200 characters"):
        check_derivation(document(points(1, 1), ("finite", [0], given)))


def test_names_and_premises_are_bounded():
    given = {
        "query": "q" * 9000,
        "measure": "pure",
        "budget": ["1"],
        "relation": "add-remove",
        "because": "t",
    }
    long = ("assume_filter", [], given)
    with pytest.raises(Rejected, match="name is too long"):
        check_derivation(document(long, ("compose", [0, 0], {})))
    short = ("assume_filter", [], {**given, "query": "q"})
    with pytest.raises(Rejected, match="at most 5000"):
        check_derivation(document(short, ("compose", [0] * 5001, {})))


@looped("size", [2, 3, 10, 10**6, 10**30])
def test_groups_of_any_size_are_summed_by_doubling(size):
    """At ε = 0 the δ of a group of k is exactly kδ: enough, and not less."""
    start = ("assume_filter", [], {**budget(), "budget": ["0", "1/" + "1" + "0" * 40]})
    exact = Fraction(size, 10**40)
    more, less = (str(exact * Fraction(10**12 + sign, 10**12)) for sign in (1, -1))
    check_derivation(document(start, ("group", [0], {"size": size, "delta": more})))
    with pytest.raises(Rejected, match="does not cover"):
        check_derivation(document(start, ("group", [0], {"size": size, "delta": less})))


def budget():
    return {"query": "q", "measure": "approximate", "relation": "add-remove", "because": "t"}


def test_what_fails_is_said_in_any_encoding(tmp_path, monkeypatch):
    steps = document(("assume_filter", [], {**budget(), "budget": ["1", "0"]}))
    steps[0]["gives"] = ["Private", "δ", ["pure", "1"], "δ", "central", None]
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"schema": "dpaccount/derivation/1", "steps": steps}), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert main([str(path), "--derivation"]) == 1


def test_a_transformed_query_is_not_released_as_a_raw_one():
    centred, stream = ("centred", [1, 2], {}), ("factorised", [1, 2], {"matrix": [[1, 1]], "bits": 0})
    covers = ("assume_covers", [], {"query": "q", "covers": [[1, 9]], "because": "t"})
    start = (BALL, LINEAR, rounds(4))
    for first in (centred, stream):
        for again in (centred, stream):
            with pytest.raises(Rejected, match="transformed already"):
                check_derivation(document(*start, first, (again[0], [3, 2], again[2])))
        leaf = ("gaussian", [3], {"variance": "4", "key": "k"})
        with pytest.raises(Rejected, match="already"):
            check_derivation(document(*start, first, leaf, covers, ("nodes", [4, 5], {})))
        lengths = ("k_norm", [3], {"rate": "1", "bound": "9", "grid": "1", "key": "k"})
        with pytest.raises(Rejected, match="not transformed"):
            check_derivation(document(*start, first, lengths))


def test_a_key_is_drawn_on_a_query_that_was_transformed_in_one_way_throughout():
    """Two weights of one statistic, centred alike: the last transformation alone does not tell them apart."""
    person = {"query": "q", "reward": "1", "kind": "rank-one", "relation": "replace-one", "because": "t"}
    first = [("assume_rank_one", [], person), rounds(4)]
    for weights, message in ((("1", "1"), None), (("1", "2"), "two draws")):
        joint = [("joint", [0], {"weight": weight}) for weight in weights]
        centred = [("centred", [2 + k, 1], {}) for k in (0, 1)]
        noise = [("gaussian", [4 + k], {"variance": "4", "key": "k"}) for k in (0, 1)]
        steps = document(*first, *joint, *centred, *noise, ("compose", [6, 7], {}))
        if message is None:
            check_derivation(steps)
        else:
            with pytest.raises(Rejected, match=message):
                check_derivation(steps)
