"""Predictions by a mechanism that chooses an action: integer scores on a public grid, sampled exactly.

Learners are shown uniform actions by public coins.  A prediction at a context of cell c scores each action x
by Σ_t table_c[x, w_t]·y_t, tables and rewards integers, and the exponential mechanism or permute-and-flip
chooses.  Replacing a record moves the scores by y·table_c[·, w] − y′·table_c[·, w′]: a bound of its range
over all places w, w′ and rewards is the width that noise is paid for.

The domain of actions is finite because there an exact sampler exists; on a continuum there is none here,
and one that is nearly right would void pure ε.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final

import numpy as np

from bandits.learning.arrivals import name_of
from bandits.private_prediction.public_grid import OnPublicGrid, Places
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.calibration import least_sigma, one_of
from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import (
    REPLACE_ONE,
    Theorem,
    assume_range,
    compose,
    exponential,
    permute_and_flip,
    to_pure,
    to_zcdp,
)
from mechanisms.shared.gaussian_noise import least
from mechanisms.subject import Domain, Rows, View, shown

RULES: Final = ("exponential", "permute-and-flip")
BOUND_STEPS: Final = 2**10  #: of the bound, in a reward
REACH: Final = 2**20  #: largest entry of a table
MAX_PREDICTIONS: Final = 100  #: predictions of one run; a derivation of more is too long for the checker


@dataclass(frozen=True)
class Predictor(OnPublicGrid):
    """Learn from `rounds` people, then predict at `predictions` contexts; subclasses say tables and width.

    The contexts of predictions are public coins here, as the context generator draws them:
    a person who asks for a prediction sees it, and others do not.
    """

    doubled: ClassVar[int]  #: the width in units of STEPS·REACH

    predictions: int = 1
    rule: str = "exponential"
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.rounds <= 10**6:
            raise InputError(f"rounds is {self.rounds}", "it lies in 2 ... 1000000")
        if not 1 <= self.predictions <= MAX_PREDICTIONS:
            raise InputError(
                f"predictions is {self.predictions}",
                f"needed 1 to {MAX_PREDICTIONS}, and function-release for any number",
            )
        one_of("rule", self.rule, RULES)
        if self.epsilon <= 0 or not 0 <= self.delta < 1:
            raise out_of_range("epsilon > 0 and 0 <= delta < 1")

    # -------------------------------------------------------------- public constants

    @property
    def width(self) -> int:
        """Return a bound of the range by which a replaced record moves the scores of any context."""
        return self.doubled * BOUND_STEPS * REACH

    @cached_property
    def noise_scale(self) -> Fraction:
        """Return 1/η for the largest η a prediction with which all together meet (ε, δ)."""
        return share(self.rule, self.predictions, self.epsilon, self.delta)

    # -------------------------------------------------------------- data and proof

    def domain(self) -> Domain:
        """Return rows of a context and a reward for each action."""
        return self.grid.people(self.rounds, self.bound)

    def proof(self, delta: Fraction) -> Theorem:
        """Every prediction has scores of its own and reads all records; everyone may see them all."""
        paid = predicted(self.rule, self.width, self.noise_scale, self.predictions, delta)
        return shown(paid, name_of(self))

    # -------------------------------------------------------------- the run

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Show uniform actions, then predict; everyone sees both."""
        rng = np.random.default_rng(coins)
        shown_actions = rng.integers(0, self.actions, self.rounds)
        weights = None if self.grid.law is None else self.grid.law.weights
        if weights:
            asked = rng.choice(self.contexts, self.predictions, p=weights)
        else:
            asked = rng.integers(0, self.contexts, self.predictions)
        totals, matrix = self.totals(data, shown_actions), self.matrix(coins)
        chosen = [
            noise.noisy(f"prediction-{j}", 0, self.table(matrix, cell) @ totals).argmax()
            for j, cell in enumerate(asked.tolist())
        ]
        choices = np.array(chosen, dtype=np.int64)
        return View(public={"actions": shown_actions, "contexts": asked, "choices": choices})

    def totals(self, data: Rows, actions: Places) -> Integers:
        """Return Σ y over the records of every place, in steps; y is clipped and truncated, NaN is 0."""
        most = float(self.bound)
        # Clipped before it is divided, so that nothing overflows.
        rewards = np.clip(data[np.arange(len(data)), self.grid.numbers + actions], -most, most) / most
        units = np.trunc(np.clip(np.nan_to_num(rewards, nan=0.0), -1, 1) * BOUND_STEPS).astype(np.int64)
        totals: Integers = np.zeros(self.grid.places, dtype=np.int64)
        np.add.at(totals, self.grid.place_of(self.grid.contexts_in(data), actions), units)
        return totals

    def matrix(self, coins: int) -> Floats:
        """Return h(w, w′) of all places, of public quantities and coins alone."""
        raise NotImplementedError

    def table(self, matrix: Floats, cell: int) -> Integers:
        """Return the integer table of a cell, [actions, places]."""
        raise NotImplementedError

    def rows_of(self, matrix: Floats, cell: int) -> Floats:
        """Return h of the actions in a cell, [actions, places]."""
        return matrix[cell * self.actions : (cell + 1) * self.actions]


def share(rule: str, predictions: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return 1/η for the largest η a prediction with which all together meet (ε, δ)."""
    if predictions == 1 or delta == 0:
        return predictions / epsilon
    return least_sigma(lambda scale: predicted(rule, 1, scale, predictions, delta), epsilon, delta)


def predicted(rule: str, width: int, scale: Fraction, predictions: int, delta: Fraction) -> Theorem:
    """Return the theorem of all predictions, scores moving within `width` and each of η = 1/`scale`."""
    law = exponential if rule == "exponential" else permute_and_flip
    moved = assume_range("scores", Fraction(width), REPLACE_ONE, "movement")
    leaves = [law(moved, 1 / (scale * width), f"prediction-{j}") for j in range(predictions)]
    # Pure ε is the better sum of few predictions, zCDP that of many.
    pure = [to_pure(leaf) for leaf in leaves] if rule == "exponential" else leaves
    return least([lambda: _together(pure), lambda: _together([to_zcdp(leaf) for leaf in leaves])], delta)


def _together(parts: list[Theorem]) -> Theorem:
    return compose(*parts) if len(parts) > 1 else parts[0]
