"""Collects the traces of all pairs: noise calls, findings and notes."""

import math
from collections import Counter
from dataclasses import dataclass, field

from audits.datasets.bases import Pair
from audits.sandbox.outcomes import WANTED
from audits.trace.paired_runs import PairTrace, TracedCall
from audits.trace.tape import SourcePlace
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

    places: dict[SourcePlace, CallSite] = field(default_factory=dict)
    findings: dict[str, tuple[float, str, Pair]] = field(default_factory=dict)  #: the largest of each kind
    notes: dict[str, tuple[float, str]] = field(default_factory=dict)  #: the largest of each kind
    unsure: list[tuple[str, list[SourcePlace], Pair]] = field(default_factory=list)
    unused: set[SourcePlace] | None = None  #: calls whose noise is added to nothing on every pair
    pairs: int = 0
    last: Pair | None = None
    drawn: set[str] = field(default_factory=set)  #: names of random calls other than additive noise
    counts: list[Counter[SourcePlace]] = field(default_factory=list)  #: calls by site, per pair

    def add(self, kind: str, size: float, sentence: str, pair: Pair) -> None:
        """Add a finding, unless one of its kind is as large."""
        if kind not in self.findings or size > self.findings[kind][0]:
            self.findings[kind] = (size, sentence, pair)

    def add_call(self, call: TracedCall) -> None:
        """Add a noise call of one pair to those at its place."""
        self.places.setdefault(call.place, CallSite(call.scale, call.family)).add(call.scale, call.moved)

    def note(self, sentence: str, size: float = 0.0, kind: str | None = None) -> None:
        """Add a note, unless one of its kind (by default, the same words) is as large."""
        kind = sentence if kind is None else kind
        if kind not in self.notes or size > self.notes[kind][0]:
            self.notes[kind] = (size, sentence)


def ratio_of(moved: float, scale: float) -> float:
    """Return a movement in units of the scale."""
    return moved / scale if scale else math.inf if moved else 0.0


def add_common_findings(traced: Traced, trace: PairTrace, pair: Pair) -> None:
    """Add findings that depend on no claim; raises `InputError` if the function fails on the first pair."""
    if traced.pairs == 0 and trace.failed is not None:
        raise InputError(f"the function {trace.failed}", WANTED)
    traced.pairs += 1
    if trace.failed is None:  # noise unused on one pair alone may be added to an input of 0
        here = set(trace.unused)
        traced.unused = here if traced.unused is None else traced.unused & here
    traced.last = pair
    traced.drawn.update(place.name for place in trace.draws)
    for finding in trace.findings:
        traced.add(finding.partition(" (")[0], 0.0, finding, pair)  # one finding whatever the amount
    if trace.unsure is not None:
        traced.unsure.append((trace.unsure, trace.still, pair))


def check_movement(traced: Traced, place: SourcePlace, declared: float, measured: float, pair: Pair) -> None:
    """Add a finding if more was measured than declared."""
    if measured > declared * (1 + ROUNDED):
        sentence = f"{place}: declared sensitivity {declared:.6g}, measured {measured:.6g}"
        traced.add(str(place), measured, sentence, pair)


def note_unjudged(traced: Traced, place: SourcePlace, moved: float) -> None:
    """Add a note that nothing says how far the input of this noise may move."""
    if moved:
        traced.note(f"{place}: {UNJUDGED}")
