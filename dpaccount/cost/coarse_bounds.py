"""Bounds on a total's ε(δ) and δ(ε) that are found at once whatever the magnitudes are.

They stand where an exact method is out of reach (exponents in the thousands, astronomical counts), and they
are the answer wherever they are already tight. `moments` says why they hold; beside those, joint
convexity (a sample leaks no more than the whole), the probability that a unit is ever sampled, and basic
composition of sampled steps.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce

from flint import arb

from dpaccount.cost.exposure import (
    Drawn,
    Exposure,
    Kind,
    RangeBound,
    RdpBound,
    Sampled,
    ZcdpBound,
    directions,
    failure,
)
from dpaccount.exact import Enclosure, Number
from dpaccount.numerics.balls import ball, ceil_of, floor_of, precision
from dpaccount.numerics.closed import renyi
from dpaccount.numerics.closed.moments import Moments, atoms, laplace, two_sided
from dpaccount.numerics.closed.sampling import grown, shrunk
from dpaccount.numerics.fourier.loss_tables import ReplacedLaplaceFactor, ReplacedTable
from dpaccount.numerics.fourier.replaced_gaussian import ReplacedGaussianFactor
from dpaccount.numerics.fourier.sampled_gaussian import SampledGaussianFactor
from dpaccount.numerics.fourier.transforms import AtomFactor, DiscreteGaussianFactor, Factor, LaplaceFactor
from dpaccount.numerics.sampled_groups import SampledGroupFactor
from dpaccount.numerics.work_budget import unlimited

REPLACED = ReplacedGaussianFactor, ReplacedLaplaceFactor, ReplacedTable
ABOVE = (*REPLACED, SampledGroupFactor)  #: on samples, where the pair of `_sampling` bounds from above alone
DEEPEST = 8  #: samples of samples beyond this depth are bounded by what is sampled


def epsilon(total: Exposure, target: Fraction) -> Enclosure:
    """Return an enclosure of ε(target), 0 < target < 1, of a total without failures."""
    with unlimited(), precision(bits(total, target)):
        high = _least(_epsilons_above(total, target, DEEPEST), math.inf)
        if total.bounded:
            return Enclosure(None, high)
        low = _most(_epsilons_below(total, target, DEEPEST))
        return Enclosure(low, max(low, high))


def delta(total: Exposure, at: Fraction) -> Enclosure:
    """Return an enclosure of δ(ε), likewise."""
    with unlimited(), precision(bits(total, at)):
        high = _least(_deltas_above(total, at, DEEPEST), 1)
        if total.bounded:
            return Enclosure(None, high)
        low = _most(_deltas_below(total, at, DEEPEST))
        return Enclosure(low, max(low, Fraction(high)))


def _least(found: Iterable[arb], otherwise: Number) -> Number:
    """Return the least of some upper bounds, 0 at least; bounds that came out infinite say nothing."""
    return max(Fraction(0), min((ceil_of(x) for x in found if x.is_finite()), default=otherwise))


def _most(found: Iterable[arb]) -> Fraction:
    return max([Fraction(0), *(floor_of(x) for x in found if x.is_finite())])


def bits(total: Exposure, *numbers: Fraction) -> int:
    """Return a precision at which sums of such magnitudes keep their small parts."""
    return 160 + 2 * max(map(_extent, numbers), default=0) + _span(total)


def _span(total: Exposure) -> int:
    found = max(map(_extent, total.mu2))
    for kind, count in total.kinds:
        own = max((_extent(x) for x in vars(kind).values() if isinstance(x, Fraction | int)), default=0)
        inner = _span(kind.inner) if isinstance(kind, Sampled | Drawn) else 0
        found = max(found, 2 * count.bit_length() + 2 * own + inner)
    return found


def _extent(value: Fraction | int) -> int:
    exact = Fraction(value)
    return abs(exact.numerator.bit_length() - exact.denominator.bit_length())


def spread(total: Exposure) -> Moments | None:
    """Return the means and deviations of a total; None where Rényi orders or failures stand in the way."""
    found, centred = Moments.none(), False
    if total.mu2[1]:
        low, high = map(ball, total.mu2)
        found.above, found.width_above, found.below, found.width_below = high / 2, high, low / 2, low
        found.reaches(low / 2, ball(1))
        centred = True
    for kind, count in total.kinds:
        if not _add(found, kind, count):
            return None
        centred = centred or isinstance(kind, DiscreteGaussianFactor)
    if centred:  # symmetric noise reaches its mean with probability at least a half
        found.odds /= 2
    return found


def _add(found: Moments, kind: Kind, count: int) -> bool:
    """Add a kind; return whether it has a mean and a deviation."""
    if isinstance(kind, AtomFactor):
        bounded = kind.kind == "discrete_laplace"
        mean, top = two_sided(kind.argument, kind.number) if bounded else atoms(kind.argument, kind.number)
        most = ball(kind.number) / ball(kind.argument) if bounded else ball(kind.argument)
        found.both(count * mean, count * most * most)
        found.reaches(count * most, (count * top.log()).exp())
    elif isinstance(kind, LaplaceFactor):
        loss = ball(kind.loss)
        found.both(count * laplace(kind.loss), count * loss * loss)
        # a loss falls short of ε₀ by 1 on average at most: by 4n in n of them with probability 1/4 (Markov)
        found.reaches(count * loss - 4 * count, ball(3) / 4)
    elif isinstance(kind, DiscreteGaussianFactor):
        mu2 = count * (kind.shift / ball(kind.sigma)) ** 2
        found.both(mu2 / 2, mu2)
        found.reaches(mu2 / 2, ball(1))
    elif isinstance(kind, ZcdpBound | RangeBound):
        rho = ball(kind.rho if isinstance(kind, ZcdpBound) else kind.eta**2 / 8)
        found.above += count * rho
        found.width_above += 2 * count * rho
    elif isinstance(kind, SampledGaussianFactor):
        found.above += count * ball(kind.mu2) / 2
        found.width_above += count * ball(kind.mu2)
    elif (drawn := _sampling(kind)) is not None:  # jointly convex: no more than where every sample holds all
        inner = None if drawn[1].failures else spread(drawn[1])
        if inner is None:
            return False
        found.above += count * inner.above
        found.width_above += count * inner.width_above
    else:
        return False
    return True


def _sampling(kind: Kind) -> tuple[Fraction, Exposure] | None:
    """Return the rate and what is sampled, of a replaced row how far it moves at most."""
    if isinstance(kind, REPLACED):
        return kind.rate, _twice(kind)
    if isinstance(kind, SampledGroupFactor):  # no more than where the sample holds all of them or none
        size = kind.there + kind.gone
        return 1 - (1 - kind.rate) ** size, Exposure((size**2 * kind.mu2,) * 2)
    if isinstance(kind, SampledGaussianFactor):
        return kind.rate, Exposure((kind.mu2, kind.mu2))
    return (kind.rate, kind.inner) if isinstance(kind, Sampled | Drawn) else None


def _twice(kind: ReplacedGaussianFactor | ReplacedLaplaceFactor | ReplacedTable) -> Exposure:
    """Return what a replaced row costs that every sample holds."""
    if isinstance(kind, ReplacedGaussianFactor):
        return Exposure((4 * kind.mu2, 4 * kind.mu2))
    if isinstance(kind, ReplacedLaplaceFactor):
        return Exposure(pairs=((LaplaceFactor(2 * kind.loss), 1),))
    return Exposure(pairs=((AtomFactor("discrete_laplace", kind.scale, 2 * kind.shift), 1),))


def _kinds(total: Exposure) -> list[tuple[Kind | None, int]]:
    """Return the counted kinds; None stands for the Gaussian one."""
    found: list[tuple[Kind | None, int]] = [*total.kinds]
    return [*found, (None, 1)] if total.mu2[1] else found


def _alone(total: Exposure, kind: Kind | None, count: int) -> Exposure:
    """Return the part of a total that is of this kind."""
    if kind is None:
        return Exposure(total.mu2)
    return (
        Exposure(pairs=((kind, count),)) if isinstance(kind, Factor) else Exposure(bounded=((kind, count),))
    )


def _moved(total: Exposure) -> arb | None:
    """Return a bound on δ(0): the probability of ever being sampled, and Pinsker's bound for the rest."""
    sampled, rest = ball(0), Moments.none()
    rest.above = ball(total.mu2[1]) / 2
    for kind, count in total.kinds:
        drawn = _sampling(kind)
        if drawn is not None:
            sampled += count * ball(drawn[0])
        elif not _add(rest, kind, count):
            return None
    return sampled + (rest.above / 2).sqrt()


def _ceiling(total: Exposure) -> arb | None:
    """Return a bound on the loss in both directions of the relation; None where one has none."""
    found = [way.ceiling() for way in directions(total)]
    known = [most for most in found if most is not None]
    return reduce(arb.max, known) if len(known) == len(found) else None


def _epsilons_above(total: Exposure, target: Fraction, depth: int) -> list[arb]:
    moved, whole, most = _moved(total), spread(total), _ceiling(total)
    if total.empty or (moved is not None and moved <= ball(target)):
        return [ball(0)]
    found = [] if whole is None else [whole.epsilon_above(target)]
    if most is not None:
        found.append(most)
    found += [
        bound for a in total.orders if (bound := renyi.epsilon_at(_orders(total), target, a)) is not None
    ]
    kinds = _kinds(total)
    if depth and any(kind is not None and _sampling(kind) for kind, _ in kinds):
        share = target / len(kinds)
        found.append(sum((_step_above(total, k, n, share, depth) for k, n in kinds), ball(0)))
    return found


def _step_above(total: Exposure, kind: Kind | None, count: int, share: Fraction, depth: int) -> arb:
    """Return a bound on what one kind costs at its share of δ, by basic composition where it is sampled."""
    drawn = None if kind is None else _sampling(kind)
    if drawn is None:
        return _lowest(_epsilons_above(_alone(total, kind, count), share, 0))
    rate, inner = drawn
    return count * _shrunk(_inner_above(inner, share / (count * rate), depth - 1), ball(rate))


def _shrunk(loss: arb, rate: arb) -> arb:
    return shrunk(loss, rate) if loss.is_finite() else loss


def _inner_above(total: Exposure, target: Fraction, depth: int) -> arb:
    """Return a bound on ε(target) of a total that may fail."""
    lost = failure(total)[1]
    if target >= 1:
        return ball(0)
    if target <= lost:
        return arb.pos_inf()
    rest = Exposure(total.mu2, total.pairs, bounded=total.bounded)
    return _lowest(_epsilons_above(rest, (target - lost) / (1 - lost), depth))


def _lowest(found: list[arb]) -> arb:
    finite = [x.upper() for x in found if x.is_finite()]
    return min(finite, default=arb.pos_inf()).max(ball(0))


def _orders(total: Exposure) -> renyi.Bound:
    """Return α ↦ a bound on the Rényi divergence by means, deviations and Rényi bounds."""

    def value(order: Fraction) -> arb | None:
        plain, found = Moments.none(), ball(0)
        plain.above = ball(total.mu2[1]) / 2
        plain.width_above = ball(total.mu2[1])
        for kind, count in total.kinds:
            if isinstance(kind, RdpBound):
                at = renyi.hull_bound(kind.hull, order)
                if at is None:
                    return None
                found += count * ball(at)
            elif not _add(plain, kind, count):
                return None
        return found + plain.above + ball(order - 1) * plain.width_above / 2

    return value


def _epsilons_below(total: Exposure, target: Fraction, depth: int) -> list[arb]:
    whole, peak = spread(_unsampled(total)), _peak(total)
    found = [] if whole is None else whole.epsilon_below(target)
    if peak is not None and (rest := 1 - ball(target) / peak[1]) > 0:
        found.append(peak[0] + rest.log())
    for kind, _ in total.pairs if depth else ():
        drawn = None if isinstance(kind, ABOVE) else _sampling(kind)
        if drawn is not None and target < drawn[0]:
            inner = Exposure(drawn[1].mu2, drawn[1].pairs)
            low = _highest(_epsilons_below(inner, target / drawn[0], depth - 1))
            found.append(shrunk(low, ball(drawn[0])))
    return found


def _peak(total: Exposure) -> tuple[arb, arb] | None:
    """Return the largest loss and its probability; None where there is no largest, or none with a mass.

    On samples: t has under Q the law of −t under P; removing a unit, P is (1 − q)Q + qP at ln(1 − q + qe^t).
    """
    if total.mu2[1] or total.bounded or total.failures:
        return None
    most, odds = ball(0), ball(1)
    for kind, count in total.pairs:
        own = _own_peak(kind)
        if own is None:
            return None
        most += count * own[0]
        odds *= (count * own[1].log()).exp()
    return most, odds


def _own_peak(kind: Factor) -> tuple[arb, arb] | None:
    if isinstance(kind, LaplaceFactor):
        return ball(kind.loss), ball(1) / 2
    if isinstance(kind, AtomFactor):
        return ball(kind.largest()), (two_sided if kind.kind == "discrete_laplace" else atoms)(
            kind.argument, kind.number
        )[1]
    inner = _peak(kind.inner) if isinstance(kind, Sampled) else None
    if inner is None or not isinstance(kind, Sampled):
        return None
    (most, odds), rate = inner, ball(kind.rate)
    if kind.added:
        return -(rate * (-most).expm1()).log1p(), odds
    return shrunk(most, rate), odds * (rate + (1 - rate) * (-most).exp())


def _highest(found: list[arb]) -> arb:
    return max((x.lower() for x in found if x.is_finite()), default=ball(0)).max(ball(0))


def _unsampled(total: Exposure) -> Exposure:
    """Return the total without what is sampled: it costs no more."""
    return Exposure(total.mu2, tuple((kind, n) for kind, n in total.pairs if _sampling(kind) is None))


def _deltas_above(total: Exposure, at: Fraction, depth: int) -> list[arb]:
    moved, whole, most = _moved(total), spread(total), _ceiling(total)
    if total.empty or (most is not None and most <= ball(at)):
        return [ball(0)]
    found = [ball(1)] + ([] if moved is None else [moved])
    if whole is not None:
        found += whole.delta_above(at)
    kinds = _kinds(total)
    if depth and len(kinds) == 1 and kinds[0][0] is not None and (drawn := _sampling(kinds[0][0])):
        rate, inner = drawn
        each = floor_of(grown(ball(at / kinds[0][1]), ball(rate)))
        found.append(kinds[0][1] * ball(rate) * _inner_delta(inner, each, depth - 1))
    return found


def _inner_delta(total: Exposure, at: Fraction, depth: int) -> arb:
    """Return a bound on δ(ε) of a total that may fail."""
    lost = ball(failure(total)[1])
    rest = Exposure(total.mu2, total.pairs, bounded=total.bounded)
    return lost + (1 - lost) * _lowest(_deltas_above(rest, at, depth))


def _deltas_below(total: Exposure, at: Fraction, depth: int) -> list[arb]:
    whole, peak = spread(_unsampled(total)), _peak(total)
    found = [] if whole is None else whole.delta_below(at)
    if peak is not None and peak[0] > ball(at):
        found.append(-(ball(at) - peak[0]).expm1() * peak[1])
    for kind, _ in total.pairs if depth else ():
        drawn = None if isinstance(kind, ABOVE) else _sampling(kind)
        if drawn is not None:
            inner = Exposure(drawn[1].mu2, drawn[1].pairs)
            there = ceil_of(grown(ball(at), ball(drawn[0])))
            found.append(ball(drawn[0]) * _highest(_deltas_below(inner, there, depth - 1)))
    return found
