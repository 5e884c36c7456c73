"""Fair lock: a queue of writers to one ledger file.

SQLite's own lock excludes other writers, but goes to whichever polls at the right moment.  Here the
current writer holds one lock file and the next writer a second one, so a writer that comes back
queues behind the next.  This is for fairness only: a writer that gets no lock goes on without it.
"""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from dpaccount.errors import posix_module
from dpaccount.ledger.stores.file_checks import locks

TURN_SECONDS: Final = 10.0  #: queue timeout; SQLite's own lock is waited for afterwards
LOOK_SECONDS: Final = 0.0005  #: polling interval; no backoff, or the newest waiter would poll most
NEXT_LOOK_SECONDS: Final = 0.0001  #: polling interval of the next writer


@contextmanager
def turn(path: Path, began: float) -> Iterator[None]:
    """Hold the fair lock of the ledger at `path`; go on without it `TURN_SECONDS` after `began`.

    `began` is in seconds of `time.monotonic`.  The lock files are the ledger's own: neither another
    ledger nor a user who may only read the folder can hold them.
    """
    end = began + TURN_SECONDS
    following, writing = locks(path)
    with ExitStack() as mine:
        with _locked(following, end, LOOK_SECONDS):
            mine.enter_context(_locked(writing, end, NEXT_LOOK_SECONDS))
        yield


@contextmanager
def _locked(path: Path, end: float, pause: float) -> Iterator[None]:
    """Hold the lock on a file, polled every `pause` seconds; go on without it after `end`.

    Unlock explicitly: a forked child may still hold the descriptor.
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
    """Return whether `path` does not exist, or is an empty regular file with one name.

    Never open a database here: closing it would drop this process's locks on it.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size == 0 and status.st_nlink == 1


def _wait_for(descriptor: int, end: float, pause: float) -> None:
    fcntl = posix_module("fcntl")
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return
            time.sleep(pause)
        except OSError:  # the file system has no locks
            return
        else:
            return
