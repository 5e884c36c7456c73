"""A data file that only `read` may open.

What else opens it would see the same rows on both sides of every test, which then could tell nothing.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_CLOSED: Final[dict[tuple[int, int], str]] = {}  #: device and inode of a file, and its path
_READING: Final[list[None]] = []


def close(path: str) -> None:
    """Keep Python code of this process and its forks from opening the file, but within `opened`, for good.

    Of a folder all files are closed.  Raises nothing where the file is not there: reading it says so.
    """
    for each in (Path(path), *Path(path).rglob("*")):
        try:
            status = each.stat()
        except OSError:
            continue
        if not _CLOSED:
            sys.addaudithook(_watch)
        _CLOSED[status.st_dev, status.st_ino] = path


@contextmanager
def opened() -> Iterator[None]:
    """Let closed files be opened: for the reader, and for the digest of the file."""
    _READING.append(None)
    try:
        yield
    finally:
        _READING.pop()


def _watch(event: str, given: tuple[object, ...]) -> None:
    if event != "open" or _READING or not isinstance(given[0], str | bytes | os.PathLike | int):
        return
    try:
        status = os.stat(given[0])  # noqa: PTH116  # may be a descriptor
    except (OSError, ValueError):
        return
    if (status.st_dev, status.st_ino) in _CLOSED:
        raise PermissionError("the claim's data file is for the subject's `read` alone; take what it returns")
