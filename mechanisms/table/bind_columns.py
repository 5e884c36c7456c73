"""Binds a mechanism to a table by a claim's parameters: its columns, and derived parameters.

A mechanism declares the kind of its rows by `reads`.  From the declared columns follow its number
of rows, cells or columns and its bounds; noise and the rest are parameters of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, isqrt
from typing import Any

import numpy as np

from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.noise.samplers import Floats
from mechanisms.table.cells import width
from mechanisms.table.columns import NUMERIC_KINDS, Column, Table
from mechanisms.table.rows import Reading

KEYS = ("column", "columns", "by", "bins")  #: of ``[subject.parameters]``, for the table
SIZE = ("columns", "candidates", "questions")  #: parameters for the number of columns
MOST_BINS = 10_000
FARTHEST_EDGE = 10**15

Given = dict[str, object]  #: parameters that follow from the table


@dataclass(frozen=True)
class Promise:
    """What a claim promises: (ε, δ) under a relation."""

    relation: str
    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True)
class Cells:
    """Numbered cells that a column falls into; `place` gives each code's cell, −1 for none."""

    labels: tuple[str, ...]
    place: Callable[[Floats], Floats]


def bind(made_by: Any, place: Place, table: Table, rows: int, relation: str) -> tuple[Given, Reading]:
    """Return the parameters of `made_by` that a table determines, and how it reads the table.

    `made_by` is the mechanism's class, `place` has the claim's parameters, and `table` is the
    declared table.  The mechanism gets `rows` rows (under add-remove at most), of neighbours under
    `relation`.

    Raises `InputError` for a mechanism that reads no table, and for columns of the wrong kind.
    """
    keys = {key: place.child(key) for key in KEYS if key in place.value}
    kind = getattr(made_by, "reads", None)
    if kind not in ("cells", "number", "numbers", "votes"):
        raise place.wrong("this subject reads no table", "leave [data] out, or name another subject")
    if "column" in keys and "columns" in keys:
        raise place.wrong("both column and columns are given", "give one of them")
    if "column" not in keys and "columns" not in keys:
        raise place.wrong("no column is named", 'say column = "NAME", or columns = ["NAME", …]')
    names = [keys["column"]] if "column" in keys else list(keys["columns"].items())
    columns = [table.named_at(name) for name in names]
    by = table.named_at(keys["by"]) if "by" in keys else None
    known = {field.name for field in fields(made_by)}
    several = kind == "cells" and "keys" in known and by is None
    if kind in ("cells", "number") and len(columns) != 1 and not several:
        raise place.wrong(f"it reads one column, found {len(columns)}", 'say column = "NAME"')
    if "bins" in keys and kind != "cells":
        raise keys["bins"].wrong("bins are for what counts cells", "leave them out")
    with place.placing():
        if any(column.kind == "text" for column in columns):
            given, reading = _texts(columns, by, keys.get("bins"), known)
        elif kind == "cells" and len(columns) > 1:
            given, reading = _named_cells(columns, keys.get("bins"))
        elif kind == "cells":
            given, reading = _cells(columns[0], by, keys.get("bins"))
        elif by is not None and kind != "numbers":
            raise keys["by"].wrong("groups are for counts of cells and sums of columns", "leave by out")
        else:
            given, reading = _numbers(columns, by, made_by)
    if kind == "number":
        known -= set(SIZE)  # candidates of a number are its own
    given |= {"rows": rows, "rounds": rows, "relation": relation}
    return {key: value for key, value in given.items() if key in known}, reading


# ------------------------------------------------------------------ cells


def _cells(column: Column, by: Column | None, bins: Place | None) -> tuple[Given, Reading]:
    cells = cells_of(column, None if bins is None else edges_of(bins))
    if by is None:
        return {"cells": len(cells.labels)}, Reading(
            (column.name,), lambda codes: cells.place(codes[:, 0])[:, None], (-1.0,), {"cells": cells.labels}
        )
    groups = cells_of(by, None)
    width = len(cells.labels)

    def place(codes: Floats) -> Floats:
        group, cell = groups.place(codes[:, 0]), cells.place(codes[:, 1])
        return np.where((group < 0) | (cell < 0), -1.0, group * width + cell)[:, None]

    labels = tuple(f"{group}, {cell}" for group in groups.labels for cell in cells.labels)
    return {"cells": len(labels)}, Reading((by.name, column.name), place, (-1.0,), {"cells": labels})


def _named_cells(columns: list[Column], bins: Place | None) -> tuple[Given, Reading]:
    """Return parameters and reading for rows that name a cell in each of several alike columns."""
    cells = [cells_of(column, None if bins is None else edges_of(bins)) for column in columns]
    labels, names = cells[0].labels, tuple(column.name for column in columns)
    for name, each in zip(names, cells, strict=True):
        if each.labels != labels:
            raise InputError(f"{name} has other cells than {names[0]}", "give them the same values")

    def place(codes: Floats) -> Floats:
        return np.stack([each.place(codes[:, k]) for k, each in enumerate(cells)], axis=1)

    given: Given = {"cells": len(labels), "keys": len(names)}
    return given, Reading(names, place, (-1.0,) * len(names), {"cells": labels})


def _texts(
    columns: list[Column], by: Column | None, bins: Place | None, known: set[str]
) -> tuple[Given, Reading]:
    """Return the parameters and reading where a row names unlisted cells by texts of its columns."""
    name, length = columns[0].name, columns[0].bytes
    if "text" not in known or by is not None or bins is not None:
        raise InputError(
            f"{name} is text, with unlisted values",
            "stable-histogram counts them, without by or bins: else declare a category",
        )
    for column in columns:
        if column.kind != "text" or column.bytes != length:
            raise InputError(
                f"{column.name} is no text as {name} is", "give all columns that type and length"
            )
    names = tuple(column.name for column in columns)
    nothing = (0.0,) * (len(names) * width(length))
    return {"text": length, "keys": len(names)}, Reading(names, lambda codes: codes, nothing)


def cells_of(column: Column, edges: tuple[Fraction, ...] | None) -> Cells:
    """Return the cells of a column: its values, its integers, or the bins between `edges`.

    A bin holds its lower edge, the last one both.  A missing cell is in none, where it counts as nothing.
    """
    cells = _cells_that_are_there(column, edges)
    if not column.gaps:
        return cells
    place = cells.place
    return replace(cells, place=lambda codes: np.where(column.is_gap(codes), -1.0, place(codes)))


def _cells_that_are_there(column: Column, edges: tuple[Fraction, ...] | None) -> Cells:
    if edges is not None:
        if column.kind not in NUMERIC_KINDS:
            raise InputError(f"{column.name} is no number", "leave bins out: its values are the cells")
        ends = np.array([float(edge) for edge in edges])
        if (np.diff(ends) <= 0).any():
            raise InputError("bins do not rise", "give edges from low to high")
        last = len(ends) - 2
        names = [f"[{_written(low)}, {_written(high)})" for low, high in pairwise(ends.tolist())]
        names[-1] = names[-1][:-1] + "]"

        def place(codes: Floats) -> Floats:
            index = np.searchsorted(ends, codes, side="right") - 1
            # The last edge belongs to the last bin, as in NumPy's histograms.
            index = np.where(codes == ends[-1], last, index)
            return np.where(index > last, -1, index).astype(np.float64)

        return Cells(tuple(names), place)
    if column.labels:
        return Cells(column.labels, lambda codes: codes)
    if column.kind != "integer":
        raise InputError(f"{column.name} has no cells", "give bins, the edges between them")
    low, high = (int(end) for end in column.bounds)
    if high - low >= MOST_BINS:
        raise InputError(
            f"{column.name} has more than {MOST_BINS} values", "give bins, the edges between them"
        )
    return Cells(tuple(map(str, range(low, high + 1))), lambda codes: codes - low)


def _written(edge: float) -> str:
    """Return an edge so that different ones read differently."""
    return repr(edge).removesuffix(".0")


def edges_of(place: Place) -> tuple[Fraction, ...]:
    """Return the edges between bins that a document lists; raises `InputError` for too few or too many."""
    edges = tuple(each.number(-FARTHEST_EDGE, FARTHEST_EDGE) for each in place.items())
    if not 2 <= len(edges) <= MOST_BINS + 1:
        raise place.wrong(f"found {len(edges)} edges", f"give 2 to {MOST_BINS + 1}")
    return edges


# ------------------------------------------------------------------ numbers


def _numbers(columns: list[Column], by: Column | None, made_by: Any) -> tuple[Given, Reading]:
    """Return parameters and reading for columns of numbers; with `by`, in the block of a row's group.

    A row's vector is as long as the bounds allow, unless the claim clips it to less.
    """
    for column in columns:
        if column.kind not in (*NUMERIC_KINDS, "boolean"):
            raise InputError(f"{column.name} is a {column.kind}", "give a number, integer or boolean column")
    names = tuple(column.name for column in columns)
    ends = [tuple(map(Fraction, column.bounds)) for column in columns]
    given: Given = {"low": min(low for low, _ in ends), "high": max(high for _, high in ends)}
    if getattr(made_by, "target", False):
        given["reward"] = max(map(abs, ends.pop()))
        if _longest(ends) > 1:
            raise InputError("features are clipped to norm 1, and these may be longer", "use second-moments")
    given["radius"] = _longest(ends)
    given |= dict.fromkeys(SIZE, len(ends))
    if by is None:
        given["bounds"] = "; ".join(f"{low} {high}" for low, high in ends)
        return given, Reading(names, lambda codes: codes, (0.0,) * len(names), {"columns": names})
    groups = cells_of(by, None)
    number, width = len(groups.labels), len(names)

    def place(codes: Floats) -> Floats:
        """Put a row's numbers into the block of its group, if it has one."""
        group, rows = groups.place(codes[:, 0]), np.zeros((len(codes), number, width))
        there = group >= 0
        rows[there, group[there].astype(np.int64)] = codes[there, 1:]
        return rows.reshape(len(codes), number * width)

    def blocks(codes: Floats) -> tuple[Floats, Floats]:
        return groups.place(codes[:, 0]), codes[:, 1:]

    labels = tuple(f"{group}, {name}" for group in groups.labels for name in names)
    all_ends = [Fraction(0), *(end for pair in ends for end in pair)]  # 0 in other groups' blocks
    given |= {"low": min(all_ends), "high": max(all_ends)}
    given |= dict.fromkeys(SIZE, number * width)
    nothing = (0.0,) * (number * width)
    return given, Reading((by.name, *names), place, nothing, {"columns": labels}, blocks)


def _longest(ends: list[tuple[Fraction, ...]]) -> Fraction:
    """Return at least the ℓ2 norm that bounds allow, by less than a millionth of it more."""
    square = sum((max(map(abs, pair)) ** 2 for pair in ends), Fraction(0))
    units = ceil(square * 10**12)
    root = isqrt(units)
    return Fraction(root if root**2 == units else root + 1, 10**6)
