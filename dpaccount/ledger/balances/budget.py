"""The budget of a ledger, and the text of its entry 0."""

from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Final

import msgspec

from dpaccount.accounting.measures import LARGE, MEASURES, MOST_NEAR, Amounts, Measure
from dpaccount.errors import InputError
from dpaccount.exact import Exact, exact_argument, printed_amount, read_number, shown
from dpaccount.ledger.balances.step_functions import zero
from dpaccount.relation import RELATIONS, bounded_row, radius_of

MAX_TEXT = 1000
MAX_EPSILON = 10**300
PERIOD = "period_"  #: before epsilon and delta in an entry 0 with a life cap
RENEWALS: Final = ("day", "week", "month", "year")  #: how often the cap of a scope may renew, in UTC
OF_DATA: Final = ("dataset", "declaration")
DEFAULT_MEASURE = "approximate"  #: takes whatever `release` makes


@dataclass(frozen=True)
class Budget:
    """The limit for each unit: (ε, δ), accounted in one measure's additive amounts, under one relation."""

    epsilon: Fraction
    delta: Fraction
    unit: str
    relation: str
    measure: Measure
    life: tuple[Fraction, Fraction] | None = None  #: (ε, δ) of all periods together, which no reset lifts
    dataset: str = ""  #: the name of the data that it is about
    declaration: str = ""  #: the digest of what is declared of them, never of rows

    @property
    def width(self) -> int:
        """Return the number of amounts that the measure adds up."""
        return len(self.measure.amounts)

    def fits(self, total: Amounts) -> bool:
        """Return whether a unit may spend `total`."""
        return self.measure.fits(total, self.epsilon, self.delta)

    def room(self, total: Amounts) -> Amounts:
        """Return the remaining amounts of a unit that has spent `total`; 0 if that is beyond the limit."""
        if not self.fits(total):
            return zero(self.width)
        return self.measure.room(total, self.epsilon, self.delta)

    def named(self, total: Amounts, *, up: bool = True) -> dict[str, float | str]:
        """Return amounts by name as decimals, rounded up, or if not `up` down."""
        names = zip(self.measure.amounts, total, strict=True)
        return {name: printed_amount(amount, up=up) for name, amount in names}

    def capped(self, epsilon: str, delta: str) -> "Budget":
        """Return the budget with a scope's limits in place of its own; raises as `cap` does."""
        limits = cap(epsilon, delta)
        return replace(self, epsilon=limits[0], delta=limits[1])

    @property
    def of_life(self) -> "Budget | None":
        """Return the limits of all periods together; None without a life cap."""
        return None if self.life is None else replace(self, epsilon=self.life[0], delta=self.life[1])

    def as_json(self) -> dict[str, str]:
        """Return the budget as `show` prints it."""
        limits = {"epsilon": self.epsilon, "delta": self.delta}
        if self.life is not None:
            limits |= {"life_epsilon": self.life[0], "life_delta": self.life[1]}
        facts = {"unit": self.unit, "relation": self.relation, "measure": self.measure.name}
        facts |= {name: getattr(self, name) for name in OF_DATA if getattr(self, name)}
        return {**{name: shown(limit) for name, limit in limits.items()}, **facts}

    def as_origin(self) -> dict[str, str]:
        """Return the budget as entry 0 holds it."""
        facts = self.as_json()
        if self.life is None:
            return facts
        # Under other names, a program that knows of no life cap refuses the ledger: it would exceed the cap.
        return {PERIOD + name if name in ("epsilon", "delta") else name: facts[name] for name in facts}


def budget(
    epsilon: Exact,
    delta: Exact,
    unit: str,
    relation: str,
    name: str,
    life: tuple[Exact | None, Exact | None] = (None, None),
) -> Budget:
    """Return a budget in the measure `name`; raises `InputError` for values out of range.

    `life` is the (ε, δ) of all periods together: no ε is no life cap, no δ is that of the period.
    """
    if life[0] is not None:
        return _with_life(budget(epsilon, delta, unit, relation, name), life[0], life[1])
    if life[1] is not None:
        raise InputError("a life cap has no epsilon", "give --life-epsilon too")
    limits = exact_argument("epsilon", epsilon), exact_argument("delta", delta)
    proposed = Budget(*limits, one_line("unit", unit), relation, measure(name))
    if not 0 <= proposed.epsilon <= MAX_EPSILON:
        raise InputError("epsilon is out of range", "give a budget in [0, 1e300]")
    if not 0 <= proposed.delta < 1:
        raise InputError("delta is out of range", "give a budget in [0, 1)")
    if relation not in RELATIONS and radius_of(relation) is None:
        known = ", ".join((*RELATIONS, bounded_row(Fraction(1, 2))))
        raise InputError(f"unknown relation {relation!r}", f"known: {known}, or of another radius")
    if name == "either" and proposed.epsilon > LARGE:
        raise InputError(f"an either ledger takes ε up to {LARGE}", "give less, or the measure pure")
    # A total variation of 1 is charged as 10⁶ of δ, which 1 + e^ε must not exceed (docs/proofs.md).
    if name == "approximate-zcdp" and proposed.epsilon > MOST_NEAR:
        raise InputError(f"an approximate-zcdp ledger takes ε up to {MOST_NEAR}", "give less, or approximate")
    if proposed.delta == 0 and name not in ("pure", "approximate"):
        raise InputError(f"no {name} charge is within delta 0", "give delta above 0, or the measure pure")
    for value in (proposed.epsilon, proposed.delta):
        write_limit(value)
    return proposed


def _with_life(period: Budget, epsilon: Exact, delta: Exact | None) -> Budget:
    most = exact_argument("life epsilon", epsilon)
    late = period.delta if delta is None else exact_argument("life delta", delta)
    if most < period.epsilon or late < period.delta:
        raise InputError(
            "the life cap is below the budget, which could never be spent",
            f"give at least ε {shown(period.epsilon)} and δ {shown(period.delta)}",
        )
    # what a budget may be, a life cap may
    life = budget(most, late, period.unit, period.relation, period.measure.name)
    return replace(period, life=(life.epsilon, life.delta))


def measure(name: str) -> Measure:
    """Return the measure of this name; raises `InputError` for an unknown one."""
    if name == "rdp":
        raise InputError("ledgers that add up one Rényi order are not supported yet", "use zcdp")
    if name not in MEASURES:
        raise InputError(f"unknown measure {name!r}", f"known: {', '.join(MEASURES)}")
    return MEASURES[name]


def read_budget(body: str) -> Budget:
    """Parse the body of entry 0; raises `ValueError` or `InputError` if it is damaged."""
    try:
        facts = msgspec.json.decode(body, type=dict[str, str])
        life: tuple[Fraction | None, Fraction | None] = (None, None)
        prefix = PERIOD if "life_epsilon" in facts else ""
        if prefix:
            life = _number(facts["life_epsilon"]), _number(facts["life_delta"])
        epsilon, delta = (_number(facts[prefix + name]) for name in ("epsilon", "delta"))
        read = budget(epsilon, delta, facts["unit"], facts["relation"], facts["measure"], life)
        return replace(read, dataset=facts.get("dataset", ""), declaration=facts.get("declaration", ""))
    except (msgspec.MsgspecError, RecursionError, KeyError):
        raise ValueError("not a budget") from None


def one_line(what: str, text: str) -> str:
    """Return a printable text of 1 to `MAX_TEXT` characters; raises `InputError` for any other."""
    if not isinstance(text, str) or not text or len(text) > MAX_TEXT or not text.isprintable():
        raise InputError(f"the {what} is not a line of text", f"give 1 to {MAX_TEXT} printable characters")
    return text


def cap(epsilon: str, delta: str) -> tuple[Fraction, Fraction]:
    """Parse the cap of a scope; raises `InputError` or `ValueError` for one that is none."""
    limits = _number(epsilon), _number(delta)
    if not (limits[0] >= 0 and 0 <= limits[1] < 1):
        raise InputError(
            "a scope's cap is out of range", "give an epsilon of at least 0 and a delta in [0, 1)"
        )
    return limits


def write_limit(value: Fraction) -> str:
    """Return a limit as text; raises `InputError` for one that could not be parsed again."""
    try:
        text = shown(value)
        if _number(text) == value:
            return text
    except (InputError, ValueError):
        pass
    raise InputError("a number of the budget is too long", "give one of at most 400 characters")


def _number(text: str) -> Fraction:
    try:
        return Fraction(text) if "/" in text else read_number(text)
    except ZeroDivisionError:
        raise ValueError(f"not a number: {text!r}") from None


def calendar_period(every: str, time: str) -> str:
    """Return the day, week, month or year of a time, both in ISO 8601, "" for none; later ones sort later.

    >>> [calendar_period(every, "2027-01-03") for every in RENEWALS]
    ['2027-01-03', '2026-W53', '2027-01', '2027']
    """
    day = date.fromisoformat(time[:10])
    week = "{:04}-W{:02}".format(*day.isocalendar()[:2])
    return {"day": time[:10], "week": week, "month": time[:7], "year": time[:4]}.get(every, "")
