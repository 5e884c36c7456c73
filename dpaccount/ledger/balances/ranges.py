"""Ranges of whole numbers such as [[1, 5], [8, 8]]: sorted, not adjacent, both ends included."""

from typing import Any

from dpaccount.errors import BudgetError, InputError

Ranges = list[tuple[int, int]]


def read(given: Any) -> Ranges:
    """Return ranges that are sorted and not adjacent; raises `InputError` for any others.

    >>> read([[1, 5], [8, 8]])
    [(1, 5), (8, 8)]
    """
    if not isinstance(given, list | tuple) or not given:
        raise InputError("no ranges", "give pairs of a first and a last number")
    ranges: Ranges = []
    end = -1
    for first, last in map(_pair, given):
        if first <= end + (1 if ranges else 0):
            raise InputError(f"{first} to {last} is not apart from the range before", "give ranges in order")
        ranges.append((first, last))
        end = last
    return ranges


def _pair(given: Any) -> tuple[int, int]:
    if not isinstance(given, list | tuple) or len(given) != 2 or any(type(one) is not int for one in given):
        raise InputError(f"{given!r} is no range", "give a first and a last whole number")
    first, last = given
    if not 1 <= first <= last:
        raise InputError(f"{first} to {last} is no range", "use 1 <= first <= last")
    return first, last


def joined(given: Ranges) -> Ranges:
    """Sort ranges and merge adjacent ones; raises `InputError` if two overlap."""
    if not isinstance(given, list | tuple):
        raise InputError("no ranges", "give pairs of a first and a last number")
    merged: Ranges = []
    for first, last in sorted(map(_pair, given)):
        if merged and first <= merged[-1][1]:
            raise InputError(f"{first} is in two ranges", "give each number once")
        if merged and first == merged[-1][1] + 1:
            merged[-1] = merged[-1][0], last
        else:
            merged.append((first, last))
    return read(merged)


def without(ranges: Ranges, taken: Ranges) -> Ranges | None:
    """Return ranges minus others; None unless all of the others are in them.

    >>> without([(1, 9)], [(3, 4)]), without([(1, 9)], [(9, 10)])
    ([(1, 2), (5, 9)], None)
    """
    left, others = list[tuple[int, int]](), iter(taken)
    other = next(others, None)
    for start, last in ranges:
        first = start
        while other is not None and first <= other[0] and other[1] <= last:
            if first < other[0]:
                left.append((first, other[0] - 1))
            first = other[1] + 1
            other = next(others, None)
        if first <= last:
            left.append((first, last))
    return left if other is None else None


def count(ranges: Ranges) -> int:
    """Return how many numbers the ranges hold."""
    return sum(last - first + 1 for first, last in ranges)


def text(ranges: Ranges) -> str:
    """Return ranges as text for people, such as ``1-5, 8``."""
    return ", ".join(f"{first}-{last}" if first < last else str(first) for first, last in ranges)


def first_of(ranges: Ranges, number: int) -> Ranges:
    """Return the first `number` numbers of ranges; raises `BudgetError` if there are fewer."""
    taken: Ranges = []
    for first, last in ranges:
        if number <= 0:
            break
        taken.append((first, min(last, first + number - 1)))
        number -= last - first + 1
    if number > 0:
        raise BudgetError(f"only {count(ranges)} are open; ask for as many, or charge anew")
    return taken
