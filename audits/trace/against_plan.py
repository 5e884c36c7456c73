"""Holds the noise calls of a function against the releases of a plan."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from audits.datasets.bases import Pair
from audits.trace.findings import Seen, Traced, begin, hold, note_unjudged, ratio_of
from audits.trace.inclusion import judged
from audits.trace.lead import UNEXPLAINED
from audits.trace.patches import PICKS
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
#: draws that may decide on each row by itself
BY_ROW = {"random", "uniform", "binomial", "rand", "random_sample", "integers", "randint"}


@dataclass(frozen=True)
class PlannedNoise:
    """One noise of a plan: what may move in units of its scale, sampling rate, and how often.

    `shared` says whether a sample that it is for may be that of other noise, too.
    """

    family: str
    ratio: float
    rate: float
    count: int
    shared: bool = False


def planned_noise(plan: Plan) -> list[PlannedNoise]:
    """Return the noise of a plan, that of the largest ratio first.

    Raises `InputError` if there is none, or other noise than Gaussian and Laplace, or other samples
    than Poisson's.
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


def hold_rate(traced: Traced, rates: set[float]) -> None:
    """Add a note if the draws that were seen do not decide on each row, or rates differ."""
    rate = max(rates)
    if len(rates) > 1:
        traced.note(f"the plan has several sampling rates: only the largest, {rate:g}, is compared")
    if rate >= 1:
        return
    if not traced.drawn & BY_ROW:
        traced.note("the plan samples rows one by one, and no draw that decides on a row was seen")
    for name in sorted(traced.drawn.intersection(PICKS)):
        traced.note(f"the plan samples rows one by one, and {name} may pick a fixed number")


def hold_samples(traced: Traced, runs: list[Any], planned: list[PlannedNoise]) -> None:
    """Add a finding if rows are not in sums as in Poisson samples, or a note if that is not seen."""
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
    in_order, notes = judged(cells, rate, ordered=True)
    finding = in_order if alone else judged(cells, rate, ordered=False)[0]
    if finding is not None:
        traced.add("samples", 0.0, finding, traced.last)
    elif in_order is not None:
        traced.note(f"{in_order}, which is too much unless noise calls share a sample")
    for note in notes:
        traced.note(note)


def hold_counts(traced: Traced, planned: list[PlannedNoise]) -> None:
    """Add a note if one run calls noise whose input moves in any run more often than the plan does."""
    for family in ("laplace", "gaussian"):
        moving = {place for place, seen in traced.places.items() if seen.moved and seen.family == family}
        draws = max((sum(counts[place] for place in moving) for counts in traced.counts), default=0)
        most = sum(noise.count for noise in planned if noise.family == family)
        if 0 < most < draws:
            traced.note(f"{draws} calls of {family} noise in one run, and the plan has {most}, {OF_VECTOR}")


def _hold_in_order(
    traced: Traced, moves: list[tuple[str, float]], planned: list[PlannedNoise], pair: Pair
) -> None:
    """Add a finding if the calls of one run, the largest movement first, do not fit the plan's.

    A move is a family, and a movement in units of the scale.  Calls may draw parts of one vector, so
    it is a note if all together move no further than the whole plan allows.
    """
    for family, power in (("laplace", 1), ("gaussian", 2)):
        mine = sorted((size for each, size in moves if each == family), reverse=True)
        plan = [noise for noise in planned if noise.family == family]
        limits = [noise.ratio for noise in plan for _ in range(min(noise.count, len(mine)))]
        limits += [0.0] * len(mine)
        pairs = enumerate(zip(mine, limits, strict=False), 1)
        over = [(k, size, most) for k, (size, most) in pairs if size > most * (1 + ROUNDED)]
        if not over or over[0][0] == 1:  # a finding of its place already
            continue
        sentence = f"call {over[0][0]} of {family} noise, the largest movement first, moves"
        sentence = f"{sentence} {over[0][1]:.6g} of its scale, and the plan allows {over[0][2]:.6g}"
        most = sum(noise.count * noise.ratio**power for noise in plan)
        if sum(size**power for size in mine) > most * (1 + ROUNDED):
            traced.add(f"order of {family}", over[0][1], sentence, pair)
        else:
            traced.note(f"{sentence}, {OF_VECTOR}", over[0][1], f"order of {family}")


def gather_planned(
    traced: Traced,
    document: dict[str, Any],
    pair: Pair,
    allowed: dict[str, float | None],
    planned: list[PlannedNoise],
) -> None:
    """Add what one pair showed of a plan's noise: the plan allows nothing else to move."""
    begin(traced, document, pair)
    for note in document["notes"]:
        if UNEXPLAINED in note:  # draws for the rows that both sides have are the same
            traced.add(UNEXPLAINED, 0.0, note.partition(";")[0], pair)
        else:
            traced.note(note)
    counts: Counter[tuple[str, str, int]] = Counter()
    moves = []
    for call, file, line, scale, family, moved, *_ in document["calls"]:
        place = (call, file, line)
        traced.places.setdefault(place, Seen(scale, family)).add(scale, moved)
        if moved is None:
            continue
        counts[place] += 1
        limit = allowed[family]
        if scale is not None and limit is not None:
            hold(traced, place, scale * limit, moved, pair)
            moves.append((family, ratio_of(moved, scale)))
        else:
            note_unjudged(traced, place, moved)
    traced.counts.append(counts)
    _hold_in_order(traced, moves, planned, pair)
