"""Simulated people for contextual kernel bandits, as records that a neighbour can replace."""

from dataclasses import dataclass

import numpy as np

from bandits.learning.contextual import in_ball
from bandits.learning.features import squared_exponential
from bandits.statistics.arrays import Floats, Integers
from dpaccount.errors import out_of_range


@dataclass(frozen=True)
class People:
    """`rounds` people with `candidates` points each in a ball of radius 2, and what each point would pay.

    The setting of Dubey 2021, section 6.1: f = Σ αᵢ k(xᵢ, ·) with four centres uniform in the ball and α
    uniform in the unit ℓ1 ball; every person has one point with f ≥ .8 and others with f ≤ .6; rewards
    are Bernoulli(max(f, 0)), as Bernoulli(f) means nothing where f < 0.
    """

    points: Floats  #: [rounds, candidates, dimension]
    means: Floats  #: [rounds, candidates]
    rewards: Floats  #: [rounds, candidates], in {0, 1}: all potential outcomes

    def records(self) -> Floats:
        """Return one row per person: all coordinates, then all potential rewards."""
        return np.concatenate([self.points.reshape(len(self.points), -1), self.rewards], axis=1)

    def regrets(self, chosen: Integers) -> Floats:
        """Return best mean − chosen mean for one choice per person."""
        played = np.take_along_axis(self.means, chosen[:, None], axis=1)[:, 0]
        return self.means.max(axis=1) - played

    def regret(self, chosen: Integers) -> float:
        """Return Σ (best mean − chosen mean) of one choice per person."""
        return float(self.regrets(chosen).sum())


def simulated_people(rounds: int, candidates: int, dimension: int, seed: int) -> People:
    """Return people drawn as described in `People`, candidates in random order."""
    if rounds < 1 or candidates < 2 or not 1 <= dimension <= 5:
        raise out_of_range("rounds >= 1, candidates >= 2 and a dimension of 1 ... 5")
    rng = np.random.default_rng(seed)
    pool, value = _pool_with_good_points(rng, dimension)
    good, poor = np.flatnonzero(value >= 0.8), np.flatnonzero(value <= 0.6)
    chosen = np.column_stack([rng.choice(good, (rounds, 1)), rng.choice(poor, (rounds, candidates - 1))])
    chosen = rng.permuted(chosen, axis=1)
    means = value[chosen]
    rewards = (rng.random(means.shape) < np.maximum(means, 0)).astype(np.float64)
    return People(pool[chosen], means, rewards)


def _pool_with_good_points(rng: np.random.Generator, dimension: int) -> tuple[Floats, Floats]:
    """Redraw the function until enough of a pool reaches .8 (about one in a hundred does).

    Of five exponential variables divided by their sum, four are uniform in the simplex; with random
    signs they are uniform in the ℓ1 ball.
    """
    while True:
        centres = in_ball(rng, 4, dimension)
        parts = rng.exponential(size=5)
        coefficients = parts[:4] * rng.choice([-1, 1], 4) / parts.sum()
        if np.maximum(coefficients, 0).sum() < 0.8:
            continue  # f is at most the sum of the positive ones
        pool = in_ball(rng, 4000, dimension)
        value = squared_exponential(pool, centres, 1.0) @ coefficients
        if (value >= 0.8).sum() >= 20:
            return pool, value
