"""A person's statistics for the second moments of features and rewards, in exact integers."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from dpaccount.noise import Integers
from mechanisms import grid
from mechanisms.symmetric_gaussian import BITS
from mechanisms.symmetric_gaussian import contribution as without_corner

Floats = NDArray[np.float64]
OUTSIDE = ("clip", "refuse")


def centred(reward: float) -> float:
    """Return clip(y, 0, 1) − ½; NaN counts as ½."""
    return 0.0 if math.isnan(reward) else min(max(reward, 0.0), 1.0) - 0.5


def contribution(features: Floats, reward: float, bound: Fraction, *, corner: bool) -> Integers:
    """Return [φφᵀ, φy; yφᵀ, c] on the grid, ‖φ‖ ≤ 1 and |y| ≤ `bound` exactly; c = y² with `corner`."""
    matrix = without_corner(features, reward, bound)
    if corner:
        matrix[-1, -1] = int(grid.clipped(np.array([reward]), -bound, bound, BITS)[0]) ** 2
    return matrix


class Rewards:
    """How rewards outside the public range [0, 1] are taken: clipped and counted, or refused.

    The count is as private as the rewards: it is for the owner's eyes.
    """

    def __init__(self, outside: str = "clip") -> None:
        if outside not in OUTSIDE:
            raise InputError(f"outside is {outside[:40]!r}; known: {', '.join(OUTSIDE)}")
        self._outside, self.clipped = outside, 0

    def take(self, reward: float) -> float:
        """Return the reward within [0, 1]; raises `InputError` where it is not and is to be refused."""
        if 0 <= reward <= 1:
            return reward
        if self._outside == "refuse":
            raise InputError("a reward is outside the declared range [0, 1]; scale it, or clip it")
        self.clipped += 1
        return centred(reward) + 0.5
