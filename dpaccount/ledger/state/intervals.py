"""Ranges of whole numbers: [[1, 5], [8, 8]], in order, apart, both ends included."""

from typing import Any

from dpaccount.errors import BudgetError, InputError

Ranges = list[tuple[int, int]]


def read(given: Any) -> Ranges:
    """Return ranges that are in order and do not touch; raises `InputError` for any others.

    >>> read([[1, 5], [8, 8]])
    [(1, 5), (8, 8)]
    """
    if not isinstance(given, list | tuple) or not given:
        raise InputError("no ranges; give pairs of a first and a last number")
    ranges: Ranges = []
    end = -1
    for first, last in map(_pair, given):
        if first <= end + (1 if ranges else 0):
            raise InputError(f"{first} to {last} is not apart from the range before; give ranges in order")
        ranges.append((first, last))
        end = last
    return ranges


def _pair(given: Any) -> tuple[int, int]:
    if not isinstance(given, list | tuple) or len(given) != 2 or any(type(one) is not int for one in given):
        raise InputError(f"{given!r} is no range; give a first and a last whole number")
    first, last = given
    if not 1 <= first <= last:
        raise InputError(f"{first} to {last} is no range; use 1 <= first <= last")
    return first, last


def joined(given: Ranges) -> Ranges:
    """Return ranges, in any order, as `read` wants them; raises `InputError` where two share a number."""
    if not isinstance(given, list | tuple):
        raise InputError("no ranges; give pairs of a first and a last number")
    found: Ranges = []
    for first, last in sorted(map(_pair, given)):
        if found and first <= found[-1][1]:
            raise InputError(f"{first} is in two ranges; give each number once")
        if found and first == found[-1][1] + 1:
            found[-1] = found[-1][0], last
        else:
            found.append((first, last))
    return read(found)


def without(ranges: Ranges, taken: Ranges) -> Ranges | None:
    """Return what is left of ranges without others; None where not all of those are in them.

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
    """Return how many numbers there are."""
    return sum(last - first + 1 for first, last in ranges)


def text(ranges: Ranges) -> str:
    """Return ranges for a person."""
    return ", ".join(f"{first}-{last}" if first < last else str(first) for first, last in ranges)


def first_of(ranges: Ranges, number: int) -> Ranges:
    """Return the first so many numbers of ranges; raises `BudgetError` where there are fewer."""
    found: Ranges = []
    for first, last in ranges:
        if number <= 0:
            break
        found.append((first, min(last, first + number - 1)))
        number -= last - first + 1
    if number > 0:
        raise BudgetError(f"only {count(ranges)} are open; ask for as many, or charge anew")
    return found
