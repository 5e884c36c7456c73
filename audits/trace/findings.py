"""Collects the traces of all pairs: noise calls, findings and notes."""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from audits.datasets.bases import Pair
from audits.tradeoff import ROUNDED
from dpaccount.errors import InputError

UNJUDGED = "nothing that is claimed says how far the input of noise of this kind or scale may move"


@dataclass
class CallSite:
    """One noise call in the code, over all pairs: its input's largest movement, and its smallest scale."""

    scale: float | None
    family: str
    moved: float | None = None

    def add(self, scale: float | None, moved: float | None) -> None:
        """Add the scale and movement on one pair; scales without a known movement count only until one is."""
        if scale is not None and (moved is not None or self.moved is None):
            first = self.scale is None or (self.moved is None and moved is not None)
            self.scale = scale if first else min(self.scale or 0.0, scale)
        if moved is not None:
            self.moved = max(self.moved or 0.0, moved)


@dataclass
class Traced:
    """The traces of all pairs: noise by call site, findings and notes."""

    places: dict[tuple[str, str, int], CallSite] = field(default_factory=dict)
    findings: dict[str, tuple[float, str, Pair]] = field(default_factory=dict)  #: the largest of each kind
    notes: dict[str, tuple[float, str]] = field(default_factory=dict)  #: the largest of each kind
    unsure: list[tuple[str, list[tuple[str, str, int]], Pair]] = field(default_factory=list)
    unused: set[tuple[str, str, int]] | None = None  #: calls whose noise is added to nothing on every pair
    pairs: int = 0
    last: Pair | None = None
    drawn: set[str] = field(default_factory=set)  #: names of random calls other than additive noise
    counts: list[Counter[tuple[str, str, int]]] = field(default_factory=list)  #: calls by site, per pair

    def add(self, kind: str, size: float, sentence: str, pair: Pair) -> None:
        """Add a finding, unless one of its kind is as large."""
        if kind not in self.findings or size > self.findings[kind][0]:
            self.findings[kind] = (size, sentence, pair)

    def note(self, sentence: str, size: float = 0.0, kind: str | None = None) -> None:
        """Add a note, unless one of its kind (by default, the same words) is as large."""
        kind = sentence if kind is None else kind
        if kind not in self.notes or size > self.notes[kind][0]:
            self.notes[kind] = (size, sentence)


def ratio_of(moved: float, scale: float) -> float:
    """Return a movement in units of the scale."""
    return moved / scale if scale else math.inf if moved else 0.0


def add_common_findings(traced: Traced, document: dict[str, Any], pair: Pair) -> None:
    """Add findings that depend on no claim; raises `InputError` if the function fails on the first pair."""
    if traced.pairs == 0 and document["failed"] is not None:
        raise InputError(f"the function {document['failed']}", "fix it, so that it returns numbers or text")
    traced.pairs += 1
    if document["failed"] is None:  # noise unused on one pair alone may be added to an input of 0
        here = {(*place,) for place in document["unused"]}
        traced.unused = here if traced.unused is None else traced.unused & here
    traced.last = pair
    traced.drawn.update(document["drawn"])
    for finding in document["findings"]:
        traced.add(finding.partition(" (")[0], 0.0, finding, pair)  # one finding whatever the amount
    if document["unsure"] is not None:
        traced.unsure.append((document["unsure"], [(*place,) for place in document["still"]], pair))


def check_movement(
    traced: Traced, place: tuple[str, str, int], declared: float, measured: float, pair: Pair
) -> None:
    """Add a finding if more was measured than declared."""
    if measured > declared * (1 + ROUNDED):
        where = f"{place[0]} at {place[1]}:{place[2]}"
        sentence = f"{where}: declared sensitivity {declared:.6g}, measured {measured:.6g}"
        traced.add(where, measured, sentence, pair)


def note_unjudged(traced: Traced, place: tuple[str, str, int], moved: float) -> None:
    """Add a note that nothing says how far the input of this noise may move."""
    if moved:
        traced.note(f"{place[0]} at {place[1]}:{place[2]}: {UNJUDGED}")
