"""Witness: heads noted outside the ledger, which detect an older copy or a lost log.

A witness is a file elsewhere (best on another disk) with a line ``number head`` for every commit.
If the chain lacks the latest noted head, opening the ledger and each write are refused.  The line
is written after the commit and before the commit is acknowledged, so a head is missing only if its
writer was killed in between.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dpaccount.errors import LedgerError
from dpaccount.ledger.stores.rows import Rows

_NUMBER: Final = re.compile("[0-9]{1,18}")
_TAIL: Final = 4096  #: bytes read from the end for the latest head; lines are nearly in order

Note = tuple[int, str]  #: an entry's number and the head when it was the last


class Witness:
    """A file of noted heads."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._name = str(path)

    def notes(self, *, every: bool = False) -> list[Note]:
        """Return a list of the latest noted head, or of every one; empty if none was noted.

        Call it before taking the snapshot to check: a head noted later would be missing there.
        """
        if every:
            return list(self._notes(None))
        return [max(noted)] if (noted := list(self._notes(_TAIL))) else []

    def note(self, head: Note) -> None:
        """Append a head durably; raises `LedgerError` if that fails: the charge stays committed."""
        line = f"{head[0]} {head[1]}\n".encode()
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            try:
                if os.write(descriptor, line) != len(line):
                    raise OSError(0, "no room")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise LedgerError(
                f"entry {head[0]} is written, and its head could not be noted in {self._name}"
                f" ({error.strerror}); fix that and retry with the same key"
            ) from None

    def check(self, rows: Rows, note: Note) -> None:
        """Raise `LedgerError` if the chain lacks a noted head."""
        number, head = note
        entry, (last, _) = rows.entry(number), rows.head()
        if entry is None or entry.digest != head:
            raise LedgerError(
                f"{self._name} notes another entry {number} than this chain has, which ends with entry"
                f" {last}: an older copy or a lost log; put the newest file and its log back, or where they"
                " are gone say what was lost by `dpaccount ledger forfeit`, and begin an empty witness"
            )

    def _notes(self, tail: int | None) -> Iterator[Note]:
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                start = 0 if tail is None else max(0, size - tail)
                file.seek(start)
                lines = file.read().split(b"\n")
        except OSError as error:
            raise LedgerError(
                f"the witness {self._name} cannot be read ({error.strerror}); give the file that heads"
                " were noted in, or an empty one to begin"
            ) from None
        if start and len(lines) < 3:
            raise self._no_list()
        for line in lines[1 if start else 0 : -1]:  # without one cut short by a crash
            yield self._read(line)

    def _read(self, line: bytes) -> Note:
        number, _, head = line.decode("ascii", "replace").partition(" ")
        if not _NUMBER.fullmatch(number) or not head.startswith("sha256:"):
            raise self._no_list()
        return int(number), head

    def _no_list(self) -> LedgerError:
        return LedgerError(f"the witness {self._name} holds no list of heads; give the right file")
