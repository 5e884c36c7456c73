"""One of several public candidates, chosen by how rows vote: the exponential mechanism."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError
from dpaccount.kernel import RELATIONS, REPLACE_ONE, Theorem, assume_range
from dpaccount.ledger.receipt import Noise
from dpaccount.noise import Integers
from dpaccount.rules import exponential
from mechanisms.subject import Domain, Rows, View, shown_to_all
from mechanisms.votes import votes, width


@dataclass(frozen=True)
class Exponential:
    """Choose one of `candidates` with weight ∝ exp(`rate`·total).

    Every row gives each candidate an integer vote, clipped to 0 … `limit` (NaN counts as 0).
    The choice is exact: the largest total plus Gumbel noise, compared without rounding.
    """

    source: ClassVar[str] = "McSherry & Talwar 2007, Section 2; Durfee & Rogers 2019 (bounded range)"
    status: ClassVar[str] = "sound"

    rate: Fraction = Fraction(1, 2)
    candidates: int = 4
    limit: int = 1
    rows: int = 100
    relation: str = REPLACE_ONE

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense."""
        if self.relation not in RELATIONS:
            raise InputError(f"relation is {self.relation!r}; known: {', '.join(RELATIONS)}")
        if self.rate <= 0 or min(self.limit, self.rows) < 1:
            raise InputError("needed rate > 0, limit >= 1 and rows >= 1")
        if self.candidates < 1:
            raise InputError("there is no candidate to choose; needed candidates >= 1")

    def domain(self) -> Domain:
        """Return one column per candidate, beyond the limit on either side, so that votes are clipped."""
        size = self.candidates
        return Domain(self.rows, (-1.0,) * size, (self.limit + 1.0,) * size, (True,) * size)

    def query(self, data: Rows) -> Integers:
        """Return the candidates' totals."""
        return votes(data, self.limit)

    def proof(self, delta: Fraction) -> Theorem:
        """Totals move by a function of bounded range; so does the log-probability of every candidate."""
        moved = Fraction(width(self.limit, self.relation))
        totals = assume_range("totals", moved, self.relation, "movement")
        return shown_to_all(exponential(totals, self.rate, "choice"), "exponential", delta)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the number of the chosen candidate, from 0."""
        indicator = noise.noisy("choice", 0, self.query(data))
        return View(public={"choice": np.array([indicator.argmax()])})
