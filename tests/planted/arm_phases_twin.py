"""Planted: bandits of blocks that add too much, mix blocks up, or undo the shuffling."""

from dataclasses import dataclass, replace
from fractions import Fraction
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


@dataclass(frozen=True)
class ArmPhasesInOrder(ArmPhases):
    """Shows everybody's bit, made on the device as it should be, in the order of the people."""

    loses: ClassVar = {"assume_view"}

    rounds: int = 12
    arms: int = 2
    block: int = 6
    law: str = "shuffled"
    delta: Fraction = Fraction(1, 100)

    def course(self, noise, coins):
        return _Ordered(self, noise, coins)


class _Ordered(ArmCourse):
    def __init__(self, subject, noise, coins):
        super().__init__(subject, noise, coins)
        self.messages, self._devices = [], np.random.default_rng((coins, 3))

    def close(self, rewards, answered):
        super().close(rewards, answered)
        lies = self._devices.random(len(rewards)) < 1 - float(self._subject.bits.truth)
        self.messages += (lies ^ (rewards > 0.5)).tolist()

    def view(self):
        seen = super().view()
        return replace(seen, public={**seen.public, "messages": np.array(self.messages, dtype=np.int64)})


@dataclass(frozen=True)
class ArmPhasesTwoBits(ArmPhasesInOrder):
    """Takes a person's bit for the next person's, too."""

    loses: ClassVar = {"assume_points"}

    def course(self, noise, coins):
        return _Doubled(self, noise, coins)


class _Doubled(ArmCourse):
    def close(self, rewards, answered):
        super().close(np.repeat(rewards[::2], 2), answered)
