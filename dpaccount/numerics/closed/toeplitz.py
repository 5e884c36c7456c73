"""What k rounds of a stream move together, squared: in a factorisation, and in a tree of noises.

The factor's entries are c_k = C(2k, k)/4^k. Sums of their squares
are the squared column norms of the matrix C with C² = (all ones below the diagonal), which releases prefix
sums as B·(Cx + z) (Fichtenberger, Henzinger & Upadhyay 2023; Henzinger, Upadhyay & Upadhyay 2023).
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


def group_squares(rounds: int, k: int) -> tuple[Fraction, Fraction]:
    """Return [lower, upper] of the largest |sum of k columns of C|², whose entries are c_{n−u}, n ≥ u.

    Two columns' inner product Σ_n c_{n−u} c_{n−v} falls in the later column and in the distance |u − v|, as
    the c_j fall; so the first k columns are the worst. Row n of their sum is H_n − H_{n−k}, H_n = c_0 + … +
    c_n; far down it lies between k c_n and k c_{n−k+1}.
    """
    width, head = min(k, rounds), min(rounds, SUMMED)
    if width == 1:
        return squares(rounds)
    with precision(200):
        sums, term, total = [ball(0)], ball(1), ball(0)
        for n in range(head):
            sums.append(sums[-1] + term)
            term = term * (2 * n + 1) / (2 * n + 2)
            total += (sums[n + 1] - sums[max(0, n + 1 - width)]) ** 2
    low, high = floor_of(total), ceil_of(total)
    if rounds == head:
        return low, high
    if width > head:
        return low, width * width * squares(rounds)[1]
    below = squares(rounds)[0] - squares(head)[1]
    above = squares(rounds - width + 1)[1] - squares(head - width + 1)[0]
    return low + width * width * max(below, Fraction(0)), high + width * width * above


def tree_squares(rounds: int, k: int) -> int:
    """Return the largest Σ (rounds of the group under a node)² over groups of k rounds of a tree.

    On one level the nodes hold disjoint blocks of 2^j rounds, and a sum of squares of numbers up to 2^j is
    largest where as many as can be are full and one has the rest; the first k rounds are so on every level.
    """
    found = 0
    for level in range(rounds.bit_length()):
        held = min(k, rounds >> level << level)
        found += (held >> level << 2 * level) + (held & (1 << level) - 1) ** 2
    return found


def _harmonic(first: int, end: int, shift: Fraction) -> arb:
    """Return Σ_{first ≤ k < end} 1/(k + shift) = ψ(end + shift) − ψ(first + shift)."""
    return _digamma(end + shift) - _digamma(first + shift)


def _digamma(x: Fraction) -> arb:
    """Return ψ(x), x > 0; far out by ln x − 1/x < ψ(x) < ln x − 1/(2x) (Alzer 1997)."""
    at = ball(x)
    return at.digamma() if x < 1 << 200 else at.log() - (1 / (2 * at)).union(1 / at)
