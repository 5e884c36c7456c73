"""Units grouped by the multiset of events that cover them: what a worst unit is sought among.

A unit pays for the events that cover it. Sweeping over the ends of covers cuts the line of units into
segments that pay the same; only segments that begin with a start and end with an end can be worst, since
any other is part of its neighbour.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from dpaccount.events import Event, Gaussian, MatrixFactorisation, Tree
from dpaccount.reading import collector_paused

Items = tuple[tuple[Event, int], ...]  #: bare events with multiplicities


@dataclass(frozen=True)
class UnitClass:
    """The events over some units; `unit` is the first of them, None where it is every unit."""

    unit: int | None
    items: Items
    size: int | None = None  #: how many consecutive units; None: all


def classes(events: Sequence[Event]) -> list[UnitClass]:
    """Return every class of units that no other class contains, each once."""
    with collector_paused():
        shared, pieces = _pieces(events)
        if not pieces:
            return [UnitClass(None, tuple(shared.items()))]
        return _sweep(shared, pieces)


def _pieces(events: Sequence[Event]) -> tuple[dict[Event, int], list[tuple[int, int, int, Event]]]:
    """Return the events that cover all units, counted, and (first, last, times, kind) for the others."""
    shared: dict[Event, int] = {}
    pieces: list[tuple[int, int, int, Event]] = []
    for event in events:
        if isinstance(event, Tree):
            node = Gaussian(sigma=event.sigma, sensitivity=event.sensitivity)
            pieces += [(a, b, depth * event.count, node) for depth, (a, b) in event.classes()]
        elif isinstance(event, MatrixFactorisation):
            pieces.append((event.start, event.start + event.rounds - 1, 1, event))
        elif event.cover is None:
            shared[event] = shared.get(event, 0) + 1
        else:
            pieces.append((*event.cover, 1, event.bare()))
    return shared, pieces


def _sweep(shared: dict[Event, int], pieces: list[tuple[int, int, int, Event]]) -> list[UnitClass]:
    """Return the maximal segments, one for each distinct multiset.

    Multisets are told apart by sums of random 128-bit weights per kind, drawn afresh in every run: two
    different ones collide with probability 2^−128 whatever the input is.
    """
    kinds, ids = _numbered(pieces)
    weights = [secrets.randbits(128) for _ in kinds]
    changes = sorted(
        [(first, 1, times, kind) for (first, _, times, _), kind in zip(pieces, ids, strict=True)]
        + [(last + 1, 0, times, kind) for (_, last, times, _), kind in zip(pieces, ids, strict=True)]
    )
    active: dict[int, int] = {}
    key, begun, seen, found = 0, None, set(), []
    for at, start, times, kind in changes:
        if start:
            key += times * weights[kind]
            active[kind] = active.get(kind, 0) + times
            begun = at
            continue
        if begun is not None and key not in seen:  # a segment between a start and an end
            seen.add(key)
            items = dict(shared)
            for number, many in active.items():
                items[kinds[number]] = items.get(kinds[number], 0) + many
            found.append(UnitClass(begun, tuple(items.items()), at - begun))
        begun = None
        key -= times * weights[kind]
        active[kind] -= times
        if not active[kind]:
            del active[kind]
    return found


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
