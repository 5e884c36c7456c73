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

import math
import threading
from dataclasses import dataclass
from fractions import Fraction
from secrets import token_hex
from typing import Any, Final, NoReturn
from weakref import WeakValueDictionary

from dpaccount.accounting.measures import Amounts
from dpaccount.errors import BudgetError, LedgerError, ReceiptError
from dpaccount.exact import Enclosure, Exact, printed, shown
from dpaccount.ledger import amounts as requests
from dpaccount.ledger import spending
from dpaccount.ledger.amounts import Request
from dpaccount.ledger.budget import budget, one_line
from dpaccount.ledger.chain import CHARGE, DRAWING, REFUSAL, RELEASE, Entry
from dpaccount.ledger.entries import (
    RunState,
    as_written,
    budget_of,
    charge_number,
    check_linked,
    check_unchanged,
    check_undrawn,
    facts_of,
    first_entry,
    now,
    record,
    same_charge,
    totals_after,
    unkept,
)
from dpaccount.ledger.parts import After, KeptNoise, nowhere
from dpaccount.ledger.spending import Cover, Step
from dpaccount.ledger.store import Rows, Store
from dpaccount.ledger.totals import MEMBER, Totals
from dpaccount.ledger.totals import totals as read_totals
from dpaccount.ledger.verification import first_bad
from dpaccount.noise import process
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import Receipt, issue, rehearse
from dpaccount.noise.samplers import Rehearsal, Secure
from dpaccount.plan.events import Plan
from dpaccount.proof import Theorem

AHEAD: Final = 8  #: after n draws, n/8 more are marked ahead: at most so many are spent by a crash
_UNNAMED: Final = "unnamed "  #: begins the random key of a charge without one
_UNREADABLE: Final = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError)


@dataclass(frozen=True)
class Charge:
    """A decided charge: its entry (None: a dry run), the head after it, its own ε at the budget's δ."""

    entry: int | None
    head: str
    epsilon: Enclosure


class RefusedError(BudgetError):
    """A charge was refused; `charge` holds the refusal's entry and what was asked for."""

    def __init__(self, message: str, charge: Charge) -> None:
        super().__init__(message)
        self.charge = charge


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
    Store.create(url, as_written(budget(epsilon, delta, unit, relation, measure).as_json()))
    with Ledger.open(url) as ledger:
        return ledger.show()


def verify(url: str) -> dict[str, Any]:
    """Recompute a ledger's hash chain and totals: ``{"valid", "first_bad"}``.

    `first_bad` is the number of the first entry that is changed or missing, or ``head``, ``profile``
    (the totals) or ``file`` (the database's own structure).
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

    def __init__(self) -> None:
        self.process = process.this()
        self.receipts: WeakValueDictionary[int, Receipt] = WeakValueDictionary()
        self.marks: dict[int, _Mark] = {}
        self.totals: Totals | None = None
        self.gate = threading.Lock()  # threads of one process share receipts, one for every entry


class Ledger:
    """An open ledger; close it, or use it in a ``with`` block."""

    def __init__(self, store: Store, origin: Entry) -> None:
        self.budget = budget_of(origin)
        self._store, self._origin = store, origin
        self._known = _Known()

    @classmethod
    def open(cls, url: str) -> "Ledger":
        """Open an existing ledger; raises `LedgerError` for a missing, foreign or damaged file."""
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
    ) -> Receipt:
        """Charge what `theorem` proves to the units of `cover`, durably; return the receipt for its noise.

        The cover is [first, last]; without one it is what the theorem reads, or else all units.  A theorem
        that names no units takes any cover: the caller vouches that no other unit is read, and a cover of
        fewer than `reads` units, the public number that may be, is refused.  With
        a `key` the charge happens once: charging the same theorem under the same key again returns the
        same entry, and only one run can draw.  Raises `RefusedError` (nothing was charged), `InputError`
        for another relation or a wrong cover, `LedgerError` for a key in use, `ReceiptError` for noise
        that cannot be drawn, or was.
        """
        name = _UNNAMED + token_hex(16) if key is None else key
        return self._receipt(*self._paid(theorem, purpose, cover, name, reads), fresh=key is None)

    def charge_in_parts(
        self, theorem: Theorem, purpose: str, cover: Cover | None, key: str, after: After = nowhere
    ) -> KeptNoise:
        """Charge as `charge` does; return noise that later processes, with the same key, go on drawing.

        Every part is kept when it is drawn, beside what `after` says then (`dpaccount.ledger.parts`).
        """
        paid = self._paid(theorem, purpose, cover, key, None)
        return KeptNoise(self._store, self._totals, *paid, after)

    def _paid(
        self, theorem: Theorem, purpose: str, cover: Cover | None, key: str, reads: int | None
    ) -> tuple[Proved, int]:
        """Charge a theorem; return it as it is drawn from, and the entry."""
        request = requests.of_theorem(self.budget, theorem, purpose, cover, reads)
        proved = Proved(theorem)
        rehearse(proved, Rehearsal(0))  # what cannot be drawn must not be charged
        return proved, self._decide(request, key, dry_run=False).entry or 0

    def charge_plan(
        self, plan: Plan, purpose: str, key: str | None = None, *, dry_run: bool = False
    ) -> Charge:
        """Charge a plan fixed beforehand as one charge, durably; a dry run decides and writes nothing.

        Raises as `charge` does.
        """
        return self._decide(requests.of_plan(self.budget, plan, purpose), key, dry_run=dry_run)

    def _decide(self, request: Request, key: str | None, *, dry_run: bool) -> Charge:
        """Accept or refuse under the write lock."""
        if key is not None:
            one_line("key", key)
        epsilon = self._epsilon(request.steps)
        with process.unforked():  # until `totals` has what was committed
            with self._store.reading() if dry_run else self._store.writing() as rows:
                totals = self._totals(rows)
                known = None if key is None else rows.keyed(key)
                if known is not None:
                    return Charge(same_charge(rows, known, request).number, totals.at.digest, epsilon)
                after = totals_after(rows, totals, request.steps or [])
                reason = self._reason(request, after.steps)
                made = None if dry_run else record(rows, totals, request, key, after, reason)
            if made is not None:
                totals.take(made, after if reason is None else totals.after([]))
        charge = Charge(made.number if made else None, (made or totals.at).digest, epsilon)
        if reason is not None:
            raise RefusedError(f"{reason}; nothing was charged and no noise was drawn", charge)
        return charge

    def _reason(self, request: Request, after: list[Step]) -> str | None:
        """Return why a charge is refused, or None."""
        if request.steps is None:
            able = " or ".join(request.takers)
            right = f"a ledger in {able} takes it" if able else "prove it at one (ε, δ) and use approximate"
            return f"the charge has no bound in this ledger's measure, {self.budget.measure.name} ({right})"
        if self.budget.fits(spending.most(after, self.budget.width)):
            return None
        unit, total = next(step for step in after if not self.budget.fits(step[1]))
        names = zip(self.budget.measure.amounts, total, strict=True)
        sums = ", ".join(f"{name} {printed(amount, up=True)}" for name, amount in names)
        epsilon = printed(self.budget.measure.enclosure(total, self.budget.delta).upper, up=True)
        at = f"ε {epsilon} at δ {shown(self.budget.delta)} ({sums})"
        return (
            f"the charge would bring unit {unit} to {at}, beyond the budget's ε {shown(self.budget.epsilon)}"
        )

    def _receipt(self, proved: Proved, entry: int, *, fresh: bool) -> Receipt:
        """Return the receipt of a committed charge: one per entry, however often its key is charged.

        Nobody else can have drawn for a `fresh` charge, whose key nobody knows.
        """
        known = self._own()
        with known.gate:
            receipt = known.receipts.get(entry)
            if receipt is None:
                if not fresh:
                    self._check_undrawn(entry)
                receipt = issue(proved, Secure(), entry, lambda draws, most: self._mark(entry, draws, most))
                known.receipts[entry] = receipt
            return receipt

    def _check_undrawn(self, entry: int) -> None:
        with self._store.reading() as rows:
            check_linked(rows, entry)
            check_undrawn(rows, entry)

    def _own(self) -> _Known:
        """Return what this process knows; after a fork that is nothing."""
        if self._known.process != process.this():
            self._known = _Known()
        return self._known

    def _epsilon(self, steps: list[Step] | None) -> Enclosure:
        """Return the ε of what `steps` spend at the worst unit, at the budget's δ."""
        if steps is None:
            return Enclosure(None, math.inf)
        return self.budget.measure.enclosure(spending.most(steps, self.budget.width), self.budget.delta)

    def _totals(self, rows: Rows) -> Totals:
        """Return the totals at the end of the chain; raises `LedgerError` where chain or totals were changed.

        `verify` looks at all of it.
        """
        known = self._own()
        try:
            if rows.entry(0) != self._origin:
                raise LedgerError("the ledger's budget was changed; restore the ledger from a backup")
            if known.totals is None:
                known.totals = read_totals(rows, self.budget.width)
            else:
                known.totals.follow(rows)
        except _UNREADABLE:
            raise LedgerError("the ledger has damaged entries or totals; restore it from a backup") from None
        return known.totals

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
        return RunState(charged=True) if begun is None else unkept(begun)

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
            number = charge_number(rows, charge)
            entry = rows.entry(number)
            if entry is None:
                raise LedgerError(f"entry {number} is missing; restore the ledger from a backup")
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
            with self._store.writing() as rows:
                totals = self._totals(rows)
                if mark is None:
                    charge_number(rows, entry)
                    check_undrawn(rows, entry)
                elif rows.about(mark.number, DRAWING) is not None:
                    raise ReceiptError(f"entry {entry} is drawn by another run; make a new charge")
                upto = max(draws, min(most, draws + draws // AHEAD))
                body = {"time": now(), "process": process.name(), "draws": [draws, upto]}
                about = entry if mark is None else mark.number
                made = rows.append(DRAWING, as_written({**body, MEMBER: totals.digest}), about=about)
            known.marks[entry] = _Mark(made.number, upto)

    def keep_release(self, charge: int | str, body: dict[str, Any]) -> None:
        """Keep what a charge (its entry or key) paid for, durably, before anyone is shown it; once only."""
        text = as_written(body)
        with self._store.writing() as rows:
            self._totals(rows)
            entry = charge_number(rows, charge)
            if rows.about(entry, RELEASE) is not None:
                raise LedgerError(f"entry {entry} has its release already; make a new charge for another")
            rows.append(RELEASE, text, about=entry)

    # -------------------------------------------------------------- answers

    def show(self) -> dict[str, Any]:
        """Return the budget, what the worst unit has spent, and what every unit can still spend.

        ``spent`` and ``remaining`` hold ε at the budget's δ and the measure's amounts, rounded up in
        what is spent and down in what remains.
        """
        with self._store.reading() as rows:
            totals = self._totals(rows)
            steps, head = totals.steps(), totals.at.digest
            entries, refused = rows.count(CHARGE), rows.count(REFUSAL)
        spent = spending.most(steps, self.budget.width)
        return {
            "budget": self.budget.as_json(),
            "spent": self._shown(spent, up=True),
            "remaining": self._shown(self.budget.room(spent), up=False),
            "worst_unit": self._worst_unit(steps),
            "entries": entries,
            "refused": refused,
            "head": head,
        }

    def verify(self) -> dict[str, Any]:
        """Recompute the hash chain and the totals, as the function `verify` does."""
        return _verified(self._store)

    def _shown(self, amounts: Amounts, *, up: bool) -> dict[str, Any]:
        kind = self.budget.measure
        named = zip(kind.amounts, amounts, strict=True)
        sums = {name: printed(amount, up=up) for name, amount in named}
        return {**sums, "epsilon": kind.enclosure(amounts, self.budget.delta).as_json()}

    def _worst_unit(self, steps: list[Step]) -> int | None:
        """Return the first unit with the largest share of the budget spent; None where all pay the same."""
        if not steps or (len(steps) == 1 and steps[0][0] == 1):
            return None
        limits = (self.budget.epsilon, self.budget.delta)

        def share(step: Step) -> Fraction:
            return max(amount / (limit or 1) for amount, limit in zip(step[1], limits, strict=False))

        return max(steps, key=share)[0]


def _verified(store: Store) -> dict[str, Any]:
    with store.reading() as rows:
        bad = first_bad(rows)
    return {"valid": bad is None, "first_bad": bad}
