"""Shows the holder of a file how its rows are read; the output is private."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from secrets import token_bytes
from typing import Final

import numpy as np
from numpy.typing import NDArray

from audits.claim import Claim
from dpaccount.documents import text_table
from dpaccount.errors import InputError
from mechanisms.table.cells import shown, text_of, values_of
from mechanisms.table.columns import ORDERED_KINDS, Column, Table
from mechanisms.table.persons import SECRET_BYTES, keys_of
from mechanisms.table.reading import ArrowCells, batches, broken_lines, check_same_columns, files_of
from mechanisms.table.spelling import unread, widest

#: of cells that are not taken as they are
FATES: Final = ("missing", "not understood", "clipped", "unlisted")
EXAMPLES: Final = 3  #: of cells that are not understood or not listed
GAPS: Final = ("", "nan", "NaN")  #: cells that are missing
LIMITS: Final = (1, 2, 3, 5, 10, 20, 50)  #: rows of a unit that might count
PRIVATE: Final = "PRIVATE: only for who may see the rows; nothing is written, and nothing is charged"
BROKEN: Final = (
    "{} lines have not as many cells as the header: blank ones, or parts of a row with a line break in a"
    " cell. Each is a row, and may be a unit."
)
ADVICE: Final = (
    "Say in the study how cells are written (decimal, thousands, negative, date_format, strip, fold, map,"
    " separator, encoding). Bounds and values become public with the certificate: take them from public"
    " knowledge, not from here."
)


@dataclass
class Looked:
    """How a table is read: the number of rows, how many cells of a column met which fate, and examples."""

    rows: int = 0
    broken_lines: int = 0  #: that have not as many cells as the header
    cells: dict[str, Counter[str]] = field(default_factory=dict)
    examples: dict[str, dict[str, None]] = field(default_factory=dict)
    of_units: NDArray[np.int64] | None = None  #: how many rows each unit has, where rows name units


def look(claim: Claim) -> Looked:
    """Read a claim's file once and return how its declared table is read.

    Raises `InputError` for a claim that names no file or declares no table, and for what is public.
    """
    table = claim.table
    if table is None or claim.data_file is None:
        raise InputError("there is no table to look at", "name its file, and declare [data.columns]")
    found = Looked(
        cells={name: Counter() for name in table.names}, examples={name: {} for name in table.names}
    )
    keys, secret = [], token_bytes(SECRET_BYTES)
    names = table.in_file
    files = files_of(claim.data_file)
    check_same_columns(files, table.identity)  # as a release does, so that both refuse the same files
    for file in files:
        found.broken_lines += broken_lines(file, table.dialect)
        for batch in batches(file, names, table.names, table.dialect):
            found.rows += len(batch[names[0]])
            for column in table.columns:
                _add(found, table, column, batch[column.name])
            if table.identity is not None:
                keys.append(keys_of(batch[table.identity], secret))
    # Counted at the end, since rows of a unit may be in several batches.
    if keys:
        several = np.concatenate(keys)
        found.of_units = np.unique(several[several[:, 1] != 0], axis=0, return_counts=True)[1]
    return found


def _add(found: Looked, table: Table, column: Column, cells: Sequence[object]) -> None:
    """Count the cells of a column in a batch, each distinct one once."""
    for cell, count, fate in _fates(table, column, *_distinct(cells)):
        found.cells[column.name][fate] += count
        examples = found.examples[column.name]
        if fate in ("not understood", "unlisted") and len(examples) < EXAMPLES:
            examples[repr(cell if isinstance(cell, str) else shown(cell))[:40]] = None


def _distinct(cells: Sequence[object]) -> tuple[list[object], list[int]]:
    if isinstance(cells, ArrowCells):
        return cells.values, np.bincount(cells.places, minlength=len(cells.values)).tolist()
    counted = Counter(values_of(cells))
    return list(counted), list(counted.values())


def _fates(
    table: Table, column: Column, cells: list[object], counts: list[int]
) -> Iterator[tuple[object, int, str]]:
    """Yield each cell, how often it is there, and its fate: "" where it is taken as it is."""
    spelling = table.spelling(column.name)
    read = cells if spelling is None else list(map(spelling.read, cells))
    unknown, lost = ("unlisted" if column.kind == "category" else "not understood"), unread(column, read)
    if column.kind in ORDERED_KINDS:
        clipped = widest(column).codes(read) != column.codes(read)
    else:
        sizes = [len(text_of(cell).encode("utf-8", "replace")) for cell in read]
        clipped = (np.array(sizes) > column.bytes) & (column.kind == "text")
    for cell, count, value, is_lost, is_clipped in zip(cells, counts, read, lost, clipped, strict=True):
        missing = value is None or text_of(cell) in GAPS
        yield cell, count, ("missing" if missing else unknown) if is_lost else "clipped" if is_clipped else ""


def as_text(claim: Claim, found: Looked) -> str:
    """Return what was found for a terminal."""
    rows = []
    for name, met in found.cells.items():
        shares = [_share(met[fate], found.rows) for fate in FATES]
        rows.append([name, *shares, ", ".join(found.examples[name])])
    parts = [PRIVATE, f"{found.rows:,} rows", text_table(["column", *FATES, "for example"], rows)]
    if found.broken_lines:
        parts.append(BROKEN.format(_share(found.broken_lines, found.rows)))
    table, units = claim.table, found.of_units
    if units is not None and table is not None:
        limits = sorted({*LIMITS, table.max_rows})
        beyond = [_share(int(np.maximum(units - limit, 0).sum()), found.rows) for limit in limits]
        parts.append(f"{len(units):,} units (max_units = {table.rows:,}); rows that do not count, by")
        parts.append(
            text_table(["max_contributions", *map(str, limits)], [["", *(each or "none" for each in beyond)]])
        )
    return "\n".join([*parts, ADVICE])


def _share(count: int, of: int) -> str:
    """Return a count and its share, nothing for none."""
    return f"{count:,} ({100 * count / of:.3g} %)" if count else ""
