"""The claim: the tables of its file, as read, and as a certificate repeats them.

Every number may be written as one or as text. `audits.claim` reads the file, and says what is wrong.
"""

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, field

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
    """A column that is declared; all of it is public."""

    type: str
    low: Number | Absent = UNSET
    high: Number | Absent = UNSET
    values: list[str] | Absent = UNSET
    other: bool | Absent = UNSET
    missing: Any = UNSET
    missing_cells: bool | Absent = UNSET
    length: int | Absent = UNSET


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

    file: str | Absent = UNSET
    ledger: str | Absent = UNSET
    scope: str | Absent = UNSET
    public: bool | Absent = UNSET
    derived: dict[str, str] | Absent = UNSET
    join: dict[str, JoinTable] | Absent = UNSET


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
    data: DataTable | Absent = UNSET
    audit: AuditTable | Absent = UNSET
    assume: dict[str, str] | Absent = UNSET
    governance: dict[str, str] | Absent = UNSET
    edition: int | Absent = UNSET
    follows: Digest | Absent = UNSET
