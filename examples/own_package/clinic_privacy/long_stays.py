"""A mechanism: how many patients stay longer than a public number of days."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.proof import REPLACE_ONE, Theorem, assume_clipped, laplace, linear
from mechanisms import Domain, InputError, Integers, Noise, Rows, View, shown_to_all


@dataclass(frozen=True)
class LongStays:
    """Release how many of `rows` stays are longer than `days`; discrete Laplace noise of `scale`."""

    source: ClassVar[str] = "Dwork, McSherry, Nissim & Smith 2006"
    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE

    scale: Fraction = Fraction(2)
    days: Fraction = Fraction(7)
    rows: int = 20

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense."""
        if self.scale <= 0 or self.rows < 1:
            raise InputError("a parameter is out of range", "needed scale > 0 and rows >= 1")

    def domain(self) -> Domain:
        """Return one column: days."""
        return Domain(self.rows, (0.0,), (2 * float(self.days) + 1,), (False,))

    def query(self, data: Rows) -> Integers:
        """Return the exact count."""
        return np.array([(data[:, 0] > float(self.days)).sum()], dtype=np.int64)

    def proof(self, delta: Fraction) -> Theorem:
        """Count 0 or 1 for every stay: ℓ1 sensitivity 1, Laplace on the integers."""
        row = assume_clipped("count", Fraction(0), Fraction(1), self.relation, "movement")
        return shown_to_all(laplace(linear(row), self.scale, Fraction(1), "count"), "long-stays", delta)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the noisy count."""
        return View(public={"count": noise.noisy("count", 0, self.query(data))})
