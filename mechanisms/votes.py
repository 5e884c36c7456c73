"""Scores of public candidates: every row gives each candidate a vote between 0 and a public limit."""

import numpy as np

from dpaccount.noise import Integers
from mechanisms.subject import Rows


def votes(data: Rows, limit: int) -> Integers:
    """Return each candidate's total; a vote is rounded down and clipped to 0 … `limit`, NaN is 0."""
    clean = np.clip(np.nan_to_num(data, nan=0.0), 0, limit)
    total: Integers = np.floor(clean).astype(np.int64).sum(axis=0)
    return total


def width(limit: int, relation: str) -> int:
    """Return the largest range of how the totals move: `limit` for one row, twice that for a swap.

    A row moves every total upwards, by 0 … limit, so under add-remove the range is at most `limit`;
    replacing one is a difference of two such moves (Durfee & Rogers 2019, on monotonic scores).
    """
    return limit if relation == "add-remove" else 2 * limit
