"""The folder `--work` of a table that is summed in parts, from which an interrupted command resumes.

The manifest is a `Journal`: exact totals of private data, and the key that hashes persons, for its owner
alone.  Its digests are no signature: anybody with the file can write another, so its content is also compared
with what rows can give (`table_parts`).

The folder also contains the table's rows, one file per part, with mode 700.  A command removes them when
it ends, even with an error, but not if it is killed.
"""

import hmac
import json
import os
import stat
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from operator import index
from pathlib import Path
from secrets import token_bytes
from typing import Final

from dpaccount.documents import canonical, using
from dpaccount.errors import InputError
from dpaccount.work.journal import Journal, JournalKind
from mechanisms.table.persons import SECRET_BYTES

MANIFEST: Final = "manifest.jsonl"
ROW_FOLDER: Final = "rows-of-parts"
DIGESTS: Final = "digests.json"  #: of the files in that folder; it is written last
PartTotals = tuple[list[int], int, str]  #: a part's totals, its number of units, and its marks in base64
PART_FIELDS: Final = ("totals", "units", "marks")  #: of a line of the manifest, after the part's number
MAX_TOTAL: Final = 2**62  #: exclusive bound on the absolute value of a total
WRITABLE: Final = "name a folder to write to"
DAMAGED: Final = ("no manifest of totals", "remove it, or name another --work")
DIFFERS: Final = "the manifest and this release differ in {}"
ANOTHER: Final = "name another --work, or remove it"
KIND: Final = JournalKind(
    "dpaccount/totals/3",
    (WRITABLE, WRITABLE),
    busy=("another command is working there", "wait, or name another --work"),
    damaged=DAMAGED,
    other=(DIFFERS.format("schema"), ANOTHER),
    again=True,
)
Keep = Callable[[int, PartTotals], None]


@contextmanager
def manifest(
    folder: Path | None, wanted: Mapping[str, object], secret: bytes | None = None
) -> Iterator[tuple[bytes, dict[int, PartTotals], Keep]]:
    """Yield the secret of the hash, the finished parts, and a function that records another part.

    Without a folder nothing is recorded.  `wanted` is the header of this work, and `secret` that of
    a new manifest (default: a random one).  Raises `InputError` if the manifest is of other work, is
    in use by another command, or cannot be written.
    """
    secret = secret or token_bytes(SECRET_BYTES)
    if folder is None:
        yield secret, {}, lambda _number, _found: None
        return
    path = folder / MANIFEST
    with using(path, WRITABLE):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with closing(Journal(path, {**wanted, "secret": secret.hex()}, KIND)) as journal:

            def keep(number: int, part: PartTotals) -> None:
                journal.append({"part": number, **dict(zip(PART_FIELDS, part, strict=True))})

            yield *_read(journal, wanted), keep


def _read(journal: Journal, wanted: Mapping[str, object]) -> tuple[bytes, dict[int, PartTotals]]:
    """Return secret and parts; raises `InputError` if they are of other work."""
    head, found = journal.head, dict[int, PartTotals]()
    if other := [name for name, value in wanted.items() if not _same(head.get(name), value)]:
        raise journal.refused((DIFFERS.format(", ".join(other)), ANOTHER))
    try:
        secret = bytes.fromhex(head["secret"])
        if len(secret) != SECRET_BYTES:
            raise ValueError
        for event in journal.events:
            number, part = index(event["part"]), checked_part(*(event[name] for name in PART_FIELDS))
            if number in found or not 0 <= number < head["partitions"]:
                raise ValueError
            found[number] = part
    except (ValueError, TypeError, KeyError):
        raise journal.refused(DAMAGED) from None
    return secret, found


def _same(one: object, other: object) -> bool:
    # With their types: 2.0 and True equal 2 and 1, and are no number of parts.
    return (one, type(one)) == (other, type(other))


def remove_manifest(folder: Path | None) -> None:
    """Remove a folder's manifest: its parts may have been summed from other data."""
    if folder is not None:
        (folder / MANIFEST).unlink(missing_ok=True)


def checked_part(totals: list[int], units: int, marks: str) -> PartTotals:
    """Return a validated part of a manifest; raises `ValueError` or `TypeError` if it is invalid."""
    if len(b64decode(marks, validate=True)) % 8:
        raise ValueError
    found = [*map(index, totals), index(units)]  # a fraction is no total
    if not all(abs(each) < MAX_TOTAL for each in found) or found[-1] < 0:
        raise ValueError
    return found[:-1], found[-1], str(marks)


def parts_in(folder: Path) -> int:
    """Return the number of parts in a folder's manifest; raises `InputError` if there is none."""
    path = folder / MANIFEST
    try:
        with path.open("rb") as file:
            return int(json.loads(file.readline())["partitions"])
    except OSError as error:
        raise InputError(str(error.strerror or "unreadable"), "write it by the other engine", path) from None
    except (ValueError, TypeError, KeyError):
        raise InputError("no manifest of totals", "write it by the other engine", path) from None


# ------------------------------------------------------------------ rows


@dataclass(frozen=True)
class DividedRows:
    """A folder with a file of rows for each part, named by its number, and the files' digests."""

    folder: Path
    digests: list[str]

    def of(self, number: int) -> tuple[Path, str]:
        """Return the folder, as an absolute path, and the digest of a part's file."""
        return self.folder.resolve(), self.digests[number]


@contextmanager
def divided_rows(
    work: Path, header: Mapping[str, object], secret: bytes, divide: Callable[[Path], list[str]]
) -> Iterator[DividedRows]:
    """Yield the rows of a table in parts: from the same work if it was killed, or newly written.

    `divide` writes the parts to an empty folder and returns a digest for each.  An HMAC under `secret` ties
    the digests to the `header` of the work.  Raises `InputError` for a folder with other files, and
    `OSError` if it cannot be written.
    """
    folder = work / ROW_FOLDER
    try:
        digests = _known(folder, header, secret)
        if digests is None:
            remove_rows(work)
            folder.mkdir(mode=0o700)
            digests = divide(folder)
            document = {"digests": digests, "hmac": _hmac(header, digests, secret)}
            (folder / DIGESTS).write_text(json.dumps(document))
        yield DividedRows(folder, digests)
    finally:
        remove_rows(work)


def remove_rows(work: Path) -> None:
    """Remove the folder of rows, if there is one; raises `InputError` if it has other files."""
    folder = work / ROW_FOLDER
    if not folder.is_symlink() and not folder.exists():
        return
    names = [each.name for each in folder.iterdir()]
    if folder.is_symlink() or any(name != DIGESTS and not name.isdecimal() for name in names):
        right = "name another --work, or leave it out"
        raise InputError("this is no folder of a table's rows in parts", right, folder)
    for name in sorted(names, key=lambda name: name != DIGESTS):  # digests first: without them none is used
        (folder / name).unlink()
    folder.rmdir()


def _known(folder: Path, header: Mapping[str, object], secret: bytes) -> list[str] | None:
    """Return the digests if the folder is private and has all rows of this work; else None."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        status, document = folder.lstat(), json.loads((folder / DIGESTS).read_bytes())
        ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
        if ours and hmac.compare_digest(_hmac(header, document["digests"], secret), document["hmac"]):
            return list(document["digests"])
    return None


def _hmac(header: Mapping[str, object], content: object, secret: bytes) -> str:
    return hmac.digest(secret, canonical([dict(header), content]), "sha256").hex()
