"""The bodies of entries from which balances follow, as typed records.

A body holds more for readers of the log, such as a purpose or a plan; no balance follows from that.
"""

from typing import Any, Final

import msgspec

from dpaccount.ledger.balances import segment_tree, step_functions
from dpaccount.ledger.balances.ranges import Ranges
from dpaccount.ledger.balances.step_functions import Step
from dpaccount.ledger.entry import CHARGE, COHORT, FORFEIT, RESERVATION, RESET, RETURN, ROUNDS, SCOPE

Written = list[tuple[int, str]]  #: steps as entries hold them: a first unit, amounts as text
Part = tuple[int, list[Step]]  #: n equal parts of a reservation, and what each of them spends


class Body(msgspec.Struct, frozen=True):
    """Any entry that changes balances: `time` is its writer's clock, in ISO 8601."""

    time: str

    @property
    def year(self) -> int:
        """Return the year whose balance the entry counts in; raises `ValueError` for a time without one."""
        return int(self.time[:4])


class Spending(Body, frozen=True):
    """An entry that spends, in a scope and for a cohort if any; `units` are those the cohort then had."""

    scope: str | None = None
    cohort: str | None = None
    units: Ranges | None = None


class ChargeBody(Spending, frozen=True, kw_only=True):
    """A charge: the amounts that each unit pays."""

    steps: Written


class ForfeitBody(Spending, frozen=True, kw_only=True):
    """A charge for entries that may have been lost; it may exceed all charges in this ledger."""

    steps: Written
    reason: str


class ReservationBody(Spending, frozen=True, kw_only=True):
    """A charge in parts: each item is a number of equal parts, and what each of them costs."""

    parts: list[tuple[int, Written]]


class PartsBody(Body, frozen=True):
    """Parts of a reservation, counted from 1, that are drawn or returned."""

    reservation: int
    parts: Ranges


class ScopeBody(Body, frozen=True):
    """A scope and its cap."""

    scope: str
    epsilon: str
    delta: str


class CohortBody(Body, frozen=True):
    """A name for ranges of units."""

    cohort: str
    units: Ranges


class ResetBody(Body, frozen=True):
    """The beginning of a period in which nothing is spent yet."""

    reason: str


_TYPES: Final[dict[str, type[Body]]] = {
    CHARGE: ChargeBody,
    COHORT: CohortBody,
    FORFEIT: ForfeitBody,
    RESERVATION: ReservationBody,
    RESET: ResetBody,
    RETURN: PartsBody,
    ROUNDS: PartsBody,
    SCOPE: ScopeBody,
}


def read_body(kind: str, text: str) -> Any:
    """Return the body of an entry of this kind; raises `ValueError` for text that is none."""
    try:
        return msgspec.json.decode(text, type=_TYPES[kind])
    except (msgspec.MsgspecError, RecursionError) as error:  # JSON of many brackets
        raise ValueError(f"not the body of a {kind}: {error}") from None


def steps_of(written: Written, width: int) -> list[Step]:
    """Return the amounts over units that an entry holds; raises `ValueError` where no charge has them."""
    steps = [(first, step_functions.read(text, width)) for first, text in written]
    segment_tree.marks_of(steps, width)
    return steps


def parts_of(body: ReservationBody, width: int) -> list[Part]:
    """Return the parts of a reservation; raises `ValueError` where no reservation has them."""
    parts = [(count, steps_of(steps, width)) for count, steps in body.parts]
    if not parts or any(count < 1 for count, _ in parts):
        raise ValueError("not the parts of a reservation")
    return parts
