"""How far one person can move the sum of rank-one matrices: suprema with proof and witness.

A person adds vvᵀ with v = (φ, y), ‖φ‖ ≤ 1 and |y| ≤ B.  Replacing them moves the sum by vvᵀ − wwᵀ, and
‖vvᵀ − wwᵀ‖_F² = |v|⁴ + |w|⁴ − 2(v·w)².

*With the corner y².*  Write p, q for the norms of φ, φ′ and a, b for |y|, |y′|.  Given these, v·w may be
chosen as near 0 as ab > pq allows, so the square is F = (p²+a²)² + (q²+b²)² − 2((ab − pq)₊)².  It grows
with p and q (each derivative is a sum of terms ≥ 0), so p = q = 1; then with the larger of a and b, as
a + a³ − ab² + b ≥ 0 for a ≥ b, so a = B.  What is left is h(b) = (1+B²)² + (1+b²)² − 2((Bb − 1)₊)² on
[0, B], h′/4 = b³ + (1−B²)b + B beyond 1/B.  For B ≤ 1 the largest value is at b = B: 2(1+B²)².  For
B > 1 it is h(B) = 8B² or h at the smaller positive root of the cubic, which is convex for b > 0 and has
positive roots iff 4(B²−1)³ ≥ 27B², that is B ≥ 2.  Attained with φ = φ′ and y = B, y′ = −b (for B < 1
with φ·φ′ = B² and y = −y′ = B, which takes two features).

*Without it* the square is a⁴+b⁴−2a²b²c²+2B²(a²+b²+2abc) in norms a, b and cosine c, at most 2(1+B²)²
for B ≤ 1 and 8B² for B ≥ 1 (`dpaccount.proof.linear` has the proof).

Numbers are squares, as functions of B² enclosed in a ball: B itself may be irrational.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from dpaccount.errors import RuleError
from dpaccount.exact import Enclosure
from dpaccount.numerics.intervals import ball, ceil_of, floor_of, mid_of, precision
from dpaccount.proof import REPLACE_ONE, Theorem, assume_rank_one, linear
from papers.claims.derivations import FRACTION_BITS, short_above, short_below
from papers.claims.enclosures import enclose, exactly, of, root

SEARCH = 400  #: bits at which the cubic's root is located, more for large rewards


@dataclass(frozen=True)
class FarthestPair:
    """The supremum of ‖vvᵀ − wwᵀ‖_F² and a pair that reaches it: cosine of φ, φ′ (unit vectors), y, y′."""

    square: Enclosure
    cosine: Fraction | float
    rewards: tuple[float, float]

    def pair(self) -> dict[str, object]:
        """Return the neighbouring pair as text and numbers."""
        return {"phi_dot_phi": float(self.cosine), "y": self.rewards[0], "y_prime": self.rewards[1]}


def with_corner(b2: Enclosure) -> FarthestPair:
    """Return the supremum over ‖φ‖ ≤ 1, |y| ≤ B of the full matrix; `b2` encloses B²."""
    reward = float(b2.upper) ** 0.5
    if b2.upper <= 1:
        return FarthestPair(ball_bound(b2), float(b2.upper), (reward, -reward))
    opposite = _opposite(b2)
    inner = _inner(b2)
    if inner is None or inner[0].upper <= opposite.upper:
        return FarthestPair(_larger(opposite, inner[0] if inner else None), 1, (reward, -reward))
    return FarthestPair(_larger(inner[0], opposite), 1, (reward, -float(inner[1])))


def without_corner(b2: Enclosure) -> FarthestPair:
    """Return the supremum for [φφᵀ, φy; yφᵀ, 0]."""
    reward = float(b2.upper) ** 0.5
    if b2.upper <= 1:
        return FarthestPair(ball_bound(b2), float(b2.upper), (reward, -reward))
    return FarthestPair(_opposite(b2), 1, (reward, -reward))


def ball_bound(b2: Enclosure) -> Enclosure:
    """Return 2(1+B²)², the square of √2L² over the whole ball |v|² ≤ L² = 1 + B² (published)."""
    return enclose(lambda: 2 * (1 + of(b2)) ** 2)


def at_pair(y: Fraction, other: Fraction) -> Enclosure:
    """Return the square for equal unit φ and rewards `y`, `other`: exact."""
    square = (1 + y * y) ** 2 + (1 + other * other) ** 2 - 2 * (1 + y * other) ** 2
    return exactly(square)


def _opposite(b2: Enclosure) -> Enclosure:
    """Return 8B², joined with 2(1+B²)² if B² may be on either side of 1."""
    square = enclose(lambda: 8 * of(b2))
    return square if b2.lower is not None and b2.lower >= 1 else _larger(square, ball_bound(b2))


def _inner(b2: Enclosure) -> tuple[Enclosure, Fraction] | None:
    """Return h at the smaller positive root of b³ + (1−B²)b + B, and an exact point near the root.

    The root lies between a point where the cubic is proved positive and, right of it, one where it is
    proved negative; h over that interval is an enclosure of the maximum there.  None if the cubic
    has no sure sign change (for B near 2 the other candidate is larger anyway: h is then within the
    balls of its values, all below 8B²; they cross at B = 2.3548).
    """
    if b2.upper < 4:
        return None
    bits = SEARCH + 4 * math.ceil(b2.upper).bit_length()
    with precision(bits):
        square = of(b2)
        reward = square.sqrt()

        def cubic(b: Fraction) -> arb:
            at = ball(b)
            return at**3 + (1 - square) * at + reward

        low = floor_of(1 / reward)
        high = mid_of(((square - 1) / 3).sqrt())
        if high <= low or not cubic(high) < 0:
            return None
        for _ in range(bits // 2):
            middle = Fraction(round((low + high) / 2 * (1 << bits)), 1 << bits)  # exact numbers stay small
            value = cubic(middle)
            if value > 0:
                low = middle
            elif value < 0:
                high = middle
            else:
                break
        at = ball(low).union(ball(high))
        value = (1 + square) ** 2 + (1 + at * at) ** 2 - 2 * (reward * at - 1) ** 2
        return Enclosure(floor_of(value), ceil_of(value)), (low + high) / 2


def _larger(a: Enclosure, b: Enclosure | None) -> Enclosure:
    if b is None or a.lower is None or b.lower is None:
        return a
    return Enclosure(max(a.lower, b.lower), max(a.upper, b.upper))


# ------------------------------------------------------------------ as derivations


def person(query: str, reward: Fraction, kind: str = "rank-one") -> Theorem:
    """Assume what one person adds: [φφᵀ, φy; yφᵀ, 0], or ``outer`` with y²."""
    return assume_rank_one(query, reward, REPLACE_ONE, "clipped rewards, features of norm at most 1", kind)


def full_statistics(query: str, reward: Fraction) -> Theorem:
    """Bound the movement of sums of [φ, y]ᵀ[φ, y], ‖φ‖ ≤ 1, |y| ≤ `reward`, corner included.

    The bound is the supremum of `with_corner`, a little above it where the rule asks for that.
    """
    added = person(query, reward, "outer")
    if reward <= 1:
        return linear(added)
    least = Fraction(with_corner(Enclosure(reward**2, reward**2)).square.upper)
    # The rule proves the bound by enclosures of its own, which need some room above the supremum.
    for slack in (60, 40, 20):
        try:
            return linear(added, short_above(least * (1 + Fraction(1, 2**slack))))
        except RuleError:
            continue
    return linear(added, 2 * (1 + reward**2) ** 2)  # over the whole ball


def rational_pair(movement: FarthestPair, b2: Enclosure) -> tuple[list[Fraction], list[Fraction]]:
    """Return records [φ, y] and [φ′, y′] with rational entries next to the pair that moves most.

    Both lie inside the domain: ‖φ‖, ‖φ′‖ ≤ 1 and |y|, |y′| ≤ B.
    """
    reward = short_below(Fraction(root(b2).lower or 0)) if b2.lower else Fraction(0)
    if movement.cosine == 1:
        other = max(-reward, min(reward, Fraction(movement.rewards[1]))) if reward else reward
        if movement.rewards[1] == -movement.rewards[0]:
            other = -reward
        return [Fraction(1), reward], [Fraction(1), other]
    cosine = min(reward**2, Fraction(1))
    return [Fraction(1), Fraction(0), reward], [*unit(cosine), -reward]


def unit(cosine: Fraction) -> list[Fraction]:
    """Return (c, s) with c = `cosine` in [0, 1] rounded down and c² + s² just below 1."""
    c = Fraction(int(cosine * 2**FRACTION_BITS), 2**FRACTION_BITS)
    return [c, Fraction(math.isqrt(int((1 - c * c) * 4**FRACTION_BITS)), 2**FRACTION_BITS)]
