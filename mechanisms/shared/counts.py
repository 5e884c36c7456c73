"""Bases of mechanisms that count, with integer noise of either law, or add up clipped numbers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, exact_root
from dpaccount.proof import (
    REPLACE_ONE,
    Theorem,
    assume_clipped,
    assume_points,
    differences,
    laplace,
    lattice_gaussian,
    linear,
)
from mechanisms.shared import accuracy, confidence, grid
from mechanisms.subject import Additive, Domain, Rows, View, known_relation, shown_to_all

LAWS = ("laplace", "gaussian")


class CellCounts(Additive):
    """Base of mechanisms that count rows by cells, numbered from 0: each adds 1 to one, or to none."""

    reads: ClassVar[str] = "cells"

    rows: int
    cells: int

    def domain(self) -> Domain:
        """Return one column of integers, one beyond the cells on either side."""
        return Domain(self.rows, (-1.0,), (float(self.cells),), (True,), missing=(-1.0,))

    @property
    def largest(self) -> int:
        """Return the largest magnitude that a row adds to a total, in the units of the noise."""
        return 1

    def query(self, data: Rows) -> Integers:
        """Return how many numbers, rounded down, are each cell; others (NaN too) count nowhere."""
        cell = np.floor(data[:, 0])
        inside = cell[(cell >= 0) & (cell < self.cells)].astype(np.int64)
        return np.bincount(inside, minlength=self.cells).astype(np.int64)


@dataclass(frozen=True)
class NoisyCounts(Additive):
    """Counts of which every row adds 1 to one or to none, with noise of `law` and `scale` on the integers.

    ``laplace``: discrete Laplace noise of that scale, pure ε; ``gaussian``: discrete Gaussian noise of that
    standard deviation, a double exactly, with the exact curve, for δ > 0.
    """

    law: str = "laplace"
    scale: Fraction = Fraction(2)
    rows: int = 100
    relation: str = REPLACE_ONE

    def __post_init__(self) -> None:
        known_relation(self.relation)
        if self.law not in LAWS:
            raise InputError(f"law is {self.law!r}", f"known: {', '.join(LAWS)}")
        if self.scale <= 0 or self.rows < 1:
            raise out_of_range("scale > 0 and rows >= 1")
        if self.law == "gaussian" and exact_root(self.scale**2) is None:
            raise InputError(f"scale {self.scale} is no double", "round it up, to a multiple of 1/32 say")

    @property
    def largest(self) -> int:
        """Return the largest magnitude that a row adds to a total, in the units of the noise."""
        return 1

    def zero_or_one(self) -> Theorem:
        """Return the theorem that a row adds 0 or 1 to the one count there is."""
        if self.law == "laplace":
            return assume_clipped("counts", Fraction(0), Fraction(1), self.relation, "movement")
        return assume_points("counts", [(0,), (1,)], self.relation, "movement")

    def noisy_counts(self, name: str, row: Theorem, delta: Fraction) -> Theorem:
        """Return the theorem for noise on counts, given a row's contribution."""
        if self.law == "laplace":
            noisy = laplace(linear(row), self.scale, Fraction(1), "counts")
        else:
            noisy = lattice_gaussian(differences(row), self.scale**2, "counts")
        return shown_to_all(noisy, name, delta)

    def publish(self, totals: Integers, noise: Noise) -> View:
        """Release the noisy counts."""
        return View(public={"counts": noise.noisy("counts", 0, totals)})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of all counts."""
        counts = view.public["counts"]
        steps = accuracy.reach(self.law, self.scale, Fraction(1), confidence.missed(level) / counts.size)
        return {"counts": accuracy.around(counts, steps, level, "the counts")}


class ClippedNumbers(Additive):
    """Base of mechanisms that add up `columns` numbers of each row, clipped to [`low`, `high`]."""

    low: Fraction
    high: Fraction
    rows: int
    columns: int
    bits: int

    def domain(self) -> Domain:
        """Return columns that reach beyond the interval, so that clipping is exercised."""
        margin = float(self.high - self.low) + 1
        low, high = float(self.low) - margin, float(self.high) + margin
        return Domain(self.rows, (low,) * self.columns, (high,) * self.columns, (False,) * self.columns)

    @property
    def largest(self) -> int:
        """Return the largest magnitude that a row adds to a total, in the units of the noise."""
        return grid.most(max(abs(self.low), abs(self.high)), self.bits)

    def query(self, data: Rows) -> Integers:
        """Return the exact sums, one per column, in grid units."""
        return grid.clipped(data[:, : self.columns], self.low, self.high, self.bits).sum(axis=0)
