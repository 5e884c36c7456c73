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
from audits.trace.tape import ROUNDING, NoiseCall, Sum, Tape

UNEXPLAINED = "although all noisy values are the same"
LONE = "only a difference of two such values of one scale is followed; else the result may exclude a value"
STRANGE = "the result differs on the same data: draws are not followed, as of a generator made on import"
UNALIGNED = "runs on fewer rows are not compared, as those of one vector of draws are"
NUMBERS_SHOWN = 3  #: entries of a result that a finding names


def trace_pair(
    function: Callable[..., Any], left: Given, right: Given, seed: list[int], *, again: bool
) -> dict[str, Any]:
    """Record a run on `left`, replay it on both; with `again`, also record a run with another seed.

    A replay on `left` that differs shows draws that are not followed: then nothing is judged by replay.
    Return the noise calls with what moved, and findings.  A call is [call, file, line, scale, family, moved,
    largest movement of one entry, number of entries].  `unsure` is a finding if what is added to the noise
    of the places `still`, which did not move here, moves on another pair: else it may be a constant.
    `unused` are places with a call whose noise is added to nothing.
    """
    first = Tape()
    before = _run(function, left, seed, first)
    second = Tape(before=first)
    after = _run(function, right, seed, second)
    same = Tape(before=first)
    strange = _run(function, left, [*seed, 1], same).key() != before.key() or bool(
        same.findings or any(call.moved for call in same.calls)
    )
    findings, notes = _compared(first, second)
    draws = next((_at(call) for call in first.calls if call.draws), None)
    if draws and after.failed and not before.failed:
        findings = {}
        notes.append(f"the function fails on one side, which what {draws} gave may explain")
    if strange:
        findings = {}
        notes.append(STRANGE)
    elif before.structure == after.structure and (
        row_by_row := _row_by_row(first, second, len(left.dataset), len(right.dataset))
    ):
        findings, strange = {}, True
        notes.append(f"{row_by_row} draws for each row by itself: {UNALIGNED}")
    if again:
        other_seed = Tape()
        _run(function, left, [*seed, 1], other_seed)
        findings |= dict.fromkeys(_fixed(first, other_seed))
        notes += _lone(other_seed)
        for one, other in zip(first.calls, other_seed.calls, strict=False):
            if one.place == other.place and one.scale != other.scale:
                notes.append(f"the scale of {_at(one)} depends on random values")
    added = {number for each in first.sums for number in each.parts}
    seen = bool(first.calls) and not any(note.endswith("on both sides") for note in notes)
    seen = seen and all(call.seen or k in added for k, call in enumerate(first.calls))
    differs, unsure = before.key() != after.key() and not (draws and after.failed), None
    notes += _noise_shown(first, before, added)
    _unjudge_chains(first, second, before)
    used = {k for tape in (first, second) for k, call in enumerate(tape.calls) if call.seen or call.draws}
    used |= added
    still = [call.place for call in second.calls if call.seen and not call.moved]
    if differs and not findings and not strange:
        moves = f"{_difference(before, after)} {UNEXPLAINED}"
        if seen and still:  # a constant may have been added, and the data to the sum
            unsure = moves
        elif seen:
            findings[moves] = None
        else:
            notes.append(f"{moves}; what {draws or 'noise that is not followed'} gave may explain it")
    return {
        "calls": [_row(call, judged=not strange) for call in second.calls or first.calls],
        "findings": list(findings),
        "notes": notes,
        "unsure": unsure,
        "still": still,
        "unused": sorted({call.place for k, call in enumerate(first.calls) if k not in used}),
        "draws": draws,
        "drawn": sorted({call.call.rpartition(".")[2] for call in first.calls if call.draws}),
        "shown": _all_shown(first, before),
        "failed": before.shown_as_failure() if before.failed else None,
    }


def _row_by_row(first: Tape, second: Tape, rows: int, others: int) -> str | None:
    """Return where single draws are made for each row, if the numbers of rows differ."""
    counts = [Counter(_at(call) for call in tape.calls if call.draws) for tape in (first, second)]
    for where, count in counts[0].items():
        other = counts[1][where]
        if rows != others and count != other and count * others == other * rows:
            return where
    return None


def trace_rows(
    function: Callable[..., Any], base: Given, rows: list[list[Given]], seed: list[int]
) -> dict[str, Any]:
    """Record a run on `base`, and replay it with each row replaced: which inputs of noise move.

    `inside` has, for each row and each noise call, whether a replacement moves the input; it is None
    where calls differ or the function fails, or a replay on `base` differs: draws are not followed.
    """
    first, same = Tape(), Tape()
    before = _run(function, base, seed, first)
    same.before = first
    strange = _run(function, base, [*seed, 1], same).key() != before.key()
    failed = before.failed or strange or any(call.moved for call in same.calls)
    inside: list[list[bool]] = []
    for row in rows:
        moved = np.zeros(len(first.calls), dtype=bool)
        for given in row:
            tape = Tape(before=first)
            failed = failed or _run(function, given, seed, tape).failed
            places = [call.place for call in tape.calls]
            if failed or places != [call.place for call in first.calls]:
                return {"places": [], "inside": None}
            moved |= [bool(call.moved) for call in tape.calls]
        inside.append(moved.tolist())
    return {"places": [[*call.place, call.family] for call in first.calls], "inside": inside}


def _compared(first: Tape, second: Tape) -> tuple[dict[str, None], list[str]]:
    """Return findings and notes of the noise calls of two datasets."""
    findings, notes = dict(second.findings), [*_lone(first), *second.notes]
    if len(second.calls) < len(first.calls) and not findings:
        lost = _at(first.calls[len(second.calls)])
        findings[f"the number of noise calls depends on the data: {lost} is made on one side only"] = None
    for one, other in zip(first.calls, second.calls, strict=False):
        if one.place == other.place:
            if one.scale != other.scale or not np.array_equal(one.raw, other.raw):
                findings[f"the scale of {_at(one)} depends on the data"] = None
            if len(one.inputs) != len(other.inputs):
                notes.append(f"the noise of {_at(one)} is not added as often on both sides")
    reused, unlike = _reused(first, second)
    return findings | dict.fromkeys(reused), notes + unlike


def _chains(tape: Tape) -> list[list[Sum]]:
    """Return the sums in chains: noise is added to the sum before it, and to nothing else."""
    chains: list[list[Sum]] = []
    for each in tape.sums:
        chain = next((chain for chain in chains if _goes_on(chain[-1].total, each.given)), None)
        if chain is None:
            chains.append([each])
        else:
            chain.append(each)
    return chains


def _goes_on(total: Any, given: Any) -> bool:
    if isinstance(total, np.integer) and isinstance(given, np.integer):
        return total is given  # counts may be equal by chance
    return np.array_equal(total, given)


def _lone(tape: Tape) -> list[str]:
    """Return a note if noise of one sign is added without as much of its scale being subtracted."""
    for chain in _chains(tape):
        signs: Counter[tuple[float | None, tuple[int, ...]]] = Counter()
        lone = None
        for number, factor in ((*part,) for each in chain for part in each.parts.items()):
            call = tape.calls[number]
            if call.one_sided and factor:
                lone = lone or call
                signs[call.unit and abs(factor) * call.unit, call.shape] += 1 if factor > 0 else -1
        if lone is not None and any(signs.values()):
            return [f"the noise of {_at(lone)} is one-sided: {LONE}"]
    return []


def _unjudge_chains(first: Tape, second: Tape, result: Outcome) -> None:
    """Take the scale off noise that more is added to, unless the result shows the sum before."""
    for tape in (first, second):
        for chain in _chains(tape):
            leads = [tape.lead(each.parts) for each in chain]
            for k, (number, scale) in enumerate(leads[:-1]):
                call = tape.calls[number]
                least = 0.0 if call.family == "gaussian" else scale or 0.0
                larger = any(size is None or size > least for _, size in leads[k + 1 :])
                if larger and not np.isin(chain[k].total, result.numbers).any():
                    call.scale = None


def _reused(first: Tape, second: Tape) -> tuple[list[str], list[str]]:
    """Return findings and notes of noise that is added to several values.

    It is a finding if they differ by what depends on the data, in units of the noise.
    """
    findings, notes = [], []
    for number, call in enumerate(first.calls):
        own = [k for k, each in enumerate(first.sums) if each.parts.get(number)]
        sentence = f"one noise value of {_at(call)} is added to several values"
        for k in own[1:]:
            one, other = first.sums[own[0]].parts, first.sums[k].parts
            if one != other and (len(one) > 1 or len(other) > 1):
                notes.append(f"the noise of {_at(call)} is part of several sums of noise")
                continue
            factors = one[number], other[number]
            left, right = (_apart(tape, (own[0], k), factors) for tape in (first, second))
            if left is None or right is None or left.shape != right.shape:
                notes.append(sentence)
            elif not np.allclose(left, right, ROUNDING, ROUNDING, equal_nan=True):
                findings.append(sentence)
            elif left.any() or right.any():
                notes.append(f"{sentence}, which differ by what did not change")
    return findings, notes


def _apart(tape: Tape, places: tuple[int, int], factors: tuple[float, float]) -> Any:
    """Return how far two inputs are apart, in units of the noise; None if they do not fit."""
    if max(places) >= len(tape.sums):
        return None
    one, other = (np.asarray(tape.sums[each].given, dtype=np.float64) for each in places)
    return one / factors[0] - other / factors[1] if one.shape == other.shape else None


def _noise_shown(tape: Tape, result: Outcome, added: set[int]) -> list[str]:
    """Return a note for noise that is added to a value, and is in the result itself."""
    totals = [np.asarray(each.total, dtype=np.float64).ravel() for each in tape.sums]  # 0 + n is n
    alone = np.setdiff1d(result.numbers, np.hstack(totals)) if totals else ()
    calls = {number: tape.calls[number] for number in sorted(added)}
    return [
        f"the noise of {_at(call)} is added to a value, and in the result itself"
        for number, call in calls.items()
        if number in tape.shown or (_noisy(call) and np.isin(call.value, alone).any())
    ]


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


def _noisy(call: NoiseCall) -> bool:
    """Return whether equal values on two runs are no accident."""
    return call.family != "other" and np.asarray(call.value).dtype.kind == "f"


def _row(call: NoiseCall, *, judged: bool) -> list[Any]:
    entries = int(np.prod(call.shape)) if call.shape else 1
    moved = call.moved if judged else None
    return [call.call, call.file, call.line, call.scale, call.family, moved, call.largest, entries]


def _difference(one: Outcome, other: Outcome) -> str:
    if one.structure != other.structure or one.labels != other.labels:
        return f"the result is {one.shown()} and {other.shown()}"
    places = np.flatnonzero(one.numbers != other.numbers)[:NUMBERS_SHOWN].tolist()
    moves = [f"entry {k} by {abs(one.numbers[k] - other.numbers[k]):.6g}" for k in places]
    return f"the result moves ({', '.join(moves) or 'in its bits'})"
