"""Prefix sums of a vector stream under continual release: a tree whose nodes refine each other."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaccount.noise.receipt import Noise
from dpaccount.proof import Theorem
from mechanisms.continual.prefix_sums import PrefixSums, tree_proof
from mechanisms.continual.spread import Spread, honaker
from mechanisms.continual.tree_sums import HonakerSums, levels
from mechanisms.shared import grid
from mechanisms.subject import Rows, View


@dataclass(frozen=True)
class HonakerTree(PrefixSums):
    """Release the sum of the first t vectors after every round t ≤ `rounds`; a unit is one round.

    As the binary tree, with every complete node released and estimated from its own noise and its
    descendants': the same cost for about three quarters of the error.  Vectors of `columns` numbers
    are clipped to ℓ2 norm `radius`; nodes get noise of standard deviation `sigma` per coordinate, in
    steps of 2^−`bits`.
    """

    source: ClassVar[str] = "Honaker 2015 (estimation from below); Chan, Shi & Song 2011"
    status: ClassVar[str] = "sound"

    sigma: Fraction = Fraction(16)
    bits: int = 20

    def proof(self, delta: Fraction) -> Theorem:
        """Every node is a noisy sum; a round lies in at most ⌈log₂ rounds⌉ of them."""
        return tree_proof("honaker-tree", self, delta)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release node by node; show all prefix sums, in the data's own units."""
        sums = HonakerSums(lambda node, exact: noise.noisy("node", node, exact), levels(self.rounds))
        return self.shown(sums, data)

    def step(self) -> Fraction:
        """Return a step of a node."""
        return grid.step(self.bits)

    def spread(self) -> Spread:
        """Return the spread of every prefix, from the noise of its nodes."""
        return honaker(self.rounds, self.scale(self.sigma), self.columns)
