"""Totals that another engine sums: Spark, Beam, or whatever gives a person's rows to one call.

What travels to its workers is the claim and the key of the persons' hash; what comes back are exact
integers, which become the manifest that `dpaccount release --engine other --work FOLDER` goes on
from.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_bytes
from typing import Any, Final

from audits.claim import Claim, read_claim
from audits.sandbox.manifest import PART, checked_part, manifest
from audits.sandbox.private_data import digest_of_data
from audits.sandbox.table_parts import TableWork, digests_of, summed
from audits.subjects.catalogue import subject_of
from dpaccount.errors import InputError
from dpaccount.noise import process
from mechanisms.table.columns import shown
from mechanisms.table.persons import SECRET_BYTES
from mechanisms.table.reading import Batch, record_batches
from mechanisms.table.totals import TablePart
from mechanisms.table.user_level import named

SPELLINGS: Final = (
    "integer",
    "string",
    "null",
)  #: of identities, null where all cells of a batch lack


@dataclass(frozen=True)
class PartSummer:
    """What sums the rows of a part, on any machine with this code: it is sent there by pickle.

    An engine calls it once for each part, with all rows of the part's persons.  The first
    `max_rows` rows of a person count, in the order in which they come: let that order depend on the
    person's rows alone, as sorting by all columns does.
    """

    claim: Claim
    made_by: type
    digests: Mapping[str, str]
    secret: bytes

    def totals(self, batches: Iterable[Any]) -> dict[str, object]:
        """Return totals, units and marks of a part, given pyarrow's record batches of its rows.

        Raises `InputError` for what is public: columns that lack or are nested, identities that are
        numbers here and text there, or in floating point, and other code than where the work began;
        `ReceiptError` where the code charges or draws noise.
        """
        what = summed(self.claim, self.made_by)
        own = digests_of(self.claim, self.made_by, "")
        other = [name for name in ("code", "pyarrow") if own[name] != self.digests[name]]
        if what is None or other:
            wrong = (
                f"this machine has other {' and '.join(other or ['code'])} than the one where the work began"
            )
            raise InputError(wrong, "give both the same")
        part = TablePart(0, 1, self.secret, by_file=True)
        read = _read(batches, what.names, what.table.identity)
        found = process.as_task(what.of_batches, read, part)
        marks = b64encode(found.marks).decode()
        return dict(zip(PART, (found.sums.tolist(), found.units, marks), strict=True))

    def of_frames(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Yield one frame with the totals of all `frames` of pandas: for Spark's `mapInPandas`."""
        import pandas as pd

        yield pd.DataFrame([self.totals(map(_record_batch, frames))])

    def keep(self, given: Sequence[Mapping[str, Any]], folder: Path) -> None:
        """Write the manifest of all parts; raises `InputError` where the folder has one of other work.

        So it does for parts that are not as `totals` gave them: their numbers are whole.
        """
        try:
            parts = [checked_part(*(part[name] for name in PART)) for part in given]
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
    """Return what another engine needs; the claim's files are read once, for their digest."""
    read = read_claim(claim)
    made_by = type(named(subject_of(read)))
    if read.data_file is None or summed(read, made_by) is None:
        raise InputError(f"{read.use} adds no noise to sums of a table's rows", "see docs/tables.md", claim)
    digests = digests_of(read, made_by, digest_of_data(read.data_file))
    return PartSummer(read, made_by, digests, token_bytes(SECRET_BYTES))


def _read(batches: Iterable[Any], names: Sequence[str], identity: str | None) -> Iterator[Batch]:
    """Yield the batches' columns; identities must be spelled in one way, or one person could count as two.

    They are texts from here on: in another part, which nobody here sees, the same ones may be integers.
    """
    spelled = ""
    for batch in batches:
        given, schema = batch, batch.schema
        kind = schema.field(identity).type if identity in schema.names else None
        if kind is not None and not kind.num_fields and batch.num_rows:
            own = _spelling(kind)
            if own not in SPELLINGS or (spelled and own not in (spelled, "null")):
                what = f"{identity} is {own}" + (f", before {spelled}" if spelled else "")
                raise InputError(what, "give all its cells as integers, without gaps, or all as text")
            spelled = spelled or ("" if own == "null" else own)
            given = _as_text(batch, str(identity))
        for _, columns in record_batches(given, names):
            yield columns


def _record_batch(frame: Any) -> Any:
    """Return a frame of pandas as pyarrow's record batch; no cell is refused, or changes another one."""
    from pyarrow import RecordBatch

    names = list(map(str, frame.columns))
    if len({*names}) < len(names):
        raise InputError("a column appears twice in the frame", "rename one")
    return RecordBatch.from_arrays([_array(frame.iloc[:, at]) for at in range(len(names))], names)


def _array(column: Any) -> Any:
    """Return a column as pyarrow's array.

    Objects that are not all texts become texts, each by itself: no common type is private.
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


def _as_text(batch: Any, identity: str) -> Any:
    from pyarrow import string

    place = batch.schema.get_field_index(identity)
    return batch.set_column(place, identity, batch.column(place).cast(string()))


def _spelling(kind: Any) -> str:
    from pyarrow import types

    if types.is_integer(kind):
        return "integer"
    return "string" if types.is_string(kind) or types.is_large_string(kind) else str(kind)
