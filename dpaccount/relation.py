"""The words of every guarantee: which datasets are neighbours, and who looks.

Claims, derivations and ledgers write a relation as text. `adjacency` returns what the text means: an
object of the relation's class, which answers everything that depends on the relation. Code asks it, not
for a name; only a rule that is proved for one relation alone says which. A new relation is a class here
that answers every question on which a proof or a test rests: those have no defaults (docs/architecture.md).
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dpaccount.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float64]


class Relation(StrEnum):
    """Which datasets are neighbours: the relations that plans count. A member equals its text."""

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"

    __repr__ = str.__repr__


class Observer(StrEnum):
    """Who sees the output: the world, everybody but the unit itself, or a collector nobody trusts."""

    CENTRAL = "central"
    JOINT = "joint"
    LOCAL = "local"

    __repr__ = str.__repr__


class Adjacency(ABC):
    """An adjacency relation: neighbours differ in one record, and how. Immutable.

    Datasets are arrays of one record a row; `unit` is a row from 0.
    """

    word: ClassVar[str]  #: its name in claims
    meaning: ClassVar[str]  #: the change that is hidden, for readers of certificates; may name {radius}
    rows_vary: ClassVar[bool]  #: neighbours differ in their number of records, which is private
    contributions: ClassVar[int]  #: records whose values make a move of a sum: old and new, or one
    has_radius: ClassVar[bool]  #: a claim states a radius as well
    radius: Fraction | None  #: how far the record moves in ℓ2, if that is limited

    @classmethod
    def read(cls, text: str) -> "Adjacency | None":
        """Return the relation that a text names; None if it names none of this class."""
        return cls() if text == cls.word else None

    def __str__(self) -> str:
        """Return its name in derivations and ledgers, with its radius if it has one."""
        return self.word

    @abstractmethod
    def steps(self, finer: "Adjacency") -> int | None:
        """Return the number of steps between neighbours under `finer` that lead to every neighbour.

        So many records are a group whose protection under `finer` covers this relation; None if no
        number is known to.  All records of a convex set are possible.
        """

    @abstractmethod
    def nearest(self, here: "Rows", other: "Rows") -> "Rows":
        """Return `other`, or a record on the way to it that may take the place of `here`."""

    @abstractmethod
    def neighbour(self, rows: "Rows", unit: int, other: "Rows") -> "Rows":
        """Return the dataset in which the row `unit` is replaced by `nearest`, or is gone."""

    @abstractmethod
    def adjacent(self, left: "Rows", right: "Rows") -> bool:
        """Return whether two datasets are neighbours; distances are rounded to doubles."""


class _Changed(Adjacency):
    """One record is another one, and there are as many as before."""

    rows_vary = False
    contributions = 2

    def neighbour(self, rows: "Rows", unit: int, other: "Rows") -> "Rows":
        """Return the rows with the nearest one in this place."""
        changed = rows.copy()
        changed[unit] = self.nearest(rows[unit], other)
        return changed


@dataclass(frozen=True)
class ReplaceOne(_Changed):
    """One record is replaced by any other; how many there are is public."""

    word = Relation.REPLACE_ONE
    meaning = "the data of one unit are replaced by any other data; the number of units is public"
    has_radius = False
    radius = None

    def steps(self, finer: Adjacency) -> int | None:
        """Return 2 where records come and go: the old one goes, the new one comes."""
        return {ReplaceOne: 1, AddRemove: 2}.get(type(finer))

    def nearest(self, here: "Rows", other: "Rows") -> "Rows":
        """Return the other record."""
        return other

    def adjacent(self, left: "Rows", right: "Rows") -> bool:
        """Return whether at most one row differs."""
        return left.shape == right.shape and len(unlike(left, right)) <= 1


@dataclass(frozen=True)
class AddRemove(Adjacency):
    """One record is there or not; how many there are is private."""

    word = Relation.ADD_REMOVE
    meaning = "all data of one unit are added or removed, so participation is hidden too"
    rows_vary = True
    contributions = 1
    has_radius = False
    radius = None

    def steps(self, finer: Adjacency) -> int | None:
        """Return None for relations that keep the number of records."""
        return 1 if finer == self else None

    def nearest(self, here: "Rows", other: "Rows") -> "Rows":
        """Return the other record, which may come."""
        return other

    def neighbour(self, rows: "Rows", unit: int, other: "Rows") -> "Rows":
        """Return the rows without this one, whatever the other is."""
        import numpy as np

        return np.delete(rows, unit, axis=0)

    def adjacent(self, left: "Rows", right: "Rows") -> bool:
        """Return whether one side is the other without one row."""
        longer, shorter = (left, right) if len(left) > len(right) else (right, left)
        if len(longer) != len(shorter) + 1:
            return False
        first = min(unlike(longer[:-1], shorter), default=len(shorter))
        return not unlike(longer[first + 1 :], shorter[first:])


@dataclass(frozen=True)
class BoundedRow(_Changed):
    """One record, a point of a convex set, moves by at most `radius` > 0 in ℓ2."""

    word = "bounded-row"
    meaning = (
        "one row moves by at most {radius} in ℓ2 norm; this ε does not cover replacing a row by any other"
    )
    has_radius = True
    radius: Fraction

    @classmethod
    def read(cls, text: str) -> "BoundedRow | None":
        """Return the relation where the text is its word and a radius above 0 in lowest terms."""
        pattern = cls.word + r", radius ([1-9]\d{0,999}(?:/[1-9]\d{0,999})?)"
        known = re.fullmatch(pattern, text, re.ASCII)
        # One text for one relation, as theorems compare relations by their texts: 2/4 is not 1/2 here.
        found = cls(Fraction(known[1])) if known else None
        return found if str(found) == text else None

    def __str__(self) -> str:
        """Return its word and its radius."""
        return f"{self.word}, radius {self.radius}"

    def steps(self, finer: Adjacency) -> int | None:
        """Return how often a smaller radius goes into this one; a move is a replacement, too."""
        if isinstance(finer, BoundedRow):
            return ceil(self.radius / finer.radius)
        return ReplaceOne().steps(finer)

    def nearest(self, here: "Rows", other: "Rows") -> "Rows":
        """Return the other record, pulled straight towards `here` until it is within the radius."""
        import numpy as np

        far = float(np.linalg.norm(other - here))
        pulled = other if far <= self.radius else here + (other - here) * (float(self.radius) / far)
        # Rounding may leave the pulled record a little too far away, so the exact test has the last word.
        for _ in range(60):  # far more than rounding takes; else it does not move
            if squared_distance(here.tolist(), pulled.tolist()) <= self.radius**2:
                return pulled
            pulled = here + (pulled - here) * (1 - 2.0**-40)
        return here

    def adjacent(self, left: "Rows", right: "Rows") -> bool:
        """Return whether at most one row differs, and by no more than the radius."""
        import numpy as np

        if not ReplaceOne().adjacent(left, right):
            return False
        moved = (float(np.linalg.norm(left[unit] - right[unit])) for unit in unlike(left, right))
        return all(far <= self.radius for far in moved)


def unlike(left: "Rows", right: "Rows") -> list[int]:
    """Return the rows in which two datasets of one size differ."""
    return (left != right).any(axis=1).nonzero()[0].tolist()


def squared_distance(here: Iterable[Any], there: Iterable[Any]) -> Fraction:
    """Return the squared ℓ2 distance of two records, exactly."""
    moved = (Fraction(a) - Fraction(b) for a, b in zip(here, there, strict=True))
    return sum((each**2 for each in moved), Fraction(0))


#: The class of each relation by its word, as a claim names it.
RELATION_CLASSES: Final[Mapping[str, type[Adjacency]]] = {
    kind.word: kind for kind in (ReplaceOne, AddRemove, BoundedRow)
}


def check_radius(word: str, *, given: bool) -> None:
    """Raise `InputError` where a radius is given for a relation without one, or missing."""
    if RELATION_CLASSES[word].has_radius != given:
        named = " or ".join(kind.word for kind in RELATION_CLASSES.values() if kind.has_radius)
        raise InputError(f"a radius goes with the relation {named}", "give both or neither")


def stated(word: str, radius: Fraction | None) -> Adjacency:
    """Return the relation that a claim states by a word and, for the one that has it, a radius."""
    return adjacency(word) if radius is None else BoundedRow(radius)


@lru_cache(maxsize=256)
def adjacency(relation: str) -> Adjacency:
    """Return the relation that a text names; raises `InputError` if it names none."""
    found = next(filter(None, (kind.read(relation) for kind in RELATION_CLASSES.values())), None)
    if found is None:
        known = ", ".join(RELATION_CLASSES)
        raise InputError(f"unknown relation {relation[:70]!r}", f"known: {known}")
    return found


def kind_of(relation: str) -> type[Adjacency]:
    """Return the class of a relation, by its word, as claims write it, or its whole text."""
    return RELATION_CLASSES.get(relation) or type(adjacency(relation))


def bounded_row(radius: Fraction) -> str:
    """Return the relation of datasets in which one row moves by at most `radius` in ℓ2."""
    return str(BoundedRow(radius))


def radius_of(relation: str) -> Fraction | None:
    """Return the radius of a relation that has one; None for every other text."""
    try:
        return adjacency(relation).radius
    except InputError:
        return None


def written_relation(relation: str) -> str:
    """Return a theorem's relation as claims and derivations write it: one word for rows and for persons."""
    return relation.replace(OF_PERSONS, "")


REPLACE_ONE: Final = Relation.REPLACE_ONE
ADD_REMOVE: Final = Relation.ADD_REMOVE
RELATIONS: Final = tuple(Relation)
CENTRAL: Final = Observer.CENTRAL
JOINT: Final = Observer.JOINT
LOCAL: Final = Observer.LOCAL
OF_PERSONS: Final = " of persons"  #: after a theorem's relation: of tables of persons, who may have many rows
