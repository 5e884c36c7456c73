"""Which process this is: for itself, through forks, and for others who ask whether it still runs."""

import os
import platform
from functools import lru_cache
from pathlib import Path

_FORKS: list[int] = []  #: the processes that were forked on the way to this one
os.register_at_fork(after_in_child=lambda: _FORKS.append(os.getpid()))


def this() -> tuple[int, int]:
    """Return what no fork shares: the process number, which may return, and how many forks led here."""
    return os.getpid(), len(_FORKS)


def name() -> str:
    """Return a text that tells this process from every other: machine, number and start."""
    return _name(os.getpid())


def running(process: str) -> bool | None:
    """Say whether the process of this `name` still runs; None where that is not seen from here."""
    place, _, told = process.rpartition(" ")
    number, _, start = told.partition("@")
    if place != _place() or not number.isdecimal() or not start:
        return None
    return _started(int(number)) == start


@lru_cache(maxsize=1)
def _name(number: int) -> str:
    return f"{_place()} {number}@{_started(number)}"


def _place() -> str:
    """Return the machine and, where there are such, the space in which process numbers count."""
    try:
        space = str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        space = "-"
    return f"{platform.node()} {space}"


def _started(number: int) -> str:
    """Return when a process started, in ticks of its machine's clock; empty where nothing tells."""
    try:
        facts = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
        return facts.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
