"""Planted: the plan finder whose batches are counted in kept records instead of public slots.

One person turning from kept to rejected moves every later record one place, so every later sum moves.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandits.plan_finder import ARMS, Observation, PlanFinder, Slots, expected_kept
from dpaccount.proof import assume_view, billboard
from mechanisms.subject import View

KEPT_PER_BATCH = 115


@dataclass(frozen=True)
class KeptClock(PlanFinder):
    """A batch ends after so many kept records, wherever that is."""

    status: ClassVar[str] = "broken"

    def proof(self, delta):
        return billboard(super().proof(delta).premises[0], assume_view("kept-clock", "others", "replay"))

    def play(self, data, noise, coins):
        slots = Slots(data, self.reward, coins)
        order, history, recommended = np.zeros(ARMS), [], np.full(self.slots, -1)
        orders, ends, at = [order], [0], 0
        for b in range(1, self.plan[1] + 1):
            ahead = slice(at, self.slots)
            shown = slots.recommend(ahead, order)
            kept = np.flatnonzero(shown == slots.logged[ahead])
            end = at + (int(kept[KEPT_PER_BATCH - 1]) + 1 if len(kept) >= KEPT_PER_BATCH else self.slots - at)
            recommended[at:end] = shown[: end - at]
            at = end
            ends.append(at)
            first = ends[b - (b & -b)]
            released = noise.noisy("arm-sums", b - 1, slots.arm_sums(slice(first, at), recommended))
            history.append(Observation(expected_kept(order) * self.plan[0], released))
            mean, deviation = self.posterior(history)
            order = mean + deviation / 3
            orders.append(order)
        recommended[at:] = slots.recommend(slice(at, self.slots), order)
        card = noise.noisy("report-card", 0, slots.report(slice(at, self.slots), recommended))
        return View(
            own={"recommended": recommended}, public={"orders": np.array(orders), "report-card": card}
        )
