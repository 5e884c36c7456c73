"""Regret of bandits on synthetic people, with rehearsal noise: nothing here is releasable."""

from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from bandits.jdp_gp_ucb import ZETA, JdpGpUcb
from bandits.learning.contextual import pick
from bandits.learning.features import quadrature_features
from bandits.learning.gp_ucb import GpUcb
from bandits.phased_posterior import Learner, PhasedPosterior
from bandits.simulation.information_gain import feature_upper_bound
from bandits.simulation.surfaces import surface
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.published_noise import lemma3_spectrum, theorem1_width

QUIET = Fraction(1, 100)  #: noise of a learner that is not private
REWARD_NOISE = 0.1  #: standard deviation of the surfaces' rewards


# ------------------------------------------------------------------ contextual people


def contextual_without_privacy(world: Any, seed: int) -> Floats:
    """Return the regret of every round of GP-UCB without noise on a world's people."""
    people = world.people(seed)
    features = quadrature_features(world.dimension, 8, 1.0)
    learner, chosen = GpUcb(features.size, width=0.1), np.zeros(world.rounds, dtype=np.int64)
    for t in range(world.rounds):
        phi = features(people.points[t])
        chosen[t] = learner.ask(phi)
        learner.tell(phi[chosen[t]], float(people.rewards[t, chosen[t]]) - 0.5)
    return people.regrets(chosen)


def contextual_at_random(world: Any, seed: int) -> Floats:
    """Return the regret of every round of choices by coins alone."""
    people = world.people(seed)
    coins = np.random.default_rng(seed).random((world.rounds, world.candidates))
    return people.regrets(np.array([pick(np.zeros(world.candidates), row) for row in coins]))


# ------------------------------------------------------------------ the paper's results


def theorem3(world: Any, _seed: int, *, epsilon: Fraction, delta: Fraction) -> Floats:
    """Return what each round adds to Theorem 3's bound 2√(Tβ_Tγ_T): noise of Lemma 2, features without error.

    The width is Theorem 1's, the spectrum Lemma 3's; the gain is that of as many features, from above.
    """
    subject = JdpGpUcb(rounds=world.rounds, candidates=world.candidates, dimension=world.dimension)
    subject = replace(subject, calibration="published", growth=Fraction(0), epsilon=epsilon, delta=delta)
    rounds, size, sigma = subject.rounds, subject.features.size, float(subject.noise_scale)
    spectrum = lemma3_spectrum(sigma, rounds, size, ZETA)
    bounds = [0.0]
    for t in range(1, rounds + 1):
        gain = feature_upper_bound(size, t, 1.0)
        width = theorem1_width(spectrum, t, 2 * gain, norm=1.0, rho=0.5, error=0.0, zeta=ZETA)
        # Algorithm 1 multiplies by β_t, Equation (8) and Theorem 1 by its root, which is meant.
        bounds.append(2 * width * sqrt(t * gain))
    return np.diff(bounds)


def order(world: Any, _seed: int, *, epsilon: Fraction, delta: Fraction) -> Floats:
    """Return what each round adds to Corollary 2's order √(t/ε), squared-exponential, whatever δ is."""
    return np.diff(np.sqrt(np.arange(world.rounds + 1.0))) * float(epsilon) ** -0.5


# ------------------------------------------------------------------ surfaces


class _Shown(Learner):
    """A learner without noise that receives each reward only if its coin succeeds."""

    chance = 1.0

    def _aim(self, points: Integers, people: Floats) -> None:
        self.shown = self._rng.random(len(self._point_of)) < self.chance
        shown = np.bincount(self._point_of[self.shown], minlength=len(points))
        super()._aim(points, np.maximum(shown, 1e-12))  # a batch may have no shown user


def shown_rewards(world: Any, seed: int, *, delta: Fraction) -> Floats:
    """Return the regret of every round of learning from rewards, each shown in the clear with chance δ."""
    subject = PhasedPosterior(surface=world.surface, rounds=world.rounds, sigma=QUIET)
    learner = _Shown(subject.model, float(subject.noise_scale), subject.rounds, seed)
    # The coin alone makes it (0, δ)-private, in no useful sense: such a δ allows that.
    learner.chance = float(delta)
    rng, parts = np.random.default_rng([seed, 2]), []
    covers = subject.covers()
    for number, (first, last) in enumerate(covers):
        points = learner.ask(first - 1, last, final=number == len(covers) - 1)
        rewards = subject.world.value(points) + rng.normal(0, REWARD_NOISE, last - first + 1)
        learner.tell(learner.contributions(rewards, learner.shown) / 2.0**24)
        parts.append(subject.world.regret(points))
    return np.concatenate(parts)


def surface_at_random(world: Any, seed: int) -> Floats:
    """Return the regret of every round of uniform choices."""
    rng, known = np.random.default_rng(seed), surface(world.surface)
    points = np.stack([rng.integers(0, len(table), world.rounds) for table in known.tables], axis=1)
    return known.regret(points)
