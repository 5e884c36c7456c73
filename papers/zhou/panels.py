"""Where the algorithms of Zhou & Tan 2020 are compared: functions of a kernel, and two data sets.

Section 5.1: 100 points of [0, 1], f = Σ aᵢ k(·, xᵢ) with 100 centres xᵢ uniform among the points and aᵢ
uniform on [−1, 1], anew for every trial, noise uniform on [−1, 1] or, with heavy tails, Student's t with 3
degrees of freedom; or means of test rows, and these rows as rewards.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt
from typing import Any, ClassVar

import numpy as np

from bandits.ldp_moma_gp_ucb import LdpMomaGpUcb, replays
from bandits.local_privacy.gp_ucb import LdpGpUcb
from bandits.local_privacy.subject import LocalRewards, prior_kernel
from bandits.simulation.delays import FILES, delays
from bandits.simulation.potential_rewards import PotentialRewards
from bandits.space.points import grid
from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import one_of
from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import NoNoise
from papers.reproduction import TrialWorld, noise_of
from papers.zhou.hard_functions import HARD_KERNELS

PANEL_POINTS = 100
LENGTHSCALE = Fraction(1, 5)
ROUNDING_STEPS = 2**20  #: bounds are rounded up to multiples of its inverse
TAILS = ("bounded", "heavy")
CENTRES = 100
MOMENT_OF_STUDENT = 3.0  #: E η² of Student's t with 3 degrees of freedom


def rational(number: float) -> Fraction:
    """Return the next multiple of 2⁻²⁰ that is not below a number."""
    return Fraction(ceil(number * ROUNDING_STEPS), ROUNDING_STEPS)


def without_privacy(world: "RewardsWorld", seed: int) -> Floats:
    """Return the regret of every round of GP-UCB on the rewards themselves."""
    people = world.people(world.rounds, seed)
    known = {**world.given(LdpGpUcb), **world.known(people), "privacy": "none"}
    values: Mapping[str, Any] = {
        each.name: known[each.name] for each in fields(LdpGpUcb) if each.name in known
    }
    return course(LdpGpUcb(**values), people, seed)


@dataclass(frozen=True)
class RewardsWorld(TrialWorld):
    """People who keep their rewards: a function of a kernel, anew for every trial, or shipped data.

    With `tails` ``heavy`` learners know a second moment of the noise in place of a bound.
    """

    serves: ClassVar[type[Any]] = LocalRewards
    other_choices: ClassVar[dict[str, Callable[..., Floats]]] = {"gp-ucb": without_privacy}

    rounds: int
    kernel: str = HARD_KERNELS[0]
    tails: str = TAILS[0]

    def __post_init__(self) -> None:
        """Refuse a kernel or tails that are none."""
        one_of("kernel", self.kernel, (*HARD_KERNELS, *FILES))
        one_of("tails", self.tails, TAILS)

    @property
    def row(self) -> dict[str, object]:
        """Return the data, and the kernel of synthetic ones."""
        shipped = self.kernel in FILES
        return {
            "data": self.kernel if shipped else "synthetic",
            "kernel": "empirical" if shipped else self.kernel,
        }

    def people(self, rounds: int, seed: int) -> PotentialRewards:
        """Return the first people of a trial."""
        if self.kernel in FILES:
            return delays(self.kernel).rewards(rounds, seed)
        kernel = prior_kernel(grid(PANEL_POINTS), self.kernel, float(LENGTHSCALE))
        return kernel_function(kernel, rounds, seed, self.tails)

    def known(self, people: PotentialRewards) -> dict[str, object]:
        """Return B and R; noise with heavy tails of second moment c counts as uniform on ±√(3c)."""
        noise = people.noise_bound if self.tails == "bounded" else sqrt(3 * self.noise_moment)
        return {"bound": rational(people.bound), "noise_bound": rational(noise)}

    @property
    def noise_moment(self) -> float:
        """Return c of heavy tails, E η²."""
        return delays(self.kernel).moments[1] if self.kernel in FILES else MOMENT_OF_STUDENT

    def given(self, made_by: type[Any]) -> dict[str, object]:
        """Return the points with their kernel, and the bounds of the first trial's rewards."""
        common = {"rounds": self.rounds, "kernel": self.kernel, **self.known(self.people(1, 0))}
        if self.tails == "heavy":
            common["noise_moment"] = rational(self.noise_moment)
        if self.kernel in FILES:
            return {**common, "points": len(delays(self.kernel).kernel)}
        return {**common, "points": PANEL_POINTS, "lengthscale": LENGTHSCALE}

    def chosen(self, made_by: type[Any], parameters: dict[str, object]) -> dict[str, object]:
        """Return parameters with one epoch for MoMA where there are fewer people than an epoch takes."""
        if not issubclass(made_by, LdpMomaGpUcb) or "people" in parameters:
            return parameters
        asked = replays(self.rounds, str(parameters.get("constants", made_by.constants)))
        return {"people": self.rounds, **parameters} if asked > self.rounds else parameters

    def regrets(self, bandit: Any, seed: int) -> Floats:
        """Return largest mean − mean of every point played; the bounds are the trial's own."""
        people = self.people(self.rounds, seed)
        return course(replace(bandit, **self.known(people)), people, seed)

    def by_chance(self, seed: int) -> Floats:
        """Return largest mean − mean over the points."""
        return np.full(self.rounds, self.people(1, seed).at_random)

    def details(self, bandit: Any, seeds: Sequence[int], runs: Floats) -> dict[str, object]:
        """Return regret against uniform play, the clipped share, and updates of all that a learner knows.

        `share` is regret over that of uniform play in the same trial; a row `learns` where its mean lies
        below 1 by two standard errors.  `touched` is the share of rewards beyond the clip B + R, of public
        train rows or of synthetic ones.
        """
        at_random = np.array([_chance(self, seed) for seed in seeds])
        shares = runs.sum(axis=1) / at_random
        error = shares.std(ddof=1) / sqrt(len(shares))
        return {
            "random": round(float(at_random.mean()), 2),
            "share": round(float(shares.mean()), 4),
            "share_median": round(float(np.median(shares)), 4),
            "learns": bool(shares.mean() + 2 * error < 1),
            **(_clipped(self, seeds) if self.tails == "bounded" else {}),
            "updates": self.rounds // getattr(bandit, "replays", 1),
        }


def kernel_function(kernel: Floats, rounds: int, seed: int, tails: str = "bounded") -> PotentialRewards:
    """Return f and `rounds` people's rewards on points whose kernel matrix is `kernel`.

    B is max |f| over the points, at most the norm of f.  ``bounded``: noise on [−1, 1], R = 1.  ``heavy``:
    t with 3 degrees of freedom, E y² ≤ v = B² + 3 and E η² = c = 3; its noise has no bound, and R is NaN.
    A person's noise is the same whatever point they are given.
    """
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1] or rounds < 1:
        raise out_of_range("a square kernel matrix and rounds >= 1")
    one_of("tails", tails, TAILS)
    rng = np.random.default_rng([seed, 11 + TAILS.index(tails)])  # apart from a run's coins and noise
    centres = rng.integers(0, len(kernel), CENTRES)
    means = kernel[:, centres] @ rng.uniform(-1, 1, CENTRES)
    eta = rng.uniform(-1, 1, rounds) if tails == "bounded" else rng.standard_t(3, rounds)
    limit = 1.0 if tails == "bounded" else float("nan")
    # The paper takes B from f itself; privacy would need a public bound.
    return PotentialRewards(means, means + eta[:, None], float(np.abs(means).max()), limit)


def course(subject: LocalRewards, world: PotentialRewards, seed: int) -> Floats:
    """Return the regret of every round of a subject on these people."""
    private = subject.privacy == "local"
    noise = noise_of(subject, seed) if private else NoNoise()
    view = subject.play(world.rows, noise, seed)
    return world.regrets(np.asarray(view.public["points"]))


@lru_cache(maxsize=1024)
def _chance(world: RewardsWorld, seed: int) -> float:
    return world.rounds * world.people(1, seed).at_random


def _clipped(world: RewardsWorld, seeds: Sequence[int]) -> dict[str, float]:
    """Return the mean clip B + R over the trials, and the share of public rewards beyond it."""
    if world.kernel in FILES:
        known = delays(world.kernel)
        clip = known.bound + known.noise_bound
        return {"clip": round(clip, 4), "touched": float((np.abs(known.train) > clip).mean().round(5))}
    trials = [world.people(1, seed) for seed in seeds]
    return {"clip": round(float(np.mean([t.bound + t.noise_bound for t in trials])), 4), "touched": 0.0}
