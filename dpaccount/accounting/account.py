"""What one unit pays: ε(δ) and δ(ε) of a composition, by the methods of two declared tables.

A composition of known pairs gets an enclosure by the first of `EXACT` that comes close enough; one with
upper bounds gets the least upper end of all in `UPPER`. Next to both there are closed forms, which hold at
any magnitude, and what is known of special compositions (equal bounded range, single Rényi orders).
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from dpaccount.accounting.methods import closed_forms, exact, upper
from dpaccount.accounting.methods.answer import (
    INFINITE,
    NOTHING,
    UNREACHED,
    Answer,
    intersect_largest_loss,
    intersect_lower,
    intersect_upper,
    largest_answer,
    within_unit,
)
from dpaccount.exact import Enclosure, Number
from dpaccount.numerics.closed import gaussian
from dpaccount.numerics.intervals import ceil_of, floor_of, precision
from dpaccount.numerics.work_budget import (
    METHOD,
    SECOND,
    OutOfReach,
    affordable,
    exhausted,
    granted,
    limited,
    steps_left,
    unlimited,
)
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.pair import ExactPair
from dpaccount.precision import certified

SHARE = 0.7  #: of the work that is left, for a method that another one may follow
CLOSE = Fraction(1, 10**16)  #: relative width at which bounds in closed form are the answer
SAMPLE = 0.06 * SECOND  #: steps that each of many different samples takes at least
ALIKE = 0.0075 * SECOND  #: the same of samples that share much of the work (`Transform.family`)
COARSE = Fraction(1, 1000)  #: width beyond which many different pairs are held between few sorts
NARROW = Fraction(1, 10**6)  #: beyond which an answer is held between those of simpler pairs
CLOSED_FORM = "mean and deviation"


@dataclass(frozen=True)
class Method:
    """A method: its name, when it applies, and what it gives, None where that is not close enough.

    `epsilon` takes a total, δ, the gap, and from where on ε need be known closely; `delta` a total, ε and
    the gap.
    """

    name: str
    applies: Callable[[Composition], object]
    epsilon: Callable[[Composition, Fraction, Fraction, Number], Enclosure | None]
    delta: Callable[[Composition, Fraction, Fraction], Enclosure | None]


# Exact sums come first, as their width is rounding alone; then what gets wider with the parts, lattices last:
# every pair has them, and how close they come depends on the work that is left.
#: For known pairs, in this order, in each direction of the relation; the last one always gives something.
EXACT = (
    Method("one step", exact.has_curve, exact.one_step_epsilon, exact.one_step_delta),
    Method("truncated powers", exact.equal_copies, exact.powers_epsilon, exact.powers_delta),
    Method("exact lattice", exact.has_transform, exact.grid_epsilon, exact.grid_delta),
    Method("counted losses", exact.lacks_transform, exact.counted_epsilon, exact.counted_delta),
    Method("capped lattice", exact.few_at_a_time, exact.capped_epsilon, exact.capped_delta),
    Method("Fourier inversion", upper.always, exact.inverted_epsilon, exact.inverted_delta),
    Method("lattice", upper.always, exact.lattice_epsilon, exact.lattice_delta),
)

#: Where some part is an upper bound: all of them are tried, in each direction of the relation.
UPPER = (
    Method("Rényi bound", upper.always, upper.renyi_epsilon, upper.renyi_delta),
    Method("Rényi bound", upper.has_orders, upper.given_epsilon, upper.given_delta),
    Method("dominating pairs", upper.adds_up, upper.summed_epsilon, upper.summed_delta),
    Method("dominating pairs", upper.by_pairs, upper.pairs_epsilon, upper.pairs_delta),
)

Ask = Callable[[Method], Enclosure | None]


@certified
def epsilon(total: Composition, target: Fraction, gap: Fraction) -> Answer:
    """Return ε(target), 0 ≤ target ≤ 1, within gap·max(1, ε) where a method can."""
    lost = total.failure()[1]
    if not total.upper or not lost < target < 1:
        return _epsilon_with_failures(total, target, gap)
    rest, aim = total.without_failures(), (target - lost) / (1 - lost)
    ranges = upper.equal_ranges(rest)
    if ranges is not None:
        bound, method = upper.range_epsilon(*ranges, aim)
        return Answer(Enclosure(None, bound), method)
    answer = _epsilon_with_failures(total, target, gap)
    for order in () if exhausted() else upper.moderate_orders(rest):
        better = upper.better_epsilon(rest, order, aim, answer.bounds.upper)
        if better is not None:
            answer = Answer(Enclosure(None, better), "optimal conversion of one Rényi order")
    return answer


@certified
def delta(total: Composition, at: Fraction, gap: Fraction) -> Answer:
    """Return δ(at), at ≥ 0, within gap·δ where a method can."""
    ranges = upper.equal_ranges(total)
    if ranges is not None:
        bound, method = upper.range_delta(*ranges, at)
        return Answer(Enclosure(None, bound), method)
    answer = _delta_with_failures(total, at, gap)
    if not total.upper or total.failures or answer.bounds.upper == 0 or exhausted():
        return answer
    for order in upper.moderate_orders(total):
        better = upper.better_delta(total, order, at, answer.bounds.upper)
        if better is not None:
            answer = Answer(Enclosure(None, better), "optimal conversion of one Rényi order")
    return answer


# ---- failures, and pairs that are not attained


def _epsilon_with_failures(total: Composition, target: Fraction, gap: Fraction) -> Answer:
    if target >= 1 or total.empty:
        return Answer(NOTHING, "exact")
    low, high = total.failure()
    rest, asked = total.without_failures(), partial(epsilon, target=target, gap=gap)
    if target < low:
        return Answer(INFINITE, "exact")
    if target < high:  # undecided, from failures too many to multiply out
        best = _epsilon(rest, (high - low) / (1 - low), gap)
        return _as_attained(total, Answer(Enclosure(best.bounds.lower, math.inf), best.method), asked)
    answer = _epsilon(rest, (target - high) / (1 - high), gap)
    if low != high:
        best = _epsilon(rest, (target - low) / (1 - low), gap)
        answer = Answer(Enclosure(best.bounds.lower, answer.bounds.upper), answer.method)
    return _as_attained(total, answer, asked)


def _delta_with_failures(total: Composition, at: Fraction, gap: Fraction) -> Answer:
    low, high = total.failure()
    answer = _delta(total.without_failures(), at, gap)
    lower, above = answer.bounds.lower, answer.bounds.upper
    bounds = Enclosure(
        None if lower is None else low + (1 - low) * Fraction(lower), high + (1 - high) * Fraction(above)
    )
    return _as_attained(total, Answer(bounds, answer.method), partial(delta, at=at, gap=gap))


def _as_attained(total: Composition, answer: Answer, ask: Callable[[Composition], Answer]) -> Answer:
    """Return the answer; if pairs are not attained, with the floor's lower end, or an infinite one."""
    if total.attained or answer.bounds.lower == math.inf or answer.bounds.upper == 0:
        return answer
    lower = None
    if total.floor is not None:
        with suppress(*UNREACHED):
            lower = ask(total.floor).bounds.lower
    return Answer(Enclosure(lower, answer.bounds.upper), answer.method)


# ---- closed forms, then closer methods within them


def _epsilon(total: Composition, target: Fraction, gap: Fraction) -> Answer:
    """Return ε(target) of a total without failures, 0 ≤ target < 1."""
    if total.empty:
        return Answer(NOTHING, "exact")
    if target == 0:
        return largest_loss(total)
    answer = _closer(total, closed_forms.epsilon(total, target), lambda: close_epsilon(total, target, gap))
    return _within_simpler(total, answer, Fraction(1), lambda other: _epsilon(other, target, gap))


def _delta(total: Composition, at: Fraction, gap: Fraction) -> Answer:
    """Return δ(at) of a total without failures."""
    if total.empty:
        return Answer(NOTHING, "exact")
    answer = _closer(total, closed_forms.delta(total, at), lambda: close_delta(total, at, gap))
    answer = _within_simpler(total, answer, Fraction(0), lambda other: _delta(other, at, gap))
    lower, above = answer.bounds.lower, answer.bounds.upper
    known = all(pair.closed_curve for pair, _ in total.pairs)
    if not known or lower is None or above - lower <= NARROW * above:
        return answer
    with suppress(*UNREACHED):
        answer = intersect_lower(
            answer, max(closed_forms.one_large_loss(way, at) for way in total.directions)
        )
    return answer


def _within_simpler(
    total: Composition, answer: Answer, unit: Fraction, ask: Callable[[Composition], Answer]
) -> Answer:
    """Return a wide answer between those of simpler pairs, where the total has such ends."""
    lower, above = answer.bounds.lower or 0, answer.bounds.upper
    width, size = above - lower, max(unit, above)
    ends = None if width <= NARROW * size else total.bracketing_pairs(sorts=width > COARSE * size)
    if ends is None:
        return answer
    less, more = map(ask, ends)
    found = intersect_lower(intersect_upper(answer, more.bounds.upper), less.bounds.lower)
    return answer if found == answer else replace(found, method=f"{more.method} of simpler pairs")


def _closer(total: Composition, rough: Enclosure, closer: Callable[[], Answer]) -> Answer:
    """Return the closer answer within the rough one, or the rough one where it is close or none is closer."""
    known = rough.lower is not None and rough.upper != math.inf
    if known and Fraction(rough.upper) - Fraction(rough.lower or 0) <= CLOSE * Fraction(rough.upper):
        return Answer(rough, CLOSED_FORM)
    try:
        with limited(granted(METHOD)):
            affordable(sum(map(_least_work, total.pairs)))
            answer = closer()
    except UNREACHED:
        return Answer(rough, f"{CLOSED_FORM}; closer methods are out of reach at these magnitudes")
    return intersect_upper(intersect_lower(answer, rough.lower), rough.upper)


def _least_work(counted: tuple[ExactPair, int]) -> float:
    """Return the steps that a pair takes at least among many different ones."""
    pair, _ = counted
    if not pair.monotone_parameters():
        return 0.0
    transform = pair.summed_transform()
    alike = transform is not None and (transform.family() or transform.bound())
    return ALIKE if alike else SAMPLE


def close_epsilon(total: Composition, target: Fraction, gap: Fraction) -> Answer:
    """Return ε(target) by the tables of methods, in the worse direction."""
    if total.upper:
        return _over_directions(total, lambda way, _: _least_epsilon(way, target, gap))
    if not total.pairs:
        ends = gaussian.epsilon(target, total.mu2, Fraction(1, 10**17))
        answer = Answer(Enclosure(*ends), "gaussian curve")
    elif any(way.fails_more_often(target) for way in total.directions):
        answer = Answer(INFINITE, "failure mass")
    else:
        answer = _over_directions(total, lambda way, least: _first_epsilon(way, target, gap, least))
    return _cross_checked(answer, lambda: upper.check_epsilon(total, target))


def close_delta(total: Composition, at: Fraction, gap: Fraction) -> Answer:
    """Return δ(at) by the tables of methods, in the worse direction."""
    if total.upper:
        return _over_directions(total, lambda way, _: _least_delta(way, at, gap))
    if not total.pairs:
        value = gaussian.delta(at, total.mu2)
        return Answer(within_unit(floor_of(value), ceil_of(value)), "gaussian curve")
    if at >= largest_loss(total).bounds.upper:
        return Answer(NOTHING, "exact")
    answer = _over_directions(total, lambda way, _: _first_delta(way, at, gap))
    return _cross_checked(answer, lambda: upper.check_delta(total, at))


def _cross_checked(answer: Answer, bound: Callable[[], Fraction | None]) -> Answer:
    """Return the answer, intersected with a Rényi bound where that is within reach."""
    # The two share little code: if their bounds do not meet, one is wrong, and that is raised, not answered.
    try:
        return intersect_upper(answer, bound())
    except UNREACHED:
        return answer


def _over_directions(total: Composition, answer: Callable[[Composition, Number], Answer]) -> Answer:
    """Return the worse direction's answer; they share the work.

    The second one need not be known closely where it costs less than the first one's lower end.  Of many
    samples, the direction that costs less with simpler pairs is bounded by these, alone where that will do.
    """
    answers: list[Answer] = []
    ways = total.directions
    simpler = total.bracketing_pairs() if len(ways) > 1 and exact.has_many_samples(total) else None
    if simpler is not None:
        above = [answer(way, Fraction(0)) for way in simpler[1].directions]
        worst = max((0, 1), key=lambda k: above[k].bounds.upper)
        other = above[1 - worst]
        rest = Answer(Enclosure(Fraction(0), other.bounds.upper), other.method)
        first = answer(ways[worst], Fraction(0))
        if (first.bounds.lower or 0) < other.bounds.upper:
            with suppress(*UNREACHED):
                rest = intersect_upper(answer(ways[1 - worst], Fraction(0)), other.bounds.upper)
        return largest_answer([first, rest])
    for left, way in zip(range(len(ways), 0, -1), ways, strict=True):
        least = answers[0].bounds.lower if answers else None
        with limited(steps_left() / left):
            answers.append(answer(way, least or Fraction(0)))
    return largest_answer(answers)


# ---- the tables


def _first_epsilon(total: Composition, target: Fraction, gap: Fraction, least: Number) -> Answer:
    """Return one direction's ε(target) by the first method that comes close enough."""
    if total.infinite_mass() == target:  # then what is left is the largest of the finite losses
        return largest_loss(total.without_infinite_mass(), one_way=True)
    if all_within(total, least):  # the other direction costs more
        return Answer(Enclosure(Fraction(0), least), "largest loss")
    answer = _first(total, lambda method: method.epsilon(total, target, gap, least))
    return intersect_largest_loss(total, answer or Answer(Enclosure(Fraction(0), math.inf), "lattice"))


def _first_delta(total: Composition, at: Fraction, gap: Fraction) -> Answer:
    """Return one direction's δ(at) by the first method that comes close enough."""
    if all_within(total, at):
        return Answer(NOTHING, "exact")
    answer = _first(total, lambda method: method.delta(total, at, gap))
    return answer or Answer(Enclosure(Fraction(0), Fraction(1)), "no method in time")


def _first(total: Composition, ask: Ask) -> Answer | None:
    """Return the first method's answer; one that gives up hands on to the next, the last one may raise."""
    *methods, last = [method for method in EXACT if method.applies(total)]
    for method in methods:
        try:
            with limited(steps_left() * (1 if exact.has_many_samples(total) else SHARE)):
                bounds = ask(method)
        except UNREACHED:
            continue
        if bounds is not None:
            return Answer(bounds, method.name)
    bounds = ask(last)
    return None if bounds is None else Answer(bounds, last.name)


def _least_epsilon(total: Composition, target: Fraction, gap: Fraction) -> Answer:
    """Return the least bound on one direction's ε(target).

    The exact cost of the part that has one is no lower bound here.
    """
    mass = total.infinite_mass()
    spared = total if mass is None or mass > target else total.without_infinite_mass()
    if mass == target:  # then what is left is the largest of the finite losses
        return intersect_largest_loss(spared, Answer(Enclosure(None, math.inf), "no bound"))
    answer = _least(total, lambda method: method.epsilon(total, target, gap, Fraction(0)), math.inf)
    return intersect_largest_loss(spared, answer)


def _least_delta(total: Composition, at: Fraction, gap: Fraction) -> Answer:
    """Return the least bound on one direction's δ(at)."""
    if all_within(total, at):
        return Answer(NOTHING, "exact")
    answer = _least(total, lambda method: method.delta(total, at, gap), Fraction(1))
    finite = all_within(total.without_infinite_mass(), at)
    return intersect_upper(answer, total.infinite_mass()) if finite else answer


def _least(total: Composition, ask: Ask, otherwise: Number) -> Answer:
    """Return the least upper end of all methods; raises `OutOfReach` where every one gives up."""
    tried: list[tuple[Number, str] | None] = []
    for method in UPPER:
        if method.applies(total):
            try:  # others may take a third of the work each: a lattice follows
                with limited(steps_left() / (1 if method is UPPER[-1] else 3)):
                    bounds = ask(method)
            except UNREACHED:
                continue
            tried.append(None if bounds is None else (bounds.upper, method.name))
    if not tried:
        raise OutOfReach("no method reaches this far")
    best, name = min((bound for bound in tried if bound is not None), default=(otherwise, "no bound"))
    return Answer(Enclosure(None, best), name)


# ---- the largest loss


def largest_loss(total: Composition, *, one_way: bool = False) -> Answer:
    """Return the least ε with δ(ε) = 0: the sum of the largest losses, infinite for Gaussian-like tails.

    Of both directions, or of the given one.
    """
    rational = [(pair.largest(), count) for pair, count in total.pairs]
    known = [count * loss for loss, count in rational if loss is not None]
    if not (total.mu2[1] or total.upper) and len(known) == len(rational):
        exact_sum = sum(known, Fraction(0))
        return Answer(Enclosure(exact_sum, exact_sum), "exact")
    ways = [total] if one_way else total.directions
    with precision(closed_forms.bits(total)):
        if any(replace(way, upper=()).ceiling() is None for way in ways):
            return Answer(INFINITE, "exact")
        most = [way.ceiling() for way in ways]
        if any(one is None or not one.is_finite() for one in most):
            return Answer(Enclosure(None, math.inf), "exact")
        low, high = (max(end(one) for one in most if one is not None) for end in (floor_of, ceil_of))
    return Answer(Enclosure(None if total.upper else low, high), "exact")


def all_within(total: Composition, epsilon: Number) -> bool:
    """Say whether no loss exceeds ε."""
    with unlimited():
        most = total.ceiling()
    return most is not None and ceil_of(most) <= epsilon
