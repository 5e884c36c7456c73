"""The durable ledger: what is charged is on the disk before anything is drawn.

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
from dataclasses import dataclass
from secrets import token_hex
from typing import Any, Final, NoReturn
from weakref import WeakValueDictionary

from dpaccount.errors import InputError, LedgerError, damaged
from dpaccount.exact import Exact
from dpaccount.ledger import amounts as requests
from dpaccount.ledger.amounts import Request
from dpaccount.ledger.arranged.arrangements import Arrangements, for_units
from dpaccount.ledger.arranged.standing import shown_at
from dpaccount.ledger.budget import budget, one_line
from dpaccount.ledger.chain import BUDGET, DRAWING, FORFEIT, ORIGIN, RELEASE, Entry, seal
from dpaccount.ledger.charging import Batch, Charge, RefusedError, ToCharge
from dpaccount.ledger.entries import (
    RunState,
    as_written,
    budget_of,
    charge_number,
    check_linked,
    check_server,
    check_unchanged,
    check_undrawn,
    facts_of,
    first_entry,
    kept,
    marked,
    unkept,
)
from dpaccount.ledger.parts import After, KeptNoise, nowhere
from dpaccount.ledger.spending import Cover
from dpaccount.ledger.storage.group import TOGETHER, Group, again
from dpaccount.ledger.storage.place import address
from dpaccount.ledger.storage.rows import Rows, Wants, begin
from dpaccount.ledger.storage.store import Store, create
from dpaccount.ledger.totals import Totals
from dpaccount.ledger.totals import totals as read_totals
from dpaccount.ledger.tree import nothing
from dpaccount.ledger.verification import first_bad
from dpaccount.noise import process
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import Receipt, issue, rehearse
from dpaccount.noise.samplers import Rehearsal, Secure
from dpaccount.plan.events import Plan
from dpaccount.plan.plan_file import collector_paused
from dpaccount.proof import Theorem

AHEAD: Final = 8  #: after n draws, n/8 more are marked ahead: at most so many are spent by a crash
_UNNAMED: Final = "unnamed "  #: begins the random key of a charge without one
_UNREADABLE: Final = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError)


def init(
    url: str,
    *,
    epsilon: Exact,
    delta: Exact,
    unit: str,
    relation: str,
    measure: str = "gdp",
) -> dict[str, Any]:
    """Make a new ledger and return what `Ledger.show` says of it.

    Raises `LedgerError` where the file exists, `InputError` for a budget that makes no sense.
    """
    made = budget(epsilon, delta, unit, relation, measure)

    def first(stamp: Mapping[str, str]) -> Entry:
        body, root = as_written({**made.as_json(), **stamp}), nothing(made.width).text
        return Entry(0, BUDGET, None, None, body, root, seal(ORIGIN, 0, BUDGET, None, None, body, root))

    create(address(url), lambda connection, stamp: begin(connection, [first(stamp)]))
    with Ledger.open(url) as ledger:
        return ledger.show()


def verify(url: str) -> dict[str, Any]:
    """Recompute a ledger's hash chain and totals: ``{"valid", "first_bad"}``.

    `first_bad` is the number of the first entry that is changed or missing, or ``head``, ``totals``
    or ``file`` (the database's own structure).
    """
    store = Store.open(url)
    try:
        return _verified(store)
    finally:
        store.close()


@dataclass(frozen=True)
class _Mark:
    """A durable mark: its entry, and up to which draw of the charge, counted from 1, it reaches."""

    number: int
    upto: int


class _Known:
    """What one process knows of a ledger: its receipts, what they drew, the totals.  No fork shares it."""

    def __init__(self, commit: Callable[[list[ToCharge]], None], held: Callable[[], bool]) -> None:
        self.process = process.this()
        self.group = Group(commit, held)
        self.receipts: WeakValueDictionary[int, Receipt] = WeakValueDictionary()
        self.marks: dict[int, _Mark] = {}
        self.seen: dict[int, int] = {}  #: up to which entry a charge was found undrawn
        self.totals: Totals | None = None
        self.gate = threading.Lock()  # threads of one process share receipts, one for every entry


class Ledger(Arrangements):
    """An open ledger; close it, or use it in a ``with`` block."""

    def __init__(self, store: Store, origin: Entry) -> None:
        self.budget = budget_of(origin)
        self._store, self._origin = store, origin
        self._known = _Known(self._commit, self._store.held)

    @classmethod
    def open(cls, url: str) -> "Ledger":
        """Open an existing ledger; raises `LedgerError` for a missing, foreign or damaged file."""
        return again(lambda: cls._opened(url))

    @classmethod
    def _opened(cls, url: str) -> "Ledger":
        store = Store.open(url)
        try:
            with store.reading() as rows:
                return cls(store, first_entry(rows))
        except LedgerError:
            store.close()
            raise

    def __reduce_ex__(self, _: object) -> NoReturn:
        """Refuse to be copied or pickled."""
        raise LedgerError("an open ledger cannot be copied or pickled; open it again, by its URL")

    def __enter__(self) -> "Ledger":
        """Return the ledger."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the ledger."""
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._store.close()

    # -------------------------------------------------------------- charges

    def charge(
        self,
        theorem: Theorem,
        purpose: str,
        cover: Cover | None = None,
        key: str | None = None,
        *,
        reads: int | None = None,
        scope: str | None = None,
    ) -> Receipt:
        """Charge what `theorem` proves to the units of `cover`, durably; return the receipt for its noise.

        The cover is [first, last]; without one it is what the theorem reads, or else all units.  A theorem
        that names no units takes any cover: the caller vouches that no other unit is read, and a cover of
        fewer than `reads` units, the public number that may be, is refused.  It must fit `scope`, too.  With
        a `key` the charge happens once: charging the same theorem under the same key again returns the
        same entry, and only one run can draw.  Raises `RefusedError` (nothing was charged), `InputError`
        for another relation or a wrong cover, `LedgerError` for a key in use, `ReceiptError` for noise
        that cannot be drawn, or was.
        """
        name = _UNNAMED + token_hex(16) if key is None else key
        return self._receipt(*self._paid(theorem, purpose, cover, name, reads, scope), fresh=key is None)

    def charge_in_parts(
        self,
        theorem: Theorem,
        purpose: str,
        cover: Cover | None,
        key: str,
        after: After = nowhere,
        *,
        scope: str | None = None,
    ) -> KeptNoise:
        """Charge as `charge` does; return noise that later processes, with the same key, go on drawing.

        Every part is kept when it is drawn, beside what `after` says then (`dpaccount.ledger.parts`).
        """
        paid = self._paid(theorem, purpose, cover, key, None, scope)
        return KeptNoise(self._store, self._totals, *paid, after)

    def _paid(
        self,
        theorem: Theorem,
        purpose: str,
        cover: Cover | None,
        key: str,
        reads: int | None,
        scope: str | None = None,
    ) -> tuple[Proved, int]:
        """Charge a theorem; return it as it is drawn from, and the entry."""
        request = requests.of_theorem(self.budget, theorem, purpose, cover, reads).within(scope)
        proved = Proved(theorem)
        with process.unforked():  # a child must not inherit what is imported by half, here for the first time
            rehearse(proved, Rehearsal(0))  # what cannot be drawn must not be charged
        return proved, self._decide(request, key, dry_run=False).entry or 0

    def charge_plan(
        self,
        plan: Plan,
        purpose: str,
        key: str | None = None,
        *,
        by: str | None = None,
        scope: str | None = None,
        cohort: str | None = None,
        dry_run: bool = False,
    ) -> Charge:
        """Charge a plan fixed beforehand as one charge, durably; a dry run decides and writes nothing.

        `by` is who says to charge it, written down as it is said.  It must fit the `scope` and all above it;
        events without a cover are charged to the `cohort`.  Raises as `charge` does.
        """
        units = None if cohort is None else self.units_of(cohort)
        plan = plan if units is None else for_units(plan, units)
        request = requests.of_plan(self.budget, plan, purpose, by).within(scope, cohort, units)
        return self._decide(request, key, dry_run=dry_run)

    def charge_many(
        self, asked: Sequence[tuple[Plan, str, str | None]], *, scope: str | None = None
    ) -> list[Charge]:
        """Charge up to 1000 plans, each with its purpose and key, in one commit; return what became of each.

        All must fit `scope`, too.
        Each is accepted, refused (`Charge.reason` says why, also for a key of a different charge) or known by
        itself, as if they had been charged one after another.  Nothing is raised for what is refused.
        """
        if len(asked) > TOGETHER:
            raise InputError(f"{len(asked)} charges at once are too many; charge at most {TOGETHER}")
        with collector_paused():
            wanted = [
                (requests.of_plan(self.budget, plan, purpose).within(scope), key)
                for plan, purpose, key in asked
            ]
            return self._decide_all(wanted, raises=False)

    def _decide(self, request: Request, key: str | None, *, dry_run: bool) -> Charge:
        """Accept or refuse under the write lock."""
        [charge] = self._decide_all([(request, key)], dry_run=dry_run)
        if charge.reason is not None:
            raise RefusedError(f"{charge.reason}; nothing was charged and no noise was drawn", charge)
        return charge

    def _decide_all(
        self, asked: list[tuple[Request, str | None]], *, dry_run: bool = False, raises: bool = True
    ) -> list[Charge]:
        for _, key in asked:
            if key is not None:
                one_line("key", key)
        if not dry_run:
            return self._own().group.ask(ToCharge(asked, raises, size=len(asked))).charges
        with self._store.reading() as rows:
            batch = Batch(rows, self._totals(rows), self.budget)
            check_server(rows, batch.totals)
            return [batch.decide(request, key, dry_run=True) for request, key in asked]

    def _commit(self, jobs: list[ToCharge]) -> None:
        """Decide what threads ask for, in one transaction."""
        asked = min(job.asked for job in jobs)
        with self._store.alone():  # until what is known has what was committed
            with self._store.writing(self._wanted(jobs), asked) as rows:
                batch = Batch(rows, self._totals(rows), self.budget)
                for job in jobs:
                    job.decide(batch, rows)
                totals = batch.store()
            self._own().totals = totals

    def _wanted(self, jobs: list[ToCharge]) -> Wants:
        """Return what deciding will read."""
        before, keys = self._own().totals, [key for job in jobs for _, key in job.requests if key is not None]
        if before is None:
            return Wants(None, tuple(keys))
        return Wants(before.at.number, tuple(keys), frozenset().union(*(job.nodes(before) for job in jobs)))

    def _receipt(self, proved: Proved, entry: int, *, fresh: bool) -> Receipt:
        """Return the receipt of a committed charge: one per entry, however often its key is charged.

        Nobody else can have drawn for a `fresh` charge, whose key nobody knows.
        """
        known = self._own()
        with known.gate:
            receipt = known.receipts.get(entry)
            if receipt is None:
                if not fresh:
                    with self._store.reading() as rows:
                        known.seen[entry] = check_undrawn(rows, entry)
                receipt = issue(proved, Secure(), entry, lambda draws, most: self._mark(entry, draws, most))
                known.receipts[entry] = receipt
            return receipt

    def _own(self) -> _Known:
        """Return what this process knows; after a fork that is nothing."""
        if self._known.process != process.this():
            self._known = _Known(self._commit, self._store.held)
        return self._known

    def _totals(self, rows: Rows, *, anywhere: bool = False) -> Totals:
        """Return the totals at the end of the chain; raises `LedgerError` where chain or totals were changed.

        `verify` looks at all of it.  Writers are refused on another server than the last, or go `anywhere`.
        """
        known = self._own()
        try:
            if rows.entry(0) != self._origin:
                raise damaged("the ledger's budget was changed")
            before = known.totals
            found = read_totals(rows, self.budget.width) if before is None else before.followed(rows)
            found.state(rows.node)
        except _UNREADABLE:
            raise damaged("the ledger has damaged entries or totals") from None
        if rows.writes and not anywhere:
            check_server(rows, found)
        known.totals = found
        return found

    # -------------------------------------------------------------- releases

    def run_state(self, key: str) -> RunState:
        """Return what is known of this key's run: kept, charged, being drawn, lost; seen in one moment.

        Raises `LedgerError` where an entry that says so was changed in the file.
        """
        with self._store.reading() as rows:
            charge = rows.keyed(key)
            if charge is None:
                return RunState()
            kept, begun = (rows.about(charge.number, kind) for kind in (RELEASE, DRAWING))
            for entry in (charge, begun, kept):
                if entry is not None:
                    check_unchanged(rows, entry)
            if kept is not None:
                return RunState(kept=facts_of(kept), charged=True)
            if begun is not None:
                return unkept(begun)
            return RunState(charged=True, lost=FORFEIT in check_linked(rows, charge.number)[1])

    def release(self, key: str) -> dict[str, Any] | None:
        """Return the release kept for the charge of this key, to print it again; None where there is none.

        Raises `LedgerError` where it was changed in the file.
        """
        return self.run_state(key).kept

    def lost(self, key: str) -> bool:
        """Say whether drawing began for this key, by whatever process, and nothing is kept of it.

        It needs a new key, unless `run_state` says that another process is drawing still.
        """
        state = self.run_state(key)
        return state.drawing or state.lost

    def charged(self, charge: int | str) -> tuple[int, str]:
        """Return a charge's entry, given it or its key, and the ledger's head right after it.

        Raises `LedgerError` where there is no such charge, or it was changed in the file.
        """
        with self._store.reading() as rows:
            entry = rows.entry(charge_number(rows, charge))
            if entry is None:
                raise damaged(f"the entry of {charge} is missing")
            check_unchanged(rows, entry)
            return entry.number, entry.digest

    def begin_release(self, entry: int) -> None:
        """Mark durably that the noise of charge `entry` is being drawn; a receipt does so by itself.

        Raises `ReceiptError` where another run marked it: what that run drew, and perhaps showed, is
        not known, so drawing again would be a second release.
        """
        self._mark(entry, 1, 1)

    def _mark(self, entry: int, draws: int, most: int) -> None:
        """Mark durably that the first `draws` draws of charge `entry` are made, of `most` that it pays for.

        The first few are marked one by one; of many, some are marked ahead, and a crash spends them.
        Each mark is about the one before, and only one can be: whoever comes second, be it with a copy
        of this process's memory, draws nothing.
        """
        known = self._own()
        with known.gate:
            mark = known.marks.get(entry)
            if mark is not None and draws <= mark.upto:
                return
            upto = max(draws, min(most, draws + draws // AHEAD))
            before, seen = None if mark is None else mark.number, known.seen.get(entry)

            def write() -> Entry:
                with self._store.writing() as rows:
                    return marked(rows, self._totals(rows).text, entry, before, seen, (draws, upto))

            known.marks[entry] = _Mark(again(write).number, upto)

    def keep_release(self, charge: int | str, body: dict[str, Any]) -> None:
        """Keep what a charge (its entry or key) paid for, durably, before anyone is shown it; once only."""
        text = as_written(body)

        def write() -> Entry:
            with self._store.writing() as rows:
                return kept(rows, self._totals(rows).text, charge, text)

        again(write)

    # -------------------------------------------------------------- answers

    def show(self) -> dict[str, Any]:
        """Return the budget, what the worst unit has spent, and what every unit can still spend.

        ``spent`` and ``remaining`` hold ε at the budget's δ and the measure's amounts, rounded up in
        what is spent and down in what remains.
        """
        with self._store.reading() as rows:
            return shown_at(rows, self._totals(rows), self.budget)

    def verify(self) -> dict[str, Any]:
        """Recompute the hash chain and the totals, as the function `verify` does."""
        return _verified(self._store)


def _verified(store: Store) -> dict[str, Any]:
    with store.reading() as rows:
        bad = first_bad(rows)
    return {"valid": bad is None, "first_bad": bad}
