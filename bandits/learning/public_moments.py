"""Contextual bandits that release moments only, over principal features of the public domain."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bandits.learning.contextual import Calibrated, Contextual, in_ball
from bandits.learning.features import Features, PrincipalFeatures, principal

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PublicFeatures:
    """Principal features of the public domain and the eigenvalues of its second moment."""

    phi: PrincipalFeatures
    eigenvalues: Floats


def public_features(inner: Features, dimension: int, size: int) -> PublicFeatures:
    """Return the leading features over the public ball of radius 2; never over observed decision sets."""
    sample = in_ball(np.random.default_rng(2021), 4000, dimension)  # a public coin
    return PublicFeatures(*principal(inner, sample, size))


@dataclass(frozen=True)
class MomentBandit(Calibrated, Contextual):
    """A contextual bandit that releases moments only; `size` features of so many `nodes_per_axis`."""

    nodes_per_axis: int = 8
    size: int = 20
    lengthscale: Fraction = Fraction(1)

    @cached_property
    def features(self) -> PublicFeatures:
        """Return the public feature map."""
        return public_features(self.feature_map(self.lengthscale), self.dimension, self.size)
