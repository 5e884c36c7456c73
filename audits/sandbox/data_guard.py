"""Guards a private data file, so that only a subject's `read` can open it.

Other code that opened it would see the same rows on both sides of every test, which would be worthless.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_GUARDED: Final[set[tuple[int, int]]] = set()  #: device and inode of each guarded file
_ACCESS: Final[list[None]] = []  #: one entry for each `access` block that is active


def guard(path: str) -> None:
    """Let Python code in this process and its forks open a file, or a folder's files, only within `access`.

    This cannot be undone.  A missing file is ignored; reading it will report that.
    """
    for each in (Path(path), *Path(path).rglob("*")):
        try:
            status = each.stat()
        except OSError:
            continue
        guard_again([(status.st_dev, status.st_ino)])


def guarded() -> list[tuple[int, int]]:
    """Return the device and inode of each guarded file."""
    return sorted(_GUARDED)


def guard_again(files: Iterable[tuple[int, int]]) -> None:
    """Guard files by device and inode, as a process that this one starts does."""
    for each in files:
        if not _GUARDED:
            sys.addaudithook(_watch)
        _GUARDED.add(each)


@contextmanager
def access() -> Iterator[None]:
    """Allow guarded files to be opened: by the reader, and for the digest of the file."""
    _ACCESS.append(None)
    try:
        yield
    finally:
        _ACCESS.pop()


def _watch(event: str, given: tuple[object, ...]) -> None:
    if event != "open" or _ACCESS or not isinstance(given[0], str | bytes | os.PathLike | int):
        return
    try:
        status = os.stat(given[0])  # noqa: PTH116  # may be a descriptor
    except (OSError, ValueError):
        return
    # By device and inode: a link, or the path in other words, is the same file.
    if (status.st_dev, status.st_ino) in _GUARDED:
        raise PermissionError("the claim's data file is for the subject's `read` alone; take what it returns")
