"""Report on a ledger for reviewers, in one pass over its entries: spent, remaining and refused."""

from collections import Counter, deque
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import Any, Final

from audits.reports.log import EVERY, LogFilter
from dpaccount.accounting.measures import Amounts
from dpaccount.ledger import entry as kinds
from dpaccount.ledger import summary
from dpaccount.ledger.balances import ranges as intervals
from dpaccount.ledger.balances.bodies import (
    ReservationBody,
    RoundsBody,
    ScopeBody,
    Spending,
    open_reservations,
    read_body,
    spent_by,
)
from dpaccount.ledger.balances.budget import Budget, calendar_period
from dpaccount.ledger.balances.segment_tree import SpentTree
from dpaccount.ledger.balances.state import Over, State, lineage
from dpaccount.ledger.balances.step_functions import Step, plus, zero
from dpaccount.ledger.entry import CERTIFIED
from dpaccount.ledger.journal import entries
from dpaccount.ledger.journal.entries import body_of, budget_of, facts_of, first_entry, totals
from dpaccount.ledger.journal.verify import BAD_ENTRY, Bad, first_bad
from dpaccount.ledger.stores.rows import Rows, watched
from dpaccount.ledger.stores.store import Store
from dpaccount.schemas.fields import BoundEnds
from dpaccount.schemas.ledgers import LargeCharge

SCHEMA: Final = "dpaccount/ledger-report/1"
MOST: Final = 200  #: items in a list
#: maximum groups of charges by (month, scope, who charged, purpose); the rest are grouped by month and scope
TEAMS: Final = 1000
LOOKED_AT: Final = 20_000  #: entries in which a refusal's causes are looked for
REPLAYED: Final = 200_000  #: entries up to which balances are recomputed by default
LISTS: Final = ("charged", "refused", "resets", "clocks", "forfeits", "nodes", "marks")
_CHARGED: Final = ("charged", ("purpose", "by", "scope", "key", *CERTIFIED))
_MARKS: Final = ("marks", ("reservation", "parts", "by"))
#: the list that an entry of a kind is in, and which members of its body that shows
_LISTED: Final = {
    **{kinds.CHARGE: _CHARGED, kinds.RESERVATION: _CHARGED, kinds.ROUNDS: _MARKS, kinds.RETURN: _MARKS},
    kinds.REFUSAL: ("refused", ("purpose", "by", "scope", "key", "reason")),
    kinds.RESET: ("resets", ("reason", "by")),
    kinds.CLOCK: ("clocks", ("reason", "by")),
    kinds.FORFEIT: ("forfeits", ("reason", "by")),
}
COUNTED: Final = ("charges", "refused", "drawn", "returned")  #: counted for each day
Report = dict[str, Any]
Team = tuple[str, str | None, str | None, str | None]
TEAM: Final = ("month", "scope", "by", "purpose")  #: the key of these groups


def report(url: str, *, replay: bool | None = None, only: LogFilter = EVERY) -> Report:
    """Return a report on the ledger at `url`; every digest is recomputed.

    Entries that `only` chooses are listed; sums, scopes and the replay are of the whole ledger.
    `replay`: whether to recompute balances too; by default up to `REPLAYED` entries.
    """
    with closing(Store.open(url)) as store, store.checked(every=True) as rows:
        return _report(rows, replay, only)


def largest(url: str, over: Over) -> list[LargeCharge]:
    """Return the three charges that cost most of an exceeded limit, for the unit that exceeds it.

    Of the limit's period and scope, in the last `LOOKED_AT` entries; returned parts are not deducted.
    """
    found: list[tuple[Fraction, int, LargeCharge]] = []
    reserved: dict[int, tuple[str | None, int]] = {}  #: scope and number of open parts of reservations

    def open_ones() -> list[tuple[Fraction, int, LargeCharge]]:
        return [one for one in found if reserved.get(-one[1], (None, 0))[1] > 0]

    with closing(Store.open(url)) as store, store.reading() as rows:
        budget = budget_of(first_entry(rows))
        state = totals(rows, budget.width).state(rows.node)
        record = None if over.scope is None else state.existing_scope(over.scope)
        period, now = None if over.of_life else state.period, ""
        for entry in rows.entries(max(1, rows.head()[0] - LOOKED_AT)):
            body = read_body(entry.kind, entry.body)
            about = getattr(body, "reservation", 0)
            scope = reserved[about][0] if about in reserved else getattr(body, "scope", None)
            inside = over.scope is None or over.scope in lineage(scope or None)
            begins = period is not None and entry.number == period.entry
            if record is not None and inside and isinstance(body, Spending | RoundsBody | ScopeBody):
                begins |= (at := calendar_period(record.every, body.time)) > now
                now = max(now, at)
            if begins:  # what was charged before counts no more, but for open parts
                found = open_ones()
            if about in reserved:
                reserved[about] = scope, reserved[about][1] - intervals.count(body.parts)
            if entry.kind == kinds.FORFEIT:
                reserved = {number: (of, 0) for number, (of, _) in reserved.items()}
            if entry.kind == kinds.RESERVATION:
                reserved[entry.number] = scope, body.everything[0][1]
            if entry.kind not in (kinds.CHARGE, kinds.RESERVATION, kinds.FORFEIT) or not inside:
                continue
            cost = at_unit(spent_by(entry, budget.width), over.unit, zero(budget.width))
            if any(cost):
                ends = BoundEnds(**budget.measure.enclosure(cost, budget.delta).as_amount())  # type: ignore[arg-type] # an upper end is always there
                facts = facts_of(entry)
                line = LargeCharge(entry.number, facts.get("purpose"), facts.get("by"), ends)
                found.append((summary.share(over.limits, cost), -entry.number, line))
        if record is not None and calendar_period(record.every, entries.time_by(rows.stamp)) > now:
            found = open_ones()
    return [line for _, _, line in sorted(found, key=lambda one: one[:2], reverse=True)[:3]]


def _report(rows: Rows, replay: bool | None, only: LogFilter) -> Report:  # noqa: FBT001
    origin = first_entry(rows)
    budget = budget_of(origin)
    at = totals(rows, budget.width)
    state = at.state(rows.node)
    shown = summary.shown_at(rows, at, budget)
    worst = summary.worst_unit(budget, SpentTree(state.life, rows.node)) or 1
    passed = Pass(origin, budget, worst, only)
    for entry in watched(rows.entries(1), rows, "entry"):
        if not passed.take(entry):
            break
    replayed_all = replay if replay is not None else at.at.number <= REPLAYED
    bad: Bad | None = passed.bad
    if bad is None and passed.at.digest != at.at.digest:
        bad = "head"
    if bad is None and replayed_all:
        bad = first_bad(rows)
    waiting = list(open_reservations(state, lambda number: body_of(rows, number)))
    standing = [
        {**_standing(name, limits, tree, _costs(state, waiting, name)), **renews}
        for name, limits, tree, renews in [
            (None, budget, state.period_tree(), dict[str, str]()),
            *summary.scopes(rows, state, budget),
        ]
    ]
    standing[0]["remaining"] = shown["remaining"]  # under the life cap, too
    return {
        "schema": SCHEMA,
        **({} if only == EVERY else {"only": only.as_json()}),
        **{name: shown[name] for name in ("budget", "period", "year", "life")},
        "guaranteed": shown["life"],
        "replay": {"valid": bad is None, "first_bad": bad, "digests": True, "totals": replayed_all},
        "scopes": standing,
        "units": units(budget, state.period_tree()),
        "reservations": _reservations(passed, waiting),
        **passed.answers(),
        "heads": {"entries": at.at.number, "head": at.at.digest, "root": at.text, "first": origin.digest},
    }


def _standing(name: str | None, budget: Budget, tree: SpentTree, reserved: list[list[Step]]) -> Report:
    """Return the amounts of a scope (None: the ledger), at the unit that has spent most of it."""
    unit = summary.worst_unit(budget, tree) or 1
    spent = tree.at(unit)
    later = sum_at(reserved, unit, budget.width)
    committed = tuple(map(Fraction.__sub__, spent, later))
    return {
        "scope": name,
        "unit": budget.unit,
        "relation": budget.relation,
        "cap": summary.cap(budget),
        "worst_unit": unit,
        "committed": summary.amounts(budget, committed),
        "reserved": summary.amounts(budget, later),
        "spent": summary.amounts(budget, tree.root.peak),
        "remaining": summary.amounts(budget, budget.room(tree.root.peak), up=False),
    }


def _costs(state: State, waiting: Iterable[Any], scope: str | None) -> list[list[Step]]:
    """Return the cost of the open parts of reservations in a scope or below it (None: in all)."""
    return [
        steps
        for _, body, left in waiting
        if scope is None or f"{body.scope}/".startswith(f"{scope}/")
        for steps in body.costs(state.width, left)
    ]


def units(budget: Budget, tree: SpentTree) -> Report:
    """Return up to `MOST` ranges of units with the largest shares of the budget spent, by unit."""
    largest = list(islice(tree.largest(lambda spent: summary.share(budget, spent)), MOST + 1))
    joined: list[tuple[int, int, Amounts]] = []
    for first, last, spent in sorted(largest[:MOST]):
        if joined and joined[-1][1:] == (first - 1, spent):
            joined[-1] = joined[-1][0], last, spent
        else:
            joined.append((first, last, spent))
    rows = [{"first": first, "last": last, **budget.named(spent)} for first, last, spent in joined]
    return {"rows": rows, "more": len(largest) > MOST}


def _reservations(passed: "Pass", waiting: Iterable[Any]) -> Report:
    left = {number: ranges for number, _, ranges in waiting}
    rows = []
    for number, line in islice(reversed(passed.reserved.items()), MOST):
        still = left.get(number, [])
        drawn = line["parts"] - intervals.count(still) - line["returned"]
        rows.append({**line, "drawn": drawn, "open": intervals.text(still)})
    return {"rows": rows, "all": len(passed.reserved)}


@dataclass
class Pass:
    """Collects facts entry by entry; `worst` is the unit whose spending is tracked over time."""

    at: kinds.Entry
    budget: Budget
    worst: int
    only: LogFilter = EVERY
    bad: int | None = None
    days: dict[str, Report] = field(default_factory=dict)
    reserved: dict[int, Report] = field(default_factory=dict)
    teams: dict[Team, tuple[int, Amounts]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._sum = zero(self.budget.width)
        self._bodies: dict[int, ReservationBody] = {}  #: of reservations, by entry
        # Memory must not grow with every entry: of each list the latest are kept, and all are counted.
        self._lists = {kind: deque[Report](maxlen=MOST) for kind in LISTS}
        self._counts: Counter[str] = Counter()
        self._chosen: Counter[str] = Counter()
        self._charges: dict[int, int] = {}  #: number of a mark to that of its charge

    def take(self, entry: kinds.Entry) -> bool:
        """Process the next entry; if it does not continue the chain, set `bad`, return False."""
        try:
            good = entry.succeeds(self.at)
            if good:
                self._gather(entry, facts_of(entry))
        except BAD_ENTRY:
            good = False
        if not good:
            self.bad = self.at.number + 1
            return False
        self.at = entry
        return True

    def answers(self) -> Report:
        """Return spending by day and the lists, as the report holds them."""
        spending = [
            {"day": day, **line, "spent": line["spent"] and self.budget.named(line["spent"])}
            for day, line in sorted(_shorter(self.days).items())
            if self.only.has_day(day)
        ]
        whole = {} if self.only == EVERY else {name: {"in_ledger": self._counts[name]} for name in LISTS}
        lists = {
            name: {"rows": list(items), "all": self._chosen[name], **whole.get(name, {})}
            for name, items in self._lists.items()
        }
        teams = [
            {**dict(zip(TEAM, key, strict=True)), "charges": charges, "spent": self.budget.named(spent)}
            for key, (charges, spent) in sorted(self.teams.items(), key=lambda item: str(item[0]))
        ]
        spent_by = {"of_unit": self.worst, "rows": teams}
        return {"spending": {"of_unit": self.worst, "rows": spending}, "teams": spent_by, **lists}

    def _gather(self, entry: kinds.Entry, facts: Report) -> None:
        day = str(facts.get("time", ""))[:10]
        line = self.days.setdefault(day, {**dict.fromkeys(COUNTED, 0), "spent": None})
        if entry.kind in (kinds.CHARGE, kinds.RESERVATION, kinds.FORFEIT):
            cost = at_unit(spent_by(entry, self.budget.width), self.worst, zero(self.budget.width))
            self._sum = plus(self._sum, cost)
            if entry.kind != kinds.FORFEIT:
                line["charges"] += 1
                self._of_team(facts, cost)
        if entry.kind == kinds.RESERVATION:
            self._reserve(entry, facts)
        elif entry.kind in (kinds.ROUNDS, kinds.RETURN):
            self._of_parts(entry, facts, line)
        elif entry.kind == kinds.REFUSAL:
            line["refused"] += 1
        elif entry.kind in (kinds.DRAWING, kinds.RELEASE):
            self._of_drawing(entry, facts, line)
        if entry.kind in _LISTED:
            self._note(*_LISTED[entry.kind], entry, facts)
        line["spent"] = self._sum

    def _reserve(self, entry: kinds.Entry, facts: Report) -> None:
        """Add a reservation to those of the report."""
        body: ReservationBody = read_body(entry.kind, entry.body)
        about = {"entry": entry.number, "key": entry.key}
        about |= {name: facts.get(name) for name in ("purpose", "by", "scope")}
        self._bodies[entry.number] = body
        self.reserved[entry.number] = {**about, "parts": body.everything[0][1], "returned": 0}

    def _of_parts(self, entry: kinds.Entry, facts: Report, line: Report) -> None:
        taken: RoundsBody = read_body(entry.kind, entry.body)
        number, which = taken.reservation, intervals.read(taken.parts)
        line["drawn" if entry.kind == kinds.ROUNDS else "returned"] += intervals.count(which)
        facts["parts"] = intervals.text(which)
        if entry.kind == kinds.RETURN:
            if number not in self._bodies:
                raise ValueError(f"entry {number} is no reservation")
            self.reserved[number]["returned"] += intervals.count(which)
            back = sum_at(self._bodies[number].costs(self.budget.width, which), self.worst, self.budget.width)
            self._sum = tuple(map(Fraction.__sub__, self._sum, back))

    def _of_team(self, facts: Report, cost: Amounts) -> None:
        """Add a chosen charge to those of its month, scope, person and purpose, at the worst unit."""
        if not self.only.has(facts):
            return
        month = str(facts.get("time", ""))[:7]
        scope, by, purpose = (facts.get(name) for name in TEAM[1:])
        team = month, scope, by, purpose
        if not all(name is None or isinstance(name, str) for name in team):
            raise ValueError("a scope, a person and a purpose are texts")
        if team not in self.teams and len(self.teams) >= TEAMS:
            team = month, scope, None, None
        charges, spent = self.teams.get(team, (0, zero(self.budget.width)))
        self.teams[team] = charges + 1, plus(spent, cost)

    def _of_drawing(self, entry: kinds.Entry, facts: Report, line: Report) -> None:
        """Count a draw; for a charge in parts, also list the drawn node."""
        about = entry.about or 0
        charge = self._charges.get(about, about)
        if entry.kind == kinds.DRAWING:
            line["drawn"] += 1
            self._charges.pop(about, None)
            self._charges[entry.number] = charge
        elif "part" in facts:
            _, key, part = facts["part"]
            names = ("charge", "key", "part")
            self._note("nodes", names, entry, dict(zip(names, (charge, key, str(part)), strict=True)))

    def _note(self, name: str, names: tuple[str, ...], entry: kinds.Entry, facts: Report) -> None:
        self._counts[name] += 1
        if not self.only.has(facts):
            return
        self._chosen[name] += 1
        what = {"entry": entry.number, "kind": entry.kind, "time": facts.get("time")}
        chosen = {key: facts.get(key) for key in names}
        self._lists[name].append({**what, **chosen, "head": entry.digest})


def at_unit(steps: Iterable[Step], unit: int, before: Amounts) -> Amounts:
    """Return the value of a step function at a unit; `before` is its value left of its first step."""
    value = before
    for first, later in steps:
        if first > unit:
            break
        value = later
    return value


def sum_at(functions: Iterable[list[Step]], unit: int, width: int) -> Amounts:
    """Return the sum of step functions at a unit."""
    total = zero(width)
    for steps in functions:
        total = plus(total, at_unit(steps, unit, zero(width)))
    return total


def _shorter(days: dict[str, Report]) -> dict[str, Report]:
    """Return the days; if too many, merged into months: counts summed, `spent` at the end."""
    if len(days) <= 2 * MOST:
        return days
    months: dict[str, Report] = {}
    for day, line in sorted(days.items()):
        month = months.setdefault(day[:7], dict.fromkeys(line, 0))
        months[day[:7]] = {name: line[name] if name == "spent" else month[name] + line[name] for name in line}
    return months
