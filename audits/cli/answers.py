"""The results of the commands of `dpaccount ledger`, as structures that are printed as JSON.

`exit_code` maps a result to an exit code: 1 for a refused charge or an invalid ledger, else 0.
An invalid request raises (exit 2).  `url` is a ledger's URL, and `say` receives one sentence for
standard error, such as a refusal's reason.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.structs import asdict

from dpaccount.documents import Place
from dpaccount.errors import BudgetError, DpaccountError
from dpaccount.exact import in_digits
from dpaccount.ledger.balances.budget import OF_DATA
from dpaccount.ledger.balances.ranges import Ranges
from dpaccount.ledger.entry import REQUEST, Entry
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.requests import Charge, RefusedError
from dpaccount.ledger.stores.place import Address, ServerAddress, address
from dpaccount.plan.events import Plan
from dpaccount.plan.plan_file import read_plan
from dpaccount.schemas.fields import BoundEnds
from dpaccount.schemas.ledgers import ArrangedAnswer, ChargeAnswer, LargeCharge, PartsAnswer

Answer = dict[str, Any]
Say = Callable[[str], object]
#: schemas of one owner: another's functions would run as this role
_OURS: Final = (
    "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, 'dpaccount_')"
    " AND nspowner = (SELECT nspowner FROM pg_namespace WHERE nspname = %s)"
)


def charged(url: str, place: Place, charge: Callable[[Ledger, Plan], Charge], say: Say) -> ChargeAnswer:
    """Let the ledger at `url` decide the plan in `place`, by `charge` or as a reservation.

    In the answer, `entry` is the number of the charge or of the recorded refusal, null for a dry
    run; `epsilon` is what this charge alone costs at the ledger's δ; `reason` is null unless it is
    refused; the user is responsible for the `assumptions`, if any.
    """
    plan = read_plan(place)
    assumed, causes = plan.assumptions(), list[LargeCharge]()
    with Ledger.open(url) as ledger:
        try:
            done = charge(ledger, plan)
        except RefusedError as refused:
            done = refused.charge
            say(str(refused))
            causes = _causes(url, done, say)
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
        causes or UNSET,
    )


def _causes(url: str, refused: Charge, say: Say) -> list[LargeCharge]:
    """Return and say which earlier charges took most of the limit that a refused charge exceeds."""
    if refused.over is None or refused.over.of_one:
        return []
    from audits.reports.review import largest  # an accepted charge needs no review

    causes = largest(url, refused.over)
    told = [f"entry {one.entry} (ε {in_digits(one.epsilon.upper, up=True)}, {one.purpose})" for one in causes]
    if told:
        say(f"the largest charges of that unit there: {', '.join(told)}")
    return causes


def taken(url: str, key: str, take: Callable[[Ledger], tuple[int | None, Ranges]], say: Say) -> PartsAnswer:
    """Draw or return parts of the reservation `key`, and say which are open then."""
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


def arranged(url: str, arrange: Callable[[Ledger], Entry], say: Say) -> ArrangedAnswer:
    """Make or change a scope or a cohort, reset, or forfeit."""
    with Ledger.open(url) as ledger:
        try:
            entry = arrange(ledger)
        except BudgetError as refused:
            say(str(refused))
            return ArrangedAnswer(accepted=False, entry=None, head=None, reason=str(refused))
    waits = None
    if entry.kind == REQUEST:
        waits = f"entry {entry.number} asks for it; another person approves it, then repeat this"
        say(waits)
    return ArrangedAnswer(waits is None, entry.number, entry.digest, waits)


def show(url: str) -> Answer:
    """Return `Ledger.show`, and ``explained``: how ``spent`` and ``remaining`` relate, as text."""
    from audits.reports.terminal import explained  # charges need no words of reports

    with Ledger.open(url) as ledger:
        shown = ledger.show()
        return {**shown, "explained": explained(shown)}


def same_data(url: str) -> list[str]:
    """Return the other readable ledgers in its folder or database with its data's name or declaration."""
    where, found = address(url), list[str]()
    with Ledger.open(url) as ledger:
        own = {what: getattr(ledger.budget, what) for what in OF_DATA}
    for name, beside in _beside(where, url) if any(own.values()) else ():
        with suppress(DpaccountError), Ledger.open(beside) as other:
            if any(said and said == getattr(other.budget, what) for what, said in own.items()):
                found.append(name)
    return found


def _beside(where: Address | ServerAddress, url: str) -> Iterator[tuple[str, str]]:
    """Yield names and URLs of what may be ledgers in the same place."""
    if isinstance(where, Address):
        with suppress(OSError):
            for file in sorted(where.resolved.parent.iterdir()):
                alike = file.suffix == where.resolved.suffix and file.is_file()
                if alike and file.resolve() != where.resolved:
                    yield file.name, f"sqlite:///{file}"
        return
    import psycopg

    with suppress(psycopg.Error), psycopg.connect(**where.parameters) as link:  # type: ignore[arg-type]
        for (schema,) in link.execute(_OURS, (where.schema,)):
            name = schema.removeprefix("dpaccount_")
            if name != where.name and name.isidentifier():  # others could be more of a URL
                yield name, re.sub(r"(?<=[?&]ledger=)\w+", name, url)


def exit_code(answer: Answer | Struct) -> int:
    """Return the exit code of a command with this result."""
    members = asdict(answer) if isinstance(answer, Struct) else answer
    return 0 if members.get("accepted", True) and members.get("valid", True) else 1
