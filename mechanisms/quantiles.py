"""Several quantiles at once, and the whole distribution function, from noisy counts of nested cells."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import Theorem, assume_cell
from dpaccount.relation import adjacency
from mechanisms.shared import accuracy, confidence, grid
from mechanisms.shared.counts import NoisyCounts
from mechanisms.statistics.estimates import below_ends
from mechanisms.subject import EXAMPLE, Domain, Rows, View

BRANCHES = 4  #: subcells of each cell; 4 gives prefixes the least noise, 2 hardly more
DEEPEST = 7


@dataclass(frozen=True)
class Quantiles(NoisyCounts):
    """Release the `ranks`-quantiles of `rows` numbers clipped to [low, high], such as "1/4, 1/2, 3/4".

    The interval is cut into 4^`levels` cells, and those of every level are counted with noise of `law` and
    `scale`: a row is in one cell of each level, so that all quantiles cost what `levels` counts do.  How many
    rows lie below the end of a cell is a sum of a few counts of every level; a quantile is the first end
    below which there are enough, of the rising numbers closest to these sums.  NaN counts as the middle.
    Shows these ends, and the noisy number of rows below every end.
    """

    source: ClassVar[str] = "Hay, Rastogi, Miklau & Suciu 2010; Qardaji, Yang & Li 2013 (four branches)"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "number"

    scale: Fraction = Fraction(8)
    ranks: str = "1/4, 1/2, 3/4"
    low: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(0)})
    high: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(1)})
    levels: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low >= self.high or not 1 <= self.levels <= DEEPEST:
            raise out_of_range(f"low < high and levels in 1 ... {DEEPEST}")
        grid.spanned(self.low, self.high)
        if not 1 <= len(self.wanted) <= 100 or not all(0 < rank < 1 for rank in self.wanted):
            raise InputError(f"ranks is {self.ranks!r}", "needed 1 to 100 numbers between 0 and 1")

    @cached_property
    def wanted(self) -> list[Fraction]:
        """Return the ranks as numbers; raises `InputError` for an invalid rank."""
        try:
            return [Fraction(rank.strip()) for rank in self.ranks.split(",")]
        except (ValueError, ZeroDivisionError):  # dpaccount: never, the field alone decides
            raise InputError(f"ranks is {self.ranks!r}", "write numbers such as 1/4, 0.5, 3/4") from None

    @property
    def cells(self) -> int:
        """Return how many cells the finest level has."""
        return int(BRANCHES**self.levels)

    def domain(self) -> Domain:
        """Return one column; values beyond the interval are clipped, so the domain reaches beyond it."""
        margin, middle = float(self.high - self.low), float(self.low + self.high) / 2
        low, high = float(self.low) - margin, float(self.high) + margin
        return Domain(self.rows, (low,), (high,), (False,), missing=(middle,))

    def query(self, data: Rows) -> Integers:
        """Return the exact counts of all cells, level by level from the coarsest."""
        low, high = float(self.low), float(self.high)
        values = np.where(np.isnan(data[:, 0]), float(self.low + self.high) / 2, data[:, 0])
        share = np.clip((np.clip(values, low, high) - low) / float(self.high - self.low), 0, 1)
        cell = np.minimum((share * self.cells).astype(np.int64), self.cells - 1)
        finest = np.bincount(cell, minlength=self.cells).astype(np.int64)
        sums = [finest.reshape(BRANCHES**level, -1).sum(axis=1) for level in range(1, self.levels + 1)]
        return np.concatenate(sums)

    def proof(self, delta: Fraction) -> Theorem:
        """Let a row add 1 to one cell of each level; noise by the law."""
        row = assume_cell("counts", self.relation, "movement", self.levels)
        return self.noisy_counts("quantiles", row, delta)

    def publish(self, totals: Integers, noise: Noise) -> View:
        """Release noisy counts; show how many rows lie below every end, and the quantiles."""
        below = below_ends(noise.noisy("counts", 0, totals), BRANCHES, self.levels)
        rising = isotonic_regression(
            below
        ).x  # non-decreasing, as a cumulative count is: isotonic regression of the noisy counts
        # A little less: a rank times a total may be rounded up.
        wanted = [float(rank * self._total(below)) - 1e-9 for rank in self.wanted]
        first = np.minimum(np.searchsorted(rising, wanted, side="left"), self.cells)
        return View(public={"quantiles": self.ends[first], "ranks": below})

    @cached_property
    def ends(self) -> NDArray[np.float64]:
        """Return the ends of all cells of the finest level, `low` first, in the data's own units."""
        width = (self.high - self.low) / self.cells
        return np.array([float(self.low + k * width) for k in range(self.cells + 1)])

    def _total(self, below: Integers) -> int:
        vary = adjacency(self.relation).rows_vary
        return int(below[-1]) if vary else self.rows  # dpaccount: never, the relation alone decides

    def _terms(self) -> Integers:
        """Return the number of counts summed for each boundary: the sum of its digits."""
        ones = np.ones((BRANCHES ** (self.levels + 1) - BRANCHES) // (BRANCHES - 1), dtype=np.int64)
        return below_ends(ones, BRANCHES, self.levels)

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of all cumulative counts, and hence of all quantiles."""
        terms, alpha = self._terms(), confidence.missed(level) / self.cells
        each = {
            n: accuracy.reach(self.law, self.scale, Fraction(1), alpha, n) if n else 0
            for n in set(terms.tolist())
        }
        reach = np.array([each[n] for n in terms.tolist()], dtype=np.int64)
        below = view.public["ranks"].astype(np.int64)
        least = np.maximum.accumulate(np.maximum(below - reach, 0))
        most = np.minimum.accumulate((below + reach)[::-1])[::-1]
        known = not adjacency(self.relation).rows_vary
        smallest, largest = (self.rows, self.rows) if known else (int(least[-1]), int(most[-1]))
        first = [self._first(most, rank * smallest) for rank in self.wanted]
        last = [self._first(least, rank * largest) for rank in self.wanted]
        of = "the first ends of cells below which there are enough rows"
        return {
            "quantiles": accuracy.interval(self.ends[first], self.ends[last], level, of),
            "ranks": accuracy.around(below, reach, level, "how many rows lie below the ends of all cells"),
        }

    def _first(self, bounds: Integers, needed: Fraction) -> int:
        """Return the first boundary where a non-decreasing bound is enough; else the last."""
        return min(int(np.searchsorted(bounds, math.ceil(needed), side="left")), self.cells)
