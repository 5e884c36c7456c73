"""What the careless authors of this folder share: a sound sum of numbers in [0, 100], ε = ½."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.proof import REPLACE_ONE, assume_clipped, laplace, linear
from mechanisms.subject import Domain, View, shown_to_all


@dataclass(frozen=True)
class Author:
    """A sum with discrete Laplace noise; `verdict` is what its class must get, `why` a part of the reason."""

    source: ClassVar[str] = "tests"
    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE
    verdict: ClassVar[str] = "REFUTED"
    why: ClassVar[str] = ""
    highest: ClassVar[float] = 100.0

    rows: int = 20
    scale: Fraction = Fraction(200)

    def domain(self):
        return Domain(self.rows, (0.0,), (self.highest,), (False,))

    def proof(self, delta):
        row = assume_clipped("sum", Fraction(0), Fraction(100), self.relation, "movement")
        name = type(self).__module__.replace("_", "-")
        return shown_to_all(laplace(linear(row), self.scale, Fraction(1), "sum"), name, delta)

    def total(self, data):
        return np.array([np.floor(np.clip(data[:, 0], 0, 100)).astype(np.int64).sum()])

    def noisy(self, data, noise):
        return noise.noisy("sum", 0, self.total(data))

    def play(self, data, noise, coins):
        return View(public={"sum": self.noisy(data, noise)})
