"""A document of events: the releases that each class of units meets.

Unit u is covered by the events whose range holds it. Let s be the largest first unit of these: all of them
hold s too.  So the units at which ranges begin, before another one ends, meet all that any unit meets.
"""

from fractions import Fraction
from typing import Any

from ..documents import check_members, ensure, items, spend
from ..intervals import added
from ..relation import relation_of
from .events import add_event, drawn_from, names_in
from .releases import Releases, ReleaseTally, real, whole
from .streams import root_square, tree_runs

SCHEMA = "dpaccount/events/1"
MAX_CLASSES = 5000
MAX_GROUP = 5  # numbers of units that are in one dataset alone
MOST_OFFSET = 1000  # units in a group where zCDP has an offset

Range = tuple[int, int]


def classes(document: Any, group: int = 1) -> tuple[str, list[tuple[int | None, Releases]]]:
    """Return the relation of a plan, and each class of units: its first one (None: all), its releases.

    Of a `group` of units these are the releases that all of them move together.  Where classes differ in
    Gaussian noise alone, k units move all noise by k vectors: together at most k times the longest.
    """
    check_members(document, ("schema", "relation", "events"))
    ensure(document["schema"] == SCHEMA, f"a plan has the schema {SCHEMA}")
    relation = relation_of(document["relation"])
    shared, ranges = ReleaseTally(), list[tuple[Range, ReleaseTally]]()
    for given in items(document["events"]):
        add_top(shared, ranges, given, relation)
    units: list[tuple[int | None, Releases]] = [(None, shared.normal_form())]
    units = swept(shared, ranges) if ranges else units
    if group == 1:
        return relation, units
    # units of other parts meet in rows: what two of them cost there is not known
    banded = any("banded_poisson" in names_in(given) for given in items(document["events"]))
    ensure(not banded, "no bound of groups is known for banded_poisson")
    if all(on.others == () for _, on in units):
        units = [max(units, key=lambda each: each[1].mu_squared)]
    ensure(len(units) == 1, "groups are confirmed where some units meet all that any unit meets")
    [(unit, on)] = units
    sampled = any(each.kind == "poisson" for each, _ in on.others)
    parts = range((group + 1) // 2 if sampled else group, group + 1)
    ensure(len(parts) <= MAX_GROUP, "a group of more than this checker takes on samples")
    return relation, [(unit, of_group(on, group, there)) for there in parts]


def of_group(on: Releases, group: int, there: int) -> Releases:
    """Return the releases for a group: inputs of noise move as many times as far.

    On Poisson samples so many of them are `there`, in the first dataset alone, and the others in the second
    one alone: fewer than half of them cost what the others do in the other direction.

    ε-DP becomes the two-sided geometric pair of scale 1/ε, moved by the group (docs/numerics.md, Groups);
    η-bounded range kη, ρ-zCDP k²ρ (Bun & Steinke 2016).
    """
    tally = ReleaseTally()
    tally.gaussian(group**2 * on.mu_squared)
    for (kind, numbers, inner), count in on.others:
        if kind in ("laplace", "range"):
            tally.put(count, kind, group * numbers[0])
        elif kind in ("geometric", "discrete-gaussian"):
            tally.put(count, kind, numbers[0], group * numbers[1])
        elif kind == "response":
            tally.put(count, "geometric", 1 / numbers[0], group)
        elif kind == "poisson" and inner is not None and inner.others == ():
            tally.put(count, "sampled-group", numbers[0], there, group - there, on=inner)
        else:
            ensure(kind == "zcdp", f"this checker knows no bound of groups for {kind}")
            tally.put(
                count, kind, group**2 * numbers[0], *(xi * group * harmonic(group) for xi in numbers[1:])
            )
    return tally.normal_form()


def harmonic(group: int) -> Fraction:
    """Return 1 + 1/2 + … + 1/group: ξ becomes ξ·group·that (Bun & Steinke 2016, Proposition 27)."""
    ensure(group <= MOST_OFFSET, "a group of more than this checker takes with an offset")
    return added(Fraction(1, k) for k in range(1, group + 1))


def add_top(
    shared: ReleaseTally, ranges: list[tuple[Range, ReleaseTally]], given: Any, relation: str
) -> None:
    """Add an event to those of all units, or with the units that it touches."""
    name = given.get("event") if isinstance(given, dict) else None
    if name in ("tree", "matrix_factorisation"):
        ranges += stream(given)
        return
    tally = ReleaseTally()
    cover = cover_of(given["cover"]) if isinstance(given, dict) and "cover" in given else None
    add_event(tally, given, relation, 1, inside=False)
    if cover is None:
        shared.merge(tally)
    else:
        held = cover[1] - cover[0] + 1 >= drawn_from(given)
        ensure(held, "the cover holds fewer units than the population")
        ranges.append((cover, tally))


def cover_of(value: object) -> tuple[int, int]:
    """Read the first and the last unit that an event touches."""
    ends = [whole(each, "the end of a cover") for each in items(value)]
    ensure(len(ends) == 2 and ends[0] <= ends[1], "a cover is [first, last]")
    return ends[0], ends[1]


def stream(given: dict[str, Any]) -> list[tuple[Range, ReleaseTally]]:
    """Return what the rounds of a tree or a factorisation meet, which are its units."""
    extra = ("kind",) if given["event"] == "matrix_factorisation" else ()
    check_members(given, ("event", "rounds", "sigma"), ("sensitivity", "start", "count", *extra))
    ensure(given.get("kind", "sqrt-toeplitz") == "sqrt-toeplitz", "unknown kind of factorisation")
    rounds, start = whole(given["rounds"], "rounds"), whole(given.get("start", 1), "start")
    moved = real(given.get("sensitivity", 1), "sensitivity") / real(given["sigma"], "sigma", None)
    once = whole(given.get("count", 1), "count") * moved**2
    if given["event"] == "tree":
        runs = [(nodes * once, cover) for nodes, cover in tree_runs(rounds, start)]
    else:
        runs = [(once * root_square(rounds), (start, start + rounds - 1))]
    tallies = []
    for square, cover in runs:
        tally = ReleaseTally()
        tally.gaussian(square)
        tallies.append((cover, tally))
    return tallies


def swept(
    shared: ReleaseTally, ranges: list[tuple[Range, ReleaseTally]]
) -> list[tuple[int | None, Releases]]:
    """Return the classes of units, by a sweep over the ends of ranges; of equal ones the first."""
    spend(20 * len(ranges))
    changes = sorted(
        [(cover[0], 1, index) for index, (cover, _) in enumerate(ranges)]
        + [(cover[1] + 1, 0, index) for index, (cover, _) in enumerate(ranges)]
    )
    now, begun = ReleaseTally(), None
    now.merge(shared)
    first_units: dict[Releases, int | None] = {}
    for at, starts, index in changes:
        if not starts and begun is not None:  # between a beginning and an end
            first_units.setdefault(now.normal_form(), begun)
            ensure(len(first_units) <= MAX_CLASSES, "more classes of units than this checker looks at")
        now.merge(ranges[index][1], 1 if starts else -1)
        begun = at if starts else None
    return [(unit, releases) for releases, unit in first_units.items()]
