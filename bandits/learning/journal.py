"""A state file that grows by lines: each is on the disk before anything rests on it, and none is changed.

The first line says whose state it is; every line ends in a digest of itself and of the line before.  The file
is made under another name, synced and then linked, with mode 0600, as it holds what people told.  A last line
without its end was being written when its process died: nobody was answered by it, and it is dropped.
"""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from dpaccount.documents import canonical, digest, sync_folder, using
from dpaccount.errors import InputError, posix_module

SCHEMA = "dpaccount/bandit-state/2"
OURS = 0o600  #: read and written by their owner only

Line = dict[str, Any]


class Journal:
    """An open state file, which no other process can open; close it, or let the process end.

    `head` is its first line, `events` are the others, as they were when it was opened.  Raises
    `InputError` for a file that is damaged, of another version, open elsewhere or readable by others.
    """

    def __init__(self, file: Path, begin: Line) -> None:
        self._name = file.name
        if not os.path.lexists(file):
            _make(file, {"schema": SCHEMA, **begin, "stream": token_hex(8)})
        self._descriptor = _opened(file)
        try:
            self._digests, lines = _read(self._descriptor, self._name)
        except BaseException:
            self.close()
            raise
        self.head, self.events = lines[0], lines[1:]

    def append(self, event: Line) -> None:
        """Write an event; it is on the disk when this returns."""
        line, line_digest = _line(event, self.last())
        written = 0
        while written < len(line):
            written += os.write(self._descriptor, line[written:])
        os.fsync(self._descriptor)
        self._digests.append(line_digest)

    def last(self) -> str:
        """Return the digest of the last line: it covers all lines up to it."""
        return self._digests[-1]

    def holds(self, digests: Iterable[str]) -> bool:
        """Return whether all these are digests of lines of this file."""
        return set(digests) <= set(self._digests)

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _make(file: Path, head: Line) -> None:
    draft = file.with_name(f".{file.name}.{token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OURS), "wb") as draft_file:
            draft_file.write(_line(head, "")[0])
            draft_file.flush()
            os.fsync(draft_file.fileno())
        os.link(draft, file)  # unlike a rename, never replaces a file that appeared meanwhile
        sync_folder(file.parent)
    except FileExistsError:
        return
    except OSError as error:
        why = error.strerror or "unwritable"
        raise InputError(str(why), "give a state file in a folder that can be written", file) from None
    finally:
        with suppress(OSError):
            draft.unlink()


def _opened(file: Path) -> int:
    """Open a state file for this process alone."""
    fcntl = posix_module("fcntl")
    with using(file, "give a state file that can be read and written", "unreadable"):
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    try:
        if os.fstat(descriptor).st_mode & 0o077:
            raise InputError(f"{file} can be read by others and holds what people told", "chmod 600 it")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InputError(f"{file} is open in another process", "let that end") from None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _read(descriptor: int, name: str) -> tuple[list[str], list[Line]]:
    """Return all whole lines and their digests; cut off what is behind them."""
    with os.fdopen(os.dup(descriptor), "rb") as file:
        raw = file.read()
    end = raw.rfind(b"\n") + 1
    digests: list[str] = []
    lines = []
    for body, written in _checked(raw[:end], name):
        expected = digest([digests[-1] if digests else "", body])
        if expected != written:
            raise _damaged(name)
        digests.append(expected)
        lines.append(body)
    if not lines:
        raise _damaged(name)
    if end < len(raw):
        os.ftruncate(descriptor, end)
        os.fsync(descriptor)
    return digests, lines


def _checked(raw: bytes, name: str) -> Iterator[tuple[Line, object]]:
    """Yield every line without its digest, and that; another version is refused by its name."""
    for number, text in enumerate(raw.splitlines()):
        try:
            line = json.loads(text)
        except ValueError:
            line = None
        if not isinstance(line, dict):
            raise _damaged(name)
        schema = str(line.get("schema"))[:40]
        if number == 0 and schema != SCHEMA:
            raise InputError(
                f"the state file {name} is of version {schema!r}", f"this program reads {SCHEMA}"
            )
        written = line.pop("digest", None)
        yield line, written


def _damaged(name: str) -> InputError:
    return InputError(f"the state file {name} is damaged", "restore it, or begin a new run in another")


def _line(body: Line, before: str) -> tuple[bytes, str]:
    """Return an event as it is written after the line of digest `before`, and its own digest."""
    line_digest = digest([before, body])
    return canonical({**body, "digest": line_digest}) + b"\n", line_digest
