"""Simulated people for contextual kernel bandits, as records that a neighbour can replace."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from bandits.learning.contextual import in_ball
from bandits.learning.features import squared_exponential
from bandits.space.points import Space
from bandits.statistics import kernels
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.axes import symmetric_root
from bandits.statistics.calibration import one_of
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

    def share(self, chosen: Integers) -> float:
        """Return the regret of one choice per person, as a share of that of uniform choices."""
        uniform = float((self.means.max(axis=1) - self.means.mean(axis=1)).sum())
        return self.regret(chosen) / max(uniform, 1e-9)

    def regret(self, chosen: Integers) -> float:
        """Return Σ (best mean − chosen mean) of one choice per person."""
        return float(self.regrets(chosen).sum())


def simulated_people(rounds: int, candidates: int, dimension: int, seed: int) -> People:
    """Return people drawn as described in `People`, candidates in random order."""
    if rounds < 1 or candidates < 2 or not 1 <= dimension <= 5:
        raise out_of_range("rounds >= 1, candidates >= 2 and a dimension of 1 ... 5")
    pool, value, state = _pool_with_good_points(seed, dimension)
    rng = np.random.default_rng()
    rng.bit_generator.state = state  # people are drawn with the coins that the pool left
    good, poor = np.flatnonzero(value >= 0.8), np.flatnonzero(value <= 0.6)
    chosen = np.column_stack([rng.choice(good, (rounds, 1)), rng.choice(poor, (rounds, candidates - 1))])
    # The good point must not always come first: a policy that breaks exact ties by order would find it
    # without learning.
    chosen = rng.permuted(chosen, axis=1)
    means = value[chosen]
    rewards = (rng.random(means.shape) < np.maximum(means, 0)).astype(np.float64)
    return People(pool[chosen], means, rewards)


PAPER, LINEAR, UNRELATED, ONE_AXIS = "paper", "linear", "unrelated", "one coordinate"
POOL: Final = 400  #: points that a drawn world has, where no space says which
MEANS_SPREAD: Final = 0.4  #: deviation of means over points, of what the base rate leaves them


@dataclass(frozen=True)
class WorldLaw:
    """A public law of worlds: chances of a reward of 1, about the rate `base`, as a function of the points.

    `kernel`: of a Gaussian process with `lengthscale` in the ball of radius 2; ``linear``; ``unrelated`` for
    points that say nothing of each other; ``one coordinate``, by Matérn 3/2; ``paper``: that of `People`.
    With `uneven`, candidates x come in proportion to exp(v·x), v of length 1, where no space says how.
    """

    kernel: str = PAPER
    lengthscale: float = 1.0
    base: float = 0.5
    uneven: bool = False

    def __post_init__(self) -> None:
        one_of("kernel", self.kernel, (PAPER, LINEAR, UNRELATED, ONE_AXIS, *kernels.POINT_KERNELS))
        if not 0 < self.lengthscale < np.inf or not 0 < self.base < 1:
            raise out_of_range("lengthscale > 0 and a base in (0, 1)")

    def __str__(self) -> str:
        length = f" {self.lengthscale:g}" if self.kernel in kernels.POINT_KERNELS else ""
        uneven = " uneven" if self.uneven else ""
        return self.kernel + ("" if self.kernel == PAPER else f"{length} about {self.base:g}{uneven}")

    def means(self, points: Floats, rng: np.random.Generator) -> Floats:
        """Return the chances at public points [n, d]."""
        if self.kernel == LINEAR:
            drawn = points @ rng.normal(size=points.shape[1])
        elif self.kernel == UNRELATED:
            drawn = rng.normal(size=len(points))
        else:
            name = {PAPER: "squared-exponential", ONE_AXIS: "matern-3/2"}.get(self.kernel, self.kernel)
            at = points[:, [rng.integers(points.shape[1])]] if self.kernel == ONE_AXIS else points
            gram = kernels.matrix(name, at, at, self.lengthscale)
            drawn = symmetric_root(gram) @ rng.normal(size=len(points))
        away = (drawn - drawn.mean()) / max(float(drawn.std()), 1e-9)
        return np.clip(self.base + MEANS_SPREAD * min(self.base, 1 - self.base) * away, 0.0, 1.0)

    def people(
        self, rounds: int, candidates: int, dimension: int, seed: int, space: Space | None = None
    ) -> People:
        """Return people of a world drawn by this law; with a `space`, all of them have its points."""
        if self.kernel == PAPER and space is None:
            return simulated_people(rounds, candidates, dimension, seed)
        pool, value, state = _drawn_world(self, dimension, seed, space)
        rng = np.random.default_rng()
        rng.bit_generator.state = state
        if space is None and self.uneven:
            towards = rng.normal(size=dimension)
            often = np.exp(pool @ towards / np.linalg.norm(towards))
            chosen = rng.choice(POOL, (rounds, candidates), p=often / often.sum())
        elif space is None:
            chosen = rng.integers(0, POOL, (rounds, candidates))
        else:
            chosen = np.tile(np.arange(candidates) % len(pool), (rounds, 1))
        means = value[chosen]
        return People(pool[chosen], means, (rng.random(means.shape) < means).astype(np.float64))


WORLD_LAWS: Final = (
    WorldLaw(),
    WorldLaw("matern-3/2", 0.5),
    WorldLaw("squared-exponential", 2.0),
    WorldLaw(LINEAR),
)


@lru_cache(maxsize=64)  # of a stage of rehearsals, in which all subjects have the same worlds
def _drawn_world(
    law: WorldLaw, dimension: int, seed: int, space: Space | None
) -> tuple[Floats, Floats, Mapping[str, object]]:
    """Return a world's points, the chances at them, and the coins left."""
    rng = np.random.default_rng([seed, 6])
    pool = in_ball(rng, POOL, dimension) if space is None else space.points
    return pool, law.means(pool, rng), rng.bit_generator.state


@lru_cache(maxsize=32)  # of a stage of rehearsals: it takes longer than a run, on more than three axes
def _pool_with_good_points(seed: int, dimension: int) -> tuple[Floats, Floats, Mapping[str, object]]:
    """Redraw the function until enough of a pool reaches .8 (about one in a hundred does).

    Of five exponential variables divided by their sum, four are uniform in the simplex; with random
    signs they are uniform in the ℓ1 ball.  The coins that are left come third.
    """
    rng = np.random.default_rng(seed)
    while True:
        centres = in_ball(rng, 4, dimension)
        parts = rng.exponential(size=5)
        coefficients = parts[:4] * rng.choice([-1, 1], 4) / parts.sum()
        if np.maximum(coefficients, 0).sum() < 0.8:
            continue  # f is at most the sum of the positive ones
        pool = in_ball(rng, 4000, dimension)
        value = squared_exponential(pool, centres, 1.0) @ coefficients
        if (value >= 0.8).sum() >= 20:
            return pool, value, rng.bit_generator.state
