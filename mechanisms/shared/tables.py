"""Local randomisers with finitely many symbols and outcomes: tables, proofs, and bounded numbers.

A table gives every symbol's row of outcome probabilities, exact fractions; ratios within a column are
at most e^ε.  Only the person sees the symbol: each person's message is a separate release.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Floats, Integers, root_up
from dpaccount.proof import (
    REPLACE_ONE,
    Cover,
    Theorem,
    assume_covers,
    assume_points,
    assume_view,
    finite,
    local,
    local_view,
)
from dpaccount.proof.search import approximate
from mechanisms.shared import confidence

Table = tuple[tuple[Fraction, ...], ...]


MIN_EPSILON = Fraction(1, 10**9)  #: least ε of a table, whose entries are multiples of 2^−30


def ratio(epsilon: Fraction) -> Fraction:
    """Return a fraction slightly below e^ε, for ε up to 30; the kernel checks that it is not above.

    Raises `InputError` for an ε so small that every symbol would have the same row.
    """
    if epsilon < MIN_EPSILON:
        raise InputError(
            f"epsilon is {float(epsilon):g}", f"a table of outcomes needed at least {float(MIN_EPSILON):g}"
        )
    # Below e^ε by more than a double errs: an answer with a ratio above it would be refused by the rule.
    return Fraction(math.floor(math.exp(float(epsilon)) * (1 - 1e-12) * 2**30), 2**30)


def weighted(rows: list[list[Fraction]]) -> Table:
    """Return the table of rows of weights, each divided by its sum."""
    totals = [sum(row, Fraction(0)) for row in rows]
    return tuple(tuple(w / total for w in row) for row, total in zip(rows, totals, strict=True))


def k_ary(epsilon: Fraction, cells: int) -> Table:
    """Return k-ary randomised response: the true cell is e^ε times as likely as any other."""
    truth = ratio(epsilon)
    return weighted([[truth if i == j else Fraction(1) for j in range(cells)] for i in range(cells)])


def estimated_counts(table: Table, answers: Integers, people: int) -> NDArray[np.float64]:
    """Return unbiased estimates of how many people are in each cell, from everyone's k-ary answer."""
    truth, lie = map(float, table[0][:2])
    counts = np.bincount(answers, minlength=len(table)).astype(np.float64)
    return (counts - people * lie) / (truth - lie)


def reach_of_counts(table: Table, people: int, level: Fraction) -> float:
    """Return how far any of these estimates may be from its count, for all cells at once."""
    truth, lie = table[0][:2]
    deviation, alpha = root_up(max(p * (1 - p) for p in (truth, lie))), confidence.missed(level) / len(table)
    return confidence.bounded_mean(1.0, deviation, people, alpha) * people / float(truth - lie)


def one_by_one(messages: int, each: int = 1) -> list[Cover]:
    """Return whose row every message reads, `each` of them in turn by the same person."""
    return [(i // each + 1, i // each + 1) for i in range(messages)]


def proof(
    name: str,
    table: Table,
    epsilon: Fraction,
    messages: int,
    delta: Fraction,
    source: str = "public",
    each: int = 1,
) -> Theorem:
    """Every message comes from the row of the person's own symbol: local DP, shown to everyone.

    `name`: the query's and the view's, in the certificate.
    `table`: the chances of all outcomes, a row for each symbol; `epsilon`: what it is proved to cost.
    `messages`, `each`: messages in all, and of one person, one after another.
    `delta`: that of the theorem, at least 0.
    `source`: the origin of the constants that map a person's value to a symbol.
    """
    points = [(symbol,) for symbol in range(len(table))]
    symbol = assume_points(name, points, REPLACE_ONE, "movement", source)
    own = assume_covers(name, one_by_one(messages, each), "movement")
    message = local(finite(symbol, table, epsilon, "answer"), own)
    return local_view(approximate(message, delta), assume_view(name, "everyone", "replay"))


def answers(symbols: Integers, noise: Noise) -> Integers:
    """Return everyone's randomised answer: one release a person, of that person's symbol alone."""
    messages = [noise.noisy("answer", i, symbols[i : i + 1]) for i in range(len(symbols))]
    return np.concatenate(messages)


# ------------------------------------------------------------------ bounded numbers


TABLES: Final = ("duchi", "piecewise", "hybrid")


@dataclass(frozen=True)
class TableOfNumbers:
    """Finitely many outcomes: ``duchi`` (one bit), ``piecewise`` or ``hybrid``, on 2·`steps` + 1 places.

    Duchi, Jordan & Wainwright 2018; Wang, Xiao et al. 2019 (piecewise, hybrid).  Hybrid is piecewise with
    probability 1 − e^(−ε/2) for ε > 0.61, else Duchi.
    """

    name: str
    epsilon: Fraction
    steps: int = 8

    @cached_property
    def parts(self) -> tuple[Table, tuple[Fraction, ...]]:
        """Return (table, values): the outcome probabilities, and the number of every outcome."""
        if self.name == "duchi" or (self.name == "hybrid" and self.epsilon <= Fraction(61, 100)):
            return self._duchi()
        table, values = self._piecewise()
        if self.name == "piecewise":
            return table, values
        share = Fraction(math.floor((1 - math.exp(-float(self.epsilon) / 2)) * 2**20), 2**20)
        bit, signs = self._duchi()
        rows = zip(table, bit, strict=True)
        mixed = tuple(tuple(share * p for p in a) + tuple((1 - share) * p for p in b) for a, b in rows)
        return mixed, values + signs

    def _duchi(self) -> tuple[Table, tuple[Fraction, ...]]:
        """At place x ∈ [−1, 1]: ±(R + 1)/(R − 1), the positive one with chance ½ + x(R − 1)/(2(R + 1))."""
        tilt = (ratio(self.epsilon) - 1) / (ratio(self.epsilon) + 1)
        places = [Fraction(i, self.steps) for i in range(-self.steps, self.steps + 1)]
        table = tuple(((1 - x * tilt) / 2, (1 + x * tilt) / 2) for x in places)
        return table, (-1 / tilt, 1 / tilt)

    def _piecewise(self) -> tuple[Table, tuple[Fraction, ...]]:
        """At place i: outcomes within h of i have weight R, others 1; the mean is i times a constant.

        The window's share of the outcomes is that of the continuous mechanism, (C − 1)/(2C) with
        C = (e^(ε/2) + 1)/(e^(ε/2) − 1).
        """
        truth, reach = ratio(self.epsilon), 1 / math.tanh(float(self.epsilon) / 4)
        share = (reach - 1) / (2 * reach)
        half = max(math.ceil(self.steps * share / (1 - share)), 0)
        edge = self.steps + half
        outcomes = range(-edge, edge + 1)
        places = range(-self.steps, self.steps + 1)
        rows = [[truth if abs(j - i) <= half else Fraction(1) for j in outcomes] for i in places]
        # The mean of j is (R − 1)(2h + 1)·i over the sum of weights: scaled outcomes have the mean i/steps.
        total = len(outcomes) + (truth - 1) * (2 * half + 1)
        unit = total / ((truth - 1) * (2 * half + 1) * self.steps)
        return weighted(rows), tuple(j * unit for j in outcomes)

    @cached_property
    def values(self) -> Floats:
        """Return the number of every outcome, as doubles."""
        return np.array([float(value) for value in self.parts[1]])

    def proof(
        self, name: str, messages: int, delta: Fraction, source: str = "public", each: int = 1
    ) -> Theorem:
        """Return local DP at (ε·`each`, `delta`) of `messages` shown to everyone, `each` of them a person.

        `source` is the origin of the number's reference value: ``dp-output`` of earlier messages.
        """
        return proof(name, self.parts[0], self.epsilon, messages, delta, source, each)

    def places(self, units: Floats) -> Integers:
        """Return the places of numbers, truncated toward zero: from 0 for −1 to 2·`steps` for 1."""
        inside = np.clip(np.nan_to_num(units, nan=0.0), -1, 1)
        return np.trunc(inside * self.steps).astype(np.int64) + self.steps

    @cached_property
    def moments(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Return the mean and the mean square of a message, for every place."""
        table, values = self.parts
        first, second = (
            tuple(sum((p * v**k for p, v in zip(row, values, strict=True)), Fraction(0)) for row in table)
            for k in (1, 2)
        )
        return first, second
