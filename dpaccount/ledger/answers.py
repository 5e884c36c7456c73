"""The answers of `dpaccount ledger`, exactly as its commands print them.

`exit_code` says how a command ends on its answer: 1 for a refused charge and for a ledger that is not
valid, 0 otherwise.  A wrong request raises (exit 2) and has no answer.
"""

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

from dpaccount.documents import Place
from dpaccount.ledger import ledger as durable
from dpaccount.ledger.carried import exported, heads, history
from dpaccount.ledger.carried import upgrade as upgrades
from dpaccount.ledger.charging import RefusedError
from dpaccount.ledger.ledger import Ledger
from dpaccount.plan.plan_file import read_plan

Answer = dict[str, Any]

#: make a ledger and return what `show` says of it; recompute one: ``{"valid", "first_bad"}``
init, verify = durable.init, heads.verify
standing = heads.standing  #: number, head and root of the last entry
table, worded = history.table, history.worded  #: a log as CSV, and for a person
log = history.log  #: every entry in its order, as far as it speaks of who charged what and why
export, import_ = exported.lines, exported.made  #: a ledger's lines; a new ledger of them
upgrade = upgrades.upgrade  #: make a ledger of this format from an earlier one


def charge(
    url: str,
    place: Place,
    *,
    key: str | None = None,
    dry_run: bool = False,
    purpose: str = "plan",
    by: str | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> Answer:
    """Charge the plan in `place`; ``{"accepted", "entry", "head", "epsilon", "already_charged", "reason"}``.

    `entry` is the number of the charge or of the recorded refusal, null for a dry run; `epsilon` is
    what this charge alone costs at the ledger's δ, in the ledger's measure; `reason` says why it is refused.
    `say` is told why, or that the key had charged it before, one sentence for standard error.
    """
    plan = read_plan(place)
    with Ledger.open(url) as ledger:
        try:
            done = ledger.charge_plan(plan, purpose, key, by=by, dry_run=dry_run)
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


def show(url: str) -> Answer:
    """Return what `Ledger.show` says, and as ``explained`` how what is spent and what remains go together."""
    with Ledger.open(url) as ledger:
        shown = ledger.show()
        return {**shown, "explained": _explained(shown)}


def _explained(shown: Answer) -> str:
    measure, limit = shown["budget"]["measure"], shown["budget"]["epsilon"]
    spent = _short(shown["spent"]["epsilon"]["upper"], ROUND_CEILING)
    rest = _short(shown["remaining"]["epsilon"]["lower"], ROUND_FLOOR)
    said = f"what was charged comes to ε {spent} of {limit}, and one more charge of ε {rest} fits"
    sums = {"gdp": "μ² adds", "zcdp": "ρ adds", "either": "μ², ρ and ε add, each by itself,"}
    if measure in sums:
        return f"{said}: {sums[measure]} up, and the two ε do not"
    return f"{said}: ε adds up"


def _short(value: object, rounding: str) -> str:
    return str(Context(4, rounding).create_decimal(repr(value))) if isinstance(value, float) else str(value)


def exit_code(answer: Answer) -> int:
    """Return the exit code of a command that gave this answer."""
    return 0 if answer.get("accepted", True) and answer.get("valid", True) else 1
