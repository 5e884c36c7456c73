"""Kinds of members that documents have in common."""

from typing import Annotated, Final, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import fields

from dpaccount.relation import RELATION_CLASSES

RADIUS_TEXT: Final = r"(, radius [1-9][0-9]*(/[1-9][0-9]*)?)?"
WORDS: Final = "|".join(f"{c.word}{RADIUS_TEXT * c.has_radius}" for c in RELATION_CLASSES.values())

Absent = UnsetType  #: a member that may be left out; null is a value
# Text too: 1/3, or a number beyond the doubles, must be read exactly.
Number = Annotated[
    int | float | str, Meta(description="A number, or an exact one as text: a decimal or p/q.")
]
Count = Annotated[int, Meta(ge=0)]
Digest = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]
Moment = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
RelationName = Annotated[str, Meta(extra_json_schema={"enum": list(RELATION_CLASSES)})]
Neighbours = Annotated[str, Meta(pattern=f"^({WORDS})$")]  #: a relation, with its radius if it has one
_DECIMAL: Final = r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?"
Exact = Annotated[
    str,
    Meta(
        pattern=rf"^({_DECIMAL}|[-+]?\d+/\d+)$",
        description="An exact number: a decimal or a fraction of whole numbers.",
    ),
]
Bound = Annotated[
    float | Annotated[str, Meta(pattern=r"^(inf|-?\d+(\.\d+)?[eE][-+]?\d+)$")],
    Meta(description="A bound, rounded outward: a double, a decimal text beyond 1e±300, or inf."),
]
Positive = Annotated[int, Meta(ge=1)]
Size = Annotated[float, Meta(ge=0)]  #: a number that is not negative
Extent = Annotated[float | Literal["inf"], Meta(description="A number or inf.")]
Two = Annotated[list[Count], Meta(min_length=2, max_length=2)]
# An attack that fails proves nothing, so no verdict says that a claim holds.
Audited = Literal["REFUTED", "NOT REFUTED", "NOT ATTACKED"]
WithOrWithoutRow = Literal["replace-one", "add-remove"]
Unit = int | str | None


# Unknown members are refused: a misspelt one would pass for one that is left out.
class Closed(Struct, frozen=True, forbid_unknown_fields=True):
    """A table with these members and no others."""


def one_of(*members: str | tuple[str, ...]) -> Meta:
    """Return the demand that exactly one of these members is there, or of these groups of members."""
    groups = [[each] if isinstance(each, str) else list(each) for each in members]
    return Meta(extra_json_schema={"oneOf": [{"required": group} for group in groups]})


def titles(table: type[Struct]) -> dict[str, str]:
    """Return the titles of a table's members, by name; members without one are left out."""
    return {
        each.encode_name: note.title
        for each in fields(table)
        for part in (each.type, *get_args(each.type))  # where it may be left out, it is a union
        for note in getattr(part, "__metadata__", ())
        if isinstance(note, Meta) and note.title is not None
    }


class BoundEnds(Closed, frozen=True):
    """An interval that holds the value; `lower` is null where no lower end is known."""

    lower: Bound | None
    upper: Bound


Amounts = dict[str, Bound | BoundEnds]


class AnyMembers(Struct, frozen=True):
    """A table with members of any names."""


class Confirmed(Closed, frozen=True):
    """What the independent checker confirms: an upper end, or `why` there is none."""

    upper: Exact | None
    why: str | Absent = UNSET


class AtDelta(Closed, frozen=True):
    """An enclosure of ε at δ."""

    epsilon: BoundEnds
    delta: Exact


def keys(table: type[Closed]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the keys that a table must have, and those that it may have."""
    known = fields(table)
    needed = tuple(field.encode_name for field in known if field.required)
    return needed, tuple(field.encode_name for field in known if not field.required)
