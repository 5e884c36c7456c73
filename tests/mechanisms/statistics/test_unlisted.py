"""Counts of unlisted values, in studies: proved with the other statistics, drawn once a value."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.errors import InputError, RuleError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import ADD_REMOVE, REPLACE_ONE, point, write
from mechanisms.noisy_statistics import planned
from mechanisms.statistics import unlisted
from mechanisms.statistics.estimates import table
from mechanisms.statistics.statistic import Statistic
from mechanisms.table.bind_columns import Promise
from mechanisms.table.columns import Column
from mechanisms.table.user_level import of_rows
from tests.depth import deep, examples

CODE = Column("code", "text", length=8)
AGE = Column("age", "integer", Fraction(0), Fraction(9))
COUNT = Statistic("n", "count", by=(CODE,), where="age > 4", declared=(AGE,))
TOP = Statistic("t", "top", CODE, k=2, share=Fraction(2))
MEAN = Statistic("m", "mean", AGE)
BOTH = pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
DELTA = Fraction(1, 10**6)


def study(relation, *every, epsilon=Fraction(1)):
    return planned(every, 60, 1, Promise(relation, epsilon, DELTA))[0]


def rows_of(words, ages):
    return np.column_stack([np.ones(len(words)), ages, CODE.codes(words)])


class Seen:
    """Noise that notes what it is given, and adds none."""

    def __init__(self):
        self.cells = {}

    def noisy(self, key, part, exact):
        return exact

    def noisy_cells(self, key, part, cells):
        self.cells[key] = cells
        return cells


@BOTH
@pytest.mark.parametrize("every", [(COUNT,), (COUNT, TOP), (MEAN, COUNT), (TOP, MEAN, COUNT)])
def test_the_total_is_met_and_hardly_missed(relation, every):
    planned_study = study(relation, *every)
    assert Fraction(97, 100) < point(planned_study.proof(DELTA))[0] <= 1
    rules = [step["rule"] for step in write(planned_study.proof(DELTA))]
    assert rules.count("stable_histogram") == sum(bool(each.unlisted) for each in every)


@BOTH
def test_a_threshold_that_is_too_low_is_not_proved(relation):
    """Less noise costs more."""
    for every in ((COUNT,), (MEAN, COUNT)):
        planned_study = study(relation, *every)
        low = tuple(each - 3 for each in planned_study.thresholds)
        with pytest.raises(RuleError, match="does not cover the threshold"):
            replace(planned_study, thresholds=low).proof(DELTA)
        less = (*planned_study.scales[:-1], planned_study.scales[-1] * Fraction(7, 8))
        try:
            cost = point(replace(planned_study, scales=less).proof(DELTA))[0]
        except RuleError:
            continue  # with less noise, δ may not cover the same threshold
        assert cost > point(planned_study.proof(DELTA))[0]


@deep
@given(st.integers(1, 200), st.integers(2, 12))
def test_the_least_threshold_is_that_of_the_formula(scale32, digits):
    """δ ≥ P(1 + X ≥ τ) at it, and not at the one before the last, by the formula of the rule's docstring."""
    scale, delta = Fraction(scale32, 32), Fraction(1, 10**digits)
    found = unlisted.least_threshold(scale, delta, ADD_REMOVE)

    def shows(threshold):
        return math.exp(-(threshold - 1) / scale) / (1 + math.exp(-1 / scale))

    assert shows(found) <= delta
    assert found <= 3 or shows(found - 2) > delta
    unlisted.shown("k", scale, found, delta, ADD_REMOVE)
    unlisted.shown("k", scale, unlisted.least_threshold(scale, delta, REPLACE_ONE), delta, REPLACE_ONE)


@deep
@given(
    st.lists(st.tuples(st.sampled_from(["I10", "E11", "", "é", "longer than eight"]), st.integers(0, 9))),
    st.permutations([COUNT, TOP, MEAN]),
)
def test_what_is_counted_is_a_counter_of_the_rows_that_count(some, order):
    """Of those that meet the condition, cut to the declared bytes; the empty text and absent rows nowhere."""
    planned_study, noise = study(ADD_REMOVE, *order), Seen()
    words, ages = [word for word, _ in some], [age for _, age in some]
    rows = rows_of(words, ages) if some else np.zeros((0, 4))
    rows = np.vstack([rows, [[0, 9, *CODE.codes(["gone"])[0]]]])  # a row of nothing
    view = planned_study.play(rows, noise, 0)
    cut = [word.encode()[:8].decode() for word in words]
    right = {
        "n": Counter(word for word, age in zip(cut, ages, strict=True) if word and age > 4),
        "t": Counter(word for word in cut if word),
    }
    for name, counts in right.items():
        assert dict(zip(view.public[f"{name}/texts"], view.public[f"{name}/keys"], strict=True)) == counts
        assert view.public[name].tolist() == view.public[f"{name}/keys"].tolist()
    assert not planned_study.adds_up
    assert set(planned_study.report(view)) == {"n", "t", "m", "n/texts", "t/texts"}


WARD = Column("ward", "category", values=("a", "b"))
NOTE = Column("note", "text", length=12)
CODES, WARDS, NOTES = ["I10", "E11", ""], ["a", "b", "c"], ["", "x", "xx"]
SOME = st.tuples(*map(st.sampled_from, (CODES, WARDS, NOTES)))


@pytest.mark.parametrize("by", [(CODE, WARD), (WARD, CODE), (NOTE, WARD, CODE), (AGE, CODE)])
@examples(40)
@given(st.lists(SOME, min_size=1, max_size=40))
def test_values_of_several_columns_are_counted_together(by, some):
    """Rows without a text, or with a value that a list lacks, count nowhere."""
    found = study(ADD_REMOVE, Statistic("n", "count", by=by), MEAN)
    cells = dict(zip(("code", "ward", "note"), map(list, zip(*some, strict=True)), strict=True))
    cells["age"] = [len(code) for code in cells["code"]]
    known = {"code": CODE, "ward": WARD, "note": NOTE, "age": AGE}
    rows = np.column_stack(
        [np.ones(len(some)), *(known[each.name].codes(cells[each.name]) for each in found.columns)]
    )
    view = found.play(rows, Seen(), 0)
    keys = zip(*([str(cell) for cell in cells[each.name]] for each in by), strict=True)
    right = Counter(key for key in keys if "" not in key and not {"c"} & set(key))
    shown = [tuple(each) for each in found.report(view)["n/texts"]]
    assert dict(zip(shown, view.public["n"].tolist(), strict=True)) == right
    ends = [view.public["n"].tolist()] * 3
    listed = table(found.statistics[0], ends, found.report(view)["n/texts"])
    assert {tuple(row[each.name] for each in by): row["estimate"] for row in listed} == right


@BOTH
@examples(5)
@given(st.integers(0, 10**6))
def test_only_counts_from_the_threshold_on_are_shown_within_their_intervals(relation, seed):
    planned_study = study(relation, COUNT, MEAN, epsilon=Fraction(5))
    rows = rows_of(["I10"] * 50 + [f"c{k}" for k in range(10)], np.full(60, 9))
    view = planned_study.play(rows, rehearse(Proved(planned_study.proof(DELTA)), Rehearsal(seed)), 0)
    assert set(view.public["n/texts"]) <= {"I10"}
    assert (view.public["n/keys"] >= planned_study.threshold(COUNT)).all()
    ends = planned_study.accuracy(view, Fraction(999999, 10**6))["n"]
    assert all(low <= 50 <= high for low, high in zip(ends["low"], ends["high"], strict=True))


def test_pure_privacy_is_refused():
    for most in (1, 2):
        with pytest.raises(InputError, match="a delta > 0"):
            planned((COUNT, MEAN), 60, most, Promise(REPLACE_ONE, Fraction(1), Fraction(0)))


@BOTH
@pytest.mark.parametrize("every", [(COUNT,), (TOP, MEAN, COUNT)])
@pytest.mark.parametrize("most", [2, 5])
def test_several_rows_of_a_unit_are_a_group(relation, every, most):
    """By the kernel; and by hand: k times the ε of a row, and δ of it with the factor of groups."""
    by_person = planned(every, 60, most, Promise(relation, Fraction(1), DELTA))[0]
    theorem = by_person.proof(DELTA)
    assert Fraction(95, 100) < point(theorem)[0] <= 1
    assert point(theorem)[1] <= DELTA
    assert not by_person.mechanism.exact_rows
    of_row = of_rows(theorem)
    epsilon, delta = map(float, point(of_row))
    assert most * epsilon == pytest.approx(float(point(theorem)[0]))
    assert delta * sum(math.exp(k * epsilon) for k in range(most)) <= float(DELTA)
    low = replace(by_person.mechanism, thresholds=tuple(each - 9 for each in by_person.mechanism.thresholds))
    with pytest.raises(RuleError, match=r"no δ of one row proves|does not cover the threshold"):
        replace(by_person, mechanism=low).proof(DELTA)
