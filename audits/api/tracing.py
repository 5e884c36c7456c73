"""Answers `dpaccount trace`: the noise calls of a function, and the sensitivity of their inputs."""

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
from audits.trace.findings import Allowed, PlannedNoise, Traced, planned_noise
from audits.trace.inclusion import ROWS_REPLACED, RUNS_REPLAYED, probes, seeds_needed
from audits.trace.paired_runs import PairTrace
from audits.tradeoff import mu_of
from dpaccount.errors import InputError
from dpaccount.schemas.results import Trace

MORE = "give more seconds, or one pair by --left and --right"
MAX_PAIRS, MOST_ALIKE = 60, 40  #: maximum number of pairs that are traced; of these, what differs most


def trace(question: TraceRequest, progress: Progress) -> Trace:
    """Return the answer of `dpaccount trace`."""
    code = code_of(question.use, Path.cwd(), allow_code=question.allow_code)
    data, seconds = question.data, float(question.plan.seconds)
    given = None if data.pair is None else [Pair(*data.pair, "the pair that is given")]
    pairs = given or candidates(data.shape, question.plan.seed)
    planned = [] if question.events is None else planned_noise(question.events)
    if planned:
        pairs = sorted(pairs, key=lambda pair: not _same_rows_first(pair))
    # Those that differ most are alike: where all columns move by as much, shared noise does not show.
    spread = pairs[MOST_ALIKE:]
    pairs = [*pairs[:MOST_ALIKE], *spread[:: max(-(-len(spread) // (MAX_PAIRS - MOST_ALIKE)), 1)]]
    sampled = max((noise.rate for noise in planned), default=1.0) < 1
    sensitivity = None if question.sensitivity is None else float(question.sensitivity)
    traced = Traced(allowed(question, planned), planned, sensitivity)
    with Crew(code, seconds=seconds) as crew:
        if crew.kind != "function":
            raise InputError(f"{question.use} is no function", "name a function f(data, rng)")
        crew.layout = data.shape.layout
        for number, pair in enumerate(pairs):
            if number and crew.seconds_left() <= (seconds / 2 if sampled else 0):
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
                traced.gather(seen, pair)
            progress(f"traced {number + 1} of {len(pairs)} pairs")
        if sampled:
            traced.check_samples(_samples(traced, crew, question, progress))
    if question.events is not None:
        traced.check_rates()
        traced.check_counts()
        if any(event.cover is not None for event in question.events.events):
            traced.note("events of the plan cover some units only, which is not followed")
    return traced.answer(data.shape)


def _samples(traced: Traced, crew: Crew, question: TraceRequest, progress: Progress) -> list[Any]:
    """Return which rows are in the sums of runs with different seeds; empty if this cannot be observed."""
    shape = question.data.shape
    if not isinstance(shape, Shape) or not crew.first.alive:
        return []
    if shape.rows > ROWS_REPLACED:
        traced.note(f"only the first {ROWS_REPLACED} rows are followed into samples")
    base, *rows = probes(shape, question.plan.seed)
    crew.set_datasets([*base, *(data for row in rows for data in row)])
    runs: list[Any] = []
    followed, steps = len(rows), sum(noise.count for noise in traced.planned)
    needed = seeds_needed(followed, steps, max(noise.rate for noise in traced.planned))
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


def allowed(question: TraceRequest, planned: list[PlannedNoise]) -> Allowed:
    """Return the allowed movement in units of the scale, by family of noise; None: no limit is claimed."""
    if planned:
        most = dict.fromkeys(("laplace", "gaussian"), 0.0)
        for noise in planned:
            most[noise.family] = max(most[noise.family], noise.ratio)
        return {**most, "other": None}
    mu = question.mu
    if mu is None and question.epsilon is not None and question.delta > 0:
        # the upper end, so that rounding causes no finding
        mu = Fraction(mu_of(question.epsilon, question.delta, 40)[1])
    return {
        "laplace": None if question.epsilon is None else float(question.epsilon),
        "gaussian": None if mu is None else float(mu),
        "other": None,
    }


def exit_code(answer: Trace) -> int:
    """Return 1 for findings, 0 if inputs of noise moved and all were judged, else 3."""
    if answer.findings:
        return 1
    if answer.notes:
        return 3
    return 0 if any(call.moved for call in answer.noise) else 3
