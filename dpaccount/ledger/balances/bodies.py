"""The bodies of entries from which balances follow, as typed records, and how each kind changes the balances.

A body holds more for readers of the log, such as a purpose or a plan; no balance follows from that.  The
same code writes entries and verifies them.  An entry that the balances do not allow raises `BudgetError`
(a cap below what is spent, a part that was drawn), one that makes no sense `InputError` or `ValueError`;
`verify` reports any of them as a bad entry.
"""

from collections.abc import Callable, Iterator
from datetime import date
from itertools import pairwise
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import structs

from dpaccount.documents import canonical, sha256
from dpaccount.errors import BudgetError, DpaccountError, InputError, damaged
from dpaccount.exact import shown
from dpaccount.ledger import entry as kinds
from dpaccount.ledger.balances import ranges, rights, segment_tree, step_functions
from dpaccount.ledger.balances import state as records
from dpaccount.ledger.balances.budget import RENEWALS, Budget, calendar_period, cap, one_line
from dpaccount.ledger.balances.ranges import Ranges
from dpaccount.ledger.balances.state import State, change_of, cohort_name, lineage, scope_name
from dpaccount.ledger.balances.step_functions import MOST_PARTS, Step

Written = list[tuple[int, str]]  #: steps as entries hold them: a first unit, amounts as text
Part = tuple[int, list[Step]]  #: n equal parts of a reservation, and what each of them spends
Bodies = Callable[[int], str]  #: returns the body of an entry, by its number

#: kinds that a person asks for and another approves
ASKED_FOR: Final = (kinds.CHARGE, kinds.RESERVATION, kinds.RESET, kinds.SCOPE, kinds.CLOCK, kinds.GRANT)
#: characters of an entry, other than of kinds that hold amounts over units, or a release; earlier versions
#: wrote longer refusals
MOST_BODY: Final = 2**22
UNLIMITED: Final = (
    kinds.CHARGE,
    kinds.RESERVATION,
    kinds.FORFEIT,
    kinds.REQUEST,
    kinds.RELEASE,
    kinds.REFUSAL,
)
ADDED_LATER: Final = ("charge_epsilon",)  #: members of requests that earlier versions do not have
MOST_RANGES: Final = 1000  #: of a cohort; pieces of a reservation's parts that are open


class Signed(msgspec.Struct, frozen=True):
    """Any entry but a release: a server's client names its `role`."""

    role: str | None = None


class Body(Signed, frozen=True, kw_only=True):
    """Any entry that changes balances: `time` is its writer's clock, in ISO 8601, `by` who made it."""

    time: str
    by: str | None = None

    @property
    def year(self) -> int:
        """Return the year whose balance the entry counts in; raises `ValueError` for a time without one."""
        return int(self.time[:4])

    def apply(self, state: State, budget: Budget, number: int, bodies: Bodies) -> None:
        """Change the balances as the entry with this number does."""
        raise NotImplementedError

    def takes_two(self, state: State) -> bool:
        """Return whether one person must ask for it and another approve, in a ledger with rights."""
        return False

    def check(self, state: State) -> object:
        """Raise `InputError` or `ValueError` for what could never be done: nobody is asked to approve it."""

    @property
    def approver(self) -> tuple[str, str | None]:
        """Return the right of who may approve it, and in which scope."""
        return "arrange", None

    @property
    def asked(self) -> str:
        """Return the name of the record of a request for it."""
        members = structs.asdict(self)
        what = {name: members[name] for name in members if name not in ("time", "by", "role")}
        for name in ADDED_LATER:
            if what.get(name, "") is None:  # requests of earlier versions keep their names
                del what[name]
        return rights.asked_name(self.by or self.role or "", [type(self).__name__, what])

    def approved_on(self, state: State, time: str) -> str:
        """Return the day on which an approval of it must not have ended, at a time."""
        return rights.latest_day(state, time)

    def approval(self, state: State) -> str | None:
        """Use up the approval of a request for it; return why there is none, "" if nobody asked."""
        asked: records.Asked | None = state.register.get(self.asked)
        if asked is None:
            return ""
        reason = rights.unapproved(state, asked, self.approver, self.approved_on(state, self.time))
        if reason is None:
            state.register.put(self.asked, None)
        return reason

    def turn_year(self, state: State, bodies: Bodies) -> None:
        """Begin a year, if the entry is of a later one, in which only open reservations count as spent."""
        year = state.register.get("year")
        if year is None or self.year <= year.year:
            return
        waiting = list(open_reservations(state, bodies))
        state.drop(records.YEAR, records.YEAR)
        nothing = segment_tree.nothing(state.width).text
        state.register.put("year", records.Year(self.year, nothing))
        for _, reserved, left in waiting:
            state.add_year(change_of(reserved.costs(state.width, left), state.width))


def renew(state: State, scope: str | None, time: str, bodies: Bodies) -> None:
    """Begin the calendar periods that a charge at this time is the first of, in a scope and above.

    As after a reset, only open reservations count as spent in them.
    """
    for name, period in state.to_renew(scope, time):
        waiting = [one for one in open_reservations(state, bodies) if name in lineage(one[1].scope)]
        state.renew_scope(name, period)
        for _, reserved, left in waiting:
            state.add_scope(name, change_of(reserved.costs(state.width, left), state.width))
        # What is approved to be set right is what a clock had begun by then.
        drop_approvals(state, bodies, lambda _, wanted: isinstance(wanted, ClockBody))


class Spending(Body, frozen=True):
    """An entry that spends, in a scope and for a cohort if any; `units` are those the cohort then had."""

    scope: str | None = None
    cohort: str | None = None
    units: Ranges | None = None

    def charge(self, state: State, functions: list[list[Step]], bodies: Bodies) -> None:
        """Add one charge, or several of the same year, scope and cohort.

        A cohort's units freeze at its first charge, and a charge of units outside it is refused.
        """
        self.turn_year(state, bodies)
        renew(state, self.scope, self.time, bodies)
        state.spend(functions, self.scope)
        if self.cohort is None:
            return
        name, record = f"cohort {self.cohort}", state.cohort(self.cohort)
        if self.units != record.units:
            raise BudgetError(f"{name} was given other units meanwhile; nothing was charged, ask again")
        for steps in functions:
            for (first, amounts), (after, _) in pairwise([*steps, (step_functions.LAST_UNIT + 2, ())]):
                if any(amounts) and ranges.without(record.units, [(first, after - 1)]) is None:
                    raise InputError(
                        f"the charge is for {name} and touches other units", "charge them by themselves"
                    )
        if not record.charged:
            state.register.put(name, structs.replace(record, charged=True))


class Requested(Spending, frozen=True, kw_only=True):
    """An entry that was requested: `digest` identifies the request, for a theorem or a number of events."""

    digest: Annotated[str, msgspec.Meta(pattern="^sha256:[0-9a-f]{64}$")]
    theorem: str | None = None
    events: int | None = None
    purpose: str | None = None
    certificate: str | None = None
    confirmed: str | None = None

    def check(self, state: State) -> None:
        """Raise `ValueError` for malformed amounts."""
        spends(self, state.width)

    @property
    def approver(self) -> tuple[str, str | None]:
        """Return the right of who may approve it, and in which scope."""
        return "approve", self.scope

    def permit(self, state: State) -> str | None:
        """Return why the charge is not allowed, "" if it must be asked for; None if it is.

        That uses up its approval, if it takes one.
        """
        reason = rights.denied(state, self.by, self.role, self.scope, self.time)
        return self.approval(state) if reason == "" else reason


class ChargeBody(Requested, frozen=True, kw_only=True):
    """A charge: the amounts that each unit pays."""

    steps: Written


class ForfeitBody(Spending, frozen=True, kw_only=True):
    """A charge for entries that may have been lost; it may exceed all charges in this ledger."""

    steps: Written
    reason: str

    def apply(self, state: State, budget: Budget, number: int, bodies: Bodies) -> None:
        """Charge what may have been lost, and close open parts of reservations: they may have been drawn."""
        one_line("reason", self.reason)
        self.charge(state, [steps_of(self.steps, state.width)], bodies)
        # not refunded: whoever had the lost entries may have drawn these parts
        for entry, reserved, _ in list(open_reservations(state, bodies)):
            renew(state, reserved.scope, self.time, bodies)  # before they close: they count in this period
            state.register.put(f"reservation {entry}", None)
        if state.over(budget, None) is not None:
            raise BudgetError(
                "what may have been lost does not fit the budget; begin a new ledger, for new data"
            )


class ReservationBody(Requested, frozen=True, kw_only=True):
    """A charge in parts: each item is a number of equal parts, and what each of them costs."""

    parts: list[tuple[int, Written]]

    @property
    def everything(self) -> Ranges:
        """Return the range of all parts."""
        return [(1, sum(count for count, _ in self.parts))]

    def costs(self, width: int, which: Ranges) -> Iterator[list[Step]]:
        """Yield the costs of the parts in these ranges; parts are counted from 1."""
        before = 0
        for count, steps in parts_of(self, width):
            times = sum(
                max(0, min(last, before + count) - max(first, before + 1) + 1) for first, last in which
            )
            if times:
                yield [(unit, tuple(times * one for one in amounts)) for unit, amounts in steps]
            before += count

    def apply(self, state: State, budget: Budget, number: int, bodies: Bodies) -> None:
        """Charge all parts, and note them as open."""
        if self.everything[0][1] > MOST_PARTS:
            raise InputError("the reservation has too many parts", "reserve at most 2^53")
        if (reason := self.permit(state)) is not None:
            raise BudgetError(reason or "another person must approve it")
        if state.over_one(budget, spends(self, state.width), self.scope) is not None:
            raise BudgetError("all parts together cost more than one charge there may")
        self.charge(state, list(self.costs(state.width, self.everything)), bodies)
        record = records.Reservation(sha256(bodies(number)), self.everything)
        state.register.put(f"reservation {number}", record)


class RoundsBody(Body, frozen=True, kw_only=True):
    """Parts of a reservation, counted from 1, that are drawn."""

    reservation: int
    parts: Ranges

    def apply(self, state: State, budget: Budget, number: int, bodies: Bodies) -> None:
        """Close open parts of a reservation, for ever."""
        self.take(state, bodies)

    def take(self, state: State, bodies: Bodies) -> ReservationBody:
        """Close the parts and return the reservation; raises `BudgetError` if some are not open."""
        number, taken = self.reservation, ranges.read(self.parts)
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
        self.check_uses(state, number, reserved)
        renew(state, reserved.scope, self.time, bodies)  # before they close: they count where drawn
        state.register.put(name, structs.replace(record, open=left) if left else None)
        return reserved

    def check_uses(self, state: State, number: int, reserved: ReservationBody) -> None:
        """Refuse who did not reserve the parts, or may not charge or request there any more."""
        person, owner = rights.acting(state, self.by, self.role, self.time), reserved.by or reserved.role
        returns = isinstance(self, ReturnBody)
        if person is None or (returns and rights.holds(state, person, "arrange", None, self.time)):
            return
        if owner not in (None, person):
            raise BudgetError(f"entry {number} was reserved by {owner}, who alone uses it")
        if rights.denied(state, self.by, self.role, reserved.scope, self.time):
            raise BudgetError(f"{person} may not charge there any more")


class ReturnBody(RoundsBody, frozen=True, kw_only=True):
    """Parts of a reservation that are returned, of a leaver by who may arrange."""

    def apply(self, state: State, budget: Budget, number: int, bodies: Bodies) -> None:
        """Close the parts, and take back what they cost."""
        reserved = self.take(state, bodies)
        state.spend(list(reserved.costs(state.width, self.parts)), reserved.scope, back=True)


class ScopeBody(Body, frozen=True, kw_only=True):
    """A scope, its cap, how often that renews, which is fixed when it is made, and the ε of one charge.

    None: as it is.
    """

    scope: str
    epsilon: str
    delta: str
    every: str | None = None
    charge_epsilon: str | None = None

    def check(self, state: State) -> None:
        """Raise `InputError` for a malformed cap, or one that renews otherwise."""
        cap(self.epsilon, self.delta)
        old = state.scope(scope_name(self.scope))
        if self.every not in (None, *RENEWALS):
            raise InputError(f"a cap does not renew every {self.every!r}", f"give {', '.join(RENEWALS)}")
        if old is not None and self.every not in (None, old.every):
            # the tree holds what was spent since the last renewal, which no other period begins with
            raise InputError(f"how often the cap of {self.scope} renews cannot change", "make another scope")

    def takes_two(self, state: State) -> bool:
        """Return whether a cap is raised."""
        old = state.scope(scope_name(self.scope))
        if old is None:
            return False
        caps = [(cap(self.epsilon, self.delta), cap(old.epsilon, old.delta))]
        if old.charge_epsilon and self.charge_epsilon is not None:
            caps += [(cap(self.charge_epsilon, "0"), cap(old.charge_epsilon, "0"))]
        return any(new > most for pair in caps for new, most in zip(*pair, strict=True))

    def apply(self, state: State, budget: Budget, number: int, bodies: Bodies) -> None:
        """Make the scope, or change its cap, which what is spent in it must fit."""
        name = scope_name(self.scope)
        self.check(state)
        for above in lineage(name)[:-1]:
            if state.scope(above) is None:
                raise InputError(f"there is no scope {above}", f"make it before {name}")
        capped = budget.capped(self.epsilon, self.delta)
        limits = {"epsilon": shown(capped.epsilon), "delta": shown(capped.delta)}
        if self.charge_epsilon is not None:
            limits["charge_epsilon"] = shown(budget.capped(self.charge_epsilon, self.delta).epsilon)
        renew(state, name, self.time, bodies)
        record = state.scope(name)
        if record is not None:
            drop_approvals(
                state, bodies, lambda _, wanted: isinstance(wanted, ScopeBody) and wanted.scope == name
            )
        else:
            made = state.register.get("scopes") or records.Scopes(0)
            area = records.SCOPES + made.count
            if area >= records.MOST_AREAS:
                raise InputError("the ledger has as many scopes as it can have", "use those that there are")
            state.register.put("scopes", records.Scopes(made.count + 1))
            nothing = segment_tree.nothing(state.width).text
            often = self.every or "", calendar_period(self.every or "", self.time)
            caps = limits["epsilon"], limits["delta"]
            record = records.Scope(area, state.period_number, nothing, *caps, *often)
        if state.scope_tree(record).beyond(capped.fits) is not None:
            raise BudgetError(
                f"more is spent in the scope {name} than its new cap allows; nothing was changed"
            )
        state.register.put(f"scope {name}", structs.replace(record, **limits))


class CohortBody(Body, frozen=True, kw_only=True):
    """A name for ranges of units, which may grow when it was charged if it was made so."""

    cohort: str
    units: Ranges
    grows: bool = False

    def apply(self, state: State, budget: Budget, number: int, bodies: Bodies) -> None:
        """Give the name to these units; one that was charged may only grow, if it was made so."""
        name = f"cohort {cohort_name(self.cohort)}"
        units = ranges.read(self.units)
        if units[-1][1] > step_functions.LAST_UNIT or len(units) > MOST_RANGES:
            raise InputError(
                "a cohort is too large", f"give at most {MOST_RANGES} ranges of units up to 2^63 - 2"
            )
        record = state.register.get(name)
        charged = record is not None and record.charged
        if charged and not record.grows:
            raise BudgetError(f"{name} was charged and cannot be changed; give the other units another name")
        if charged and not (self.grows and ranges.without(units, record.units) is not None):
            raise BudgetError(f"{name} was charged and can only grow; name all of its units, and more")
        state.register.put(name, records.Cohort(units, charged=charged, grows=self.grows))


class ResetBody(Body, frozen=True, kw_only=True):
    """The beginning of a period in which nothing is spent yet."""

    reason: str

    def takes_two(self, state: State) -> bool:
        """Return True: after it all caps hold anew."""
        return True

    def apply(self, state: State, budget: Budget, number: int, bodies: Bodies) -> None:
        """Begin a period in which only open reservations count as spent."""
        one_line("reason", self.reason)
        waiting = list(open_reservations(state, bodies))
        before = state.period_number
        if before == 0:
            state.register.put("year", records.Year(self.year, None))
        state.drop(records.PERIOD, records.PERIOD)
        state.drop(records.SCOPES, records.MOST_AREAS - 1)
        nothing = segment_tree.nothing(state.width).text
        state.register.put("period", records.Period(before + 1, number, nothing))
        drop_approvals(state, bodies, lambda _, wanted: isinstance(wanted, ResetBody))
        for _, reserved, left in waiting:
            state.add_period(change_of(reserved.costs(state.width, left), state.width), reserved.scope)


class ClockBody(Body, frozen=True, kw_only=True):
    """Says that its time is right: with a `reason` also after a clock that was ahead, else after a pause."""

    reason: str | None = None

    def approved_on(self, state: State, time: str) -> str:
        """Return the day of the time itself: the latest in the chain is of the clock that was ahead."""
        return time[:10]

    def takes_two(self, state: State) -> bool:
        """Return whether a clock was ahead: what it began then is of the time that is said to be right."""
        return bool(self._set_right(state))

    def check(self, state: State) -> None:
        """Raise `InputError` for periods to be set right without a reason."""
        if self.reason is not None:
            one_line("reason", self.reason)
        elif self._set_right(state):
            raise InputError("a clock was ahead, and began later periods", "set them right with --reason")

    def apply(self, state: State, budget: Budget, number: int, bodies: Bodies) -> None:
        """Set right what a clock that was ahead began; all that is spent since then counts in it."""
        self.check(state)
        for name, record in self._set_right(state).items():
            state.register.put(name, record)
            if name == "year":
                state.drop(records.YEAR, records.YEAR)

    def _set_right(self, state: State) -> dict[str, records.Record]:
        """Return the records of what began later than now, as they should be."""
        right = dict[str, records.Record]()
        for name, one in state.register.items() if state.register.digest else ():
            if isinstance(one, records.Scope):
                began = calendar_period(one.every, self.time)
                if one.began > began:
                    right[name] = structs.replace(one, began=began)
            elif isinstance(one, records.Year) and one.year > self.year:
                # what this year spent before is counted no more: the sum of the life is no less
                right[name] = records.Year(self.year, None)
            elif isinstance(one, records.Rights) and one.latest > self.time[:10]:
                right[name] = structs.replace(one, latest=self.time[:10])
        return right


class GrantBody(Body, frozen=True, kw_only=True):
    """Gives a person rights in a scope ("": everywhere); without any takes all back there, in "*" all."""

    person: str
    may: list[str]
    scope: str = ""
    until: str = ""

    def check(self, state: State) -> list[records.Grant]:
        """Return all grants after it; raises `InputError` if it takes what is not there."""
        if self.may and self.scope:
            state.existing_scope(scope_name(self.scope))
        new, known = rights.checked_grant(self.person, self.may, self.scope, self.until), rights.people(state)
        before = [] if known is None else known.grants
        left = [one for one in before if not self._replaces(one)]
        if not new and len(left) == len(before):
            raise InputError(f"{self.person} has no right there", "see `dpaccount ledger show`")
        return [*left, *new]

    def _replaces(self, one: records.Grant) -> bool:
        """Return whether a grant ends by this one."""
        there = one.person == self.person and self.scope in (one.scope, rights.EVERYWHERE)
        return there and (not self.may or one.may in self.may)

    def takes_two(self, state: State) -> bool:
        """Return whether it gives more than there was, once there are two people to ask and approve."""
        known, after = rights.people(state), self.check(state)
        if known is None or len(known.arrangers) < 2:
            return False
        return any(not any(one.within(old) for old in known.grants) for one in after)

    def apply(self, state: State, budget: Budget, number: int, bodies: Bodies) -> None:
        """Change what the person may do."""
        serves = self.role if self.by not in (None, self.role) else None  # it names others: a service's role
        before = rights.people(state) or records.Rights([], serves or "")
        day = max(before.latest, self.time[:10])
        after = structs.replace(before, grants=self.check(state))
        if len(after.arrangers) < min(2, max(1, len(before.arrangers))):
            raise BudgetError("a ledger with rights has two people who may arrange; name another one first")
        state.register.put("rights", structs.replace(after, latest=self.time[:10]))
        # Who comes back must not find an approval of before, nor one of a right that had ended meanwhile.
        for name, one in list(state.register.items()):
            if isinstance(one, records.Asked) and one.by == self.person and not self.may:
                state.register.put(name, None)
        ended = [one for one in before.grants if one.person == self.person and one.until and one.until < day]
        if ended or any(map(self._replaces, before.grants)):
            drop_approvals(state, bodies, self._concerns)

    def _concerns(self, asked: records.Asked, wanted: Body) -> bool:
        """Return whether the person asked for something, approved it, or would get it."""
        return self.person in (asked.by, asked.approved, getattr(wanted, "person", None))


class RequestBody(Body, frozen=True, kw_only=True):
    """Asks for an entry: its kind, and the members of its body but who makes it and when."""

    asks: str
    facts: dict[str, object]

    @property
    def wanted(self) -> Body:
        """Return what is asked for; raises `ValueError` for what nobody can ask for."""
        if self.asks not in ASKED_FOR:
            raise ValueError(f"nobody asks for a {self.asks}")
        made = {**self.facts, "time": self.time, "by": self.by, "role": self.role}
        body: Body = read_body(self.asks, canonical(made).decode())
        return body

    def apply(self, state: State, budget: Budget, number: int, bodies: Bodies) -> None:
        """Let the request wait for an approval."""
        wanted, person = self.wanted, rights.acting(state, self.by, self.role, self.time)
        may, where = wanted.approver
        able = "request" if may == "approve" else may
        if person is None or not rights.holds(state, person, able, where, self.time):
            raise BudgetError(f"{person or 'nobody'} may not ask for this")
        wanted.check(state)
        if state.register.get(wanted.asked) is not None:
            raise BudgetError("the same is asked for already, and waits for an approval")
        state.register.put(wanted.asked, records.Asked(number, sha256(bodies(number)), person, ""))


class ApprovalBody(Body, frozen=True, kw_only=True):
    """Approves a request, which who asked may then make once; or drops it, as who asked may, too.

    An approval holds up to the day `until`, and for the state in which it was given: `drop_approvals`.  One
    without that day is of an earlier version: it holds as long as who gave it may give it.
    """

    request: int
    approved: bool = True
    until: str = ""

    def apply(self, state: State, budget: Budget, number: int, bodies: Bodies) -> None:
        """Note who approved it, or drop the request, approved or not."""
        try:
            text = bodies(self.request)
            asked: RequestBody = read_body(kinds.REQUEST, text)
            wanted = asked.wanted
        except (DpaccountError, OverflowError, ValueError):
            raise BudgetError(f"entry {self.request} is no request") from None
        record: records.Asked | None = state.register.get(wanted.asked)
        if record is None or (record.entry, record.body) != (self.request, sha256(text)):
            raise BudgetError(f"entry {self.request} is no request that waits")
        may, where = wanted.approver
        day = wanted.approved_on(state, self.time)
        if self.approved and rights.unapproved(state, record, wanted.approver, day) is None:
            raise BudgetError(f"entry {self.request} is approved, and was not made yet")
        if self.until and not (self.approved and self._days in range(rights.MOST_DAYS + 1)):
            raise InputError(
                f"an approval ends on {self.until}", f"let it hold at most {rights.MOST_DAYS} days"
            )
        person, own = rights.acting(state, self.by, self.role, self.time) or "", asked.by or asked.role
        if person == own and self.approved:
            raise BudgetError(f"{person} asked for it, and another person must approve it")
        if person != own and not rights.holds(state, person, may, where, self.time):
            raise BudgetError(f"{person} may not approve entry {self.request}")
        given = structs.replace(record, approved=person, until=self.until)
        state.register.put(wanted.asked, given if self.approved else None)

    @property
    def _days(self) -> int:
        """Return for how many days it holds, -1 for a day in another form; raises `ValueError` for none."""
        last = date.fromisoformat(self.until)
        return (last - date.fromisoformat(self.time[:10])).days if last.isoformat() == self.until else -1


def drop_approvals(state: State, bodies: Bodies, of: Callable[[records.Asked, Body], bool]) -> None:
    """Let what was approved, and of which `of` holds, wait anew: it was approved in another state.

    Approvals without an end stay: earlier versions had no such rule, and their entries mean what they meant.
    """
    for name, one in list(state.register.items()):
        if isinstance(one, records.Asked) and one.until and of(one, _asked_for(one, bodies)):
            state.register.put(name, structs.replace(one, approved="", until=""))


def _asked_for(record: records.Asked, bodies: Bodies) -> Body:
    body: RequestBody = read_body(kinds.REQUEST, _unchanged(bodies, record.entry, record.body))
    return body.wanted


class DrawingBody(Signed, frozen=True, kw_only=True):
    """The first and the last draw of a charge that are marked."""

    draws: tuple[int, int]


class ReleaseBody(msgspec.Struct, frozen=True):
    """A kept release: any object, the author's own."""


_TYPES: Final[dict[str, type[msgspec.Struct]]] = {
    kinds.APPROVAL: ApprovalBody,
    kinds.CHARGE: ChargeBody,
    kinds.CLOCK: ClockBody,
    kinds.COHORT: CohortBody,
    kinds.DRAWING: DrawingBody,
    kinds.FORFEIT: ForfeitBody,
    kinds.GRANT: GrantBody,
    kinds.REFUSAL: Signed,
    kinds.RELEASE: ReleaseBody,
    kinds.REQUEST: RequestBody,
    kinds.RESERVATION: ReservationBody,
    kinds.RESET: ResetBody,
    kinds.RETURN: ReturnBody,
    kinds.ROUNDS: RoundsBody,
    kinds.SCOPE: ScopeBody,
}


def read_body(kind: str, text: str) -> Any:
    """Return the body of an entry of this kind; raises `ValueError` for text that is none."""
    try:
        return msgspec.json.decode(text, type=_TYPES[kind])
    except KeyError:
        raise ValueError(f"no later entry is a {kind}") from None
    except (msgspec.MsgspecError, RecursionError) as error:  # JSON of many brackets
        raise ValueError(f"not the body of a {kind}: {error}") from None


def steps_of(written: Written, width: int) -> list[Step]:
    """Return the amounts over units that an entry holds; raises `ValueError` where no charge has them."""
    steps = [(first, step_functions.read(text, width)) for first, text in written]
    segment_tree.marks_of(steps, width)
    return steps


def parts_of(body: ReservationBody, width: int) -> list[Part]:
    """Return the parts of a reservation; raises `ValueError` where no reservation has them."""
    parts = [(count, steps_of(steps, width)) for count, steps in body.parts]
    if not parts or any(count < 1 for count, _ in parts):
        raise ValueError("not the parts of a reservation")
    return parts


def spent_by(entry: kinds.Entry, width: int) -> list[Step]:
    """Return what a charge, a forfeit or all parts of a reservation cost; raises `ValueError` for others."""
    return spends(read_body(entry.kind, entry.body), width)


def spends(body: Any, width: int) -> list[Step]:
    """Return the amounts of the body of a charge, a forfeit or a reservation."""
    if isinstance(body, ReservationBody):
        return step_functions.total(body.costs(width, body.everything), width)
    return steps_of(body.steps, width)


class Formed(NamedTuple):
    """What a charge or forfeit adds to the balances, and the body of its entry."""

    steps: list[Step]
    where: Any


def formed(entry: kinds.Entry, width: int) -> Formed:
    """Return what a later entry than 0 adds, and its body; raises `ValueError` for one that no client writes.

    That is all that can be seen of it without the balances and the request: its key and reference, the
    form and sign of its amounts, and that its author, where a server knows one, is who it names.
    """
    keyed = entry.kind in (kinds.CHARGE, kinds.RESERVATION)
    mark = entry.kind in (kinds.DRAWING, kinds.RELEASE)
    if (entry.key is not None and not keyed) or (entry.about is not None) != mark:
        raise ValueError("it has the key or reference of another kind")
    if entry.kind not in UNLIMITED and len(entry.body) > MOST_BODY:
        raise ValueError(f"its body has more than {MOST_BODY} characters")
    if entry.author == "" or not 0 <= (entry.about or 0) < entry.number:
        raise ValueError("its role may not write it, or not about that entry")
    body = read_body(entry.kind, entry.body)
    if entry.author is not None and isinstance(body, Signed) and body.role != entry.author:
        raise ValueError(f"it names another role than {entry.author}, who wrote it")
    steps: list[Step] = []
    if isinstance(body, Requested) and body.theorem is None and body.events is None:
        raise ValueError("it does not say what is charged")
    if isinstance(body, ChargeBody | ForfeitBody):
        steps = steps_of(body.steps, width)
    elif isinstance(body, ReservationBody):
        parts_of(body, width)
    elif isinstance(body, RoundsBody):  # a server looks for this number as text
        ranges.read(body.parts)
        if [entry.body.count(f'"reservation":{number}') for number in (body.reservation, "")] != [1, 1]:
            raise ValueError("it names two reservations")
    elif isinstance(body, DrawingBody) and not 1 <= body.draws[0] <= body.draws[1]:
        raise ValueError("no draws are marked")
    if isinstance(body, Body) and date.fromisoformat(body.time[:10]).isoformat() != body.time[:10]:
        raise ValueError("it has no day")
    return Formed(steps, body)


def apply(state: State, budget: Budget, kind: str, number: int, bodies: Bodies) -> Body:
    """Apply the entry with this number, of any kind but a charge, to the balances; return its body.

    Raises `ValueError` for a body that no entry of this kind has.
    """
    body: Body = read_body(kind, bodies(number))
    if kind in kinds.ARRANGING and kind != kinds.APPROVAL:
        _check_arranges(state, body)
    if kind not in (kinds.SCOPE, kinds.COHORT):
        body.turn_year(state, bodies)
    body.apply(state, budget, number, bodies)
    return body


def _check_arranges(state: State, body: Body) -> None:
    """Refuse what whoever makes an entry may not arrange, or not alone."""
    person = rights.acting(state, body.by, body.role, body.time)
    if person is not None and not rights.holds(state, person, "arrange", None, body.time):
        raise BudgetError(f"{person} may not arrange this ledger")
    if person is not None and body.takes_two(state) and (reason := body.approval(state)) is not None:
        raise BudgetError(reason or "that takes two people: one asks, and another approves")


def open_reservations(state: State, bodies: Bodies) -> Iterator[tuple[int, ReservationBody, Ranges]]:
    """Yield every reservation with open parts: its entry, its body, and the open parts."""
    for name, record in list(state.register.items()):
        word, _, number = name.partition(" ")
        if word == "reservation":
            yield int(number), _reserved(record, int(number), bodies), record.open


def _reserved(record: records.Reservation, number: int, bodies: Bodies) -> ReservationBody:
    reserved: ReservationBody = read_body(kinds.RESERVATION, _unchanged(bodies, number, record.body))
    return reserved


def _unchanged(bodies: Bodies, number: int, digest: str) -> str:
    """Return the body of an entry; raises `LedgerError` if it has another digest."""
    if sha256(text := bodies(number)) != digest:
        raise damaged(f"entry {number} was changed")
    return text
