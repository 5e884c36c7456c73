"""Quantiles that are chosen: how far scores move, what a choice costs, how far off it is, and refusals."""

import functools
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dpaccount
from audits.consistency.studies import is_choice
from dpaccount.errors import InputError
from dpaccount.proof import ADD_REMOVE, REPLACE_ONE, point, walk
from mechanisms.noisy_statistics import NoisyStatistics, planned
from mechanisms.statistics import choices
from mechanisms.statistics.draws import draws
from mechanisms.statistics.estimates import estimate
from mechanisms.statistics.statistic import Statistic
from mechanisms.table.bind_columns import Promise
from mechanisms.table.columns import Column
from mechanisms.table.user_level import named
from tests.depth import deep
from tests.looped import looped
from tests.mechanisms.test_contract import counterexample

X = Column("x", "number", Fraction(0), Fraction(1))
SEEN = Column("seen", "boolean")
RANKS = [None, Fraction(1, 4), Fraction(9, 10)]
GROUPED = st.sampled_from([(), (SEEN,)])


def quantile(q, name="q", by=()):
    what = "median" if q is None else "quantile"
    return Statistic(name, what, X, q=() if q is None else (q,), by=by, method="exponential")


def scores(what, rows):
    """Return the scores that a study gives the ends of its cells, of (group, number) rows."""
    study = NoisyStatistics((what,), (Fraction(1),), "laplace", 50, ADD_REMOVE, exact_rows=False)
    codes = np.array([(1.0, *row[0 if what.by else 1 :]) for row in rows])
    return choices.scores(what, study.query(codes.reshape(-1, 3 if what.by else 2)))


DECIMALS = st.decimals(-100, 100, places=3).map(Fraction)


@given(ends=st.lists(DECIMALS, min_size=2, max_size=2, unique=True).map(sorted))
@example(ends=[Fraction(-1), Fraction("1.461")])  # low + (high − low) is above high
def test_candidates_are_within_the_bounds_and_known_to_the_checker(ends):
    what = replace(quantile(None), column=Column("x", "number", *ends))
    low, high = map(Fraction, what.column.bounds)
    estimates = [estimate(what, [np.array([k])], [0.0], 9, known=True)[0][0] for k in range(0, 1025, 64)]
    assert all(is_choice(float(one), low, high) for one in estimates)
    between = [float(a + (b - a) / 100) for a, b in pairwise(estimates)]
    assert not any(is_choice(one, low, high) for one in between)


def range_of(move):
    """Return the range of the sums of one score of each row."""
    return sum(np.ptp(one) for one in move)


ROWS = st.tuples(st.integers(0, 1), st.floats(-1, 2))


@given(rows=st.lists(ROWS, max_size=7), one=ROWS, other=ROWS, q=st.sampled_from(RANKS), by=GROUPED)
def test_scores_move_no_further_than_is_assumed(rows, one, other, q, by):
    what = quantile(q, by=by)
    (draw,) = draws(what, known=True)
    without, before, after = (scores(what, [*rows, *more]) for more in ([], [one], [other]))
    assert len(before) == 2 ** len(by)
    assert range_of(before - without) <= draw.norm * draw.choice
    assert range_of(before - after) <= draw.reach * draw.choice


@pytest.mark.parametrize("by", [(), (SEEN,)])
@pytest.mark.parametrize("q", RANKS)
def test_the_movement_is_attained(q, by):
    """Twins that assume half of it, or any less, assume too little."""
    what, grid = quantile(q, by=by), list(product(range(1 + len(by)), [0.1, 0.4, 0.6, 0.9]))
    (draw,) = draws(what, known=True)
    come = replaced = 0
    for low, high in product(range(0, 22, 1 + len(by)), range(4)):
        rows = [(group, x) for group in range(1 + len(by)) for x in [0.1] * low + [0.6] * high]
        base, each = scores(what, rows), [scores(what, [*rows, row]) for row in grid]
        come = max(come, *(range_of(one - base) for one in each))
        replaced = max(replaced, *(range_of(a - b) for a, b in product(each, each)))
    assert come == draw.norm * draw.choice
    assert replaced == draw.reach * draw.choice


known_scores = functools.cache(scores)  # the same whatever is charged for


def worst_loss(what, relation, rate, rows):
    """Return the largest |ln P(o)/P'(o)| by enumeration: of small tables and a unit of at most `rows`."""
    grid = list(product(range(1 + len(what.by)), [0.1, 0.4, 0.6, 0.9][:: 1 + len(what.by)]))
    worst = 0.0
    units = [unit for size in range(rows + 1) for unit in combinations_with_replacement(grid, size)]

    def logs(values):
        scaled = known_scores(what, values) * float(rate)
        return scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))

    for size in range(6):
        for values in combinations_with_replacement(grid, size):
            each = [logs(values + unit) for unit in units]
            pairs = product(each, each if relation == REPLACE_ONE else each[:1])
            worst = max(worst, *(largest_loss(a - b) for a, b in pairs))
    return worst


def largest_loss(each):
    """Return the largest |sum| of one loss of each of several choices: all are drawn independently."""
    return max(each.max(axis=1).sum(), -each.min(axis=1).sum())


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("q", RANKS)
@pytest.mark.parametrize(
    ("rows", "by"),
    [(1, ()), (1, (SEEN,)), *(pytest.param(2, by, marks=deep) for by in [(), (SEEN,)])],
)
def test_the_loss_of_a_choice_is_within_its_epsilon(q, relation, rows, by):
    """In both directions, and a twin whose scores count twice, or four times in groups, is beyond it."""
    what, epsilon = quantile(q, by=by), Fraction(6)
    study, _ = planned((what,), 50, rows, Promise(relation, epsilon, Fraction(0)))
    proof = study.proof(Fraction(0))
    assert point(proof)[0] <= epsilon
    (leaf,) = [step for step in walk(proof) if step.rule == "exponential"]
    rate = Fraction(leaf.witness["rate"])
    assert worst_loss(what, relation, rate, rows) <= epsilon
    assert worst_loss(what, relation, (2 + 2 * len(by)) * rate, rows) > epsilon


class HalfTheMovement(NoisyStatistics):
    """Assumes of every choice that its scores move by half as much."""

    def _leaf(self, draw, scale):
        halved = replace(draw, norm=draw.norm / 2, reach=draw.reach / 2)
        return super()._leaf(halved, scale)


class CountsRowsTwice(NoisyStatistics):
    """Counts every row twice in the scores."""

    def query(self, data):
        return 2 * super().query(data)


class ForgetsTheOtherGroup(NoisyStatistics):
    """Assumes that a replaced row stays in its group."""

    def _leaf(self, draw, scale):
        return super()._leaf(replace(draw, reach=Fraction(2)), scale)


@deep
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize(
    ("made_by", "by", "wrong"),
    [
        (NoisyStatistics, (), False),
        (NoisyStatistics, (SEEN,), False),
        (HalfTheMovement, (), True),
        (HalfTheMovement, (SEEN,), True),
        (CountsRowsTwice, (), True),
    ],
)
def test_running_code_refutes_a_choice_with_half_the_movement(made_by, by, wrong, relation):
    exact = relation == REPLACE_ONE and not by
    study = made_by((quantile(None, by=by),), (Fraction(1),), "laplace", 5, relation, exact)
    assert (counterexample(study, 100 if by else 60) is not None) is wrong


@deep  # of 18 other seeds each finds it
def test_running_code_refutes_who_forgets_that_a_row_may_change_its_group():
    """Both groups' ranges add up to 3 ranks; within a group a replaced row moves 2."""
    of = (quantile(Fraction(1, 4), by=(SEEN,)),), (Fraction(1),), "laplace", 40
    for made_by, wrong in ((ForgetsTheOtherGroup, True), (NoisyStatistics, False)):
        study = made_by(*of, REPLACE_ONE, exact_rows=False)
        assert (counterexample(study, 1000) is not None) is wrong


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("rows", [1, 3])
def test_parts_are_below_the_whole(relation, law, rows):
    several = tuple(quantile(q, f"q{k}") for k, q in enumerate(RANKS))
    promise = Promise(relation, Fraction(2), Fraction(1, 10**6))
    whole, asked = planned(several, 500, rows, promise, law)
    alone = [planned((what,), 500, rows, promise, law)[0] for what in several]
    assert point(whole.proof(promise.delta))[0] <= 2
    for one, part, scale in zip(alone, asked, named(whole).scales, strict=True):
        assert named(one).scales[0] < scale
        assert part[0].scales(part[1])[0] <= scale


@looped("by", [(), (SEEN,)])
@looped("scale", [Fraction(1, 3), Fraction(3), Fraction(20)])
@looped("q", RANKS)
def test_choices_are_within_the_ranks(q, scale, by):
    """By the exact law, on tables where one candidate is best, and all others are as bad as can be."""
    what = quantile(q, by=by)
    reach = choices.ranks(what, scale, Fraction(19, 20))
    for values in ([0.5] * 40, [0.2] * 30 + [0.8] * 10, [], list(np.linspace(0, 1, 50))):
        each = scores(what, [(k % 2, x) for k, x in enumerate(values)])
        off = (each.max(axis=1, keepdims=True) - each) / what.rank.denominator
        weights = np.exp(-off / float(scale))
        beyond = (weights * (off > reach)).sum(axis=1) / weights.sum(axis=1)
        assert 1 - np.prod(1 - beyond) <= 0.05
    far = 1024 * np.exp(-(reach - 1 / what.rank.denominator) / float(scale))
    assert far / (1 + far) > 0.05 * 0.9 / what.groups or reach == 0  # no more than is needed


@looped(
    ("terms", "wrong"),
    [
        ({"what": "quantile", "q": (Fraction(1, 10**7),)}, "too many digits"),
        ({"what": "mean"}, "method is for a median or quantile"),
        ({"method": "smooth"}, "known: levels, exponential"),
    ],
)
def test_what_is_not_chosen_is_refused(terms, wrong):
    with pytest.raises(InputError, match=wrong):
        Statistic(**{"name": "m", "what": "median", "column": X, "method": "exponential", **terms})


def test_choices_beside_gaussian_noise_compose_as_near_to_gaussian():
    """At distance 0: the whole costs no more than the choices and the noise in Gaussian DP."""
    promise = Promise(ADD_REMOVE, Fraction(1), Fraction(1, 10**6))
    every = (quantile(None), quantile(None, "of groups", by=(SEEN,)), Statistic("v", "variance", X))
    study, _ = planned(every, 100, 1, promise, "gaussian")
    proof = study.proof(promise.delta)
    assert point(proof)[0] <= 1
    (whole,) = [step for step in walk(proof) if step.rule == "compose"]
    costs = [part.conclusion.curve for part in whole.premises]
    assert [part.rule for part in whole.premises] == ["to_near_gdp"] * 2 + ["fine_gaussian"] * len(costs[2:])
    assert whole.conclusion.curve.mu_squared == sum(cost.mu_squared for cost in costs)
    assert whole.conclusion.curve.distance == sum(cost.distance for cost in costs[2:])


def test_a_wanted_accuracy_is_of_ranks():
    table = dpaccount.Table(
        {"x": [1]}, max_units=600, epsilon=1, delta=1e-6, ledger="sqlite:///a.db", columns={"x": (0, 1)}
    )
    (one,) = table.median("x", method="exponential", accuracy=30).plan().statistics
    assert 29 <= one.half_width <= 30
    assert one.expected == "no interval; within 30 ranks"
    with pytest.raises(InputError, match="epsilon or a share"):
        table.median("x", accuracy=30).plan()
