"""Rows released one by one: how each depends on one person's row, on a grid, and the neighbours.

Under ``bounded-row`` one row moves by at most a unit in ℓ2, which is a distance in the data's own
coordinates; a unit of 0 means that it is replaced by any other.
"""

from fractions import Fraction
from functools import partial
from math import ceil
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, root_up
from dpaccount.proof import REPLACE_ONE, Theorem, assume_lipschitz, assume_tree, moved, nodes
from dpaccount.relation import bounded_row
from mechanisms.shared import grid
from mechanisms.shared.gaussian_noise import gaussian
from mechanisms.subject import Domain, Rows, View, wide

KEY = "row"
#: of the radius: more than `grid.in_ball` errs by on two rows of up to 8000 numbers
ERRORS = Fraction(1, 2**40)
RADIUS_STEPS = 10**9
MAP_BITS = 10  #: maps are in steps of 2^−10
MAP_STEP = 2.0**-MAP_BITS
WIDEST = 32  #: numbers of a row that a map takes or gives


def relation_of(unit: Fraction) -> str:
    """Return which datasets are neighbours; raises `InputError` for a negative unit."""
    if unit < 0:
        raise InputError(f"unit is {unit}", "a row moves by a distance above 0, or give 0: it is replaced")
    return bounded_row(unit) if unit else REPLACE_ONE


def room(total: Fraction, bits: int) -> None:
    """Refuse rows of 2^−`bits` that do not fit into integers once they went through a map."""
    if bits < 0:
        raise InputError(f"bits is {bits}", f"it lies in 0 ... {40 - MAP_BITS}")
    grid.room(total, bits + MAP_BITS)


def slack(radius: Fraction, columns: int, bits: int) -> Fraction:
    """Return by how much two rows in `grid.in_ball` may be further apart than before: γ√d, rounded up.

    Projecting to the ball brings rows closer; truncation moves the difference by less than γ in every number.
    """
    return grid.step(bits) * Fraction(root_up(Fraction(columns))) + radius * ERRORS


def follows(
    query: str, radius: Fraction, columns: int, bits: int, stretch: Fraction = Fraction(1)
) -> Theorem:
    """Return the hypothesis on rows in `grid.in_ball`, through a linear map that stretches by `stretch`."""
    return assume_lipschitz(
        query, stretch, stretch * slack(radius, columns, bits), stretch * 2 * radius, "movement"
    )


def bound_on(points: Theorem, unit: Fraction | None) -> tuple[Theorem, Fraction]:
    """Return the sensitivity to a row that moves by `unit` (None: is replaced), and its root."""
    query, fact = moved(points, unit), points.witness
    factor, more, reach = (Fraction(fact[name]) for name in ("factor", "slack", "reach"))
    return query, reach if unit is None else min(factor * unit + more, reach)


def each(leaf: Theorem, rows: int) -> Theorem:
    """Return the theorem for releasing every row separately, from that for one row's release.

    The covers are a tree's of one level, its leaves: release (0, i) reads row i + 1 alone.
    """
    query = getattr(leaf.conclusion, "subject", "")
    return nodes(leaf, assume_tree(query, rows, "movement", 1))


def released(rows: Integers, noise: Noise) -> Integers:
    """Return every row with independent noise."""
    return np.array([noise.noisy(KEY, (0, i), row) for i, row in enumerate(rows)]).reshape(rows.shape)


class InBall:
    """Base of mechanisms that read rows clipped to ℓ2 norm `radius`; subclasses are dataclasses."""

    reads: ClassVar[str] = "numbers"

    radius: Fraction
    rows: int
    columns: int
    bits: int

    def domain(self) -> Domain:
        """Return rows well beyond the ball, so that clipping is exercised."""
        return wide(self.rows, self.columns, 4 * float(self.radius))

    def query(self, data: Rows) -> Integers:
        """Return the clipped rows in grid units."""
        return grid.in_ball(data, self.radius, self.bits)


class ClippedRows(InBall):
    """Base of mechanisms that release every row separately; `unit` is how far a neighbour's row moves."""

    unit: Fraction

    @property
    def relation(self) -> str:
        """Return which datasets are neighbours."""
        return relation_of(self.unit)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the noisy rows, in the data's own units."""
        return View(public={"rows": released(self.query(data), noise) * float(grid.step(self.bits))})

    def proof(self, delta: Fraction) -> Theorem:
        """Every row is a separate release, which depends on that row alone."""
        return self.proof_at(self.unit or None, delta)

    def replaced(self, delta: Fraction) -> Theorem:
        """Any two clipped rows are at most twice the radius apart."""
        return self.proof_at(None, delta)

    def proof_at(self, unit: Fraction | None, delta: Fraction) -> Theorem:
        """Return the theorem for a row that moves by `unit`, or is replaced (None)."""
        raise NotImplementedError

    def with_noise(
        self, unit: Fraction | None, delta: Fraction, sigma: Fraction, numbers: int, stretch: Fraction | None
    ) -> Theorem:
        """Return the theorem of Gaussian noise on rows of `numbers`, if given after a map of this `stretch`.

        A map has steps of its own: what comes out of it is on a finer grid than the rows.
        """
        points = follows("rows", self.radius, self.columns, self.bits, stretch or Fraction(1))
        step = grid.step(self.bits + (MAP_BITS if stretch else 0))
        like = moved(points, self.unit) if self.unit else None
        of_rows = partial(each, rows=self.rows)
        return gaussian(bound_on(points, unit)[0], sigma, step, numbers, KEY, delta, of_rows, like)


# ------------------------------------------------------------------ public maps


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
