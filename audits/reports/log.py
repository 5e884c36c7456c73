"""The log of a ledger: one line per entry, with who charged what, why, and how much."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import islice
from typing import Any, Final

from dpaccount.documents import Place, csv_text, digest
from dpaccount.errors import damaged
from dpaccount.exact import shown
from dpaccount.ledger.balances import ranges, step_functions
from dpaccount.ledger.balances.bodies import read_body, spent_by
from dpaccount.ledger.balances.budget import Budget
from dpaccount.ledger.entry import (
    APPROVAL,
    CERTIFIED,
    CHARGE,
    DRAWING,
    FORFEIT,
    GRANT,
    REQUEST,
    RESERVATION,
    RETURN,
    ROUNDS,
    Entry,
)
from dpaccount.ledger.journal.entries import budget_of, check_linked, facts_of, first_entry
from dpaccount.ledger.journal.verify import BAD_ENTRY
from dpaccount.ledger.requests import plan_digest
from dpaccount.ledger.stores.store import Store
from dpaccount.plan.plan_file import read_plan

Line = dict[str, Any]
COLUMNS: Final = (
    *("entry", "kind", "time", "key", "purpose", "by", "role", "about", "scope", "cohort", "parts"),
    *("spends", "first", "last", "reason", *CERTIFIED, "head"),
)


@dataclass(frozen=True)
class LogFilter:
    """Which entries a log has: from `since` to `until`, two days, `by` somebody, in or below a `scope`."""

    since: date | None = None
    until: date | None = None
    by: str | None = None
    scope: str | None = None

    def has(self, line: Line) -> bool:
        """Return whether a line passes the filter; a line without a filtered member does not."""
        inside = self.scope is None or f"{line.get('scope') or ''}/".startswith(f"{self.scope}/")
        return (
            self.has_day(str(line.get("time") or "")[:10])
            and inside
            and (self.by is None or line.get("by") == self.by)
        )

    def has_day(self, day: str) -> bool:
        """Return whether a day, or month, lies between the two days; "" is none."""
        late = self.since is None or day >= self.since.isoformat()[: max(len(day), 1)]
        return late and (self.until is None or (day != "" and day <= self.until.isoformat()))

    def as_json(self) -> Line:
        """Return the filter as JSON, days as YYYY-MM-DD."""
        days = {"since": self.since, "until": self.until}
        written = {key: day and day.isoformat() for key, day in days.items()}
        return {**written, "by": self.by, "scope": self.scope}


EVERY = LogFilter()
PAGE: Final = 1000  #: entries of a page


def log(url: str, chosen: LogFilter = EVERY) -> list[Line]:
    """Return a line for every chosen entry: its kind, who charged it and why, amounts, why it was refused.

    ``spends`` has the amounts of a charge at its worst unit, rounded up; ``first`` and ``last`` are
    the units that it covers (null: all).  Raises `LedgerError` if the chain is broken.
    """
    with closing(Store.open(url)) as store, store.reading() as rows:
        check_linked(rows, 0)
        budget = budget_of(first_entry(rows))
        lines, charge_of = list[Line](), dict[Any, Any]()
        for line in (_line(entry, budget) for entry in rows.entries()):
            if line["kind"] == DRAWING:  # it refers to the draw before it, and the first to their charge
                line["about"] = charge_of[line["entry"]] = charge_of.get(line["about"], line["about"])
            lines += [line] if chosen.has(line) else []
        return lines


def page(url: str, after: int | None, most: int = PAGE) -> Sequence[Line]:
    """Return the lines of up to `most` entries after `after` (None: the last); marks name the one before.

    Each has ``people``, too: who made it, who asked for what it decides, and whose rights it is about.
    """
    with closing(Store.open(url)) as store, store.reading() as rows:
        budget = budget_of(first_entry(rows))
        first = max(0, rows.head()[0] + 1 - most) if after is None else after + 1
        lines = []
        for entry in islice(rows.entries(first), most):
            line, facts = _line(entry, budget), facts_of(entry)
            asked = rows.entry(line["about"]) if entry.kind == APPROVAL else None
            of = None if asked is None else _line(asked, budget)
            if of is not None:  # a decision is of the scope of what was asked
                line["scope"] = of["scope"]
            person = facts.get("facts", facts).get("person") if entry.kind in (GRANT, REQUEST) else None
            lines.append({**line, "people": [line["by"] or line["role"], person, of and of["by"]]})
        return lines


def table(lines: Iterable[Line]) -> str:
    """Return lines as CSV with a header; text that a spreadsheet would evaluate is quoted."""
    rows: list[Sequence[object]] = [COLUMNS]
    for line in lines:
        spends = line["spends"] and " ".join(f"{name} {amount}" for name, amount in line["spends"].items())
        rows.append([{**line, "spends": spends}.get(name, "") for name in COLUMNS])
    return csv_text(rows)


def _line(entry: Entry, budget: Budget) -> Line:
    facts = facts_of(entry)
    if entry.kind == REQUEST:  # it says what it asks for; what else stands beside that says nothing
        stamped: Line = {name: facts[name] for name in ("asks", "time", "by", "role") if name in facts}
        facts = {**facts["facts"], **stamped}
    members = {name: facts.get(name) for name in ("time", "purpose", "by", "role", "reason")}
    if entry.kind in (GRANT, REQUEST, APPROVAL):
        said = {name: facts[name] for name in OF_RIGHTS if facts.get(name) not in (None, "", [])}
        members["reason"] = ", ".join(f"{name} {str(each).strip('[]')}" for name, each in said.items())
    first = last = spends = None
    spending = entry.kind in (CHARGE, FORFEIT, RESERVATION)
    try:
        parts, steps = _parts(entry), spent_by(entry, budget.width) if spending else []
        plan = in_decimal(facts.get("plan"))
        if entry.kind == REQUEST and not _names(facts, budget.relation):
            plan = None  # another one than is asked for
    except (*BAD_ENTRY, RecursionError):  # who writes the file may nest a plan deeply
        raise damaged(f"entry {entry.number} is damaged") from None
    if spending:
        spends = budget.named(step_functions.most(steps, budget.width))
        if steps and not any(steps[-1][1]):
            first, last = steps[0][0], steps[-1][0] - 1
    key = entry.key if entry.key is not None else facts.get("key")
    return {
        "entry": entry.number,
        "kind": entry.kind,
        **members,
        "key": key,
        "about": facts.get("reservation", facts.get("request", entry.about)),
        "scope": facts.get("scope") or None,
        "cohort": facts.get("cohort"),
        "parts": parts,
        "spends": spends,
        "first": first,
        "last": last,
        "plan": plan,
        **{name: facts.get(name) for name in CERTIFIED},
        "head": entry.digest,
    }


#: members of entries about rights
OF_RIGHTS: Final = ("person", "may", "until", "asks", "request", "approved")
_WRITTEN = re.compile(r"(-?[0-9a-f]+)/([0-9a-f]+)", re.ASCII)  #: an exact number in an entry, in hexadecimal
LONG = 4000  #: bits above which a number stays hexadecimal


def in_decimal(value: Any) -> Any:
    """Return the plan of an entry with exact numbers as decimals or fractions.

    Entries hold them as fractions of hexadecimal integers; numbers of thousands of digits stay so,
    marked 0x.
    """
    if isinstance(value, dict):
        return {name: in_decimal(member) for name, member in value.items()}
    if isinstance(value, list):
        return [in_decimal(member) for member in value]
    match = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    top, bottom = int(match[1], 16), int(match[2], 16)
    long = max(top.bit_length(), bottom.bit_length()) > LONG
    return f"{top:#x}/{bottom:#x}" if long or not bottom else shown(Fraction(top, bottom))


def _names(facts: Mapping[str, Any], relation: str) -> bool:
    """Return whether the plan that a request holds is the one that its digest names."""
    try:
        events = _whole(in_decimal(facts["plan"]))
        document = {"schema": "dpaccount/events/1", "relation": relation, "events": events}
        whole = plan_digest(read_plan(Place(document, "plan")))
        rounds = [None, facts["parts"][0][0]] if "parts" in facts else []
    except (*BAD_ENTRY, LookupError, TypeError, RecursionError):
        return False
    known = [digest(["reservation", one, whole]) for one in rounds] or [whole]
    named = {name: facts[name] for name in ("scope", "cohort", "units") if facts.get(name) is not None}
    return facts.get("digest") in ([digest([one, named]) for one in known] if named else known)


def _whole(value: Any) -> Any:
    """Return the plan of an entry as a document has it: whole numbers as numbers, nothing that is empty."""
    if isinstance(value, dict):
        return {name: _whole(member) for name, member in value.items() if member not in (None, [])}
    if isinstance(value, list):
        return [_whole(member) for member in value]
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value


def _parts(entry: Entry) -> str | None:
    """Return the parts of a reservation that an entry makes, draws or returns; raises `ValueError`."""
    if entry.kind == RESERVATION:
        return f"1-{read_body(entry.kind, entry.body).everything[0][1]}"
    return ranges.text(read_body(entry.kind, entry.body).parts) if entry.kind in (ROUNDS, RETURN) else None
