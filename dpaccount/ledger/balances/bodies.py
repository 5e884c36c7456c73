"""The bodies of entries from which balances follow, as typed records.

A body holds more for readers of the log, such as a purpose or a plan; no balance follows from that.
"""

from typing import Annotated, Any, Final, NamedTuple

import msgspec

from dpaccount.ledger import entry as kinds
from dpaccount.ledger.balances import ranges, segment_tree, step_functions
from dpaccount.ledger.balances.ranges import Ranges
from dpaccount.ledger.balances.step_functions import Step

Written = list[tuple[int, str]]  #: steps as entries hold them: a first unit, amounts as text
Part = tuple[int, list[Step]]  #: n equal parts of a reservation, and what each of them spends


class Signed(msgspec.Struct, frozen=True):
    """Any entry but a release: a server's client names its `role`."""

    role: str | None = None


class Body(Signed, frozen=True, kw_only=True):
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


class Requested(Spending, frozen=True, kw_only=True):
    """An entry that was requested: `digest` identifies the request, for a theorem or a number of events."""

    digest: Annotated[str, msgspec.Meta(pattern="^sha256:[0-9a-f]{64}$")]
    theorem: str | None = None
    events: int | None = None


class ChargeBody(Requested, frozen=True, kw_only=True):
    """A charge: the amounts that each unit pays."""

    steps: Written


class ForfeitBody(Spending, frozen=True, kw_only=True):
    """A charge for entries that may have been lost; it may exceed all charges in this ledger."""

    steps: Written
    reason: str


class ReservationBody(Requested, frozen=True, kw_only=True):
    """A charge in parts: each item is a number of equal parts, and what each of them costs."""

    parts: list[tuple[int, Written]]


class PartsBody(Body, frozen=True, kw_only=True):
    """Parts of a reservation, counted from 1, that are drawn or returned."""

    reservation: int
    parts: Ranges


class ScopeBody(Body, frozen=True, kw_only=True):
    """A scope and its cap."""

    scope: str
    epsilon: str
    delta: str


class CohortBody(Body, frozen=True, kw_only=True):
    """A name for ranges of units."""

    cohort: str
    units: Ranges


class ResetBody(Body, frozen=True, kw_only=True):
    """The beginning of a period in which nothing is spent yet."""

    reason: str


class DrawingBody(Signed, frozen=True, kw_only=True):
    """The first and the last draw of a charge that are marked."""

    draws: tuple[int, int]


class ReleaseBody(msgspec.Struct, frozen=True):
    """A kept release: any object, the author's own."""


_TYPES: Final[dict[str, type[msgspec.Struct]]] = {
    kinds.CHARGE: ChargeBody,
    kinds.COHORT: CohortBody,
    kinds.DRAWING: DrawingBody,
    kinds.FORFEIT: ForfeitBody,
    kinds.REFUSAL: Signed,
    kinds.RELEASE: ReleaseBody,
    kinds.RESERVATION: ReservationBody,
    kinds.RESET: ResetBody,
    kinds.RETURN: PartsBody,
    kinds.ROUNDS: PartsBody,
    kinds.SCOPE: ScopeBody,
}


def read_body(kind: str, text: str) -> Any:
    """Return the body of an entry of this kind; raises `ValueError` for text that is none."""
    try:
        return msgspec.json.decode(text, type=_TYPES[kind])
    except KeyError:
        raise ValueError(f"no later entry is a {kind}") from None
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


class Formed(NamedTuple):
    """What a charge or forfeit adds to the balances, and the body of its entry."""

    steps: list[Step]
    where: Any


def formed(entry: kinds.Entry, width: int) -> Formed:
    """Return what a later entry than 0 adds, and its body; raises `ValueError` for one that no client writes.

    That is all that can be seen of it without the balances and the request: its key and reference, the
    form and sign of its amounts, and that its author, where a server knows one, is who it names.
    """
    keyed = entry.kind in (kinds.CHARGE, kinds.RESERVATION)
    mark = entry.kind in (kinds.DRAWING, kinds.RELEASE)
    if (entry.key is not None and not keyed) or (entry.about is not None) != mark:
        raise ValueError("it has the key or reference of another kind")
    if entry.author == "" or not 0 <= (entry.about or 0) < entry.number:
        raise ValueError("its role may not write it, or not about that entry")
    body = read_body(entry.kind, entry.body)
    if entry.author is not None and getattr(body, "role", None) not in (None, entry.author):
        raise ValueError(f"it names another role than {entry.author}, who wrote it")
    steps: list[Step] = []
    if isinstance(body, Requested) and body.theorem is None and body.events is None:
        raise ValueError("it does not say what is charged")
    if isinstance(body, ChargeBody | ForfeitBody):
        steps = steps_of(body.steps, width)
    elif isinstance(body, ReservationBody):
        parts_of(body, width)
    elif isinstance(body, PartsBody):  # a server looks for this number as text
        ranges.read(body.parts)
        if [entry.body.count(f'"reservation":{number}') for number in (body.reservation, "")] != [1, 1]:
            raise ValueError("it names two reservations")
    elif isinstance(body, DrawingBody) and not 1 <= body.draws[0] <= body.draws[1]:
        raise ValueError("no draws are marked")
    if isinstance(body, Body) and body.year < 1:
        raise ValueError("it has no year")
    return Formed(steps, body)
