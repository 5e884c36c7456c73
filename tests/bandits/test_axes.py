"""Axes of equal eigenvalues, and what is drawn along them, do not depend on how they were found."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandits import phased_posterior
from bandits.learning import arm_posterior, features, nystrom
from bandits.private_prediction import public_grid
from bandits.private_prediction.function_learner import FunctionLearner
from bandits.private_prediction.public_grid import PublicGrid
from bandits.simulation import information_gain
from bandits.space import points
from bandits.statistics import axes
from bandits.statistics.additive_model import AdditiveModel
from dpaccount.errors import InputError
from mechanisms.continual import factors
from papers.kharkovskii import fields
from papers.pavlovic import kernel_draws
from tests.depth import deep

EIGH = np.linalg.eigh
SQUARE = np.stack(np.meshgrid(*[np.linspace(0, 1, 6)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
KERNEL = features.squared_exponential(SQUARE, SQUARE, 0.3)


def turned(seed):
    """Return an eigh that turns and mirrors the basis of every space of equal eigenvalues, as others may."""

    def one(matrix, rng):
        values, vectors = EIGH(matrix)
        parts = np.split(vectors, np.flatnonzero(np.diff(values) > 1e-12 * values[-1]) + 1, axis=1)
        turns = [np.linalg.qr(rng.normal(size=(part.shape[1],) * 2))[0] for part in parts]
        found = [part @ turn * rng.choice([-1.0, 1.0]) for part, turn in zip(parts, turns, strict=True)]
        return values, np.concatenate(found, axis=1)

    def found(matrices):
        rng, size = np.random.default_rng(seed), matrices.shape[-1]
        each = [one(matrix, rng) for matrix in matrices.reshape(-1, size, size)]
        values, vectors = (np.array(part) for part in zip(*each, strict=True))
        return values.reshape(matrices.shape[:-1]), vectors.reshape(matrices.shape)

    return found


def function_learned(kernel):
    """Return the features of a square grid, what two phases release and what is learnt of them."""
    grid = PublicGrid(8, 8, kernel, 0.2)
    found = public_grid._features.__wrapped__(grid, 1e-3)
    learner = FunctionLearner(found, lambda numbers: 4.0 * np.sqrt(numbers), 12, 1.0)
    released = []
    for people in (200, 400):
        learner.begin(people)
        places = np.random.default_rng(people).integers(0, grid.places, people)
        released.append(learner.contributions(places, np.sin(places.astype(float)), places >= 0) / 2.0**24)
        learner.tell(np.round(released[-1] * 2.0**24).astype(np.int64))
    return [found.phi, np.concatenate(released), learner.values()]


def additive_model():
    found = AdditiveModel([SQUARE], (0.2, 0.5))
    return [*found.groups, *(found.prior_root(2, length).parts[0] for length in (0, 1))]


def rows_released(*, correlated):
    """Return the exact contributions to three batches, and what is learnt of them."""
    root = factors.sqrt_toeplitz(3) / 2.0**factors.WEIGHT_BITS
    weights = np.where(np.tri(3) > 0, root[np.abs(np.subtract.outer(range(3), range(3)))], 0.0)
    model = AdditiveModel([SQUARE], (0.2, 0.5))
    learner = phased_posterior.Learner(model, 5.0, 300, 7, weights if correlated else None)
    released = []
    for start in (0, 100, 200):
        chosen = learner.ask(start, start + 100, final=start == 200)
        exact = learner.contributions(np.sin(chosen[:, 0].astype(float)), chosen[:, 0] >= 0)
        released.append(exact / 2.0**phased_posterior.CONTRIBUTION_BITS)
        learner.tell(released[-1])
    return [*released, learner._mean]


def nystrom_features():
    """A dictionary that is as symmetric as its points."""
    return [nystrom.embedding(KERNEL, (np.abs(SQUARE - 0.5) > 0.2).all(axis=1))]


def subspaces():
    inner = features.quadrature_features(2, 4, 0.5)
    principal = features.principal(inner, SQUARE - 0.5, 6)
    values = principal.eigenvalues
    return [principal.basis, values, features.eigenfeatures(KERNEL, 0.05)]


def public_points():
    return [points.of_matrix(KERNEL).points, information_gain.spectral_upper_bound(KERNEL, 100, 0.1)]


def functions_drawn():
    kernel_draws._inverse_root.cache_clear()
    world = kernel_draws.drawn(PublicGrid(8, 8, "matern-5/2", 0.3), "process", 3)
    return [fields.gaussian_field(1, side=12).values, world.table]


def arms():
    """Arms without positions are exchangeable, so that all but one of their axes have one eigenvalue."""
    sums, counts = np.full((1, 2, 5), 3.0), np.full((1, 2, 5), 40.0)
    known = arm_posterior.posterior(arm_posterior.ArmPrior(5, 2), sums, counts, 4.0)
    return [known.draws(20, 1.0, np.random.default_rng(1))]


USES = {
    "function-release, squared-exponential": lambda: function_learned("squared-exponential"),
    "function-release, matern-5/2": lambda: function_learned("matern-5/2"),
    "additive model": additive_model,
    "phased-posterior, separate": lambda: rows_released(correlated=False),
    "phased-posterior, correlated": lambda: rows_released(correlated=True),
    "nystrom": nystrom_features, "subspaces": subspaces, "points": public_points,
    "functions": functions_drawn, "arms": arms,
}  # fmt: skip


@deep
@pytest.mark.parametrize("use", USES)
def test_what_lies_along_axes_is_the_same_on_every_machine(monkeypatch, use):
    """Square grids are symmetric, so that most eigenvalues come in pairs; signs are free everywhere."""
    monkeypatch.setattr(public_grid, "_eigen", public_grid._eigen.__wrapped__)
    here = USES[use]()
    for seed in range(3):
        monkeypatch.setattr(np.linalg, "eigh", turned(seed))
        there = USES[use]()
        for ours, theirs in zip(here, there, strict=True):
            assert np.abs(ours - theirs).max() < 1e-7 * np.abs(ours).max()


def test_bases_of_the_planted_machine_differ():
    values, vectors = turned(0)(KERNEL)
    assert np.abs((vectors * values) @ vectors.T - KERNEL).max() < 1e-9
    assert np.abs(vectors - EIGH(KERNEL)[1]).max() > 0.1
    with_axes = vectors * np.sqrt(np.maximum(values, 0.0))  # a root that is laid along them, as it was once
    ones = np.ones(len(KERNEL))
    assert np.abs(with_axes @ ones - (EIGH(KERNEL)[1] * np.sqrt(np.abs(values))) @ ones).max() > 0.1


def test_a_symmetric_root_is_one():
    root = axes.symmetric_root(np.stack([KERNEL, 4 * KERNEL]))
    assert np.allclose(root @ root, np.stack([KERNEL, 4 * KERNEL]), atol=1e-9)
    assert np.allclose(root, np.swapaxes(root, 1, 2), atol=1e-12)
    assert not axes.symmetric_root(-np.eye(2)).any()


def test_axes_are_orthonormal_and_diagonalise():
    gram = PublicGrid(6, 6, "matern-1/2", 0.3).gram()
    values, vectors = axes.settled_eigh(gram)
    assert (np.diff(values) <= 0).all()
    assert np.allclose(vectors.T @ vectors, np.eye(36), atol=1e-9)
    assert np.allclose((vectors * values) @ vectors.T, gram, atol=1e-9)


def planted(groups, axes_of, seed):
    """Return an eigh that finds these eigenvalues, each so many times, with rounding and in a basis of its own."""
    rng = np.random.default_rng(seed)
    values = np.repeat([float(value) for value, _ in groups], [many for _, many in groups])
    starts = np.cumsum([many for _, many in groups])[:-1]
    turns = [
        np.linalg.qr(rng.normal(size=(part.shape[1],) * 2))[0] for part in np.split(axes_of, starts, axis=1)
    ]
    vectors = np.concatenate(
        [part @ turn for part, turn in zip(np.split(axes_of, starts, axis=1), turns, strict=True)], axis=1
    )
    rounding = rng.normal(size=len(values)) * 1e-16 * np.abs(values).max()
    return lambda _: (np.sort(values + rounding), vectors)


@deep
@given(
    st.dictionaries(st.integers(-4, 4), st.integers(1, 4), min_size=1, max_size=5),
    st.sampled_from([1e-200, 1.0, 1e200]),
    st.integers(0, 10**6),
)
def test_axes_of_any_symmetric_matrix_are_those_of_its_spaces(found, scale, seed):
    """Positive, negative and zero eigenvalues, once or several times, at any scale."""
    groups = [(value * scale, many) for value, many in sorted(found.items())]
    size = sum(found.values())
    axes_of = np.linalg.qr(np.random.default_rng([7, seed]).normal(size=(size, size)))[0]
    known = np.repeat([value for value, _ in groups], [many for _, many in groups])
    matrix = (axes_of * known) @ axes_of.T
    shown = []
    for other in (seed + 1, seed + 2):
        with mock.patch.object(np.linalg, "eigh", planted(groups, axes_of, other)):
            shown.append(axes.settled_eigh(matrix))
    for values, vectors in shown:
        assert np.allclose(vectors.T @ vectors, np.eye(size), atol=1e-9)
        assert np.allclose((vectors * values) @ vectors.T, matrix, rtol=0, atol=1e-9 * scale)
        assert np.allclose(vectors, shown[0][1], atol=1e-7)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_has_no_axes(wrong):
    with pytest.raises(InputError, match="no axes"):
        axes.settled_eigh(np.diag([1.0, wrong]))
