"""The certificate: the structure that `certify` fills, and from which its JSON schema is made.

The checker, on which readers rely, has its own definition (`checker.certificate.shapes`).
"""

from fractions import Fraction
from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, field

from dpaccount.relation import Observer
from dpaccount.schemas.claim import ClaimFile
from dpaccount.schemas.fields import Absent, Closed, Count, Digest, Moment, Neighbours, Number, RelationName

Verdict = Literal["CERTIFIED", "REFUTED", "UNPROVEN"]
Refuted = Literal["claim", "proof", "hypothesis", None]
Status = Literal["tested", "refuted", "untested", "accepted"]
SCHEMA: Final = "dpaccount/certificate/1"
HAZARDS: Final = "First what is taken on trust, then what no certificate covers, then findings."


class DescribedSubject(Closed, frozen=True):
    """The subject: where it comes from, all its parameters, the digest of its code, and what it declares.

    `own_epsilon`: its parameter `epsilon` is its own, such as of one answer, and not the guarantee's.
    `family`: tests and attack ran on a smaller member of its family.
    """

    name: str
    use: str
    source: str
    status: str
    parameters: dict[str, Any]
    code: Digest | None
    own_epsilon: bool | Absent = UNSET
    family: bool | Absent = UNSET


class StatedGuarantee(Closed, frozen=True):
    """The claim's guarantee; δ is 0 where the claim says nothing of it."""

    delta: Number
    model: Observer
    unit: str
    relation: RelationName
    epsilon: Number
    radius: Number | Absent = UNSET


class EpsilonEnds(Closed, frozen=True):
    """The ends of an interval, rounded outward."""

    lower: Number | None
    upper: Number


class DerivationStep(Closed, frozen=True):
    """A step of a derivation; `from` are the numbers of its premises among the steps before."""

    rule: str
    premises: list[Count] = field(name="from")
    parameters: dict[str, Any] = field(name="with")
    gives: list[Any]
    digest: Digest


class ProvedPoint(Closed, frozen=True):
    """The proved ε at δ, and why."""

    epsilon: EpsilonEnds | None
    delta: Number | None
    derivation: list[DerivationStep]


class ProvedGuarantee(ProvedPoint, frozen=True):
    """What is proved, or the `reason` why nothing is; and of a replaced row, or refuted."""

    tight: None
    reason: str | None
    replace_one: ProvedPoint | Absent | None = UNSET
    refutation: list[DerivationStep] | Absent = UNSET


class ShownPair(Closed, frozen=True):
    """Two neighbouring datasets, and what a run on them showed."""

    unit: Any
    left: Any
    right: Any
    rows: Any
    other_rows: Any
    coins: Any
    wrong: Any


class Evidence(Closed, frozen=True):
    """What was found about a hypothesis of the proof, which is the derivation's `step`.

    It is untested if no test is known, or if nothing ever changed although something may: that
    tested nothing.  It is accepted where it is untested and the claim takes it on trust.
    """

    rule: str
    query: str
    step: Digest
    value: str
    relation: Neighbours
    status: Status
    test: str
    examples: Count
    worst: str
    counterexample: ShownPair | None
    source: Digest

    @property
    def name(self) -> str:
        """Return what a claim calls the hypothesis when it accepts it."""
        return f"{self.rule} {self.query}"


class AuditedPoint(Closed, frozen=True):
    """A point (limit, δ) that was attacked: the counts of one event on both sides, and its bound."""

    of: Literal["claim", "proof"]
    limit: Number
    delta: Number
    epsilon_lower: Number
    hits: int
    runs: int
    alarms: int
    other_runs: int
    risk: Number
    power: Number
    false_alarm: Number
    event: str

    @property
    def beaten(self) -> bool:
        """Return whether the attack showed more than the limit."""
        return Fraction(self.epsilon_lower) > Fraction(self.limit)


class AttackedPair(Closed, frozen=True):
    """The pair under attack, as far as it can be described, and what the attack found."""

    unit: Any = UNSET
    left: Any = UNSET
    right: Any = UNSET
    rows: Any = UNSET
    other_rows: Any = UNSET
    coins: Any = UNSET
    wrong: Any = UNSET
    base: Any = UNSET
    event: Any = UNSET
    score: Any = UNSET
    pairs_tried: Any = UNSET
    findings: Any = UNSET


class AuditResult(Closed, frozen=True, kw_only=True):
    """The attack; `distance` is that of the pair, where the noise on it is known."""

    attack: str
    trials: int
    quick: bool
    confidence: Number
    epsilon_lower: Number
    distance: Number | Absent = UNSET
    points: list[AuditedPoint]
    witness: AttackedPair


class AmountsLeft(Closed, frozen=True):
    """What remains in the amounts that the ledger's measure adds up; ε stands in `rest`."""

    mu_squared: Number | Absent = UNSET
    rho: Number | Absent = UNSET
    pure: Number | Absent = UNSET
    delta: Number | Absent = UNSET


class BudgetAround(Closed, frozen=True):
    """The ledger's budget, what was spent before and after the charge, and what remains."""

    epsilon: Number
    delta: Number
    relation: Neighbours
    unit: str
    measure: str
    before: EpsilonEnds
    after: EpsilonEnds
    rest: EpsilonEnds
    left: AmountsLeft | Absent = UNSET  #: older certificates have none
    life_epsilon: Number | Absent = UNSET  #: of a life cap, which may leave less than the budget


class MadeRelease(Closed, frozen=True):
    """A run on the data: its report, its charge, the digests of the data file and of the code."""

    report: dict[str, Any]
    ledger_entry: Annotated[int, Meta(ge=1)]
    ledger_head: Annotated[str, Meta(pattern="^(sha256:)?[0-9a-f]{64}$")]  #: after the charge
    noise: Literal["secure"]
    data: Digest
    code: Digest
    evaluation: dict[str, Any] | None
    budget: BudgetAround | Absent = UNSET  #: older certificates have none


class Signature(Closed, frozen=True):
    """A signature on the content; `key` is the SHA-256 of the public key."""

    algorithm: Literal["ed25519"]
    key: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    signed: Moment
    value: Annotated[str, Meta(pattern="^[A-Za-z0-9+/]{86}==$")]


class Draft(Closed, frozen=True, kw_only=True, tag_field="schema", tag=SCHEMA):
    """A certificate before it is sealed; the report shows a member with a title under it."""

    verdict: Verdict
    refutes: Refuted
    claim: ClaimFile
    subject: DescribedSubject
    guarantee: StatedGuarantee
    proved: ProvedGuarantee
    sensitivity: list[Evidence]
    audit: AuditResult | None
    release: MadeRelease | None
    releasable: bool
    hazards: Annotated[list[str], Meta(description=HAZARDS)]
    environment: dict[str, str]
    created: Annotated[Moment, Meta(title="Created")]


class Certificate(Draft, frozen=True, kw_only=True, tag_field="schema", tag=SCHEMA):
    """No table holds other members than these. JSON numbers are written in their shortest form."""

    digest: Annotated[Digest, Meta(title="Digest")]
    signature: Signature | None
