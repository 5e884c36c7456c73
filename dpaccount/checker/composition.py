"""Composition of several releases, and who sees which of them.  Common rules come first."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from .curves import BoundedRange, Curve, Lattice, Renyi, amounts_of, measure_of
from .documents import ensure
from .facts import ANYONE, Choice, Covered, Private, Split, Units, View, rule
from .intervals import added
from .relation import ADDED, REPLACED, check_single_rows

MAX_SUBJECT = 10_000  # characters of the name of a composition


# ------------------------------------------------------------------ who sees what


# Source: elementary.  Trap: everyone is shown a view for `others`, which may read a person's own data.
@rule(Private, View)
def post_process(part: Private, view: View) -> Private:
    """Post-processing: a public view is at least as private as the releases that it reads."""
    return viewed(part, view, "everyone", "central", "central")


# Source: Hsu et al. 2014, billboard lemma.  Trap: a central conclusion: what a person is shown reads that
# person's own data.
@rule(Private, View)
def billboard(part: Private, view: View) -> Private:
    """What is shown to a person may read their own data too; the others see no more than the releases."""
    return viewed(part, view, "others", "central", "joint")


# Source: elementary.  Trap: a central premise, whose raw data somebody collects.
@rule(Private, View)
def local_view(part: Private, view: View) -> Private:
    """Post-processing of local messages is locally private against any observer."""
    return viewed(part, view, view.audience, "local", "local")


def viewed(part: Private, view: View, audience: str, needed: str, observer: str) -> Private:
    """Return a fact on a view of this audience, from a statement for the observer `needed`."""
    ensure(part.observer == needed, f"needed a {needed} statement, found {part.observer}")
    ensure(view.audience == audience, f"needed what is shown to {audience}, found {view.audience}")
    return replace(part, subject=view.query, observer=observer)


# ------------------------------------------------------------------ one leaf, released many times


# Source: elementary; docs/rules.md, R7, R9 and R10.  Trap: the cost of one release. Or a leaf with units of
# its own. Or a statement on groups, whose units may lie in different covers: groups come after.
@rule(Private, Covered)
def nodes(leaf: Private, covered: Covered) -> Private:
    """A leaf that is released over covers costs a unit as often as it is covered."""
    ensure(leaf.units is None, f"the leaf reads the units {leaf.units} already")
    same = covered.query == leaf.subject
    ensure(same, f"the covers are of {covered.query!r}, the leaf is of {leaf.subject!r}")
    ensure(leaf.observer == "central", "the leaf must be centrally private")
    check_single_rows(leaf.relation)
    curve, most = leaf.curve, covered.most
    once = most == 1 or not isinstance(curve, BoundedRange)
    ensure(once, "bounded range composes only once converted")
    if isinstance(curve, Lattice):
        total: Curve = replace(curve, count=curve.count * most)
    else:
        total = rebuilt(curve, [most * amount for amount in amounts_of(curve)])
    return replace(leaf, curve=total, units=covered.units)


# Source: elementary.  Trap: a release that reads two units, which is no message of one person.
@rule(Private, Covered)
def local(message: Private, covered: Covered) -> Private:
    """A message reads one unit only, and its sender trusts no other party."""
    whole = nodes(message, covered)
    ensure(covered.widest == 1, "a message reads one unit only")
    ensure(whole.relation == REPLACED, "a message has one record, which is replaced")
    return replace(whole, observer="local")


# ------------------------------------------------------------------ several parts


# Source: Dwork et al. 2006; Bun & Steinke 2016; Dong, Roth & Su 2022.  Trap: the largest cost for the sum. Or
# sums of bounded ranges, or of statements on rows and on persons.
@rule(Private, ...)
def compose(*parts: Private) -> Private:
    """Costs add up; later queries may be chosen from earlier answers."""
    columns = columns_of(parts)
    ensure(not isinstance(parts[0].curve, BoundedRange), "bounded range composes only once converted")
    return combined(parts, " + ", [added(column) for column in columns])


# Source: McSherry 2009.  Trap: units that overlap. Or groups, whose units may lie in different parts.
@rule(Private, ...)
def parallel(*parts: Private) -> Private:
    """Parts that read disjoint units cost a unit at most the largest of their costs."""
    columns = columns_of(parts)
    check_single_rows(parts[0].relation)
    spans = sorted(part.units for part in parts if part.units is not None)
    ensure(len(spans) == len(parts), "every part must say which units it reads")
    for (_, last), (first, _) in pairwise(spans):
        ensure(last < first, f"units overlap: one part up to {last}, one from {first}")
    return combined(parts, " | ", [max(column) for column in columns])


# Source: elementary.  Trap: the cost of the first part. Or noise that parts share, and that departs in one of
# them alone.
@rule(Choice, Private, ...)
def mixture(choice: Choice, *parts: Private) -> Private:
    """One of the parts, which a public coin chooses."""
    whole = combined(parts, " or ", [max(column) for column in columns_of(parts)])
    ensure(choice.query == whole.subject, "the choice is not among these parts")
    departs = any(part.units == ANYONE for part in parts)
    shared = len(set().union(*choice.parts)) < sum(len(set(part)) for part in choice.parts)
    ensure(not (departs and shared), "parts share noise, which may depart in one of them alone")
    return whole


# Source: McSherry 2009.  Trap: the cost of one cell for a replaced record, which leaves one and enters
# another. Or a cell that reads anyone.  Rejected: replaced records in near-GDP: two statements may compare
# with two ideal programs.
@rule(Split, Private, ...)
def partition(split: Split, *cells: Private) -> Private:
    """Cells that a record's own value chooses: it stays in one, or leaves one and enters another."""
    entering = [cell for cell in cells if cell.relation == ADDED]
    inside = [cell for cell in cells if cell.relation == REPLACED]
    ordered = list(cells) == inside + entering
    found = ", ".join(dict.fromkeys(cell.relation for cell in cells))
    ensure(ordered, f"replace-one rows come first, then add-remove ones, found {found}")
    anyone = any(cell.units == ANYONE for cell in cells)
    ensure(not anyone, "a cell may read anyone, in every cell the same record")
    measure, _, observer = common(entering)
    apart = observer == "central" and measure != "bounded-range"
    ensure(apart, "needed central statements that add up")
    named = tuple(cell.subject for cell in entering) == split.cells
    ensure(named, "the statements are not about the cells, in their order")
    worst = replacement_costs(split, inside, entering) if inside else map(max, columns_of(entering))
    relation = REPLACED if inside else ADDED
    curve = rebuilt(entering[0].curve, worst)
    return Private(split.query, curve, relation, "central", hull(cells))


def replacement_costs(split: Split, inside: list[Private], entering: list[Private]) -> list[Fraction]:
    """Return the costs of a replaced record, which leaves one cell and enters another, or stays in one."""
    measure, _, observer = common(inside)
    same = (measure, observer) == (measure_of(entering[0].curve), "central")
    ensure(same, "the two relations differ in measure or observer")
    ensure(measure != "near-gdp", "two statements may compare with two ideal programs")
    common([replace(cell, relation="any") for cell in inside + entering])
    ensure(tuple(cell.subject for cell in inside) == split.cells, "a cell is missing for one relation")
    moved = [added(sorted(column, reverse=True)[:2]) for column in columns_of(entering)]
    return [max(a, *b) for a, b in zip(moved, columns_of(inside), strict=True)]


# ------------------------------------------------------------------ costs that add up


def combined(parts: Sequence[Private], sign: str, amounts: Iterable[Fraction]) -> Private:
    """Return the statement about all parts, with these amounts."""
    ensure(sum(len(part.subject) for part in parts) <= MAX_SUBJECT, "the name is too long for this checker")
    first = parts[0]
    subject = sign.join(part.subject for part in parts)
    return Private(subject, rebuilt(first.curve, amounts), first.relation, first.observer, hull(parts))


def common(parts: Sequence[Private]) -> tuple[str, str, str]:
    """Return the one measure, relation and observer of several statements."""
    ensure(len(parts) >= 1, "needed at least one premise")
    kinds = {(measure_of(part.curve), part.relation, part.observer) for part in parts}
    for at, name in enumerate(("measure", "relation", "observer")):
        found = sorted({kind[at] for kind in kinds})
        ensure(len(found) == 1, f"premises should share one {name}, found {', '.join(found)}")
    orders = {tuple(order for order, _ in p.curve.points) for p in parts if isinstance(p.curve, Renyi)}
    ensure(len(orders) <= 1, "Rényi bounds are at different orders")
    return kinds.pop()


def columns_of(parts: Sequence[Private]) -> list[tuple[Fraction, ...]]:
    """Return the amounts of several statements of one kind, amount by amount."""
    common(parts)
    different = {id(part): part for part in parts}  # a step may name one premise thousands of times
    amounts = {name: amounts_of(part.curve) for name, part in different.items()}
    return list(zip(*(amounts[id(part)] for part in parts), strict=True))


def rebuilt(curve: Curve, amounts: Iterable[Fraction]) -> Curve:
    """Return a curve of the same measure with other amounts."""
    if isinstance(curve, Renyi):
        return Renyi(tuple((order, new) for (order, _), new in zip(curve.points, amounts, strict=True)))
    kind: Callable[..., Curve] = type(curve)
    return kind(*amounts)


def hull(parts: Sequence[Private]) -> Units | None:
    """Return the interval that holds all premises' units, None where all are draws that may read any."""
    if all(part.units is None for part in parts):
        return None
    spans = [part.units or ANYONE for part in parts]
    return min(s[0] for s in spans), max(s[1] for s in spans)
