"""A private file that grows by lines, from which work goes on after any end of its process.

The first line says whose work it is; every line ends in a digest of itself and of the line before, so that
none can be changed, left out or come from another file.  The file is made under another name, synced and then
linked, with mode 0600, as it holds what people told, or totals of private rows.  A last line without its end
was being written when its process died: nothing rests on it, and it is dropped.

This is for what one process does in order.  What several commands do at once is kept by name in
`dpaccount.work.results`: they would have to read each other's lines, all of them, whenever they begin.
"""

import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from dpaccount.documents import OWN, canonical, creating, digest, using
from dpaccount.errors import InputError, posix_module

Line = dict[str, Any]


@dataclass(frozen=True)
class JournalKind:
    """What a journal is for, and what is said of one that cannot be used: what is wrong, what would be right.

    In a sentence `{file}` is its path, `{name}` its last part, `{found}` another schema.  `again`: what it
    holds can be computed again, so an empty file is begun anew, and the mode of one that others can
    read is mended.  With `sync`, lines are written through to the disk after so many seconds only; after a
    power failure the end may be anything, so the file is cut where it no longer reads.
    """

    schema: str
    unusable: tuple[str, str]  #: what would be right where the system refuses to make it, and to open it
    busy: tuple[str, str]
    damaged: tuple[str, str]
    other: tuple[str, str]  #: of another schema
    exposed: tuple[str, str] = ("", "")
    again: bool = False
    sync: float = 0.0


class Journal:
    """An open journal, which no other process can open; close it, or let the process end.

    `head` is its first line, `events` are the others, as they were when it was opened.  Raises
    `InputError` for a file that is damaged, of another version, open elsewhere or readable by others.
    """

    def __init__(self, file: Path, begin: Line, kind: JournalKind) -> None:
        self._file, self._kind = file, kind
        head = {"schema": kind.schema, **begin, "stream": token_hex(8)}
        if not os.path.lexists(file):
            self._make(head)
        self._descriptor = self._opened()
        self._synced = time.monotonic()
        self._digests: list[str] = []
        try:
            lines = self._read()
            if not lines:
                self.append(head)
        except BaseException:
            self._release()
            raise
        self.head, self.events = (lines or [head])[0], lines[1:]

    def append(self, event: Line) -> None:
        """Write an event; it is on the disk when this returns, unless lines are synced later."""
        line, line_digest = _line(event, self._digests[-1] if self._digests else "")
        written = 0
        while written < len(line):
            written += os.write(self._descriptor, line[written:])
        if not self._kind.sync:
            os.fsync(self._descriptor)
        elif time.monotonic() - self._synced >= self._kind.sync:
            os.fsync(self._descriptor)
            self._synced = time.monotonic()
        self._digests.append(line_digest)

    def last(self) -> str:
        """Return the digest of the last line: it covers all lines up to it."""
        return self._digests[-1]

    def holds(self, digests: Iterable[str]) -> bool:
        """Return whether all these are digests of lines of this file."""
        return set(digests) <= set(self._digests)

    def close(self) -> None:
        """Let go of the file, with all of it on the disk."""
        if self._kind.sync and self._descriptor >= 0:
            os.fsync(self._descriptor)
        self._release()

    def _release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def refused(self, why: tuple[str, str], found: object = "") -> InputError:
        """Return the error to raise about this file."""
        words = {"file": self._file, "name": self._file.name, "found": found}
        what, right = (each.format(**words) for each in why)
        return InputError(what, right, self._file if self._kind.again else None)

    def _make(self, head: Line) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with (
            using(self._file, self._kind.unusable[0]),
            suppress(FileExistsError),
            creating(self._file) as draft,
            os.fdopen(os.open(draft, flags, OWN), "wb") as draft_file,
        ):
            draft_file.write(_line(head, "")[0])
            draft_file.flush()
            os.fsync(draft_file.fileno())

    def _opened(self) -> int:
        """Open the file for this process alone."""
        fcntl, again = posix_module("fcntl"), self._kind.again
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (os.O_NOFOLLOW if again else 0)
        with using(self._file, self._kind.unusable[1], "unreadable"):
            descriptor = os.open(self._file, flags)
        try:
            if again:
                os.fchmod(descriptor, OWN)
            elif os.fstat(descriptor).st_mode & 0o077:
                raise self.refused(self._kind.exposed)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise self.refused(self._kind.busy) from None
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _read(self) -> list[Line]:
        """Return all whole lines, noting their digests; cut off what is behind them."""
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            raw = file.read()
        end, lines = 0, list[Line]()
        for text in raw[: raw.rfind(b"\n") + 1].splitlines(keepends=True):
            body, expected = self._checked(text, first=not lines)
            if body is None:
                if lines and self._kind.sync:
                    break
                raise self.refused(self._kind.damaged)
            end += len(text)
            lines.append(body)
            self._digests.append(expected)
        if not lines and (raw or not self._kind.again):
            raise self.refused(self._kind.damaged)
        if end < len(raw):
            os.ftruncate(self._descriptor, end)
            os.fsync(self._descriptor)
        return lines

    def _checked(self, text: bytes, *, first: bool) -> tuple[Line | None, str]:
        """Return a line without its digest, which is returned too; None if it is not as it was written."""
        try:
            line = json.loads(text)
        except ValueError:
            line = None
        if not isinstance(line, dict):
            return None, ""
        schema = str(line.get("schema"))[:40]
        if first and schema != self._kind.schema:
            raise self.refused(self._kind.other, repr(schema))
        written = line.pop("digest", None)
        expected = digest([self._digests[-1] if self._digests else "", line])
        return (line if written == expected else None), expected


def _line(body: Line, before: str) -> tuple[bytes, str]:
    """Return an event as it is written after the line of digest `before`, and its own digest."""
    line_digest = digest([before, body])
    return canonical({**body, "digest": line_digest}) + b"\n", line_digest
