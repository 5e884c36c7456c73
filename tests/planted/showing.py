"""A class that shows whatever it is told to; in a module of its own, which imports little to look through."""

from dataclasses import dataclass
from fractions import Fraction

from mechanisms.laplace_sum import LaplaceSum
from mechanisms.subject import View


@dataclass(frozen=True)
class Shows(LaplaceSum):
    """Shows what `what` makes of the exact sum and of a function that draws the noisy one."""

    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    rows: int = 3
    what: object = None

    def play(self, data, noise, coins):
        exact = self.query(data)
        return View(public=self.what(exact, lambda: noise.noisy("sum", 0, exact)))
