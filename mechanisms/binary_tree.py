"""Prefix sums of a vector stream under continual release: a binary tree of discrete Gaussians."""

from dataclasses import dataclass
from typing import ClassVar

from mechanisms.continual.prefix_sums import Spread, TreeNodes, tree
from mechanisms.continual.sums import TreeSums


@dataclass(frozen=True)
class BinaryTree(TreeNodes):
    """Release the sum of the first t vectors after every round t ≤ `rounds`; a unit is one round.

    Vectors of `columns` numbers are clipped to ℓ2 norm `radius`; every node gets noise of standard
    deviation `sigma` per coordinate, in steps of 2^−`bits`.
    """

    source: ClassVar[str] = "Dwork, Naor, Pitassi & Rothblum 2010; Chan, Shi & Song 2011"
    status: ClassVar[str] = "sound"
    named: ClassVar[str] = "binary-tree"
    estimates: ClassVar[type[TreeSums]] = TreeSums

    def spread(self) -> Spread:
        """Return the spread of the summed nodes of every prefix."""
        return tree(self.rounds, self.scale(self.sigma), self.columns)
