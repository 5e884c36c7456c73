"""What `kill -9` leaves of files: their state between any two system calls of a process."""

import ctypes
import hashlib
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

TRACEME, SYSCALL, SETOPTIONS = 0, 24, 0x4200
EXITKILL = 1 << 20


def _ptrace(request: int, process: int, data: int = 0) -> None:
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if call(request, process, None, data) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def _run(act: Callable[[], object]) -> None:
    """Run in a child that is traced; it says by its exit code whether all went well."""
    code = 1
    try:
        _ptrace(TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        act()
        code = 0
    finally:
        os._exit(code)


def states(act: Callable[[], object], folder: Path, into: Path) -> Iterator[Path]:
    """Yield a copy of `folder` for each state that it is in while a process does `act`, up to the last.

    A killed process leaves what the kernel has: nothing that is written later, all that was before.
    Memory that is mapped (the log's index) changes between system calls too, but without its writer it is
    made anew.
    """
    child = os.fork()
    if not child:
        _run(act)
    os.waitpid(child, 0)
    _ptrace(SETOPTIONS, child, EXITKILL)
    seen: set[str] = set()
    while True:
        digest = _digest(folder)
        if digest not in seen:
            seen.add(digest)
            yield copied(folder, into / f"{len(seen)}")
        _ptrace(SYSCALL, child)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            return


def _digest(folder: Path) -> str:
    """Return a digest of names, links and contents."""
    hashed = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if not file.name.endswith("-shm"):
            text = file.read_bytes()
            hashed.update(f"{file.name} {file.stat().st_ino} {len(text)} ".encode() + text)
    return hashed.hexdigest()


def copied(folder: Path, to: Path) -> Path:
    """Copy a folder with what is linked in it."""
    to.mkdir(parents=True)
    first: dict[int, Path] = {}
    for file in sorted(folder.iterdir()):
        known = first.setdefault(file.stat().st_ino, to / file.name)
        if known == to / file.name:
            shutil.copy(file, known)
        else:
            os.link(known, to / file.name)
    return to
