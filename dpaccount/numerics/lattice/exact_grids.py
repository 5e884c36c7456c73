"""Pairs whose losses lie on one rational grid: composed exactly but for rounding and trimmed tails.

This is the optimal composition theorem of Kairouz, Oh & Viswanath 2015 (equal ε) and of Murtagh & Vadhan
2016 (unequal ε, where it is #P-hard in general and polynomial on a grid), for any losses on a grid.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from math import gcd

from dpaccount.numerics.balls import ceil_of, floor_of, precision
from dpaccount.numerics.closed import discrete_losses
from dpaccount.numerics.fourier.transforms import AtomFactor, DiscreteGaussianFactor, Factor
from dpaccount.numerics.lattice import lattice
from dpaccount.numerics.lattice.excess import Excess
from dpaccount.numerics.lattice.lattice import Grid, Masses
from dpaccount.numerics.solve import Ends

Counted = Sequence[tuple[Factor, int]]

MOST_NODES = 150_000  #: of a composed lattice, and of one factor


def suits(pairs: Counted, spread: Callable[[], float]) -> bool:
    """Say whether these pairs compose on a common grid of bearable size.

    `spread()` estimates the range of losses that matters (the rest is trimmed).
    """
    if not pairs or not all(isinstance(f, AtomFactor | DiscreteGaussianFactor) for f, _ in pairs):
        return False
    if max(_points(f) for f, _ in pairs) > MOST_NODES // 4:
        return False
    return spread() / float(common_step(pairs)) < MOST_NODES


def _points(factor: Factor) -> int:
    if isinstance(factor, DiscreteGaussianFactor):
        return 2 * discrete_losses.gaussian_reach(factor.sigma, 200)
    return factor.size() if isinstance(factor, AtomFactor) else 0


def _step(factor: Factor) -> Fraction:
    if isinstance(factor, DiscreteGaussianFactor):
        return factor.shift / factor.sigma**2
    if not isinstance(factor, AtomFactor):
        raise TypeError(f"{factor} has no grid")
    return factor.step()


def common_step(pairs: Counted) -> Fraction:
    """Return the largest step that all the pairs' losses are multiples of, up to one shift each."""

    def divisor(a: Fraction, b: Fraction) -> Fraction:
        return Fraction(
            gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator
        )

    return reduce(divisor, (_step(factor) for factor, _ in pairs))


def compose(pairs: Counted, log2_delta: float) -> Excess:
    """Return the composition on the common grid, for curves down to about 2^log2_delta."""
    rounds = sum(2 * count.bit_length() for _, count in pairs) + len(pairs)
    bits = int(-log2_delta) + 72 + 2 * rounds.bit_length() + 2 * max(count for _, count in pairs).bit_length()
    tail = max(0, 2 ** (bits + int(log2_delta) - 50 - rounds.bit_length()))
    grid = Grid(common_step(pairs), bits, tail)
    return Excess(lattice.product([lattice.power(base(grid, factor), count) for factor, count in pairs]))


def base(grid: Grid, factor: Factor) -> Masses:
    """Return one pair on a grid, whose nodes need not be where its losses are."""
    if isinstance(factor, AtomFactor):
        return lattice.atoms(grid, factor.points())
    if not isinstance(factor, DiscreteGaussianFactor):
        raise TypeError(f"{factor} has no grid")
    reach = discrete_losses.gaussian_reach(factor.sigma, grid.bits)
    points = discrete_losses.gaussian(factor.sigma, factor.shift, reach)
    with precision(grid.bits + 32):
        return lattice.atoms(grid, points, ceil_of(discrete_losses.gaussian_tail(factor.sigma, reach)))


def epsilon(pairs: Counted, target: Fraction, log2_delta: float) -> tuple[Fraction, Fraction | None]:
    """Return an enclosure of ε(target) for 0 < target < 1; None above where the bound is infinite."""
    return compose(pairs, log2_delta).epsilon(target, Fraction(1, 10**17))


def delta(pairs: Counted, epsilon: Fraction, log2_delta: float) -> Ends:
    """Return an enclosure of δ(ε)."""
    value = compose(pairs, log2_delta).curve(epsilon)
    return floor_of(value), ceil_of(value)
