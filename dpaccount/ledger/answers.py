"""The results of the commands of `dpaccount ledger`, as structures that are printed as JSON.

`exit_code` maps a result to an exit code: 1 for a refused charge or an invalid ledger, else 0.
An invalid request raises (exit 2).  `url` is a ledger's URL, and `say` receives one sentence for
standard error, such as a refusal's reason.
"""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import asdict

from dpaccount.documents import Place
from dpaccount.errors import BudgetError
from dpaccount.exact import in_digits
from dpaccount.ledger.balances.ranges import Ranges
from dpaccount.ledger.entry import Entry
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.requests import Charge, RefusedError
from dpaccount.ledger.summary import MOST_MORE
from dpaccount.plan.events import Plan
from dpaccount.plan.plan_file import read_plan
from dpaccount.schemas.fields import BoundEnds
from dpaccount.schemas.ledgers import ArrangedAnswer, ChargeAnswer, LargeCharge, PartsAnswer

Answer = dict[str, Any]
Say = Callable[[str], object]


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
    if refused.over is None:
        return []
    from dpaccount.ledger.review import largest  # an accepted charge needs no review

    causes = [
        LargeCharge(**{**one, "epsilon": BoundEnds(**one["epsilon"])}) for one in largest(url, refused.over)
    ]
    told = [
        f"entry {one.entry} (ε {in_digits(one.epsilon.upper, 4, up=True)}, {one.purpose}"
        + (f", by {one.by})" if one.by else ")")
        for one in causes
    ]
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
    return ArrangedAnswer(accepted=True, entry=entry.number, head=entry.digest, reason=None)


def show(url: str) -> Answer:
    """Return `Ledger.show`, and ``explained``: how ``spent`` and ``remaining`` relate, as text."""
    with Ledger.open(url) as ledger:
        shown = ledger.show()
        return {**shown, "explained": _explained(shown)}


def _explained(shown: Answer) -> str:
    measure, limit = shown["budget"]["measure"], shown["budget"]["epsilon"]
    spent = in_digits(shown["spent"]["epsilon"]["upper"], 4, up=True)
    sums = {
        "gdp": "μ² adds up, ε does not",
        "zcdp": "ρ adds up",
        "approximate-zcdp": "ρ and δ add up",
        "either": "μ², ρ and ε each add up",
        "approximate": "ε and δ add up",
    }.get(measure, "ε adds up")
    more = f"another charge of {room(shown['remaining'])} fits"
    sentence = f"charges cost ε {spent} of {limit}, and {more} ({sums})"
    capped = _again(shown)
    if "life_remaining" in shown:
        most, left = shown["budget"]["life_epsilon"], room(shown["life_remaining"])
        capped += f"; in its whole life a unit loses at most ε {most}, of which {left} is left"
    if not shown["resets"]:
        return sentence + capped
    life = in_digits(shown["life"]["epsilon"]["upper"], 4, up=True)
    of_life = f"over the ledger's life they cost ε {life}, which is the guarantee"
    return f"since the last reset, {sentence}; {of_life}{capped}"


def _again(shown: Answer) -> str:
    """Return how many charges like the last one fit, as the end of a sentence."""
    if "more_like_last" not in shown:
        return ""
    entry, charges = (shown["more_like_last"][name] for name in ("entry", "charges"))
    many = "no more charge" if not charges else f"{charges:,} more charge{'s' * (charges > 1)}"
    least = "at least " if charges >= MOST_MORE else ""
    return f"; {least}{many} like entry {entry} fit{'s' * (charges < 2)}"


def room(remaining: Answer) -> str:
    """Return as text the cost up to which another charge fits every unit, rounded down."""
    left = {name: in_digits(amount, 4, up=False) for name, amount in remaining.items()}
    epsilon = in_digits(remaining["epsilon"]["lower"], 4, up=False)
    if "pure" in left:
        return f"μ² {left['mu_squared']}, or ρ {left['rho']}, or pure ε {left['pure']}"
    first = f"ε {epsilon}"
    if "rho" in left:
        alone = alone_costs(remaining)
        first = f"ρ {left['rho']}" + (f", by itself ε {in_digits(alone, 4, up=False)}," if alone else "")
    return f"{first} and δ {left['delta']}" if "delta" in left else first


def alone_costs(remaining: Answer) -> float | None:
    """Return the ε at the budget's δ that a ledger counts for ρ that is left, as the only charge; or None.

    Not for approximate zCDP, where δ is spent, too.
    """
    upper = remaining["epsilon"]["upper"]
    known = "rho" in remaining and "delta" not in remaining and isinstance(upper, float)
    return upper * (1 - 1e-9) if known else None  # the ε that the ledger counts is known to 1e-12


def exit_code(answer: Answer | Struct) -> int:
    """Return the exit code of a command with this result."""
    members = asdict(answer) if isinstance(answer, Struct) else answer
    return 0 if members.get("accepted", True) and members.get("valid", True) else 1
