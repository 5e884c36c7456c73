"""Nyström features: the kernel on the dictionary's span, drawn without rewards, accurate as Lemma 8 says."""

import inspect

import numpy as np
import pytest

from bandits.learning import nystrom
from bandits.learning.features import principal, squared_exponential
from bandits.learning.nystrom import NystromFeatures, embedding, inclusion, members, oversampling, root
from bandits.local_privacy.ridge import Ridge
from bandits.simulation.information_gain import gain
from dpaccount.errors import InputError
from tests.looped import looped

GRID = np.linspace(0, 1, 30)[:, None]
KERNEL = squared_exponential(GRID, GRID, 0.2)
ROUGH = np.exp(-np.abs(GRID - GRID.T) / 0.2)  # of full rank, well conditioned


def most_members(accuracy, ridge, q, gain):
    """Return 6ρ(1 + 1/λ)qγ: Lemma 8's bound on the plays in a dictionary, γ the information gain."""
    return 6 * (1 + accuracy) / (1 - accuracy) * (1 + 1 / ridge) * q * gain


def inaccuracy(kernel, plays, drawn, chances, ridge):
    """Return the least ε of which the dictionary is ε-accurate (Definition 2): (1 ∓ ε)V ⪯, ⪰ V_D.

    V = Σ plays·φφᵀ + λI and V_D = Σ (drawn/chance)·φφᵀ + λI over the points of a finite domain.
    """
    values, vectors = np.linalg.eigh(kernel)
    phi = vectors * np.sqrt(np.maximum(values, 0.0))
    weights = np.divide(drawn, chances, out=np.zeros(len(plays)), where=drawn > 0)
    whole, seen = ((phi.T * each) @ phi + ridge * np.eye(len(phi)) for each in (plays, weights))
    half = np.linalg.inv(np.linalg.cholesky(whole))
    found = np.linalg.eigvalsh(half @ seen @ half.T)
    return float(np.abs(found - 1).max()) if np.isfinite(found).all() else np.inf


def marked(*points):
    found = np.zeros(len(GRID), dtype=bool)
    found[list(points)] = True
    return found


@looped("points", [(3,), (0, 9, 21), tuple(range(0, 30, 3))])
def test_products_are_the_kernel_on_the_span_of_the_dictionary(points):
    phi, of = embedding(ROUGH, marked(*points)), list(points)
    inner = ROUGH[np.ix_(of, of)]
    assert np.abs(phi @ phi.T - ROUGH[:, of] @ np.linalg.inv(inner) @ ROUGH[of]).max() < 1e-12
    assert ((phi**2).sum(axis=1) <= ROUGH.diagonal() + 1e-12).all()
    assert np.abs((phi @ phi.T)[of] - ROUGH[of]).max() < 1e-12  # exact where a point is in the dictionary


def test_the_printed_exponent_is_not_an_embedding():
    """Algorithm 4, line 7 prints (K_D^(−½))^†: norms above k(x, x) = 1, where the pseudo-inverse of K_D^½ has none."""
    of = list(range(0, 30, 3))
    values, vectors = np.linalg.eigh(ROUGH[np.ix_(of, of)])
    printed = ROUGH[:, of] @ ((vectors * np.sqrt(values)) @ vectors.T)
    meant = ROUGH[:, of] @ ((vectors / np.sqrt(values)) @ vectors.T)
    ours = embedding(ROUGH, marked(*of))
    assert (printed**2).sum(axis=1).max() > 2
    assert np.abs(meant @ meant.T - ours @ ours.T).max() < 1e-12


def test_the_whole_domain_gives_the_kernel_back():
    for kernel in (KERNEL, ROUGH):
        phi = embedding(kernel, np.ones(30, dtype=bool))
        assert np.abs(phi @ phi.T - kernel).max() < 1e-6
    assert embedding(KERNEL, np.ones(30, dtype=bool)).shape[1] < 15  # of low rank, and found to be


def test_a_point_drawn_twice_spans_what_it_spans_once():
    once, twice = [2, 11, 20], [2, 11, 11, 20, 2]
    a = ROUGH[:, once] @ root(ROUGH[np.ix_(once, once)])
    b = ROUGH[:, twice] @ root(ROUGH[np.ix_(twice, twice)])
    assert b.shape == a.shape
    assert np.abs(a @ a.T - b @ b.T).max() < 1e-9


def test_a_larger_dictionary_explains_more():
    small, large = (embedding(KERNEL, marked(*points)) for points in ((4, 20), (4, 12, 20)))
    assert ((large**2).sum(axis=1) >= (small**2).sum(axis=1) - 1e-9).all()


def test_dictionaries_that_span_nothing_are_refused():
    for kernel in (np.zeros((0, 0)), np.zeros((2, 2)), np.full((1, 1), np.nan), np.ones((2, 3))):
        with pytest.raises(InputError, match="dictionary"):
            root(kernel)
    for bad in ((0.0, 10, 0.1), (1.0, 10, 0.1), (0.5, 0, 0.1), (0.5, 10, 0.0), (0.5, 10, 1.1)):
        with pytest.raises(InputError, match="accuracy"):
            oversampling(*bad)


# ------------------------------------------------------------------ as a feature map


def test_the_map_over_coordinates_is_the_table_over_points():
    features = NystromFeatures(lambda a, b: squared_exponential(a, b, 0.2), GRID[[1, 8, 15, 22]])
    table = embedding(KERNEL, marked(1, 8, 15, 22))
    assert np.abs(features(GRID) @ features(GRID).T - table @ table.T).max() < 1e-9
    assert features(GRID.reshape(5, 6, 1)).shape == (5, 6, features.size)
    assert features(GRID[0]).shape == (features.size,)
    with pytest.raises(InputError, match="coordinates"):
        features(np.zeros((3, 2)))


def test_it_serves_where_feature_maps_do():
    points = np.random.default_rng(1).uniform(-1, 1, (200, 2))
    features = NystromFeatures(lambda a, b: squared_exponential(a, b, 1.0), points[:60])
    reduced = principal(features, points, 8)
    values = reduced.eigenvalues
    assert (np.linalg.norm(reduced(points), axis=1) <= 1 + 1e-9).all()
    assert (np.diff(values) <= 1e-15).all()
    phi = features(points)
    assert np.abs(phi @ phi.T - squared_exponential(points, points, 1.0)).max() < 1e-3


# ------------------------------------------------------------------ the draw


def test_nothing_here_is_given_a_reward():
    for name, made in inspect.getmembers(nystrom, inspect.isfunction):
        if made.__module__ == nystrom.__name__:
            assert not {"rewards", "values", "y"} & set(inspect.signature(made).parameters), name


@pytest.mark.statistical(2e-5)
def test_every_play_joins_with_its_probability():
    """Means of 4000 binomials beyond 5 deviations: chance below 30·6e-7."""
    plays, variances = np.arange(30), np.linspace(0, 0.3, 30)
    rng, chances = np.random.default_rng(1), inclusion(variances, 5.0)
    assert chances.max() == 1
    drawn = np.array([members(plays, variances, 5.0, rng) for _ in range(4000)])
    assert (drawn <= plays).all()
    off = np.abs(drawn.mean(axis=0) - plays * chances)
    assert (off <= 5 * np.sqrt(plays * chances * (1 - chances) / 4000) + 1e-12).all()


def known(plays, ridge=1.0):
    return Ridge(embedding(KERNEL, np.ones(30, dtype=bool)), KERNEL.diagonal().copy(), ridge, plays)


def trial(plays, q, times, seed):
    """Draw dictionaries by the true variances; return their inaccuracies and sizes."""
    ridge, rng = known(plays), np.random.default_rng(seed)
    drawn = [members(plays, ridge.variance, q, rng) for _ in range(times)]
    chances = inclusion(ridge.variance, q)
    return np.array([inaccuracy(KERNEL, plays, d, chances, 1.0) for d in drawn]), np.array(
        [d.sum() for d in drawn]
    )


PLAYS = np.random.default_rng(5).integers(1, 40_000, 30)
ROUNDS = int(PLAYS.sum())


@pytest.mark.statistical(5e-4)
def test_lemma_8():
    """ε = ½, δ = .1: inaccurate or too large at most 10 % of the time; of 40 dictionaries, 12 would be chance 5e-4."""
    q = oversampling(0.5, ROUNDS, 0.1)
    errors, sizes = trial(PLAYS, q, 40, 1)
    assert (
        inclusion(known(PLAYS).variance, q).max() < 0.5
    )  # plays are left out, so that accuracy says something
    information = gain(np.sqrt(np.outer(PLAYS, PLAYS)) * KERNEL, 1.0)  # at most γ_T
    bound = most_members(0.5, 1.0, q, information)
    assert ((errors > 0.5) | (sizes > bound)).sum() < 12
    assert sizes.mean() > 100


@pytest.mark.statistical(1)  # all of eight
def test_a_dictionary_that_is_too_thin_is_seen_to_be():
    """A q 500 times smaller misses ε = ½ mostly: the measure can fail."""
    errors, _ = trial(PLAYS, oversampling(0.5, ROUNDS, 0.1) / 500, 8, 2)
    assert (errors > 0.5).mean() > 0.9


def test_accuracy_is_what_definition_2_says():
    plays = np.full(30, 4)
    certain = np.ones(30)
    assert inaccuracy(KERNEL, plays, plays, certain, 1.0) < 1e-9
    none = inaccuracy(KERNEL, plays, np.zeros(30, dtype=np.int64), certain, 1.0)
    largest = np.linalg.eigvalsh(4 * KERNEL)[-1]
    assert none == pytest.approx(largest / (largest + 1))  # V_D = λI against V
    assert inaccuracy(KERNEL, plays, 2 * plays, certain, 1.0) == pytest.approx(largest / (largest + 1))
