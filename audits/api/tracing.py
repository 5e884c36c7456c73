"""Answers `dpaccount trace`: the noise calls of a function, and the sensitivity of their inputs."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import convert

from audits.api.requests import TraceRequest
from audits.attack.runs import Progress
from audits.datasets.bases import Pair
from audits.datasets.neighbours import candidates
from audits.datasets.shape import Shape
from audits.sandbox.crew import IMPORT, Crew, Gone
from audits.subjects.code import code_of
from audits.trace.against_plan import (
    PlannedNoise,
    check_counts,
    check_rate,
    check_samples,
    gather_planned,
    planned_noise,
)
from audits.trace.findings import (
    Traced,
    add_common_findings,
    check_movement,
    note_unjudged,
    ratio_of,
)
from audits.trace.inclusion import ROWS_REPLACED, RUNS_REPLAYED, probes, seeds_needed
from audits.trace.paired_runs import UNEXPLAINED, PairTrace
from audits.trace.tape import SourcePlace
from audits.tradeoff import ROUNDED, mu_of
from dpaccount.errors import InputError
from dpaccount.schemas.results import Trace, TracedNoise

SAMPLED = (
    "{} may be a sample, for which inputs of noise may move by more than ε and δ say: give --sensitivity"
    " alone to hold them against what is declared"
)
LATER = "data that are added to this sum are not followed, so add them to the noise itself"
IF_SHOWN = "which is too much if the result shows all these noisy values, but not if it compares them"
MIXED = "Laplace and Gaussian noise are both spent, and are not held against ε and δ together"
MORE = "give more seconds, or one pair by --left and --right"
MAX_PAIRS = 60  #: maximum number of pairs that are traced


def trace(question: TraceRequest, progress: Progress) -> Trace:
    """Return the answer of `dpaccount trace`."""
    code = code_of(question.use, Path.cwd(), allow_code=question.allow_code)
    data = question.data
    given = None if data.pair is None else [Pair(*data.pair, "the pair that is given")]
    pairs = given or candidates(data.shape, question.plan.seed)
    if question.events is not None:
        pairs = sorted(pairs, key=lambda pair: not _same_rows_first(pair))
    pairs = pairs[:MAX_PAIRS]
    allowed = _allowed(question)
    planned = [] if question.events is None else planned_noise(question.events)
    sampled = max((noise.rate for noise in planned), default=1.0) < 1
    traced = Traced()
    with Crew(code, seconds=float(question.plan.seconds)) as crew:
        if crew.kind != "function":
            raise InputError(f"{question.use} is no function", "name a function f(data, rng)")
        crew.layout = data.shape.layout
        for number, pair in enumerate(pairs):
            if number and crew.seconds_left() <= (float(question.plan.seconds) / 2 if sampled else 0):
                traced.note(f"{number} of {len(pairs)} pairs are traced in this time: {MORE}")
                break
            crew.set_datasets([pair.left, pair.right])
            crew.first.send(["trace", [question.plan.seed, number], number == 0])
            try:
                answer = crew.first.receive(max(crew.seconds_left(), IMPORT if number == 0 else 0.1))
            except Gone as gone:
                if number == 0:
                    raise InputError(f"{question.use} {gone}", "allow more seconds") from None
                traced.note(f"on pair {number + 1} of {len(pairs)} the function {gone}: {MORE}")
                break
            seen = convert(answer, PairTrace)
            if not seen.draws or _same_rows_first(pair):
                if question.events is None:
                    _gather(traced, seen, pair, allowed, question.sensitivity)
                else:
                    gather_planned(traced, seen, pair, allowed, planned)
            progress(f"traced {number + 1} of {len(pairs)} pairs")
        if sampled:
            check_samples(traced, _samples(traced, crew, question, planned, progress), planned)
    if question.events is not None:
        check_rate(traced, {noise.rate for noise in planned})
        check_counts(traced, planned)
        if any(event.cover is not None for event in question.events.events):
            traced.note("events of the plan cover some units only, which is not followed")
    return _answer(traced, question, allowed)


def _samples(
    traced: Traced, crew: Crew, question: TraceRequest, planned: list[PlannedNoise], progress: Progress
) -> list[Any]:
    """Return which rows are in the sums of runs with different seeds; empty if this cannot be observed."""
    shape = question.data.shape
    if not isinstance(shape, Shape) or not crew.first.alive:
        return []
    if shape.rows > ROWS_REPLACED:
        traced.note(f"only the first {ROWS_REPLACED} rows are followed into samples")
    base, *rows = probes(shape, question.plan.seed)
    crew.set_datasets([*base, *(data for row in rows for data in row)])
    runs: list[Any] = []
    followed, steps = len(rows), sum(noise.count for noise in planned)
    needed = seeds_needed(followed, steps, max(noise.rate for noise in planned))
    while len(runs) < min(2 * needed, RUNS_REPLAYED) and crew.seconds_left() > 0:
        crew.first.send(["trace_rows", [question.plan.seed, MAX_PAIRS + len(runs)], followed])
        try:
            runs.append(crew.first.receive(max(crew.seconds_left(), 0.1)))
        except Gone:
            break
        if runs[-1]["inside"] is None:
            break
        progress(f"replayed {len(runs)} of {2 * needed} runs row by row")
    return runs


def _same_rows_first(pair: Pair) -> bool:
    """Return whether the common rows come first: only then do they get the same draws on both sides."""
    rows = min(len(pair.left), len(pair.right))
    return len(pair.left) == len(pair.right) or np.array_equal(pair.left[:rows], pair.right[:rows])


def _allowed(question: TraceRequest) -> dict[str, float | None]:
    """Return the allowed movement in units of the scale, by family of noise; None: no limit is claimed."""
    if question.events is not None:
        most: dict[str, float | None] = {"laplace": 0.0, "gaussian": 0.0, "other": None}
        for noise in planned_noise(question.events):
            most[noise.family] = max(most[noise.family] or 0.0, noise.ratio)
        return most
    mu = question.mu
    if mu is None and question.epsilon is not None and question.delta > 0:
        # the upper end, so that rounding causes no finding
        mu = Fraction(mu_of(question.epsilon, question.delta, 40)[1])
    return {
        "laplace": None if question.epsilon is None else float(question.epsilon),
        "gaussian": None if mu is None else float(mu),
        "other": None,
    }


def _gather(
    traced: Traced,
    trace: PairTrace,
    pair: Pair,
    allowed: dict[str, float | None],
    sensitivity: Fraction | None = None,
) -> None:
    """Add the trace of one pair.

    If there are other draws, they may sample rows, and (ε, δ) does not limit the movement.
    """
    add_common_findings(traced, trace, pair)
    for note in trace.notes:
        why = note.partition(UNEXPLAINED)[2]
        if not why or not any(why in each for each in traced.notes):  # one note for all amounts
            traced.note(note)
    spent = {"laplace": 0.0, "gaussian": 0.0}
    sampled = bool(trace.draws) and any(limit is not None for limit in allowed.values())
    if sampled:
        traced.note(SAMPLED.format(trace.draws[0]))
    for call in trace.calls:
        traced.add_call(call)
        if call.moved is None:
            continue
        limit = allowed[call.family]
        if sensitivity is not None:
            check_movement(traced, call.place, float(sensitivity), call.moved, pair)
        elif limit is None or call.scale is None:
            note_unjudged(traced, call.place, call.moved)
        if limit is None or call.scale is None or sampled:
            continue
        part = ratio_of(call.moved, call.scale)
        spent[call.family] += part if call.family == "laplace" else part * part
        declared = call.scale * limit
        check_movement(traced, call.place, declared, call.moved if trace.shown else call.largest, pair)
        if not trace.shown:
            _note_if_shown(traced, call.place, declared, call.moved)
    _check_total(traced, spent, allowed, pair, shown=trace.shown)


def _check_total(
    traced: Traced, spent: dict[str, float], allowed: dict[str, float | None], pair: Pair, *, shown: bool
) -> None:
    """Add a finding if all calls of one family together spend more than is claimed.

    It is only a note if not all noisy values are `shown`, since a comparison or a choice may cost less.
    The costs of both families are not combined, which is noted.
    """
    if all(spent.values()):
        traced.note(MIXED)
    for family, total in (("laplace", spent["laplace"]), ("gaussian", math.sqrt(spent["gaussian"]))):
        limit = allowed[family]
        if limit is not None and total > limit * (1 + ROUNDED):
            sign = "ε" if family == "laplace" else "μ"
            sentence = f"all {family} noise together spends {sign} = {total:.6g}, and {limit:.6g} is claimed"
            if shown:
                traced.add(family, total, sentence, pair)
            else:
                traced.note(f"{sentence}, {IF_SHOWN}", total, family)


def _resolve_unsure(traced: Traced) -> None:
    """Turn unexplained differences into findings, or into notes if noise or data may be unobserved."""
    for place in sorted(traced.unused or ()):
        traced.note(f"the noise of {place} is added to nothing: it may choose other noise")
    for sentence, places, pair in traced.unsure:
        still = [place for place in places if not traced.places[place].moved]
        if not still:
            traced.add(sentence.partition(" (")[0], 0.0, sentence, pair)
        for place in still[:1]:
            traced.note(f"{sentence}; {place} is added to what never moves: {LATER}")
        for place in still:
            traced.places[place].moved = None


def _note_if_shown(traced: Traced, place: SourcePlace, declared: float, measured: float) -> None:
    """Add a note if a movement exceeds the declared one, but the result may only compare these values."""
    if measured > declared * (1 + ROUNDED):
        sentence = f"{place}: declared {declared:.6g}, measured {measured:.6g}, {IF_SHOWN}"
        traced.note(sentence, measured, str(place))


def _answer(traced: Traced, question: TraceRequest, allowed: dict[str, float | None]) -> Trace:
    _resolve_unsure(traced)
    noise = []
    for place, seen in traced.places.items():
        limit = allowed[seen.family]
        declared = None if seen.scale is None or limit is None else seen.scale * limit
        if question.sensitivity is not None:
            declared = float(question.sensitivity)
        infinite = seen.moved is not None and math.isinf(seen.moved)
        noise.append(TracedNoise(*place, seen.scale, declared, "inf" if infinite else seen.moved))
    witness = next((pair for _, _, pair in traced.findings.values()), None)
    shown = {} if witness is None else question.data.shape.shown(witness.left, witness.right)
    return Trace(
        pairs=traced.pairs,
        noise=noise,
        findings=[sentence for _, sentence, _ in traced.findings.values()],
        notes=[sentence for _, sentence in traced.notes.values()],
        witness=shown if witness is None else {**shown, "base": witness.base},
    )


def exit_code(answer: Trace) -> int:
    """Return 1 for findings, 0 if inputs of noise moved and all were judged, else 3."""
    if answer.findings:
        return 1
    if answer.notes:
        return 3
    return 0 if any(call.moved for call in answer.noise) else 3
