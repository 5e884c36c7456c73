"""Two words of every guarantee: which datasets are neighbours, and who looks.

A member equals, prints and is written as its word.
"""

from enum import StrEnum
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


REPLACE_ONE: Final = Relation.REPLACE_ONE
ADD_REMOVE: Final = Relation.ADD_REMOVE
RELATIONS: Final = tuple(Relation)
CENTRAL: Final = Observer.CENTRAL
JOINT: Final = Observer.JOINT
LOCAL: Final = Observer.LOCAL
OBSERVERS: Final = tuple(Observer)
