"""A bandit that eliminates by private random projections; `benchmarks/projected_bandits.py` compares it.

After Pavlovic, Salgia & Zhao 2025 (arXiv 2507.13639), of which the abstract alone was at hand: this is not
the published algorithm, and constants are ours.  In epochs that double, people are shown a candidate that is
uniform among those that no confidence bound has eliminated.  An epoch's features are whitened by their
covariance under that policy, projected onto random directions, and scaled to norm 1; so replacing a person
moves the sum Σg·(y − ½) by at most 1, however many people there are.  Public coins draw the directions, and
the covariance is that of simulated people, as in `phased-gp-ucb`, so it costs nothing.  The next bounds are
those of the posterior given the noisy sums.  The proof is that of `moment-gp-ucb` with separate rounds.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import count

import numpy as np

from bandits.learning.contextual import PUBLIC_COINS, Learner, PublicMap, leading
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_gp_ucb import LEVEL_SPREAD, REWARD_NOISE, SIMULATED, WEIGHT_SPREAD
from bandits.statistics import continual_sums
from bandits.statistics.axes import settled_eigh, symmetric_root
from bandits.statistics.calibration import one_of
from bandits.statistics.first_moments import CONTRIBUTION_BITS, HALF, contribution
from bandits.statistics.linear_posterior import LinearPosterior
from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import REPLACE_ONE, Theorem, assume_ball


@dataclass(frozen=True)
class Projections(MomentGpUcb):
    """Elimination, `width` deviations of the posterior, by `projections` numbers an epoch."""

    stream: str = "separate"
    growth: Fraction = Fraction(1)
    refresh: int = 64
    size: int = 64
    projections: int = 40
    width: Fraction = HALF

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("stream", self.stream, ("separate",))
        if self.projections < 1:
            raise out_of_range("projections >= 1")

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        person = assume_ball("moments", HALF, REPLACE_ONE, "movement")
        return continual_sums.vector_proof(self.stream, person, sigma, self.ends, self.projections, delta)

    def belief(self) -> "Survivors":
        """Return what is believed before anything is known."""
        return Survivors(self)

    def learner(self, noise: Noise) -> Learner:
        """Return the learner: an epoch is a release."""
        epochs = count()
        return Learner(self.belief(), lambda exact: noise.noisy("sums", next(epochs), exact), self.ends)


@lru_cache(maxsize=8)  # public, and the same in every run
def _public_people(of: PublicMap, size: int, candidates: int) -> np.ndarray:
    """Return features [SIMULATED, candidates, size] of decision sets that public coins draw."""
    points = of.points(np.random.default_rng([PUBLIC_COINS, 2]), SIMULATED * candidates)
    return leading(of, size)(points).reshape(SIMULATED, candidates, -1)


class Survivors:
    """A posterior of a level and weights, and the bounds of all epochs so far."""

    def __init__(self, subject: Projections) -> None:
        self._subject = subject
        self._public = _public_people(subject.map_of, subject.size, subject.candidates)
        size = self._public.shape[-1]
        self._prior = np.array([LEVEL_SPREAD, *[WEIGHT_SPREAD] * size]) ** 2
        self._observed, self._coins = LinearPosterior(size + 1), np.random.default_rng([PUBLIC_COINS, 3])
        self._bounds: list[tuple[np.ndarray, np.ndarray]] = []  #: posterior means and roots of covariances
        self._begin(0)

    def scores(self, candidates: np.ndarray) -> np.ndarray:
        """Return 1 for who survives, else 0: ties fall uniformly."""
        left = np.ones(candidates.shape[:-1], dtype=bool)
        for mean, root in self._bounds:
            middle = candidates @ mean
            away = float(self._subject.width) * np.linalg.norm(candidates @ root, axis=-1)
            least = np.where(left, middle - away, -np.inf).max(axis=-1, keepdims=True)
            left &= middle + away >= least
        return left.astype(float)

    def directions(self, features: np.ndarray) -> np.ndarray:
        """Return g of features [..., size], of norm 1."""
        projected = features @ self._map
        return projected / np.maximum(np.linalg.norm(projected, axis=-1, keepdims=True), 1e-12)

    def contribution(self, features: np.ndarray, reward: float | None) -> np.ndarray:
        """Return g·(y − ½)."""
        return contribution(self.directions(features), reward)

    def shown(self) -> tuple[np.ndarray, np.ndarray]:
        """Return features that the policy shows to simulated people, and how often."""
        left = self.scores(self._public)
        shares = left / left.sum(axis=-1, keepdims=True) / len(left)
        return self._public[left > 0], shares[left > 0]

    def _begin(self, people: int) -> None:
        """Whiten by the covariance of what the policy shows, and draw directions."""
        self._shown, self._shares = self.shown()
        ahead = [end for end in [*self._subject.ends, self._subject.rounds] if end > people]
        self._people, self._before = ahead[0] - people, people
        values, vectors = settled_eigh((self._shown.T * self._shares) @ self._shown)
        drawn = self._coins.normal(size=(len(values), min(self._subject.projections, len(values))))
        white = vectors / np.sqrt(np.maximum(values, 0) + 1 / self._people)  # a ridge of 1
        self._map = white @ np.linalg.qr(drawn).Q

    def learn(self, released: np.ndarray, people: int) -> None:
        """Take in the sum of an epoch, Hθ + N(0, σ²I + .25Σggᵀ), and begin the next."""
        g = self.directions(self._shown)
        weighed = self._people * self._shares[:, None] * g
        shape = np.column_stack([weighed.sum(axis=0), weighed.T @ self._shown])
        noise = float(self._subject.noise_scale) ** 2 * np.eye(g.shape[1]) + REWARD_NOISE * weighed.T @ g
        self._observed.learn(shape, noise, released / 2.0**CONTRIBUTION_BITS)
        covariance = self._observed.covariance(self._prior)
        mean = (covariance @ self._observed.moment)[1:]
        self._bounds.append((mean, symmetric_root(covariance[1:, 1:])))
        self._begin(people)
