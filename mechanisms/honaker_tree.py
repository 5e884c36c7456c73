"""Prefix sums of a vector stream under continual release: a tree whose nodes refine each other."""

from dataclasses import dataclass
from typing import ClassVar

from mechanisms.continual.prefix_sums import Spread, TreeNodes, honaker
from mechanisms.continual.sums import HonakerSums


@dataclass(frozen=True)
class HonakerTree(TreeNodes):
    """Release the sum of the first t vectors after every round t ≤ `rounds`; a unit is one round.

    As the binary tree, with every complete node released and estimated from its own noise and its
    descendants': the same cost for about three quarters of the error.  Vectors of `columns` numbers
    are clipped to ℓ2 norm `radius`; nodes get noise of standard deviation `sigma` per coordinate, in
    steps of 2^−`bits`.
    """

    source: ClassVar[str] = "Honaker 2015 (estimation from below); Chan, Shi & Song 2011"
    status: ClassVar[str] = "sound"
    named: ClassVar[str] = "honaker-tree"
    estimates: ClassVar[type[HonakerSums]] = HonakerSums

    def spread(self) -> Spread:
        """Return the spread of every prefix, from the noise of its nodes."""
        return honaker(self.rounds, self.scale(self.sigma), self.columns)
