"""Pairs whose losses lie on one rational grid: composed exactly but for rounding and trimmed tails.

This is the optimal composition theorem of Kairouz, Oh & Viswanath 2015 (equal ε) and of Murtagh & Vadhan
2016 (unequal ε, where it is #P-hard in general and polynomial on a grid), for any losses on a grid.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import gcd

from dpaccount.numerics.closed import discrete_losses
from dpaccount.numerics.intervals import ceil_of, precision
from dpaccount.numerics.lattice import lattice
from dpaccount.numerics.lattice.excess import Excess
from dpaccount.numerics.lattice.lattice import Grid, Masses

MAX_NODES = 150_000  #: of a composed lattice, and of one pair


@dataclass(frozen=True)
class OnGrid:
    """One pair whose losses lie on a grid: the spacing, how many losses matter, and its masses on a grid."""

    step: Fraction
    size: int
    base: Callable[[Grid], Masses]


Counted = Sequence[tuple[OnGrid, int]]


def suits(pairs: Counted, spread: Callable[[], float]) -> bool:
    """Say whether these pairs compose on a common grid of bearable size.

    `spread()` estimates the range of losses that matters (the rest is trimmed).
    """
    if not pairs or max(pair.size for pair, _ in pairs) > MAX_NODES // 4:
        return False
    least = spread() / MAX_NODES
    return all(float(step) > least for step in _common_steps(pairs))  # of many, the first few may do


def of_gaussian(sigma: Fraction, shift: int) -> OnGrid:
    """Return discrete Gaussian noise of scale `sigma` moved by `shift`."""

    def base(grid: Grid) -> Masses:
        reach = discrete_losses.gaussian_reach(sigma, grid.bits)
        points = discrete_losses.gaussian(sigma, shift, reach)
        with precision(grid.bits + 32):
            return lattice.atoms(grid, points, ceil_of(discrete_losses.gaussian_tail(sigma, reach)))

    return OnGrid(shift / sigma**2, 2 * discrete_losses.gaussian_reach(sigma, 200), base)


def _common_steps(pairs: Counted) -> Iterator[Fraction]:
    """Yield the largest step of all losses, up to a shift of each pair: of the first, of two, and so on."""

    def divisor(a: Fraction, b: Fraction) -> Fraction:
        return Fraction(
            gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator
        )

    return accumulate((pair.step for pair, _ in pairs), divisor)


def compose(pairs: Counted, log2_delta: float) -> Excess:
    """Return the composition on the common grid, for curves down to about 2^log2_delta."""
    rounds = sum(2 * count.bit_length() for _, count in pairs) + len(pairs)
    bits = int(-log2_delta) + 72 + 2 * rounds.bit_length() + 2 * max(count for _, count in pairs).bit_length()
    tail = max(0, 2 ** (bits + int(log2_delta) - 50 - rounds.bit_length()))
    grid = Grid(list(_common_steps(pairs))[-1], bits, tail)
    return Excess(lattice.product([lattice.power(pair.base(grid), count) for pair, count in pairs]))
