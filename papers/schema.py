"""The experiment's file, for `dpaccount run`, and what the commands about papers print with ``--json``.

Every number of the file may be written as one or as text. `papers.experiment_file` reads it, and says what
is wrong.
"""

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct

from dpaccount.schemas.certificate import DerivationStep, Verdict
from dpaccount.schemas.claim import CLAIM_NAME, DeclaredTable
from dpaccount.schemas.fields import Absent, AnyMembers, Bound, BoundEnds, Closed, Count, Number, Size, Two

EXPERIMENT: Final = "dpaccount/experiment/1"
EXPERIMENT_LABEL: Final = "[A-Za-z0-9][A-Za-z0-9 ,.()'/_-]{0,79}"
ExperimentName = Annotated[str, Meta(pattern=f"^{CLAIM_NAME}$")]
ExperimentLabel = Annotated[str, Meta(pattern=f"^{EXPERIMENT_LABEL}$")]
OneOrMore = Number | list[Number] | Absent
TextOrMore = str | list[str] | Absent


class WorldTable(DeclaredTable, frozen=True, kw_only=True):
    """Whom the algorithms serve: simulated people, or the records of a log's file.

    A key that is a list is one world for each of its members; `parameters` are of every algorithm there.
    """

    use: str
    name: ExperimentLabel | Absent = UNSET
    candidates: OneOrMore = UNSET
    dimension: OneOrMore = UNSET
    arms: OneOrMore = UNSET
    lengthscale: OneOrMore = UNSET
    epsilon: OneOrMore = UNSET
    surface: TextOrMore = UNSET
    kernel: TextOrMore = UNSET
    tails: TextOrMore = UNSET
    draws: TextOrMore = UNSET
    people: OneOrMore = UNSET
    data: TextOrMore = UNSET
    queries: OneOrMore = UNSET
    log_epsilon: OneOrMore = UNSET
    delta: OneOrMore = UNSET
    table: OneOrMore = UNSET
    predictions: OneOrMore = UNSET
    file: str | Absent = UNSET
    log: dict[str, Any] | Absent = UNSET
    parameters: dict[str, Any] | Absent = UNSET


class AlgorithmTable(Closed, frozen=True):
    """An algorithm; a parameter that is a list is one run for each of its members.

    `worlds` are the names of those it plays in, by default all.  `claim` has the `name` of a paper's claim
    and its parameters: each is a value, or the name of the algorithm's parameter that has it.  Where
    `private` is false, noise hides nothing, and nothing is proved.
    """

    use: str
    name: ExperimentLabel | Absent = UNSET
    worlds: list[str] | Absent = UNSET
    parameters: dict[str, Any] | Absent = UNSET
    private: bool | Absent = UNSET
    claim: dict[str, Any] | Absent = UNSET


class PublishedTable(AnyMembers, frozen=True):
    """Numbers that a paper prints: those of the rows with these members, in lists of one length.

    They are of other data, or of another quantity, where `like` is false: no ratio to them is formed.
    """

    value: OneOrMore
    like: bool | Absent = UNSET


class ExperimentFile(Closed, frozen=True, tag_field="schema", tag=EXPERIMENT):
    """Every algorithm with all its parameters in every world, with the same seeds.

    `order` names keys by whose values a world's rows stand together.  A paper's table or figure has its
    `source`, what is `assumed`, the keys of its rows with the world's or parameter's names (`row`), and
    what is `published`.
    """

    name: ExperimentName
    world: Annotated[list[WorldTable], Meta(min_length=1)]
    algorithm: Annotated[list[AlgorithmTable], Meta(min_length=1)]
    trials: Number
    rounds: Number | Absent = UNSET
    seed: Number | Absent = UNSET
    order: list[str] | Absent = UNSET
    source: str | Absent = UNSET
    assumed: list[str] | Absent = UNSET
    row: dict[str, str] | Absent = UNSET
    published: list[PublishedTable] | Absent = UNSET
    sentences: str | Absent = UNSET


class ClaimedPoint(Closed, frozen=True):
    """What a paper claims."""

    epsilon: Bound | None
    delta: Bound | None


class ProvedOfPaper(Closed, frozen=True):
    """What is proved of its mechanism."""

    epsilon: BoundEnds | None
    delta: Bound | None


class NoiseOfPaper(Closed, frozen=True):
    """The noise that a paper publishes, and what its claim needs."""

    published: Bound | None
    needed: Bound | None


class ClaimAnswer(Closed, frozen=True, tag_field="schema", tag="dpaccount/claim-check/1"):
    """A published claim, and what is proved of it."""

    name: str
    parameters: AnyMembers
    claimed: ClaimedPoint
    proved: ProvedOfPaper
    delta_at_claimed_epsilon: BoundEnds | None
    mu: Bound | None
    noise: NoiseOfPaper | None
    verdict: Literal["REFUTED", "SOUND", "LOOSE", "UNPROVEN"]
    factor: Bound | None
    derivation: list[DerivationStep] | None
    witness: Any


class ReproductionAnswer(Closed, frozen=True, tag_field="schema", tag="dpaccount/reproduction/1"):
    """A published figure or table, simulated again."""

    name: str
    source: str
    trials: Count
    rounds: Count
    seed: int
    assumed: list[str]
    measure: str
    rows: list[AnyMembers]
    exponents: Any
    sentences: list[AnyMembers]
    releasable: Literal[False]
    seconds: Size


# Open: a row also has its algorithm's parameters.
class RunRow(Struct, frozen=True):
    """An algorithm in a world: its mean over trials, and what is proved of it."""

    world: Any
    algorithm: Any
    value: Any
    standard_error: Any
    median: Any
    proved: AnyMembers | None


class RunPair(Closed, frozen=True):
    """The paired difference of two rows."""

    rows: Two
    difference: float
    standard_error: Size


class RunAnswer(Closed, frozen=True, tag_field="schema", tag="dpaccount/run/1"):
    """The results of an experiment."""

    name: str
    trials: Annotated[int, Meta(ge=2)]
    seed: Count
    measure: str
    rows: list[RunRow]
    pairs: list[RunPair]
    releasable: Literal[False]


class CuratedAnswer(Closed, frozen=True, tag_field="schema", tag="dpaccount/curated/1"):
    """A table that was published for an outside modeler."""

    verdict: Verdict
    certificate: str
    table: str
    rows: Count
    columns: Count
