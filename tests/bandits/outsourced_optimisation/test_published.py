"""Algorithm 1 as published, and what the paper says of it: both branches, both readings, each condition."""

import math
from fractions import Fraction

import numpy as np
import pytest

from bandits.outsourced_optimisation.modeler import beta
from bandits.papers.kharkovskii import published, theory
from bandits.papers.kharkovskii.fields import gaussian_field, grid, loans, properties
from bandits.papers.kharkovskii.published import (
    PRINTED,
    least_singular_value,
    omega,
    outside,
    transform,
    width,
)
from dpaccount.errors import InputError
from tests.looped import looped

GRID = grid(100)


def rows(n=40, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * [5, 3, 1][:d]


@looped(("log_epsilon", "columns"), [(1.1, 10), (1.3, 15), (1.5, 20)])
def test_the_reading_meets_the_thresholds_that_the_paper_reports_and_the_print_does_not(log_epsilon, columns):
    epsilon = Fraction(math.exp(log_epsilon)).limit_denominator(10**9)
    least, delta = least_singular_value(GRID), Fraction(1, 10**5)
    assert least == pytest.approx(1030.88, abs=0.01)
    assert float(omega(epsilon, delta, columns).mid()) == pytest.approx(width(float(epsilon), 1e-5, columns))
    assert omega(epsilon, delta, columns) < least < omega(epsilon, delta, columns, PRINTED)
    with pytest.raises(InputError, match="read, printed"):
        omega(epsilon, delta, columns, "guessed")


@pytest.mark.parametrize("lifted", [False, True])
def test_a_branch_has_the_singular_values_that_it_should(lifted):
    data = rows()
    least = least_singular_value(data)
    threshold = 2 * least if lifted else least / 2
    lift = published.lifted(data, threshold)
    assert (lift.lifted, lift.least) == (lifted, pytest.approx(least))
    released = transform(data, threshold, 20_000, np.random.default_rng(1))
    # E ZZᵀ is the lifted XXᵀ, and each entry is off by a share of √(2/r) at most a few times
    values = np.linalg.svd(data - data.mean(axis=0), compute_uv=False) ** 2 + (threshold**2 if lifted else 0)
    seen = np.linalg.svd(released, compute_uv=False)[:3] ** 2
    assert np.allclose(seen, values, rtol=0.1)
    assert np.allclose(released.mean(axis=0), 0)


def test_few_rows_are_always_lifted():
    lift = published.lifted(rows(3, 3), 1e-9)
    assert lift.lifted
    assert lift.least == 0


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_neighbour_leaves_the_column_space(factor):
    data = rows(500, 2)
    other = data.copy()
    other[7, 1] += 1.0
    threshold = factor * least_singular_value(data)
    mine, theirs = (transform(x, threshold, 6, np.random.default_rng(5)) for x in (data, other))
    assert outside(mine, data) < 1e-13
    assert outside(theirs, data) > 1e-4


# ------------------------------------------------------------------ theorems


@looped(("n", "needed"), [(10_000, 708), (36_000, 790), (2004, 605)])
def test_lemma_1_asks_for_more_columns_than_any_experiment_has(n, needed):
    assert theory.needed_columns(n, 0.025, 0.5) == needed
    assert theory.needed_columns(n, 0.025, 0.4) > needed


def test_theorem_2_holds_for_the_distances_where_lemma_1_is_met():
    data, nu = rows(30), 0.45
    columns = theory.needed_columns(30, 0.01, nu)
    for factor in (0.5, 2.0):
        threshold = factor * least_singular_value(data)
        low, high = theory.distance_ratio(nu, least_singular_value(data), threshold)
        sent = transform(data, threshold, columns, np.random.default_rng(2))
        ratios = [
            ((sent[i] - sent[j]) ** 2).sum() / ((data[i] - data[j]) ** 2).sum()
            for i in range(30)
            for j in range(i)
        ]
        assert low <= min(ratios) <= max(ratios) <= high
    assert theory.distance_ratio(0.5, 0.0, 1.0)[1] == math.inf


def test_the_guideline_is_the_largest_r_below_the_least_singular_value():
    for log_epsilon in (0.0, 1.1, 2.0):
        epsilon = math.exp(log_epsilon)
        r = theory.guideline(1030.88, epsilon, 1e-5)
        assert r == 0 or width(epsilon, 1e-5, r) <= 1030.88
        assert width(epsilon, 1e-5, r + 1) > 1030.88


def test_each_of_the_three_choices_meets_the_threshold():
    least, epsilon, delta, columns = 1000.0, 2.0, 1e-5, 10
    ways = theory.choices(least, epsilon, delta, columns)
    assert ways.kept[1] > 1.5
    assert width(ways.epsilon, delta, columns) == pytest.approx(least)
    assert width(epsilon, ways.delta, columns) == pytest.approx(least)
    assert width(epsilon, delta, ways.columns) <= least
    assert theory.choices(10.0, epsilon, delta, columns).delta is None
    met = theory.choices(1e6, epsilon, delta, columns)
    assert (met.epsilon, met.delta, met.columns) == (epsilon, delta, columns)


def diagonally_dominant(covariance: np.ndarray) -> bool:
    """Say whether Definition 3 holds: k_xx ≥ (√(m − 1) + 1) Σ_{x′ ≠ x} k_xx′ for each of m points."""
    own = np.diag(covariance)
    others = covariance.sum(axis=1) - own
    return bool((own >= (math.sqrt(len(covariance) - 1) + 1) * others).all())


def dominance_distance(points: int, length: float) -> float:
    """Return how far apart `points` equidistant queries must be for Definition 3, under the SE kernel.

    exp(−s²/(2l²)) ≤ 1/((√(m − 1) + 1)(m − 1)).
    """
    if points < 2:
        return 0.0
    others = points - 1
    return length * math.sqrt(2 * math.log((math.sqrt(others) + 1) * others))


def test_definition_3_holds_from_the_distance_on_that_is_said():
    for points in (2, 5, 50):
        apart = dominance_distance(points, 2.0)
        for stretch, holds in ((1.0001, True), (0.99, False)):
            alike = np.full((points, points), math.exp(-((apart * stretch) ** 2) / 8))
            np.fill_diagonal(alike, 1.0)
            assert diagonally_dominant(alike) is holds
    assert dominance_distance(50, 1.0) > 3  # queries several lengths apart


def regret_bound(
    promise: theory.Aim, horizon: int, candidates: int, gain: float, scale: float, noise: float
) -> float:
    """Return Theorem 3's bound on S_T with both O(·) taken as their arguments.

    √(ε_ucb² + 24(C₂ + C₁β_T^½)² ln T/T + 24β_Tγ_T/(T ln(1 + σ_n^{−2}))), γ_T = `gain`, σ_y² = `scale`,
    σ_n² = `noise`, C₁ = σ_y√(σ_y² + σ_n²)(σ_y²/σ_n² + 1), C₂ = (σ_y²/σ_n²)L.
    """
    if horizon < 2 or candidates < 1 or min(scale, noise) <= 0 or gain < 0:
        raise InputError("needed T >= 2, n >= 1, scale > 0, noise > 0 and an information gain >= 0")
    top = beta(candidates, horizon, promise.failure / 2)
    one = math.sqrt(scale) * math.sqrt(scale + noise) * (scale / noise + 1)
    two = scale / noise * promise.bound
    middle = 24 * (two + one * math.sqrt(top)) ** 2 * math.log(horizon) / horizon
    last = 24 * top * gain / (math.log1p(1 / noise) * horizon)
    return math.sqrt(promise.extra**2 + middle + last)


def test_theorem_3_grows_with_the_gain_and_falls_with_the_rounds():
    promise = theory.Aim()
    bounds = [regret_bound(promise, horizon, 100, 5.0, 1.0, 0.1) for horizon in (50, 500, 5000)]
    assert bounds == sorted(bounds, reverse=True)
    assert regret_bound(promise, 50, 100, 9.0, 1.0, 0.1) > bounds[0] > promise.extra
    assert regret_bound(promise, 50, 10_000, 30.0, 1.0, 1e-5) > 10**5  # the paper's noise: says nothing


def test_no_experiment_meets_the_conditions():
    said = theory.remarks(10_000, 1030.88, (1.0, 1e-5), 10, 10.0)
    assert "r >= 708" in said[0]
    assert said[2].startswith("Remark 2")
    assert len(theory.remarks(10_000, 1030.88, (3.005, 1e-5), 10, 10.0)) == 2


# ------------------------------------------------------------------ fields


def test_fields_are_of_the_paper_s_size_and_in_an_order_of_their_own():
    for made, shape in ((gaussian_field, (10_000, 2)), (loans, (5630, 3)), (properties, (1195, 2))):
        field, other = made(0), made(1)
        assert field.points.shape == shape
        assert np.linalg.norm(field.points, axis=1).max() == pytest.approx(25)
        assert not np.array_equal(field.points, other.points)
        assert field.regret([int(np.argmax(field.values))])[-1] == 0
    assert abs(gaussian_field(3, 2.0).values.std() - 1) < 0.3
