"""Linear queries W·x on the counts x of public cells: Gaussian noise on every answer, exact curve."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, root_up
from dpaccount.proof import REPLACE_ONE, Theorem, assume_points, discrete_gaussian, linear
from mechanisms.histogram import MAX_LISTED_CELLS
from mechanisms.shared import accuracy, confidence
from mechanisms.shared.counts import CellCounts
from mechanisms.subject import Rows, View, known_relation, shown_to_all

WORKLOADS = ("prefix", "ranges", "dyadic")


def matrix(workload: str, cells: int) -> Integers:
    """Return the public matrix: one row per query, one column per cell.

    ``prefix``: cells 0 … i for every i; ``ranges``: every interval of cells; ``dyadic``: every
    interval of 2^j cells that starts at a multiple of 2^j.
    """
    spans = [(i, j) for i in range(cells) for j in range(i + 1, cells + 1)]
    if workload == "prefix":  # dpaccount: never, the field alone decides
        spans = [(0, j) for j in range(1, cells + 1)]
    if workload == "dyadic":  # dpaccount: never, the field alone decides
        spans = [(i, j) for i, j in spans if (j - i) & (j - i - 1) == 0 and i % (j - i) == 0]
    return np.array([[int(i <= cell < j) for cell in range(cells)] for i, j in spans], dtype=np.int64)


@dataclass(frozen=True)
class LinearQueries(CellCounts):
    """Release W·x for the counts x of `cells` public cells; W is one of the workloads of `matrix`.

    A row adds the column of its cell; outside the cells (NaN and infinities too) it adds nothing.
    The noise has standard deviation `sigma` on every answer, and the cost depends on how far two
    columns of W are apart, not on how many queries there are.
    """

    source: ClassVar[str] = "Li, Hay, Rastogi, Miklau & McGregor 2010 (the matrix); Canonne et al. 2020"
    status: ClassVar[str] = "sound"

    sigma: Fraction = Fraction(12)
    workload: str = "dyadic"
    cells: int = 4
    rows: int = 100
    relation: str = REPLACE_ONE

    def __post_init__(self) -> None:
        known_relation(self.relation)
        if self.workload not in WORKLOADS:
            raise InputError(f"workload is {self.workload!r}", f"known: {', '.join(WORKLOADS)}")
        if self.sigma <= 0 or not 1 <= self.cells <= MAX_LISTED_CELLS or self.rows < 1:
            raise out_of_range(f"sigma > 0, cells in 1 ... {MAX_LISTED_CELLS} and rows >= 1")
        if len(matrix(self.workload, self.cells)) > MAX_LISTED_CELLS:
            raise InputError(f"{self.workload} makes more than {MAX_LISTED_CELLS} queries", "use fewer cells")

    @property
    def largest(self) -> int:
        """Return the largest magnitude that a row adds to a total, in the units of the noise."""
        return int(np.abs(matrix(self.workload, self.cells)).max())

    def query(self, data: Rows) -> Integers:
        """Return the exact answers."""
        return matrix(self.workload, self.cells) @ super().query(data)

    def proof(self, delta: Fraction) -> Theorem:
        """Let a row add one column of W or nothing: ℓ2 sensitivity, discrete Gaussian, zCDP."""
        whole = matrix(self.workload, self.cells)
        columns = [tuple(int(v) for v in column) for column in whole.T]
        row = assume_points("answers", [(0,) * len(whole), *columns], self.relation, "movement")
        zcdp = discrete_gaussian(linear(row), self.sigma**2, Fraction(1), "answers")
        return shown_to_all(zcdp, "linear-queries", delta)

    def publish(self, totals: Integers, noise: Noise) -> View:
        """Release the noisy answers, and the counts that fit them best (post-processing)."""
        answers = noise.noisy("answers", 0, totals)
        fitted, *_ = np.linalg.lstsq(matrix(self.workload, self.cells).astype(float), answers, rcond=None)
        return View(public={"answers": answers, "counts": fitted})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of all answers, and of the counts that fit them."""
        whole = matrix(self.workload, self.cells).astype(float)
        queries, alpha = len(whole), confidence.missed(level) / 2
        scale, fit = root_up(self.sigma**2), np.linalg.pinv(whole)
        by_root, by_weight = confidence.combined(((scale, queries),), self.cells, alpha)
        wide = by_root * scale * np.sqrt((fit**2).sum(axis=1)) + by_weight * np.abs(fit).sum(axis=1)
        reach = confidence.gaussian(scale, alpha / queries)
        # A millionth more for the counts, as the fit by least squares is in floats.
        return {
            "answers": accuracy.around(view.public["answers"], reach, level, "the answers"),
            "counts": accuracy.around(view.public["counts"], wide + 1e-6, level, "the counts of all cells"),
        }
