"""A mean in the local model: everyone sends one bounded, unbiased, randomised number."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, root_up
from dpaccount.proof import REPLACE_ONE, Theorem
from mechanisms.shared import accuracy, confidence, tables
from mechanisms.shared.tables import TABLES, TableOfNumbers
from mechanisms.subject import EXAMPLE, Domain, Rows, View


@dataclass(frozen=True)
class LocalMean:
    """Ask each of `rows` people for a number in [low, high]; local model, `epsilon` per answer.

    Numbers are clipped (NaN to the middle) and truncated to 2·`steps` + 1 places; an answer's expected
    value is the place exactly.  The `channel` is ``duchi`` (one bit, the least variance of any for
    small ε), ``piecewise`` (a window around the truth is e^ε times as likely as elsewhere) or
    ``hybrid`` (piecewise with probability 1 − e^(−ε/2) for ε > 0.61, else Duchi).
    """

    source: ClassVar[str] = "Duchi, Jordan & Wainwright 2018; Wang, Xiao et al. 2019 (piecewise, hybrid)"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "number"
    relation: ClassVar[str] = REPLACE_ONE

    epsilon: Fraction = Fraction(1)
    channel: str = "duchi"
    low: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(-1)})
    high: Fraction = field(kw_only=True, metadata={EXAMPLE: Fraction(1)})
    steps: int = 8
    rows: int = 100

    def __post_init__(self) -> None:
        if self.channel not in TABLES:
            raise InputError(f"channel is {self.channel!r}", f"known: {', '.join(TABLES)}")
        if not 0 < self.epsilon <= 30 or self.low >= self.high:
            raise out_of_range("epsilon in (0, 30] and low < high")
        if not 1 <= self.steps <= 64 or self.rows < 1:
            raise out_of_range("steps in 1 ... 64 and rows >= 1")

    @cached_property
    def _channel(self) -> TableOfNumbers:
        return TableOfNumbers(self.channel, self.epsilon, self.steps)

    def domain(self) -> Domain:
        """Return one column; values beyond the interval are clipped, so the domain reaches beyond it."""
        margin, middle = float(self.high - self.low), float(self.low + self.high) / 2
        low, high = float(self.low) - margin, float(self.high) + margin
        return Domain(self.rows, (low,), (high,), (False,), missing=(middle,))

    def query(self, data: Rows) -> Integers:
        """Return everyone's place, from 0 for `low` to 2·`steps` for `high`."""
        middle, half = float(self.low + self.high) / 2, float(self.high - self.low) / 2
        return self._channel.places((data[:, 0] - middle) / half)

    def proof(self, delta: Fraction) -> Theorem:
        """Every answer is private by itself, and reads one person only: local DP."""
        return self._channel.proof("local-mean", self.rows, delta)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Collect everyone's answer; show them as numbers, and their mean."""
        answers = tables.answers(self.query(data), noise)
        middle, half = float(self.low + self.high) / 2, float(self.high - self.low) / 2
        numbers = middle + half * self._channel.values[answers]
        return View(public={"answers": numbers, "mean": np.array([numbers.mean()])})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the interval of the mean of everyone's place; an answer by itself has none."""
        values, half = self._channel.parts[1], float(self.high - self.low) / 2
        wide, moments = float(max(values) - min(values)), zip(*self._channel.moments, strict=True)
        deviation = root_up(max(square - mean**2 for mean, square in moments))  # the largest, over all places
        reach = half * confidence.bounded_mean(wide, deviation, self.rows, confidence.missed(level))
        of = "the mean of everyone's number, clipped and put in its place"
        return {"mean": accuracy.around(view.public["mean"], reach, level, of)}
