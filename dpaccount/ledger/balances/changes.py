"""How each kind of entry changes the balances: one function a kind, used to write entries and to verify them.

An entry that the balances do not allow raises `BudgetError` (a cap below what is spent, a part that
was drawn), one that makes no sense `InputError` or `ValueError`.  `verify` reports any of them as a
bad entry.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

from msgspec import structs

from dpaccount.accounting.measures import Amounts
from dpaccount.errors import BudgetError, InputError, damaged
from dpaccount.exact import shown
from dpaccount.ledger.balances import ranges, records, segment_tree, step_functions
from dpaccount.ledger.balances.bodies import (
    Body,
    CohortBody,
    ForfeitBody,
    Part,
    PartsBody,
    ReservationBody,
    ResetBody,
    ScopeBody,
    Spending,
    parts_of,
    read_body,
    steps_of,
)
from dpaccount.ledger.balances.budget import Budget, one_line, read_limit
from dpaccount.ledger.balances.ranges import Ranges
from dpaccount.ledger.balances.state import State, change_of, lineage, scope_name
from dpaccount.ledger.balances.step_functions import MOST_PARTS, Cover, Step
from dpaccount.ledger.entry import COHORT, FORFEIT, RESERVATION, RESET, RETURN, ROUNDS, SCOPE

Bodies = Callable[[int], str]  #: returns the body of an entry, by its number

MOST_RANGES: Final = 1000  #: of a cohort; pieces of a reservation's parts that are open
Over = tuple[str | None, Budget, int, Amounts]  #: a scope (None: the ledger), its limits, a unit, its sum


def apply(state: State, budget: Budget, kind: str, number: int, bodies: Bodies) -> Body:
    """Apply the entry with this number and kind to the balances; return its body.

    Raises `ValueError` for a body that no entry of this kind has.
    """
    body: Body = read_body(kind, bodies(number))
    if kind in (RESERVATION, ROUNDS, RETURN, RESET, FORFEIT):
        _turn_year(state, body, bodies)
    _KINDS[kind](state, budget, body, number, bodies)
    return body


def charged(state: State, where: Spending, functions: list[list[Step]], bodies: Bodies) -> None:
    """Add one charge, or several of the same year, scope and cohort."""
    _turn_year(state, where, bodies)
    _charge(state, functions, where)


def uncharged(state: State, where: Spending, functions: list[list[Step]]) -> None:
    """Undo `charged`, in a state where that began no year and charged no cohort for the first time."""
    _spend(state, functions, where.scope, back=True)


def _charge(state: State, functions: list[list[Step]], where: Spending) -> None:
    _spend(state, functions, where.scope)
    if where.cohort is not None:
        _charge_cohort(state, functions, where, where.cohort)


def _charge_cohort(state: State, functions: list[list[Step]], where: Spending, called: str) -> None:
    """Freeze a cohort's units at its first charge; refuse a charge of units outside it."""
    name, units = f"cohort {called}", cohort(state, called)
    if where.units != units:
        raise BudgetError(f"{name} was given other units meanwhile; nothing was charged, ask again")
    for steps in functions:
        for (first, amounts), (after, _) in pairwise([*steps, (step_functions.LAST_UNIT + 2, ())]):
            if any(amounts) and ranges.without(units, [(first, after - 1)]) is None:
                raise InputError(
                    f"the charge is for {name} and touches other units", "charge them by themselves"
                )
    record = state.register.get(name)
    if not record.charged:
        state.register.put(name, structs.replace(record, charged=True))


def total_of(parts: list[Part]) -> int:
    """Return the number of parts."""
    return sum(count for count, _ in parts)


def cost_of(parts: list[Part], which: Ranges) -> Iterator[list[Step]]:
    """Yield the costs of the parts in these ranges; parts are counted from 1."""
    before = 0
    for count, steps in parts:
        times = sum(max(0, min(last, before + count) - max(first, before + 1) + 1) for first, last in which)
        if times:
            yield [(unit, tuple(times * one for one in amounts)) for unit, amounts in steps]
        before += count


def _reservation(state: State, _: Budget, body: ReservationBody, number: int, bodies: Bodies) -> None:
    parts = parts_of(body, state.width)
    everything: Ranges = [(1, total_of(parts))]
    if everything[0][1] > MOST_PARTS:
        raise InputError("the reservation has too many parts", "reserve at most 2^53")
    _charge(state, list(cost_of(parts, everything)), body)
    record = records.Reservation(_digest(bodies(number)), everything)
    state.register.put(f"reservation {number}", record)


def _return(state: State, _: Budget, body: PartsBody, number: int, bodies: Bodies) -> None:
    reserved, returned = _take(state, body, bodies)
    costs = list(cost_of(parts_of(reserved, state.width), returned))
    _spend(state, costs, reserved.scope, back=True)


def _take(state: State, body: PartsBody, bodies: Bodies) -> tuple[ReservationBody, Ranges]:
    """Close open parts of a reservation, for ever; return the reservation and the parts."""
    number, taken = body.reservation, ranges.read(body.parts)
    name = f"reservation {number}"
    record = state.register.get(name)
    left = None if record is None else ranges.without(record.open, taken)
    if left is None:
        raise BudgetError(
            f"of the parts {ranges.text(taken)} of entry {number} some are not open: they were drawn or"
            " returned before, or never were; nothing was changed"
        )
    if len(left) > MOST_RANGES:
        raise BudgetError(f"the open parts of entry {number} are in too many pieces; take them in order")
    reserved = _reserved(record, number, bodies)
    state.register.put(name, structs.replace(record, open=left) if left else None)
    return reserved, taken


def open_reservations(state: State, bodies: Bodies) -> Iterator[tuple[int, ReservationBody, Ranges]]:
    """Yield every reservation with open parts: its entry, its body, and the open parts."""
    for name, record in list(state.register.items()):
        word, _, number = name.partition(" ")
        if word == "reservation":
            yield int(number), _reserved(record, int(number), bodies), record.open


def _reserved(record: records.Reservation, number: int, bodies: Bodies) -> ReservationBody:
    text = bodies(number)
    if _digest(text) != record.body:
        raise damaged(f"entry {number} was changed")
    return read_body(RESERVATION, text)


def _scope(state: State, budget: Budget, body: ScopeBody, number: int, bodies: Bodies) -> None:
    name = scope_name(body.scope)
    for above in lineage(name)[:-1]:
        if state.scope(above) is None:
            raise InputError(f"there is no scope {above}", f"make it before {name}")
    capped = cap(budget, body)
    limits = {"epsilon": shown(capped.epsilon), "delta": shown(capped.delta)}
    record = state.scope(name)
    if record is None:
        made = state.register.get("scopes") or records.Scopes(0)
        area = records.SCOPES + made.count
        if area >= records.MOST_AREAS:
            raise InputError("the ledger has as many scopes as it can have", "use those that there are")
        state.register.put("scopes", records.Scopes(made.count + 1))
        record = records.Scope(area, state.period_number, segment_tree.nothing(state.width).text, **limits)
    if state.scope_tree(record).beyond(capped.fits) is not None:
        raise BudgetError(f"more is spent in the scope {name} than its new cap allows; nothing was changed")
    state.register.put(f"scope {name}", structs.replace(record, **limits))


def cap(budget: Budget, limits: ScopeBody | records.Scope) -> Budget:
    """Return the budget with a scope's limits in place of its own."""
    epsilon, delta = read_limit(limits.epsilon), read_limit(limits.delta)
    if not (epsilon >= 0 and 0 <= delta < 1):
        raise InputError(
            "a scope's cap is out of range", "give an epsilon of at least 0 and a delta in [0, 1)"
        )
    return replace(budget, epsilon=epsilon, delta=delta)


def over(state: State, budget: Budget, scope: str | None, sought: int | None = None) -> Over | None:
    """Return which limit is exceeded: the ledger's, the scope's or that of a scope above it; None if none is.

    A search of more than `sought` nodes ends as if a unit had been found (`SpentTree.beyond`).
    """
    limited: list[tuple[str | None, Budget, segment_tree.SpentTree]] = [(None, budget, state.period_tree())]
    for name in lineage(scope):
        record = state.existing_scope(name)
        limited.append((name, cap(budget, record), state.scope_tree(record)))
    for which, limits, spent in limited:
        excess = spent.beyond(limits.fits, sought)
        if excess is not None:
            return which, limits, *excess
    return None


def _cohort(state: State, _: Budget, body: CohortBody, number: int, bodies: Bodies) -> None:
    name = f"cohort {cohort_name(body.cohort)}"
    units = ranges.read(body.units)
    if units[-1][1] > step_functions.LAST_UNIT or len(units) > MOST_RANGES:
        raise InputError(
            "a cohort is too large", f"give at most {MOST_RANGES} ranges of units up to 2^63 - 2"
        )
    record = state.register.get(name)
    if record is not None and record.charged:
        raise BudgetError(f"{name} was charged and cannot be changed; give the other units another name")
    state.register.put(name, records.Cohort(units, charged=False))


def cohort_name(name: str) -> str:
    """Return the name of a cohort; raises `InputError` for any other text."""
    if "/" in scope_name(name):
        raise InputError("a cohort's name has no slash", "use a dash")
    return name


def cohort(state: State, name: str) -> list[Cover]:
    """Return the units of a cohort."""
    record: records.Cohort | None = state.register.get(f"cohort {cohort_name(name)}")
    if record is None:
        raise InputError(f"there is no cohort {name}", "make it with `dpaccount ledger cohort`")
    return record.units


def _reset(state: State, _: Budget, body: ResetBody, number: int, bodies: Bodies) -> None:
    """Begin a period in which only open reservations count as spent."""
    one_line("reason", body.reason)
    waiting = list(open_reservations(state, bodies))
    before = state.period_number
    nothing = segment_tree.nothing(state.width).text
    if before == 0:
        state.register.put("year", records.Year(body.year, None))
    state.drop(1, 1)
    state.drop(records.SCOPES, records.MOST_AREAS - 1)
    state.register.put("period", records.Period(before + 1, number, nothing))
    for _number, reserved, left in waiting:
        costs = list(cost_of(parts_of(reserved, state.width), left))
        state.add_period(change_of(costs, state.width), reserved.scope)


def _forfeit(state: State, budget: Budget, body: ForfeitBody, number: int, bodies: Bodies) -> None:
    """Charge what may have been lost, and close open parts of reservations: they may have been drawn."""
    one_line("reason", body.reason)
    _charge(state, [steps_of(body.steps, state.width)], body)
    for entry, _, _ in list(open_reservations(state, bodies)):
        state.register.put(f"reservation {entry}", None)
    if over(state, budget, None) is not None:
        raise BudgetError("what may have been lost does not fit the budget; begin a new ledger, for new data")


def _turn_year(state: State, body: Body, bodies: Bodies) -> None:
    """Begin a year, if the entry is of a later one, in which only open reservations count as spent."""
    year = state.register.get("year")
    if year is None or body.year <= year.year:
        return
    waiting = list(open_reservations(state, bodies))
    state.drop(2, 2)
    state.register.put("year", records.Year(body.year, segment_tree.nothing(state.width).text))
    for _number, reserved, left in waiting:
        state.add_year(change_of(cost_of(parts_of(reserved, state.width), left), state.width))


def _spend(state: State, functions: Iterable[list[Step]], scope: str | None, *, back: bool = False) -> None:
    change = change_of(functions, state.width, back=back)
    state.add_life(change)
    if state.register.digest:
        state.add_year(change)
        state.add_period(change, scope)
    elif scope is not None:
        state.existing_scope(scope)


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


_KINDS: Final[dict[str, Callable[..., object]]] = {
    RESERVATION: _reservation,
    ROUNDS: lambda state, _, body, __, bodies: _take(state, body, bodies),
    RETURN: _return,
    SCOPE: _scope,
    COHORT: _cohort,
    RESET: _reset,
    FORFEIT: _forfeit,
}
