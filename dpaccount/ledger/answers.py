"""The answers of `dpaccount ledger`, exactly as its commands print them.

`exit_code` says how a command ends on its answer: 1 for a refused charge and for a ledger that is not
valid, 0 otherwise.  A wrong request raises (exit 2) and has no answer.
"""

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from functools import partial
from typing import Any

from dpaccount.documents import Place
from dpaccount.errors import BudgetError
from dpaccount.exact import Exact
from dpaccount.ledger import ledger as durable
from dpaccount.ledger.carried import exported, heads, history
from dpaccount.ledger.chain import Entry
from dpaccount.ledger.charging import Charge, RefusedError
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.state.intervals import Ranges
from dpaccount.ledger.storage import store
from dpaccount.plan.events import Plan
from dpaccount.plan.plan_file import read_plan

Answer = dict[str, Any]
Say = Callable[[str], object]


def silent(_: str) -> None:
    """Say nothing."""


#: make a ledger and return what `show` says of it; recompute one: ``{"valid", "first_bad"}``
init, verify = durable.init, heads.verify
standing = heads.standing  #: number, head and root of the last entry, and the digest of the first
table, worded = history.table, history.worded  #: a log as CSV, and for a person
log = history.log  #: every entry in its order, as far as it speaks of who charged what and why
export, import_ = exported.lines, exported.made  #: a ledger's lines; a new ledger of them
grant = store.grant  #: let a role of a server's database charge a ledger there, or only read it


def charge(
    url: str,
    place: Place,
    *,
    key: str | None = None,
    dry_run: bool = False,
    purpose: str = "plan",
    by: str | None = None,
    within: tuple[str | None, str | None] = (None, None),
    say: Say = silent,
) -> Answer:
    """Charge the plan in `place`; ``{"accepted", "entry", "head", "epsilon", "already_charged", "reason"}``.

    `entry` is the number of the charge or of the recorded refusal, null for a dry run; `epsilon` is
    what this charge alone costs at the ledger's δ, in the ledger's measure; `reason` says why it is refused.
    `within` is the scope that it must fit and the cohort that it is charged to.
    `say` is told why, or that the key had charged it before, one sentence for standard error.
    """
    plan, (scope, cohort) = read_plan(place), within
    with Ledger.open(url) as ledger:
        told = partial(ledger.charge_plan, plan, purpose, key, by=by, dry_run=dry_run)
        return _assuming(plan, _decided(partial(told, scope=scope, cohort=cohort), say))


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
) -> Answer:
    """Charge the plan in `place`, `rounds` times or run by run, to be drawn in parts; as `charge` says."""
    plan = read_plan(place)
    with Ledger.open(url) as ledger:
        told = partial(ledger.reserve_plan, plan, purpose, key, by=by)
        return _assuming(plan, _decided(partial(told, rounds=rounds, scope=scope), say))


def _assuming(plan: Plan, answer: Answer) -> Answer:
    """Return the answer with what the user answers for, where the plan says such a thing."""
    assumed = plan.assumptions()
    return {**answer, "assumptions": assumed} if assumed else answer


def _decided(ask: Callable[[], Charge], say: Say) -> Answer:
    try:
        done = ask()
    except RefusedError as refused:
        done = refused.charge
        say(str(refused))
    if done.known:
        say(f"entry {done.entry} charged this under the same key before; nothing more was charged")
    return {
        "accepted": done.reason is None,
        "entry": done.entry,
        "head": done.head,
        "epsilon": done.epsilon.as_json(),
        "already_charged": done.known,
        "reason": done.reason,
    }


def draw(
    url: str,
    key: str,
    parts: Ranges | None = None,
    *,
    count: int = 1,
    by: str | None = None,
    say: Say = silent,
) -> Answer:
    """Mark parts of a reservation as drawn; ``{"accepted", "entry", "parts", "open", "reason"}``."""
    return _taken(url, key, lambda ledger: ledger.draw_parts(key, parts, count=count, by=by), say)


def release(
    url: str, key: str, parts: Ranges | None = None, *, by: str | None = None, say: Say = silent
) -> Answer:
    """Return parts of a reservation that were never drawn, all of them if none are named; as `draw` says."""
    return _taken(url, key, lambda ledger: ledger.return_parts(key, parts, by=by), say)


def _taken(url: str, key: str, take: Callable[[Ledger], tuple[int | None, Ranges]], say: Say) -> Answer:
    with Ledger.open(url) as ledger:
        entry: int | None = None
        parts, reason = Ranges(), None
        try:
            entry, parts = take(ledger)
        except BudgetError as refused:
            reason = str(refused)
            say(reason)
        left = ledger.open_parts(key)[1]
    return {"accepted": reason is None, "entry": entry, "parts": parts, "open": left, "reason": reason}


def scope(
    url: str, name: str, epsilon: Exact, delta: Exact | None, *, by: str | None = None, say: Say = silent
) -> Answer:
    """Make a scope, or change its cap; ``{"accepted", "entry", "head", "reason"}``."""
    return _arranged(url, lambda ledger: ledger.set_scope(name, epsilon, delta, by), say)


def cohort(url: str, name: str, units: Ranges, *, by: str | None = None, say: Say = silent) -> Answer:
    """Name ranges of units; as `scope` says."""
    return _arranged(url, lambda ledger: ledger.name_cohort(name, units, by), say)


def reset(url: str, reason: str, *, by: str | None = None, say: Say = silent) -> Answer:
    """Begin a period in which nothing is spent; as `scope` says."""
    return _arranged(url, lambda ledger: ledger.reset(reason, by), say)


def forfeit(
    url: str, place: Place | None, reason: str, *, by: str | None = None, say: Say = silent
) -> Answer:
    """Charge the events in `place` as the most that may have been lost, None: nothing; as `scope` says."""
    lost = None if place is None else read_plan(place)
    return _arranged(url, lambda ledger: ledger.forfeit(lost, reason, by), say)


def _arranged(url: str, arrange: Callable[[Ledger], Entry], say: Say) -> Answer:
    with Ledger.open(url) as ledger:
        try:
            made = arrange(ledger)
        except BudgetError as refused:
            say(str(refused))
            return {"accepted": False, "entry": None, "head": None, "reason": str(refused)}
    return {"accepted": True, "entry": made.number, "head": made.digest, "reason": None}


def show(url: str) -> Answer:
    """Return what `Ledger.show` says, and as ``explained`` how what is spent and what remains go together."""
    with Ledger.open(url) as ledger:
        shown = ledger.show()
        return {**shown, "explained": _explained(shown)}


def _explained(shown: Answer) -> str:
    measure, limit = shown["budget"]["measure"], shown["budget"]["epsilon"]
    spent = _short(shown["spent"]["epsilon"]["upper"], ROUND_CEILING)
    sums = {
        "gdp": "μ² adds up, and the two ε do not",
        "zcdp": "ρ adds up",
        "either": "μ², ρ and ε add up, each by itself",
        "approximate": "ε and δ add up",
    }.get(measure, "ε adds up")
    more = f"one more charge of {room(shown['remaining'])} fits"
    said = f"what was charged comes to ε {spent} of {limit}, and {more}: {sums}"
    if not shown["resets"]:
        return said
    life = _short(shown["life"]["epsilon"]["upper"], ROUND_CEILING)
    return f"since the last reset {said}; over the ledger's life ε {life}, which is what is guaranteed"


def room(remaining: Answer) -> str:
    """Return in words what one more charge may cost and still fits every unit, rounded down.

    In amounts where one ε does not say it: of two amounts both count, and of several measures each alone.
    """
    left = {name: _short(amount, ROUND_FLOOR) for name, amount in remaining.items()}
    epsilon = _short(remaining["epsilon"]["lower"], ROUND_FLOOR)
    if "pure" in left:
        return f"μ² {left['mu_squared']}, or ρ {left['rho']}, or pure ε {left['pure']}"
    if "rho" in left:
        return f"ρ {left['rho']}"
    return f"ε {epsilon} and δ {left['delta']}" if "delta" in left else f"ε {epsilon}"


def _short(value: object, rounding: str) -> str:
    return str(Context(4, rounding).create_decimal(repr(value))) if isinstance(value, float) else str(value)


def exit_code(answer: Answer) -> int:
    """Return the exit code of a command that gave this answer."""
    return 0 if answer.get("accepted", True) and answer.get("valid", True) else 1
