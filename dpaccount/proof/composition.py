"""Composition of several releases, and who sees which of them."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from dpaccount.errors import RuleError
from dpaccount.relation import ADD_REMOVE, CENTRAL, JOINT, LOCAL, REPLACE_ONE, of_one_row

from .decide import ANYONE, need
from .hypotheses import assume_choice, assume_view
from .judgements import BoundedRange, Choice, Covered, Curve, Lattice, NearGdp, Private, Renyi, Split, View
from .theorem import Theorem, conclusion_of, draws, private, proved, releases


def _private(parts: Sequence[Theorem], rule: str) -> list[Private]:
    facts = [private(part, rule) for part in parts]
    draws(parts, rule)
    return facts


def _alike(facts: Sequence[Private], rule: str) -> None:
    need(len(facts) >= 1, rule, "needed at least one premise")
    for name in ("relation", "observer"):
        values = sorted({getattr(fact, name) for fact in facts})
        need(len(values) == 1, rule, f"premises must share one {name}, found {', '.join(values)}")
    kinds = sorted({type(fact.curve).__name__ for fact in facts})
    need(len(kinds) == 1, rule, f"premises must share one measure, found {', '.join(kinds)}; convert first")
    orders = {tuple(order for order, _ in f.curve.points) for f in facts if isinstance(f.curve, Renyi)}
    need(len(orders) <= 1, rule, "Rényi bounds must be at the same orders")


def _hull(facts: Sequence[Private]) -> tuple[int, int] | None:
    spans = [ANYONE if fact.units is None else fact.units for fact in facts]
    some = any(fact.units is not None for fact in facts)
    return (min(first for first, _ in spans), max(last for _, last in spans)) if some else None


def amounts(curve: Curve, rule: str) -> tuple[Fraction, ...]:
    """Return the numbers of a curve that grow with its cost and, but for bounded range, add."""
    match curve:
        case Renyi(points):
            return tuple(divergence for _, divergence in points)
        case Lattice():
            raise RuleError(f"{rule}: lattice curves are neither added nor ordered; convert to (ε, δ) first")
        case _:
            return tuple(vars(curve).values())


def rebuilt(curve: Curve, new: Sequence[Fraction]) -> Curve:
    """Return a curve of the same kind with other numbers."""
    if isinstance(curve, Renyi):
        return Renyi(tuple((order, value) for (order, _), value in zip(curve.points, new, strict=True)))
    return type(curve)(*new)  # type: ignore[arg-type]  # never a Lattice: `amounts` refuses it


def _columns(facts: Sequence[Private], rule: str) -> list[tuple[Fraction, ...]]:
    return list(zip(*(amounts(fact.curve, rule) for fact in facts), strict=True))


def _worst(facts: Sequence[Private], rule: str) -> Curve:
    return rebuilt(facts[0].curve, [max(column) for column in _columns(facts, rule)])


def compose(*parts: Theorem) -> Theorem:
    """Release all parts on the same units, adaptively: pure ε, (ε, δ), ρ, μ² and distances add (R7).

    Bounds are fixed in advance (Dwork et al. 2006; Bun & Steinke 2016; Dong, Roth & Su 2022).
    """
    facts = _private(parts, rule := "compose")
    _alike(facts, rule)
    need(not isinstance(facts[0].curve, BoundedRange), rule, "bounded range composes only once converted")
    total = rebuilt(facts[0].curve, [sum(column, Fraction(0)) for column in _columns(facts, rule)])
    out = replace(facts[0], subject=" + ".join(f.subject for f in facts), curve=total, units=_hull(facts))
    return proved(rule, out, parts)


def nodes(leaf: Theorem, covered: Theorem) -> Theorem:
    """Release the query of `leaf` over each of its covers with independent noise (R7, R9, R10).

    Given the transcript, what follows depends on a unit only through its vector, added in the covers that
    contain it: the cost is that of `most` releases moved by it, and other covers are free. Groups come after.
    """
    fact, spread = private(leaf, rule := "nodes"), conclusion_of(covered, rule)
    if not isinstance(spread, Covered):
        raise RuleError(f"{rule}: needed covers of the releases, found {type(spread).__name__}")
    need(spread.query == fact.subject, rule, f"covers of {spread.query!r}, a leaf of {fact.subject!r}")
    need(fact.observer == CENTRAL, rule, f"the leaf must be centrally private, found {fact.observer}")
    need(fact.units is None, rule, f"the leaf reads the units {fact.units} already")
    # `most` counts the covers over one unit, and a group may lie under more: groups are formed after this
    # rule.
    need(of_one_row(fact.relation), rule, f"covers are of rows, and the leaf is for {fact.relation}")
    curve = fact.curve
    if isinstance(curve, Lattice):
        total: Curve = replace(curve, count=curve.count * spread.most)
    else:
        need(
            spread.most == 1 or not isinstance(curve, BoundedRange),
            rule,
            "bounded range composes once converted",
        )
        total = rebuilt(curve, [spread.most * amount for amount in amounts(curve, rule)])
    return proved(rule, replace(fact, curve=total, units=spread.units), (leaf, covered))


def parallel(*parts: Theorem) -> Theorem:
    """Release each part on units of its own, separated by public position (McSherry 2009) (R9)."""
    facts = _private(parts, rule := "parallel")
    _alike(facts, rule)
    spans = sorted(f.units for f in facts if f.units is not None and of_one_row(f.relation))
    need(len(spans) == len(facts), rule, "every part must say which units it reads, and protect single rows")
    for (_, last), (first, _) in pairwise(spans):
        need(last < first, rule, f"units must be disjoint, found one part up to {last} and one from {first}")
    subject = " | ".join(fact.subject for fact in facts)
    out = replace(facts[0], subject=subject, curve=_worst(facts, rule), units=_hull(facts))
    return proved(rule, out, parts)


def partition(split: Theorem, *cells: Theorem) -> Theorem:
    """Release each cell of a partition by value; a record pays for one cell, or two (McSherry 2009) (R9).

    Under replace-one it may move: `cells` are then the replace-one statements about all cells followed by
    their add-remove ones, about the same draws, and it pays for a change in its cell, or for leaving one and
    entering another.
    The whole reads the units that any cell reads.
    """
    facts, kind = _private(cells, rule := "partition"), conclusion_of(split, rule)
    if not isinstance(kind, Split):
        raise RuleError(f"{rule}: needed a partition by value, found {type(kind).__name__}")
    swaps = [fact for fact in facts if fact.relation == REPLACE_ONE]
    steps = [fact for fact in facts if fact.relation == ADD_REMOVE]
    found = ", ".join(dict.fromkeys(fact.relation for fact in facts))
    need(facts == [*swaps, *steps], rule, f"replace-one rows come first, then add-remove ones, found {found}")
    _alike(steps, rule)
    need(not isinstance(steps[0].curve, BoundedRange), rule, "bounded range composes only once converted")
    need(steps[0].observer == CENTRAL, rule, f"cells are released centrally, found {steps[0].observer}")
    departs = any(fact.units == ANYONE for fact in facts)
    need(not departs, rule, "a cell may read anyone: a departure of every cell may show one record")
    names = tuple(fact.subject for fact in steps)
    need(names == kind.cells, rule, f"the cells are {', '.join(kind.cells)}, found {', '.join(names)}")
    curve = _worst(steps, rule)
    if swaps:
        _alike([replace(fact, relation=ADD_REMOVE) for fact in facts], rule)
        need(not isinstance(steps[0].curve, NearGdp), rule, "near-Gaussian cells have two ideal programs")
        both = tuple(fact.subject for fact in swaps) == kind.cells
        need(both, rule, "every cell must be there for both relations, in one order")
        for name, swap, step in zip(kind.cells, cells, cells[len(swaps) :], strict=False):
            alike = draws([swap], rule) == draws([step], rule)
            need(alike, rule, f"the cell {name!r} draws other noise for one relation than for the other")
        # A record that changes its value leaves one cell and enters another: at worst the two that cost most.
        moving = [sum(sorted(column)[-2:], Fraction(0)) for column in _columns(steps, rule)]
        inside = [max(column) for column in _columns(swaps, rule)]
        curve = rebuilt(curve, [max(pair) for pair in zip(moving, inside, strict=True)])
    out = Private(kind.query, curve, REPLACE_ONE if swaps else ADD_REMOVE, CENTRAL, _hull(facts))
    return proved(rule, out, (split, *cells))


def mixture(*parts: Theorem, choice: Theorem | None = None) -> Theorem:
    """Let a public coin choose among parts that run on the same units: the worst, in any measure (R16).

    That one part is drawn, and of the others nothing, is the hypothesis `choice`.
    """
    facts = _private(parts, rule := "mixture")
    _alike(facts, rule)
    subject, keys = " or ".join(fact.subject for fact in facts), tuple(map(releases, parts))
    choice = choice or assume_choice(subject, keys, "one part")
    same = conclusion_of(choice, rule) == Choice(subject, keys)
    need(same, rule, f"the choice is among {keys} of {subject!r}, found {choice.conclusion}")
    departs = ANYONE in [f.units for f in facts] and len(set().union(*keys)) < sum(map(len, map(set, keys)))
    need(not departs, rule, "parts share noise, which may depart in one of them alone")
    out = replace(facts[0], subject=subject, curve=_worst(facts, rule), units=_hull(facts))
    return proved(rule, out, (choice, *parts))


def local(message: Theorem, covered: Theorem) -> Theorem:
    """Each person randomises messages that read one unit, given what is public: local DP (R14)."""
    fact, spread = private(nodes(message, covered), rule := "local"), conclusion_of(covered, rule)
    need(isinstance(spread, Covered) and spread.widest == 1, rule, "a message reads one unit only")
    need(fact.relation == REPLACE_ONE, rule, f"a message's one record is replaced, found {fact.relation}")
    return proved(rule, replace(fact, observer=LOCAL), (message, covered))


def _seen(part: Theorem, view: Theorem, audience: str, needed: str, gives: str, rule: str) -> Theorem:
    fact, shown = private(part, rule), conclusion_of(view, rule)
    if not isinstance(shown, View) or audience not in (shown.audience, "anyone"):
        raise RuleError(f"{rule}: needed what the subject shows to {audience}, found {shown}")
    need(fact.observer == needed, rule, f"needed a {needed}ly private statement, found {fact.observer}")
    keys = releases(part)
    if keys and not shown.releases:
        view = assume_view(shown.query, shown.audience, view.witness["because"], keys)
    else:
        need(shown.releases == keys, rule, f"the view reads {shown.releases}, the proof pays for {keys}")
    return proved(rule, replace(fact, subject=shown.query, observer=gives), (part, view))


def post_process(part: Theorem, view: Theorem) -> Theorem:
    """Show everyone functions of the releases, public values and fresh coins (R12)."""
    return _seen(part, view, "everyone", CENTRAL, CENTRAL, "post_process")


def billboard(part: Theorem, view: Theorem) -> Theorem:
    """Show each person a function of their own data and the private releases: joint DP (R13).

    For unit t the view of all others is a post-processing of the releases: their outputs read their
    own data, the releases, and coins apart from the noise (Hsu et al. 2014, billboard lemma).
    """
    return _seen(part, view, "others", CENTRAL, JOINT, "billboard")


def local_view(part: Theorem, view: Theorem) -> Theorem:
    """Show functions of the private messages, and to each person of their own data too (R12, R14)."""
    return _seen(part, view, "anyone", LOCAL, LOCAL, "local_view")
