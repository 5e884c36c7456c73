"""Columns of public tables: a row gets those of the table's one row with its key."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.noise.samplers import Floats
from mechanisms.statistics.expressions import Codes, DerivedColumn
from mechanisms.table.cells import values_of
from mechanisms.table.columns import NOWHERE, Column, read_columns
from mechanisms.table.reading import Source, batches, one_file

MOST_KEYS: Final = 1_000_000  #: rows of a public table


@dataclass(frozen=True)
class JoinedColumn(DerivedColumn):
    """A column of a public table, in which a key has one row at most.

    `found` has its code for each of the key's values in their order, then for rows without these.
    """

    found: tuple[float, ...] = ()

    def code(self, codes: Codes) -> Floats:
        """Return each row's code by that of its key."""
        place = codes[self.of[0].name].astype(np.int64)
        return np.array(self.found)[np.where(place < 0, len(self.found) - 1, place)]


def joined_columns(
    place: Place, known: tuple[Column, ...], source_of: Callable[[Place], Source]
) -> tuple[Column, ...]:
    """Return the columns of the public tables of ``[data.join]``; `source_of` finds a table's file.

    Raises `InputError` for a key that a table has twice, since it would multiply rows; for one that it
    lacks, where no `missing` is declared; for a table that is not the one of its digest.
    """
    joined: list[Column] = []
    for name in sorted(place.table((), tuple(place.value) if isinstance(place.value, dict) else ())):
        join = place.child(name)
        with join.placing():
            joined += _of_table(name, join, (*known, *joined), source_of)
    return tuple(joined)


def _of_table(
    name: str, place: Place, known: tuple[Column, ...], source_of: Callable[[Place], Source]
) -> list[Column]:
    given = place.table(("file", "key", "columns", "digest"))
    keys = [column for column in known if column.name == given["key"].text() and column.kind == "category"]
    if not keys or isinstance(keys[0], DerivedColumn):
        raise given["key"].wrong("the key is no declared category", "declare its values in [data.columns]")
    key = keys[0]
    columns = read_columns(given["columns"], schema=key.schema)
    for column in columns:
        if column.name in [each.name for each in known] or column.kind == "text":
            what = "is text" if column.kind == "text" else "is declared twice"
            raise InputError(f"{column.name} {what}", "give it another name or type")
    source = source_of(given["file"])
    cells = _cells(source, (key.name, *(column.name for column in columns)))
    rows: dict[int, int] = {}
    codes = Column(key.name, "category", values=key.values, schema=key.schema).codes(cells[key.name])
    for row, code in enumerate(codes.astype(int).tolist()):
        if code in rows:
            raise InputError(f"the table has the key {key.values[code]!r} twice", "keep one row for each key")
        if code >= 0:
            rows[code] = row
    # After it was read: a table that changed meanwhile has another digest.
    if one_file(source).digest() != given["digest"].text():
        raise InputError("the table changed while it was read", "read it while no one writes to it")
    places = [rows.get(code) for code in range(len(key.labels))]
    return [
        JoinedColumn(
            **{name: getattr(column, name) for name in Column.__dataclass_fields__},
            of=(key,),
            formula=f"{name}[{key.name}]",
            found=_codes(column, cells[column.name], places, key),
        )
        for column in columns
    ]


def _cells(source: Source, names: tuple[str, ...]) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {name: [] for name in names}
    for batch in batches(source, names):
        for name in names:
            columns[name] += values_of(batch[name])
        if len(columns[names[0]]) > MOST_KEYS:
            raise InputError("the table is too long", f"a public table has {MOST_KEYS} rows at most")
    return columns


def _codes(column: Column, cells: list[object], places: list[int | None], key: Column) -> tuple[float, ...]:
    """Return a column's code for each of the key's labels, and last for a row without one."""
    codes = column.codes([None if place is None else cells[place] for place in places])
    lacking = [label for label, place in zip(key.labels, places, strict=True) if place is None]
    unmatched = key.bounds[0] == NOWHERE and column.kind != "category"
    if column.missing is None and not column.gaps and (lacking or unmatched):
        what = f"no row for {lacking[0]!r}" if lacking else "no row for other values"
        raise InputError(f"the table has {what} of {key.name}", f"declare what {column.name} is: missing = …")
    return (*codes.tolist(), column.default)
