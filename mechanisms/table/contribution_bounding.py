"""Contribution bounding: which of a person's rows count, and in which slot.

A person's first `max_rows` rows in the file count; this depends on that person's rows alone.  Slots
are in the order of the identities, which under replace-one are public: a person whose rows are
replaced keeps the slot, and no other slot changes.
"""

from collections.abc import Iterable, Sequence
from secrets import token_bytes

import numpy as np
from numpy.typing import NDArray

from mechanisms.table.persons import SECRET_BYTES, PersonCounters, keys_of, owners_of

Floats = NDArray[np.float64]


def bounded(
    batches: Iterable[tuple[Sequence[object], Floats]], max_rows: int, default: Sequence[float]
) -> tuple[list[str], Floats]:
    """Return the identities in order, and a wide row for each: the number of rows, then the rows.

    `batches` have the cell with the identity and the codes of each row, in the file's order.  A person with
    fewer rows is padded with `default`.
    """
    kept: dict[str, list[Floats]] = {}
    persons, secret = PersonCounters(max_rows, 0), token_bytes(SECRET_BYTES)
    for cells, codes in batches:
        owners = owners_of(cells)
        for place in np.flatnonzero(persons.keep(keys_of(cells, secret))).tolist():
            kept.setdefault(str(owners[place]), []).append(codes[place])
    order = sorted(kept)
    width = len(default)
    table = np.tile(np.array([0.0, *list(default) * max_rows]), (len(order), 1))
    for slot, owner in enumerate(order):
        own = kept[owner]
        table[slot, 0] = len(own)
        table[slot, 1 : 1 + width * len(own)] = np.concatenate(own)
    return order, table


def unfolded(persons: Floats, max_rows: int) -> tuple[NDArray[np.bool_], Floats]:
    """Return which of the slots' `max_rows` places hold a row, and all places as rows, person by person."""
    width = (persons.shape[1] - 1) // max_rows
    there = np.arange(max_rows) < persons[:, :1]
    return there.ravel(), persons[:, 1:].reshape(len(persons) * max_rows, width)
