"""What learns from private messages: asked for a point, given the answer; no privacy inside."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

from bandits.statistics.arrays import Integers


@dataclass(frozen=True)
class Question:
    """What the server shows a person: a point, and what their reward is taken relative to.

    A message is about the reward minus `centre`, clipped to ±`clip`: both are functions of earlier messages
    and coins.  Without a `clip` it is B + R, about 0.
    """

    point: int
    centre: float = 0.0
    clip: float | None = None


class Choosy(ABC):
    """A learner that accepts which points are on offer."""

    @abstractmethod
    def ask(self, among: Integers | None = None) -> Question:
        """Return the question for the next person, of the points of these places."""


class RewardLearner(Protocol):
    """A program over numbers that knows its horizon: `ask` and `tell` in turn, once a person.

    A person who does not answer is skipped: the next person is asked the same.
    """

    def ask(self) -> Question:
        """Return the question for the next person."""

    def tell(self, point: int, value: float, variance: float | None) -> object:
        """Learn from one message about a point; callers ignore what it returns.

        Over the channel's noise `value` has the mean of the reward, clipped.  `variance` is the
        largest that the channel gives it, None if there is no channel.  The reward's own noise
        comes on top; but an answer of one bit (Duchi's) has this variance, less the square of its
        mean, in all.
        """
