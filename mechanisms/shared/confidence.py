"""Tail bounds for confidence intervals: how far noise of each distribution reaches, in grid steps.

`alpha` is the probability that noise reaches further; bounds are rounded away from zero.
Comparisons use python-flint balls, so that rounding never makes a bound too small.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from flint import arb

from dpaccount.errors import InputError
from dpaccount.numerics.bisection import bisect
from dpaccount.precision import precision
from mechanisms.shared.gaussian_noise import distance

TAIL_PRECISION = 160  #: of balls
SUMMED = 1024  #: standard deviations up to which discrete Gaussian tails are summed


def missed(level: Fraction) -> Fraction:
    """Return 1 − `level`, the failure probability; raises `InputError` outside of (0, 1)."""
    if not 0 < level < 1:
        raise InputError(f"level is {float(level):g}", "needed one between 0 and 1, such as 19/20")
    return 1 - Fraction(level)


def ball(value: Fraction | float) -> arb:
    """Return a ball around an exact number."""
    exact = Fraction(value)
    return arb(exact.numerator) / arb(exact.denominator)


def ceiling(value: arb) -> int:
    """Return an integer that is at least the number within the ball."""
    above = value.upper().ceil().unique_fmpz()
    if above is None:
        raise InputError("a reach is beyond what can be computed", "use a lower level")
    return int(above)


def upwards(value: arb) -> float:
    """Return a double that is at least the number within the ball."""
    return math.nextafter(float(value.upper()), math.inf)


@lru_cache(maxsize=256)
def laplace(scale: float, alpha: Fraction) -> int:
    """Return the least r with P(|X| > r) ≤ `alpha`, X discrete Laplace: 2q^(r+1)/(1+q), q = e^(−1/scale)."""
    with precision(TAIL_PRECISION):
        ratio = (-1 / ball(scale)).exp()
        steps = ball(scale) * (2 / (ball(alpha) * (1 + ratio))).log()
        return max(ceiling(steps) - 1, 0)


@lru_cache(maxsize=256)
def gaussian(scale: float, alpha: Fraction) -> int:
    """Return r with P(|X| > r) ≤ `alpha`, X discrete Gaussian: the least, or one more for a large `scale`.

    P(X ≥ m) ≤ P(N ≥ m − 1) for N ~ N(0, scale²) (Canonne, Kamath & Steinke 2020, Proposition 25).
    """
    with precision(TAIL_PRECISION):
        if scale <= SUMMED:
            return _summed(scale, alpha)
        return ceiling(ball(scale) * ball(_normal(alpha)))


def _summed(scale: float, alpha: Fraction) -> int:
    """Return the least r whose tail, summed from the far end, is at most `alpha` of the whole."""
    twice = 2 * ball(scale) ** 2
    last = math.ceil(scale * math.sqrt(2 * _rarity(alpha) + 40)) + 2
    weights = [(-ball(x * x) / twice).exp() for x in range(last + 1)]
    # from weight to weight beyond the last: less than e^(−last/scale²) times
    tail = 2 * weights[last] / ((2 * arb(last) / twice).exp() - 1)
    most = ball(alpha) * (weights[0] + 2 * sum(weights[1:], arb(0)))
    reach = last
    while reach and bool(tail + 2 * weights[reach] <= most):
        tail += 2 * weights[reach]
        reach -= 1
    if not bool(tail <= most):
        raise InputError("a reach is beyond what can be computed", "use a lower level")
    return reach


@lru_cache(maxsize=256)
def _normal(alpha: Fraction) -> float:
    """Return z with P(|N(0, 1)| > z) ≤ `alpha`, at most 2^−40 of it above the least."""

    def enough(z: float) -> bool:
        return bool((ball(z) / arb(2).sqrt()).erfc() <= ball(alpha))

    with precision(TAIL_PRECISION):
        return least_double(enough, math.sqrt(2 * _rarity(alpha) + 3))


def _rarity(alpha: Fraction) -> float:
    """Return approximately log(1/`alpha`), to start a search; `alpha` may be below any double."""
    return math.log(alpha.denominator) - math.log(alpha.numerator)


def least_double(enough: Callable[[float], bool], high: float) -> float:
    """Return a double that is `enough`, close to the least, by bisection; `high` is doubled until it is."""
    while not enough(high):
        high *= 2
    return bisect(enough, 0.0, high, 60)[1]


@lru_cache(maxsize=256)
def combined(draws: tuple[tuple[float, int], ...], outputs: int, alpha: Fraction) -> tuple[float, float]:
    """Return (a, b) such that none of `outputs` sums Σw·X exceeds a·√(Σw²s²) + b·Σ|w|.

    That is with probability 1 − `alpha`, in grid steps; X are independent discrete Gaussians, and `draws`
    lists their standard deviations s and how many there are of each.  Either since X is subgaussian
    (Canonne, Kamath & Steinke 2020), or since all X together are close to rounded Gaussian noise, which is
    within ½ of Gaussian noise (docs/proofs.md).
    """
    apart = Fraction(1)
    if all(scale >= 1 for scale, _ in draws):
        apart = sum((distance(Fraction(scale), Fraction(1), count) for scale, count in draws), Fraction(0))
    # Nearness to Gaussian noise spends some of α itself: worth it while that is less than half.
    if apart < alpha / 2:
        return _normal((alpha - apart) / outputs), 0.5
    with precision(TAIL_PRECISION):
        return upwards((2 * (2 * outputs / ball(alpha)).log()).sqrt()), 0.0


@lru_cache(maxsize=256)
def choice(rate: Fraction, others: int, alpha: Fraction, *, flip: bool) -> int:
    """Return the least r such that the chosen candidate's score is at most r below the best's.

    That is with probability 1 − `alpha`, for integer scores and any scores of the `others`.  With
    x = others·e^(−rate·(r+1)), the exponential mechanism chooses one further below with chance x/(1 + x) at
    most (McSherry & Talwar 2007), exponential noise (`flip`) with x/2: each by itself passes the best with
    e^(−rate·gap)/2.
    """
    if not others:
        return 0
    odds = 2 * alpha if flip else alpha / (1 - alpha)
    with precision(TAIL_PRECISION):
        return max(ceiling((others / ball(odds)).log() / ball(rate)) - 1, 0)


@lru_cache(maxsize=256)
def k_norm(scale: float, columns: int, alpha: Fraction) -> float:
    """Return r with P(‖V‖₂ > r) ≤ `alpha`, V on the integers with mass ∝ exp(−‖v‖₂/scale).

    Around every lattice point a cube, in which lengths differ by √d/2 at most: P(‖V‖ > r) ≤
    e^(√d/scale)·Q(d, (r − √d/2)/scale) with Q(d, x) = e^(−x)·Σ_{k<d} x^k/k!, the tail of a continuous length.
    """
    with precision(TAIL_PRECISION):
        half, wide = arb(columns).sqrt() / 2, ball(scale)

        def enough(r: float) -> bool:
            x = (ball(r) - half) / wide
            terms = sum((x**k / math.factorial(k) for k in range(columns)), arb(0))
            return bool(x >= 0) and bool((2 * half / wide - x).exp() * terms <= ball(alpha))

        return least_double(enough, max(scale, 1.0))


@lru_cache(maxsize=256)
def bounded_mean(widths: float, deviation: float, number: int, alpha: Fraction) -> float:
    """Return t with P(|mean − its expectation| > t) ≤ `alpha`, for independent numbers.

    Each lies in an interval of length `widths`, with a standard deviation of `deviation` at most: the
    less of Hoeffding's t = widths·√(log(2/α)/2n) and Bernstein's, which solves
    n·t²/2 = log(2/α)·(deviation² + widths·t/3).
    """
    with precision(TAIL_PRECISION):
        log, size, wide = (2 / ball(alpha)).log(), arb(number), ball(widths)
        hoeffding = wide * (log / (2 * size)).sqrt()
        linear = log * wide / (3 * size)
        bernstein = linear + (linear**2 + 2 * log * ball(deviation) ** 2 / size).sqrt()
        return min(upwards(hoeffding), upwards(bernstein))


@lru_cache(maxsize=1024)
def laplace_sum(scale: float, terms: int, alpha: Fraction) -> int:
    """Return r with P(|ΣX| > r) ≤ `alpha` for `terms` discrete Laplace X: exactly for one, else Chernoff's.

    E e^(tX) = (1 − q)²/((1 − q·e^t)(1 − q·e^(−t))) for t < 1/scale, q = e^(−1/scale), so that the chance of
    more than r is at most 2·(E e^(tX))^terms·e^(−t(r+1)), for whichever t.
    """
    if terms == 1:
        return laplace(scale, alpha)
    with precision(TAIL_PRECISION):
        ratio, log = (-1 / ball(scale)).exp(), (2 / ball(alpha)).log()

        def reach(share: float) -> int:
            t = ball(share) / ball(scale)
            both = (1 - ratio * t.exp()) * (1 - ratio * (-t).exp())
            return max(ceiling((terms * ((1 - ratio) ** 2 / both).log() + log) / t) - 1, 0)

        return min(reach(k / 32) for k in range(1, 32))


@lru_cache(maxsize=1024)
def gaussian_sum(scale: float, terms: int, alpha: Fraction) -> int:
    """Return r with P(|ΣX| > r) ≤ `alpha` for `terms` discrete Gaussian X, as `combined` bounds sums."""
    if terms == 1:
        return gaussian(scale, alpha)
    by_root, by_weight = combined(((scale, terms),), 1, alpha)
    with precision(TAIL_PRECISION):
        return ceiling(ball(by_root) * ball(scale) * arb(terms).sqrt() + ball(by_weight) * terms)
