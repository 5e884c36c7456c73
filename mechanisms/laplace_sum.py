"""Sum of numbers clipped to a public interval, with discrete Laplace noise on a grid."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import REPLACE_ONE, Theorem, assume_clipped, laplace, linear
from mechanisms.shared import accuracy, grid
from mechanisms.shared.counts import ClippedNumbers
from mechanisms.subject import EXAMPLE, View, known_relation, shown_to_all


@dataclass(frozen=True)
class LaplaceSum(ClippedNumbers):
    """Release Σ clip(x, low, high) over `rows` numbers; noise of `scale`, steps of 2^−`bits`."""

    source: ClassVar[str] = "Dwork, McSherry, Nissim & Smith 2006; Ghosh, Roughgarden & Sundararajan 2012"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "number"
    columns = 1

    scale: Fraction = Fraction(2)
    low: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(0)})
    high: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(1)})
    rows: int = 100
    relation: str = REPLACE_ONE
    bits: int = 20

    def __post_init__(self) -> None:
        known_relation(self.relation)
        if self.low > self.high or self.scale <= 0 or self.rows < 1:
            raise out_of_range("low <= high, scale > 0 and rows >= 1")
        grid.room(self.rows * max(abs(self.low), abs(self.high)) + 100 * self.scale, self.bits)

    def proof(self, delta: Fraction) -> Theorem:
        """Clipped contributions, ℓ1 sensitivity, Laplace."""
        clipped = assume_clipped("laplace-sum", self.low, self.high, self.relation, "movement")
        pure = laplace(linear(clipped), self.scale, grid.step(self.bits), "sum")
        return shown_to_all(pure, "laplace-sum", delta)

    def publish(self, totals: Integers, noise: Noise) -> View:
        """Release the noisy sum, in the data's own units."""
        released = noise.noisy("sum", 0, totals)
        return View(public={"sum": released * np.float64(grid.step(self.bits))})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the interval of the sum of clipped numbers."""
        of = "the sum of clipped numbers"
        return {"sum": accuracy.sums("laplace", view.public["sum"], self.scale, self.bits, level, of)}
