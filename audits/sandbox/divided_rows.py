"""The folder of rows that are divided into parts: private data of a release, there while it is summed.

It lies in the folder of the manifest, with mode 700.  A command that ends removes it, whatever it ended
with; one that was killed leaves it, and the same command goes on with it.
"""

import hmac
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dpaccount.documents import OWN, canonical
from dpaccount.errors import InputError

ROWS: Final = "rows-of-parts"
WHOLE: Final = "digests.json"  #: is written last
RIGHT: Final = "name another --work, or leave it out"


@dataclass(frozen=True)
class DividedRows:
    """A folder with a file of rows for each part, named by its number, and the files' digests."""

    folder: Path
    digests: list[str]

    def drop(self, number: int) -> None:
        """Remove the rows of a part that is done."""
        (self.folder / str(number)).unlink(missing_ok=True)


@contextmanager
def divided_rows(
    work: Path, header: Mapping[str, object], secret: bytes, divide: Callable[[Path], list[str]]
) -> Iterator[DividedRows]:
    """Give the rows of a table in parts, from the same command that was killed, or as `divide` writes them.

    `divide` is given an empty folder, and returns a digest for each part.  `secret` keys the HMAC that
    ties the digests to the `header` of the work.  Raises `InputError` for a folder that holds anything
    else, belongs to somebody else, or cannot be written.
    """
    try:
        yield DividedRows(work / ROWS, _whole(work, header, secret, divide))
    finally:
        remove_rows(work)


def _whole(
    work: Path, header: Mapping[str, object], secret: bytes, divide: Callable[[Path], list[str]]
) -> list[str]:
    folder = work / ROWS
    if (known := _digests(folder, header, secret)) is not None:
        return known
    remove_rows(work)
    try:
        folder.mkdir(mode=0o700)
        digests = divide(folder)
        document = {"digests": digests, "hmac": _hmac(header, digests, secret)}
        with os.fdopen(os.open(folder / WHOLE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWN), "w") as file:
            json.dump(document, file)
    except OSError as error:
        raise InputError(str(error.strerror or "unwritable"), RIGHT, folder) from None
    return digests


def remove_rows(work: Path) -> None:
    """Remove the rows that a folder of parts keeps, if it does; raises `InputError` for other files."""
    folder = work / ROWS
    if not folder.is_symlink() and not folder.exists():
        return
    try:
        names = [each.name for each in folder.iterdir()]
        if folder.is_symlink() or any(name != WHOLE and not name.isdecimal() for name in names):
            raise InputError("this is no folder of a table's rows in parts", RIGHT, folder)
        for name in sorted(names, key=lambda name: name != WHOLE):  # what is not whole is divided again
            (folder / name).unlink()
        folder.rmdir()
    except OSError as error:
        raise InputError(str(error.strerror or "unwritable"), RIGHT, folder) from None


def _digests(folder: Path, header: Mapping[str, object], secret: bytes) -> list[str] | None:
    """Return the digests of rows that are there as a whole, of this work; None otherwise."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        own = folder.lstat()
        private = stat.S_ISDIR(own.st_mode) and own.st_uid == os.geteuid() and not own.st_mode & 0o077
        held = json.loads((folder / WHOLE).read_bytes())
        digests = held["digests"]
        if private and hmac.compare_digest(_hmac(header, digests, secret), held["hmac"]):
            return list(digests)
    return None


def _hmac(header: Mapping[str, object], digests: list[str], secret: bytes) -> str:
    return hmac.digest(secret, canonical([dict(header), digests]), "sha256").hex()
