"""Which process this is: for itself, through forks, and for others who ask whether it still runs."""

import os
import platform
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from dpaccount.errors import ReceiptError

_FORKS: list[int] = []  #: the processes that were forked on the way to this one
_STILL = threading.RLock()
_LETTING_GO: list[Callable[[], object]] = []
#: whether this is inside a task that may be done again, where nothing is charged and no release is drawn
IN_TASK = ContextVar("in a task", default=False)
_Found = TypeVar("_Found")


def as_task(call: Callable[..., _Found], *given: Any) -> _Found:
    """Return what a call returns; in it nothing is charged and no noise of a release is drawn."""

    def task() -> _Found:
        IN_TASK.set(True)
        return call(*given)

    return copy_context().run(task)


def outside_tasks() -> None:
    """Raise `ReceiptError` inside a task."""
    if IN_TASK.get():
        raise ReceiptError(
            "a task, which may be done again, charges a ledger or draws noise of a release; do that outside"
        )


@contextmanager
def unforked() -> Iterator[None]:
    """Hold off forks by other threads: a child would inherit a transaction and its locks, for ever held."""
    with _STILL:
        yield


def held() -> bool:
    """Say whether this thread holds off forks."""
    return _STILL._is_owned()  # type: ignore[attr-defined]


def before_forks(let_go: Callable[[], object]) -> None:
    """Call `let_go` before every fork, while no thread is `unforked`, for what must not be inherited."""
    _LETTING_GO.append(let_go)


def _forking() -> None:
    _STILL.acquire()
    for let_go in _LETTING_GO:
        let_go()


def _forked() -> None:
    _FORKS.append(os.getpid())
    _STILL.release()


os.register_at_fork(before=_forking, after_in_parent=_STILL.release, after_in_child=_forked)


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
    """Return when a process that has not ended started, in ticks of its machine's clock; else nothing."""
    try:
        facts = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
        state, *more = facts.rpartition(")")[2].split()
        return "" if state in "ZX" else more[18]  # ended, and not yet waited for by its parent
    except (OSError, ValueError, IndexError):
        return ""
