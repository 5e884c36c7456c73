"""First moments of rewards, φ(y − ½).

Replacing a person's decision set and reward moves their moment by at most 1: ‖φ‖ ≤ 1 and |y − ½| ≤ ½.
"""

from fractions import Fraction

import numpy as np

from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.second_moments import centred
from mechanisms.shared import grid

HALF = Fraction(1, 2)
CONTRIBUTION_BITS = 20  #: contributions lie on multiples of 2^−20


def contribution(features: Floats, reward: float | None) -> Integers:
    """Return φ·(clip(y, 0, 1) − ½) in grid units; its norm is at most ½ exactly.  No answer adds zero."""
    if reward is None:
        return np.zeros(features.shape, dtype=np.int64)
    return grid.in_ball(features[None, :] * centred(reward), HALF, CONTRIBUTION_BITS)[0]
