"""Algorithm 1 as published, and what the paper says of it: both branches, both readings, each condition."""

import math
from fractions import Fraction

import numpy as np
import pytest

from papers.claims.kharkovskii.projection import published_omega
from papers.kharkovskii import published
from papers.kharkovskii.fields import FIELDS, gaussian_field, grid
from papers.kharkovskii.published import (
    column_basis,
    least_singular_value,
    outside,
    transform,
    width,
)
from tests.looped import looped

GRID = grid(100)


def rows(n=40, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * [5, 3, 1][:d]


@looped(("log_epsilon", "columns"), [(1.1, 10), (1.3, 15), (1.5, 20)])
def test_the_reading_meets_the_thresholds_that_the_paper_reports_and_the_print_does_not(log_epsilon, columns):
    epsilon = Fraction(math.exp(log_epsilon)).limit_denominator(10**9)
    least, delta = least_singular_value(GRID), Fraction(1, 10**5)
    assert least == pytest.approx(1030.88, abs=0.01)
    read, printed = (published_omega(epsilon, delta, columns, printed=each) for each in (False, True))
    assert float(read.upper) == pytest.approx(width(float(epsilon), 1e-5, columns))
    assert read.upper < least < printed.lower


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
    basis = column_basis(data)
    assert outside(mine, basis) < 1e-13
    assert outside(theirs, basis) > 1e-4


# ------------------------------------------------------------------ theorems


@looped(("n", "needed"), [(10_000, 708), (36_000, 790), (2004, 605)])
def test_lemma_1_asks_for_more_columns_than_any_experiment_has(n, needed):
    assert published.needed_columns(n, 0.025, 0.5) == needed
    assert published.needed_columns(n, 0.025, 0.4) > needed


def test_theorem_2_holds_for_the_distances_where_lemma_1_is_met():
    data, nu = rows(30), 0.45
    columns, least = published.needed_columns(30, 0.01, nu), least_singular_value(data)
    for factor, lifted in ((0.5, 1.0), (2.0, 1 + 2.0**2)):  # C′ = 1, or 1 + ω²/σ_min² where σ_min < ω
        sent = transform(data, factor * least, columns, np.random.default_rng(2))
        ratios = [
            ((sent[i] - sent[j]) ** 2).sum() / ((data[i] - data[j]) ** 2).sum()
            for i in range(30)
            for j in range(i)
        ]
        assert 1 - nu <= min(ratios) <= max(ratios) <= (1 + nu) * lifted


# ------------------------------------------------------------------ fields


def test_fields_are_of_the_paper_s_size_and_in_an_order_of_their_own():
    for made, shape in (("field", (10_000, 2)), ("loans", (5630, 3)), ("property", (1195, 2))):
        field, other = FIELDS[made](0), FIELDS[made](1)
        assert field.points.shape == shape
        assert np.linalg.norm(field.points, axis=1).max() == pytest.approx(25)
        assert not np.array_equal(field.points, other.points)
        assert field.regret([int(np.argmax(field.values))])[-1] == 0
    assert abs(gaussian_field(3, 2.0).values.std() - 1) < 0.3
