"""Planted: bandits of blocks that add too much, mix blocks up, or undo the shuffling."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from bandits.arm_phases import ArmPhases
from bandits.arms.course import ArmCourse
from bandits.learning.shuffled_bits import ShuffledBits


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

    loses: ClassVar = {"assume_rounds"}

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

    def play(self, data, noise, coins):
        seen = super().play(data, noise, coins)
        arms = seen.public["arms"]
        paid = data[np.arange(len(arms)), arms]
        lies = np.random.default_rng((coins, 3)).random(len(paid)) < 1 - float(self.bits.truth)
        messages = (lies ^ (paid > 0.5)).astype(np.int64)
        return replace(seen, public={**seen.public, "messages": messages})


class _Doubled(ShuffledBits):
    def sent(self, noise, key, batch, numbers, coins):
        return super().sent(noise, key, batch, np.repeat(numbers[::2], 2), coins)


@dataclass(frozen=True)
class ArmPhasesTwoBits(ArmPhases):
    """Takes a person's bit for the next person's, too."""

    loses: ClassVar = {"assume_points"}

    rounds: int = 12
    arms: int = 2
    block: int = 6
    law: str = "shuffled"
    delta: Fraction = Fraction(1, 100)

    @property
    def bits(self):
        exact = super().bits
        return _Doubled(exact.epsilon, exact.delta, exact.size)
