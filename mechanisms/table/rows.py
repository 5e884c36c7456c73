"""From a file to the rows that a mechanism takes: cells to codes, codes to rows, rows to persons.

Of a person `max_rows` rows count: the first ones in the file, or those with the least digests (`kept_rows`);
this depends on that person's rows alone.  Slots are in the order of the identities, which under replace-one
are public: a person whose rows are replaced keeps the slot, and no other slot changes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from dpaccount.noise.samplers import Floats
from dpaccount.relation import kind_of
from mechanisms.table.columns import Table
from mechanisms.table.kept_rows import Digests, KeptRows, digests_of
from mechanisms.table.persons import owners_of
from mechanisms.table.reading import Batch, Source, batches

Owned = tuple[Sequence[object], Digests, Floats]  #: the identity's cells, digests and codes of some rows


def bounded(owned: Iterable[Owned], max_rows: int, default: Sequence[float]) -> tuple[list[str], Floats]:
    """Return the identities in order, and a wide row for each: the number of rows, then the rows.

    `owned` has the rows, in any order.  A person with fewer rows is padded with `default`.
    """
    numbers: dict[str, int] = {}
    kept = KeptRows(max_rows)
    for cells, digests, codes in owned:
        owners = [None if owner is None else str(owner) for owner in owners_of(cells)]
        there = np.array([owner is not None for owner in owners], dtype=bool)
        units = [(numbers.setdefault(owner, len(numbers)), 0) for owner in owners if owner is not None]
        keys = np.array(units, dtype=np.uint64).reshape(len(units), 2)
        kept.add(keys, digests[there], np.asarray(codes)[there])
    keys, rows = kept.rows()
    order = sorted(numbers)
    slots = np.argsort([numbers[owner] for owner in order]).astype(np.int64)
    width = len(default)
    table = np.tile(np.array([0.0, *list(default) * max_rows]), (len(order), 1))
    for slot, row in zip(slots[keys[:, 0].astype(np.int64)].tolist(), rows, strict=True):
        at = 1 + width * int(table[slot, 0])
        table[slot, at : at + width] = row
        table[slot, 0] += 1
    return order, table


def unfolded(persons: Floats, max_rows: int) -> tuple[NDArray[np.bool_], Floats]:
    """Return which of the slots' `max_rows` places hold a row, and all places as rows, person by person."""
    width = (persons.shape[1] - 1) // max_rows
    there = np.arange(max_rows) < persons[:, :1]
    return there.ravel(), persons[:, 1:].reshape(len(persons) * max_rows, width)


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
        read = batches(path, reading.names or table.names[:1], table.names, table.dialect)
        parts = [reading.encode(codes_of(batch, table, reading.names)) for batch in read]
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
    codes = [table.codes(name, batch[name]) for name in names]
    return np.column_stack([np.zeros((len(next(iter(batch.values()))), 0)), *codes])


def numbers_of_rows(first: int, count: int) -> Digests:
    """Return what puts rows in the order of the file, in place of digests."""
    numbers = np.arange(first, first + count, dtype=np.uint64)
    return np.column_stack([numbers, np.zeros_like(numbers)])


def digests_in(batch: Batch, table: Table) -> Digests:
    """Return the digests by which rows of a batch are chosen, from all declared columns."""
    first = table.first or table.names
    later = [name for name in table.names if name not in first]
    return digests_of(codes_of(batch, table, first), codes_of(batch, table, later))


def _owned(path: Source, table: Table, reading: Reading) -> Iterator[Owned]:
    identity, number = str(table.identity), 0
    names = table.in_file if table.by_digest else tuple(dict.fromkeys((*reading.names, identity)))
    for batch in batches(path, names, table.names, table.dialect):
        codes = reading.encode(codes_of(batch, table, reading.names))
        digests = digests_in(batch, table) if table.by_digest else numbers_of_rows(number, len(codes))
        number += len(codes)
        yield batch[identity], digests, codes
