"""Traces a function on one pair of neighbouring datasets: two or three runs, and their findings."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from audits.datasets.forms import Given
from audits.sandbox.outcomes import Outcome, of_error, of_value, takes_generator
from audits.trace.noise_values import settled
from audits.trace.patches import generator, through
from audits.trace.tape import NoiseCall, Tape

UNEXPLAINED = "although all noisy values are the same"
LONE = "only a difference of two such values of one scale is followed; else the result may exclude a value"
NUMBERS_SHOWN = 3  #: entries of a result that a finding names


def trace_pair(
    function: Callable[..., Any], left: Given, right: Given, seed: list[int], *, again: bool
) -> dict[str, Any]:
    """Record a run on `left`, replay it on `right`; with `again`, also record a run with another seed.

    Return the noise calls with what moved, and findings.  A call is [call, file, line, scale, family, moved,
    largest movement of one entry, number of entries].  `unsure` is a finding if what is added to the noise
    of the places `still`, which did not move here, moves on another pair: else it may be a constant.
    """
    first = Tape()
    before = _run(function, left, seed, first)
    second = Tape(before=first)
    after = _run(function, right, seed, second)
    findings = dict(second.findings)
    if len(second.calls) < len(first.calls) and not findings:
        lost = first.calls[len(second.calls)]
        findings[f"the number of noise calls depends on the data: {_at(lost)} is made on one side only"] = (
            None
        )
    for one, other in zip(first.calls, second.calls, strict=False):
        if one.place == other.place and one.scale != other.scale:
            findings[f"the scale of {_at(one)} depends on the data"] = None
    for call in first.calls:
        if _reused(call):
            findings[f"one noise value of {_at(call)} is added to several values"] = None
    if again:
        other_seed = Tape()
        _run(function, left, [*seed, 1], other_seed)
        findings |= dict.fromkeys(_fixed(first, other_seed))
    seen = bool(first.calls) and all(call.seen for call in first.calls)
    differs = before.key() != after.key()
    notes, unsure = _lone(first), None
    draws = next((_at(call) for call in first.calls if call.draws), None)
    still = [call.place for call in second.calls if call.seen and not call.moved]
    if differs and not findings:
        moves = f"{_difference(before, after)} {UNEXPLAINED}"
        if seen and still:  # a constant may have been added, and the data to the sum
            unsure = moves
        elif seen:
            findings[moves] = None
        elif any(call.seen for call in first.calls):
            notes.append(f"{moves}; what {draws or 'noise that is not followed'} gave may explain it")
    return {
        "calls": [_row(call) for call in second.calls or first.calls],
        "findings": list(findings),
        "notes": notes,
        "unsure": unsure,
        "still": still,
        "draws": draws,
        "numbers": len(before.numbers),
        "shown": _all_shown(first, before),
        "failed": before.shown_as_failure() if before.failed else None,
        "differs": differs,
    }


def _lone(tape: Tape) -> list[str]:
    """Return a note if noise of one sign is added without as much of its scale being subtracted."""
    signs: Counter[tuple[float | None, tuple[int, ...]]] = Counter()
    calls = [call for call in tape.calls if call.one_sided and call.used is not None]
    for call in calls:
        sign, scale = call.used or (0, None)
        signs[scale, call.shape] += sign
    return [f"the noise of {_at(calls[0])} is one-sided: {LONE}"] if any(signs.values()) else []


def _all_shown(tape: Tape, result: Outcome) -> bool:
    """Return whether every noisy value is in the result, and no choice was made among them."""
    located = [call.value for call in tape.calls if np.any(call.location)]
    noisy = [*located, *(total for call in tape.calls for _, total in call.inputs)]
    try:
        return all(np.isin(np.asarray(each, dtype=np.float64), result.numbers).all() for each in noisy)
    except (TypeError, ValueError):
        return False


def _fixed(first: Tape, other_seed: Tape) -> list[str]:
    """Return a finding for each call that gives the same noise with another seed."""
    return [
        f"{_at(one)} gives the same noise on every run: its seed is fixed"
        for one, other in zip(first.calls, other_seed.calls, strict=False)
        if one.place == other.place and _noisy(one) and np.array_equal(one.value, other.value)
    ]


def _run(function: Callable[..., Any], data: Given, seed: list[int], tape: Tape) -> Outcome:
    mixed = np.random.SeedSequence(seed)
    number = int(mixed.generate_state(1)[0])
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002  # for code that draws from the old global generator
    given = data.fresh()
    with through(tape):
        try:
            more = (generator(tape, np.random.PCG64(mixed)),) if takes_generator(function) else ()
            return of_value(settled(function(given, *more)))
        except BaseException as error:  # whatever it raises is what it did
            return of_error(error)


def _at(call: NoiseCall) -> str:
    return f"{call.call} at {call.file}:{call.line}"


def _reused(call: NoiseCall) -> bool:
    """Return whether a noise value was added to different values."""
    given = [each for each, _ in call.inputs]
    return any(not np.array_equal(given[0], each) for each in given[1:])


def _noisy(call: NoiseCall) -> bool:
    """Return whether equal values on two runs are no accident."""
    return call.family != "other" and np.asarray(call.value).dtype.kind == "f"


def _row(call: NoiseCall) -> list[Any]:
    entries = int(np.prod(call.shape)) if call.shape else 1
    return [call.call, call.file, call.line, call.scale, call.family, call.moved, call.largest, entries]


def _difference(one: Outcome, other: Outcome) -> str:
    if one.structure != other.structure or one.labels != other.labels:
        return f"the result is {one.shown()} and {other.shown()}"
    places = np.flatnonzero(one.numbers != other.numbers)[:NUMBERS_SHOWN].tolist()
    moves = [f"entry {k} by {abs(one.numbers[k] - other.numbers[k]):.6g}" for k in places]
    return f"the result moves ({', '.join(moves) or 'in its bits'})"
