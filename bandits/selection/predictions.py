"""Which subject to predict with: chosen from public quantities, with the reason.

The choice reads ε, δ, how many predictions are wanted, the grid and the horizon; never data.  Subjects are
compared by the root mean square error of a predicted reward, each as its own public model forecasts it.
"""

from fractions import Fraction
from math import sqrt

import numpy as np

from bandits.private_prediction import covariance
from bandits.private_prediction.function_learner import (
    MAX_K_NORM_NUMBERS,
    MIN_EIGENVALUE_SHARE,
    START,
    FunctionLearner,
    Noise,
    phase_covers,
)
from bandits.private_prediction.predictor import MAX_PREDICTIONS, share
from bandits.private_prediction.public_grid import PublicGrid
from bandits.selection.forecasts import Selection
from bandits.statistics.calibration import least_sigma
from bandits.statistics.clipped_sums import CONTRIBUTION_BITS
from dpaccount.errors import out_of_range
from dpaccount.proof import REPLACE_ONE, assume_ball, linear
from mechanisms.shared import grid as steps
from mechanisms.shared.gaussian_noise import gaussian, unchanged

SHORT = 8  #: rounds below which there is one phase


def choose(
    grid: PublicGrid, rounds: int, epsilon: Fraction, delta: Fraction, predictions: int | None = None
) -> Selection:
    """Return the subject of least forecast error; without `predictions`, for any number of them.

    `grid`: the public actions and contexts.
    `rounds`: people whose rewards are learned from, at least 2.
    `epsilon`, `delta`: the budget of all predictions; a `delta` of 0 asks for pure ε.
    `predictions`: how many will be made; None: any number, by a released function.
    Raises `InputError` for parameters that make no sense.
    """
    if epsilon <= 0 or not 0 <= delta < 1 or rounds < 2 or (predictions is not None and predictions < 1):
        raise out_of_range("epsilon > 0, 0 <= delta < 1, rounds >= 2 and predictions >= 1")
    candidates = {
        ("function-release", "k-norm"): _released(grid, rounds, _k_norm(epsilon), MAX_K_NORM_NUMBERS)
    }
    if delta > 0:
        candidates["function-release", "gaussian"] = _released(
            grid, rounds, _gaussian(grid, epsilon, delta), None
        )
    if predictions is not None and predictions <= MAX_PREDICTIONS:
        scale = share("exponential", predictions, epsilon, delta)
        candidates["range-predictor", "exponential"] = covariance.forecast(
            grid, rounds, 1.0, 1 / float(scale), 2.0
        )
    name, kind = min(candidates, key=lambda each: candidates[each])
    key = "law" if name == "function-release" else "rule"
    listed = ", ".join(f"{subject} {law} {error:.3g}" for (subject, law), error in candidates.items())
    wanted = "any number of predictions" if predictions is None else f"{predictions} predictions"
    return Selection(
        name, {key: kind}, f"forecast error of a reward in units of its bound, {wanted}: {listed}"
    )


def _k_norm(epsilon: Fraction) -> Noise:
    return lambda numbers: sqrt(numbers + 1) * 2 / float(epsilon)


def _gaussian(grid: PublicGrid, epsilon: Fraction, delta: Fraction) -> Noise:
    person = linear(assume_ball("phase", Fraction(1), REPLACE_ONE, "movement"))
    size, step = grid.features(MIN_EIGENVALUE_SHARE).size, steps.step(CONTRIBUTION_BITS)
    sigma = least_sigma(
        lambda s: gaussian(person, 2 * s, step, size, "phase", delta, unchanged), epsilon, delta
    )
    return lambda numbers: 2 * float(sigma)


class _Forecast(FunctionLearner):
    """A learner that keeps its first prior: what it will know is then public."""

    def _evidence(self, scale: float, power: float) -> float:
        return float((scale, power) == START)


def _released(grid: PublicGrid, rounds: int, noise: Noise, most: int | None) -> float:
    """Return the deviation of f that is left after all phases."""
    features = grid.features(MIN_EIGENVALUE_SHARE)
    learner = _Forecast(features, noise, most or features.size, 1.0)
    for first, last in phase_covers(rounds, 3 if rounds >= SHORT else 1):
        learner.begin(last - first + 1)
        # What is released does not matter: with a fixed prior the posterior's spread follows from the design
        # alone.
        learner.tell(np.zeros(learner.numbers, dtype=np.int64))
    return learner.spread
