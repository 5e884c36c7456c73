"""The line in which writers of one ledger wait for each other.

SQLite's own lock keeps writers apart but serves whoever asks at the right moment.  Here one lock is held in
turn and a second by whoever is next, so that who has had a turn waits behind it.  It is for fairness only:
who cannot have a lock goes on without.
"""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from dpaccount.errors import posix_module
from dpaccount.ledger.storage.place import locks

TURN_SECONDS: Final = 10.0  #: the longest wait in line; the database's lock is waited for after it
LOOK_SECONDS: Final = 0.0005  #: between two looks; it does not grow, or who came last would look oftenest
NEXT_LOOK_SECONDS: Final = 0.0001  #: the same for the one who is next


@contextmanager
def turn(path: Path, began: float) -> Iterator[None]:
    """Wait in the line of the ledger at `path`, until `TURN_SECONDS` after `began`; it ends with the block.

    The locks are files of the ledger's own, so that neither another ledger nor a reader of the folder holds
    them.
    """
    end = began + TURN_SECONDS
    following, writing = locks(path)
    with ExitStack() as mine:
        with _locked(following, end, LOOK_SECONDS):
            mine.enter_context(_locked(writing, end, NEXT_LOOK_SECONDS))
        yield


@contextmanager
def _locked(path: Path, end: float, pause: float) -> Iterator[None]:
    """Hold a file's lock, or nothing where it cannot be had by `end`.

    It is given back aloud, since a process forked meanwhile has a copy of its descriptor.
    """
    fcntl = posix_module("fcntl")
    if not _is_lock(path):
        yield
        return
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        yield
        return
    try:
        _wait_for(descriptor, end, pause)
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _is_lock(path: Path) -> bool:
    """Say whether a name is free or an empty file's only one.

    It may not be a database: to close it would take away the locks that this process has on it.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size == 0 and found.st_nlink == 1


def _wait_for(descriptor: int, end: float, pause: float) -> None:
    fcntl = posix_module("fcntl")
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return
            time.sleep(pause)
        except OSError:  # some file systems lock nothing
            return
        else:
            return
