"""The claim and the study: the tables of their files, as read; a study's plan and its release.

Certificates repeat a claim's tables.  Every number may be written as one or as text.  `audits.claim` reads
both files, and says what is wrong.
"""

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, field

from dpaccount.documents import html_table, text_table
from dpaccount.exact import to_noise
from dpaccount.relation import Observer
from dpaccount.schemas.fields import Absent, Closed, Digest, Number, RelationName

SCHEMA: Final = "dpaccount/claim/1"
CLAIM_NAME: Final = "[a-z0-9][a-z0-9._-]{0,63}"


class GuaranteeTable(Closed, frozen=True):
    """What is promised, to whom, and which datasets are neighbours."""

    model: Observer
    unit: str
    relation: RelationName
    epsilon: Number
    delta: Number | Absent = UNSET
    radius: Number | Absent = UNSET


class ColumnTable(Closed, frozen=True):
    """A column that is declared; all of it is public.

    `missing_cells` is of functions' data; from `strip` to `date_format`, keys say how a data file writes the
    cells; `gaps` is of studies from schema 2 on: whether a missing cell is left out.
    """

    type: str
    low: Number | Absent = UNSET
    high: Number | Absent = UNSET
    values: list[str] | Absent = UNSET
    other: bool | Absent = UNSET
    missing: Any = UNSET
    missing_cells: bool | Absent = UNSET
    length: int | Absent = UNSET
    strip: str | Absent = UNSET
    fold: bool | Absent = UNSET
    map: dict[str, str] | Absent = UNSET
    decimal: str | Absent = UNSET
    thousands: str | Absent = UNSET
    negative: str | Absent = UNSET
    date_format: str | list[str] | Absent = UNSET
    gaps: bool | Absent = UNSET


class DeclaredTable(Closed, frozen=True):
    """Columns, the number of rows or persons, and whose rows they are."""

    rows: Number | Absent = UNSET
    id: str | Absent = UNSET
    max_rows: Number | Absent = UNSET
    columns: dict[str, ColumnTable] | Absent = UNSET


class FunctionData(DeclaredTable, frozen=True):
    """The data of a plain function: an array or a table, and a pair of them if one is given."""

    shape: Any = UNSET
    low: Any = UNSET
    high: Any = UNSET
    dtype: str | Absent = UNSET
    left: Any = UNSET
    right: Any = UNSET
    form: str | Absent = field(default=UNSET, name="as")


class SubjectTable(Closed, frozen=True):
    """What the claim is about, and its parameters or data."""

    use: str
    parameters: dict[str, Any] | Absent = UNSET
    data: FunctionData | Absent = UNSET
    examples: str | Absent = UNSET


class JoinTable(Closed, frozen=True):
    """A public table, of which a row gets the columns by its key; the digest is the file's."""

    file: str
    key: str
    columns: dict[str, ColumnTable]
    digest: Digest | Absent = UNSET


class DataTable(DeclaredTable, frozen=True):
    """The real run's data file, the ledger that pays, and a study's derived and joined columns."""

    separator: str | Absent = UNSET
    encoding: str | Absent = UNSET
    file: str | Absent = UNSET
    ledger: str | Absent = UNSET
    scope: str | Absent = UNSET
    public: bool | Absent = UNSET
    derived: dict[str, str] | Absent = UNSET
    join: dict[str, JoinTable] | Absent = UNSET


class ClaimData(DataTable, frozen=True):
    """The data of a claim; `schema` is that of a study, where it is not the first one."""

    schema: Literal[2] | Absent = UNSET


class AuditTable(Closed, frozen=True):
    """Settings of the attack."""

    trials: Number | Absent = UNSET
    confidence: Number | Absent = UNSET
    seconds: Number | Absent = UNSET
    seed: Number | Absent = UNSET
    uncovered: Literal["name", "refuse"] | Absent = UNSET


class ClaimFile(Closed, frozen=True, tag_field="schema", tag=SCHEMA):
    """The claim as read; numbers that are no doubles are decimal strings.

    A later `edition` of a study `follows` the certificate with this digest.
    """

    name: Annotated[str, Meta(pattern=f"^{CLAIM_NAME}$")]
    guarantee: GuaranteeTable
    subject: SubjectTable
    data: ClaimData | Absent = UNSET
    audit: AuditTable | Absent = UNSET
    assume: dict[str, str] | Absent = UNSET
    governance: dict[str, str] | Absent = UNSET
    edition: int | Absent = UNSET
    follows: Digest | Absent = UNSET


STUDY_SCHEMA: Final = "dpaccount/study/2"
FIRST_STUDY_SCHEMA: Final = "dpaccount/study/1"  #: in which a missing cell counts as a declared value
STATISTICS: Final = (
    "count",
    "histogram",
    "top",
    "sum",
    "mean",
    "ratio",
    "variance",
    "stddev",
    "median",
    "quantile",
    "regression",
)
METHODS: Final = ("levels", "exponential")  #: of a median or quantile


class StatisticTable(Closed, frozen=True):
    """One statistic: of a column, by groups, of the rows that meet a condition."""

    name: str
    what: Annotated[str, Meta(extra_json_schema={"enum": list(STATISTICS)})]
    column: str | Absent = UNSET
    by: list[str] | Absent = UNSET
    where: str | Absent = UNSET
    bins: list[Number] | Absent = UNSET
    q: Number | list[Number] | Absent = UNSET
    k: int | Absent = UNSET
    method: Literal["levels", "exponential"] | Absent = UNSET
    on: list[str] | Absent = UNSET
    per: str | Absent = UNSET
    share: Number | Absent = UNSET
    accuracy: Number | Absent = UNSET
    epsilon: Number | Absent = UNSET


class StudyGuarantee(Closed, frozen=True):
    """What is promised of all statistics together; `model` is central."""

    unit: str
    relation: RelationName
    epsilon: Number
    delta: Number | Absent = UNSET
    model: Literal["central"] | Absent = UNSET


class StudyData(DataTable, frozen=True):
    """The table, by the names to use beside those that certificates keep (`id`, `rows`, `max_rows`).

    A SELECT as the `query` takes the place of the statistics.
    """

    unit_column: str | Absent = UNSET
    max_units: Number | Absent = UNSET
    max_contributions: Number | Absent = UNSET
    query: str | Absent = UNSET


class StudyFile(Closed, frozen=True, tag_field="schema", tag=STUDY_SCHEMA):
    """A study as read: the guarantee is of all statistics, or of those an edition adds."""

    name: Annotated[str, Meta(pattern=f"^{CLAIM_NAME}$")]
    guarantee: StudyGuarantee
    data: StudyData
    statistic: list[StatisticTable] | Absent = UNSET
    law: Literal["gaussian", "laplace"] | Absent = UNSET
    audit: AuditTable | Absent = UNSET
    assume: dict[str, str] | Absent = UNSET
    governance: dict[str, str] | Absent = UNSET
    edition: int | Absent = UNSET
    follows: Digest | Absent = UNSET


class FirstStudyFile(StudyFile, frozen=True, tag_field="schema", tag=FIRST_STUDY_SCHEMA):
    """A study of the first schema: a missing cell counts as a declared value, and a unit's first rows do."""


class StudyTotal(Struct, frozen=True):
    """What all statistics cost together."""

    epsilon: float
    delta: float


class StatisticNoise(Struct, frozen=True):
    """The noise of a statistic by sum, in the data's units: its scale, of Gaussian noise the deviation."""

    law: Literal["gaussian", "laplace"]
    scales: dict[str, float]


class PlannedStatistic(Struct, frozen=True):
    """A statistic of a plan.

    `epsilon` is what it costs alone, at the total's δ; `half_width` that of its 95 % intervals, all at once,
    null where it depends on the data; of a mean or variance it is that in a group of `group_size` rows.  In
    groups of fewer rows than `too_noisy_below` noise prevails.  Of a choice (by the exponential
    mechanism) scale and half-width are in ranks, by which it may be farther off than the best candidate.
    """

    name: str
    noise: StatisticNoise
    epsilon: float
    half_width: float | None
    group_size: int | None
    too_noisy_below: int | None

    @property
    def expected(self) -> str:
        """Return the half-width of its intervals, rounded up, and of groups of what size it is."""
        if self.half_width is None:
            return "depends on the data"
        if "choice" in self.noise.scales:
            return f"no interval; within {to_noise(self.half_width, self.half_width, up=True)} ranks"
        of = "" if self.group_size is None else f" for {self.group_size} rows"
        return to_noise(self.half_width, self.half_width, up=True) + of


class StudyPlan(Struct, frozen=True, tag_field="schema", tag="dpaccount/study-plan/1"):
    """What `dpaccount plan` prints."""

    name: str
    total: StudyTotal
    statistics: list[PlannedStatistic]
    warning: str | Absent = UNSET  #: what a large δ allows, and what choices of the study cost

    @property
    def title(self) -> str:
        """Return what the plan is about, that it costs nothing, and what is to be known of its choices."""
        total = f"total ε = {self.total.epsilon:g}, δ = {self.total.delta:g}"
        return f"{self.name}: {total}; nothing is charged" + (f".\n{self.warning}." if self.warning else "")

    @property
    def head(self) -> list[str]:
        """Return the names of the columns of `rows`."""
        laws = " or ".join(dict.fromkeys(each.noise.law for each in self.statistics))
        return ["statistic", f"{laws} noise", "ε alone", "95% ±", "too noisy below"]

    @property
    def rows(self) -> list[list[str]]:
        """Return the plan as a table: noise, cost and expected accuracy of every statistic."""
        return [
            [
                each.name,
                ", ".join(f"{part} {to_noise(scale, scale)}" for part, scale in each.noise.scales.items()),
                to_noise(each.epsilon, each.epsilon, up=True),
                each.expected,
                "" if each.too_noisy_below is None else str(each.too_noisy_below),
            ]
            for each in self.statistics
        ]

    def __str__(self) -> str:
        """Return the table for a terminal."""
        return f"{self.title}\n{text_table(self.head, self.rows)}"

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return html_table(self.head, self.rows, self.title)


class StudyTable(Struct, frozen=True):
    """A released statistic: rows of the values of `by`, with `estimate`, `low` and `high`.

    With `ranks` there is no interval: at 95 % the rank is at most so many rows farther off than the best's.
    """

    rows: list[dict[str, Any]]
    ranks: float | None = None


class StudyRelease(Struct, frozen=True, tag_field="schema", tag="dpaccount/study-release/1"):
    """What `dpaccount release` prints of a study; nothing is released unless it is certified.

    `earlier` has the statistics that an earlier edition released, and the digest of its certificate: they
    were charged then, and the guarantee `proved` is of the others.
    """

    name: str
    verdict: str
    proved: dict[str, Any]
    statistics: dict[str, StudyTable]
    certificate: str
    releasable: bool
    earlier: dict[str, str] = {}

    def title(self, name: str) -> str:
        """Return a statistic's name, and which certificate covers it if it is not this one."""
        if name not in self.earlier:
            return name
        return f"{name} (of an earlier edition, charged then: {self.earlier[name][:19]}…)"
