"""Errors of predictors on synthetic worlds, by Eq. (1) of Pavlovic et al. 2025: nothing releasable.

A run's rounds are requested contexts, equally spaced, and each has the error of its prediction: the
loss against the best action of the grid.  Of a mechanism that chooses an action the expected error is taken
over its coins, exactly, from the scores of a run; of a released function that of a run with rehearsal noise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from bandits.function_release import FunctionRelease
from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.private_prediction import covariance
from bandits.private_prediction.predictor import Predictor
from bandits.private_prediction.public_grid import PublicGrid
from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import one_of
from dpaccount.errors import out_of_range
from papers.pavlovic.kernel_draws import CONTEXTS, DRAW_KINDS, MIDDLES, VARIANCE, KernelWorld, drawn
from papers.reproduction import MEAN_SO_FAR, Summary, TrialWorld, noise_of

LENGTH = Fraction(1, 5)
SIDE = 32  #: actions, and cells of contexts
DELTA = Fraction(1, 10**6)  #: at which several predictions are composed
JOINT_SIDE = 2 * sqrt(2)  #: of the square in the ball of radius 2
JOINT_LENGTH = LENGTH * Fraction(JOINT_SIDE).limit_denominator(1000)  #: of a kernel in it
INTEGRAL_POINTS = 400  #: of the integral over permute-and-flip's winning value


def without_privacy(world: "PredictionWorld", seed: int) -> Floats:
    """Return the errors of the posterior mean, Eq. (2), on the same people."""
    data, grid, truth = _records(world, seed), world.grid, world.drawn(seed)
    actions = np.random.default_rng(seed).integers(0, grid.actions, world.learned)
    places = grid.place_of(data[:, 0], actions)
    counts = np.bincount(places, minlength=grid.places)
    sums = np.bincount(places, weights=data[np.arange(world.learned), 1 + actions], minlength=grid.places)
    phi = grid.features(covariance.MIN_EIGENVALUE_SHARE).phi
    inner = (phi * counts[:, None]).T @ phi + VARIANCE * np.eye(phi.shape[1])
    values = (phi @ np.linalg.solve(inner, phi.T @ sums)).reshape(grid.contexts, grid.actions)
    return asked(truth.errors(values.argmax(axis=1)[grid.cell_of(MIDDLES)]), world.rounds)


@dataclass(frozen=True)
class PredictionWorld(TrialWorld):
    """Functions of one kernel and kind of `draws`; a trial asks for predictions at `rounds` contexts.

    They are learned from `people`, in units of `rounds`.  A mechanism pays for `predictions` of them.
    """

    serves: ClassVar[tuple[type[Any], ...]] = (Predictor, FunctionRelease, JdpGpUcb, MomentGpUcb)
    summary: ClassVar[Summary] = MEAN_SO_FAR
    other_choices: ClassVar[dict[str, Callable[..., Floats]]] = {"posterior-mean": without_privacy}

    rounds: int
    kernel: str = "squared-exponential"
    draws: str = DRAW_KINDS[0]
    people: Fraction = Fraction(1)
    predictions: int = 1

    def __post_init__(self) -> None:
        """Refuse draws, kernels and numbers of people that no predictor learns from."""
        one_of("draws", self.draws, DRAW_KINDS)
        if not 2 <= self.learned <= 10**6:
            raise out_of_range("2 to 1000000 people")
        Predictor(kernel=self.kernel, predictions=self.predictions)

    @property
    def learned(self) -> int:
        """Return the number of people."""
        return int(self.people * self.rounds)

    @property
    def grid(self) -> PublicGrid:
        """Return the public actions, and cells of contexts."""
        return PublicGrid(SIDE, SIDE, self.kernel, LENGTH)

    @property
    def row(self) -> dict[str, object]:
        """Return what functions are of, how many people there are, and predictions."""
        row = {"kernel": self.kernel, "draws": self.draws}
        return {**row, "rounds": self.learned, "predictions": self.predictions}

    def given(self, made_by: type[Any]) -> dict[str, object]:
        """Return the grid, or for bandits its square in the ball of radius 2, with the number of people."""
        given: dict[str, object] = {"rounds": self.learned, "kernel": self.kernel}
        if issubclass(made_by, Predictor | FunctionRelease):
            shape = {"actions": SIDE, "contexts": SIDE, "lengthscale": LENGTH}
            return {**given, **shape, "predictions": self.predictions, "served": 0}
        return {**given, "candidates": SIDE, "dimension": 2, "lengthscale": JOINT_LENGTH}

    def chosen(self, made_by: type[Any], parameters: dict[str, object]) -> dict[str, object]:
        """Return parameters with the δ at which several predictions of a mechanism are composed."""
        # The paper covers one prediction; at a δ, several cost less than their sum.
        several = issubclass(made_by, Predictor) and self.predictions > 1
        return {"delta": DELTA, **parameters} if several else parameters

    def drawn(self, seed: int) -> KernelWorld:
        """Return the function of a seed."""
        return drawn(self.grid, self.draws, seed)

    def regrets(self, bandit: Any, seed: int) -> Floats:
        """Return errors at equally spaced contexts, or the losses of a bandit's last quarter of people."""
        if isinstance(bandit, Predictor):
            return chosen(bandit, self, seed)
        return (released if isinstance(bandit, FunctionRelease) else joint)(bandit, self, seed)

    def by_chance(self, seed: int) -> Floats:
        """Return the expected errors of uniform actions."""
        return asked(self.drawn(seed).losses().mean(axis=1), self.rounds)

    def details(self, bandit: Any, seeds: Sequence[int], runs: Floats) -> dict[str, object]:
        """Return the error of chance, and the mean of worst contexts."""
        chance = float(np.mean([self.drawn(seed).losses().mean() for seed in seeds]))
        return {"chance": round(chance, 6), "worst": round(float(runs.max(axis=1).mean()), 6)}


@lru_cache(maxsize=4)
def _records(world: PredictionWorld, seed: int) -> Floats:
    return world.drawn(seed).records(world.learned, seed)


def asked(errors: Floats, count: int) -> Floats:
    """Return the errors at `count` equally spaced contexts, of those at all."""
    places = np.floor((np.arange(count) + 0.5) * CONTEXTS / count).astype(np.int64)
    return errors[places]


# ------------------------------------------------------------------ what is played


def released(subject: FunctionRelease, world: PredictionWorld, seed: int) -> Floats:
    """Return the errors of the function that one run releases."""
    view = subject.play(_records(world, seed), noise_of(subject, seed), seed)
    best = np.asarray(view.public["values"]).argmax(axis=1)
    truth = world.drawn(seed)
    return asked(truth.errors(best[world.grid.cell_of(MIDDLES)]), world.rounds)


def chosen(subject: Predictor, world: PredictionWorld, seed: int) -> Floats:
    """Return the expected errors of a mechanism's predictions, over its coins."""
    data, grid, truth = _records(world, seed), world.grid, world.drawn(seed)
    actions = np.random.default_rng(seed).integers(0, grid.actions, world.learned)
    totals, matrix = subject.totals(data, actions), subject.matrix(seed)
    rate = 1 / (float(subject.noise_scale) * subject.width)
    scores = np.stack([subject.table(matrix, cell) @ totals for cell in range(grid.contexts)]) * rate
    chances = softmax(scores, axis=1) if subject.rule == "exponential" else permuted(scores)
    expected = (chances[grid.cell_of(MIDDLES)] * truth.losses()).sum(axis=1)
    return asked(expected, world.rounds)


def permuted(scores: Floats) -> Floats:
    """Return the chances of permute-and-flip, rows of scores in units of its noise's scale.

    The largest score plus exponential noise wins: action x does so with value t ≥ max s with the density
    e^{−(t − s_x)} Π_{y≠x}(1 − e^{−(t − s_y)}), here by the midpoint rule.
    """
    below = scores.max(axis=1, keepdims=True) - scores
    at = np.linspace(0.0, 1.0, INTEGRAL_POINTS + 1)[:-1] + 0.5 / INTEGRAL_POINTS  # 1 − e^{−(t − max)}
    beyond = 1 - at  # e^{−(t − max)}
    logs = np.log1p(-np.exp(-below)[:, :, None] * beyond)  # [cells, actions, points]
    others = logs.sum(axis=1, keepdims=True) - logs
    chances = np.exp(-below) * np.exp(others).mean(axis=2)
    return chances / chances.sum(axis=1, keepdims=True)


def joint(subject: JdpGpUcb | MomentGpUcb, world: PredictionWorld, seed: int) -> Floats:
    """Return the losses of the last quarter of people whom a jointly private bandit serves."""
    data, truth = _records(world, seed), world.drawn(seed)
    contexts, actions = data[:, 0], world.grid.point_of(np.arange(world.grid.actions))
    pairs = np.stack(np.broadcast_arrays(actions[None, :], contexts[:, None]), axis=-1)
    # The bandit takes points of the ball of radius 2, and rewards in [0, 1].
    rows = np.concatenate(
        [(JOINT_SIDE * (pairs - 0.5)).reshape(len(data), -1), (data[:, 1:] + 1) / 2], axis=1
    )
    view = subject.play(subject.domain().clamped(rows), noise_of(subject, seed), seed)
    places = np.floor(contexts * CONTEXTS).astype(np.int64)
    lost = truth.losses()[places, np.asarray(view.own["action"])][-len(data) // 4 :]
    return lost[np.floor((np.arange(world.rounds) + 0.5) * len(lost) / world.rounds).astype(np.int64)]
