"""Jointly private GP-UCB without a horizon: epochs of 1, 1, 2, 4, … rounds (Dubey 2021, Remark 5).

``restart``: every epoch has a tree of its own people; a person meets the nodes of one epoch, and the
posterior adds up the last sums of earlier epochs.  ``carry``: every epoch's tree begins with one node of
all earlier people, so that a person meets one node in each later epoch beside those of their own.  The
paper does not say which.  Rounds read prefix sums only, so nothing else is released.

Features and noise are one for all epochs here, as a person's vector must be the same in every release.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bandits.learning import contextual
from bandits.learning.features import Features
from bandits.learning.gp_ucb import raised, upper_bounds
from bandits.statistics import continual_sums
from bandits.statistics.calibration import target
from bandits.statistics.second_moments import centred, contribution
from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import (
    REPLACE_ONE,
    Cover,
    Theorem,
    assume_covers,
    assume_rank_one,
    assume_view,
    billboard,
)
from mechanisms.subject import Rows, View
from mechanisms.symmetric_gaussian import FEATURE_BITS

Floats = NDArray[np.float64]
REWARD_CENTRE = Fraction(1, 2)
MODES = ("restart", "carry")


@dataclass(frozen=True)
class DoublingGpUcb(contextual.Calibrated, contextual.Contextual):
    """`jdp-gp-ucb` that never reads `rounds` while it learns: only its proof and its budget do."""

    source: ClassVar[str] = "Dubey 2021, Remark 5, in both readings; exact calibration is ours"

    lengthscale: Fraction = Fraction(1)
    mode: str = "restart"
    epsilon: Fraction = Fraction(8)
    delta: Fraction = Fraction(1, 10**6)
    sigma: Fraction | None = None
    shift: Fraction = Fraction(2)
    width: Fraction = Fraction(1, 10)

    def __post_init__(self) -> None:
        """Validate the parameters, before any charge."""
        contextual.domain(self.rounds, self.candidates, self.dimension)
        if self.mode not in MODES:
            raise InputError(f"mode is {self.mode[:40]!r}", f"known: {', '.join(MODES)}")
        if self.rounds > 2**14:
            raise InputError(f"rounds is {self.rounds}", "the proof lists every node, at most 16384 rounds")
        target(self.epsilon, self.delta)
        if (self.sigma is not None and self.sigma <= 0) or min(self.shift, self.width) < 0:
            raise out_of_range("sigma > 0, shift >= 0 and width >= 0")
        if self.features.size > 400:
            raise InputError(f"{self.features.size} features are too many", "at most 400")

    @cached_property
    def features(self) -> Features:
        """Return the public feature map."""
        return self.feature_map(self.lengthscale)

    @cached_property
    def releases(self) -> list[Cover]:
        """Return the rounds that each release sums, in the order in which they are made."""
        return [cover for t in range(1, self.rounds) for cover in ended(t, self.mode)]

    def proof(self, delta: Fraction) -> Theorem:
        """Rank-one sensitivity, symmetric noise per node, the nodes of all epochs, billboard."""
        return billboard(
            self._sums(self.noise_scale, delta), assume_view("doubling-gp-ucb", "others", "replay")
        )

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        person = assume_rank_one("statistics", REWARD_CENTRE, REPLACE_ONE, "movement")
        covers = assume_covers("statistics", self.releases, "movement")
        return continual_sums.matrix_proof(
            person, sigma, covers, self.features.size + 1, 2 * FEATURE_BITS, delta
        )

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once, in order; a person sees their own action only."""
        return contextual.served(self.course(noise, coins), data, self.candidates)

    def course(self, noise: Noise, coins: int) -> contextual.ContextualCourse:
        """Return a run for people who come one by one, each of whom is a batch."""
        learner, batches = Learner(self, noise), contextual.together(self.rounds, 1)
        return contextual.ContextualCourse(
            self.domain(), self.candidates, self.features, learner, coins, batches
        )


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


class Learner:
    """Scores and learning over epochs."""

    def __init__(self, subject: DoublingGpUcb, noise: Noise) -> None:
        size = subject.features.size
        self._subject, self._noise = subject, noise
        self._values: list[Integers] = []  # all statistics: epochs' exact sums need them
        self._kept: list[tuple[Cover, Integers]] = []  # the released nodes that make up the present prefix
        self._next = 0
        self._gram, self._moment = np.eye(size), np.zeros(size)

    def scores(self, candidates: Floats) -> Floats:
        """Return upper confidence bounds of rows of features."""
        return upper_bounds(candidates, self._gram, self._moment, float(self._subject.width))

    def tell(self, features: Floats, reward: float | None) -> None:
        """Add one person's statistics, release the node that ends here, take the new prefix."""
        known = None if reward is None else centred(reward)
        self._values.append(contribution(features, known, REWARD_CENTRE, corner=False))
        for first, last in ended(len(self._values), self._subject.mode):
            exact: Integers = np.sum(self._values[first - 1 : last], axis=0)
            released = self._noise.noisy_symmetric("sums", self._next, exact)
            self._next += 1
            self._kept = [(cover, node) for cover, node in self._kept if cover[0] < first]
            self._kept.append(((first, last), released))
        total = np.sum([node for _, node in self._kept], axis=0) / 2.0 ** (2 * FEATURE_BITS)
        size = len(total) - 1
        edge = 2 * float(self._subject.noise_scale) * np.sqrt(size * len(self._kept))
        self._gram = raised(total[:size, :size], float(self._subject.shift) * edge)
        self._moment = total[:size, size]
