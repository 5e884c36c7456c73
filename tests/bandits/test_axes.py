"""Axes of equal eigenvalues do not depend on how they were found."""

import numpy as np
import pytest

from bandits.contextual_release import axes, public_grid
from bandits.contextual_release.function_learner import FunctionLearner
from bandits.contextual_release.public_grid import PublicGrid

EIGH = np.linalg.eigh


def turned(seed):
    """Return an eigh that turns the basis of every space of equal eigenvalues, as another machine may."""

    def found(matrix):
        values, vectors = EIGH(matrix)
        rng = np.random.default_rng(seed)
        parts = np.split(vectors, np.flatnonzero(np.diff(values) > 1e-12 * values[-1]) + 1, axis=1)
        turns = [np.linalg.qr(rng.normal(size=(part.shape[1],) * 2))[0] for part in parts]
        return values, np.concatenate([part @ turn for part, turn in zip(parts, turns, strict=True)], axis=1)

    return found


def learned(grid):
    features = public_grid._features.__wrapped__(grid, 1e-3)
    learner = FunctionLearner(features, lambda numbers: 4.0 * np.sqrt(numbers), 12, 1.0)
    released = []
    for people in (200, 400):
        learner.begin(people)
        places = np.random.default_rng(people).integers(0, grid.places, people)
        released.append(learner.contributions(places, np.sin(places.astype(float))) / 2.0**24)
        learner.tell(np.round(released[-1] * 2.0**24).astype(np.int64))
    return features.phi, np.concatenate(released), learner.values()


@pytest.mark.parametrize("kernel", ["squared-exponential", "matern-5/2"])
def test_what_is_released_means_the_same_on_every_machine(monkeypatch, kernel):
    """A square grid is symmetric, so that most eigenvalues come in pairs."""
    grid = PublicGrid(8, 8, kernel, 0.2)
    monkeypatch.setattr(public_grid, "_eigen", public_grid._eigen.__wrapped__)
    here = learned(grid)
    for seed in range(3):
        monkeypatch.setattr(axes.np.linalg, "eigh", turned(seed))
        there = learned(grid)
        assert all(np.allclose(ours, theirs, atol=1e-5) for ours, theirs in zip(here, there, strict=True))


def test_axes_are_orthonormal_and_diagonalise():
    gram = PublicGrid(6, 6, "matern-1/2", 0.3).gram()
    values, vectors = axes.settled_eigh(gram)
    assert (np.diff(values) <= 0).all()
    assert np.allclose(vectors.T @ vectors, np.eye(36), atol=1e-9)
    assert np.allclose((vectors * values) @ vectors.T, gram, atol=1e-9)
