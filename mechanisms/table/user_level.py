"""User-level privacy: contribution bounding, and a proof by group privacy over a person's rows.

Each person is one wide row: the number of contributing rows, then the rows.  The mechanism receives
the contributing rows of all persons.  Replacing a person changes at most `steps` of them, so a
guarantee for a group of that many rows protects a person.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dpaccount.documents import Place
from dpaccount.errors import RuleError
from dpaccount.noise.receipt import Noise
from dpaccount.proof import (
    ADD_REMOVE,
    REPLACE_ONE,
    Gdp,
    NearGdp,
    Private,
    Theorem,
    assume_persons,
    group,
    persons,
    point,
    post_process,
)
from dpaccount.proof.search import approximate
from dpaccount.relation import adjacency
from mechanisms.subject import Domain, Rows, Subject, View, released
from mechanisms.table.bind_columns import bind
from mechanisms.table.columns import Table
from mechanisms.table.rows import Reading, unfolded

HALVINGS = 12  #: precision of the search for δ of a group of rows
MOST_TRIED = 1_000_000  #: numbers of rows with nothing in them that a mechanism is tried on
LINEAR = ("cells", "numbers", "votes")  #: kinds of rows of which one has nothing in it

Make = Callable[..., Subject]


@dataclass(frozen=True)
class ByPerson:
    """What `mechanism` releases of the rows of `rows` persons, of each of whom `max_rows` rows count.

    `steps` is how many rows a person's change is: `max_rows` that go, and under replace-one as many that
    come where the mechanism's rows come and go.  Where they are replaced, a row that is not there is one
    with nothing in it.
    """

    source: ClassVar[str] = "group privacy, on a bounded number of rows of one person"
    status: ClassVar[str] = "sound"

    mechanism: Any
    rows: int
    max_rows: int
    relation: str

    @property
    def steps(self) -> int:
        """Return the number of row-level steps between two person-level neighbours."""
        each = adjacency(self.relation).steps(adjacency(self.mechanism.relation))
        if each is None:
            of_rows = self.mechanism.relation
            raise RuleError(f"persons: {of_rows} rows do not cover {self.relation} persons")
        return self.max_rows * each

    def domain(self) -> Domain:
        """Return the domain of persons: a number from 0 to `max_rows`, then the mechanism's columns."""
        of = self.mechanism.domain()
        times = self.max_rows
        return Domain(
            self.rows,
            (0.0, *of.low * times),
            (float(times), *of.high * times),
            (True, *of.integer * times),
            (0.0, *of.nothing * times),
        )

    def table(self, data: Rows) -> Rows:
        """Return the contributing rows of all persons, which the mechanism receives."""
        there, rows = unfolded(data, self.max_rows)
        if adjacency(self.mechanism.relation).rows_vary:
            return rows[there]
        return np.where(there[:, None], rows, np.array(self.mechanism.domain().nothing))

    def proof(self, delta: Fraction) -> Theorem:
        """Prove for the group of a person's rows what the mechanism proves for one."""
        of_groups = for_groups(self.mechanism, self.steps, delta)
        fact = of_groups.conclusion
        if not isinstance(fact, Private):
            raise RuleError(f"persons: needed a statement about privacy, found {type(fact).__name__}")
        changed = assume_persons(fact.subject, self.relation, self.mechanism.relation, self.steps, "movement")
        return persons(of_groups, changed)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Run the mechanism on the rows that count."""
        return self.mechanism.play(self.table(data), noise, coins)

    def report(self, view: View) -> dict[str, object]:
        """Return the mechanism's report."""
        return getattr(self.mechanism, "report", released)(view)

    def accuracy(self, view: View) -> dict[str, object]:
        """Return the mechanism's intervals for the noise; non-contributing rows are not covered."""
        known: Callable[[View], dict[str, object]] | None = getattr(self.mechanism, "accuracy", None)
        return {} if known is None else known(view)


def named(subject: Subject) -> Subject:
    """Return the subject that a claim names: the wrapped mechanism, if there is one."""
    return subject.mechanism if isinstance(subject, ByPerson) else subject


def for_groups(mechanism: Subject, steps: int, delta: Fraction) -> Theorem:
    """Return the theorem at `delta` for groups of `steps` rows (group privacy).

    Of Gaussian DP the curve of groups, k²μ², is converted: nothing better follows from μ.  Of other curves
    the group's δ is δ(e^kε − 1)/(e^ε − 1) with the ε that is proved at δ (Dwork & Roth 2014), which
    falls with δ: the search is for a large one that keeps it below `delta`.  Raises `RuleError` if
    none does.
    """
    of_one = mechanism.proof(delta)
    if point(of_one)[1] == 0:
        return group(of_one, steps, Fraction(0))
    if (curve := _gaussian(of_one)) is not None:
        return approximate(group(curve, steps), delta)
    best: Theorem | None = None
    # A group of k rows multiplies δ by at least k, so that of one row is at most δ/k.
    low, high = delta / 2**40, delta / steps
    for _ in range(HALVINGS):
        middle = Fraction(float(low * high) ** 0.5)
        try:
            best, low = group(mechanism.proof(middle), steps, delta), middle
        except RuleError:
            high = middle
    if best is None:
        return _from_above(mechanism, steps, delta)
    return best


def _from_above(mechanism: Subject, steps: int, delta: Fraction) -> Theorem:
    """Return what `for_groups` does where a small δ of one row proves nothing: thresholds need one.

    The ε of one row falls with its δ, so δ ↦ δ_k(e^ε − 1)/(e^kε − 1) falls towards its largest fixed point.
    """
    one = delta
    try:
        for _ in range(HALVINGS):
            epsilon = float(point(mechanism.proof(one))[0])
            one = delta * Fraction(math.expm1(epsilon) / math.expm1(steps * epsilon))
        # The iteration ends a little above the fixed point, where the group's δ is still too large.
        return group(mechanism.proof(one * Fraction(99, 100)), steps, delta)
    except (RuleError, OverflowError):
        raise RuleError(f"group: no δ of one row proves {float(delta):.3g} for groups of {steps}") from None


def _gaussian(theorem: Theorem) -> Theorem | None:
    """Return the theorem with the Gaussian curve that one at (ε, δ) was converted from, None for others."""
    if theorem.rule == "post_process":
        inner = _gaussian(theorem.premises[0])
        return None if inner is None else post_process(inner, theorem.premises[1])
    fact = theorem.premises[0].conclusion if theorem.rule == "to_approximate" else None
    return (
        theorem.premises[0] if isinstance(fact, Private) and isinstance(fact.curve, Gdp | NearGdp) else None
    )


def of_rows(theorem: Theorem) -> Theorem:
    """Return the theorem that one about persons rests on: that about one of their rows."""
    part = theorem.premises[0]
    while part.rule != "group":
        part = part.premises[0]
    return part.premises[0]


def by_person(
    made_by: type, place: Place, table: Table, relation: str, make: Make
) -> tuple["ByPerson", Reading]:
    """Return a mechanism for persons on a table, and how it reads the table.

    `made_by`: the mechanism's class, which `make` constructs from the parameters at `place`.
    `table`: the declared table, several rows of which may be one person's.
    `relation`: how neighbouring datasets differ in persons.
    Where a row with nothing in it is as good as none, and the mechanism knows replaced rows, its rows are
    replaced with the person's; else they come and go.  Raises `InputError` for a mechanism whose number of
    rows would have to be public.
    """
    # Replaced rows first: where rows go and come, a replaced person is twice as many steps.
    for inner in (REPLACE_ONE, ADD_REMOVE):
        if inner in relations_of(made_by) and inner in (relation, ADD_REMOVE):
            given, reading = bind(made_by, place, table, table.rows * table.max_rows, inner)
            mechanism = make(made_by, place, given=given)
            if inner == ADD_REMOVE or _nothing_counts_nothing(mechanism):
                whole = reading if table.max_rows > 1 else _counted(reading)
                return ByPerson(mechanism, table.rows, table.max_rows, relation), whole
    raise place.wrong(
        "it needs the public number of rows, which is private where several of a person count",
        "let one row of a person count, or take a mechanism that knows add-remove",
    )


def _counted(reading: Reading) -> Reading:
    """Return a reading whose rows are marked as one row of a person each."""

    def encode(codes: Rows) -> Rows:
        rows = reading.encode(codes)
        return np.hstack([np.ones((len(rows), 1)), rows])

    return replace(reading, encode=encode, default=(0.0, *reading.default))


def _nothing_counts_nothing(mechanism: Any) -> bool:
    """Return whether a sum can represent absent rows by rows of zeros.

    Such a row must be one of the mechanism's domain: about others nothing is assumed, and nothing tested.
    """
    of = mechanism.domain()
    linear = getattr(mechanism, "reads", None) in LINEAR and not getattr(mechanism, "per_row", False)
    if not linear or not hasattr(mechanism, "query"):
        return False
    rows = max(1, min(mechanism.rows, MOST_TRIED // len(of.nothing)))
    nothing = np.tile(np.array(of.nothing), (rows, 1))
    try:
        return of.contains(nothing[:1]) and not np.any(mechanism.query(nothing))
    except Exception:  # a user's class may raise anything
        return False


def relations_of(made_by: Any) -> tuple[str, ...]:
    """Return the relations that a class of mechanisms knows."""
    known = {each.name for each in fields(made_by)}
    if "unit" in known:  # how far a row moves; 0 means that it is replaced
        return (REPLACE_ONE,)
    return (REPLACE_ONE, ADD_REMOVE) if "relation" in known else (made_by.relation,)
