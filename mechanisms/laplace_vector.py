"""Sums of several clipped numbers per unit, each with discrete Laplace noise of its own."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import REPLACE_ONE, Theorem, assume_clipped, compose, laplace, linear
from mechanisms.shared import accuracy, grid
from mechanisms.shared.counts import ClippedNumbers
from mechanisms.subject import EXAMPLE, View, known_relation, shown_to_all


@dataclass(frozen=True)
class LaplaceVector(ClippedNumbers):
    """Release Σ clip(x, low, high) for each of `columns` numbers; noise of `scale`, steps of 2^−`bits`.

    The columns compose: together they cost `columns` times as much as one, which is the ℓ1
    sensitivity of the whole box over the scale.
    """

    source: ClassVar[str] = "Dwork, McSherry, Nissim & Smith 2006, Proposition 1, on a grid"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "numbers"

    scale: Fraction = Fraction(6)
    low: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(0)})
    high: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(1)})
    rows: int = 100
    columns: int = 3
    relation: str = REPLACE_ONE
    bits: int = 20

    def __post_init__(self) -> None:
        known_relation(self.relation)
        if self.low > self.high or self.scale <= 0 or min(self.rows, self.columns) < 1:
            raise out_of_range("low <= high, scale > 0, rows >= 1 and columns >= 1")
        grid.room(self.rows * max(abs(self.low), abs(self.high)) + 100 * self.scale, self.bits)

    def proof(self, delta: Fraction) -> Theorem:
        """Every column is a separate Laplace release; pure ε adds up."""
        columns = []
        for name in self._names():
            clipped = assume_clipped(name, self.low, self.high, self.relation, "movement")
            columns.append(laplace(linear(clipped), self.scale, grid.step(self.bits), name))
        return shown_to_all(compose(*columns), "laplace-vector", delta)

    def publish(self, totals: Integers, noise: Noise) -> View:
        """Release the noisy sums, in the data's own units."""
        released = [noise.noisy(name, 0, totals[j : j + 1]) for j, name in enumerate(self._names())]
        return View(public={"sums": np.concatenate(released) * np.float64(grid.step(self.bits))})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of all sums of clipped numbers."""
        of = "the sums of clipped numbers"
        return {"sums": accuracy.sums("laplace", view.public["sums"], self.scale, self.bits, level, of)}

    def _names(self) -> list[str]:
        return [f"column-{j}" for j in range(1, self.columns + 1)]
