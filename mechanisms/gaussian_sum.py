"""Sum of vectors clipped to a public ball, with discrete Gaussian noise on a grid."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import REPLACE_ONE, Theorem, assume_ball, linear
from mechanisms.shared import accuracy, grid
from mechanisms.shared.gaussian_noise import gaussian, unchanged
from mechanisms.shared.moved_rows import InBall
from mechanisms.subject import Additive, Rows, View, known_relation, shown


@dataclass(frozen=True)
class GaussianSum(InBall, Additive):
    """Release the sum of `rows` vectors of `columns` numbers, each clipped to ℓ2 norm `radius`.

    Noise of standard deviation `sigma` in every coordinate, in steps of 2^−`bits`.
    """

    source: ClassVar[str] = "Canonne, Kamath & Steinke 2020 (the discrete Gaussian)"
    status: ClassVar[str] = "sound"

    sigma: Fraction = Fraction(8)
    radius: Fraction = Fraction(1)
    rows: int = 100
    columns: int = 3
    relation: str = REPLACE_ONE
    bits: int = 20

    def __post_init__(self) -> None:
        known_relation(self.relation)
        if min(self.sigma, self.radius) <= 0 or min(self.rows, self.columns) < 1:
            raise out_of_range("sigma > 0, radius > 0, rows >= 1 and columns >= 1")
        grid.room(self.rows * self.radius + 16 * self.sigma, self.bits)

    @property
    def largest(self) -> int:
        """Return the largest magnitude that a row adds to a total, in the units of the noise."""
        return grid.most(self.radius, self.bits)

    def query(self, data: Rows) -> Integers:
        """Return the exact sum in grid units."""
        return self.contributions(data).sum(axis=0)

    def contributions(self, data: Rows) -> Integers:
        """Return what every row adds, in grid units; further columns of zeros change nothing."""
        return super().query(data)

    def proof(self, delta: Fraction) -> Theorem:
        """Contributions in a ball, ℓ2 sensitivity, the better of two Gaussian rules."""
        inside = assume_ball("gaussian-sum", self.radius, self.relation, "movement")
        step = grid.step(self.bits)
        noisy = gaussian(linear(inside), self.sigma, step, self.columns, "sum", delta, unchanged)
        return shown(noisy, "gaussian-sum")

    def publish(self, totals: Integers, noise: Noise) -> View:
        """Release the noisy sum, in the data's own units."""
        released = noise.noisy("sum", 0, totals)
        return View(public={"sum": released * np.float64(grid.step(self.bits))})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of all numbers of the sum of clipped vectors."""
        of = "the sum of clipped vectors"
        return {"sum": accuracy.sums("gaussian", view.public["sum"], self.sigma, self.bits, level, of)}
