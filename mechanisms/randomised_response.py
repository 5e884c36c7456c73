"""k-ary randomised response: everyone sends the true category or, with public chances, another."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import REPLACE_ONE, Theorem
from mechanisms.shared import accuracy, tables
from mechanisms.subject import Domain, Rows, View


@dataclass(frozen=True)
class RandomisedResponse:
    """Ask each of `rows` people for one of `cells`, numbered from 0; local model, `epsilon` per answer.

    The true cell is sent with probability e^ε/(e^ε + k − 1), every other with 1/(e^ε + k − 1).
    A number is rounded down; outside the cells (NaN too) it counts as cell 0.  Shows all
    answers and unbiased estimates of the cells' counts.
    """

    source: ClassVar[str] = "Warner 1965; Kairouz, Oh & Viswanath 2016 (k-ary)"
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "cells"
    per_row: ClassVar[bool] = True
    relation: ClassVar[str] = REPLACE_ONE

    epsilon: Fraction = Fraction(1)
    cells: int = 2
    rows: int = 100

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 30 or self.cells < 2 or self.rows < 1:
            raise out_of_range("epsilon in (0, 30], cells >= 2 and rows >= 1")

    @cached_property
    def table(self) -> tables.Table:
        """Return the table of outcome probabilities, by category."""
        return tables.k_ary(self.epsilon, self.cells)

    def domain(self) -> Domain:
        """Return one column of integers, one beyond the categories on either side."""
        return Domain(self.rows, (-1.0,), (float(self.cells),), (True,))

    def query(self, data: Rows) -> Integers:
        """Return everyone's category."""
        category = np.floor(np.nan_to_num(data[:, 0], nan=0.0))
        inside = (category >= 0) & (category < self.cells)
        return np.where(inside, category, 0).astype(np.int64)

    def proof(self, delta: Fraction) -> Theorem:
        """Every answer is private by itself, and reads one person only: local DP."""
        return tables.proof("randomised-response", self.table, self.epsilon, self.rows, delta)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Collect everyone's answer; estimate the counts from them."""
        answers = tables.answers(self.query(data), noise)
        counts = tables.estimated_counts(self.table, answers, self.rows)
        return View(public={"answers": answers, "counts": counts})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of the estimated counts of all categories; an answer by itself has none."""
        reach = tables.reach_of_counts(self.table, self.rows, level)
        of = "how many people are in each category"
        return {"counts": accuracy.around(view.public["counts"], reach, level, of)}
