"""What mechanisms share that add up clipped numbers."""

from fractions import Fraction

from dpaccount.noise.samplers import Integers
from mechanisms.shared import grid
from mechanisms.subject import Additive, Domain, Rows


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
