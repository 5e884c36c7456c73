"""Worlds that bandits are compared on, each with the bandits that it can serve.

Noise is a rehearsal's: nothing here is releasable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from bandits.arm_phases import ArmPhases
from bandits.learning.contextual import OwnCandidates
from bandits.logged_policy import LoggedPolicy
from bandits.phased_posterior import PhasedPosterior
from bandits.selection.forecasts import Selection
from bandits.selection.rehearsals import choose
from bandits.simulation.simulated_people import People, WorldLaw, simulated_people
from bandits.simulation.surfaces import SURFACES, SurfaceBandit, surface
from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import one_of
from papers.dubey import regret
from papers.kharkovskii.outsourced import OutsourcedWorld
from papers.pavlovic.errors import PredictionWorld
from papers.reproduction import TrialWorld, noise_of
from papers.zhou.lower_bound import HardWorld
from papers.zhou.panels import RewardsWorld

ARMS_SEED = 2026  #: of worlds of arms, before a trial's own


@dataclass(frozen=True)
class PeopleWorld(TrialWorld):
    """`rounds` people with `candidates` points each in a ball, as in `simulated_people`."""

    serves: ClassVar[type[Any]] = OwnCandidates
    other_choices: ClassVar[dict[str, Callable[..., Floats]]] = {
        "gp-ucb": regret.contextual_without_privacy,
        "at-random": regret.contextual_at_random,
        "theorem-3": regret.theorem3,
        "corollary-2": regret.order,
    }

    rounds: int
    candidates: int = 25
    dimension: int = 2

    def rehearsed(self, epsilon: Fraction, delta: Fraction, trials: int | None = None) -> Selection:
        """Return the jointly private bandit of least regret on other people of this law."""
        shape: Any = {"candidates": self.candidates, "dimension": self.dimension}
        return choose("joint", epsilon, delta, self.rounds, **shape, laws=(WorldLaw(),), trials=trials)

    def people(self, seed: int) -> People:
        """Return one trial's people."""
        return simulated_people(self.rounds, self.candidates, self.dimension, seed)

    def regrets(self, bandit: Any, seed: int) -> Floats:
        """Return best mean − chosen mean of every person's points."""
        people = self.people(seed)
        view = bandit.play(people.records(), noise_of(bandit, seed), seed)
        return people.regrets(np.asarray(view.own["action"]))

    def by_chance(self, seed: int) -> Floats:
        """Return best mean − mean over every person's points."""
        means = self.people(seed).means
        return means.max(axis=1) - means.mean(axis=1)


@dataclass(frozen=True)
class SurfaceWorld(TrialWorld):
    """A catalogued test function on a public grid, whose rewards have normal noise."""

    serves: ClassVar[type[Any]] = SurfaceBandit
    other_choices: ClassVar[dict[str, Callable[..., Floats]]] = {
        "at-random": regret.surface_at_random,
        "shown-rewards": regret.shown_rewards,
    }

    rounds: int
    surface: str = "camelback"

    def __post_init__(self) -> None:
        """Refuse a surface that is none."""
        one_of("surface", self.surface, SURFACES)

    @property
    def row(self) -> dict[str, object]:
        """Return the surface."""
        return {"surface": self.surface}

    def rehearsed(self, epsilon: Fraction, delta: Fraction, trials: int | None = None) -> Selection:
        """Return the bandit of least regret on functions drawn from the prior of these points."""
        return choose("reward", epsilon, delta, self.rounds, space=self.surface, trials=trials)

    def regrets(self, bandit: Any, seed: int) -> Floats:
        """Return max f − f at every point played."""
        data = np.random.default_rng([seed, 2]).normal(0, regret.REWARD_NOISE, (self.rounds, 1))
        view = bandit.play(data, noise_of(bandit, seed), seed)
        return bandit.world.regret(np.asarray(view.public["points"]))

    def by_chance(self, seed: int) -> Floats:
        """Return max f − the mean of f over its grid."""
        known = surface(self.surface)
        return np.full(self.rounds, known.best - sum(float(table.mean()) for table in known.tables))

    def details(self, bandit: Any, seeds: Sequence[int], runs: Floats) -> dict[str, object]:
        """Return how many people are as good at ε = 1 as these below it."""
        if not isinstance(bandit, PhasedPosterior) or bandit.epsilon >= 1:
            return {}
        least = replace(bandit, epsilon=Fraction(1), sigma=None).noise_scale
        # Signal grows with people, noise does not.
        people = int(self.rounds * least / bandit.noise_scale)
        here, there = float(bandit.noise_scale), float(least)
        as_much = f"say as much as {people} at {there:.4g}, that of alpha 1"
        why = f"{self.rounds} people at sigma {here:.4g} {as_much}"
        return {"people_at_alpha_1": people, "because": why}


@dataclass(frozen=True)
class ArmsWorld(TrialWorld):
    """`arms` public actions, whose chances of a reward of 1 are uniform in [.2, .8], anew for every trial."""

    serves: ClassVar[type[Any]] = ArmPhases

    rounds: int
    arms: int = 10

    def __post_init__(self) -> None:
        """Refuse numbers of arms and people that no bandit takes."""
        ArmPhases(rounds=self.rounds, arms=self.arms)

    def people(self, seed: int) -> tuple[Floats, Floats]:
        """Return the arms' means [arms], and each arm's reward for every person [rounds, arms]."""
        rng = np.random.default_rng([ARMS_SEED, seed])
        means = rng.uniform(0.2, 0.8, self.arms)
        return means, (rng.random((self.rounds, self.arms)) < means).astype(np.float64)

    def regrets(self, bandit: Any, seed: int) -> Floats:
        """Return largest mean − mean of every arm played."""
        means, rewards = self.people(seed)
        view = bandit.play(rewards, noise_of(bandit, seed), seed)
        return means.max() - means[view.public["arms"]]

    def by_chance(self, seed: int) -> Floats:
        """Return largest mean − mean over the arms."""
        means, _ = self.people(seed)
        return np.full(self.rounds, means.max() - means.mean())


@dataclass(frozen=True, eq=False)
class LogWorld(TrialWorld):
    """The records of a randomised log, in their order; a trial's seed is that of coins and noise alone."""

    serves: ClassVar[type[Any]] = LoggedPolicy

    rounds: int
    rows: Floats  #: as `LoggedPolicy` takes them
    policy: LoggedPolicy  #: what the log is of
    delta: Fraction = Fraction(0)  #: at which noise is proved

    def given(self, made_by: type[Any]) -> dict[str, object]:
        """Return nothing: what follows from the log is read with it."""
        return {}

    def regrets(self, bandit: Any, seed: int) -> Floats:
        """Return best mean − mean of every recommended arm, of the means in this very log."""
        view = bandit.play(self.rows, noise_of(bandit, seed, self.delta), seed)
        return bandit.regrets(self.rows, view, seed)

    def by_chance(self, seed: int) -> Floats:
        """Return best mean − mean over the arms that each was offered."""
        return self.policy.regrets(self.rows, None, seed)


WORLDS: dict[str, type[Any]] = {
    "people": PeopleWorld,
    "surface": SurfaceWorld,
    "arms": ArmsWorld,
    "rewards": RewardsWorld,
    "hard-functions": HardWorld,
    "predictions": PredictionWorld,
    "outsourced": OutsourcedWorld,
    "log": LogWorld,
}
