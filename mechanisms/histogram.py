"""Counts over public cells with discrete Gaussian noise, optionally with a public threshold."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, exact_root
from dpaccount.proof import REPLACE_ONE, Theorem, assume_points, differences, lattice_gaussian
from mechanisms.shared import accuracy, confidence
from mechanisms.shared.counts import CellCounts
from mechanisms.subject import View, known_relation, shown_to_all

MAX_LISTED_CELLS = 64  #: maximum number of cells whose shifts a proof lists


@dataclass(frozen=True)
class Histogram(CellCounts):
    """Release how many rows fall into each of `cells` public cells, numbered from 0.

    A number is rounded down; outside the cells (NaN and infinities too) it counts nowhere.  Noise is
    discrete Gaussian on the integers, of standard deviation `sigma`, a double exactly; the privacy
    curve is exact.  With `threshold` above 0, counts below it are shown as 0: the noise in empty
    cells does not appear as people.  The cells must be public; which of them are in use is
    private.
    """

    source: ClassVar[str] = "Canonne, Kamath & Steinke 2020; threshold by post-processing"
    status: ClassVar[str] = "sound"

    sigma: Fraction = Fraction(4)
    cells: int = 5
    rows: int = 100
    threshold: int = 0
    relation: str = REPLACE_ONE

    def __post_init__(self) -> None:
        known_relation(self.relation)
        if self.sigma <= 0 or min(self.cells, self.rows) < 1 or self.threshold < 0:
            raise out_of_range("sigma > 0, cells >= 1, rows >= 1 and threshold >= 0")
        if self.cells > MAX_LISTED_CELLS:
            raise InputError(
                f"at most {MAX_LISTED_CELLS} cells have an exact proof", "use count-by-group for more"
            )
        if exact_root(self.sigma**2) is None:
            raise InputError(f"sigma {self.sigma} is no double", "round it up, to a multiple of 1/32 say")

    def proof(self, delta: Fraction) -> Theorem:
        """Let a row add 1 to one cell or to none: the exact lattice curve of its shifts."""
        points = [(0,) * self.cells]
        points += [tuple(int(i == j) for j in range(self.cells)) for i in range(self.cells)]
        row = assume_points("counts", points, self.relation, "movement")
        return shown_to_all(lattice_gaussian(differences(row), self.sigma**2, "counts"), "histogram", delta)

    def publish(self, totals: Integers, noise: Noise) -> View:
        """Release the noisy counts, those below the threshold as 0."""
        counts = noise.noisy("counts", 0, totals)
        if self.threshold:
            counts = np.where(counts < self.threshold, 0, counts)
        return View(public={"counts": counts})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of all counts; those shown as 0 reach up to the threshold."""
        counts = view.public["counts"].astype(np.int64)
        reach = accuracy.reach("gaussian", self.sigma, Fraction(1), confidence.missed(level) / self.cells)
        high = np.where(counts < self.threshold, self.threshold - 1, counts) + reach
        low = np.where(counts < self.threshold, 0, counts - reach)
        return {"counts": accuracy.interval(low, high, level, "the counts of all cells")}
