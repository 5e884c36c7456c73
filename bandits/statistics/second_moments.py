"""A person's statistics for the second moments of features and rewards, in exact integers."""

import math
from fractions import Fraction

import numpy as np

from bandits.statistics.arrays import Floats, Integers
from mechanisms.shared import grid
from mechanisms.symmetric_gaussian import FEATURE_BITS
from mechanisms.symmetric_gaussian import contribution as without_corner


def within(reward: float) -> float:
    """Return clip(y, 0, 1); NaN counts as ½.  Nothing is refused or counted: either would tell."""
    return 0.5 if math.isnan(reward) else min(max(reward, 0.0), 1.0)


def centred(reward: float) -> float:
    """Return clip(y, 0, 1) − ½; NaN counts as ½."""
    return within(reward) - 0.5


def contribution(features: Floats, reward: float | None, bound: Fraction, *, corner: bool) -> Integers:
    """Return [φφᵀ, φy; yφᵀ, c] on the grid, ‖φ‖ ≤ 1 and |y| ≤ `bound` exactly; c = y² with `corner`.

    No answer adds zero, φφᵀ too.
    """
    if reward is None:
        return np.zeros((len(features) + 1, len(features) + 1), dtype=np.int64)
    matrix = without_corner(features, reward, bound)
    if corner:
        # The square of the rounded reward, not the rounded square: the matrix stays an outer product, as its
        # sensitivity assumes.
        matrix[-1, -1] = int(grid.clipped(np.array([reward]), -bound, bound, FEATURE_BITS)[0]) ** 2
    return matrix
