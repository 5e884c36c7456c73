"""How long a computation may take and how large it may grow: beyond that a simpler bound takes its place.

Limits nest, in seconds of the thread's processor time: all exact methods of an answer share its allowance,
one of them has `METHOD` of it, and the lattices in it `LATTICE`. Bounds in closed form, which are always
found, have none.
"""

import itertools
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dpaccount.precision import give_way

PROFILE = 30.0  #: the answers of a whole profile
CALIBRATION = 15.0  #: the answers that a search for the least noise asks for
PLAN_CALIBRATION = 60.0  #: the same where it stands anywhere in a plan
ANSWER = 9.0  #: the exact methods of one answer of `account`
METHOD = 8.0  #: one exact method
LATTICE = 6.0  #: the last of a row of ever finer lattices
ONE_LATTICE = 1.0  #: a coarse one, which is made also where other methods took all the time
UPPER_LATTICE = 1.5  #: the same for upper curves, of which it is not known how close they are


class OutOfReach(ArithmeticError):  # noqa: N818
    """A computation that would need too much time or memory; a simpler bound takes its place."""


_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)
_allowed: ContextVar[float] = ContextVar("allowed", default=math.inf)
_ticks = itertools.count()


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Give the block so much processor time (outer limits and the allowance hold), then `OutOfReach`."""
    token = _deadline.set(min(_deadline.get(), _allowed.get(), time.thread_time() + seconds))
    try:
        yield
    finally:
        _deadline.reset(token)


@contextmanager
def allowance(seconds: float) -> Iterator[None]:
    """Let everything that asks for `patience` inside the block share so much processor time."""
    token = _allowed.set(min(_allowed.get(), time.thread_time() + seconds))
    try:
        yield
    finally:
        _allowed.reset(token)


def spent() -> bool:
    """Say whether the allowance is used up."""
    return time.thread_time() > _allowed.get()


@contextmanager
def unhurried() -> Iterator[None]:
    """Lift the limit inside the block: for bounds in closed form, which must always be found."""
    token = _deadline.set(math.inf)
    try:
        yield
    finally:
        _deadline.reset(token)


@contextmanager
def at_least(seconds: float) -> Iterator[None]:
    """Give the block so much processor time whatever the limits around it say, but for the allowance."""
    token = _deadline.set(max(_deadline.get(), min(_allowed.get(), time.thread_time() + seconds)))
    try:
        yield
    finally:
        _deadline.reset(token)


def out_of_time() -> bool:
    """Say whether the time of the innermost `patience` is over."""
    return time.thread_time() > _deadline.get()


def seconds_left() -> float:
    """Return the processor time that is left to the innermost `patience`."""
    return _deadline.get() - time.thread_time()


def affordable(seconds: float) -> None:
    """Raise `OutOfReach` before something that would outlast the time (an estimate)."""
    if time.thread_time() + seconds > _deadline.get():
        raise OutOfReach("the time for an exact method would not suffice")


def tick() -> None:
    """Raise `OutOfReach` where the time is over; looks at the clock now and then, and lets others in."""
    if next(_ticks) % 32 == 0:
        give_way()
        if out_of_time():
            raise OutOfReach("the time for an exact method is over")


def bearable(size: float, most: float) -> None:
    """Raise `OutOfReach` before something of an absurd size is made."""
    if not size <= most:
        raise OutOfReach(f"a size above {most:g} is out of reach")
