"""One of several public candidates, chosen by how rows vote: permute-and-flip."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError
from dpaccount.kernel import RELATIONS, REPLACE_ONE, Theorem, assume_range
from dpaccount.ledger.receipt import Noise
from dpaccount.noise import Integers
from dpaccount.rules import permute_and_flip
from mechanisms.subject import Domain, Rows, View, shown_to_all
from mechanisms.votes import votes, width


@dataclass(frozen=True)
class PermuteAndFlip:
    """Choose one of `candidates` with the largest total after exponential noise of `rate`.

    Every row gives each candidate an integer vote, clipped to 0 … `limit` (NaN counts as 0).
    This is report noisy max with exponential noise, and never worse than the exponential mechanism.
    """

    source: ClassVar[str] = "McKenna & Sheldon 2020; Ding et al. 2021 (as report noisy max)"
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
        """Totals move by a function of bounded range: pure ε, which composes as pure."""
        moved = Fraction(width(self.limit, self.relation))
        totals = assume_range("totals", moved, self.relation, "movement")
        return shown_to_all(permute_and_flip(totals, self.rate, "choice"), "permute-and-flip", delta)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the number of the chosen candidate, from 0."""
        indicator = noise.noisy("choice", 0, self.query(data))
        return View(public={"choice": np.array([indicator.argmax()])})
