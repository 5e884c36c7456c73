"""Private rows through a random map that public coins draw, released with noise after it."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import Theorem
from mechanisms.shared import accuracy, grid, moved_rows
from mechanisms.subject import Rows, View, shown


@dataclass(frozen=True)
class RowSketch(moved_rows.ClippedRows):
    """Release every row xM with Gaussian noise of standard deviation `sigma` in every one of its numbers.

    M has `columns` × `dimension` independent numbers N(0, 1/dimension) from the public coins, shrunk where
    it stretches some row by more than `stretch`, and is shown.  The proof holds for each such map: what is
    gained on average over maps, whose stretch of one direction is a χ² number, is not used.  Rows are clipped
    to ℓ2 norm `radius` before; `unit` is how far a neighbour's row moves; 0: it is replaced.
    """

    source: ClassVar[str] = "repair of Kharkovskii, Dai & Low 2020: noise after the sketch, on every row"
    status: ClassVar[str] = "sound"

    sigma: Fraction = Fraction(3)
    radius: Fraction = Fraction(1)
    unit: Fraction = Fraction(0)
    rows: int = 20
    columns: int = 3
    dimension: int = 10
    stretch: Fraction = Fraction(2)
    bits: int = 16

    def __post_init__(self) -> None:
        if min(self.sigma, self.radius, self.stretch) <= 0:
            raise out_of_range("sigma > 0, radius > 0 and stretch > 0")
        if min(self.rows, self.columns, self.dimension) < 1 or self.columns > moved_rows.WIDEST:
            raise out_of_range(f"rows >= 1, dimension >= 1 and columns in 1 ... {moved_rows.WIDEST}")
        moved_rows.room(self.stretch * self.radius + 16 * self.sigma, self.bits)
        moved_rows.relation_of(self.unit)

    def map(self, coins: int) -> Integers:
        """Return M in steps of 2^−10; it stretches no row by more than `stretch`, by exact arithmetic."""
        drawn = np.random.default_rng(coins).standard_normal((self.columns, self.dimension))
        matrix = moved_rows.in_steps(drawn / np.sqrt(self.dimension))
        while (most := moved_rows.stretch_of(matrix)) > self.stretch:  # dpaccount: never, public coins decide
            matrix = np.trunc(matrix * (0.99 * float(self.stretch / most))).astype(np.int64)
        return matrix

    def mapped(self, data: Rows, coins: int) -> Integers:
        """Return the clipped rows through the map of these coins, in units of its grid, exactly."""
        return self.query(data) @ self.map(coins)

    def proof_at(self, unit: Fraction | None, delta: Fraction) -> Theorem:
        """Return the theorem for one row that moves by `unit`, or is replaced (None)."""
        return shown(self.with_noise(unit, delta, self.sigma, self.dimension, self.stretch), "row-sketch")

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the noisy sketched rows, and the map."""
        step = float(grid.step(self.bits + moved_rows.MAP_BITS))
        sketched = moved_rows.released(self.mapped(data, coins), noise)
        return View(public={"rows": sketched * step, "map": self.map(coins) * moved_rows.MAP_STEP})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of the clipped rows through the map that is shown."""
        of, bits = "the clipped rows through the map", self.bits + moved_rows.MAP_BITS
        return {"rows": accuracy.sums("gaussian", view.public["rows"], self.sigma, bits, level, of)}
