"""The shape of a certificate: its members, and the shape of each."""

import re
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from typing import Any

from .. import relation
from ..documents import Rejected, brief, ensure, spend, text
from ..intervals import MAX_TEXT, number

Shape = Callable[[Any, str], None]

DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII)


def closed(required: dict[str, Shape], optional: dict[str, Shape] | None = None) -> Shape:
    """Return the shape of a table with these members and no others."""
    known = {**required, **(optional or {})}

    def shape(value: Any, where: str) -> None:
        members = _table(value, where)
        if lacking := [name for name in required if name not in members]:
            raise Rejected(f"{where} lacks {brief(lacking[0])}")
        for name, member in members.items():
            if name not in known:
                raise Rejected(f"{where} has an unknown member {brief(name)}")
            known[name](member, f"{where}.{name}")

    return shape


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Rejected(f"{where} should be a table")
    return value


def each(member: Shape) -> Shape:
    """Return the shape of a list, or of a table of any names, whose members have one shape."""

    def shape(value: Any, where: str) -> None:
        ensure(isinstance(value, dict | list), f"{where} has the wrong shape")
        for inner in value.values() if isinstance(value, dict) else value:
            member(inner, where)

    return shape


def kind(*types: type) -> Shape:
    """Return the shape of a value of one of these types; true is no integer."""

    def shape(value: Any, where: str) -> None:
        ensure(type(value) in types, f"{where} has the wrong shape")

    return shape


def written(pattern: re.Pattern[str] | tuple[str, ...]) -> Shape:
    """Return the shape of a text that fits a pattern, or is one of some words."""

    def shape(value: Any, where: str) -> None:
        ensure(isinstance(value, str), f"{where} should be text")
        fits = value in pattern if isinstance(pattern, tuple) else pattern.fullmatch(value) is not None
        ensure(fits, f"{where} is {brief(value)}, which it cannot be")

    return shape


def exact_of(value: object, name: str) -> Fraction | None:
    """Read a JSON number as the decimal written, or a decimal string; ``"inf"`` is None."""
    if value == "inf":
        return None
    if isinstance(value, str) and "/" in value:
        return number(value)
    form = value if isinstance(value, str) else repr(value)
    number_like = type(value) in (int, float, str) and len(form) <= MAX_TEXT
    good = r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?"
    ensure(number_like and re.fullmatch(good, form, re.ASCII) is not None, f"{name} should be a number")
    spend(200)  # as long as its exponent
    return Fraction(form)


def amount(least: int | None = 0, *, endless: bool = False) -> Shape:
    """Return the shape of a number, as JSON number or as text, of at least `least`."""

    def shape(value: Any, where: str) -> None:
        exact = exact_of(value, where)
        ensure(endless or exact is not None, f"{where} should be finite")
        ensure(exact is None or least is None or exact >= least, f"{where} should be at least {least}")

    return shape


def either(*shapes: Shape) -> Shape:
    """Return the shape of null or of one of these shapes, selected by the value's type."""

    def shape(value: Any, where: str) -> None:
        for one in shapes if value is not None else ():
            one(value, where)

    return shape


def listed(shape: Shape) -> Shape:
    """Return the shape of a list of members of one shape."""
    return lambda value, where: (kind(list)(value, where), each(shape)(value, where))[0]


def tabled(shape: Shape) -> Shape:
    """Return the shape of a table whose names are free."""
    return lambda value, where: (kind(dict)(value, where), each(shape)(value, where))[0]


def anything(value: Any, where: str) -> None:
    """Take any value: what a subject takes, a witness holds or a run reports."""


def stated(value: Any, where: str) -> None:
    """Accept true alone: a fact that is not stated is left out."""
    ensure(value is True, f"{where} is true, or left out")


def moment(value: Any, where: str) -> None:
    """Accept a valid date and time, to the second, of a year in which certificates exist."""
    written(MOMENT)(value, where)
    ensure(day(value, where).year >= 2020, f"{where} is {brief(value)}, before there were certificates")


def day(value: Any, where: str) -> date:
    """Return the day of a text that begins with one, as YYYY-MM-DD, or reject."""
    try:
        return date.fromisoformat(text(value)[:10])
    except ValueError:
        raise Rejected(f"{where} is {brief(value)}, which is no date; write YYYY-MM-DD") from None


TEXT, FLAG, COUNT = kind(str), kind(bool), kind(int)
RELATION = written(relation.WORDS)
GUARANTEE: dict[str, Shape] = {
    "model": written(("central", "joint", "local")),
    "unit": TEXT,
    "relation": RELATION,
    "epsilon": amount(),
}
CELLS: dict[str, Shape] = dict.fromkeys(("low", "high", "missing"), anything)
CELLS |= {"values": listed(TEXT), "other": FLAG, "missing_cells": FLAG, "gaps": FLAG, "length": COUNT}
CELLS |= {"fold": FLAG, "map": tabled(TEXT)}  # these, and what follows, say how a file writes cells
CELLS |= dict.fromkeys(("strip", "decimal", "thousands", "negative"), TEXT) | {"date_format": anything}
COLUMN = closed({"type": TEXT}, CELLS)
TABLE: dict[str, Shape] = {"rows": amount(), "id": TEXT, "max_rows": amount(), "columns": tabled(COLUMN)}
DATA = {**dict.fromkeys(("file", "ledger", "scope", "separator", "encoding"), TEXT), "public": FLAG, **TABLE}
DATA |= {**dict.fromkeys(("derived", "join"), anything), "schema": COUNT}
CLAIM = closed(
    {
        "schema": written(("dpaccount/claim/1",)),
        "name": written(NAME),
        "guarantee": closed(GUARANTEE, {"delta": amount(), "radius": amount()}),
        "subject": closed(
            {"use": TEXT}, {"parameters": tabled(anything), "examples": TEXT, "data": anything}
        ),
    },
    {
        **{"data": closed({}, DATA), "governance": tabled(TEXT)},
        **dict.fromkeys(("audit", "assume", "edition", "follows"), anything),
    },
)
ENDS = closed({"lower": either(amount()), "upper": amount(endless=True)})
SPENDABLE = {"epsilon": amount(), "delta": amount(), "relation": written(relation.NEIGHBOURS)}
HELD = {**SPENDABLE, "unit": TEXT, "measure": TEXT, "before": ENDS, "after": ENDS, "rest": ENDS}
LEFT = closed({}, dict.fromkeys(("mu_squared", "rho", "pure", "delta"), amount()))
BUDGET = closed(HELD, {"left": LEFT, "life_epsilon": amount()})
RELEASE = closed(
    {
        **{"report": tabled(anything), "ledger_entry": COUNT, "noise": written(("secure",))},
        "ledger_head": written(re.compile(r"(sha256:)?[0-9a-f]{64}", re.ASCII)),
        **{"data": written(DIGEST), "code": written(DIGEST), "evaluation": either(tabled(anything))},
    },
    {"budget": BUDGET},
)
POINT_PROVED: dict[str, Shape] = {
    "epsilon": either(ENDS),
    **{"delta": either(amount()), "derivation": listed(anything)},
}
FIELDS: dict[str, Shape] = {
    "schema": written(("dpaccount/certificate/1",)),
    "verdict": written(("CERTIFIED", "REFUTED", "UNPROVEN")),
    "refutes": either(written(("claim", "proof", "hypothesis"))),
    "claim": CLAIM,
    "subject": closed(
        {
            **dict.fromkeys(("name", "use", "source", "status"), TEXT),
            **{"parameters": tabled(anything), "code": either(written(DIGEST))},
        },
        dict.fromkeys(("own_epsilon", "family"), stated),
    ),
    "guarantee": closed({**GUARANTEE, "delta": amount()}, {"radius": amount()}),
    "proved": closed(
        {**POINT_PROVED, "tight": either(written(())), "reason": either(TEXT)},
        {"replace_one": either(closed(POINT_PROVED)), "refutation": listed(anything)},
    ),
    **dict.fromkeys(("sensitivity", "audit", "hazards", "environment", "signature"), anything),
    **{"release": either(RELEASE), "releasable": FLAG, "created": moment, "digest": written(DIGEST)},
}
CERTIFICATE = closed(FIELDS)
