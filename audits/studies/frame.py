"""A DataFrame as a private file for a release: each cell is written by itself, as text."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from dpaccount.errors import InputError
from mechanisms.table.cells import FATAL, shown
from mechanisms.table.private_folder import private_folder

FRAME_FILE: Final = "frame.csv"  #: the name of the data in the certificate of a DataFrame's study
LISTS: Final = ("to_list", "to_pylist", "tolist")  #: of columns, by library
#: what would end a line, or is refused in one: a row must stay one line
ESCAPES: Final = {ord("\n"): r"\n", ord("\r"): r"\r", ord("\0"): r"\0"}


@contextmanager
def as_file(frame: Any, names: Sequence[str]) -> Iterator[Path]:
    """Give the path of a CSV file of some columns of a DataFrame, which only its owner may read.

    The file is removed afterwards.  `frame` is a DataFrame of pandas or polars, a table of pyarrow, or a
    dictionary of lists.  Raises `InputError` for what is public: another kind of object, and a column that
    lacks or has twice.  What a cell holds is never refused, and changes no other cell.
    """
    whole = frame.collect() if hasattr(type(frame), "collect") else frame  # polars' lazy frame
    columns = [_cells(whole, name) for name in names]
    if len({len(each) for each in columns}) > 1:
        raise InputError("the columns have different lengths", "give one cell of each to every row")
    with private_folder() as folder:
        path = folder / FRAME_FILE
        path.touch(mode=0o600)
        with path.open("w", encoding="utf-8-sig", errors="backslashreplace", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(names)
            texts = ((shown(cell).strip().translate(ESCAPES) for cell in each) for each in columns)
            lines.writerows(zip(*texts, strict=True))
        yield path


def header(frame: Any) -> list[object]:
    """Return the names of a DataFrame's columns; raises `InputError` for what is none."""
    if isinstance(frame, Mapping):
        return list(frame)
    if hasattr(type(frame), "collect_schema"):  # of polars, whose lazy frame has names at a cost
        return list(frame.collect_schema().names())
    # attributes of the class: pandas gives a column of such a name as one of the instance
    name = next((each for each in ("column_names", "columns") if hasattr(type(frame), each)), None)
    if name is None:
        raise InputError(
            f"a {type(frame).__name__} is no table",
            "give a DataFrame of pandas or polars, a table of pyarrow, or a dictionary of lists",
        )
    return list(getattr(frame, name))


def _cells(frame: Any, name: str) -> Sequence[object]:
    there = header(frame)
    if (times := there.count(name)) != 1:
        what = f"{name[:60]!r} appears twice in the header" if times else f"no column {name[:60]!r}"
        raise InputError(what, f"the columns are {', '.join(map(str, there))[:200]}")
    column = frame[name]
    listed = next((getattr(column, method) for method in LISTS if hasattr(column, method)), None)
    try:
        return list(column) if listed is None else listed()
    except FATAL:
        raise
    except BaseException:  # of one cell, such as a date beyond Python's: an error would reveal it
        by_place = getattr(column, "iloc", column)
        return [_cell(by_place, place) for place in range(len(column))]


def _cell(column: Any, place: int) -> object:
    """Return one cell as Python's; None where it cannot be."""
    try:
        cell = column[place]
        return cell.as_py() if hasattr(cell, "as_py") else cell
    except FATAL:
        raise
    except BaseException:
        return None
