"""Contextual bandit in phases: every person's moment φ(y − ½) enters one released sum.

A phase of people plays one policy, its noisy sum u_r = Σφ(y − ½) + N(0, s²I) is released, and the next
policy is a draw from the posterior.  Second moments are never released: S_r = Σφφᵀ of a phase is simulated,
by the same policy on decision sets drawn from the public domain with public coins.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bandits.learning import contextual
from bandits.learning.public_moments import MomentBandit
from bandits.statistics.calibration import target
from bandits.statistics.first_moments import BITS, HALF, contribution
from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.proof import (
    REPLACE_ONE,
    Cover,
    Theorem,
    assume_ball,
    assume_covers,
    assume_view,
    billboard,
    linear,
    nodes,
)
from mechanisms.shared import grid
from mechanisms.shared.gaussian_noise import gaussian
from mechanisms.subject import Rows, View

Floats = NDArray[np.float64]
PRIOR = 0.1  #: variance of every weight before anything is learned
REWARD_NOISE = 0.3  #: variance of y − ½ about its mean, with what the simulation gets wrong
DRAW = 0.1  #: share of the posterior's covariance by which a policy is drawn
GROWTH = 1.5
SIMULATED = 400  #: people of the public domain in a simulated second moment


@dataclass(frozen=True)
class PhasedGpUcb(MomentBandit):
    """Jointly private contextual bandit that learns in growing phases; fields as of `moment-gp-ucb`."""

    source: ClassVar[str] = "ours; phases with simulated second moments (setting of Dubey 2021, section 6.1)"

    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(1, 10**6)
    sigma: Fraction | None = None

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense, before any charge."""
        contextual.domain(self.rounds, self.candidates, self.dimension)
        if self.size < 1 or (self.sigma is not None and self.sigma <= 0):
            raise InputError("needed size >= 1 and sigma > 0")
        target(self.epsilon, self.delta)
        self.feature_map(self.lengthscale)

    def covers(self) -> list[Cover]:
        """Return the rounds of every phase but the last, whose sum nobody would read: public."""
        size, first, found = min(max(ceil(24 * float(self.noise_scale) ** 0.7), 24), 128), 1, []
        while first + size - 1 < self.rounds:
            found.append((first, first + size - 1))
            first, size = first + size, int(size * GROWTH)
        return found or [(1, self.rounds - 1)]

    def proof(self, delta: Fraction) -> Theorem:
        """Moments in the ball of radius ½, each in one phase's sum, billboard."""
        whole = self._sums(self.noise_scale, delta, self.covers())
        return billboard(whole, assume_view("phased-gp-ucb", "others", "replay"))

    def _sums(self, sigma: Fraction, delta: Fraction, covers: list[Cover] | None = None) -> Theorem:
        person = linear(assume_ball("phase", HALF, REPLACE_ONE, "movement"))
        phases = assume_covers("phase", covers or [(1, 1)], "movement")
        numbers, step = self.features.phi.size, grid.step(BITS)
        return gaussian(person, sigma, step, numbers, "phase", delta, lambda one: nodes(one, phases))

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once, in order; a person sees their own action only."""
        return contextual.served(self.course(noise, coins), data, self.candidates)

    def course(self, noise: Noise, coins: int) -> contextual.ContextualCourse:
        """Return a run for people who come one by one: a phase is a batch."""
        covers = self.covers()
        batches = [*covers, (covers[-1][1] + 1, self.rounds)]
        learner = Learner(self, noise, coins)
        return contextual.ContextualCourse(
            self.domain(), self.candidates, self.features.phi, learner, coins, batches
        )


class Learner:
    """Scores by the phase's policy; learning at the end of each phase."""

    def __init__(self, subject: PhasedGpUcb, noise: Noise, coins: int) -> None:
        self._subject, self._noise = subject, noise
        self._rng = np.random.default_rng([coins, 1])  # apart from the slots' coins and from the noise
        self._ends = [last for _, last in subject.covers()]
        size = subject.features.phi.size
        self._precision, self._moment = np.eye(size) / PRIOR, np.zeros(size)
        self._exact, self._round = np.zeros(size, dtype=np.int64), 0
        self._begin()

    def scores(self, candidates: Floats) -> Floats:
        """Return φᵀθ̃ of the phase's policy."""
        found: Floats = candidates @ self._policy
        return found

    def tell(self, features: Floats, reward: float | None) -> None:
        """Add one person's moment; at the end of a phase, release the sum and draw the next policy."""
        self._exact += contribution(features, reward)
        self._round += 1
        if self._round not in self._ends:
            return
        number = self._ends.index(self._round)
        released = self._noise.noisy("phase", number, self._exact) / 2.0**BITS
        length = self._round - (self._ends[number - 1] if number else 0)
        second = length * self._simulated
        error = REWARD_NOISE * second + float(self._subject.noise_scale) ** 2 * np.eye(len(second))
        weighted = np.linalg.solve(error, np.column_stack([second, released]))
        self._precision += second @ weighted[:, :-1]
        self._moment += second @ weighted[:, -1]
        self._exact = np.zeros_like(self._exact)
        self._begin()

    def _begin(self) -> None:
        """Draw a policy θ̃ ~ N(Q⁻¹q, .1Q⁻¹); the last phase takes the mean.  Simulate its mean φφᵀ."""
        factor = np.linalg.cholesky(self._precision)
        mean = np.linalg.solve(self._precision, self._moment)
        last = self._round >= self._ends[-1]
        drawn = np.linalg.solve(factor.T, self._rng.normal(size=len(mean)))
        self._policy = mean if last else mean + np.sqrt(DRAW) * drawn
        subject = self._subject
        points = contextual.in_ball(self._rng, SIMULATED * subject.candidates, subject.dimension)
        phi = subject.features.phi(points).reshape(SIMULATED, subject.candidates, -1)
        played = phi[np.arange(SIMULATED), np.argmax(phi @ self._policy, axis=1)]
        self._simulated = played.T @ played / SIMULATED
