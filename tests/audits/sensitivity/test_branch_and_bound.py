"""Proofs of sensitivities by branch and bound: true bounds, bounds just too small, and what balls cannot tell."""

import itertools
import json
import math
import sys
import time
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from audits.datasets.shape import Shape
from audits.sensitivity.balls import Ball, Undecided, accepting_balls, array
from audits.sensitivity.branch_and_bound import BOXES, boxes_for, entries, prove
from tests.depth import deep


def shape(rows, columns=None, low=0.0, high=1.0, *, integer=False, relation="replace-one", radius=None):
    width = columns or 1
    return Shape(rows, columns, (low,) * width, (high,) * width, integer, relation, radius)


def mean(data):
    return float(np.mean(data))


def deviations(data):
    return float(((data - data.mean()) ** 2).sum())


def spread(data):
    return np.std(data)


def kink(data):
    return float(np.clip(data, 0, 0.5).sum())


def median(data):
    return np.median(data)


def products(data):
    return data.T @ data


def column_sums(data):
    return {"sums": data.sum(axis=0)}


def logistic(data):
    return sum(1 / (1 + math.exp(-x)) for x in data) / len(data)


def count(data):
    return int((data > 2).sum()) if data.dtype.kind == "i" else (data > 2).sum()


def largest(data):
    return max(*data, 0.25)


# query, data, norm, its true sensitivity
TRUE = [
    (mean, shape(7, high=3.0), "l1", Fraction(3, 7)),
    (deviations, shape(4), "l1", Fraction(3, 4)),
    (kink, shape(3), "l1", Fraction(1, 2)),
    (median, shape(3), "l1", Fraction(1)),
    (largest, shape(2), "l1", Fraction(3, 4)),
    (products, shape(2, 2, -1.0), "l2", Fraction(math.sqrt(8)) * (1 + Fraction(1, 10**15))),
    (column_sums, shape(3, 2, -1.0), "l1", Fraction(4)),
    (column_sums, shape(3, 2, -1.0), "linf", Fraction(2)),
    (column_sums, shape(3, 2, -1.0, relation="bounded-row", radius=0.5), "l2", Fraction(1, 2)),
    (mean, shape(3, relation="bounded-row", radius=0.25), "l1", Fraction(1, 12)),
    (logistic, shape(2, None, -4.0, 4.0), "l1", Fraction(math.tanh(2)) / 2 * (1 + Fraction(1, 10**14))),
    (lambda data: data.sum(), shape(3, relation="add-remove"), "l1", Fraction(1)),
]


@deep
@pytest.mark.parametrize(("query", "data", "norm", "true"), TRUE)
def test_a_true_bound_is_proved_and_one_just_below_is_refuted(query, data, norm, true):
    proof = prove(query, data, norm, true)
    assert (proof.status, proof.why) == ("proved", "")
    assert proof.lower <= float(true) * (1 + 1e-12)
    assert true <= Fraction(proof.upper) * (1 + Fraction(1, 10**12))  # an upper bound of the truth
    assert Fraction(proof.upper) <= true * (1 + Fraction(1, 10**9))
    below = prove(query, data, norm, true * Fraction(97, 100))
    assert below.status == "refuted"
    moved = np.ravel(entries_of(query, below.right)) - np.ravel(entries_of(query, below.left))
    size = np.linalg.norm(moved, {"l1": 1, "l2": 2, "linf": np.inf}[norm])
    assert size > float(true) * 0.97
    assert data.neighbours(below.left, below.right)


def entries_of(query, data):
    found = query(data)
    return found["sums"] if isinstance(found, dict) else found


@deep
def test_a_bound_inside_the_box_of_a_root_that_may_be_zero():
    assert prove(spread, shape(3), "l1", Fraction(1, 2)).status == "proved"  # the truth: √2/3 = 0.4714
    assert prove(spread, shape(3), "l1", Fraction(47, 100)).status == "refuted"


@deep
def test_what_never_moves_but_looks_as_if_stays_undecided_with_its_gap():
    """Every x is subtracted from itself; balls forget that both are the same (dependency)."""

    def nothing(data):
        return (data * (data + 1) - data * data - data).sum()

    proof = prove(nothing, shape(2), "l1", Fraction(0), boxes=300)
    assert (proof.status, proof.boxes, proof.lower) == ("undecided", 300, 0.0)
    assert 0 < proof.upper < 1
    assert prove(nothing, shape(2), "l1", Fraction(0), boxes=1200).upper < proof.upper
    assert prove(nothing, shape(2), "l1", Fraction(1, 2), boxes=3000).status == "proved"


def test_a_jump_is_never_decided_over_the_reals_and_is_over_integers():
    assert prove(count, shape(2, high=4.0), "l1", Fraction(1), boxes=400).status == "undecided"
    whole = shape(2, high=4.0, integer=True)
    assert prove(lambda data: (data > 2).sum(), whole, "l1", Fraction(1)).status == "proved"
    assert prove(lambda data: (data > 2).sum(), whole, "l1", Fraction(9, 10)).status == "refuted"


def test_a_narrow_peak_that_no_search_meets_is_found_by_bounds():
    def peak(data):
        return data[1] + 3 * np.exp(-((1000 * (data[0] - 0.123456)) ** 2))

    proof = prove(peak, shape(2), "l1", Fraction(2))
    assert proof.status == "refuted"
    assert abs(proof.left[0] - 0.123456) < 0.002 or abs(proof.right[0] - 0.123456) < 0.002
    assert prove(peak, shape(2), "l1", Fraction(3) + Fraction(1, 1000)).status == "proved"


@deep
@pytest.mark.parametrize(
    ("query", "said"),
    [
        (lambda data: np.fft.fft(data).real.sum(), "raises TypeError on balls"),
        (lambda data: data.sum() if data.dtype.kind == "f" else 0 * data.sum(), "another result on balls"),
        (lambda data: int(data[0]), "whole numbers"),
        (lambda data: np.round(data).sum(), "uses np.rint"),
        (lambda data: np.array(data, dtype=np.float64).sum(), "floating-point numbers"),
        (lambda data: "text", "gives str"),
        (lambda data: data[5], "raises IndexError"),
    ],
)
def test_what_cannot_be_evaluated_on_balls_is_said(query, said):
    proof = prove(query, shape(2), "l1", Fraction(1))
    assert proof.status == "undecided"
    assert said in proof.why
    assert proof.upper == math.inf


def test_too_many_numbers_are_said():
    assert "65 numbers" in prove(mean, shape(64), "l1", Fraction(1)).why


@deep
def test_balls_hold_values_slopes_and_bends():
    """Over random small boxes: values and divided differences of floats lie within the balls."""

    def query(data):
        x, y = data[0], data[1]
        return [
            math.exp(-x * y) / (1 + y**2),
            np.sqrt(1 + x) * np.log(2 + y) - np.arctan(x * y),
            np.tanh(3 * x) + np.sin(y) * np.cos(x) + np.expm1(x) * np.log1p(y),
            abs(x - y) ** 3 + max(x, y) - min(x, 0.3) + np.median(data) + np.linalg.norm(data, 1),
        ]

    rng = np.random.default_rng(5)
    for low in rng.random((40, 2)):
        high = low + rng.random(2) * 0.3
        zero = (arb(0),) * 2
        slopes = ((arb(1), arb(0)), (arb(0), arb(1)))
        made = [
            Ball(arb(a).union(arb(b)), s, zero, positive=True)
            for a, b, s in zip(low, high, slopes, strict=True)
        ]
        with accepting_balls(query):
            found = entries(query(array(made, (2,))))
        points = [low + (high - low) * rng.random(2) for _ in range(6)]
        for k, ball in enumerate(found):
            for p, q in itertools.pairwise(points):
                assert ball.value.overlaps(arb(float(query(p)[k]), 1e-9))
                here, there = float(query(p)[k]), float(query(np.array([q[0], p[1]]))[k])
                slope = (there - here) / (q[0] - p[0])  # the mean value theorem, in the first variable
                assert ball.slopes[0].overlaps(arb(slope, 1e-6 + 1e-12 / abs(q[0] - p[0])))
                if ball.bends[1].is_finite():
                    cross = float(query(q)[k]) - there - float(query(np.array([p[0], q[1]]))[k]) + here
                    area = (q[0] - p[0]) * (q[1] - p[1])
                    assert ball.bends[1].overlaps(arb(cross / area, 1e-6 + 1e-12 / abs(area)))


def test_comparisons_that_a_ball_does_not_decide_are_refused():
    wide = Ball(arb(0).union(arb(1)))
    for compare in (lambda: wide < 0.5, lambda: wide == 0.5, lambda: bool(wide), lambda: 1 / wide):
        with pytest.raises(Undecided):
            compare()
    assert [wide < 2, wide >= -1, wide != 3] == [True] * 3


def test_a_query_keeps_its_own_float_and_math_afterwards():
    assert prove(mean, shape(2), "l1", Fraction(1)).status == "proved"
    assert "float" not in mean.__globals__
    assert mean.__globals__["math"] is math


# ------------------------------------------------------------------ on the command line

CLINIC = """
import numpy as np

def mean(data):
    return float(np.mean(data))

def peak(data):
    return float(data[1] + 3 * np.exp(-(1e5 * (data[0] - 0.123456)) ** 2))

def transform(data):
    return np.abs(np.fft.fft(data))
"""


@pytest.fixture
def prove_clinic(dpaccount, tmp_path):
    (tmp_path / "clinic.py").write_text(CLINIC)

    def run(name, bound, *more):
        data = (
            "--norm",
            "l1",
            "--bound",
            bound,
            "--shape",
            "2",
            "--low=0",
            "--high=1",
            "--prove",
            "--seconds",
            "1e6",
        )
        code, out, err = dpaccount("sensitivity", f"clinic:{name}", *data, *more)
        assert "Traceback" not in err
        return code, out

    return run


def test_a_slow_clock_changes_no_digit_of_a_proof(monkeypatch):
    """The limit in seconds becomes a number of boxes before the search; the search reads no clock."""

    def search():
        return prove(spread, shape(3), "l1", Fraction(4715, 10000), boxes=boxes_for(shape(3), 0.2))

    quick = search()
    assert (quick.status, quick.boxes) == ("undecided", 50)
    ticks = itertools.count(step=3600)
    for clock in ("monotonic", "perf_counter", "process_time", "time"):
        monkeypatch.setattr(time, clock, lambda: float(next(ticks)))
    assert search() == quick


def test_more_seconds_and_smaller_pairs_allow_more_boxes():
    allowed = [[boxes_for(shape(rows), seconds) for seconds in (1e-9, 1, 60, 1e9)] for rows in (1, 7, 63)]
    for row in allowed:
        assert row == sorted(row)
        assert (row[0], row[-1]) == (1, BOXES)
    for column in zip(*allowed, strict=True):
        assert list(column) == sorted(column, reverse=True)


@deep
def test_the_command_proves_refutes_and_says_what_it_cannot(prove_clinic):
    code, out = prove_clinic("mean", "0.5", "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["refuted"] is False
    assert answer["proof"]["status"] == "proved"
    assert 0.5 <= answer["proof"]["upper"] <= 0.5 * (1 + 1e-9)

    code, out = prove_clinic("transform", "4", "--json")
    assert code == 3
    assert "balls cannot tell" in json.loads(out)["proof"]["why"]


@deep
def test_the_command_prints_what_the_proof_refutes_as_a_test(prove_clinic, tmp_path, monkeypatch):
    code, out = prove_clinic("peak", "2")  # a peak of width 1e-5: no search without bounds meets it
    assert code == 1
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "clinic", raising=False)
    space = {}
    exec(out[out.index("import numpy") :], space)  # noqa: S102  # the printed test
    with pytest.raises(AssertionError):
        space["test_sensitivity_of_peak"]()


@deep
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["clipped-mean", "--bound", "1"], "declares its bounds itself"),
        (["clipped-mean", "--prove"], "declares its bounds itself"),
        (["svt-1"], "unknown subject"),
        (["clinic:mean", "--norm", "l1"], "--bound is missing"),
        (["clinic:mean"], "say --norm, --bound"),
    ],
)
def test_wrong_requests(dpaccount, tmp_path, words, said):
    (tmp_path / "clinic.py").write_text(CLINIC)
    code, out, err = dpaccount("sensitivity", *words)
    assert (code, out) == (2, "")
    assert said in err
