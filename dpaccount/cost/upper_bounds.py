"""Upper bounds where nothing else is known of some kind: the least that a list of methods finds."""

import math
from collections.abc import Callable
from fractions import Fraction

from dpaccount.cost.answer import NOTHING, UNREACHED, Answer, capped, checked
from dpaccount.cost.exposure import Drawn, Exposure, RangeBound, directions
from dpaccount.cost.losses import all_within, infinite_mass, unfailing
from dpaccount.cost.renyi_bounds import renyi_bound
from dpaccount.cost.tight_bounds import lattice_delta, lattice_epsilon
from dpaccount.exact import Enclosure, Number
from dpaccount.numerics.closed import renyi
from dpaccount.numerics.work_budget import OutOfReach, limited, steps_left


def epsilon(total: Exposure, target: Fraction, gap: Fraction) -> Answer:
    """Return the least upper bound on ε(target) that is found.

    The exact cost of the part that has one is no lower bound here.
    """

    def best(way: Exposure) -> Answer:
        mass = infinite_mass(way)
        spared = way if mass is None or mass > target else unfailing(way)
        if mass == target:  # then what is left is the largest of the finite losses
            return capped(spared, Answer(Enclosure(None, math.inf), "no bound"))
        found = _all_tried(
            way,
            lambda bound, orders: renyi.epsilon(bound, target, orders),
            lambda: lattice_epsilon(way, target, gap),
        )
        return capped(spared, _least(found, math.inf))

    return _highest(total, best)


def delta(total: Exposure, at: Fraction, gap: Fraction) -> Answer:
    """Return the least upper bound on δ(ε), likewise."""

    def best(way: Exposure) -> Answer:
        if all_within(way, at):
            return Answer(NOTHING, "exact")
        found = _all_tried(
            way, lambda bound, orders: renyi.delta(bound, at, orders), lambda: lattice_delta(way, at, gap)
        )
        answer, mass = _least(found, Fraction(1)), infinite_mass(way)
        return checked(answer, mass) if all_within(unfailing(way), at) else answer

    return _highest(total, best)


Tried = list[tuple[Fraction | None, str]]
Convert = Callable[[renyi.Bound, list[Fraction]], Fraction | None]


def _all_tried(way: Exposure, convert: Convert, lattice: Callable[[], Answer]) -> Tried:
    """Return what each method finds: Rényi bounds at the best order and at those given, dominating pairs."""
    bound, given = renyi_bound(way), way.orders
    found = _tried("Rényi bound", lambda: convert(bound, []), 3)
    if given:
        found += _tried("Rényi bound", lambda: convert(bound, given), 3)
    if _by_pairs(way):
        found += _tried("dominating pairs", lambda: _upper(lattice()))
    return found


def _tried(label: str, method: Callable[[], Fraction | None], share: int = 1) -> Tried:
    """Return a method's bound, nothing where it is out of reach: then it is the next one's turn.

    It may take one part in `share` of the time.
    """
    try:
        with limited(steps_left() / share):
            return [(method(), label)]
    except UNREACHED:
        return []


def _least(found: Tried, otherwise: Number) -> Answer:
    if not found:
        raise OutOfReach("no method reaches this far")
    known = [(bound, label) for bound, label in found if bound is not None]
    best, label = min(known, default=(otherwise, "no bound"))
    return Answer(Enclosure(None, best), label)


def _highest(total: Exposure, best: Callable[[Exposure], Answer]) -> Answer:
    """Return the worse direction's answer; they share the time."""
    answers, ways = [], directions(total)
    for left, way in zip(range(len(ways), 0, -1), ways, strict=True):
        with limited(steps_left() / left):
            answers.append(best(way))
    return max(answers, key=lambda answer: answer.bounds.upper)


def _upper(answer: Answer) -> Fraction | None:
    upper = answer.bounds.upper
    return upper if isinstance(upper, Fraction) else None


def _by_pairs(total: Exposure) -> bool:
    """Say whether dominating pairs may beat Rényi bounds: not where zCDP or Rényi is all that is known."""
    ranges = any(isinstance(kind, RangeBound | Drawn) for kind, _ in total.bounded)
    return ranges or not total.symmetric  # samples, whose Rényi bounds are far from tight
