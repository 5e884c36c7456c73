"""Cases of every rule: premises, witness, and what it gives or that it is refused.

Facts are written as derivations hold them.  Rows with one changed member name it in their id, the others
their premises.
"""

from fractions import Fraction

from dpaccount.checker.derivation import NOISE
from dpaccount.checker.facts import RULES

R, A = "replace-one", "add-remove"
B = "bounded-row, radius 1/2"
BIG = str(2**256 - 1)


def added(kind, low="0", high="1", points=(), relation=R):
    return ["Contribution", "q", kind, low, high, list(points), relation, "public"]


def stable(norm, bound="4", relation=R, units=None):
    return ["Stable", "q", norm, bound, relation, units]


def private(*curve, relation=R, observer="central", units=None, subject="q"):
    return ["Private", subject, list(curve), relation, observer, units]


def covered(most=1, query="q", widest=1, units=(1, 8)):
    return ["Covered", query, 15, most, widest, list(units)]


def apart(law, *numbers, observer="central"):
    return ["Apart", "q", law, list(numbers), R, observer]


POINTS = {"query": "q", "points": [[-1, 0], [2, 1]], "relation": R, "because": "b"}
CLIPPED = {"query": "q", "low": "-1/2", "high": "1", "relation": A, "because": "b"}
BALL = {"query": "q", "radius": "1/2", "relation": A, "because": "b"}
RANK = {"query": "q", "reward": "2", "kind": "outer", "relation": R, "because": "b"}
EVENT = {
    **{"query": "q", "likely": "1", "rarely": "0", "relation": R},
    **{"observer": "local", "because": "b"},
}
PAIR = {
    **{"query": "q", "kind": "vector", "left": ["1", "2"], "right": ["0", "-1"], "relation": R},
    **{"observer": "joint", "because": "b"},
}
PERSONS = {"query": "q", "relation": R, "rows": A, "most": 4, "because": "b"}
FILTER = {"query": "q", "measure": "approximate", "budget": ["1", "0"], "relation": A, "because": "b"}
VIEW = ["View", "seen", "everyone", []]
ROUNDS = {"query": "q", "rounds": 5, "participations": 2, "separation": 3, "because": "b"}
BATCHES = {"query": "q", "rounds": 3, "ends": [2, 3, 9], "because": "b"}


def rounds(count, times=1, separation=1, query="q", last=None):
    return ["Rounds", query, count, times, separation, last or count]


def choice(*parts, subject="q or q"):
    return ["Choice", subject, list(parts)]


NUMBERS = ["Numbers", "q", 2]
STREAM = [stable("l2-squared"), rounds(3)]
MANY = {"matrix": [[2, 1, 1]], "bits": 0}
ONCE = added("ball", "0", "1/4")  # moves a sum by 1
CLOSE = added("points", "0", "0", [[5], [6]])  # so does this, though its lengths are 5 and 6
UNIT = stable("l2-squared", "1")
NUMBER = [added("interval", "-2", "1"), rounds(5, 2, 5)]


def split(*cells):
    return ["Split", "s", list(cells)]


TABLE = {"table": [["1/4", "3/4", "0"], ["1/2", "1/2", "0"]], "epsilon": "1", "key": "k"}
BITS = {
    "table": [["9/10", "1/10"], ["1/10", "9/10"]],
    "size": 20,
    "epsilon": "1",
    "delta": "1/10",
    "key": "k",
}
ADDED = [private("gdp", "2", relation=A), private("gdp", "3", relation=A, subject="r")]
KEPT = [private("gdp", "1"), private("gdp", "7", subject="r")]

FOLLOWS = {"query": "q", "factor": "2", "slack": "1/3", "reach": "5", "because": "b"}


def lipschitz(factor="2", slack="1/3", reach="5"):
    return ["Lipschitz", "q", factor, slack, reach]


#: rule, premises, witness, what it gives
BUFFERS = {"width": 1, "pairs": [[1, 1]], "bits": 1, "step": "1/16", "most": "30457/5000"}

HONEST = [
    ("assume_points", [], POINTS, added("points", "0", "0", [[-1, 0], [2, 1]])),
    ("assume_clipped", [], CLIPPED, added("interval", "-1/2", "1", relation=A)),
    ("assume_ball", [], BALL, added("ball", "0", "1/4", relation=A)),
    ("assume_rank_one", [], RANK, added("outer", "0", "2")),
    ("assume_cell", [], {"query": "q", "relation": A, "because": "b"}, added("cell", relation=A)),
    ("assume_cell", [], {"query": "q", "relation": R, "most": 3, "because": "b"}, added("cell", high="3")),
    ("assume_split", [], {"query": "q", "cells": ["a", "b"], "because": "b"}, ["Split", "q", ["a", "b"]]),
    ("assume_persons", [], PERSONS, ["Persons", "q", R, A, 4]),
    ("persons", [private("gdp", "2", relation=A + ", groups of 4"), ["Persons", "q", R, A, 4]], {},
     private("gdp", "2")),
    ("persons", [private("pure", "2", relation=R + ", groups of 3"), ["Persons", "q", R, R, 3]], {},
     private("pure", "2")),
    ("assume_lipschitz", [], FOLLOWS, lipschitz()),
    ("moved", [lipschitz()], {"radius": "1/2"}, stable("l2-squared", "16/9", B)),
    ("moved", [lipschitz()], {"radius": "9"}, stable("l2-squared", "25", "bounded-row, radius 9")),
    ("moved", [lipschitz()], {}, stable("l2-squared", "25")),
    ("centred", [stable("l2-squared", relation=B), rounds(4)], {}, stable("l2-squared", "3", B, [1, 4])),
    ("k_norm", [stable("l2-squared", relation=B)], {"rate": "1/2", "bound": "2", "grid": "1", "key": "k"},
     private("pure", "1", relation=B)),
    ("nodes", [private("pure", "1", relation=B), covered(3)], {}, private("pure", "3", relation=B, units=[1, 8])),
    ("group", [private("pure", "1", relation=B)], {"size": 3}, private("pure", "3", relation=B + ", groups of 3")),
    ("within", [private("pure", "3", relation=B + ", groups of 3")], {"radius": "3/2"},
     private("pure", "3", relation="bounded-row, radius 3/2")),
    ("within", [private("pure", "3", relation=B)], {"radius": "1/3"},
     private("pure", "3", relation="bounded-row, radius 1/3")),
    ("assume_covers", [], {"query": "q", "covers": [[2, 4], [4, 7], [9, 9]], "because": "b"},
     ["Covered", "q", 3, 2, 4, [2, 9]]),
    ("assume_tree", [], {"query": "q", "rounds": 6, "levels": 3, "because": "b"},
     ["Covered", "q", 10, 3, 4, [1, 6]]),
    ("assume_view", [], {"query": "q", "audience": "others", "releases": ["a", "k"], "because": "b"},
     ["View", "q", "others", ["a", "k"]]),
    ("assume_rounds", [], {"query": "q", "rounds": 5, "because": "b"}, rounds(5)),
    ("assume_rounds", [], ROUNDS, rounds(5, 2, 3)),
    ("assume_rounds", [], BATCHES, rounds(3, last=9)),
    ("assume_numbers", [], {"query": "q", "most": 5, "because": "b"}, ["Numbers", "q", 5]),
    ("assume_choice", [], {"query": "q or q", "parts": [["a"], ["b", "c"]], "because": "b"}, choice(["a"], ["b", "c"])),
    ("assume_rare", [], {"query": "q", "kind": "event", "probability": "1", "because": "b"},
     ["Rare", "q", "event", "1"]),
    ("assume_range", [], {"query": "q", "width": "0", "relation": R, "because": "b"}, stable("range", "0")),
    ("assume_l1", [], {"query": "q", "width": "3/2", "relation": A, "because": "b"}, stable("l1", "3/2", A)),
    ("assume_each", [], {"query": "q", "width": "3", "relation": A, "because": "b"}, stable("each", "3", A)),
    ("assume_filter", [], FILTER, private("approximate", "1", "0", relation=A)),
    ("assume_event", [], EVENT, apart("event", "1", "0", observer="local")),
    ("assume_neighbours", [], PAIR, apart("vector", "10", observer="joint")),
    ("assume_neighbours", [], {**PAIR, "left": ["3"], "right": ["-1/2"]}, apart("number", "7/2", observer="joint")),
    ("assume_neighbours", [], {**PAIR, "kind": "outer"}, apart("symmetric", "18", observer="joint")),
    ("assume_neighbours", [], {**PAIR, "kind": "rank-one"}, apart("symmetric", "9", observer="joint")),
    ("assume_neighbours", [], {**PAIR, "kind": "outer", "left": ["1", "0", "2"], "right": ["0", "1", "1/2"]},
     apart("symmetric", "393/16", observer="joint")),
    ("assume_neighbours", [], {**PAIR, "kind": "rank-one", "left": ["1", "0", "2"], "right": ["0", "1", "1/2"]},
     apart("symmetric", "21/2", observer="joint")),
    ("assume_covers", [], {"query": "q", "covers": [[1, 2], [3, 4]], "because": "b"},
     ["Covered", "q", 2, 1, 2, [1, 4]]),
    ("assume_covers", [], {"query": "q", "covers": [[1, 2], [2, 3], [3, 4], [5, 5]], "because": "b"},
     ["Covered", "q", 4, 2, 2, [1, 5]]),
    ("assume_tree", [], {"query": "q", "rounds": 41, "levels": 6, "because": "b"},
     ["Covered", "q", 79, 6, 32, [1, 41]]),
    ("assume_tree", [], {"query": "q", "rounds": 8, "levels": 3, "because": "b"},
     ["Covered", "q", 14, 3, 4, [1, 8]]),
    ("linear", [added("interval", "-1", "3")], {}, stable("l1")),
    ("linear", [added("interval", "-3", "1", relation=A)], {}, stable("l1", "3", A)),
    ("linear", [added("ball", "0", "5")], {}, stable("l2-squared", "20")),
    ("linear", [added("ball", "0", "5", relation=A)], {}, stable("l2-squared", "5", A)),
    ("linear", [added("cell")], {}, stable("l1", "2")),
    ("linear", [added("cell", high="3", relation=A)], {}, stable("l1", "3", A)),
    ("differences", [added("cell")], {}, ["Shifts", "q", [[], [1], [1, 1]], R]),
    ("differences", [added("cell", high="2", relation=A)], {}, ["Shifts", "q", [[], [1], [1, 1]], A]),
    ("linear", [added("rank-one", "0", "1/2")], {}, stable("frobenius-squared", "25/8")),
    ("linear", [added("rank-one", "0", "1")], {}, stable("frobenius-squared", "8")),
    ("linear", [added("rank-one", "0", "3")], {}, stable("frobenius-squared", "72")),
    ("linear", [added("outer", "0", "1")], {}, stable("frobenius-squared", "8")),
    ("linear", [added("outer", "0", "3")], {"bound_squared": "102"}, stable("frobenius-squared", "102")),
    ("linear", [added("points", points=[[0, 1], [3, -1]])], {}, stable("l2-squared", "13")),
    ("linear", [added("points", points=[[0, 1], [3, -1]], relation=A)], {}, stable("l2-squared", "10", A)),
    ("differences", [added("points", points=[[0, 1], [3, -1]])], {}, ["Shifts", "q", [[], [3, 2]], R]),
    ("differences", [added("points", points=[[0, 1], [2, -3]], relation=A)], {},
     ["Shifts", "q", [[1], [3, 2]], A]),
    ("centred", [stable("l2-squared"), rounds(4)], {}, stable("l2-squared", "3", units=[1, 4])),
    ("joint", [added("rank-one")], {"weight": "1"}, stable("l2-squared", "9/2")),
    ("joint", [added("rank-one", "0", "2")], {"weight": "1"}, stable("l2-squared", "16")),
    ("stream_l1", NUMBER, {}, stable("l1", "4", units=[1, 2**63])),
    ("buffered", STREAM, BUFFERS, stable("l2-squared", "30457/5000", units=[1, 3])),
    ("factorised", STREAM, {"matrix": [[2], [1, 2], [3, -5, 1]], "bits": 1},
     stable("l2-squared", "29", units=[1, 3])),
    ("factorised", [stable("l2-squared"), rounds(2)], {"matrix": [[4, -2, 9]], "bits": 2},
     stable("l2-squared", "5", units=[1, 2])),
    ("laplace", [stable("l1")], {"scale": "8", "grid": "1/16", "key": "k"}, private("pure", "1/2")),
    ("gaussian", [stable("l2-squared")], {"variance": "8", "key": "k"}, private("gdp", "1/2")),
    ("gaussian", [stable("frobenius-squared")], {"variance": "8", "key": "k"}, private("gdp", "1/4")),
    ("discrete_gaussian", [stable("frobenius-squared")], {"variance": "8", "grid": "1", "key": "k"},
     private("zcdp", "1/8")),
    ("discrete_gaussian", [stable("l2-squared")], {"variance": "8", "grid": "1", "key": "k"},
     private("zcdp", "1/4")),
    ("fine_gaussian", [stable("l2-squared"), NUMBERS],
     {"variance": "100", "grid": "1", "coordinates": 2, "distance": "1/2000", "key": "k"},
     private("near-gdp", "1/25", "1/2000")),
    ("fine_gaussian", [stable("frobenius-squared"), NUMBERS],
     {"variance": "100", "grid": "1", "coordinates": 2, "distance": "1/2000", "key": "k"},
     private("near-gdp", "1/50", "1/2000")),
    ("lattice_gaussian", [["Shifts", "q", [[1]], R]], {"variance": "8", "key": "k"},
     private("lattice", "8", [[1]], 1)),
    ("laplace", [stable("l1")], {"scale": "2", "key": "k"}, private("pure", "2")),
    ("exponential", [stable("range")], {"rate": "1/2", "key": "k"}, private("bounded-range", "2")),
    ("permute_and_flip", [stable("range")], {"rate": "1/2", "key": "k"}, private("pure", "2")),
    ("k_norm", [stable("l2-squared")], {"rate": "1/2", "bound": "2", "grid": "1", "key": "k"},
     private("pure", "1")),
    ("sparse_vector", [stable("each")],
     {"threshold": "8", "scale": "16", "limit": 3, "grid": "1", "key": "k"}, private("pure", "2")),
    ("finite", [added("points", points=[[0], [1]])], TABLE, private("pure", "1")),
    ("shuffled", [added("points", points=[[0], [1]])], BITS, private("approximate", "1", "1/10")),
    ("stable_histogram", [added("cell", relation=A)],
     {"scale": "1", "threshold": 11, "delta": "1/10000", "key": "k"},
     private("approximate", "1", "1/10000", relation=A)),
    ("stable_histogram", [added("cell", high="3", relation=A)],
     {"scale": "1", "threshold": 11, "delta": "1/9000", "key": "k"},
     private("approximate", "3", "1/9000", relation=A)),
    ("nodes", [private("gdp", "2"), covered(3)], {}, private("gdp", "6", units=[1, 8])),
    ("nodes", [private("near-gdp", "2", "1/9"), covered(3)], {}, private("near-gdp", "6", "1/3", units=[1, 8])),
    ("nodes", [private("lattice", "8", [[1]], 2), covered(3)], {},
     private("lattice", "8", [[1]], 6, units=[1, 8])),
    ("nodes", [private("bounded-range", "2"), covered(1)], {},
     private("bounded-range", "2", units=[1, 8])),
    ("compose", [private("pure", "1", units=[1, 2]), private("pure", "2", units=[2, 5])], {},
     private("pure", "3", units=[1, 5], subject="q + q")),
    ("compose", [private("gdp", "1"), private("gdp", "2")], {}, private("gdp", "3", subject="q + q")),
    ("compose", [private("renyi", ["7", "1"]), private("renyi", ["7", "3"])], {},
     private("renyi", ["7", "4"], subject="q + q")),
    ("parallel", [private("pure", "1", units=[3, 4]), private("pure", "2", units=[1, 2])], {},
     private("pure", "2", units=[1, 4], subject="q | q")),
    ("parallel", [private("pure", "1", units=[3, 4])], {}, private("pure", "1", units=[3, 4])),
    ("mixture", [choice([], []), private("pure", "1"), private("pure", "2", units=[1, 2])], {},
     private("pure", "2", subject="q or q", units=[1, 2**63])),
    ("partition", [["Split", "s", ["q", "r"]], *ADDED], {}, private("gdp", "3", relation=A, subject="s")),
    ("partition", [["Split", "s", ["q", "r"]], *KEPT, *ADDED], {}, private("gdp", "7", subject="s")),
    ("partition", [["Split", "s", ["q", "r"]], KEPT[0], private("gdp", "4", subject="r"), *ADDED], {},
     private("gdp", "5", subject="s")),
    ("group", [private("pure", "1")], {"size": 3}, private("pure", "3", relation=R + ", groups of 3")),
    ("group", [private("gdp", "1")], {"size": 3}, private("gdp", "9", relation=R + ", groups of 3")),
    ("group", [private("pure", "2/3")], {"size": 3}, private("pure", "2", relation=R + ", groups of 3")),
    ("group", [private("near-gdp", "2", "1/9")], {"size": 2},
     private("near-gdp", "8", "2/9", relation=R + ", groups of 2")),
    ("group", [private("zcdp", "1")], {"size": 2}, private("zcdp", "4", relation=R + ", groups of 2")),
    ("group", [private("zcdp", "1")], {"size": 3}, private("zcdp", "9", relation=R + ", groups of 3")),
    ("group", [private("near-gdp", "1", "1/9")], {"size": 3},
     private("near-gdp", "9", "1/3", relation=R + ", groups of 3")),
    ("group", [private("approximate", "0", "1/8")], {"size": 2, "delta": "13/50"},
     private("approximate", "0", "13/50", relation=R + ", groups of 2")),
    ("despite", [private("approximate", "1", "1/8"), ["Rare", "q", "event", "1/8"]], {"delta": "1/4"},
     private("approximate", "1", "1/4", units=[1, 2**63])),
    ("despite", [private("approximate", "0", "1/8"), ["Rare", "q", "distance", "1/16"]], {"delta": "13/50"},
     private("approximate", "0", "13/50", units=[1, 2**63])),
    ("replace_one", [private("pure", "1", relation=A + ", groups of 2")], {}, private("pure", "1")),
    ("post_process", [private("pure", "1"), VIEW], {}, private("pure", "1", subject="seen")),
    ("billboard", [private("pure", "1"), ["View", "seen", "others", []]], {},
     private("pure", "1", subject="seen", observer="joint")),
    ("local", [private("pure", "1"), covered(2)], {}, private("pure", "2", observer="local", units=[1, 8])),
    ("local_view", [private("pure", "1", observer="local"), VIEW], {},
     private("pure", "1", subject="seen", observer="local")),
    ("to_zcdp", [private("pure", "3")], {}, private("zcdp", "9/2")),
    ("to_zcdp", [private("gdp", "2")], {}, private("zcdp", "1")),
    ("to_zcdp", [private("bounded-range", "3")], {}, private("zcdp", "9/8")),
    ("to_zcdp", [private("lattice", "4", [[], [1], [2, 1]], 3)], {}, private("zcdp", "15/8")),
    ("to_pure", [private("bounded-range", "2")], {}, private("pure", "2")),
    ("to_renyi", [private("zcdp", "2")], {"orders": ["3/2", "4"]},
     private("renyi", ["3/2", "3"], ["4", "8"])),
    ("to_gdp", [private("pure", "1")], {"mu_squared": "38/25"}, private("gdp", "38/25")),
    ("to_gdp", [private("pure", "0")], {"mu_squared": "0"}, private("gdp", "0")),
    ("to_gdp", [private("bounded-range", "2")], {"mu_squared": "38/25"}, private("gdp", "38/25")),
    ("to_gdp", [private("bounded-range", "0")], {"mu_squared": "0"}, private("gdp", "0")),
    ("to_near_gdp", [private("gdp", "2")], {}, private("near-gdp", "2", "0")),
    ("to_approximate", [private("zcdp", "1/8")], {"epsilon": "3", "delta": "1/100", "order": "9"},
     private("approximate", "3", "1/100")),
    ("to_approximate", [private("zcdp", "0")], {"epsilon": "0", "delta": "0"},
     private("approximate", "0", "0")),
    ("to_approximate", [private("renyi", ["2", "1"], ["9", "9/8"])],
     {"epsilon": "3", "delta": "1/100", "order": "9"}, private("approximate", "3", "1/100")),
    ("apart", [apart("vector", "4"), covered(3)], {"law": "gaussian", "scale": "6"}, apart("gaussian", "2")),
    ("apart", [apart("number", "4"), covered(3)], {"law": "gaussian", "scale": "6"}, apart("gaussian", "8")),
    ("apart", [apart("symmetric", "4"), covered(3)], {"law": "gaussian", "scale": "6"},
     apart("gaussian", "1")),
    ("apart", [apart("number", "4"), covered(1)], {"law": "laplace", "scale": "2"}, apart("laplace", "2")),
    ("refute", [apart("event", "1", "0")], {"epsilon": "9", "delta": "1/2"},
     ["Refuted", "q", "9", "1/2", R, "central"]),
    ("refute", [apart("event", "1", "0", observer="local")], {"epsilon": "9", "delta": "1/2"},
     ["Refuted", "q", "9", "1/2", R, "local"]),
    ("refute", [apart("laplace", "2")], {"epsilon": "0", "delta": "3/5"},
     ["Refuted", "q", "0", "3/5", R, "central"]),
    ("refute", [apart("gaussian", "1")], {"epsilon": "0", "delta": "3/8"},
     ["Refuted", "q", "0", "3/8", R, "central"]),
    ("assume_covers", [], {"query": "q", "covers": [[1, 5], [2, 3]], "because": "b"},
     ["Covered", "q", 2, 2, 5, [1, 5]]),
    ("assume_covers", [], {"query": "q", "covers": [[3, 4], [1, 2], [3, 3]], "because": "b"},
     ["Covered", "q", 3, 2, 2, [1, 4]]),
    ("assume_covers", [], {"query": "q", "covers": [[1, 1], [2, 3], [2, 3], [3, 3]], "because": "b"},
     ["Covered", "q", 4, 3, 2, [1, 3]]),
    ("linear", [added("rank-one", "0", "3/2")], {}, stable("frobenius-squared", "18")),
    ("linear", [added("outer", "0", "1/2")], {}, stable("frobenius-squared", "25/8")),
    ("linear", [added("outer", "0", "3/2")], {"bound_squared": "19"}, stable("frobenius-squared", "19")),
    ("gaussian", [stable("l2-squared", units=[1, 4])], {"variance": "8", "key": "k"},
     private("gdp", "1/2", units=[1, 4])),
    ("fine_gaussian", [stable("l2-squared"), NUMBERS],
     {"variance": "400", "grid": "2", "coordinates": 2, "distance": "217373/500000000", "key": "k"},
     private("near-gdp", "1/100", "217373/500000000")),
    ("joint", [added("rank-one", "0", "2")], {"weight": "3/50"}, stable("l2-squared", "1568/625")),
    ("joint", [added("rank-one", "0", "2")], {"weight": "1/2"}, stable("l2-squared", "8")),
    ("joint", [added("rank-one")], {"weight": "5/2"}, stable("l2-squared", "10")),
    ("joint", [added("rank-one")], {"weight": "3/2"}, stable("l2-squared", "49/8")),
    ("buffered", STREAM, {**BUFFERS, "pairs": [[0, 0], [4, 4], [1, 0]], "bits": 3, "most": "8"},
     stable("l2-squared", "8", units=[1, 3])),
    ("buffered", STREAM, {**BUFFERS, "pairs": []}, stable("l2-squared", "30457/5000", units=[1, 3])),
    ("buffered", STREAM, {**BUFFERS, "pairs": [], "most": "401/100"},
     stable("l2-squared", "401/100", units=[1, 3])),
    ("buffered", [STREAM[0], rounds(3, last=9)], BUFFERS, stable("l2-squared", "30457/5000", units=[1, 9])),
    ("buffered", [STREAM[0], rounds(1)], {**BUFFERS, "most": "401/100"},
     stable("l2-squared", "401/100", units=[1, 1])),
    ("factorised", [stable("l2-squared"), rounds(2, last=7)], {"matrix": [[4, -2, 9]], "bits": 2},
     stable("l2-squared", "5", units=[1, 7])),
    ("factorised", [UNIT, rounds(5, 2, 2), ONCE], MANY,
     stable("l2-squared", "16", R + ", 2 rounds 2 apart", [1, 2**63])),
    ("factorised", [UNIT, rounds(5, 9, 2), ONCE], MANY,
     stable("l2-squared", "26", R + ", 3 rounds 2 apart", [1, 2**63])),
    ("factorised", [UNIT, rounds(4, 9, 2), ONCE], MANY,
     stable("l2-squared", "16", R + ", 2 rounds 2 apart", [1, 2**63])),
    ("factorised", [UNIT, rounds(3, 3, 1), ONCE], {"matrix": [[1], [1, 1], [1, 1, 1]], "bits": 0},
     stable("l2-squared", "14", R + ", 3 rounds 1 apart", [1, 2**63])),
    ("factorised", [UNIT, rounds(5, 2, 2), CLOSE], MANY,
     stable("l2-squared", str(4 * 36 * 16), R + ", 2 rounds 2 apart", [1, 2**63])),
    ("factorised", [stable("l2-squared", "36", A), rounds(5, 2, 2), [*CLOSE[:6], A, "public"]], MANY,
     stable("l2-squared", str(36 * 16), A + ", 2 rounds 2 apart", [1, 2**63])),
    ("factorised", [UNIT, rounds(2, 3, 2), ONCE], MANY,
     stable("l2-squared", "5", units=[1, 2**63])),
    ("stream_l1", [added("interval", "-2", "1", relation=A), NUMBER[1]], {}, stable("l1", "2", A, [1, 2**63])),
    ("stream_l1", [added("interval", "1/2", "3"), rounds(5, 9, 8)], {}, stable("l1", "6", units=[1, 2**63])),
    ("laplace", [stable("l1", units=[1, 2**63])], {"scale": "8", "key": "k"},
     private("pure", "1/2", units=[1, 2**63])),
    ("partition", [split("q", "r"), ADDED[0], private("gdp", "3", relation=A, subject="r", units=[5, 9])], {},
     private("gdp", "3", relation=A, subject="s", units=[1, 2**63])),
    ("partition", [split("q", "r"), *(private("gdp", "3", relation=A, subject=s, units=u)
                                      for s, u in (("q", [1, 4]), ("r", [5, 9])))], {},
     private("gdp", "3", relation=A, subject="s", units=[1, 9])),
    ("partition", [split("q", "r", "t"), *KEPT, private("gdp", "1", subject="t"), *ADDED,
                   private("gdp", "5", relation=A, subject="t")], {}, private("gdp", "8", subject="s")),
    ("stable_histogram", [added("cell", relation=A)],
     {"scale": "2", "threshold": 21, "delta": "1413/50000000", "key": "k"},
     private("approximate", "1/2", "1413/50000000", relation=A)),
]  # fmt: skip


def changed(case, **members):
    rule, premises, given, _ = next(c for c in HONEST if c[0] == case)
    return rule, premises, {**given, **members}


#: zCDP of ρ = 1/2, whose best order at δ = 1/100000 costs ε = 4.72838698…
HALVES = ("zcdp", "1/2"), ("renyi", ["2", "1"], ["543/100", "543/200"])

#: rules, and the norms in which their query may be stable
NORMS = {(rule, premises[0][2]) for rule, premises, *_ in HONEST if premises and premises[0][0] == "Stable"}

FALSE = [
    *[changed("assume_points", points=bad) for bad in (
        [], [[]], [[1], [1, 2]], [[1], [0]], [[0], [0]], [[0.5]], [[True]], [["1"]], [[2**64]], "points", [1],
        [[i] for i in range(257)], [[0] * 65])],
    *[(rule, premises, {**given, "relation": bad}) for rule, premises, given, _ in HONEST if "relation" in given
      for bad in ("swap", None, "bounded-row", *([] if rule == "assume_event" else [B]))],
    *[changed(rule, source=bad) for rule in
      ("assume_points", "assume_clipped", "assume_ball", "assume_rank_one") for bad in ("public", "data", "private", "", None)],
    *[changed("assume_lipschitz", **{name: bad}) for name in ("factor", "slack", "reach") for bad in ("-1/9", None)],
    *[("moved", [lipschitz()], {"radius": bad}) for bad in ("0", "-1", None)],
    ("moved", [added("ball")], {"radius": "1"}),
    ("moved", [stable("l2-squared", relation=B)], {"radius": "1"}),
    *[("within", [private("pure", "1", relation=about)], {"radius": far}) for about, far in (
        (B, "2/3"), (B, "0"), (B, "-1"), (B + ", groups of 3", "5/3"), (B + ", groups of 2, groups of 2", "1/2"),
        (B + ", groups of -2", "1/2"), (B + ", groups of x", "1/2"), (R + ", groups of 9", "1/2"), (R, "1/2"),
        (A + ", groups of 2", "1/2"), ("bounded-row", "1/2"), ("replace-one, radius 1", "1/2"),
        (B + ", 2 rounds 1 apart", "1/2"))],
    ("compose", [private("pure", "1", relation=B), private("pure", "1")], {}),
    ("compose", [private("pure", "1", relation=B), private("pure", "1", relation="bounded-row, radius 1")], {}),
    ("parallel", [private("pure", "1", relation=B, units=[1, 2]), private("pure", "1", units=[3, 4])], {}),
    ("local", [private("pure", "1", relation=B), covered(2)], {}),
    ("replace_one", [private("pure", "1", relation=B + ", groups of 2")], {}),
    ("persons", [private("gdp", "2", relation=B + ", groups of 4"), ["Persons", "q", R, R, 4]], {}),
    ("partition", [split("q"), private("gdp", "1", relation=B)], {}),
    ("partition", [split("q"), private("gdp", "1", relation=A + ", groups of 2")], {}),
    ("partition", [split("q"), private("gdp", "1", relation=B), ADDED[0]], {}),
    ("factorised", [stable("l2-squared", "1", B), rounds(5, 2, 2), ONCE], MANY),
    ("factorised", [UNIT, rounds(2, 3, 2)], MANY),
    changed("assume_clipped", low="2"),
    changed("assume_ball", radius="-1/2"),
    changed("assume_rank_one", reward="-1"),
    changed("assume_rank_one", relation=A),
    changed("assume_rank_one", kind="inner"),
    *[changed("assume_covers", covers=bad) for bad in
      ([], [[1]], [[2, 1]], [[0, 1]], [[1, 2, 3]], [[1, True]], "all", [["1", "2"]], [[1, 2**256]], [[1, 2**63]], [[2**63 - 1, 2**63]])],
    *[changed("assume_tree", rounds=bad) for bad in (0, -1, True, "6", 2**256, 2**63, 1.0, 3)],
    *[changed("assume_tree", levels=bad) for bad in (0, -1, True, "3", 4, 2**256, 1.0)],
    changed("assume_view", audience="nobody"),
    *[changed("assume_view", releases=bad) for bad in (["k", "a"], ["a", "a"], [1])],
    *[("assume_rounds", [], {**ROUNDS, **bad}) for bad in (
        {"rounds": 0}, {"rounds": 2**63}, {"rounds": True}, {"participations": 0}, {"separation": 0},
        {"participations": 1})],
    *[("assume_rounds", [], {**BATCHES, **bad}) for bad in (
        {"ends": []}, {"ends": [2, 3]}, {"ends": [2, 2, 9]}, {"ends": [3, 2, 9]}, {"ends": [0, 3, 9]},
        {"ends": [2, 3, 2**63]}, {"ends": [1, True, 9]}, {"ends": "all"}, {"ends": [[2], [3], [9]]}, {"rounds": 4},
        {"participations": 2, "separation": 1})],
    ("centred", [stable("l2-squared"), rounds(4, last=9)], {}),
    *[changed("assume_numbers", most=bad) for bad in (0, -1, True, "3", 1.0)],
    *[changed("assume_choice", parts=bad) for bad in ([], [["b", "a"]], [["a", "a"]], [[1]])],
    ("mixture", [choice([], [], subject="q or r"), private("pure", "1"), private("pure", "2")], {}),
    ("mixture", [choice(["k"], ["k", "l"]), private("approximate", "1", "1/9", units=[1, 2**63]),
                 private("approximate", "1", "1/9")], {}),  # k may depart in the first part, and so in the second
    ("fine_gaussian", [stable("l2-squared"), ["Numbers", "q", 3]],
     {"variance": "100", "grid": "1", "coordinates": 2, "distance": "1/2000", "key": "k"}),
    ("fine_gaussian", [stable("l2-squared"), ["Numbers", "r", 2]],
     {"variance": "100", "grid": "1", "coordinates": 2, "distance": "1/2000", "key": "k"}),
    *[(rule, [premises[0], ["Rounds", "r", *premises[1][2:]], *premises[2:]], given) for rule, premises, given, _ in HONEST
      if rule in ("centred", "factorised", "buffered", "stream_l1")],
    *[(rule, [premises[0], rounds(premises[1][2], 2)], given) for rule, premises, given, _ in HONEST
      if rule in ("centred", "buffered") and premises[1][2] > 1],
    ("factorised", [UNIT, rounds(5, 2, 2), added("ball", "0", "1/5")], MANY),
    ("factorised", [UNIT, rounds(5, 2, 2), added("ball", "0", "1/3")], MANY),
    ("factorised", [stable("l2-squared", "4"), rounds(5, 2, 2), added("interval", "0", "2")], MANY),
    ("factorised", [UNIT, rounds(5, 2, 2), [*ONCE[:6], A, "public"]], MANY),
    ("factorised", [UNIT, rounds(5), ONCE], MANY),
    *[("stream_l1", [NUMBER[0], rounds(5, times, apart)], {}) for times, apart in ((1, 1), (1, 5), (2, 4), (9, 1))],
    *[("stream_l1", [person, NUMBER[1]], {}) for person in (
        added("ball"), added("points", "0", "0", [[0], [1]]), added("cell", relation=A), stable("l1"))],
    ("stream_l1", [NUMBER[0]], {}),
    ("stream_l1", NUMBER, {"bound": "4"}),
    ("partition", [split("q", "r"), ADDED[0], private("gdp", "3", relation=A, subject="r", units=[1, 2**63])], {}),
    ("partition", [split("q"), private("gdp", "1", units=[1, 2**63]), ADDED[0]], {}),
    *[changed("assume_persons", **bad) for bad in (
        {"most": 1}, {"most": True}, {"most": "4"}, {"rows": "swap"}, {"relation": A, "rows": R})],
    *[("persons", [private("gdp", "2", **about), ["Persons", *kind]], {}) for about, kind in (
        ({"relation": A + ", groups of 4"}, ["q", R, A, 3]), ({"relation": A + ", groups of 4"}, ["q", R, A, 5]),
        ({"relation": A + ", groups of 4"}, ["q", R, R, 4]), ({"relation": A}, ["q", R, A, 4]),
        ({"relation": A + ", groups of 4"}, ["r", R, A, 4]),
        ({"relation": A + ", groups of 4", "observer": "joint"}, ["q", R, A, 4]),
        ({"relation": A + ", groups of 4", "units": [1, 9]}, ["q", R, A, 4]))],
    ("persons", [private("gdp", "2", relation=A + ", groups of 4"), ["Rare", "q", "event", "0"]], {}),
    *[changed("assume_split", cells=bad) for bad in ([], ["a", "a"], [1], "aa", None)],
    changed("assume_neighbours", relation="swap", right=["0", "0"]),
    changed("assume_neighbours", kind="outer", right=["0", "-1", "5"]),
    changed("assume_neighbours", kind="outer", left=["0", "-1", "5"]),
    changed("assume_rare", kind="luck"),
    changed("assume_rare", probability="-1/9"),
    changed("assume_rare", probability="10/9"),
    changed("assume_range", width="-1"),
    changed("assume_l1", width="-1"),
    changed("assume_each", width="-1"),
    *[changed("assume_filter", **bad) for bad in (
        {"measure": "renyi"}, {"budget": ["1"]}, {"budget": ["1", "0", "0"]}, {"budget": ["-1", "0"]},
        {"budget": ["1", "-1"]}, {"budget": "10"}, {"measure": "pure"}, {"measure": "zcdp"}, {"measure": "gdp"})],
    changed("assume_filter", measure="zcdp", budget=[]),
    *[changed("assume_event", **bad) for bad in (
        {"likely": "-1/9"}, {"likely": "10/9"}, {"rarely": "-1/9"}, {"rarely": "10/9"}, {"observer": "all"},
        {"relation": "bounded-row"}, {"relation": "bounded-row, radius 0"}, {"relation": "bounded-row, radius x"},
        {"relation": "bounded-row, radius 2/4"}, {"relation": "bounded-row, radius -1"})],
    *[changed("assume_neighbours", **bad) for bad in (
        {"left": []}, {"left": ["1"]}, {"left": [], "right": []}, {"kind": "inner"}, {"relation": A},
        {"observer": None}, {"left": ["1"], "right": ["0"], "kind": "outer"},
        {"kind": "outer", "relation": A, "right": ["0", "0"]},
        {"left": ["1"] * 4097, "right": ["0"] * 4097, "kind": "outer"})],
    ("linear", [added("cell", relation=A)], {"bound_squared": "90"}),
    ("linear", [added("outer", "0", "3")], {}),
    ("linear", [added("outer", "0", "3")], {"bound_squared": "101"}),
    ("linear", [added("outer", "0", "1")], {"bound_squared": "90"}),
    ("linear", [added("ball")], {"bound_squared": "90"}),
    ("differences", [added("ball")], {}),
    ("differences", [added("points", points=[[1]])], {"bound_squared": "90"}),
    ("centred", [stable("l1"), rounds(4)], {}),
    ("centred", [stable("l2-squared", relation=A), rounds(4)], {}),
    ("centred", [stable("l2-squared")], {"rows": 4}),
    *[changed("factorised", **bad) for bad in (
        {"bits": -1}, {"bits": 4097}, {"matrix": []}, {"matrix": [[]]},
        {"matrix": [[2], [1], [1, 1, 1]]}, {"matrix": [[2], [1, 2, 3], [1, 1, 1]]}, {"matrix": [[2], [1, "2"], [1, 1, 1]]}, {"matrix": "m"},
        {"matrix": [[2], [1, True], [1, 1, 1]]}, {"matrix": [1, 2]})],
    *[("factorised", [STREAM[0], rounds(k)], {"matrix": [[2], [1, 2], [3, -5, 1]], "bits": 1}) for k in (2, 4)],
    ("factorised", [stable("l1"), rounds(1)], {"matrix": [[1]], "bits": 0}),
    *[(rule, premises, {**given, name: bad}) for rule, premises, given, _ in HONEST if rule in NOISE
      for name in ("scale", "variance", "rate", "matrix", "vector", "grid", "threshold", "limit", "coordinates")
      if name in given for bad in ("0", "-1", 0, None)],
    *[(rule, [stable(norm), *premises[1:]], given) for rule, premises, given, _ in HONEST if premises and premises[0][0] == "Stable"
      for norm in ("other", "l1", "l2-squared", "frobenius-squared", "range", "each") if (rule, norm) not in NORMS],
    ("fine_gaussian", [stable("l2-squared"), ["Numbers", "q", 1]],
     {"variance": "100", "grid": "1", "coordinates": True, "distance": "1/2000", "key": "k"}),
    *[changed("factorised", bits=bad) for bad in (True, "1", 1.0)],
    changed("stable_histogram", scale="-1", threshold=2, delta="1"),
    changed("fine_gaussian", variance="99/100"),
    changed("fine_gaussian", distance="1/3000"),
    changed("fine_gaussian", distance="0"),
    ("fine_gaussian", [stable("l2-squared"), NUMBERS],
     {"variance": "400", "grid": "2", "coordinates": 2, "distance": "434745999/1000000000000", "key": "k"}),
    changed("fine_gaussian", distance="4033061/10000000000"),
    changed("fine_gaussian", distance="211643/500000000"),
    changed("fine_gaussian", variance="99/100", distance="1"),
    changed("finite", table=[["1/4", "3/4"], ["1/2", "1/4"]], epsilon="5"),
    changed("finite", epsilon="693147180559/1000000000000"),  # ln 2 = 0.69314718055994…
    changed("finite", table=[["1/4", "3/4"], ["1/2", "3/4"]], epsilon="5"),
    ("linear", [added("outer", "0", "3/2")], {}),
    ("centred", [stable("l2-squared", units=[1, 4]), rounds(4)], {}),
    ("factorised", [stable("l2-squared", units=[1, 2]), rounds(2)], {"matrix": [[4, -2, 9]], "bits": 2}),
    ("k_norm", [stable("l2-squared", units=[1, 2])], {"rate": "1/2", "bound": "2", "grid": "1", "key": "k"}),
    changed("k_norm", bound="-2"),
    changed("k_norm", bound="1999999999/1000000000"),
    *[changed("sparse_vector", limit=bad) for bad in (0, True)],
    changed("joint", weight="-1"),
    changed("joint", weight="0"),
    ("joint", [added("outer")], {"weight": "1"}),
    *[changed("buffered", **bad) for bad in (
        {"pairs": [], "most": "399/100"}, {"most": "304567/50000"}, {"most": "-7"}, {"width": 0}, {"width": 2},
        {"bits": 0}, {"bits": 65}, {"pairs": [[1, 3]], "most": "100"}, {"pairs": [[1, 2]], "most": "100"},
        {"pairs": [[4, 4]], "bits": 3, "most": "6"}, {"step": "0"}, {"step": "-1/16"}, {"step": "17/256"}, {"pairs": [[1, 2]]},
        {"pairs": [[1, 3]]}, {"pairs": [[2, 1]]}, {"pairs": [[-1, 1]]}, {"pairs": [[1, -1]]}, {"pairs": [[1]]},
        {"pairs": [[1, 1], [1, 1]]}, {"pairs": "p"}, {"pairs": [[1, True]]}, {"pairs": [[1, 1.0]]},
        {"pairs": [[0, 0]] * 65, "most": "100"})],
    ("buffered", [STREAM[0], rounds(4)], BUFFERS),
    ("buffered", [STREAM[0], rounds(1)], {**BUFFERS, "most": "399/100"}),
    ("buffered", [stable("l2-squared", units=[1, 3]), rounds(3)], BUFFERS),
    ("buffered", [stable("l1"), rounds(3)], BUFFERS),
    *[changed("finite", **bad) for bad in (
        {"epsilon": "1/2"}, {"epsilon": "-1"}, {"table": [["1/4", "3/4"], ["1/2", "1/4"]]},
        {"table": [["1/4", "3/4"], ["1/2", "1/2", "0"]]}, {"table": [["1"]]},
        {"table": [["1/4", "3/4"], ["0", "1"]]}, {"table": [["5/4", "-1/4"], ["5/4", "-1/4"]]},
        {"table": [["1/2", "1/2"]] * 3})],
    *[changed("shuffled", **bad) for bad in (
        {"delta": "942526495411191/10000000000000000"}, {"delta": "2"}, {"delta": "-1"}, {"epsilon": "-1"},
        {"epsilon": "999/1000", "delta": "36817441227/390625000000"}, {"size": 19, "delta": "19/200"},
        {"epsilon": "2197/1000", "delta": "0"}, {"size": 1}, {"size": 0}, {"size": 10_001}, {"size": True},
        {"size": "20"}, {"size": 1, "delta": "1"}, {"size": True, "delta": "1"}, {"table": [["10/11", "1/11"], ["1/11", "10/11"]]},
        {"table": [["9/10", "1/10"], ["1/10", "4/5"]]}, {"table": [["9/10", "1/10"], ["0", "1"]]},
        {"table": [["1/2", "1/2"]] * 3})],
    ("shuffled", [added("points", points=[[0], [1]], relation=A)], BITS),
    ("shuffled", [added("points", points=[[0], [2]])], BITS),
    ("shuffled", [added("ball", points=[[0], [1]])], BITS),
    ("finite", [added("points", points=[[0], [2]])], TABLE),
    ("finite", [added("points", points=[[0], [1]], relation=A)], TABLE),
    ("finite", [added("ball", points=[[0], [1]])], TABLE),
    *[changed("stable_histogram", **bad) for bad in (
        {"delta": "1/40000"}, {"delta": "2"}, {"threshold": 9}, {"threshold": 1}, {"scale": "2"},
        {"threshold": 1, "delta": "1"}, {"delta": "1659/50000000"},
        {"scale": "2", "threshold": 21, "delta": "28259/1000000000"})],
    ("stable_histogram", [added("cell")], {"scale": "1", "threshold": 11, "delta": "1/1000", "key": "k"}),
    ("stable_histogram", [added("cell", high="4", relation=A)],
     {"scale": "1", "threshold": 11, "delta": "1/9000", "key": "k"}),
    changed("assume_cell", most=0),
    changed("assume_cell", most="2"),
    changed("assume_cell", relation="substitute"),
    ("stable_histogram", [added("ball", relation=A)],
     {"scale": "1", "threshold": 11, "delta": "1/1000", "key": "k"}),
    ("nodes", [private("gdp", "2"), covered(query="r")], {}),
    ("nodes", [private("gdp", "2", observer="joint"), covered()], {}),
    ("nodes", [private("bounded-range", "2"), covered(2)], {}),
    ("nodes", [private("gdp", "2", units=[1, 2]), covered(3)], {}),
    *[(rule, [], {}) for rule in ("compose", "parallel", "mixture")],
    *[(rule, [*([choice([], [])] if rule == "mixture" else []), private("pure", "1", units=[1, 2]), other], {})
      for rule in ("compose", "parallel", "mixture") for other in (private("pure", "1", relation=A, units=[3, 4]), private("gdp", "1", units=[3, 4]),
                    private("pure", "1", observer="joint", units=[3, 4]))],
    *[(rule, [private("lattice", "8", [[1]], 1, units=[1, 2])], {}) for rule in ("compose", "parallel", "mixture")],
    ("compose", [private("bounded-range", "1")] * 2, {}),
    ("compose", [private("renyi", ["2", "1"]), private("renyi", ["3", "1"])], {}),
    ("compose", [private("renyi", ["2", "1"]), private("renyi", ["2", "1"], ["3", "1"])], {}),
    ("parallel", [private("pure", "1", units=[1, 2]), private("pure", "2", units=[2, 3])], {}),
    *[("parallel", [private("pure", "1", relation=f"{R}, groups of 2", units=u) for u in spans], {})
      for spans in ([[1, 2], [3, 4]], [[1, 2]])],
    ("nodes", [private("pure", "1", relation=f"{R}, groups of 2"), ["Covered", "q", 2, 1, 1, [1, 2]]], {}),
    ("parallel", [private("pure", "1", units=[1, 2]), private("pure", "2")], {}),
    ("partition", [split("q")], {}),
    ("partition", [split("q", "r"), *KEPT], {}),
    ("partition", [split("q", "r"), *ADDED, *KEPT], {}),
    ("partition", [split("q", "r"), KEPT[0], *ADDED], {}),
    ("partition", [split("q", "r"), *KEPT[::-1], *ADDED], {}),
    ("partition", [split("q", "r"), *KEPT, *ADDED[::-1]], {}),
    ("partition", [split("r", "q"), *ADDED], {}),
    ("partition", [split("q"), *ADDED], {}),
    ("partition", [split("q", "r", "q"), *KEPT, *ADDED, private("gdp", "1", relation="other")], {}),
    ("partition", [split("q"), private("bounded-range", "2", relation=A)], {}),
    ("partition", [split("q"), private("gdp", "2", relation=A, observer="local")], {}),
    ("partition", [split("q"), private("pure", "2"), private("gdp", "2", relation=A)], {}),
    ("partition", [split("q"), private("near-gdp", "2", "1/9"), private("near-gdp", "2", "1/9", relation=A)], {}),
    ("partition", [split("q"), private("gdp", "2", observer="local"), private("gdp", "2", relation=A)], {}),
    ("partition", [split("q"), private("renyi", ["2", "1"]), private("renyi", ["3", "1"], relation=A)], {}),
    *[("group", [private("pure", "1")], {"size": size}) for size in (1, 0, True, "3")],
    ("group", [private("pure", "1")], {"size": 2, "delta": "1/2"}),
    ("group", [private("approximate", "0", "1/8")], {"size": 2}),
    ("group", [private("approximate", "0", "1/8")], {"size": 2, "delta": "249/1000"}),
    ("group", [private("approximate", "1", "1/8")], {"size": 2, "delta": "464785228557/1000000000000"}),
    ("group", [private("approximate", "1", "1/100")], {"size": 3, "delta": "111073379273/1000000000000"}),
    ("group", [private("bounded-range", "1")], {"size": 2}),
    ("group", [private("lattice", "8", [[1]], 1)], {"size": 2}),
    ("despite", [private("approximate", "1", "1/8"), ["Rare", "q", "event", "1/7"]], {"delta": "1/4"}),
    ("despite", [private("approximate", "1", "1/8"), ["Rare", "r", "event", "1/8"]], {"delta": "1/4"}),
    ("despite", [private("approximate", "1", "1/8"), ["Rare", "q", "distance", "1/16"]], {"delta": "1/4"}),
    ("despite", [private("approximate", "1", "1"), ["Rare", "q", "event", "1/8"]], {"delta": "9/8"}),
    ("despite", [private("approximate", "1", "0"), ["Rare", "q", "distance", "1/16"]], {"delta": "116196307139/500000000000"}),
    ("despite", [private("pure", "1"), ["Rare", "q", "event", "1/8"]], {"delta": "1/4"}),
    ("despite", [private("near-gdp", "1", "1/8"), ["Rare", "q", "event", "1/8"]], {"delta": "1/4"}),
    ("despite", [private("approximate", "1", "1/8"), ["Rare", "q", "distance", "1/16"]], {"delta": "3/10"}),
    ("replace_one", [private("pure", "1", relation=A + ", groups of 3")], {}),
    ("replace_one", [private("pure", "1", relation=A)], {}),
    ("replace_one", [private("pure", "1", relation=R + ", groups of 2")], {}),
    ("post_process", [private("pure", "1"), ["View", "seen", "others", []]], {}),
    *[("post_process", [private("pure", "1", observer=seen), VIEW], {}) for seen in ("local", "joint")],
    ("billboard", [private("pure", "1"), VIEW], {}),
    ("billboard", [private("pure", "1", observer="joint"), ["View", "seen", "others", []]], {}),
    ("local", [private("pure", "1"), covered(widest=2)], {}),
    ("local", [private("pure", "1", units=[1, 2]), covered()], {}),
    ("local", [private("pure", "1", relation=A), covered()], {}),
    ("local_view", [private("pure", "1"), VIEW], {}),
    *[("to_zcdp", [private(*curve)], {}) for curve in (("approximate", "1", "0"), ("zcdp", "1"), ("near-gdp", "1", "0"))],
    ("to_pure", [private("zcdp", "1")], {}),
    *[("to_near_gdp", [private(*curve)], {}) for curve in (("pure", "1"), ("zcdp", "1"), ("approximate", "1", "0"), ("near-gdp", "1", "0"))],
    ("to_renyi", [private("pure", "2")], {"orders": ["2"]}),
    *[("to_renyi", [private("zcdp", "2")], {"orders": bad}) for bad in ([], ["1"], ["2", "2"], ["3", "2"], ["1/2"])],
    *[("to_gdp", [private(*curve)], {"mu_squared": "1517911190741/1000000000000"}) for curve in (("pure", "1"), ("bounded-range", "2"))],
    ("to_gdp", [private("approximate", "1", "0")], {"mu_squared": "9"}),
    ("to_gdp", [private("pure", "0")], {"mu_squared": "-1"}),
    ("to_gdp", [private("zcdp", "1")], {"mu_squared": "9"}),
    *[("to_approximate", [private("zcdp", "1/8")], {"epsilon": "3", "delta": "1/100", **bad}) for bad in (
        {}, {"order": "1"}, {"order": "1/2"}, {"order": "9", "delta": "0"}, {"order": "9", "epsilon": "1"},
        {"order": "9", "delta": "1/100000000"})],
    *[("to_approximate", [private(*curve)], {"epsilon": "591/125", "delta": "1/100000", "order": "543/100"}) for curve in HALVES],
    ("to_approximate", [private("bounded-range", "1")], {"epsilon": "999999999999/1000000000000", "delta": "0"}),
    ("to_approximate", [private("zcdp", "0")], {"epsilon": "0", "delta": "0", "order": "2"}),
    ("to_approximate", [private("renyi", ["2", "1"])], {"epsilon": "3", "delta": "1/100", "order": "9"}),
    ("to_approximate", [private("renyi", ["9", "9/8"])], {"epsilon": "3", "delta": "1/100"}),
    ("to_approximate", [private("pure", "1")], {"epsilon": "1", "delta": "0", "order": "2"}),
    ("to_approximate", [private("pure", "1")], {"epsilon": "-1", "delta": "1"}),
    ("to_approximate", [private("pure", "1")], {"epsilon": "1", "delta": "2"}),
    ("to_approximate", [private("pure", "1")], {"epsilon": "1", "delta": "-1"}),
    ("to_approximate", [private("other", "1")], {"epsilon": "1", "delta": "1"}),
    ("to_approximate", [private("approximate", "1", "1/8")], {"epsilon": "1", "delta": "1/9"}),
    ("to_approximate", [private("approximate", "1", "1/8")], {"epsilon": "1/2", "delta": "1/8"}),
    ("apart", [apart("vector", "4"), covered(query="r")], {"law": "gaussian", "scale": "6"}),
    ("apart", [apart("number", "4"), covered(2)], {"law": "laplace", "scale": "6"}),
    ("apart", [apart("vector", "4"), covered(1)], {"law": "laplace", "scale": "6"}),
    ("apart", [apart("number", "4"), covered(1)], {"law": "laplace", "scale": "0"}),
    ("apart", [apart("number", "4"), covered(1)], {"law": "laplace", "scale": "-6"}),
    ("apart", [apart("number", "4"), covered(1)], {"law": "cauchy", "scale": "6"}),
    *[("apart", [apart(*law), covered(1)], {"law": "gaussian", "scale": "6"}) for law in (("event", "1", "0"), ("gaussian", "4"))],
    ("apart", [apart("vector", "4"), covered(1)], {"law": "gaussian", "scale": "0"}),
    ("refute", [apart("vector", "4")], {"epsilon": "0", "delta": "0"}),
    ("refute", [apart("event", "1/2", "0")], {"epsilon": "9", "delta": "1/2"}),
    ("refute", [apart("event", "1", "1/9")], {"epsilon": "2", "delta": "89497/500000"}),
    ("refute", [apart("event", "1", "0")], {"epsilon": "-1", "delta": "1/2"}),
    ("refute", [apart("event", "1", "0")], {"epsilon": "1", "delta": "-1/2"}),
    ("refute", [apart("event", "1", "0")], {"epsilon": "1", "delta": "1"}),
    ("refute", [apart("laplace", "2")], {"epsilon": "0", "delta": "632120558829/1000000000000"}),
    ("refute", [apart("laplace", "2")], {"epsilon": "1/2", "delta": "527633447259/1000000000000"}),
    ("refute", [apart("laplace", "2")], {"epsilon": "2", "delta": "0"}),
    ("refute", [apart("laplace", "2")], {"epsilon": "3", "delta": "0"}),
    ("refute", [apart("gaussian", "1")], {"epsilon": "0", "delta": "2/5"}),
    ("refute", [apart("gaussian", "0")], {"epsilon": "0", "delta": "0"}),
    ("refute", [apart("other", "1")], {"epsilon": "0", "delta": "0"}),
    ("believe", [], {}),
    ("assume_all", [], {}),
]  # fmt: skip

TRUE = [
    changed("assume_points", points=[[0]]),
    changed("assume_points", points=[[i] for i in range(256)]),
    changed("assume_points", points=[[2**64 - 1] * 64]),
    changed("assume_points", source="coin"),
    changed("assume_ball", source="dp-output"),
    changed("assume_clipped", low="1"),
    changed("assume_ball", radius="0"),
    changed("assume_rank_one", reward="0"),
    changed("assume_rank_one", kind="rank-one"),
    changed("assume_covers", covers=[[1, 1]]),
    changed("assume_covers", covers=[[1, 2**63 - 1]]),
    changed("assume_rounds", rounds=2**63 - 1),
    changed("assume_tree", rounds=1, levels=1),
    changed("assume_tree", levels=1),
    changed("assume_tree", rounds=4),
    changed("assume_rare", probability="0"),
    changed("assume_rare", kind="distance"),
    changed("assume_filter", measure="pure", budget=["0"]),
    changed("assume_split", cells=["a"]),
    changed("assume_filter", measure="gdp", budget=["1"]),
    changed("assume_filter", measure="zcdp", budget=["1"]),
    changed("assume_neighbours", relation=A, right=["0", "0"]),
    changed("assume_neighbours", left=["1"] * 300, right=["0"] * 300),
    ("centred", [stable("l2-squared"), rounds(1)], {}),
    ("stream_l1", [NUMBER[0], rounds(1, 2, 1)], {}),
    ("stream_l1", [added("interval", "-1/2", "-1/2"), rounds(3, 2, 3, last=9)], {}),
    changed("fine_gaussian", variance="1", distance="1"),
    changed("group", size=10**6),
    ("despite", [private("approximate", "1", "0"), ["Rare", "q", "distance", "1/16"]], {"delta": "232392614279/1000000000000"}),
    ("despite", [private("approximate", "1", "7/8"), ["Rare", "q", "event", "1/8"]], {"delta": "1"}),
    ("group", [private("approximate", "1", "1/8")], {"size": 2, "delta": "232392614279/500000000000"}),
    ("group", [private("approximate", "1", "1/100")], {"size": 3, "delta": "55536689637/500000000000"}),
    ("group", [private("approximate", "1/1000000000", "1/10")], {"size": 2, "delta": "21/100"}),
    ("to_approximate", [private("pure", "1")], {"epsilon": "1", "delta": "0"}),
    ("to_approximate", [private("pure", "1")], {"epsilon": "0", "delta": "1"}),
    ("to_approximate", [private("gdp", "0")], {"epsilon": "0", "delta": "0"}),
    ("to_approximate", [private("bounded-range", "1")], {"epsilon": "1", "delta": "0"}),
    ("to_approximate", [private("approximate", "1", "1/8")], {"epsilon": "1", "delta": "1/8"}),
    changed("finite", table=[["1/2", "1/2"]] * 2, epsilon="0"),
    changed("finite", epsilon="8664339757/12500000000"),
    changed("shuffled", table=[["1/2", "1/2"]] * 2, epsilon="0", delta="0"),
    changed("shuffled", delta="94252649541121/1000000000000000"),
    changed("shuffled", epsilon="2747/1250", delta="0"),  # ln 9 = 2.1972…
    changed("shuffled", size=10_000, delta="1/10000"),
    changed("shuffled", delta="1"),
    changed("stable_histogram", threshold=2, delta="1"),
    changed("stable_histogram", delta="83/2500000"),
    ("mixture", [choice([], subject="q"), private("pure", "1")], {}),
    *[("to_gdp", [private(*curve)], {"mu_squared": "1517911190743/1000000000000"}) for curve in (("pure", "1"), ("bounded-range", "2"))],
    *[("to_approximate", [private(*curve)], {"epsilon": "472839/100000", "delta": "1/100000", "order": "543/100"}) for curve in HALVES],
    ("to_renyi", [private("zcdp", "2")], {"orders": ["2"]}),
    ("to_approximate", [private("zcdp", "1/8")], {"epsilon": "3", "delta": "1/10", "order": "3/2"}),
    ("refute", [apart("event", "1", "1/9")], {"epsilon": "2", "delta": "178993/1000000"}),
    ("refute", [apart("laplace", "2")], {"epsilon": "0", "delta": "158030139707/250000000000"}),
    ("refute", [apart("laplace", "2")], {"epsilon": "1/2", "delta": "263816723629/500000000000"}),
    ("refute", [apart("laplace", "2")], {"epsilon": "199/100", "delta": "0"}),
    ("refute", [apart("event", "1/2", "0")], {"epsilon": "9", "delta": "4999999/10000000"}),
]  # fmt: skip


def family(rule):
    """The file of the checker's rule; unknown rules are refused by the lookup."""
    return RULES[rule].source.__module__.rpartition(".")[2] if rule in RULES else "composition"


def of(name, table):
    """The cases of a family, for `looped`."""
    return {"argnames": "case", "argvalues": [case for case in table if family(case[0]) == name]}


def amounts(fact):
    """The numbers of a statement's curve, its bound, or its moves: what a weaker statement has more of."""
    numbers = fact[2][1:] if fact[0] == "Private" else [fact[3]]
    return [Fraction(n[1]) if isinstance(n, list) else Fraction(n) for n in numbers if not isinstance(n, int)]
