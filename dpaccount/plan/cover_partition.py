"""Units grouped by the multiset of events that cover them, to search for a worst unit.

A unit pays for the events that cover it. Sweeping over the ends of covers cuts the line of units into
segments that pay the same; only segments that begin with a start and end with an end can be worst, since
any other is part of its neighbour. A round of a matrix factorisation is charged the longest column, that of
the first round (docs/accounting.md); what a unit is known to cost is by its own, shorter column, and so the
first unit of every segment counts.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpaccount.documents import collector_paused
from dpaccount.plan.event_base import Event

MAX_COVERS = 2000  #: covers up to which every segment is sought for what some unit is known to cost

Items = tuple[tuple[Event, int], ...]  #: bare events with multiplicities


@dataclass(frozen=True)
class UnitClass:
    """The events over some units; `unit` is the first of them, None where it is every unit."""

    unit: int | None
    items: Items
    size: int | None = None  #: how many consecutive units; None: all


def unit_classes(events: Sequence[Event]) -> list[UnitClass]:
    """Return every class of units that no other class contains, each once."""
    with collector_paused():
        shared, pieces = _pieces(events)
        if not pieces:
            return [UnitClass(None, tuple(shared.items()))]
        return _sweep(shared, pieces)


def attained_classes(events: Sequence[Event]) -> list[UnitClass]:
    """Return classes whose first unit costs as much for some data, by its own columns of factorisations.

    With few covers the worst unit is among them.
    """
    with collector_paused():
        shared, pieces = _pieces(events)
        segments = _sweep(shared, pieces, every=len(pieces) <= MAX_COVERS)
        # where every unit meets all, none has a number of its own
        return [
            replace(unit, items=tuple((e.met_at(unit.unit or 1), n) for e, n in unit.items))
            for unit in segments or [UnitClass(None, tuple(shared.items()))]
        ]


def _pieces(events: Sequence[Event]) -> tuple[dict[Event, int], list[tuple[int, int, int, Event]]]:
    """Return the events that cover all units, counted, and (first, last, times, kind) for the others."""
    shared: dict[Event, int] = {}
    pieces: list[tuple[int, int, int, Event]] = []
    for event in events:
        for cover, times, kind in event.pieces():
            if cover is None:
                shared[kind] = shared.get(kind, 0) + times
            else:
                pieces.append((*cover, times, kind))
    return shared, pieces


def _sweep(
    shared: dict[Event, int], pieces: list[tuple[int, int, int, Event]], *, every: bool = False
) -> list[UnitClass]:
    """Return the maximal segments, or `every` one that begins with a start, one for each distinct multiset.

    Multisets are distinguished by sums of random 128-bit weights per kind, drawn afresh in every run: two
    different ones collide with probability 2^−128 whatever the input is.
    """
    kinds, ids = _numbered(pieces)
    weights = [secrets.randbits(128) for _ in kinds]
    # Ends (0) sort before starts (1) at the same unit, so that no segment counts an event that is over.
    changes = sorted(
        [(first, 1, times, kind) for (first, _, times, _), kind in zip(pieces, ids, strict=True)]
        + [(last + 1, 0, times, kind) for (_, last, times, _), kind in zip(pieces, ids, strict=True)]
    )
    active: dict[int, int] = {}
    key, begun, seen, segments = 0, None, set(), []

    def keep(begun: int, end: int) -> None:
        seen.add(key)
        items = dict(shared)
        for number, count in active.items():
            items[kinds[number]] = items.get(kinds[number], 0) + count
        segments.append(UnitClass(begun, tuple(items.items()), end - begun))

    for at, start, times, kind in changes:
        if every and start and begun not in (None, at) and key not in seen:
            keep(begun, at)
        if start:
            key += times * weights[kind]
            active[kind] = active.get(kind, 0) + times
            begun = at
            continue
        if begun is not None and key not in seen:  # a segment between a start and an end
            keep(begun, at)
        begun = None
        key -= times * weights[kind]
        active[kind] -= times
        if not active[kind]:
            del active[kind]
    return segments


def _numbered(pieces: list[tuple[int, int, int, Event]]) -> tuple[list[Event], list[int]]:
    """Return the distinct kinds and the number of each piece's kind (objects seen before cost no hash)."""
    by_object: dict[int, int] = {}
    by_value: dict[Event, int] = {}
    ids = []
    for *_, kind in pieces:
        number = by_object.get(id(kind))
        if number is None:
            number = by_value.setdefault(kind, len(by_value))
            by_object[id(kind)] = number
        ids.append(number)
    return list(by_value), ids
