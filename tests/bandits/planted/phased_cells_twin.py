"""Planted: sums by cell of what people played, each broken in one place."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandits.learning.contextual import ContextualCourse, Learner
from bandits.phased_cells import CellsBelief, PhasedCells


@dataclass(frozen=True)
class _Small(PhasedCells):
    rounds: int = 24
    candidates: int = 2

    def course(self, noise, coins):
        belief = self.made(self, coins)
        learner = Learner(belief, lambda sums: noise.noisy("phase", belief.phases, sums), self.ends)
        return ContextualCourse(self, learner, coins)


class _InTwoCells(CellsBelief):
    def contribution(self, features, reward):
        added = super().contribution(features, reward)
        return added + np.roll(added, 1)


@dataclass(frozen=True)
class CountsInTheNextCellToo(_Small):
    """Smooths a histogram before its noise: a person is in two cells."""

    loses: ClassVar[set[str]] = {"assume_clipped", "assume_rounds"}
    made: ClassVar = _InTwoCells


class _Whole(CellsBelief):
    def contribution(self, features, reward):
        return super().contribution(features, reward) * 2


@dataclass(frozen=True)
class TakesRewardsForSigned(_Small):
    """Takes rewards for −1 … 1 instead of −½ … ½."""

    loses: ClassVar[set[str]] = {"assume_clipped"}
    made: ClassVar = _Whole


class _AtOnce(CellsBelief):
    seen = 0.0

    def contribution(self, features, reward):
        self.seen = self.seen + features * ((reward or 0.0) - 0.5)
        return super().contribution(features, reward)

    def _begin(self):
        super()._begin()
        self._drawn = self._drawn + self.seen


@dataclass(frozen=True)
class LearnsBesideTheNoise(_Small):
    """What the next phase is shown follows from exact sums of features, too."""

    loses: ClassVar[set[str]] = {"assume_view"}
    made: ClassVar = _AtOnce


@dataclass(frozen=True)
class AddsEarlierPhasesUp(_Small):
    """Releases what a cell has summed up since the run began: a person is in every later sum."""

    loses: ClassVar[set[str]] = {"assume_clipped", "assume_rounds"}

    def course(self, noise, coins):
        belief, earlier = CellsBelief(self, coins), [0]

        def stream(sums):
            sums[0] += earlier[-1]
            earlier.append(sums[0])
            return noise.noisy("phase", belief.phases, sums)

        return ContextualCourse(self, Learner(belief, stream, self.ends), coins)
