"""Poisson batches of at most so many units: the pair of one unit more or less (add-remove).

Let A be the other units that are drawn, |A| = k ~ Bin(n − 1, q), B the size.  Where k < B the batch is A, and
the unit too with probability q: a Poisson sample, moved by 1.  Where k ≥ B the unit is in the batch with
probability r_k = qB/(k + 1), and then with T, B − 1 others uniform in A; else the batch is T and one more of
A, uniform, as without the unit.  Given A, T and that one, the sum moves by at most 2, with probability r_k.
δ is jointly convex in what is given, and so at most that of a pair in which k is seen.  (arXiv 2508.15089
compares batches that differ from a third one by 2 each, and costs more.)
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

from flint import arb

from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.intervals import ball, floor_of, precision
from dpaccount.pairs.gaussian import GaussianPair
from dpaccount.pairs.pair import CommonSupport, ExactPair, UnknownEnds
from dpaccount.pairs.poisson import SampledGaussian

BITS = 256  #: of the weights
MOST = 32  #: kinds of truncated batches, about; of others too rare, the next dearer kind's rate


@dataclass(frozen=True)
class SeenMixture(UnknownEnds, CommonSupport, ExactPair):
    """One of several (weight, pair) of `mixed`, by chance, and all see which; every loss is finite."""

    mixed: tuple[tuple[Fraction, ExactPair], ...]
    rank: ClassVar[int] = 27
    closed_curve: ClassVar[bool] = True

    def reversed(self) -> Self:
        """Return the pairs of the other direction."""
        return replace(self, mixed=tuple((weight, pair.reversed()) for weight, pair in self.mixed))

    def ceiling(self) -> arb | None:
        """Return the largest loss of all pairs, if they have one."""
        known = [pair.ceiling() for _, pair in self.mixed]
        found = [most for most in known if most is not None]
        return max(found) if len(found) == len(known) else None

    def own_curve(self, bits: int) -> Curve:
        """Return the mean of the curves."""
        curves = [(ball(weight), pair.curve(bits)) for weight, pair in self.mixed]
        return lambda t: sum((weight * curve(t) for weight, curve in curves), arb(0))

    def moment(self, s: arb) -> arb:
        """Return the mean of the moments, or of bounds on them."""
        return sum((ball(weight) * pair.moment(s) for weight, pair in self.mixed), arb(0))

    def add_moments(self, total: Moments, count: int) -> bool:
        """Return False: no mean is stated."""
        return False


def truncated(rate: Fraction, size: int, population: int, mu2: Fraction) -> SeenMixture:
    """Return the pair of batches of at most `size` < `population`, whose noise one unit moves by √`mu2`.

    Weights are rounded down, and what is left is of noise that always moves by 2: that costs no less.
    """
    kinds: list[tuple[Fraction, ExactPair]] = []
    for weight, drawn, moved in _kinds(rate, size, population):
        pair = SampledGaussian(drawn, moved * mu2) if drawn < 1 else GaussianPair((moved * mu2,) * 2)
        if weight:
            kinds.append((weight, pair))
    rest = 1 - sum((weight for weight, _ in kinds), Fraction(0))
    return SeenMixture((*kinds, (rest, GaussianPair((4 * mu2,) * 2))) if rest else tuple(kinds))


def _kinds(rate: Fraction, size: int, population: int) -> Iterator[tuple[Fraction, Fraction, int]]:
    """Yield (weight, rate, square of the move); several k have the rate of the least of them."""
    others = population - 1
    mean, wide = int(others * rate), math.isqrt(int(others * rate * (1 - rate))) + 1
    cuts = [size, *range(max(size + 1, mean - 6 * wide), min(others, mean + 6 * wide) + 1, -(-wide // 4))]
    with precision(2 * BITS):
        reached = [ball(rate).beta_lower(ball(k), ball(others - k + 1), regularized=True) for k in cuts]
        yield _down(1 - reached[0]), rate, 1
        least, held = max(reached[0] / MOST, arb(10) ** -4), arb(0)
        for k, here, beyond in zip(cuts[::-1], reached[::-1], [arb(0), *reached[:0:-1]], strict=True):
            held += here - beyond
            if held > least or k == size:
                yield _down(held), rate * size / (k + 1), 4
                held = arb(0)


def _down(weight: arb) -> Fraction:
    return Fraction(max(0, math.floor(floor_of(weight) * 2**BITS)), 2**BITS)
