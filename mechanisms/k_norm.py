"""Private points released once, for others to compute on: noise that depends on its length only."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError
from dpaccount.noise.laws import double_up
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import REPLACE_ONE, Theorem, assume_ball, assume_covers, k_norm, linear, nodes
from mechanisms.shared import accuracy, grid, tails
from mechanisms.subject import Domain, Rows, View, shown_to_all, wide


@dataclass(frozen=True)
class KNorm:
    """Release every row z = x + v with v of mass ∝ exp(−`rate`·‖v‖₂) on multiples of 2^−`bits`.

    Rows are clipped to ℓ2 norm `radius` and truncated to the grid.  Moving a row by ℓ costs
    `rate`·ℓ, whatever the dimension, so replacing it costs 2·`rate`·`radius`: pure ε, δ = 0.  The
    noise of one coordinate has deviation near √(columns + 1)/rate; beyond about 16 columns Gaussian
    noise is smaller.
    """

    source: ClassVar[str] = "Hardt & Talwar 2010, Section 3 (K-norm mechanism), on a lattice"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "numbers"
    relation: ClassVar[str] = REPLACE_ONE

    rate: Fraction = Fraction(1, 2)
    radius: Fraction = Fraction(1)
    rows: int = 20
    columns: int = 2
    bits: int = 6

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense."""
        if min(self.rate, self.radius) <= 0 or self.rows < 1 or not 1 <= self.columns <= 12:
            raise InputError("needed rate > 0, radius > 0, rows >= 1 and columns in 1 ... 12")
        grid.room(self.radius + 1000 / self.rate, self.bits)

    def domain(self) -> Domain:
        """Return rows well beyond the ball, so that clipping is exercised."""
        return wide(self.rows, self.columns, 4 * float(self.radius))

    def query(self, data: Rows) -> Integers:
        """Return the clipped rows in grid units."""
        return grid.in_ball(data, self.radius, self.bits)

    def proof(self, delta: Fraction) -> Theorem:
        """Every row is a release of its own, which moves by at most twice the radius."""
        inside = assume_ball("rows", self.radius, self.relation, "movement")
        pure = k_norm(linear(inside), self.rate, 2 * self.radius, grid.step(self.bits), "row")
        own = assume_covers("rows", [(i, i) for i in range(1, self.rows + 1)], "movement")
        return shown_to_all(nodes(pure, own), "k-norm", delta)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the noisy rows, in the data's own units."""
        released = [noise.noisy("row", i, row) for i, row in enumerate(self.query(data))]
        return View(public={"rows": np.array(released) * float(grid.step(self.bits))})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of the clipped rows: no number is further off than its row's noise is long."""
        rows, alpha = view.public["rows"], tails.missed(level) / self.rows
        reach = tails.k_norm(double_up(2**self.bits / self.rate), self.columns, alpha)
        wide = reach * float(grid.step(self.bits))
        return {"rows": accuracy.around(rows, wide, level, "the clipped rows")}
