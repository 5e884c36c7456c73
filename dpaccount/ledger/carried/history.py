"""Who spent what on what: the entries of a ledger, a line each."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, Final

from dpaccount.checker.documents import plain
from dpaccount.errors import damaged
from dpaccount.exact import printed, shown, to_digits
from dpaccount.ledger import spending
from dpaccount.ledger.budget import Budget
from dpaccount.ledger.chain import CHARGE, FORFEIT, RESERVATION, RETURN, ROUNDS, Entry
from dpaccount.ledger.entries import budget_of, check_linked, facts_of, first_entry
from dpaccount.ledger.spending import Step
from dpaccount.ledger.state import changes, intervals
from dpaccount.ledger.storage.store import Store
from dpaccount.ledger.verification import UNREADABLE, read_charge

Line = dict[str, Any]
COLUMNS: Final = (
    "entry",
    "kind",
    "time",
    "key",
    "purpose",
    "by",
    "role",
    "about",
    "scope",
    "cohort",
    "parts",
    "spends",
    "first",
    "last",
    "reason",
    "head",
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  #: how a cell begins that a spreadsheet would compute


def log(url: str) -> list[Line]:
    """Return a line for every entry: what it is, who charged it and why, what it spends, why it was refused.

    ``spends`` has the amounts of the worst unit of a charge, rounded up, and ``first`` and ``last`` the units
    that it reaches (null: all).  Raises `LedgerError` where the chain is broken.
    """
    store = Store.open(url)
    try:
        with store.reading() as rows:
            check_linked(rows, 0)
            budget = budget_of(first_entry(rows))
            return [_line(entry, budget) for entry in rows.entries()]
    finally:
        store.close()


def table(lines: Iterable[Line]) -> str:
    """Return lines as CSV below a row of names; a text that a spreadsheet would compute gets a quote."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for line in lines:
        spends = line["spends"] and " ".join(f"{name} {amount}" for name, amount in line["spends"].items())
        writer.writerow({name: _cell(value) for name, value in {**line, "spends": spends}.items()})
    return out.getvalue()


def worded(lines: Iterable[Line]) -> str:
    """Return lines for a person; what a terminal would not print, in a ledger from elsewhere, is escaped."""
    return "\n".join(plain(" ".join(_words(line))) for line in lines)


def _words(line: Line) -> Iterator[str]:
    yield f"{line['entry']:>6} {line['time'] or '':25} {line['kind']:8}"
    if line["spends"]:
        yield " ".join(f"{name} {_rounded_up(amount)}" for name, amount in line["spends"].items())
        yield "of everybody" if line["first"] is None else f"of {line['first']} to {line['last']}"
    for name in ("scope", "cohort", "parts", "purpose", "by", "role", "key", "about", "reason"):
        if line[name] is not None:
            yield f"{name} {line[name]}"


def _rounded_up(amount: float | str) -> str:
    return amount if isinstance(amount, str) else to_digits(amount, up=True, digits=6)


def _line(entry: Entry, budget: Budget) -> Line:
    facts = facts_of(entry)
    found = {name: facts.get(name) for name in ("time", "purpose", "by", "role", "reason")}
    first = last = spends = None
    if entry.kind in (CHARGE, FORFEIT, RESERVATION):
        try:
            steps = spent_by(entry, facts, budget.width)
        except UNREADABLE:
            raise damaged(f"entry {entry.number} is damaged") from None
        worst = spending.most(steps, budget.width)
        names = zip(budget.measure.amounts, worst, strict=True)
        spends = {name: printed(amount, up=True) for name, amount in names}
        if steps and not any(steps[-1][1]):
            first, last = steps[0][0], steps[-1][0] - 1
    key = entry.key if entry.key is not None else facts.get("key")
    return {
        "entry": entry.number,
        "kind": entry.kind,
        **found,
        "key": key,
        "about": facts.get("reservation", entry.about),
        "scope": facts.get("scope"),
        "cohort": facts.get("cohort"),
        "parts": _parts(entry, facts),
        "spends": spends,
        "first": first,
        "last": last,
        "plan": in_decimal(facts.get("plan")),
        "head": entry.digest,
    }


_WRITTEN = re.compile(r"(-?[0-9a-f]+)/([0-9a-f]+)", re.ASCII)  #: an exact number in an entry
LONG = 4000  #: bits of a number that is not turned into decimals


def in_decimal(value: Any) -> Any:
    """Return a plan of an entry for its readers: exact numbers as decimals or fractions.

    Entries hold them as fractions of hexadecimal integers; numbers of thousands of digits stay so, marked 0x.
    """
    if isinstance(value, dict):
        return {name: in_decimal(member) for name, member in value.items()}
    if isinstance(value, list):
        return [in_decimal(member) for member in value]
    found = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return value
    top, bottom = int(found[1], 16), int(found[2], 16)
    long = max(top.bit_length(), bottom.bit_length()) > LONG
    return f"{top:#x}/{bottom:#x}" if long or not bottom else shown(Fraction(top, bottom))


def spent_by(entry: Entry, facts: dict[str, Any], width: int) -> list[Step]:
    """Return what an entry spends of which units, a reservation all of its parts; raises `ValueError`."""
    if entry.kind in (CHARGE, FORFEIT):
        return read_charge(entry, width).steps
    parts = changes.parts_of(facts, width)
    return spending.total(changes.cost_of(parts, [(1, changes.total_of(parts))]), width)


def _parts(entry: Entry, facts: dict[str, Any]) -> str | None:
    """Return which parts of a reservation an entry speaks of."""
    if entry.kind == RESERVATION:
        return f"1-{sum(count for count, _ in facts['parts'])}"
    return intervals.text(facts["parts"]) if entry.kind in (ROUNDS, RETURN) else None


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
