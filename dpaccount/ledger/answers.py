"""The results of the commands of `dpaccount ledger`, as structures that are printed as JSON.

`exit_code` maps a result to an exit code: 1 for a refused charge or an invalid ledger, else 0.
An invalid request raises (exit 2).  `url` is a ledger's URL, `by` a name for the log (not
authenticated), and `say` receives one sentence for standard error, such as a refusal's reason.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import asdict

from dpaccount.documents import Place
from dpaccount.errors import BudgetError
from dpaccount.exact import Exact, as_exact, to_digits
from dpaccount.ledger.balances.ranges import Ranges
from dpaccount.ledger.charging import Charge, RefusedError
from dpaccount.ledger.entry import Entry
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.requests import Certificate
from dpaccount.plan.events import Plan
from dpaccount.plan.plan_file import read_plan
from dpaccount.schemas.fields import BoundEnds
from dpaccount.schemas.ledgers import ArrangedAnswer, ChargeAnswer, PartsAnswer

Answer = dict[str, Any]
Say = Callable[[str], object]


def silent(_: str) -> None:
    """Discard a message."""


def charge(  # noqa: PLR0913 - options
    url: str,
    place: Place,
    *,
    key: str | None = None,
    dry_run: bool = False,
    purpose: str = "plan",
    by: str | None = None,
    within: tuple[str | None, str | None] = (None, None),
    certificate: Certificate | None = None,
    say: Say = silent,
) -> ChargeAnswer:
    """Charge the plan in `place`.

    In the answer, `entry` is the number of the charge or of the recorded refusal, null for a dry
    run; `epsilon` is what this charge alone costs at the ledger's δ; `reason` is null unless it is
    refused.  `key` makes the charge idempotent, `purpose` is a line for the log, a `dry_run` writes
    nothing, and `within` is (scope that must have room, cohort to charge).  The entry names a
    `certificate`.
    """
    plan, (scope, cohort) = read_plan(place), within
    with Ledger.open(url) as ledger:
        call = partial(ledger.charge_plan, plan, purpose, key, by=by, dry_run=dry_run)
        call = partial(call, scope=scope, cohort=cohort, certificate=certificate)
        return _decided(plan, call, say)


def reserve(
    url: str,
    place: Place,
    key: str,
    *,
    rounds: int | None = None,
    purpose: str = "plan",
    by: str | None = None,
    scope: str | None = None,
    say: Say = silent,
) -> ChargeAnswer:
    """Charge the plan in `place` as the reservation `key`, drawn in parts; returns as `charge`.

    The parts are `rounds` (at least 1) times the plan, or by default each run of each event.
    """
    plan = read_plan(place)
    with Ledger.open(url) as ledger:
        call = partial(ledger.reserve_plan, plan, purpose, key, by=by)
        return _decided(plan, partial(call, rounds=rounds, scope=scope), say)


def _decided(plan: Plan, call: Callable[[], Charge], say: Say) -> ChargeAnswer:
    """Return the answer to a charge, with the assumptions for which the user is responsible, if any."""
    assumed = plan.assumptions()
    try:
        done = call()
    except RefusedError as refused:
        done = refused.charge
        say(str(refused))
    if done.known:
        say(f"entry {done.entry} charged this under the same key before; nothing more was charged")
    return ChargeAnswer(
        done.reason is None,
        done.entry,
        done.head,
        BoundEnds(**done.epsilon.as_amount()),  # type: ignore[arg-type] # an upper end is always there
        done.known,
        done.reason,
        done.certificate or UNSET,
        assumed or UNSET,
    )


def draw(
    url: str,
    key: str,
    parts: Ranges | None = None,
    *,
    count: int = 1,
    by: str | None = None,
    say: Say = silent,
) -> PartsAnswer:
    """Mark parts of a reservation as drawn.

    `parts` are ranges of part numbers, from 1; by default the first `count` open ones.
    """
    return _taken(url, key, lambda ledger: ledger.draw_parts(key, parts, count=count, by=by), say)


def release(
    url: str, key: str, parts: Ranges | None = None, *, by: str | None = None, say: Say = silent
) -> PartsAnswer:
    """Refund open `parts` (by default all) of the reservation `key`; returns what `draw` does."""
    return _taken(url, key, lambda ledger: ledger.return_parts(key, parts, by=by), say)


def _taken(url: str, key: str, take: Callable[[Ledger], tuple[int | None, Ranges]], say: Say) -> PartsAnswer:
    with Ledger.open(url) as ledger:
        entry: int | None = None
        parts, reason = Ranges(), None
        try:
            entry, parts = take(ledger)
        except BudgetError as refused:
            reason = str(refused)
            say(reason)
        left = ledger.open_parts(key)[1]
    return PartsAnswer(reason is None, entry, parts, left, reason)


def scope(
    url: str, name: str, epsilon: Exact, delta: Exact | None, *, by: str | None = None, say: Say = silent
) -> ArrangedAnswer:
    """Create a scope or change its cap (ε, δ)."""
    return _arranged(url, lambda ledger: ledger.set_scope(name, epsilon, delta, by), say)


def cohort(url: str, name: str, units: Ranges, *, by: str | None = None, say: Say = silent) -> ArrangedAnswer:
    """Define the cohort `name` as ranges of `units`; returns what `scope` does."""
    return _arranged(url, lambda ledger: ledger.name_cohort(name, units, by), say)


def reset(url: str, reason: str, *, by: str | None = None, say: Say = silent) -> ArrangedAnswer:
    """Begin a period, in which only open reservations are spent; returns what `scope` does."""
    return _arranged(url, lambda ledger: ledger.reset(reason, by), say)


def forfeit(
    url: str, place: Place | None, reason: str, *, by: str | None = None, say: Say = silent
) -> ArrangedAnswer:
    """Charge the events in `place` (None: nothing) that may have been lost; returns as `scope`."""
    lost = None if place is None else read_plan(place)
    return _arranged(url, lambda ledger: ledger.forfeit(lost, reason, by), say)


def _arranged(url: str, arrange: Callable[[Ledger], Entry], say: Say) -> ArrangedAnswer:
    with Ledger.open(url) as ledger:
        try:
            entry = arrange(ledger)
        except BudgetError as refused:
            say(str(refused))
            return ArrangedAnswer(accepted=False, entry=None, head=None, reason=str(refused))
    return ArrangedAnswer(accepted=True, entry=entry.number, head=entry.digest, reason=None)


def show(url: str) -> Answer:
    """Return `Ledger.show`, and ``explained``: how ``spent`` and ``remaining`` relate, as text."""
    with Ledger.open(url) as ledger:
        shown = ledger.show()
        return {**shown, "explained": _explained(shown)}


def _explained(shown: Answer) -> str:
    measure, limit = shown["budget"]["measure"], shown["budget"]["epsilon"]
    spent = _short(shown["spent"]["epsilon"]["upper"], up=True)
    sums = {
        "gdp": "μ² adds up, ε does not",
        "zcdp": "ρ adds up",
        "approximate-zcdp": "ρ and δ add up",
        "either": "μ², ρ and ε each add up",
        "approximate": "ε and δ add up",
    }.get(measure, "ε adds up")
    more = f"another charge of {room(shown['remaining'])} fits"
    sentence = f"charges cost ε {spent} of {limit}, and {more} ({sums})"
    if not shown["resets"]:
        return sentence
    life = _short(shown["life"]["epsilon"]["upper"], up=True)
    return (
        f"since the last reset, {sentence}; over the ledger's life they cost ε {life}, which is the guarantee"
    )


def room(remaining: Answer) -> str:
    """Return as text the cost up to which another charge fits every unit, rounded down."""
    left = {name: _short(amount, up=False) for name, amount in remaining.items()}
    epsilon = _short(remaining["epsilon"]["lower"], up=False)
    if "pure" in left:
        return f"μ² {left['mu_squared']}, or ρ {left['rho']}, or pure ε {left['pure']}"
    first = f"ρ {left['rho']}" if "rho" in left else f"ε {epsilon}"
    return f"{first} and δ {left['delta']}" if "delta" in left else first


def _short(value: object, *, up: bool) -> str:
    return to_digits(as_exact(value), up=up, digits=4) if isinstance(value, float) else str(value)


def exit_code(answer: Answer | Struct) -> int:
    """Return the exit code of a command with this result."""
    members = asdict(answer) if isinstance(answer, Struct) else answer
    return 0 if members.get("accepted", True) and members.get("valid", True) else 1
