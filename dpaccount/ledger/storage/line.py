"""The line in which writers of one ledger wait for each other.

SQLite's own lock keeps writers apart but serves whoever asks at the right moment; behind the kernel's file
lock they are served in turn.  It is for fairness only: who cannot have it goes on without.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from dpaccount.errors import posix_module

TURN_SECONDS: Final = 10.0  #: the longest wait in line; the database's lock is waited for after it


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Wait in the line of the ledger at `path`, `TURN_SECONDS` at most; it ends with the block.

    The lock is a file of the ledger's own, so that neither another ledger nor a reader of the folder holds
    it; it is given back aloud, since a process forked meanwhile has a copy of its descriptor.
    """
    fcntl = posix_module("fcntl")
    try:
        descriptor = os.open(f"{path}-line", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        yield
        return
    try:
        _wait_for(descriptor)
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _wait_for(descriptor: int) -> None:
    fcntl = posix_module("fcntl")
    end, pause = time.monotonic() + TURN_SECONDS, 0.0001
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return
            time.sleep(pause)
            pause = min(2 * pause, 0.002)
        except OSError:  # some file systems lock nothing
            return
        else:
            return
