"""Amounts spent per unit, as step functions over the units 1, 2, 3 and so on.

A step (first, amounts) applies from unit `first` to the unit before the next step; the last step
has no end, and before the first one nothing is spent.  Neighbouring steps differ, so equal
functions have equal steps. Amounts are exact, and units are never enumerated: a cover of 10¹⁸ units
is two steps.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import cache, lru_cache

from dpaccount.accounting.measures import Amounts

Step = tuple[int, Amounts]
Cover = tuple[int, int]

MOST_PARTS = 2**53  #: of a reservation
LAST_UNIT = 2**63 - 2  #: the largest unit that a store's 64-bit integers can end a cover at


def spent_on(cover: Cover | None, amounts: Amounts) -> list[Step]:
    """Return the function that is `amounts` on the cover [first, last] (None: all units) and 0 elsewhere.

    >>> spent_on((3, 5), (Fraction(1, 2),))
    [(3, (Fraction(1, 2),)), (6, (Fraction(0, 1),))]
    """
    if not any(amounts):
        return []
    if cover is None:
        return [(1, amounts)]
    first, last = cover
    return [(first, amounts), (last + 1, zero(len(amounts)))]


def total(functions: Iterable[list[Step]], width: int) -> list[Step]:
    """Return the sum of step functions of `width` amounts each; O(n log n) in all their steps.

    >>> half, whole = (Fraction(1, 2),), (Fraction(1),)
    >>> total([spent_on((1, 4), half), spent_on((5, 9), half)], 1) == spent_on((1, 9), half)
    True
    """
    changes: dict[int, Amounts] = {}
    nothing = zero(width)
    for steps in functions:
        before = nothing
        for first, amounts in steps:
            change = amounts if before is nothing else tuple(map(Fraction.__sub__, amounts, before))
            known = changes.get(first)
            changes[first] = change if known is None else plus(known, change)
            before = amounts
    summed: list[Step] = []
    level = nothing
    for first in sorted(changes):
        if any(changes[first]):
            level = plus(level, changes[first])
            summed.append((first, level))
    return summed


def most(steps: Iterable[Step], width: int) -> Amounts:
    """Return the component-wise maximum over all units."""
    peak = zero(width)
    for _, amounts in steps:
        peak = tuple(map(max, peak, amounts))
    return peak


def plus(left: Amounts, right: Amounts) -> Amounts:
    """Return the sum of two amounts."""
    return tuple(b if not a else a + b if b else a for a, b in zip(left, right, strict=True))


def negative(amounts: Amounts) -> Amounts:
    """Return amounts with their signs changed."""
    return tuple(-one for one in amounts)


@cache
def zero(width: int) -> Amounts:
    """Return amounts that are all 0."""
    return (Fraction(0),) * width


def written(amounts: Amounts) -> str:
    """Return amounts as text: ``p/q`` each, or ``p`` if q is 1."""
    return " ".join(map(str, amounts))


@lru_cache(maxsize=4096)  # many charges pay the same
def read(text: str, width: int) -> Amounts:
    """Parse the text of `written`; raises `ValueError` for anything else."""
    amounts = tuple(map(one_amount, text.split(" ")))
    if len(amounts) != width or written(amounts) != text or min(amounts) < 0:
        raise ValueError(f"not {width} amounts: {text!r}")
    return amounts


def one_amount(word: str) -> Fraction:
    """Parse ``p/q`` or ``p``; raises `ValueError` for anything else, such as exponents."""
    above, _, below = word.partition("/")
    denominator = int(below or 1)
    if denominator == 0:
        raise ValueError(f"not an amount: {word!r}")
    return Fraction(int(above), denominator)
