"""Who may do what in a ledger.

A ledger is free until its first grant.  Then who changes balances is named, and needs a right at that time:

- ``charge``: charge, and reserve, in a scope and below;
- ``request``: do so there, each time after somebody who may ``approve`` there has approved just that;
- ``arrange``: make scopes, cohorts and forfeits, lower caps, withdraw rights.  Resets, raised caps and new
  rights take two: one asks, another approves;
- ``serve``: of a server's role, to act for everybody, as a service's does.

The chain verifies that, but not who somebody is.  On a server any other role acts for itself, but one that
made the first grant for another person: it serves.
"""

import unicodedata
from collections.abc import Iterable
from datetime import date
from typing import Final, cast

from msgspec import structs

from dpaccount.documents import digest
from dpaccount.errors import InputError
from dpaccount.ledger.balances.budget import one_line
from dpaccount.ledger.balances.state import Asked, Grant, Rights, State, lineage

MAY: Final = ("charge", "request", "approve", "arrange", "serve")
VALID_DAYS, MOST_DAYS = 30, 366  #: for which an approval holds, and may hold
EVERYWHERE: Final = "*"  #: the scope of a revocation of all grants


def people(state: State) -> Rights | None:
    """Return the rights in a ledger; None if it has none."""
    return cast("Rights | None", state.register.get("rights"))


def asked_name(person: str, what: object) -> str:
    """Return the name of the record of what a person asked for."""
    return f"asked {digest([person, what])[7:]}"


def holds(state: State, person: str, may: str, scope: str | None, time: str) -> bool:
    """Return whether a person has a right in a scope (None: the whole ledger) at a time."""
    known = people(state)
    if known is None:
        return False
    places, day = ["", *lineage(scope)], latest_day(state, time)
    return any(
        (one.person, one.may) == (person, may) and one.scope in places and (not one.until or day <= one.until)
        for one in known.grants
    )


def latest_day(state: State, time: str) -> str:
    """Return the day of a time, or the latest in the chain if that is later."""
    known = people(state)
    return max(time[:10], known.latest if known else "")


def unapproved(state: State, asked: Asked, approver: tuple[str, str | None], day: str) -> str | None:
    """Return why what was asked for is not approved on a day; None if it is, by whom `approver` says may."""
    if not asked.approved:
        changed = "or not since a right or a cap changed"
        return f"entry {asked.entry} asked for it, and nobody has approved it yet, {changed}"
    if asked.until and day > asked.until:
        return f"entry {asked.entry} was approved until {asked.until}; it must be approved again"
    if not holds(state, asked.approved, *approver, day):
        return f"entry {asked.entry} was approved by {asked.approved}, who may not do so any more"
    return None


def acting(state: State, by: str | None, role: str | None, time: str) -> str | None:
    """Return who makes an entry, None in a ledger without rights; raises `InputError` for nobody.

    Its day is noted if it is the latest: a right that ended before a charge does not live again by a clock
    that is set back after it.  A grant sets that day anew, after a clock that was ahead.
    """
    known = people(state)
    if known is None:
        return None
    person = by or role
    if not person:
        raise InputError(
            "the ledger has rights, and the entry names nobody", "give --by, or ?by=NAME in its URL"
        )
    if role not in (None, known.writer, person) and not holds(state, role, "serve", None, time):
        raise InputError(
            f"the role {role} cannot act for {person}",
            "connect as that person; a service's role needs `dpaccount ledger grant --may serve`",
        )
    if time[:10] > known.latest:
        state.register.put("rights", structs.replace(known, latest=time[:10]))
    return person


def denied(state: State, by: str | None, role: str | None, scope: str | None, time: str) -> str | None:
    """Return why a person may not charge in a scope, "" if they may after an approval; None if they may."""
    person = acting(state, by, role, time)
    if person is None or holds(state, person, "charge", scope, time):
        return None
    if holds(state, person, "request", scope, time):
        return ""
    where = "the whole ledger" if scope is None else f"the scope {scope}"
    return f"{person} may not charge {where}"


def new_name(name: str, known: Iterable[str]) -> str:
    """Return the name of a person; raises `InputError` for one that differs from another's by little.

    It is in one script, as Unicode composes it (NFKC), without blanks at its ends or letters that nobody
    sees, and no `known` name differs from it in case alone.  Names in a chain stay what they are.
    """
    one_line("name of a person", name)
    letters = [c for c in name if c.isalpha() or (c.isnumeric() and not c.isascii())]
    scripts = {unicodedata.name(c, "?").split("-")[0].split()[0] for c in letters}
    seen = all(c.isalnum() or c.isascii() or unicodedata.category(c)[0] == "M" for c in name)
    filled = any("FILLER" in unicodedata.name(c, "") for c in name)
    together = len(scripts) <= 1 or scripts <= {"CJK", "HIRAGANA", "KATAKANA"}
    if name != unicodedata.normalize("NFKC", name).strip() or not seen or filled or not together:
        raise InputError(
            f"the name {name!a} could be taken for another", "write it in one script, without odd blanks"
        )
    for other in known:
        if other != name and other.casefold() == name.casefold():
            raise InputError(f"{name} could be taken for {other}", "write the name as it is, or another")
    return name


def checked_grant(person: str, may: list[str], scope: str, until: str) -> list[Grant]:
    """Return the grants; raises `InputError` or `ValueError` for some that make no sense."""
    one_line("name of a person", person)
    if not set(may) <= {*MAY} or len(set(may)) < len(may) or (may and scope == EVERYWHERE):
        raise InputError(f"{', '.join(may)} are no rights", f"give some of {', '.join(MAY)}, each once")
    if until and not may:
        raise InputError("taking rights back has no end", "give no --until")
    if {"arrange", "serve"} & {*may} and (scope or until):
        raise InputError("arranging and serving hold everywhere and for ever", "give no scope and no end")
    try:
        written = date.fromisoformat(until).isoformat() if until else ""
    except (TypeError, ValueError):
        written = None
    if written != until:
        raise InputError(f"{until!r} is no day", "write it as 2027-06-30")
    return [Grant(person, one, scope, until) for one in may]
