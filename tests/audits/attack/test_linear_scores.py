"""The score that is linear in what is shown is found, and separates, for numbers of any magnitude."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from audits.attack.output_scores import Sample, learn
from audits.attack.rules import plan_guess, plan_threshold
from audits.sandbox.outcomes import Outcome
from audits.scores.learned_scores import best_score
from tests.depth import deep

RISK = Fraction(1, 20)


def shown(left, right, moved=None, *, delta=Fraction(0), risk=RISK, crossed=True):
    """Return the bound of a score that is learned on a third of the runs, from the others."""
    third = len(left) // 3
    runs = len(left) - third

    def plan(held, out):
        return plan_guess(held, out, delta, risk, runs)

    learned = best_score(left[:third], right[:third], lambda a, b: plan(a, b)[1], moved, crossed=crossed)
    rule, _ = plan(learned.left, learned.right)
    scores = (learned.score.of(each[third:]) for each in (left, right))
    return rule.measure(*scores, delta, risk).epsilon_lower


def on_grid(values, steps=1024):
    """Return results whose low bits show nothing."""
    return [Outcome("list", (), row) for row in np.round(values * steps) / steps]


def samples(size, offset, seed):
    """Return runs that each show two numbers of some size about an offset, the first moving with the ratio."""
    draws = np.random.default_rng([seed, 71]).normal(size=(60, 2))
    shown = [np.array([offset + size * a, offset + size * b, offset]) for a, b in draws]
    runs = [Sample(each.tobytes(), each, (("x", (1,)),), np.array([0.5]), 0.0) for each in shown]
    return draws, [
        Sample(r.seen, r.numbers, r.layout, r.released, float(d[0])) for r, d in zip(runs, draws, strict=True)
    ]


@deep
@given(st.integers(-300, 307), st.integers(0, 2**32))
def test_magnitudes_do_not_matter(exponent, seed):
    draws, found = samples(10.0**exponent, 0.0, seed)
    slope = learn(found).slope
    assert slope is not None
    scores = np.array([np.append(each.numbers, 1.0) @ slope for each in found])
    assert np.corrcoef(scores, draws[:, 0])[0, 1] > 0.99


@deep
@given(st.integers(-300, 308), st.integers(-300, 308), st.integers(0, 2**32))
def test_nothing_is_an_error(exponent, offset, seed):
    """Rounding alone may be what varies, and sums may overflow: a finite score or none at all."""
    with np.errstate(over="ignore"):
        _, found = samples(10.0**exponent, 10.0**offset, seed)
    if all(np.isfinite(each.numbers).all() for each in found):
        slope = learn(found).slope
        assert slope is None or np.isfinite(slope).all()


@deep
def test_a_shift_in_many_columns_is_scored_along_the_movement():
    # Gaussian noise on a grid in 900 columns, shifted by 1.5 in all together: no single column shows it
    rng = np.random.default_rng(1)
    moved = 1.5 * rng.choice([-1.0, 1.0], 900) / 30
    left, right = (on_grid(side * moved + rng.normal(size=(150, 900))) for side in (1, 0))

    def judge(held, out):
        return plan_threshold(held, out, Fraction(0), RISK, 1000)[1]

    along = best_score(left, right, judge, moved)
    assert along.value > 0.5
    assert "the direction in which the entries move" in along.score.sentence()
    assert best_score(left, right, judge).value < 0.3
    unlike = best_score(left, right, judge, np.zeros(900))  # no direction at all
    assert "the direction" not in unlike.score.sentence()


@deep
@pytest.mark.parametrize(("known", "seed"), [(True, 2), (False, 5)])
def test_means_of_the_entries_do_not_matter(known, seed):
    """Weights are learned in two folds: their errors times the mean moved scores past all thresholds."""
    bounds = []
    for mean in (0.0, 1024.0):
        rng = np.random.default_rng(seed)
        moved = 1.2 * rng.choice([-1.0, 1.0], 20) / 20**0.5
        runs = [on_grid(mean + side * moved + rng.normal(size=(900, 20))) for side in (1, 0)]
        bounds.append(shown(*runs, moved if known else None, delta=Fraction(1, 10**5)))
    assert bounds[0] > 1
    assert bounds[1] == pytest.approx(bounds[0], abs=0.05)


def shares(draw, moved, *, crossed, seeds=range(30, 36)):
    """Yield the part of ε = 1 that 1,000 runs a side show."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        yield shown(*(on_grid(draw(rng, side)) for side in (0, 1)), moved, crossed=crossed)


@deep
def test_few_runs_teach_more_when_each_half_judges_what_the_other_taught():
    """The exponential mechanism: its best event is known from both halves, .6 of ε with it known."""
    laws = np.exp([[0.5] + [0.0] * 9, [0.0] + [0.5] * 9])
    laws /= laws.sum(axis=1, keepdims=True)

    def draw(rng, side):
        return rng.choice(10, size=(1000, 1), p=laws[side]).astype(float)

    seeds = range(200, 240)
    both, one = (np.mean([*shares(draw, None, crossed=crossed, seeds=seeds)]) for crossed in (True, False))
    assert both > max(0.3, one)


@deep
def test_many_columns_are_not_lucky_on_few_runs():
    """Five of 31 entries move by a fifth of Laplace noise: their clipped sum is the score, .77 of ε."""
    moved = np.where(np.arange(31) % 7 == 0, 1.0, 0.0)

    def draw(rng, side):
        return rng.laplace(0, 5, (1000, 31)) - side * moved

    assert np.mean([*shares(draw, moved, crossed=True)]) > 0.2


def of_noise(seed):
    """Return the value of the score learned from two samples of one law, 31 entries of Laplace noise."""
    rng = np.random.default_rng([seed, 3])
    runs = [on_grid(rng.laplace(size=(333, 31)), 1000) for _ in range(2)]

    def judge(left, right):
        return plan_guess(left, right, Fraction(0), RISK, 667)[1]

    return best_score(*runs, judge, crossed=True).value


@deep
def test_columns_are_not_chosen_by_the_runs_that_judge_them():
    """Else twenty lucky columns of sixty seem to show .64 of ε; a mean of four is -.12 with deviation .03."""
    assert np.mean([of_noise(seed) for seed in range(4)]) < 0.05


@deep
def test_a_thousand_columns_hide_no_shift():
    """Gaussian noise, μ = .8 in random directions, 3,000 runs a side: ε at δ = 1e-5 is 3.41."""
    found = []
    for seed in range(3):
        rng = np.random.default_rng([seed, 41])
        moved = 0.8 * rng.choice([-1.0, 1.0], 1000) / 1000**0.5
        runs = (on_grid(side * moved + rng.normal(size=(3000, 1000)), 1000) for side in (1, 0))
        found.append(shown(*runs, moved, delta=Fraction(1, 100_000)))
    assert np.mean(found) > 1.3


@deep
def test_learned_bounds_exceed_the_truth_at_most_as_often_as_stated():
    """Ten-fold randomised response is tight, so every luck of learning would show; false alarms 1 in 1,000."""
    risk, repeats, wrong = Fraction(1, 5), 200, 0
    laws = np.ones((2, 10))
    laws[0, 0] = laws[1, 1] = np.e
    laws /= laws.sum(axis=1, keepdims=True)
    for seed in range(repeats):
        rng = np.random.default_rng([seed, 43])
        coins = rng.integers(0, 2, 800)
        drawn = [rng.choice(10, size=(int((coins == side).sum()), 1), p=laws[side]) for side in (0, 1)]
        wrong += shown(*map(on_grid, drawn), risk=risk) > 1
    assert wrong <= binom.ppf(0.999, repeats, float(risk))


def test_few_runs_find_where_the_noise_of_laplace_shows_most():
    """Scores are the entry itself, whose log-likelihood ratio is constant beyond both medians."""
    found = []
    for seed in range(10):
        rng = np.random.default_rng([seed, 47])
        left, right = (rng.laplace(side, 1, 1000) for side in (1, 0))
        rule = plan_guess(left[:333], right[:333], Fraction(0), RISK, 667)[0]
        found.append(rule.measure(left[333:], right[333:], Fraction(0), RISK).epsilon_lower)
    assert np.mean(found) > 0.75  # a straight line gets .55
