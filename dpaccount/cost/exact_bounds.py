"""The cost of one exposure: enclosures of ε(δ) and δ(ε), each by the best method that applies to it.

Failures are set apart first. Bounds in closed form are found at once and stand where nothing closer is; where
a Rényi bound exists beside a tight enclosure the two must intersect.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from dpaccount.cost import coarse_bounds, tight_bounds, upper_bounds
from dpaccount.cost.answer import INFINITE, NOTHING, UNREACHED, Answer, checked, raised, within_unit
from dpaccount.cost.exposure import Exposure, failure
from dpaccount.cost.losses import largest_loss
from dpaccount.cost.renyi_bounds import renyi_bound, worse_way
from dpaccount.exact import Enclosure
from dpaccount.numerics.balls import ceil_of, floor_of, log_float
from dpaccount.numerics.closed import gaussian, renyi
from dpaccount.numerics.fourier import contours, saddle
from dpaccount.numerics.work_budget import METHOD, granted, limited


def epsilon(total: Exposure, target: Fraction, gap: Fraction) -> Answer:
    """Return the least ε ≥ 0 with δ(ε) ≤ target, within gap·max(1, ε) where the method can."""
    return _as_known(total, _whole_epsilon(total, target, gap))


def delta(total: Exposure, epsilon: Fraction, gap: Fraction) -> Answer:
    """Return δ(ε) for ε ≥ 0, within gap·δ where the method can."""
    return _as_known(total, _whole_delta(total, epsilon, gap))


def _whole_epsilon(total: Exposure, target: Fraction, gap: Fraction) -> Answer:
    if target >= 1 or total.empty:
        return Answer(NOTHING, "exact")
    low, high = failure(total)
    rest = replace(total, failures=())
    if target < low:
        return Answer(INFINITE, "exact")
    if target < high:  # undecided, from failures too many to multiply out
        best = _epsilon(rest, (high - low) / (1 - low), gap)
        return Answer(Enclosure(best.bounds.lower, math.inf), best.method)
    answer = _epsilon(rest, (target - high) / (1 - high), gap)
    if low == high:
        return answer
    best = _epsilon(rest, (target - low) / (1 - low), gap)
    return Answer(Enclosure(best.bounds.lower, answer.bounds.upper), answer.method)


def _whole_delta(total: Exposure, epsilon: Fraction, gap: Fraction) -> Answer:
    low, high = failure(total)
    found = _delta(replace(total, failures=()), epsilon, gap)
    lower, upper = found.bounds.lower, found.bounds.upper
    bounds = Enclosure(
        None if lower is None else low + (1 - low) * Fraction(lower), high + (1 - high) * Fraction(upper)
    )
    return Answer(bounds, found.method)


def _as_known(total: Exposure, answer: Answer) -> Answer:
    """Return the answer, without a lower end where pairs are not attained; an infinite one is of others."""
    if total.attained or answer.bounds.lower == math.inf or answer.bounds.upper == 0:
        return answer
    return Answer(Enclosure(None, answer.bounds.upper), answer.method)


def _epsilon(total: Exposure, target: Fraction, gap: Fraction) -> Answer:
    """Return ε(target) of a total without failures, 0 ≤ target < 1."""
    if total.empty:
        return Answer(NOTHING, "exact")
    if target == 0:
        return largest_loss(total)
    return _guarded(coarse_bounds.epsilon(total, target), lambda: _ordinary_epsilon(total, target, gap))


def _delta(total: Exposure, epsilon: Fraction, gap: Fraction) -> Answer:
    """Return δ(ε) of a total without failures."""
    if total.empty:
        return Answer(NOTHING, "exact")
    return _guarded(coarse_bounds.delta(total, epsilon), lambda: _ordinary_delta(total, epsilon, gap))


def _ordinary_epsilon(total: Exposure, target: Fraction, gap: Fraction) -> Answer:
    """Return ε(target) by the methods for ordinary magnitudes."""
    if total.bounded:
        return upper_bounds.epsilon(total, target, gap)
    return _crossed(tight_bounds.epsilon(total, target, gap), lambda: _renyi_epsilon(total, target))


def _ordinary_delta(total: Exposure, epsilon: Fraction, gap: Fraction) -> Answer:
    """Return δ(ε) by the methods for ordinary magnitudes."""
    if total.bounded:
        return upper_bounds.delta(total, epsilon, gap)
    if not total.pairs:
        value = gaussian.delta(epsilon, total.mu2)
        return Answer(within_unit(floor_of(value), ceil_of(value)), "gaussian curve")
    largest = largest_loss(total).bounds
    if epsilon >= largest.upper:
        return Answer(NOTHING, "exact")
    return _crossed(tight_bounds.delta(total, epsilon, gap), lambda: _renyi_delta(total, epsilon))


def _crossed(answer: Answer, bound: Callable[[], Fraction | None]) -> Answer:
    """Return the answer, intersected with a Rényi bound where that is within reach."""
    try:
        return checked(answer, bound())
    except UNREACHED:
        return answer


def _guarded(rough: Enclosure, exact: Callable[[], Answer]) -> Answer:
    """Return the finer answer within the rough one, or the rough one where it is close or none is finer."""
    if _close(rough):
        return Answer(rough, "mean and deviation")
    try:
        with limited(granted(METHOD)):
            answer = exact()
    except UNREACHED:
        return Answer(rough, "mean and deviation; closer methods are out of reach at these magnitudes")
    return checked(raised(answer, rough.lower), rough.upper)


CLOSE = Fraction(1, 10**16)  #: relative width at which bounds in closed form are the answer


def _close(bounds: Enclosure) -> bool:
    if bounds.lower is None or bounds.upper == math.inf:
        return False
    return Fraction(bounds.upper) - Fraction(bounds.lower) <= CLOSE * Fraction(bounds.upper)


def _renyi_epsilon(total: Exposure, target: Fraction) -> Fraction | None:
    """Return a Rényi bound on ε(target) at the order that the saddle points to, for a cross-check."""

    def value(way: Exposure) -> Fraction | None:
        order = _order(way, lambda m: saddle.guess(m, log_float(target))[1])
        return order and renyi.epsilon(renyi_bound(way), target, [order])

    return worse_way(total, value)


def _renyi_delta(total: Exposure, epsilon: Fraction) -> Fraction | None:
    """Return a Rényi bound on δ(ε), likewise."""

    def value(way: Exposure) -> Fraction | None:
        order = _order(way, lambda m: saddle.saddle(m, float(epsilon)))
        return order and renyi.delta(renyi_bound(way), epsilon, [order])

    return worse_way(total, value)


def _order(total: Exposure, saddle_of: Callable[[saddle.LogM], float]) -> Fraction | None:
    """Return the order to cross-check at; None where a transform is missing or the order out of reach."""
    if not tight_bounds.has_transform(total):
        return None
    c = saddle_of(contours.Product(total.mu2, total.pairs).log_m)
    return 1 + Fraction(c) if 1e-6 < c < MOST_ORDER else None


MOST_ORDER = 3000.0  #: of Rényi cross-checks; a sampled pair's moments cost more the higher they are
