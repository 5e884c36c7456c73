"""Limits of work and size; where a computation would pass them, a simpler bound takes its place.

Work is counted in steps, never in seconds, so that the same command gets the same digits on every machine
(in one process, what is cached from earlier questions costs no steps).
A step is one operation on balls of ordinary precision, about 5 µs today; loops that do much between two of
them call `spend`. Limits nest: all exact methods of an answer share its allowance, one of them has
`METHOD` of it, and the lattices in it `LATTICE`. Bounds in closed form, which are always found, have none.
"""

import itertools
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import _GeneratorContextManager, contextmanager
from contextvars import ContextVar

from dpaccount.precision import give_way

SECOND = 200_000  #: steps that a machine of 2026 does in about a second
PROFILE = 30 * SECOND  #: the answers of a whole profile
CALIBRATION = 15 * SECOND  #: the answers that a search for the least noise asks for
PLAN_CALIBRATION = 60 * SECOND  #: the same for a number anywhere in a plan
ANSWER = 9 * SECOND  #: the exact methods of one answer of `account`
METHOD = 8 * SECOND  #: one exact method
LATTICE = 6 * SECOND  #: the last of a row of ever finer lattices
ONE_LATTICE = 1 * SECOND  #: a coarse one, which is made also where other methods did all the work
UPPER_LATTICE = 1.5 * SECOND  #: the last one for upper curves, of which it is not known how close they are
MOST_FACTOR = 1000  #: by which limits may be multiplied


class OutOfReach(ArithmeticError):  # noqa: N818
    """A computation that would need too much work or memory; a simpler bound takes its place."""


class _Counter(threading.local):
    """The steps that this thread has done."""

    steps = 0.0


Block = _GeneratorContextManager[None, None, None]  #: of `with`; as a decorator it is entered at each call
_counter = _Counter()
_limit: ContextVar[float] = ContextVar("limit", default=math.inf)
_allowed: ContextVar[float] = ContextVar("allowed", default=math.inf)
_factor: ContextVar[float] = ContextVar("factor", default=1.0)
_calls = itertools.count()


@contextmanager
def _with(variable: ContextVar[float], value: Callable[[], float]) -> Iterator[None]:
    """Set a variable inside the block, or at each call of what the block decorates."""
    token = variable.set(value())
    try:
        yield
    finally:
        variable.reset(token)


def raised(factor: float) -> Block:
    """Multiply every limit inside the block by `factor`, a number above 0."""
    return _with(_factor, lambda: _factor.get() * factor)


def limited(steps: float) -> Block:
    """Raise `OutOfReach` in the block after this many steps, or where an outer limit or the allowance ends.

    The number is taken as it is: a constant goes through `granted` first.
    """
    return _with(_limit, lambda: min(_limit.get(), _allowed.get(), _counter.steps + steps))


def allowance(steps: float) -> Block:
    """Let everything that is `limited` inside the block share these steps, times the factor of `raised`."""
    return _with(_allowed, lambda: min(_allowed.get(), _counter.steps + granted(steps)))


def unlimited() -> Block:
    """Lift the limit inside the block: for bounds in closed form, which must always be found."""
    return _with(_limit, lambda: math.inf)


def at_least(steps: float) -> Block:
    """Grant the block this many steps whatever the limits around it are, within the allowance."""
    return _with(_limit, lambda: max(_limit.get(), min(_allowed.get(), _counter.steps + granted(steps))))


def exhausted() -> bool:
    """Say whether the allowance is used up."""
    return _counter.steps > _allowed.get()


def granted(steps: float) -> float:
    """Return the number of steps times the factor of `raised`."""
    return steps * _factor.get()


def over_limit() -> bool:
    """Say whether the innermost limit is passed."""
    return _counter.steps > _limit.get()


def steps_done() -> float:
    """Return how many steps this thread has done."""
    return _counter.steps


def steps_left() -> float:
    """Return how many steps the innermost limit leaves."""
    return _limit.get() - _counter.steps


def affordable(steps: float) -> None:
    """Raise `OutOfReach` before something that would pass the limit (an estimate)."""
    if _counter.steps + steps > _limit.get():
        raise OutOfReach("an exact method would take too much work")


def spend(steps: float = 1.0) -> None:
    """Count work, before or while it is done; raise `OutOfReach` where the limit is passed.

    Now and then another thread gets its turn.
    """
    _counter.steps += steps
    if next(_calls) % 32 == 0:
        give_way()
    if _counter.steps > _limit.get():
        raise OutOfReach("an exact method took too much work")


def bearable(size: float, most: float) -> None:
    """Raise `OutOfReach` before something of an absurd size is made."""
    if not size <= most:
        raise OutOfReach(f"a size above {most:g} is out of reach")
