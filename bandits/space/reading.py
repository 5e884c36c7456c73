"""Reads the `space` of a claim: a CSV file of points, a box, a kernel matrix, a law of contexts; or a table.

All of it is public.  The digests of its files stand in the claim, so that another file is another claim.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import inf, prod
from pathlib import Path
from typing import Any, Final

import numpy as np

from bandits.space.points import MAX_POINTS, Axis, Space, of_cells, of_matrix
from bandits.statistics.arrays import Floats
from dpaccount.documents import Place, read_bytes, sha256
from dpaccount.errors import InputError

KIND: Final = Space  #: what a parameter of this kind is: see docs/extending.md
CALLED: Final = "name"  #: the column that says what a point is called; without it points have numbers
UNIT: Final = re.compile(r"\s*[\[(]([^\])]*)[\])]\s*$")  #: after a column's name: dose (mg), or dose [mg]
CONTEXT_KEYS: Final = ("file", "digest", "box", "kernel", "weight", "clipped")
SPACE_KEYS: Final = (*CONTEXT_KEYS, "most", "contexts")
AXIS_KEYS: Final = ("unit", "points", "values")
MAX_CANDIDATES: Final = 1000  #: candidates that a person may have
TABLES: Final = "give names, columns by name, or a data frame"
MAX_COORDINATE: Final = 1e15  #: absolute value of a coordinate


def as_claimed(place: Place) -> Any:
    """Return a `space` with the digests of its files, and how many numbers were `clipped` to its box.

    Raises `InputError` where it says others.
    """
    written = _with_digests(place)
    space = read(replace(place, value=written))
    return {**written, "clipped": space.clipped} if space.clipped else written


def _with_digests(place: Place) -> Any:
    if not isinstance(place.value, dict):
        return place.value
    members = {key: _with_digests(place.child(key)) for key in place.value}
    return {**members, "digest": _content(place)[1]} if isinstance(members.get("file"), str) else members


def files_named(place: Place) -> Iterator[Place]:
    """Yield every `file` in a space, however deep: `as_claimed` and `read` open no other."""
    for key in place.value if isinstance(place.value, dict) else ():
        inner = place.child(key)
        if key == "file" and isinstance(inner.value, str):
            yield inner
        yield from files_named(inner)


def read(place: Place) -> Space:
    """Return the public points at `place`; raises `InputError` with the key, or file, that is wrong.

    ``file``: a CSV file, a point a line: a column `name`, numbers, with their unit in brackets after the
    column's name, and texts, which are categories.  ``box``: an axis a key, with `low`, `high`, `unit`, and
    `points` where no file says which.  ``kernel``: a file with a matrix, its header the points' names.
    ``most``: candidates of a person, at most.  ``contexts``: a space of contexts, whose law is how often a
    point is in its file, or the column `weight`; it has neither `most` nor contexts of its own.
    """
    return _space(place, SPACE_KEYS)


def _space(place: Place, keys: tuple[str, ...]) -> Space:
    table = place.table((), keys)
    if len(table.keys() & {"file", "kernel"}) + ("box" in table and "file" not in table) != 1:
        raise place.wrong("these are no points", "give a file, a box, both, or a kernel")
    box = _box(table["box"]) if "box" in table else {}
    if "kernel" in table:
        space = _of_matrix(table["kernel"])
    elif "file" in table:
        space = _of_file(place, box, table.get("weight"))
    else:
        space = _of_box(table["box"], box)
    if "clipped" in table and table["clipped"].integer() != space.clipped:
        raise table["clipped"].wrong(
            f"{space.clipped} numbers are clipped to the box", "give that, or leave it out"
        )
    most = table["most"].integer(len(space), MAX_CANDIDATES) if "most" in table else 0
    return replace(
        space, most=most, contexts=_space(table["contexts"], CONTEXT_KEYS) if "contexts" in table else None
    )


# ------------------------------------------------------------------ files


def _content(place: Place) -> tuple[bytes, str, Path]:
    """Return a file's bytes, digest and path; raises `InputError` if it leaves the claim's directory."""
    named = place.child("file").text()
    folder = Path(place.file).parent
    path = folder / named
    if not named or "\0" in named or not path.resolve().is_relative_to(folder.resolve()):
        raise place.child("file").wrong(f"{named[:60]!r} is no file inside {folder}", "name a CSV file there")
    content = read_bytes(path)
    digest = f"sha256:{sha256(content)}"
    if "digest" in place.value and place.child("digest").text() != digest:
        raise place.child("digest").wrong(f"the file's digest is {digest}", "give that, or the file meant")
    return content, digest, path


def _lines(content: bytes, path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the header and the lines of a CSV file, all of one length, each cell without spaces around."""
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        rows = [[cell.strip() for cell in row] for row in reader if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"this is no CSV file: {error}", "write UTF-8, with commas", path) from None
    if len(rows) < 2:
        raise InputError("the file has no points", "write a header, and a line for each point", path)
    header, *lines = rows
    for number, row in enumerate(lines, 2):
        if len(row) != len(header):
            what = f"row {number} has {len(row)} cells, the header {len(header)}"
            raise InputError(what, "write a cell for every column", path)
    return header, lines


def _of_file(place: Place, box: dict[str, Axis], weight: Place | None) -> Space:
    content, digest, path = _content(place)
    header, lines = _lines(content, path)
    units = _units(header, path)
    columns = dict(zip(units, map(list, zip(*lines, strict=True)), strict=True))
    often = None
    if place.at.endswith("contexts"):
        often = np.ones(len(lines))
        if weight is not None:
            often = _weights(columns.pop(weight.text(), None), weight.text(), path)
    elif weight is not None:
        raise weight.wrong("points that are played have no weights", "give it beside a file of contexts")
    return replace(_of_columns(columns, units, box, often, path), source=f"{path.name} {digest}")


def of_table(points: Any, contexts: Any = None, weight: str | None = None) -> Space:
    """Return public points from Python: names alone, columns by name, or a data frame.

    Columns are those of a file: `name`, numbers, with their unit in brackets after the column's name, and
    texts, which are categories.  Points of which only names are given are all equally far apart.
    `contexts`: columns, or a frame, of a public sample of contexts, whose law is how often one is there, or
    its column `weight`.  Raises `InputError` as for a file.
    """
    law = None if contexts is None else _of_columns_by_name(contexts, weight, contexts=True)
    if weight is not None and law is None:
        raise InputError("points that are played have no weights", "give contexts, too")
    if isinstance(points, Mapping) or hasattr(points, "columns"):
        return replace(_of_columns_by_name(points), contexts=law)
    try:
        if isinstance(points, str | bytes):
            raise TypeError
        return replace(_of_names([_written(name) for name in points]), contexts=law)
    except TypeError:
        raise InputError("these are no points", TABLES) from None


def _of_columns_by_name(table: Any, weight: str | None = None, *, contexts: bool = False) -> Space:
    try:
        names = list(table.keys() if isinstance(table, Mapping) else table.columns)
        header = [str(name).strip() for name in names]
        if len(set(header)) < len(header):
            raise InputError("a column has no name, or that of another", "name each once", "the table")
        cells = {name: [*map(_written, table[key])] for name, key in zip(header, names, strict=True)}
    except (AttributeError, TypeError, KeyError):
        raise InputError("these are no points", TABLES) from None
    if len({len(column) for column in cells.values()}) != 1:
        raise InputError("the columns are not of one length", "give a cell of each for every point")
    units = _units(cells, "the table")
    columns, often = dict(zip(units, cells.values(), strict=True)), None
    if contexts:
        often = np.ones(len(next(iter(cells.values()))))
        if weight is not None:
            often = _weights(columns.pop(UNIT.sub("", str(weight).strip()), None), str(weight), "the table")
    return replace(_of_columns(columns, units, {}, often, "the table"), source="a table")


def _of_names(names: list[str]) -> Space:
    """Return points that have only names, even if these are numbers: all equally far apart."""
    _enough(len(names), "the table")
    called = _named(names, len(names), "the table")
    axis = Axis("point", values=called)
    points = np.array([axis.scaled(name)[0] for name in called])
    return Space(called, points.tobytes(), (axis,), source="a table")


def _written(cell: Any) -> str:
    """Return a cell as a file has it; what is missing, or no single value, is empty: refused for a number."""
    try:
        missing = cell is None or bool(cell != cell)  # noqa: PLR0124
    except (TypeError, ValueError):
        missing = True
    return "" if missing else str(cell).strip()


def _units(header: Iterable[str], where: Path | str) -> dict[str, str]:
    """Return the unit of each column by its name without that."""
    cells = list(header)
    units = {UNIT.sub("", cell): match[1] if (match := UNIT.search(cell)) else "" for cell in cells}
    if len(units) < len(cells) or "" in units:
        raise InputError("a column has no name, or that of another", "name each once", where)
    return units


def _of_columns(
    columns: dict[str, list[str]],
    units: dict[str, str],
    box: dict[str, Axis],
    often: Floats | None,
    where: Path | str,
) -> Space:
    """Return the points of columns; `often` are weights of contexts, None for points that are played."""
    called = columns.pop(CALLED, None)
    for missing in box.keys() - columns.keys():
        raise InputError(f"the column {missing} is missing", f"found {', '.join(columns)}", where)
    if not columns:
        raise InputError("no column says where a point lies", "write one beside its name", where)
    axes = [_axis(name, cells, units[name], box.get(name), where) for name, cells in columns.items()]
    try:
        scaled = [of_cells(axes, row) for row in zip(*columns.values(), strict=True)]
    except InputError as error:
        raise error.inside(str(where)) from None
    points, clipped = np.array([row for row, _ in scaled]), sum(wrong for _, wrong in scaled)
    names = _named(called, len(points), where)
    weights: tuple[float, ...] = ()
    if often is not None:
        points, weights = _law(points, often)
        names = tuple(map(str, range(len(points))))
    else:
        _all_different(points, names, clipped, where)
    _enough(len(points), where)
    return Space(names, points.tobytes(), tuple(axes), weights=weights, clipped=clipped)


def _named(called: list[str] | None, count: int, where: Path | str) -> tuple[str, ...]:
    names = tuple(map(str, range(count))) if called is None else tuple(called)
    if "" in names or len(set(names)) < len(names):
        twice = next(name for name in names if not name or names.count(name) > 1)
        raise InputError(f"the name {twice[:40]!r} is empty, or appears twice", "name each point once", where)
    return names


def _all_different(points: Floats, names: tuple[str, ...], clipped: int, where: Path | str) -> None:
    seen: dict[bytes, str] = {}
    # Adding 0.0 turns −0.0 into 0.0, whose bytes differ.
    for name, point in zip(names, points + 0.0, strict=True):
        other = seen.setdefault(point.tobytes(), name)
        if other != name:
            after = " once clipped to the box" if clipped else ""
            raise InputError(f"{other} and {name} are the same point{after}", "leave one of them out", where)


def _enough(count: int, where: Path | str) -> None:
    if not 2 <= count <= MAX_POINTS:
        what = "there is one point only" if count == 1 else f"there are {count} points"
        raise InputError(what, f"give 2 to {MAX_POINTS}", where)


def _axis(name: str, cells: list[str], unit: str, box: Axis | None, where: Path | str) -> Axis:
    """Return a column's axis: that of the box, or of the numbers or values that it has."""
    if box is not None and box.values:
        return box
    texts = sum(bool(cell) and not _reads_as_number(cell) for cell in cells)
    if texts == len(cells) and box is None:
        return Axis(name, unit=unit, values=tuple(sorted(set(cells))))
    numbers = [_number(cell) for cell in cells]
    for number, (cell, parsed) in enumerate(zip(cells, numbers, strict=True), 1):
        if box is None and 2 * texts > len(cells) and (not cell or _reads_as_number(cell)):
            raise InputError(f"point {number}: {name} is {cell[:40]!r}", "a text belongs there, too", where)
        if parsed is None and (box is not None or 2 * texts <= len(cells)):
            raise InputError(
                f"point {number}: {name} is {cell[:40]!r}", "a finite number belongs there", where
            )
    known = [parsed for parsed in numbers if parsed is not None]
    return box or Axis(name, min(known), max(known), unit)


def _number(cell: str) -> float | None:
    """Return a number of a file; None for what is none, NaN, or beyond 10¹⁵."""
    # Python reads 1_000 as a number; in a table it is rather a name, or a slip.
    parsed = float(cell) if _reads_as_number(cell) and "_" not in cell else inf
    return parsed if abs(parsed) <= MAX_COORDINATE else None


def _reads_as_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _weights(cells: list[str] | None, weight: str, where: Path | str) -> Floats:
    numbers = [_number(cell) for cell in cells or ()]
    weights = [number for number in numbers if number is not None and number >= 0]
    if cells is None or len(weights) < len(cells) or not sum(weights) > 0:
        raise InputError(f"no column {weight[:40]!r} has weights", "give numbers >= 0", where)
    return np.array(weights)


def _law(points: Floats, often: Floats) -> tuple[Floats, tuple[float, ...]]:
    """Return the different points, and the share of each."""
    different, places = np.unique(points + 0.0, axis=0, return_inverse=True)
    weights = np.bincount(places.ravel(), weights=often)
    return different, tuple((weights / weights.sum()).tolist())


# ------------------------------------------------------------------ boxes and matrices


def _box(place: Place) -> dict[str, Axis]:
    if not isinstance(place.value, dict) or not place.value:
        raise place.wrong("the box has no axis", "write NAME = { low = 0, high = 1, points = 5 }")
    return {name: _box_axis(name, place.child(name)) for name in sorted(place.value)}


def _box_axis(name: str, place: Place) -> Axis:
    listed = isinstance(place.value, dict) and "values" in place.value
    table = place.table(("values",) if listed else ("low", "high"), AXIS_KEYS)
    if listed:
        values = tuple(each.text() for each in table["values"].items())
        if len(set(values)) < max(len(values), 2):
            raise place.wrong("a category has two values at least", "list each once")
        return Axis(name, values=values)
    most = int(MAX_COORDINATE)
    low, high = (float(table[key].real(-most, most)) for key in ("low", "high"))
    if not low < high:
        raise place.wrong(f"low is {low:g} and high is {high:g}", "give low < high, within 1e15")
    return Axis(name, low, high, table["unit"].text() if "unit" in table else "")


def _of_box(place: Place, box: dict[str, Axis]) -> Space:
    """Return the product of equally spaced points of every axis, and of a category's values."""
    sides = []
    for name, axis in box.items():
        if axis.values:
            sides.append([axis.scaled(value)[0] for value in axis.values])
            continue
        count = place.child(name).table((), ("low", "high", "points", "unit")).get("points")
        if count is None:
            raise place.child(name).wrong("the key 'points' is missing", "say how many the axis has")
        sides.append([[at] for at in np.linspace(0, 1, count.integer(1, MAX_POINTS)).tolist()])
    _enough(prod(map(len, sides)), place.where)
    points = np.array([np.concatenate(each) for each in product(*sides)])
    axes = tuple(box.values())
    cells = (
        axis.values or [f"{axis.low + at * (axis.high - axis.low):.6g}" for (at,) in side]
        for axis, side in zip(axes, sides, strict=True)
    )
    names = tuple(_called(axes, each) for each in product(*cells))
    return Space(names, points.tobytes(), axes, source="a box")


def _called(axes: tuple[Axis, ...], cells: tuple[str, ...]) -> str:
    return ", ".join(
        f"{axis.name} {cell} {axis.unit}".strip() for axis, cell in zip(axes, cells, strict=True)
    )


def _of_matrix(place: Place) -> Space:
    place.table(("file",), ("digest",))
    content, digest, path = _content(place)
    header, lines = _lines(content, path)
    numbers = [[_number(cell) for cell in row] for row in lines]
    if len(lines) != len(header) or any(each is None for row in numbers for each in row):
        raise InputError("this is no square matrix of numbers", "write names, and a line for each", path)
    try:
        space = of_matrix(np.array(numbers, dtype=np.float64))
    except InputError as error:
        raise error.inside(str(path)) from None
    return replace(space, names=_named(header, len(header), path), source=f"{path.name} {digest}")
