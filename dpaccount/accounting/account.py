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
from typing import Any

from dpaccount.accounting.methods import closed_forms, exact, upper
from dpaccount.accounting.methods.answer import (
    INFINITE,
    NOTHING,
    UNREACHED,
    Answer,
    DeltaAt,
    EpsilonAt,
    Question,
    intersect_largest_loss,
    intersect_lower,
    intersect_upper,
    largest_answer,
    unit_ends,
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
    kept,
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
FEW_RUNS = 3  #: a Poisson mean up to which Rényi bounds were never seen to be less than the curve
CLOSED_FORM = "mean and deviation"


@dataclass(frozen=True)
class Method:
    """A method: its name, when it applies, and what it answers, None where that is not close enough."""

    name: str
    applies: Callable[[Composition], object]
    answer: Callable[[Composition, Question], Enclosure | None]


# Exact sums come first, as their width is rounding alone; then what gets wider with the parts, lattices last:
# every pair has them, and how close they come depends on the work that is left.
#: For known pairs, in this order, in each direction of the relation; the last one always gives something.
EXACT = (
    Method("one step", exact.has_curve, exact.by_own_curve),
    Method("truncated powers", exact.equal_copies, exact.by_powers),
    Method("exact lattice", upper.always, exact.by_grid),
    Method("counted losses", upper.always, exact.by_counts),
    Method("capped lattice", exact.few_at_a_time, exact.by_capped),
    Method("Fourier inversion", upper.always, exact.by_inversion),
    Method("lattice", upper.always, exact.by_lattice),
)

#: Where some part is an upper bound: all of them are tried, in each direction of the relation.
UPPER = (
    Method("Rényi bound", upper.always, upper.by_best_order),
    Method("Rényi bound", upper.has_orders, upper.by_given_orders),
    Method("dominating pairs", upper.adds_up, upper.by_sum),
    Method("dominating pairs", upper.by_pairs, upper.by_curves),
)


@certified
def epsilon(total: Composition, target: Fraction, gap: Fraction) -> Answer:
    """Return ε(target), 0 ≤ target ≤ 1, within gap·max(1, ε) where a method can."""
    lost = total.failure()[1]
    if not total.upper or not lost < target < 1:
        return _epsilon_with_failures(total, target, gap)
    rest, question = total.without_failures(), EpsilonAt((target - lost) / (1 - lost), gap)
    special = _of_special(rest, question)
    return special or _converted(rest, question, _epsilon_with_failures(total, target, gap))


@certified
def delta(total: Composition, at: Fraction, gap: Fraction) -> Answer:
    """Return δ(at), at ≥ 0, within gap·δ where a method can."""
    question = DeltaAt(at, gap)
    special = _of_special(total, question)
    if special is not None:
        return special
    answer = _delta_with_failures(total, at, gap)
    if not total.upper or total.failures or answer.bounds.upper == 0:
        return answer
    return _converted(total, question, answer)


def _converted(total: Composition, question: Question, answer: Answer) -> Answer:
    """Return the answer, or a bound below it by the optimal conversion of single Rényi orders."""
    for order in () if exhausted() else upper.moderate_orders(total):
        better = upper.better(total, order, question, answer.bounds.upper)
        if better is not None:
            answer = Answer(Enclosure(None, better), "optimal conversion of one Rényi order")
    return answer


# ---- equal bounded ranges, and the best of several runs, from what is known of one


def _of_special(total: Composition, question: Question) -> Answer | None:
    """Return the answer for a total of which more is known; None for others."""
    if (ranges := upper.equal_ranges(total)) is not None:
        bound, method = upper.of_ranges(*ranges, question)
        return Answer(Enclosure(None, bound), method)
    if (best := _best_of_runs(total)) is None:
        return None
    if isinstance(question, EpsilonAt):
        bound = epsilon(best.inner, best.of_one(question.at), question.gap).bounds.upper + _weight(best)
    else:
        bound = best.delta(question.at, _weight(best), _one_run(best))
    curve = Answer(Enclosure(None, bound), "best of several runs")
    if best.mean <= FEW_RUNS:
        return curve
    return _cross_checked(curve, limited(granted(METHOD))(lambda: question.renyi(total.renyi)))


def _best_of_runs(total: Composition) -> Any:
    """Return the pair where the best of several runs is all there is; else None."""
    alone = len(total.counted) == 1 and not (total.mu2[1] or total.failures) and total.counted[0][1] == 1
    return total.counted[0][0] if alone and total.counted[0][0].repeats else None


def _one_run(best: Any) -> Callable[[Fraction], Fraction]:
    return lambda t: Fraction(delta(best.inner, t, NARROW).bounds.upper)


_weight = kept(64)(lambda best: best.weight(_one_run(best)))


# ---- failures, and pairs that are not attained


def _epsilon_with_failures(total: Composition, target: Fraction, gap: Fraction) -> Answer:
    if target >= 1 or total.empty:
        return Answer(NOTHING, "exact")
    low, high = total.failure()
    rest, asked = total.without_failures(), partial(epsilon, target=target, gap=gap)
    if target < low:
        return Answer(INFINITE, "exact")
    if target < high:  # undecided, from failures too many to multiply out
        best = _without_failures(rest, EpsilonAt((high - low) / (1 - low), gap))
        return _as_attained(total, Answer(Enclosure(best.bounds.lower, math.inf), best.method), asked)
    answer = _without_failures(rest, EpsilonAt((target - high) / (1 - high), gap))
    if low != high:
        best = _without_failures(rest, EpsilonAt((target - low) / (1 - low), gap))
        answer = Answer(Enclosure(best.bounds.lower, answer.bounds.upper), answer.method)
    return _as_attained(total, answer, asked)


def _delta_with_failures(total: Composition, at: Fraction, gap: Fraction) -> Answer:
    low, high = total.failure()
    answer = _without_failures(total.without_failures(), DeltaAt(at, gap))
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


def _without_failures(total: Composition, question: Question) -> Answer:
    """Return the answer for a total without failures; a δ that is given is below 1."""
    if total.empty:
        return Answer(NOTHING, "exact")
    of_epsilon = isinstance(question, EpsilonAt)
    if of_epsilon and question.at == 0:
        return largest_loss(total)
    answer = _closer(total, closed_forms.enclosure(total, question), lambda: close(total, question))
    answer = _within_simpler(total, answer, question)
    lower, above = answer.bounds.lower, answer.bounds.upper
    if of_epsilon or lower is None or above - lower <= NARROW * above:
        return answer
    if all(pair.closed_curve for pair, _ in total.pairs):
        with suppress(*UNREACHED):
            large = max(closed_forms.one_large_loss(way, question.at) for way in total.directions)
            answer = intersect_lower(answer, large)
    return answer


def _within_simpler(total: Composition, answer: Answer, question: Question) -> Answer:
    """Return a wide answer between those of simpler pairs, where the total has such ends."""
    lower, above = answer.bounds.lower or 0, answer.bounds.upper
    width, size = above - lower, max(1, above) if isinstance(question, EpsilonAt) else above
    ends = None if width <= NARROW * size else total.bracketing_pairs(sorts=width > COARSE * size)
    if ends is None:
        return answer
    less, more = (_without_failures(end, question) for end in ends)
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


def close(total: Composition, question: Question) -> Answer:
    """Return the answer by the tables of methods, in the worse direction."""
    if total.upper:
        return _over_directions(total, question, _least)
    if isinstance(question, DeltaAt):
        if not total.pairs:
            return Answer(unit_ends(gaussian.delta(question.at, total.mu2)), "gaussian curve")
        if question.at >= largest_loss(total).bounds.upper:
            return Answer(NOTHING, "exact")
        answer = _over_directions(total, question, _first)
    elif not total.pairs:
        ends = gaussian.epsilon(question.at, total.mu2, Fraction(1, 10**17))
        answer = Answer(Enclosure(*ends), "gaussian curve")
    elif any(way.fails_more_often(question.at) for way in total.directions):
        answer = Answer(INFINITE, "failure mass")
    else:
        answer = _over_directions(total, question, _first)
    return _cross_checked(answer, lambda: upper.check(total, question))


def _cross_checked(answer: Answer, bound: Callable[[], Fraction | None]) -> Answer:
    """Return the answer, intersected with a Rényi bound where that is within reach."""
    # The two share little code: if their bounds do not meet, one is wrong, and that is raised, not answered.
    try:
        return intersect_upper(answer, bound())
    except UNREACHED:
        return answer


def _over_directions(
    total: Composition, question: Question, answer: Callable[[Composition, Question], Answer]
) -> Answer:
    """Return the worse direction's answer; they share the work.

    The second one need not be known closely where it costs less than the first one's lower end.  Of many
    samples, the direction that costs less with simpler pairs is bounded by these, alone where that will do.
    """
    answers: list[Answer] = []
    ways = total.directions
    simpler = total.bracketing_pairs() if len(ways) > 1 and exact.has_many_samples(total) else None
    if simpler is not None:
        above = [answer(way, question) for way in simpler[1].directions]
        worst = max((0, 1), key=lambda k: above[k].bounds.upper)
        other = above[1 - worst]
        rest = Answer(Enclosure(Fraction(0), other.bounds.upper), other.method)
        first = answer(ways[worst], question)
        if (first.bounds.lower or 0) < other.bounds.upper:
            with suppress(*UNREACHED):
                rest = intersect_upper(answer(ways[1 - worst], question), other.bounds.upper)
        return largest_answer([first, rest])
    for left, way in zip(range(len(ways), 0, -1), ways, strict=True):
        if answers and isinstance(question, EpsilonAt):
            question = replace(question, least=answers[0].bounds.lower or Fraction(0))
        with limited(steps_left() / left):
            answers.append(answer(way, question))
    return largest_answer(answers)


# ---- the tables


def _first(total: Composition, question: Question) -> Answer:
    """Return one direction's answer by the first method that comes close enough."""
    if isinstance(question, DeltaAt):
        if all_within(total, question.at):
            return Answer(NOTHING, "exact")
        anything = Answer(Enclosure(Fraction(0), Fraction(1)), "no method in time")
        return _first_close(total, question) or anything
    if total.infinite_mass() == question.at:  # then what is left is the largest of the finite losses
        return largest_loss(total.without_infinite_mass(), one_way=True)
    if all_within(total, question.least):  # the other direction costs more
        return Answer(Enclosure(Fraction(0), question.least), "largest loss")
    answer = _first_close(total, question) or Answer(Enclosure(Fraction(0), math.inf), "lattice")
    return intersect_largest_loss(total, answer)


def _first_close(total: Composition, question: Question) -> Answer | None:
    """Return the first method's answer; one that gives up hands on to the next, the last one may raise."""
    *methods, last = [method for method in EXACT if method.applies(total)]
    for method in methods:
        try:
            with limited(steps_left() * (1 if exact.has_many_samples(total) else SHARE)):
                bounds = method.answer(total, question)
        except UNREACHED:
            continue
        if bounds is not None:
            return Answer(bounds, method.name)
    bounds = last.answer(total, question)
    return None if bounds is None else Answer(bounds, last.name)


def _least(total: Composition, question: Question) -> Answer:
    """Return the least bound on one direction's answer.

    The exact cost of the part that has one is no lower bound here.
    """
    mass, finite = total.infinite_mass(), total.without_infinite_mass()
    if isinstance(question, DeltaAt):
        if all_within(total, question.at):
            return Answer(NOTHING, "exact")
        answer = _least_of_all(total, question, Fraction(1))
        return intersect_upper(answer, mass) if all_within(finite, question.at) else answer
    spared = total if mass is None or mass > question.at else finite
    if mass == question.at:  # then what is left is the largest of the finite losses
        return intersect_largest_loss(spared, Answer(Enclosure(None, math.inf), "no bound"))
    return intersect_largest_loss(spared, _least_of_all(total, question, math.inf))


def _least_of_all(total: Composition, question: Question, otherwise: Number) -> Answer:
    """Return the least upper end of all methods; raises `OutOfReach` where every one gives up."""
    tried: list[tuple[Number, str] | None] = []
    for method in UPPER:
        if method.applies(total):
            try:  # others may take a third of the work each: a lattice follows
                with limited(steps_left() / (1 if method is UPPER[-1] else 3)):
                    bounds = method.answer(total, question)
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
