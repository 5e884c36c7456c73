"""Private rows through a public linear map, released with noise: as good as a row is protected by the map."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import Theorem
from mechanisms.shared import accuracy, grid
from mechanisms.shared.moved_rows import ClippedRows, relation_of, released
from mechanisms.subject import Rows, View, shown

RADIUS_STEPS = 10**9
MAP_BITS = 10  #: maps are in steps of 2^−10
MAP_STEP = 2.0**-MAP_BITS
WIDEST = 32  #: numbers of a row that a map takes or gives


@dataclass(frozen=True)
class FixedMap(ClippedRows):
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
        if self.seed < 0 or max(self.columns, self.dimension) > WIDEST:
            raise out_of_range(f"seed >= 0, columns and dimension at most {WIDEST}")
        if self.bits < 0:
            raise InputError(f"bits is {self.bits}", f"it lies in 0 ... {40 - MAP_BITS}")
        grid.room(2 * self.radius + 16 * self.sigma, self.bits + MAP_BITS)
        relation_of(self.unit)

    @cached_property
    def map(self) -> Integers:
        """Return M in steps of 2^−10."""
        drawn = np.random.default_rng(self.seed).standard_normal((self.columns, self.dimension))
        tall = drawn if self.columns >= self.dimension else drawn.T
        orthonormal = np.linalg.qr(tall)[0]
        # In steps, so that rows on the grid times M are exact integers, and the proof is of the M that is
        # used.
        return in_steps(orthonormal if self.columns >= self.dimension else orthonormal.T)

    def query(self, data: Rows) -> Integers:
        """Return the clipped rows through the map, in units of its grid, exactly."""
        return super().query(data) @ self.map

    def proof_at(self, unit: Fraction | None, delta: Fraction) -> Theorem:
        """Return the theorem for one row that moves by `unit`, or is replaced (None)."""
        noisy = self.with_noise(unit, delta, self.sigma, self.dimension, stretch_of(self.map), MAP_BITS)
        return shown(noisy, "fixed-map")

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the noisy mapped rows, and the map."""
        step = float(grid.step(self.bits + MAP_BITS))
        return View(public={"rows": released(self.query(data), noise) * step, "map": self.map * MAP_STEP})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of the clipped rows through the map."""
        of, bits = "the clipped rows through the map", self.bits + MAP_BITS
        return {"rows": accuracy.sums("gaussian", view.public["rows"], self.sigma, bits, level, of)}


def in_steps(matrix: NDArray[np.float64]) -> Integers:
    """Return a matrix in steps of 2^−10."""
    return np.rint(matrix * 2.0**MAP_BITS).astype(np.int64)


def stretch_of(steps: Integers) -> Fraction:
    """Return an upper bound, close to it, on the largest singular value of a matrix in steps.

    s² bounds the largest eigenvalue of G = MMᵀ where s²·1 − G has a Cholesky factor, which exact fractions
    decide; s is sought in floating point.
    """
    short = steps if len(steps) <= steps.shape[1] else steps.T
    matrix = [[Fraction(x, 2**MAP_BITS) for x in row] for row in short.tolist()]
    gram = [[sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0)) for b in matrix] for a in matrix]
    near = float(np.linalg.norm(steps * MAP_STEP, 2))
    start = Fraction(ceil(near * RADIUS_STEPS), RADIUS_STEPS)
    grown = (Fraction(10**k, RADIUS_STEPS) for k in range(40))  # of start, and a little for one of 0
    candidates = (start * (1 + more) + more / RADIUS_STEPS for more in grown)
    return next(s for s in candidates if _definite(gram, s * s))


def _definite(gram: list[list[Fraction]], square: Fraction) -> bool:
    """Return whether square·1 − gram is positive definite, by elimination."""
    rows = [[(square if i == j else 0) - x for j, x in enumerate(row)] for i, row in enumerate(gram)]
    # In fractions: a rounded pivot could pass for a positive one.
    for i, pivot in enumerate(rows):
        if pivot[i] <= 0:
            return False
        for row in rows[i + 1 :]:
            ratio = row[i] / pivot[i]
            row[i:] = [x - ratio * y for x, y in zip(row[i:], pivot[i:], strict=True)]
    return True
