"""Privacy curves and their certified value δ(ε): the numeric half of the trusted base.

Every function here returns a ball (python-flint `arb`) that contains the exact number; a decision
is taken on a ball only when its whole extent agrees, so rounding can refuse but never approve.
All parameters are exact fractions.  GDP carries μ², because μ is rarely rational.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx, fmpq, fmpz_poly

from dpaccount.errors import RuleError

Shift = tuple[int, ...]
MAX_BITS = 8192


@dataclass(frozen=True)
class Pure:
    """ε-DP; its dominating pair is binary randomised response (Kairouz, Oh & Viswanath 2015)."""

    epsilon: Fraction


@dataclass(frozen=True)
class Approximate:
    """(ε, δ)-differential privacy at this one point."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True)
class Zcdp:
    """ρ-zero-concentrated differential privacy (Bun & Steinke 2016)."""

    rho: Fraction


@dataclass(frozen=True)
class Gdp:
    """μ-Gaussian differential privacy (Dong, Roth, Su 2022), kept as μ²."""

    mu_squared: Fraction


@dataclass(frozen=True)
class Lattice:
    """Discrete Gaussian noise on ℤᵈ, `count` times the same shift, which is one of `shifts`.

    Noise has mass proportional to exp(−x²/(2·variance)) in every coordinate, independently.
    A shift stands for all its rearrangements and sign changes: the noise has these symmetries.
    """

    variance: Fraction
    shifts: tuple[Shift, ...]
    count: int


@dataclass(frozen=True)
class BoundedRange:
    """η-bounded range: the privacy loss of a pair varies by at most η over outputs (Durfee & Rogers 2019)."""

    eta: Fraction


@dataclass(frozen=True)
class Renyi:
    """Rényi divergence of order α at most the paired number, for each listed α > 1 (Mironov 2017)."""

    points: tuple[tuple[Fraction, Fraction], ...]


Curve = Pure | Approximate | Zcdp | Gdp | Lattice | BoundedRange | Renyi


def compare(ball_at: Callable[[int], arb], limit: Fraction) -> bool | None:
    """Say whether value ≤ limit, for a number given as a ball at any working precision (in bits).

    Precision doubles until the ball decides; None where 8192 bits do not tell the two apart, or a
    NaN appears.
    """
    bits = 64
    while bits <= MAX_BITS:
        with ctx.workprec(bits):
            value, edge = ball_at(bits), ball(limit)
            if value <= edge:
                return True
            if value > edge:
                return False
        bits *= 2
    return None


def at_most(ball_at: Callable[[int], arb], limit: Fraction) -> bool:
    """Decide value ≤ limit, refusing what `compare` cannot tell."""
    return compare(ball_at, limit) is True


def ball(value: Fraction | int) -> arb:
    """Return a ball around an exact fraction at the working precision."""
    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def normal_cdf(x: arb) -> arb:
    """Return Φ(x), without cancellation in either tail."""
    return (-x / arb(2).sqrt()).erfc() / 2


def gdp_delta(mu_squared: Fraction, epsilon: Fraction) -> arb:
    """Return δ(ε) of μ-GDP, Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Balle & Wang 2018; Dong et al. 2022)."""
    if mu_squared == 0:
        return arb(0)
    mu, eps = ball(mu_squared).sqrt(), ball(epsilon)
    return normal_cdf(mu / 2 - eps / mu) - eps.exp() * normal_cdf(-mu / 2 - eps / mu)


def pure_delta(bound: Fraction, epsilon: Fraction) -> arb:
    """Return δ(ε) of the randomised response that dominates all `bound`-DP: (e^b − e^ε)₊/(1 + e^b)."""
    if epsilon >= bound:
        return arb(0)
    top, eps = ball(bound).exp(), ball(epsilon).exp()
    return (top - eps) / (1 + top)


def renyi_log_delta(alpha: Fraction, divergence: Fraction, epsilon: Fraction) -> arb:
    """Return an upper bound on ln δ(ε) where the Rényi divergence of order α > 1 is at most `divergence`.

    (α−1)(D − ε) + (α−1) ln(1 − 1/α) − ln α (Canonne, Kamath & Steinke 2020); under ρ-zCDP, D = αρ.
    """
    a = ball(alpha)
    return (a - 1) * (ball(divergence) - ball(epsilon)) + (a - 1) * (1 - 1 / a).log() - a.log()


def lattice_delta(variance: Fraction, shift: Shift, count: int, epsilon: Fraction, bits: int) -> arb:
    """Return the exact δ(ε) of `count` discrete Gaussians, each moved by the same lattice vector.

    With S = Σ vⱼXᵢⱼ over all coordinates j and releases i, the privacy loss is (k|v|²/2 − S)/σ²,
    and under the moved law S shifts by −k|v|²; S is symmetric.  Hence, with h = k|v|²/2,
    δ = P(S < h − σ²ε) − e^ε P(S > h + σ²ε).
    """
    steps = tuple(abs(v) for v in shift if v)
    if not steps:
        return arb(0)
    half = Fraction(count * sum(v * v for v in steps), 2)
    masses, reach, unit, lost = _weighted_sum(variance, steps, count, bits)
    below = _tail(masses, reach, math.ceil(half - variance * epsilon), lower=True)
    above = _tail(masses, reach, math.floor(half + variance * epsilon), lower=False)
    slack = arb(0, lost * unit)
    return below * unit + slack - ball(epsilon).exp() * (above * unit + slack)


@lru_cache(maxsize=64)
def _weighted_sum(variance: Fraction, steps: Shift, count: int, bits: int) -> tuple[fmpz_poly, int, arb, arb]:
    """Return (masses, reach, unit, lost): the law of S as integers, position 0 meaning S = −reach.

    Every mass is a floor of an exact weight; `unit` turns integers into probabilities and `lost`
    bounds, in integer units, all that floors and the cut tails leave out.  Let w(x) be the true
    weights times 2^K and f(x) their floors on |x| ≤ R: the total weight W of one coordinate is at
    most F + e with F = Σf and e = (2R+1) + tail, so the whole law lacks at most (F+e)ⁿ − Fⁿ of
    (F+e)ⁿ, where n is the number of coordinates; and W ≥ F.
    """
    scale = bits + 32
    radius = math.isqrt(math.ceil(2 * variance * scale)) + 2  # exp(−R²/2σ²) is below 2^−scale
    with ctx.workprec(scale + 64):
        rate = -1 / (2 * ball(variance))
        # arb's floor is a ball; its lower end is the integer kept
        half = [_floor((rate * (x * x)).exp() * arb(2) ** scale) for x in range(radius + 1)]
        # Σ_{x>R} e^{−x²/2σ²} ≤ e^{−(R+1)²/2σ²} / (1 − e^{−(R+1)/σ²}), both sides
        first = (rate * (radius + 1) ** 2).exp()
        tail = 2 * first / (1 - (2 * rate * (radius + 1)).exp()) * arb(2) ** scale
    base = half[:0:-1] + half
    missing = 2 * radius + 1 + int(tail.upper().ceil().unique_fmpz())
    total = sum(base)
    product, reach, coordinates = fmpz_poly([1]), 0, 0
    for step in steps:
        spread = [0] * (2 * radius * step + 1)
        spread[::step] = base
        product *= fmpz_poly(spread) ** count
        reach += radius * step * count
        coordinates += count
    with ctx.workprec(bits):
        # W^n lies in [F^n, (F+e)^n]
        low, high = total**coordinates, (total + missing) ** coordinates
        unit = (1 / arb(low)).union(1 / arb(high))
    return product, reach, unit, arb(high - low)


def _floor(value: arb) -> int:
    return int(value.lower().floor().unique_fmpz())


def _tail(masses: fmpz_poly, reach: int, edge: int, *, lower: bool) -> arb:
    """Return the exact integer mass of S < edge (`lower`) or of S > edge."""
    coefficients = masses.coeffs()
    start = min(max(edge + reach + (0 if lower else 1), 0), len(coefficients))
    return arb(sum(coefficients[:start] if lower else coefficients[start:]))


def delta_ball(curve: Curve, epsilon: Fraction, bits: int) -> arb:
    """Return the least δ that `curve` guarantees at ε ≥ 0, as a ball at the working precision.

    zCDP and Rényi bounds have no exact curve; their rule takes an order and uses `renyi_log_delta`.
    """
    match curve:
        case Pure(bound):
            return pure_delta(bound, epsilon)
        case Gdp(mu_squared):
            return gdp_delta(mu_squared, epsilon)
        case Lattice(variance, shifts, count):
            worst = arb(0)
            for shift in shifts:
                worst = worst.max(lattice_delta(variance, shift, count, epsilon, bits))
            return worst
        case Approximate(bound, delta):
            return ball(delta) if epsilon >= bound else arb(1)
        case _:
            raise RuleError(
                f"no exact curve is known for {type(curve).__name__}; convert it at an order first"
            )
