"""A quantile of private numbers, chosen among public candidates by the exponential mechanism."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.laws import double_up
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import REPLACE_ONE, Theorem, assume_range, exponential
from mechanisms.shared import accuracy, confidence, grid
from mechanisms.subject import EXAMPLE, Domain, Rows, View, shown_to_all


@dataclass(frozen=True)
class Quantile:
    """Choose one of `candidates` equally spaced numbers of [low, high] close to the `rank`-quantile.

    With c(o) the number of rows below candidate o, its score is −|c(o) − rank·rows|, and a candidate
    is chosen with weight ∝ exp(`rate`·score).  Replacing a row moves every c(o) by at most 1, so
    scores differ by at most 1 either way and the range of the difference is at most 2.  Numbers are
    compared after truncation to steps of 2^−`bits`; NaN counts as 0 and infinities as the bounds.
    """

    source: ClassVar[str] = "McSherry & Talwar 2007; Smith 2011, Algorithm 2, on public candidates"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "number"
    relation: ClassVar[str] = REPLACE_ONE

    rate: Fraction = Fraction(1, 2)
    rank: Fraction = Fraction(1, 2)
    low: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(0)})
    high: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(1)})
    candidates: int = 11
    rows: int = 100
    bits: int = 20

    def __post_init__(self) -> None:
        if self.rate <= 0 or not 0 <= self.rank <= 1 or self.low >= self.high:
            raise out_of_range("rate > 0, rank in [0, 1] and low < high")
        if self.candidates < 2 or self.rows < 1:
            raise out_of_range(f"candidates >= 2 and rows >= 1, found {self.candidates} and {self.rows}")
        grid.room(max(abs(self.low), abs(self.high)), self.bits)
        if self.rows * self._denominator >= 2**60:
            raise InputError("rank has too many digits", "round it to a few")

    @property
    def _denominator(self) -> int:
        """Return the units of one rank, so that scores are integers."""
        return (self.rank * self.rows).denominator

    def domain(self) -> Domain:
        """Return one column; values beyond the interval are clipped, so the domain reaches beyond it."""
        margin = float(self.high - self.low)
        return Domain(self.rows, (float(self.low) - margin,), (float(self.high) + margin,), (False,))

    def places(self) -> Integers:
        """Return the candidates in grid units."""
        low, high, last = self.low * 2**self.bits, self.high * 2**self.bits, self.candidates - 1
        return np.array([(low * (last - i) + high * i) // last for i in range(last + 1)], dtype=np.int64)

    def query(self, data: Rows) -> Integers:
        """Return every candidate's score, in units of 1/denominator of `rank`·`rows`."""
        values = np.sort(grid.clipped(data[:, 0], self.low, self.high, self.bits))
        below = np.searchsorted(values, self.places(), side="left").astype(np.int64)
        return -abs(below * self._denominator - int(self.rank * self.rows * self._denominator))

    def proof(self, delta: Fraction) -> Theorem:
        """Scores differ by a function of range at most 2; bounded range."""
        unit = self._denominator
        scores = assume_range("scores", Fraction(2 * unit), self.relation, "movement")
        return shown_to_all(exponential(scores, self.rate / unit, "quantile"), "quantile", delta)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the chosen candidate, in the data's own units."""
        chosen = noise.noisy("quantile", 0, self.query(data)).argmax()
        return View(public={"quantile": self.places()[chosen : chosen + 1] * float(grid.step(self.bits))})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the bound on the chosen rank's error beyond the best candidate's, in rows."""
        unit, others = self._denominator, self.candidates - 1
        steps = confidence.choice(self.rate / unit, others, confidence.missed(level), flip=False)
        high = np.array([double_up(Fraction(steps, unit))])
        of = "rows that the choice is further from the rank than the best candidate is"
        return {"quantile": accuracy.interval(0 * high, high, level, of)}
