"""Hypotheses on the behaviour of the code.  `because` names the evidence.

Numbers that come from the private data have no place in a proof (R20).
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from dpaccount.relation import CENTRAL, REPLACE_ONE

from .decide import need, neighbouring, number, one_of, unit, whole
from .judgements import (
    Approximate,
    Choice,
    Contribution,
    Cover,
    Covered,
    Gdp,
    Lipschitz,
    Numbers,
    Persons,
    Private,
    Pure,
    Rare,
    Rounds,
    Shift,
    Split,
    Stable,
    View,
    Zcdp,
)
from .theorem import Theorem, proved

SOURCES = ("public", "coin", "dp-output")


def _added(rule: str, fact: Contribution, **witness: Any) -> Theorem:
    neighbouring(fact.relation, rule)
    one_of(fact.source, rule, "source of constants", SOURCES)
    witness |= {"relation": fact.relation} | ({} if fact.source == "public" else {"source": fact.source})
    return proved(rule, fact, query=fact.query, **witness)


def assume_points(
    query: str, points: Sequence[Shift], relation: str, because: str, source: str = "public"
) -> Theorem:
    """Assume that every unit adds one of the declared integer vectors (R1)."""
    rule = "assume_points"
    wide = {len(point) for point in points}
    need(len(wide) == 1 and 0 not in wide, rule, "points must be vectors of one dimension, at least one")
    need(all(type(v) is int for point in points for v in point), rule, "points must be integer vectors")
    # One order for one set, so that equal hypotheses are one step of a derivation.
    listed = tuple(sorted(set(map(tuple, points))))
    fact = Contribution(query, "points", Fraction(0), Fraction(0), listed, relation, source)
    return _added(rule, fact, points=[list(p) for p in listed], because=because)


def assume_clipped(
    query: str, low: Fraction, high: Fraction, relation: str, because: str, source: str = "public"
) -> Theorem:
    """Assume that every unit adds one number in [low, high], clipped there (R1)."""
    low, high = number(low, rule := "assume_clipped", "low"), number(high, rule, "high")
    need(low <= high, rule, f"low must be at most high, found {low} > {high}")
    fact = Contribution(query, "interval", low, high, (), relation, source)
    return _added(rule, fact, low=str(low), high=str(high), because=because)


def assume_ball(query: str, radius: Fraction, relation: str, because: str, source: str = "public") -> Theorem:
    """Assume that every unit adds a vector of ℓ2 norm at most `radius` (R1)."""
    radius = number(radius, rule := "assume_ball", "radius")
    need(radius >= 0, rule, f"the radius must not be negative, found {radius}")
    fact = Contribution(query, "ball", Fraction(0), radius**2, (), relation, source)
    return _added(rule, fact, radius=str(radius), because=because)


def assume_rank_one(
    query: str, reward: Fraction, relation: str, because: str, kind: str = "rank-one", source: str = "public"
) -> Theorem:
    """Assume that every unit adds [φφᵀ, φy; yφᵀ, 0], ‖φ‖ ≤ 1 and |y| ≤ `reward`; ``outer``: with y² (R1)."""
    reward = number(reward, rule := "assume_rank_one", "reward")
    need(relation == REPLACE_ONE, rule, f"the closed form is for {REPLACE_ONE}, found {relation!r}")
    need(reward >= 0, rule, f"the reward bound must not be negative, found {reward}")
    one_of(kind, rule, "kind", ("rank-one", "outer"))
    fact = Contribution(query, kind, Fraction(0), reward, (), relation, source)
    return _added(rule, fact, reward=str(reward), kind=kind, because=because)


def assume_cell(query: str, relation: str, because: str, most: int = 1) -> Theorem:
    """Assume that a unit adds 1 to at most `most` cells of a table of data-dependent length (R1)."""
    cells = Fraction(0), Fraction(whole(most, "assume_cell", "most"))
    fact = Contribution(query, "cell", *cells, (), relation)
    return _added("assume_cell", fact, **({"most": most} if most > 1 else {}), because=because)


def assume_lipschitz(query: str, factor: Fraction, slack: Fraction, reach: Fraction, because: str) -> Theorem:
    """Assume that `query` is Lipschitz in one row and bounded, as `Lipschitz` defines (R1)."""
    given, rule = {"factor": factor, "slack": slack, "reach": reach}, "assume_lipschitz"
    exact = {name: number(value, rule, name) for name, value in given.items()}
    need(min(exact.values()) >= 0, rule, f"nothing moves by less than 0, found {given}")
    written: dict[str, Any] = {name: str(value) for name, value in exact.items()}
    return proved(rule, Lipschitz(query, **exact), query=query, **written, because=because)


def assume_covers(query: str, covers: Sequence[Cover], because: str) -> Theorem:
    """Assume that release i of `query` sums the units of covers[i] = [first, last] and no others (R9)."""
    spans = [(first, last) for first, last in covers]
    need(bool(spans), rule := "assume_covers", "needed at least one cover")
    for first, last in spans:
        unit(first, rule, "the first unit")
        unit(last, rule, "the last unit", first)
    # at one position the end (-1, standing at last + 1) sorts before a start (+1)
    edges = sorted([(first, 1) for first, _ in spans] + [(last + 1, -1) for _, last in spans])
    most = max(accumulate(change for _, change in edges))
    units = (min(first for first, _ in spans), max(last for _, last in spans))
    widest = max(last - first + 1 for first, last in spans)
    fact = Covered(query, len(spans), most, widest, units)
    return proved(rule, fact, query=query, covers=[list(span) for span in spans], because=because)


def assume_tree(query: str, rounds: int, because: str, levels: int | None = None) -> Theorem:
    """Assume that `query` is released once for every complete node of a binary tree over the rounds.

    A round lies in one node of each level at most; all ⌊log₂ N⌋ + 1 or the lowest (Chan et al. 2011) (R10).
    """
    depth = unit(rounds, rule := "assume_tree", "rounds").bit_length()
    most = whole(depth if levels is None else levels, rule, "levels")
    need(most <= depth, rule, f"{rounds} rounds have {depth} levels, found {most}")
    fact = Covered(query, sum(rounds >> j for j in range(most)), most, 2 ** (most - 1), (1, rounds))
    return proved(rule, fact, query=query, rounds=rounds, levels=most, because=because)


def assume_view(query: str, audience: str, because: str, keys: Sequence[str] = ()) -> Theorem:
    """Assume that `query` shows only a function of releases, as `View` defines (R12, R13, R21).

    `keys` are those of the releases.  Without `keys`, the rule that uses it takes all of its premise.
    """
    one_of(audience, rule := "assume_view", "audience", ("everyone", "others"))
    fact = View(query, audience, tuple(sorted(set(keys))))
    need(len(fact.releases) == len(keys), rule, f"needed the keys of releases, each once, found {keys}")
    given: dict[str, Any] = {"query": query, "audience": audience, "releases": list(fact.releases)}
    return proved(rule, fact, **given, because=because)


def assume_rounds(
    query: str, rounds: int, because: str, times: int = 1, apart: int = 1, ends: Sequence[int] | None = None
) -> Theorem:
    """Assume which unit enters which round of a stream or row of a table, as `Rounds` defines (R11).

    With `ends`, the last unit of every round, a round is a batch of units that follow those before it.
    """
    unit(rounds, rule := "assume_rounds", "the number of rounds, or rows,")
    whole(times, rule, "participations")
    whole(apart, rule, "separation")
    need(times > 1 or apart == 1, rule, f"one round a unit has no separation, found {apart}")
    pattern: dict[str, Any] = {"participations": times, "separation": apart} if times > 1 else {}
    if ends is not None:
        rising = all(a < unit(b, rule, "the last unit") for a, b in pairwise([0, *ends]))
        need(rising and len(ends) == rounds and times == 1, rule, f"needed a last unit a round, found {ends}")
        pattern = {"ends": list(ends)}
    fact = Rounds(query, rounds, times, apart, ends[-1] if ends else rounds)
    return proved(rule, fact, query=query, rounds=rounds, **pattern, because=because)


def assume_numbers(query: str, most: int, because: str) -> Theorem:
    """Assume that a release of `query` has at most `most` numbers, as `Numbers` defines (R18)."""
    fact = Numbers(query, whole(most, rule := "assume_numbers", "coordinates"))
    return proved(rule, fact, query=query, most=most, because=because)


def assume_choice(query: str, parts: Sequence[Sequence[str]], because: str) -> Theorem:
    """Assume that a public coin chooses the one part that is drawn, as `Choice` defines (R16)."""
    rule, listed = "assume_choice", tuple(tuple(sorted(set(part))) for part in parts)
    fine = len(listed) >= 1 and list(map(list, listed)) == list(map(list, parts))
    need(fine, rule, f"needed the sorted keys of every part, found {parts}")
    return proved(rule, Choice(query, listed), query=query, parts=list(map(list, listed)), because=because)


def assume_split(query: str, cells: Sequence[str], because: str) -> Theorem:
    """Assume that every record is read in one of the cells, as `Split` defines (R9)."""
    rule, names = "assume_split", tuple(cells)
    need(len(set(names)) == len(names) >= 1, rule, f"needed the names of cells, each once, found {cells}")
    return proved(rule, Split(query, names), query=query, cells=list(names), because=because)


def assume_persons(query: str, relation: str, rows: str, most: int, because: str) -> Theorem:
    """Assume that changing one person's data changes at most `most` rows, one per step (`Persons`) (R15)."""
    neighbouring(relation, rule := "assume_persons")
    neighbouring(rows, rule)
    whole(most, rule, "the number of steps", 2)
    need(
        relation in (REPLACE_ONE, rows),
        rule,
        "who comes or goes takes rows along, so these do too",
    )
    fact = Persons(query, relation, rows, most)
    return proved(rule, fact, query=query, relation=relation, rows=rows, most=most, because=because)


def assume_rare(query: str, kind: str, probability: Fraction, because: str) -> Theorem:
    """Assume that `query` departs with small probability, as `Rare` defines (R18)."""
    chance = number(probability, rule := "assume_rare", "probability")
    one_of(kind, rule, "kind", ("event", "distance"))
    need(0 <= chance <= 1, rule, f"the probability must lie in [0, 1], found {chance}")
    fact = Rare(query, kind, chance)
    return proved(rule, fact, query=query, kind=kind, probability=str(chance), because=because)


def assume_range(query: str, width: Fraction, relation: str, because: str) -> Theorem:
    """Assume that neighbours' scores differ by d(o) with max d − min d ≤ `width` over all outputs o (R6).

    An output of several choices has a candidate of each, and their scores are added: so are the ranges.
    """
    return _scores("assume_range", "range", query, width, relation, because)


def assume_each(query: str, width: Fraction, relation: str, because: str) -> Theorem:
    """Assume that every number of `query` moves by at most `width` between neighbours (R2)."""
    return _scores("assume_each", "each", query, width, relation, because)


def assume_l1(query: str, width: Fraction, relation: str, because: str) -> Theorem:
    """Assume that all numbers of `query` together move by at most `width` in ℓ1 between neighbours (R2)."""
    return _scores("assume_l1", "l1", query, width, relation, because)


def _scores(rule: str, norm: str, query: str, width: Fraction, relation: str, because: str) -> Theorem:
    fact = Stable(query, norm, number(width, rule, "width"), relation)
    neighbouring(relation, rule)
    need(fact.bound >= 0, rule, f"the width must not be negative, found {width}")
    return proved(rule, fact, query=query, width=str(fact.bound), relation=relation, because=because)


def assume_filter(
    query: str, measure: str, budget: Sequence[Fraction], relation: str, because: str
) -> Theorem:
    """Assume that charges may depend on the past, and none is admitted that would bring the sum over budget.

    Pure and (ε, δ) by sums, zCDP and GDP by Σρ and Σμ² (Rogers, Roth, Ullman & Vadhan 2016; Feldman &
    Zrnic 2021; Smith & Thakurta 2022) (R8).
    """
    neighbouring(relation, rule := "assume_filter")
    makers = {"pure": Pure, "approximate": Approximate, "zcdp": Zcdp, "gdp": Gdp}
    one_of(measure, rule, "measure", list(makers))
    amounts = [number(amount, rule, "budget") for amount in budget]
    wanted = 2 if measure == "approximate" else 1
    need(len(amounts) == wanted and min(amounts) >= 0, rule, f"needed {wanted} amounts of at least 0")
    out, written = Private(query, makers[measure](*amounts), relation, CENTRAL), list(map(str, amounts))
    return proved(rule, out, query=query, measure=measure, budget=written, relation=relation, because=because)
