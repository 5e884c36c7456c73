"""Curves of Gaussian samples whose variance, or whose shift, follows a χ² law.

*Two variances.*  P = N(0, 2)^k against Q = N(0, 1)^k: the loss of a sample with S = |x|² is S/4 − (k/2) ln 2,
S ~ 2χ²_k under P and χ²_k under Q, so both directions of δ(ε) are differences of χ² tails.

*A Gaussian shift seen with its length.*  Noise ω per coordinate and a shift of squared length q ~ χ²_r,
independent of the data and seen by all: δ(ε) = E δ_G(ε; √q/ω), δ_G the Gaussian curve.
"""

import math
from fractions import Fraction

from flint import acb, arb

from dpaccount.numerics.intervals import accurate, ball, ceil_of, floor_of, precision

DEEP = 1000  #: below 2^−DEEP an upper bound is enough
INTEGRAL_BITS = 64  #: of accuracy that integrals are computed to


def doubled_variance(epsilon: Fraction, samples: int) -> arb:
    """Return a ball around δ(ε), the larger direction, of `samples` draws of N(0, 2) and N(0, 1)."""

    def wider() -> arb:
        edge = ball(epsilon) + ball(samples) / 2 * arb(2).log()
        return _upper(samples, 2 * edge) - ball(epsilon).exp() * _upper(samples, 4 * edge)

    def narrower() -> arb:
        edge = ball(samples) / 2 * arb(2).log() - ball(epsilon)
        if not edge > 0:
            return arb(0)
        return _lower(samples, 4 * edge) - ball(epsilon).exp() * _lower(samples, 2 * edge)

    return accurate(wider, 80).max(accurate(narrower, 80))


def telling_edge(epsilon: Fraction, samples: int) -> Fraction:
    """Return x near 4(ε + (k/2) ln 2): the best threshold, variance 2 against 1; any is valid."""
    return Fraction(4 * (float(epsilon) + samples / 2 * math.log(2))).limit_denominator(10**9)


def _upper(k: int, x: arb) -> arb:
    """Return P(χ²_k > x)."""
    return (x / 2).gamma_upper(ball(k) / 2, regularized=1)


def _lower(k: int, x: arb) -> arb:
    return (x / 2).gamma_lower(ball(k) / 2, regularized=1)


def mixed_shift(epsilon: Fraction, variance: Fraction, columns: int) -> arb:
    """Return a ball around E δ_G(ε; √q/ω), q ~ χ²_columns, ω² = `variance`.

    With x = √q the integrand is analytic on x > 0.  Below a cut, where δ_G is tiny, it is bounded by its
    value there (δ_G grows with the shift) times the probability; above another by the tail of χ².
    """
    estimate, bound = _estimate(epsilon, variance, columns)
    if estimate < -DEEP:
        return arb(0).union(bound)
    bits = INTEGRAL_BITS + max(0, -int(estimate))
    with precision(2 * bits + 64):
        # Accuracy relative to δ itself, which may be far below any absolute tolerance.
        small = arb(2) ** (int(estimate) - INTEGRAL_BITS - 8)
        low, high = _cuts(epsilon, variance, columns, small)
        eps, omega = ball(epsilon), ball(variance).sqrt()
        k = ball(columns)
        constant = 2 / (arb(2) ** (k / 2) * (k / 2).gamma())
        root2 = arb(2).sqrt()

        def integrand(x: acb, _: bool) -> acb:  # noqa: FBT001
            ours, theirs = x / (2 * omega) - eps * omega / x, -x / (2 * omega) - eps * omega / x
            delta = ((-ours / root2).erfc() - eps.exp() * (-theirs / root2).erfc()) / 2
            return delta * (-x * x / 2).exp() * x ** (columns - 1) * constant

        inner = acb.integral(
            integrand, ball(low), ball(high), abs_tol=small, rel_tol=arb(2) ** -(INTEGRAL_BITS + 8)
        )
        left = _gaussian(eps, ball(low) / omega) * _lower(columns, ball(low) ** 2)
        right = _upper(columns, ball(high) ** 2)
        return inner.real + arb(0).union(left.upper()) + arb(0).union(right.upper())


def _gaussian(eps: arb, mu: arb) -> arb:
    """Return Φ(μ/2 − ε/μ), an upper bound on δ_G."""
    return ((eps / mu - mu / 2) / arb(2).sqrt()).erfc() / 2


def _estimate(epsilon: Fraction, variance: Fraction, columns: int) -> tuple[float, arb]:
    """Return about log₂ δ (an estimate, not a bound), and a bound: δ_G at a cut plus the χ² tail beyond."""
    with precision(128):
        best, bound = -1e6, arb(1)
        for step in range(1, 400):
            x = arb(step) / 10 * (arb(columns).sqrt() / 4 if columns > 16 else 1)
            value, tail = _gaussian(ball(epsilon), x / ball(variance).sqrt()), _upper(columns, x * x)
            bound = bound.min((value + tail).upper())
            if value * tail > 0:
                best = max(best, float((value * tail).log().mid()) * 1.4427)
        return best, bound


def _cuts(epsilon: Fraction, variance: Fraction, columns: int, small: arb) -> tuple[Fraction, Fraction]:
    """Return dyadic cuts left of which δ_G, and right of which the χ² tail, is below `small`."""
    omega, eps = ball(variance).sqrt(), ball(epsilon)
    high = Fraction(1)
    while not _upper(columns, ball(high) ** 2) < small:
        high *= Fraction(5, 4)
    low = high / 2
    while not _gaussian(eps, ball(low) / omega) * _lower(columns, ball(low) ** 2) < small:
        low *= Fraction(3, 4)
    return Fraction(floor_of(ball(low))).limit_denominator(1 << 40) or low, Fraction(ceil_of(ball(high)))
