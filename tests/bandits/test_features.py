"""Feature maps against the kernels they stand for."""

import math
from itertools import pairwise

import numpy as np
import pytest

from bandits.learning.features import (
    BASES,
    MAP_KERNELS,
    FourierFeatures,
    eigenfeatures,
    feature_map,
    kernel_of,
    principal,
    quadrature_features,
    squared_exponential,
)
from dpaccount.errors import InputError
from papers.reproduce import find
from tests.depth import deep
from tests.looped import looped

POINTS = np.random.default_rng(0).uniform(-1, 1, (60, 2))


def test_quadrature_features_follow_their_kernel():
    phi = quadrature_features(2, 10, 1.0)(POINTS)
    assert np.abs(phi @ phi.T - squared_exponential(POINTS, POINTS, 1.0)).max() < 1e-4


def test_principal_features_do_not_lengthen():
    inner = quadrature_features(2, 6, 1.0)
    reduced = principal(inner, POINTS, 10)
    values = reduced.eigenvalues
    assert reduced.size == 10
    assert (np.diff(values) <= 1e-15).all()
    assert (np.linalg.norm(reduced(POINTS), axis=1) <= 1 + 1e-12).all()


def test_the_printed_weight_is_refused():
    """Dubey 2021, Definition 4, m̄ = 4: 2^(m−½) m! √π/(m² H_(m−1)), with H not squared, sums to 0."""
    nodes, _ = np.polynomial.hermite.hermgauss(4)
    h3 = 8 * nodes**3 - 12 * nodes
    printed = 2**3.5 * 24 * np.sqrt(np.pi) / (16 * h3)
    assert printed.min() < -5
    with pytest.raises(InputError, match="weights"):
        FourierFeatures(np.sqrt(2) * nodes[:, None], printed / np.sqrt(np.pi))


def test_wrong_dimensions_are_refused():
    twice = FourierFeatures(np.ones((1, 2)), np.ones(1))
    with pytest.raises(InputError, match="coordinates"):
        twice(np.ones((3, 5)))
    for make in (
        lambda: quadrature_features(0, 4, 1.0),
        lambda: quadrature_features(2, 4, 0.0),
        lambda: quadrature_features(8, 8, 1.0),
        lambda: quadrature_features(1, 4, float("nan")),
    ):
        with pytest.raises(InputError):
            make()


# ------------------------------------------------------------------ the paper's bound


def true_error(dimension, per_axis, lengthscale, width):
    """Return limits on sup |k(x, y) − Φ(x)·Φ(y)| over a box: that of one axis, on a fine grid, and d times it.

    Near a largest value, where the slope is 0, it falls by at most half the curvature, 1/ℓ² + Σ wω², times
    the squared distance to the next grid point.
    """
    features, apart = quadrature_features(1, per_axis, lengthscale), np.linspace(0, width, 40_001)
    axis, weights = features.frequencies[:, 0], features.weights
    error = np.abs(np.exp(-(apart**2) / (2 * lengthscale**2)) - np.cos(apart[:, None] * axis) @ weights)
    between = (1 / lengthscale**2 + float(weights @ axis**2)) * (width / 40_000) ** 2 / 8
    rounding = 1e-12  # of cosines and their weighted sum
    return float(error.max()) - rounding, dimension * (float(error.max()) + between + rounding)


def theorem2_bound(dimension, nodes_per_axis, lengthscale, width):
    """Return d·2^(d−1)·√(π/2)·m̄^(−m̄)·(e/(4ν²))^m̄ with ν = ℓ/w: the paper's is on [0, 1]^d, here on width w."""
    m, nu = nodes_per_axis, lengthscale / width
    return dimension * 2 ** (dimension - 1) * math.sqrt(math.pi / 2) * (math.e / (4 * nu**2 * m)) ** m


@looped("per_axis", [4, 8, 13, 16, 20])
@looped("width", [1.0, 4.0])
def test_the_true_error_is_below_theorem_2(per_axis, width):
    least, most = true_error(2, per_axis, 1.0, width)
    assert least <= min(most, theorem2_bound(2, per_axis, 1.0, width))


def test_theorem_2_is_vacuous_on_the_papers_ball_until_thirteen_nodes():
    vacuous = [m for m in range(2, 20) if theorem2_bound(2, m, 1.0, 4.0) > 1]
    assert max(vacuous) == 12
    assert true_error(2, 12, 1.0, 4.0)[1] < 0.01  # the features were good before


def test_errors_decay_exponentially():
    errors = [true_error(1, m, 1.0, 2.0)[0] for m in (4, 6, 8, 10)]
    assert all(later < earlier / 8 for earlier, later in pairwise(errors))


@looped("name", ["figure1", "figure2"])
def test_the_figures_say_which_remarks_do_not_hold(name):
    """Inputs have a width of 4 where Theorem 2 has the unit box, so ν = ¼; there are 4 nodes an axis."""
    said = find(f"dubey2021-{name}").assumed
    assert "Remark 2: 4 nodes an axis are not above ν⁻² = 16" in said
    error, needed = true_error(2, 4, 1.0, 4.0)[0], 1024**-4.0
    assert f"Remark 4: the error {error:.2g} is above T⁻⁴ = {needed:.2g}" in said
    assert quadrature_features(2, 4, 1.0).size < 1024**0.5  # Remark 6


@looped("error", [0.5, 0.05, 1e-6])
def test_eigenfeatures_are_the_fewest_that_err_so_little_and_no_longer_than_the_kernel(error):
    points = np.linspace(0, 1, 41)[:, None]
    kernel = squared_exponential(points, points, 0.06)
    phi = eigenfeatures(kernel, error)
    assert np.abs(kernel - phi @ phi.T).max() <= error
    fewer = phi[:, :-1]
    assert np.abs(kernel - fewer @ fewer.T).max() > error
    assert (phi**2).sum(axis=1).max() <= 1 + 1e-9


# ------------------------------------------------------------------ which kernel, by which features

NONE = {(kernel, "quadrature") for kernel in MAP_KERNELS if "matern" in kernel or kernel == "polynomial"}
NONE |= {("polynomial", "random-fourier"), ("linear", "random-fourier"), ("linear", "quadrature")}


def public(count):
    return np.random.default_rng(3).uniform(-1, 1, (count, 2))


@looped("per_axis", [1, 3, 4])
def test_cells_are_indicators_of_a_division_of_the_ball(per_axis):
    phi, rng = feature_map("squared-exponential", "cells", per_axis, 1.0, public), np.random.default_rng(1)
    assert phi.size == per_axis**2
    points = rng.uniform(-2, 2, (300, 2))
    beyond = points * np.where(np.abs(points) == np.abs(points).max(axis=1)[:, None], 9, 1)
    edges = np.linspace(-2, 2, per_axis + 1)[1:-1]
    for each in (points, beyond):  # what is outside is in a cell at the edge
        cell = np.searchsorted(edges, each) @ [per_axis, 1]
        at = phi(each)
        np.testing.assert_allclose(at @ at.T, cell[:, None] == cell, rtol=9e-7, atol=1e-12)
    for kernel, length in (("matern-1/2", 1.0), ("squared-exponential", 0.5)):
        with pytest.raises(InputError, match="cells have neither"):
            feature_map(kernel, "cells", per_axis, length, public)


@pytest.mark.parametrize("basis", [basis for basis in BASES if basis != "cells"])
@pytest.mark.parametrize("kernel", MAP_KERNELS)
@deep
def test_every_kernel_has_features_that_approach_it_or_is_refused(kernel, basis):
    """The largest error of about 900 features; random ones err like their number's inverse root."""
    if (kernel, basis) in NONE:
        with pytest.raises(InputError, match="use the basis chosen or nystrom"):
            feature_map(kernel, basis, 4, 1.0, public)
        return
    phi = feature_map(kernel, basis, 30, 1.0, public)
    found, exact = phi(POINTS), kernel_of(kernel, 1.0)(POINTS, POINTS)
    assert found.shape == (len(POINTS), phi.size)
    assert (np.linalg.norm(found, axis=1) <= 1 + 1e-9).all()
    allowed = 0.35 if basis == "random-fourier" else 0.15 if kernel.endswith("matern-1/2") else 0.02
    assert np.abs(found @ found.T - exact).max() < allowed
    assert np.linalg.eigvalsh(exact)[0] > -1e-9
    assert phi(POINTS.reshape(6, 10, 2)).reshape(60, -1) == pytest.approx(found)


@looped("kernel", [kernel for kernel in MAP_KERNELS if kernel not in ("linear", "polynomial")])
def test_more_random_features_err_less(kernel):
    exact = kernel_of(kernel, 0.7)(POINTS, POINTS)
    errors = []
    for nodes in (4, 60) if kernel != "additive" else (8, 800):  # of each axis, there
        phi = feature_map(kernel, "random-fourier", nodes, 0.7, public)(POINTS)
        errors.append(np.sqrt(np.mean((phi @ phi.T - exact) ** 2)))
    assert errors[1] < 0.5 * errors[0]


def test_kernels_and_bases_that_there_are_not_are_refused():
    for wrong in (
        ("cosine", "chosen", 4, 1.0),
        ("additive", "wavelets", 4, 1.0),
        ("additive", "chosen", 0, 1.0),
        ("additive", "chosen", 10**6, 1.0),
    ):
        with pytest.raises(InputError, match=r"known|lies in 1 ... 4096"):
            feature_map(*wrong, public)
    for wrong in (
        ("matern-5/2", "nystrom", 65, 1.0),
        ("additive", "chosen", 4, 0.0),
        ("polynomial", "chosen", 4, 2.0),
        ("linear", "chosen", 4, 2.0),
    ):
        with pytest.raises(InputError):
            feature_map(*wrong, public)
