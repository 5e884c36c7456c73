"""Worlds that bandits are compared on, each with the bandits that it can serve.

A world makes its people of a trial's seed alone, so that all bandits meet the same people: differences
between them are paired.  Noise is a rehearsal's: nothing here is releasable.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from bandits.arm_phases import ArmPhases
from bandits.learning.contextual import Contextual
from bandits.local_privacy.subject import LocalRewards
from bandits.logged_policy import LoggedPolicy
from bandits.papers.dubey import regret
from bandits.papers.reproduction import noise_of
from bandits.papers.zhou.figures import MATERN, SE
from bandits.papers.zhou.panels import LENGTHSCALE, PANEL_POINTS, Panel, played
from bandits.simulation.delays import FILES, delays
from bandits.simulation.simulated_people import simulated_people
from bandits.simulation.surfaces import SURFACES, SurfaceBandit, surface
from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import one_of

ARMS_SEED = 2026  #: of worlds of arms, before a trial's own


class TrialWorld(Protocol):
    """People of a trial, and what a bandit's choices for them cost."""

    serves: ClassVar[type[Any]]  #: the bandits' common class

    @property
    def given(self) -> dict[str, Any]:
        """Return the parameters of a bandit that follow from this world."""

    def regrets(self, bandit: Any, seed: int) -> Floats:
        """Return the regret of every round of one trial."""

    def by_chance(self, seed: int) -> Floats:
        """Return the regret that every round of uniform choices is expected to have."""


def trial(world: TrialWorld, bandit: Any | None, seed: int) -> Floats:
    """Return the regret of every round of one trial; without a bandit, that of uniform choices."""
    return world.by_chance(seed) if bandit is None else world.regrets(bandit, seed)


@dataclass(frozen=True)
class PeopleWorld:
    """`rounds` people with `candidates` points each in a ball, as in `simulated_people`."""

    serves: ClassVar[type[Any]] = Contextual

    rounds: int
    candidates: int = 25
    dimension: int = 2

    @property
    def given(self) -> dict[str, Any]:
        """Return the people's number, and the number and dimension of their points."""
        return {"rounds": self.rounds, "candidates": self.candidates, "dimension": self.dimension}

    def regrets(self, bandit: Any, seed: int) -> Floats:
        """Return best mean − chosen mean of every person's points."""
        return regret.contextual(bandit, seed)

    def by_chance(self, seed: int) -> Floats:
        """Return best mean − mean over every person's points."""
        means = simulated_people(self.rounds, self.candidates, self.dimension, seed).means
        return means.max(axis=1) - means.mean(axis=1)


@dataclass(frozen=True)
class SurfaceWorld:
    """A catalogued test function on a public grid, whose rewards have normal noise."""

    serves: ClassVar[type[Any]] = SurfaceBandit

    rounds: int
    surface: str = "camelback"

    def __post_init__(self) -> None:
        """Refuse a surface that is none."""
        one_of("surface", self.surface, SURFACES)

    @property
    def given(self) -> dict[str, Any]:
        """Return the surface and the number of people."""
        return {"rounds": self.rounds, "surface": self.surface}

    def regrets(self, bandit: Any, seed: int) -> Floats:
        """Return max f − f at every point played."""
        return regret.surface(bandit, seed)

    def by_chance(self, seed: int) -> Floats:
        """Return max f − the mean of f over its grid."""
        known = surface(self.surface)
        return np.full(self.rounds, known.best - sum(float(table.mean()) for table in known.tables))


@dataclass(frozen=True)
class ArmsWorld:
    """`arms` public actions, whose chances of a reward of 1 are uniform in [.2, .8], anew for every trial."""

    serves: ClassVar[type[Any]] = ArmPhases

    rounds: int
    arms: int = 10

    def __post_init__(self) -> None:
        """Refuse numbers of arms and people that no bandit takes."""
        ArmPhases(rounds=self.rounds, arms=self.arms)

    @property
    def given(self) -> dict[str, Any]:
        """Return the number of people and of arms."""
        return {"rounds": self.rounds, "arms": self.arms}

    def people(self, seed: int) -> tuple[Floats, Floats]:
        """Return the arms' means [arms], and each arm's reward for every person [rounds, arms]."""
        rng = np.random.default_rng([ARMS_SEED, seed])
        means = rng.uniform(0.2, 0.8, self.arms)
        return means, (rng.random((self.rounds, self.arms)) < means).astype(np.float64)

    def regrets(self, bandit: Any, seed: int) -> Floats:
        """Return largest mean − mean of every arm played."""
        means, rewards = self.people(seed)
        view = bandit.play(rewards, noise_of(bandit.proof(bandit.delta), seed), seed)
        return means.max() - means[view.public["arms"]]

    def by_chance(self, seed: int) -> Floats:
        """Return largest mean − mean over the arms."""
        means, _ = self.people(seed)
        return np.full(self.rounds, means.max() - means.mean())


@dataclass(frozen=True)
class RewardsWorld:
    """People who keep their rewards: a function of a kernel, anew for every trial, or shipped data."""

    serves: ClassVar[type[Any]] = LocalRewards

    rounds: int
    kernel: str = SE

    def __post_init__(self) -> None:
        """Refuse a kernel that is none."""
        one_of("kernel", self.kernel, (SE, MATERN, *FILES))

    @cached_property
    def panel(self) -> Panel:
        """Return where rewards are from; their noise is bounded."""
        known = self.kernel in FILES
        return Panel(
            self.kernel if known else "synthetic", "empirical" if known else self.kernel, Fraction(1)
        )

    @property
    def given(self) -> dict[str, Any]:
        """Return the points with their kernel, and the bounds of the first trial's rewards."""
        bounds = self.panel.known(self.panel.world(1, 0))
        common = {"rounds": self.rounds, "kernel": self.kernel, **bounds}
        if self.kernel in FILES:
            return {**common, "points": len(delays(self.kernel).kernel)}
        return {**common, "points": PANEL_POINTS, "lengthscale": LENGTHSCALE}

    def regrets(self, bandit: Any, seed: int) -> Floats:
        """Return largest mean − mean of every point played; the bounds are the trial's own."""
        return played(self.panel, bandit, seed)

    def by_chance(self, seed: int) -> Floats:
        """Return largest mean − mean over the points."""
        return np.full(self.rounds, self.panel.world(1, seed).at_random)


@dataclass(frozen=True, eq=False)
class LogWorld:
    """The records of a randomised log, in their order; a trial's seed is that of coins and noise alone."""

    serves: ClassVar[type[Any]] = LoggedPolicy

    rows: Floats  #: as `LoggedPolicy` takes them
    policy: LoggedPolicy  #: what the log is of
    delta: Fraction = Fraction(0)  #: at which noise is proved

    @property
    def given(self) -> dict[str, Any]:
        """Return nothing: what follows from the log is read with it."""
        return {}

    def regrets(self, bandit: Any, seed: int) -> Floats:
        """Return best mean − mean of every recommended arm, of the means in this very log."""
        view = bandit.play(self.rows, noise_of(bandit.proof(self.delta), seed), seed)
        return bandit.regrets(self.rows, view, seed)

    def by_chance(self, seed: int) -> Floats:
        """Return best mean − mean over the arms that each was offered."""
        return self.policy.regrets(self.rows, None, seed)


WORLDS: dict[str, type[Any]] = {
    "people": PeopleWorld,
    "surface": SurfaceWorld,
    "arms": ArmsWorld,
    "rewards": RewardsWorld,
    "log": LogWorld,
}
