"""Planted: rows released through maps, as hurried authors do it.

Each `loses` a hypothesis of its proof.
"""

from dataclasses import dataclass
from fractions import Fraction
from unittest.mock import patch

import numpy as np

from bandits.fixed_map import FixedMap
from bandits.joint_gaussian import JointGaussian
from bandits.projection import Projection
from dpaccount.proof import joint


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


@dataclass(frozen=True)
class JointGaussianForgetsTheVector(JointGaussian):
    """Declares the matrix's movement only: the vector beside it weighs a millionth."""

    def proof(self, delta):
        with patch("bandits.joint_gaussian.joint", lambda person, _: joint(person, Fraction(1, 10**6))):
            return super().proof(delta)
