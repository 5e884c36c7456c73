"""Rows released one by one: how each depends on one person's row, on a grid, and the neighbours.

Under ``bounded-row`` one row moves by at most a unit in ℓ2, which is a distance in the data's own
coordinates; a unit of 0 means that it is replaced by any other.
"""

from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np

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


def relation_of(unit: Fraction) -> str:
    """Return which datasets are neighbours; raises `InputError` for a negative unit."""
    if unit < 0:
        raise InputError(f"unit is {unit}", "a row moves by a distance above 0, or give 0: it is replaced")
    return bounded_row(unit) if unit else REPLACE_ONE


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
        self,
        unit: Fraction | None,
        delta: Fraction,
        sigma: Fraction,
        numbers: int,
        stretch: Fraction = Fraction(1),
        finer: int = 0,
    ) -> Theorem:
        """Return the theorem of Gaussian noise on rows of `numbers`, after a map of at most this `stretch`.

        What comes out of a map is on a grid that is finer than that of the rows, by so many bits.
        """
        points = follows("rows", self.radius, self.columns, self.bits, stretch)
        like = moved(points, self.unit) if self.unit else None
        query, step = bound_on(points, unit)[0], grid.step(self.bits + finer)
        return gaussian(query, sigma, step, numbers, KEY, delta, partial(each, rows=self.rows), like)
