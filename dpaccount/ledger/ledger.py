"""The durable ledger: a charge is on the disk before any noise is drawn.

>>> from tempfile import TemporaryDirectory
>>> from fractions import Fraction
>>> from dpaccount.plan.events import Gaussian, Plan
>>> from dpaccount.relation import Relation
>>> with TemporaryDirectory() as folder:
...     url = f"sqlite:///{folder}/budget.db"
...     _ = init(url, epsilon=1, delta=Fraction("1e-6"), unit="person", relation="replace-one")
...     with Ledger.open(url) as ledger:
...         plan = Plan(Relation.REPLACE_ONE, (Gaussian(sigma=10),))
...         charge = ledger.charge_plan(plan, "mean age")
...         charge.entry, ledger.show()["entries"], ledger.verify()
(1, 1, {'valid': True, 'first_bad': None})
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from importlib import import_module
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, NoReturn, Required, TypedDict, TypeVar, Unpack
from weakref import WeakValueDictionary

from dpaccount.documents import collector_paused
from dpaccount.errors import InputError, LedgerError, damaged
from dpaccount.exact import Exact, exact_argument, whole_argument
from dpaccount.forks import unforked
from dpaccount.ledger import entry as kinds
from dpaccount.ledger import requests
from dpaccount.ledger.balances import ranges, rights
from dpaccount.ledger.balances.bodies import formed, read_body
from dpaccount.ledger.balances.budget import DEFAULT_MEASURE, budget, one_line, write_limit
from dpaccount.ledger.balances.ranges import Ranges
from dpaccount.ledger.balances.segment_tree import nothing
from dpaccount.ledger.balances.state import cohort_name, scope_name
from dpaccount.ledger.balances.step_functions import Cover, most
from dpaccount.ledger.charging import Asked, Batch, Group, KeyTakenError, ToCharge, request_for
from dpaccount.ledger.entry import ORIGIN, Entry, seal
from dpaccount.ledger.journal import entries
from dpaccount.ledger.journal.entries import Totals
from dpaccount.ledger.requests import Charge, RefusedError, Request
from dpaccount.ledger.stores.place import SERVICE, address
from dpaccount.ledger.stores.rows import MAX_CHARGES, Prefetch, Rows, again, begin
from dpaccount.ledger.stores.store import Store, create
from dpaccount.noise import process
from dpaccount.plan.events import Plan

if TYPE_CHECKING:  # a charge of a plan draws no noise, and imports nothing of it
    from dpaccount.ledger.streamed_receipt import After, ResumableReceipt
    from dpaccount.noise.proved import Proved
    from dpaccount.noise.receipt import Receipt
    from dpaccount.proof import Theorem

AHEAD: Final = 8  #: after n draws, n/8 more are marked ahead; a crash spends at most these
SERVED: Final = "dpaccount.service_client"  #: builds on this module, which so can import it by name alone
T = TypeVar("T")
Selection = Callable[[Ranges], Ranges]
Taken = tuple[int | None, Ranges]  #: the entry's number (None if no part was left), and its parts
_UNNAMED: Final = "unnamed "  #: prefix of the random key of a charge without a key


class Terms(TypedDict, total=False):
    """What `init` takes after the URL."""

    epsilon: Required[Exact]
    delta: Required[Exact]
    unit: Required[str]
    relation: Required[str]
    measure: str
    life_epsilon: Exact | None
    life_delta: Exact | None
    dataset: str
    declaration: str


def init(  # noqa: PLR0913 - what entry 0 holds
    url: str,
    *,
    epsilon: Exact,
    delta: Exact,
    unit: str,
    relation: str,
    measure: str = DEFAULT_MEASURE,
    life_epsilon: Exact | None = None,
    life_delta: Exact | None = None,
    dataset: str = "",
    declaration: str = "",
) -> dict[str, Any]:
    """Create a ledger at `url` with a budget and return what `Ledger.show` returns.

    0 <= `epsilon` <= 10^300 (10^6 for "either"), 0 <= `delta` < 1; `unit` names what is protected
    ("person"), `relation` the adjacency, `measure` (one of `MEASURES`) how charges add up.  The budget
    is that of a period, which a reset ends; `life_epsilon` and `life_delta` (by default `delta`) cap all
    periods together, for ever.  `dataset` names the data, `declaration` is a digest of what is declared
    of them: of rows it would be a fact about them.  Raises `LedgerError` if the ledger exists,
    `InputError` for an invalid budget.
    """
    limits = budget(epsilon, delta, unit, relation, measure, (life_epsilon, life_delta))
    one_line("dataset and declaration", f"{dataset} {declaration}")
    limits = replace(limits, dataset=dataset, declaration=declaration)

    def first(stamp: Mapping[str, str]) -> Entry:
        body, root = entries.as_written({**limits.as_origin(), **stamp}), nothing(limits.width).text
        return Entry(
            0, kinds.BUDGET, None, None, body, root, seal(ORIGIN, 0, kinds.BUDGET, None, None, body, root)
        )

    create(address(url), lambda connection, stamp: begin(connection, [first(stamp)]))
    with Ledger.open(url) as ledger:
        return ledger.show()


class _Known:
    """One process's cache of a ledger: receipts, marks, totals.  A forked child starts anew."""

    def __init__(self, commit: Callable[[list[ToCharge]], None], held: Callable[[], bool]) -> None:
        self.process = process.identity()
        self.group = Group(commit, held)
        self.receipts: WeakValueDictionary[int, Receipt] = WeakValueDictionary()
        #: by charge: its last durable mark, and the last draw of the charge (from 1) that it covers
        self.marks: dict[int, tuple[int, int]] = {}
        self.seen: dict[int, int] = {}  #: by charge: the last entry by which it was undrawn
        self.totals: Totals | None = None
        self.gate = threading.Lock()  # threads share receipts, one per entry


class Ledger:
    """An open ledger; close it, or use it in a ``with`` block.  Threads may share it."""

    def __init__(self, store: Store, origin: Entry) -> None:
        self.budget = entries.budget_of(origin)
        self._store, self._origin = store, origin
        self.tells_others = False  #: of a service: a dry run that a limit refuses is recorded as a refusal
        self._known = _Known(self._commit, lambda: self._store.place.held())  # noqa: PLW0108 - a client has none

    @classmethod
    def create(cls, url: str, **terms: Unpack[Terms]) -> "Ledger":
        """Create a ledger with a budget, as `init` does, and open it; raises as `init` does."""
        init(url, **terms)
        return cls.open(url)

    @classmethod
    def open(cls, url: str) -> "Ledger":
        """Open an existing ledger; raises `LedgerError` if it is missing, damaged or not a ledger."""
        if url.startswith(SERVICE):
            return import_module(SERVED).RemoteLedger(url)
        return again(lambda: cls._opened(url))

    @classmethod
    def _opened(cls, url: str) -> "Ledger":
        store = Store.open(url)
        try:
            with store.reading() as rows:
                return cls(store, entries.first_entry(rows))
        except LedgerError:
            store.close()
            raise

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise LedgerError("an open ledger cannot be copied or pickled; open it again, by its URL")

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the ledger's connections."""
        self._store.close()

    # -------------------------------------------------------------- charges

    def charge(
        self,
        theorem: "Theorem",
        purpose: str,
        cover: Cover | None = None,
        key: str | None = None,
        *,
        reads: int | None = None,
        scope: str | None = None,
    ) -> "Receipt":
        """Charge what `theorem` proves, durably; return the receipt for its noise.

        `cover` is the range (first, last) of units that pay, from 1; by default those that the
        theorem names, or else all.  If it names none, the caller vouches that no unit outside the
        cover is read; fewer than `reads` units (a public number) are refused.  `purpose` is a line
        for the log.  `key` makes the charge idempotent: the same theorem under the same key returns
        the same entry, and only one run can draw.  `scope` must have room, too.  Raises
        `RefusedError` (nothing was charged), `InputError` for another relation or a wrong cover,
        `LedgerError` for a key in use, `ReceiptError` for noise that cannot be drawn, or was.
        """
        name = _UNNAMED + token_hex(16) if key is None else key
        request = requests.of_theorem(self.budget, theorem, purpose, cover, reads).within(scope)
        return self._receipt(*self._paid(theorem, request, name), fresh=key is None)

    def charge_theorem(
        self,
        theorem: "Theorem",
        purpose: str,
        cover: Cover | None = None,
        key: str | None = None,
        *,
        reads: int | None = None,
        scope: str | None = None,
        by: str | None = None,
        dry_run: bool = False,
    ) -> Charge:
        """Charge as `charge` does, without a receipt, `by` a name for the log; a `dry_run` only decides."""
        request = requests.of_theorem(self.budget, theorem, purpose, cover, reads).within(scope)
        return self.decide(request if by is None else request.made_by(by), key, dry_run=dry_run)

    def charge_in_parts(
        self,
        theorem: "Theorem",
        purpose: str,
        cover: Cover | None,
        key: str,
        after: "After" = str,
        *,
        scope: str | None = None,
    ) -> "ResumableReceipt":
        """Charge as `charge` does; later processes with the same key can resume drawing its noise.

        Each part is stored when drawn, with what `after` then returns (see `ResumableReceipt`).
        """
        with unforked():  # a fork must not inherit half an import
            from dpaccount.ledger.streamed_receipt import ResumableReceipt
        request = requests.of_theorem(self.budget, theorem, purpose, cover).within(scope)
        return ResumableReceipt(self._store, self._totals, *self._paid(theorem, request, key), after)

    def _paid(self, theorem: "Theorem", request: Request, key: str) -> tuple["Proved", int]:
        """Charge a theorem; return it prepared for drawing, and the entry's number."""
        with unforked():  # a fork must not inherit half an import
            from dpaccount.noise.receipt import prepared

            proved = prepared(theorem)  # raises before the charge if noise cannot be drawn
        return proved, self.decide(request, key, dry_run=False).entry or 0

    def charge_plan(
        self,
        plan: Plan,
        purpose: str,
        key: str | None = None,
        *,
        by: str | None = None,
        scope: str | None = None,
        cohort: str | None = None,
        certificate: requests.Certificate | None = None,
        dry_run: bool = False,
    ) -> Charge:
        """Charge a plan fixed in advance as one charge, durably; a `dry_run` only decides.

        `purpose` and `key` are those of `charge`, `by` is a name for the log (not authenticated).
        `scope` and all scopes above it must have room; events without a cover are charged to
        `cohort`.  The entry names a `certificate` of the plan's cost, by its digest and the ε that it
        confirms; `ledger verify --certificate` compares both with the document.  Raises
        `RefusedError`, `InputError` and `LedgerError` as `charge` does.
        """
        if cohort is None:
            request = requests.of_plan(self.budget, plan, purpose, by).within(scope)
        else:
            units = self.units_of(cohort)
            request = requests.of_cohort(self.budget, plan, purpose, by, scope, cohort, units)
        return self.decide(request.naming(certificate), key, dry_run=dry_run)

    def charge_many(
        self, asked: Sequence[tuple[Plan, str, str | None]], *, scope: str | None = None
    ) -> list[Charge]:
        """Charge up to 1000 (plan, purpose, key) in `scope`, in one commit, as if one by one.

        A refusal, or a key of a different charge, does not raise: `Charge.reason` holds it.
        """
        if len(asked) > MAX_CHARGES:
            raise InputError(f"{len(asked)} charges at once are too many", f"charge at most {MAX_CHARGES}")
        with collector_paused():
            pairs = [
                (requests.of_plan(self.budget, plan, purpose).within(scope), key)
                for plan, purpose, key in asked
            ]
            return self._decide_all(pairs)

    def decide(self, request: Request, key: str | None, *, dry_run: bool) -> Charge:
        """Decide a request that is priced, under the write lock; raises as `charge` does."""
        [charge] = self._decide_all([(request, key)], dry_run=dry_run)
        if charge.taken:
            raise KeyTakenError(charge.reason)
        if charge.reason is not None:
            raise RefusedError(f"{charge.reason}; nothing was charged and no noise was drawn", charge)
        return charge

    def _decide_all(self, pairs: list[Asked], *, dry_run: bool = False) -> list[Charge]:
        if self._store.by is not None:
            pairs = [(request.made_by(self._store.by), key) for request, key in pairs]
        for _, key in pairs:
            if key is not None:
                one_line("key", key)
        if not dry_run:
            return self._own().group.ask(ToCharge(pairs)).charges
        with self._store.writing() if self.tells_others else self._store.reading() as rows:
            batch = Batch(rows, self._totals(rows), self.budget)
            batch.told = self.tells_others
            entries.check_server(rows, batch.totals)
            return [batch.decide(request, key, dry_run=True) for request, key in pairs]

    def _commit(self, jobs: list[ToCharge]) -> None:
        """Decide the jobs of several threads in one transaction."""
        oldest = min(job.asked for job in jobs)
        with self._store.place.alone():  # until the cache is up to date with the commit
            with self._store.writing(self._wanted(jobs), oldest) as rows:
                batch = Batch(rows, self._totals(rows), self.budget)
                for job in jobs:
                    job.decide(batch, rows)
                totals = batch.store()
            self._own().totals = totals

    def _wanted(self, jobs: list[ToCharge]) -> Prefetch:
        """Return the rows that deciding will read, to be prefetched."""
        before, keys = self._own().totals, [key for job in jobs for _, key in job.requests if key is not None]
        if before is None:
            return Prefetch(None, tuple(keys))
        nodes = frozenset().union(*(job.nodes(before) for job in jobs))
        return Prefetch(before.at.number, tuple(keys), nodes)

    def _receipt(self, proved: "Proved", entry: int, *, fresh: bool) -> "Receipt":
        """Return a charge's receipt, one per entry; a `fresh` key cannot have been drawn."""
        from dpaccount.noise.receipt import issue  # which `_paid` has imported

        known = self._own()
        with known.gate:
            receipt = known.receipts.get(entry)
            if receipt is None:
                if not fresh:
                    with self._store.reading() as rows:
                        known.seen[entry] = entries.check_undrawn(rows, entry)
                receipt = issue(proved, entry, lambda draws, most: self._mark(entry, draws, most))
                known.receipts[entry] = receipt
            return receipt

    def _own(self) -> _Known:
        """Return this process's cache, which is new after a fork."""
        if self._known.process != process.identity():
            self._known = _Known(self._commit, lambda: self._store.place.held())  # noqa: PLW0108 - as above
        return self._known

    def _totals(self, rows: Rows, *, anywhere: bool = False) -> Totals:
        """Return the totals at the end of the chain; raises `LedgerError` if they were changed.

        Checks only the entries since the last call.  A write on another server than the last one is
        refused unless `anywhere`.
        """
        known = self._own()
        if rows.entry(0) != self._origin:
            raise damaged("the ledger's budget was changed")
        before = known.totals
        current = entries.totals(rows, self.budget.width) if before is None else before.followed(rows)
        current.state(rows.node)
        # A standby or an old dump may lack acknowledged charges: it takes a forfeit before all else.
        if rows.writes and not anywhere:
            entries.check_server(rows, current)
        known.totals = current
        return current

    # -------------------------------------------------------------- releases

    def run_state(self, key: int | str) -> entries.RunState:
        """Return the state of a charge's run (kept, charged, being drawn, lost), in one snapshot.

        It is named by its entry or key.  Raises `LedgerError` if an entry of the run was changed in the file.
        """
        with self._store.reading() as rows:
            return entries.run_state(rows, key)

    def release(self, key: str) -> dict[str, Any] | None:
        """Return the kept release of this key's charge, or None; raises as `run_state` does."""
        return self.run_state(key).kept

    def releases(self, text: str) -> list[tuple[int, Any]]:
        """Return the kept releases whose JSON has this text in it, each after its charge's entry number."""
        with self._store.reading() as rows:
            kept = [one for one in rows.entries() if one.kind == kinds.RELEASE and text in one.body]
            for one in kept:
                entries.check_unchanged(rows, one)
            return [(one.about or 0, entries.facts_of(one)) for one in kept]

    def release_with(self, digest: str) -> dict[str, Any] | None:
        """Return the kept release whose document has this digest; None if there is none."""
        return next((body for _, body in self.releases(digest) if body.get("digest") == digest), None)

    def asked_by(self, charge: int | str) -> tuple[int, str | None, str | None]:
        """Return number, person and scope of a charge or reservation, or of the charge of a mark."""
        with self._store.reading() as rows:
            entry = rows.entry(charge) if isinstance(charge, int) else rows.keyed(charge)
            for _ in range(10_000):  # a receipt makes fewer than 400 marks, each about the one before
                if entry is None or entry.kind != kinds.DRAWING:
                    break
                entry = rows.entry(entry.about or 0)
            if entry is None or entry.kind not in (kinds.CHARGE, kinds.RESERVATION):
                raise InputError(
                    f"{charge!r} is not the key of a reservation or charge", "give one, or its entry"
                )
            facts = entries.facts_of(entry)
        return entry.number, facts.get("by"), facts.get("scope")

    def paid(self, charge: int | str) -> Charge:
        """Return what an entry charged, given its number or key, with the head after it.

        Raises `InputError` if there is no such charge, `LedgerError` if it was changed in the file.
        """
        with self._store.reading() as rows:
            entry = entries.charge_of(rows, charge)
            entries.check_unchanged(rows, entry)
            try:
                spends = most(formed(entry, self.budget.width).steps, self.budget.width)
            except ValueError as error:
                raise damaged(f"entry {entry.number} is no charge ({error})") from None
            return Charge(entry.number, entry.digest, spends, self.budget)

    def _mark(self, entry: int, draws: int, most: int) -> None:
        """Mark durably the first `draws` draws of charge `entry`, which pays for `most`.

        Raises `ReceiptError` if another run marked it: that run may have shown its result, and
        drawing again would be a second release.
        """
        known = self._own()
        with known.gate:
            before, marked_to = known.marks.get(entry, (None, 0))
            if draws <= marked_to:
                return
            # The first few are marked one by one, many ahead: a crash spends what is marked and not drawn.
            upto = max(draws, min(most, draws + draws // AHEAD))
            known.marks[entry] = self.mark(entry, (draws, upto), before, known.seen.get(entry)), upto

    def mark(
        self, entry: int, draws: Cover, before: int | None = None, seen: int | None = None, run: str = ""
    ) -> int:
        """Mark draws of a charge, undrawn up to `seen`, after its mark `before`; `run` names who draws."""
        # Only one mark can refer to the one before: another process, or a copy of this one, is refused.
        return self._commit_alone(
            lambda rows, totals: entries.marked(rows, totals.text, entry, before, seen, draws, run)
        ).number

    def keep_release(self, charge: int | str, body: dict[str, Any]) -> None:
        """Store the release `body` (JSON) of a charge, durably; call it before showing the release.

        `charge` is an entry number or a key.  Raises `ReceiptError` if it has another release already.
        """
        text = entries.as_written(body)
        self._commit_alone(lambda rows, totals: entries.kept(rows, totals.text, charge, text))

    # -------------------------------------------------------------- for teams: one entry each

    def set_scope(
        self,
        name: str,
        epsilon: Exact,
        delta: Exact | None = None,
        by: str | None = None,
        *,
        every: str | None = None,
        charge_epsilon: Exact | None = None,
    ) -> Entry:
        """Create the scope `name` ("team/ada" is below "team") or change its cap; return the entry.

        A charge in it must fit its cap (`epsilon`, `delta`; by default δ is the ledger's) and those
        of all scopes above it.  `every` "day", "week", "month" or "year" (UTC) the cap holds anew,
        which is fixed when the scope is made.  A unit's loss in all of them is limited by the budget alone.
        A charge or reservation there that costs a unit more than `charge_epsilon` at the cap's δ is refused.
        Raises `BudgetError` for a cap below what is spent in it.
        """
        limits = {
            "epsilon": write_limit(exact_argument("epsilon", epsilon)),
            "delta": write_limit(self.budget.delta if delta is None else exact_argument("delta", delta)),
        }
        more = {} if every is None else {"every": every}
        if charge_epsilon is not None:
            more["charge_epsilon"] = write_limit(exact_argument("charge epsilon", charge_epsilon))
        return self._arrange(kinds.SCOPE, {"scope": scope_name(name), **limits, **more}, by)

    def check_scope(self, name: str) -> None:
        """Raise `InputError` if there is no such scope."""
        with self._store.reading() as rows:
            self._totals(rows).state(rows.node).existing_scope(scope_name(name))

    def name_cohort(
        self, name: str, units: list[Cover], by: str | None = None, *, grows: bool = False
    ) -> Entry:
        """Define a cohort, as ranges of units; once charged it cannot change.  Return the entry.

        One that `grows` can be given more units then, such as everybody who has joined so far.
        """
        more = {"grows": True} if grows else {}
        facts = {"cohort": cohort_name(name), "units": ranges.joined(units), **more}
        return self._arrange(kinds.COHORT, facts, by)

    def units_of(self, name: str, key: str | None = None) -> list[Cover]:
        """Return a cohort's ranges of units, those that it had when a charge with this `key` was made.

        Raises `InputError` if there is none.
        """
        with self._store.reading() as rows:
            entry = None if key is None else rows.keyed(key)
            if entry is not None and entries.facts_of(entry).get("cohort") == name:
                return entries.units_before(rows, entry.number, name)
            return self._totals(rows).state(rows.node).cohort(name).units

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
        return self.decide(request, one_line("key", key), dry_run=dry_run)

    def draw_parts(
        self, key: str, parts: Ranges | None = None, *, count: int = 1, by: str | None = None, run: str = ""
    ) -> Taken:
        """Mark parts of a reservation as drawn, durably: `parts`, or the first `count` open ones.

        Then this process may draw their noise, once; parts that a crash leaves undrawn are spent.
        Returns entry and parts.  Raises `BudgetError` if one was drawn or returned before.
        """
        if type(count) is not int or count < 1:
            raise InputError(f"{count!r} parts cannot be drawn", "ask for a whole number of at least 1")
        return self._take(kinds.ROUNDS, key, parts, lambda left: ranges.first_of(left, count), by, run)

    def return_parts(
        self, key: str, parts: Ranges | None = None, *, by: str | None = None, run: str = ""
    ) -> Taken:
        """Refund `parts` of a reservation, by default all open ones; they cannot be drawn any more.

        Returns entry and parts.  Raises `BudgetError` if one was drawn or returned before.
        """
        return self._take(kinds.RETURN, key, parts, lambda left: left, by, run)

    def open_parts(self, key: str) -> tuple[int, Ranges]:
        """Return a reservation's entry number and its open parts: neither drawn nor returned."""
        with self._store.reading() as rows:
            return self._left(rows, self._totals(rows), key)

    def grant(
        self,
        person: str,
        may: Sequence[str],
        *,
        scope: str = "",
        until: str = "",
        by: str | None = None,
    ) -> Entry:
        """Let a person do this, too, in a scope ("": everywhere) until a day; return the entry.

        `may` is of "charge", "request", "approve", "arrange", "serve" (`dpaccount.ledger.balances.rights`);
        none of them takes all back there, and in the scope "*" everywhere.  The first grant names one
        who may arrange.  Raises `BudgetError` where `by` may not; an entry of the kind "request" awaits
        approval.
        """
        facts = {"person": person, "may": list(may), "scope": scope, "until": until}
        return self._arrange(kinds.GRANT, facts, by)

    def approve(
        self,
        request: int,
        by: str | None = None,
        *,
        approved: bool = True,
        valid_days: int = rights.VALID_DAYS,
    ) -> Entry:
        """Approve the request of an entry, for its author to make once, or refuse it; return the entry.

        An approval lapses after `valid_days` (1 to 366), or when a right of its author or of who asked is
        taken back; that of a raised cap, a grant or a reset when another changes the same meanwhile.
        """
        days = whole_argument("valid_days", Fraction(valid_days), 1, rights.MOST_DAYS)
        holds = {"valid_days": days} if approved else {}
        return self._arrange(kinds.APPROVAL, {"request": request, "approved": approved, **holds}, by)

    def reset(self, reason: str, by: str | None = None) -> Entry:
        """Begin a period, in which only open parts of reservations are spent; return the entry.

        Budget and caps limit each period; the privacy guarantee is the sum over the ledger's life.
        """
        return self._arrange(kinds.RESET, {"reason": one_line("reason", reason)}, by)

    def set_clock(self, reason: str | None = None, by: str | None = None) -> Entry:
        """Say that this machine's clock is right, after a pause of more than 92 days; return the entry.

        With a `reason` also after a clock that was ahead: the period that it began for the cap of a scope is
        then the present one.  That takes two people where the ledger has rights.  On a PostgreSQL server the
        time is the server's.
        """
        return self._arrange(kinds.CLOCK, {} if reason is None else {"reason": reason}, by)

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
        facts, steps = ({}, []) if request is None else (request.facts, entries.written(request.steps or []))
        return self._arrange(
            kinds.FORFEIT, {**facts, "steps": steps, "reason": one_line("reason", reason)}, by
        )

    # -------------------------------------------------------------- answers

    def show(self) -> dict[str, Any]:
        """Return the budget, the most that any unit has spent, and what every unit can still spend.

        ``spent`` (rounded up) and ``remaining`` (rounded down) hold ε at the budget's δ and the
        measure's amounts.
        """
        from dpaccount.ledger.summary import shown_at  # no charge needs it

        with self._store.reading() as rows:
            return shown_at(rows, self._totals(rows), self.budget)

    def verify(self) -> dict[str, Any]:
        """Recompute the hash chain and the balances: ``{"valid", "first_bad"}``.

        `first_bad` is the number of the first changed or missing entry, or ``head``, ``totals`` (the
        balances) or ``file`` (the database's own structure); None if all is valid.
        """
        from dpaccount.ledger.journal.verify import first_bad  # no charge needs it

        with self._store.reading() as rows:
            bad = first_bad(rows)
        return {"valid": bad is None, "first_bad": bad}

    def _commit_alone(self, act: Callable[[Rows, Totals], T], *, anywhere: bool = False) -> T:
        """Act in a transaction of its own, and again if it was cut off before anything was changed."""

        def write() -> T:
            with self._store.writing() as rows:
                return act(rows, self._totals(rows, anywhere=anywhere))

        return again(write)

    def _arrange(self, kind: str, facts: dict[str, Any], by: str | None) -> Entry:
        return self._commit_alone(
            lambda rows, totals: self._append(rows, totals, kind, facts, by), anywhere=kind == kinds.FORFEIT
        )

    def _take(
        self, kind: str, key: str, parts: Ranges | None, which: Selection, by: str | None, run: str
    ) -> Taken:
        def take(rows: Rows, totals: Totals) -> Taken:
            number, left = self._left(rows, totals, key, own=True)
            taken = which(left) if parts is None else ranges.joined(parts)
            if not taken:
                return None, []
            listed = [list(one) for one in taken]  # as JSON reads them
            facts = {"reservation": number, "parts": listed, "process": run or process.name()}
            if run and ranges.without(left, taken) is None:
                for one in rows.entries(number):  # perhaps this very request came before
                    if one.kind == kind and facts.items() <= entries.facts_of(one).items():
                        return one.number, taken
            return self._append(rows, totals, kind, facts, by).number, taken

        return self._commit_alone(take)

    def _left(self, rows: Rows, totals: Totals, key: str, *, own: bool = False) -> tuple[int, Ranges]:
        entry = rows.keyed(key)
        if entry is None or entry.kind != kinds.RESERVATION:
            raise InputError(
                f"{key!r} is not the key of a reservation", "give one of `dpaccount ledger reserve`"
            )
        if own:
            entries.check_own(rows, entry)
        record = totals.state(rows.node).register.get(f"reservation {entry.number}")
        return entry.number, [] if record is None else record.open

    def _append(self, rows: Rows, totals: Totals, kind: str, facts: dict[str, Any], by: str | None) -> Entry:
        """Append an entry that changes the balances, or asks for it if it takes two people."""
        by = self._store.by if by is None else by
        user = {} if by is None else {"by": one_line("name of who asks", by)}
        made = entries.stamped({**facts, **user}, rows.stamp)
        if "valid_days" in made:  # by the clock that the entry names, which on a server is the server's
            last = date.fromisoformat(made["time"][:10]) + timedelta(days=made.pop("valid_days"))
            made["until"] = last.isoformat()
        if kind != kinds.CLOCK:
            entries.check_clock(rows, made["time"])
        try:
            wanted = read_body(kind, entries.as_written(made))
        except ValueError as error:
            raise InputError(f"that makes no {kind}", str(error)) from None
        state = totals.state(rows.node)
        if kind == kinds.GRANT and facts["may"]:  # whatever a name is, its rights can be taken back
            known = rights.people(state)
            rights.new_name(facts["person"], [one.person for one in known.grants] if known else [])
        two = rights.people(state) is not None and wanted.takes_two(state)
        if two and state.register.get(wanted.asked) is None:
            kind, made = kinds.REQUEST, request_for(kind, made, made)
        body = entries.as_written(made)
        entries.apply(rows, state, self.budget, kind, body)
        state.keep(rows)
        return rows.append(kind, body, state.text)
