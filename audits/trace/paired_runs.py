"""Traces a function on one pair of neighbouring datasets: two or three runs, and their findings."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from audits.datasets.forms import Given
from audits.sandbox.outcomes import Outcome, of_error, of_value, seeded, takes_generator
from audits.trace.patches import generator, patched, without_noise_types
from audits.trace.tape import ROUNDING, SHARED, NoiseCall, SourcePlace, Sum, Tape

UNEXPLAINED = "although all noisy values are the same"
LONE = "only a difference of two such values of one scale is followed; else the result may exclude a value"
UNFOLLOWED = "the result differs on the same data: draws are not followed, as of a generator made on import"
UNALIGNED = "runs on fewer rows are not compared, as those of one vector of draws are"
SHIFT, MOST_LOST = 4096.0, 20  #: scales; noise calls that are shifted one by one
INT_ROUNDING = 1 / 64  #: by how much rounding, as of int(), may change a movement by a whole shift
SHIFT_PARTS = 16  #: parts of a shift by which the noise values of one array are told apart
NUMBERS_SHOWN = 3  #: entries of a result that a finding names


@dataclass(frozen=True)
class TracedCall:
    """A noise call of a pair of runs: how far its input (None: not known) and its largest entry moved."""

    place: SourcePlace
    scale: float | None
    family: str
    moved: float | None
    largest: float


@dataclass(frozen=True)
class PairTrace:
    """What the runs on one pair show of a function's noise."""

    calls: list[TracedCall]
    findings: list[str]
    notes: list[str]
    unsure: str | None  #: a finding, if inputs of noise at the places `still` move on another pair
    still: list[SourcePlace]  #: of noise whose input does not move here, so that it may be a constant
    unused: list[SourcePlace]  #: of noise that is added to nothing
    draws: list[SourcePlace]  #: of draws other than additive noise
    shown: bool  #: whether all noisy values are in the result
    failed: str | None  #: how the first run failed


def trace_pair(
    function: Callable[..., Any], left: Given, right: Given, seed: list[int], *, again: bool
) -> PairTrace:
    """Record a run on `left`, replay it on both; with `again`, also record a run with another seed.

    Nothing is judged by replay if draws are not followed, as a replay on `left` that differs shows.
    """
    first = Tape()
    before = _run(function, left, seed, first)
    second = Tape(before=first)
    after = _run(function, right, seed, second)
    unfollowed = _why_unfollowed(function, left, seed, first, before)
    if unfollowed is None and before.structure == after.structure:
        unfollowed = _row_by_row(first, second, len(left.dataset), len(right.dataset))
    if unfollowed is None:
        after = _follow_lost(function, (left, right), seed, (first, second), (before, after))
    findings, notes = _compared(first, second)
    draws = [call.place for call in first.calls if call.draws]
    fails = bool(draws) and after.failed
    if fails and not before.failed:
        findings = {}
        notes.append(f"the function fails on one side, which what {draws[0]} gave may explain")
    if unfollowed:
        findings = {}
        notes.append(unfollowed)
    if again:
        other_seed = Tape()
        _run(function, left, [*seed, 1], other_seed)
        findings |= dict.fromkeys(_fixed_seed_findings(first, other_seed))
        notes += _one_sided_notes(other_seed)
        for one, other in zip(first.calls, other_seed.calls, strict=False):
            alike = one.place == other.place and len(one.inputs) == len(other.inputs)
            if alike and one.scale != other.scale:  # of followed noise
                notes.append(f"the scale of {one.place} depends on random values")
    added = {number for each in first.sums for number in each.parts}
    notes += _noise_shown(first, before, added)
    _unjudge_chains(first, second, before)
    still = [call.place for call in second.calls if call.seen and not call.moved]
    unsure = None
    if before.key() != after.key() and not (fails or findings or unfollowed):
        moves = f"{_difference(before, after)} {UNEXPLAINED}"
        followed = bool(first.calls) and all(call.seen or k in added for k, call in enumerate(first.calls))
        if not followed or any(note.endswith("on both sides") for note in notes):
            source = draws[0] if draws else "noise that is not followed"
            notes.append(f"{moves}; what {source} gave may explain it")
        elif still:  # a constant may have been added, and the data to the sum
            unsure = moves
        else:
            findings[moves] = None
    used = {k for tape in (first, second) for k, call in enumerate(tape.calls) if call.seen or call.draws}
    unused = {call.place for k, call in enumerate(first.calls) if k not in used | added}
    return PairTrace(
        calls=[
            TracedCall(call.place, call.scale, call.family, None if unfollowed else call.moved, call.largest)
            for call in second.calls or first.calls
        ],
        findings=list(findings),
        notes=notes,
        unsure=unsure,
        still=still,
        unused=sorted(unused),
        draws=draws,
        shown=_all_shown(first, before),
        failed=before.shown_as_failure() if before.failed else None,
    )


def _follow_lost(
    function: Callable[..., Any],
    sides: tuple[Given, Given],
    seed: list[int],
    tapes: tuple[Tape, Tape],
    runs: tuple[Outcome, Outcome],
) -> Outcome:
    """Follow noise that lost its type before it was added, as in int(noise).

    Replays in which such noise is larger on the left and smaller on the right, by `SHIFT` scales, show to
    which entries of the result it is added.  Return the second run, with these entries as in the first.
    Noise values of one array are shifted by different amounts: each entry must follow one of its own.
    """
    first, before, after = tapes[0], *runs
    added = {number for each in first.sums for number in each.parts}
    lost = [k for k, call in enumerate(first.calls) if not (call.draws or call.seen or k in added)]
    groups: dict[tuple[int, ...], dict[int, float]] = {}
    if len(lost) > MOST_LOST or len(tapes[1].calls) < len(first.calls) or before.structure != after.structure:
        return after

    def moves(number: int, weights: Any, step: float) -> NDArray[np.float64]:
        """Return by how many steps each entry moves if noise does by these weights; NaN if unlike."""
        seen = []
        for side, run, by in zip(sides, runs, (step, -step), strict=True):
            shifted = _run(function, side, seed, Tape(before=first, shift={number: by * weights}))
            alike = shifted.structure == run.structure and shifted.labels == run.labels
            seen.append((shifted.numbers - run.numbers) / by if alike else np.full(len(run.numbers), np.nan))
        return np.where(np.abs(seen[0] - seen[1]) <= SHIFT_PARTS * INT_ROUNDING, seen[0], np.nan)

    for number in lost:
        call = first.calls[number]
        step = SHIFT / SHIFT_PARTS * 2.0 ** math.ceil(math.log2(call.unit or 1.0))
        step = int(step) if step >= 1 else step
        together = moves(number, SHIFT_PARTS, step) / SHIFT_PARTS
        factors = np.round(together / INT_ROUNDING) * INT_ROUNDING
        places = np.flatnonzero(factors)
        if np.isnan(together).any() or len(set(factors[places].tolist())) != 1:
            continue  # it is added to nothing, or is no summand
        size = math.prod(call.shape)
        if size > 1:
            names = _names(size)
            seen = np.array([moves(number, each.reshape(call.shape), step)[places] for each in names])
            sources = _named(seen / together[places], names)
            if sources is None:  # as of a mean, or of sorted noise
                continue
            if len(set(sources)) < len(places):
                _share(tapes[1], call, [places[np.equal(sources, each)] for each in set(sources)], runs)
            if len(places) > size:
                continue
        groups.setdefault(tuple(places.tolist()), {})[number] = float(factors[places[0]])
    return _followed(groups, tapes, runs)


def _names(size: int) -> NDArray[np.int64]:
    """Return digits from 1 to `SHIFT_PARTS`, a column for each noise value.

    The last row is random: that of a mean or sum of values is hardly that of the value that it is named as.
    """
    random = np.random.default_rng(0)
    numbers, length = random.permutation(size), math.ceil(math.log(size, SHIFT_PARTS))
    rows = [numbers // SHIFT_PARTS**power % SHIFT_PARTS for power in range(length)]
    return np.array([*rows, random.integers(0, SHIFT_PARTS, size)]) + 1


def _named(seen: NDArray[np.float64], names: NDArray[np.int64]) -> list[int] | None:
    """Return which noise value each entry (a column) follows; None unless each follows one."""
    if not (np.abs(seen - np.round(seen)) <= SHIFT_PARTS * INT_ROUNDING).all():
        return None
    values = {digits: k for k, digits in enumerate(map(tuple, names.T.tolist()))}
    found = [values.get(digits) for digits in map(tuple, np.round(seen).astype(int).T.tolist())]
    return None if None in found else [each for each in found if each is not None]


def _share(
    tape: Tape, call: NoiseCall, groups: list[NDArray[np.int64]], runs: tuple[Outcome, Outcome]
) -> None:
    """Report one noise value for several entries: a finding if their differences depend on the data."""
    one, other = (run.numbers for run in runs)
    near = ROUNDING * np.abs([one, other]).max(initial=1.0)
    differs = any(np.ptp((other - one)[group]) > near for group in groups)
    (tape.findings if differs else tape.notes).setdefault(SHARED.format(call.place))


def _followed(
    groups: dict[tuple[int, ...], dict[int, float]], tapes: tuple[Tape, Tape], runs: tuple[Outcome, Outcome]
) -> Outcome:
    """Record sums with noise at these entries; return the second run, with the entries of the first."""
    before, after = runs
    places = [place for group in groups for place in group]
    if len(set(places)) < len(places):  # sums of noise of several shapes
        return after
    for group, parts in groups.items():
        shape = tapes[0].calls[next(iter(parts))].shape
        for tape, run in zip(tapes, runs, strict=True):
            values = run.numbers[[*group]]
            values = values.reshape(shape) if math.prod(shape) == len(group) else values
            tape.added(parts, values, values)
    numbers = after.numbers.copy()
    numbers[places] = before.numbers[places]
    return replace(after, numbers=numbers)


def _why_unfollowed(
    function: Callable[..., Any], data: Given, seed: list[int], first: Tape, before: Outcome
) -> str | None:
    """Return a note if a replay on the same data, with another seed, differs from the first run."""
    # With another seed, draws that the tape does not see differ even on the same data.
    same = Tape(before=first)
    differs = _run(function, data, [*seed, 1], same).key() != before.key()
    return UNFOLLOWED if differs or same.findings or any(call.moved for call in same.calls) else None


def _row_by_row(first: Tape, second: Tape, rows: int, others: int) -> str | None:
    """Return a note if single draws are made for each row and the numbers of rows differ."""
    counts = [Counter(call.place for call in tape.calls if call.draws) for tape in (first, second)]
    for where, count in counts[0].items():
        other = counts[1][where]
        if rows != others and count != other and count * others == other * rows:
            return f"{where} draws for each row by itself: {UNALIGNED}"
    return None


def trace_rows(
    function: Callable[..., Any], base: Given, rows: list[list[Given]], seed: list[int]
) -> dict[str, Any]:
    """Record a run on `base`, and replay it with each row replaced, to see which inputs of noise move.

    `inside` has for each row and each noise call whether a replacement moves the input.  It is None if
    calls differ, the function fails, or a replay on `base` differs, which shows draws that are not followed.
    """
    first = Tape()
    before = _run(function, base, seed, first)
    failed = before.failed or _why_unfollowed(function, base, seed, first, before) is not None
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
    """Return findings and notes on the differences between the noise calls of two runs."""
    findings, notes = dict(second.findings), [*_one_sided_notes(first), *second.notes]
    if len(second.calls) < len(first.calls) and not findings:
        lost = first.calls[len(second.calls)].place
        findings[f"the number of noise calls depends on the data: {lost} is made on one side only"] = None
    for one, other in zip(first.calls, second.calls, strict=False):
        if one.place == other.place:
            if one.scale != other.scale or not np.array_equal(one.raw, other.raw):
                findings[f"the scale of {one.place} depends on the data"] = None
            if len(one.inputs) != len(other.inputs):
                notes.append(f"the noise of {one.place} is not added as often on both sides")
    reused, unlike = _reused(first, second)
    return findings | dict.fromkeys(reused), notes + unlike


def _chains(tape: Tape) -> list[list[Sum]]:
    """Return the sums in chains, in which each sum is the input of the next one."""
    chains: list[list[Sum]] = []
    for each in tape.sums:
        chain = next((chain for chain in chains if _continues(chain[-1].total, each.given)), None)
        if chain is None:
            chains.append([each])
        else:
            chain.append(each)
    return chains


def _continues(total: Any, given: Any) -> bool:
    if isinstance(total, np.integer) and isinstance(given, np.integer):
        return total is given  # counts may be equal by chance
    return np.array_equal(total, given)


def _one_sided_notes(tape: Tape) -> list[str]:
    """Return a note if one-sided noise is added and no equal noise is subtracted."""
    for chain in _chains(tape):
        signs: Counter[tuple[float | None, tuple[int, ...]]] = Counter()
        lone = None
        for number, factor in ((*part,) for each in chain for part in each.parts.items()):
            call = tape.calls[number]
            if call.one_sided and factor:
                lone = lone or call
                signs[call.unit and abs(factor) * call.unit, call.shape] += 1 if factor > 0 else -1
        if lone is not None and any(signs.values()):
            return [f"the noise of {lone.place} is one-sided: {LONE}"]
    return []


def _unjudge_chains(first: Tape, second: Tape, result: Outcome) -> None:
    """Forget the scale of noise to which larger noise is added, unless the first sum is in the result."""
    for tape in (first, second):
        for chain in _chains(tape):
            leads = [tape.dominant_call(each.parts) for each in chain]
            for k, (number, scale) in enumerate(leads[:-1]):
                call = tape.calls[number]
                least = 0.0 if call.family == "gaussian" else scale or 0.0
                larger = any(size is None or size > least for _, size in leads[k + 1 :])
                if larger and not np.isin(chain[k].total, result.numbers).any():
                    call.scale = None


def _reused(first: Tape, second: Tape) -> tuple[list[str], list[str]]:
    """Return findings and notes on noise that is added to several values.

    It is a finding if their differences, in units of the noise, depend on the data.
    """
    findings, notes = [], []
    for number, call in enumerate(first.calls):
        own = [k for k, each in enumerate(first.sums) if each.parts.get(number)]
        sentence = SHARED.format(call.place)
        for k in own[1:]:
            one, other = first.sums[own[0]].parts, first.sums[k].parts
            if one != other and (len(one) > 1 or len(other) > 1):
                notes.append(f"the noise of {call.place} is part of several sums of noise")
                continue
            factors = one[number], other[number]
            left, right = (_difference_in_noise(tape, (own[0], k), factors) for tape in (first, second))
            if left is None or right is None or left.shape != right.shape:
                notes.append(sentence)
            elif not np.allclose(left, right, ROUNDING, ROUNDING, equal_nan=True):
                findings.append(sentence)
            elif left.any() or right.any():
                notes.append(f"{sentence}, which differ by what did not change")
    return findings, notes


def _difference_in_noise(tape: Tape, places: tuple[int, int], factors: tuple[float, float]) -> Any:
    """Return the difference of two inputs in units of the noise; None if their shapes differ."""
    if max(places) >= len(tape.sums):
        return None
    one, other = (np.asarray(tape.sums[each].given, dtype=np.float64) for each in places)
    return one / factors[0] - other / factors[1] if one.shape == other.shape else None


def _noise_shown(tape: Tape, result: Outcome, added: set[int]) -> list[str]:
    """Return a note for each noise value that is added to a value and also appears in the result."""
    totals = [np.asarray(each.total, dtype=np.float64).ravel() for each in tape.sums]  # 0 + n is n
    alone = np.setdiff1d(result.numbers, np.hstack(totals)) if totals else ()
    calls = {number: tape.calls[number] for number in sorted(added)}
    return [
        f"the noise of {call.place} is added to a value, and in the result itself"
        for number, call in calls.items()
        if number in tape.shown or (_noisy(call) and np.isin(call.value, alone).any())
    ]


def _all_shown(tape: Tape, result: Outcome) -> bool:
    """Return whether every noisy value is in the result, so that nothing was selected."""
    located = [call.value for call in tape.calls if np.any(call.location)]
    noisy = [*located, *(total for call in tape.calls for _, total in call.inputs)]
    try:
        return all(np.isin(np.asarray(each, dtype=np.float64), result.numbers).all() for each in noisy)
    except (TypeError, ValueError):
        return False


def _fixed_seed_findings(first: Tape, other_seed: Tape) -> list[str]:
    """Return a finding for each call that gives the same noise with another seed."""
    return [
        f"{one.place} gives the same noise on every run: its seed is fixed"
        for one, other in zip(first.calls, other_seed.calls, strict=False)
        if one.place == other.place and _noisy(one) and np.array_equal(one.value, other.value)
    ]


def _run(function: Callable[..., Any], data: Given, seed: list[int], tape: Tape) -> Outcome:
    mixed, given = seeded(seed), data.fresh()
    with patched(tape):
        try:
            more = (generator(tape, np.random.PCG64(mixed)),) if takes_generator(function) else ()
            return of_value(without_noise_types(function(given, *more)))
        except BaseException as error:  # whatever it raises is what it did
            return of_error(error)


def _noisy(call: NoiseCall) -> bool:
    """Return whether the noise is continuous, so that equal values in two runs are no coincidence."""
    return call.family != "other" and np.asarray(call.value).dtype.kind == "f"


def _difference(one: Outcome, other: Outcome) -> str:
    """Describe how two results differ."""
    if one.structure != other.structure or one.labels != other.labels:
        return f"the result is {one.shown()} and {other.shown()}"
    places = np.flatnonzero(one.numbers != other.numbers)[:NUMBERS_SHOWN].tolist()
    moves = [f"entry {k} by {abs(one.numbers[k] - other.numbers[k]):.6g}" for k in places]
    return f"the result moves ({', '.join(moves) or 'in its bits'})"
