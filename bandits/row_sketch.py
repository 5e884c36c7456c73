"""Private rows through a random map that public coins draw, released with noise after it."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from bandits.fixed_map import WIDEST, MappedRows, in_steps, room, stretch_of
from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import Theorem
from mechanisms.shared.moved_rows import relation_of
from mechanisms.subject import Rows, View


@dataclass(frozen=True)
class RowSketch(MappedRows):
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
        if min(self.rows, self.columns, self.dimension) < 1 or self.columns > WIDEST:
            raise out_of_range(f"rows >= 1, dimension >= 1 and columns in 1 ... {WIDEST}")
        room(self.stretch * self.radius + 16 * self.sigma, self.bits)
        relation_of(self.unit)

    def map(self, coins: int) -> Integers:
        """Return M in steps of 2^−10; it stretches no row by more than `stretch`, by exact arithmetic."""
        drawn = np.random.default_rng(coins).standard_normal((self.columns, self.dimension))
        matrix = in_steps(drawn / np.sqrt(self.dimension))
        while (most := stretch_of(matrix)) > self.stretch:  # dpaccount: never, public coins decide
            matrix = np.trunc(matrix * (0.99 * float(self.stretch / most))).astype(np.int64)
        return matrix

    def mapped(self, data: Rows, coins: int) -> Integers:
        """Return the clipped rows through the map of these coins, in units of its grid, exactly."""
        return self.query(data) @ self.map(coins)

    def proof_at(self, unit: Fraction | None, delta: Fraction) -> Theorem:
        """Return the theorem for one row that moves by `unit`, or is replaced (None)."""
        return self.proof_by("row-sketch", unit, delta, self.stretch)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the noisy sketched rows, and the map."""
        return self.view(self.mapped(data, coins), self.map(coins), noise)
