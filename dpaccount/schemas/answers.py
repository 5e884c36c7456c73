"""What commands print with ``--json``, and files beside certificates: a structure for each.

Their JSON schemas are made from them (`dpaccount schema NAME`).  A member that is `Absent` by default is
left out where it does not apply; a structure that is not `Closed` may have more members.
"""

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, field

from dpaccount.schemas.certificate import DerivationStep, Verdict
from dpaccount.schemas.claim import RelationName
from dpaccount.schemas.fields import Absent, Closed, Count, Digest


def _one_of(*names: str) -> Meta:
    """Return the demand that exactly one of these members is there."""
    return Meta(extra_json_schema={"oneOf": [{"required": [name]} for name in names]})


_DECIMAL: Final = r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?"
Exact = Annotated[
    str,
    Meta(
        pattern=rf"^({_DECIMAL}|[-+]?\d+/\d+)$",
        description="An exact number: a decimal or a fraction of whole numbers.",
    ),
]
Bound = Annotated[
    float | Annotated[str, Meta(pattern=r"^(inf|-?\d+(\.\d+)?[eE][-+]?\d+)$")],
    Meta(description="A bound, rounded outward: a double, a decimal text beyond 1e±300, or inf."),
]
Positive = Annotated[int, Meta(ge=1)]
Size = Annotated[float, Meta(ge=0)]  #: a number that is not negative
Extent = Annotated[float | Literal["inf"], Meta(description="A number or inf.")]
Two = Annotated[list[Count], Meta(min_length=2, max_length=2)]
Audited = Literal["REFUTED", "NOT REFUTED", "NOT ATTACKED"]
WithOrWithoutRow = Literal["replace-one", "add-remove"]
Unit = int | str | None


class Enclosure(Closed, frozen=True):
    """An interval that holds the value; `lower` is null where no lower end is known."""

    lower: Bound | None
    upper: Bound


Amounts = dict[str, Bound | Enclosure]


class Table(Struct, frozen=True):
    """A table with members of any names."""


class Confirmed(Closed, frozen=True):
    """What the independent checker confirms: an upper end, or `why` there is none."""

    upper: Exact | None
    why: str | Absent = UNSET


class AtDelta(Closed, frozen=True):
    """An enclosure of ε at δ."""

    epsilon: Enclosure
    delta: Exact


# ------------------------------------------------------------------ accounting


class PlanEvent(Struct, frozen=True):
    """An event of a plan, with the parameters of its kind."""

    event: str


class EventsFile(Closed, frozen=True, tag_field="schema", tag="dpaccount/events/1"):
    """A plan: events under a relation."""

    relation: RelationName
    events: list[PlanEvent]


class Tree(Struct, frozen=True):
    """An event in the notation of dp_accounting, with the parameters of its type."""

    type: str


class TreeFile(Closed, frozen=True, tag_field="schema", tag="dpaccount/dp-event/1"):
    """A plan in the notation of dp_accounting."""

    relation: RelationName
    event: Tree


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
    of: Table
    parameters: Table = field(name="with")
    gives: CostPoint


class CertifiedPlan(Closed, frozen=True, tag_field="schema", tag="dpaccount/events/1"):
    """A plan whose cost can be confirmed."""

    relation: WithOrWithoutRow
    events: list[PlanEvent]


class AccountCertificate(Closed, frozen=True, tag_field="schema", tag="dpaccount/account-certificate/1"):
    """The cost of a plan, and a derivation that the checker repeats."""

    plan: CertifiedPlan
    question: Annotated[CostQuestion, _one_of("delta", "epsilon")]
    tight: Enclosure
    confirmed: Confirmed
    derivation: list[CostStep]
    digest: Digest


class Account(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/account/1"):
    """The cost of a plan: ε at a δ, δ at an ε, or a summary."""

    delta: Exact | Enclosure | Absent = UNSET
    epsilon: Exact | Enclosure | Absent = UNSET
    pure: Bound | Absent | None = UNSET
    epsilons: list[AtDelta] | Absent = UNSET
    worst_unit: Unit
    method: str
    zcdp: Bound | None
    gdp: Bound | None
    assumptions: list[str] | Absent = UNSET
    seconds: Size
    confirmed: Confirmed | Absent = UNSET


class Calibration(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/calibration/1"):
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
    source: str
    relation: RelationName
    delta: Exact
    epsilon: Enclosure
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
    epsilon: Enclosure
    statement: str
    confirmed: Confirmed | Absent = UNSET


# ------------------------------------------------------------------ proofs and certificates


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
    """What the checker says of a certificate or a derivation; `steps` and later are of its rules."""

    valid: bool
    verdict: Literal["CERTIFIED", "REFUTED", "UNPROVEN", "DERIVATION", "CONFIRMED", None]
    said: str
    signature: str | None
    steps: Count | Absent = UNSET
    proved_by_machine: list[str] | Absent = UNSET
    assumed: list[str] | Absent = UNSET
    on_paper: list[str] | Absent = UNSET
    rejected: str | Absent | None = UNSET
    rules: list[RuleInCode] | Absent = UNSET
    files: list[FileOfRules] | Absent = UNSET


class Release(Closed, frozen=True, tag_field="schema", tag="dpaccount/release/1"):
    """A release, or null where nothing was released."""

    verdict: Verdict
    certificate: str
    release: Table | None
    accuracy: Table
    labels: Table
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


# ------------------------------------------------------------------ audits


class HealthyRuns(Closed, frozen=True):
    """Bounds that simulated runs as claimed show, and what this run shows among them."""

    mean: Size
    deviation: Size
    share_above: Annotated[float, Meta(ge=0, le=1)]
    shown: Size
    suspicious: bool


class OnGrid(Closed, frozen=True):
    """What the same runs show of results rounded to multiples of `step`."""

    step: str
    lower: Size
    refuted: bool


class OtherRelation(Closed, frozen=True):
    """What the same attack shows under the other relation."""

    relation: WithOrWithoutRow
    verdict: Audited
    lower: Size


class Witness(Struct, frozen=True):
    """The pair under attack, the event, and findings."""

    findings: list[str] | Absent = UNSET


class Audit(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/audit/1"):
    """The result of an attack: lower bounds, and what these runs could have shown at most."""

    verdict: Audited
    epsilon_lower: Size
    epsilon_power: Size
    delta: Exact
    confidence: Exact
    trials: Count
    runs: Count | Absent = UNSET
    mu_lower: Size | Absent = UNSET
    mu_power: Size | Absent = UNSET
    rho_lower: Size | Absent = UNSET
    rho_power: Size | Absent = UNSET
    epsilon_claimed: Exact | Absent = UNSET
    excess_lower: Size | Absent = UNSET
    excess_power: Size | Absent = UNSET
    healthy: HealthyRuns | Absent = UNSET
    on_grid: OnGrid | Absent = UNSET
    other_relation: OtherRelation | Absent = UNSET
    attack: str
    refuted: bool
    witness: Witness
    seconds: Size | Absent = UNSET


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
    witness: Table


class SensitivityProof(Closed, frozen=True):
    """The end of a search for a proof; `why` says what stopped it."""

    status: Literal["proved", "refuted", "undecided"]
    lower: float
    upper: Extent | None
    boxes: Count
    why: str | None


class Sensitivity(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/sensitivity/1"):
    """The tested sensitivity of a query, and the pair of rows that moves it most."""

    bound: str
    worst: Extent
    refuted: bool
    left: Any
    right: Any
    examples: Count
    rounding: float | None
    other_rows: Any = UNSET
    rows: Annotated[list[list[Count]], Meta(min_length=2, max_length=2)] | Absent = UNSET
    unit: Any = UNSET
    hypotheses: list[Table] | Absent = UNSET
    proof: SensitivityProof | Absent = UNSET
    seconds: Size | Absent = UNSET


# ------------------------------------------------------------------ papers


class ClaimedPoint(Closed, frozen=True):
    """What a paper claims."""

    epsilon: Bound | None
    delta: Bound | None


class ProvedOfPaper(Closed, frozen=True):
    """What is proved of its mechanism."""

    epsilon: Enclosure | None
    delta: Bound | None


class NoiseOfPaper(Closed, frozen=True):
    """The noise that a paper publishes, and what its claim needs."""

    published: Bound | None
    needed: Bound | None


class ClaimCheck(Closed, frozen=True, tag_field="schema", tag="dpaccount/claim-check/1"):
    """A published claim, and what is proved of it."""

    name: str
    parameters: Table
    claimed: ClaimedPoint
    proved: ProvedOfPaper
    delta_at_claimed_epsilon: Enclosure | None
    mu: Bound | None
    noise: NoiseOfPaper | None
    verdict: Literal["REFUTED", "SOUND", "LOOSE", "UNPROVEN"]
    factor: Bound | None
    derivation: list[DerivationStep] | None
    witness: Any


class Reproduction(Closed, frozen=True, tag_field="schema", tag="dpaccount/reproduction/1"):
    """A published figure or table, simulated again."""

    name: str
    source: str
    trials: Count
    rounds: Count
    seed: int
    assumed: list[str]
    measure: str
    rows: list[Table]
    exponents: Any
    sentences: list[Table]
    releasable: Literal[False]
    seconds: Size


class RunRow(Struct, frozen=True):
    """An algorithm in a world: its mean over trials, and what is proved of it."""

    world: Any
    algorithm: Any
    value: Any
    standard_error: Any
    median: Any
    proved: Table | None


class RunPair(Closed, frozen=True):
    """The paired difference of two rows."""

    rows: Two
    difference: float
    standard_error: Size


class Run(Closed, frozen=True, tag_field="schema", tag="dpaccount/run/1"):
    """The results of an experiment."""

    name: str
    trials: Annotated[int, Meta(ge=2)]
    seed: Count
    measure: str
    rows: list[RunRow]
    pairs: list[RunPair]
    releasable: Literal[False]


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


# ------------------------------------------------------------------ sessions


class Ticket(Closed, frozen=True, kw_only=True, tag_field="schema", tag="dpaccount/ticket/1"):
    """An action for a person; `clipped` counts the context's numbers that were out of range."""

    ticket: Count
    action: Any
    slots: Count
    releasable: bool
    name: str | Absent = UNSET
    clipped: Positive | Absent = UNSET


class Told(Closed, frozen=True, tag_field="schema", tag="dpaccount/told/1"):
    """Whether a reward counts."""

    ticket: Count | None
    counts: bool


class SessionError(Closed, frozen=True, tag_field="schema", tag="dpaccount/session-error/1"):
    """Why a line of a session was refused."""

    error: str


class PublicSession(Closed, frozen=True, tag_field="schema", tag="dpaccount/session/1"):
    """The end of a session: what is public."""

    people: Count
    slots: Count
    releasable: bool
    public: dict[str, Any]


class Curated(Closed, frozen=True, tag_field="schema", tag="dpaccount/curated/1"):
    """A table that was published for an outside modeler."""

    verdict: Verdict
    certificate: str
    table: str
    rows: Count
    columns: Count


class Query(Closed, frozen=True, tag_field="schema", tag="dpaccount/query/1"):
    """The row that the modeler asks for next."""

    index: Count
    answered: Count


class Answered(Closed, frozen=True, tag_field="schema", tag="dpaccount/answered/1"):
    """The row that was answered."""

    index: Count
    answered: Count


# ------------------------------------------------------------------ ledgers


class Budget(Struct, frozen=True):
    """The budget that a ledger was opened with."""

    epsilon: Exact
    delta: Exact
    unit: str
    relation: RelationName
    measure: str


class Ledger(Struct, frozen=True, kw_only=True):
    """A ledger: budget, what the worst unit has spent, what remains."""

    budget: Budget
    spent: Amounts
    remaining: Amounts
    worst_unit: Unit
    entries: Count
    refused: Count
    head: Digest
    explained: str | Absent = UNSET


class Replay(Closed, frozen=True):
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

    budget: Table
    period: Amounts
    year: Amounts
    life: Amounts
    guaranteed: Amounts
    replay: Replay
    scopes: list[Table]
    units: Table
    reservations: Table
    heads: Heads


class Charge(Struct, frozen=True):
    """Whether a charge was accepted, as which entry, and what it costs."""

    accepted: bool
    entry: Count | None
    head: Digest
    epsilon: Enclosure
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


#: structures by the kind of document; one of several where there is a tuple
ANSWERS: Final[dict[str, Any]] = {
    "account": Account,
    "account-certificate": AccountCertificate,
    "answered": Answered,
    "audit": Audit,
    "calibration": Annotated[Calibration, _one_of("event", "at")],
    "check": Check,
    "claim-check": ClaimCheck,
    "curated": Curated,
    "derivation": Derivation,
    "diff": Diff,
    "dp-event": TreeFile,
    "events": EventsFile,
    "kept-work": KeptWork,
    "ledger": Ledger,
    "ledger-charge": Charge,
    "ledger-checkpoint": Checkpoint,
    "ledger-export": (ExportHead, ExportedEntry),
    "ledger-log": list[LoggedEntry],
    "ledger-repair": Repair,
    "ledger-report": LedgerReport,
    "ledger-verify": Verification,
    "query": Query,
    "release": Release,
    "reproduction": Reproduction,
    "run": Run,
    "sensitivity": Sensitivity,
    "session": PublicSession,
    "session-error": SessionError,
    "sgd": (SgdRun, CorrelatedRun),
    "signature": SignedMessage,
    "subjects": (DescribedEntry, list[DescribedEntry]),
    "ticket": Ticket,
    "told": Told,
    "trace": Trace,
}
