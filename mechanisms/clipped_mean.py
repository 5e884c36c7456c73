"""Mean of clipped numbers: a noisy sum over the public number of rows, or over a noisy count."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import REPLACE_ONE, Theorem, assume_clipped, compose, laplace, linear
from dpaccount.relation import adjacency
from mechanisms.shared import accuracy, confidence, grid
from mechanisms.subject import EXAMPLE, Additive, Domain, Rows, View, known_relation, shown_to_all

COUNT_BITS = 0  #: a count is an integer


@dataclass(frozen=True)
class ClippedMean(Additive):
    """Release the mean of clip(x, low, high) with Laplace noise, in steps of 2^−`bits`.

    Values are centred at the middle of the interval first, which halves what one record can add
    under add-remove.  Under replace-one the number of rows is public and only the sum gets noise, of
    `scale`.  Under add-remove the count is private: it gets noise of `count_scale`, and the mean is
    the quotient, clipped to the interval.
    """

    source: ClassVar[str] = "Dwork, McSherry, Nissim & Smith 2006; quotient by post-processing"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "number"

    scale: Fraction = Fraction(2)
    count_scale: Fraction = Fraction(2)
    low: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(0)})
    high: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(1)})
    rows: int = 100
    relation: str = REPLACE_ONE
    bits: int = 20

    def __post_init__(self) -> None:
        known_relation(self.relation)
        if self.low >= self.high or min(self.scale, self.count_scale) <= 0 or self.rows < 1:
            raise out_of_range("low < high, scale > 0, count_scale > 0 and rows >= 1")
        grid.room(self.rows * self._half + 100 * self.scale, self.bits)

    @property
    def _half(self) -> Fraction:
        return Fraction(self.high - self.low) / 2

    def domain(self) -> Domain:
        """Return one column; values beyond the interval are clipped, so the domain reaches beyond it."""
        margin, middle = float(self.high - self.low) + 1, float(self.low + self._half)
        low, high = float(self.low) - margin, float(self.high) + margin
        return Domain(self.rows, (low,), (high,), (False,), missing=(middle,))

    @property
    def largest(self) -> int:
        """Return the largest magnitude that a row adds to a total, in the units of the noise."""
        return max(grid.most(self._half, self.bits), 1)

    def query(self, data: Rows) -> Integers:
        """Return the exact sum of centred values in grid units, then the number of rows if it is private.

        NaN counts as the middle.
        """
        middle = float(self.low + self._half)
        total = grid.clipped(data - middle, -self._half, self._half, self.bits).sum(axis=0)
        count = [len(data)] * adjacency(self.relation).rows_vary
        return np.concatenate([total, np.array(count, dtype=np.int64)])

    def proof(self, delta: Fraction) -> Theorem:
        """Clipped contributions and Laplace noise; under add-remove composed with a noisy count."""
        centred = assume_clipped("centred-sum", -self._half, self._half, self.relation, "movement")
        total = laplace(linear(centred), self.scale, grid.step(self.bits), "sum")
        if adjacency(self.relation).rows_vary:
            one = assume_clipped("count", Fraction(1), Fraction(1), self.relation, "movement")
            total = compose(total, laplace(linear(one), self.count_scale, grid.step(COUNT_BITS), "count"))
        return shown_to_all(total, "clipped-mean", delta)

    def publish(self, totals: Integers, noise: Noise) -> View:
        """Release the mean, in the data's own units, clipped to the interval."""
        total = noise.noisy("sum", 0, totals[:1]) * float(grid.step(self.bits))
        count = np.array([self.rows])
        if adjacency(self.relation).rows_vary:  # dpaccount: never, the relation alone decides
            count = noise.noisy("count", 0, totals[1:])
        mean = float(self.low + self._half) + total / np.maximum(count, 1)
        return View(public={"mean": np.clip(mean, float(self.low), float(self.high)), "count": count})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the interval of the mean of clipped numbers, and under add-remove of how many there are."""
        alpha = confidence.missed(level)
        private = adjacency(self.relation).rows_vary
        # Two draws share what the level leaves.
        if private:
            alpha /= 2
        wide = accuracy.reach("laplace", self.scale, grid.step(self.bits), alpha)
        off = accuracy.reach("laplace", self.count_scale, grid.step(COUNT_BITS), alpha) if private else 0
        count = view.public["count"]
        mean = self._mean(float(view.public["mean"][0]), int(count[0]), wide, off)
        of = "the mean of clipped numbers"
        intervals: dict[str, object] = {"mean": accuracy.interval(*mean, level, of)}
        return intervals | (
            {"count": accuracy.around(count, off, level, "how many rows there are")} if private else {}
        )

    def _mean(self, mean: float, count: int, wide: float, off: float) -> tuple[Rows, Rows]:
        """Return the ends of the mean if the sum is off by at most `wide` and the count by `off`.

        A clipped mean may come from any sum beyond.  The mean of no rows is the middle.
        """
        middle, half = float(self.low + self._half), float(self._half)
        total = (mean - middle) * max(count, 1)
        slack = wide + (abs(middle) + half) * max(count, 1) * 2.0**-45
        low = -np.inf if mean <= float(self.low) else total - slack
        high = np.inf if mean >= float(self.high) else total + slack
        ends = accuracy.quotient(low, high, max(count - off, 1), max(count + off, 1))
        bounds = middle + np.clip(ends, -half, half) + np.array([-1, 1]) * (abs(middle) + half) * 2.0**-45
        return bounds[:1], bounds[1:]
