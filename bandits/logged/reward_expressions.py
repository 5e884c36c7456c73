"""Rewards of a logged trial, read from text: the conditions of studies, about the arm's ``position`` as well.

A record's reward depends on that record and declarations alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from mechanisms.statistics import expressions
from mechanisms.table.columns import Column

POSITION: Final = "position"
RIGHT: Final = (
    "write a column, or comparisons joined by and, such as "
    '"visits >= 1 and (1 - position) * spending <= 60"; names with spaces go in backquotes'
)


@dataclass(frozen=True)
class Condition:
    """A condition: the `columns` that it reads, each once, and the position of each arm, if it is read."""

    columns: tuple[str, ...]
    positions: tuple[Fraction, ...]
    met: expressions.Holds

    def holds(self, codes: Mapping[str, NDArray[np.float64]], arm: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for every record, with the codes of its columns and its arm, whether it holds."""
        where = {POSITION: np.array(self.positions, dtype=np.float64)[arm]} if self.positions else {}
        return self.met({**codes, **where})


def condition(text: str, columns: Sequence[Column], positions: Sequence[Fraction], arms: int) -> Condition:
    """Return the condition that `text` states about `columns`, for `arms` arms at their `positions`.

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
        return Condition(read, (), met)
    if len(positions) != arms:
        raise InputError("the reward reads the arm's position", "give positions, one number per arm")
    return Condition(read, tuple(positions), met)
