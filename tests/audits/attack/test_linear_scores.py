"""The score that is linear in what is shown is found, and separates, for numbers of any magnitude."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.attack.membership_guessing import plan_guess
from audits.attack.output_scores import Sample, learn
from audits.attack.thresholds import plan_threshold
from audits.sandbox.outcomes import Outcome
from audits.scores.learned_scores import best_score

NOTHING = np.zeros(0)


def samples(size, offset, seed):
    """Return runs that each show two numbers of some size about an offset, the first moving with the ratio."""
    draws = np.random.default_rng([seed, 71]).normal(size=(60, 2))
    shown = [np.array([offset + size * a, offset + size * b, offset]) for a, b in draws]
    runs = [Sample(each.tobytes(), each, (("x", (1,)),), np.array([0.5]), 0.0) for each in shown]
    return draws, [
        Sample(r.seen, r.numbers, r.layout, r.released, float(d[0])) for r, d in zip(runs, draws, strict=True)
    ]


@given(st.integers(-300, 307), st.integers(0, 2**32))
def test_magnitudes_do_not_matter(exponent, seed):
    draws, found = samples(10.0**exponent, 0.0, seed)
    slope = learn(found).slope
    assert slope is not None
    scores = np.array([np.append(each.numbers, 1.0) @ slope for each in found])
    assert np.corrcoef(scores, draws[:, 0])[0, 1] > 0.99


@given(st.integers(-300, 308), st.integers(-300, 308), st.integers(0, 2**32))
def test_nothing_is_an_error(exponent, offset, seed):
    """Rounding alone may be what varies, and sums may overflow: a finite score or none at all."""
    with np.errstate(over="ignore"):
        _, found = samples(10.0**exponent, 10.0**offset, seed)
    if all(np.isfinite(each.numbers).all() for each in found):
        slope = learn(found).slope
        assert slope is None or np.isfinite(slope).all()


def test_a_shift_in_many_columns_is_scored_along_the_movement():
    # Gaussian noise on a grid in 900 columns, shifted by 1.5 in all together: no single column shows it
    rng = np.random.default_rng(1)
    moved = 1.5 * rng.choice([-1.0, 1.0], 900) / 30
    left, right = (
        [Outcome("x", (), np.round(1024 * (side * moved + rng.normal(size=900))) / 1024) for _ in range(150)]
        for side in (1, 0)
    )

    def judge(held, out):
        return plan_threshold(held, out, Fraction(0), Fraction(1, 20), 1000)[1]

    along = best_score(left, right, judge, moved)
    assert along.value > 0.5
    assert "the direction in which the entries move" in along.score.sentence()
    assert best_score(left, right, judge).value < 0.3
    unlike = best_score(left, right, judge, np.zeros(900))  # no direction at all
    assert "the direction" not in unlike.score.sentence()


def shares(draw, moved, *, crossed, seeds=range(30, 36)):
    """Yield the part of ε = 1 that a score learned on a third of 1,000 runs a side shows of the others."""
    risk = Fraction(1, 20)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        runs = [
            [Outcome("list", (), row) for row in np.round(draw(rng, side) * 1024) / 1024] for side in (0, 1)
        ]
        learned = best_score(
            *(each[:333] for each in runs),
            lambda left, right: plan_guess(left, right, Fraction(0), risk, 667)[1],
            moved,
            crossed=crossed,
        )
        rule, _ = plan_guess(learned.left, learned.right, Fraction(0), risk, 667)
        held = [learned.score.of(each[333:]) for each in runs]
        yield rule.measure(*held, Fraction(0), risk).epsilon_lower


@pytest.mark.slow
def test_few_runs_teach_more_when_each_half_judges_what_the_other_taught():
    """The exponential mechanism: its best event is known from both halves, .6 of ε with it known."""
    laws = np.exp([[0.5] + [0.0] * 9, [0.0] + [0.5] * 9])
    laws /= laws.sum(axis=1, keepdims=True)

    def draw(rng, side):
        return rng.choice(10, size=(1000, 1), p=laws[side]).astype(float)

    both, one = (np.mean([*shares(draw, None, crossed=crossed)]) for crossed in (True, False))
    assert both > max(0.3, one)


@pytest.mark.slow
def test_many_columns_are_not_lucky_on_few_runs():
    """Five of 31 entries move by a fifth of Laplace noise: their clipped sum is the score, .77 of ε."""
    moved = np.where(np.arange(31) % 7 == 0, 1.0, 0.0)

    def draw(rng, side):
        return rng.laplace(0, 5, (1000, 31)) - side * moved

    assert np.mean([*shares(draw, moved, crossed=True)]) > 0.2
