"""A mean in the local model: everyone sends one bounded, unbiased, randomised number."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, root_up
from dpaccount.proof import REPLACE_ONE, Theorem
from mechanisms.shared import accuracy, local_tables, tails
from mechanisms.subject import EXAMPLE, Domain, Rows, View

CHANNELS = ("duchi", "piecewise", "hybrid")


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
        """Refuse parameters that make no sense."""
        if self.channel not in CHANNELS:
            raise InputError(f"channel is {self.channel!r}; known: {', '.join(CHANNELS)}")
        if not 0 < self.epsilon <= 30 or self.low >= self.high:
            raise InputError("needed epsilon in (0, 30] and low < high")
        if not 1 <= self.steps <= 64 or self.rows < 1:
            raise InputError("needed steps in 1 ... 64 and rows >= 1")

    @cached_property
    def _parts(self) -> tuple[local_tables.Table, tuple[Fraction, ...]]:
        """Return (table, values): the chances of every outcome, and the numbers that outcomes stand for."""
        if self.channel == "duchi" or (self.channel == "hybrid" and self.epsilon <= Fraction(61, 100)):
            return self._duchi()
        table, values = self._piecewise()
        if self.channel == "piecewise":
            return table, values
        share = Fraction(math.floor((1 - math.exp(-float(self.epsilon) / 2)) * 2**20), 2**20)
        bit, signs = self._duchi()
        rows = zip(table, bit, strict=True)
        mixed = tuple(tuple(share * p for p in a) + tuple((1 - share) * p for p in b) for a, b in rows)
        return mixed, values + signs

    def _duchi(self) -> tuple[local_tables.Table, tuple[Fraction, ...]]:
        """At place x ∈ [−1, 1]: ±(R + 1)/(R − 1), the positive one with chance ½ + x(R − 1)/(2(R + 1))."""
        tilt = (local_tables.ratio(self.epsilon) - 1) / (local_tables.ratio(self.epsilon) + 1)
        places = [Fraction(i, self.steps) for i in range(-self.steps, self.steps + 1)]
        table = tuple(((1 - x * tilt) / 2, (1 + x * tilt) / 2) for x in places)
        return table, (-1 / tilt, 1 / tilt)

    def _piecewise(self) -> tuple[local_tables.Table, tuple[Fraction, ...]]:
        """At place i: outcomes within h of i have weight R, others 1; the mean is i times a constant.

        The window's share of the outcomes is that of the continuous mechanism, (C − 1)/(2C) with
        C = (e^(ε/2) + 1)/(e^(ε/2) − 1).
        """
        truth, reach = local_tables.ratio(self.epsilon), 1 / math.tanh(float(self.epsilon) / 4)
        share = (reach - 1) / (2 * reach)
        half = max(math.ceil(self.steps * share / (1 - share)), 0)
        edge = self.steps + half
        outcomes = range(-edge, edge + 1)
        places = range(-self.steps, self.steps + 1)
        rows = [[truth if abs(j - i) <= half else Fraction(1) for j in outcomes] for i in places]
        # Σ_j j·weight = (R − 1)(2h + 1)·i, over the sum of weights
        total = len(outcomes) + (truth - 1) * (2 * half + 1)
        unit = total / ((truth - 1) * (2 * half + 1) * self.steps)
        return local_tables.weighted(rows), tuple(j * unit for j in outcomes)

    def domain(self) -> Domain:
        """Return one column; values beyond the interval are clipped, so the domain reaches beyond it."""
        margin, middle = float(self.high - self.low), float(self.low + self.high) / 2
        low, high = float(self.low) - margin, float(self.high) + margin
        return Domain(self.rows, (low,), (high,), (False,), missing=(middle,))

    def query(self, data: Rows) -> Integers:
        """Return everyone's place, from 0 for `low` to 2·`steps` for `high`."""
        middle, half = float(self.low + self.high) / 2, float(self.high - self.low) / 2
        unit = np.clip(np.nan_to_num((data[:, 0] - middle) / half, nan=0.0), -1, 1)
        return np.trunc(unit * self.steps).astype(np.int64) + self.steps

    def proof(self, delta: Fraction) -> Theorem:
        """Every answer is private by itself, and reads one person only: local DP."""
        return local_tables.proof("local-mean", self._parts[0], self.epsilon, self.rows, delta)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Collect everyone's answer; show them as numbers, and their mean."""
        answers = local_tables.answers(self.query(data), noise)
        values = np.array([float(value) for value in self._parts[1]])
        middle, half = float(self.low + self.high) / 2, float(self.high - self.low) / 2
        numbers = middle + half * values[answers]
        return View(public={"answers": numbers, "mean": np.array([numbers.mean()])})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the interval of the mean of everyone's place; an answer by itself has none."""
        values, half = self._parts[1], float(self.high - self.low) / 2
        wide = float(max(values) - min(values))
        reach = half * tails.bounded_mean(wide, self._deviation, self.rows, tails.missed(level))
        of = "the mean of everyone's number, clipped and put in its place"
        return {"mean": accuracy.around(view.public["mean"], reach, level, of)}

    @cached_property
    def _deviation(self) -> float:
        """Return the largest standard deviation of an answer, over all places."""
        table, values = self._parts
        moments = [[sum(p * v**k for p, v in zip(row, values, strict=True)) for k in (1, 2)] for row in table]
        return root_up(max(Fraction(square - mean**2) for mean, square in moments))
