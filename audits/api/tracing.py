"""Answers `dpaccount trace`: the noise calls of a function, and how far what they are added to moves."""

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from audits.api.arguments import Named, Terms, check_range, described, given_only, time_limit
from audits.attack.runs import Progress
from audits.claim import AuditPlan
from audits.datasets.bases import Pair
from audits.datasets.neighbours import candidates
from audits.datasets.shape import ARRAY, Described
from audits.sandbox.crew import IMPORT, Crew, Gone
from audits.subjects.code import code_of
from audits.trace.lead import UNEXPLAINED
from audits.tradeoff import ROUNDED
from dpaccount.accounting.accountant import Accountant
from dpaccount.errors import InputError
from dpaccount.exact import whole_argument
from dpaccount.plan.event_base import OnSample
from dpaccount.plan.events import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Gdp,
    Laplace,
    Plan,
    PoissonReplaced,
    PoissonSubsampled,
)

SAMPLED = (
    "{} may be a sample, for which inputs of noise may move by more than ε and δ say: give --sensitivity to"
    " hold them against what is declared"
)
LATER = "data that are added to this sum are not followed, so add them to the noise itself"
IF_SHOWN = "which is too much if the result shows all these noisy values, but not if it compares them"
UNJUDGED = "nothing that is claimed says how far the input of noise of this kind or scale may move"
MIXED = "Laplace and Gaussian noise are both spent, and are not held against ε and δ together"
OF_VECTOR = "which is too much unless calls draw parts of one vector"
UNLIKELY = 1e-6  #: of the claimed rate: one more often than this is a finding
MAX_PAIRS = 60  #: pairs that are traced, as far as time allows


@dataclass(frozen=True)
class TraceRequest:
    """Trace a function on pairs of neighbouring datasets; the claim says what its noise allows.

    `mu` is for Gaussian noise: by default the largest that meets (ε, δ).  With a declared `sensitivity`,
    every input is held against that instead; with `events`, calls against its releases, by movement.
    """

    use: str
    data: Described
    epsilon: Fraction | None
    delta: Fraction
    mu: Fraction | None
    plan: AuditPlan
    sensitivity: Fraction | None = None
    allow_code: bool = True
    events: Plan | None = None


@dataclass(frozen=True)
class TraceArguments:
    """The arguments of `trace`: (`epsilon`, `delta`), `mu`, `sensitivity` or `events`, and the data."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    mu: Fraction | None = None
    sensitivity: Fraction | None = None
    events: Plan | None = None
    relation: str | None = None
    radius: Fraction | None = None
    terms: Terms = field(default_factory=dict)
    seed: Fraction | None = None
    seconds: Fraction | None = None
    allow_code: bool = True
    named: Named = str

    def request(self, function: str) -> TraceRequest:
        """Return the request; raises `InputError` for arguments that are missing or out of range."""
        named = self.named
        check_range(self.epsilon, named("epsilon"), "at least 0", lambda value: value >= 0)
        check_range(self.mu, named("mu"), "at least 0", lambda value: value >= 0)
        check_range(self.delta, named("delta"), "at least 0 and at most 1", lambda value: 0 <= value <= 1)
        check_range(self.sensitivity, named("sensitivity"), "at least 0", lambda value: value >= 0)
        others = f"{named('mu')}, {named('sensitivity')} or {named('plan')}"
        claims = [each for each in (self.epsilon, self.mu, self.sensitivity) if each is not None]
        if not claims and self.events is None:
            raise InputError(f"{named('epsilon')} is missing", f"give what is claimed, or {others}")
        relation = self.relation
        if self.events is not None:
            planned_noise(self.events)
            if claims:
                raise InputError(f"{named('plan')} says what is claimed", "leave the other claims out")
            relation = self.events.relation.value
            if self.relation not in (None, relation):
                what = f"{named('plan')} is under {relation}"
                raise InputError(what, f"leave {named('relation')} out")
        data = described(self.terms, relation, self.radius, named)
        if data is None:
            names = ", ".join(map(named, ARRAY[:3]))
            raise InputError(f"{function[:70]} has no data", f"describe them by {names}")
        plan = replace(
            AuditPlan(),
            **given_only(
                seed=whole_argument(named("seed"), self.seed, 0), seconds=time_limit(self.seconds, named)
            ),
        )
        delta = self.delta or Fraction(0)
        return TraceRequest(
            function, data, self.epsilon, delta, self.mu, plan, self.sensitivity, self.allow_code, self.events
        )


@dataclass
class _Seen:
    """One place in the code, over all pairs: the inputs' largest movement and smallest scale."""

    scale: float | None
    family: str
    moved: float | None = None

    def add(self, scale: float | None, moved: float | None) -> None:
        """Add what one pair showed of it."""
        if scale is not None:
            known = self.scale is not None and (self.moved is not None or moved is None)
            self.scale = min(self.scale or 0.0, scale) if known else scale
        if moved is not None:
            self.moved = max(self.moved or 0.0, moved)


@dataclass
class _Traced:
    places: dict[tuple[str, str, int], _Seen] = field(default_factory=dict)
    findings: dict[str, tuple[float, str, Pair]] = field(default_factory=dict)  #: the largest of each kind
    notes: dict[str, tuple[float, str]] = field(default_factory=dict)  #: the largest of each kind
    unsure: list[tuple[str, list[tuple[str, str, int]], Pair]] = field(default_factory=list)
    pairs: int = 0
    last: Pair | None = None
    #: of each place, the calls after the first with a movement: how many have one, and how many there are
    sums: dict[tuple[str, str, int], tuple[int, int]] = field(default_factory=dict)
    counts: list[Counter[tuple[str, str, int]]] = field(default_factory=list)  #: of a pair's calls

    def add(self, kind: str, size: float, said: str, pair: Pair) -> None:
        """Add a finding, unless one of its kind is as large."""
        if kind not in self.findings or size > self.findings[kind][0]:
            self.findings[kind] = (size, said, pair)

    def note(self, said: str, size: float = 0.0, kind: str | None = None) -> None:
        """Add a note, unless one of its kind (by default, the same words) is as large."""
        kind = said if kind is None else kind
        if kind not in self.notes or size > self.notes[kind][0]:
            self.notes[kind] = (size, said)


def trace(question: TraceRequest, progress: Progress) -> dict[str, Any]:
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
    found = _Traced()
    with Crew(code, seconds=float(question.plan.seconds)) as crew:
        if crew.kind != "function":
            raise InputError(f"{question.use} is no function", "name a function f(data, rng)")
        crew.layout = data.shape.layout
        for number, pair in enumerate(pairs):
            if crew.left() <= 0:
                break
            crew.keep([pair.left, pair.right])
            crew.first.send(["trace", [question.plan.seed, number], number == 0])
            try:
                document = crew.first.receive(max(crew.left(), IMPORT if number == 0 else 0.1))
            except Gone as gone:
                if number == 0:
                    raise InputError(f"{question.use} {gone}", "allow more seconds") from None
                break
            if not document["draws"] or _same_rows_first(pair):
                if question.events is None:
                    _gather(found, document, pair, allowed, question.sensitivity)
                else:
                    _gather_planned(found, document, pair, allowed, planned)
            progress(f"traced {number + 1} of {len(pairs)} pairs")
    if question.events is not None:
        _hold_rate(found, {noise.rate for noise in planned})
        _hold_counts(found, planned)
        if any(event.cover is not None for event in question.events.events):
            found.note("events of the plan cover some units only, which is not followed")
    return _answer(found, question, allowed)


def _same_rows_first(pair: Pair) -> bool:
    """Return whether the rows that both sides have are first: draws for each row are the same there only."""
    rows = min(len(pair.left), len(pair.right))
    return len(pair.left) == len(pair.right) or np.array_equal(pair.left[:rows], pair.right[:rows])


@dataclass(frozen=True)
class PlannedNoise:
    """One noise of a plan: what may move in units of its scale, sampling rate, and how often."""

    family: str
    ratio: float
    rate: float
    count: int


def planned_noise(plan: Plan) -> list[PlannedNoise]:
    """Return the noise of a plan, that of the largest ratio first.

    Raises `InputError` if there is none, or other noise than Gaussian and Laplace, or other samples
    than Poisson's.
    """
    found: list[PlannedNoise] = []
    todo = [(event, 1.0, 1) for event in plan.events]
    while todo:
        event, rate, count = todo.pop()
        count *= event.count
        inside = getattr(event, "of", None)
        if isinstance(event, Gaussian | DiscreteGaussian):
            ratio = float(event.sensitivity) / float(event.sigma)
            found.append(PlannedNoise("gaussian", ratio, rate, count))
        elif isinstance(event, Laplace | DiscreteLaplace):
            ratio = float(event.sensitivity) / float(event.scale)
            found.append(PlannedNoise("laplace", ratio, rate, count))
        elif isinstance(event, PoissonSubsampled | PoissonReplaced):
            todo.append((event.of, rate * float(event.rate), count))
        elif inside is None or isinstance(event, OnSample):
            right = "trace follows Gaussian and Laplace noise, Poisson sampled or not"
            raise InputError(f"the plan has {event.name}", right)
        else:
            parts = inside if isinstance(inside, tuple) else (inside,)
            todo += [(part, rate, count) for part in parts]
    if not found:
        raise InputError("the plan has no noise", "give a plan of Gaussian or Laplace noise")
    return sorted(found, key=lambda noise: -noise.ratio)


def _hold_rate(found: _Traced, rates: set[float]) -> None:
    """Add a finding if the changed row is in far more sums than the plan samples, at any one call.

    Where it is in none it may have nothing to add; so sums count from the first one on in which it is.
    It is a note if they are too few to show a row that is in all of them, or rates differ.
    """
    rate = max(rates)
    if len(rates) > 1:
        found.note(f"the plan has several sampling rates: only the largest, {rate:g}, is compared")
    if rate >= 1:
        return
    for (call, file, line), (moved, sums) in found.sums.items():
        if found.last is not None and binom.sf(moved - 1, sums, rate) < UNLIKELY:
            said = f"the changed row is in {moved} of {sums} sums, and the plan says a rate of {rate:g}"
            found.add("rate", moved, f"{call} at {file}:{line}: {said}", found.last)
    sums = max((sums for _, sums in found.sums.values()), default=0)
    if rate**sums >= UNLIKELY:
        found.note(f"{sums} sums after the first cannot show a sampling rate above {rate:g}")


def _hold_counts(found: _Traced, planned: list[PlannedNoise]) -> None:
    """Add a note if one run calls noise whose input moves in any run more often than the plan does."""
    for family in ("laplace", "gaussian"):
        moving = {place for place, seen in found.places.items() if seen.moved and seen.family == family}
        made = max((sum(counts[place] for place in moving) for counts in found.counts), default=0)
        most = sum(noise.count for noise in planned if noise.family == family)
        if 0 < most < made:
            found.note(f"{made} calls of {family} noise in one run, and the plan has {most}, {OF_VECTOR}")


def _hold_in_order(
    found: _Traced, moves: list[tuple[str, float]], planned: list[PlannedNoise], pair: Pair
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
        said = f"call {over[0][0]} of {family} noise, the largest movement first, moves"
        said = f"{said} {over[0][1]:.6g} of its scale, and the plan allows {over[0][2]:.6g}"
        most = sum(noise.count * noise.ratio**power for noise in plan)
        if sum(size**power for size in mine) > most * (1 + ROUNDED):
            found.add(f"order of {family}", over[0][1], said, pair)
        else:
            found.note(f"{said}, {OF_VECTOR}", over[0][1], f"order of {family}")


def _gather_planned(
    found: _Traced,
    document: dict[str, Any],
    pair: Pair,
    allowed: dict[str, float | None],
    planned: list[PlannedNoise],
) -> None:
    """Add what one pair showed of a plan's noise: the plan allows nothing else to move."""
    _begin(found, document, pair)
    for said in document["notes"]:
        if UNEXPLAINED in said:  # draws for the rows that both sides have are the same
            found.add(UNEXPLAINED, 0.0, said.partition(";")[0], pair)
        else:
            found.note(said)
    begun: set[tuple[str, str, int]] = set()
    counts: Counter[tuple[str, str, int]] = Counter()
    moves = []
    for call, file, line, scale, family, moved, *_ in document["calls"]:
        place = (call, file, line)
        found.places.setdefault(place, _Seen(scale, family)).add(scale, moved)
        if moved is None:
            continue
        counts[place] += 1
        if place in begun:
            in_sums, sums = found.sums.get(place, (0, 0))
            found.sums[place] = (in_sums + bool(moved), sums + 1)
        if moved:
            begun.add(place)
        limit = allowed[family]
        if scale is not None and limit is not None:
            _hold(found, place, scale * limit, moved, pair)
            moves.append((family, _ratio(moved, scale)))
        else:
            _note_unjudged(found, place, moved)
    found.counts.append(counts)
    _hold_in_order(found, moves, planned, pair)


def _ratio(moved: float, scale: float) -> float:
    """Return a movement in units of the scale."""
    return moved / scale if scale else math.inf if moved else 0.0


def _begin(found: _Traced, document: dict[str, Any], pair: Pair) -> None:
    if found.pairs == 0 and document["failed"] is not None:
        raise InputError(f"the function {document['failed']}", "fix it, so that it returns numbers or text")
    found.pairs += 1
    found.last = pair
    for said in document["findings"]:
        found.add(said.partition(" (")[0], 0.0, said, pair)  # by how much is said once
    if document["unsure"] is not None:
        found.unsure.append((document["unsure"], [(*place,) for place in document["still"]], pair))


def _allowed(question: TraceRequest) -> dict[str, float | None]:
    """Return what may move, in units of the scale, by family of noise."""
    if question.events is not None:
        most: dict[str, float | None] = {"laplace": 0.0, "gaussian": 0.0, "other": None}
        for noise in planned_noise(question.events):
            most[noise.family] = max(most[noise.family] or 0.0, noise.ratio)
        return most
    mu = question.mu
    if mu is None and question.epsilon is not None and question.delta > 0:
        low, high = 0.0, 60.0
        for _ in range(40):
            middle = (low + high) / 2
            fits = Accountant(Gdp(mu=repr(middle))).delta(question.epsilon).upper <= question.delta
            low, high = (middle, high) if fits else (low, middle)
        mu = Fraction(high)  # above the largest that meets it, which is no finding
    return {
        "laplace": None if question.epsilon is None else float(question.epsilon),
        "gaussian": None if mu is None else float(mu),
        "other": None,
    }


def _gather(
    found: _Traced,
    document: dict[str, Any],
    pair: Pair,
    allowed: dict[str, float | None],
    sensitivity: Fraction | None = None,
) -> None:
    """Add what one pair showed.

    Where other draws come with the noise, they may be a sample, for which more may move than (ε, δ) says.
    """
    _begin(found, document, pair)
    for said in document["notes"]:
        why = said.partition(UNEXPLAINED)[2]
        if not why or not any(why in each for each in found.notes):  # by how much is said once
            found.note(said)
    spent = {"laplace": 0.0, "gaussian": 0.0}
    sampled = bool(document["draws"]) and sensitivity is None
    if sampled:
        found.note(SAMPLED.format(document["draws"]))
    for call, file, line, scale, family, moved, largest, _ in document["calls"]:
        seen = found.places.setdefault((call, file, line), _Seen(scale, family))
        seen.add(scale, moved)
        if moved is None:
            continue
        limit = allowed[family]
        if sensitivity is not None:
            _hold(found, (call, file, line), float(sensitivity), moved, pair)
            continue
        if limit is None or scale is None:
            _note_unjudged(found, (call, file, line), moved)
        if limit is None or scale is None or sampled:
            continue
        part = _ratio(moved, scale)
        spent[family] += part if family == "laplace" else part * part
        _hold(found, (call, file, line), scale * limit, moved if document["shown"] else largest, pair)
        if not document["shown"]:
            _note_if_shown(found, f"{call} at {file}:{line}", scale * limit, moved)
    _hold_total(found, spent, allowed, pair, shown=document["shown"])


def _hold_total(
    found: _Traced, spent: dict[str, float], allowed: dict[str, float | None], pair: Pair, *, shown: bool
) -> None:
    """Add a finding if all calls of one family together spend more than is claimed.

    It is a note if not all noisy values are `shown`: a comparison or a choice may cost less.  Both
    families are a note.
    """
    if all(spent.values()):
        found.note(MIXED)
    for family, total in (("laplace", spent["laplace"]), ("gaussian", math.sqrt(spent["gaussian"]))):
        limit = allowed[family]
        if limit is not None and total > limit * (1 + ROUNDED):
            sign = "ε" if family == "laplace" else "μ"
            said = f"all {family} noise together spends {sign} = {total:.6g}, and {limit:.6g} is claimed"
            if shown:
                found.add(family, total, said, pair)
            else:
                found.note(f"{said}, {IF_SHOWN}", total, family)


def _hold(found: _Traced, place: tuple[str, str, int], declared: float, measured: float, pair: Pair) -> None:
    """Add a finding if more was measured than declared."""
    if measured > declared * (1 + ROUNDED):
        where = f"{place[0]} at {place[1]}:{place[2]}"
        said = f"{where}: declared sensitivity {declared:.6g}, measured {measured:.6g}"
        found.add(where, measured, said, pair)


def _settle(found: _Traced) -> None:
    """Make a finding of what no noise explains, or a note where the data may be added to noise unseen."""
    for said, places, pair in found.unsure:
        still = [place for place in places if not found.places[place].moved]
        if not still:
            found.add(said.partition(" (")[0], 0.0, said, pair)
        for call, file, line in still[:1]:
            found.note(f"{said}; {call} at {file}:{line} is added to what never moves: {LATER}")
        for place in still:
            found.places[place].moved = None


def _note_unjudged(found: _Traced, place: tuple[str, str, int], moved: float) -> None:
    if moved:
        found.note(f"{place[0]} at {place[1]}:{place[2]}: {UNJUDGED}")


def _note_if_shown(found: _Traced, where: str, declared: float, measured: float) -> None:
    """Add a note if more was measured than declared of values that the result may show, or compare."""
    if measured > declared * (1 + ROUNDED):
        said = f"{where}: declared {declared:.6g}, measured {measured:.6g}, {IF_SHOWN}"
        found.note(said, measured, where)


def _answer(found: _Traced, question: TraceRequest, allowed: dict[str, float | None]) -> dict[str, Any]:
    _settle(found)
    noise = []
    for (call, file, line), seen in found.places.items():
        limit = allowed[seen.family]
        declared = None if seen.scale is None or limit is None else seen.scale * limit
        if question.sensitivity is not None:
            declared = float(question.sensitivity)
        noise.append(
            {
                "call": call,
                "file": file,
                "line": line,
                "scale": seen.scale,
                "declared": declared,
                "moved": "inf" if seen.moved is not None and math.isinf(seen.moved) else seen.moved,
            }
        )
    witness = next((pair for _, _, pair in found.findings.values()), None)
    return {
        "schema": "dpaccount/trace/1",
        "pairs": found.pairs,
        "noise": noise,
        "findings": [said for _, said, _ in found.findings.values()],
        "notes": [said for _, said in found.notes.values()],
        "witness": {}
        if witness is None
        else {**question.data.shape.shown(witness.left, witness.right), "base": witness.base},
    }


def exit_code(answer: dict[str, Any]) -> int:
    """Return 1 for findings, 0 where inputs of noise were seen and all were judged, else 3."""
    if answer["findings"]:
        return 1
    if answer["notes"]:
        return 3
    return 0 if any(call["moved"] is not None for call in answer["noise"]) else 3
