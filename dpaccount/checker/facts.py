"""What steps prove, and how a rule is declared.

On the wire a fact is ``[kind, *fields]``, with exact numbers as texts.  A rule states the kinds of its
premises and the members of its witness; both are checked before it runs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar, get_args

from .curves import Curve, as_json, curve_of, written
from .documents import Rejected, brief, check_members, ensure, integer
from .intervals import number
from .relation import written_relation

Units = tuple[int, int]  #: first and last
ANYONE: Units = (1, 2**63)  #: units lie below its end, so that nothing is beyond anyone


def unit(value: object) -> int:
    """Read a unit's number, or a number of units: below the end of `ANYONE`."""
    whole = integer(value)
    if whole >= ANYONE[1]:  # read for every unit of every cover, so the message waits
        raise Rejected(f"{brief(value)} should be below {ANYONE[1]}")
    return whole


@dataclass(frozen=True)
class Private:
    """`subject` has this privacy curve for this relation, as seen by this observer, and reads these units.

    Without units it is a draw on any.  The relation is of rows, or after the rule `persons` OF_PERSONS.
    """

    subject: str
    curve: Curve
    relation: str
    observer: str
    units: Units | None = None


@dataclass(frozen=True)
class View:
    """The output of `query` is a function of the releases, public values and coins of its own.

    To the audience ``others`` it may read a person's own data too: no other person sees that output.
    `releases` are the keys of all the noise that it reads, sorted.
    """

    query: str
    audience: str
    releases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contribution:
    """Each unit adds one vector of a known set to `query`, the same in every release that covers the unit.

    `kind`: ``points`` (a finite set of integer vectors), ``interval`` (`low` to `high`), ``ball`` (ℓ2 norm
    squared at most `high`), ``rank-one`` (the symmetric matrix of (φ, y) without its y² corner, ‖φ‖ ≤ 1,
    |y| ≤ `high`), ``outer`` (the same with it), ``cell`` (a 1 in up to `high` cells of a table).  It depends
    on the unit's own data and coins, public values and earlier releases only.  `source`: the constants are
    ``public``, a public ``coin`` chose them, or an earlier ``dp-output`` the unit in which they are measured.
    """

    query: str
    kind: str
    low: Fraction
    high: Fraction
    points: tuple[tuple[int, ...], ...]
    relation: str
    source: str = "public"


@dataclass(frozen=True)
class Stable:
    """Between neighbours, `query` moves by at most `bound` in `norm`.

    `norm` is ``l1``, ``range`` (of the difference of scores), ``each`` (every number of the query), or
    ``l2-squared`` and ``frobenius-squared`` (squared, as the root is rarely rational).  `units` are those of
    one vector made of rows or rounds, which is neither transformed nor released twice.
    """

    query: str
    norm: str
    bound: Fraction
    relation: str
    units: Units | None = None

    def within(self, norm: str) -> Fraction:
        """Return the bound, which must be in this norm."""
        ensure(self.norm == norm, f"needed a bound in {norm}, found {self.norm}")
        return self.bound


@dataclass(frozen=True)
class Lipschitz:
    """`query` moves by at most `factor`·ℓ + `slack` with a row that moves by ℓ in ℓ2, and by at most `reach`.

    This holds for any two rows of a convex set, which every dataset's rows are of.
    """

    query: str
    factor: Fraction
    slack: Fraction
    reach: Fraction


@dataclass(frozen=True)
class Shifts:
    """`query` moves by one of these integer vectors, up to order and signs."""

    query: str
    shifts: tuple[tuple[int, ...], ...]
    relation: str


@dataclass(frozen=True)
class Covered:
    """`query` is released `releases` times, each reading at most `widest` units.

    Units of the interval `units` are read by at most `most` releases (attained), others by none.
    """

    query: str
    releases: int
    most: int
    widest: int
    units: Units


@dataclass(frozen=True)
class Rounds:
    """A unit enters at most `times` rounds of `query`, `apart` or more apart; none after unit `last` does."""

    query: str
    rounds: int
    times: int
    apart: int
    last: int


@dataclass(frozen=True)
class Numbers:
    """A release of `query` has at most `most` numbers; all rounds of a stream together."""

    query: str
    most: int


@dataclass(frozen=True)
class Choice:
    """Of `parts`, each the keys of its noise, a public coin chooses one; of the others nothing is drawn."""

    query: str
    parts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Split:
    """Every record of `query` is read in one of the `cells`, named by a public function of its own value.

    A record that leaves a cell leaves a hole there: no other record changes its position.
    """

    query: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Persons:
    """Neighbouring persons give `query` rows at most `most` steps apart, each one of the relation `rows`."""

    query: str
    relation: str
    rows: str
    most: int


@dataclass(frozen=True)
class Rare:
    """`query` departs with at most this probability from what its proof assumes.

    `kind`: ``event`` (over its own coins, as likely on all data; given its complement all that is proved
    holds) or ``distance`` (its output law is within this total variation, on every input).
    """

    query: str
    kind: str
    probability: Fraction


@dataclass(frozen=True)
class Apart:
    """Some two neighbours differ as `law` and its `numbers` define.

    ``number`` (m,), ``vector`` (m²,), ``symmetric`` (m²,): the query moves so far.  ``gaussian`` (μ²,): they
    are as distinguishable as N(0, 1) and N(μ, 1); ``laplace`` (m,): as Laplace of scale 1 and itself moved
    by m; ``event`` (p, q): one event has probability at least p under one, at most q under the other.
    """

    query: str
    law: str
    numbers: tuple[Fraction, ...]
    relation: str
    observer: str


@dataclass(frozen=True)
class Refuted:
    """`subject` is not (ε, δ)-private for this relation and observer."""

    subject: str
    epsilon: Fraction
    delta: Fraction
    relation: str
    observer: str


Assumption = Contribution | Lipschitz | Covered | View | Rounds | Numbers | Choice | Split | Persons | Rare
Judgement = Assumption | Stable | Shifts | Apart | Private | Refuted
Fact = Any  #: one of the above
SIMPLE = {int, str}  # what long lists hold
FACTS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Judgement)}


def as_wire(fact: Fact) -> list[Any]:
    """Write a fact."""
    word = {"relation": written_relation(fact.relation)} if isinstance(fact, Private) else {}
    curve = {"curve": written(fact.curve)} if isinstance(fact, Private) else {}
    return [type(fact).__name__, *map(as_json, (vars(fact) | word | curve).values())]


def fact_of(wire: list[Any]) -> Fact:
    """Read a fact."""
    ensure(wire[0] in FACTS, f"unknown kind {brief(wire[0])}")
    kind = FACTS[wire[0]]
    return kind(*map(read_field, kind.__annotations__.values(), wire[1:]))


def read_field(kind: Any, value: Any) -> Any:
    """Read a field of this type."""
    if kind is Fraction:
        return number(value)
    if kind is Curve:
        return curve_of(value)
    if kind == tuple[Fraction, ...]:
        return tuple(map(number, value))
    return frozen(value)


def frozen(value: Any) -> Any:
    """Return lists as tuples, at every level."""
    if not isinstance(value, list):
        return value
    return tuple(value) if SIMPLE.issuperset(map(type, value)) else tuple(map(frozen, value))


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
            try:
                witness[name] = read(value)
            except Rejected as why:
                raise Rejected(f"{name}: {why}") from None
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
