"""Laws of chance, enclosed: normal and binomial tails, and sums of discrete Gaussians exactly."""

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from .documents import ensure, spend
from .intervals import MAX_DIGITS, Interval, Pair, digits_of, exact, multiply, power, power_of

MAX_CELLS = 120_000  # lattice cells before a sum is out of reach
Law = tuple[list[int], int, int, int]


# ------------------------------------------------------------------ the normal law


@lru_cache(maxsize=32)
def pi(digits: int) -> Fraction:
    """Return a lower bound on π less than 10^(1−digits) below it (Machin, in integers)."""
    one = 10 ** (digits + 10)

    def arctan_inverse(x: int) -> tuple[int, int]:
        total, term, n, errors = 0, one // x, 1, 1
        while term:
            total += term // n if n % 4 == 1 else -(term // n)
            term //= x * x
            n += 2
            errors += 2  # one floor for the term, one for its quotient
        return total, errors + 1  # the rest of the alternating series is below one unit

    (a, wrong_a), (b, wrong_b) = arctan_inverse(5), arctan_inverse(239)
    return Fraction(16 * a - 4 * b - 16 * wrong_a - 4 * wrong_b, one)


def upper_tail(i: Interval, x: Pair) -> Pair:
    """Enclose P(N(0,1) > x), which falls with x."""
    return _upper_tail_at(i, x[1])[0], _upper_tail_at(i, x[0])[1]


def _upper_tail_at(i: Interval, x: Decimal) -> Pair:
    if x < 0:
        return i.sub(i.of(1), _upper_tail_at(i, x.copy_negate()))
    low_pi = pi(i.digits)
    pi_pair = (i.of(low_pi)[0], i.of(low_pi + Fraction(1, 10 ** (i.digits - 1)))[1])
    point = (x, x)
    square = i.mul(point, point)
    density = i.div(i.exp(i.neg(i.div(square, i.of(2)))), i.sqrt(i.mul(i.of(2), pi_pair)))
    if x < 4:
        return i.sub(i.of(Fraction(1, 2)), i.mul(density, tail_series(i, x, 2 * i.digits + 60)))
    steps = int(1.1 * (2.3 * i.digits) ** 2 / (8 * float(x) ** 2)) + i.digits // 4 + 4
    return i.div(density, tail_fraction(i, x, steps))


def tail_series(i: Interval, x: Decimal, terms: int) -> Pair:
    """Enclose Σ x^(2k+1)/(2k+1)!!, k ≥ 0, for x ≥ 0 from its first `terms` terms or fewer.

    What is left is at most last·r/(1−r), r = x²/(2n+3) bounding every later ratio.
    """
    up, down, n = i.up, i.down, 0
    square = down.multiply(x, x), up.multiply(x, x)
    least = most = low = high = x  # of the term, and of the sum
    while n < terms:
        n += 1
        spend(i.price)
        odd = Decimal(2 * n + 1)
        least = down.divide(down.multiply(least, square[0]), odd)
        most = up.divide(up.multiply(most, square[1]), odd)
        low, high = down.add(low, least), up.add(high, most)
        if n > 16 and most < high.scaleb(-i.digits - 5, up):
            break
    ratio = i.div(square, i.of(2 * n + 3))
    ensure(ratio[1] < 1, "too few terms of the series")
    rest = i.div(i.mul((least, most), ratio), i.sub(i.of(1), ratio))
    return low, i.add((low, high), rest)[1]


def tail_fraction(i: Interval, x: Decimal, steps: int) -> Pair:
    """Enclose t₀ of t_m = x + (m+1)/t_{m+1}, where φ(x)/t₀ is the upper tail, for x > 0.

    Every t_m is at least x, hence t_n lies in [x, x + (n+1)/x].
    """
    up, down = i.up, i.down
    spend(i.price * steps)
    low, high = x, up.add(x, up.divide(Decimal(steps + 1), x))
    for m in map(Decimal, range(steps, 0, -1)):
        low, high = down.add(x, down.divide(m, high)), up.add(x, up.divide(m, low))
    return low, high


# ------------------------------------------------------------------ discrete Gaussians


def lattice_at_most(
    variance: Fraction, shift: tuple[int, ...], count: int, epsilon: Fraction, delta: Fraction
) -> bool:
    """Decide P(S < h − σ²ε) − e^ε P(S > h + σ²ε) ≤ δ for S = Σ vⱼXᵢⱼ and h = k|v|²/2.

    The privacy loss of k equal shifts v is (k|v|²/2 − S)/σ², and S is symmetric.
    """
    steps = tuple(abs(v) for v in shift if v)
    if not steps:
        return True
    half = Fraction(count * sum(v * v for v in steps), 2)
    below, above = math.ceil(half - variance * epsilon), math.floor(half + variance * epsilon)
    digits = 24 + 2 * digits_of(1 / delta) if delta else 0
    ensure(0 < digits <= MAX_DIGITS, "a lattice of noise at this δ is beyond this checker")
    cells, reach, least, excess = lattice_law(variance, steps, count, digits)
    spend(len(cells) * (1 + digits // 40) // 4)
    # a mass of the floored law is at most the true one, which exceeds it by less than `excess`
    hit = sum(cells[: min(max(below + reach, 0), len(cells))]) + excess
    miss = sum(cells[min(max(above + reach + 1, 0), len(cells)) :])
    i = Interval(digits + 10)
    worst = i.sub(
        i.of(Fraction(hit, least)), i.mul(i.exp(i.of(epsilon)), i.of(Fraction(miss, least + excess)))
    )
    return bool(worst[1] <= i.of(delta)[0])


@lru_cache(maxsize=32)
def lattice_law(variance: Fraction, steps: tuple[int, ...], count: int, digits: int) -> Law:
    """Return (cells, reach, least, excess) of S: integer masses from −reach on, their total's bounds.

    One coordinate has weights ⌊10^D e^{−x²/2σ²}⌋ for |x| ≤ R with sum F; the true sum lies in
    [F, F+e], e counting one for every floor and the tails beyond R.  The law of n coordinates is
    the product of theirs: its true total lies in [Fⁿ, (F+e)ⁿ].
    """
    radius = math.isqrt(int(2 * variance * digits * 3)) + 2  # e^{−R²/2σ²} is below 10^−D
    span = radius * sum(steps) * count
    ensure(2 * span + 1 <= MAX_CELLS, "this lattice is too large for this checker")
    one, wrong = weights(variance, radius, digits)
    total, number = sum(one), len(steps) * count
    cells = [1]
    for step in steps:
        spread = [0] * (2 * radius * step + 1)
        spread[::step] = one
        cells = multiply(cells, power(spread, count))
    least = total**number
    return cells, span, least, (total + wrong) ** number - least


def weights(variance: Fraction, radius: int, digits: int) -> tuple[list[int], int]:
    """Return ⌊10^D e^{−x²/2σ²}⌋ for |x| ≤ radius, and by how much their sum is too small at most."""
    i, scale = Interval(digits + 10), Decimal(10) ** digits
    half = []
    for x in range(radius + 1):
        low = i.exp(i.of(Fraction(-x * x) / (2 * variance)))[0]
        half.append(int(i.down.multiply(low, scale)))
    # Σ_{|x|>R} e^{−x²/2σ²} ≤ 2 e^{−(R+1)²/2σ²}/(1 − e^{−(R+1)/σ²})
    first = i.exp(i.of(Fraction(-((radius + 1) ** 2)) / (2 * variance)))
    ratio = i.exp(i.of(Fraction(-(radius + 1)) / variance))
    rest = i.div(i.mul(i.of(2), first), i.sub(i.of(1), ratio))
    one = half[:0:-1] + half
    return one, len(one) + int(i.up.multiply(rest[1], scale)) + 1


# ------------------------------------------------------------------ binomial laws

FIXED_ONE, FIXED_TINY = 2**120, 2**20


def log_factorial(i: Interval, n: int) -> Pair:
    """Enclose ln n!: multiplied out up to 200, then by Stirling's series.

    ln n! = n ln n − n + ½ ln 2πn + 1/12n − 1/360n³ + 1/1260n⁵ − …, whose partial sums lie on
    alternating sides of the truth.
    """
    if n <= 200:
        return i.ln(i.of(math.factorial(n)))
    two_pi = (i.of(2 * pi(i.digits))[0], i.of(2 * pi(i.digits) + Fraction(2, 10 ** (i.digits - 1)))[1])
    main = i.sub(i.mul(i.of(n), i.ln(i.of(n))), i.of(n))
    main = i.add(main, i.div(i.ln(i.mul(two_pi, i.of(n))), i.of(2)))
    high = Fraction(1, 12 * n) - Fraction(1, 360 * n**3) + Fraction(1, 1260 * n**5)
    low = high - Fraction(1, 1680 * n**7)
    return i.add(main, (i.of(low)[0], i.of(high)[1]))


def binomial_tail(i: Interval, n: int, p: Fraction, k: int, *, up: bool) -> Pair:
    """Enclose P(Bin(n, p) ≥ k) (`up`) or P(Bin(n, p) ≤ k), 0 < p < 1, on the side away from the mean."""
    if (k <= n * p) if up else (k >= n * p):
        return i.of(0)[0], i.of(1)[1]  # not a tail; 1 always bounds it
    logs = i.add(i.mul(i.of(k), i.ln(i.of(p))), i.mul(i.of(n - k), i.ln(i.of(1 - p))))
    choose = i.sub(log_factorial(i, n), i.add(log_factorial(i, k), log_factorial(i, n - k)))
    term = i.exp(i.add(choose, logs))
    low, high = falling_sum(n, k, p / (1 - p)) if up else falling_sum(n, n - k, (1 - p) / p)
    return i.mul(term, (i.of(Fraction(low, FIXED_ONE))[0], i.of(Fraction(high, FIXED_ONE))[1]))


def falling_sum(n: int, k: int, odds: Fraction) -> tuple[int, int]:
    """Enclose Σ_{j ≥ k} P(Bin = j)/P(Bin = k), of which (n − j)·odds/(j + 1) ≤ 1 leads on, in FIXED_ONEs.

    Whole numbers, since ten million terms should take seconds.
    """
    least, most = math.floor(odds * FIXED_ONE), math.ceil(odds * FIXED_ONE)
    low = high = low_sum = high_sum = FIXED_ONE
    for j in range(k, n):
        over, below = n - j, (j + 1) * FIXED_ONE
        rest = below - over * most
        # ratios fall from here on: what is left is at most term·r/(1−r)
        if 1000 * rest > below and high < FIXED_TINY:
            return low_sum, high_sum - (-high * over * most) // rest
        low, high = low * over * least // below, -(-high * over * most // below)
        low_sum, high_sum = low_sum + low, high_sum + high
    return low_sum, high_sum


def shuffled_delta(i: Interval, ratio: Fraction, size: int, epsilon: Fraction) -> Pair:
    """Enclose δ(ε) of the clones: C ~ Bin(size − 1, 2/(p + 1)) fair coins, and one of odds p = `ratio`.

    Given C = c it costs (p − x)P(a − 1 heads or more) − (px − 1)P(a or more), over p + 1, with x = e^ε and a
    the first number above (c + 1)(px − 1)/((p − 1)(1 + x)), which is beyond half of the c coins.
    """
    p, x, share = i.of(ratio), i.exp(i.of(epsilon)), 2 / (ratio + 1)
    right, wrong = i.sub(p, x), i.sub(i.mul(p, x), i.of(1))
    if right[0] <= 0:
        return i.of(0)[0], i.of(int(right[1] > 0))[1]
    cut = i.div(wrong, i.mul(i.of(ratio - 1), i.add(i.of(1), x))) if epsilon else i.of(Fraction(1, 2))
    total, chance = i.of(0), power_of(i, i.of(1 - share), size - 1)
    for c in range(size):
        a, other = (math.floor(exact(end) * (c + 1)) + 1 for end in cut)
        if chance[1] < Decimal(10) ** -i.digits or a != other:
            cost: Pair = i.of(0)[0], right[1]
        else:
            spend(c // 8)
            tail = binomial_tail(i, c, Fraction(1, 2), a, up=True) if a <= c else i.of(0)
            first = i.add(tail, i.of(Fraction(math.comb(c, a - 1), 2**c)))
            cost = i.sub(i.mul(right, first), i.mul(wrong, tail))
        total = i.add(total, i.mul(chance, cost))
        chance = i.mul(chance, i.of((size - 1 - c) * share / ((c + 1) * (1 - share))))
    return i.div(total, i.add(p, i.of(1)))
