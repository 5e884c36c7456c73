"""Kinds of members that documents have in common."""

from typing import Annotated, Final

from msgspec import Meta, Struct, UnsetType
from msgspec.structs import fields

from dpaccount.relation import RELATION_CLASSES

RADIUS_TEXT: Final = r"(, radius [1-9][0-9]*(/[1-9][0-9]*)?)?"
WORDS: Final = "|".join(f"{c.word}{RADIUS_TEXT * c.has_radius}" for c in RELATION_CLASSES.values())

Absent = UnsetType  #: a member that may be left out; null is a value
Number = Annotated[
    int | float | str, Meta(description="A number, or an exact one as text: a decimal or p/q.")
]
Count = Annotated[int, Meta(ge=0)]
Digest = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]
Moment = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
Neighbours = Annotated[str, Meta(pattern=f"^({WORDS})$")]  #: a relation, with its radius if it has one


class Closed(Struct, frozen=True, forbid_unknown_fields=True):
    """A table with these members and no others."""


def keys(table: type[Closed]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the keys that a table must have, and those that it may have."""
    known = fields(table)
    needed = tuple(field.encode_name for field in known if field.required)
    return needed, tuple(field.encode_name for field in known if not field.required)
