"""Sums of columns that are too long for memory: read, bounded and put on the grid some rows at a time."""

from pathlib import Path

from dpaccount.errors import InputError
from mechanisms.shared import grid
from mechanisms.table import Column
from mechanisms.table.reading import batches


def grid_sum(path: Path, column: Column, bits: int, rows: int) -> int:
    """Return the sum of a column of exactly `rows` numbers, each within its bounds, in steps of 2^−`bits`.

    Every number is clipped and truncated as `mechanisms.laplace_sum` does, so that a row's part in the sum
    is within the bounds exactly, and that mechanism's proof is about this sum.  It holds one batch in
    memory.  Raises `InputError` for what is public: the file, its header and another number of rows.
    """
    if column.low is None or column.high is None:
        raise InputError(f"{column.name} is no number", "name a column with bounds")
    grid.room(rows * max(abs(column.low), abs(column.high)), bits)
    total, found = 0, 0
    for batch in batches(path, (column.name,)):
        codes = column.codes(batch[column.name])
        total += int(grid.clipped(codes, column.low, column.high, bits).sum())
        found += len(codes)
    if found != rows:
        raise InputError(f"{found} rows", f"the public number is {rows}", path)
    return total
