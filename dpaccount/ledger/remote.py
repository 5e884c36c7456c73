"""A ledger that `dpaccount serve` keeps: the same requests and receipts, while data and noise stay here.

The service decides, writes, and infers every theorem anew; this process draws, after the service has marked
what it draws.
"""

from dataclasses import replace
from fractions import Fraction
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, NoReturn
from urllib.parse import quote

from dpaccount.errors import BudgetError, InputError, LedgerError, ReceiptError
from dpaccount.forks import unforked
from dpaccount.ledger import entry as kinds
from dpaccount.ledger.balances.budget import Budget, budget
from dpaccount.ledger.balances.ranges import Ranges
from dpaccount.ledger.balances.step_functions import Cover
from dpaccount.ledger.charging import KeyTakenError
from dpaccount.ledger.entry import Entry
from dpaccount.ledger.journal import entries
from dpaccount.ledger.journal.entries import RunState
from dpaccount.ledger.ledger import Ledger, Taken, _Known
from dpaccount.ledger.requests import Charge, RefusedError
from dpaccount.ledger.stores.link import Link, NotDoneError
from dpaccount.noise import process
from dpaccount.plan.events import Plan

if TYPE_CHECKING:
    from dpaccount.ledger.streamed_receipt import Draw, KeptPart
    from dpaccount.noise.proved import Proved
    from dpaccount.proof import Theorem

ERRORS: Final = {"budget": BudgetError, "input": InputError, "key": KeyTakenError, "receipt": ReceiptError}
PATHS: Final = {
    **{kinds.SCOPE: "scopes", kinds.COHORT: "cohorts", kinds.GRANT: "grants", kinds.APPROVAL: "approvals"},
    **{kinds.RESET: "reset", kinds.ROUNDS: "draw", kinds.RETURN: "return"},
}


class RemoteLedger(Ledger):
    """A `Ledger` through a service: what it decides, writes and reads is asked there."""

    def __init__(self, url: str) -> None:
        self._link = Link(url)
        self._known = self._nothing_known()
        try:
            self.budget = _budget(dict(self._get("show")["budget"]))
        except BaseException as error:
            self._link.close()
            if isinstance(error, KeyError | TypeError):
                raise LedgerError("what answers there is no service of a ledger; give its URL") from None
            raise

    def close(self) -> None:
        """Close the connections."""
        self._link.close()

    # What is not done below would read a file or a database that is not here.
    @property
    def _store(self) -> NoReturn:  # type: ignore[override]
        raise LedgerError("a service does not do this; see its page, /")

    def _nothing_known(self) -> _Known:
        return _Known(self._commit, bool)

    def _ask(self, method: str, path: str, body: object = None, *, again: bool = True, **given: Any) -> Any:
        try:
            return self._link.ask(method, path, body, again=again, **given)
        except NotDoneError as error:
            kind, refused = error.answer.get("kind"), error.answer.get("charge")
            if refused is not None:
                raise RefusedError(str(error), self._charge(refused)) from None
            raise ERRORS[kind](str(error)) if kind in ERRORS else error from None

    def _get(self, path: str, **given: Any) -> Any:
        return self._ask("GET", path, **given)

    def _post(self, path: str, *, again: bool = True, **asked: Any) -> Any:
        if asked.get("by") is not None:
            raise InputError("a service knows from the token who asks", "leave `by` out")
        told = {name: one for name, one in asked.items() if one not in (None, "")}
        return self._ask("POST", path, told, again=again)

    def _charge(self, told: Any) -> Charge:
        spends = None if told["spends"] is None else tuple(map(Fraction, told["spends"]))
        of = told["entry"], told["head"], spends, self.budget, told["reason"], told["already_charged"]
        return Charge(*of, certificate=told.get("certificate"))

    def charge_theorem(
        self,
        theorem: "Theorem",
        purpose: str,
        cover: Cover | None = None,
        key: str | None = None,
        **more: Any,
    ) -> Charge:
        """Charge a theorem without a receipt."""
        from dpaccount.proof import write

        reach = None if cover is None else [int(end) for end in cover]
        return self._charged(
            "theorem-charges", key, theorem=write(theorem), purpose=purpose, cover=reach, **more
        )

    def charge_plan(self, plan: Plan, purpose: str, key: str | None = None, **more: Any) -> Charge:
        """Charge a plan."""
        return self._charged("charges", key, plan=plan.as_json(), purpose=purpose, **more)

    def reserve_plan(self, plan: Plan, purpose: str, key: str, **more: Any) -> Charge:
        """Charge a plan whose parts are drawn or returned later."""
        return self._charged("reservations", key, plan=plan.as_json(), purpose=purpose, **more)

    def _charged(self, path: str, key: str | None, **asked: Any) -> Charge:
        return self._charge(self._post(path, key=entries.unnamed() if key is None else key, **asked))

    def _paid(self, theorem: "Theorem", *asked: Any, **options: Any) -> tuple["Proved", int]:
        with unforked():  # a fork must not inherit half an import
            from dpaccount.noise.receipt import prepared

            proved = prepared(theorem)  # raises before the charge if noise cannot be drawn
        return proved, self.charge_theorem(theorem, *asked, **options).entry or 0

    def paid(self, charge: int | str) -> Charge:
        """Return what an entry charged."""
        return self._charge(self._get("charge", **_which(charge)))

    def run_state(self, key: int | str) -> RunState:
        """Return the state of this key's run; only this machine knows whether a process of it still runs."""
        told = self._get("release", key=key)
        who = told["process"].rpartition(" ")[0]  # without the request's name
        runs = {"drawing": process.may_run(who), "lost": not process.may_run(who)} if who else {}
        return RunState(**{**told, **runs, "process": who})

    def releases(self, text: str) -> list[tuple[int, Any]]:
        """Return this person's kept releases whose JSON has this text in it, each after its charge."""
        return [(number, body) for number, body in self._get("releases", text=text)]

    def keep_release(self, charge: int | str, body: Any) -> None:
        """Store the release of a charge, before it is shown."""
        self._ask("PUT", "release", {"body": body, **_which(charge)})

    def check_undrawn(self, entry: int) -> int:
        """Return the last entry; raises `ReceiptError` if drawing for the charge `entry` began."""
        return int(self._get("undrawn", entry=entry)["entry"])

    def mark(
        self, entry: int, draws: tuple[int, int], before: int | None = None, seen: int | None = None
    ) -> int:
        """Have draws of a charge marked."""
        told = self._post("marks", entry=entry, before=before, draws=draws, process=_request())
        return int(told["entry"])

    def parts_of(self, entry: int) -> "list[KeptPart]":
        """Return the parts of a charge that are drawn and kept."""
        import numpy as np

        told = self._get("parts", entry=entry)
        return [(mark, name, np.array(value, dtype=np.int64), place) for mark, name, value, place in told]

    def keep_part(self, entry: int, last: int, count: int, draw: "Draw") -> int:
        """Have a part of a charge marked and kept: refused if another process drew meanwhile."""
        told = self._post("parts", entry=entry, last=last, count=count, draw=draw(), process=_request())
        return int(told["entry"])

    def _arrange(self, kind: str, facts: Any, by: str | None) -> Entry:
        named = {"name" if what == kind else what: fact for what, fact in facts.items()}
        return Entry(**self._post(PATHS[kind], again=False, by=by, **named))

    def forfeit(self, lost: Plan | None, reason: str, by: str | None = None) -> Entry:
        """Charge an upper bound of what was lost."""
        plan = None if lost is None else lost.as_json()
        return Entry(**self._post("forfeit", again=False, by=by, reason=reason, lost=plan))

    def check_scope(self, name: str) -> None:
        """Raise `InputError` if there is no such scope."""
        if name not in [one["scope"] for one in self.show()["scopes"]]:
            raise InputError(f"there is no scope {name!r} that the token may name", "see ledger show")

    def open_parts(self, key: str) -> tuple[int, Ranges]:
        """Return a reservation's entry number and its open parts."""
        return _taken(self._get(f"reservations/{quote(key, safe='')}"))

    def _take(self, kind: str, key: str, parts: Ranges | None, which: Any, by: str | None) -> Taken:
        while True:
            # Chosen here: if the answer is lost, the same parts are asked for again.
            taken = which(self.open_parts(key)[1]) if parts is None else parts
            if not taken:
                return None, []
            path = f"reservations/{quote(key, safe='')}/{PATHS[kind]}"
            try:
                return _taken(self._post(path, parts=taken, process=_request(), by=by))
            except BudgetError:  # others took them meanwhile
                if parts is not None:
                    raise

    def show(self) -> Any:
        """Return the budget, and what is spent and left."""
        return self._get("show")

    def verify(self) -> Any:
        """Let the service recompute the ledger."""
        return self._get("verify")


def _budget(told: dict[str, str]) -> Budget:
    of_life = told.pop("life_epsilon", None), told.pop("life_delta", None)
    dataset, declaration, name = told.pop("dataset", ""), told.pop("declaration", ""), told.pop("measure")
    return replace(budget(**told, name=name, life=of_life), dataset=dataset, declaration=declaration)


def _request() -> str:
    """Return a name for one request of this process: it may come twice, and is done once."""
    return f"{process.name()} {token_hex(16)}"


def _which(charge: int | str) -> dict[str, object]:
    return {"entry" if isinstance(charge, int) else "key": charge}


def _taken(told: Any) -> Any:
    return told["entry"], [(first, last) for first, last in told["parts"]]
