"""Sums of squares of the √Toeplitz coefficients c_k = C(2k, k)/4^k.

They are the squared column norms of the matrix C with C² = (all ones below the diagonal), which
releases prefix sums as B·(Cx + z) (Fichtenberger, Henzinger & Upadhyay 2023; Henzinger, Upadhyay &
Upadhyay 2023).
"""

from fractions import Fraction

from flint import arb

from dpaccount.numerics.balls import ball, ceil_of, floor_of, precision

SUMMED = 20_000  #: terms added one by one; the rest is enclosed by digamma functions


def squares(rounds: int) -> tuple[Fraction, Fraction]:
    """Return [lower, upper] of Σ_{k<rounds} c_k².

    For k ≥ 1: 1/(π(k + 1/4 + 1/(32k))) < c_k² < 1/(π(k + 1/4)). Both sides of the quotient tend to 1, and
    c_{k+1}²/c_k² = ((2k+1)/(2k+2))² makes c_k²(k + 1/4) increase ((2k+1)²(4k+5) exceeds
    (2k+2)²(4k+1) by 1) and c_k²(k + 1/4 + 1/(32k)) decrease (k(2k+1)²(32k²+72k+41) is below
    4(k+1)³(32k²+8k+1) by 3k + 4). The sums of 1/(k + a) are differences of ψ.
    """
    with precision(200):
        total, term = ball(0), ball(1)
        head = min(rounds, SUMMED)
        for k in range(head):
            total += term * term
            term = term * (2 * k + 1) / (2 * k + 2)
        if rounds > head:
            above = _harmonic(head, rounds, Fraction(1, 4))
            below = _harmonic(head, rounds, Fraction(1, 4) + Fraction(1, 32 * head))
            total += below.union(above) / arb.pi()
        return floor_of(total), ceil_of(total)


def _harmonic(first: int, end: int, shift: Fraction) -> arb:
    """Return Σ_{first ≤ k < end} 1/(k + shift) = ψ(end + shift) − ψ(first + shift)."""
    return _digamma(end + shift) - _digamma(first + shift)


def _digamma(x: Fraction) -> arb:
    """Return ψ(x), x > 0; far out by ln x − 1/x < ψ(x) < ln x − 1/(2x) (Alzer 1997)."""
    at = ball(x)
    return at.digamma() if x < 1 << 200 else at.log() - (1 / (2 * at)).union(1 / at)
