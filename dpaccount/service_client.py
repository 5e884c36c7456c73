"""A ledger that `dpaccount serve` keeps: the same requests and receipts, while data and noise stay here.

The service decides, writes, and infers every theorem anew; this process draws, after the service has marked
what it draws.  What is asked again is done once: a charge has a key, a mark the name of its request.
"""

import json
import os
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from secrets import token_hex
from typing import Any, Final, NoReturn
from urllib.parse import quote, urlencode, urlsplit

from dpaccount.errors import BudgetError, InputError, LedgerError, ReceiptError
from dpaccount.ledger.balances.budget import OF_DATA, budget
from dpaccount.ledger.balances.ranges import Ranges, joined
from dpaccount.ledger.balances.rights import VALID_DAYS
from dpaccount.ledger.balances.step_functions import Cover
from dpaccount.ledger.charging import KeyTakenError
from dpaccount.ledger.entry import Entry
from dpaccount.ledger.journal.entries import RunState
from dpaccount.ledger.ledger import AHEAD, Ledger, Selection, Taken
from dpaccount.ledger.requests import Charge, RefusedError
from dpaccount.ledger.stores.rows import AGAIN_SECONDS
from dpaccount.noise import process
from dpaccount.noise.receipt import issue, prepared
from dpaccount.plan.events import Plan

SECONDS: Final = 90.0  #: for which an answer is waited for: longer than the service waits for its ledger
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  #: seconds before asking again, which double
HINT: Final = "use https://HOST, or http:// of this machine"
ERRORS: Final = {"budget": BudgetError, "input": InputError, "key": KeyTakenError, "receipt": ReceiptError}


class RemoteLedger(Ledger):
    """A `Ledger` through a service, asked with the token of `DPACCOUNT_TOKEN`; threads may share it."""

    def __init__(self, url: str) -> None:
        try:
            parts, token = urlsplit(url), os.environ.get("DPACCOUNT_TOKEN", "")
            host, port = parts.hostname, parts.port
            if not host or "@" in parts.netloc or parts.query or parts.fragment or not url.isprintable():
                raise ValueError
        except ValueError:
            raise InputError("the service's URL cannot be read, or holds a password", HINT) from None
        if not token or not token.isascii() or not token.isprintable():
            raise InputError("DPACCOUNT_TOKEN holds no token", "set it to what `dpaccount token add` printed")
        self._connect: Callable[[], HTTPConnection] = partial(HTTPConnection, host, port, timeout=SECONDS)
        if parts.scheme == "https":
            tls = ssl.create_default_context()
            self._connect = partial(HTTPSConnection, host, port, timeout=SECONDS, context=tls)
        elif host not in ("127.0.0.1", "::1", "localhost") and os.environ.get("DPACCOUNT_INSECURE") != "1":
            raise InputError("http:// would show the token to the network", HINT)
        self._path = parts.path.rstrip("/") + "/v1/"
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        try:
            told = dict(self._get("show")["budget"])
            life = told.pop("life_epsilon", None), told.pop("life_delta", None)
            of_data = {name: told.pop(name, "") for name in OF_DATA}
            self.budget = replace(budget(name=told.pop("measure"), life=life, **told), **of_data)
        except (KeyError, TypeError, ValueError):
            raise LedgerError("what answers there is no service of a ledger; give its URL") from None

    def close(self) -> None:
        """Do nothing: each request has a connection of its own."""

    # What is not done below would read a file or a database that is not here.
    @property
    def _store(self) -> NoReturn:  # type: ignore[override]
        raise LedgerError("a service does not do this; see its page, /")

    def _get(self, path: str, **given: object) -> Any:
        return self._ask("GET", f"{path}?{urlencode(given)}")

    def _post(self, path: str, *, again: bool = True, **asked: Any) -> Any:
        told = {name: one for name, one in asked.items() if one not in (None, "")}
        return self._ask("POST", path, told, again=again)

    def _ask(self, method: str, path: str, body: object = None, *, again: bool = True) -> Any:
        """Return the answer; unless done, ask `again` for a minute, and raise as a ledger does."""
        # In ASCII: what is no text is for the service to refuse, not for an encoder here.
        text = None if body is None else json.dumps(body).encode()
        end, pause = time.monotonic() + AGAIN_SECONDS, FIRST_PAUSE
        while True:
            status, answer = self._once(method, path, text)
            if status == 200 and answer:
                return answer
            # A service that has waited for its ledger says so itself, as "ledger".
            waits = status in (502, 503, 504) and "kind" not in answer
            if not (again and waits) or time.monotonic() + pause > end:
                break
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        sentence = str(answer.get("error", f"the service answered {status}, which is no answer to a request"))
        if "charge" in answer:
            raise RefusedError(sentence, self._charge(answer["charge"]))
        raise ERRORS.get(str(answer.get("kind")), LedgerError)(sentence)

    def _once(self, method: str, path: str, text: bytes | None) -> tuple[int, Any]:
        """Return the status and the table that was answered; 503 if the connection was cut."""
        try:
            with closing(self._connect()) as link:
                with suppress(BrokenPipeError, ConnectionResetError):  # it may answer before it has read all
                    link.request(method, self._path + path, text, self._headers)
                got = link.getresponse()
                status, raw = got.status, got.read()
        except ssl.SSLCertVerificationError:
            raise LedgerError("the service's certificate is not trusted; see to it") from None
        except (OSError, HTTPException):
            lost = "" if method == "GET" else "; it may be done: ask again with the same key, or see the log"
            return 503, {"error": f"the service does not answer{lost}"}
        with suppress(ValueError):  # of a proxy
            if isinstance(answer := json.loads(raw), dict):
                return status, answer
        return status, {}

    def charge_theorem(
        self, theorem: Any, purpose: str, cover: Cover | None = None, key: str | None = None, **more: Any
    ) -> Charge:
        """Charge a theorem without a receipt."""
        from dpaccount.proof import write

        asked = {"theorem": write(theorem), "cover": None if cover is None else [int(end) for end in cover]}
        return self._charged("theorem-charges", key, purpose=purpose, **asked, **more)

    def charge_plan(self, plan: Plan, purpose: str, key: str | None = None, **more: Any) -> Charge:
        """Charge a plan."""
        return self._charged("charges", key, plan=plan.as_json(), purpose=purpose, **more)

    def reserve_plan(self, plan: Plan, purpose: str, key: str, **more: Any) -> Charge:
        """Charge a plan whose parts are drawn or returned later."""
        return self._charged("reservations", key, plan=plan.as_json(), purpose=purpose, **more)

    def _charged(self, path: str, key: str | None, **asked: Any) -> Charge:
        return self._charge(self._post(path, key=f"unnamed {token_hex(16)}" if key is None else key, **asked))

    def charge_in_parts(self, *_: object, **__: object) -> NoReturn:
        """Raise `LedgerError`: the parts of a session are kept where they are marked."""
        raise LedgerError("sessions draw in parts and need the ledger itself; open it by its own URL")

    def _charge(self, told: Any) -> Charge:
        spends = None if told["spends"] is None else tuple(map(Fraction, told["spends"]))
        of = told["entry"], told["head"], spends, self.budget, told["reason"], told["already_charged"]
        return Charge(*of, certificate=told.get("certificate"))

    def paid(self, charge: int | str) -> Charge:
        """Return what an entry charged."""
        return self._charge(self._get("charge", **{"key" if isinstance(charge, str) else "entry": charge}))

    def run_state(self, key: int | str) -> RunState:
        """Return the state of this key's run; only this machine knows whether a process of it still runs."""
        told = self._get("release", key=key)
        who = told["process"].rpartition(" ")[0]  # without the request's name
        runs = who != process.name() and process.running(who) is not False
        return RunState(**{**told, "process": who, **({"drawing": runs, "lost": not runs} if who else {})})

    def keep_release(self, charge: int | str, body: Any) -> None:
        """Store the release of a charge, before it is shown."""
        self._ask("PUT", "release", {"body": body, "key" if isinstance(charge, str) else "entry": charge})

    def charge(self, theorem: Any, *asked: Any, **more: Any) -> Any:
        """Charge what `theorem` proves; return the receipt for its noise, which is drawn here."""
        proved = prepared(theorem)  # raises before the charge if noise cannot be drawn
        entry, gate = self.charge_theorem(theorem, *asked, **more).entry or 0, threading.Lock()
        before: int | None = None
        marked = 0

        # Each receipt has marks of its own: the second one of a charge is refused by the service.
        def mark(draws: int, most: int) -> None:
            nonlocal before, marked
            with gate:
                if draws > marked:
                    upto = max(draws, min(most, draws + draws // AHEAD))
                    before, marked = self.mark(entry, (draws, upto), before), upto

        return issue(proved, entry, mark)

    def mark(self, entry: int, draws: Cover, before: int | None = None, *_: object) -> int:
        """Have draws of a charge marked."""
        run = f"{process.name()} {token_hex(16)}"  # the name of this request, which may come twice
        return int(self._post("marks", entry=entry, before=before, draws=draws, run=run)["entry"])

    def open_parts(self, key: str) -> tuple[int, Ranges]:
        """Return a reservation's entry number and its open parts."""
        told = self._get(f"reservations/{quote(key, safe='')}")
        return told["entry"], [(first, last) for first, last in told["parts"]]

    def _take(
        self, kind: str, key: str, parts: Ranges | None, which: Selection, by: str | None, _: str
    ) -> Taken:
        while True:
            # Chosen here: if the answer is lost, the same parts are asked for again.
            taken = which(self.open_parts(key)[1]) if parts is None else joined(parts)
            if not taken:
                return None, []
            path = f"reservations/{quote(key, safe='')}/{kind}"
            run = f"{process.name()} {token_hex(16)}"
            try:
                return self._post(path, parts=taken, run=run, by=by)["entry"], taken
            except BudgetError:  # perhaps others took them meanwhile
                if parts is not None or which(self.open_parts(key)[1]) == taken:
                    raise

    def _arrange(self, kind: str, facts: Any, by: str | None) -> Entry:
        named = {"name" if what == kind else what: fact for what, fact in facts.items()}
        return Entry(**self._post(kind, again=False, by=by, **named))

    def approve(
        self, request: int, by: str | None = None, *, approved: bool = True, valid_days: int = VALID_DAYS
    ) -> Entry:
        """Approve the request of an entry, or refuse it."""
        more = {"by": by, "approved": approved, "valid_days": valid_days}
        return Entry(**self._post("approval", again=False, request=request, **more))

    def check_scope(self, name: str) -> None:
        """Raise `InputError` if there is no such scope."""
        if name not in [one["scope"] for one in self.show()["scopes"]]:
            raise InputError(f"there is no scope {name}", "make it with `dpaccount ledger scope`")

    def show(self) -> Any:
        """Return the budget, and what is spent and left."""
        return self._get("show")
