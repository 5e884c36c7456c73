"""What a proof assumes of the code: who sees what, what a unit adds, which releases read it.

Common ones first.  A docstring is the hypothesis: only its form is checked here; evidence, elsewhere.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from .curves import curve_of
from .documents import (
    Rejected,
    anything,
    ensure,
    integer,
    integer_points,
    items,
    names_of,
    several,
    source_of,
    spend,
    text,
)
from .facts import (
    Choice,
    Contribution,
    Covered,
    Inferring,
    Lipschitz,
    Numbers,
    Optional,
    Persons,
    Private,
    Rare,
    Rounds,
    Split,
    Stable,
    View,
    rule,
    unit,
)
from .intervals import number
from .relation import relation_of, replaced


def hypothesis(**members: Any) -> Callable[[Inferring], Inferring]:
    """Declare a rule without premises: what is assumed of a query, and because of what."""
    return rule(query=text, **members, because=anything)


@hypothesis(audience=anything, releases=names_of)
def assume_view(query: str, audience: str, releases: tuple[str, ...]) -> View:
    """What is shown is a function of the releases, public values and coins."""
    ensure(audience in ("everyone", "others"), "the audience is everyone or others")
    return View(query, audience, releases)


# ------------------------------------------------------------------ what a unit adds


@hypothesis(radius=number, relation=relation_of, source=Optional(source_of))
def assume_ball(query: str, radius: Fraction, relation: str, source: str = "public") -> Contribution:
    """Each unit adds a vector of at most this ℓ2 norm."""
    ensure(radius >= 0, "the radius is negative")
    return Contribution(query, "ball", Fraction(0), radius**2, (), relation, source)


@hypothesis(reward=number, kind=anything, relation=relation_of, source=Optional(source_of))
def assume_rank_one(
    query: str, reward: Fraction, kind: str, relation: str, source: str = "public"
) -> Contribution:
    """Each unit adds the symmetric matrix of features of norm ≤ 1 and a reward, or all but its corner."""
    ensure(replaced(relation), "the closed form is for replace-one")
    ensure(reward >= 0, "the reward bound is negative")
    ensure(kind in ("rank-one", "outer"), "the kind is rank-one or outer")
    return Contribution(query, kind, Fraction(0), reward, (), relation, source)


@hypothesis(points=integer_points, relation=relation_of, source=Optional(source_of))
def assume_points(
    query: str, points: tuple[tuple[int, ...], ...], relation: str, source: str = "public"
) -> Contribution:
    """Each unit adds one of these vectors."""
    return Contribution(query, "points", Fraction(0), Fraction(0), points, relation, source)


@hypothesis(low=number, high=number, relation=relation_of, source=Optional(source_of))
def assume_clipped(
    query: str, low: Fraction, high: Fraction, relation: str, source: str = "public"
) -> Contribution:
    """Each unit adds a number of an interval."""
    ensure(low <= high, "low is above high")
    return Contribution(query, "interval", low, high, (), relation, source)


@hypothesis(relation=relation_of, most=Optional(several))
def assume_cell(query: str, relation: str, most: int = 1) -> Contribution:
    """Each unit adds 1 to one cell of an open table, or to each of at most `most` cells."""
    ensure(most <= 1000, "more cells than this checker lists")
    return Contribution(query, "cell", Fraction(0), Fraction(most), (), relation)


@hypothesis(factor=number, slack=number, reach=number)
def assume_lipschitz(query: str, factor: Fraction, slack: Fraction, reach: Fraction) -> Lipschitz:
    """A query is Lipschitz in a row of a convex set, and moves by at most `reach`."""
    ensure(all(size >= 0 for size in (factor, slack, reach)), "nothing moves by less than 0")
    return Lipschitz(query, factor, slack, reach)


# ------------------------------------------------------------------ which releases read which units


def spans_of(covers: object) -> list[tuple[int, int]]:
    """Read a list of [first, last]."""
    if not isinstance(covers, list) or not covers:
        raise Rejected("covers should be a list of [first, last]")
    spend(10 * len(covers))
    spans = []
    for span in covers:
        ensure(isinstance(span, list) and len(span) == 2, "a cover should be [first, last]")
        first, last = unit(span[0]), unit(span[1])
        ensure(first <= last, f"the cover [{first}, {last}] is empty")
        spans.append((first, last))
    return spans


def rising_units(ends: object) -> list[int]:
    """Read a list of units, each later than the one before it."""
    if not isinstance(ends, list) or not ends:
        raise Rejected("ends should be a list of units")
    spend(10 * len(ends))
    units = [unit(end) for end in ends]
    ensure(all(a < b for a, b in pairwise(units)), "a batch ends after the one before it")
    return units


# Trap: last − first units for a cover, of which both ends are read.
@hypothesis(covers=spans_of)
def assume_covers(query: str, covers: list[tuple[int, int]]) -> Covered:
    """Each release reads these units only."""
    change: dict[int, int] = {}  # of releases that read a unit
    for first, last in covers:
        change[first] = change.get(first, 0) + 1
        change[last + 1] = change.get(last + 1, 0) - 1
    most = max(accumulate(change[at] for at in sorted(change)))
    widest = max(last - first + 1 for first, last in covers)
    reach = min(first for first, _ in covers), max(last for _, last in covers)
    return Covered(query, len(covers), most, widest, reach)


# Source: Chan et al. 2011.  Trap: half the width: a node of the top level has 2^(levels − 1) rounds.
@hypothesis(rounds=unit, levels=integer)
def assume_tree(query: str, rounds: int, levels: int) -> Covered:
    """Releases are the complete nodes of a binary tree over the rounds, on this many levels."""
    ensure(rounds.bit_length() >= levels, "the tree has fewer levels")
    # whole nodes of every level: halving once more each time
    sizes = [rounds // 2**level for level in range(levels)]
    return Covered(query, sum(sizes), levels, 2 ** (levels - 1), (1, rounds))


@hypothesis(
    rounds=unit, participations=Optional(integer), separation=Optional(integer), ends=Optional(rising_units)
)
def assume_rounds(
    query: str,
    rounds: int,
    participations: int | None = None,
    separation: int | None = None,
    ends: list[int] | None = None,
) -> Rounds:
    """A unit enters its own round or its batch's, or several rounds at a minimum separation."""
    times = participations or 1
    ensure(
        (participations is not None) == (separation is not None) == (times > 1), "one participation is plain"
    )
    plain = ends is None or (len(ends) == rounds and times == 1)
    ensure(plain, "a batch for every round, and one round a unit")
    return Rounds(query, rounds, times, separation or 1, ends[-1] if ends else rounds)


@hypothesis(most=integer)
def assume_numbers(query: str, most: int) -> Numbers:
    """A release has at most `most` numbers."""
    return Numbers(query, most)


@hypothesis(width=number, relation=relation_of)
def assume_range(query: str, width: Fraction, relation: str) -> Stable:
    """The differences of all scores lie in an interval of this width."""
    return bounded_by("range", query, width, relation)


@hypothesis(width=number, relation=relation_of)
def assume_each(query: str, width: Fraction, relation: str) -> Stable:
    """Every number moves by at most `width`."""
    return bounded_by("each", query, width, relation)


@hypothesis(width=number, relation=relation_of)
def assume_l1(query: str, width: Fraction, relation: str) -> Stable:
    """All numbers together move by at most `width`."""
    return bounded_by("l1", query, width, relation)


def bounded_by(norm: str, query: str, width: Fraction, relation: str) -> Stable:
    """State a bound of at least 0."""
    ensure(width >= 0, "the width is negative")
    return Stable(query, norm, width, relation)


def parts_of(value: object) -> tuple[tuple[str, ...], ...]:
    """Read the keys of every part of a choice."""
    if not isinstance(value, list) or value == []:
        raise Rejected("parts are lists of keys")
    return tuple(names_of(part) for part in value)


@hypothesis(parts=parts_of)
def assume_choice(query: str, parts: tuple[tuple[str, ...], ...]) -> Choice:
    """A public coin draws one part; of the others nothing is drawn."""
    return Choice(query, parts)


@hypothesis(cells=anything)
def assume_split(query: str, cells: Any) -> Split:
    """Every record is read in one cell, named by its own value."""
    names = tuple(text(cell) for cell in items(cells))
    ensure(len(set(names)) == len(names) > 0, "the cells should be named, each once")
    return Split(query, names)


# Source: docs/proofs.md.  Trap: replaced rows for persons who come and go.
@hypothesis(relation=relation_of, rows=relation_of, most=several)
def assume_persons(query: str, relation: str, rows: str, most: int) -> Persons:
    """A person's change is at most `most` steps of rows; where persons come and go, so do rows."""
    ensure(replaced(relation) or not replaced(rows), "rows should come and go with persons")
    return Persons(query, relation, rows, most)


@hypothesis(kind=anything, probability=number)
def assume_rare(query: str, kind: str, probability: Fraction) -> Rare:
    """What is proved holds but for an event over own coins, or a distance in total variation."""
    ensure(kind in ("event", "distance"), "the kind is event or distance")
    ensure(0 <= probability <= 1, "the probability must lie in [0, 1]")
    return Rare(query, kind, probability)


# Source: Rogers, Roth, Ullman & Vadhan 2016; Feldman & Zrnic 2021; Smith & Thakurta 2022.  Trap: `compose`
# for charges that depend on the past: its bounds are fixed beforehand.
@hypothesis(measure=anything, budget=anything, relation=relation_of)
def assume_filter(query: str, measure: str, budget: Any, relation: str) -> Private:
    """A filter stops before the charges exceed this budget."""
    amounts = {"pure": 1, "approximate": 2, "zcdp": 1, "gdp": 1}.get(measure)
    ensure(isinstance(budget, list) and len(budget) == amounts, "wrong budget")
    ensure(min(map(number, budget)) >= 0, "a budget is negative")
    return Private(query, curve_of([measure, *budget]), relation, "central")
