"""First moments of rewards, φ(y − ½), over principal features of the public domain.

Replacing a person's decision set and reward moves their moment by at most 1: ‖φ‖ ≤ 1 and |y − ½| ≤ ½.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bandits.learning.contextual import Contextual
from bandits.learning.features import PrincipalFeatures, principal, quadrature_features
from bandits.statistics.second_moments import centred
from bandits.worlds.simulated_people import in_ball
from mechanisms.shared import grid

Floats = NDArray[np.float64]
HALF = Fraction(1, 2)
BITS = 20  #: contributions lie on multiples of 2^−20


@dataclass(frozen=True)
class PublicFeatures:
    """Principal features of the public domain and the eigenvalues of its second moment."""

    phi: PrincipalFeatures
    spread: Floats


def public_features(dimension: int, nodes_per_axis: int, size: int, lengthscale: float) -> PublicFeatures:
    """Return the leading features over the public ball of radius 2; never over observed decision sets."""
    inner = quadrature_features(dimension, nodes_per_axis, lengthscale)
    sample = in_ball(np.random.default_rng(2021), 4000, dimension)  # a public coin
    return PublicFeatures(*principal(inner, sample, size))


def contribution(features: Floats, reward: float) -> NDArray[np.int64]:
    """Return φ·(clip(y, 0, 1) − ½) in grid units; its norm is at most ½ exactly."""
    found: NDArray[np.int64] = grid.in_ball(features[None, :] * centred(reward), HALF, BITS)[0]
    return found


class Moments(Contextual):
    """A contextual bandit that releases moments only; `size` features of so many `nodes_per_axis`."""

    nodes_per_axis: int
    size: int
    lengthscale: Fraction

    @cached_property
    def features(self) -> PublicFeatures:
        """Return the public feature map."""
        return public_features(self.dimension, self.nodes_per_axis, self.size, float(self.lengthscale))
