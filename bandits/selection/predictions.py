"""Which subject to predict with: chosen from public quantities, with the reason.

The choice reads ε, δ, how many predictions are wanted, the grid and the horizon; never data.  Subjects are
compared by the root mean square error of a predicted reward, each as its own public model forecasts it.
"""

from fractions import Fraction

import numpy as np

from bandits.function_release import FunctionRelease
from bandits.private_prediction import covariance
from bandits.private_prediction.function_learner import START, FunctionLearner
from bandits.private_prediction.predictor import MAX_PREDICTIONS, share
from bandits.private_prediction.public_grid import PublicGrid
from bandits.selection.forecasts import Selection
from dpaccount.errors import out_of_range

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
    candidates = {("function-release", "k-norm"): _released(grid, rounds, "k-norm", epsilon, Fraction(0))}
    if delta > 0:
        candidates["function-release", "gaussian"] = _released(grid, rounds, "gaussian", epsilon, delta)
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


class _Forecast(FunctionLearner):
    """A learner that keeps its first prior: what it will know is then public."""

    def _evidence(self, scale: float, power: float) -> float:
        return float((scale, power) == START)


def _released(grid: PublicGrid, rounds: int, law: str, epsilon: Fraction, delta: Fraction) -> float:
    """Return the deviation of f that is left after all phases of `function-release`."""
    subject = FunctionRelease(
        rounds=rounds,
        phases=3 if rounds >= SHORT else 1,
        actions=grid.actions,
        contexts=grid.contexts,
        kernel=grid.kernel,
        lengthscale=grid.lengthscale,
        law=law,
        epsilon=epsilon,
        delta=delta,
        space=grid.space,
    )
    learner = _Forecast(subject.features, subject.deviation, subject.numbers, 1.0)
    for first, last in subject.covers():
        learner.begin(last - first + 1)
        # What is released does not matter: with a fixed prior the posterior's spread follows from the design
        # alone.
        learner.tell(np.zeros(learner.numbers, dtype=np.int64))
    return learner.spread
