"""Private points of a public box, each released as the centre of a randomised cell."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import REPLACE_ONE, Theorem, assume_points, finite
from mechanisms.shared import accuracy, grid, moved_rows, tables
from mechanisms.subject import EXAMPLE, Domain, Rows, View, shown_to_all


@dataclass(frozen=True)
class CellPoints:
    """Release a cell for every row, the true one with probability e^ε/(e^ε + k − 1).

    The box [`low`, `high`] in each of `columns` numbers is cut into `bins` parts a column, k cells
    in all, 256 at most; values beyond the box count as its edge, NaN as `low`.  A row may be
    replaced by any other: no distance is needed.
    """

    source: ClassVar[str] = "Warner 1965; Kairouz, Oh & Viswanath 2016 (k-ary), over public cells"
    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE
    reads: ClassVar[str] = "numbers"
    per_row: ClassVar[bool] = True

    low: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(0)})
    high: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(1)})
    epsilon: Fraction = Fraction(3)
    rows: int = 20
    columns: int = 2
    bins: int = 4

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 30 or min(self.rows, self.columns) < 1 or self.bins < 2:
            raise out_of_range("epsilon in (0, 30], rows >= 1, columns >= 1 and bins >= 2")
        if self.columns > 8 or self.bins**self.columns > 256:
            raise InputError(
                "there are too many cells",
                "needed at most 8 columns, and bins to the power of columns at most 256",
            )
        grid.spanned(self.low, self.high)

    @cached_property
    def table(self) -> tables.Table:
        """Return the table of outcome probabilities, by a row's cell."""
        return tables.k_ary(self.epsilon, self.bins**self.columns)

    def domain(self) -> Domain:
        """Return rows of the box and beyond it."""
        low, high = float(self.low), float(self.high)
        beyond, wide = (high - low) / 4, self.columns
        missing = (low,) * wide
        return Domain(self.rows, (low - beyond,) * wide, (high + beyond,) * wide, (False,) * wide, missing)

    def query(self, data: Rows) -> Integers:
        """Return the cell of every row, one number each."""
        low, high = float(self.low), float(self.high)
        share = (np.clip(np.nan_to_num(data, nan=low), low, high) - low) / (high - low)
        place = np.clip(np.floor(share * self.bins), 0, self.bins - 1).astype(np.int64)
        return place @ self.bins ** np.arange(self.columns)

    def proof(self, delta: Fraction) -> Theorem:
        """Every row is one symbol, answered once in its own release."""
        symbols = [(symbol,) for symbol in range(len(self.table))]
        cell = assume_points("rows", symbols, self.relation, "movement")
        answer = finite(cell, self.table, self.epsilon, moved_rows.KEY)
        return shown_to_all(moved_rows.each(answer, self.rows), "cell-points", delta)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release a cell for every row, the cell's centre, and how many rows are in each by these answers."""
        cells = moved_rows.released(self.query(data)[:, None], noise)[:, 0]
        place = cells[:, None] // self.bins ** np.arange(self.columns) % self.bins
        low, high = float(self.low), float(self.high)
        centres = low + (place + 0.5) * (high - low) / self.bins
        counts = tables.estimated_counts(self.table, cells, self.rows)
        return View(public={"centres": centres, "cells": cells, "counts": counts})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of the estimated counts of all cells; a row's answer by itself has none."""
        reach = tables.reach_of_counts(self.table, self.rows, level)
        of = "how many rows are in each cell"
        return {"counts": accuracy.around(view.public["counts"], reach, level, of)}
