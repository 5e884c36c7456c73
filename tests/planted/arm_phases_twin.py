"""Planted: a bandit of blocks that takes rewards for −1 … 1 instead of −½ … ½."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandits.arm_phases import ArmCourse, ArmPhases


@dataclass(frozen=True)
class ArmPhasesTwiceAsFar(ArmPhases):
    """Adds twice what the noise is for."""

    loses: ClassVar = {"assume_clipped"}

    rounds: int = 12
    arms: int = 2

    def added(self, rewards, answered):
        return 2 * super().added(rewards, answered)


@dataclass(frozen=True)
class ArmPhasesOfNeighbours(ArmPhases):
    """Takes the last person of every block into the next one, too."""

    loses: ClassVar = {"assume_covers"}

    rounds: int = 12
    arms: int = 2

    def course(self, noise, coins):
        return _Carrying(self, noise, coins)


class _Carrying(ArmCourse):
    carried = 0.5

    def close(self, rewards, answered):
        before, self.carried = self.carried, rewards[-1]
        exact = self._subject.added

        def added(rewards, answered):
            return exact(np.append(rewards, before), np.append(answered, True))

        object.__setattr__(self._subject, "added", added)
        super().close(rewards, answered)
        object.__delattr__(self._subject, "added")
