"""Reads results that were drawn elsewhere, one a row: CSV, JSON lines, NPY, Parquet.

A CSV file begins with the names of its columns, unless all cells of its first line are numbers.
"""

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import repeat
from pathlib import Path
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray

from audits.sandbox.foreign import printed_number
from audits.sandbox.outcomes import Outcome, of_value
from dpaccount.documents import sha256, using
from dpaccount.errors import InputError
from dpaccount.noise.samplers import Floats

MAX_RESULTS = 5_000_000  #: results of one file
Cells = Sequence[Any] | NDArray[Any]  #: of one column
KNOWN = (".csv", ".jsonl", ".ndjson", ".npy", ".parquet")


@dataclass(frozen=True)
class SampleTable:
    """Rows of cells: a column is an array of numbers, or texts (some of which may be numbers)."""

    columns: tuple[str, ...]
    cells: tuple[Cells, ...]
    lines: int = 1  #: the number of the first row, for messages

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(self.cells[0]) if self.cells else 0


@dataclass(frozen=True)
class DrawnResults:
    """The results of one file, and the digest of its bytes."""

    path: Path
    digest: str
    results: Sequence[Outcome]

    def described(self) -> dict[str, object]:
        """Return what a witness holds of the file: its name without folders, digest, number of results."""
        return {"file": self.path.name, "sha256": self.digest, "results": len(self.results)}


def read_samples(left: Path, right: Path) -> tuple[DrawnResults, DrawnResults]:
    """Return the results of two files; both must have the same columns.

    Raises `InputError` for files that cannot be read, have no results, or have NaN or missing
    cells.
    """
    raws = [file_bytes(path) for path in (left, right)]
    tables = [_read(path, raw) for path, raw in zip((left, right), raws, strict=True)]
    for path, table in zip((left, right), tables, strict=True):
        if (table.rows if isinstance(table, SampleTable) else len(table)) == 0:
            raise InputError("there are no results of this side", "give both sides their results", path)
    one, other = tables
    if isinstance(one, SampleTable) and isinstance(other, SampleTable):
        sides = list(_alike(one, other, left, right))
    elif isinstance(one, SampleTable) or isinstance(other, SampleTable):
        raise InputError(
            f"{left.name} has columns and {right.name} has values, or the reverse", "give both in one format"
        )
    else:
        sides = [one, other]
    digests = [sha256(raw) for raw in raws]
    return DrawnResults(left, digests[0], sides[0]), DrawnResults(right, digests[1], sides[1])


def file_bytes(path: Path) -> bytes:
    """Return a data file's bytes; raises `InputError` if it cannot be read."""
    with using(path, "give the path of a readable file", "unreadable"):
        return path.read_bytes()


def _read(path: Path, raw: bytes) -> SampleTable | list[Outcome]:
    kind = path.suffix.lower()
    if kind == ".csv":
        return read_csv(path, raw)
    if kind in (".jsonl", ".ndjson"):
        return _json_lines(path, raw)
    if kind == ".npy":
        return _npy(path, raw)
    if kind == ".parquet":
        return _parquet(path, raw)
    raise InputError(f"{kind or 'no ending'} is no known format", f"known: {', '.join(KNOWN)}", path)


def read_csv(path: Path, raw: bytes, *, named: bool = False) -> SampleTable:
    """Return the table of a CSV file; with `named` its first line must hold the names of columns."""
    try:
        text = _text(path, raw)
        rows = [(number, row) for number, row in enumerate(csv.reader(io.StringIO(text, "")), 1) if row]
    except csv.Error as error:
        raise InputError(f"no CSV file ({error})", "write one result a line", path) from None
    if not rows:
        return SampleTable((), ())
    first = rows[0][1]
    header = named or numbers_of(first) is None
    names = tuple(cell.strip() for cell in first) if header else tuple(f"{k}" for k in range(len(first)))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two columns are called {twice[:70]!r}", "give columns different names", path)
    body = rows[1:] if header else rows
    _check_count(path, len(body))
    for number, row in body:
        if len(row) != len(names):
            raise InputError(
                f"line {number} has {len(row)} cells and the first line {len(names)}", "fix it", path
            )
        for name, cell in zip(names, row, strict=True):
            if not cell.strip():
                raise InputError(f"line {number} has no {name[:70]!r}", "leave no cell empty", path)
            if cell.strip().lower() in ("nan", "+nan", "-nan"):
                _nan(path, f"line {number} of {name[:70]!r}")
    return SampleTable(names, tuple([row[k] for _, row in body] for k in range(len(names))))


def numbers_of(cells: Cells) -> Floats | None:
    """Return a column as numbers; None if one of its cells is no number."""
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError:
        return None


def _numbers(cells: Cells) -> Floats:
    """Return the numbers of a column, NaN where a cell is a text."""
    numbers = numbers_of(cells)
    return np.array([_number(cell) for cell in cells]) if numbers is None else numbers


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _nan(path: Path, where: str) -> Never:
    raise InputError(f"{where} is NaN", "write what is missing as a value of its own, such as -1", path)


def _text(path: Path, raw: bytes) -> str:
    """Return a file's text, without a byte order mark."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("not UTF-8", "write the file as UTF-8", path) from None


def _json_lines(path: Path, raw: bytes) -> list[Outcome]:
    results = []
    lines = _text(path, raw).removesuffix("\n").split("\n")  # a text may hold other line breaks
    _check_count(path, len(lines))
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        outcome = json_outcome(line, path, f"line {number}")
        if outcome.void:
            raise InputError(f"line {number} holds no result", "write a number, a text or a list", path)
        if np.isnan(outcome.numbers).any():
            _nan(path, f"line {number}")
        results.append(outcome)
    return results


def json_outcome(text: str, path: Path | None = None, where: str = "the result") -> Outcome:
    """Return the result that one JSON value encodes; raises `InputError` if it is none."""
    try:
        return of_value(json.loads(text, parse_float=printed_number))
    except (ValueError, RecursionError):
        raise InputError(f"{where} is no JSON: {text.strip()[:60]!r}", "write one JSON value", path) from None


def _npy(path: Path, raw: bytes) -> SampleTable:
    try:
        array = np.load(io.BytesIO(raw), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InputError(
            f"no array can be read ({str(error)[:80]})", "save it with numpy.save", path
        ) from None
    if array.ndim == 0 or array.dtype.kind not in "biufU":
        raise InputError("one result a row is needed", "save an array of numbers or texts by rows", path)
    _check_count(path, len(array))
    flat = array.reshape(len(array), math.prod(array.shape[1:]))
    cells: list[Cells] = []
    for k in range(flat.shape[1]):
        column = flat[:, k]
        if column.dtype.kind == "f" and np.isnan(column).any():
            _nan(path, f"row {int(np.flatnonzero(np.isnan(column))[0])}")
        cells.append(column.tolist() if column.dtype.kind == "U" else column)
    return SampleTable(tuple(map(str, range(len(cells)))), tuple(cells))


def _parquet(path: Path, raw: bytes) -> SampleTable:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise InputError("Parquet needs pyarrow", "pip install 'dpaccount[tables]'", path) from None
    try:
        table = parquet.read_table(io.BytesIO(raw))
    except (ArrowException, OSError) as error:
        raise InputError(f"no Parquet file ({str(error)[:80]})", "write it again", path) from None
    _check_count(path, table.num_rows)
    cells: list[Cells] = []
    for name in table.column_names:
        column = table.column(name)
        if column.null_count:
            raise InputError(f"{name[:70]!r} has missing cells", "fill them with a value of their own", path)
        values = column.to_pylist()
        if all(isinstance(value, bool | int | float) for value in values):
            numbers = np.array(values, dtype=np.float64)
            if np.isnan(numbers).any():
                _nan(path, f"row {int(np.flatnonzero(np.isnan(numbers))[0])} of {name[:70]!r}")
            cells.append(np.array(values, dtype=object))  # a large integer is no double
        else:
            cells.append([str(value) for value in values])
    return SampleTable(tuple(table.column_names), tuple(cells))


def _check_doubles(name: str, sides: Sequence[Cells], values: Sequence[Floats]) -> None:
    """Refuse different numbers that are one double: scores cannot differ.  A text's value is NaN."""
    if all(isinstance(each, np.ndarray) and each.dtype.kind == "f" and each.itemsize <= 8 for each in sides):
        return
    # Scores compare doubles: sides that differ only beyond a double's digits would look the same.
    pairs = [zip(*each, strict=True) for each in zip(sides, values, strict=True)]
    cells = {cell for side in pairs for cell, number in side if not math.isnan(number)}
    doubles = len(np.unique(np.concatenate([side[~np.isnan(side)] for side in values])))
    if len(cells) > doubles and len({_meant(str(cell)) for cell in cells}) > doubles:
        what = f"{name[:70]!r} has different numbers that are one double"
        raise InputError(what, "write them as texts, with a letter before each")


def _meant(cell: str) -> Decimal:
    """Return a cell's number: integers exactly, decimals of up to 17 digits as their double."""
    number = cell if cell.strip().lstrip("+-").isdigit() else printed_number(cell)
    return Decimal(cell if isinstance(number, list) else number)


def _check_count(path: Path, rows: int) -> None:
    if rows > MAX_RESULTS:
        raise InputError(f"{rows} results", f"at most {MAX_RESULTS} are compared", path)


def _alike(
    one: SampleTable, other: SampleTable, left: Path, right: Path
) -> tuple[list[Outcome], list[Outcome]]:
    """Return the results of two tables with the same columns; each cell is a number, or else a text."""
    if one.columns != other.columns:
        headers = [", ".join(table.columns)[:120] or "none" for table in (one, other)]
        raise InputError(
            f"{left.name} has the columns {headers[0]} and {right.name} {headers[1]}",
            "give both the same columns",
        )
    numbers, texts, kinds, names, titles = [], [], [], [], []
    for name, *cells in zip(one.columns, one.cells, other.cells, strict=True):
        values = [_numbers(side) for side in cells]
        _check_doubles(name, cells, values)
        absent = [np.isnan(side) for side in values]
        some_text, some_number = any(side.any() for side in absent), not all(side.all() for side in absent)
        if some_number:
            numbers.append(values)
            names.append(f"[{name!r}]")
        if some_text:
            texts.append([_texts(*side) for side in zip(cells, absent, strict=True)])
            titles.append(f"[{name!r}]")
        if some_text and some_number:
            kinds.append([np.where(side, " text", " number") for side in absent])
    called = tuple(names), tuple(titles)
    sides = []
    for side, rows in enumerate((one.rows, other.rows)):
        matrix = np.column_stack([np.zeros((rows, 0)), *(each[side] for each in numbers)])
        labels = zip(*(each[side] for each in texts), strict=True) if texts else repeat(())
        structures = zip(*(each[side] for each in kinds), strict=True) if kinds else repeat(())
        parts = zip(labels, matrix, structures, strict=False)
        sides.append([_row(*each, *called) for each in parts])
    return sides[0], sides[1]


def _texts(cells: Cells, absent: NDArray[np.bool_]) -> list[str | None]:
    """Return the texts of a column, None where a cell is a number."""
    return [str(cell) if text else None for cell, text in zip(cells, absent.tolist(), strict=True)]


def _row(
    texts: Sequence[str | None],
    numbers: Floats,
    kinds: Sequence[str],
    names: tuple[str, ...],
    titles: tuple[str, ...],
) -> Outcome:
    """Return one result: a text keeps its place among several, whether or not others are numbers."""
    labels = tuple(text or "" for text in texts if text is not None or len(texts) > 1)
    return Outcome("row" + "".join(kinds), labels, numbers, names=names, titles=titles)
