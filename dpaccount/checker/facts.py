"""What steps prove, and how a rule is declared.

On the wire a fact is ``[kind, *fields]``; here fields have names, and exact numbers are still texts.  A
rule states the kinds of its premises and the members of its witness; both are checked before it runs.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

from .curves import Curve, curve_of
from .documents import brief, check_members, ensure, integer
from .intervals import number, positive
from .relation import written_relation

ANYONE = [1, 2**63]  #: units lie below its end, so that nothing is beyond anyone


def unit(value: object) -> int:
    """Read a unit's number, or a number of units: below the end of `ANYONE`."""
    ensure(integer(value) < ANYONE[1], f"{brief(value)} should be below {ANYONE[1]}")
    return integer(value)


class Private(NamedTuple):
    """A subject has a curve for a relation, as seen by an observer, and reads these units only."""

    subject: str
    law: list[Any]  #: the curve, as on the wire
    relation: str  #: of rows, or OF_PERSONS
    observer: str
    units: list[int] | None  #: None: a draw on any units

    @property
    def curve(self) -> Curve:
        """Return the curve."""
        return curve_of(self.law)


class View(NamedTuple):
    """What is shown to an audience is a function of these releases, named by the keys of their noise."""

    query: str
    audience: str
    releases: list[str]


class Contribution(NamedTuple):
    """What each unit adds to a query."""

    query: str
    kind: str
    low: str
    high: str
    points: list[list[int]]
    relation: str
    source: str


class Stable(NamedTuple):
    """A query moves by at most a bound in a norm between neighbours."""

    query: str
    norm: str
    bound: str
    relation: str
    units: list[int] | None

    def within(self, norm: str) -> Fraction:
        """Return the bound, which must be in this norm."""
        ensure(self.norm == norm, f"needed a bound in {norm}, found {self.norm}")
        return number(self.bound)


class Lipschitz(NamedTuple):
    """A query moves by at most factor·ℓ + slack with a row that moves by ℓ, and by at most `reach`."""

    query: str
    factor: str
    slack: str
    reach: str


class Shifts(NamedTuple):
    """A query moves by one of these vectors, up to order and signs."""

    query: str
    shifts: list[list[int]]
    relation: str


class Covered(NamedTuple):
    """Releases: their number, how many of them a unit meets, and the units of the widest one."""

    query: str
    releases: int
    most: int
    widest: int
    units: list[int]


class Rounds(NamedTuple):
    """A unit enters at most `times` rounds of a query, `apart` or more; none after `last`."""

    query: str
    rounds: int
    times: int
    apart: int
    last: int


class Numbers(NamedTuple):
    """A release has at most `most` numbers."""

    query: str
    most: int


class Choice(NamedTuple):
    """One of these parts is drawn, each the keys of its noise."""

    query: str
    parts: list[list[str]]


class Split(NamedTuple):
    """Every record is read in one of these cells, by its own value."""

    query: str
    cells: list[str]


class Persons(NamedTuple):
    """Neighbouring persons are at most `most` steps of neighbouring rows apart."""

    query: str
    relation: str
    rows: str
    most: int


class Rare(NamedTuple):
    """A departure of small probability from what is proved."""

    query: str
    kind: str
    probability: str


class Apart(NamedTuple):
    """How far some two neighbours are apart."""

    query: str
    law: str
    numbers: list[str]
    relation: str
    observer: str


class Refuted(NamedTuple):
    """A point that does not hold."""

    subject: str
    epsilon: str
    delta: str
    relation: str
    observer: str


Fact = Any  #: one of the above
FACT_KINDS = (Private, View, Contribution, Lipschitz, Stable, Shifts, Covered, Rounds, Numbers)
RARER = (Choice, Split, Persons, Rare, Apart, Refuted)
FACTS: dict[str, type[Any]] = {kind.__name__: kind for kind in (*FACT_KINDS, *RARER)}


def as_wire(fact: Fact) -> list[Any]:
    """Write a fact."""
    word = {"relation": written_relation(fact.relation)} if isinstance(fact, Private) else {}
    return [type(fact).__name__, *fact._replace(**word)]


def fact_of(wire: list[Any]) -> Fact:
    """Read a fact."""
    ensure(wire[0] in FACTS, f"unknown kind {brief(wire[0])}")
    return FACTS[wire[0]](*wire[1:])


# ------------------------------------------------------------------ rules

Inferring = TypeVar("Inferring", bound=Callable[..., Any])


class Optional(NamedTuple):
    """A premise, or a member of a witness, that may be missing."""

    of: Any


class Declaration(NamedTuple):
    """A rule: the kinds of its premises (`...`: one or more of the last), its witness, and what it gives."""

    premises: tuple[Any, ...]
    members: dict[str, Any]  #: readers
    conclude: Callable[..., Fact]
    source: Callable[..., Any]  #: the function in the file


RULES: dict[str, Declaration] = {}
UNREAD = ("because", "key")  # members of hypotheses and of noise that no conclusion depends on


def rule(*premises: Any, **members: Any) -> Callable[[Inferring], Inferring]:
    """Declare a rule, of the function's name."""

    def declare(conclude: Inferring) -> Inferring:
        RULES[conclude.__name__] = Declaration(premises, members, conclude, conclude)
        return conclude

    return declare


def apply(name: str, premises: Sequence[Fact], given: dict[str, Any]) -> Fact:
    """Return a rule's conclusion from these premises and this witness, or reject."""
    ensure(name in RULES, f"unknown rule {brief(name)}")
    declared, witness = RULES[name], witness_of(RULES[name].members, given)
    check_kinds(declared.premises, premises)
    return declared.conclude(*premises, **witness)


def witness_of(members: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Read a witness, which must have these members and no others."""
    optional = {name for name, reader in members.items() if isinstance(reader, Optional)}
    check_members(given, [name for name in members if name not in optional], optional)
    witness = {}
    for name, reader in members.items():
        if name in given:
            read, value = reader.of if name in optional else reader, given[name]
            witness[name] = positive(value, name) if read is positive else read(value)
    return {name: value for name, value in witness.items() if name not in UNREAD}


def check_kinds(premises: tuple[Any, ...], facts: Sequence[Fact]) -> None:
    """Verify that premises are of these kinds."""
    kinds = [kind.of if isinstance(kind, Optional) else kind for kind in premises]
    if kinds[-1:] == [...]:
        kinds[-1:] = [kinds[-2]] * (len(facts) + 1 - len(kinds))
    elif premises and isinstance(premises[-1], Optional):
        kinds = kinds[: max(len(facts), len(kinds) - 1)]
    needed, have = [kind.__name__ for kind in kinds], [type(fact).__name__ for fact in facts]
    ensure(have == needed, f"needed premises {needed}, found {have}")
