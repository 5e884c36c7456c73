"""What k rounds of a stream move together, squared: in a factorisation, and in a tree of noises.

The factor's entries are c_k = C(2k, k)/4^k. Sums of their squares
are the squared column norms of the matrix C with C² = (all ones below the diagonal), which releases prefix
sums as B·(Cx + z) (Fichtenberger, Henzinger & Upadhyay 2023; Henzinger, Upadhyay & Upadhyay 2023).
"""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from flint import arb

from dpaccount.numerics.intervals import ball, ceil_of, floor_of, precision
from dpaccount.numerics.work_budget import bearable
from dpaccount.precision import certified

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


@certified
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


def tree_squares(rounds: int, k: int, b: int = 1) -> int:
    """Bound Σ (rounds of a group under a node)² over groups of k rounds of a tree, b apart.

    On one level the nodes hold disjoint blocks of B = 2^j rounds, of which at most ⌈B/b⌉ are of the group. A
    sum of squares of such numbers is largest where as many as can be are full and one has the rest. Where b
    is 1 the first k rounds are so on every level.
    """
    found = 0
    for level in range(rounds.bit_length()):
        held, most = most_participations(rounds >> level << level, k, b), -(-(1 << level) // b)
        found += held // most * most**2 + (held % most) ** 2
    return found


def _harmonic(first: int, end: int, shift: Fraction) -> arb:
    """Return Σ_{first ≤ k < end} 1/(k + shift) = ψ(end + shift) − ψ(first + shift)."""
    return _digamma(end + shift) - _digamma(first + shift)


def _digamma(x: Fraction) -> arb:
    """Return ψ(x), x > 0; far out by ln x − 1/x < ψ(x) < ln x − 1/(2x) (Alzer 1997)."""
    at = ball(x)
    return at.digamma() if x < 1 << 200 else at.log() - (1 / (2 * at)).union(1 / at)


# ------------------------------------------------------------------ one unit in several rounds
#
# A unit that enters rounds i of a pattern S by vectors u_i of length at most 1 moves Σ C_i ⊗ u_i, of square
# Σ_ij ⟨C_i, C_j⟩⟨u_i, u_j⟩ ≤ Σ_ij |⟨C_i, C_j⟩|; where no inner product is negative equal vectors attain it
# (Choquette-Choo, McMahan, Rush & Thakurta 2023).  A pattern has at most k rounds, each at least b after the
# last one.  Below, the largest square over all patterns and vectors is enclosed.

Ends = tuple[Fraction, Fraction]
MOST_ROUNDS = 1 << 18  #: of a factor whose columns are added up one by one
MOST_MET = 1 << 14  #: rounds of a pattern in a tree
MOST_COEFFICIENTS = 4096  #: of a Toeplitz one, where they do not fall
MOST_WRITTEN = 1024  #: of a matrix that is written out
MOST_OVERLAPS = 256  #: rows up to which the inner products of its columns are looked at


def most_participations(rounds: int, k: int, b: int) -> int:
    """Return how many of `rounds` a unit enters at most: `k`, each at least `b` after the last one."""
    return min(k, -(-rounds // b))


def sqrt_toeplitz_squared_sensitivity(rounds: int, k: int, b: int, bands: int | None = None) -> Ends:
    """Enclose the squared sensitivity of √Toeplitz, or of its first `bands` diagonals.

    Its coefficients fall and none is negative; so ⟨C_u, C_v⟩ falls in the later column and in the distance,
    as for `group_squares`, and 0, b, 2b, … is the worst pattern (Kalinin & Lampert 2024).
    """
    bearable(rounds, MOST_ROUNDS)
    width = rounds if bands is None else min(bands, rounds)
    with precision(200):
        terms = [ball(1)]
        for n in range(width - 1):
            terms.append(terms[-1] * (2 * n + 1) / (2 * n + 2))
        found = _spaced(terms, rounds, most_participations(rounds, k, b), b, ball(0))
        return floor_of(found), ceil_of(found)


def _spaced(terms: Sequence[Any], rounds: int, times: int, b: int, zero: Any) -> Any:
    """Return |C_0 + C_b + … |², `times` columns: row n of the sum is s_n = c_n + s_{n−b} − c_{n−times·b}."""
    sums: list[Any] = []
    for n in range(rounds):
        row = terms[n] if n < len(terms) else zero
        if n >= b:
            row = row + sums[n - b]
        if 0 <= n - times * b < len(terms):
            row = row - terms[n - times * b]
        sums.append(row)
    return sum((row * row for row in sums), zero)


def toeplitz_squared_sensitivity(coefficients: Sequence[Fraction], rounds: int, k: int, b: int) -> Ends:
    """Enclose the squared sensitivity of a lower-triangular Toeplitz factor with these coefficients, then 0.

    At most k g₀ + 2 Σ_{m<k} h_m: g_d bounds |⟨C_u, C_v⟩| at distance d, a partial sum of Σ_i c_i c_{i+d}
    where the stream ends early, and h_m is the largest sum of m of them, their distances each b apart.  At
    least what 0, b, 2b, … and a single column move; where coefficients fall and none is negative that is all.
    """
    bearable(rounds, MOST_ROUNDS)
    c = list(coefficients[:rounds])
    times = most_participations(rounds, k, b)
    low = max(_spaced(c, rounds, times, b, Fraction(0)), sum((x * x for x in c), Fraction(0)))
    if all(x >= y for x, y in pairwise([*c, Fraction(0)])):
        return low, low
    bearable(len(c) * (len(c) + times), MOST_COEFFICIENTS**2)
    gram = [max(map(abs, accumulate(x * y for x, y in zip(c, c[d:], strict=False)))) for d in range(len(c))]
    later = _heaviest(gram[b:], times - 1, b)
    sides = sum((later[min(m, len(later) - 1)][0] for m in range(times)), Fraction(0))
    return low, times * gram[0] + 2 * sides


Rows = Sequence[Sequence[Fraction]]  #: of a lower-triangular factor, row i up to its diagonal


def matrix_squared_sensitivity(rows: Rows, k: int, b: int) -> Ends:
    """Enclose the squared sensitivity of a lower-triangular factor.

    Σ_{i in S} w_i, w_i at least the largest Σ_{j in S} |⟨C_i, C_j⟩| over patterns S; of a large factor
    k² times the longest column.  At least what 0, b, 2b, … or any single round moves.
    """
    # Integers over one denominator: fractions would be reduced at each of about n³/6 additions.
    n, scale = len(rows), math.lcm(*(x.denominator for row in rows for x in row))
    columns = [[int(row[j] * scale) for row in rows[j:]] for j in range(n)]
    longest, times = max(sum(x * x for x in column) for column in columns), most_participations(n, k, b)
    met = [sum(int(x * scale) for x in row[: times * b : b]) for row in rows]
    low, high = Fraction(max(longest, sum(x * x for x in met))), Fraction(times**2 * longest)
    if times > 1 and n <= MOST_OVERLAPS:
        bearable(n**3 // 6, MOST_OVERLAPS**3)
        size = {
            (i, j): Fraction(abs(sum(x * y for x, y in zip(u[j - i :], columns[j], strict=True))))
            for i, u in enumerate(columns)
            for j in range(i, n)
        }
        around = ([size[min(i, j), max(i, j)] for j in range(n)] for i in range(n))
        reach = [_heaviest(each, times, b)[-1][0] for each in around]
        high = min(high, _heaviest(reach, times, b)[-1][0])
    return low / scale**2, high / scale**2


def columns_in_turn(
    rounds: int, parts: int, coefficients: Sequence[Fraction], rows: Rows
) -> tuple[Counter[Fraction], bool]:
    """Return each turn's longest column, squared, counted; and whether one part's rounds have them all.

    A turn is `parts` rounds, one of each part; without rows or coefficients the factor is √Toeplitz, cut to
    as many bands.  A Toeplitz factor's columns get shorter at its end only: the first part has the longest.
    """
    if rows:
        squares = [sum((row[j] ** 2 for row in rows[j:]), Fraction(0)) for j in range(rounds)]
        turns = [max(squares[k : k + parts]) for k in range(0, rounds, parts)]
        return Counter(turns), any(squares[j::parts] == turns for j in range(min(parts, rounds)))
    column = coefficients or [Fraction(math.comb(2 * k, k), 4**k) for k in range(min(parts, rounds))]
    before = (rounds - 1) // parts
    whole, last = (sum((x * x for x in column[:n]), Fraction(0)) for n in (rounds, rounds - before * parts))
    return Counter({last: 1}) + Counter({whole: before}), True


def squares_of_bins(rounds: int, bins: int, column: Sequence[Fraction], rows: Rows) -> Ends:
    """Return the least and largest Σ of squares of columns j, j + bins, …, over j < `bins`.

    Of these `rows`, or of a Toeplitz factor of at most `bins` ≤ `rounds` bands: only a bin's last column may
    be cut short there; the first bin's columns are most and longest, the last one's fewest and shortest.
    """
    if rows:
        squares = [sum((row[j] ** 2 for row in rows[j:]), Fraction(0)) for j in range(rounds)]
        sums = [sum(squares[j::bins], Fraction(0)) for j in range(bins)]
        return min(sums), max(sums)
    ends = []
    for j in (bins - 1, 0):
        before, left = divmod(rounds - 1 - j, bins)
        whole, cut = (sum((x * x for x in column[:n]), Fraction(0)) for n in (bins, left + 1))
        ends.append(before * whole + cut)
    return ends[0], ends[1]


def tree_squared_sensitivity(rounds: int, k: int, b: int) -> Ends:
    """Enclose the squared sensitivity of a tree's nodes, by `tree_squares` and by the pattern 0, b, 2b, …."""
    bearable(most_participations(rounds, k, b), MOST_MET)
    low = 0
    for level in range(rounds.bit_length()):
        held = most_participations(rounds >> level << level, k, b)
        low += sum(n * n for n in Counter(j * b >> level for j in range(held)).values())
    return Fraction(low), Fraction(tree_squares(rounds, k, b))


Taken = tuple[Any, ...]  #: the last round and those before it, likewise; empty: none


def _heaviest(weights: Sequence[Fraction], times: int, b: int) -> list[tuple[Fraction, Taken]]:
    """Return the largest sums of up to 0, 1, … `times` nonnegative weights, b apart, and which they are."""
    # best[n] is the largest sum of so many among the first n weights.
    best: list[tuple[Fraction, Taken]] = [(Fraction(0), ())] * (len(weights) + 1)
    found = best[:1]
    for _ in range(times):
        now = [best[0]]
        for n, weight in enumerate(weights):
            before, taken = best[max(0, n + 1 - b)]
            now.append(max(now[-1], (before + weight, (n, taken)), key=lambda sum_: sum_[0]))
        if now[-1][0] == best[-1][0]:  # sums of nonnegative weights: no more of them fit
            break
        best, found = now, [*found, now[-1]]
    return found
