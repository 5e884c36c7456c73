"""The experiment: the tables of its file, for `dpaccount run`.

Every number may be written as one or as text. `audits.papers.experiment` reads the file, and says what
is wrong.
"""

from typing import Annotated, Any, Final

from msgspec import UNSET, Meta

from dpaccount.schemas.claim import CLAIM_NAME, DeclaredTable
from dpaccount.schemas.fields import Absent, Closed, Number

EXPERIMENT: Final = "dpaccount/experiment/1"
ExperimentName = Annotated[str, Meta(pattern=f"^{CLAIM_NAME}$")]


class WorldTable(DeclaredTable, frozen=True, kw_only=True):
    """Whom the algorithms serve: simulated people, or the records of a log's file."""

    use: str
    name: ExperimentName | Absent = UNSET
    candidates: Number | Absent = UNSET
    dimension: Number | Absent = UNSET
    arms: Number | Absent = UNSET
    surface: str | Absent = UNSET
    kernel: str | Absent = UNSET
    file: str | Absent = UNSET
    log: dict[str, Any] | Absent = UNSET


class AlgorithmTable(Closed, frozen=True):
    """An algorithm; a parameter that is a list is one run for each of its members."""

    use: str
    name: ExperimentName | Absent = UNSET
    parameters: dict[str, Any] | Absent = UNSET


class ExperimentFile(Closed, frozen=True, tag_field="schema", tag=EXPERIMENT):
    """Every algorithm with all its parameters in every world, with the same seeds."""

    name: ExperimentName
    world: Annotated[list[WorldTable], Meta(min_length=1)]
    algorithm: Annotated[list[AlgorithmTable], Meta(min_length=1)]
    trials: Number
    rounds: Number | Absent = UNSET
    seed: Number | Absent = UNSET
