"""The entries of a ledger: how they are read and written, and the chain that they form.

When a ledger is opened, the last entry is verified against the head and the entry before it; from then on
each new entry is verified, one by one.  Balances that a charge reads must match the root of the last entry
(`dpaccount.ledger.balances`).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import islice
from secrets import token_hex
from typing import Any, Final

from dpaccount.documents import canonical
from dpaccount.errors import DpaccountError, InputError, LedgerError, ReceiptError, damaged
from dpaccount.ledger import entry as kinds
from dpaccount.ledger.balances import bodies, ranges, step_functions
from dpaccount.ledger.balances.bodies import formed
from dpaccount.ledger.balances.budget import Budget, read_budget
from dpaccount.ledger.balances.ranges import Ranges
from dpaccount.ledger.balances.segment_tree import Opened
from dpaccount.ledger.balances.state import State
from dpaccount.ledger.balances.step_functions import Step
from dpaccount.ledger.entry import Entry
from dpaccount.ledger.stores.rows import Rows, watched
from dpaccount.noise import process

PAUSE: Final = 92  #: days without an entry, no fewer than a quarter has, after which a clock is not believed
LOOKED_BACK: Final = 10_000  #: entries among which the latest is looked for


@dataclass(frozen=True)
class Totals:
    """The totals after the entry `at`, of `width` amounts."""

    at: Entry
    width: int
    #: the last entry, other than a release, if known: it names the server that it was written on
    signed: Entry | None = None
    forfeited: int = 0  #: the number of the last forfeit among the verified entries

    @property
    def text(self) -> str:
        """Return the line that authenticates the balances."""
        return self.at.root or ""

    def state(self, fetch: Callable[[int], Any], opened: dict[int, Opened] | None = None) -> State:
        """Return the balances; raises `LedgerError` for a malformed root."""
        return State(self.at.root, self.width, fetch, opened)

    def followed(self, rows: Rows) -> "Totals":
        """Verify later entries and return the totals after the last; raises `LedgerError` for a bad chain."""
        entries = rows.entries(self.at.number)
        at = next(entries, None)
        if at != self.at:
            raise _broken()
        after = self
        for entry in entries:
            after = after.next(_next(after.at, entry, self.width))
        if rows.head() != (after.at.number, after.at.digest) or after.at.root is None:
            raise _broken()
        return after

    def next(self, entry: Entry) -> "Totals":
        """Return the totals after the next entry."""
        signed = self.signed if entry.kind == kinds.RELEASE else entry
        forfeited = entry.number if entry.kind == kinds.FORFEIT else self.forfeited
        return Totals(entry, self.width, signed, forfeited)


def totals(rows: Rows, width: int) -> Totals:
    """Return the totals at the end of the chain; raises `LedgerError` if its last entry was changed."""
    last, head = rows.head()
    end = rows.entry(last) if isinstance(last, int) else None
    if end is None or end.digest != head or end.root is None:
        raise _broken()
    before = rows.entry(end.number - 1)
    _check_known(end, width, before)
    if not end.stands_on(before):
        raise _broken()
    end.check_records()
    number = rows.unlawful()
    if number is not None:
        raise _unlawful(number)
    return Totals(end, width, None if end.kind == kinds.RELEASE else end)


def _next(at: Entry, entry: Entry, width: int) -> Entry:
    _check_known(entry, width, at)
    if not (entry.succeeds(at) and entry.has_its_root(at)):
        raise _broken()
    return entry


def _check_known(entry: Entry, width: int, before: Entry | None) -> None:
    """Refuse an entry of an unknown kind, or one that no client writes: SQL may have added it."""
    if entry.kind == kinds.BUDGET and entry.number:
        raise _broken()
    if entry.kind not in kinds.KINDS:
        raise LedgerError(
            f"entry {entry.number} is of a kind that this program does not know; use the one that wrote it"
        )
    if entry.author == "" and entry.kind in kinds.ARRANGING:
        raise _unlawful(entry.number)
    try:
        moves = entry.number > 0 and (formed(entry, width).steps or entry.kind in kinds.MOVING)
        if moves and before is not None and before.root == entry.root is not None:
            raise ValueError("the balances do not hold it")
    except (DpaccountError, ValueError) as error:
        raise LedgerError(
            f"entry {entry.number} is no entry that a client writes ({error}); nothing is charged behind it:"
            " show its owner `dpaccount ledger verify` and `dpaccount ledger log`"
        ) from None


def _unlawful(number: int) -> LedgerError:
    return LedgerError(
        f"entry {number} arranges the ledger, and its role may not; show its owner `dpaccount ledger log`"
    )


def _broken() -> LedgerError:
    return damaged("the ledger's chain is broken")


@dataclass(frozen=True)
class RunState:
    """The state of one key's run, in one snapshot of the ledger.

    `kept` is the release, `charged` whether the key has a charge.  If drawing began and no release
    was kept, exactly one of two holds.  `drawing`: another process began it and may still run, here
    or on another machine.  `lost`: that process ended, or is this one; its noise may have been seen
    and is not drawn again. A charge before a forfeit that was not drawn is lost, too.
    """

    kept: dict[str, Any] | None = None
    charged: bool = False
    drawing: bool = False
    lost: bool = False
    process: str = field(default="", compare=False)  #: who began to draw, if no release was kept


def stamped(facts: Mapping[str, Any], stamp: Mapping[str, str]) -> dict[str, Any]:
    """Return the facts of a new entry with its time, a salt, and what a server knows of the client."""
    # The salt keeps the head from revealing a key, which may depend on private data, and makes the entry
    # unique: after an interrupted commit it is looked up by its digest.
    return {**facts, "time": time_by(stamp), **stamp, "salt": token_hex(16)}


def check_clock(rows: Rows, time: str) -> None:
    """Refuse a new entry of a file long after the latest one: its writer's clock may be ahead.

    A server says the time itself.  After a wrong clock caps would renew, and rights end, too early, and then
    not before that day.  So nothing is ahead by more than `PAUSE` days, unless somebody says it is right.
    """
    last = None if "time" in rows.stamp else rows.last_but(kinds.RELEASE, kinds.DRAWING)
    before = "" if last is None else _day(last)
    if before and _after(time, before) > PAUSE:
        before = _latest(rows) or before  # a clock that is behind makes no other one ahead
    if before and _after(time, before) > PAUSE:
        raise InputError(
            f"the latest entry is of {before}, and this machine's clock says {time[:10]}",
            "set the clock, or if the ledger has rested run `dpaccount ledger clock --after-a-pause`",
        )


def _latest(rows: Rows) -> str:
    """Return the latest day of entries whose clock was believed, since somebody said what is right."""
    latest = ""
    for entry in rows.entries(max(1, rows.head()[0] - LOOKED_BACK)):
        day = _day(entry) if f"|{kinds.RECORDS}" in (entry.root or "") else ""
        if entry.kind not in (kinds.RELEASE, kinds.DRAWING):
            latest = day if entry.kind == kinds.CLOCK else max(latest, day)
    return latest


def _day(entry: Entry) -> str:
    return str(facts_of(entry).get("time", ""))[:10]  # entry 0 has none


def _after(time: str, day: str) -> int:
    return (date.fromisoformat(time[:10]) - date.fromisoformat(day)).days


def check_server(rows: Rows, totals: Totals) -> None:
    """Refuse to write to another server or copy than the one that the last entry was written to."""
    here = rows.stamp.get("server")
    signed = here and (totals.signed or rows.last_but(kinds.RELEASE))
    if signed and facts_of(signed).get("server") not in (None, here):
        raise LedgerError(
            "the ledger was last written on another server, or to another copy: what was charged there since"
            " may be missing here; say what it can be at most by `dpaccount ledger forfeit`"
        )


def written(steps: list[Step]) -> list[list[Any]]:
    """Return amounts over units as an entry holds them."""
    return [[first, step_functions.written(amounts)] for first, amounts in steps]


def check_own(rows: Rows, entry: Entry) -> None:
    """Raise `InputError` if another role of the server charged `entry`; a file knows no roles."""
    if entry.author not in (None, rows.stamp.get("role")):
        raise InputError(
            f"entry {entry.number} is of the role {entry.author}, who alone may draw for it, keep its release"
            " or return its parts",
            "make a charge of your own",
        )


def charge_of(rows: Rows, charge: int | str) -> Entry:
    """Return a charge, given its number or key."""
    entry = rows.entry(charge) if isinstance(charge, int) else rows.keyed(charge)
    if entry is None or entry.kind != kinds.CHARGE:
        raise InputError(f"{charge!r} is not a charge of this ledger", "give a charge's entry or key")
    return entry


def own_charge(rows: Rows, charge: int | str) -> Entry:
    """Return a charge as `charge_of` does; raises as `check_own` does."""
    check_own(rows, entry := charge_of(rows, charge))
    return entry


def check_undrawn(rows: Rows, entry: int, seen: int | None = None) -> int:
    """Refuse to draw for a charge whose drawing began, or whose release is kept; return the last entry.

    Entries up to `seen` were read before.
    """
    own_charge(rows, entry)
    # All later entries are read: a damaged index could hide a mark from a look-up.
    last, found = check_linked(rows, entry if seen is None else seen, entry)
    if kinds.FORFEIT in found:
        raise forfeited(entry)
    if kinds.RELEASE in found or rows.about(entry, kinds.RELEASE) is not None:
        raise ReceiptError(
            f"entry {entry} was drawn and its release is kept; print that, or make a new charge"
        )
    if kinds.DRAWING in found or rows.about(entry, kinds.DRAWING) is not None:
        raise ReceiptError(
            f"drawing for entry {entry} began and its release was never kept, so drawing again would be a"
            " second release; make a new charge under another key"
        )
    return last


def forfeited(entry: int) -> ReceiptError:
    """Return the error to raise for a charge that may have been drawn by entries that are lost."""
    return ReceiptError(
        f"entry {entry} was charged before a forfeit, and what was lost may have drawn it; make a new charge"
        " under another key"
    )


def marked(
    rows: Rows, root: str, entry: int, before: int | None, seen: int | None, draws: tuple[int, int], run: str
) -> Entry:
    """Mark draws of a charge, after its mark `before`; raises `ReceiptError` if another run drew."""
    about = entry if before is None else before
    found = rows.about(about, kinds.DRAWING)
    asked = {"process": run, "draws": list(draws)}
    if found is not None and asked.items() <= facts_of(found).items():
        return found  # this very request came before
    if before is None:
        check_undrawn(rows, entry, seen)
    elif found is not None:
        raise ReceiptError(f"entry {entry} is drawn by another run; make a new charge")
    # A mark is about the mark before it, and the tables allow one about each: of two runs one is refused.
    body = as_written(mark_of(*draws, rows.stamp, run))
    return rows.append(kinds.DRAWING, body, root, about=about)


def mark_of(first: int, last: int, stamp: Mapping[str, str], run: str = "") -> dict[str, Any]:
    """Return the body of the entry that marks these draws."""
    return stamped({"process": run or process.name(), "draws": [first, last]}, stamp)


def kept(rows: Rows, root: str, charge: int | str, text: str) -> Entry:
    """Store the release of a charge, once: the same again is found, for another `ReceiptError` is raised."""
    entry = own_charge(rows, charge)
    found = rows.about(entry.number, kinds.RELEASE)
    if found is not None and found.body != text:
        raise ReceiptError(f"entry {entry.number} has its release already; make a new charge for another")
    return found or rows.append(kinds.RELEASE, text, root, about=entry.number)


def run_state(rows: Rows, key: int | str) -> RunState:
    """Return the state of the run of an entry or key; raises `LedgerError` if an entry of it was changed."""
    charge = rows.entry(key) if isinstance(key, int) else rows.keyed(key)
    if charge is None:
        return RunState()
    kept, begun = (rows.about(charge.number, kind) for kind in (kinds.RELEASE, kinds.DRAWING))
    for entry in (charge, begun, kept):
        if entry is not None:
            check_unchanged(rows, entry)
    if kept is not None:
        return RunState(kept=facts_of(kept), charged=True)
    if begun is None:
        return RunState(charged=True, lost=kinds.FORFEIT in check_linked(rows, charge.number)[1])
    who = str(facts_of(begun).get("process", ""))
    drawing = bool(who) and who != process.name() and process.running(who) is not False
    return RunState(charged=True, drawing=drawing, lost=not drawing, process=who)


def check_unchanged(rows: Rows, entry: Entry) -> None:
    """Raise `LedgerError` if an entry does not link to its neighbours in the chain."""
    if entry.author == "":
        raise LedgerError(
            f"entry {entry.number} is of a role that may not write it; see `dpaccount ledger verify`"
        )
    before, after = rows.entry(entry.number - 1), rows.entry(entry.number + 1)
    held = after.follows(entry.digest) if after is not None else rows.head() == (entry.number, entry.digest)
    if before is None or not entry.follows(before.digest) or not held:
        raise damaged(f"entry {entry.number} was changed")


def units_before(rows: Rows, number: int, cohort: str) -> Ranges:
    """Return the units that a cohort had before the entry with this number."""
    while (entry := rows.before(number, kinds.COHORT)) is not None:
        check_unchanged(rows, entry)
        body: bodies.CohortBody = bodies.read_body(entry.kind, entry.body)
        if body.cohort == cohort:
            return ranges.read(body.units)
        number = entry.number
    raise damaged(f"the cohort {cohort} is missing")


def check_linked(rows: Rows, number: int, about: int | None = None) -> tuple[int, set[str]]:
    """Verify the chain after an entry; raises `LedgerError` if an entry was changed or removed.

    Returns the number of the last entry, and the kinds of later entries that are about `about` or
    are forfeits.
    """
    at, found = rows.entry(number), set[str]()
    entries = (
        rows.entries(number + 1) if number else islice(rows.entries(), 1, None)
    )  # none may come before 0
    for entry in watched(entries, rows, "digest of entry"):
        if at is None or not entry.succeeds(at):
            break
        at = entry
        if entry.kind == kinds.FORFEIT or (entry.about is not None and entry.about == about):
            found.add(entry.kind)
    if at is None or rows.head() != (at.number, at.digest):
        where = number if at is None else at.number + 1
        raise damaged(f"entry {where} was changed or removed")
    return at.number, found


def body_of(rows: Rows, number: int) -> str:
    """Return the body of an entry; raises `LedgerError` if it is missing."""
    entry = rows.entry(number)
    if entry is None:
        raise damaged(f"entry {number} is missing")
    return entry.body


def apply(rows: Rows, state: State, budget: Budget, kind: str, body: str) -> None:
    """Apply the next entry, which is not written yet, to the balances; raises as `bodies.apply` does."""
    new = rows.head()[0] + 1
    bodies.apply(state, budget, kind, new, lambda number: body if number == new else body_of(rows, number))


def facts_of(entry: Entry) -> dict[str, Any]:
    """Parse the body of an entry; raises `LedgerError` if it is damaged."""
    try:
        facts = json.loads(entry.body)
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        raise damaged(f"entry {entry.number} is damaged")
    return facts


def first_entry(rows: Rows) -> Entry:
    """Return entry 0; raises `LedgerError` if it was changed."""
    first = rows.entry(0)
    if first is None or first.kind != kinds.BUDGET or not first.begins():
        raise damaged("the ledger's budget was changed")
    return first


def budget_of(origin: Entry) -> Budget:
    """Return the budget that entry 0 holds."""
    try:
        return read_budget(origin.body)
    except (InputError, ValueError):
        raise damaged("the ledger's budget is damaged") from None


def as_written(body: dict[str, Any]) -> str:
    """Return canonical JSON; raises `InputError` for values that JSON does not have."""
    try:
        return canonical(body).decode()
    except (TypeError, ValueError):
        raise InputError("a release is kept as JSON", "give text, finite numbers, lists and tables") from None


def time_by(stamp: Mapping[str, str]) -> str:
    """Return the current time: a server's own, which it stamps, or this machine's."""
    return stamp.get("time") or now()


def now() -> str:
    """Return the current time in ISO 8601, as entries hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
