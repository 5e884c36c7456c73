"""Limits of work and size; where a computation would pass them, a simpler bound takes its place.

Work is counted in steps, never in seconds, so that the same command gets the same digits on every machine;
and in a process that has answered other questions, as what is `kept` from them costs what it cost first.
A step is one operation on balls of ordinary precision, about 5 µs today; loops that do much between two of
them call `spend`. Limits nest: all exact methods of an answer share its allowance, one of them has
`METHOD` of it, and the lattices in it `LATTICE`. Bounds in closed form, which are always found, have none.
"""

import itertools
import math
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import _GeneratorContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from dpaccount.precision import give_way

SECOND = 200_000  #: steps that a machine of 2026 does in about a second
PROFILE = 30 * SECOND  #: the answers of a whole profile
CALIBRATION = 60 * SECOND  #: the answers that a search for a number of a plan asks for
ANSWER = 12 * SECOND  #: the exact methods of one answer of `account`
METHOD = 8 * SECOND  #: one exact method
LATTICE = 6 * SECOND  #: the last of a row of ever finer lattices
ONE_LATTICE = 1 * SECOND  #: a coarse one, which is made also where other methods did all the work
UPPER_LATTICE = 1.5 * SECOND  #: the last one for upper curves, of which it is not known how close they are
OWN_STEPS = 1 * SECOND  #: the one with a step for each pair that follows
OWN_SHARE = 0.05  #: of what is left of the allowance, at most for that one: other questions may follow
MOST_FACTOR = 1000  #: by which limits may be multiplied


class OutOfReach(ArithmeticError):  # noqa: N818
    """A computation that would need too much work or memory; a simpler bound takes its place."""


P = ParamSpec("P")
T = TypeVar("T")


class _Counter(threading.local):
    """The steps that this thread has done, and the most that it was asked whether it may do."""

    steps = 0.0
    asked = 0.0
    inner = 0.0  #: of these, those of kept values in the one that is being computed


Block = _GeneratorContextManager[None, None, None]  #: of `with`; as a decorator it is entered at each call
_counter = _Counter()
_limit: ContextVar[float] = ContextVar("limit", default=math.inf)
_allowed: ContextVar[float] = ContextVar("allowed", default=math.inf)
_factor: ContextVar[float] = ContextVar("factor", default=1.0)
_paid: "ContextVar[set[_KeptSteps] | None]" = ContextVar("paid", default=None)
_open: "ContextVar[_KeptSteps | None]" = ContextVar("open", default=None)
_calls = itertools.count()


@contextmanager
def _with(variable: ContextVar[float], value: Callable[[], float]) -> Iterator[None]:
    """Set a variable inside the block, or at each call of what the block decorates."""
    token = variable.set(value())
    try:
        yield
    finally:
        variable.reset(token)


def _whole(steps: float) -> float:
    """Return a number of steps whose sums are exact, whatever was counted before."""
    return round(steps * 256) / 256 if math.isfinite(steps) else steps


def raised(factor: float) -> Block:
    """Multiply every limit inside the block by `factor`, a number above 0."""
    return _with(_factor, lambda: _factor.get() * factor)


def limited(steps: float) -> Block:
    """Raise `OutOfReach` in the block after this many steps, or where an outer limit or the allowance ends.

    The number is taken as it is: a constant goes through `granted` first.
    """
    return _with(_limit, lambda: min(_limit.get(), _allowed.get(), _counter.steps + _whole(steps)))


@contextmanager
def allowance(steps: float) -> Iterator[None]:
    """Let everything that is `limited` inside the block share these steps, times the factor of `raised`.

    The block is one question.
    """
    with question(), _with(_allowed, lambda: min(_allowed.get(), _counter.steps + granted(steps))):
        yield


def share(part: float) -> Block:
    """Let the block have this part of what is left of the allowance, so that something is left after it."""
    return _with(_allowed, lambda: _counter.steps + _whole(part * (_allowed.get() - _counter.steps)))


def unlimited() -> Block:
    """Lift the limit inside the block: for bounds in closed form, which must always be found."""
    return _with(_limit, lambda: math.inf)


def at_least(steps: float) -> Block:
    """Grant the block this many steps whatever the limits around it are, within the allowance."""
    return _with(_limit, lambda: max(_limit.get(), min(_allowed.get(), _counter.steps + granted(steps))))


def exhausted() -> bool:
    """Say whether the allowance is used up."""
    return _counter.steps > _allowed.get()


def allowance_left() -> float:
    """Return how many steps the allowance leaves."""
    return max(0.0, _allowed.get() - _counter.steps)


def own_steps() -> float:
    """Return the steps for a lattice with a step for each pair, which is made after one that will do."""
    return min(granted(OWN_STEPS), _whole(OWN_SHARE * allowance_left()))


def granted(steps: float) -> float:
    """Return the number of steps times the factor of `raised`."""
    return _whole(steps * _factor.get())


def over_limit() -> bool:
    """Say whether the innermost limit is passed."""
    return _counter.steps > _limit.get()


def steps_done() -> float:
    """Return how many steps this thread has done."""
    return _counter.steps


def steps_left() -> float:
    """Return how many steps the innermost limit leaves."""
    return _limit.get() - _counter.steps


def part_left(part: float) -> float:
    """Return this part of the steps that the innermost limit leaves."""
    return _whole(part * steps_left())


def affordable(steps: float) -> None:
    """Raise `OutOfReach` before something that would pass the limit (an estimate)."""
    needed = _counter.steps + _whole(steps)
    _counter.asked = max(_counter.asked, needed - _counter.inner)
    if needed > _limit.get():
        raise OutOfReach("an exact method would take too much work")


def spend(steps: float = 1.0) -> None:
    """Count work, before or while it is done; raise `OutOfReach` where the limit is passed.

    Now and then another thread gets its turn.
    """
    _counter.steps += _whole(steps)
    if next(_calls) % 32 == 0:
        give_way()
    if _counter.steps > _limit.get():
        raise OutOfReach("an exact method took too much work")


def bearable(size: float, most: float) -> None:
    """Raise `OutOfReach` before something of an absurd size is made."""
    if not size <= most:
        raise OutOfReach(f"a size above {most:g} is out of reach")


def as_rate(rate: Fraction) -> float:
    """Return a sampling rate as a float; raise `OutOfReach` where the nearest one is 0 or 1."""
    found = float(rate)
    if not 0 < found < 1:
        raise OutOfReach("a sampling rate too near to 0 or 1 for floats")
    return found


def log_rest(rate: Fraction) -> float:
    """Return ln(1 − rate), as exact as a double is; next to 1, the nearest double of the rate is not.

    Raises `OutOfReach` as `as_rate` does.
    """
    near = as_rate(rate)
    return math.log1p(-near) if near < 0.5 else math.log(1 - rate)


@dataclass(eq=False)
class _KeptSteps:
    """The steps that a kept value took by itself, the most asked for, and what it rests on."""

    own: float = 0.0
    asked: float = 0.0
    inner: "list[_KeptSteps]" = field(default_factory=list)

    def unpaid(self, paid: "set[_KeptSteps]") -> "list[_KeptSteps]":
        """Return this and what it rests on, each once and the innermost first, but for what is `paid`."""
        found: dict[_KeptSteps, None] = {}

        def visit(cost: _KeptSteps) -> None:
            if cost not in paid and cost not in found:
                for each in cost.inner:
                    visit(each)
                found[cost] = None

        visit(self)
        return list(found)


@contextmanager
def question() -> Iterator[None]:
    """Begin a question, unless one is open: in it each value that is `kept` is paid once."""
    token = _paid.set(set() if (paid := _paid.get()) is None else paid)
    try:
        yield
    finally:
        _paid.reset(token)


def kept(size: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep the last values of a function of hashable arguments, as `functools.lru_cache` does.

    A value that an earlier question found costs the work that it took then, so no answer depends on
    earlier questions.
    """

    def decorated(compute: Callable[P, T]) -> Callable[P, T]:
        @lru_cache(maxsize=size)
        def computed(*key: Hashable, **named: Hashable) -> tuple[T, _KeptSteps]:
            begun, asked, others = _counter.steps, _counter.asked, _counter.inner
            _counter.asked, _counter.inner = begun, 0.0
            token = _open.set(cost := _KeptSteps())
            done = 0.0  # where it fails, what it did is the work of whoever asked
            try:
                value = compute(*key, **named)  # type: ignore[arg-type]
                done = _counter.steps - begun
                cost.own, cost.asked = done - _counter.inner, _counter.asked - begun
            finally:
                _open.reset(token)
                _counter.asked, _counter.inner = asked, others + done
            if (paid := _paid.get()) is not None:
                paid.add(cost)
            return value, cost

        @wraps(compute)
        def asked(*key: P.args, **named: P.kwargs) -> T:
            before, most = _counter.steps, _counter.asked
            value, cost = computed(*key, **named)  # type: ignore[arg-type]
            if (paid := _paid.get()) is not None and cost not in paid:
                due = cost.unpaid(paid)
                if sum(each.own for each in due) > steps_left():
                    return compute(*key, **named)  # to fail where it failed first
                for each in due:
                    affordable(each.asked)
                    spend(each.own)
                    paid.add(each)
                _counter.asked, _counter.inner = most, _counter.inner + _counter.steps - before
            if (outer := _open.get()) is not None:
                outer.inner.append(cost)
            return value

        asked.cache_clear = computed.cache_clear  # type: ignore[attr-defined]
        return asked

    return decorated
