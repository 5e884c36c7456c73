"""Feature maps against the kernels they stand for."""

from itertools import pairwise

import numpy as np
import pytest

from bandits.learning.features import (
    FourierFeatures,
    PolynomialFeatures,
    additive_features,
    bounded,
    matern_features,
    matern_product,
    principal,
    quadrature_features,
    random_features,
    squared_exponential,
)
from bandits.worlds.regret_bounds import quadrature_error, remarks, theorem2_bound
from dpaccount.errors import InputError

POINTS = np.random.default_rng(0).uniform(-1, 1, (60, 2))


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
def test_matern_features_approach_the_product_kernel(smoothness):
    exact = matern_product(POINTS, POINTS, 1.0, smoothness)
    errors = []
    for per_axis in (8, 60):
        phi = matern_features(2, per_axis, 1.0, smoothness)(POINTS)
        assert np.linalg.norm(phi, axis=1) == pytest.approx(np.ones(60), abs=1e-12)
        errors.append(np.abs(phi @ phi.T - exact).max())
    assert errors[1] < errors[0] / 3.5
    assert errors[1] < {0.5: 0.1, 1.5: 3e-3, 2.5: 2e-4}[smoothness]  # rough kernels have heavy spectral tails


def test_polynomial_features_are_exact():
    for degree, offset in ((1, 0.0), (2, 1.0), (3, 0.5)):
        features = PolynomialFeatures(2, degree, offset, radius=2.0)
        phi = bounded(features, POINTS)
        exact = ((offset + POINTS @ POINTS.T) / (offset + 4)) ** degree
        assert phi @ phi.T == pytest.approx(exact, abs=1e-12)
        assert phi.shape[1] == features.size


def test_points_beyond_the_ball_keep_a_norm_of_one():
    far = PolynomialFeatures(2, 2, 1.0, radius=1.0)(np.array([[30.0, -4.0]]))
    assert np.linalg.norm(far) == pytest.approx(1.0)


def test_additive_features_average_their_groups():
    points = np.random.default_rng(1).uniform(-1, 1, (30, 5))
    features = additive_features([(0, 1), (2,), (3, 4)], 12, 1.0)
    phi = bounded(features, points)
    groups = [points[:, [0, 1]], points[:, [2]], points[:, [3, 4]]]
    exact = np.mean([squared_exponential(g, g, 1.0) for g in groups], axis=0)
    assert phi @ phi.T == pytest.approx(exact, abs=1e-6)
    assert features.size == phi.shape[1]


@pytest.mark.statistical  # seeded; the mean error of random features falls as the root of their number
def test_random_features_are_too_slow_for_the_regret_bound():
    exact = squared_exponential(POINTS, POINTS, 1.0)

    def error(count):
        found = []
        for seed in range(10):
            phi = random_features(2, count, 1.0, seed)(POINTS)
            found.append(np.abs(phi @ phi.T - exact).max())
        return np.mean(found)

    ratio = error(64) / error(1024)
    assert 2.5 < ratio < 6.5  # √16 = 4
    quadrature = quadrature_features(2, 10, 1.0)
    phi = quadrature(POINTS)
    assert quadrature.size < 128
    assert np.abs(phi @ phi.T - exact).max() < error(1024) / 1000


def test_principal_features_do_not_lengthen():
    inner = quadrature_features(2, 6, 1.0)
    reduced, values = principal(inner, POINTS, 10)
    assert reduced.size == 10
    assert (np.diff(values) <= 1e-15).all()
    assert (np.linalg.norm(bounded(reduced, POINTS), axis=1) <= 1 + 1e-12).all()


def test_the_printed_weight_is_refused():
    """Dubey 2021, Definition 4, m̄ = 4: 2^(m−½) m! √π/(m² H_(m−1)), with H not squared, sums to 0."""
    nodes, _ = np.polynomial.hermite.hermgauss(4)
    h3 = 8 * nodes**3 - 12 * nodes
    printed = 2**3.5 * 24 * np.sqrt(np.pi) / (16 * h3)
    assert printed.min() < -5
    with pytest.raises(InputError, match="weights"):
        FourierFeatures(np.sqrt(2) * nodes[:, None], printed / np.sqrt(np.pi))


def test_long_features_and_wrong_dimensions_are_refused():
    twice = FourierFeatures(np.ones((1, 2)), np.ones(1))
    with pytest.raises(InputError, match="longer than 1"):
        bounded(_Doubled(), POINTS)
    with pytest.raises(InputError, match="coordinates"):
        twice(np.ones((3, 5)))
    for make in (
        lambda: quadrature_features(0, 4, 1.0),
        lambda: quadrature_features(2, 4, 0.0),
        lambda: quadrature_features(8, 8, 1.0),
        lambda: quadrature_features(1, 4, float("nan")),
        lambda: random_features(2, 0, 1.0, 0),
        lambda: PolynomialFeatures(2, 0),
        lambda: matern_features(1, 4, 1.0, 0.0),
        lambda: matern_product(POINTS, POINTS, 1.0, 0.7),
    ):
        with pytest.raises(InputError):
            make()


class _Doubled:
    size = 2

    def __call__(self, points):
        return 2 * points


# ------------------------------------------------------------------ the paper's bound


@pytest.mark.parametrize("per_axis", [4, 8, 13, 16, 20])
@pytest.mark.parametrize("width", [1.0, 4.0])
def test_the_true_error_is_below_theorem_2(per_axis, width):
    error = quadrature_error(2, per_axis, 1.0, width)
    assert 0 <= error.lower <= error.upper
    assert error.lower <= theorem2_bound(2, per_axis, 1.0, width)


def test_theorem_2_is_vacuous_on_the_papers_ball_until_thirteen_nodes():
    vacuous = [m for m in range(2, 20) if theorem2_bound(2, m, 1.0, 4.0) > 1]
    assert max(vacuous) == 12
    assert quadrature_error(2, 12, 1.0, 4.0).upper < 0.01  # the features were good before


def test_errors_decay_exponentially():
    errors = [quadrature_error(1, m, 1.0, 2.0).lower for m in (4, 6, 8, 10)]
    assert all(later < earlier / 8 for earlier, later in pairwise(errors))


def test_remarks_are_said_with_their_numbers():
    said = remarks(2, 4, 1.0, 4.0, 1024)
    assert [text.split(":")[0] for text in said] == ["Remark 2", "Remark 4"]
    assert "16" in said[0]
    assert [text.split(":")[0] for text in remarks(2, 30, 1.0, 4.0, 1024)] == ["Remark 6"]
