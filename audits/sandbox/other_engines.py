"""Totals summed by another engine: Spark, Beam, or any other that passes all rows of a person to one call.

Its workers receive the claim and the key that hashes persons, and return exact integers.  These become the
manifest from which `dpaccount release --engine other --work FOLDER` continues.
"""

import pickle
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from secrets import token_bytes
from typing import Any

from audits.claim import read_claim
from audits.sandbox.manifest import PART_FIELDS, checked_part, manifest
from audits.sandbox.private_data import digest_of_data
from audits.sandbox.table_parts import TableWork, digests_of, summed_query
from audits.subjects.catalogue import BoundClaim, subject_of
from dpaccount.errors import InputError
from dpaccount.noise import process
from dpaccount_packages import called
from mechanisms.table.persons import SECRET_BYTES
from mechanisms.table.reading import BATCH, Batch, record_batches
from mechanisms.table.totals import Summed, TablePart


@dataclass(frozen=True)
class PartSummer:
    """Sums the rows of a part, on any machine with this code; it is sent there by pickle.

    An engine calls it once for each part, with all rows of the part's persons.  The first `max_rows`
    rows of a person count, in the given order, which must depend on the person's rows alone (sort
    by all columns, for example).
    """

    bound: BoundClaim
    digests: Mapping[str, str]
    secret: bytes

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel so that a machine finds our packages, whatever it imported before."""
        return called, (pickle.dumps(partial(PartSummer, *vars(self).values())),)

    def totals(self, batches: Iterable[Any]) -> dict[str, object]:
        """Return totals, units and marks of a part, given pyarrow record batches of its rows.

        Raises `InputError` only for public facts: missing or nested columns, identities in floating point,
        and a version of the code other than where the work began; `ReceiptError` if the code charges or
        draws noise.
        """
        return self._totals(lambda what: _read(batches, what.names, what.table.identity))

    def _totals(self, read_by: Callable[[Summed], Iterator[Batch]]) -> dict[str, object]:
        what = summed_query(self.bound)
        own = digests_of(self.bound, "")
        other = [name for name in ("code", "pyarrow") if own[name] != self.digests[name]]
        if what is None or other:
            wrong = (
                f"this machine has other {' and '.join(other or ['code'])} than the one where the work began"
            )
            raise InputError(wrong, "give both the same")
        # One part of one: the engine has already divided the table, by person.
        part = TablePart(0, 1, self.secret, by_file=True)
        found = process.as_task(what.of_stream, read_by(what), part)
        marks = b64encode(found.marks).decode()
        return dict(zip(PART_FIELDS, (found.sums.tolist(), found.units, marks), strict=True))

    def of_frames(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Yield one data frame with the totals of all pandas `frames`, for Spark's `mapInPandas`."""
        import pandas as pd

        yield pd.DataFrame([self._totals(lambda what: _of_frames(frames, what.names, what.table.identity))])

    def keep(self, given: Sequence[Mapping[str, Any]], folder: Path) -> None:
        """Write the manifest of all parts, as `totals` returned them.

        Raises `InputError` for invalid parts, and if the folder has a manifest of other work.
        """
        try:
            parts = [checked_part(*(part[name] for name in PART_FIELDS)) for part in given]
        except (ValueError, TypeError, KeyError):
            what = "a part has not the totals, units and marks that came back"
            raise InputError(what, "give whole numbers as they are", folder) from None
        header = {**self.digests, **TableWork(partitions=len(parts), other=True).header()}
        with manifest(folder, header, self.secret) as (_, found, keep):
            if found:
                raise InputError("there are parts of other work", "name another folder", folder)
            for number, part in enumerate(parts):
                keep(number, part)


def begin(claim: Path) -> PartSummer:
    """Return the summer that another engine's workers need; reads the claim's files for their digest."""
    read = read_claim(claim)
    bound = BoundClaim.of(read, subject_of(read))
    if read.data_file is None or summed_query(bound) is None:
        raise InputError(f"{read.use} adds no noise to sums of a table's rows", "see docs/tables.md", claim)
    digests = digests_of(bound, digest_of_data(read.data_file))
    return PartSummer(bound, digests, token_bytes(SECRET_BYTES))


def _read(batches: Iterable[Any], names: Sequence[str], identity: str | None) -> Iterator[Batch]:
    """Yield the batches' columns; a gap must not make floats of other persons' identities, cut to 53 bits."""
    from pyarrow import types

    for batch in batches:
        there = identity in batch.schema.names and batch.num_rows
        if there and types.is_floating(kind := batch.schema.field(identity).type):
            raise _no_identity(str(identity), kind)
        for _, columns in record_batches(batch, names):
            yield columns


def _of_frames(frames: Iterable[Any], names: Sequence[str], identity: str | None) -> Iterator[Batch]:
    """Yield the columns of pandas frames.

    Objects are read one by one: a type that is inferred from all cells of a column depends on each.
    """
    from pyarrow import RecordBatch

    for frame in frames:
        given = list(map(str, frame.columns))
        if len({*given}) < len(given):
            raise InputError("a column appears twice in the frame", "rename one")
        columns = {name: frame.iloc[:, at] for at, name in enumerate(given)}
        if lacking := [name for name in names if name not in columns]:
            raise InputError(f"no column {lacking[0]}", f"there are {', '.join(given)[:200]}")
        objects = [name for name in names if columns[name].dtype == object]
        others = [name for name in names if name not in objects]
        if identity in columns and len(frame) and columns[identity].dtype.kind == "f":
            raise _no_identity(identity, columns[identity].dtype)
        for start in range(0, len(frame), BATCH):
            rows = {name: column.iloc[start : start + BATCH] for name, column in columns.items()}
            batch: Batch = {name: rows[name].tolist() for name in objects}
            typed = RecordBatch.from_arrays([_array(rows[name]) for name in others], others)
            for _, some in record_batches(typed, others) if others else ():
                batch |= some
            yield batch


def _array(column: Any) -> Any:
    """Return a column of one type as a pyarrow array."""
    from pyarrow import Array, ChunkedArray

    found = Array.from_pandas(column)
    return found.combine_chunks() if isinstance(found, ChunkedArray) else found


def _no_identity(name: str, kind: object) -> InputError:
    return InputError(f"{name} is {kind}", "give all its cells as integers, without gaps, or as text")
