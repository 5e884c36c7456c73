"""Neighbouring tables worth trying: one person changes or is added among others of a named kind (base).

The others have equal cells, ties, one outlier, or categories in turn; none, some or all of their cells are
missing; they have one row or `max_rows`.  The changed person has all rows at one end, one row, rows of
different categories, missing cells, or other texts.  Typical errors in counts, sums, means, groups and
contribution bounding show on one of these.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.datasets.bases import Pair
from audits.datasets.forms import MISSING
from audits.datasets.frame import Frame, first_to_last, public_order
from audits.datasets.named_pairs import different
from dpaccount.noise.samplers import Floats
from dpaccount.relation import adjacency

MOST_BASES = 150

#: (rows, columns): the codes of one person's rows; or those of the others who stand last (True) or first
Person = Floats | bool


@dataclass(frozen=True)
class Base:
    """How the others' table is made: `cells`, `gaps` (missing ones), `rows` of each, number of `others`."""

    cells: str
    gaps: str
    rows: str
    others: int

    def sentence(self) -> str:
        """Return the base in words."""
        gaps = "" if self.gaps == "none" else f", missing: {self.gaps}"
        rows = "" if self.rows == "one" else f", {self.rows} rows each"
        return f"{self.others} others: {self.cells}{gaps}{rows}"


class _Ends:
    """The ranges of a frame's columns as arrays, and cells made from them."""

    def __init__(self, frame: Frame) -> None:
        self.frame, self.most = frame, frame.table.max_rows
        ends = np.array([frame.ends(place) for place in range(frame.columns)])
        self.low, self.high = ends[:, 0], ends[:, 1]
        self.integer = np.array([column.kind != "number" for column in frame.table.columns])
        self.coded = np.array([column.kind not in ("number", "integer") for column in frame.table.columns])
        #: the last code, of categories and texts also that of a value which was not declared
        self.top = np.where(
            self.coded, [frame.codes(place) - 1.0 for place in range(frame.columns)], self.high
        )

    def counted(self, steps: NDArray[np.int64]) -> Floats:
        """Return each column's low end plus a number of whole steps, modulo its range."""
        return np.minimum(self.low + np.mod(steps[:, :, None], self.top - self.low + 1), self.top)

    def rounded(self, cells: Floats) -> Floats:
        return np.where(self.integer, np.floor(cells), cells)

    def between(self, share: Floats) -> Floats:
        """Return cells at these fractions of the range; categories are equally likely."""
        far = np.where(self.integer, self.top - self.low + 1 - 1e-9, self.high - self.low)
        return self.rounded(self.low + far * share)

    def in_turn(self, first: int, rows: int, numbers: Floats) -> Floats:
        """Return rows that cycle through the categories, with the numbers of a record."""
        turn = np.mod(np.arange(first, first + rows)[:, None], self.top - self.low + 1)
        return np.where(self.coded, turn, numbers)


Sizes = tuple[int, int]
CELL_FILLS: dict[str, Callable[[_Ends, Sizes, np.random.Generator], Floats]] = {
    "any cells": lambda e, n, rng: e.between(rng.random((*n, len(e.low)))),
    "all low": lambda e, n, _: np.broadcast_to(e.low, (*n, len(e.low))),
    "all high": lambda e, n, _: np.broadcast_to(e.high, (*n, len(e.low))),
    "cells at the ends": lambda e, n, rng: np.where(rng.random((*n, len(e.low))) < 0.5, e.low, e.high),
    "half high": lambda e, n, _: (
        np.where(np.arange(n[0])[:, None, None] < n[0] // 2, e.high, e.low) + np.zeros((*n, 1))
    ),
    "categories in turn": lambda e, n, _: (
        np.stack([e.in_turn(k, n[1], e.high) for k in range(n[0])]) if n[0] else np.zeros((*n, len(e.low)))
    ),
    "values in turn": lambda e, n, _: e.counted(np.add.outer(np.arange(n[0]), np.arange(n[1]))),
    "all in the middle": lambda e, n, _: np.broadcast_to(e.rounded((e.low + e.high) / 2), (*n, len(e.low))),
    "few different": lambda e, n, rng: e.between(rng.random((3, len(e.low))))[rng.integers(0, 3, n)],
    "one high": lambda e, n, _: (
        np.where(np.arange(n[0])[:, None, None] == n[0] - 1, e.high, e.low) + np.zeros((*n, 1))
    ),
    "near low": lambda e, n, rng: e.rounded(
        e.low + (e.high - e.low) * 10.0 ** (-8 * rng.random((*n, len(e.low))))
    ),
}


def candidates(frame: Frame, seed: int, most: int = 800) -> list[Pair]:
    """Return up to `most` different pairs (fewer if tables are large), from every base in turn."""
    makers = [_of_base(frame, base, number, seed) for number, base in enumerate(bases(frame))]
    return different([_as_others(frame, seed), *makers], frame.rows * frame.width, most)


def _as_others(frame: Frame, seed: int) -> Iterator[Pair]:
    """Yield pairs of a person who holds what others hold: one row each, or all that they may have."""
    # Only here does code show its fault that drops equal rows, takes ranks, or keeps the first row of a
    # group.
    alone = adjacency(frame.relation).rows_vary
    sizes = (frame.rows - 1, frame.rows // 2, frame.table.max_rows) if alone else (frame.rows - 1,)
    rows, cells = ("one", "1 or more"), ("values in turn", "any cells")
    order = public_order(frame.rows, frame.table.max_rows).sum(axis=1)
    for size, row, cell, last in itertools.product(dict.fromkeys(sizes), rows, cells, (True, False)):
        if frame.table.max_rows > 1 and size < frame.rows:
            sides: list[Person] = [last] if alone else [last, persons(frame)["one low"]]
            unit = order.argmin() if last else order.argmax()
            yield from _pair(frame, Base(cell, "none", row, size), int(unit), sides, seed)


def bases(frame: Frame) -> list[Base]:
    """Return the bases, the simplest first."""
    missing = [k for k, each in enumerate(frame.gaps) if each]
    names = [frame.table.columns[k].name for k in missing]
    gaps = ["none", "a third", "all but one", *(f"column {name}" for name in names[:3]), "all"]
    rows = [str(frame.table.max_rows), "1 or more", "one"] if frame.table.max_rows > 1 else ["one"]
    added = adjacency(frame.relation).rows_vary
    others = list(dict.fromkeys(n for n in (frame.rows - 1, 1, 0, frame.rows // 2) if 0 <= n < frame.rows))
    sizes = others if added else others[:1]
    choices: tuple[list[Any], ...] = (list(CELL_FILLS), gaps if missing else gaps[:1], rows, sizes)
    each = [list(enumerate(choice)) for choice in choices]
    ranked = sorted(itertools.product(*each), key=lambda ways: sum(rank for rank, _ in ways))
    return [Base(*(value for _, value in ways)) for ways in ranked][:MOST_BASES]


def crowd(frame: Frame, base: Base, unit: int, seed: int) -> Floats:
    """Return the records of the others, with every name but `unit`'s."""
    rng = np.random.default_rng([seed, 17])
    ends, size = _Ends(frame), (base.others, frame.table.max_rows)
    cells = np.array(CELL_FILLS[base.cells](ends, size, rng), dtype=np.float64)
    gone = np.zeros(cells.shape, dtype=bool)
    if base.gaps == "a third":
        gone = rng.random(cells.shape) < 1 / 3
    elif base.gaps.startswith("column "):
        gone[..., [column.name for column in frame.table.columns].index(base.gaps[7:])] = True
    elif base.gaps != "none":
        gone[: base.others - (base.gaps == "all but one")] = True
    cells[gone & np.array(frame.gaps)] = MISSING
    full = {"1 or more": rng.integers(1, size[1] + 1, base.others), "one": np.ones(base.others)}
    counts = full.get(base.rows, np.full(base.others, float(size[1])))
    owners = [who for who in range(frame.rows) if who != unit][: base.others]
    return np.column_stack([owners, counts, cells.reshape(base.others, size[1] * frame.columns)])


def persons(frame: Frame) -> dict[str, Floats]:
    """Return special persons, by a description of their rows."""
    ends, most = _Ends(frame), frame.table.max_rows
    gaps = np.array(frame.gaps)
    ends_of = {"low": ends.low, "high": ends.high, "zero": np.clip(0.0, ends.low, ends.high)}
    ends_of["other"] = np.where(ends.coded, ends.top, ends.high)
    ends_of["missing"] = np.where(gaps, MISSING, ends.low)
    for place in range(frame.columns):
        for base, other in (("low", "high"), ("high", "low"), ("high", "missing"), ("low", "missing")):
            one = ends_of[base].copy()
            one[place] = ends_of[other][place]
            ends_of[f"{base}, column {place} {other}"] = one
    kinds = {f"one {name}": record[None] for name, record in ends_of.items()}
    kinds |= {f"full {name}": np.tile(record, (most, 1)) for name, record in ends_of.items()}
    for name in ("high", "low", "missing"):
        kinds[f"in turn {name}"] = ends.in_turn(0, most, ends_of[name])
    share = (np.arange(most)[:, None] + 0.5) / most
    kinds["all different"] = ends.between(np.repeat(share, frame.columns, axis=1))  # integers may be groups
    kinds["high then low"] = np.where(np.arange(most)[:, None] % 2, ends.low, ends.high)
    return kinds


FIRST_PAIRS = (
    ("in turn high", "one low"),
    ("full high", "full low"),
    ("all different", "one low"),
    ("full high", "one missing"),
    ("full high", "one low"),
    ("one high", "one low"),
    ("in turn high", "full missing"),
    ("one other", "one low"),
    ("full low", "one high"),
    ("in turn high", "one zero"),
)  #: the person on the left and on the right, tried first: opposites in typical ways
ALONE = (
    "in turn high",
    "full high",
    "all different",
    "one low",
    "full missing",
    "one other",
    "full low",
    "one high",
    "one zero",
)


def _of_base(frame: Frame, base: Base, number: int, seed: int) -> Iterator[Pair]:
    """Yield pairs over one base; each base starts with another pair of persons."""
    known = persons(frame)
    rng = np.random.default_rng([seed, 7, number])
    added = adjacency(frame.relation).rows_vary
    first: list[tuple[str, ...]] = [(name,) for name in ALONE] if added else list(FIRST_PAIRS)
    choices: list[tuple[str, ...]] = (
        [(name,) for name in known] if added else list(itertools.combinations(known, 2))
    )
    start = number % len(first)
    first = first[start:] + first[:start]
    rest = [choices[k] for k in rng.permutation(len(choices))]
    for layer, names in enumerate(dict.fromkeys([*first, *rest])):
        units = (frame.rows - 1, 0, first_to_last(frame.rows, frame.table.max_rows))
        unit = units[(layer + number) % len(units)]
        yield from _pair(frame, base, unit, [known[name] for name in names], seed + number)


def _pair(frame: Frame, base: Base, unit: int, sides: list[Person], seed: int) -> Iterator[Pair]:
    """Yield the pair with either of two persons among the others, or with and without one, unless equal."""
    others = crowd(frame, base, unit, seed)
    held = [_held(frame, others, last=rows) if isinstance(rows, bool) else rows for rows in sides]
    neighbours = [_with(frame, others, unit, rows) for rows in held if len(rows)]
    if len(neighbours) == len(sides):
        left, right = neighbours if len(sides) == 2 else (*neighbours, frame.data(others))
        if left.tobytes() != right.tobytes():
            yield Pair(left, right, base.sentence())


def _held(frame: Frame, others: Floats, *, last: bool) -> Floats:
    """Return the first rows of the others whose first row stands last, or first, in the public order."""
    place = public_order(frame.rows, frame.table.max_rows)[others[:, 0].astype(np.int64), 0]
    order, most = np.argsort(place, kind="stable"), frame.table.max_rows
    return others[order[-most:] if last else order[:most], 2 : 2 + frame.columns]


def _with(frame: Frame, others: Floats, unit: int, rows: Floats) -> Floats:
    """Return the table of the others and one more person, in the order of their numbers."""
    padded = np.zeros((frame.table.max_rows, frame.columns))
    padded[: len(rows)] = rows
    at = int((others[:, 0] < unit).sum()) if len(others) else 0
    return frame.data(np.insert(others, at, [unit, len(rows), *padded.ravel()], axis=0))


def random_pairs(frame: Frame, seed: int, count: int) -> list[Pair]:
    """Return pairs of any base, any unit, and persons that are named or have any cells."""
    rng = np.random.default_rng([seed, 13])
    all_bases, ends = bases(frame), _Ends(frame)
    known: list[Person] = [*persons(frame).values(), True, False]
    pairs: list[Pair] = []
    for number in range(count):
        sides = [
            known[rng.integers(len(known))] if rng.random() < 0.5 else _any_person(frame, ends, rng)
            for _ in range(adjacency(frame.relation).contributions)
        ]
        base = all_bases[rng.integers(len(all_bases))]
        pairs += _pair(frame, base, int(rng.integers(frame.rows)), sides, seed + number)
    return pairs


def _any_person(frame: Frame, ends: _Ends, rng: np.random.Generator) -> Floats:
    rows = int(rng.integers(1, frame.table.max_rows + 1))
    cells = ends.between(rng.random((rows, frame.columns)))
    cells[(rng.random(cells.shape) < 0.2) & np.array(frame.gaps)] = MISSING
    return cells
