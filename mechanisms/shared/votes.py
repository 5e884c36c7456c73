"""Selection among public candidates by the rows' votes: base of the selection mechanisms."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import REPLACE_ONE, Theorem, assume_range
from mechanisms.shared import accuracy, confidence
from mechanisms.subject import Domain, Rows, View, known_relation


@dataclass(frozen=True)
class ChoiceByVotes:
    """Choose one of `candidates` by their totals; `rate` is the weight of a vote.

    Every row gives each candidate an integer vote, rounded down and clipped to 0 … `limit` (NaN is 0).
    """

    reads: ClassVar[str] = "votes"
    flip: ClassVar[bool] = False  #: whether noise is exponential

    rate: Fraction = Fraction(1, 2)
    candidates: int = 4
    limit: int = 1
    rows: int = 100
    relation: str = REPLACE_ONE

    def __post_init__(self) -> None:
        known_relation(self.relation)
        if self.rate <= 0 or min(self.limit, self.rows) < 1:
            raise out_of_range("rate > 0, limit >= 1 and rows >= 1")
        if self.candidates < 1:
            raise InputError("there is no candidate to choose", "needed candidates >= 1")

    def domain(self) -> Domain:
        """Return one column per candidate, beyond the limit on either side, so that votes are clipped."""
        size = self.candidates
        return Domain(self.rows, (-1.0,) * size, (self.limit + 1.0,) * size, (True,) * size)

    def query(self, data: Rows) -> Integers:
        """Return the candidates' totals."""
        return votes(data, self.limit)

    def totals(self) -> Theorem:
        """Return the change of totals: a row adds 0 … limit to each, a range of at most `limit`.

        Replacing a row is the difference of two such changes (Durfee & Rogers 2019, on monotonic
        scores).
        """
        width = 2 * self.limit if self.relation == REPLACE_ONE else self.limit
        return assume_range("totals", Fraction(width), self.relation, "movement")

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the number of the chosen candidate, from 0."""
        indicator = noise.noisy("choice", 0, self.query(data))
        return View(public={"choice": np.array([indicator.argmax()])})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return how far the chosen candidate's total may be below the largest."""
        most = confidence.choice(self.rate, self.candidates - 1, confidence.missed(level), flip=self.flip)
        high = np.array([most])
        of = "votes by which the chosen candidate's total is below the largest"
        return {"choice": accuracy.interval(0 * high, high, level, of)}


def votes(data: Rows, limit: int) -> Integers:
    """Return the candidates' totals; votes are rounded down and clipped to 0 … `limit`, NaN is 0."""
    clean = np.clip(np.nan_to_num(data, nan=0.0), 0, limit)
    return np.floor(clean).astype(np.int64).sum(axis=0)
