"""Locks and forks: a child inherits what other threads of its parent held, and nobody there lets go.

`unforked` blocks forks by other threads; what is computed or imported once goes without a lock, or inside it.
"""

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

T = TypeVar("T")
_LOCK = threading.RLock()
_BEFORE: list[Callable[[], object]] = []


class cached_property(functools.cached_property[T]):  # noqa: N801 - it stands for that one
    """The standard library's, which up to Python 3.11 computes under a lock that all instances share.

    A process that is forked while another thread computes would inherit the lock, for ever held.  Two
    threads may compute the same twice.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        super().__init__(compute)
        self.lock = nullcontext()


@contextmanager
def unforked() -> Iterator[None]:
    """Block forks by other threads: a child would inherit a transaction, or an import, that it cannot end."""
    with _LOCK:
        yield


def holds_off_forks() -> bool:
    """Return whether this thread is `unforked`."""
    return _LOCK._is_owned()  # type: ignore[attr-defined]


def before_forks(let_go: Callable[[], object]) -> None:
    """Register `let_go`, which closes what a child must not inherit; called when no thread is `unforked`."""
    _BEFORE.append(let_go)


def _before_fork() -> None:
    _LOCK.acquire()
    for let_go in _BEFORE:
        let_go()


if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(before=_before_fork, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)
