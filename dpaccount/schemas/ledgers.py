"""Answers about ledgers, as they are printed with ``--json``.

A member that is `Absent` by default is left out where it does not apply; what is not `Closed` may have
more members.
"""

from typing import Any, Literal

from msgspec import UNSET, Struct

from dpaccount.schemas.fields import (
    Absent,
    Amounts,
    AnyMembers,
    BoundEnds,
    Closed,
    Confirmed,
    Count,
    Digest,
    Exact,
    Positive,
    RelationName,
    Unit,
)

Ranges = list[tuple[int, int]]


class LedgerBudget(Struct, frozen=True):
    """The budget that a ledger was opened with."""

    epsilon: Exact
    delta: Exact
    unit: str
    relation: RelationName
    measure: str
    life_epsilon: Exact | Absent = UNSET
    life_delta: Exact | Absent = UNSET
    dataset: str | Absent = UNSET
    declaration: Digest | Absent = UNSET


MOST_MORE = 10**6  #: charges like the last one that are told apart


class MoreLikeLast(Struct, frozen=True):
    """How many charges like that of an entry still fit (`MOST_MORE`: that many or more)."""

    entry: Count
    charges: Count


class PersonGrant(Closed, frozen=True):
    """A right of a person, in a scope ("": everywhere), until a day ("": without end)."""

    person: str
    may: str
    scope: str
    until: str


class OpenRequest(Struct, frozen=True):
    """What a person asks for, by its entry; who has approved it, null: nobody yet."""

    entry: Count
    by: str | None
    asks: str
    approved: str | None
    wants: AnyMembers


class LargeCharge(Struct, frozen=True):
    """A charge that took much of a limit, and what it cost the unit that would exceed it."""

    entry: Count
    purpose: str | None
    by: str | None
    epsilon: BoundEnds


class LedgerAnswer(Struct, frozen=True, kw_only=True):
    """A ledger: budget, what the worst unit has spent, what remains."""

    budget: LedgerBudget
    spent: Amounts
    remaining: Amounts
    worst_unit: Unit
    entries: Count
    refused: Count
    head: Digest
    life_remaining: Amounts | Absent = UNSET
    more_like_last: MoreLikeLast | Absent = UNSET
    people: list[PersonGrant] | Absent = UNSET
    requests: list[OpenRequest] | Absent = UNSET
    explained: str | Absent = UNSET


class LedgerReplay(Closed, frozen=True):
    """Whether the entries replay, and the first that does not."""

    valid: bool
    first_bad: Count | str | None
    digests: bool
    # Totals of a long ledger are recomputed only on request, so a reader must see whether they were.
    totals: bool


class Heads(Closed, frozen=True):
    """The head that is reported, and the first."""

    entries: Count
    head: Digest
    root: str
    first: Digest


class Notification(Struct, frozen=True, tag_field="schema", tag="dpaccount/notification/1"):
    """What `serve --notify` posts: that a `share` of a cap is spent, or that a request waits.

    The same fact always has the same `id`.  `scope` is null for the ledger as a whole.
    """

    id: str
    time: str
    what: Literal["share", "request"]
    scope: str | None
    cap: Literal["budget", "scope", "life"] | Absent = UNSET
    share: float | Absent = UNSET


class LedgerReport(Struct, frozen=True, tag_field="schema", tag="dpaccount/ledger-report/1"):
    """A report of a ledger."""

    budget: AnyMembers
    period: Amounts
    year: Amounts
    life: Amounts
    guaranteed: Amounts
    replay: LedgerReplay
    scopes: list[AnyMembers]
    units: AnyMembers
    reservations: AnyMembers
    heads: Heads


class ChargeAnswer(Struct, frozen=True):
    """Whether a charge was accepted, as which entry, and what it costs."""

    accepted: bool
    entry: Count | None
    head: Digest
    epsilon: BoundEnds
    already_charged: bool
    reason: str | None
    certificate: Digest | Absent = UNSET
    assumptions: list[str] | Absent = UNSET
    largest: list[LargeCharge] | Absent = UNSET
    confirmed: Confirmed | Absent = UNSET


class PartsAnswer(Struct, frozen=True):
    """Which parts of a reservation were drawn or returned, and which are open; or why none."""

    accepted: bool
    entry: Count | None
    parts: Ranges
    open: Ranges
    reason: str | None


class ArrangedAnswer(Struct, frozen=True):
    """Whether a scope, a cohort, a reset or a forfeit was accepted, and as which entry."""

    accepted: bool
    entry: Count | None
    head: Digest | None
    reason: str | None


class ChargedCertificate(Closed, frozen=True):
    """A certificate of a cost, the entries that it was charged by, and what is wrong."""

    file: str
    digest: Digest | None
    epsilon: Exact | None
    entries: list[Positive]
    wrong: str | None


class Verification(Struct, frozen=True):
    """Whether a ledger is as its entries say, and the first entry that is not."""

    valid: bool
    first_bad: Count | str | None
    certificates: list[ChargedCertificate] | Absent = UNSET


class Repair(Struct, frozen=True):
    """What was rebuilt from the entries."""

    repaired: list[Literal["balances", "head"]]
    entries: Count
    head: str


class LoggedEntry(Struct, frozen=True, kw_only=True):
    """An entry of a ledger's log."""

    entry: Count
    kind: str
    time: str | None
    purpose: str | None
    by: str | None
    reason: str | None
    key: str | None
    spends: Amounts | None
    first: Count | None
    last: Count | None
    plan: Any
    certificate: Digest | Absent | None = UNSET
    confirmed: Exact | Absent | None = UNSET
    head: Digest


class ExportHead(Closed, frozen=True, tag_field="schema", tag="dpaccount/ledger-export/1"):
    """The first line of an export."""

    format: str
    head: Digest
    last: Count


class ExportedEntry(Struct, frozen=True):
    """Another line of an export: an entry."""

    number: Count
    kind: str
    body: str
    digest: Digest
    root: str
    key: str | None
    about: Unit


class Checkpoint(Closed, frozen=True, tag_field="schema", tag="dpaccount/ledger-checkpoint/1"):
    """A signed head of a ledger."""

    number: Count
    head: Digest
    root: str
    # Signed too: it shows entry 0 unchanged, so `verify --since` need not read the entries in between.
    first: Digest
    time: str
    key: str
    value: str
