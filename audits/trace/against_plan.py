"""Compares the noise calls of a function with the releases of a plan."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from audits.datasets.bases import Pair
from audits.trace.findings import (
    Traced,
    add_common_findings,
    check_movement,
    note_unjudged,
    ratio_of,
)
from audits.trace.inclusion import compare_with_poisson
from audits.trace.paired_runs import UNEXPLAINED, PairTrace
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

OF_VECTOR = "which is too much unless calls draw parts of one vector"
WHERE_SEEN = ": that needs an array, and a function that does not fail on it"
#: functions that may draw a decision for each row
BY_ROW = {"random", "uniform", "binomial", "rand", "random_sample", "integers", "randint"}


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


def check_rate(traced: Traced, rates: set[float]) -> None:
    """Add notes if no draw for each row was seen, or rates differ."""
    rate = max(rates)
    if len(rates) > 1:
        traced.note(f"the plan has several sampling rates: only the largest, {rate:g}, is compared")
    if rate >= 1:
        return
    if not traced.drawn & BY_ROW:
        traced.note("the plan samples rows one by one, and no draw that decides on a row was seen")
    for name in sorted(traced.drawn.intersection(PICKS)):
        traced.note(f"the plan samples rows one by one, and {name} may pick a fixed number")


def check_samples(traced: Traced, runs: list[Any], planned: list[PlannedNoise]) -> None:
    """Add a finding if the rows in the sums are no Poisson samples, or a note if that cannot be tested."""
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
    if len(seen) < len(runs) or not any(each.shape[1] for each in cells) or traced.last is None:
        traced.note(f"which rows are in a sample was not seen{WHERE_SEEN}")
        return
    most, rate = sum(noise.count for noise in planned), max(noise.rate for noise in planned)
    alone = all(each.shape[1] == most for each in cells) and not any(each.shared for each in planned)
    in_order, notes = compare_with_poisson(cells, rate, ordered=True)
    finding = in_order if alone else compare_with_poisson(cells, rate, ordered=False)[0]
    if finding is not None:
        traced.add("samples", 0.0, finding, traced.last)
    elif in_order is not None:
        traced.note(f"{in_order}, which is too much unless noise calls share a sample")
    for note in notes:
        traced.note(note)


def check_counts(traced: Traced, planned: list[PlannedNoise]) -> None:
    """Add a note if a run draws noise with moving inputs more often than the plan does."""
    for family in ("laplace", "gaussian"):
        moving = {place for place, seen in traced.places.items() if seen.moved and seen.family == family}
        draws = max((sum(counts[place] for place in moving) for counts in traced.counts), default=0)
        most = sum(noise.count for noise in planned if noise.family == family)
        if 0 < most < draws:
            traced.note(f"{draws} calls of {family} noise in one run, and the plan has {most}, {OF_VECTOR}")


def _check_in_order(
    traced: Traced, moves: list[tuple[str, float]], planned: list[PlannedNoise], pair: Pair
) -> None:
    """Add a finding if the sorted movements of one run exceed the sorted ratios of the plan.

    A move is (family, movement in units of the scale).  Calls may draw parts of one vector, so it is only
    a note if all movements together are within the whole plan.
    """
    for family, power in (("laplace", 1), ("gaussian", 2)):
        sizes = sorted((size for each, size in moves if each == family), reverse=True)
        plan = [noise for noise in planned if noise.family == family]
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
            traced.add(f"order of {family}", size, sentence, pair)
        else:
            traced.note(f"{sentence}, {OF_VECTOR}", size, f"order of {family}")


def gather_planned(
    traced: Traced,
    trace: PairTrace,
    pair: Pair,
    allowed: dict[str, float | None],
    planned: list[PlannedNoise],
) -> None:
    """Add the trace of one pair to `traced`; only inputs of the plan's noise may move."""
    add_common_findings(traced, trace, pair)
    for note in trace.notes:
        if UNEXPLAINED in note:  # sampling does not explain it: common rows have the same draws
            traced.add(UNEXPLAINED, 0.0, note.partition(";")[0], pair)
        else:
            traced.note(note)
    counts: Counter[SourcePlace] = Counter()
    moves = []
    for call in trace.calls:
        traced.add_call(call)
        if call.moved is None:
            continue
        counts[call.place] += 1
        limit = allowed[call.family]
        if call.scale is not None and limit is not None:
            check_movement(traced, call.place, call.scale * limit, call.moved, pair)
            moves.append((call.family, ratio_of(call.moved, call.scale)))
        else:
            note_unjudged(traced, call.place, call.moved)
    traced.counts.append(counts)
    _check_in_order(traced, moves, planned, pair)
