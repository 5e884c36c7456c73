"""The cost of one total: enclosures of ε(δ) and δ(ε), each by the best method that applies to it.

In order: exact curves (Gaussian, Laplace, exact lattices), tilted Fourier inversion, lattice pairs; for
what has upper bounds only, Rényi bounds and dominating pairs, of which the least counts. Where a Rényi
bound exists beside a tight enclosure the two must intersect.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb

from dpaccount.errors import NumericsError
from dpaccount.exact import Enclosure
from dpaccount.numerics import gaussian, grids, laplace, renyi, saddle
from dpaccount.numerics.balls import ball, ceil_of, floor_of, log_float, precision
from dpaccount.numerics.factors import AtomFactor, Factor, LaplaceFactor
from dpaccount.numerics.solve import Ends
from dpaccount.totals import Drawn, RangeBound, RdpBound, Total, ZcdpBound

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
    low, high = failure(total)
    found = _delta(replace(total, failures=()), epsilon, gap)
    lower, upper = found.bounds.lower, found.bounds.upper
    bounds = Enclosure(
        None if lower is None else low + (1 - low) * Fraction(lower), high + (1 - high) * Fraction(upper)
    )
    return Answer(bounds, found.method)


def failure(total: Total) -> Ends:
    """Return an enclosure of the mass at an infinite loss, 1 − Π(1 − δ_i)^{n_i}."""
    sizes = sum(n * d.denominator.bit_length() for d, n in total.failures)
    if sizes <= 1 << 16:
        exact = 1 - math.prod(((1 - d) ** n for d, n in total.failures), start=Fraction(1))
        return exact, exact
    with precision(256):
        if any(d == 1 for d, _ in total.failures):
            return Fraction(1), Fraction(1)
        value = -sum((n * (-ball(d)).log1p() for d, n in total.failures), arb(0)).expm1()
        return max(Fraction(0), floor_of(value)), min(Fraction(1), ceil_of(value))


def _epsilon(total: Total, target: Fraction, gap: Fraction) -> Answer:
    """Return ε(target) of a total without failures, 0 ≤ target < 1."""
    if total.empty:
        return Answer(NOTHING, "exact")
    if target == 0:
        return largest_loss(total)
    if total.loose:
        return _loose_epsilon(total, target, gap)
    answer = _tight_epsilon(total, target, gap)
    above = renyi.epsilon(renyi_bound(total), target)
    if above is not None and answer.bounds.lower is not None and above < answer.bounds.lower:
        raise NumericsError(
            f"Rényi bound {float(above)} lies below the enclosure from {answer.method}; a defect"
        )
    return answer


def _tight_epsilon(total: Total, target: Fraction, gap: Fraction) -> Answer:
    if not total.pairs:
        return Answer(Enclosure(*gaussian.epsilon(target, total.mu2, Fraction(1, 10**17))), "gaussian curve")
    guess, _ = saddle.guess(log_m(total), log_float(target))
    width = min(gap, Fraction(1, 10**12)) * max(1, int(guess))
    if _is_laplace(total):
        [(factor, count)] = total.pairs
        hint = (Fraction(guess * 0.99), Fraction(guess * 1.01))
        loss = factor.loss  # type: ignore[union-attr]
        return Answer(Enclosure(*laplace.epsilon(target, loss, count, width, hint)), "truncated powers")
    pairs = [(f, n) for f, n in total.pairs if isinstance(f, Factor)]
    if total.mu2[1] == 0 and grids.suits(pairs, spread(total, -log_float(target))):
        low, high = grids.epsilon(pairs, target, log_float(target) / LOG2)
        return Answer(Enclosure(low, math.inf if high is None else high), "exact lattice")
    raise NotImplementedError


def _delta(total: Total, epsilon: Fraction, gap: Fraction) -> Answer:
    """Return δ(ε) of a total without failures."""
    if total.empty:
        return Answer(NOTHING, "exact")
    if total.loose:
        return _loose_delta(total, epsilon, gap)
    if not total.pairs:
        value = gaussian.delta(epsilon, total.mu2)
        return Answer(_unit(floor_of(value), ceil_of(value)), "gaussian curve")
    largest = largest_loss(total).bounds
    if epsilon >= largest.upper:
        return Answer(NOTHING, "exact")
    answer = _tight_delta(total, epsilon, gap)
    above = renyi.delta(renyi_bound(total), epsilon)
    if above is not None and answer.bounds.lower is not None and above < answer.bounds.lower:
        raise NumericsError(
            f"Rényi bound {float(above)} lies below the enclosure from {answer.method}; a defect"
        )
    return answer


def _tight_delta(total: Total, epsilon: Fraction, gap: Fraction) -> Answer:
    found = saddle.at(log_m(total), saddle.saddle(log_m(total), float(epsilon)))
    small = min(found[1] if found else -1000.0, -0.01)
    if _is_laplace(total):
        [(factor, count)] = total.pairs
        value = laplace.delta(epsilon, factor.loss, count, 60, -small / LOG2)  # type: ignore[union-attr]
        return Answer(_unit(floor_of(value), ceil_of(value)), "truncated powers")
    pairs = [(f, n) for f, n in total.pairs if isinstance(f, Factor)]
    if total.mu2[1] == 0 and grids.suits(pairs, spread(total, -small)):
        return Answer(_unit(*grids.delta(pairs, epsilon, small / LOG2)), "exact lattice")
    raise NotImplementedError


def _unit(low: Fraction, high: Fraction) -> Enclosure:
    return Enclosure(max(Fraction(0), low), min(Fraction(1), high))


def _is_laplace(total: Total) -> bool:
    """Say whether truncated powers are the way: equal Laplaces, few enough."""
    if total.mu2[1] or len(total.pairs) != 1:
        return False
    factor, count = total.pairs[0]
    return isinstance(factor, LaplaceFactor) and (count == 1 or (count <= 3000 and count * factor.loss <= 60))


def log_m(total: Total) -> saddle.LogM:
    """Return the float estimate of log M(s) of the whole total."""
    half = float(total.mu2[1]) / 2

    def value(s: float) -> float:
        return s * (s + 1) * half + sum(f.log_m(s, n) for f, n in total.pairs)  # type: ignore[union-attr]

    return value


def spread(total: Total, depth: float) -> float:
    """Return about how wide the range of losses is that matters down to probabilities e^−depth."""
    m = log_m(total)
    variance = max((m(1e-2) - 2 * m(0.0) + m(-1e-2)) / 1e-4, 0.0)
    return 2 * (math.sqrt(2 * variance * (depth + 45)) + variance)


def largest_loss(total: Total) -> Answer:
    """Return the least ε with δ(ε) = 0: the sum of the largest losses, infinite for Gaussian-like tails."""
    if total.mu2[1] or any(isinstance(kind, ZcdpBound | RdpBound | Drawn) for kind, _ in total.loose):
        lower = math.inf if total.mu2[0] else None
        return Answer(Enclosure(lower, math.inf), "exact")
    exact, bound = Fraction(0), Fraction(0)
    for kind, count in total.pairs:
        loss = kind.largest()  # type: ignore[union-attr]
        if loss is None:
            return Answer(INFINITE, "exact")
        exact += count * loss
    for kind, count in total.loose:
        if isinstance(kind, RangeBound):
            bound += count * kind.eta
    lower = None if total.loose else exact
    return Answer(Enclosure(lower, exact + bound), "exact")


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
    if isinstance(kind, Factor):
        value = kind.value(ball(order) - 1).log() / (ball(order) - 1)
        return value if value.is_finite() else None
    return None


def _loose_epsilon(total: Total, target: Fraction, gap: Fraction) -> Answer:
    """Return the least upper bound found; the exact cost of the part that has one is no lower bound here."""
    found = [(renyi.epsilon(renyi_bound(total), target, _kinks(total)), "Rényi bound")]
    if all(isinstance(kind, RangeBound) for kind, _ in total.loose):
        pure = _as_pure(total)
        found.append((pure and _upper(_epsilon(pure, target, gap)), "dominating pairs"))
    known = [(bound, label) for bound, label in found if bound is not None]
    best, label = min(known, default=(math.inf, "no bound"))
    return Answer(Enclosure(None, best), label)


def _loose_delta(total: Total, epsilon: Fraction, gap: Fraction) -> Answer:
    found = [(renyi.delta(renyi_bound(total), epsilon, _kinks(total)), "Rényi bound")]
    if all(isinstance(kind, RangeBound) for kind, _ in total.loose):
        found.append((_upper(_delta(_as_pure(total), epsilon, gap)), "dominating pairs"))
    known = [(bound, label) for bound, label in found if bound is not None]
    best, label = min(known, default=(Fraction(1), "no bound"))
    return Answer(Enclosure(None, best), label)


def _kinks(total: Total) -> list[Fraction]:
    """Return the orders at which Rényi bounds were given."""
    return [order for kind, _ in total.loose if isinstance(kind, RdpBound) for order, _ in kind.points]


def _upper(answer: Answer) -> Fraction | None:
    upper = answer.bounds.upper
    return upper if isinstance(upper, Fraction) else None


def _as_pure(total: Total) -> Total:
    """Return the total with every η-bounded-range event taken as η-DP."""
    counts: dict[object, int] = dict(total.pairs)
    for kind, count in total.loose:
        if isinstance(kind, RangeBound):
            pure = AtomFactor("pure", kind.eta)
            counts[pure] = counts.get(pure, 0) + count
    return replace(total, pairs=tuple(sorted(counts.items(), key=repr)), loose=())  # type: ignore[arg-type]
