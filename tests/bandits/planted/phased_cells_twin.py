"""Planted: sums by cell of what people played, each broken in one place."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandits.learning.contextual import Learner
from bandits.phased_cells import CellsBelief, CellsCourse, PhasedCells


@dataclass(frozen=True)
class _Small(PhasedCells):
    rounds: int = 24
    candidates: int = 2

    def course(self, noise, coins):
        belief = self.made(self, coins)
        learner = Learner(belief, lambda sums: noise.noisy("phase", belief.phases, sums), self.ends)
        return CellsCourse(self, learner, coins)


class _InTwoCells(CellsBelief):
    def contribution(self, played, reward):
        added = super().contribution(played, reward)
        return added + np.roll(added, 1)


@dataclass(frozen=True)
class CountsInTheNextCellToo(_Small):
    """Smooths a histogram before its noise: a person is in two cells."""

    loses: ClassVar[set[str]] = {"assume_clipped", "assume_rounds"}
    made: ClassVar = _InTwoCells


class _Whole(CellsBelief):
    def contribution(self, played, reward):
        return super().contribution(played, reward) * 2


@dataclass(frozen=True)
class TakesRewardsForSigned(_Small):
    """Takes rewards for −1 … 1 instead of −½ … ½."""

    loses: ClassVar[set[str]] = {"assume_clipped"}
    made: ClassVar = _Whole


class _AtOnce(CellsBelief):
    seen = 0.0

    def contribution(self, played, reward):
        self.seen = self.seen + played[: self._public.shape[-1]] * ((reward or 0.0) - 0.5)
        return super().contribution(played, reward)

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

        return CellsCourse(self, Learner(belief, stream, self.ends), coins)


class _KeepsAnswers(CellsCourse):
    def close(self, rewards, answered):
        for slot, played in [*self._played.items()]:
            if slot < self.batches[self._closed][0] and played is not None:
                self._learner.add_late(played, 1.0)
        super().close(rewards, answered)


@dataclass(frozen=True)
class CountsSilenceInEveryPhase(_Small):
    """Who has not answered is taken for a reward of 1, in every phase until they do."""

    loses: ClassVar[set[str]] = {"assume_clipped", "assume_rounds"}
    delays: bool = True

    def course(self, noise, coins):
        belief = CellsBelief(self, coins)
        learner = Learner(belief, lambda sums: noise.noisy("phase", belief.phases, sums), self.ends)
        return _KeepsAnswers(self, learner, coins)
