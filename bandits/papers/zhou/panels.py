"""Where the algorithms of Zhou & Tan 2020 are compared: functions of a kernel, and two data sets.

Section 5.1: 100 points of [0, 1], f = Σ aᵢ k(·, xᵢ) anew for every trial, noise uniform on [−1, 1] or, where
nothing is private, Student's t with 3 degrees of freedom; or means of test rows, and these rows as rewards.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt
from typing import Any

import numpy as np

from bandits.local_privacy.subject import LocalRewards, prior_kernel
from bandits.papers.reproduction import noise_of
from bandits.papers.zhou.kernel_functions import MOMENT_OF_STUDENT, kernel_function
from bandits.simulation.delays import FILES, delays
from bandits.simulation.potential_rewards import PotentialRewards
from bandits.space.points import grid
from bandits.statistics.arrays import Floats
from dpaccount.noise.receipt import NoNoise

PANEL_POINTS = 100
LENGTHSCALE = Fraction(1, 5)
ROUNDING_STEPS = 2**20  #: bounds are rounded up to multiples of its inverse


def channel_of(epsilon: Fraction) -> str:
    """Return our channel: one bit up to the ε where Laplace noise has as much variance, then piecewise."""
    return "duchi" if epsilon < Fraction(2324, 1000) else "piecewise"


def rational(number: float) -> Fraction:
    """Return the next multiple of 2⁻²⁰ that is not below a number."""
    return Fraction(ceil(number * ROUNDING_STEPS), ROUNDING_STEPS)


@dataclass(frozen=True)
class Panel:
    """Data, the kernel of synthetic ones, and ε; None if nothing is private and tails are heavy."""

    data: str
    kernel: str
    epsilon: Fraction | None

    @property
    def row(self) -> dict[str, Any]:
        """Return the fields that every row of the panel shares."""
        shown = None if self.epsilon is None else float(self.epsilon)
        return {"data": self.data, "kernel": self.kernel, "epsilon": shown}

    def world(self, rounds: int, seed: int) -> PotentialRewards:
        """Return one trial's people."""
        if self.data in FILES:
            return delays(self.data).rewards(rounds, seed)
        kernel = prior_kernel(grid(PANEL_POINTS), self.kernel, float(LENGTHSCALE))
        return kernel_function(kernel, rounds, seed, "uniform" if self.epsilon else "student")

    def known(self, world: PotentialRewards) -> dict[str, Any]:
        """Return B and R; without privacy a noise of second moment c counts as uniform on ±√(3c)."""
        if self.epsilon is not None:
            return {"bound": rational(world.bound), "noise_bound": rational(world.noise_bound)}
        return {"bound": rational(world.bound), "noise_bound": rational(sqrt(3 * self.noise_moment))}

    @property
    def noise_moment(self) -> float:
        """Return c of heavy tails, E η²."""
        return delays(self.data).moments[1] if self.data in FILES else MOMENT_OF_STUDENT

    def subject(self, kind: type[LocalRewards], rounds: int, **more: Any) -> LocalRewards:
        """Return an algorithm for this panel, with the first trial's B; `played` gives each trial its own."""
        given: dict[str, Any] = {"rounds": rounds, **self.known(self.world(1, 0)), **more}
        given |= {"privacy": "none"} if self.epsilon is None else {"epsilon": self.epsilon}
        if self.data in FILES:
            return kind(kernel=self.data, points=len(delays(self.data).kernel), **given)
        return kind(kernel=self.kernel, lengthscale=LENGTHSCALE, points=PANEL_POINTS, **given)


def played(panel: Panel, subject: LocalRewards, seed: int) -> Floats:
    """Return the regret of every round of one trial."""
    world = panel.world(subject.rounds, seed)
    return course(replace(subject, **panel.known(world)), world, seed)


def course(subject: LocalRewards, world: PotentialRewards, seed: int) -> Floats:
    """Return the regret of every round of a subject on these people."""
    private = subject.privacy == "local"
    noise = noise_of(subject.proof(subject.delta), seed) if private else NoNoise()
    view = subject.play(world.rows, noise, seed)
    return world.regrets(np.asarray(view.public["points"]))


@lru_cache(maxsize=1024)
def chance(panel: Panel, rounds: int, seed: int) -> float:
    """Return what uniform play is expected to regret in one trial."""
    return rounds * panel.world(1, seed).at_random


def details(panel: Panel, seeds: Sequence[int], runs: Floats) -> dict[str, Any]:
    """Return a row's additional entries: regret against uniform play, and the clipped share.

    `share` is regret over that of uniform play in the same trial; a row `learns` where its mean lies below 1
    by two standard errors.  `touched` is the share of rewards beyond the clip B + R, of public train rows or
    of synthetic ones.
    """
    at_random = np.array([chance(panel, runs.shape[1], seed) for seed in seeds])
    shares = runs.sum(axis=1) / at_random
    error = shares.std(ddof=1) / sqrt(len(shares))
    numbers = {
        "random": round(float(at_random.mean()), 2),
        "share": round(float(shares.mean()), 4),
        "share_median": round(float(np.median(shares)), 4),
        "learns": bool(shares.mean() + 2 * error < 1),
    }
    return numbers if panel.epsilon is None else {**numbers, **_clipped(panel, seeds)}


def _clipped(panel: Panel, seeds: Sequence[int]) -> dict[str, float]:
    """Return the mean clip B + R over the trials, and the share of public rewards beyond it."""
    if panel.data in FILES:
        clip = delays(panel.data).bound + delays(panel.data).noise_bound
        return {
            "clip": round(clip, 4),
            "touched": float((np.abs(delays(panel.data).train) > clip).mean().round(5)),
        }
    worlds = [panel.world(1, seed) for seed in seeds]
    return {"clip": round(float(np.mean([w.bound + w.noise_bound for w in worlds])), 4), "touched": 0.0}
