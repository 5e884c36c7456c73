"""The private data of a release: digests of its files, and its rows, read in a separate process."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from audits.claim import Claim
from audits.sandbox.fork import Fork
from audits.sandbox.outcomes import pack_array, unpack_array
from audits.subjects.catalogue import BoundClaim
from dpaccount.documents import digest
from dpaccount.errors import BudgetError, InputError, LedgerError, ReceiptError
from dpaccount.relation import adjacency
from mechanisms.subject import Rows, Subject, View
from mechanisms.table.cells import values_of
from mechanisms.table.database import OF_DATABASES, DatabaseTable
from mechanisms.table.reading import Remote, Source, batches, files_of, is_folder, one_file
from mechanisms.table.rows import read_rows

PASSES = (LedgerError, ReceiptError, BudgetError)  #: errors of the ledger, passed on unchanged

#: for each method of a subject, the advice if it raises
WANTED = {
    "read": "return a row for every record, NaN for a cell that is no number",
    "play": "let it take any data of the domain",
    "accuracy": "it is given the view and public parameters",
    "report": "it is given a new instance and the view, nothing that `read` or `play` kept",
    "evaluate": "it is given a new instance, the data and the view",
}

Answer = TypeVar("Answer")


@runtime_checkable
class OnFiles(Subject, Protocol):
    """A subject with its own reader for data files."""

    def read(self, path: Path) -> Rows:
        """Return the file's rows, NaN for missing cells; `InputError` for public facts only."""

    def report(self, view: View) -> dict[str, object]:
        """Return what a run publishes, from the view alone; without this method, the whole view."""


@contextmanager
def on_disk(claim: Claim) -> Iterator[Claim]:
    """Give a claim whose data, where a database has them, are in a private file: of one reading."""
    data, table = claim.data_file, claim.table
    if not isinstance(data, DatabaseTable):
        yield claim
        return
    if table is None:
        raise InputError("a table of a database needs columns", "declare [data.columns]", claim.path)
    with data.snapshot(table.in_file) as path:
        yield replace(claim, data_file=path)


def stamp_of(source: Source) -> list[list[object]]:
    """Return metadata that change with each write to a file, or to the files of a folder."""
    return [[file.name, *file.stamp()] for file in files_of(source)]


def digest_of(claim: Claim, columns: Iterable[str] = ()) -> str:
    """Return the digest of a claim's data: of its files, or of the rows that a database gave.

    The latter is of the cells in some `columns` (none: in all that are read), in no order: another version
    of a reader gives the same, and so does an edition that declares more columns.  Of a study of schema 1
    it is that of the file that holds the rows.
    """
    table, data = claim.table, claim.written.get("data", {})
    if claim.data_file is None or table is None:
        return digest_of_data(claim.data_file) if claim.data_file is not None else ""
    if "schema" not in data or not str(data["file"]).startswith(tuple(f"{each}://" for each in OF_DATABASES)):
        return digest_of_data(claim.data_file)
    return digest_of_rows(claim.data_file, sorted({*columns} or {*table.in_file}))


def digest_of_rows(source: Source, columns: Sequence[str]) -> str:
    """Return a digest of the rows of a table as a multiset, of their cells as text in some columns."""
    count, total = 0, 0
    for batch in batches(one_file(source), columns):
        for row in zip(*(values_of(batch[name]) for name in columns), strict=True):
            packed = json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")
            total += int.from_bytes(hashlib.sha256(packed).digest(), "big")
            count += 1
    return digest([list(columns), count, f"{total % 2**256:x}"])


def digest_of_data(source: Source) -> str:
    """Return the digest of a file, or of the names and digests of a folder's files."""
    digests = digests_in(source)
    if not is_folder(source):
        return next(iter(digests.values()))
    names = [[name, digest] for name, digest in digests.items()]
    return digest(names)


def digests_in(source: Source) -> dict[str, str]:
    """Return the digests of a file, or of a folder's files, by their names."""
    return {file.name: file.digest() for file in files_of(source)}


def on_files(claim: Claim, subject: Subject) -> OnFiles:
    """Return the subject as one that reads files itself; raises `InputError` for any other one."""
    if not isinstance(subject, OnFiles):
        right = "declare the table's columns as [data.columns], or leave [data] out"
        raise InputError(f"{claim.use} reads no data file", right, claim.path)
    return subject


def rows_of(bound: BoundClaim, path: Source) -> Rows:
    """Return the file's rows, read in a separate process and clamped to the domain."""
    # A reader that keeps rows in its module or class would carry them on to the report.
    with Fork(lambda _: _read(bound, path)) as reader:
        rows = unpack_array(reader.ask())
    subject = bound.subject()
    domain = subject.domain()
    if rows.ndim and not len(rows):
        rows = rows.reshape(0, 0)  # an empty dataset has no columns
    try:
        domain.admit(rows, subject.relation)
    except InputError:  # the number of rows may be private: `read` may have dropped rows with missing cells
        atmost = "at most " if adjacency(subject.relation).rows_vary else ""
        raise InputError(
            f"{bound.claim.use} reads no table of {atmost}{domain.rows} rows of {len(domain.low)} numbers",
            "give a file of that size, and return a row for every record, NaN for what lacks",
            str(path),
        ) from None
    return domain.clamped(rows)


def _read(bound: BoundClaim, path: Source) -> list[object]:
    claim = bound.claim
    if claim.table is not None:
        return pack_array(read_rows(path, claim.table, bound.reading, claim.guarantee.relation))
    if isinstance(path, Remote):
        raise InputError(
            f"{claim.use} reads files itself", "copy the data here, and name the file", str(path)
        )
    reader = on_files(claim, bound.subject())
    parts = asked(reader, "read", lambda: reader.read(path))
    try:
        return pack_array(np.array(parts, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError("read gives no table of numbers", "return rows, NaN for what lacks", path) from None


def asked(
    subject: Subject,
    what: str,
    answer: Callable[[], Answer],
    passes: tuple[type[BaseException], ...] = PASSES,
) -> Answer:
    """Return a subject's answer; exceptions become one line without their text, which may quote data.

    Exceptions in `passes` are passed on, and so is an `InputError` of `read`.  Raises `InputError` if the
    call changed the subject's parameters.
    """
    before = _parameters(subject)
    name = f"{type(subject).__name__}.{what}"
    try:
        value = answer()
    except (Exception, SystemExit) as error:  # a user's subject may raise anything
        if isinstance(error, passes) or (what == "read" and isinstance(error, InputError)):
            raise
        raise InputError(f"{name} raises {type(error).__name__}", WANTED[what]) from None
    if _parameters(subject) != before:
        raise InputError(f"{name} changes the subject's parameters", "they belong to the claim, leave them")
    return value


def _parameters(subject: Subject) -> list[object]:
    return [getattr(subject, field.name) for field in fields(subject)]  # type: ignore[arg-type]
