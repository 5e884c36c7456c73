"""The losses themselves: the largest there is, the mass at an infinite one, and what is left beside it."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from flint import arb

from dpaccount.cost import coarse_bounds
from dpaccount.cost.answer import INFINITE, Answer
from dpaccount.cost.exposure import Drawn, Exposure, Sampled, directions, failure
from dpaccount.exact import Enclosure
from dpaccount.numerics.balls import ball, ceil_of, floor_of, precision
from dpaccount.numerics.fourier.loss_tables import LossTable


def largest_loss(total: Exposure, ways: list[Exposure] | None = None) -> Answer:
    """Return the least ε with δ(ε) = 0: the sum of the largest losses, infinite for Gaussian-like tails.

    Of both directions, or of the given ones.
    """
    rational = [(kind.largest(), count) for kind, count in total.pairs]
    known = [count * loss for loss, count in rational if loss is not None]
    if not (total.mu2[1] or total.bounded) and len(known) == len(rational):
        exact = sum(known, Fraction(0))
        return Answer(Enclosure(exact, exact), "exact")
    tight = replace(total, bounded=())
    with precision(coarse_bounds.bits(total)):
        if any(way.ceiling() is None for way in (ways or directions(tight))):
            return Answer(INFINITE, "exact")
        most = [way.ceiling() for way in (ways or directions(total))]
        if any(one is None for one in most):
            return Answer(Enclosure(None, math.inf), "exact")
        low, high = (max(end(one) for one in most if one is not None) for end in (floor_of, ceil_of))
    return Answer(Enclosure(None if total.bounded else low, high), "exact")


def all_within(total: Exposure, epsilon: Fraction) -> bool:
    """Say whether no loss exceeds ε."""
    most = total.ceiling()
    return most is not None and ceil_of(most) <= epsilon


def fails_more_often(total: Exposure, target: Fraction) -> bool:
    """Say whether removed units on samples, or given pairs, fail with more than the target's probability."""
    with precision(128):
        kept = arb(1)
        for kind, count in total.pairs:
            if isinstance(kind, LossTable):
                kept *= (1 - kind.infinite()) ** count
            if isinstance(kind, Sampled) and not kind.added:
                kept *= (1 - ball(kind.rate) * ball(failure(kind.inner)[0])) ** count
        return bool(1 - kept > ball(target))


def infinite_mass(total: Exposure) -> Fraction | None:
    """Return the exact mass at an infinite loss, a bound on it beside bounded kinds; None: a huge number.

    What is drawn, added, has none; drawn without replacement it has at most rate times the inner one, in
    both directions.
    """
    drawn = [(kind, n) for kind, n in total.kinds if isinstance(kind, Sampled | Drawn)]
    tables = [
        (kind.failing(), n) for kind, n in total.pairs if isinstance(kind, LossTable) and kind.failing()
    ]
    if sum(count for _, count in (*drawn, *tables, *total.failures)) > MOST_FAILURES:
        return None
    kept = math.prod(((1 - delta) ** count for delta, count in (*tables, *total.failures)), start=Fraction(1))
    for kind, count in drawn:
        if not kind.added:
            inner = infinite_mass(kind.inner)
            if inner is None:
                return None
            kept *= (1 - kind.rate * inner) ** count
    return 1 - kept


MOST_FAILURES = 64  #: whose masses are multiplied out


def unfailing(total: Exposure) -> Exposure:
    """Return the total without its mass at an infinite loss: the same finite losses.

    Where a unit is added to a Poisson sample, what fails inside has the finite loss −ln(1 − q): the sample
    may have left the unit out.  So an added sample stays as it is.
    """

    def kept(kind: Any) -> Any:
        if isinstance(kind, LossTable):
            return kind.unfailing()
        if isinstance(kind, Sampled | Drawn) and not kind.added:
            return replace(kind, inner=unfailing(kind.inner))
        return kind

    pairs, bounded = (
        tuple((kept(kind), count) for kind, count in kinds) for kinds in (total.pairs, total.bounded)
    )
    return replace(total, pairs=pairs, bounded=bounded, failures=())
