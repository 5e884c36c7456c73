"""How each experiment of section 4 is run: the function, the published transform, ours, and no privacy.

The first query is one point drawn uniformly, which counts as the first of the T; the paper names no number of
initial points.  Hyper-parameters are known to all learners alike, as in section 2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from bandits.outsourced_optimisation.kernels import RowKernel
from bandits.outsourced_optimisation.modeler import NOISE_AWARE, Acquisition, Modeler
from bandits.papers.kharkovskii.fields import FIELDS, Field, gaussian_field
from bandits.papers.kharkovskii.published import transform, width
from bandits.statistics.arrays import Floats

CONSTANT = Acquisition(NOISE_AWARE.width)  #: a constant width, with nothing else of ours


@dataclass(frozen=True)
class Experiment:
    """A function of the paper, or a substitute; `length` only if there is a choice.

    `size` and `features` are n and d; a stand-in has no like-for-like ratio to the paper's numbers.
    """

    name: str
    size: int
    features: int
    delta: Fraction
    rounds: int
    columns: int
    length: float | None = None
    stand_in: bool = False

    def field(self, seed: int) -> Field:
        """Return the function of a trial, its points in an order of their own."""
        return FIELDS[self.name](seed) if self.length is None else gaussian_field(seed, self.length)

    def kernel(self, field: Field, spread: float = 0.0) -> RowKernel:
        """Return the prior that all learners share; `spread` is the variance of noise in a coordinate."""
        return RowKernel(field.length, field.scale, spread)


def epsilon_of(log_epsilon: float) -> Fraction:
    """Return e^x, cut after six digits: no more than it."""
    return Fraction(math.floor(math.exp(log_epsilon) * 10**6), 10**6)


def _played(
    field: Field, points: Floats, kernel: RowKernel, rule: Acquisition, run: tuple[int, int]
) -> Floats:
    """Return the simple regret after each query; `run` is (rounds, seed): first point and answers' noise.

    The number of queries is an input of Algorithm 2, so ours may know it; the published transform keeps a
    constant width, by which it does better.
    """
    rounds, seed = run
    rule = replace(rule, rounds=rounds) if rule.unseen else rule
    rng = np.random.default_rng([18, seed])
    modeler = Modeler(points, kernel, int(rng.integers(len(points))), rule, field.noise)
    errors = math.sqrt(field.answer_noise) * rng.normal(size=rounds)
    for error in errors:
        index = modeler.ask()
        modeler.tell(index, float(field.values[index] + error))
    return field.regret(modeler.posterior.asked)


def plain(experiment: Experiment, rule: Acquisition, rounds: int, seed: int) -> Floats:
    """Play GP-UCB on the points themselves: not private."""
    field = experiment.field(seed)
    return _played(field, field.points, experiment.kernel(field), rule, (rounds, seed))


def at_random(experiment: Experiment, rounds: int, seed: int) -> Floats:
    """Ask different points drawn uniformly."""
    field = experiment.field(seed)
    return field.regret(
        np.random.default_rng([19, seed]).choice(len(field.points), rounds, replace=False).tolist()
    )


def published(
    experiment: Experiment, rule: Acquisition, log_epsilon: float, columns: int, rounds: int, seed: int
) -> Floats:
    """Play Algorithm 2 on what Algorithm 1 releases, ω as it is read."""
    field = experiment.field(seed)
    threshold = width(math.exp(log_epsilon), float(experiment.delta), columns)
    rows = transform(field.points, threshold, columns, np.random.default_rng([20, seed]))
    return _played(field, rows, experiment.kernel(field), rule, (rounds, seed))


@lru_cache(maxsize=256)  # tables 1-9 have the same six times
def ours(experiment: Experiment, subject: Any, rounds: int, seed: int) -> Floats:
    """Play the noise-aware modeler on rows released by `subject`, with simulated noise."""
    field = experiment.field(seed)
    rows = subject.simulated(field.points, np.random.default_rng([21, seed]))
    kernel = experiment.kernel(field, subject.spread)
    return _played(field, rows, kernel, NOISE_AWARE, (rounds, seed))


# ------------------------------------------------------------------ details of a cell


def excess(
    experiment: Experiment, rule: Acquisition, rounds: int, seeds: Sequence[int], played: Floats
) -> dict[str, Any]:
    """Return how much more simple regret is left than without privacy, by the same rule on the same seeds."""
    without = _without(experiment, rule, rounds, tuple(seeds))
    return {"excess": round(float(played[:, -1].mean()) - without, 6)}


@lru_cache(maxsize=64)
def _without(experiment: Experiment, rule: Acquisition, rounds: int, seeds: tuple[int, ...]) -> float:
    return float(np.mean([plain(experiment, rule, rounds, seed)[-1] for seed in seeds]))
