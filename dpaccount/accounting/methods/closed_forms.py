"""Bounds on a total's ε(δ) and δ(ε) in closed form, which are found at once whatever the magnitudes are.

They are the answer where an exact method is out of reach (exponents in the thousands, astronomical counts),
and wherever they are already tight. `moments` says why they hold; next to those, joint convexity (a sample
leaks no more than the whole), the probability that a unit is ever sampled, and basic composition of samples.
"""

import math
from collections.abc import Iterable
from fractions import Fraction

from flint import arb, ctx

from dpaccount.accounting.methods.answer import EpsilonAt, Question
from dpaccount.exact import Enclosure, Number
from dpaccount.numerics.closed import renyi
from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampling import grown, shrunk
from dpaccount.numerics.intervals import ball, ceil_of, floor_of, precision
from dpaccount.numerics.work_budget import unlimited
from dpaccount.pairs.composition import Composition, max_over_directions
from dpaccount.pairs.pair import LossPair, Sampling, extent

BEFORE = Fraction(1, 1 << 20)  #: below ε: where a slope begins
MAX_NESTED_SAMPLES = 8  #: of samples of samples; deeper ones are bounded by what is sampled


def enclosure(total: Composition, question: Question) -> Enclosure:
    """Return an enclosure of ε(δ), 0 < δ < 1, or of δ(ε), of a total without failures."""
    of_epsilon, at = isinstance(question, EpsilonAt), question.at
    above, below = (_epsilons_above, _epsilons_below) if of_epsilon else (_deltas_above, _deltas_below)
    # Unlimited: this is the answer where a closer method has used up the work.
    with unlimited(), precision(bits(total, at)):
        high = _least(above(total, at, MAX_NESTED_SAMPLES), math.inf if of_epsilon else Fraction(1))
        if total.upper:
            return Enclosure(None, high)
        low = _most(below(total, at, MAX_NESTED_SAMPLES))
        return Enclosure(low, max(low, high))


def one_large_loss(total: Composition, at: Fraction) -> Fraction:
    """Return a lower bound on δ(ε), ε ≥ 0, of known pairs: some step's loss alone is above ε.

    If that has probabilities p under P and q under Q at one step, δ(ε) is at least the difference
    1 − ∏(1 − p)ⁿ − e^ε (1 − ∏(1 − q)ⁿ). As p = δ₁(ε) + e^ε q ≥ q, δ₁ being the curve of that step,
    the bound falls as q rises; and δ₁ is convex in e^ε, so that q is at most its slope left of ε.
    The bound is close where samples are rare.
    """
    with unlimited(), precision(bits(total, at)):
        before, p, q = at - BEFORE, arb(0), arb(0)  # logs of ∏(1 − p)ⁿ and ∏(1 − q)ⁿ
        x = ball(at).exp()
        for pair, count in total.pairs:
            left, here = map(pair.curve(ctx.prec), (before, at))
            slope = (left - here) / (x - ball(before).exp())
            p += count * (-here - x * slope).log1p()
            q += count * (-slope).log1p()
        return _most([x * q.expm1() - p.expm1()])


def _least(found: Iterable[arb], otherwise: Number) -> Number:
    """Return the least of some upper bounds, 0 at least; bounds that came out infinite say nothing."""
    return max(Fraction(0), min((ceil_of(x) for x in found if x.is_finite()), default=otherwise))


def _most(found: Iterable[arb]) -> Fraction:
    return max([Fraction(0), *(floor_of(x) for x in found if x.is_finite())])


def bits(total: Composition, *numbers: Fraction) -> int:
    """Return a precision at which sums of such magnitudes keep their small parts."""
    return 160 + 2 * max(map(extent, numbers), default=0) + total.extent()


def _moved(total: Composition) -> arb | None:
    """Return a bound on δ(0): the probability of ever being sampled, and Pinsker's bound for the rest."""
    sampled, rest = ball(0), Moments.none()
    rest.above = ball(total.mu2[1]) / 2
    for pair, count in total.counted:
        sampling = pair.sampling()
        if sampling is not None:
            sampled += count * ball(sampling.rate)
        elif not pair.add_moments(rest, count):
            return None
    return sampled + (rest.above / 2).sqrt()


def _ceiling(total: Composition) -> arb | None:
    """Return a bound on the loss in both directions of the relation; None where one has none."""
    return max_over_directions(total, Composition.ceiling, arb.max)


def _epsilons_above(total: Composition, target: Fraction, depth: int) -> list[arb]:
    moved, whole, most = _moved(total), total.moments(), _ceiling(total)
    if total.empty or (moved is not None and moved <= ball(target)):
        return [ball(0)]
    found = [] if whole is None else [whole.epsilon_above(target)]
    if most is not None:
        found.append(most)
    found += [
        bound for a in total.orders if (bound := renyi.epsilon_at(_orders(total), target, a)) is not None
    ]
    parts = total.parts
    if depth and any(pair.sampling() for pair, _ in parts):
        share = target / len(parts)
        found.append(sum((_step_above(pair, count, share, depth) for pair, count in parts), ball(0)))
    return found


def _step_above(pair: LossPair, count: int, share: Fraction, depth: int) -> arb:
    """Return a bound on what one part costs at its share of δ, by basic composition where it is sampled."""
    sampling = pair.sampling()
    if sampling is None:
        return _lowest(_epsilons_above(Composition.of(pair, count), share, 0))
    rate, whole, _ = sampling
    inner = _inner_above(whole, share / (count * rate), depth - 1)
    return count * (shrunk(inner, ball(rate)) if inner.is_finite() else inner)


def _inner_above(total: Composition, target: Fraction, depth: int) -> arb:
    """Return a bound on ε(target) of a total that may fail."""
    lost = total.failure()[1]
    if target >= 1:
        return ball(0)
    if target <= lost:
        return arb.pos_inf()
    rest = total.without_failures()
    return _lowest(_epsilons_above(rest, (target - lost) / (1 - lost), depth))


def _lowest(found: list[arb]) -> arb:
    finite = [x.upper() for x in found if x.is_finite()]
    return min(finite, default=arb.pos_inf()).max(ball(0))


def _orders(total: Composition) -> renyi.Bound:
    """Return α ↦ a bound on the Rényi divergence by means, deviations and Rényi bounds."""

    def value(order: Fraction) -> arb | None:
        plain, given = Moments.none(), ball(0)
        plain.above = ball(total.mu2[1]) / 2
        plain.width_above = ball(total.mu2[1])
        for pair, count in total.counted:
            if pair.orders:
                at = pair.renyi(order)
                if at is None:
                    return None
                given += count * at
            elif not pair.add_moments(plain, count):
                return None
        return given + plain.above + ball(order - 1) * plain.width_above / 2

    return value


def _epsilons_below(total: Composition, target: Fraction, depth: int) -> list[arb]:
    whole, peak = _unsampled(total).moments(), total.peak()
    found = [] if whole is None else whole.epsilon_below(target)
    if peak is not None and (rest := 1 - ball(target) / peak[1]) > 0:
        found.append(peak[0] + rest.log())
    for rate, inner, exact in _samplings(total) if depth else ():
        if exact and target < rate:
            low = _highest(_epsilons_below(_known(inner), target / rate, depth - 1))
            found.append(shrunk(low, ball(rate)))
    return found


def _samplings(total: Composition) -> list[Sampling]:
    """Return what the pairs of a total are samples of."""
    return [sampling for pair, _ in total.pairs if (sampling := pair.sampling()) is not None]


def _known(total: Composition) -> Composition:
    """Return the part of a total that costs so much at least: no failures and no upper bounds."""
    return Composition(total.mu2, total.pairs)


def _highest(found: list[arb]) -> arb:
    return max((x.lower() for x in found if x.is_finite()), default=ball(0)).max(ball(0))


def _unsampled(total: Composition) -> Composition:
    """Return the total without what is sampled: it costs no more."""
    return Composition(total.mu2, tuple((pair, n) for pair, n in total.pairs if pair.sampling() is None))


def _deltas_above(total: Composition, at: Fraction, depth: int) -> list[arb]:
    moved, whole, most = _moved(total), total.moments(), _ceiling(total)
    if total.empty or (most is not None and most <= ball(at)):
        return [ball(0)]
    found = [ball(1)] + ([] if moved is None else [moved])
    if whole is not None:
        found += whole.delta_above(at)
    if depth and len(total.parts) == 1 and (sampling := total.parts[0][0].sampling()):
        (rate, inner, _), count = sampling, total.parts[0][1]
        each = floor_of(grown(ball(at / count), ball(rate)))
        found.append(count * ball(rate) * _inner_delta(inner, each, depth - 1))
    return found


def _inner_delta(total: Composition, at: Fraction, depth: int) -> arb:
    """Return a bound on δ(ε) of a total that may fail."""
    lost = ball(total.failure()[1])
    rest = total.without_failures()
    return lost + (1 - lost) * _lowest(_deltas_above(rest, at, depth))


def _deltas_below(total: Composition, at: Fraction, depth: int) -> list[arb]:
    whole, peak = _unsampled(total).moments(), total.peak()
    found = [] if whole is None else whole.delta_below(at)
    if peak is not None and peak[0] > ball(at):
        found.append(-(ball(at) - peak[0]).expm1() * peak[1])
    for rate, inner, exact in _samplings(total) if depth else ():
        if exact:
            there = ceil_of(grown(ball(at), ball(rate)))
            found.append(ball(rate) * _highest(_deltas_below(_known(inner), there, depth - 1)))
    return found
