"""What may be asked of the service: methods of `Ledger`, whose parameters are the members of requests."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import islice
from multiprocessing import get_context, parent_process
from pickle import dumps
from signal import SIG_IGN, SIGINT, signal
from typing import Annotated, Any, Final, Optional

from msgspec import UNSET, Meta, Raw, Struct, defstruct, to_builtins

from audits.cli.options import day
from audits.reports.review import report
from dpaccount import proof
from dpaccount.documents import canonical, parse_json
from dpaccount.errors import InputError, LedgerError
from dpaccount.ledger.charging import KeyTakenError
from dpaccount.ledger.entry import Entry
from dpaccount.ledger.journal.log import LogFilter, log
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.requests import Charge
from dpaccount.noise.process import standing_for
from dpaccount.plan.plan_file import read_plan
from dpaccount.schemas import ledgers as answers
from dpaccount.schemas.fields import BoundEnds, Closed, Count, Digest, Exact, Positive
from dpaccount.schemas.ledgers import Ranges
from dpaccount_packages import called
from service.access import NotAllowedError, Token, allowed

PAGE: Final = 1000  #: entries of a page of the log
KNOWN: Final = 100_000  #: charges and marks whose person is remembered


class ServedCharge(answers.ChargeAnswer, frozen=True, kw_only=True):
    """A decided charge; `spends` are the exact amounts at its worst unit."""

    spends: list[Exact] | None


class DrawnPart(Closed, frozen=True):
    """A part of a stream of noise: how and for what it was drawn, its value, the client's position."""

    part: tuple[str, str, Any]
    value: Any
    after: str


class EntryAnswer(Struct, frozen=True):
    """The number of an entry, null where nothing was left to do; parts of a reservation."""

    entry: Count | None
    parts: Ranges | None = None


class LogPage(Struct, frozen=True):
    """Entries, and after which to ask for more (null: these are the last)."""

    entries: list[answers.LoggedEntry]
    next: int | None


Line = Annotated[str, Meta(min_length=1, max_length=1000)]
Events = Annotated[Raw, Meta(description="A plan, as `dpaccount schema events` says.")]
Proof = Annotated[list[Any], Meta(description="A derivation, as certificates hold it: it is inferred anew.")]
#: what the members of requests are, by name: parameters of `Ledger`'s methods
MEMBERS: Final[dict[str, Any]] = {
    **dict.fromkeys(("by", "cohort", "every", "key", "name", "person", "process"), Line),
    **dict.fromkeys(("purpose", "reason", "scope", "text"), Line),
    **dict.fromkeys(("before", "count", "entry", "last", "request", "rounds"), Positive),
    **dict.fromkeys(("since", "until"), str),
    **dict.fromkeys(("cover", "draws"), tuple[Positive, Positive]),
    **dict.fromkeys(("parts", "units"), Ranges),
    **dict.fromkeys(("delta", "epsilon"), Exact),
    **dict.fromkeys(("first", "head"), Digest),
    **dict.fromkeys(("approved", "dry_run", "grows", "replay"), bool),
    **dict.fromkeys(("lost", "plan"), Events),
    **{"after": int, "body": dict[str, Any], "certificate": tuple[Digest, Exact], "draw": DrawnPart},
    **{"may": list[Line], "reads": Count, "theorem": Proof},
}
CHOSEN: Final = "since until by scope"
OWN: Final = ("draw", "keep")  #: what is asked about a charge that the person made
LEFT: Final = ("open_parts", "return_parts")  #: what who may arrange does for people who left
SLOW: Final = ("log", "report", "verify", "releases")  #: what reads the whole ledger
UNSIGNED: Final = ("mark", "keep_part")  #: what is written about a charge, which says whose it is


@dataclass(frozen=True)
class Asked:
    """A kind of request: what the token must allow, the method of `Ledger`, members it needs and may have."""

    method: str
    path: str
    what: str
    call: str
    needs: str = ""
    may: str = ""
    answer: Any = EntryAnswer

    @cached_property
    def members(self) -> type[Struct]:
        """Return the structure of its members."""
        members: list[Any] = [(name, MEMBERS[name]) for name in self.needs.split()]
        for name in self.may.split():  # what is kept as it is read cannot be null, too
            kind = MEMBERS[name] if MEMBERS[name] is Events else Optional[MEMBERS[name]]  # noqa: UP045
            members.append((name, kind, None))
        title = "".join(word.title() for word in self.call.split("_"))
        return defstruct(f"{title}Members", members, frozen=True, kw_only=True, forbid_unknown_fields=True)


OPEN = "reservations/{key:path}"
PLAN, THEOREM = "key scope cohort certificate dry_run", "key scope cover reads dry_run"
RESERVE = "rounds scope dry_run"
ASKED: Final = (
    Asked("POST", "charges", "charge", "charge_plan", "plan purpose", PLAN, ServedCharge),
    Asked("POST", "theorem-charges", "charge", "charge_theorem", "theorem purpose", THEOREM, ServedCharge),
    Asked("POST", "reservations", "charge", "reserve_plan", "plan purpose key", RESERVE, ServedCharge),
    Asked("POST", f"{OPEN}/draw", "draw", "draw_parts", "parts process"),
    Asked("POST", f"{OPEN}/return", "draw", "return_parts", "parts process"),
    Asked("GET", OPEN, "draw", "open_parts"),
    Asked("GET", "charge", "keep", "paid", "", "entry key", ServedCharge),
    Asked("GET", "undrawn", "draw", "check_undrawn", "entry"),
    Asked("POST", "marks", "draw", "mark", "entry draws process", "before"),
    Asked("GET", "parts", "draw", "parts_of", "entry", "", list[tuple[int, list[Any], Any, str]]),
    Asked("POST", "parts", "draw", "keep_part", "entry last count draw process"),
    Asked("GET", "release", "keep", "run_state", "key", "", Any),
    Asked("PUT", "release", "keep", "keep_release", "body", "entry key"),
    Asked("GET", "releases", "read", "releases", "text", "", list[tuple[int, Any]]),
    Asked("POST", "scopes", "scope", "set_scope", "name epsilon", "delta every", Any),
    Asked("POST", "cohorts", "cohort", "name_cohort", "name units", "grows", Any),
    Asked("POST", "grants", "grant", "grant", "person may", "scope until", Any),
    Asked("POST", "approvals", "approve", "approve", "request", "approved", Any),
    Asked("POST", "reset", "reset", "reset", "reason", "", Any),
    Asked("POST", "forfeit", "forfeit", "forfeit", "reason", "lost", Any),
    Asked("GET", "show", "read", "show", "", "", answers.LedgerAnswer),
    Asked("GET", "log", "read", "log", "", f"after {CHOSEN}", LogPage),
    Asked("GET", "report", "report", "report", "", f"replay {CHOSEN}", answers.LedgerReport),
    Asked("GET", "verify", "read", "verify", "", "head since first", answers.Verification),
)  # fmt: skip


class Desk:
    """Does requests of persons on one ledger."""

    def __init__(self, url: str) -> None:
        self._url, self.ledger = url, Ledger.open(url)
        self._checker = threading.Lock()  # the checker's budget of work is one for the process
        self._owners: dict[int | str, Owner] = {}  #: of charges and marks by number, which never change

    def do(self, token: Token, asked: Asked, members: Struct, **given: Any) -> Any:
        """Do a request, of which some members were `given` by its path.

        Raises `NotAllowedError` where the token does not allow it, and as `Ledger` does.
        """
        every = ((name, getattr(members, name)) for name in members.__struct_fields__)
        given |= {name: one for name, one in every if one is not None}
        owner = self._checked(token, asked, given)
        client = given.pop("process", "")
        for name in {"plan", "lost"} & given.keys():
            given[name] = read_plan(parse_json(bytes(given[name]), name))
        if asked.call == "forfeit":
            given.setdefault("lost", None)
        if "theorem" in given:
            with self._checker:
                given["theorem"] = proof.read(given["theorem"])
        if "draw" in given:
            kept = to_builtins(given["draw"])
            given["draw"] = lambda: kept
        with standing_for(client):
            if (own := getattr(self, f"_{asked.call}", None)) is not None:
                return own(token, **given)
            if asked.method == "POST" and asked.call not in UNSIGNED:
                given["by"] = token.person
            done = getattr(self.ledger, asked.call)(**given)
        if owner is not None and asked.call in UNSIGNED:
            self._remember(done, owner)
        return self._told(token, done)

    def _told(self, token: Token, done: Any) -> Any:
        """Return what a method of `Ledger` returned as it is answered."""
        if isinstance(done, Charge):
            if done.known and done.entry is not None and self._owner(done.entry)[1] != token.person:
                raise KeyTakenError(f"somebody else has the key of entry {done.entry}; use a new key")
            return told(done)
        if isinstance(done, Entry):
            return done.fields()
        if isinstance(done, list):
            return [(mark, name, value.tolist(), after) for mark, name, value, after in done]
        return EntryAnswer(*done) if isinstance(done, tuple) else EntryAnswer(done)

    # -------------------------------------------------------------- whose it is

    def _checked(self, token: Token, asked: Asked, given: dict[str, Any]) -> "Owner | None":
        """Return whose charge a request is about, if it is about one that was made."""
        owner, scope = None, given.get("name" if asked.what == "scope" else "scope")
        if asked.what in OWN:
            charge = given.get("entry", given.get("key"))
            if charge is None:
                raise InputError("no charge is named", "give its entry or its key")
            if asked.call == "run_state" and self.ledger.asked_by(charge) is None:
                return None
            number, by, scope = owner = self._owner(charge)
            if by != token.person and not (token.arrange and asked.call in LEFT):
                raise NotAllowedError(403, f"entry {number} is another person's, who alone may use it")
            if number != given.get("entry", number):
                raise NotAllowedError(404, f"entry {given['entry']} is no charge but a mark of one")
            for mark in {"before", "last"} & given.keys():
                if self._owner(given[mark]) != owner:
                    raise InputError(f"entry {given[mark]} is no mark of entry {number}", "give its last one")
        elif asked.what == "read" and scope is None:
            scope = token.scope
        if not allowed(token.person, token, asked.what, scope):
            where = "outside its scope" if scope is None else f"in the scope {scope}"
            raise NotAllowedError(
                403, f"the token does not allow {asked.path} {where}; ask for one that does"
            )
        return owner

    def _owner(self, charge: int | str) -> "Owner":
        known = self._owners.get(charge) or self.ledger.asked_by(charge)
        if known is None:
            raise NotAllowedError(404, f"{charge!r} is not the key of a reservation or charge, or its entry")
        self._remember(known[0], known)
        return known

    def _remember(self, number: int, owner: "Owner") -> None:
        if len(self._owners) >= KNOWN:
            self._owners.clear()
        self._owners[number] = owner

    # -------------------------------------------------------------- what is more than the method of that name

    def _paid(self, _: Token, entry: int | None = None, key: str | None = None) -> ServedCharge:
        return told(self.ledger.paid(entry or str(key)))

    def _run_state(self, _: Token, key: str) -> Any:
        return vars(self.ledger.run_state(key))

    def _keep_release(
        self, _: Token, body: dict[str, Any], entry: int | None = None, key: str | None = None
    ) -> EntryAnswer:
        number = self._owner(entry or str(key))[0]
        try:
            self.ledger.keep_release(number, body)
        except LedgerError:
            kept = self.ledger.run_state(number).kept
            if kept is None:
                raise
            if canonical(kept) != canonical(body):  # else it is the same request again
                raise NotAllowedError(409, f"entry {number} has its release already, another one") from None
        return EntryAnswer(number)

    def _releases(self, token: Token, text: str) -> list[tuple[int, Any]]:
        return [one for one in self.ledger.releases(text) if self._owner(one[0])[1] == token.person]

    def _show(self, token: Token) -> Any:
        shown = self.ledger.show()
        seen = [one for one in shown["scopes"] if allowed(token.person, token, "read", one["scope"])]
        if token.scope is not None:  # of others' rights and requests it says nothing
            for name, whose in (("people", "person"), ("requests", "by")):
                if name in shown:
                    shown[name] = [one for one in shown[name] if one[whose] == token.person]
        return {**shown, "scopes": seen}

    def _log(self, token: Token, after: int = -1, scope: str | None = None, **chosen: str) -> Any:
        lines = _apart(log, self._url, _filter(scope or token.scope, **chosen))
        page = list(islice((one for one in lines if one["entry"] > after), PAGE + 1))
        return {"entries": page[:PAGE], "next": page[PAGE - 1]["entry"] if page[PAGE:] else None}

    def _report(self, _: Token, replay: bool | None = None, scope: str | None = None, **chosen: str) -> Any:  # noqa: FBT001
        return _apart(report, self._url, replay=replay, only=_filter(scope, **chosen))

    def _verify(self, _: Token, **heads: str) -> Any:
        return _apart(verify, self._url, **heads)


Owner = tuple[int, str | None, str | None]  #: the entry of a charge or reservation, its person, its scope


def told(charge: Charge) -> ServedCharge:
    """Return a decided charge as it is answered."""
    return ServedCharge(
        charge.reason is None,
        charge.entry,
        charge.head,
        BoundEnds(**charge.epsilon.as_amount()),  # type: ignore[arg-type] # an upper end is always there
        charge.known,
        charge.reason,
        charge.certificate or UNSET,
        spends=None if charge.spends is None else list(map(str, charge.spends)),
    )


def _filter(
    scope: str | None, since: str | None = None, until: str | None = None, by: str | None = None
) -> LogFilter:
    return LogFilter(day(since, "since"), day(until, "until"), by, scope)


@cache
def _reader() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_attend)


def _attend() -> None:
    """Leave Ctrl-C to the service, and end when it was killed."""
    signal(SIGINT, SIG_IGN)
    threading.Thread(target=_end_with, args=(parent_process(),), daemon=True).start()


def _end_with(service: Any) -> None:
    service.join()
    os._exit(1)


def _apart(what: Callable[..., Any], *given: object, **named: object) -> Any:
    """Return what reads a whole ledger, from another process: in this one, charges would wait for it."""
    try:
        return _reader().submit(called, dumps(partial(what, *given, **named))).result()
    except BrokenProcessPool:
        _reader.cache_clear()
        raise LedgerError("the process that reads the ledger ended; ask again") from None
