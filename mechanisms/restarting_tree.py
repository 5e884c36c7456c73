"""Prefix sums of a stream of unknown length: trees for successive epochs of 1, 2, 4, … rounds."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import dyadic_up
from dpaccount.proof import REPLACE_ONE, Cover, Theorem, assume_ball, assume_covers, linear, nodes, parallel
from mechanisms.continual.prefix_sums import PrefixSums, Spread, restarting
from mechanisms.continual.sums import Restarting, TreeSums, levels
from mechanisms.shared import grid
from mechanisms.shared.gaussian_noise import gaussian
from mechanisms.subject import Rows, View, shown


@dataclass(frozen=True)
class RestartingTree(PrefixSums):
    """Release the sum of the first t vectors after every round t; a unit is one round.

    Epoch e has 2^e rounds and a tree of its own without a root, with noise of standard deviation
    `sigma`·√e per node (`sigma` for e = 0): a round meets at most e of them.  A round is in one epoch, so
    epochs compose in parallel, and no parameter depends on the stream's length; `rounds` limits
    the part that is proved.
    Vectors of `columns` numbers are clipped to ℓ2 norm `radius`, in steps of 2^−`bits`.
    """

    source: ClassVar[str] = "Chan, Shi & Song 2011, Section 4.2 (unbounded streams)"
    status: ClassVar[str] = "sound"

    rounds: int = 63
    bits: int = 20

    def covers(self, epoch: int) -> list[Cover]:
        """Return the rounds that each release of an epoch sums: round t ends a node of lowbit(t) rounds.

        The last round ends one of half of them instead of all.
        """
        before, widest = 2**epoch - 1, 2 ** (levels(2**epoch) - 1)
        last = min(2**epoch, self.rounds - before)
        return [(before + t - min(t & -t, widest) + 1, before + t) for t in range(1, last + 1)]

    def noise_of(self, epoch: int) -> Fraction:
        """Return the standard deviation of an epoch's nodes, rounded up."""
        return dyadic_up(self.sigma * Fraction(math.sqrt(levels(2**epoch)) * (1 + 1e-12)), 20)

    def proof(self, delta: Fraction) -> Theorem:
        """Prove every epoch separately; the worst one counts, and all cost nearly the same."""
        epochs = [
            self._epoch(epoch, delta) for epoch in range(self.rounds.bit_length()) if self.covers(epoch)
        ]
        return shown(parallel(*epochs), "restarting-tree")

    def _epoch(self, epoch: int, delta: Fraction) -> Theorem:
        name = f"epoch-{epoch}"
        vector = linear(assume_ball(name, self.radius, REPLACE_ONE, "movement"))
        covers = assume_covers(name, self.covers(epoch), "movement")
        step, sigma, wrap = grid.step(self.bits), self.noise_of(epoch), partial(nodes, covered=covers)
        return gaussian(vector, sigma, step, self.columns, name, delta, wrap)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release one node a round; show all prefix sums, in the data's own units."""

        def make(epoch: int, rounds: int) -> TreeSums:
            name = f"epoch-{epoch}"
            # node (j, k) ends with round (k + 1)·2^j of the epoch, its release there
            return TreeSums(
                lambda node, exact: noise.noisy(name, ((node[1] + 1) << node[0]) - 1, exact), levels(rounds)
            )

        return self.shown(Restarting(make), data)

    def step(self) -> Fraction:
        """Return a step of a node."""
        return grid.step(self.bits)

    def spread(self) -> Spread:
        """Return the spread of every prefix, from the noise of its nodes over epochs."""
        scales = (self.scale(self.noise_of(epoch)) for epoch in range(self.rounds.bit_length()))
        return restarting(scales, self.rounds, self.columns)
