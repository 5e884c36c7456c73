"""The cost of one total: enclosures of ε(δ) and δ(ε), each by the best method that applies to it.

In order: exact curves (Gaussian, Laplace, exact lattices), tilted Fourier inversion, lattices; for
what has upper bounds only, Rényi bounds and dominating pairs, of which the least counts. Where a Rényi
bound exists beside a tight enclosure the two must intersect.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb, ctx

from dpaccount.cost import coarse_bounds, lattice_bounds
from dpaccount.cost import pair_curves as pairs_of
from dpaccount.cost.exposure import Drawn, RangeBound, RdpBound, Sampled, Total, ZcdpBound, failure
from dpaccount.errors import NumericsError
from dpaccount.exact import Enclosure, Number, printed
from dpaccount.numerics.balls import NotFinite, accurate, ball, ceil_of, floor_of, log_float, precision
from dpaccount.numerics.closed import gaussian, laplace, renyi
from dpaccount.numerics.closed.sampling import shrunk
from dpaccount.numerics.fourier import contours, fourier, saddle
from dpaccount.numerics.fourier.transforms import AtomFactor, DiscreteGaussianFactor, Factor, LaplaceFactor
from dpaccount.numerics.lattice import counted_losses, exact_grids
from dpaccount.numerics.limits import METHOD, OutOfReach, out_of_time, patience, seconds_left
from dpaccount.numerics.solve import Ends, solve

INFINITE = Enclosure(math.inf, math.inf)
NOTHING = Enclosure(Fraction(0), Fraction(0))
LOG2 = math.log(2)


@dataclass(frozen=True)
class Answer:
    """An enclosure and the method that proved it."""

    bounds: Enclosure
    method: str


def epsilon(total: Total, target: Fraction, gap: Fraction) -> Answer:
    """Return the least ε ≥ 0 with δ(ε) ≤ target, within gap·max(1, ε) where the method can."""
    return _as_known(total, _whole_epsilon(total, target, gap))


def _as_known(total: Total, answer: Answer) -> Answer:
    """Return the answer, without a lower end where pairs are not attained; an infinite one is of others."""
    if total.attained or answer.bounds.lower == math.inf or answer.bounds.upper == 0:
        return answer
    return Answer(Enclosure(None, answer.bounds.upper), answer.method)


def _whole_epsilon(total: Total, target: Fraction, gap: Fraction) -> Answer:
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


def delta(total: Total, epsilon: Fraction, gap: Fraction) -> Answer:
    """Return δ(ε) for ε ≥ 0, within gap·δ where the method can."""
    return _as_known(total, _whole_delta(total, epsilon, gap))


def _whole_delta(total: Total, epsilon: Fraction, gap: Fraction) -> Answer:
    low, high = failure(total)
    found = _delta(replace(total, failures=()), epsilon, gap)
    lower, upper = found.bounds.lower, found.bounds.upper
    bounds = Enclosure(
        None if lower is None else low + (1 - low) * Fraction(lower), high + (1 - high) * Fraction(upper)
    )
    return Answer(bounds, found.method)


def _epsilon(total: Total, target: Fraction, gap: Fraction) -> Answer:
    """Return ε(target) of a total without failures, 0 ≤ target < 1."""
    if total.empty:
        return Answer(NOTHING, "exact")
    if target == 0:
        return largest_loss(total)
    return _guarded(coarse_bounds.epsilon(total, target), lambda: _fine_epsilon(total, target, gap))


def _fine_epsilon(total: Total, target: Fraction, gap: Fraction) -> Answer:
    """Return ε(target) by the methods for ordinary magnitudes."""
    if total.loose:
        return _loose_epsilon(total, target, gap)
    return _checked(_tight_epsilon(total, target, gap), _renyi_epsilon(total, target))


CLOSE = Fraction(1, 10**16)  #: relative width at which bounds in closed form are the answer

#: What methods for ordinary magnitudes raise on others; a disagreement between two of them is not among it.
_UNREACHED = (ArithmeticError, MemoryError, ValueError, IndexError, RecursionError, NotFinite)


def _guarded(rough: Enclosure, fine: Callable[[], Answer]) -> Answer:
    """Return the finer answer within the rough one, or the rough one where it is close or none is finer."""
    if _close(rough):
        return Answer(rough, "mean and deviation")
    try:
        with patience(METHOD):
            answer = fine()
    except _UNREACHED:
        return Answer(rough, "mean and deviation; closer methods are out of reach at these magnitudes")
    return _checked(_raised(answer, rough.lower), rough.upper)


def _close(bounds: Enclosure) -> bool:
    if bounds.lower is None or bounds.upper == math.inf:
        return False
    return Fraction(bounds.upper) - Fraction(bounds.lower) <= CLOSE * Fraction(bounds.upper)


def _raised(answer: Answer, least: Number | None) -> Answer:
    """Return the answer, its lower end at least a bound found another way; both must be able to hold."""
    bounds = answer.bounds
    if least is None or bounds.lower is None or least <= bounds.lower:
        return answer
    if least > bounds.upper:
        raise NumericsError(
            f"a lower bound of {printed(least, up=False)} lies above the enclosure {bounds.as_json()} by"
            f" {answer.method}; they must intersect"
        )
    return Answer(Enclosure(least, bounds.upper), answer.method)


def _renyi_epsilon(total: Total, target: Fraction) -> Fraction | None:
    """Return a Rényi bound on ε(target) at the order that the saddle points to, for a cross-check."""
    found = []
    for way in directions(total):
        order = _order(way, lambda m: saddle.guess(m, log_float(target))[1])
        found.append(order and renyi.epsilon(renyi_bound(way), target, [order]))
    known = [bound for bound in found if bound is not None]
    return max(known) if len(known) == len(found) else None


def _renyi_delta(total: Total, epsilon: Fraction) -> Fraction | None:
    """Return a Rényi bound on δ(ε), likewise."""
    found = []
    for way in directions(total):
        order = _order(way, lambda m: saddle.saddle(m, float(epsilon)))
        found.append(order and renyi.delta(renyi_bound(way), epsilon, [order]))
    known = [bound for bound in found if bound is not None]
    return max(known) if len(known) == len(found) else None


def _order(total: Total, saddle_of: Callable[[saddle.LogM], float]) -> Fraction | None:
    """Return the order to cross-check at; None where a transform is missing or the order out of reach."""
    if not _transforms(total):
        return None
    c = saddle_of(contours.Product(total.mu2, total.pairs).log_m)
    return 1 + Fraction(c) if 1e-6 < c < MOST_ORDER else None


MOST_ORDER = 3000.0  #: of Rényi cross-checks; a sampled pair's moments cost more the higher they are


def _checked(answer: Answer, above: Number | None) -> Answer:
    """Return the answer, intersected with an upper bound found another way; both must be able to hold."""
    bounds = answer.bounds
    if above is None or above >= bounds.upper:
        return answer
    if bounds.lower is not None and above < bounds.lower:
        raise NumericsError(
            f"an upper bound of {printed(above, up=True)} lies below the enclosure {bounds.as_json()} by"
            f" {answer.method}; they must intersect"
        )
    return Answer(Enclosure(bounds.lower, above), answer.method)


def _tight_epsilon(total: Total, target: Fraction, gap: Fraction) -> Answer:
    """Return the worse direction's ε by the first method that reaches it."""
    if not total.pairs:
        return Answer(Enclosure(*gaussian.epsilon(target, total.mu2, Fraction(1, 10**17))), "gaussian curve")
    ways = directions(total)
    if any(_fails_more_often(way, target) for way in ways):
        return Answer(INFINITE, "failure mass")
    answers: list[Answer] = []
    for way in ways:  # the second one need not be known closely where it costs less
        if _infinite_mass(way) == target:  # then what is left is the largest of the finite losses
            answers.append(largest_loss(_unfailing(way), [_unfailing(way)]))
            continue
        least = answers[0].bounds.lower if answers else None
        answers.append(_capped(way, _directed_epsilon(way, target, gap, least or Fraction(0))))
    return _worse(answers)


def _capped(total: Total, answer: Answer) -> Answer:
    """Return the answer, its upper end at most the largest loss there is."""
    most = total.ceiling()
    if most is None or ceil_of(most) >= answer.bounds.upper:
        return answer
    method = "largest loss" if answer.bounds.upper == math.inf else answer.method
    return Answer(Enclosure(answer.bounds.lower, ceil_of(most)), method)


def directions(total: Total) -> list[Total]:
    """Return the total of each direction of the relation: one where they cost the same."""
    return [total] if total.symmetric else [total, total.turned()]


def _worse(answers: list[Answer]) -> Answer:
    worst = max(answers, key=lambda answer: answer.bounds.upper)
    lowers = [answer.bounds.lower for answer in answers if answer.bounds.lower is not None]
    return Answer(Enclosure(max(lowers), worst.bounds.upper), worst.method)


def _directed_epsilon(total: Total, target: Fraction, gap: Fraction, least: Number = Fraction(0)) -> Answer:
    pairs, log_target = total.pairs, log_float(target)
    if _is_single(total):
        return Answer(Enclosure(*_single_epsilon(pairs[0][0], target)), "one step")
    if not _transforms(total):
        few = pairs_of.finite_losses(total, -log_target)
        if few is not None:
            low, high = counted_losses.epsilon(few, target)
            return Answer(Enclosure(low, math.inf if high is None else high), "counted losses")
        return _sampled_epsilon(total, target, gap, least)
    product = contours.Product(total.mu2, pairs)
    if _is_laplace(total):
        guess, _ = saddle.guess(product.log_m, log_target)
        loss, count = _equal_laplaces(total)
        hint = (Fraction(guess * 0.99), Fraction(guess * 1.01))
        width = min(gap, Fraction(1, 10**12)) * max(1, int(guess))
        return Answer(Enclosure(*laplace.epsilon(target, loss, count, width, hint)), "truncated powers")
    if _on_grid(total, product, -log_target):
        low, high = exact_grids.epsilon(pairs, target, log_target / LOG2)
        return Answer(Enclosure(low, math.inf if high is None else high), "exact lattice")
    found = _inverted_epsilon(total, target, gap, _digits(gap))
    return found or _lattice_epsilon(total, target, gap, least)


def _sampled_epsilon(total: Total, target: Fraction, gap: Fraction, least: Number) -> Answer:
    """Return ε(target) where samples take part that may have a transform, but are dear beyond the gap."""
    known = pairs_of.transformed(total)
    if _transforms(known):
        found = _inverted_epsilon(known, target, gap, _digits(gap)[1:])
        if found is not None:
            return found
    return _lattice_epsilon(total, target, gap, least)


def _inverted_epsilon(
    total: Total, target: Fraction, gap: Fraction, digits: tuple[float, ...]
) -> Answer | None:
    """Return ε(target) by Fourier inversion; None where that does not come close enough."""
    product = contours.Product(total.mu2, total.pairs)
    for wanted in digits:
        try:
            found = fourier.epsilon(product, target, log_float(target), gap * 4 / 5, wanted)
        except OutOfReach:
            if out_of_time():
                raise
            continue
        if found is not None and found[1] - found[0] <= gap * max(Fraction(1), found[0]):
            return Answer(Enclosure(*found), "Fourier inversion")
    return None


def _on_grid(total: Total, product: contours.Product, depth: float) -> bool:
    return total.mu2[1] == 0 and exact_grids.suits(total.pairs, lambda: spread(product, depth))


def _equal_laplaces(total: Total) -> tuple[Fraction, int]:
    """Return the loss and the count of a total of equal Laplace pairs."""
    factor, count = total.pairs[0]
    if not isinstance(factor, LaplaceFactor):
        raise TypeError(f"{factor} is not a Laplace pair")
    return factor.loss, count


def _transforms(total: Total) -> bool:
    return all(kind.transform for kind, _ in total.pairs)


def _fails_more_often(total: Total, target: Fraction) -> bool:
    """Say whether removed units on samples reach an infinite loss with more than the target's probability."""
    with precision(128):
        kept = arb(1)
        for kind, count in total.pairs:
            if isinstance(kind, Sampled) and not kind.added:
                kept *= (1 - ball(kind.rate) * ball(failure(kind.inner)[0])) ** count
        return bool(1 - kept > ball(target))


def _infinite_mass(total: Total) -> Fraction | None:
    """Return the exact mass at an infinite loss, a bound on it beside loose kinds; None: a huge number.

    What is drawn, added, has none; drawn without replacement it has at most rate times the inner one, in
    both directions.
    """
    drawn = [(kind, n) for kind, n in (*total.pairs, *total.loose) if isinstance(kind, Sampled | Drawn)]
    if sum(count for _, count in (*drawn, *total.failures)) > MOST_FAILURES:
        return None
    kept = math.prod(((1 - delta) ** count for delta, count in total.failures), start=Fraction(1))
    for kind, count in drawn:
        if not kind.added:
            inner = _infinite_mass(kind.inner)
            if inner is None:
                return None
            kept *= (1 - kind.rate * inner) ** count
    return 1 - kept


MOST_FAILURES = 64  #: whose masses are multiplied out


def _unfailing(total: Total) -> Total:
    """Return the total given that nothing fails: the same finite losses."""
    pairs = tuple(
        (replace(kind, inner=_unfailing(kind.inner)) if isinstance(kind, Sampled) else kind, count)
        for kind, count in total.pairs
    )
    loose = tuple(
        (replace(kind, inner=_unfailing(kind.inner)) if isinstance(kind, Drawn) else kind, count)
        for kind, count in total.loose
    )
    return replace(total, pairs=pairs, loose=loose, failures=())


def _is_single(total: Total) -> bool:
    """Say whether the total is one step of a pair whose own curve is known."""
    if total.mu2[1] or len(total.pairs) != 1 or total.pairs[0][1] != 1:
        return False
    kind = total.pairs[0][0]
    if isinstance(kind, Sampled):
        return lattice_bounds.is_simple(kind)
    return not isinstance(kind, AtomFactor | DiscreteGaussianFactor)


def _single_epsilon(kind: Factor, target: Fraction) -> Ends:
    """Return ε(target) of one pair by its own curve."""
    curve = pairs_of.curve(kind, 100 + int(-log_float(target) / LOG2))
    if ceil_of(curve(Fraction(0))) <= target:
        return Fraction(0), Fraction(0)
    high = Fraction(1, 1 << 20)
    while not ceil_of(curve(high)) <= target:
        high *= 2
    return solve(curve, target, Fraction(0), high, high / 10**17)


def _single_delta(kind: Factor, epsilon: Fraction) -> Ends:
    value = accurate(lambda: pairs_of.curve(kind, ctx.prec)(epsilon), 80)
    return floor_of(value), ceil_of(value)


def _few(total: Total) -> bool:
    """Say whether lattices may be composed in reasonable time."""
    return all(count <= MOST_STEPS for _, count in (*total.pairs, *total.loose))


MOST_STEPS = 10**6  #: of one kind in a lattice composition


def _lattice_epsilon(total: Total, target: Fraction, gap: Fraction, least: Number = Fraction(0)) -> Answer:
    """Return ε(target) by lattices, closely where it may exceed `least`."""
    low, high = lattice_bounds.epsilon(total, target, gap, least) if _few(total) else (Fraction(0), None)
    bottom = None if total.loose else low
    return Answer(Enclosure(bottom, math.inf if high is None else high), "lattice")


def _lattice_delta(total: Total, epsilon: Fraction, gap: Fraction) -> Answer:
    """Return δ(ε) by lattices."""
    if not _few(total):
        return Answer(Enclosure(None if total.loose else Fraction(0), Fraction(1)), "no method in time")
    return Answer(Enclosure(*lattice_bounds.delta(total, epsilon, gap)), "lattice")


def _digits(gap: Fraction) -> tuple[float, ...]:
    """Return the accuracies to try: many digits where they cost little, else what the gap needs."""
    needed = max(4.0, -log_float(gap) / math.log(10) + 2)
    return (max(17.0, needed), needed)


def _delta(total: Total, epsilon: Fraction, gap: Fraction) -> Answer:
    """Return δ(ε) of a total without failures."""
    if total.empty:
        return Answer(NOTHING, "exact")
    return _guarded(coarse_bounds.delta(total, epsilon), lambda: _fine_delta(total, epsilon, gap))


def _fine_delta(total: Total, epsilon: Fraction, gap: Fraction) -> Answer:
    """Return δ(ε) by the methods for ordinary magnitudes."""
    if total.loose:
        return _loose_delta(total, epsilon, gap)
    if not total.pairs:
        value = gaussian.delta(epsilon, total.mu2)
        return Answer(_unit(floor_of(value), ceil_of(value)), "gaussian curve")
    largest = largest_loss(total).bounds
    if epsilon >= largest.upper:
        return Answer(NOTHING, "exact")
    return _checked(_tight_delta(total, epsilon, gap), _renyi_delta(total, epsilon))


def _tight_delta(total: Total, epsilon: Fraction, gap: Fraction) -> Answer:
    return _worse(
        [
            Answer(NOTHING, "exact") if _beyond(way, epsilon) else _directed_delta(way, epsilon, gap)
            for way in directions(total)
        ]
    )


def _beyond(total: Total, epsilon: Fraction) -> bool:
    """Say whether no loss exceeds ε."""
    most = total.ceiling()
    return most is not None and ceil_of(most) <= epsilon


def _directed_delta(total: Total, epsilon: Fraction, gap: Fraction) -> Answer:
    pairs = total.pairs
    if _is_single(total):
        return Answer(_unit(*_single_delta(pairs[0][0], epsilon)), "one step")
    if not _transforms(total):
        for depth in (60.0, 250.0, 900.0):  # what is left out must be small beside δ
            few = pairs_of.finite_losses(total, depth)
            if few is None:
                break
            low, high = counted_losses.delta(few, epsilon)
            if high - low <= gap * high or depth > 500:
                return Answer(_unit(low, high), "counted losses")
        known = pairs_of.transformed(total)
        found = _inverted_delta(known, epsilon, gap, _digits(gap)[1:]) if _transforms(known) else None
        return found or _lattice_delta(total, epsilon, gap)
    product = contours.Product(total.mu2, pairs)
    small = contours.estimate_delta(product, float(epsilon)).log_delta - 0.01
    if _is_laplace(total):
        loss, count = _equal_laplaces(total)
        value = laplace.delta(epsilon, loss, count, 60, -small / LOG2)
        return Answer(_unit(floor_of(value), ceil_of(value)), "truncated powers")
    if _on_grid(total, product, -small):
        return Answer(_unit(*exact_grids.delta(pairs, epsilon, small / LOG2)), "exact lattice")
    return _inverted_delta(total, epsilon, gap, _digits(gap)) or _lattice_delta(total, epsilon, gap)


def _inverted_delta(
    total: Total, epsilon: Fraction, gap: Fraction, digits: tuple[float, ...]
) -> Answer | None:
    """Return δ(ε) by Fourier inversion; None where that does not come close enough."""
    product = contours.Product(total.mu2, total.pairs)
    for wanted in digits:
        try:
            found = fourier.delta(product, epsilon, gap * 4 / 5, wanted)
        except OutOfReach:
            if out_of_time():
                raise
            continue
        if found is not None and found[1] - found[0] <= gap * found[1]:
            return Answer(_unit(*found), "Fourier inversion")
    return None


def _unit(low: Fraction, high: Fraction) -> Enclosure:
    return Enclosure(max(Fraction(0), low), min(Fraction(1), high))


def _is_laplace(total: Total) -> bool:
    """Say whether truncated powers are the way: equal Laplaces, few enough."""
    if total.mu2[1] or len(total.pairs) != 1:
        return False
    factor, count = total.pairs[0]
    return isinstance(factor, LaplaceFactor) and (count == 1 or (count <= 3000 and count * factor.loss <= 60))


def spread(product: contours.Product, depth: float) -> float:
    """Return about how wide the range of losses is that matters down to probabilities e^−depth."""
    variance = max((product.log_m(1e-2) - 2 * product.log_m(0.0) + product.log_m(-1e-2)) / 1e-4, 0.0)
    return 2 * (math.sqrt(2 * variance * (depth + 45)) + variance)


def largest_loss(total: Total, ways: list[Total] | None = None) -> Answer:
    """Return the least ε with δ(ε) = 0: the sum of the largest losses, infinite for Gaussian-like tails.

    Of both directions, or of the given ones.
    """
    rational = [(kind.largest(), count) for kind, count in total.pairs]
    known = [count * loss for loss, count in rational if loss is not None]
    if not (total.mu2[1] or total.loose) and len(known) == len(rational):
        exact = sum(known, Fraction(0))
        return Answer(Enclosure(exact, exact), "exact")
    tight = replace(total, loose=())
    with precision(coarse_bounds.bits(total)):
        if any(way.ceiling() is None for way in (ways or directions(tight))):
            return Answer(INFINITE, "exact")
        most = [way.ceiling() for way in (ways or directions(total))]
        if any(one is None for one in most):
            return Answer(Enclosure(None, math.inf), "exact")
        low, high = (max(end(one) for one in most if one is not None) for end in (floor_of, ceil_of))
    return Answer(Enclosure(None if total.loose else low, high), "exact")


def renyi_bound(total: Total) -> renyi.Bound:
    """Return α ↦ a bound on the Rényi divergence of the whole total (no failures)."""

    def value(order: Fraction) -> arb | None:
        found = ball(order) * ball(total.mu2[1]) / 2
        for kind, count in (*total.pairs, *total.loose):
            part = _renyi(kind, order)
            if part is None:
                return None
            found += count * part
        return found

    return value


def _renyi(kind: object, order: Fraction) -> arb | None:
    """Return a bound on D_order of one pair: log M(order − 1)/(order − 1), or what is known of it."""
    if isinstance(kind, ZcdpBound):
        return ball(order * kind.rho)
    if isinstance(kind, RangeBound):
        # η²/8-zCDP (Dong, Durfee & Rogers 2020; Cesar & Rogers 2021), and never more than η
        return ball(min(order * kind.eta**2 / 8, kind.eta))
    if isinstance(kind, RdpBound):
        found = renyi.points_bound(kind.points, order)
        return None if found is None else ball(found)
    if isinstance(kind, Drawn):
        # P^α Q^{1−α} is jointly convex: E e^{(α−1)L} ≤ 1 − q + q·(that of the inner pair)
        inner = (
            None
            if kind.inner.failures
            else renyi_bound(kind.inner.turned() if kind.added else kind.inner)(order)
        )
        return (
            None
            if inner is None
            else shrunk(inner.max(arb(0)) * ball(order - 1), ball(kind.rate)) / ball(order - 1)
        )
    if isinstance(kind, Factor):
        return _exact_renyi(kind, order)
    return None


def _exact_renyi(kind: Factor, order: Fraction) -> arb | None:
    """Return D_order of a pair; None where the order is out of the transform's reach."""
    try:
        value = kind.value(ball(order) - 1).log() / (ball(order) - 1)
    except OutOfReach:
        if out_of_time():
            raise
        return None
    return value if value.is_finite() else None


def _loose_epsilon(total: Total, target: Fraction, gap: Fraction) -> Answer:
    """Return the least upper bound found; the exact cost of the part that has one is no lower bound here."""

    def best(way: Total) -> Answer:
        mass = _infinite_mass(way)
        spared = way if mass is None or mass > target else _unfailing(way)
        if mass == target:  # then what is left is the largest of the finite losses
            return _capped(spared, Answer(Enclosure(None, math.inf), "no bound"))
        bound = renyi_bound(way)
        found = _tried("Rényi bound", lambda: renyi.epsilon(bound, target), 3)
        if _kinks(way):
            found += _tried("Rényi bound", lambda: renyi.epsilon(bound, target, _kinks(way)), 3)
        if _by_pairs(way):
            found += _tried("dominating pairs", lambda: _upper(_lattice_epsilon(way, target, gap)))
        return _capped(spared, _least(found, math.inf))

    return _highest(total, best)


def _loose_delta(total: Total, epsilon: Fraction, gap: Fraction) -> Answer:
    """Return the least upper bound found, likewise."""

    def best(way: Total) -> Answer:
        if _beyond(way, epsilon):
            return Answer(NOTHING, "exact")
        bound = renyi_bound(way)
        found = _tried("Rényi bound", lambda: renyi.delta(bound, epsilon), 3)
        if _kinks(way):
            found += _tried("Rényi bound", lambda: renyi.delta(bound, epsilon, _kinks(way)), 3)
        if _by_pairs(way):
            found += _tried("dominating pairs", lambda: _upper(_lattice_delta(way, epsilon, gap)))
        answer, mass = _least(found, Fraction(1)), _infinite_mass(way)
        return _checked(answer, mass) if _beyond(_unfailing(way), epsilon) else answer

    return _highest(total, best)


Tried = list[tuple[Fraction | None, str]]


def _tried(label: str, method: Callable[[], Fraction | None], share: int = 1) -> Tried:
    """Return a method's bound, nothing where it is out of reach: then it is the next one's turn.

    It may take one part in `share` of the time.
    """
    try:
        with patience(seconds_left() / share):
            return [(method(), label)]
    except _UNREACHED:
        return []


def _least(found: Tried, otherwise: Number) -> Answer:
    if not found:
        raise OutOfReach("no method reaches this far")
    known = [(bound, label) for bound, label in found if bound is not None]
    best, label = min(known, default=(otherwise, "no bound"))
    return Answer(Enclosure(None, best), label)


def _highest(total: Total, best: Callable[[Total], Answer]) -> Answer:
    """Return the worse direction's answer; they share the time."""
    answers, ways = [], directions(total)
    for left, way in zip(range(len(ways), 0, -1), ways, strict=True):
        with patience(seconds_left() / left):
            answers.append(best(way))
    return max(answers, key=lambda answer: answer.bounds.upper)


def _kinks(total: Total) -> list[Fraction]:
    """Return the orders to try for bounds given at points: theirs, and the best one otherwise."""
    return [order for kind, _ in total.loose if isinstance(kind, RdpBound) for order, _ in kind.points]


def _upper(answer: Answer) -> Fraction | None:
    upper = answer.bounds.upper
    return upper if isinstance(upper, Fraction) else None


def _by_pairs(total: Total) -> bool:
    """Say whether dominating pairs may beat Rényi bounds: not where zCDP or Rényi is all that is known."""
    ranges = any(isinstance(kind, RangeBound | Drawn) for kind, _ in total.loose)
    return ranges or not total.symmetric  # samples, whose Rényi bounds are far from tight
