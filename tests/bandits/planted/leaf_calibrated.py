"""Planted: a logged policy that releases all sums so far, with noise calibrated to one batch."""

from dataclasses import dataclass
from typing import ClassVar

from bandits.logged_policy import LoggedPolicy
from dpaccount.proof import assume_view, billboard


@dataclass(frozen=True)
class LeafCalibrated(LoggedPolicy):
    """Each release is declared to cover its newest batch only, so that one batch's noise seems enough."""

    status: ClassVar[str] = "broken"

    def proof(self, delta):
        return billboard(super().proof(delta).premises[0], assume_view("leaf-calibrated", "others", "replay"))

    def play(self, data, noise, coins):
        return super().play(data, _SoFar(noise), coins)


class _SoFar:
    """Adds up what is to be released."""

    def __init__(self, noise):
        self._noise, self._total = noise, 0

    def noisy(self, key, part, values):
        self._total = self._total + values
        return self._noise.noisy(key, part, self._total)
