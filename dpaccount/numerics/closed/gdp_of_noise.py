"""One release of bounded losses as Gaussian DP: the least μ of its dominating pair, rounded up.

Where z = Φ⁻¹(1 − ·) of both errors of a test adds up to most, the pair needs μ = z(α) + z(β); for each pair
below the test is known (docs/proofs.md, "One release under Gaussian DP").
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Final

from flint import arb

from dpaccount.numerics.balls import ball, ceil_of, precision
from dpaccount.numerics.closed.gdp_of_pure import LARGE, mu_squared

SMALLEST: Final = Fraction(1, 10**12)  #: ε and 1/k below which the bound of ε-DP stands
BITS: Final = 256


@lru_cache(maxsize=4096)
def of_laplace(loss: Fraction) -> Fraction:
    """Return μ² of Laplace noise whose largest loss is `loss`: both errors are e^{−ε/2}/2."""

    def errors() -> tuple[arb, arb]:
        each = (-ball(loss / 2)).exp() / 2
        return each, each

    return _least(loss, errors)


@lru_cache(maxsize=4096)
def of_discrete_laplace(step: Fraction, moved: int) -> Fraction:
    """Return μ² of two-sided geometric noise of ratio e^{−step} that is moved by `moved`.

    The errors are e^{−step·t}/(1 + e^{−step}) for t = half of `moved` + 1, rounded down, and up.
    """
    half = (moved + 1) // 2

    def errors() -> tuple[arb, arb]:
        whole = 1 + (-ball(step)).exp()
        return (-ball(step * half)).exp() / whole, (-ball(step * (moved + 1 - half))).exp() / whole

    return _least(step * moved, errors)


@lru_cache(maxsize=4096)
def of_response(epsilon: Fraction, k: int) -> Fraction:
    """Return μ² of k-ary randomised response: the errors are the chances of one other answer and of any."""

    def errors() -> tuple[arb, arb]:
        total = ball(epsilon).exp() + (k - 1)
        return 1 / total, ball(k - 1) / total

    return mu_squared(epsilon) if k * SMALLEST > 1 else _least(epsilon, errors)


def _least(loss: Fraction, errors: Callable[[], tuple[arb, arb]]) -> Fraction:
    """Return (z(α) + z(β))², never above that of ε-DP."""
    pure = mu_squared(loss)
    if not SMALLEST < loss <= LARGE:
        return pure
    with precision(BITS):
        first, second = errors()
        mu = arb(2).sqrt() * ((2 * first).erfcinv() + (2 * second).erfcinv())
        return min(pure, ceil_of(mu * mu))
