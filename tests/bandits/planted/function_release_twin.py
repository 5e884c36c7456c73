"""Planted: function releases, each broken in one place."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from bandits.function_release import FunctionCourse, FunctionRelease
from bandits.private_prediction.function_learner import FunctionLearner
from bandits.statistics.clipped_sums import Clip


@dataclass(frozen=True)
class _Small(FunctionRelease):
    rounds: int = 12
    served: int = 2
    actions: int = 3
    contexts: int = 3
    sigma: Fraction | None = Fraction(2)


class _OwnClip(FunctionLearner):
    def contributions(self, places, rewards, answered=None):
        known = np.clip(np.nan_to_num(rewards), -self._bound, self._bound) - self.values()[places]
        self._clip = Clip(float(np.abs(known).max()) + 1e-6, self._clip.slope, self._clip.variance)
        return super().contributions(places, rewards, answered)


class _Course(FunctionCourse):
    learns = FunctionLearner

    def learner(self, subject):
        return self.learns(subject.features, subject.deviation, subject.numbers, float(subject.bound))


class _OwnClipCourse(_Course):
    learns = _OwnClip


@dataclass(frozen=True)
class ClipOfOwnRewards(_Small):
    """A phase clips at the largest residual of its own people."""

    loses: ClassVar[set[str]] = {"assume_ball"}

    def course(self, noise, coins):
        return _OwnClipCourse(self, noise, coins)


@dataclass(frozen=True)
class RejectedDropped(_Small):
    """Records that are out of range are dropped, and everybody behind them moves up: the clock is private."""

    loses: ClassVar[set[str]] = {"assume_covers"}

    def play(self, data, noise, coins):
        fine = (data[:, 0] >= 0) & (data[:, 0] <= 1)
        moved = np.zeros_like(data)
        moved[: fine.sum()] = data[fine]
        return super().play(moved, noise, coins)


class _ServedTaught(FunctionCourse):
    def ask(self, context):
        shown = super().ask(context)
        if len(self._actions) > self._rounds:  # what those asked for who only came to be served
            self._learner._mean = self._learner._mean + 0.001 * float(np.asarray(context)[0])
        return shown


@dataclass(frozen=True)
class ServedTeach(_Small):
    """Contexts of people who are only served move the function that all see, and nobody pays for it."""

    loses: ClassVar[set[str]] = {"assume_view"}

    def course(self, noise, coins):
        return _ServedTaught(self, noise, coins)
