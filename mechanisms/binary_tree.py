"""Prefix sums of a stream of vectors under continual release: a binary tree of discrete Gaussians."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError
from dpaccount.kernel import REPLACE_ONE, Theorem, assume_ball, assume_tree
from dpaccount.ledger.receipt import Noise
from dpaccount.rules import linear, nodes
from mechanisms import grid
from mechanisms.fine import gaussian
from mechanisms.subject import Domain, Rows, View, shown, wide
from mechanisms.tree import TreeSums


@dataclass(frozen=True)
class BinaryTree:
    """Release the sum of the first t vectors after every round t ≤ `rounds`; a unit is one round.

    Vectors of `columns` numbers are clipped to ℓ2 norm `radius`; every node gets noise of standard
    deviation `sigma` per coordinate, in steps of 2^−`bits`.
    """

    source: ClassVar[str] = "Dwork, Naor, Pitassi & Rothblum 2010; Chan, Shi & Song 2011"
    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE

    sigma: Fraction = Fraction(16)
    radius: Fraction = Fraction(1)
    rounds: int = 64
    columns: int = 1
    bits: int = 20

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense."""
        if min(self.sigma, self.radius) <= 0 or min(self.rounds, self.columns) < 1:
            raise InputError("needed sigma > 0, radius > 0, rounds >= 1 and columns >= 1")
        grid.room(self.rounds * self.radius + 400 * self.sigma, self.bits)

    def domain(self) -> Domain:
        """Return rows well beyond the ball, so that clipping is exercised."""
        return wide(self.rounds, self.columns, 4 * float(self.radius))

    def proof(self, delta: Fraction) -> Theorem:
        """Every node is a discrete Gaussian sum; a round lies in at most ⌊log₂ rounds⌋ + 1 of them."""
        inside = assume_ball("prefix-sums", self.radius, REPLACE_ONE, "movement")
        tree = assume_tree("prefix-sums", self.rounds, "movement")
        step = grid.step(self.bits)
        whole = gaussian(
            linear(inside), self.sigma, step, self.columns, "node", delta, lambda node: nodes(node, tree)
        )
        return shown(whole, "binary-tree")

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release all prefix sums, in the data's own units."""
        tree = TreeSums(lambda node, exact: noise.noisy("node", node, exact))
        values = grid.in_ball(data, self.radius, self.bits)
        prefixes = np.array([tree.add(value) for value in values])
        return View(public={"prefix-sums": prefixes * np.float64(grid.step(self.bits))})
