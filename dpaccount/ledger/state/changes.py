"""How an entry changes the state: one function a kind, which makes entries and verifies them.

An entry that may not follow on the state raises: `BudgetError` where it is refused (a cap below what is
spent, a part that was drawn), `InputError` where it makes no sense.  `verify` takes both for a bad entry.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from dpaccount.accounting.measures import Amounts
from dpaccount.errors import BudgetError, InputError, damaged
from dpaccount.exact import shown
from dpaccount.ledger import spending, tree
from dpaccount.ledger.budget import Budget, one_line, read_limit
from dpaccount.ledger.chain import (
    CHARGE,
    COHORT,
    FORFEIT,
    RESERVATION,
    RESET,
    RETURN,
    ROUNDS,
    SCOPE,
)
from dpaccount.ledger.spending import MOST_PARTS, Cover, Step
from dpaccount.ledger.state import intervals
from dpaccount.ledger.state.intervals import Ranges
from dpaccount.ledger.state.register import MOST_AREAS, SCOPES
from dpaccount.ledger.state.state import State, change_of, lineage, scope_name

Facts = dict[str, Any]
Bodies = Callable[[int], str]  #: the body of an entry
Part = tuple[int, list[Step]]  #: so many parts, and what each of them spends

MOST_RANGES: Final = 1000  #: of a cohort; pieces of a reservation's parts that are open
Over = tuple[str | None, Budget, int, Amounts]  #: a scope (None: the ledger), its limits, a unit, its sum


def apply(state: State, budget: Budget, kind: str, facts: Facts, number: int, bodies: Bodies) -> None:
    """Let the entry `number` of this kind, whose body holds these facts, change the state."""
    if kind == CHARGE:
        charged(state, facts, [steps_of(facts["steps"], state.width)], bodies)
        return
    if kind in (RESERVATION, ROUNDS, RETURN, RESET, FORFEIT):
        _turn_year(state, facts, bodies)
    _KINDS[kind](state, budget, facts, number, bodies)


def charged(state: State, facts: Facts, functions: list[list[Step]], bodies: Bodies) -> None:
    """Let a charge, or several of one year, scope and cohort, change the state by what they spend."""
    _turn_year(state, facts, bodies)
    _charge(state, functions, facts)


def uncharged(state: State, facts: Facts, functions: list[list[Step]]) -> None:
    """Take away what `charged` added, in a state where that began no year and charged no cohort first."""
    _spend(state, functions, facts.get("scope"), back=True)


def _charge(state: State, functions: list[list[Step]], facts: Facts) -> None:
    _spend(state, functions, facts.get("scope"))
    if facts.get("cohort") is not None:
        _charge_cohort(state, functions, facts)


def _charge_cohort(state: State, functions: list[list[Step]], facts: Facts) -> None:
    """Let a cohort mean its units for ever: those that the charge was made for, and nobody else pays."""
    name, units = f"cohort {facts['cohort']}", cohort(state, facts["cohort"])
    if facts["units"] != [list(one) for one in units]:
        raise BudgetError(f"{name} was given other units meanwhile; nothing was charged, ask again")
    for steps in functions:
        for (first, amounts), (after, _) in pairwise([*steps, (spending.LAST_UNIT + 2, ())]):
            if any(amounts) and intervals.without(units, [(first, after - 1)]) is None:
                raise InputError(
                    f"the charge is for {name} and touches other units; charge them by themselves"
                )
    record = state.register.get(name)
    if not record["charged"]:
        state.register.put(name, {**record, "charged": True})


def steps_of(written: Any, width: int) -> list[Step]:
    """Return the amounts over units that an entry holds; raises `ValueError` for what no charge says."""
    steps = [(first, spending.read(text, width)) for first, text in written]
    if any(type(first) is not int for first, _ in steps):
        raise ValueError
    tree.marks_of(steps, width)
    return steps


def parts_of(facts: Facts, width: int) -> list[Part]:
    """Return the parts of a reservation; raises `ValueError` for what none says."""
    parts = [(count, steps_of(steps, width)) for count, steps in facts["parts"]]
    if any(type(count) is not int or count < 1 for count, _ in parts) or not parts:
        raise ValueError
    return parts


def total_of(parts: list[Part]) -> int:
    """Return how many parts there are."""
    return sum(count for count, _ in parts)


def cost_of(parts: list[Part], ranges: Ranges) -> Iterator[list[Step]]:
    """Yield what the parts in these ranges spend, counted from 1."""
    before = 0
    for count, steps in parts:
        times = sum(max(0, min(last, before + count) - max(first, before + 1) + 1) for first, last in ranges)
        if times:
            yield [(unit, tuple(times * one for one in amounts)) for unit, amounts in steps]
        before += count


def _reservation(state: State, _: Budget, facts: Facts, number: int, bodies: Bodies) -> None:
    parts = parts_of(facts, state.width)
    everything: Ranges = [(1, total_of(parts))]
    if everything[0][1] > MOST_PARTS:
        raise InputError("the reservation has too many parts; reserve at most 2^53")
    _charge(state, list(cost_of(parts, everything)), facts)
    record = {"body": _digest(bodies(number)), "open": everything}
    state.register.put(f"reservation {number}", record)


def _rounds(state: State, _: Budget, facts: Facts, number: int, bodies: Bodies) -> None:
    _take(state, facts, bodies)


def _return(state: State, _: Budget, facts: Facts, number: int, bodies: Bodies) -> None:
    reserved, ranges = _take(state, facts, bodies)
    costs = list(cost_of(parts_of(reserved, state.width), ranges))
    _spend(state, costs, reserved.get("scope"), back=True)


def _take(state: State, facts: Facts, bodies: Bodies) -> tuple[Facts, Ranges]:
    """Take parts out of those that are open: none is open again, ever.  Return the reservation and them."""
    number, ranges = facts["reservation"], intervals.read(facts["parts"])
    name = f"reservation {number}"
    record = state.register.get(name)
    reserved = _reserved(record, number, bodies) if record is not None else {}
    left = None if record is None else intervals.without(intervals.read(record["open"]), ranges)
    if left is None or record is None:
        raise BudgetError(
            f"of the parts {intervals.text(ranges)} of entry {number} some are not open: they were drawn or"
            " returned before, or never were; nothing was changed"
        )
    if len(left) > MOST_RANGES:
        raise BudgetError(f"the open parts of entry {number} are in too many pieces; take them in order")
    state.register.put(name, {**record, "open": left} if left else None)
    return reserved, ranges


def open_reservations(state: State, bodies: Bodies) -> Iterator[tuple[int, Facts, Ranges]]:
    """Yield every reservation that has open parts: its entry, what it says, and which are open."""
    for name, record in list(state.register.items()):
        word, _, number = name.partition(" ")
        if word == "reservation":
            yield int(number), _reserved(record, int(number), bodies), intervals.read(record["open"])


def _reserved(record: Facts, number: int, bodies: Bodies) -> Facts:
    body = bodies(number)
    if _digest(body) != record["body"]:
        raise damaged(f"entry {number} was changed")
    found: Facts = json.loads(body)
    return found


def _scope(state: State, budget: Budget, facts: Facts, number: int, bodies: Bodies) -> None:
    name = scope_name(facts["scope"])
    for above in lineage(name)[:-1]:
        if state.scope(above) is None:
            raise InputError(f"there is no scope {above}; make it before {name}")
    record = state.scope(name)
    if record is None:
        area = SCOPES + (state.register.get("scopes") or 0)
        if area >= MOST_AREAS:
            raise InputError("the ledger has as many scopes as it can have; use those that there are")
        state.register.put("scopes", area - SCOPES + 1)
        record = {"area": area, "period": 0, "root": tree.nothing(state.width).text}
        if state.period is not None:
            record["period"] = state.period["number"]
    capped = cap(budget, facts)
    if state.scope_tree(record).beyond(capped.fits) is not None:
        raise BudgetError(f"more is spent in the scope {name} than its new cap allows; nothing was changed")
    limits = {"epsilon": shown(capped.epsilon), "delta": shown(capped.delta)}
    state.register.put(f"scope {name}", {**record, **limits})


def cap(budget: Budget, limits: Facts) -> Budget:
    """Return the budget with a scope's limits in the place of its own."""
    epsilon, delta = (read_limit(limits[name]) for name in ("epsilon", "delta"))
    if not (epsilon >= 0 and 0 <= delta < 1):
        raise InputError("a scope's cap is out of range; give an epsilon of at least 0 and a delta in [0, 1)")
    return replace(budget, epsilon=epsilon, delta=delta)


def over(state: State, budget: Budget, scope: str | None, sought: int | None = None) -> Over | None:
    """Return what is beyond its limits: the whole ledger, a scope or one above it; None where nothing is.

    A search of more than `sought` nodes ends as if a unit had been found (`SpentTree.beyond`).
    """
    limited: list[tuple[str | None, Budget, tree.SpentTree]] = [(None, budget, state.period_tree())]
    for name in lineage(scope):
        record = state.scope(name) or {}
        limited.append((name, cap(budget, record), state.scope_tree(record)))
    for which, limits, spent in limited:
        found = spent.beyond(limits.fits, sought)
        if found is not None:
            return which, limits, *found
    return None


def _cohort(state: State, _: Budget, facts: Facts, number: int, bodies: Bodies) -> None:
    name = f"cohort {cohort_name(facts['cohort'])}"
    ranges = intervals.read(facts["units"])
    if ranges[-1][1] > spending.LAST_UNIT or len(ranges) > MOST_RANGES:
        raise InputError(f"a cohort is too large; give at most {MOST_RANGES} ranges of units up to 2^63 - 2")
    record = state.register.get(name)
    if record is not None and record["charged"]:
        raise BudgetError(f"{name} was charged and cannot be changed; give the other units another name")
    state.register.put(name, {"units": ranges, "charged": False})


def cohort_name(name: str) -> str:
    """Return the name of a cohort; raises `InputError` for what is none."""
    if "/" in scope_name(name):
        raise InputError("a cohort's name has no slash; use a dash")
    return name


def cohort(state: State, name: str) -> list[Cover]:
    """Return the units of a cohort."""
    record = state.register.get(f"cohort {cohort_name(name)}") if state.register.digest else None
    if record is None:
        raise InputError(f"there is no cohort {name}; make it with `dpaccount ledger cohort`")
    return intervals.read(record["units"])


def _reset(state: State, _: Budget, facts: Facts, number: int, bodies: Bodies) -> None:
    """Begin a period in which nothing is spent, except what is reserved and may still be drawn in it."""
    one_line("reason", facts["reason"])
    waiting = list(open_reservations(state, bodies))
    before = state.period
    nothing = tree.nothing(state.width).text
    if before is None:
        state.register.put("year", {"year": year_of(facts), "root": None})
    state.drop(1, 1)
    state.drop(SCOPES, MOST_AREAS - 1)
    count = 1 if before is None else before["number"] + 1
    state.register.put("period", {"number": count, "entry": number, "root": nothing})
    for _number, reserved, ranges in waiting:
        costs = list(cost_of(parts_of(reserved, state.width), ranges))
        state.add_period(change_of(costs, state.width), reserved.get("scope"))


def _forfeit(state: State, budget: Budget, facts: Facts, number: int, bodies: Bodies) -> None:
    """Charge what may have been lost; open parts of reservations may have been drawn, and are closed."""
    one_line("reason", facts["reason"])
    _charge(state, [steps_of(facts["steps"], state.width)], facts)
    for entry, _, _ in list(open_reservations(state, bodies)):
        state.register.put(f"reservation {entry}", None)
    if over(state, budget, None) is not None:
        raise BudgetError("what may have been lost does not fit the budget; begin a new ledger, for new data")


def _turn_year(state: State, facts: Facts, bodies: Bodies) -> None:
    """Begin a year in which nothing is spent, except what is reserved and may still be drawn in it."""
    year = state.register.get("year") if state.register.digest else None
    if year is None or year_of(facts) <= year["year"]:
        return
    waiting = list(open_reservations(state, bodies))
    state.drop(2, 2)
    state.register.put("year", {"year": year_of(facts), "root": tree.nothing(state.width).text})
    for _number, reserved, ranges in waiting:
        state.add_year(change_of(cost_of(parts_of(reserved, state.width), ranges), state.width))


def year_of(facts: Facts) -> int:
    """Return the year in which an entry was made, by the clock of who made it."""
    return int(facts["time"][:4])


def _spend(state: State, functions: Iterable[list[Step]], scope: str | None, *, back: bool = False) -> None:
    change = change_of(functions, state.width, back=back)
    state.add_life(change)
    if state.register.digest:
        state.add_year(change)
        state.add_period(change, scope)
    elif scope is not None:
        raise InputError(f"there is no scope {scope}; make it with `dpaccount ledger scope`")


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


_KINDS: Final = {
    RESERVATION: _reservation,
    ROUNDS: _rounds,
    RETURN: _return,
    SCOPE: _scope,
    COHORT: _cohort,
    RESET: _reset,
    FORFEIT: _forfeit,
}
