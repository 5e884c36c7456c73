"""A temporary folder for private rows that outlives no program, whether a signal or a kill ends it.

A signal to end is an exit like any other, so that the folder is removed.  A process that is killed cannot do
so: its folder, whose lock is free then, is removed when the next one is made.
"""

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, Final

PREFIX: Final = "dpaccount-rows-"
LOCK: Final = "lock"  #: a file that is locked while the folder is used
ENDING: Final = ("SIGTERM", "SIGHUP")  #: signals that end a program


@contextmanager
def private_folder() -> Iterator[Path]:
    """Give a new folder that only its owner may enter, and remove it afterwards."""
    remove_left()
    with _ends_cleanly(), TemporaryDirectory(prefix=PREFIX) as folder, _locked(Path(folder) / LOCK):
        yield Path(folder)


def remove_left() -> None:
    """Remove the folders of one's own processes that were killed."""
    for folder in Path(gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with _locked(folder / LOCK, new=False):
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(file: Path, *, new: bool = True) -> Iterator[None]:
    """Hold a file's lock; raises `OSError` where another process has it, or where there is no such file."""
    import fcntl  # not on every system; a command that needs no folder should not fail for it

    flags = os.O_RDWR | (os.O_CREAT if new else 0)
    descriptor = os.open(file, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _ends_cleanly() -> Iterator[None]:
    """Let signals that would end the program at once raise `SystemExit` in the main thread."""
    if threading.current_thread() is not threading.main_thread():  # which alone may set handlers
        yield
        return
    before: dict[int, Any] = {}
    for name in ENDING:
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, _exit)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit(number: int, _: Any) -> None:
    raise SystemExit(128 + number)
