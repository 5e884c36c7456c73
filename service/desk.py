"""What may be asked of the service: methods of `Ledger`, whose parameters are the members of requests."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Final, Optional

from msgspec import UNSET, Meta, Raw, Struct, defstruct, structs

from audits.reports import log
from dpaccount.documents import canonical, parse_json
from dpaccount.errors import InputError, LedgerError
from dpaccount.ledger.balances.budget import one_line
from dpaccount.ledger.balances.rights import EVERYWHERE
from dpaccount.ledger.charging import KeyTakenError
from dpaccount.ledger.entry import APPROVAL, GRANT, REQUEST
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.requests import Charge, RefusedError, Request
from dpaccount.schemas import ledgers as answers
from dpaccount.schemas.fields import BoundEnds, Digest, Exact, Positive
from dpaccount.schemas.ledgers import Ranges
from service.access import NotAllowedError, Token
from service.pricing import Priceable

OF_PEOPLE: Final = (GRANT, REQUEST, APPROVAL)
MOST_OF_PLAN: Final = 200_000  #: bytes, whose price is computed in seconds
#: in a refusal: what one unit has spent is for who may arrange
UNIT: Final = re.compile(r"\bunit \d+ to .*?, beyond")


class ServedCharge(answers.ChargeAnswer, frozen=True, kw_only=True):
    """A decided charge; `spends` are the exact amounts at its worst unit."""

    spends: list[Exact] | None


#: the number of an entry, null where nothing was left to do; parts of a reservation
EntryAnswer: Any = defstruct("EntryAnswer", [("entry", int | None), ("parts", Ranges | None, None)])
#: entries, and after which to ask for more (null: these are the last)
LogPage = defstruct("LogPage", [("entries", list[answers.LoggedEntry]), ("next", int | None)])
Line = Annotated[str, Meta(min_length=1, max_length=1000)]
Events = Annotated[Raw, Meta(description="A plan, as `dpaccount schema events` says.")]  # read exactly
Proof = Annotated[list[Any], Meta(description="A derivation, as certificates hold it: it is inferred anew.")]
#: what the members of requests are, by name: parameters of `Ledger`'s methods
MEMBERS: Final[dict[str, Any]] = {
    **dict.fromkeys(("cohort", "every", "name", "person", "purpose", "reason", "run", "scope"), Line),
    **dict.fromkeys(("before", "entry", "most", "request", "rounds", "reads", "valid_days"), Positive),
    **dict.fromkeys(("cover", "draws"), tuple[Positive, Positive]),
    **dict.fromkeys(("parts", "units"), Ranges),
    **dict.fromkeys(("charge_epsilon", "delta", "epsilon"), Exact),
    **dict.fromkeys(("approved", "dry_run", "grows", "latest"), bool),
    "key": Annotated[str, Meta(min_length=1, max_length=600)],  # more bytes PostgreSQL does not index
    **{"after": int, "body": dict[str, Any], "certificate": tuple[Digest, Exact], "theorem": Proof},
    **{"may": list[Line], "plan": Events, "until": str},
}


@dataclass(frozen=True)
class Endpoint:
    """A kind of request: what the token must allow, the method of `Ledger`, members it needs and may have."""

    method: str
    path: str
    what: str
    call: str
    needs: str = ""
    may: str = ""
    answer: Any = EntryAnswer

    @property
    def priced(self) -> bool:
        """Return whether it is a charge, whose price is computed first."""
        return "purpose" in self.needs.split()

    @cached_property
    def members(self) -> type[Struct]:
        """Return the structure of its members."""
        members: list[Any] = [(name, MEMBERS[name]) for name in self.needs.split()]
        members += [(name, Optional[MEMBERS[name]], None) for name in self.may.split()]  # noqa: UP045
        return defstruct(f"asked_{self.call}", members, frozen=True, kw_only=True, forbid_unknown_fields=True)


OPEN = "reservations/{key:path}"
PLAN, THEOREM = "key scope cohort certificate dry_run", "key scope cover reads dry_run"
RESERVE = "rounds scope dry_run"
ASKED: Final = (
    Endpoint("POST", "charges", "charge", "charge_plan", "plan purpose", PLAN, ServedCharge),
    Endpoint("POST", "theorem-charges", "charge", "charge_theorem", "theorem purpose", THEOREM, ServedCharge),
    Endpoint("POST", "reservations", "charge", "reserve_plan", "plan purpose key", RESERVE, ServedCharge),
    Endpoint("POST", f"{OPEN}/rounds", "own", "draw_parts", "parts run"),
    Endpoint("POST", f"{OPEN}/return", "own", "return_parts", "parts run"),
    Endpoint("GET", OPEN, "own", "open_parts"),
    Endpoint("GET", "charge", "own", "paid", "", "entry key", ServedCharge),
    Endpoint("POST", "marks", "own", "mark", "entry draws run", "before"),
    Endpoint("GET", "release", "own", "run_state", "key", "", Any),
    Endpoint("PUT", "release", "own", "keep_release", "body", "entry key"),
    Endpoint("POST", "scope", "scope", "set_scope", "name epsilon", "delta every charge_epsilon", Any),
    Endpoint("POST", "cohort", "arrange", "name_cohort", "name units", "grows", Any),
    Endpoint("POST", "grant", "arrange", "grant", "person may", "scope until", Any),
    Endpoint("POST", "approval", "approve", "approve", "request", "approved valid_days", Any),
    Endpoint("POST", "reset", "arrange", "reset", "reason", "", Any),
    Endpoint("POST", "clock", "arrange", "set_clock", "", "reason", Any),
    Endpoint("GET", "show", "read", "show", "", "", answers.LedgerAnswer),
    Endpoint("GET", "log", "read", "log", "", "after most latest", LogPage),
)  # fmt: skip


class Desk:
    """Does requests of persons on one ledger."""

    def __init__(self, url: str) -> None:
        self.url, self.ledger = url, Ledger.open(url)
        self.ledger.tells_others = True

    def do(self, token: Token, asked: Endpoint, members: Struct, **given: Any) -> Any:
        """Do a request, of which some members were `given` by its path; raises as `Ledger` does, too."""
        first, given = self._checked(token, asked, members, given)
        act: Any = getattr(self, f"_{asked.call}", None) or getattr(self.ledger, asked.call)
        return self._told(token, lambda: act(*first, **given))

    def to_price(self, token: Token, asked: Endpoint, members: Struct) -> tuple[Any, Priceable]:
        """Return the members of a charge that may be asked for, and apart from them what is to be priced."""
        _, given = self._checked(token, asked, members, {})
        one_line("purpose", given["purpose"])
        plan, theorem = given.pop("plan", None), given.pop("theorem", None)
        text = canonical(theorem) if plan is None else bytes(plan)
        cohort, key = given.get("cohort"), given.get("key")
        units = given["units"] = None if cohort is None else self.ledger.units_of(cohort, key)
        of = {name: given.pop(name, None) for name in ("rounds", "cover", "reads")}
        return given, Priceable(
            self.ledger.budget, asked.call, text, None if units is None else tuple(units), **of
        )

    def charge(self, token: Token, given: Any, priced: Request) -> Any:
        """Charge what was priced, with the other members of the request."""
        named = replace(priced, facts={**priced.facts, "purpose": given["purpose"]}).made_by(given["by"])
        scope, cohort, key = map(given.get, ("scope", "cohort", "key"))
        whole = named.within(scope, cohort, given["units"]).naming(given.get("certificate"))

        def then(units: Ranges) -> Request:
            if units != given["units"]:
                raise LedgerError(f"the cohort {cohort} has grown meanwhile; ask again with the same key")
            return whole

        asked = whole if cohort is None else replace(whole, then=then)
        return self._told(token, lambda: self.ledger.decide(asked, key, dry_run=given.get("dry_run", False)))

    def _checked(self, token: Token, asked: Endpoint, members: Struct, given: Any) -> tuple[list[Any], Any]:
        """Return what a method of `Ledger` is given, which the token allows."""
        given |= {name: one for name, one in structs.asdict(members).items() if one is not None}
        first: list[Any] = [token] if asked.what == "read" else []
        if asked.what == "own":
            first = [self._own(token, asked, given)]
        elif not first and not self._withdraws(token, given):
            self._within(token, asked, given.get("name" if asked.what == "scope" else "scope"))
        if "plan" in given and len(given["plan"]) > MOST_OF_PLAN:
            raise InputError("the plan is too large for a service", "charge it on the ledger itself")
        if "draws" in given and given["draws"][0] > given["draws"][1]:
            raise InputError("the draws are no range", "give the first and the last")
        if asked.method == "POST" and asked.call != "mark":  # a mark is its charge's
            given["by"] = token.person
        return first, given

    def _told(self, token: Token, act: Callable[[], Any]) -> Any:
        """Return what a method of `Ledger` returns as it is answered."""
        try:
            done = act()
        except RefusedError as error:
            said = str(error), str(error.charge.reason)
            whole, why = said if token.arrange else (UNIT.sub("a unit beyond", one) for one in said)
            raise RefusedError(whole, replace(error.charge, reason=why)) from None
        if isinstance(done, Charge):
            if done.known and self.ledger.asked_by(done.entry or 0)[1] != token.person:
                raise KeyTakenError(f"somebody else has the key of entry {done.entry}; use a new key")
            return told(done)
        done = (done,) if isinstance(done, int) else done
        return EntryAnswer(*done) if isinstance(done, tuple) else done

    def _within(self, token: Token, asked: Endpoint, scope: str | None) -> None:
        if not token.allows(asked.what, scope):
            where = "outside its scope" if scope is None else f"in the scope {scope}"
            raise NotAllowedError(403, f"the token does not allow {asked.path} {where}; ask for another")

    def _own(self, token: Token, asked: Endpoint, given: Any) -> int | str:
        """Return the charge that a request is about, which the person made."""
        keyed, charge = given.pop("key", None), given.pop("entry", None)
        if None not in (keyed, charge):
            raise InputError("both a key and an entry are given, which may be of two charges", "give one")
        charge = keyed if charge is None else charge
        if charge is None:
            raise InputError("no charge is named", "give its entry or its key")
        one_line("key", str(charge))  # as charges have it: a server's database does not take any text
        if asked.call == "run_state" and not self.ledger.run_state(charge).charged:
            return charge
        number, by, scope = self.ledger.asked_by(charge)
        # Who may arrange returns what people who left did not draw.
        if by != token.person and not (token.arrange and asked.call in ("open_parts", "return_parts")):
            raise NotAllowedError(403, f"entry {number} is another person's, who alone may use it")
        if charge not in (number, keyed):
            raise InputError(f"entry {charge} is no charge but a mark of one", "give its charge")
        before = given.get("before")
        if before is not None and (before == number or self.ledger.asked_by(before)[0] != number):
            raise InputError(f"entry {before} is no mark of entry {number}", "give its last one")
        self._within(token, asked, scope)
        return charge

    def _withdraws(self, token: Token, given: Any) -> bool:
        """Return whether it takes back a request of the person's own."""
        asked = log.page(self.url, given["request"] - 1, 1) if given.get("approved") is False else []
        return any(one["by"] == token.person and token.allows("request", one["scope"]) for one in asked)

    def _keep_release(self, charge: int | str, body: Any) -> int:
        parse_json(canonical(body), "the release")  # refuses what readers could not read
        self.ledger.keep_release(charge, body)
        return self.ledger.asked_by(charge)[0]

    def _show(self, token: Token) -> Any:
        shown = self.ledger.show()
        if not token.arrange:
            for one in (shown, *shown["scopes"]):
                one["worst_unit"] = None
            last = shown.get("more_like_last", {}).get("entry")
            if last is not None and not token.allows("read", self.ledger.asked_by(last)[2]):
                del shown["more_like_last"]  # how many charges fit is said of one that they may see
        shown["scopes"] = [one for one in shown["scopes"] if token.allows("read", one["scope"])]
        for name in {"people", "requests"} & shown.keys() if token.scope else ():  # nothing of others
            shown[name] = [one for one in shown[name] if token.person in (one.get("person"), one.get("by"))]
        return shown

    def _log(self, token: Token, after: int = -1, most: int = log.PAGE, *, latest: bool = False) -> Any:
        most = min(most, log.PAGE)
        lines = log.page(self.url, None if latest else after, most)
        about = [one.pop("people") for one in lines]
        seen = [
            one
            for one, people in zip(lines, about, strict=True)
            if one["scope"] != EVERYWHERE
            and token.allows("read", one["scope"])
            # of rights and requests a scope's token is told its person's own, as by `show`
            and not (token.scope and one["kind"] in OF_PEOPLE and token.person not in people)
        ]
        if not token.arrange:
            seen = [{**one, "reason": UNIT.sub("a unit beyond", one["reason"] or "") or None} for one in seen]
        return {"entries": seen, "next": lines[-1]["entry"] if len(lines) == most else None}


def told(charge: Charge) -> ServedCharge:
    """Return a decided charge as it is answered."""
    ends = BoundEnds(**charge.epsilon.as_amount())  # type: ignore[arg-type] # an upper end is always there
    facts = charge.reason is None, charge.entry, charge.head, ends, charge.known, charge.reason
    spends = None if charge.spends is None else list(map(str, charge.spends))
    return ServedCharge(*facts, charge.certificate or UNSET, spends=spends)
