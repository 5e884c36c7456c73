"""Local randomisers with finitely many symbols and outcomes: their tables, and what a proof makes of them.

A table gives every symbol's row of outcome probabilities, exact fractions; ratios within a column are
at most e^ε.  Nobody but the person sees the symbol: each person's message is a release of its own.
"""

import math
from fractions import Fraction

import numpy as np

from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import (
    REPLACE_ONE,
    Theorem,
    assume_covers,
    assume_points,
    assume_view,
    finite,
    local,
    local_view,
)
from dpaccount.proof.search import approximate

Table = tuple[tuple[Fraction, ...], ...]


def ratio(epsilon: Fraction) -> Fraction:
    """Return a fraction slightly below e^ε, for ε up to 30; the kernel checks that it is not above."""
    return Fraction(math.floor(math.exp(float(epsilon)) * (1 - 1e-12) * 2**30), 2**30)


def weighted(rows: list[list[Fraction]]) -> Table:
    """Return the table of rows of weights, each divided by its sum."""
    totals = [sum(row, Fraction(0)) for row in rows]
    return tuple(tuple(w / total for w in row) for row, total in zip(rows, totals, strict=True))


def proof(name: str, table: Table, epsilon: Fraction, rows: int, delta: Fraction) -> Theorem:
    """Every person answers once, from the row of their own symbol: local DP, shown to everyone."""
    points = [(symbol,) for symbol in range(len(table))]
    symbol = assume_points(name, points, REPLACE_ONE, "movement")
    own = assume_covers(name, [(i, i) for i in range(1, rows + 1)], "movement")
    message = local(finite(symbol, table, epsilon, "answer"), own)
    return local_view(approximate(message, delta), assume_view(name, "everyone", "replay"))


def answers(symbols: Integers, noise: Noise) -> Integers:
    """Return everyone's randomised answer: one release a person, of that person's symbol alone."""
    found = [noise.noisy("answer", i, symbols[i : i + 1]) for i in range(len(symbols))]
    whole: Integers = np.concatenate(found)
    return whole
