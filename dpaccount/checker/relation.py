"""Which datasets are neighbours: the three relations, their notation and their consequences.

A record is replaced by any other; or it is there or not; or it moves by at most a radius in the l2
norm, which is part of the name. Any other relation is rejected, or the answer is no.
"""

import re
from fractions import Fraction

from .documents import Rejected, brief, ensure, text
from .intervals import number, positive

REPLACED, ADDED, MOVED = "replace-one", "add-remove", "bounded-row"
WORDS = (REPLACED, ADDED, MOVED)  # as claims write them; the radius is a member of its own
GROUPS, RADIUS = ", groups of ", ", radius "
# What the rule `persons` adds to the relation of a fact: its neighbours are tables of persons, who may have
# many rows.  So what compares relations takes no person for a row.  On the wire it is left out.
OF_PERSONS = " of persons"
NO_RADIUS = f"a radius goes with the relation {MOVED}"
# as evidence and ledgers write them
NEIGHBOURS = re.compile(rf"{REPLACED}|{ADDED}|{MOVED}({RADIUS}[1-9]\d*(/[1-9]\d*)?)?", re.ASCII)


def relation_of(value: object) -> str:
    """Read a neighbouring relation that has no number of its own."""
    ensure(value in (REPLACED, ADDED), f"unknown relation {brief(value)}")
    return text(value)


def neighbours_of(value: object) -> str:
    """Read a relation, which rows that move by a radius may be too."""
    kind, _, radius = text(value).partition(RADIUS)
    if kind != MOVED:
        return relation_of(value)
    ensure(value == moving(positive(radius)), "a radius is written in lowest terms")
    return text(value)


def has_radius(word: str) -> bool:
    """Return whether a claim on this relation states how far a row moves."""
    return word == MOVED


def moving(radius: Fraction) -> str:
    """Return the relation of rows that move by at most this radius."""
    return f"{MOVED}{RADIUS}{radius}"


def written_relation(relation: str) -> str:
    """Return the relation of a fact as on the wire: one word for rows and for persons."""
    return relation.replace(OF_PERSONS, "")


def check_single_rows(relation: str) -> None:
    """Verify that neighbours differ in one row, as covers and disjoint units need."""
    single = GROUPS not in relation and OF_PERSONS not in relation
    ensure(single, f"needed a statement about single rows, found {relation}")


def replaced(relation: str) -> bool:
    """Return whether a record is replaced, rather than added or removed."""
    return relation_of(relation) == REPLACED


def keeps_count(relation: str) -> bool:
    """Return whether neighbours have the same number of records, of which one differs."""
    return relation == REPLACED or relation.startswith(f"{MOVED}{RADIUS}")


def reach(relation: str) -> Fraction:
    """Return how far a row goes that moves by a radius as often as a group has steps."""
    kind, _, rest = relation.partition(RADIUS)
    step, _, size = rest.partition(GROUPS)
    if kind != MOVED or not (size == "" or size.isdecimal()):
        raise Rejected(f"needed rows that move by a radius, found {relation}")
    return number(step) * int(size or 1)
