"""The answers of `dpaccount ledger`, exactly as its commands print them.

`exit_code` says how a command ends on its answer: 1 for a refused charge and for a ledger that is not
valid, 0 otherwise.  A wrong request raises (exit 2) and has no answer.
"""

from collections.abc import Callable
from typing import Any

from dpaccount.documents import Place
from dpaccount.ledger import ledger as durable
from dpaccount.ledger.carried import upgrade as upgrades
from dpaccount.ledger.charging import RefusedError
from dpaccount.ledger.ledger import Ledger
from dpaccount.plan.plan_file import read_plan

Answer = dict[str, Any]

#: make a ledger and return what `show` says of it; recompute one: ``{"valid", "first_bad"}``
init, verify = durable.init, durable.verify
upgrade = upgrades.upgrade  #: make a ledger of this format from an earlier one


def charge(
    url: str,
    place: Place,
    *,
    key: str | None = None,
    dry_run: bool = False,
    purpose: str = "plan",
    say: Callable[[str], object] = lambda _: None,
) -> Answer:
    """Return ``{"accepted", "entry", "head", "epsilon"}`` for the plan in `place`.

    `entry` is the number of the charge or of the recorded refusal, null for a dry run; `epsilon` is
    what this charge alone costs at the ledger's δ, in the ledger's measure.  `say` is told why a
    charge is refused, one sentence for standard error.
    """
    plan = read_plan(place)
    with Ledger.open(url) as ledger:
        try:
            done, accepted = ledger.charge_plan(plan, purpose, key, dry_run=dry_run), True
        except RefusedError as refused:
            done, accepted = refused.charge, False
            say(str(refused))
    epsilon = done.epsilon.as_json()
    return {"accepted": accepted, "entry": done.entry, "head": done.head, "epsilon": epsilon}


def show(url: str) -> Answer:
    """Return ``{"budget", "spent", "remaining", "worst_unit", "entries", "refused", "head"}``."""
    with Ledger.open(url) as ledger:
        return ledger.show()


def exit_code(answer: Answer) -> int:
    """Return the exit code of a command that gave this answer."""
    return 0 if answer.get("accepted", True) and answer.get("valid", True) else 1
