"""Local randomisers with finitely many symbols and outcomes: their tables and their proofs.

A table gives every symbol's row of outcome probabilities, exact fractions; ratios within a column are
at most e^ε.  Only the person sees the symbol: each person's message is a separate release.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, root_up
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
