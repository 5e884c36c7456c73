"""Planted: elimination whose covariance is that of what people were shown, which nothing released."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from examples.random_projections.random_projections import Projections, Survivors


class _Played(Survivors):
    played: tuple = ()

    def contribution(self, features, reward):
        self.played = (*self.played, features)
        return super().contribution(features, reward)

    def shown(self):
        if not self.played:
            return super().shown()
        return np.array(self.played), np.full(len(self.played), 1 / len(self.played))


@dataclass(frozen=True)
class PlayedCovariance(Projections):
    """Whitens, and reads sums, by private contexts."""

    loses: ClassVar[set[str]] = {"assume_ball", "assume_covers"}

    def belief(self):
        return _Played(self)


FEW = {"rounds": 40, "candidates": 2, "size": 6, "nodes_per_axis": 3, "projections": 3, "refresh": 8}
SMALL = {PlayedCovariance: FEW}
