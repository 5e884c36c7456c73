"""Scopes, cohorts, reservations, resets and forfeits of a ledger."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from dpaccount.errors import InputError
from dpaccount.exact import Exact, exact_argument
from dpaccount.ledger import requests
from dpaccount.ledger.balances import changes, ranges
from dpaccount.ledger.balances.budget import Budget, one_line, write_limit
from dpaccount.ledger.balances.ranges import Ranges
from dpaccount.ledger.balances.state import scope_name
from dpaccount.ledger.balances.step_functions import Cover
from dpaccount.ledger.entry import COHORT, FORFEIT, RESERVATION, RESET, RETURN, ROUNDS, SCOPE, Entry
from dpaccount.ledger.journal.entries import apply, as_written, check_own, stamped, written
from dpaccount.ledger.journal.totals import Totals
from dpaccount.ledger.requests import Charge
from dpaccount.ledger.stores.group_commit import again
from dpaccount.ledger.stores.rows import Rows
from dpaccount.ledger.stores.store import Store
from dpaccount.noise import process
from dpaccount.plan.events import Plan

T = TypeVar("T")
Taken = tuple[int | None, Ranges]  #: the entry's number (None if no part was left), and its parts


class Arrangements:
    """The methods of `Ledger` for teams: each commits one entry; `by` is a name for the log."""

    budget: Budget
    _store: Store
    _totals: Callable[..., Totals]
    _decide: Callable[..., Charge]

    def set_scope(
        self, name: str, epsilon: Exact, delta: Exact | None = None, by: str | None = None
    ) -> Entry:
        """Create the scope `name` ("team/ada" is below "team") or change its cap; return the entry.

        A charge in it must fit its cap (`epsilon`, `delta`; by default δ is the ledger's) and those
        of all scopes above it.  Raises `BudgetError` for a cap below what is spent in it.
        """
        limits = {
            "epsilon": write_limit(exact_argument("epsilon", epsilon)),
            "delta": write_limit(self.budget.delta if delta is None else exact_argument("delta", delta)),
        }
        return self._arrange(SCOPE, {"scope": scope_name(name), **limits}, by)

    def check_scope(self, name: str) -> None:
        """Raise `InputError` if there is no such scope."""
        with self._store.reading() as rows:
            self._totals(rows).state(rows.node).existing_scope(scope_name(name))

    def name_cohort(self, name: str, units: list[Cover], by: str | None = None) -> Entry:
        """Define a cohort, as ranges of units; once charged it cannot change.  Return the entry."""
        joined = ranges.joined(units)
        return self._arrange(COHORT, {"cohort": changes.cohort_name(name), "units": joined}, by)

    def units_of(self, name: str) -> list[Cover]:
        """Return a cohort's ranges of units; raises `InputError` if there is none."""
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
        """Charge a plan now, as one entry; its parts are drawn or returned later, each once.

        With `rounds` (at least 1) each part is the whole plan, else one run of an event, numbered
        from 1.  `key` names the reservation; all else, also errors, is as in `charge_plan`.
        """
        request = requests.of_rounds(self.budget, plan, rounds, purpose, by).within(scope)
        return self._decide(request, one_line("key", key), dry_run=dry_run)

    def draw_parts(
        self, key: str, parts: Ranges | None = None, *, count: int = 1, by: str | None = None
    ) -> Taken:
        """Mark parts of a reservation as drawn, durably: `parts`, or the first `count` open ones.

        Then this process may draw their noise, once; parts that a crash leaves undrawn are spent.
        Returns entry and parts.  Raises `BudgetError` if one was drawn or returned before.
        """
        if type(count) is not int or count < 1:
            raise InputError(f"{count!r} parts cannot be drawn", "ask for a whole number of at least 1")
        return self._take(ROUNDS, key, parts, lambda left: ranges.first_of(left, count), by)

    def return_parts(self, key: str, parts: Ranges | None = None, *, by: str | None = None) -> Taken:
        """Refund `parts` of a reservation, by default all open ones; they cannot be drawn any more.

        Returns entry and parts.  Raises `BudgetError` if one was drawn or returned before.
        """
        return self._take(RETURN, key, parts, lambda left: left, by)

    def open_parts(self, key: str) -> tuple[int, Ranges]:
        """Return a reservation's entry number and its open parts: neither drawn nor returned."""
        with self._store.reading() as rows:
            return self._left(rows, self._totals(rows), key)

    def reset(self, reason: str, by: str | None = None) -> Entry:
        """Begin a period, in which only open parts of reservations are spent; return the entry.

        Budget and caps limit each period; the privacy guarantee is the sum over the ledger's life.
        """
        return self._arrange(RESET, {"reason": one_line("reason", reason)}, by)

    def forfeit(self, lost: Plan | None, reason: str, by: str | None = None) -> Entry:
        """Charge an upper bound of what was `lost` (None: nothing) after a move; return the entry.

        Each event is charged separately.  Earlier charges that were not drawn here cannot be drawn
        any more: they may have been.  Raises `BudgetError` if it does not fit.
        """
        request = None if lost is None else requests.of_rounds(self.budget, lost, None, "lost", None)
        if request is not None and request.steps is None:
            raise InputError(
                f"what was lost has no bound in the measure {self.budget.measure.name}", "give one that has"
            )
        facts, steps = ({}, []) if request is None else (request.facts, written(request.steps or []))
        return self._arrange(FORFEIT, {**facts, "steps": steps, "reason": one_line("reason", reason)}, by)

    def _commit_alone(self, act: Callable[[Rows, Totals], T], *, anywhere: bool = False) -> T:
        """Act in a transaction of its own, and again if it was cut off before anything was changed."""

        def write() -> T:
            with self._store.writing() as rows:
                return act(rows, self._totals(rows, anywhere=anywhere))

        return again(write)

    def _arrange(self, kind: str, facts: dict[str, Any], by: str | None) -> Entry:
        return self._commit_alone(
            lambda rows, totals: self._append(rows, totals, kind, facts, by), anywhere=kind == FORFEIT
        )

    def _take(
        self, kind: str, key: str, parts: Ranges | None, which: Callable[[Ranges], Ranges], by: str | None
    ) -> Taken:
        def take(rows: Rows, totals: Totals) -> Taken:
            number, left = self._left(rows, totals, key, own=True)
            taken = which(left) if parts is None else ranges.joined(parts)
            if not taken:
                return None, []
            facts = {"reservation": number, "parts": taken, "process": process.name()}
            return self._append(rows, totals, kind, facts, by).number, taken

        return self._commit_alone(take)

    def _left(self, rows: Rows, totals: Totals, key: str, *, own: bool = False) -> tuple[int, Ranges]:
        entry = rows.keyed(key)
        if entry is None or entry.kind != RESERVATION:
            raise InputError(
                f"{key!r} is not the key of a reservation", "give one of `dpaccount ledger reserve`"
            )
        if own:
            check_own(rows, entry)
        record = totals.state(rows.node).register.get(f"reservation {entry.number}")
        return entry.number, [] if record is None else record.open

    def _append(self, rows: Rows, totals: Totals, kind: str, facts: dict[str, Any], by: str | None) -> Entry:
        """Append an entry that changes the balances."""
        user = {} if by is None else {"by": one_line("name of who asks", by)}
        body = as_written(stamped({**facts, **user}, rows.stamp))
        state = totals.state(rows.node)
        apply(rows, state, self.budget, kind, body)
        state.keep(rows)
        return rows.append(kind, body, state.text)


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
