"""The folder of rows that are divided into parts: private data, kept while a release sums them.

It is in the folder of the manifest, with mode 700.  A command removes it when it ends, also with an
error; one that is killed leaves it, and the same command goes on with it.
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

from dpaccount.documents import canonical
from dpaccount.errors import InputError

FOLDER: Final = "rows-of-parts"
DIGESTS: Final = "digests.json"  #: is written last


@dataclass(frozen=True)
class DividedRows:
    """A folder with a file of rows for each part, named by its number, and the files' digests."""

    folder: Path
    digests: list[str]


@contextmanager
def divided_rows(
    work: Path, header: Mapping[str, object], secret: bytes, divide: Callable[[Path], list[str]]
) -> Iterator[DividedRows]:
    """Give the rows of a table in parts: those of the same command that was killed, or new ones.

    `divide` is given an empty folder, and returns a digest for each part.  An HMAC under `secret` ties
    the digests to the `header` of the work.  Raises `InputError` for a folder with other files, and
    `OSError` where it cannot be written.
    """
    folder = work / FOLDER
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
    """Remove the rows that a folder of parts keeps, if any; raises `InputError` for other files."""
    folder = work / FOLDER
    if not folder.is_symlink() and not folder.exists():
        return
    names = [each.name for each in folder.iterdir()]
    if folder.is_symlink() or any(name != DIGESTS and not name.isdecimal() for name in names):
        right = "name another --work, or leave it out"
        raise InputError("this is no folder of a table's rows in parts", right, folder)
    for name in sorted(names, key=lambda name: name != DIGESTS):  # what is not whole is of no use
        (folder / name).unlink()
    folder.rmdir()


def _known(folder: Path, header: Mapping[str, object], secret: bytes) -> list[str] | None:
    """Return the digests of rows of this work that are all there, in a folder of our own; else None."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        own, held = folder.lstat(), json.loads((folder / DIGESTS).read_bytes())
        private = stat.S_ISDIR(own.st_mode) and own.st_uid == os.geteuid() and not own.st_mode & 0o077
        if private and hmac.compare_digest(_hmac(header, held["digests"], secret), held["hmac"]):
            return list(held["digests"])
    return None


def _hmac(header: Mapping[str, object], digests: list[str], secret: bytes) -> str:
    return hmac.digest(secret, canonical([dict(header), digests]), "sha256").hex()
