"""Jointly private GP-UCB without a horizon: epochs of 1, 1, 2, 4, … rounds (Dubey 2021, Remark 5).

``restart``: every epoch has a tree of its own people; a person meets the nodes of one epoch, and the
posterior adds up the last sums of earlier epochs.  ``carry``: every epoch's tree begins with one node of
all earlier people, so that a person meets one node in each later epoch besides those of their own.  The
paper does not say which.  Rounds read prefix sums only, so nothing else is released.

Features and noise are one for all epochs here, as a person's vector must be the same in every release.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from bandits.learning import contextual
from bandits.learning.gp_ucb import SecondMomentBelief
from bandits.statistics import continual_sums
from bandits.statistics.arrays import Integers
from bandits.statistics.calibration import one_of
from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import REPLACE_ONE, Cover, Theorem, assume_covers, assume_rank_one

REWARD_CENTRE = Fraction(1, 2)
MODES = ("restart", "carry")


@dataclass(frozen=True)
class DoublingGpUcb(contextual.Contextual):
    """`jdp-gp-ucb` that never reads `rounds` while it learns: only its proof and its budget do.

    `rounds` is thus the most people who may come; a run that ends earlier has only paid for them.
    """

    source: ClassVar[str] = "Dubey 2021, Remark 5, in both readings; exact calibration is ours"

    mode: str = "restart"
    epsilon: Fraction = Fraction(8)
    shift: Fraction = Fraction(2)
    width: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("mode", self.mode, MODES)
        if self.rounds > 2**14:
            raise InputError(f"rounds is {self.rounds}", "the proof lists every node, at most 16384 rounds")
        if min(self.shift, self.width) < 0:
            raise out_of_range("shift >= 0 and width >= 0")
        if self.features.size > 400:
            raise InputError(f"{self.features.size} features are too many", "at most 400")

    @cached_property
    def releases(self) -> list[Cover]:
        """Return the rounds that each release sums, in the order in which they are made."""
        return [cover for t in range(1, self.rounds) for cover in ended(t, self.mode)]

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        person = assume_rank_one("statistics", REWARD_CENTRE, REPLACE_ONE, "movement")
        covers = assume_covers("statistics", self.releases, "movement")
        return continual_sums.matrix_proof(person, sigma, covers, self.features.size + 1, delta)

    def learner(self, noise: Noise) -> contextual.Learner:
        """Return the learner: every person is a round of the epochs' trees."""
        sums, size, people = EpochSums(self.mode, noise), self.features.size, range(1, self.rounds + 1)

        def shift(_: int) -> float:  # a multiple of the spectral edge of the nodes' noise
            return float(self.shift) * 2 * float(self.noise_scale) * float(np.sqrt(size * len(sums.kept)))

        belief = SecondMomentBelief(size, float(self.width), shift, people, centred=True)
        return contextual.Learner(belief, sums.add, people)


def ended(t: int, mode: str) -> list[Cover]:
    """Return the covers of the nodes that are released after round t.

    Epoch 0 is round 1, epoch k the rounds 2^(k−1) + 1 … 2^k.  Within an epoch, its r-th round ends the node
    of the last r & −r rounds.  A carried epoch's tree begins with the node of all rounds before it, which
    is released when the epoch before it ends: in place of that epoch's own last nodes.
    """
    if t & (t - 1) == 0:
        if mode == "carry":
            return [(1, t)]
        return [(t // 2 + 1, t)]
    within = t - (1 << (t.bit_length() - 1))
    return [(t - (within & -within) + 1, t)]


class EpochSums:
    """Prefix sums of symmetric integer matrices by the nodes of all epochs."""

    def __init__(self, mode: str, noise: Noise) -> None:
        self._mode, self._noise, self._released = mode, noise, 0
        self._values: list[Integers] = []  # all statistics: epochs' exact sums need them
        self.kept: list[tuple[Cover, Integers]] = []  # the released nodes that make up the present prefix

    def add(self, value: Integers) -> Integers:
        """Add one person's statistics, release the node that ends here, return the new prefix."""
        self._values.append(value)
        for first, last in ended(len(self._values), self._mode):
            exact: Integers = np.sum(self._values[first - 1 : last], axis=0)
            released = self._noise.noisy_symmetric("sums", self._released, exact)
            self._released += 1
            # The new node covers those that end its range: left in the prefix, their records would count
            # twice.
            self.kept = [(cover, node) for cover, node in self.kept if cover[0] < first]
            self.kept.append(((first, last), released))
        return np.sum([node for _, node in self.kept], axis=0)
