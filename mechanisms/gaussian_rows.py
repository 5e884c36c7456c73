"""Private rows released once, for others to compute on: Gaussian noise on every row by itself."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaccount.errors import out_of_range
from dpaccount.proof import Theorem
from mechanisms.shared import accuracy, grid, moved_rows
from mechanisms.subject import View, shown


@dataclass(frozen=True)
class GaussianRows(moved_rows.ClippedRows):
    """Release every row with Gaussian noise of standard deviation `sigma` in every number.

    Rows are clipped to ℓ2 norm `radius` and truncated to multiples of 2^−`bits`.  `unit` is how far a
    neighbour's row moves, in the data's own coordinates; 0: it is replaced.  Rows at distance ℓ are
    as distinguishable as N(0, 1) and N(ℓ/σ, 1), but for the grid; post-processing of the noisy rows,
    such as their centre or a projection, is free.
    """

    source: ClassVar[str] = "Dwork, McSherry, Nissim & Smith 2006; Canonne, Kamath & Steinke 2020"
    status: ClassVar[str] = "sound"

    sigma: Fraction = Fraction(3, 2)
    radius: Fraction = Fraction(1)
    unit: Fraction = Fraction(0)
    rows: int = 20
    columns: int = 3
    bits: int = 20

    def __post_init__(self) -> None:
        if min(self.sigma, self.radius) <= 0 or min(self.rows, self.columns) < 1:
            raise out_of_range("sigma > 0, radius > 0, rows >= 1 and columns >= 1")
        grid.room(self.radius + 16 * self.sigma, self.bits)
        moved_rows.relation_of(self.unit)

    def proof_at(self, unit: Fraction | None, delta: Fraction) -> Theorem:
        """Return the theorem for one row that moves by `unit`, or is replaced (None)."""
        return shown(self.with_noise(unit, delta, self.sigma, self.columns), "gaussian-rows")

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of the clipped rows."""
        of = "the clipped rows"
        return {"rows": accuracy.sums("gaussian", view.public["rows"], self.sigma, self.bits, level, of)}
