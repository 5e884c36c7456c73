"""Reading plans from ``dpaccount/events/1`` documents; every error names its place."""

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpaccount.documents import Place, collector_paused, parse_json, read_bytes
from dpaccount.errors import InputError
from dpaccount.exact import shown
from dpaccount.plan.event_base import RANGES, Event, Stream
from dpaccount.plan.events import ELSEWHERE, VOCABULARY, Plan, allowed, misplaced
from dpaccount.plan.gaussian_events import FACTORS
from dpaccount.relation import Relation


def read_events(path: str | Path) -> Plan:
    """Return the plan in the file at `path`, of schema ``dpaccount/events/1``.

    Raises `InputError` naming the place.
    """
    return read_plan(parse_json(read_bytes(Path(path)), str(path)))


def read_plan(place: Place) -> Plan:
    """Return the plan in a ``dpaccount/events/1`` document; raises `InputError` naming the place."""
    table = place.table(("schema", "relation", "events"))
    table["schema"].text("dpaccount/events/1")
    relation = Relation(table["relation"].text(*Relation))
    listed = table["events"]
    listed.items()
    # A large plan repeats a few events on other covers, so only the first of each is read with all checks.
    seen: dict[tuple[Any, ...], Event] = {}
    with collector_paused():
        events = tuple(
            _seen_before(value, seen) or _read_top(listed.child(index), relation, seen)
            for index, value in enumerate(listed.value)
        )
    return Plan(relation, events)


def _seen_before(value: Any, seen: dict[tuple[Any, ...], Event]) -> Event | None:
    """Return the event of a table like one read before but for its cover; None to read it with all checks."""
    cover = value.get("cover") if type(value) is dict else None
    if type(cover) is not list or len(cover) != 2:
        return None
    proto, (first, last) = seen.get(_key(value)), cover
    if proto is not None and type(first) is int and type(last) is int and 1 <= first <= last:
        return proto.covering(first, last)
    return None


def _key(value: dict[str, Any]) -> tuple[Any, ...]:
    """Return a key that is equal for tables that differ in their covers only; () if they hold more tables.

    Strings and integers are compared by value, anything else by identity: hashing a fraction is slow,
    and the document keeps every object alive.
    """
    if "of" in value or "points" in value:
        return ()
    return tuple(
        (name, item if type(item) is int or type(item) is str else (id(item),))
        for name, item in value.items()
        if name != "cover"
    )


def _read_top(place: Place, relation: Relation, seen: dict[tuple[Any, ...], Event]) -> Event:
    """Read one top-level event with all checks, and remember it if it has a cover."""
    event = _read_event(place, relation, top=True)
    if event.cover is not None and (key := _key(place.value)):
        seen[key] = event.bare()
    return event


def _read_event(place: Place, relation: Relation, *, top: bool) -> Event:
    if not isinstance(place.value, dict):
        place.table()
    if "event" not in place.value:
        raise place.wrong("the key 'event' is missing", "name the event, such as gaussian")
    name = place.child("event").text(*VOCABULARY)
    if not allowed(name, relation):
        raise place.wrong(misplaced(name, relation), ELSEWHERE[name])
    kind = VOCABULARY[name]
    spanning = issubclass(kind, Stream)
    if not top and (spanning or "cover" in place.value):
        what = name if spanning else "cover"
        raise place.wrong(f"{what} is inside another event", "it belongs at the top level")
    named = {item.name: item for item in fields(kind)}
    if spanning:
        del named["cover"]
    required = tuple(n for n, item in named.items() if item.default is MISSING or n == "of")
    table = place.table(("event", *required), tuple(n for n in named if n not in required))
    values: dict[str, Any] = {}
    for key, item in table.items():
        if key == "of" and name == "sequence":
            values[key] = tuple(_read_event(part, relation, top=False) for part in item.items())
        elif key == "of":
            values[key] = _read_event(item, relation, top=False)
        elif key != "event":
            values[key] = _READERS[key](item)
    _read_checks(table, name, values)
    cover = values.pop("cover", None)
    event = kind(**values)
    try:
        return event if cover is None else event.covering(*cover)
    except InputError as wrong:
        raise table["cover"].wrong(wrong.what, wrong.right or "write another cover") from None


def _read_checks(table: dict[str, Place], name: str, values: dict[str, Any]) -> None:
    """Check what single keys cannot, where the message can name the key."""
    if name == "discrete_laplace" or (name == "discrete_gaussian" and values.get("dimension", 1) == 1):
        if "sensitivity" in table:
            table["sensitivity"].integer(0)
    elif name == "sampled_without_replacement" and values["size"] > values["population"]:
        raise table["size"].wrong("the size exceeds the population", "use 1 <= size <= population")


def _read_cover(place: Place) -> tuple[int, int]:
    ends = [item.integer(1) for item in place.items()]
    if len(ends) != 2 or ends[0] > ends[1]:
        raise place.wrong(f"found {ends}", "a cover is [first, last] with first <= last")
    return ends[0], ends[1]


def _read_points(place: Place) -> tuple[tuple[Fraction, Fraction], ...]:
    points = []
    for item in place.items():
        members = list(item.items())
        if len(members) != 2:
            raise item.wrong(f"found {len(members)} numbers", "a point is [order, epsilon]")
        order = members[0].real()
        if order <= 1:
            raise members[0].wrong(f"the order {shown(order)} is out of range", "it must be above 1")
        points.append((order, members[1].real(0)))
    if not points:
        raise place.wrong("no points", "give at least one [order, epsilon]")
    return tuple(points)


def _read_law(place: Place) -> tuple[Fraction, ...]:
    return tuple(item.real(0, 1) for item in place.items())


def _reader(least: int | None, most: int | None, integer: bool) -> Callable[[Place], Any]:  # noqa: FBT001
    if integer:
        return lambda place: place.integer(least, most)
    if least is None:
        return Place.positive
    return lambda place: place.real(least, most)


def _some(place: Place) -> Iterator[Place]:
    if place.value == []:
        raise place.wrong("found an empty list", "leave it out, or give its members")
    return place.items()


_READERS: dict[str, Callable[[Place], Any]] = {
    **{key: _reader(*bounds) for key, bounds in RANGES.items()},
    "cover": _read_cover,
    "points": _read_points,
    "p": _read_law,
    "q": _read_law,
    "weights": _read_law,
    "moves": lambda place: tuple(item.real(0) for item in _some(place)),
    "coefficients": lambda place: tuple(item.real() for item in _some(place)),
    "rows": lambda place: tuple(tuple(item.real() for item in row.items()) for row in _some(place)),
    "mechanism": lambda place: place.text(*FACTORS),
    "kind": lambda place: place.text("sqrt-toeplitz"),
}
