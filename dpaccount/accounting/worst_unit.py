"""The worst of many classes of units, evaluated tightly only where a cheap bound leaves room for it.

A plan may have thousands of different classes, and a tight enclosure of each costs some .05 s. Two facts
save nearly all of them. A total contained in another one costs no more (a part is a post-processing of the
whole). And Rényi bounds at one order are sums of numbers, hence cheap: once some class is proved to cost at
least c, every class whose Rényi bound is at most c is out of the running.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb

from dpaccount.accounting.methods import answer
from dpaccount.accounting.methods.answer import Answer
from dpaccount.exact import Enclosure, Number
from dpaccount.numerics.closed import renyi
from dpaccount.numerics.intervals import NotFinite, precision
from dpaccount.numerics.work_budget import OutOfReach, kept
from dpaccount.pairs.composition import Composition, max_over_directions
from dpaccount.pairs.of_events import composition_of
from dpaccount.pairs.pair import LossPair
from dpaccount.plan.cover_partition import UnitClass

#: (total, Rényi order) ↦ an upper bound on the answer at that order; None where there is none.
Scalar = Callable[[Composition, Fraction], Fraction | None]
ORDERS = [1 + Fraction(2) ** j for j in range(-6, 24)]  #: tried for the leading class
MAX_CANDIDATES = 4  #: classes that the order is chosen for


@dataclass(frozen=True)
class Worst:
    """The cost of the worst unit: an enclosure, the unit (None where all pay the same), and the method."""

    bounds: Enclosure
    unit: int | None
    method: str


NOTHING = Worst(answer.NOTHING, None, "exact")


def worst(
    units: Sequence[UnitClass], evaluate: Callable[[Composition], Answer], scalar: Scalar | None
) -> Worst:
    """Return the largest answer over classes of units; `scalar` bounds answers from above (None: unused).

    The first of the classes that pay most is named.
    """
    rivals = _distinct(units)
    if scalar is None or len(rivals) == 1:
        return _largest([(unit, total, None) for unit, total in rivals], evaluate)
    rivals = _uncontained(rivals)
    order = _order([total for _, total in rivals], scalar)
    ranked = [(unit, total, scalar(total, order)) for unit, total in rivals]
    ranked.sort(key=lambda rival: (rival[2] is not None, -(rival[2] or 0)))  # unbounded ones first
    return _largest(ranked, evaluate)


def epsilon_scalar(target: Fraction) -> Scalar | None:
    """Return the Rényi bound on ε(target) at one order; None at the ends, where answers are quick."""
    if not 0 < target < 1:
        return None
    return lambda total, order: _over(total, lambda bound: renyi.epsilon(bound, target, [order]))


def delta_scalar(epsilon: Fraction) -> Scalar:
    """Return the Rényi bound on δ(epsilon) at one order."""
    return lambda total, order: _over(total, lambda bound: renyi.delta(bound, epsilon, [order]))


def _over(total: Composition, convert: Callable[[renyi.Bound], Fraction | None]) -> Fraction | None:
    """Return the larger of both directions' bounds; None where some event may fail or has no bound."""
    if total.failures:
        return None
    try:
        return max_over_directions(total, lambda way: convert(lambda order: way.renyi(order, _part)))
    except (OutOfReach, NotFinite):  # at magnitudes where this order says nothing
        return None


@kept(1 << 16)
def _part(pair: LossPair, order: Fraction) -> arb | None:
    """Return the Rényi bound of a pair, computed once."""
    with precision(128):
        return pair.renyi(order)


def _distinct(units: Sequence[UnitClass]) -> list[tuple[int | None, Composition]]:
    """Return the different totals with the first unit of each."""
    found: dict[Composition, int | None] = {}
    for unit in units:
        total = composition_of(unit.items)
        if not total.attained and (least := composition_of(unit.items, least=True)).attained:
            total = replace(total, floor=least)
        found.setdefault(total, unit.unit)
    return [(unit, total) for total, unit in found.items()]


def _uncontained(rivals: list[tuple[int | None, Composition]]) -> list[tuple[int | None, Composition]]:
    """Drop totals that another one contains. Sorted by size, only earlier ones can contain a later one."""
    counts = [{kind: n for part in (t.pairs, t.failures, t.upper) for kind, n in part} for _, t in rivals]
    heights = sorted({end for _, total in rivals for end in total.mu2})
    rank = {mu2: place for place, mu2 in enumerate(heights)}  # fractions are slow to compare again and again
    mu2 = [(rank[total.mu2[0]], rank[total.mu2[1]]) for _, total in rivals]
    sizes = [(sum(found.values()), high) for found, (_, high) in zip(counts, mu2, strict=True)]

    def contains(other: int, index: int) -> bool:
        if mu2[other][0] < mu2[index][1]:
            return False
        return all(counts[other].get(kind, 0) >= n for kind, n in counts[index].items())

    # A part is a post-processing of the whole, so that it costs no more.
    kept: list[int] = []
    for index in sorted(range(len(rivals)), key=lambda i: sizes[i], reverse=True):
        if not any(contains(other, index) for other in kept):
            kept.append(index)
    return [rivals[index] for index in sorted(kept)]


def _order(totals: list[Composition], scalar: Scalar) -> Fraction:
    """Return the order at which the leading classes' bounds are least."""
    rough = [(scalar(total, Fraction(4)), total) for total in totals]
    rough.sort(key=lambda found: (found[0] is not None, -(found[0] or 0)))
    best: dict[Fraction, Fraction] = {}
    for _, total in rough[:MAX_CANDIDATES]:
        for order in ORDERS:
            bound = scalar(total, order)
            if bound is not None:
                best[order] = max(best.get(order, Fraction(0)), bound)
    return min(best, key=lambda order: best[order], default=Fraction(4))


def _largest(
    ranked: list[tuple[int | None, Composition, Fraction | None]], evaluate: Callable[[Composition], Answer]
) -> Worst:
    """Evaluate in turn all that may exceed what is proved of those before."""
    best: Worst | None = None
    for unit, total, most in ranked:
        proved = None if best is None else best.bounds.lower
        if most is not None and proved is not None and most <= proved:
            continue
        answer = evaluate(total)
        best = _worse(best, Worst(_within(answer.bounds, most), unit, answer.method))
    return best if best is not None else NOTHING


def _within(bounds: Enclosure, most: Fraction | None) -> Enclosure:
    """Return an enclosure cut at a known bound: where time ran out it may be the better one."""
    if most is None or most >= bounds.upper or (bounds.lower is not None and most < bounds.lower):
        return bounds
    return Enclosure(bounds.lower, most)


def _worse(a: Worst | None, b: Worst) -> Worst:
    """Return the cost of the worse of two units: the maximum of both ends."""
    if a is None:
        return b
    leader = b if _rank(b) > _rank(a) else a
    lowers = [x.bounds.lower for x in (a, b) if x.bounds.lower is not None]
    upper: Number = max(a.bounds.upper, b.bounds.upper)
    lower = max(lowers) if lowers and leader.bounds.lower is not None else None
    return Worst(Enclosure(lower, upper), leader.unit, leader.method)


def _rank(found: Worst) -> tuple[Number, Number, int]:
    """Return what the worse of two units has more of: cost, and among equals the unit that comes first."""
    lower = found.bounds.lower
    return found.bounds.upper, -1 if lower is None else lower, -(found.unit or 0)
