"""Requests to a ledger: converts a theorem or a plan into exact amounts for each unit.  What is decided."""

import hashlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpaccount.accounting.measures import MEASURES, Amounts, Measure
from dpaccount.checker.curves import written
from dpaccount.checker.facts import ANYONE, Private
from dpaccount.documents import canonical, digest
from dpaccount.errors import BudgetError, InputError
from dpaccount.exact import Enclosure
from dpaccount.forks import cached_property, unforked
from dpaccount.ledger.balances import ranges
from dpaccount.ledger.balances.budget import Budget, one_line
from dpaccount.ledger.balances.ranges import Ranges
from dpaccount.ledger.balances.state import Over
from dpaccount.ledger.balances.step_functions import LAST_UNIT, MOST_PARTS, Cover, Step, spent_on, total, zero
from dpaccount.ledger.entry import CERTIFIED
from dpaccount.plan.event_base import Event
from dpaccount.plan.events import Plan
from dpaccount.relation import written_relation

if TYPE_CHECKING:
    from dpaccount.proof import Theorem

AMOUNT_BITS = 128  #: significant bits of an amount that is rounded up
PLANS = 16  #: plans that a ledger of ε and δ takes at a part of its δ each
MOST_EVENTS = 50  #: maximum events of a plan that are stored in the entry
MOST_PIECES = 1000  #: maximum events of a plan whose runs are reserved one by one
MAX_DENOMINATOR_BITS = 2048  #: keeps sums below the 4300 digits that Python parses

Certificate = tuple[str, str]  #: a document's digest, and the ε at the budget's δ that it confirms, exact


@dataclass(frozen=True)
class Request:
    """A requested charge.

    `facts` are stored in its entry; equal requests have the same `digest`; `steps` are its amounts over the
    units.  If it has no bound in the ledger's measure, `steps` is None and `takers` names measures in which
    it has one.  A reservation has `parts` (number, amounts of each).  `asked` is the time of the request.
    """

    facts: dict[str, Any]
    digest: str
    steps: list[Step] | None
    takers: list[str]
    parts: list[tuple[int, list[Step]]] | None = None
    #: of a cohort: the same request when it had these units
    then: "Callable[[Ranges], Request] | None" = field(default=None, compare=False)
    asked: float = field(default_factory=time.monotonic, compare=False)

    def within(
        self, scope: str | None, cohort: str | None = None, units: list[Cover] | None = None
    ) -> "Request":
        """Return the same request in a scope, charged to a cohort of these units."""
        listed = None if units is None else [list(one) for one in units]
        options: dict[str, object] = {"scope": scope, "cohort": cohort, "units": listed}
        named = {name: value for name, value in options.items() if value is not None}
        if not named:
            return self
        return replace(self, facts={**self.facts, **named}, digest=digest([self.digest, named]))

    def made_by(self, by: str) -> "Request":
        """Return the same request by this person, unless it names one."""
        return replace(self, facts={"by": one_line("name of who charges", by), **self.facts})

    def naming(self, certificate: Certificate | None) -> "Request":
        """Return the same request, whose entry names a certificate of what it costs."""
        if certificate is None:
            return self
        for name, text in (named := dict(zip(CERTIFIED, certificate, strict=True))).items():
            one_line(f"certificate's {name}", text)
        return replace(self, facts={**self.facts, **named})


@dataclass(frozen=True)
class Charge:
    """A decided charge: its entry (None: a dry run), the head after it, and what it spends.

    `spends` holds the amounts at the worst unit, or None if the measure has no bound.  `reason` is
    None unless it is refused; `known`: the key was charged before, and nothing is charged now; `taken`:
    the key belongs to a different charge.  `certificate` is the digest that its entry names, and
    `over` the limit that a refused one would exceed.
    """

    entry: int | None
    head: str
    spends: Amounts | None
    budget: Budget
    reason: str | None = None
    known: bool = False
    taken: bool = False
    certificate: str | None = None
    over: Over | None = None

    @cached_property
    def epsilon(self) -> Enclosure:
        """Return the charge's own ε at the budget's δ."""
        if self.spends is None:
            return Enclosure(None, math.inf)
        return self.budget.measure.enclosure(self.spends, self.budget.delta)


class RefusedError(BudgetError):
    """A charge was refused; `charge` holds the refusal's entry and the requested amounts."""

    def __init__(self, message: str, charge: Charge) -> None:
        super().__init__(message)
        self.charge = charge


@cache
def _unconverted() -> "Callable[[Theorem], Private | None]":
    with unforked():  # plans do not need it
        from dpaccount.proof.search import unconverted
    return unconverted


def of_theorem(
    budget: Budget, theorem: "Theorem", purpose: str, cover: Cover | None, reads: int | None = None
) -> Request:
    """Return the request to charge a theorem; parameters and errors are as in `Ledger.charge`."""
    fact = getattr(theorem, "conclusion", theorem)
    if not isinstance(fact, Private):
        raise InputError(f"a {type(fact).__name__} is no privacy statement", "charge a plan by charge_plan")
    _same_relation(budget, written_relation(fact.relation))
    reach = _reach(fact, cover, reads)
    facts = {
        "purpose": one_line("purpose", purpose),
        "subject": fact.subject,
        "curve": written(fact.curve),
        "observer": fact.observer,
        "theorem": theorem.digest,
    }
    identity = digest([theorem.digest, None if reach is None else list(reach)])
    stated = (fact, _unconverted()(theorem))  # also before a conversion to (ε, δ)
    curves = [each.curve for each in stated if isinstance(each, Private)]
    bounds = [(amounts, curve) for curve in curves if (amounts := budget.measure.of_curve(curve)) is not None]
    if not bounds:
        able = _takers(lambda kind: any(kind.of_curve(curve) is not None for curve in curves))
        return Request(facts, identity, None, able)
    if bounds[1:]:  # amounts may be incomparable: prefer a bound that fits the budget
        bounds.sort(key=lambda bound: (not budget.fits(bound[0]), bound[0]))
    amounts, curve = bounds[0]
    facts["curve"] = written(curve)
    return Request(facts, identity, spent_on(reach, tuple(map(rounded_up, amounts))), [])


def of_cohort(
    budget: Budget, plan: Plan, purpose: str, by: str | None, scope: str | None, cohort: str, units: Ranges
) -> Request:
    """Return the request to charge `plan` to a cohort of these units; the rest is as in `of_plan`."""

    def then(units: Ranges) -> Request:
        return of_plan(budget, for_units(plan, units), purpose, by).within(scope, cohort, units)

    return replace(then(units), then=then)


def for_units(plan: Plan, units: list[Cover]) -> Plan:
    """Return the plan with `units` as the cover of events without one.

    Raises `InputError` for an event that covers other units.
    """
    events = []
    for event in plan.events:
        covers = [cover for cover, _, _ in event.pieces()]
        if covers == [None]:
            events += [replace(event, cover=cover) for cover in units]
        elif all(cover is not None and ranges.without(units, [cover]) is not None for cover in covers):
            events.append(event)
        else:
            raise InputError(
                f"an event {event.name} touches units that are not of the cohort", "cover its own"
            )
    return Plan(plan.relation, tuple(events))


def of_plan(budget: Budget, plan: Plan, purpose: str, by: str | None = None) -> Request:
    """Return the request to charge `plan` to a ledger with this `budget`, as one charge.

    `purpose` and `by` (a name) are lines for the log.  The entry holds up to `MOST_EVENTS` events,
    of a longer plan only the digest.  Raises `InputError` for another relation.
    """
    _same_relation(budget, plan.relation.value)
    parts = [part for event in plan.events for part in _pieces(event)]
    kinds = {id(event): event for _, event in parts}  # many covers may share one event
    facts: dict[str, Any] = {"purpose": one_line("purpose", purpose), "events": len(plan.events)}
    if len(plan.events) <= MOST_EVENTS:
        facts["plan"] = [_as_json(event) for event in plan.events]
    if by is not None:
        facts["by"] = one_line("name of who charges", by)
    identity = _digest(parts, kinds)
    bounds = {mark: budget.measure.of_event(event) for mark, event in kinds.items()}
    amounts = {mark: tuple(map(rounded_up, one)) for mark, one in bounds.items() if one is not None}
    if len(amounts) < len(bounds):
        able = _takers(lambda kind: all(kind.of_event(event) is not None for event in kinds.values()))
        return Request(facts, identity, _at_share(budget, plan), able)
    return Request(facts, identity, _paid(budget, parts, amounts), [])


def _at_share(budget: Budget, plan: Plan) -> list[Step] | None:
    """Return the (ε, δ) that a plan without one costs, as one release, at the `PLANS`th part of the δ.

    At the whole δ, if only so it fits the budget.  Only in a ledger that adds up ε and δ, for a plan with
    a bound under GDP; else None.
    """
    if budget.measure.name != "approximate" or not budget.delta:
        return None
    gdp = MEASURES["gdp"]
    paid: list[Step] | None = None
    squares = of_plan(replace(budget, measure=gdp), plan, "plan").steps
    for share in (budget.delta / PLANS, budget.delta):
        costs = [(unit, gdp.enclosure(each, share).upper, share * any(each)) for unit, each in squares or []]
        if not costs or any(upper == math.inf for _, upper, _ in costs):
            continue
        paid = [(unit, (rounded_up(Fraction(upper)), part)) for unit, upper, part in costs]
        if all(budget.fits(each) for _, each in paid):
            break
    return paid


def _paid(budget: Budget, parts: list[tuple[Cover | None, Event]], amounts: dict[int, Amounts]) -> list[Step]:
    """Return the sum of the events' amounts for each unit, with μ² of all events composed, if possible."""
    if len(parts) == 1 and parts[0][1].count == 1:
        return spent_on(parts[0][0], amounts[id(parts[0][1])])
    composed = None
    if budget.measure.amounts[0] == "mu_squared":
        with unforked():  # other measures do not need it
            from dpaccount.accounting.gdp_of_plan import over_units
        composed = over_units(parts, MEASURES["gdp"].cost)
    if composed is None:
        return total((spent_on(cover, amounts[id(event)]) for cover, event in parts), budget.width)
    nothing = zero(budget.width - 1)
    beyond = rounded_up(composed[-1][1])  # of the last step, without end: a floor for every unit
    squares = [(unit, (max(rounded_up(square), beyond), *nothing)) for unit, square in composed]
    others = (spent_on(cover, (Fraction(0), *amounts[id(event)][1:])) for cover, event in parts)
    return total([squares, *others], budget.width)


def of_rounds(budget: Budget, plan: Plan, rounds: int | None, purpose: str, by: str | None) -> Request:
    """Return the request to reserve a plan: `rounds` times the whole, or each run of each event.

    Each part is charged at its own cost, so that drawn parts stay paid for when others are returned.
    """
    whole = of_plan(budget, plan, purpose, by)
    if rounds is not None and type(rounds) is not int:
        raise InputError(f"{rounds!r} rounds are no whole number", "give one of at least 1")
    if rounds is not None:
        pieces = [(rounds, whole)]
    elif len(plan.events) > MOST_PIECES:
        raise InputError(
            f"a plan of more than {MOST_PIECES} events is reserved by --rounds, each the whole of it"
        )
    else:
        singles = ((event.count, replace(event, count=1)) for event in plan.events)
        pieces = [(count, of_plan(budget, Plan(plan.relation, (one,)), purpose)) for count, one in singles]
    counts = [count for count, _ in pieces]
    if min(counts, default=0) < 1 or sum(counts) > MOST_PARTS:
        raise InputError(
            "a reservation has from 1 to 2^53 parts", "give a plan with events, and --rounds of at least 1"
        )
    identity = digest(["reservation", rounds, whole.digest])
    parts = [(count, piece.steps) for count, piece in pieces if piece.steps is not None]
    if len(parts) < len(pieces):
        return replace(whole, digest=identity, steps=None)
    scaled = ([(unit, tuple(count * one for one in cost)) for unit, cost in steps] for count, steps in parts)
    steps, latest = total(scaled, budget.width), max(piece.asked for _, piece in pieces)
    return replace(whole, digest=identity, steps=steps, parts=parts, asked=latest)


def _same_relation(budget: Budget, relation: str) -> None:
    if relation != budget.relation:
        raise InputError(
            f"the charge is under {relation} and the ledger under {budget.relation}",
            f"charge a ledger of the relation {relation}",
        )


def _reach(fact: Private, cover: Cover | None, reads: int | None) -> Cover | None:
    """Return the units that pay (None: all): `cover`, which must contain the theorem's units.

    If the theorem names none, the caller is responsible for the cover, of at least `reads` units.
    """
    if cover is None:
        return None if fact.units in (None, ANYONE) else _within_range(fact.units)
    first, last = (int(end) if isinstance(end, np.integer) else end for end in cover)
    if type(first) is not int or type(last) is not int or not 1 <= first <= last:
        raise InputError(f"the cover {list(cover)} is not a range of units", "use 1 <= first <= last")
    if fact.units == ANYONE:
        raise InputError(f"the cover {list(cover)} leaves out units that are read", "give none, for all pay")
    if fact.units is not None and not (first <= fact.units[0] and fact.units[1] <= last):
        raise InputError(
            f"the cover {list(cover)} leaves out units that are read", f"cover {list(fact.units)}"
        )
    if fact.units is None and reads is not None and last - first + 1 < reads:
        raise InputError(
            f"the cover {list(cover)} has fewer units than may be read", f"cover at least {reads}"
        )
    return _within_range((first, last))


def _within_range(cover: Cover) -> Cover:
    if cover[1] > LAST_UNIT:
        raise InputError("a cover ends beyond the units of a ledger", "they go up to 2^63 - 2")
    return cover


def _pieces(event: Event) -> Iterator[tuple[Cover | None, Event]]:
    """Yield the parts of an event with their covers, as events without covers."""
    for cover, times, piece in event.pieces():
        known = piece if times == 1 else replace(piece, count=times)
        yield None if cover is None else _within_range(cover), known


def plan_digest(plan: Plan) -> str:
    """Return what identifies a request to charge a plan, before it is given a scope, a cohort or rounds."""
    parts = [part for event in plan.events for part in _pieces(event)]
    return _digest(parts, {id(event): event for _, event in parts})


def _digest(parts: list[tuple[Cover | None, Event]], kinds: dict[int, Event]) -> str:
    names = {mark: canonical(_as_json(event)) for mark, event in kinds.items()}
    hasher = hashlib.sha256()
    for cover, event in parts:
        hasher.update(b"%s %s\n" % (names[id(event)], str(cover).encode()))
    return "sha256:" + hasher.hexdigest()


LATER = ("xi",)  #: members that are 0 by default


def _as_json(value: object) -> Any:
    if isinstance(value, Event):
        kind: Any = type(value)
        members = {name: getattr(value, name) for name in _names(kind)}
        # What a kind got later is left out where it says nothing: the same charge keeps its digest.
        told = {name: _as_json(each) for name, each in members.items() if name not in LATER or each}
        return {"event": value.name, **told}
    if isinstance(value, tuple):
        return [_as_json(item) for item in value]
    # hexadecimal: decimal conversion of long integers is slow, and limited to 4300 digits
    if type(value) is Fraction or isinstance(value, int):  # `isinstance` of `Fraction` is slow
        return f"{value.numerator:x}/{value.denominator:x}"
    return value


@cache
def _names(kind: type[Event]) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


def _takers(has_bound: Callable[[Measure], bool]) -> list[str]:
    """Return the names of the measures in which a charge has a bound."""
    return [name for name, kind in MEASURES.items() if has_bound(kind)]


def rounded_up(amount: Fraction) -> Fraction:
    """Return an amount, rounded up to 128 significant bits if its denominator is unwieldy.

    Decimals and simple fractions stay exact, so ten charges of 1/10 fill a budget of 1.  Other
    denominators would multiply: an exact sum of 10,000 of them has 10,000 times their digits.
    """
    rest = amount.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest <= 5000 and amount.denominator.bit_length() <= MAX_DENOMINATOR_BITS:
        return amount
    shift = AMOUNT_BITS + amount.denominator.bit_length() - amount.numerator.bit_length()
    scale = Fraction(2) ** min(shift, MAX_DENOMINATOR_BITS)
    return math.ceil(amount * scale) / scale
