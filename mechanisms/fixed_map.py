"""Private rows through a public linear map, released with noise: as good as a row is protected by the map."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import Theorem
from mechanisms.shared import accuracy, grid, moved_rows
from mechanisms.subject import Rows, View, shown


@dataclass(frozen=True)
class FixedMap(moved_rows.ClippedRows):
    """Release every row xM with Gaussian noise of standard deviation `sigma` in every one of its numbers.

    M maps `columns` numbers to `dimension` ones; its rows or columns are orthonormal, drawn by the public
    `seed` and rounded.  A row that moves by ℓ moves by σ_max(M)·ℓ at most, of which an upper bound is
    computed exactly.  Rows are clipped to ℓ2 norm `radius` before; `unit` is how far a neighbour's row
    moves, in the data's own coordinates; 0: it is replaced.
    """

    source: ClassVar[str] = "Kenthapadi, Korolova, Mironov & Mishra 2013 (a public map, noise after it)"
    status: ClassVar[str] = "sound"

    sigma: Fraction = Fraction(3, 2)
    radius: Fraction = Fraction(1)
    unit: Fraction = Fraction(0)
    rows: int = 20
    columns: int = 3
    dimension: int = 2
    seed: int = 1
    bits: int = 16

    def __post_init__(self) -> None:
        if min(self.sigma, self.radius) <= 0 or min(self.rows, self.columns, self.dimension) < 1:
            raise out_of_range("sigma > 0, radius > 0, rows >= 1, columns >= 1 and dimension >= 1")
        if self.seed < 0 or max(self.columns, self.dimension) > moved_rows.WIDEST:
            raise out_of_range(f"seed >= 0, columns and dimension at most {moved_rows.WIDEST}")
        moved_rows.room(2 * self.radius + 16 * self.sigma, self.bits)
        moved_rows.relation_of(self.unit)

    @cached_property
    def map(self) -> Integers:
        """Return M in steps of 2^−10."""
        drawn = np.random.default_rng(self.seed).standard_normal((self.columns, self.dimension))
        tall = drawn if self.columns >= self.dimension else drawn.T
        orthonormal = np.linalg.qr(tall)[0]
        # In steps, so that rows on the grid times M are exact integers, and the proof is of the M that is
        # used.
        return moved_rows.in_steps(orthonormal if self.columns >= self.dimension else orthonormal.T)

    def query(self, data: Rows) -> Integers:
        """Return the clipped rows through the map, in units of its grid, exactly."""
        return super().query(data) @ self.map

    def proof_at(self, unit: Fraction | None, delta: Fraction) -> Theorem:
        """Return the theorem for one row that moves by `unit`, or is replaced (None)."""
        stretch = moved_rows.stretch_of(self.map)
        return shown(self.with_noise(unit, delta, self.sigma, self.dimension, stretch), "fixed-map")

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the noisy mapped rows, and the map."""
        step = float(grid.step(self.bits + moved_rows.MAP_BITS))
        mapped = moved_rows.released(self.query(data), noise)
        return View(public={"rows": mapped * step, "map": self.map * moved_rows.MAP_STEP})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of the clipped rows through the map."""
        of, bits = "the clipped rows through the map", self.bits + moved_rows.MAP_BITS
        return {"rows": accuracy.sums("gaussian", view.public["rows"], self.sigma, bits, level, of)}
