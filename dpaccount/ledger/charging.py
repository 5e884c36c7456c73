"""Decides whether charges fit the budget, and builds the results; threads of one process share a commit.

The first thread leads: it decides all queued jobs in one transaction and commits for all of them.  Other
threads queue meanwhile, and one of them leads next.  One wait for the disk serves many.

If a leader is interrupted (Ctrl-C), the next one first searches the chain for the entries already made for
a job, by digest (salted, hence unique): if found they were committed, else the job is decided again.  So no
thread waits forever, is charged twice, or gets a wrong result.
"""

import copy
import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Any, Final

from msgspec import convert

from dpaccount.errors import InputError, LedgerError, damaged
from dpaccount.exact import printed, shown
from dpaccount.ledger.balances import rights, step_functions
from dpaccount.ledger.balances.bodies import MOST_BODY, Part, Spending, formed, parts_of, read_body
from dpaccount.ledger.balances.budget import Budget
from dpaccount.ledger.balances.segment_tree import Opened, TooLargeError, marks_of, read_by, remember
from dpaccount.ledger.balances.state import Asked as Waiting
from dpaccount.ledger.balances.state import Over, Overlay, State, lineage, rows_of
from dpaccount.ledger.entry import CERTIFIED, CHARGE, REFUSAL, REQUEST, RESERVATION, Entry
from dpaccount.ledger.journal import entries
from dpaccount.ledger.journal.entries import Totals
from dpaccount.ledger.requests import Charge, Request
from dpaccount.ledger.stores.rows import MAX_CHARGES, Rows, again
from dpaccount.noise import process

STAMPED: Final = ("time", "salt", "role", "server", "by")  #: members of a body that say who made it and when
PATIENCE: Final = 0.5  #: seconds after which a waiting thread checks without a notification
SEARCHED = 2**15  #: maximum nodes searched for a unit that exceeds a limit
SEARCHED_TOGETHER = 64  #: the same for charges that are decided together

Asked = tuple[Request, str | None]  #: a request, and its key


class KeyTakenError(LedgerError):
    """A key belongs to a different charge."""


class Batch:
    """Decides charges one after another in one transaction; stores balances once, at its end."""

    def __init__(self, rows: Rows, totals: Totals, budget: Budget) -> None:
        self.totals = totals
        self._rows, self._budget, self._bodies = rows, budget, partial(entries.body_of, rows)
        self._nodes = Overlay(rows.node)
        self._opened: dict[int, Opened] = {}
        self.told = False  #: whether somebody is told what others spent, who leaves a trace then

    def decide_all(self, asked: list[Asked]) -> list[Charge]:
        """Decide requests in order: as `decide` would, one by one."""
        if len(asked) == 1:  # saves reading its key twice
            return [self.decide(*asked[0])]
        charges: list[Charge] = []
        joins, size, streak = self._joins(asked), len(asked), 0
        while (first := len(charges)) < len(asked):
            together = sum(1 for _ in takewhile(bool, joins[first : first + size]))
            # No amount is negative: where several charges fit together, each fits after those before it.
            decided = self._accepted_together(asked[first : first + together]) if together > 1 else None
            if together > 1 and decided is None:
                size, streak = 1, 0
                continue
            charges += decided or [self.decide(*asked[first])]
            # Refusals cost little: after one, charges are tried alone, and twice as many after two that fit.
            streak = streak + 1 if charges[-1].reason is None else 0
            if streak > 1:
                size, streak = 2 * size, 0
        return charges

    def decide(self, request: Request, key: str | None, *, dry_run: bool = False) -> Charge:
        """Accept a request, refuse it with a reason, or return the charge that its key made before."""
        known = None if key is None else self._rows.keyed(key)
        if known is not None:
            try:
                paid = same_charge(self._rows, known, request, self._budget.width)
                self._check_person(known, self._facts(request))
            except KeyTakenError as error:
                return replace(self._answer(request, None, str(error)), taken=True)
            return replace(self._answer(paid, known.number), known=True)
        state, facts = self._state(), self._facts(request)
        self._check_clock(state, facts["time"])
        asks, over = convert(facts, Spending), None
        reason = denied = rights.denied(state, asks.by, asks.role, asks.scope, asks.time)
        # Who may not charge is not told what others spent.
        if not denied:
            reason, over = self._tried(state, request, facts)
        kind, body = (REFUSAL, "") if reason else accepted(request, facts)
        if not reason and denied is not None:
            reason = read_body(kind, body).approval(state)
            if reason == "":
                return self._ask(request, key, facts, kind, body, dry_run=dry_run)
        if dry_run and not (self.told and over):
            return replace(self._answer(request, None, reason), over=over)
        if reason is None:
            if kind == RESERVATION:  # its open parts are recorded, too
                state = self._state()
                entries.apply(self._rows, state, self._budget, kind, body)
            entry = self._rows.append(kind, body, state.text, key=key)
            state.nodes.keep(self._nodes)
        else:
            told = {**facts, "key": key, "reason": reason}
            body = entries.as_written(told)
            if len(body) > MOST_BODY:
                body = entries.as_written({name: told[name] for name in told if name != "plan"})
            entry = self._lost(body) or self._rows.append(REFUSAL, body, self.totals.text)
        self.totals = self.totals.next(entry)
        return replace(self._answer(request, entry.number, reason), over=over)

    def _lost(self, body: str) -> Entry | None:
        """Return the last entry if it is this refusal, under this key: only its answer was lost."""
        at, new = self.totals.at, json.loads(body)
        if at.kind != REFUSAL or new["key"] is None:
            return None
        return at if {**entries.facts_of(at), "time": new["time"], "salt": new["salt"]} == new else None

    def _check_person(self, known: Entry, facts: Mapping[str, Any]) -> None:
        """Refuse the key of another person, or of one who may not charge any more."""
        asks, paid = convert(facts, Spending), entries.facts_of(known)
        person, owner = asks.by or asks.role, paid.get("by") or paid.get("role")
        reason = rights.denied(self._state(), asks.by, asks.role, asks.scope, asks.time)
        if rights.people(self._state()) is not None and owner not in (None, person):
            reason = f"entry {known.number} with this key is another person's; use a new key"
        if reason:
            raise KeyTakenError(reason)

    def _ask(
        self, request: Request, key: str | None, facts: dict[str, Any], kind: str, body: str, *, dry_run: bool
    ) -> Charge:
        """Write down that a charge which takes an approval is asked for, once under a key."""
        what, state = "another person who may approve it must do so first", self._state()
        waits = None if key is None else self._otherwise(state, key, facts)
        if dry_run or waits:
            return self._answer(request, None, waits or what)
        asked = entries.as_written({**request_for(kind, facts, json.loads(body)), "key": key})
        entries.apply(self._rows, state, self._budget, REQUEST, asked)
        entry = self._rows.append(REQUEST, asked, state.text)
        state.nodes.keep(self._nodes)
        self.totals = self.totals.next(entry)
        said = f"entry {entry.number} asks for it; {what}, then repeat this"
        return self._answer(request, entry.number, said)

    def _otherwise(self, state: State, key: str, facts: Mapping[str, Any]) -> str | None:
        """Return how this charge is asked for under its key in other words: it would wait beside that."""
        for number in (one.entry for _, one in state.register.items() if isinstance(one, Waiting)):
            made = json.loads(self._bodies(number))
            asked, mine = {**made, **made["facts"]}, {**facts, "key": key}
            if any(asked.get(name) != mine.get(name) for name in ("digest", "by", "role", "key")):
                continue
            for name in ("purpose", *CERTIFIED):
                if asked.get(name) != mine.get(name):
                    return (
                        f"entry {number} under this key has {name} {asked.get(name)!r}; repeat it so, or drop"
                        f" it by `dpaccount ledger approve {number} --refuse`"
                    )
        return None

    def _joins(self, asked: list[Asked]) -> list[bool]:
        """Return which are charges with a bound, no cohort and a new key, each key once."""
        keys, joins = set[str](), list[bool]()
        for request, key in asked:
            plain = request.steps is not None and request.parts is None and "cohort" not in request.facts
            joins.append(plain and (key is None or (key not in keys and self._rows.keyed(key) is None)))
            keys |= set() if key is None else {key}
        return joins

    def _accepted_together(self, run: list[Asked]) -> list[Charge] | None:
        """Accept charges of one scope and day if all fit together; only the last gets a root."""
        state = self._state()
        if rights.people(state) is not None:
            return None
        all_facts = [self._facts(request) for request, _ in run]
        self._check_clock(state, all_facts[0]["time"])
        where = [convert(facts, Spending) for facts in all_facts]
        if len({(one.scope, one.time[:10]) for one in where}) > 1:
            return None
        try:
            where[0].charge(state, each := [request.steps or [] for request, _ in run], self._bodies)
        except TooLargeError:
            return None
        scope = where[0].scope
        alone = any(state.over_one(self._budget, steps, scope) for steps in each)
        if alone or state.over(self._budget, scope, SEARCHED_TOGETHER) is not None:
            return None
        charges = []
        for place, ((request, key), facts) in enumerate(zip(run, all_facts, strict=True), 1):
            root = state.text if place == len(run) else None
            entry = self._rows.append(*accepted(request, facts), root, key=key)
            self.totals = self.totals.next(entry)
            charges.append(self._answer(request, entry.number))
        state.nodes.keep(self._nodes)
        return charges

    def _tried(
        self, state: State, request: Request, facts: Mapping[str, Any]
    ) -> tuple[str | None, Over | None]:
        """Add a request to `state`; return why it is refused, and by which limit, or None if it fits."""
        if request.steps is None:
            able = " or ".join(request.takers)
            right = f"a ledger in {able} takes it" if able else "prove it at one (ε, δ) and use approximate"
            measure = self._budget.measure.name
            return f"the charge has no bound in this ledger's measure, {measure} ({right})", None
        try:
            convert(facts, Spending).charge(state, [request.steps], self._bodies)
        except TooLargeError:
            limit = shown(self._budget.epsilon)
            return f"the charge would bring a unit beyond any budget, and the budget's ε is {limit}", None
        over = state.over_one(self._budget, request.steps, facts.get("scope"))
        over = over or state.over(self._budget, facts.get("scope"), SEARCHED)
        less = "; such plans add up to less in a ledger made with --measure gdp" if request.takers else ""
        return None if over is None else refusal(over) + less, over

    def store(self) -> Totals:
        """Store the balances after all accepted charges; return the totals."""
        self._nodes.keep(self._rows)
        remember(self._opened, self._state().life.height)
        return self.totals

    def _facts(self, request: Request) -> dict[str, Any]:
        return entries.stamped({**request.facts, "digest": request.digest}, self._rows.stamp)

    def _check_clock(self, state: State, time: str) -> None:
        if state.register.digest:  # else nothing follows from the time
            entries.check_clock(self._rows, time)

    def _state(self) -> State:
        return self.totals.state(self._nodes.node, self._opened)

    def _answer(self, request: Request, number: int | None, reason: str | None = None) -> Charge:
        steps, certificate = request.steps, request.facts.get(CERTIFIED[0])
        spends = None if steps is None else step_functions.most(steps, self._budget.width)
        return Charge(number, self.totals.at.digest, spends, self._budget, reason, certificate=certificate)


@dataclass(eq=False)
class ToCharge:
    """One thread's requests with their keys, and the results in `charges`; `done` once these are known."""

    requests: list[Asked]
    charges: list[Charge] = field(default_factory=list)
    error: Exception | None = None
    done: bool = False

    @property
    def asked(self) -> float:
        """Return the time of the last request: the amounts of all were computed by then."""
        return max((request.asked for request, _ in self.requests), default=time.monotonic())

    def decide(self, batch: Batch, rows: Rows) -> None:
        """Decide all requests, unless an interrupted transaction has committed them already."""
        if not self._committed(rows):
            self.charges, self.error = batch.decide_all(self.requests), None

    def nodes(self, before: Totals) -> set[int]:
        """Return the nodes that deciding will read, as predicted from the totals `before`."""
        wide, state = before.width, before.state(lambda _: None)
        marks = [mark for request, _ in self.requests for mark in marks_of(request.steps or [], wide)[1]]
        nodes = read_by(marks, state.life.height)
        if state.register.digest:
            facts = [request.facts for request, _ in self.requests]
            scopes = {f"scope {name}" for one in facts for name in lineage(one.get("scope"))}
            cohorts = {f"cohort {one['cohort']}" for one in facts if "cohort" in one}
            nodes |= rows_of({"period", "year", "rights", *scopes, *cohorts})
        return nodes

    def fails(self, error: Exception) -> None:
        """Finish with a copy of `error`: each thread raises its own."""
        self.error, self.done = copy.copy(error), True

    def _committed(self, rows: Rows) -> bool:
        """Return whether the chain holds this job's last entry, by (salted) digest."""
        written = [one for one in self.charges if one.entry is not None and not one.known]
        if not written or written[-1].entry is None:
            return False
        # A salted digest is unique: if it is there, the interrupted transaction did commit.
        entry = rows.entry(written[-1].entry)
        return entry is not None and entry.digest == written[-1].head


class Group:
    """The queue of one process's jobs for one ledger; `commit` decides some in one transaction.

    `held` returns whether the calling thread already holds the lock that a commit needs.
    """

    def __init__(self, commit: Callable[[list[ToCharge]], None], held: Callable[[], bool]) -> None:
        self._commit, self._held = commit, held
        self._turn = threading.Condition()
        self._waiting: list[ToCharge] = []  #: the queue; each thread removes its own job
        self._leader: ToCharge | None = None

    def ask(self, job: ToCharge) -> ToCharge:
        """Queue a job until done, leading if no thread leads; raise its error or return it."""
        process.outside_tasks()  # another thread may lead
        if self._held():  # queueing could deadlock: a leader may wait for this thread's lock
            self._commit_jobs([job])
        else:
            self._queue(job)
        if job.error is not None:
            raise job.error
        return job

    def _queue(self, job: ToCharge) -> None:
        try:
            with self._turn:
                self._waiting.append(job)
                while not job.done and self._leader is not None:
                    self._turn.wait(PATIENCE)
                if not job.done:
                    self._leader = job
            if self._leader is job:
                self._commit_jobs(self._next(job))
        finally:
            if self._leader is job:
                self._leader = None
            with self._turn:
                self._waiting.remove(job)
                self._turn.notify_all()

    def _next(self, mine: ToCharge) -> list[ToCharge]:
        """Return the leader's own job and the first queued ones, up to `MAX_CHARGES` charges."""
        with self._turn:
            others = [one for one in self._waiting if one is not mine and not one.done]
        jobs, room = [mine], MAX_CHARGES - len(mine.requests)
        for one in others:
            room -= len(one.requests)
            if room < 0:
                break
            jobs.append(one)
        return jobs

    def _commit_jobs(self, jobs: list[ToCharge]) -> None:
        try:
            again(lambda: self._commit(jobs))
        except LedgerError as error:
            for job in jobs:
                job.fails(error)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].fails(error)
                return
            for job in jobs:  # one job raised, and nothing was committed: retry one by one
                self._commit_jobs([job])
        else:
            for job in jobs:
                job.done = True


def request_for(kind: str, facts: Mapping[str, object], body: Mapping[str, object]) -> dict[str, object]:
    """Return the body that asks for an entry of this kind, by who would make it."""
    own = {name: facts[name] for name in STAMPED if name in facts}
    return {**own, "asks": kind, "facts": {name: body[name] for name in body if name not in STAMPED}}


def accepted(request: Request, facts: Mapping[str, Any]) -> tuple[str, str]:
    """Return kind and body of the entry of an accepted request, a charge or a reservation."""
    if request.parts is None:
        return CHARGE, entries.as_written({**facts, "steps": entries.written(request.steps or [])})
    parts = [[count, entries.written(steps)] for count, steps in request.parts]
    return RESERVATION, entries.as_written({**facts, "parts": parts})


def same_charge(rows: Rows, known: Entry, request: Request, width: int) -> Request:
    """Return what the charge that has this key paid, if the request is the same; else raise `KeyTakenError`.

    The entry is not believed: it must pay at least what the request costs now, in the same scope.
    """
    entries.check_unchanged(rows, known)
    try:
        paid, body = formed(known, width)
        request = _as_then(rows, known.number, body, request)
        if body.digest != request.digest or known.kind != (CHARGE if request.parts is None else RESERVATION):
            raise KeyTakenError(
                f"the key {known.key!r} belongs to entry {known.number}, a different charge; use a new key"
            )
        parts = [(1, paid)] if request.parts is None else parts_of(body, width)
    except ValueError as error:
        raise damaged(f"entry {known.number} is no charge ({error})") from None
    # The role that may charge can write an entry with the right digest and smaller amounts by SQL.
    costs = None if request.steps is None else request.parts or [(1, request.steps)]
    where = convert({"time": body.time, **request.facts}, Spending)
    same = (body.scope, body.cohort, body.units) == (where.scope, where.cohort, where.units)
    if not same or costs is None or not _pays(parts, costs, width):
        raise KeyTakenError(
            f"entry {known.number} has the key {known.key!r} and pays less than this charge costs now, or"
            " elsewhere, so nothing is drawn for it; use a new key"
        )
    return replace(request, facts=entries.facts_of(known), steps=request.steps if request.parts else paid)


def _as_then(rows: Rows, number: int, body: Any, request: Request) -> Request:
    """Return the request for the units that its cohort had when this entry charged it: it may have grown."""
    if request.then is None or body.units is None or body.cohort != request.facts["cohort"]:
        return request
    with suppress(InputError):  # of a plan for other units: a different charge
        # The entry is not believed: its units must be those that the cohort was given.
        return request.then(entries.units_before(rows, number, body.cohort))
    return request


def _pays(paid: list[Part], costs: list[Part], width: int) -> bool:
    """Return whether parts are as many, and each pays each unit no less than the other's cost."""
    if [count for count, _ in paid] != [count for count, _ in costs]:
        return False
    for (_, more), (_, cost) in zip(paid, costs, strict=True):
        back = [(unit, step_functions.negative(amounts)) for unit, amounts in cost]
        if any(one < 0 for _, rest in step_functions.total([more, back], width) for one in rest):
            return False
    return True


def refusal(over: Over) -> str:
    """Return why a charge that would exceed the limit `over` is refused."""
    whose, budget, unit, total = over[:4]
    named = budget.named(total)
    sums = ", ".join(f"{name} {amount}" for name, amount in named.items())
    epsilon = named.get("epsilon") or printed(budget.measure.enclosure(total, budget.delta).upper, up=True)
    known = "" if [*named] == ["epsilon"] else f" ({sums})"
    at = sums if epsilon == "inf" else f"ε {epsilon} at δ {shown(budget.delta)}{known}"
    limit = f"ε {shown(budget.epsilon)}" + (f" at δ {shown(budget.delta)}" if epsilon == "inf" else "")
    share = {"approximate": 1, "approximate-zcdp": 2}.get(budget.measure.name)  # of δ, which adds up
    if share and total[1] > budget.delta / share:
        at, limit = f"δ {named['delta']}", f"δ {shown(budget.delta / share)}"
        if share == 1 and total[0] > budget.epsilon:
            at = f"ε {named['epsilon']} and {at}"
            limit = f"ε {shown(budget.epsilon)} and {limit}"
    if not unit:  # of what is spent in different measures none says what one unit has spent
        return f"too many units differ to tell that none comes beyond {whose.format(limit)}: the most is {at}"
    if over.of_one:
        return f"the charge costs unit {unit} {at}, beyond {whose.format(limit)}"
    return f"the charge would bring unit {unit} to {at}, beyond {whose.format(limit)}"
