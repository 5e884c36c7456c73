"""Files of tables, read in batches: CSV a line at a time, Parquet and Arrow by pyarrow.

What is refused is public: no readable file, another kind of file, a declared column that the header
lacks.  A line of a CSV file is one row whatever it holds, quotes and commas too: it never takes a part
of the next one, it is never left out, and cells that it lacks are missing.  So a row's cells depend on
that row alone.  (That is why a reader that refuses or skips ragged rows is not used for CSV.)
"""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError

BATCH: Final = 65_536  #: rows that are held at once
ARROW: Final = (".arrow", ".feather", ".ipc")
KNOWN: Final = (".csv", ".parquet", *ARROW)
PLAIN_NUMBER: Final = r"^-?[0-9]{1,17}(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,2})?$"
MAX_PLAIN: Final = 2**30  #: characters of lines that pyarrow reads at once
MAX_CELL_LENGTH: Final = 2**31 - 1  #: characters of a cell

Batch = dict[str, Sequence[object]]  #: the cells of some rows, by column


def files_of(path: Path) -> tuple[Path, ...]:
    """Return the files of a table: one, or those of a folder and its subfolders, in the order of their names.

    Names that begin with a dot or an underscore are not data, as in other tools.  Raises `InputError` for a
    folder without data files, or with files of several kinds.
    """
    if not path.is_dir():
        return (path,)
    inside = [each for each in path.rglob("*") if each.is_file()]
    shown = [each for each in inside if not any(part[0] in "._" for part in each.relative_to(path).parts)]
    found = tuple(sorted(shown, key=lambda each: each.relative_to(path).as_posix()))
    kinds = sorted({each.suffix.lower() for each in found})
    if len(kinds) != 1 or kinds[0] not in KNOWN:
        told, known = ", ".join(kinds) or "no files", ", ".join(KNOWN)
        raise InputError(f"the folder has {told}", f"fill it with files of one kind: {known}", path)
    check_same_columns(found)
    return found


def check_same_columns(files: Sequence[Path]) -> None:
    """Refuse Parquet or Arrow files of other column types than the first one, which are public."""
    if files[0].suffix.lower() == ".csv":
        return
    types: dict[str, str] = {}
    for path in files:
        for name, kind in _types(path).items():
            if types.setdefault(name, kind) != kind:
                raise InputError(
                    f"the column {name} is {kind}, in {files[0].name} {types[name]}", "write one type", path
                )


def _types(path: Path) -> dict[str, str]:
    arrow, parquet = _pyarrow(path)
    kind = path.suffix.lower()
    try:
        if kind == ".parquet":
            return {field.name: str(field.type) for field in parquet.read_schema(path)}
        with arrow.memory_map(str(path)) as source, arrow.ipc.open_file(source) as file:
            return {field.name: str(field.type) for field in file.schema}
    except OSError as error:
        raise _unreadable(path, error) from None
    except arrow.ArrowException as error:
        raise InputError(f"no {kind} file ({type(error).__name__})", "write it again", path) from None


def _pyarrow(path: Path) -> tuple[Any, Any]:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise InputError("pyarrow reads such files", "pip install 'dpaccount[tables]'", path) from None
    return arrow, parquet


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
                if (columns := _plain_columns(lines, len(header), places)) is not None:
                    yield columns
                    continue
                rows = [_cells(line) for line in lines]
                yield {
                    name: [row[at] if at < len(row) else None for row in rows] for name, at in places.items()
                }
    except OSError as error:
        raise _unreadable(path, error) from None


def _plain_columns(lines: list[str], width: int, places: dict[str, int]) -> Batch | None:
    """Return the columns of lines as pyarrow reads them, or None where a line needs the rules of `_cells`.

    Plain lines have as many cells as the header, without quotes and bare carriage returns, in ASCII: both
    readers find the same cells in them.
    """
    text = "".join(lines)
    if len(text) > MAX_PLAIN or '"' in text or "\r" in text or not text.isascii():
        return None
    if any(line.count(",") != width - 1 for line in lines):
        return None
    try:
        from pyarrow import csv as arrow_csv
        from pyarrow import string
    except ImportError:  # CSV needs no extra
        return None
    names = [str(place) for place in range(width)]
    table = arrow_csv.read_csv(
        io.BytesIO(text.encode()),
        arrow_csv.ReadOptions(use_threads=False, column_names=names, block_size=len(text) + 1),
        arrow_csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
        arrow_csv.ConvertOptions(
            include_columns=[names[at] for at in dict.fromkeys(places.values())],
            column_types=dict.fromkeys(names, string()),
            strings_can_be_null=False,
        ),
    )
    return {name: ArrowCells(table.column(names[at]).combine_chunks()) for name, at in places.items()}


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
    arrow, parquet = _pyarrow(path)
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


class ArrowCells(Sequence[object]):
    """A column's cells in some rows, as pyarrow holds them; work on them is done once a distinct value."""

    def __init__(self, array: Any) -> None:
        """Hold a pyarrow array."""
        self.array = array

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.array)

    def __getitem__(self, place: Any) -> Any:
        """Return one cell as Python's own value."""
        return _value(self.array[place])

    def __iter__(self) -> Iterator[object]:
        """Return the cells as Python's own values."""
        values = self.values
        return (values[place] for place in self.places.tolist())

    def taken(self, rows: NDArray[np.int64]) -> "ArrowCells":
        """Return the cells of some of the rows."""
        return ArrowCells(self.array.take(rows))

    def numbers(self) -> NDArray[np.float64] | None:
        """Return the cells as numbers, where all are texts of plain ones: as Python would read them."""
        from pyarrow import compute, float64, types

        if (
            not types.is_string(self.array.type)
            or not compute.all(
                compute.match_substring_regex(self.array, PLAIN_NUMBER), skip_nulls=False
            ).as_py()
        ):
            return None
        found: NDArray[np.float64] = self.array.cast(float64()).to_numpy(zero_copy_only=False)
        return found

    @property
    def values(self) -> list[object]:
        """Return the distinct cells, None for a missing one."""
        return self._coded[0]

    @property
    def places(self) -> NDArray[np.int64]:
        """Return where in `values` each row's cell is."""
        return self._coded[1]

    @cached_property
    def _coded(self) -> tuple[list[object], NDArray[np.int64]]:
        from pyarrow import ArrowException

        try:
            plain = self.array.dictionary_decode() if hasattr(self.array, "dictionary") else self.array
            coded = plain.dictionary_encode(null_encoding="encode")
        except ArrowException:  # nested cells have no dictionary
            return _listed(self.array), np.arange(len(self.array))
        return _listed(coded.dictionary), coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _batch(batch: Any, names: Sequence[str]) -> Batch:
    """Return a batch's columns: numbers without gaps as arrays, others as `ArrowCells`."""
    return {name: _column(batch.column(name)) for name in names}


def _column(cells: Any) -> Sequence[object]:
    from pyarrow import types

    kind = cells.type
    numeric = types.is_integer(kind) or types.is_floating(kind)
    if numeric and not cells.null_count:
        found: Sequence[object] = cells.to_numpy(zero_copy_only=False)
        return found
    return ArrowCells(cells)


def _listed(cells: Any) -> list[object]:
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
