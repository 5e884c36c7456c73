"""Private rows released for outsourcing: noise on the rows first, then any projection.

Projecting alone is no protection: with more rows than columns a random projection lies in the
column space of the data, which differs for a neighbour (so δ = 1 for every ε).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import REPLACE_ONE, Theorem, assume_ball, linear
from mechanisms.shared import accuracy, grid
from mechanisms.shared.gaussian_noise import gaussian, unchanged
from mechanisms.shared.moved_rows import InBall
from mechanisms.subject import Rows, View, shown


@dataclass(frozen=True)
class Projection(InBall):
    """Release every row with Gaussian noise, and its random projection to `dimension` numbers.

    Rows are clipped to ℓ2 norm `radius` and keep their places; noise of standard deviation `sigma`
    per number, in steps of 2^−`bits`.  Centring and projecting (a public matrix from the public
    coins) happen to the noisy rows, as post-processing.
    """

    source: ClassVar[str] = (
        "repair of Kharkovskii, Dai & Low 2020: noise before the projection; Canonne et al. 2020"
    )
    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE

    sigma: Fraction = Fraction(10)
    radius: Fraction = Fraction(1)
    rows: int = 20
    columns: int = 3
    dimension: int = 2
    bits: int = 20

    def __post_init__(self) -> None:
        if min(self.sigma, self.radius) <= 0 or min(self.rows, self.columns, self.dimension) < 1:
            raise out_of_range("sigma > 0, radius > 0, rows >= 1, columns >= 1 and dimension >= 1")
        grid.room(self.radius + 16 * self.sigma, self.bits)

    def proof(self, delta: Fraction) -> Theorem:
        """Bound the change of the whole matrix by a replaced row: at most twice the radius."""
        inside = assume_ball("rows", self.radius, self.relation, "movement")
        step, numbers = grid.step(self.bits), self.rows * self.columns
        noisy = gaussian(linear(inside), self.sigma, step, numbers, "rows", delta, unchanged)
        return shown(noisy, "projection")

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release noisy rows; show them centred and projected, in the data's own units."""
        noisy = noise.noisy("rows", 0, self.query(data)) * float(grid.step(self.bits))
        shape = (self.columns, self.dimension)
        public = np.random.default_rng(coins).standard_normal(shape) / np.sqrt(self.dimension)
        return View(public={"rows": noisy, "projected": (noisy - noisy.mean(axis=0)) @ public})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of the clipped rows; their projection has none: its matrix is not shown."""
        of = "the clipped rows"
        return {"rows": accuracy.sums("gaussian", view.public["rows"], self.sigma, self.bits, level, of)}
