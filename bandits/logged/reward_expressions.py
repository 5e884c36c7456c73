"""Rewards of a logged trial, read from text: the conditions of studies, about the arm's ``position`` as well.

A record's reward depends on that record and declarations alone.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bandits.statistics.arrays import Floats, Integers
from dpaccount.errors import InputError
from mechanisms.statistics import expressions
from mechanisms.table.columns import Column

POSITION: Final = "position"
RIGHT: Final = (
    "write a column, or comparisons joined by and, such as "
    '"visits >= 1 and (1 - position) * spending <= 60"; names with spaces go in backquotes'
)


#: the codes of records' columns, and their arms ↦ for every record whether a condition holds
Holds = Callable[[Mapping[str, Floats], Integers], NDArray[np.bool_]]


def condition(
    text: str, columns: Sequence[Column], positions: Sequence[Fraction], arms: int
) -> tuple[tuple[str, ...], Holds]:
    """Return which of the `columns` a condition reads, and the condition, for `arms` arms at `positions`.

    Raises `InputError` with the wrong part of the text and what would be right.
    """
    placed = POSITION not in [each.name for each in columns]
    ends = (min(positions), max(positions)) if len(positions) == arms else (Fraction(0), Fraction(1))
    at = (Column(POSITION, "number", *ends),) if placed else ()
    names, met = expressions.condition(text, (*columns, *at))
    read = tuple(name for name in names if not placed or name != POSITION)
    if not read:
        raise InputError("the reward reads no column", RIGHT)
    if len(read) == len(names):
        return read, lambda codes, _: met(codes)
    if len(positions) != arms:
        raise InputError("the reward reads the arm's position", "give positions, one number per arm")
    place = np.array(positions, dtype=np.float64)
    return read, lambda codes, arm: met({**codes, POSITION: place[arm]})
