"""Planted: histograms by context, each broken in one place."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from bandits.context_histogram import ContextHistogram, HistogramCourse


@dataclass(frozen=True)
class _Small(ContextHistogram):
    rounds: int = 24
    actions: int = 2
    contexts: int = 3
    epsilon: Fraction = Fraction(2)


class _InEveryCell(HistogramCourse):
    def close(self, rewards, answered):
        self._late += [(self.batches[len(self._sums)][0] + t, r) for t, r in enumerate(rewards.tolist())][:1]
        super().close(rewards, answered)


@dataclass(frozen=True)
class FirstCountsTwice(_Small):
    """The first person of every phase is taken for a late answer as well."""

    loses: ClassVar[set[str]] = {"assume_clipped", "assume_rounds"}

    def course(self, noise, coins):
        return _InEveryCell(self, noise, coins)


class _Kept(HistogramCourse):
    def add_late(self, slot, reward):
        self._late.append((slot, reward))
        self._late = self._late[-1:]


@dataclass(frozen=True)
class OneLateAnswerIsKept(_Small):
    """Of late answers only the newest counts: one person's answer drives out another's."""

    loses: ClassVar[set[str]] = {"assume_rounds", "assume_clipped"}

    rounds: int = 48
    delays: bool = True

    def course(self, noise, coins):
        return _Kept(self, noise, coins)


class _Popular(HistogramCourse):
    def ask(self, context):
        cell = int(self._cells.of[self._public.cell(np.asarray(context, dtype=np.float64).ravel())])
        self._shown[cell, 0] += 0.05  # who comes moves what the next ones of the cell are shown
        return super().ask(context)


@dataclass(frozen=True)
class CountedWhileTheyCome(_Small):
    """Every person of a cell makes the first action likelier for the next, and nobody pays for it."""

    loses: ClassVar[set[str]] = {"assume_view"}

    def course(self, noise, coins):
        return _Popular(self, noise, coins)


@dataclass(frozen=True)
class Unclipped(_Small):
    """Rewards as they come."""

    loses: ClassVar[set[str]] = {"assume_clipped"}

    def added(self, rewards):
        return np.trunc((np.nan_to_num(rewards) - 0.5) * 2**20).astype(np.int64)
