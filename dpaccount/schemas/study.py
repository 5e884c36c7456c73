"""A study: several statistics of one table under one total, its plan, and its release."""

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct

from dpaccount.schemas.claim import CLAIM_NAME, AuditTable, DataTable, RelationName
from dpaccount.schemas.fields import Absent, Closed, Digest, Number

SCHEMA: Final = "dpaccount/study/1"
STATISTICS: Final = (
    "count",
    "histogram",
    "top",
    "sum",
    "mean",
    "variance",
    "median",
    "quantile",
    "regression",
)


class StatisticTable(Closed, frozen=True):
    """One statistic: of a column, by groups, of the rows that meet a condition."""

    name: str
    what: Annotated[str, Meta(extra_json_schema={"enum": list(STATISTICS)})]
    column: str | Absent = UNSET
    by: list[str] | Absent = UNSET
    where: str | Absent = UNSET
    bins: list[Number] | Absent = UNSET
    q: Number | Absent = UNSET
    k: int | Absent = UNSET
    on: list[str] | Absent = UNSET
    share: Number | Absent = UNSET
    accuracy: Number | Absent = UNSET


class StudyGuarantee(Closed, frozen=True):
    """What is promised of all statistics together; `model` is central."""

    unit: str
    relation: RelationName
    epsilon: Number
    delta: Number | Absent = UNSET
    model: Literal["central"] | Absent = UNSET


class StudyData(DataTable, frozen=True):
    """The table, by the names to use beside those that certificates keep (`id`, `rows`, `max_rows`)."""

    unit_column: str | Absent = UNSET
    max_units: Number | Absent = UNSET
    max_contributions: Number | Absent = UNSET


class StudyFile(Closed, frozen=True, tag_field="schema", tag=SCHEMA):
    """A study as read: the guarantee is of all statistics, or of those an edition adds."""

    name: Annotated[str, Meta(pattern=f"^{CLAIM_NAME}$")]
    guarantee: StudyGuarantee
    data: StudyData
    statistic: list[StatisticTable]
    audit: AuditTable | Absent = UNSET
    assume: dict[str, str] | Absent = UNSET
    governance: dict[str, str] | Absent = UNSET
    edition: int | Absent = UNSET
    follows: Digest | Absent = UNSET


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
    groups of fewer rows than `too_noisy_below` noise prevails.
    """

    name: str
    noise: StatisticNoise
    epsilon: float
    half_width: float | None
    group_size: int | None
    too_noisy_below: int | None


class StudyPlan(Struct, frozen=True, tag_field="schema", tag="dpaccount/study-plan/1"):
    """What `dpaccount plan` prints."""

    name: str
    total: StudyTotal
    statistics: list[PlannedStatistic]


class StudyTable(Struct, frozen=True):
    """A released statistic: rows of the values of `by`, with `estimate`, `low` and `high`."""

    rows: list[dict[str, Any]]


class StudyRelease(Struct, frozen=True, tag_field="schema", tag="dpaccount/study-release/1"):
    """What `dpaccount release` prints of a study; nothing is released unless it is certified."""

    name: str
    verdict: str
    proved: dict[str, Any]
    statistics: dict[str, StudyTable]
    certificate: str
    releasable: bool
