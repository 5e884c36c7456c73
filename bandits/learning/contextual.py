"""People with private decision sets: one row a person, served once each, in order.

A person's row holds the coordinates of their candidates, then what each candidate would pay.  They are
shown scores of their own candidates under what was released before, and ties fall by a coin of their
own slot: no coin of one slot depends on another person's data.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from bandits.learning.features import FourierFeatures, quadrature_features
from bandits.statistics.calibration import least_sigma
from dpaccount.errors import InputError
from dpaccount.proof import REPLACE_ONE, Theorem
from mechanisms.subject import Domain, Rows, View

Floats = NDArray[np.float64]
TIE = 1e-12  #: scores so near the best one share it

RADIUS = 2.0  #: candidates lie in the ball of this radius


class Learner(Protocol):
    """What serves people: scores before a round, learning after it."""

    def scores(self, candidates: Floats) -> Floats:
        """Return one score for each row of features; the highest is played."""

    def tell(self, features: Floats, reward: float) -> None:
        """Learn from what was played and what it paid."""


def domain(rounds: int, candidates: int, dimension: int) -> Domain:
    """Return one row per person: the candidates' coordinates, then what each would pay, in [0, 1]."""
    if rounds < 2 or min(candidates, dimension) < 1:
        raise InputError("needed rounds >= 2, candidates >= 1 and dimension >= 1")
    low = (-RADIUS,) * (candidates * dimension) + (0.0,) * candidates
    high = (RADIUS,) * (candidates * dimension) + (1.0,) * candidates
    return Domain(rounds, low, high, (False,) * len(low))


class Calibrated:
    """A noise that is given, or the least that a subject's own proof shows to meet its ε and δ.

    A subject has these fields and proves what all its sums cost.
    """

    epsilon: Fraction
    delta: Fraction
    sigma: Fraction | None

    @cached_property
    def noise_scale(self) -> Fraction:
        """Return σ: as given, or the least that is proved to meet (`epsilon`, `delta`)."""
        if self.sigma is not None:
            return self.sigma
        return least_sigma(lambda sigma: self._sums(sigma, self.delta), self.epsilon, self.delta)

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        """Return the theorem at `delta` about all sums that are released with this noise."""
        raise NotImplementedError


@dataclass(frozen=True)
class Contextual:
    """What bandits for `rounds` such people with `candidates` points each have in common."""

    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE

    rounds: int = 1024
    candidates: int = 25
    dimension: int = 2
    nodes_per_axis: int = 4

    def domain(self) -> Domain:
        """Return one row per person: the candidates' coordinates, then what each would pay."""
        return domain(self.rounds, self.candidates, self.dimension)

    def quadrature(self, lengthscale: Fraction) -> FourierFeatures:
        """Return the public feature map of this length scale."""
        return quadrature_features(self.dimension, self.nodes_per_axis, float(lengthscale))


def serve(
    data: Rows, candidates: int, features: Callable[[Floats], Floats], learner: Learner, coins: int
) -> View:
    """Serve every row's person once; what was played is for that person's eyes."""
    rounds = len(data)
    points = data[:, :-candidates].reshape(rounds, candidates, -1)
    rewards = data[:, -candidates:]
    ties = np.random.default_rng(coins).random((rounds, candidates))
    actions = np.zeros(rounds, dtype=np.int64)
    for t in range(rounds):
        phi = features(points[t])
        actions[t] = pick(learner.scores(phi), ties[t])
        if t < rounds - 1:  # nobody acts on the last person's data
            learner.tell(phi[actions[t]], float(rewards[t, actions[t]]))
    return View(own={"action": actions})


def pick(scores: Floats, ties: Floats) -> int:
    """Return the place of the highest score; among those within 1e-12 of it, of the highest coin."""
    return int(np.argmax(np.where(scores >= scores.max() - TIE, ties, -1.0)))


def in_ball(rng: np.random.Generator, count: int, dimension: int) -> Floats:
    """Return points uniform in the ball of radius 2."""
    direction = rng.normal(size=(count, dimension))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    points: Floats = 2 * direction * rng.random((count, 1)) ** (1 / dimension)
    return points
