"""Answers about proofs, certificates, and audits, as they are printed with ``--json``.

A member that is `Absent` by default is left out where it does not apply; what is not `Closed` may have
more members.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct

from dpaccount.relation import Relation
from dpaccount.schemas.certificate import AttackedPair, DerivationStep, Evidence, Verdict
from dpaccount.schemas.fields import (
    Absent,
    AnyMembers,
    Audited,
    Closed,
    Count,
    Digest,
    Exact,
    Extent,
    Moment,
    Positive,
    Size,
    one_of,
)


class Derivation(Closed, frozen=True, tag_field="schema", tag="dpaccount/derivation/1"):
    """A derivation by itself."""

    steps: list[DerivationStep]


class RuleInCode(Closed, frozen=True):
    """A rule and where it is implemented."""

    rule: str
    file: str
    line: Count


class FileOfRules(Closed, frozen=True):
    """A file of the reading list, and its number of lines."""

    file: str
    lines: Count


class Check(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/check/1"):
    """What the checker says of a certificate or a derivation; `programs` and later are of both checkers."""

    valid: bool
    verdict: Literal["CERTIFIED", "REFUTED", "UNPROVEN", "DERIVATION", "CONFIRMED", None]
    said: str
    signature: str | None
    programs: dict[str, str] | Absent = UNSET
    standing: Literal["theorem", "checker", None] | Absent = UNSET
    steps: Count | Absent = UNSET
    proved_by_machine: list[str] | Absent = UNSET
    assumed: list[str] | Absent = UNSET
    on_paper: list[str] | Absent = UNSET
    rejected: str | Absent | None = UNSET
    rules: list[RuleInCode] | Absent = UNSET
    files: list[FileOfRules] | Absent = UNSET


class ReleaseAnswer(Closed, frozen=True, tag_field="schema", tag="dpaccount/release/1"):
    """A release, or null where nothing was released."""

    verdict: Verdict
    certificate: str
    release: AnyMembers | None
    accuracy: AnyMembers
    labels: AnyMembers
    releasable: bool


class SignedMessage(Closed, frozen=True, tag_field="schema", tag="dpaccount/signature/1"):
    """What a signature covers."""

    digest: Digest
    verdict: Verdict
    claim: str
    claim_digest: Digest
    created: str
    signed: str


class Diff(Closed, frozen=True, tag_field="schema", tag="dpaccount/diff/1"):
    """What differs between two certificates."""

    old: str
    new: str
    differences: list[str]


class DescribedEntry(Struct, frozen=True):
    """A catalogued subject."""

    name: str
    layer: str
    parameters: Any
    source: str
    status: str


class HealthyRuns(Closed, frozen=True):
    """Bounds that simulated runs as claimed show, and what this run shows among them."""

    mean: Size
    deviation: Size
    share_above: Annotated[float, Meta(ge=0, le=1)]
    shown: Size
    suspicious: bool


class RoundedResults(Closed, frozen=True):
    """What the same runs show of results rounded to multiples of `step`."""

    step: str
    lower: Size
    refuted: bool


class OtherRelation(Closed, frozen=True):
    """What the same attack shows under the other relation."""

    relation: Relation
    verdict: Audited
    lower: Size


class AttackWitness(AttackedPair, frozen=True):
    """The pair under attack, the event, and findings; what was drawn elsewhere has no pair.

    `cause` is what a refutation by a rule says; `columns` are those of a table in which the two differ.
    """

    cause: str | Absent = UNSET
    columns: list[str] | Absent = UNSET
    samples: Mapping[str, Any] | Absent = UNSET
    canaries: Mapping[str, Any] | Absent = UNSET


class AuditAnswer(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/audit/1"):
    """The result of an attack: lower bounds, and what these runs could have shown at most."""

    verdict: Audited
    epsilon_lower: Size
    epsilon_power: Size
    delta: Exact
    confidence: Exact
    trials: Count
    runs: Count | Absent = UNSET
    attack: str
    refuted: bool
    mu_lower: Size | Absent = UNSET
    mu_power: Size | Absent = UNSET
    rho_lower: Size | Absent = UNSET
    rho_power: Size | Absent = UNSET
    excess_lower: Size | Absent = UNSET
    excess_power: Size | Absent = UNSET
    witness: AttackWitness
    epsilon_claimed: Exact | Absent = UNSET
    healthy: HealthyRuns | Absent = UNSET
    on_grid: RoundedResults | Absent = UNSET
    other_relation: OtherRelation | Absent = UNSET
    seconds: Size | Absent = UNSET


class OneRunClaim(Closed, frozen=True):
    """The claimed level: μ, or ε at δ."""

    mu: Exact | Absent = UNSET
    epsilon: Exact | Absent = UNSET
    delta: Exact | Absent = UNSET


class CanaryCounts(Closed, frozen=True):
    """The canaries of a run; `coins` by score, the lowest first; `seed` broke ties."""

    count: Annotated[int, Meta(ge=10)]
    included: Positive
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    coins: Annotated[str, Meta(pattern="^[01]+$")] | Absent = UNSET
    seed: Count | Absent = UNSET


class OneRunRule(Closed, frozen=True):
    """Guess the `each` highest scores in and the `each` lowest out, at a share `risk` of the error."""

    each: Positive
    risk: Exact


class RightGuesses(Closed, frozen=True):
    """The rule whose guesses show the bound, and how many are right."""

    each: Positive
    right: Count


class OneRunCertificate(Closed, frozen=True, tag_field="schema", tag="dpaccount/one-run-certificate/1"):
    """What the canaries of one training run show; the checker infers the bound again from the counts."""

    # Canaries can refute a claim; the training code was not seen, so nothing is certified.
    verdict: Literal["REFUTED", "UNPROVEN"]
    claim: Annotated[OneRunClaim, one_of("mu", ("epsilon", "delta"))]
    confidence: Exact
    canaries: CanaryCounts
    rules: list[OneRunRule]
    best: RightGuesses
    lower: Exact
    points: list[Annotated[list[Exact], Meta(min_length=2, max_length=2)]]
    hazards: list[str]
    environment: dict[str, str]
    created: Moment
    digest: Digest


class TracedNoise(Closed, frozen=True):
    """A call that drew noise, its scale, and how far its location moved."""

    call: str
    file: str
    line: Count
    scale: float | None
    declared: float | None
    moved: Size | Literal["inf"] | None


class Trace(Closed, frozen=True, tag_field="schema", tag="dpaccount/trace/1"):
    """Runs of a function on neighbours with the same noise, compared call by call."""

    pairs: Positive
    noise: list[TracedNoise]
    findings: list[str]
    notes: list[str]
    witness: Mapping[str, Any]


ProofStatus = Literal["proved", "refuted", "undecided"]


class SensitivityProof(Closed, frozen=True):
    """The end of a search for a proof; `why` says what stopped it."""

    status: ProofStatus
    lower: float
    upper: Extent | None
    boxes: Count
    why: str | None


class SensitivityAnswer(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/sensitivity/1"):
    """The tested sensitivity of a query, and the pair of rows that moves it most."""

    bound: str
    worst: Extent
    refuted: bool
    left: Any
    right: Any
    unit: Any = UNSET
    rows: Annotated[list[list[Count]], Meta(min_length=2, max_length=2)] | Absent = UNSET
    other_rows: Any = UNSET
    examples: Count
    rounding: float | None
    hypotheses: list[Evidence] | Absent = UNSET
    proof: SensitivityProof | Absent = UNSET
    seconds: Size | Absent = UNSET


class KeptWorkRow(Closed, frozen=True):
    """Work of one experiment that is kept; `current`: by the code as it is."""

    digest: str
    name: str
    current: bool
    groups: Count
    seeds: Count
    bytes: Count


class KeptWork(Closed, frozen=True, tag_field="schema", tag="dpaccount/kept-work/1"):
    """What a store of work holds."""

    work: list[KeptWorkRow]
