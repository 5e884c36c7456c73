"""Planted: bandits whose courses count late answers otherwise than their proofs say."""

from dataclasses import dataclass

from bandits.jdp_gp_ucb import JdpGpUcb
from bandits.learning.contextual import ContextualCourse
from bandits.moment_gp_ucb import MomentGpUcb


@dataclass(frozen=True)
class UnprovedLate(JdpGpUcb):
    """Its course takes late answers, and its proof is of trees, for which no rule covers them."""

    def course(self, noise, coins):
        made = super().course(noise, coins)
        made.takes_late = True
        return made


class _Loud(ContextualCourse):
    def add_late(self, slot, reward):
        phi = self._played[slot]
        super().add_late(slot, reward)
        for _ in range(99):
            self._learner.add_late(phi, reward)


@dataclass(frozen=True)
class LoudLate(MomentGpUcb):
    """A late answer counts a hundred times."""

    def course(self, noise, coins):
        return _Loud(self, self.learner(noise), coins)


@dataclass(frozen=True)
class SoundLate(MomentGpUcb):
    """The catalogued bandit, as a class of one's own."""


@dataclass(frozen=True)
class BrokenCourse(MomentGpUcb):
    """Serves nobody."""

    def course(self, noise, coins):
        raise KeyError("nobody")
