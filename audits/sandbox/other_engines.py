"""Totals summed by another engine: Spark, Beam, or any other that passes all rows of a person to one call.

Its workers receive the claim and the key that hashes persons, and return exact integers.  These become the
manifest from which `dpaccount release --engine other --work FOLDER` continues.
"""

import pickle
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from mechanisms.table.cells import shown
from mechanisms.table.persons import SECRET_BYTES
from mechanisms.table.reading import Batch, record_batches
from mechanisms.table.totals import TablePart


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
        read = _read(batches, what.names, what.table.identity)
        found = process.as_task(what.of_batches, read, part)
        marks = b64encode(found.marks).decode()
        return dict(zip(PART_FIELDS, (found.sums.tolist(), found.units, marks), strict=True))

    def of_frames(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Yield one data frame with the totals of all pandas `frames`, for Spark's `mapInPandas`."""
        import pandas as pd

        yield pd.DataFrame([self.totals(map(_record_batch, frames))])

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
            raise InputError(
                f"{identity} is {kind}", "give all its cells as integers, without gaps, or as text"
            )
        for _, columns in record_batches(batch, names):
            yield columns


def _record_batch(frame: Any) -> Any:
    """Return a pandas frame as a pyarrow record batch; no cell is refused or affects another one."""
    from pyarrow import RecordBatch

    names = list(map(str, frame.columns))
    if len({*names}) < len(names):
        raise InputError("a column appears twice in the frame", "rename one")
    return RecordBatch.from_arrays([_array(frame.iloc[:, at]) for at in range(len(names))], names)


def _array(column: Any) -> Any:
    """Return a column as a pyarrow array.

    A column of mixed objects becomes text cell by cell: a type inferred from all cells could leak one.
    """
    from pyarrow import Array, ChunkedArray, array, string

    try:
        found = Array.from_pandas(column)
        if column.dtype != object or str(found.type) in ("string", "null"):
            return found.combine_chunks() if isinstance(found, ChunkedArray) else found
    except Exception:  # noqa: S110 - of one cell: the error, and that there is one, would reveal it
        pass
    texts = (shown(cell).encode(errors="backslashreplace").decode() for cell in column.tolist())
    return array([text or None for text in texts], string())
