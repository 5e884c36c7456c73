"""The experiment: the tables of its file, for `dpaccount run`.

Every number may be written as one or as text. `audits.papers.experiment_file` reads it, and says what
is wrong.
"""

from typing import Annotated, Any, Final

from msgspec import UNSET, Meta

from dpaccount.schemas.claim import CLAIM_NAME, DeclaredTable
from dpaccount.schemas.fields import Absent, AnyMembers, Closed, Number

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
