"""Summary of a ledger's balances: spent, remaining, and the sums of period, year and lifetime."""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from msgspec import structs

from dpaccount.accounting.measures import Amounts
from dpaccount.errors import damaged
from dpaccount.exact import shown
from dpaccount.ledger.balances import ranges, rights, step_functions
from dpaccount.ledger.balances.bodies import (
    RequestBody,
    Requested,
    ReservationBody,
    read_body,
    renew,
    spends,
    spent_by,
)
from dpaccount.ledger.balances.budget import Budget
from dpaccount.ledger.balances.segment_tree import SpentTree, TooLargeError
from dpaccount.ledger.balances.state import Asked, State
from dpaccount.ledger.balances.step_functions import zero
from dpaccount.ledger.entry import CHARGE, REFUSAL, REQUEST, RESERVATION
from dpaccount.ledger.journal import entries
from dpaccount.ledger.journal.entries import Totals
from dpaccount.ledger.stores.rows import Rows
from dpaccount.numerics.bisection import least_integer
from dpaccount.schemas.ledgers import MOST_MORE

Shown = dict[str, Any]
LOOKED_AT: Final = 4096  #: nodes in which a unit beyond the budget is looked for, before anything is shown
#: members of what is asked for that say nothing to who approves it
_UNSAID: Final = ("time", "by", "role", "digest", "theorem", "events", "steps", "parts", "units")


def shown_at(rows: Rows, totals: Totals, budget: Budget) -> Shown:
    """Return the result of `Ledger.show`; `spent` and `remaining` are those of the period."""
    try:
        state = totals.state(rows.node)
        tree, year = state.period_tree(), state.year_tree(int(entries.time_by(rows.stamp)[:4]))
        over = state.over(budget, None, LOOKED_AT)
        if over is not None and over.unit:
            raise damaged("more is spent than the ledger's budget, or its life cap, allows")
        spent, life = tree.root.peak, amounts(budget.of_life or budget, state.life.peak)
        whole, again = budget.of_life, more_like_last(rows, totals, budget)
        return {
            "budget": budget.as_json(),
            "spent": amounts(budget, spent),
            "remaining": amounts(budget, room(budget, state), up=False),
            "worst_unit": worst_unit(budget, tree),
            "period": amounts(budget, spent),
            "year": amounts(budget, state.life.peak if year is None else year.root.peak),
            "life": life,
            **({"life_remaining": amounts(whole, whole.room(state.life.peak), up=False)} if whole else {}),
            **({} if again is None else {"more_like_last": {"entry": again[0], "charges": again[1]}}),
            "resets": state.period_number,
            "scopes": [scope(*one) for one in scopes(rows, state, budget)],
            **_people(rows, state, budget),
            "entries": rows.count(CHARGE) + rows.count(RESERVATION),
            "refused": rows.count(REFUSAL),
            "head": totals.at.digest,
        }
    except ValueError as error:  # an entry that a client did not write
        raise damaged(f"an entry cannot be read ({error})") from None


def more_like_last(rows: Rows, totals: Totals, budget: Budget) -> tuple[int, int] | None:
    """Return the last charge's entry, and how many more like it fit, counted up to `MOST_MORE`.

    None if nothing was charged, or it cost nothing, or its scope is unknown: the entry was written by hand.
    """
    last = rows.last_spending()
    steps = [] if last is None else spent_by(last, budget.width)
    if last is None or not any(any(amounts) for _, amounts in steps):
        return None
    where, state = read_body(last.kind, last.body), totals.state(rows.node)
    if where.cohort is not None and state.cohort(where.cohort).units != where.units:
        return None  # the next one is charged to more units
    if where.scope is not None and state.scope(where.scope) is None:
        return None

    def fits(times: int) -> bool:
        state = totals.state(rows.node)
        scaled = [(unit, tuple(times * one for one in amounts)) for unit, amounts in steps]
        renew(state, where.scope, entries.time_by(rows.stamp), lambda number: entries.body_of(rows, number))
        try:
            state.spend([scaled], where.scope)
        except TooLargeError:
            return False
        return (state.over_one(budget, steps, where.scope) or state.over(budget, where.scope)) is None

    return last.number, least_integer(lambda times: not fits(times), 0, MOST_MORE + 1) - 1


def _people(rows: Rows, state: State, budget: Budget) -> dict[str, object]:
    """Return what people may do and what is asked for; nothing of a ledger without rights."""
    known = rights.people(state)
    if known is None:
        return {}
    people = sorted(known.grants, key=lambda one: (one.person, one.scope, one.may))
    asked = (one for name, one in state.register.items() if name.startswith("asked "))
    return {
        "people": [structs.asdict(one) for one in people],
        "requests": [_request(rows, state, budget, one) for one in sorted(asked, key=lambda one: one.entry)],
    }


def _request(rows: Rows, state: State, budget: Budget, asked: Asked) -> dict[str, object]:
    """Return who asks for what, and who has approved it (None: nobody yet).

    ``wants`` has all that an approval holds for, and of a charge its ε at the budget's δ.
    """
    body: RequestBody = read_body(REQUEST, entries.body_of(rows, asked.entry))
    wanted = body.wanted
    wants = {name: value for name, value in structs.asdict(wanted).items() if name not in _UNSAID and value}
    if isinstance(wanted, Requested):
        steps = spends(wanted, budget.width)
        if isinstance(wanted, ReservationBody):
            wants["rounds"] = wanted.everything[0][1]
        touched = [[unit, after - 1] for (unit, paid), (after, _) in pairwise(steps) if any(paid)]
        if touched and not any(steps[-1][1]):  # who asks may write other units beside the amounts
            units = ranges.joined([(first, last) for first, last in touched])
            wants["units"] = units if wanted.cohort else [units[0][0], units[-1][1]]
        most = step_functions.most(steps, budget.width)
        wants["epsilon"] = budget.measure.enclosure(most, budget.delta).as_amount()["upper"]
    day = wanted.approved_on(state, entries.time_by(rows.stamp))
    lapsed = rights.unapproved(state, asked, wanted.approver, day) is not None
    who = {"by": body.by or body.role, "approved": None if lapsed else asked.approved}
    return {"entry": asked.entry, "asks": body.asks, **who, "wants": wants}


def room(budget: Budget, state: State) -> Amounts:
    """Return what a charge to every unit may cost: within the period's budget, and the life cap."""
    limits, left = budget.of_life, budget.room(state.period_tree().root.peak)
    if limits is None:
        return left
    return tuple(map(min, left, limits.room(state.life.peak)))


def amounts(budget: Budget, spent: Amounts, *, up: bool = True) -> Shown:
    """Return amounts by name, and their ε at the budget's δ; rounded up, or if not `up` down.

    Where δ itself adds up, and sums of several periods exceed the budget's, ε is that beside the sum of δ.
    """
    cost = budget.measure.enclosure if up else budget.measure.left
    beside = spent[1] if budget.measure.name == "approximate" else Fraction(0)
    return {**budget.named(spent, up=up), "epsilon": cost(spent, max(budget.delta, beside)).as_amount()}


def scopes(
    rows: Rows, state: State, budget: Budget
) -> Iterator[tuple[str, Budget, SpentTree, dict[str, str]]]:
    """Yield the name, the limits and the tree of every scope, sorted by name, as a charge now finds them.

    The last says how often the cap renews, which day, week, month or year this is, and the ε of one charge.
    """
    names = [name for name, _ in state.register.items() if name.startswith("scope ")]
    for name in sorted(one.removeprefix("scope ") for one in names):
        renew(state, name, entries.time_by(rows.stamp), lambda number: entries.body_of(rows, number))
        record = state.existing_scope(name)
        more = {"every": record.every, "period": record.began} if record.every else {}
        more |= {"charge_epsilon": record.charge_epsilon} if record.charge_epsilon else {}
        limits = budget.capped(record.epsilon, record.delta)
        yield name, limits, state.scope_tree(record), more


def scope(name: str, limits: Budget, tree: SpentTree, more: dict[str, str]) -> Shown:
    """Return a scope's cap, and what is spent in this period and remains under that cap alone."""
    spent = tree.root.peak
    return {
        "scope": name,
        "cap": cap(limits),
        **more,
        "spent": amounts(limits, spent),
        "remaining": amounts(limits, limits.room(spent), up=False),
        "worst_unit": worst_unit(limits, tree),
    }


def cap(limits: Budget) -> dict[str, str]:
    """Return a limit as an entry holds it."""
    return {"epsilon": shown(limits.epsilon), "delta": shown(limits.delta)}


def worst_unit(budget: Budget, tree: SpentTree) -> int | None:
    """Return the first unit with the largest share of the budget spent; None if all are equal."""
    if not tree.root.edge.top.some:
        return None
    most = share(budget, tree.root.peak)
    return (tree.beyond(lambda spent: share(budget, spent) < most) or (1, most))[0]


def share(budget: Budget, spent: Amounts) -> Fraction:
    """Return the largest share of its limit that any of the amounts takes."""
    limits = _limits(budget) if budget.width == 2 else (budget.epsilon,) * budget.width
    return max(amount / (limit or 1) for amount, limit in zip(spent, limits, strict=True))


@lru_cache(maxsize=256)
def _limits(budget: Budget) -> Amounts:
    return budget.room(zero(budget.width))
