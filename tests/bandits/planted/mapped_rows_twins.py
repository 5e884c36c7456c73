"""Planted: rows released through maps, as hurried authors do it.

Each `loses` a hypothesis of its proof.
"""

from dataclasses import dataclass

import numpy as np

from bandits.fixed_map import FixedMap
from bandits.projection import Projection


@dataclass(frozen=True)
class FixedMapForgetsTheStretch(FixedMap):
    """Doubles the map and not its stretch."""

    loses = "assume_lipschitz"

    def query(self, data):
        return 2 * super().query(data)


@dataclass(frozen=True)
class ProjectionBeforeTheNoise(Projection):
    """Projects first, as if a random projection never lengthened a row."""

    loses = "assume_ball"

    def query(self, data):
        mix = np.random.default_rng(1).standard_normal((self.columns, self.columns))
        return np.trunc(super().query(data) @ mix).astype(np.int64)
