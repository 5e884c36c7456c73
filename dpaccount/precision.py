"""The working precision of python-flint: one for the whole process, so threads that compute take turns.

`flint.ctx.prec` is a variable of the process.  Two threads that set it would compute at each other's
precision: balls stay sound, but may be too wide to decide anything, and be cached as if they were not.
So a block of `precision` holds a lock, and restores what it found.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from flint import ctx

USUAL: Final = 53  #: bits with which python-flint begins
_MOMENT: Final = 1e-4  #: seconds for which the lock is left to a thread that waits for it

_lock = threading.RLock()
_inside: list[None] = []  #: one for each thread that computes, or waits for its turn
_outside = USUAL  #: the precision outside all blocks


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute with `bits` bits inside the block, while no other thread of this process computes."""
    global _outside
    if _held():
        before, ctx.prec = ctx.prec, bits
        try:
            yield
        finally:
            ctx.prec = before
        return
    _inside.append(None)
    try:
        with _lock:
            _outside, ctx.prec = ctx.prec, bits
            try:
                yield
            finally:
                ctx.prec = _outside
    finally:
        _inside.pop()


certified = precision(USUAL)  #: decorates what computes with balls, and returns numbers


def give_way() -> None:
    """Let a thread that waits compute for a while; a long computation calls this between two steps."""
    if len(_inside) > 1 and _held():
        before, ctx.prec = ctx.prec, _outside
        # The lock is held several levels deep; only these private methods, which `Condition` uses too, leave
        # all at once.
        depth = _lock._release_save()  # type: ignore[attr-defined]
        try:
            time.sleep(_MOMENT)  # taken back at once, the lock would rarely change hands
        finally:
            _lock._acquire_restore(depth)  # type: ignore[attr-defined]
            ctx.prec = before


def _held() -> bool:
    return bool(_lock._is_owned())  # type: ignore[attr-defined]


def _forked() -> None:
    """Free a child of what another thread of its parent held: that thread does not run here."""
    global _lock
    mine = _held()
    if not mine:
        ctx.prec, _lock = (_outside if _inside else ctx.prec), threading.RLock()
    del _inside[1 if mine else 0 :]


if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(after_in_child=_forked)
