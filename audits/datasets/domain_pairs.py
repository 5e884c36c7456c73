"""Neighbouring datasets that are drawn, biased towards cases in which sensitivities fail.

Named bases, first and last unit, opposite records, landmarks and numbers in the code come often: a uniform
search would need hundreds of examples for one of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from audits.datasets.bases import BACKGROUNDS, BASES, DRAWN, Pair, between, crowd, dataset
from dpaccount.relation import Adjacency, adjacency
from mechanisms.subject import Domain, Rows

SHARES = (1.0, 1.0, 0.5, 0.01, 1e-6)  #: fractions of the radius by which a record moves
HALVINGS = 12  #: number of powers of two, from 1 down
SHARED_COUNTS = (1, 2, 3, 5)  #: records that share a value, as often as not

Item = TypeVar("Item")


def drawn_pairs(domain: Domain, near: Adjacency, seed: int, marks: tuple[float, ...] = ()) -> Iterator[Pair]:
    """Yield neighbouring pairs without end: the same for a seed in every program.

    `marks` are numbers in the code: records take them as values, and several records share one.
    """
    # Hypothesis drew and shrank them once.  The tours find what a climb towards large movements found, a
    # witness names its base and one record however it was drawn, and what Hypothesis draws depends on the
    # modules that are loaded unless its internals are replaced.
    rng = np.random.default_rng([seed, 23])
    places = marked_columns(domain, (*marks, *domain.low, *domain.high))
    low, high, whole = map(np.array, (domain.low, domain.high, domain.integer))
    known = _landmarks(domain, marks)
    while True:
        rows = _size(rng, domain.rows) if near.rows_vary else domain.rows
        base = _one(rng, (*BASES, "crowd"))
        if base == "crowd":
            column, mark = _one(rng, places)
            several = _one(rng, counts(rows, marks, SHARED_COUNTS))
            base = crowd(several, mark, column, _one(rng, BACKGROUNDS))
        of = int(rng.integers(2**32)) if base.startswith(DRAWN) else 0
        left = dataset(replace(domain, rows=rows), base, of)
        unit = _one(rng, (1, rows, 1 + int(rng.integers(rows)), 1 + int(rng.integers(rows))))
        here, other = (_record(rng, domain, known) for _ in range(2))
        left[unit - 1] = here
        if near.rows_vary:
            yield Pair(left, near.neighbour(left, unit - 1, here), base, of, unit)
            continue
        one_column = np.where(np.arange(len(low)) == len(low) - 1, other, here)
        other = _one(rng, (low + high - here, np.clip(-here, low, high), one_column, other))
        if near.radius is not None:
            step = _one(rng, SHARES) * (near.nearest(here, other) - here)
            other = here + np.where(whole, np.trunc(step), step)
        yield Pair(left, near.neighbour(left, unit - 1, np.clip(other, low, high)), base, of, unit)


def stepping(domain: Domain, relation: str) -> list[Pair]:
    """Return pairs of nearly equal rows, on both sides of a grid step in every number, for any dyadic grid.

    One row is at a power of two, which is on every finer grid; the other is slightly nearer to 0.
    """
    pairs = []
    for number in range(2 * HALVINGS):
        left, unit = dataset(domain, "uniform", number), 1 + number % domain.rows
        signs = np.where(np.arange(len(domain.low)) % 2 * (number % 2), -1.0, 1.0)
        here = np.clip(signs * 2.0 ** -(number // 2), domain.low, domain.high)
        left[unit - 1] = here
        right = adjacency(relation).neighbour(left, unit - 1, here * (1 - 2.0**-40))
        pairs.append(Pair(left, right, "uniform", number, unit))
    return pairs


def marked_columns(domain: Domain, marks: tuple[float, ...]) -> list[tuple[int, float]]:
    """Return (column, mark) for every mark that a column may hold."""
    columns = enumerate(zip(domain.low, domain.high, domain.integer, strict=True))
    return [
        (column, mark)
        for column, (low, high, whole) in columns
        for mark in marks
        if low <= mark <= high and not (whole and mark != np.floor(mark))
    ]


def counts(rows: int, marks: tuple[float, ...], more: tuple[int, ...] = ()) -> list[int]:
    """Return how many records may share a mark: the numbers in the code, those next to them, and `more`."""
    asked = {int(mark) + near for mark in marks if mark == int(mark) for near in (-1, 0, 1)}
    return sorted(count for count in {rows, *more, *asked} if 0 < count <= rows)


def named_coins(seed: int, marks: tuple[float, ...]) -> list[int]:
    """Return seeds of public coins that code may treat specially: the claim's own, 0, numbers in the code."""
    asked = {int(mark) for mark in marks if mark == int(mark) and 0 <= mark < 2**32}
    return sorted({0, 1, seed, *asked})


def _one(rng: np.random.Generator, items: Sequence[Item]) -> Item:
    return items[int(rng.integers(len(items)))]


def _size(rng: np.random.Generator, most: int) -> int:
    """Return the larger size of a pair: the maximum, one of the smallest, or any between."""
    few = [min(size, most) for size in (1, 2, 3)]
    return _one(rng, (most, _one(rng, few), 1 + int(rng.integers(most))))


def _landmarks(domain: Domain, marks: tuple[float, ...]) -> Rows:
    """Return special values of every column, a row for each kind; NaN where a column cannot hold it."""
    low, high = np.array(domain.low), np.array(domain.high)
    numbers = np.array([0.0, 1.0, -1.0, *marks])[:, None] + 0 * low
    values = np.concatenate([[low, high, (low + high) / 2, low + 1, high - 1], numbers])
    values = np.where(np.array(domain.integer), np.floor(values), values)
    return np.where((low <= values) & (values <= high), values, np.nan)


def _record(rng: np.random.Generator, domain: Domain, known: Rows) -> Rows:
    """Return a record: every column at a landmark, on a decimal grid, or anywhere within."""
    size = known.shape[1]
    share = rng.random(size)
    anywhere = between(domain, np.where(rng.random(size) < 0.25, np.round(share, 1), share))
    landmark = known[rng.integers(len(known), size=size), np.arange(size)]
    return np.where((rng.random(size) < 0.5) & ~np.isnan(landmark), landmark, anywhere)
