"""What the traces of all pairs show of a claim: of (ε, δ), of a sensitivity, or of the noise of a plan."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from audits.datasets.bases import Pair
from audits.datasets.shape import Neighbourhood
from audits.sandbox.outcomes import WANTED
from audits.trace.inclusion import compare_with_poisson
from audits.trace.paired_runs import UNEXPLAINED, PairTrace, TracedCall
from audits.trace.patches import PICKS
from audits.trace.tape import SourcePlace
from audits.tradeoff import ROUNDED
from dpaccount.errors import InputError
from dpaccount.plan.event_base import OnSample
from dpaccount.plan.events import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Plan,
    PoissonReplaced,
    PoissonSubsampled,
)
from dpaccount.schemas.results import Trace, TracedNoise

UNJUDGED = "nothing that is claimed says how far the input of noise of this kind or scale may move"
SAMPLED = (
    "{} may be a sample, for which inputs of noise may move by more than ε and δ say: give --sensitivity"
    " alone to hold them against what is declared"
)
LATER = "data that are added to this sum are not followed, so add them to the noise itself"
IF_SHOWN = "which is too much if the result shows all these noisy values, but not if it compares them"
MIXED = "Laplace and Gaussian noise are both spent, and are not held against ε and δ together"
OF_VECTOR = "which is too much unless calls draw parts of one vector"
WHERE_SEEN = ": that needs an array, and a function that does not fail on it"
#: functions that may draw a decision for each row
BY_ROW = {"random", "uniform", "binomial", "rand", "random_sample", "integers", "randint"}

Allowed = Mapping[str, float | None]  #: movement in units of the scale, by family of noise; None: no limit


@dataclass(frozen=True)
class PlannedNoise:
    """One noise of a plan: sensitivity over scale (`ratio`), sampling rate, and how often it is drawn.

    `shared`: other noise may be added to a sum over the same sample.
    """

    family: str
    ratio: float
    rate: float
    count: int
    shared: bool = False


def planned_noise(plan: Plan) -> list[PlannedNoise]:
    """Return the noise of a plan, the largest ratio first.

    Raises `InputError` if there is none, or a noise other than Gaussian and Laplace, or sampling other
    than Poisson.
    """
    planned: list[PlannedNoise] = []
    todo = [(event, 1.0, 1, False) for event in plan.events]
    while todo:
        event, rate, count, shared = todo.pop()
        count *= event.count
        shared = shared or (rate < 1 and event.count > 1)
        inside = getattr(event, "of", None)
        if isinstance(event, Gaussian | DiscreteGaussian):
            ratio = float(event.sensitivity) / float(event.sigma)
            planned.append(PlannedNoise("gaussian", ratio, rate, count, shared))
        elif isinstance(event, Laplace | DiscreteLaplace):
            ratio = float(event.sensitivity) / float(event.scale)
            planned.append(PlannedNoise("laplace", ratio, rate, count, shared))
        elif isinstance(event, PoissonSubsampled | PoissonReplaced):
            todo.append((event.of, rate * float(event.rate), count, shared))
        elif inside is None or isinstance(event, OnSample):
            right = "trace follows Gaussian and Laplace noise, Poisson sampled or not"
            raise InputError(f"the plan has {event.name}", right)
        else:
            parts = inside if isinstance(inside, tuple) else (inside,)
            shared = shared or (rate < 1 and len(parts) > 1)
            todo += [(part, rate, count, shared) for part in parts]
    if not planned:
        raise InputError("the plan has no noise", "give a plan of Gaussian or Laplace noise")
    return sorted(planned, key=lambda noise: -noise.ratio)


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
    """The traces of all pairs, held against what is claimed: noise by call site, findings and notes.

    A declared `sensitivity` limits every input of noise.  With `planned`, only inputs of the plan's noise
    may move, and `allowed` is what its largest ratios say.
    """

    allowed: Allowed
    planned: list[PlannedNoise] = field(default_factory=list)
    sensitivity: float | None = None
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

    def note(self, sentence: str, size: float = 0.0, kind: str | None = None) -> None:
        """Add a note, unless one of its kind (by default, the same words) is as large."""
        kind = sentence if kind is None else kind
        if kind not in self.notes or size > self.notes[kind][0]:
            self.notes[kind] = (size, sentence)

    # ------------------------------------------------------------------ one pair

    def gather(self, trace: PairTrace, pair: Pair) -> None:
        """Add the trace of one pair; raises `InputError` if the function fails on the first one.

        Without a plan other draws may sample rows, and (ε, δ) does not limit the movement.  A plan says what
        is sampled, and common rows have the same draws on both sides.
        """
        self._gather_common(trace, pair)
        # In a sample an input may move further than ε says; without a plan nothing says by how much.
        sampled = not self.planned and bool(trace.draws) and set(self.allowed.values()) != {None}
        if sampled:
            self.note(SAMPLED.format(trace.draws[0]))
        counts, moves = Counter[SourcePlace](), list[tuple[str, float]]()
        for call in trace.calls:
            self.places.setdefault(call.place, CallSite(call.scale, call.family)).add(call.scale, call.moved)
            if call.moved is None:
                continue
            counts[call.place] += 1
            limit = self.allowed[call.family]
            if self.sensitivity is not None:
                self._check_movement(call.place, self.sensitivity, call.moved, pair)
            elif (limit is None or call.scale is None) and call.moved:
                self.note(f"{call.place}: {UNJUDGED}")
            if limit is None or call.scale is None or sampled:
                continue
            ratio = call.moved / call.scale if call.scale else math.inf if call.moved else 0.0
            moves.append((call.family, ratio))
            shown = trace.shown or bool(self.planned)
            self._check_call(call, call.scale * limit, pair, shown=shown)
        self.counts.append(counts)
        if self.planned:
            self._check_in_order(moves, pair)
        else:
            self._check_total(moves, pair, shown=trace.shown)

    def _gather_common(self, trace: PairTrace, pair: Pair) -> None:
        if self.pairs == 0 and trace.failed is not None:
            raise InputError(f"the function {trace.failed}", WANTED)
        self.pairs += 1
        if trace.failed is None:  # noise unused on one pair alone may be added to an input of 0
            here = set(trace.unused)
            self.unused = here if self.unused is None else self.unused & here
        self.last = pair
        self.drawn.update(place.name for place in trace.draws)
        for finding in trace.findings:
            self.add(finding.partition(" (")[0], 0.0, finding, pair)  # one finding for all amounts
        if trace.unsure is not None:
            self.unsure.append((trace.unsure, trace.still, pair))
        for note in trace.notes:
            why = note.partition(UNEXPLAINED)[2]
            if self.planned and UNEXPLAINED in note:  # sampling does not explain it
                self.add(UNEXPLAINED, 0.0, note.partition(";")[0], pair)
            elif not why or not any(why in each for each in self.notes):  # one note for all amounts
                self.note(note)

    def _check_movement(self, place: SourcePlace, declared: float, measured: float, pair: Pair) -> None:
        if measured > declared * (1 + ROUNDED):
            sentence = f"{place}: declared sensitivity {declared:.6g}, measured {measured:.6g}"
            self.add(str(place), measured, sentence, pair)

    def _check_call(self, call: TracedCall, declared: float, pair: Pair, *, shown: bool) -> None:
        """Hold a call against a limit; if the result may only compare values, by its largest entry."""
        measured = float(call.moved or 0.0)
        self._check_movement(call.place, declared, measured if shown else call.largest, pair)
        if not shown and measured > declared * (1 + ROUNDED):
            sentence = f"{call.place}: declared {declared:.6g}, measured {measured:.6g}, {IF_SHOWN}"
            self.note(sentence, measured, str(call.place))

    def _check_total(self, moves: list[tuple[str, float]], pair: Pair, *, shown: bool) -> None:
        """Add a finding if all calls of one family together spend more than is claimed.

        It is only a note if not all noisy values are `shown`, since a comparison or a choice may cost less.
        The costs of both families are not combined, which is noted.
        """
        laplace = sum(size for family, size in moves if family == "laplace")
        gaussian = math.sqrt(sum(size * size for family, size in moves if family == "gaussian"))
        if laplace and gaussian:
            self.note(MIXED)
        for family, sign, total in (("laplace", "ε", laplace), ("gaussian", "μ", gaussian)):
            limit = self.allowed[family]
            if limit is not None and total > limit * (1 + ROUNDED):
                sentence = (
                    f"all {family} noise together spends {sign} = {total:.6g}, and {limit:.6g} is claimed"
                )
                if shown:
                    self.add(family, total, sentence, pair)
                else:
                    self.note(f"{sentence}, {IF_SHOWN}", total, family)

    def _check_in_order(self, moves: list[tuple[str, float]], pair: Pair) -> None:
        """Add a finding if the sorted movements of one run exceed the sorted ratios of the plan.

        A move is (family, movement in units of the scale).  Calls may draw parts of one vector, so it is only
        a note if all movements together are within the whole plan.
        """
        for family, power in (("laplace", 1), ("gaussian", 2)):
            sizes = sorted((size for each, size in moves if each == family), reverse=True)
            plan = [noise for noise in self.planned if noise.family == family]
            limits = [noise.ratio for noise in plan for _ in range(min(noise.count, len(sizes)))]
            limits += [0.0] * len(sizes)
            pairs = enumerate(zip(sizes, limits, strict=False), 1)
            over = [(k, size, limit) for k, (size, limit) in pairs if size > limit * (1 + ROUNDED)]
            if not over or over[0][0] == 1:  # the first is a finding about its call site already
                continue
            number, size, limit = over[0]
            sentence = f"call {number} of {family} noise, the largest movement first, moves"
            sentence = f"{sentence} {size:.6g} of its scale, and the plan allows {limit:.6g}"
            total = sum(noise.count * noise.ratio**power for noise in plan)
            if sum(each**power for each in sizes) > total * (1 + ROUNDED):
                self.add(f"order of {family}", size, sentence, pair)
            else:
                self.note(f"{sentence}, {OF_VECTOR}", size, f"order of {family}")

    # ------------------------------------------------------------------ all pairs

    def check_rates(self) -> None:
        """Add notes if no draw for each row was seen, or the plan's rates differ."""
        rates = {noise.rate for noise in self.planned}
        rate = max(rates)
        if len(rates) > 1:
            self.note(f"the plan has several sampling rates: only the largest, {rate:g}, is compared")
        if rate >= 1:
            return
        if not self.drawn & BY_ROW:
            self.note("the plan samples rows one by one, and no draw that decides on a row was seen")
        for name in sorted(self.drawn.intersection(PICKS)):
            self.note(f"the plan samples rows one by one, and {name} may pick a fixed number")

    def check_samples(self, runs: list[Any]) -> None:
        """Add a finding if the rows in the sums are no Poisson samples, or a note if that is not testable."""
        places = {(*place,) for run in runs for place in run["places"] if place[-1] != "other"}
        seen = [run for run in runs if run["inside"] is not None]
        moving = {
            (*place,)
            for run in seen
            for k, place in enumerate(run["places"])
            if (*place,) in places and any(row[k] for row in run["inside"])
        }
        cells = []
        for run in seen:
            at = [k for k, place in enumerate(run["places"]) if (*place,) in moving]
            cells.append(np.array(run["inside"], dtype=bool)[:, at])
        if len(seen) < len(runs) or not any(each.shape[1] for each in cells) or self.last is None:
            self.note(f"which rows are in a sample was not seen{WHERE_SEEN}")
            return
        most, rate = sum(noise.count for noise in self.planned), max(noise.rate for noise in self.planned)
        alone = all(each.shape[1] == most for each in cells) and not any(each.shared for each in self.planned)
        in_order, notes = compare_with_poisson(cells, rate, ordered=True)
        finding = in_order if alone else compare_with_poisson(cells, rate, ordered=False)[0]
        if finding is not None:
            self.add("samples", 0.0, finding, self.last)
        elif in_order is not None:
            self.note(f"{in_order}, which is too much unless noise calls share a sample")
        for note in notes:
            self.note(note)

    def check_counts(self) -> None:
        """Add a note if a run draws noise with moving inputs more often than the plan does."""
        for family in ("laplace", "gaussian"):
            moving = {place for place, seen in self.places.items() if seen.moved and seen.family == family}
            draws = max((sum(counts[place] for place in moving) for counts in self.counts), default=0)
            most = sum(noise.count for noise in self.planned if noise.family == family)
            if 0 < most < draws:
                self.note(f"{draws} calls of {family} noise in one run, and the plan has {most}, {OF_VECTOR}")

    def resolve_unsure(self) -> None:
        """Turn unexplained differences into findings, or into notes if noise or data may be unobserved."""
        for place in sorted(self.unused or ()):
            self.note(f"the noise of {place} is added to nothing: it may choose other noise")
        for sentence, places, pair in self.unsure:
            still = [place for place in places if not self.places[place].moved]
            if not still:
                self.add(sentence.partition(" (")[0], 0.0, sentence, pair)
            for place in still[:1]:
                self.note(f"{sentence}; {place} is added to what never moves: {LATER}")
            for place in still:
                self.places[place].moved = None

    def answer(self, shape: Neighbourhood) -> Trace:
        """Return the answer of `dpaccount trace` on data of this shape."""
        self.resolve_unsure()
        noise = []
        for place, seen in self.places.items():
            limit = self.allowed[seen.family]
            declared = None if seen.scale is None or limit is None else seen.scale * limit
            if self.sensitivity is not None:
                declared = self.sensitivity
            infinite = seen.moved is not None and math.isinf(seen.moved)
            noise.append(TracedNoise(*place, seen.scale, declared, "inf" if infinite else seen.moved))
        witness = next((pair for _, _, pair in self.findings.values()), None)
        shown = {} if witness is None else shape.shown(witness.left, witness.right)
        found = tuple(sentence for _, sentence, _ in self.findings.values())
        return Trace(
            pairs=self.pairs,
            noise=noise,
            findings=[*found],
            # What one pair shows is not said again of others that show less of it.
            notes=[said for _, said in self.notes.values() if not said.startswith(found)],
            witness=shown if witness is None else {**shown, "base": witness.base},
        )
