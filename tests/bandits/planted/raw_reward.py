"""Planted: a logged policy that learns from the raw sums, not from the noisy ones."""

from dataclasses import dataclass
from typing import ClassVar

from bandits.logged_policy import LoggedPolicy
from dpaccount.proof import assume_view, billboard


@dataclass(frozen=True)
class RawReward(LoggedPolicy):
    """Releases what it should, and learns from what it should not."""

    status: ClassVar[str] = "broken"

    def proof(self, delta):
        return billboard(super().proof(delta).premises[0], assume_view("raw-reward", "others", "replay"))

    def play(self, data, noise, coins):
        return super().play(data, _Leak(noise), coins)


class _Leak:
    """Draws the noise that is paid for and hands back the value without it."""

    def __init__(self, noise):
        self._noise = noise

    def noisy(self, key, part, values):
        released = self._noise.noisy(key, part, values)
        return values if part else released
