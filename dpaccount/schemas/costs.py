"""Answers about costs, as they are printed with ``--json``.

A member that is `Absent` by default is left out where it does not apply; what is not `Closed` may have
more members.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, field

from dpaccount.schemas.fields import (
    Absent,
    AnyMembers,
    AtDelta,
    Bound,
    BoundEnds,
    Closed,
    Confirmed,
    Digest,
    Exact,
    Positive,
    RelationName,
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


class RateOfAttack(Closed, frozen=True):
    """Of any attack with this false-positive rate: its true-positive rate, and the belief after its alarm."""

    false_positive_rate: Exact
    true_positive_rate: Bound
    belief: Bound


class RiskAnswer(Closed, frozen=True):
    """What an attacker learns at most; `mu` is that of a Gaussian above the curve but for `distance`."""

    advantage: Bound
    rates: list[RateOfAttack]
    mu: BoundEnds | None
    distance: Exact
    sentence: str


class Account(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/account/1"):
    """The cost of a plan: ε at a δ, δ at an ε, the Rényi divergence at an order, or a summary."""

    order: Exact | Absent = UNSET
    renyi: BoundEnds | Absent = UNSET
    delta: Exact | BoundEnds | Absent = UNSET
    epsilon: Exact | BoundEnds | Absent = UNSET
    pure: Bound | Absent | None = UNSET
    epsilons: list[AtDelta] | Absent = UNSET
    worst_unit: Unit
    method: str
    zcdp: Bound | None
    gdp: Bound | None
    risk: RiskAnswer | Absent = UNSET
    assumptions: list[str] | Absent = UNSET
    seconds: Size
    confirmed: Confirmed | Absent = UNSET


class CalibrationAnswer(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/calibration/1"):
    """The least noise that meets a target, of an `event` or `at` a place of a plan."""

    event: str | Absent = UNSET
    at: Annotated[str, Meta(pattern="^/")] | Absent = UNSET
    parameter: str
    value: Exact
    proved: AtDelta | Absent = UNSET
    risk: RiskAnswer | Absent = UNSET
    seconds: Size
    confirmed: Confirmed | Absent = UNSET


class SgdRun(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/sgd/1"):
    """The cost of DP-SGD; `shuffled_epsilon` is what shuffled batches are known to cost."""

    sigma: Exact
    steps: Positive
    rate: Annotated[str, Meta(pattern=r"^\d+/\d+$")]
    sampling: Literal["poisson", "random-allocation", "shuffle", "without-replacement"]
    examples_per_user: Positive | Absent = UNSET
    tried: Exact | Absent = UNSET
    source: str
    relation: RelationName
    delta: Exact
    epsilon: BoundEnds
    risk: RiskAnswer
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
    risk: RiskAnswer
    statement: str
    confirmed: Confirmed | Absent = UNSET
