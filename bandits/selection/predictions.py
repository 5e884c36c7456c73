"""Which subject to predict or to serve with: chosen from public quantities, with the reason.

The choice reads ε, δ, the grid and the horizon; never data.  For predictions, laws of noise are compared by
the root mean square error of a predicted reward, as the subject's own public model forecasts it; for people
who are all served, subjects by regret in rehearsals, which say how many should learn.
"""

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from math import sqrt
from typing import Any

import numpy as np

from bandits.context_histogram import MOST_ACTIONS, ContextHistogram
from bandits.function_release import FunctionRelease
from bandits.private_prediction.function_learner import START, FunctionLearner
from bandits.private_prediction.public_grid import MIN_EIGENVALUE_SHARE, PublicGrid
from bandits.selection.forecasts import Selection, Value
from bandits.selection.rehearsals import PROXY, Runner, noise_of, race, stages
from bandits.simulation.simulated_people import People
from bandits.statistics.calibration import exact, whole
from dpaccount.errors import out_of_range

SHORT = 8  #: rounds below which there is one phase
LEARNING = (Fraction(1, 8), Fraction(1, 4), Fraction(1, 2))  #: shares of people who learn for a function
FEWEST = 64  #: people who are all served


def choose(grid: PublicGrid, rounds: int, epsilon: Fraction, delta: Fraction) -> Selection:
    """Return the law of `function-release` of least forecast error; it serves any number of predictions.

    `grid`: the public actions and contexts.
    `rounds`: people whose rewards are learned from, at least 2.
    `epsilon`, `delta`: the budget of all predictions; a `delta` of 0 asks for pure ε.
    Raises `InputError` for parameters that make no sense.
    """
    if epsilon <= 0 or not 0 <= delta < 1 or rounds < 2:
        raise out_of_range("epsilon > 0, 0 <= delta < 1 and rounds >= 2")
    errors = {"k-norm": _released(grid, rounds, "k-norm", epsilon, Fraction(0))}
    if delta > 0:
        errors["gaussian"] = _released(grid, rounds, "gaussian", epsilon, delta)
    law = min(errors, key=lambda each: errors[each])
    listed = ", ".join(f"{each} {error:.3g}" for each, error in errors.items())
    because = f"forecast error of a reward in units of its bound, any number of predictions: {listed}"
    return Selection("function-release", {"law": law}, because)


@lru_cache(maxsize=64)
def choose_serving(
    grid: PublicGrid, people: int, epsilon: Fraction, delta: Fraction, trials: int | None = None
) -> Selection:
    """Return the subject of least mean regret of `people` who are all served, and how many of them learn.

    `context-histogram` learns from everybody, `function-release` from `rounds` and serves others (`served`).
    Rewards in [−1, 1] are expected, so scale yours, and functions of the grid's kernel.
    `people`: 64 to 10⁶; many are rehearsed by 1,024, with noise in proportion.
    `trials`: rehearsals of each subject at most.
    Raises `InputError` for parameters that make no sense.
    """
    exact(epsilon=epsilon, delta=delta)
    whole(people=people, trials=2 if trials is None else trials)
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    if epsilon <= 0 or not 0 <= delta < 1 or not FEWEST <= people <= 10**6:
        raise out_of_range(f"epsilon > 0, 0 <= delta < 1 and {FEWEST} people to 1000000")
    count = min(people, PROXY)
    bigger = Fraction(float(epsilon) * sqrt(people / count)).limit_denominator(10**9)
    of: Any = {"actions": grid.actions, "contexts": grid.contexts, "space": grid.space, "epsilon": bigger}
    runners = []
    if grid.contexts > 1 and 1 < grid.actions <= MOST_ACTIONS:
        lowest = Fraction(-1)
        histogram = ContextHistogram(rounds=count, lowest=lowest, **of)
        chosen: dict[str, Value] = {"rounds": people, "lowest": lowest}
        play = partial(_serving, grid, histogram)
        runners.append(Runner("context-histogram", chosen, play, bandit=histogram))
    of |= {"kernel": grid.kernel, "lengthscale": grid.lengthscale}
    for law in ("k-norm", "gaussian") if delta else ("k-norm",):
        for part in LEARNING:
            learn, each = int(part * count), int(part * people)
            released = FunctionRelease(
                rounds=learn,
                served=count - learn,
                law=law,
                delta=delta if law == "gaussian" else Fraction(0),
                **of,
            )
            said: dict[str, Value] = {"rounds": each, "served": people - each, "law": law}
            play = partial(_serving, grid, released)
            runners.append(Runner("function-release", said, play, bandit=released))
    selection = race(runners, stages(trials))
    of_fewer = f" of {count} people at ε = {float(bigger):.3g}" if count < people else ""
    of_people = {key: value for key, value in selection.parameters.items() if key in ("rounds", "served")}
    bandit = replace(selection.bandit, epsilon=epsilon, **of_people)
    return replace(selection, because=f"{selection.because}{of_fewer}", bandit=bandit)


def _serving(grid: PublicGrid, subject: Any, seed: int) -> float:
    """Return the share of uniform play's regret in a world of the kernel."""
    rng = np.random.default_rng([seed, 7])
    features = grid.features(MIN_EIGENVALUE_SHARE)
    drawn = features.phi @ rng.normal(0, sqrt(START[0]), features.size)
    means = np.clip(drawn, -1, 1).reshape(grid.contexts, grid.actions)
    cells = rng.choice(grid.contexts, subject.domain().rows, p=grid.chances)
    contexts, of = grid.middles[cells], means[cells]
    people = People(contexts, of, np.where(rng.random(of.shape) < (1 + of) / 2, 1.0, -1.0))
    view = subject.play(np.hstack([contexts, people.rewards]), noise_of(subject, seed), seed)
    return people.share(np.asarray(view.own["action"]))


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
