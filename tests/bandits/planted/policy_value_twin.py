"""Planted: weights that are clipped after the rewards are weighed, or not at all."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandits.policy_value import PolicyValue
from bandits.statistics.first_moments import CONTRIBUTION_BITS


@dataclass(frozen=True)
class PolicyValueOfRawWeights(PolicyValue):
    """Clips the weights that are summed, and not those of rewards."""

    loses: ClassVar = {"assume_ball"}

    rows: int = 12

    def contributions(self, data):
        exact = super().contributions(data)
        chance, other = np.clip(np.nan_to_num(data[:, 1:3]), 0.01, 1).T
        reward = np.clip(np.nan_to_num(data[:, 0], nan=0.5), 0, 1)
        exact[:, 0] = np.trunc(other / chance * (2 * reward - 1) * 2.0**CONTRIBUTION_BITS)
        return exact
