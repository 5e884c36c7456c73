"""Planted: a logged policy whose batches are counted in kept records instead of public slots.

One person turning from kept to passed over moves every later record one place, so every later sum moves.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandits.logged_policy import LoggedPolicy
from bandits.simulation.replay import Replay
from dpaccount.proof import assume_view, billboard
from mechanisms.subject import View

KEPT_PER_BATCH = 40


@dataclass(frozen=True)
class KeptClock(LoggedPolicy):
    """A batch ends after so many kept records, wherever that is."""

    status: ClassVar[str] = "broken"

    def proof(self, delta):
        return billboard(super().proof(delta).premises[0], assume_view("kept-clock", "others", "replay"))

    def play(self, data, noise, coins):
        replay = Replay(data, self.offered, self.counts, self.chance, coins)
        policy, released, recommended, at = self.offered.indifferent(1), [], np.full(self.slots, -1), 0
        for b in range(self.plan[1]):
            recommended[at:] = replay.recommend(slice(at, self.slots), policy)
            kept = np.flatnonzero(replay.kept(slice(at, self.slots), recommended))
            end = at + int(kept[KEPT_PER_BATCH - 1]) + 1 if len(kept) >= KEPT_PER_BATCH else self.slots
            exact = replay.totals(slice(at, end), recommended, everyone=False)
            released.append(noise.noisy("arm-sums", b, exact))
            at, policy = end, self._next(self._belief(np.array(released)), b + 1, coins)
        recommended[at:] = replay.recommend(slice(at, self.slots), policy)
        card = noise.noisy(
            "arm-sums", self.plan[1], replay.totals(slice(at, self.slots), recommended, everyone=True)
        )
        return View(
            own={"recommended": recommended},
            public={
                "policies": policy[None],
                "values": self._belief(np.array(released)).mean(),
                "arm-sums": np.array([*released, card]),
            },
        )
