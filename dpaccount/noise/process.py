"""Identity of this process, across forks and for other processes; tasks that may be repeated."""

import os
import platform
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from dpaccount.errors import ReceiptError

_FORKS: list[int] = []  #: this process and its ancestors since the first fork
#: whether this is a task, which may be repeated and so must not charge a ledger or draw a release
IN_TASK = ContextVar("in a task", default=False)
_Result = TypeVar("_Result")


def as_task(call: Callable[..., _Result], *given: Any) -> _Result:
    """Return the result of a call in which charging a ledger or drawing a release raises `ReceiptError`."""

    def task() -> _Result:
        IN_TASK.set(True)
        return call(*given)

    return copy_context().run(task)


def outside_tasks() -> None:
    """Raise `ReceiptError` inside a task."""
    if IN_TASK.get():
        raise ReceiptError(
            "a task, which may be done again, charges a ledger or draws noise of a release; do that outside"
        )


if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(after_in_child=lambda: _FORKS.append(os.getpid()))


def identity() -> tuple[int, int]:
    """Return (pid, fork depth), which differs between a process and its forks even if pids are reused."""
    return os.getpid(), len(_FORKS)


def name() -> str:
    """Return a globally unique name of this process: machine, pid and start time."""
    return _name(os.getpid())


def running(process: str) -> bool | None:
    """Return whether the process of this `name` still runs; None if it is of another machine or namespace."""
    machine, _, numbered = process.rpartition(" ")
    number, _, start = numbered.partition("@")
    if machine != _machine() or not number.isdecimal() or not start:
        return None
    return _start_time(int(number)) == start


@lru_cache(maxsize=1)
def _name(number: int) -> str:
    return f"{_machine()} {number}@{_start_time(number)}"


def _machine() -> str:
    """Return the machine's name and, on Linux, its pid namespace."""
    try:
        space = str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        space = "-"
    return f"{platform.node()} {space}"


def _start_time(number: int) -> str:
    """Return the start time of a running process in clock ticks; empty if it has ended or is unknown."""
    try:
        facts = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
        # The command's name, which comes first and in parentheses, may itself hold spaces and parentheses.
        state, *more = facts.rpartition(")")[2].split()
        return "" if state in "ZX" else more[18]  # Z: a zombie, X: dead
    except (OSError, ValueError, IndexError):
        return ""
