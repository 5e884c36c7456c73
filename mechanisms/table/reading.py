"""Files of tables, read in batches: CSV a line at a time, Parquet and Arrow by pyarrow.

What is refused is public: no readable file, another kind of file, a declared column that the header
lacks.  A line of a CSV file is one row whatever it holds, quotes and commas too: it never takes a part
of the next one, it is never left out, and cells that it lacks are missing.  So a row's cells depend on
that row alone.  (That is why a reader that refuses or skips ragged rows is not used for CSV.)
"""

import csv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final

from dpaccount.errors import InputError

BATCH: Final = 65_536  #: rows that are held at once
ARROW: Final = (".arrow", ".feather", ".ipc")
KNOWN: Final = (".csv", ".parquet", *ARROW)
MAX_CELL_LENGTH: Final = 2**31 - 1  #: characters of a cell

Batch = dict[str, Sequence[object]]  #: the cells of some rows, by column


def batches(path: Path, names: Sequence[str], declared: Sequence[str] = ()) -> Iterator[Batch]:
    """Yield the cells of the columns `names`, some rows at a time, in the file's order.

    Raises `InputError` for what is public (a header that lacks one of `names` or of the `declared`
    columns), and where pyarrow is needed and not there.
    """
    kind = path.suffix.lower()
    if kind not in KNOWN:
        raise InputError("a file of an unknown kind", f"give {', '.join(KNOWN)}", path)
    lines = _lines(path, names, declared) if kind == ".csv" else _columnar(path, names, declared, kind)
    yield from lines


# ------------------------------------------------------------------ CSV


def _lines(path: Path, names: Sequence[str], declared: Sequence[str]) -> Iterator[Batch]:
    csv.field_size_limit(MAX_CELL_LENGTH)  # a long cell is no error: that would reveal it
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
            header = _cells(file.readline())
            places = _places(path, header, names, declared)
            while lines := list(islice(file, BATCH)):
                rows = [_cells(line) for line in lines]
                yield {
                    name: [row[at] if at < len(row) else None for row in rows] for name, at in places.items()
                }
    except OSError as error:
        raise _unreadable(path, error) from None


def _cells(line: str) -> list[str]:
    """Return a line's cells; a bare carriage return within them is a space.

    The reader refuses such a return, and without its cells a row would be nobody's.
    """
    bare = line.removesuffix("\n").removesuffix("\r")
    for text in (bare, bare.replace("\r", " ")):
        with suppress(csv.Error):
            return next(csv.reader([text]), [])
    return []


def _places(
    path: Path, header: Sequence[str], names: Sequence[str], declared: Sequence[str]
) -> dict[str, int]:
    """Return the index of each of `names` in a row; the header is public."""
    lacking = [name for name in dict.fromkeys((*names, *declared)) if name not in header]
    if lacking:
        raise InputError(f"no column {', '.join(lacking)}", f"the header has {', '.join(header)[:200]}", path)
    twice = [name for name in names if list(header).count(name) > 1]
    if twice:
        raise InputError(f"the column {twice[0]} stands twice in the header", "rename one", path)
    return {name: list(header).index(name) for name in names}


# ------------------------------------------------------------------ Parquet and Arrow


def _columnar(path: Path, names: Sequence[str], declared: Sequence[str], kind: str) -> Iterator[Batch]:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise InputError("pyarrow reads such files", "pip install 'dpaccount[tables]'", path) from None
    try:
        if kind == ".parquet":
            with parquet.ParquetFile(path, pre_buffer=False) as file:
                _places(path, file.schema_arrow.names, names, declared)
                for batch in file.iter_batches(BATCH, columns=list(names)):
                    yield _batch(batch, names)
        else:
            with arrow.memory_map(str(path)) as source, arrow.ipc.open_file(source) as file:
                _places(path, file.schema.names, names, declared)
                for index in range(file.num_record_batches):
                    whole = file.get_batch(index)
                    for start in range(0, whole.num_rows, BATCH):
                        yield _batch(whole.slice(start, BATCH), names)
    except OSError as error:
        raise _unreadable(path, error) from None
    except arrow.ArrowException as error:
        raise InputError(f"no {kind} file ({type(error).__name__})", "write it again", path) from None


def _batch(batch: Any, names: Sequence[str]) -> Batch:
    """Return a batch's columns: numbers without gaps as arrays, others cell by cell."""
    return {name: _column(batch.column(name)) for name in names}


def _column(cells: Any) -> Sequence[object]:
    from pyarrow import types

    kind = cells.type
    numeric = types.is_integer(kind) or types.is_floating(kind)
    if numeric and not cells.null_count:
        found: Sequence[object] = cells.to_numpy(zero_copy_only=False)
        return found
    try:
        listed: list[object] = cells.to_pylist()
    except Exception:  # bad date or Unicode: the text would reveal the cell
        listed = [_value(cell) for cell in cells]
    return listed


def _value(cell: Any) -> object:
    """Return what Python makes of a cell; nothing where it cannot hold it."""
    try:
        found: object = cell.as_py()
    except Exception:  # pyarrow and its callbacks raise many kinds of exceptions
        return None
    return found


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(str(error.strerror or "unreadable"), "give a readable data file", path)
