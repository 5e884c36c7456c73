"""Counts of the cells that many people are in, out of so many cells that most are empty."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, exact_root
from dpaccount.proof import ADD_REMOVE, Theorem, assume_cell, stable_histogram
from mechanisms.histogram import counts_of
from mechanisms.shared import accuracy, tails
from mechanisms.subject import Domain, Rows, View, shown


@dataclass(frozen=True)
class StableHistogram:
    """Release the counts of cells that are in use and whose noisy count reaches `threshold`.

    Only such cells get noise, so that a million empty ones cost no time; discrete Laplace noise of
    `scale`, a double exactly since δ rises with it; (1/scale, δ)-private under add-remove.  A number
    is rounded down; outside the `cells` (NaN and infinities too) it counts as cell 0.
    """

    source: ClassVar[str] = "Korolova, Kenthapadi, Mishra & Ntoulas 2009; Bun, Nissim & Stemmer 2016"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "cells"
    relation: ClassVar[str] = ADD_REMOVE

    scale: Fraction = Fraction(1)
    threshold: int = 32
    cells: int = 50
    rows: int = 100

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense."""
        if self.scale <= 0 or self.threshold < 2 or min(self.cells, self.rows) < 1:
            raise InputError("needed scale > 0, threshold >= 2, cells >= 1 and rows >= 1")
        if exact_root(self.scale**2) is None:
            raise InputError(f"scale {self.scale} is no double; round it, to a multiple of 1/32 say")

    def domain(self) -> Domain:
        """Return one column of integers, one beyond the cells on either side."""
        return Domain(self.rows, (-1.0,), (float(self.cells),), (True,))

    def query(self, data: Rows) -> Integers:
        """Return the exact counts."""
        counts = counts_of(data, self.cells)
        counts[0] += len(data) - counts.sum()
        return counts

    def proof(self, delta: Fraction) -> Theorem:
        """Every row adds 1 to one cell; a cell of its own shows it with a small probability."""
        cells = assume_cell("counts", self.relation, "movement")
        return shown(stable_histogram(cells, self.scale, self.threshold, delta, "counts"), "stable-histogram")

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the cells that are shown, and their noisy counts."""
        counts = noise.noisy("counts", 0, self.query(data))
        return View(public={"cells": np.flatnonzero(counts), "counts": counts[counts > 0]})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of the counts that are shown, and of those of all other cells.

        Noise is drawn for as many cells as are in use: at most one for every row.
        """
        alpha, counts = tails.missed(level) / min(self.cells, self.rows), view.public["counts"]
        reach = tails.laplace(float(self.scale), alpha)
        others = np.array(self.threshold - 1 + reach)
        return {
            "counts": accuracy.around(counts, reach, level, "the counts of the cells that are shown"),
            "others": accuracy.interval(0 * others, others, level, "the count of any other cell"),
        }
