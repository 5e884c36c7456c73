"""Two words of every guarantee: which datasets are neighbours, and who looks.

A member equals, prints and is written as its word.
"""

import re
from enum import StrEnum
from fractions import Fraction
from typing import Final


class Relation(StrEnum):
    """Which datasets are neighbours."""

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"

    __repr__ = str.__repr__


class Observer(StrEnum):
    """Who sees the output: the world, everybody but the unit itself, or a collector nobody trusts."""

    CENTRAL = "central"
    JOINT = "joint"
    LOCAL = "local"

    __repr__ = str.__repr__


BOUNDED_ROW: Final = "bounded-row"  #: with a radius: one row moves by at most so much in ℓ2


def bounded_row(radius: Fraction) -> str:
    """Return the relation of datasets of one size in which one row moves by at most `radius` in ℓ2.

    Rows are points of a convex set; all else is equal.
    """
    return f"{BOUNDED_ROW}, radius {radius}"


def radius_of(relation: str) -> Fraction | None:
    """Return the radius of a relation that `bounded_row` wrote, None for any other."""
    known = re.fullmatch(BOUNDED_ROW + r", radius ([1-9]\d{0,999}(?:/[1-9]\d{0,999})?)", relation, re.ASCII)
    radius = Fraction(known[1]) if known else None
    return radius if radius is not None and relation == bounded_row(radius) else None


def moves(relation: str) -> bool:
    """Say whether a relation is of rows that move by a radius above 0, as `bounded_row` writes it."""
    try:
        radius = radius_of(relation)
    except (ValueError, ZeroDivisionError):
        return False
    return radius is not None and radius > 0 and relation == bounded_row(radius)


REPLACE_ONE: Final = Relation.REPLACE_ONE
ADD_REMOVE: Final = Relation.ADD_REMOVE
RELATIONS: Final = tuple(Relation)
CENTRAL: Final = Observer.CENTRAL
JOINT: Final = Observer.JOINT
LOCAL: Final = Observer.LOCAL
OBSERVERS: Final = tuple(Observer)
