"""A table's rows divided by unit into one file for each part, in one pass: a part reads its rows alone.

A row is kept as the key of its unit and the codes of the columns that are read, in the order of the
table: eight bytes each.  The files are as private as the table.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from dpaccount.errors import InputError
from mechanisms.table.files import DataFile
from mechanisms.table.persons import Keys
from mechanisms.table.reading import BATCH
from mechanisms.table.totals import Codes, Summed, TablePart, TableTotals

BYTES_HELD: Final = 2**26  #: bytes of rows that are held before they are written
KEY_WORDS: Final = 2  #: words of a key


def divide(
    what: Summed,
    files: Sequence[DataFile],
    part: TablePart,
    folder: Path,
    check: Callable[[], None] = lambda: None,
) -> list[str]:
    """Write the rows of each of the parts to its own file in an empty `folder`; return their digests.

    `part` is any one of the parts; `check` is called before rows are written, and may raise.  Raises
    `InputError` for what is public, as `Summed.of` does, and `OSError` where the folder cannot be
    written.
    """
    digests = [hashlib.sha256() for _ in range(part.of)]
    held: list[list[bytes]] = [[] for _ in digests]
    size = 0

    def write() -> None:
        check()
        for number, blocks in enumerate(held):
            with (folder / str(number)).open("ab") as file:
                for block in blocks:
                    file.write(block)
                    digests[number].update(block)
            blocks.clear()

    for keys, codes in what.keyed(what.batches_of(files), part.secret):
        words = np.column_stack([keys, codes(np.arange(len(keys))).view(np.uint64)])
        numbers = what.parts_of(keys, part)
        # a stable sort is quicker on short integers
        order = np.argsort(numbers.astype(np.uint16) if part.of <= 2**16 else numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=part.of))[:-1]
        for blocks, rows in zip(held, np.split(words[order], ends), strict=True):
            if len(rows):
                blocks.append(rows.astype("<u8").tobytes())
        size += words.nbytes
        if size > BYTES_HELD:
            write()
            size = 0
    write()
    return [digest.hexdigest() for digest in digests]


def totals_of_rows(what: Summed, part: TablePart, folder: Path, digest: str) -> TableTotals:
    """Return the totals of a part whose rows `divide` wrote; raises `InputError` for other rows."""
    return what.of_keyed(_rows(folder / str(part.number), KEY_WORDS + len(what.reading.names), digest), part)


def _rows(path: Path, width: int, digest: str) -> Iterator[tuple[Keys, Codes]]:
    read = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BATCH * 8 * width):
            read.update(block)
            if len(block) % (8 * width):
                break  # it was cut: so its digest differs, too
            words = np.frombuffer(block, dtype="<u8").reshape(-1, width)
            yield words[:, :KEY_WORDS], words[:, KEY_WORDS:].view(np.float64).__getitem__
    if read.hexdigest() != digest:
        raise InputError("the rows of a part are not as they were written", "start again", path)
