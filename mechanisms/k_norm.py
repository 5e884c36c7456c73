"""Private points released once, for others to compute on: noise with a spherical density."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaccount.errors import out_of_range
from dpaccount.noise.laws import double_up
from dpaccount.proof import Theorem, k_norm
from mechanisms.shared import accuracy, confidence, grid, moved_rows
from mechanisms.subject import View, shown_to_all

MOST_COLUMNS = 16  #: limit, since rejection sampling accepts few proposals in many dimensions


@dataclass(frozen=True)
class KNorm(moved_rows.ClippedRows):
    """Release every row z = x + v with v of mass ∝ exp(−`rate`·‖v‖₂) on multiples of 2^−`bits`.

    Rows are clipped to ℓ2 norm `radius` and truncated to the grid.  A row that moves by ℓ costs
    `rate`·(ℓ + γ√columns), γ the grid's step, whatever the dimension; one that is replaced costs
    2·`rate`·`radius`: pure ε, δ = 0.  `unit` is how far a neighbour's row moves, in the data's own
    coordinates; 0: it is replaced.  The noise of one coordinate has deviation near
    √(columns + 1)/rate; beyond about 16 columns Gaussian noise is smaller.
    """

    source: ClassVar[str] = "Hardt & Talwar 2010, Section 3 (K-norm mechanism), on a lattice"
    status: ClassVar[str] = "sound"

    rate: Fraction = Fraction(1, 2)
    radius: Fraction = Fraction(1)
    unit: Fraction = Fraction(0)
    rows: int = 20
    columns: int = 2
    bits: int = 6

    def __post_init__(self) -> None:
        if min(self.rate, self.radius) <= 0 or self.rows < 1 or not 1 <= self.columns <= MOST_COLUMNS:
            raise out_of_range(f"rate > 0, radius > 0, rows >= 1 and columns in 1 ... {MOST_COLUMNS}")
        grid.room(self.radius + 1000 / self.rate, self.bits)
        moved_rows.relation_of(self.unit)

    @property
    def noise_scale(self) -> Fraction:
        """Return 1/rate: a coordinate's deviation is √(columns + 1) times this."""
        return 1 / self.rate

    def proof_at(self, unit: Fraction | None, delta: Fraction) -> Theorem:
        """Return the theorem for one row that moves by `unit`, or is replaced (None)."""
        # Noise on the whole lattice: conditioned on a box, its normaliser would depend on the row, and an ε
        # of 1 would in truth be 1.4 or more.
        points = moved_rows.follows("rows", self.radius, self.columns, self.bits)
        query, bound = moved_rows.bound_on(points, unit)
        pure = k_norm(query, self.rate, bound, grid.step(self.bits), moved_rows.KEY)
        return shown_to_all(moved_rows.each(pure, self.rows), "k-norm", delta)

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of the clipped rows: errors are at most the row's noise norm."""
        rows, alpha = view.public["rows"], confidence.missed(level) / self.rows
        reach = confidence.k_norm(double_up(2**self.bits / self.rate), self.columns, alpha)
        wide = reach * float(grid.step(self.bits))
        return {"rows": accuracy.around(rows, wide, level, "the clipped rows")}
