"""Simulated people for contextual kernel bandits, as records that a neighbour can replace."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bandits.features import squared_exponential

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class People:
    """`rounds` people with `candidates` points each in a ball of radius 2, and what each point would pay.

    The setting of Dubey 2021, section 6.1: f = Σ αᵢ k(xᵢ, ·) with four centres and ‖α‖₁ ≤ 1; every
    person has one point with f ≥ .8 and others with f ≤ .6; rewards are Bernoulli(max(f, 0)).
    """

    points: Floats  #: [rounds, candidates, dimension]
    means: Floats  #: [rounds, candidates]
    rewards: Floats  #: [rounds, candidates], in {0, 1}: all potential outcomes

    def records(self) -> Floats:
        """Return one row per person: all coordinates, then all potential rewards."""
        return np.concatenate([self.points.reshape(len(self.points), -1), self.rewards], axis=1)

    def regret(self, chosen: NDArray[np.int64]) -> float:
        """Return Σ (best mean − chosen mean) of one choice per person."""
        played = np.take_along_axis(self.means, chosen[:, None], axis=1)[:, 0]
        return float((self.means.max(axis=1) - played).sum())


def simulated_people(rounds: int, candidates: int, dimension: int, seed: int) -> People:
    """Return people drawn as described in `People`, candidates in random order."""
    rng = np.random.default_rng(seed)
    pool, value = _pool_with_good_points(rng, dimension)
    good, poor = np.flatnonzero(value >= 0.8), np.flatnonzero(value <= 0.6)
    chosen = np.column_stack([rng.choice(good, (rounds, 1)), rng.choice(poor, (rounds, candidates - 1))])
    chosen = rng.permuted(chosen, axis=1)
    means = value[chosen]
    rewards = (rng.random(means.shape) < np.maximum(means, 0)).astype(np.float64)
    return People(pool[chosen], means, rewards)


def _pool_with_good_points(rng: np.random.Generator, dimension: int) -> tuple[Floats, Floats]:
    """Redraw the function until enough of a pool reaches .8 (about one in a hundred does)."""
    while True:
        centres = _in_ball(rng, 4, dimension)
        coefficients = rng.exponential(size=5)[:4]
        coefficients *= rng.choice([-1, 1], 4) * rng.random() / coefficients.sum()
        pool = _in_ball(rng, 4000, dimension)
        value = squared_exponential(pool, centres, 1.0) @ coefficients
        if (value >= 0.8).sum() >= 20:
            return pool, value


def _in_ball(rng: np.random.Generator, count: int, dimension: int) -> Floats:
    direction = rng.normal(size=(count, dimension))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    points: Floats = 2 * direction * rng.random((count, 1)) ** (1 / dimension)
    return points
