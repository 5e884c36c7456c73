"""From a file to the rows that a mechanism takes: cells to codes, codes to rows, rows to persons."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from dpaccount.relation import kind_of
from mechanisms.table.contribution_bounding import bounded
from mechanisms.table.declaration import Table
from mechanisms.table.files import Source
from mechanisms.table.reading import Batch, batches

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Reading:
    """How a subject reads a table.

    `names` are the columns whose codes it takes, and `encode` makes its rows of them, (n, columns) to
    (n, what the subject's domain has), each row by itself; `default` is one such row where there is
    none.  `labels` say, for a reader of the release, the meaning of a released array's places.
    Where a row is in the block of its group and 0 in all others, `blocks` gives the group of each
    row, −1 for none, and the numbers of its block.
    """

    names: tuple[str, ...]
    encode: Callable[[Floats], Floats]
    default: tuple[float, ...]
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    blocks: Callable[[Floats], tuple[Floats, Floats]] | None = None


def read_rows(path: Source, table: Table, reading: Reading, relation: str) -> Floats:
    """Return the rows of a file: one for each unit, persons with their count and rows where several count.

    Raises `InputError` for what is public: the file and its header, the number of units where it is.
    """
    if table.identity is None:
        # A statistic may read no column at all: then any one column says how many rows there are.
        every = batches(path, reading.names or table.names[:1], table.names)
        parts = [reading.encode(codes_of(batch, table, reading.names)) for batch in every]
        rows = np.concatenate([np.zeros((0, len(reading.default))), *parts])
    else:
        _, persons = bounded(_owned(path, table, reading), table.max_rows, reading.default)
        rows = persons[:, 1:] if table.max_rows == 1 else persons
    check_number(path, table, len(rows), relation)
    return rows


def check_number(path: Source, table: Table, count: int, relation: str) -> None:
    """Refuse another number of units than is declared; where it varies, more than there may be."""
    what = "rows" if table.identity is None else f"distinct values of {table.identity!r}"
    if not kind_of(relation).rows_vary and count != table.rows:
        raise InputError(f"found {count} {what}", f"the claim declares {table.rows}", str(path))
    if count > table.rows:
        most = f"more {what} than the claim's limit of {table.rows}"
        raise InputError(most, "raise the limit", str(path))


def codes_of(batch: Batch, table: Table, names: Sequence[str]) -> Floats:
    """Return the codes of some columns, perhaps of none: a row of them for each row of a batch."""
    codes = [table.column(name).codes(batch[name]) for name in names]
    return np.column_stack([np.zeros((len(next(iter(batch.values()))), 0)), *codes])


def _owned(path: Source, table: Table, reading: Reading) -> Iterator[tuple[Sequence[object], Floats]]:
    identity = str(table.identity)
    for batch in batches(path, tuple(dict.fromkeys((*reading.names, identity))), table.names):
        yield batch[identity], reading.encode(codes_of(batch, table, reading.names))
