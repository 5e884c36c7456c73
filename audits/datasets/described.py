"""Parses descriptions of a function's data from claims, files and options: arrays, or tables."""

from fractions import Fraction
from typing import Any

import numpy as np

from audits.datasets.forms import FORMS, MISSING, Matrix, check_installed
from audits.datasets.frame import Frame
from audits.datasets.shape import ARRAY, Described, Neighbourhood, Shape, array_shape, read_dataset
from dpaccount.documents import Place
from mechanisms.table.columns import read_table

FORM = "pandas"  #: the default


def read_data(place: Place, relation: str, radius: Fraction | None) -> Described:
    """Return the data that ``[subject.data]`` describes; raises `InputError` with the key that is wrong."""
    tabular = isinstance(place.value, dict) and "columns" in place.value
    if tabular:
        for key in ARRAY:
            if key in place.value:
                raise place.child(key).wrong("this describes an array", "leave it out beside columns")
        table = place.table(("rows", "columns"), ("id", "max_rows", "as", "left", "right"))
        shape: Neighbourhood = _frame(place, table, relation)
    else:
        table = place.table(("shape", "low", "high"), ("dtype", "left", "right"))
        with place.placing():
            shape = array_shape(table, relation, radius)
    if ("left" in table) != ("right" in table):
        raise place.wrong("a pair has two sides", "give both left and right, or neither")
    if "left" not in table:
        return Described(shape)
    return paired(shape, table["left"], table["right"], None if tabular else place)


def _frame(place: Place, table: dict[str, Place], relation: str) -> Frame:
    form = table["as"].text(*FORMS) if "as" in table else FORM
    declared, gaps = _columns(table["columns"])
    kept = {key: place.value[key] for key in ("rows", "id", "max_rows") if key in place.value}
    declaration = read_table(Place({**kept, "columns": declared}, place.file, place.at, place.toml))
    with place.placing():
        check_installed(form)
        may_miss = tuple(gaps[each.name](each) for each in declaration.columns)
        return Frame(declaration, form, may_miss, relation)


def _columns(place: Place) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns as a claim on a table declares them; and whether a column's cells may be missing."""
    plain: dict[str, Any] = {}
    gaps: dict[str, Any] = {}
    if not isinstance(place.value, dict):
        raise place.wrong("no column is declared", 'write NAME = { type = "number", low = 0, high = 1 }')
    for name, column in place.value.items():
        plain[name], may_miss = column, None
        if isinstance(column, dict):
            if column.get("type") == "date":
                raise place.child(name).wrong("dates are read by studies alone", "declare text")
            plain[name] = {key: value for key, value in column.items() if key != "missing_cells"}
            may_miss = place.child(name).child("missing_cells").flag() if "missing_cells" in column else None
        gaps[name] = lambda read, may_miss=may_miss: read.missing is None if may_miss is None else may_miss
    return plain, gaps


# ------------------------------------------------------------------ a pair


def paired(shape: Neighbourhood, left: Place, right: Place, at: Place | None = None) -> Described:
    """Return data with two written datasets; refuses what are no neighbours, an error `at` a place."""
    if isinstance(shape, Frame):
        shape, one, two = _tables(shape, left, right)
    elif isinstance(shape, Shape):
        one, two = (read_dataset(side, shape) for side in (left, right))
    if np.array_equal(one, two) or not shape.neighbours(one, two):
        changed = "one person's rows" if isinstance(shape, Frame) else "one record"
        raise (at or right).wrong(
            f"left and right are no neighbours under {shape.relation}", f"change {changed} only"
        )
    return Described(shape, (one, two))


def _tables(frame: Frame, left: Place, right: Place) -> tuple[Frame, Matrix, Matrix]:
    """Return the frame with the names and texts of two written tables, and these."""
    identity = frame.table.identity
    owners: set[str] = set()
    texts: dict[str, None] = {}
    for row in [*left.items(), *right.items()]:
        cells = row.table(tuple(frame.layout.names), ())
        if identity is not None:
            owners.add(cells[identity].text())
        for column in frame.table.columns:
            value = cells[column.name].value
            free = column.kind == "text" or (column.kind == "category" and column.other)
            new = free and isinstance(value, str) and value not in column.values
            if new and column.name != identity:
                texts[value] = None
    if len(owners) > frame.rows:
        raise left.wrong(f"found {len(owners)} persons", f"there are at most rows = {frame.rows}")
    named = frame.named(tuple(sorted(owners)) if identity else (), tuple(texts))
    return named, _matrix(named, left), _matrix(named, right)


def _matrix(frame: Frame, place: Place) -> Matrix:
    rows, counts = [], dict.fromkeys(range(frame.rows), 0)
    for number, row in enumerate(place.items()):
        identity = frame.table.identity
        who = number if identity is None else frame.owners.index(row.child(identity).text())
        if who not in counts or counts[who] == frame.table.max_rows:
            raise row.wrong("more rows than are declared", "keep to rows and max_rows")
        counts[who] += 1
        whose = 0.0 if identity is None else float(who)
        rows.append([whose, *(_code(frame, k, row) for k in range(frame.columns))])
    return np.array(rows, dtype=np.float64).reshape(len(rows), 1 + frame.columns)


def _code(frame: Frame, place: int, row: Place) -> float:
    """Return the code of a written cell; refuses what the declaration excludes."""
    column = frame.table.columns[place]
    cell = row.child(column.name)
    if column.name == frame.table.identity:
        return 0.0
    if cell.value is None:
        if not frame.gaps[place]:
            raise cell.wrong("a missing cell", "give a value, or declare missing_cells = true")
        return MISSING
    if column.kind == "boolean":
        return float(cell.flag())
    if column.kind in ("category", "text"):
        text = cell.text()
        known = (*column.values, *(frame.texts if column.kind == "text" or column.other else ()))
        if text not in known:
            raise cell.wrong(f"{text[:60]!r} is no value of {column.name}", f"known: {', '.join(known)}")
        return float(known.index(text))
    number = cell.number()
    low, high = column.bounds
    if not low <= number <= high or (column.kind == "integer" and number.denominator != 1):
        raise cell.wrong(f"no {column.kind} in [{low:g}, {high:g}]", "give cells that can occur")
    return float(number)
