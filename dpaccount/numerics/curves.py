"""Balls around the δ(ε) of privacy curves, for ledgers and for the search for the least ε."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, reduce

from flint import arb, fmpz_poly

from dpaccount.checker.curves import Approximate, BoundedRange, Curve, Gdp, Lattice, NearGdp, Pure
from dpaccount.errors import RuleError
from dpaccount.numerics.closed import gaussian
from dpaccount.numerics.intervals import ball
from dpaccount.precision import precision

Shift = tuple[int, ...]
MAX_BITS = 8192  #: the precision at which a comparison is given up


def compare(ball_at: Callable[[int], arb], limit: Fraction) -> bool | None:
    """Return whether value ≤ limit, for a ball of any precision in bits; None: undecided."""
    bits = 64
    while bits <= MAX_BITS:
        with precision(bits):
            value, edge = ball_at(bits), ball(limit)
            if value <= edge:
                return True
            if value > edge:
                return False
        bits *= 2
    return None


def at_most(ball_at: Callable[[int], arb], limit: Fraction) -> bool:
    """Return whether value ≤ limit is proved."""
    return compare(ball_at, limit) is True


def pure_delta(bound: Fraction, epsilon: Fraction) -> arb:
    """Return δ(ε) of the randomised response that dominates all `bound`-DP: (e^b − e^ε)₊/(1 + e^b)."""
    if epsilon >= bound:
        return arb(0)
    top, eps = ball(bound).exp(), ball(epsilon).exp()
    return (top - eps) / (1 + top)


def range_delta(eta: Fraction, epsilon: Fraction) -> arb:
    """Return the largest δ(ε) of an η-bounded-range mechanism, (e^{η/2} − e^{ε/2})²/(e^η − 1) for ε < η.

    The pairs with loss t (probability (e^η − e^t)/(e^η − 1)) or t − η dominate (Dong, Durfee & Rogers 2020).
    """
    if epsilon >= eta:
        return arb(0)
    return ((ball(eta) / 2).exp() - (ball(epsilon) / 2).exp()) ** 2 / ball(eta).expm1()


def delta_ball(curve: Curve, epsilon: Fraction, bits: int) -> arb:
    """Return the least δ that `curve` guarantees at ε ≥ 0; zCDP and Rényi need an order instead."""
    match curve:
        case Pure(bound):
            return pure_delta(bound, epsilon)
        case BoundedRange(eta):
            return range_delta(eta, epsilon)
        case Gdp(mu_squared):
            return gaussian.delta_plain(epsilon, (mu_squared, mu_squared), bits)
        case NearGdp(mu_squared, distance):
            ideal = gaussian.delta_plain(epsilon, (mu_squared, mu_squared), bits)
            return ideal + ball(distance) * (1 + ball(epsilon).exp())
        case Lattice(variance, shifts, count):
            deltas = (lattice_delta(variance, shift, count, epsilon, bits) for shift in shifts)
            return reduce(arb.max, deltas, arb(0))
        case Approximate(bound, delta):
            return ball(delta) if epsilon >= bound else arb(1)
        case _:
            raise RuleError(f"no exact curve is known for {type(curve).__name__}; convert it at an order")


# ------------------------------------------------------------------ discrete Gaussians moved by a vector


def lattice_delta(variance: Fraction, shift: Shift, count: int, epsilon: Fraction, bits: int) -> arb:
    """Return the exact δ(ε) of `count` discrete Gaussians, each moved by the same lattice vector.

    With S = Σ vⱼXᵢⱼ and h = k|v|²/2 the privacy loss is (h − S)/σ², and under the moved law S shifts by
    −2h; S is symmetric.  Hence δ = P(S < h − σ²ε) − e^ε P(S > h + σ²ε) (docs/proofs.md), in [0, P(…)].
    """
    steps = tuple(abs(v) for v in shift if v)
    if not steps:
        return arb(0)
    half = Fraction(count * sum(v * v for v in steps), 2)
    masses, reach, unit, lost = _weighted_sum(variance, steps, count, bits)
    below = (_tail(masses, reach, math.ceil(half - variance * epsilon), lower=True) + lost) * unit
    above = (_tail(masses, reach, math.floor(half + variance * epsilon), lower=False) + lost) * unit
    exact, bounds = below - ball(epsilon).exp() * above, below.union(0)
    return exact if exact.rad() < bounds.rad() else bounds  # e^ε may be longer than the precision


@lru_cache(maxsize=64)
def _weighted_sum(variance: Fraction, steps: Shift, count: int, bits: int) -> tuple[fmpz_poly, int, arb, arb]:
    """Return (masses, reach, unit, lost): the law of S as integers, position 0 meaning S = −reach.

    Every mass is a floor of an exact weight; `unit` turns integers into probabilities and `lost`,
    around 0, holds in integer units all that floors and the cut tails leave out: with F the sum of the
    floors of one coordinate's weights on |x| ≤ R and e = (2R+1) + tail, its total lies in [F, F + e], so
    the law of n coordinates lacks at most (F+e)ⁿ − Fⁿ of (F+e)ⁿ.
    """
    scale = bits + 32
    radius = math.isqrt(math.ceil(2 * variance * scale)) + 2  # exp(−R²/2σ²) is below 2^−scale
    with precision(scale + 64):
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
    with precision(bits):
        # W^n lies in [F^n, (F+e)^n]
        low, high = total**coordinates, (total + missing) ** coordinates
        unit = (1 / arb(low)).union(1 / arb(high))
    return product, reach, unit, arb(0, high - low)


def _floor(value: arb) -> int:
    return int(value.lower().floor().unique_fmpz())


def _tail(masses: fmpz_poly, reach: int, edge: int, *, lower: bool) -> arb:
    coefficients = masses.coeffs()
    start = min(max(edge + reach + (0 if lower else 1), 0), len(coefficients))
    return arb(sum(coefficients[:start] if lower else coefficients[start:]))
