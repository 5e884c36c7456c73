"""Answers about costs and ledgers, as they are printed with ``--json``.

A member that is `Absent` by default is left out where it does not apply; what is not `Closed` may have
more members.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, field

from dpaccount.schemas.claim import RelationName
from dpaccount.schemas.fields import (
    Absent,
    Amounts,
    AnyMembers,
    AtDelta,
    Bound,
    BoundEnds,
    Closed,
    Confirmed,
    Count,
    Digest,
    Exact,
    Positive,
    Size,
    Unit,
    WithOrWithoutRow,
    one_of,
)


class PlanEvent(Struct, frozen=True):
    """An event of a plan, with the parameters of its kind."""

    event: str


class EventsFile(Closed, frozen=True, tag_field="schema", tag="dpaccount/events/1"):
    """A plan: events under a relation."""

    relation: RelationName
    events: list[PlanEvent]


class ForeignEvent(Struct, frozen=True):
    """An event in the notation of dp_accounting, with the parameters of its type."""

    type: str


class ForeignPlan(Closed, frozen=True, tag_field="schema", tag="dpaccount/dp-event/1"):
    """A plan in the notation of dp_accounting."""

    relation: RelationName
    event: ForeignEvent


class CostQuestion(Closed, frozen=True):
    """What was asked: ε at `delta`, or δ at `epsilon`, of a group of units."""

    delta: Exact | Absent = UNSET
    epsilon: Exact | Absent = UNSET
    group: Positive | Absent = UNSET


class CostPoint(Closed, frozen=True):
    """A point (ε, δ)."""

    epsilon: Exact
    delta: Exact


class CostStep(Closed, frozen=True):
    """A step of the confirmation of a cost, and the point that it gives."""

    rule: Literal["gaussian-curve", "largest-losses", "renyi-bound", "lattice", "worst-unit", "group-chain"]
    of: AnyMembers
    parameters: AnyMembers = field(name="with")
    gives: CostPoint


class CertifiedPlan(Closed, frozen=True, tag_field="schema", tag="dpaccount/events/1"):
    """A plan whose cost can be confirmed."""

    relation: WithOrWithoutRow
    events: list[PlanEvent]


class AccountCertificate(Closed, frozen=True, tag_field="schema", tag="dpaccount/account-certificate/1"):
    """The cost of a plan, and a derivation that the checker repeats."""

    plan: CertifiedPlan
    question: Annotated[CostQuestion, one_of("delta", "epsilon")]
    tight: BoundEnds
    confirmed: Confirmed
    derivation: list[CostStep]
    digest: Digest


class Account(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/account/1"):
    """The cost of a plan: ε at a δ, δ at an ε, or a summary."""

    delta: Exact | BoundEnds | Absent = UNSET
    epsilon: Exact | BoundEnds | Absent = UNSET
    pure: Bound | Absent | None = UNSET
    epsilons: list[AtDelta] | Absent = UNSET
    worst_unit: Unit
    method: str
    zcdp: Bound | None
    gdp: Bound | None
    assumptions: list[str] | Absent = UNSET
    seconds: Size
    confirmed: Confirmed | Absent = UNSET


class CalibrationAnswer(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/calibration/1"):
    """The least noise that meets a target, of an `event` or `at` a place of a plan."""

    event: str | Absent = UNSET
    at: Annotated[str, Meta(pattern="^/")] | Absent = UNSET
    parameter: str
    value: Exact
    proved: AtDelta
    seconds: Size
    confirmed: Confirmed | Absent = UNSET


class SgdRun(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/sgd/1"):
    """The cost of DP-SGD; `shuffled_epsilon` is what shuffled batches are known to cost."""

    sigma: Exact
    steps: Positive
    rate: Annotated[str, Meta(pattern=r"^\d+/\d+$")]
    sampling: Literal["poisson", "random-allocation", "shuffle", "without-replacement"]
    examples_per_user: Positive | Absent = UNSET
    source: str
    relation: RelationName
    delta: Exact
    epsilon: BoundEnds
    shuffled_epsilon: Bound
    statement: str
    confirmed: Confirmed | Absent = UNSET


class CorrelatedRun(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/sgd/1"):
    """The cost of a run with correlated noise (DP-FTRL)."""

    sigma: Exact
    steps: Positive
    mechanism: str
    bands: Positive | Absent = UNSET
    participations: Positive
    separation: Positive
    relation: RelationName
    delta: Exact
    epsilon: BoundEnds
    statement: str
    confirmed: Confirmed | Absent = UNSET


class LedgerBudget(Struct, frozen=True):
    """The budget that a ledger was opened with."""

    epsilon: Exact
    delta: Exact
    unit: str
    relation: RelationName
    measure: str


class LedgerAnswer(Struct, frozen=True, kw_only=True):
    """A ledger: budget, what the worst unit has spent, what remains."""

    budget: LedgerBudget
    spent: Amounts
    remaining: Amounts
    worst_unit: Unit
    entries: Count
    refused: Count
    head: Digest
    explained: str | Absent = UNSET


class LedgerReplay(Closed, frozen=True):
    """Whether the entries replay, and the first that does not."""

    valid: bool
    first_bad: Count | str | None
    digests: bool
    totals: bool


class Heads(Closed, frozen=True):
    """The head that is reported, and the first."""

    entries: Count
    head: Digest
    root: str
    first: Digest


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
    confirmed: Confirmed | Absent = UNSET


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
    first: Digest
    time: str
    key: str
    value: str
