"""Pure ε-DP as Gaussian DP: μ = −2Φ⁻¹(1/(1 + e^ε)) (Dong, Roth & Su 2022; optimal)."""

from fractions import Fraction
from functools import lru_cache

from flint import arb

from dpaccount.numerics.balls import ball, ceil_of, precision

LARGE = 500  #: ε beyond which tails of the normal law are bounded in logarithms


@lru_cache(maxsize=4096)
def mu_squared(epsilon: Fraction) -> Fraction:
    """Return an upper bound on μ² of the Gaussian pair that dominates every ε-DP mechanism.

    The bound is certified by Φ(−μ/2) ≤ 1/(1 + e^ε), which is what domination at ε = 0 needs.
    """
    if epsilon == 0:
        return Fraction(0)
    if epsilon > LARGE:
        return _of_large(epsilon)
    with precision(128 + 2 * max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length())):
        goal = 1 / (1 + ball(epsilon).exp())
        # z with erfc(z) = 2·goal; μ = 2√2·z. Newton's start is an estimate, the test below decides.
        z = _erfc_inverse(goal)
        while True:
            mu = 2 * arb(2).sqrt() * z
            if (mu / (2 * arb(2).sqrt())).erfc() <= 2 * goal:
                return ceil_of(mu * mu)
            z = z * (1 + arb(2) ** -60)


def _erfc_inverse(goal: arb) -> arb:
    """Return an exact point near the z > 0 with erfc(z) = 2·goal, by Newton steps on ln erfc."""
    z = (-(2 * goal).log()).sqrt() if goal < arb("0.1") else (1 - 2 * goal) * arb.pi().sqrt() / 2
    for _ in range(60):
        value = z.erfc().mid()
        slope = -2 * (-z * z).exp() / arb.pi().sqrt() / value
        step = ((value / (2 * goal)).log() / slope).mid()
        z = (z - step).mid()
        if not abs(step) > abs(z) * arb(2) ** -64:
            break
    return (z * (1 + arb(2) ** -62)).mid()


def _of_large(epsilon: Fraction) -> Fraction:
    """Return 4x² for an x with x²/2 + ln(x√2π) − ln(1 − x⁻² + 3x⁻⁴) ≥ ε + e^{−ε}.

    Then Φ(−x) ≤ φ(x)/x·(1 − x⁻² + 3x⁻⁴) ≤ 1/(1 + e^ε), as ln(1 + e^ε) ≤ ε + e^{−ε} (NIST DLMF 7.12.1).
    Never more than 8ε, as Φ(−x) ≤ e^{−x²/2}/2.
    """
    with precision(192 + epsilon.numerator.bit_length()):
        goal = ball(epsilon) + arb(2) ** -700  # e^{−ε} is below it

        def reached(square: arb) -> arb:
            beyond = (1 - 1 / square + 3 / square**2).log()
            return square / 2 + (2 * arb.pi() * square).log() / 2 - beyond

        square = 2 * goal
        for _ in range(6):
            square = (square - 2 * (reached(square) - goal)).mid()
        while not reached(square) >= goal:
            square += arb(2) ** -90 * square
        return min(ceil_of(4 * square), 8 * epsilon)
