"""What a team arranges in a ledger beside charges: scopes, cohorts, reservations, resets."""

from collections.abc import Callable
from dataclasses import replace
from secrets import token_hex
from typing import Any

from dpaccount.errors import InputError
from dpaccount.exact import Exact
from dpaccount.ledger import amounts as requests
from dpaccount.ledger.amounts import Request
from dpaccount.ledger.budget import Budget, one_line, write_limit
from dpaccount.ledger.chain import COHORT, FORFEIT, RESERVATION, RESET, RETURN, ROUNDS, SCOPE, Entry
from dpaccount.ledger.charging import Charge
from dpaccount.ledger.entries import as_written, now, said, written
from dpaccount.ledger.spending import Cover
from dpaccount.ledger.state import changes, intervals
from dpaccount.ledger.state.intervals import Ranges
from dpaccount.ledger.state.state import scope_name
from dpaccount.ledger.storage.group import again
from dpaccount.ledger.storage.rows import Rows
from dpaccount.ledger.storage.store import Store
from dpaccount.ledger.totals import Totals
from dpaccount.noise import process
from dpaccount.plan.event_base import exact
from dpaccount.plan.events import Plan

Taken = tuple[int | None, Ranges]  #: an entry (None: none was needed), and the parts that it speaks of


class Arrangements:
    """The part of a ledger that arranges; every method is one entry, committed before it returns."""

    budget: Budget
    _store: Store
    _totals: Callable[..., Totals]
    _decide: Callable[..., Charge]

    def set_scope(
        self, name: str, epsilon: Exact, delta: Exact | None = None, by: str | None = None
    ) -> Entry:
        """Make a scope below the one that its name says, or give one another cap; return the entry.

        What is charged in it must fit its cap (ε, δ) and those of all above it; δ is the ledger's if none is
        given.  Raises `BudgetError` for a cap below what is spent in it.
        """
        limits = {
            "epsilon": write_limit(exact("epsilon", epsilon)),
            "delta": write_limit(self.budget.delta if delta is None else exact("delta", delta)),
        }
        return self._arrange(SCOPE, {"scope": name, **limits}, by)

    def check_scope(self, name: str) -> None:
        """Raise `InputError` where there is no such scope."""
        with self._store.reading() as rows:
            if self._totals(rows).state(rows.node).scope(scope_name(name)) is None:
                raise InputError(f"there is no scope {name}; make it with `dpaccount ledger scope`")

    def name_cohort(self, name: str, units: list[Cover], by: str | None = None) -> Entry:
        """Name ranges of units; once charged, the name means them for ever.  Return the entry."""
        return self._arrange(COHORT, {"cohort": name, "units": intervals.joined(units)}, by)

    def units_of(self, name: str) -> list[Cover]:
        """Return the units of a cohort."""
        with self._store.reading() as rows:
            return changes.cohort(self._totals(rows).state(rows.node), name)

    def reserve_plan(
        self,
        plan: Plan,
        purpose: str,
        key: str,
        *,
        rounds: int | None = None,
        by: str | None = None,
        scope: str | None = None,
        dry_run: bool = False,
    ) -> Charge:
        """Charge a plan now, as one entry, of which parts are drawn later, each once, or returned.

        With `rounds` its parts are so many times the whole plan, else each run of each of its events, counted
        from 1 in their order.  Raises as `charge_plan` does.
        """
        request = self._asked(plan, rounds, purpose, by).within(scope)
        return self._decide(request, one_line("key", key), dry_run=dry_run)

    def _asked(self, plan: Plan, rounds: int | None, purpose: str, by: str | None) -> Request:
        return requests.of_rounds(self.budget, plan, rounds, purpose, by)

    def draw_parts(
        self, key: str, parts: Ranges | None = None, *, count: int = 1, by: str | None = None
    ) -> Taken:
        """Mark parts of a reservation as drawn, durably: these, or the first `count` that are open.

        Only then may their noise be drawn, once, by this process; what a crash leaves of them is spent.
        Returns them.  Raises `BudgetError` where one was drawn or returned before.
        """
        if type(count) is not int or count < 1:
            raise InputError(f"{count!r} parts cannot be drawn; ask for a whole number of at least 1")
        return self._take(ROUNDS, key, parts, lambda left: intervals.first_of(left, count), by)

    def return_parts(self, key: str, parts: Ranges | None = None, *, by: str | None = None) -> Taken:
        """Give back what parts of a reservation cost that were never marked as drawn: these, or all of them.

        They can never be drawn after it.  Raises `BudgetError` where one was drawn or returned before.
        """
        return self._take(RETURN, key, parts, lambda left: left, by)

    def open_parts(self, key: str) -> tuple[int, Ranges]:
        """Return a reservation's entry and which of its parts are neither drawn nor returned."""
        with self._store.reading() as rows:
            return self._left(rows, self._totals(rows), key)

    def reset(self, reason: str, by: str | None = None) -> Entry:
        """Begin a period, in which nothing is spent but what is reserved and open; return the entry.

        The budget and the caps hold for each period; what is guaranteed is the sum over the ledger's life.
        """
        return self._arrange(RESET, {"reason": one_line("reason", reason)}, by)

    def forfeit(self, lost: Plan | None, reason: str, by: str | None = None) -> Entry:
        """Charge the most that may have been `lost` (None: nothing), and go on here; return the entry.

        Each event counts by itself, as charges do that are made one after another.  What was charged
        before and is not drawn here cannot be drawn after it: it may have been.  Raises `BudgetError`
        where it does not fit.
        """
        request = None if lost is None else requests.of_rounds(self.budget, lost, None, "lost", None)
        if request is not None and request.steps is None:
            raise InputError(
                f"what was lost has no bound in the measure {self.budget.measure.name}; give one that has"
            )
        facts, steps = ({}, []) if request is None else (request.facts, written(request.steps or []))
        return self._arrange(FORFEIT, {**facts, "steps": steps, "reason": one_line("reason", reason)}, by)

    def _arrange(self, kind: str, facts: dict[str, Any], by: str | None) -> Entry:
        def write() -> Entry:
            with self._store.writing() as rows:
                return self._made(rows, self._totals(rows, anywhere=kind == FORFEIT), kind, facts, by)

        return again(write)

    def _take(
        self,
        kind: str,
        key: str,
        parts: Ranges | None,
        which: Callable[[Ranges], Ranges],
        by: str | None,
    ) -> Taken:
        def write() -> Taken:
            with self._store.writing() as rows:
                totals = self._totals(rows)
                number, left = self._left(rows, totals, key)
                wanted = which(left) if parts is None else intervals.joined(parts)
                if not wanted:
                    return None, []
                facts = {"reservation": number, "parts": wanted, "process": process.name()}
                return self._made(rows, totals, kind, facts, by).number, wanted

        return again(write)

    def _left(self, rows: Rows, totals: Totals, key: str) -> tuple[int, Ranges]:
        entry = rows.keyed(key)
        if entry is None or entry.kind != RESERVATION:
            raise InputError(
                f"{key!r} is not the key of a reservation; give one of `dpaccount ledger reserve`"
            )
        record = totals.state(rows.node).register.get(f"reservation {entry.number}")
        return entry.number, [] if record is None else intervals.read(record["open"])

    def _made(self, rows: Rows, totals: Totals, kind: str, facts: dict[str, Any], by: str | None) -> Entry:
        """Write an entry that changes the state."""
        told = {} if by is None else {"by": one_line("name of who asks", by)}
        said_so = {**facts, **told, **rows.stamp, "time": now(), "salt": token_hex(16)}
        state = totals.state(rows.node)
        changes.apply(
            state, self.budget, kind, said_so, totals.at.number + 1, lambda number: said(rows, number)
        )
        state.keep(rows)
        return rows.append(kind, as_written(said_so), state.text)


def for_units(plan: Plan, units: list[Cover]) -> Plan:
    """Return a plan whose events without a cover are charged to these units.

    An event that names its units itself must stay among them.
    """
    events = []
    for event in plan.events:
        covers = [cover for cover, _, _ in event.pieces()]
        if covers == [None]:
            events += [replace(event, cover=cover) for cover in units]
        elif all(cover is not None and intervals.without(units, [cover]) is not None for cover in covers):
            events.append(event)
        else:
            raise InputError(f"an event {event.name} touches units that are not of the cohort; cover its own")
    return Plan(plan.relation, tuple(events))
