"""Re-check a certificate, or a bare derivation, without trusting the program that wrote it.

usage: python -I -S checker.py FILE [--at YYYY-MM-DD] [--derivation]

Exit 0: valid, and the claim is CERTIFIED.  1: not valid, with the first thing that fails, or valid and
REFUTED.  3: valid and UNPROVEN.  2: not a JSON object of this schema.  Signatures are not checked.
With --derivation FILE is a bare derivation; exit 0: every step follows.

Standard library only, and nothing of the rest of the package: this file can be copied to another
machine and read at one sitting.  Every step of the derivation is inferred again from its premises
and witness; every inequality is decided again with decimals rounded outward and exact integers,
where the kernel used balls.  What is not decided is refused.

What a valid certificate says: IF the code behaves as the listed hypotheses say, THEN the guarantee
holds.  The evidence for the hypotheses is recorded in the certificate, and can be run again.
"""

import hashlib
import io
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    DivisionByZero,
    Inexact,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise, product
from typing import Any

MAX_BYTES = 8 * 2**20
MAX_PARTS = 300_000  # lists, tables and texts of one document; four times as many members
MAX_DEPTH = 64
MAX_DIGITS = 480  # working digits before a comparison is given up
MAX_CELLS = 120_000  # lattice cells before a sum is out of reach
SURROGATE = re.compile("[\ud800-\udfff]")
MAX_PRODUCT = 20_000_000  # digits of one product of laws
MAX_STEPS = 300
MAX_RUNS = 10**7
MAX_POINTS = 64  # of one audit
MAX_WORK = 15_000_000  # about five seconds, for one document
MAX_MOVES = 5_000_000  # coordinates of differences that are listed
MAX_KEY = 200  # characters of the key of a draw
MAX_SUBJECT = 10_000  # characters of the name of a composition
MAX_SUM = 40_000  # bits of a sum of exact numbers
MAX_TEXT = 1000  # characters of one exact number


BROKEN = (  # what a document of the wrong shape may raise
    *(ArithmeticError, ValueError, TypeError, KeyError, IndexError, AttributeError),
    *(RecursionError, MemoryError),
)


def plain(text: str) -> str:
    """Return a text that a terminal shows as it is: what is not printable is escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class Refusal(Exception):  # noqa: N818
    """What is wrong with a document; the message quotes it in printable characters."""

    def __init__(self, why: str) -> None:
        """Keep the message printable."""
        super().__init__(plain(why))


class Rejected(Refusal):
    """What the document says does not follow."""


class Unreadable(Refusal):
    """The file is not a certificate or derivation at all."""


class Work:
    """How much arithmetic the document at hand has asked for; a unit is a third of a microsecond or so."""

    spent = 0


def spend(units: int) -> None:
    """Count work, and reject a document that asks for too much of it."""
    Work.spent += units
    ensure(Work.spent <= MAX_WORK, "the document asks for more arithmetic than this checker does")


def ensure(holds: bool, why: str) -> None:  # noqa: FBT001
    """Reject unless `holds` is exactly True."""
    if holds is not True:
        raise Rejected(why)


# ------------------------------------------------------------------ numbers rounded outward


class Interval:
    """A real number known to lie in [lo, hi]; operations round outward at a fixed number of digits.

    Only methods of explicit contexts are used: operators, unary minus and abs() would round to the
    default context.  The decimal module rounds exp, ln and sqrt half-even whatever the context says,
    so those take one step outward.
    """

    def __init__(self, digits: int) -> None:
        """Prepare two contexts of `digits` digits, one for each direction."""
        traps = [InvalidOperation, DivisionByZero, Overflow]
        self.down = Context(prec=digits, rounding=ROUND_FLOOR, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=traps)
        self.up = Context(prec=digits, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=traps)
        self.digits = digits
        self.price = max(10, digits * digits // 2304)  # of a product: measured, from 30 to 480 digits

    def of(self, value: Fraction | int) -> "Pair":
        """Enclose an exact number."""
        exact = Fraction(value)
        spend(4)
        top, bottom = Decimal(exact.numerator), Decimal(exact.denominator)
        return self.down.divide(top, bottom), self.up.divide(top, bottom)

    def add(self, a: "Pair", b: "Pair") -> "Pair":
        """Enclose a + b."""
        spend(2)
        return self.down.add(a[0], b[0]), self.up.add(a[1], b[1])

    def sub(self, a: "Pair", b: "Pair") -> "Pair":
        """Enclose a − b."""
        spend(2)
        return self.down.subtract(a[0], b[1]), self.up.subtract(a[1], b[0])

    def mul(self, a: "Pair", b: "Pair") -> "Pair":
        """Enclose a·b."""
        spend(self.price)
        ends = [(x, y) for x in a for y in b]
        return min(self.down.multiply(x, y) for x, y in ends), max(self.up.multiply(x, y) for x, y in ends)

    def div(self, a: "Pair", b: "Pair") -> "Pair":
        """Enclose a/b for b above 0."""
        spend(self.price)
        ensure(b[0] > 0, "division by what may be zero")
        ends = [(x, y) for x in a for y in b]
        return min(self.down.divide(x, y) for x, y in ends), max(self.up.divide(x, y) for x, y in ends)

    def exp(self, a: "Pair") -> "Pair":
        """Enclose e^a."""
        spend(30 + self.digits // 3 + self.digits**2 // 16)  # about a millisecond at 240
        return self.down.next_minus(self.down.exp(a[0])), self.up.next_plus(self.up.exp(a[1]))

    def ln(self, a: "Pair") -> "Pair":
        """Enclose ln a for a above 0."""
        spend(30 + self.digits // 3 + self.digits**2 // 16)  # about a millisecond at 240
        ensure(a[0] > 0, "the logarithm of what may be zero")
        return self.down.next_minus(self.down.ln(a[0])), self.up.next_plus(self.up.ln(a[1]))

    def sqrt(self, a: "Pair") -> "Pair":
        """Enclose √a for a ≥ 0."""
        spend(self.price)
        ensure(a[0] >= 0, "the root of what may be negative")
        low = self.down.next_minus(self.down.sqrt(a[0]))
        return max(low, Decimal(0)), self.up.next_plus(self.up.sqrt(a[1]))

    def neg(self, a: "Pair") -> "Pair":
        """Enclose −a, exactly."""
        return a[1].copy_negate(), a[0].copy_negate()


Pair = tuple[Decimal, Decimal]
ZERO: Pair = (Decimal(0), Decimal(0))


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
    square = i.mul((x, x), (x, x))
    total = term = (x, x)
    n = 0
    while n < terms:
        n += 1
        term = i.div(i.mul(term, square), i.of(2 * n + 1))
        total = i.add(total, term)
        if n > 16 and term[1] < total[1].scaleb(-i.digits - 5, i.up):
            break
    ratio = i.div(square, i.of(2 * n + 3))
    ensure(ratio[1] < 1, "too few terms of the series")
    rest = i.div(i.mul(term, ratio), i.sub(i.of(1), ratio))
    return total[0], i.add(total, rest)[1]


def tail_fraction(i: Interval, x: Decimal, steps: int) -> Pair:
    """Enclose t₀ of t_m = x + (m+1)/t_{m+1}, where φ(x)/t₀ is the upper tail, for x > 0.

    Every t_m is at least x, hence t_n lies in [x, x + (n+1)/x].
    """
    point = (x, x)
    value = (x, i.add(point, i.div(i.of(steps + 1), point))[1])
    for m in range(steps, 0, -1):
        value = i.add(point, i.div(i.of(m), value))
    return value


def at_most(value_at: Callable[[Interval], Pair], limit: Fraction) -> bool:
    """Decide value ≤ limit, doubling the digits until the enclosure lies on one side."""
    digits = 30
    while digits <= MAX_DIGITS:
        i = Interval(digits)
        value, edge = value_at(i), i.of(limit)
        if value[1] <= edge[0]:
            return True
        if value[0] > edge[1]:
            return False
        digits *= 2
    return False


def gdp_delta(mu_squared: Fraction, epsilon: Fraction) -> Callable[[Interval], Pair]:
    """δ(ε) = P(N > ε/μ − μ/2) − e^ε P(N > ε/μ + μ/2)."""

    def value(i: Interval) -> Pair:
        mu, eps = i.sqrt(i.of(mu_squared)), i.of(epsilon)
        centre, half = i.div(eps, mu), i.div(mu, i.of(2))
        hit = upper_tail(i, i.sub(centre, half))
        return i.sub(hit, i.mul(i.exp(eps), upper_tail(i, i.add(centre, half))))

    return value


def pure_delta(bound: Fraction, epsilon: Fraction) -> Callable[[Interval], Pair]:
    """δ(ε) = (e^b − e^ε)/(1 + e^b), for ε below b."""

    def value(i: Interval) -> Pair:
        top, eps = i.exp(i.of(bound)), i.exp(i.of(epsilon))
        return i.div(i.sub(top, eps), i.add(i.of(1), top))

    return value


def range_delta(eta: Fraction, epsilon: Fraction) -> Callable[[Interval], Pair]:
    """δ(ε) = (e^((η−ε)/2) − 1)²/(e^(η−ε) − e^(−ε)), for ε below η."""

    def value(i: Interval) -> Pair:
        rise = i.sub(i.exp(i.of((eta - epsilon) / 2)), i.of(1))
        return i.div(i.mul(rise, rise), i.sub(i.exp(i.of(eta - epsilon)), i.exp(i.of(-epsilon))))

    return value


def near_delta(mu_squared: Fraction, distance: Fraction, epsilon: Fraction) -> Callable[[Interval], Pair]:
    """δ(ε) of a pair that is GDP but for `distance` in total variation on each side: δ + (1 + e^ε)p."""

    def value(i: Interval) -> Pair:
        more = i.mul(i.of(distance), i.add(i.of(1), i.exp(i.of(epsilon))))
        return i.add(gdp_delta(mu_squared, epsilon)(i), more) if mu_squared else more

    return value


def renyi_excess(
    order: Fraction, divergence: Fraction, epsilon: Fraction, delta: Fraction
) -> Callable[[Interval], Pair]:
    """Return ln of the δ that order α proves, minus ln δ: (α−1)(D−ε) + (α−1) ln(1−1/α) − ln α − ln δ."""

    def value(i: Interval) -> Pair:
        less = i.of(order - 1)
        main = i.add(i.of((order - 1) * (divergence - epsilon)), i.mul(less, i.ln(i.of(1 - 1 / order))))
        return i.sub(i.sub(main, i.ln(i.of(order))), i.ln(i.of(delta)))

    return value


# ------------------------------------------------------------------ discrete Gaussians, exactly

Law = tuple[list[int], int, int, int]


def lattice_at_most(
    variance: Fraction, shift: list[int], count: int, epsilon: Fraction, delta: Fraction
) -> bool:
    """Decide P(S < h − σ²ε) − e^ε P(S > h + σ²ε) ≤ δ for S = Σ vⱼXᵢⱼ and h = k|v|²/2.

    The privacy loss of k equal shifts v is (k|v|²/2 − S)/σ², and S is symmetric.
    """
    steps = tuple(abs(v) for v in shift if v)
    if not steps:
        return True
    half = Fraction(count * sum(v * v for v in steps), 2)
    below, above = math.ceil(half - variance * epsilon), math.floor(half + variance * epsilon)
    digits = 24 + 2 * _size(1 / delta) if delta else 0
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
    wrong = len(one) + int(i.up.multiply(rest[1], scale)) + 1
    total, number = sum(one), len(steps) * count
    cells = [1]
    for step in steps:
        spread = [0] * (2 * radius * step + 1)
        spread[::step] = one
        cells = multiply(cells, power(spread, count))
    least = total**number
    return cells, span, least, (total + wrong) ** number - least


def power(base: list[int], exponent: int) -> list[int]:
    """Return the `exponent`-th power of a polynomial with coefficients ≥ 0."""
    result = [1]
    while exponent:
        if exponent & 1:
            result = multiply(result, base)
        exponent >>= 1
        if exponent:
            base = multiply(base, base)
    return result


def multiply(a: list[int], b: list[int]) -> list[int]:
    """Return the exact product of two polynomials with coefficients ≥ 0, by one product of long decimals.

    Coefficients are set side by side in blocks wide enough that no sum runs over; `decimal` then
    multiplies exactly (its transform is integer), and an inexact result would raise.
    """
    ensure(min(*a, *b, 0) >= 0, "negative mass")
    width = _size(max(a)) + _size(max(b)) + _size(min(len(a), len(b))) + 1
    ensure(width * (len(a) + len(b)) <= MAX_PRODUCT, "this lattice is too large for this checker")
    spend(width * (len(a) + len(b)) // 6)
    # exact, or an exception: the precision covers every digit
    exact = Context(
        prec=width * (len(a) + len(b)) + 9, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, InvalidOperation]
    )
    left, right = (exact.create_decimal("".join(_text(v).rjust(width, "0") for v in c)) for c in (a, b))
    size = len(a) + len(b) - 1
    digits = format(exact.multiply(left, right), "f").rjust(width * size, "0")
    return [_whole(digits[k : k + width]) for k in range(0, width * size, width)]


def _size(value: int | Fraction) -> int:
    # decimal digits, at least as many as the value has
    return int(int(value) + 1).bit_length() * 30103 // 100000 + 1


def _text(value: int) -> str:
    return format(Decimal(value), "f")  # str() refuses integers above 4300 digits


def _whole(text: str) -> int:
    return int(Decimal(text))


# ------------------------------------------------------------------ rules


def number(text: object) -> Fraction:
    """Read an exact number as derivations write it: an integer or p/q in lowest terms."""
    ensure(isinstance(text, str), f"{text!r} should be an exact number in quotes")
    short = str(text)
    spend(5 + len(short) ** 2 // 3000)
    good = len(short) <= MAX_TEXT and re.fullmatch(r"-?\d+(/\d+)?", short, re.ASCII) is not None
    ensure(good, f"{short[:40]!r} is not an exact number")
    top, _, bottom = short.partition("/")
    ensure(bottom == "" or int(bottom) > 0, f"{short[:40]!r} divides by zero")
    value = Fraction(int(top), int(bottom or "1"))
    ensure(str(value) == short, f"{short[:40]!r} is not in lowest terms")
    return value


def added(values: Iterable[Fraction]) -> Fraction:
    """Return an exact sum, refusing one whose digits grow beyond use."""
    total = Fraction(0)
    for value in values:
        total += value
        size = total.denominator.bit_length() + total.numerator.bit_length()
        ensure(size <= MAX_SUM, "a sum of more digits than this checker adds")
        spend(2 + (size // 300) ** 2)
    return total


def integer(value: object, least: int = 1) -> int:
    """Read a JSON integer of at least `least`."""
    if type(value) is not int or value < least or value.bit_length() > 256:
        raise Rejected(f"{str(value)[:40]!r} should be an integer of at least {least}")
    return value


ANYONE = [1, 2**63]


def unit(value: object, least: int = 1) -> int:
    """Read the number of a unit, or of so many units: below the end of `ANYONE`."""
    found = integer(value, least)
    ensure(found < ANYONE[1], f"{found} should be below {ANYONE[1]}")
    return found


def text(value: object) -> str:
    """Read a JSON string."""
    if not isinstance(value, str):
        raise Rejected(f"{str(value)[:40]!r} should be text")
    return value


def positive(value: object, name: str) -> Fraction:
    """Read an exact number above zero."""
    found = number(value)
    ensure(found > 0, f"the {name} must be above 0, found {found}")
    return found


def relation_of(value: object) -> str:
    """Read a neighbouring relation."""
    ensure(value in ("replace-one", "add-remove"), f"unknown relation {value!r}")
    return text(value)


def keys(given: object, *names: str, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a witness that has exactly these members."""
    if not isinstance(given, dict):
        raise Rejected("a witness should be a table")
    wrong = (set(given) - set(names) - set(optional)) | (set(names) - set(given))
    ensure(
        not wrong,
        f"should hold {', '.join(names) or 'nothing'}; look at {', '.join(map(_brief, sorted(wrong)))}",
    )
    return given


def premises(found: list[Any], *kinds: str) -> list[Any]:
    """Return the premises, which must be of these kinds."""
    have = [fact[0] for fact in found]
    ensure(have == list(kinds), f"needed premises {list(kinds)}, found {have}")
    return found


def lengths(moves: list[list[int]]) -> list[int]:
    """Return the squared ℓ2 lengths of integer vectors."""
    return [sum(v * v for v in move) for move in moves]


def moves_of(points: list[list[int]], relation: str) -> list[list[int]]:
    """Return all differences that a replaced (or added) record can make, up to order and signs."""
    others = points if relation == "replace-one" else [[0] * len(points[0])]
    size = len(points) * len(others) * len(points[0])
    spend(size // 3)
    ensure(size <= MAX_MOVES, "more differences than this checker lists")
    found = {
        tuple(sorted((abs(x - y) for x, y in zip(a, b, strict=True)), reverse=True))
        for a, b in product(points, others)
    }
    return sorted([v for v in move if v] for move in found)


def contribution(rule: str, given: dict[str, Any]) -> list[Any]:
    """Infer what each unit is assumed to add."""
    wanted = {
        "assume_points": ("points",),
        "assume_clipped": ("low", "high"),
        "assume_ball": ("radius",),
        "assume_rank_one": ("reward", "kind"),
    }.get(rule, ())
    keys(given, "query", *wanted, "relation", "because", optional=("source",) if wanted else ())
    relation, source = relation_of(given["relation"]), given.get("source", "public")
    ensure(source != "public" or "source" not in given, "a public source goes without saying")
    ensure(source in ("public", "coin", "dp-output"), f"numbers from {_brief(source)} void a proof")
    match rule:
        case "assume_points":
            points = integer_points(given["points"])
            set_of = ["points", "0", "0", points]
        case "assume_clipped":
            ensure(number(given["low"]) <= number(given["high"]), "low is above high")
            set_of = ["interval", given["low"], given["high"], []]
        case "assume_ball":
            ensure(number(given["radius"]) >= 0, "the radius is negative")
            set_of = ["ball", "0", str(number(given["radius"]) ** 2), []]
        case "assume_rank_one":
            ensure(relation == "replace-one", "the closed form is for replace-one")
            ensure(number(given["reward"]) >= 0, "the reward bound is negative")
            ensure(given["kind"] in ("rank-one", "outer"), "the kind is rank-one or outer")
            set_of = [given["kind"], "0", given["reward"], []]
        case _:
            set_of = ["cell", "0", "1", []]
    return ["Contribution", text(given["query"]), *set_of, relation, source]


def integer_points(points: object) -> list[list[int]]:
    """Read a sorted list of integer vectors of one dimension."""
    if not isinstance(points, list) or not 0 < len(points) <= 256:
        raise Rejected("points: 1 to 256 vectors are read")
    for point in points:
        whole = isinstance(point, list) and all(type(v) is int and abs(v) < 2**64 for v in point)
        ensure(whole and point != [], "a point should be a vector of integers")
    ensure({len(p) for p in points} <= {min(len(points[0]), 64)}, "points: one dimension, at most 64")
    fresh = points == sorted(points) and len({tuple(p) for p in points}) == len(points)
    ensure(fresh, "points should be sorted, once each")
    return points


def hypothesis(rule: str, given: dict[str, Any]) -> list[Any]:
    """Infer what an assumption gives."""
    match rule:
        case "assume_split":
            keys(given, "query", "cells", "because")
            cells = [text(cell) for cell in given["cells"]]
            ensure(len(set(cells)) == len(cells) > 0, "the cells should be named, each once")
            return ["Split", text(given["query"]), cells]
        case "assume_covers":
            keys(given, "query", "covers", "because")
            return ["Covered", text(given["query"]), *covering(given["covers"])]
        case "assume_tree":
            keys(given, "query", "rounds", "levels", "because")
            rounds, levels = unit(given["rounds"]), integer(given["levels"])
            ensure(rounds.bit_length() >= levels, "the tree has fewer levels")
            # whole nodes of every level: halving once more each time
            sizes = [rounds // 2**level for level in range(levels)]
            return ["Covered", text(given["query"]), sum(sizes), levels, 2 ** (levels - 1), [1, rounds]]
        case "assume_view" | "assume_rounds" | "assume_numbers" | "assume_choice":
            return described(rule, given)
        case "assume_rare":
            keys(given, "query", "kind", "probability", "because")
            ensure(given["kind"] in ("event", "distance"), "the kind is event or distance")
            ensure(0 <= number(given["probability"]) <= 1, "the probability must lie in [0, 1]")
            return ["Rare", text(given["query"]), given["kind"], given["probability"]]
        case "assume_range" | "assume_each":
            keys(given, "query", "width", "relation", "because")
            ensure(number(given["width"]) >= 0, "the width is negative")
            norm, relation = rule.removeprefix("assume_"), relation_of(given["relation"])
            return ["Stable", text(given["query"]), norm, given["width"], relation, None]
        case "assume_filter":
            keys(given, "query", "measure", "budget", "relation", "because")
            amounts = {"pure": 1, "approximate": 2, "zcdp": 1, "gdp": 1}.get(given["measure"])
            ensure(isinstance(given["budget"], list) and len(given["budget"]) == amounts, "wrong budget")
            ensure(min(map(number, given["budget"])) >= 0, "a budget is negative")
            curve = [given["measure"], *given["budget"]]
            return ["Private", text(given["query"]), curve, relation_of(given["relation"]), "central", None]
    raise Rejected(f"unknown rule {_brief(rule)}")


def described(rule: str, given: dict[str, Any]) -> list[Any]:
    """Infer what is assumed of the releases: who reads them, which units enter, how many numbers."""
    match rule:
        case "assume_view":
            keys(given, "query", "audience", "releases", "because")
            ensure(given["audience"] in ("everyone", "others"), "the audience is everyone or others")
            return ["View", text(given["query"]), given["audience"], names_of(given["releases"])]
        case "assume_rounds":
            keys(given, "query", "rounds", "because", optional=("participations", "separation"))
            times, apart = integer(given.get("participations", 1)), integer(given.get("separation", 1))
            plain = ("participations" in given) == ("separation" in given) == (times > 1)
            ensure(plain, "one participation is plain")
            return ["Rounds", text(given["query"]), unit(given["rounds"]), times, apart]
        case "assume_numbers":
            keys(given, "query", "most", "because")
            return ["Numbers", text(given["query"]), integer(given["most"])]
        case _:
            keys(given, "query", "parts", "because")
            ensure(isinstance(given["parts"], list) and given["parts"] != [], "parts are lists of keys")
            return ["Choice", text(given["query"]), [names_of(part) for part in given["parts"]]]


def names_of(value: object) -> list[str]:
    """Read a sorted list of names, each once."""
    if not isinstance(value, list) or value != sorted(set(map(text, value))):
        raise Rejected("names should be sorted texts, each once")
    return value


def neighbours(rule: str, given: dict[str, Any]) -> list[Any]:
    """Infer how far two stated neighbours are apart."""
    relation, observer = relation_of(given.get("relation")), given.get("observer")
    ensure(observer in ("central", "joint", "local"), "unknown observer")
    if rule == "assume_event":
        keys(given, "query", "likely", "rarely", "relation", "observer", "because")
        numbers = [given["likely"], given["rarely"]]
        ensure(all(0 <= number(p) <= 1 for p in numbers), "a probability lies in [0, 1]")
        return ["Apart", text(given["query"]), "event", numbers, relation, observer]
    keys(given, "query", "kind", "left", "right", "relation", "observer", "because")
    left, right = [list(map(number, given[side])) for side in ("left", "right")]
    ensure(0 < len(left) == len(right), "two vectors of one length are needed")
    spend(60 * len(left) ** 2)
    ensure(relation == "replace-one" or not any(right), "the record that is absent contributes 0")
    law = "vector" if len(left) > 1 else "number"
    if given["kind"] == "vector":
        moves = [a - b for a, b in zip(left, right, strict=True)]
        size = added(x * x for x in moves) if len(left) > 1 else abs(moves[0])
    else:
        ensure(given["kind"] in ("rank-one", "outer"), "the kind is vector, rank-one or outer")
        ensure(len(left) > 1 and relation == "replace-one", "features and a reward are replaced")
        # entry by entry: the matrices v vᵀ and w wᵀ, with the corner or without
        size, last, law = Fraction(0), len(left) - 1, "symmetric"
        for j in range(last + 1):
            for k in range(last + 1 if given["kind"] == "outer" or j < last else last):
                size = added([size, (left[j] * left[k] - right[j] * right[k]) ** 2])
    return ["Apart", text(given["query"]), law, [str(size)], relation, observer]


def covering(covers: object) -> list[Any]:
    """Return [releases, most on one unit, widest, hull] of a list of [first, last]."""
    if not isinstance(covers, list) or not covers:
        raise Rejected("covers should be a list of [first, last]")
    change: dict[int, int] = {}
    spend(10 * len(covers))
    for span in covers:
        ensure(isinstance(span, list) and len(span) == 2, "a cover should be [first, last]")
        first, last = unit(span[0]), unit(span[1])
        ensure(first <= last, f"the cover [{first}, {last}] is empty")
        change[first] = change.get(first, 0) + 1
        change[last + 1] = change.get(last + 1, 0) - 1
    most = max(accumulate(change[unit] for unit in sorted(change)))
    widest = max(last - first + 1 for first, last in covers)
    return [len(covers), most, widest, [min(c[0] for c in covers), max(c[1] for c in covers)]]


def outer_supremum(b: Fraction) -> Fraction:
    """Return an upper bound, close to it, on the largest (1+B²)²+(1+t²)²−2(Bt−1)² over [1/B, B], B > 1.

    Its derivative is 4p, p(t) = t³+(1−B²)t+B, convex for t > 0 with p(1/B) > 0 and p(B) > 0.  Either
    p ≥ 0 throughout and the maximum is 8B² at t = B, or the first root t₁ gives another one; with
    p(l) ≥ 0 > p(u) it lies in [l, u], and p ≤ p(l) there, as p falls up to its minimum beyond u.
    """

    def p(t: Fraction) -> Fraction:
        return t**3 + (1 - b * b) * t + b

    least = Fraction(math.isqrt(int((b * b - 1) / 3 * 10**40)), 10**20)  # near the minimum of p
    if p(least) >= 0:
        ensure(p(least) >= abs(3 * least**2 + 1 - b * b) * b, "too close to a double root for this checker")
        return 8 * b * b
    low, high = 1 / b, least
    for _ in range(80):
        middle = Fraction(int((low + high) * 2**99), 2**100)
        low, high = (middle, high) if p(middle) >= 0 else (low, middle)
    top = (1 + b * b) ** 2 + (1 + low**2) ** 2 - 2 * (b * low - 1) ** 2
    return max(8 * b * b, top + 4 * p(low) * (high - low))


def sensitivity(rule: str, found: list[Any], given: dict[str, Any]) -> list[Any]:
    """Infer how far a sum can move."""
    keys(
        given,
        *(("weight",) if rule == "joint" else ()),
        optional=("bound_squared",) if rule == "linear" else (),
    )
    [[_, query, kind, low, high, points, relation, _]] = premises(found, "Contribution")
    replace = relation == "replace-one"
    if rule == "differences":
        ensure(kind == "points", "only a finite set of integer points has a list of differences")
        return ["Shifts", query, moves_of(points, relation), relation]
    a, b = number(low), number(high)
    if rule == "joint":
        ensure(kind == "rank-one", f"needed a person's statistics without corner, found {kind}")
        reach = b * b * positive(given["weight"], "weight")
        # the squared movement of the pair at its worst angle, which is inside up to reach 2
        square = 2 + 2 * reach + reach * reach / 2 if reach <= 2 else 4 * reach
        return ["Stable", query, "l2-squared", str(square), relation, None]
    match kind:
        case "interval":
            norm, bound = "l1", b - a if replace else max(abs(a), abs(b))
        case "ball":
            norm, bound = "l2-squared", 4 * b if replace else b
        case "rank-one":
            # sup over norms ≤ 1 and the angle: (1+B²)²·2 up to B = 1, (2B)²·2 from there on
            norm, bound = "frobenius-squared", 2 * (2 * b) ** 2 if b >= 1 else 2 * (1 + b * b) ** 2
        case "outer":
            norm, bound = "frobenius-squared", 2 * (1 + b * b) ** 2
        case "points":
            norm, bound = "l2-squared", Fraction(max(lengths(moves_of(points, relation))))
        case _:
            raise Rejected(f"no bound is known for contributions of kind {kind}")
    stated = kind == "outer" and b > 1
    ensure(stated == ("bound_squared" in given), "a bound is stated for outer products with rewards above 1")
    if stated:
        bound = number(given["bound_squared"])
        ensure(bound >= outer_supremum(b), "the stated bound is too small")
    return ["Stable", query, norm, str(bound), relation, None]


def transformed(rule: str, found: list[Any], given: dict[str, Any]) -> list[Any]:
    """Infer how far a centred, factorised or buffered query can move."""
    person = found[2:3] if rule == "factorised" else []
    kinds = ["Stable", "Rounds", *(["Contribution"] if person else [])]
    [[_, query, norm, bound, relation, units], [_, entered, rounds, many, apart]] = premises(found, *kinds)[
        :2
    ]
    ensure(norm == "l2-squared", f"needed a bound in l2-squared, found {norm}")
    ensure(units is None, "the query is transformed already")
    ensure(entered == query, f"the rounds are of {_brief(entered)}, not of {_brief(query)}")
    ensure(rule == "factorised" or many == 1, "a unit enters one round")
    before = number(bound)
    if rule == "centred":
        keys(given)
        ensure(relation == "replace-one", "the number of rows must stay")
        return ["Stable", query, norm, str(before * (1 - Fraction(1, rounds))), relation, [1, rounds]]
    if rule == "buffered":
        return ["Stable", query, norm, buffered(before, rounds, given), relation, [1, rounds]]
    keys(given, "matrix", "bits")
    bits, times = integer(given["bits"], 0), min(many, (rounds - 1) // apart + 1)
    ensure(bits <= 4096, "a matrix over at most 2^4096")
    square, units = stretch(given["matrix"], rounds, times, apart), [1, rounds]
    ensure((times > 1) == bool(person), "what a unit adds belongs to several participations, and only there")
    if times > 1:
        before, units = alone(found[0], person[0]), ANYONE
        relation = f"{relation}, {times} rounds {apart} apart"
    return ["Stable", query, norm, str(before * Fraction(square, 4**bits)), relation, units]


def stretch(rows: object, rounds: int, times: int, apart: int) -> int:
    """Return the squared factor by which a matrix of integers stretches unit vectors in so many columns."""
    whole = isinstance(rows, list) and all(isinstance(row, list) for row in rows)
    if not whole or not isinstance(rows, list):
        raise Rejected("a matrix of integers is needed")
    ensure(
        all(type(c) is int and abs(c) < 2**128 for row in rows for c in row), "a matrix of integers is needed"
    )
    spend(sum(map(len, rows)))
    if len(rows) == 1:
        ensure(0 < len(rows[0]) <= (2048 if times > 1 else 2**20), "too few or too many coefficients")
        spend(len(rows[0]) ** 2 // 3 if times > 1 else 0)
        return toeplitz([abs(c) for c in rows[0]][:rounds], times, apart)
    shape = len(rows) == rounds and all(len(row) == k + 1 for k, row in enumerate(rows))
    ensure(shape, "a row ends at its diagonal")
    sums = [0] * rounds
    for row in rows:
        for column, c in enumerate(row):
            sums[column] += c * c
    return times * times * max(sums)


def alone(query: list[Any], person: list[Any]) -> Fraction:
    """Return the squared bound on what a unit adds, or on twice that, wherever its rounds stand.

    A replaced unit may enter other rounds than before: by the triangle inequality the movement is at most
    that of its old rounds and of its new ones.
    """
    ensure(sensitivity("linear", [person], {}) == query, "the contribution is not what the query sums")
    ensure(person[2] in ("ball", "points"), f"needed a ball or points, found {person[2]}")
    length = number(person[4]) if person[2] == "ball" else Fraction(max(lengths(person[5])))
    return 4 * length if person[6] == "replace-one" else length


def buffered(before: Fraction, rounds: int, given: dict[str, Any]) -> str:
    """Verify the stated bound on the squared movement of a stream with decaying buffers.

    A buffer is floored once a round, from two neighbouring values, so their difference errs by less than
    a step, and by less than the geometric sum of decays in all; without floors, row k after the change
    moves by Σ wλ^(k−1) of it, whose squares add up to geometric sums.
    """
    keys(given, "width", "pairs", "bits", "step", "most")
    later, width, bits = rounds - 1, unit(given["width"]), integer(given["bits"])
    pairs, step, most = given["pairs"], positive(given["step"], "step"), number(given["most"])
    ensure(isinstance(pairs, list) and len(pairs) <= 64 and bits <= 64, "at most 64 buffers, over 2^64")
    ensure(all(isinstance(pair, list) and len(pair) == 2 for pair in pairs), "a buffer is [weight, decay]")
    found = [(Fraction(integer(w, 0), 2**bits), Fraction(integer(f, 0), 2**bits)) for w, f in pairs]
    ensure(all(decay < 1 for _, decay in found), "a decay is below 1")
    spend(2000 * len(found) ** 2)
    floors = step * added(1 / (1 - decay) for _, decay in found)

    def moved(i: Interval) -> Pair:
        total = i.of(before)
        for v, f in found:
            for w, g in found:
                left = i.sub(i.of(1), raised(i, i.of(f * g), later))
                total = i.add(total, i.mul(i.of(before * v * w / (1 - f * g)), left))
        root = i.add(i.sqrt(total), i.mul(i.of(floors), i.sqrt(i.of(later * width))))
        return i.mul(root, root)

    ensure(at_most(moved, most), "the stated bound is too small")
    return str(most)


def raised(i: Interval, base: Pair, times: int) -> Pair:
    """Enclose a power of a number in [0, 1]."""
    result = i.of(1)
    while times:
        result = i.mul(result, base) if times & 1 else result
        base, times = i.mul(base, base), times >> 1
    return result


def toeplitz(c: list[int], times: int, apart: int) -> int:
    """Return Σ over all ordered pairs of `times` rounds, `apart` or more from one another, of overlaps."""

    def overlap(lag: int) -> int:
        return sum(c[i] * c[i + lag] for i in range(len(c) - lag))

    total = times * overlap(0)
    if times > 1:
        overlaps, best = [overlap(lag) for lag in range(len(c))], 0
        worst = [0] * len(c)  # of this lag or a longer one
        for lag in range(len(c) - 1, -1, -1):
            worst[lag] = best = max(best, overlaps[lag])
        for steps in range(1, times):
            if steps * apart >= len(c):
                break
            total += 2 * (times - steps) * worst[steps * apart]
    return total


NOISE = {  # the members of each witness beside its key
    **{"laplace": ("scale",), "k_norm": ("rate", "bound", "grid"), "gaussian": ("variance",)},
    **{"discrete_gaussian": ("variance", "grid"), "lattice_gaussian": ("variance",)},
    "fine_gaussian": ("variance", "grid", "coordinates", "distance"),
    **{"exponential": ("rate",), "permute_and_flip": ("rate",)},
    **{"sparse_vector": ("threshold", "scale", "limit", "grid"), "finite": ("table", "epsilon")},
    "stable_histogram": ("scale", "threshold", "delta"),
}


def noise(rule: str, found: list[Any], given: dict[str, Any]) -> list[Any]:
    """Infer what one draw of noise gives."""
    keys(given, *NOISE[rule], "key", optional=("grid",) if rule == "laplace" else ())
    text(given["key"])
    for name in {"grid", "scale", "variance", "rate"} & set(given):
        positive(given[name], name)
    ensure(len(found) == (2 if rule == "fine_gaussian" else 1), "noise is drawn on one query")
    query, units = found[0][1], found[0][5] if found[0][0] == "Stable" else None
    relation = found[0][{"Stable": 4, "Shifts": 3}.get(found[0][0], 6)]
    if rule in ("finite", "stable_histogram"):
        curve = on_contribution(rule, found, given)
    elif rule == "lattice_gaussian":
        curve = ["lattice", given["variance"], premises(found, "Shifts")[0][2], 1]
    else:
        curve = on_bound(rule, found, given)
    return ["Private", query, curve, relation, "central", units]


def on_bound(rule: str, found: list[Any], given: dict[str, Any]) -> list[Any]:
    """Infer the curve of noise on a query with a known bound."""
    [[_, query, norm, bound, _, units], *beside] = found
    premises(found, "Stable", *["Numbers" for _ in beside])
    wanted = {"laplace": "l1", "sparse_vector": "each", "exponential": "range", "permute_and_flip": "range"}
    matrix = rule in ("gaussian", "discrete_gaussian", "fine_gaussian") and norm == "frobenius-squared"
    needed = wanted.get(rule, "l2-squared")
    ensure(matrix or norm == needed, f"needed a bound in {needed}, found {norm}")
    moved = number(bound)
    match rule:
        case "laplace":
            return ["pure", str(moved / number(given["scale"]))]
        case "exponential" | "permute_and_flip":
            measure = "bounded-range" if rule == "exponential" else "pure"
            return [measure, str(number(given["rate"]) * moved)]
        case "sparse_vector":
            once, each = positive(given["threshold"], "threshold"), number(given["scale"])
            return ["pure", str(moved * (1 / once + 2 * integer(given["limit"]) / each))]
        case "k_norm":
            ensure(units is None, "one joint draw is needed, of a query that is not transformed")
            reach = number(given["bound"])
            ensure(reach >= 0 and reach * reach >= moved, "the bound is below the query's movement")
            return ["pure", str(number(given["rate"]) * reach)]
    variance = number(given["variance"])
    square = moved / variance / (2 if matrix else 1)  # symmetric noise: twice the variance on the diagonal
    if rule == "fine_gaussian":
        distance = number(given["distance"])
        drawn = beside == [["Numbers", query, integer(given["coordinates"])]]
        ensure(drawn, f"{given['coordinates']} numbers are not what {_brief(query)} is said to have")
        rounding_at_most(variance / number(given["grid"]) ** 2, integer(given["coordinates"]), distance)
        return ["near-gdp", str(square), str(distance)]
    return ["gdp", str(square)] if rule == "gaussian" else ["zcdp", str(square / 2)]


def rounding_at_most(square: Fraction, coordinates: int, distance: Fraction) -> None:
    """Verify coordinates · (.0201643/s² + .01573/s³) ≤ distance, s² = `square` ≥ 1, in total variation.

    Half of Σ|q − f| + Σ|f − p|, q the rounded, p the discrete Gaussian and f the density at integers.
    The first is at most (1/24)(∫|f″| + V(f″)/2) = (4φ(1)/s² + (1 + 4e^(−3/2))/(√(2π)s³))/24, the
    second 2Σ_m e^(−2π²s²m²) < 6e-9/s³ (Poisson's formula).
    """
    ensure(square >= 1, "the grid is coarser than the noise")
    # d ≥ a/s² + b/s³ with s unknown but for its square: (d s² − a) s ≥ b
    rest = distance / coordinates * square - Fraction("0.0201643")
    ensure(rest > 0 and rest * rest * square >= Fraction("0.01573") ** 2, "the distance is too small")


def on_contribution(rule: str, found: list[Any], given: dict[str, Any]) -> list[Any]:
    """Infer the curve of drawing from a table, and of showing full cells."""
    [[_, _, kind, _, _, points, relation, _]] = premises(found, "Contribution")
    if rule == "finite":
        short = all(len(text(p)) <= 200 for row in given["table"] for p in row)
        ensure(short, "a probability has more than 200 characters")
        table, epsilon = [list(map(number, row)) for row in given["table"]], number(given["epsilon"])
        symbols = kind == "points" and points == [[k] for k in range(len(table))]
        ensure(symbols and relation == "replace-one", "a row for each symbol, which is replaced")
        ensure(len({len(row) for row in table}) == 1, "rows of one length are needed")
        for row in table:
            spend(10 * len(row) ** 2)
            ensure(min(row) >= 0 and added(row) == 1, "a row of probabilities adds up to 1")
        worst = Fraction(1)
        for outcome in zip(*table, strict=True):
            ensure(min(outcome) > 0 or max(outcome) == 0, "an outcome is possible for some symbols only")
            worst = max(worst, max(outcome) / min(outcome)) if max(outcome) else worst
        enough = worst == 1 or at_most(lambda i: i.div(i.of(worst), i.exp(i.of(epsilon))), Fraction(1))
        ensure(enough and epsilon >= 0, "epsilon is too small")
        return ["pure", str(epsilon)]
    scale, delta = number(given["scale"]), number(given["delta"])
    ensure(kind == "cell" and relation == "add-remove", "needed single cells, a record added or removed")
    far = integer(given["threshold"], 2) - 1

    def shown(i: Interval) -> Pair:
        return i.div(i.exp(i.of(-far / scale)), i.add(i.of(1), i.exp(i.of(-1 / scale))))

    ensure(delta <= 1 and at_most(shown, delta), "delta does not cover the threshold")
    return ["approximate", str(1 / scale), str(delta)]


def alike(found: list[Any]) -> tuple[str, str, str]:
    """Return the one measure, relation and observer of privacy premises."""
    ensure(len(found) >= 1, "needed at least one premise")
    premises(found, *["Private"] * len(found))
    kinds = {(fact[2][0], fact[3], fact[4]) for fact in found}
    ensure(len(kinds) == 1, f"premises differ in measure, relation or observer: {sorted(kinds)}")
    orders = {tuple(point[0] for point in fact[2][1:]) for fact in found if fact[2][0] == "renyi"}
    ensure(len(orders) <= 1, "Rényi bounds are at different orders")
    return kinds.pop()


def hull(found: list[Any]) -> list[int] | None:
    """Return the interval that holds all premises' units, None where all are draws that may read any."""
    if all(fact[5] is None for fact in found):
        return None
    spans = [fact[5] or ANYONE for fact in found]
    return [min(s[0] for s in spans), max(s[1] for s in spans)]


def amounts_of(curve: list[Any]) -> list[Fraction]:
    """Return the numbers of a curve that grow with its cost."""
    ensure(curve[0] != "lattice", "lattice curves are neither added nor ordered")
    return (
        [number(point[1]) for point in curve[1:]] if curve[0] == "renyi" else [number(v) for v in curve[1:]]
    )


def rebuilt(curve: list[Any], amounts: list[Fraction]) -> list[Any]:
    """Return a curve of the same measure with other amounts."""
    if curve[0] == "renyi":
        return ["renyi", *([point[0], str(new)] for point, new in zip(curve[1:], amounts, strict=True))]
    return [curve[0], *map(str, amounts)]


def composition(rule: str, found: list[Any], given: dict[str, Any]) -> list[Any]:
    """Infer what several releases give together."""
    keys(given)
    if rule == "nodes":
        [[_, subject, curve, relation, observer, before], [_, query, _, most, _, units]] = premises(
            found, "Private", "Covered"
        )
        ensure(before is None, f"the leaf reads the units {before} already")
        ensure(query == subject, f"the covers are of {query!r}, the leaf is of {subject!r}")
        ensure(observer == "central", "the leaf must be centrally private")
        ensure(most == 1 or curve[0] != "bounded-range", "bounded range composes only once converted")
        if curve[0] == "lattice":
            total = [*curve[:3], curve[3] * most]
        else:
            total = rebuilt(curve, [most * amount for amount in amounts_of(curve)])
        return ["Private", subject, total, relation, observer, units]
    if rule == "partition":
        return partition(found)
    choice, found = (found[0], found[1:]) if rule == "mixture" and found else (None, found)
    measure, relation, observer = alike(found)
    columns = list(zip(*(amounts_of(fact[2]) for fact in found), strict=True))
    if rule == "compose":
        ensure(measure != "bounded-range", "bounded range composes only once converted")
        amounts, sign = list(map(added, columns)), " + "
    else:
        amounts, sign = [max(column) for column in columns], " or "
    if rule == "parallel":
        spans, sign = sorted(fact[5] for fact in found if fact[5] is not None), " | "
        ensure(len(spans) == len(found), "every part must say which units it reads")
        for (_, last), (first, _) in pairwise(spans):
            ensure(last < first, f"units overlap: one part up to {last}, one from {first}")
    ensure(sum(len(fact[1]) for fact in found) <= MAX_SUBJECT, "the name is too long for this checker")
    subject = sign.join(fact[1] for fact in found)
    ensure(choice is None or choice[:2] == ["Choice", subject], "the choice is not among these parts")
    return ["Private", subject, rebuilt(found[0][2], amounts), relation, observer, hull(found)]


def partition(found: list[Any]) -> list[Any]:
    """Infer what releasing the cells of a partition by value gives."""
    [[_, query, names], *cells] = premises(found, "Split", *["Private"] * (len(found) - 1))
    entering = [fact for fact in cells if fact[3] == "add-remove"]
    inside = [fact for fact in cells if fact[3] == "replace-one"]
    ensure(cells == inside + entering, "replace-one statements come first, then add-remove ones")
    ensure(all(fact[5] != ANYONE for fact in cells), "a cell may read anyone, in every cell the same record")
    measure, _, observer = alike(entering)
    ensure(observer == "central" and measure != "bounded-range", "needed central statements that add up")
    ensure([fact[1] for fact in entering] == names, "the statements are not about the cells, in their order")
    columns = list(zip(*(amounts_of(fact[2]) for fact in entering), strict=True))
    worst = [max(column) for column in columns]
    if inside:
        ensure(alike(inside)[::2] == (measure, "central"), "the two relations differ in measure or observer")
        alike([[*fact[:3], "any", *fact[4:]] for fact in cells])
        ensure([fact[1] for fact in inside] == names, "a cell is missing for one relation")
        # leave one cell and enter another, or stay in one
        changed = [added(sorted(column, reverse=True)[:2]) for column in columns]
        stayed = zip(*(amounts_of(fact[2]) for fact in inside), strict=True)
        worst = [max(a, *b) for a, b in zip(changed, stayed, strict=True)]
    relation = "replace-one" if inside else "add-remove"
    return ["Private", query, rebuilt(entering[0][2], worst), relation, "central", hull(cells)]


def refuted(rule: str, found: list[Any], given: dict[str, Any]) -> list[Any]:
    """Infer how well two neighbours are told apart, or that a point does not hold."""
    if rule == "apart":
        keys(given, "law", "scale")
        [[_, query, law, numbers, *rest], [_, covered, _, most, _, _]] = premises(found, "Apart", "Covered")
        ensure(query == covered, f"the covers are of {covered!r}, not of {query!r}")
        scale, size = positive(given["scale"], "scale"), number(numbers[0])
        if given["law"] == "laplace":
            ensure(law == "number" and most == 1, "Laplace noise is told apart on one release of a number")
            return ["Apart", query, "laplace", [str(size / scale)], *rest]
        square = {"number": size * size, "vector": size, "symmetric": size / 2}.get(law)
        if given["law"] != "gaussian" or square is None:
            raise Rejected(f"no law of noise {given['law']!r} on {law!r}")
        return ["Apart", query, "gaussian", [str(most * square / scale)], *rest]
    keys(given, "epsilon", "delta")
    [[_, query, law, numbers, relation, observer]] = premises(found, "Apart")
    epsilon, delta = number(given["epsilon"]), number(given["delta"])
    ensure(epsilon >= 0 and 0 <= delta <= 1, "epsilon must be at least 0 and delta in [0, 1]")
    values = list(map(number, numbers))

    def short(i: Interval) -> Pair:
        """Enclose −δ(ε)."""
        if law == "event":
            return i.sub(i.mul(i.exp(i.of(epsilon)), i.of(values[1])), i.of(values[0]))
        if law == "laplace":
            return i.sub(i.exp(i.of(min(epsilon - values[0], Fraction(0)) / 2)), i.of(1))
        return i.neg(gdp_delta(values[0], epsilon)(i)) if values[0] else ZERO

    ensure(law in ("event", "laplace", "gaussian"), f"{law!r} is not a pair of laws")
    # −δ(ε) ≤ −δ is decided strictly: equality is not a refutation
    least = delta + Fraction(1, 10**400)
    ensure(at_most(short, -least), f"δ({float(epsilon):.9g}) is not shown to exceed {float(delta):.6g}")
    return ["Refuted", query, str(epsilon), str(delta), relation, observer]


def group(rule: str, found: list[Any], given: dict[str, Any]) -> list[Any]:
    """Infer what protects several units at once."""
    keys(given, "size", optional=("delta",))
    [[_, subject, curve, relation, *rest]] = premises(found, "Private")
    size = integer(given["size"], 2)
    ensure(
        (curve[0] == "approximate") == ("delta" in given),
        "a delta belongs to (epsilon, delta), and only there",
    )
    if curve[0] == "approximate":
        epsilon, spent, delta = number(curve[1]), number(curve[2]), number(given["delta"])

        def grown(i: Interval) -> Pair:
            """Enclose δ₀ Σ r^j over j < size, r = e^ε, bit by bit of the size."""
            total, power, ratio = ZERO, i.of(1), i.exp(i.of(epsilon))
            for bit in bin(size)[2:]:
                total, power = i.mul(total, i.add(i.of(1), power)), i.mul(power, power)
                if bit == "1":
                    total, power = i.add(total, power), i.mul(power, ratio)
            return i.mul(i.of(spent), total)

        ensure(at_most(grown, delta), "delta does not cover the group")
        curve = ["approximate", str(size * epsilon), str(delta)]
    else:
        factors = {"pure": [size], "gdp": [size**2], "zcdp": [size**2], "near-gdp": [size**2, size]}.get(
            curve[0]
        )
        if factors is None:
            raise Rejected(f"no group rule for {curve[0]}")
        curve = rebuilt(curve, [k * amount for k, amount in zip(factors, amounts_of(curve), strict=True)])
    return ["Private", subject, curve, f"{relation}, groups of {size}", *rest]


def despite(rule: str, found: list[Any], given: dict[str, Any]) -> list[Any]:
    """Infer what is left of a point after a rare departure."""
    keys(given, "delta")
    [[_, subject, curve, *rest], [_, query, kind, probability]] = premises(found, "Private", "Rare")
    ensure(curve[0] == "approximate", "only (epsilon, delta) takes a departure")
    ensure(query == subject, f"the departure is of {query!r}, not of {subject!r}")
    epsilon, spent, delta = number(curve[1]), number(curve[2]), number(given["delta"])
    ensure(delta <= 1, "delta is above 1")

    def distant(i: Interval) -> Pair:
        return i.add(i.of(spent), i.mul(i.of(number(probability)), i.add(i.of(1), i.exp(i.of(epsilon)))))

    enough = spent + number(probability) <= delta if kind == "event" else at_most(distant, delta)
    ensure(enough, "delta does not cover the departure")
    return ["Private", subject, ["approximate", curve[1], str(delta)], *rest[:2], ANYONE]


def replaced(rule: str, found: list[Any], given: dict[str, Any]) -> list[Any]:
    """Infer replace-one from groups of two under add-remove."""
    keys(given)
    [[_, subject, curve, relation, *rest]] = premises(found, "Private")
    ensure(relation == "add-remove, groups of 2", f"needed add-remove for groups of 2, found {relation}")
    return ["Private", subject, curve, "replace-one", *rest]


def observer_of(rule: str, found: list[Any], given: dict[str, Any]) -> list[Any]:
    """Infer who sees what after post-processing, the billboard rule, or local messages."""
    keys(given)
    if rule == "local":
        whole = composition("nodes", found, {})
        ensure(found[1][4] == 1, "a message reads one unit only")
        ensure(whole[3] == "replace-one", "a message has one record, which is replaced")
        return [*whole[:4], "local", whole[5]]
    [[_, _, curve, relation, observer, units], [_, shown, audience, _]] = premises(found, "Private", "View")
    needed = "local" if rule == "local_view" else "central"
    ensure(observer == needed, f"needed a {needed} statement, found {observer}")
    wanted = {"post_process": "everyone", "billboard": "others"}.get(rule, audience)
    ensure(audience == wanted, f"needed what is shown to {wanted}, found {audience}")
    seen = {"post_process": "central", "billboard": "joint", "local_view": "local"}[rule]
    return ["Private", shown, curve, relation, seen, units]


def conversion(rule: str, found: list[Any], given: dict[str, Any]) -> list[Any]:
    """Infer a statement in another measure."""
    [[_, subject, curve, *rest]] = premises(found, "Private")
    if rule == "to_zcdp":
        keys(given)
        match curve:
            case ["pure", epsilon]:
                rho = number(epsilon) ** 2 / 2
            case ["gdp", square]:
                rho = number(square) / 2
            case ["bounded-range", eta]:
                rho = number(eta) ** 2 / 8
            case ["lattice", variance, shifts, count]:
                rho = count * Fraction(max(lengths(shifts))) / number(variance) / 2
            case _:
                raise Rejected(f"{curve[0]} does not imply zCDP")
        return ["Private", subject, ["zcdp", str(rho)], *rest]
    if rule == "to_pure":
        keys(given)
        ensure(curve[0] == "bounded-range", f"needed bounded range, found {curve[0]}")
        return ["Private", subject, ["pure", curve[1]], *rest]
    if rule == "to_renyi":
        keys(given, "orders")
        ensure(curve[0] == "zcdp", f"needed zCDP, found {curve[0]}")
        orders = [Fraction(1), *map(number, given["orders"])]
        ensure(len(orders) > 1 and all(a < b for a, b in pairwise(orders)), "orders should rise from above 1")
        points = [[str(order), str(order * number(curve[1]))] for order in orders[1:]]
        return ["Private", subject, ["renyi", *points], *rest]
    if rule == "to_gdp":
        keys(given, "mu_squared")
        ensure(curve[0] == "pure", f"only pure DP is converted to GDP, found {curve[0]}")
        square, epsilon = number(given["mu_squared"]), number(curve[1])
        ensure(square >= 0, "mu_squared is negative")

        def excess(i: Interval) -> Pair:
            half = i.div(i.sqrt(i.of(square)), i.of(2))
            return i.mul(upper_tail(i, half), i.add(i.of(1), i.exp(i.of(epsilon))))

        ensure(epsilon == 0 or at_most(excess, Fraction(1)), "mu_squared is too small")
        return ["Private", subject, ["gdp", str(square)], *rest]
    keys(given, "epsilon", "delta", optional=("order",))
    epsilon, delta = number(given["epsilon"]), number(given["delta"])
    ensure(epsilon >= 0 and 0 <= delta <= 1, "epsilon must be at least 0 and delta in [0, 1]")
    ensure(
        implies(curve, epsilon, delta, given),
        f"({float(epsilon):.9g}, {float(delta):.6g}) does not follow from {curve[0]}",
    )
    return ["Private", subject, ["approximate", str(epsilon), str(delta)], *rest]


def implies(curve: list[Any], epsilon: Fraction, delta: Fraction, given: dict[str, Any]) -> bool:
    """Decide whether a curve's δ at `epsilon` is at most `delta`."""
    divergence = divergence_of(curve, given)
    needs_order = divergence is not None and curve != ["zcdp", "0"]
    ensure(needs_order == ("order" in given), "an order belongs to zCDP and Rényi bounds, and only there")
    match curve:
        case ["pure", bound]:
            return epsilon >= number(bound) or at_most(pure_delta(number(bound), epsilon), delta)
        case ["approximate", bound, spent]:
            return number(bound) <= epsilon and number(spent) <= delta
        case ["bounded-range", eta]:
            return epsilon >= number(eta) or at_most(range_delta(number(eta), epsilon), delta)
        case ["gdp", square]:
            return number(square) == 0 or at_most(gdp_delta(number(square), epsilon), delta)
        case ["near-gdp", square, distance]:
            return at_most(near_delta(number(square), number(distance), epsilon), delta)
        case ["zcdp" | "renyi", *_]:
            if divergence is None or not needs_order:
                return True
            order = number(given["order"])
            ensure(order > 1 and delta > 0, "needed order > 1 and delta > 0")
            return at_most(renyi_excess(order, divergence, epsilon, delta), Fraction(0))
        case ["lattice", variance, shifts, count]:
            return all(lattice_at_most(number(variance), s, integer(count), epsilon, delta) for s in shifts)
    raise Rejected(f"unknown curve {curve[0]!r}")


def divergence_of(curve: list[Any], given: dict[str, Any]) -> Fraction | None:
    """Return the bound on the Rényi divergence at the witness order, None for other curves."""
    if curve[0] == "zcdp":
        rho = number(curve[1])
        return rho * number(given["order"]) if rho > 0 and "order" in given else rho
    if curve[0] == "renyi":
        found = [number(point[1]) for point in curve[1:] if point[0] == given.get("order")]
        ensure(len(found) == 1, "needed one of the listed orders")
        return found[0]
    return None


ASSUMED = {
    **dict.fromkeys(("assume_points", "assume_clipped", "assume_ball", "assume_rank_one"), contribution),
    **{"assume_cell": contribution, "assume_neighbours": neighbours, "assume_event": neighbours},
}
TRANSFORMS = ("joint", "centred", "factorised", "buffered")  # public, of a query before its noise
INFERRED = {
    **dict.fromkeys(("linear", "differences", "joint"), sensitivity),
    **dict.fromkeys(("centred", "factorised", "buffered"), transformed),
    **dict.fromkeys(NOISE, noise),
    **dict.fromkeys(("compose", "nodes", "parallel", "mixture", "partition"), composition),
    **{"group": group, "despite": despite, "replace_one": replaced},
    **dict.fromkeys(("post_process", "billboard", "local", "local_view"), observer_of),
    **dict.fromkeys(("to_pure", "to_renyi", "to_zcdp", "to_gdp", "to_approximate"), conversion),
    **dict.fromkeys(("apart", "refute"), refuted),
}


def infer(rule: str, found: list[Any], given: dict[str, Any]) -> list[Any]:
    """Return what `rule` gives from these premises and this witness, or reject."""
    if rule.startswith("assume_"):
        premises(found)
        return ASSUMED.get(rule, hypothesis)(rule, given)
    if rule not in INFERRED:
        raise Rejected(f"unknown rule {_brief(rule)}")
    return INFERRED[rule](rule, found, given)


# ------------------------------------------------------------------ derivations


def canonical(value: object) -> bytes:
    """Return the canonical JSON that digests are taken over."""
    form = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return form.encode("utf-8", "surrogatepass")


def digest(value: object) -> str:
    """Return the digest of a JSON value."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


def check_derivation(steps: object) -> list[list[Any]]:
    """Infer every step again; return the conclusions, or reject naming the first step that fails."""
    if not isinstance(steps, list) or not 0 < len(steps) <= MAX_STEPS:
        raise Rejected(f"the derivation should be a list of 1 to {MAX_STEPS} steps")
    Work.spent = 0
    facts: list[list[Any]] = []
    values: list[str] = []  # for each step, its covers, or how its query was transformed, as a digest
    drawn: list[Draws] = []  # for each step, all noise that it rests on
    for index, step in enumerate(steps):
        name = step.get("rule") if isinstance(step, dict) else None
        try:
            keys(step, "rule", "from", "with", "gives", "digest")
            before = step["from"]
            spend(1000)
            fine = isinstance(before, list) and len(before) <= 5000
            ensure(fine, "from should be a list of at most 5000 earlier steps")
            spend(12 * len(before))
            for k in before:
                ensure(type(k) is int and 0 <= k < index, f"premise {k!r} is not an earlier step")
            keys(step["with"], *step["with"])
            gives = infer(text(step["rule"]), [facts[k] for k in before], step["with"])
            tied(step["rule"], [facts[k] for k in before], [drawn[k] for k in before])
            paid = draws(step, values, [drawn[k] for k in set(before)])
            same = canonical(gives) == canonical(step["gives"])
            ensure(same, f"claims {_brief(step['gives'])}, but proves {_brief(gives)}")
            body = {"rule": step["rule"], "with": step["with"], "gives": step["gives"]}
            chained = {**body, "from": [steps[k]["digest"] for k in before]}
            ensure(step["digest"] == digest(chained), "its digest does not match")
        except Rejected as why:
            raise Rejected(f"step {index} ({_brief(name)}): {why}") from None
        except BROKEN as why:
            raise Rejected(
                f"step {index} ({_brief(name)}): {type(why).__name__} while inferring it"
            ) from None
        facts.append(gives)
        drawn.append(paid)
        values.append(said(step, facts, values))
    return facts


#: Names of noise and of filters; for each the query, how it was transformed, and the covers.
Draws = dict[str, tuple[str, str, str]]


def draws(step: dict[str, Any], values: list[str], before: list[Draws]) -> Draws:
    """Return the noise that a step rests on, verifying that a key is drawn on one query, over one cover.

    a + X and b + X, shown together, tell a − b exactly; bounds and relations of one query may differ.
    """
    rule, given, found = step["rule"], step["with"], Draws()
    if rule in NOISE or rule == "assume_filter":
        query = step["from"][0] if rule in NOISE else None
        name = text(given["query"] if query is None else given["key"])
        most = MAX_SUBJECT if query is None else MAX_KEY
        ensure(len(name) <= most, f"the name of a draw has more than {most} characters")
        on = ("", rule, "") if query is None else (str(step["gives"][1]), values[query], "")
        return {name: on}
    spend(sum(map(len, before)))
    for part in before:
        for name, value in part.items():
            same = found.setdefault(name, value) == value
            ensure(same, f"the key {_brief(name)} is drawn on two queries")
    if rule in ("nodes", "local"):
        over = values[step["from"][1]]
        return {name: (query, made, over) for name, (query, made, _) in found.items()}
    return found


def said(step: dict[str, Any], facts: list[list[Any]], values: list[str]) -> str:
    """Return a digest of covers, or of what was done to a query up to this step; empty for other steps.

    A stated bound, and why a hypothesis is believed, are no part of it.
    """
    rule, before = step["rule"], step["from"]
    if rule not in (*TRANSFORMS, "assume_covers", "assume_tree"):
        return ""
    given = {k: v for k, v in step["with"].items() if k not in ("because", "most")}
    return digest([rule, given, [facts[k] for k in before[1:2]], [values[k] for k in before[:1]]])


def tied(rule: str, found: list[list[Any]], drawn: list[Draws]) -> None:
    """Verify that a view names the noise it reads, and a choice that of its parts."""
    if rule not in ("post_process", "billboard", "local_view", "mixture"):
        return
    spend(sum(len(name) for part in drawn for name in part) // 10 + sum(map(len, drawn)))
    names = {id(part): sorted(part) for part in drawn}
    listed = [names[id(part)] for part in drawn]
    if rule == "mixture":
        ensure(found[0][2] == listed[1:], f"the choice is not among {_brief(listed[1:3])}")
    else:
        ensure(found[1][3] == listed[0], f"the view does not read {_brief(listed[0])}, which is paid for")


def _brief(value: object) -> str:
    form = json.dumps(value, sort_keys=True, separators=(",", ":"))  # ASCII: nothing reaches a terminal raw
    form = form[1:-1] if isinstance(value, str) else form
    return form if len(form) <= 200 else form[:197] + "..."


def reachable(steps: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the steps that the last one rests on."""
    wanted = {len(steps) - 1}
    for index in range(len(steps) - 1, -1, -1):
        if index in wanted:
            wanted.update(steps[index]["from"])
            yield steps[index]


# ------------------------------------------------------------------ what the evidence is about

#: Hypotheses that a property test on the running code knows; others are never ``tested``.
TESTED = {
    *("assume_points", "assume_clipped", "assume_ball", "assume_rank_one", "assume_cell", "assume_covers"),
    *("assume_tree", "assume_view", "assume_range", "assume_each"),
    *("assume_rounds", "assume_numbers", "assume_choice"),
}


def promised(steps: list[dict[str, Any]], name: str) -> tuple[str, bool]:
    """Return what a hypothesis bounds, in words, and whether a test of it is known; `name`: its digest."""
    step = next(s for s in steps if s["digest"] == name)
    rule, query, drawn = step["rule"], step["with"]["query"], queries(steps, step["with"]["query"])
    if rule not in TESTED:
        return f"no test of {rule} is known", False
    match rule:
        case "assume_view":
            others = not any(s["gives"][:3] == ["View", query, "everyone"] for s in reachable(steps))
            return f"{'others' if others else 'everyone'}'{'' if others else 's'} view is unchanged", True
        case "assume_choice":
            return "one part is drawn", True
        case "assume_numbers" if drawn:
            return f"at most {step['with']['most']} numbers", True
        case "assume_rounds" if drawn and step["gives"][3] == 1:
            return "a unit enters the round of its number alone", True
        case "assume_covers" | "assume_tree" if drawn:
            return "only covering releases move", True
        case "assume_rounds" | "assume_numbers" | "assume_covers" | "assume_tree":
            pass
        case _ if drawn and all(f[0] != "Contribution" or f[2] in ("cell", "points") for f in drawn):
            return "; ".join(map(_bound_of, drawn)), True
    return f"no release of {query} is tested", False


def queries(steps: list[dict[str, Any]], query: str) -> list[list[Any]]:
    """Return what is known of the movement of a query, once for every noise that is drawn on it."""
    noisy = [step for step in reachable(steps) if step["rule"] in NOISE]
    found = [steps[step["from"][0]]["gives"] for step in reversed(noisy)]
    return [fact for fact in found if fact[1] == query]


def _bound_of(fact: list[Any]) -> str:
    if fact[0] == "Stable":
        return f"{fact[2]} {fact[3]}"
    return f"shifts {_brief(fact[2])}" if fact[0] == "Shifts" else f"contributions: {fact[2]}"


def furthest(fact: list[Any]) -> Fraction | None:
    """Return what no squared ℓ2 movement that keeps to a bound exceeds, where there is such a number."""
    if fact[0] == "Shifts":
        return Fraction(max(lengths(fact[2])))
    if fact[0] == "Stable" and fact[2] not in ("range", "each"):
        return number(fact[3]) ** (2 if fact[2] == "l1" else 1)
    return None


# ------------------------------------------------------------------ shapes

Shape = Callable[[Any, str], None]

DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII)


def closed(required: dict[str, Shape], optional: dict[str, Shape] | None = None) -> Shape:
    """Return the shape of a table with these members and no others."""
    known = {**required, **(optional or {})}

    def shape(value: Any, where: str) -> None:
        members = _table(value, where)
        for name in required:
            ensure(name in members, f"{where} lacks {_brief(name)}")
        for name, member in members.items():
            ensure(name in known, f"{where} has an unknown member {_brief(name)}")
            known[name](member, f"{where}.{name}")

    return shape


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Rejected(f"{where} should be a table")
    return value


def each(member: Shape) -> Shape:
    """Return the shape of a list, or of a table of any names, whose members have one shape."""

    def shape(value: Any, where: str) -> None:
        ensure(isinstance(value, dict | list), f"{where} has the wrong shape")
        for inner in value.values() if isinstance(value, dict) else value:
            member(inner, where)

    return shape


def kind(*types: type) -> Shape:
    """Return the shape of a value of one of these types; true is no integer."""

    def shape(value: Any, where: str) -> None:
        ensure(type(value) in types, f"{where} has the wrong shape")

    return shape


def written(pattern: re.Pattern[str] | tuple[str, ...]) -> Shape:
    """Return the shape of a text that fits a pattern, or is one of some words."""

    def shape(value: Any, where: str) -> None:
        ensure(isinstance(value, str), f"{where} should be text")
        fits = value in pattern if isinstance(pattern, tuple) else pattern.fullmatch(value) is not None
        ensure(fits, f"{where} is {_brief(value)}, which it cannot be")

    return shape


def amount(least: int | None = 0, *, endless: bool = False) -> Shape:
    """Return the shape of a number, as JSON number or as text, of at least `least`."""

    def shape(value: Any, where: str) -> None:
        found = exact_of(value, where)
        ensure(endless or found is not None, f"{where} should be finite")
        ensure(found is None or least is None or found >= least, f"{where} should be at least {least}")

    return shape


def either(*shapes: Shape) -> Shape:
    """Return the shape of null or of what has one of these shapes, told by its type."""

    def shape(value: Any, where: str) -> None:
        for one in shapes if value is not None else ():
            one(value, where)

    return shape


def listed(shape: Shape) -> Shape:
    """Return the shape of a list of members of one shape."""
    return lambda value, where: (kind(list)(value, where), each(shape)(value, where))[0]


def tabled(shape: Shape) -> Shape:
    """Return the shape of a table whose names are free."""
    return lambda value, where: (kind(dict)(value, where), each(shape)(value, where))[0]


def anything(value: Any, where: str) -> None:
    """Take any value: what a subject takes, a witness holds or a run reports."""


def moment(value: Any, where: str) -> None:
    """Take a second that a calendar has, of a year in which certificates were made."""
    written(MOMENT)(value, where)
    ensure(day(value, where).year >= 2020, f"{where} is {_brief(value)}, before there were certificates")


def day(value: Any, where: str) -> date:
    """Return the day of a text that begins with one, as YYYY-MM-DD, or reject."""
    try:
        return date.fromisoformat(text(value)[:10])
    except ValueError:
        raise Rejected(f"{where} is {_brief(value)}, which is no date; write YYYY-MM-DD") from None


TEXT, FLAG, COUNT = kind(str), kind(bool), kind(int)
RELATION = written(("replace-one", "add-remove", "bounded-row"))
GUARANTEE: dict[str, Shape] = {
    "model": written(("central", "joint", "local")),
    "unit": TEXT,
    "relation": RELATION,
    "epsilon": amount(),
}
CLAIM = closed(
    {
        "schema": written(("dpaccount/claim/1",)),
        "name": written(NAME),
        "guarantee": closed(GUARANTEE, {"delta": amount(), "radius": amount()}),
        "subject": closed(
            {"use": TEXT},
            {
                "parameters": tabled(anything),
                "data": closed(
                    {"shape": anything, "low": anything, "high": anything},
                    {"dtype": TEXT, "left": anything, "right": anything},
                ),
            },
        ),
    },
    {
        "data": closed({"file": TEXT, "ledger": TEXT}, {"public": FLAG}),
        "audit": closed({}, dict.fromkeys(("trials", "confidence", "seconds", "seed"), amount())),
        "assume": tabled(TEXT),
        "governance": tabled(TEXT),
    },
)
SEEN = ("unit", "left", "right", "rows", "other_rows", "coins", "wrong")  # of a pair of datasets
ENTRY = closed(
    {
        **dict.fromkeys(("rule", "query", "value", "test"), TEXT),
        **{"relation": RELATION, "step": written(DIGEST)},
        "status": written(("tested", "refuted", "untested", "accepted")),
        "examples": COUNT,
        "worst": TEXT,
        "counterexample": either(closed(dict.fromkeys(SEEN, anything))),
        "source": written(DIGEST),
    }
)
POINT = closed(
    {
        "of": written(("claim", "proof")),
        **{"limit": amount(endless=True), "delta": amount(), "epsilon_lower": amount()},
        **dict.fromkeys(("hits", "runs", "alarms", "other_runs"), COUNT),
        **{"risk": amount(None, endless=True), "power": amount(), "false_alarm": amount(), "event": TEXT},
    }
)
AUDIT = closed(
    {
        **{"attack": TEXT, "trials": COUNT, "quick": FLAG, "confidence": amount()},
        **{"epsilon_lower": amount(), "points": listed(POINT)},
        "witness": closed(
            {}, dict.fromkeys((*SEEN, "base", "event", "score", "pairs_tried", "findings"), anything)
        ),
    },
    {"distance": amount()},
)
RELEASE = closed(
    {
        **{"report": tabled(anything), "ledger_entry": COUNT, "noise": written(("secure",))},
        "ledger_head": written(re.compile(r"(sha256:)?[0-9a-f]{64}", re.ASCII)),
        **{"data": written(DIGEST), "code": written(DIGEST), "evaluation": either(tabled(anything))},
    }
)
SIGNATURE = closed(
    {
        **{"algorithm": written(("ed25519",)), "key": written(re.compile("[0-9a-f]{64}"))},
        **{"signed": moment, "value": written(re.compile("[A-Za-z0-9+/]{86}=="))},
    }
)
FIELDS: dict[str, Shape] = {
    "schema": written(("dpaccount/certificate/1",)),
    "verdict": written(("CERTIFIED", "REFUTED", "UNPROVEN")),
    "refutes": either(written(("claim", "proof", "hypothesis"))),
    "claim": CLAIM,
    "subject": closed(
        {
            **dict.fromkeys(("name", "use", "source", "status"), TEXT),
            **{"parameters": tabled(anything), "code": either(written(DIGEST))},
        }
    ),
    "guarantee": closed({**GUARANTEE, "delta": amount()}, {"radius": amount()}),
    "proved": closed(
        {
            "epsilon": either(closed({"lower": either(amount()), "upper": amount(endless=True)})),
            **{"delta": either(amount()), "tight": either(written(())), "reason": either(TEXT)},
            "derivation": listed(anything),
        }
    ),
    "sensitivity": listed(ENTRY),
    "audit": either(AUDIT),
    "release": either(RELEASE),
    "releasable": FLAG,
    "hazards": listed(TEXT),
    "environment": tabled(TEXT),
    "created": moment,
    "digest": written(DIGEST),
    "signature": either(SIGNATURE),
}
CERTIFICATE = closed(FIELDS)


# ------------------------------------------------------------------ certificates


def exact_of(value: object, name: str) -> Fraction | None:
    """Read a JSON number as the decimal written, or a decimal string; ``"inf"`` is None."""
    if value == "inf":
        return None
    if isinstance(value, str) and "/" in value:
        return number(value)
    form = value if isinstance(value, str) else repr(value)
    number_like = type(value) in (int, float, str) and len(form) <= MAX_TEXT
    good = r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?"
    ensure(number_like and re.fullmatch(good, form, re.ASCII) is not None, f"{name} should be a number")
    spend(200)  # as long as its exponent
    return Fraction(form)


#: What stands on every certificate with a proof, whatever else it says.
HAZARDS = (
    "Proved under the listed hypotheses; their tests search for counterexamples and do not prove them.",
    "Not covered: a malicious author in the same process, timing, power loss beyond fsync's promise,"
    " and data that leaves by another way than what is shown: printing, logs, warnings, files, the network.",
    "Not covered: data that enters by another way than the rows that are read: other files and stores that"
    " the code opens, copies of the data among them.",
    "Not looked for: what the code does at rare places only, such as one special value that no test tries.",
    "Each key of the proof is drawn once, by its law, and of a mixture one part is drawn: receipts see to it"
    " where the code runs, and no document can show it.",
    "That the digests are of the code and data that are meant, what one unit is, and who made this"
    " document, are for its reader to check.",
)
#: What stands on every other one.
UNPROVED_HAZARDS = (
    "An attack that fails proves nothing.",
    "Not covered: a malicious author, timing, and data that leaves by another way than the result:"
    " printing, logs, warnings, files, the network.",
)


def hazards_of(document: dict[str, Any]) -> list[str]:
    """Return what a certificate must say first of its limits: what it takes on trust, what is not covered."""
    claim, found = document["claim"], []
    for entry in document["sensitivity"]:
        if entry["status"] == "accepted":
            name = f"{entry['rule']} {entry['query']}"
            reason = claim.get("assume", {}).get(name, "")
            ensure(reason.strip() != "", f"the claim does not accept {_brief(name)}, or gives no reason")
            found.append(f"Accepted without a test: {name}, because: {reason}")
    found += HAZARDS if document["proved"]["derivation"] else UNPROVED_HAZARDS
    data = claim.get("data", {})
    if data:
        found.append("The reader of the data file is trusted to take every row by itself.")
    if data.get("public", False):
        found.append(
            "The claim says that its data are public; figures in `evaluation` read them without noise."
        )
    delta = exact_of(document["guarantee"]["delta"], "delta") or Fraction(0)
    if delta > Fraction(1, 100_000):
        found.append(
            f"delta = {float(delta):.6g} is large: publishing each record in the clear with that"
            " probability would satisfy it; values up to 1e-5 are usual."
        )
    if document["subject"]["status"] != "sound":
        found.append(f"The subject's status is {document['subject']['status']!r}.")
    return found


def short_numbers(document: dict[str, Any]) -> None:
    """Verify that the numbers of a guarantee are written in one way: a text only where no double is exact."""
    for name in ("epsilon", "delta", "radius"):
        value = document["guarantee"].get(name)
        if isinstance(value, str) and value != "inf":
            plain = re.fullmatch(r"(0|[1-9]\d*)(\.\d*[1-9])?([eE][+-]?[1-9]\d*)?", value, re.ASCII)
            ensure(
                "/" in value or plain is not None, f"guarantee.{name} is {_brief(value)}, not in short form"
            )
            exact = exact_of(value, name)
            short = (
                exact is not None
                and exact < 2**63
                and exact * 10**300 > 1
                and Fraction(repr(float(exact))) == exact
            )
            ensure(not short, f"guarantee.{name} is {_brief(value)}, which a JSON number says")


def check_certificate(document: dict[str, Any], at: date | None) -> None:
    """Verify shape, digest, derivation and verdict of a certificate, or reject."""
    CERTIFICATE(document, "the certificate")
    claim, proved = document["claim"], document["proved"]
    final = check_derivation(proved["derivation"])[-1] if proved["derivation"] else None
    used = sum(1 for _ in reachable(proved["derivation"])) if final else 0
    ensure(
        used == len(proved["derivation"]), "the derivation holds a step that its last one does not rest on"
    )
    body = {name: value for name, value in document.items() if name not in ("digest", "signature")}
    ensure(document["digest"] == digest(body), "the certificate's digest does not match its content")
    promise = canonical({"delta": 0, **claim["guarantee"]})
    ensure(canonical(document["guarantee"]) == promise, "guarantee differs from the claim's")
    bounded = claim["guarantee"]["relation"] == "bounded-row"
    ensure(bounded == ("radius" in claim["guarantee"]), "a radius goes with the relation bounded-row")
    short_numbers(document)
    check_subject(document)
    check_release(document)
    first = hazards_of(document)
    ensure(document["hazards"][: len(first)] == first, f"not listed first among the hazards: {_brief(first)}")
    until = claim.get("governance", {}).get("valid_until")
    if until is not None:
        last = day(until, "valid_until")
        ensure(at is None or at <= last, f"it was valid until {_brief(until)}")
    certified = follows(document, final)
    refuted = refutation(document, final)
    ensure(
        document["verdict"] == ("REFUTED" if refuted else "CERTIFIED" if certified is None else "UNPROVEN"),
        f"the verdict {document['verdict']!r} does not follow"
        + (f": {certified}" if certified and document["verdict"] == "CERTIFIED" else ""),
    )
    ensure((document["refutes"] is not None) == refuted, "refutes does not go with the verdict")
    reason = proved["reason"] is not None
    ensure(
        not (reason and document["verdict"] == "CERTIFIED"), "a reason why not belongs to no certified claim"
    )
    ensure(reason or final is not None, "a reason is needed where nothing is proved")


def check_release(document: dict[str, Any]) -> None:
    """Verify that what was released was certified, of these data by this code, and is marked as it is."""
    release, data = document["release"], document["claim"].get("data", {})
    certified = document["verdict"] == "CERTIFIED"
    ensure(certified or not document["releasable"], "only a certified claim is releasable")
    if release is None:
        return
    ensure(certified and bool(data), "a release goes with a certified claim that names its data")
    ensure(document["releasable"], "what was released is releasable")
    integer(release["ledger_entry"])  # an entry of its ledger
    ensure(release["code"] == document["subject"]["code"], "the release is by other code than the subject's")
    public = data.get("public", False)
    ensure(public or release["evaluation"] is None, "an evaluation without noise is of public data only")


def check_subject(document: dict[str, Any]) -> None:
    """Verify that claim, subject and parameters speak of the same thing."""
    subject, asked = document["subject"], document["claim"]["subject"]
    use = asked["use"]
    ensure(subject["use"] == use, "the subject is not the claim's")
    module, colon, _ = use.partition(":")
    name = module.rpartition(".")[2].replace("_", "-") if colon else use
    ensure(subject["name"] == name, f"the subject's name should be {_brief(name)}")
    for key, value in asked.get("parameters", {}).items():
        held = subject["parameters"].get(key)
        exact = type(value) in (int, float)
        same = (
            exact_of(held, "a parameter") == exact_of(value, "a parameter")
            if exact
            else str(held) == str(value)
        )
        ensure(same, f"the parameter {_brief(key)} is not the claim's")
    proved = bool(document["proved"]["derivation"])
    ensure(
        subject["code"] is not None or not proved, "what is proved is proved of code, whose digest is missing"
    )


def follows(document: dict[str, Any], final: list[Any] | None) -> str | None:
    """Return why the claim is not proved by the derivation and its evidence, or None if it is."""
    proved = document["proved"]
    if final is None or proved["epsilon"] is None:
        nothing = final is None and proved["epsilon"] is None and proved["delta"] is None
        ensure(nothing, "a proved epsilon and a derivation go together")
        ensure(document["sensitivity"] == [], "evidence on a hypothesis that the derivation does not use")
        return "there is no derivation"
    ensure(final[0] == "Private", "the last step is not a statement about privacy")
    subject, curve, relation, observer = final[1:5]
    ensure(curve[0] == "approximate", f"the last step should give (epsilon, delta), it gives {curve[0]}")
    ensure(subject == document["subject"]["name"], f"the derivation is about {_brief(subject)}")
    seen = [step["gives"] for step in reachable(document["proved"]["derivation"])]
    ensure(
        any(fact[:2] == ["View", subject] for fact in seen), "what the subject shows is not among the steps"
    )
    one_law(document["proved"]["derivation"])
    epsilon, delta = number(curve[1]), number(curve[2])
    upper = exact_of(proved["epsilon"]["upper"], "proved.epsilon.upper")
    ensure(upper is None or upper >= epsilon, "proved.epsilon.upper is below what the derivation proves")
    if proved["epsilon"]["lower"] is not None:
        lower = exact_of(proved["epsilon"]["lower"], "proved.epsilon.lower")
        ensure(lower is not None and lower <= epsilon, "proved.epsilon.lower is above the proved one")
    ensure(exact_of(proved["delta"], "proved.delta") == delta, "proved.delta is not the derivation's")
    return lacking(document, evidence(document), (delta, upper), relation, observer)


def lacking(
    document: dict[str, Any],
    entries: dict[str, dict[str, Any]],
    proved: tuple[Fraction, Fraction | None],
    relation: str,
    observer: str,
) -> str | None:
    """Return what the derivation and its evidence lack for the claim, or None."""
    promise, (delta, upper) = document["guarantee"], proved
    if relation != promise["relation"]:
        return f"the derivation is for {relation}"
    if observer != promise["model"]:
        return f"the derivation is for the {observer} model"
    wanted = exact_of(promise["epsilon"], "guarantee.epsilon")
    allowed = exact_of(promise["delta"], "guarantee.delta")
    if allowed is None or delta > allowed:
        return "the proved delta exceeds the claim's"
    if wanted is not None and (upper is None or upper > wanted):
        return "the proved epsilon exceeds the claim's"
    if document["audit"] is None:
        return "there is no audit"
    for name, entry in entries.items():
        if entry["status"] not in ("tested", "accepted") or entry["examples"] < 1:
            return f"the hypothesis {name[:15]}… has no passing evidence"
        if entry["relation"] != relation:
            return f"the hypothesis {name[:15]}… was tested for {_brief(entry['relation'])}"
    return None


def one_law(steps: list[dict[str, Any]]) -> None:
    """Verify that every key names one law of noise: two statements about one draw agree on it."""
    laws: dict[str, Any] = {}
    for step in reachable(steps):
        if "key" in step["with"]:
            given = {k: v for k, v in step["with"].items() if k not in ("bound", "epsilon", "distance")}
            law = [
                step["rule"],
                step["gives"][1],
                given,
                "frobenius-squared" in steps[step["from"][0]]["gives"],
            ]
            same = laws.setdefault(text(step["with"]["key"]), law) == law
            ensure(same, f"the key {_brief(step['with']['key'])} names two laws of noise")


def hypotheses_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the steps of the derivation that are hypotheses, by their digests."""
    steps = document["proved"]["derivation"]
    return {s["digest"]: s for s in reachable(steps) if s["rule"].startswith("assume_")} if steps else {}


def evidence(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the evidence on every hypothesis, by its digest; verify that it is about that hypothesis."""
    assumed = hypotheses_of(document)
    entries = {entry["step"]: entry for entry in document["sensitivity"]}
    ensure(len(entries) == len(document["sensitivity"]), "a hypothesis has evidence twice")
    ensure(entries.keys() <= assumed.keys(), "evidence on a hypothesis that the derivation does not use")
    for name, entry in entries.items():
        about(document, assumed[name], entry)
    missing = {"status": "missing", "relation": ""}
    return {name: entries.get(name, missing) for name in assumed}


def about(document: dict[str, Any], step: dict[str, Any], entry: dict[str, Any]) -> None:
    """Verify that an entry of evidence says what its step says, and no more than a test can have found."""
    given = step["with"]
    for member, right in (("rule", step["rule"]), ("query", given["query"]), ("test", given["because"])):
        ensure(entry[member] == right, f"the evidence's {member} is not that of its step")
    words, known = promised(document["proved"]["derivation"], step["digest"])
    ensure(entry["value"] == words, f"the evidence's value should be {_brief(words)}")
    failed = entry["counterexample"] is not None
    ensure(
        failed == (entry["status"] == "refuted"), "a counterexample goes with status refuted, and only there"
    )
    ensure(integer(entry["examples"], 0) <= MAX_RUNS, "more examples than this checker counts")
    worst = number(entry["worst"])
    ensure(worst >= 0, "what moved most moved by at least 0")
    if entry["status"] == "tested":
        ensure(known, f"no test of {_brief(step['rule'])} is known, so it was not tested")
        most = limit_of(document["proved"]["derivation"], step)
        ensure(most is None or worst <= most, "the evidence found more than its step allows")


def limit_of(steps: list[dict[str, Any]], step: dict[str, Any]) -> Fraction | None:
    """Return what the worst that a passing test found cannot exceed, where a number says it."""
    match step["rule"]:
        case "assume_view" | "assume_choice":
            return Fraction(0)
        case "assume_numbers":
            return Fraction(step["with"]["most"])
    found = [furthest(fact) for fact in queries(steps, step["with"]["query"])]
    return max((most for most in found if most is not None), default=None) if None not in found else None


def refutation(document: dict[str, Any], final: list[Any] | None) -> bool:
    """Say whether the certificate holds a refutation, re-checking the counts of its audits."""
    false = any(entry["status"] == "refuted" for entry in document["sensitivity"])
    beaten = audited(document, final) if document["audit"] is not None else set()
    kinds = {"claim": "claim" in beaten, "proof": "proof" in beaten, "hypothesis": false}
    if document["refutes"] is not None:
        ensure(kinds[document["refutes"]], f"nothing refutes the {_brief(document['refutes'])}")
    return any(kinds.values())


def audited(document: dict[str, Any], final: list[Any] | None) -> set[str]:
    """Return which of claim and proof the audit beats, from its counts and within the claim's confidence."""
    audit, beaten, risk = document["audit"], set(), Fraction(0)
    ensure([p["of"] for p in audit["points"]].count("claim") == 1, "an audit attacks the claim at one point")
    ensure(len(audit["points"]) <= MAX_POINTS, "more points than this checker counts")
    counted(document)
    for point in audit["points"]:
        chance = exact_of(point["risk"], "risk")
        ensure(chance is not None and 0 < chance < 1, "a risk lies strictly between 0 and 1")
        lower, bound = exact_of(point["epsilon_lower"], "epsilon_lower"), exact_of(point["limit"], "limit")
        risk += chance or 1
        confirm_counts(point, lower or Fraction(0))
        if point["of"] == "claim":
            promise = document["guarantee"]
            same = bound == exact_of(promise["epsilon"], "epsilon") and exact_of(
                point["delta"], "delta"
            ) == exact_of(promise["delta"], "delta")
            ensure(same, "the audit's claim is not the guarantee")
            ensure(
                lower == exact_of(audit["epsilon_lower"], "epsilon_lower"),
                "the audit's headline is not its point",
            )
        else:
            ensure(final is not None, "a point is of the claim or of the proof")
            ensure(asserts(document, point), "the proof does not assert the point that is attacked")
        if bound is not None and lower is not None and lower > bound:
            beaten.add(point["of"])
        elif bound is not None:
            ensure(stands(point, bound), "the audit's counts refute a limit that it says they leave standing")
    confidence = exact_of(audit["confidence"], "confidence")
    asked = exact_of(document["claim"].get("audit", {}).get("confidence", "0.95"), "confidence")
    ensure(confidence == asked, "the audit's confidence is not the claim's")
    fair = confidence is not None and 0 < confidence < 1 and risk <= 1 - confidence
    ensure(fair, "the audit's risks exceed its confidence")
    # as many points as are counted at most share it; a smaller risk would let no counts refute anything
    least = (1 - (confidence or Fraction(0))) / MAX_POINTS
    small = [p for p in audit["points"] if (exact_of(p["risk"], "risk") or Fraction(0)) < least]
    ensure(not small, "a point's risk is smaller than an equal share would be")
    return beaten


def counted(document: dict[str, Any]) -> None:
    """Verify that runs and trials go together, and with what the claim asks for.

    An attack on a proof scores every run at every point, but for a twentieth that chooses thresholds, and a
    few more where runs are few; one on a function also spends runs on the search.  Slow runs are fewer.
    """
    audit, trials = document["audit"], integer(document["audit"]["trials"])
    asked = exact_of(document["claim"].get("audit", {}).get("trials", 20_000), "trials") or Fraction(0)
    ensure(10 <= asked <= MAX_RUNS and asked.denominator == 1, f"a claim asks for 10 to {MAX_RUNS} runs")
    runs = {integer(p["runs"]) + integer(p["other_runs"]) for p in audit["points"]}
    ensure(len(runs) == 1 and max(runs) <= trials, "the audit counts other runs than it made")
    if document["proved"]["derivation"]:
        ensure(4 * min(runs) >= 3 * trials, "the audit says that it made more runs than it counts")
        ensure(trials >= 60, "an attack on a proof makes at least 30 runs a side")
        most = max(int(asked) // 2 // (10 if audit["quick"] else 1), 30)
        ensure(trials <= 2 * most, "the audit says that it made more runs than the claim asks for")


def asserts(document: dict[str, Any], point: dict[str, Any]) -> bool:
    """Say whether a curve that the derivation turns into a point gives this one too."""
    steps = document["proved"]["derivation"]
    limit, delta = exact_of(point["limit"], "limit"), exact_of(point["delta"], "delta")
    if limit is None or delta is None:
        return False
    for step in reachable(steps):
        if step["rule"] == "to_approximate":
            curve = steps[step["from"][0]]["gives"][2]
            if curve[0] in ("pure", "gdp", "lattice") and implies(curve, limit, delta, {}):
                return True
    return False


NEAR = Fraction(1, 10**6)  # by how much the rates and the bound of an audit may fall short of its counts'


def confirm_counts(point: dict[str, Any], lower: Fraction) -> None:
    """Verify ε ≥ `lower` from the counts of an event in runs on D and on D′ (Clopper & Pearson 1934).

    With probability at least 1 − risk, P(event|D) ≥ p₁ and P(event|D′) ≤ p₂, each binomial tail at
    most risk/2; then e^ε ≥ (p₁ − δ)/p₂.
    """
    hits, runs = integer(point["hits"], 0), integer(point["runs"])
    alarms, others = integer(point["alarms"], 0), integer(point["other_runs"])
    ensure(hits <= runs and alarms <= others and max(runs, others) <= MAX_RUNS, "more hits than runs")
    risk, delta = exact_of(point["risk"], "risk"), exact_of(point["delta"], "delta")
    p, q = exact_of(point["power"], "power"), exact_of(point["false_alarm"], "false_alarm")
    if risk is None or delta is None or p is None or q is None:
        raise Rejected("the audit's numbers should be finite")
    ensure(0 < risk < 1 and 0 <= p <= 1 and 0 < q <= 1, "the audit's probabilities are out of range")
    i = Interval(40)
    high = binomial_tail(i, runs, p, hits, up=True) if p > 0 else ZERO
    low = binomial_tail(i, others, q, alarms, up=False) if q < 1 else ZERO
    half = i.of(risk / 2)
    ensure(high[1] <= half[0], "the audit's power is not supported by its counts")
    ensure(low[1] <= half[0], "the audit's false-alarm rate is not supported by its counts")
    if lower:
        ensure(p - delta > 0, "the audit's power does not exceed delta")
        ensure(i.exp(i.of(lower))[1] <= i.of((p - delta) / q)[0], "the audit's lower bound does not follow")


def stands(point: dict[str, Any], limit: Fraction) -> bool:
    """Say whether the counts leave e^limit ≥ (p₁ − δ)/p₂ standing, p₁ and p₂ as in `confirm_counts`.

    They do where some rate x is at most the largest p₂ and δ + e^limit x at least the smallest p₁.  At the
    rates that were seen themselves no tail is below 1/2; else x is sought with floats and then verified.
    """
    hits, runs, alarms, others = (int(point[name]) for name in ("hits", "runs", "alarms", "other_runs"))
    half = (exact_of(point["risk"], "risk") or Fraction(1)) / 2
    delta, i = exact_of(point["delta"], "delta") or Fraction(0), Interval(40)
    factor = Fraction(i.exp(i.of(min(limit, Fraction(1000))))[0])
    seen = Fraction(alarms, others)
    if delta + factor * seen >= Fraction(hits, runs) or alarms == others:
        return True
    x = Fraction(largest_rate(others, alarms, float(half))) * (1 - Fraction(1, 10**6))
    if x > seen and binomial_tail(i, others, x, alarms, up=False)[0] <= i.of(half)[1]:
        raise Rejected("a rate could not be verified from its counts")
    y = delta + factor * max(x, seen)
    return bool(y >= Fraction(hits, runs)) or bool(
        y > 0 and binomial_tail(i, runs, y, hits, up=True)[0] > i.of(half)[1]
    )


def largest_rate(n: int, k: int, risk: float) -> float:
    """Return about the largest p with P(Bin(n, p) ≤ k) ≥ `risk`, k < n: a search; its result is verified."""
    low, high = k / n, 1.0
    choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    for _ in range(50):
        p = (low + high) / 2
        if not low < p < high:
            break
        total = term = 1.0
        steps = 0
        for j in range(k, 0, -1):
            steps += 1
            term *= j / (n - j + 1) * (1 - p) / p
            total += term
            if term < total * 1e-12:
                break
        spend(20 + steps // 2)
        tail = choose + k * math.log(p) + (n - k) * math.log1p(-p) + math.log(total)
        low, high = (p, high) if tail >= math.log(risk) else (low, p)
    return low


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
    odds = i.of(p / (1 - p) if up else (1 - p) / p)
    logs = i.add(i.mul(i.of(k), i.ln(i.of(p))), i.mul(i.of(n - k), i.ln(i.of(1 - p))))
    choose = i.sub(log_factorial(i, n), i.add(log_factorial(i, k), log_factorial(i, n - k)))
    term = i.exp(i.add(choose, logs))
    total, steps = term, (range(k, n) if up else range(k, 0, -1))
    for j in steps:
        ratio = i.mul(i.of(Fraction(n - j, j + 1) if up else Fraction(j, n - j + 1)), odds)
        # ratios fall from here on: the rest is at most term·r/(1−r)
        if ratio[1] < Decimal("0.999") and term[1] < total[1].scaleb(-30, i.up):
            rest = i.div(i.mul(term, ratio), i.sub(i.of(1), ratio))
            return total[0], i.add(total, rest)[1]
        term = i.mul(term, ratio)
        total = i.add(total, term)
    return total


# ------------------------------------------------------------------ command line


def parse(raw: bytes) -> Any:
    """Return the JSON document, refusing duplicate keys, NaN, excessive depth and oversized numbers.

    Raises `Rejected` for numbers that are not in their shortest form: two texts never are one document
    of the same digest.
    """
    bounded(raw)

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(members)
        if len(table) != len(members):
            raise Unreadable("a key stands twice in one table")
        return table

    def refuse(name: str) -> Any:
        raise Unreadable(f"{name[:40]} is not a number here")

    def real(form: str) -> float:
        value = float(form) if len(form) <= 400 else math.inf
        if not math.isfinite(value):
            refuse(form)
        ensure(repr(value) == form and form != "-0.0", f"{form[:60]} is not how {value + 0.0!r} is written")
        return value

    def whole(form: str) -> int:
        value = int(form) if len(form) <= 400 else refuse(form)
        ensure(form != "-0", "-0 is not how 0 is written")
        return int(value)

    try:
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=pairs,
            parse_constant=refuse,
            parse_float=real,
            parse_int=whole,
        )
    except UnicodeDecodeError as why:
        raise Unreadable(f"byte {why.start} is not UTF-8") from None
    except json.JSONDecodeError as why:
        raise Unreadable(f"line {why.lineno}, column {why.colno}: {why.msg}") from None
    if re.search(rb"\\u[dD][89a-fA-F]", raw):
        _refuse_surrogates(value)
    return value


def bounded(raw: bytes) -> None:
    """Refuse a document that would be long, deep or large in memory, by its bytes, before it is parsed."""
    if len(raw) > MAX_BYTES:
        raise Unreadable(f"more than {MAX_BYTES} bytes; at most so many are read")
    inner = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    if max(inner.count(b"{") + inner.count(b"["), inner.count(b'"') // 2) > MAX_PARTS or (
        inner.count(b",") > 4 * MAX_PARTS
    ):
        raise Unreadable(f"more than {MAX_PARTS} lists, tables or texts, or four times as many members")
    outside = b"".join(inner.split(b'"')[::2])
    brackets = outside.translate(None, bytes(set(range(256)) - set(b"[]{}")))
    deepest = max(accumulate(1 if c in b"[{" else -1 for c in brackets), default=0)
    if deepest > MAX_DEPTH:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels")


def _refuse_surrogates(value: object) -> None:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str) and not part.isascii() and SURROGATE.search(part):
            raise Unreadable("a string holds an unpaired surrogate")
        waiting += part if isinstance(part, list) else ()
        waiting += [m for pair in part.items() for m in pair] if isinstance(part, dict) else ()


def check(raw: bytes, at: date | None = None, *, derivation: bool = False) -> str:
    """Return what was confirmed; raise `Rejected` naming what fails, or `Unreadable`."""
    return judged(raw, at, derivation=derivation)[1]


def judged(raw: bytes, at: date | None = None, *, derivation: bool = False) -> tuple[str, str]:
    """Return the verdict of a valid certificate, and what was confirmed in words.

    With `derivation` the document is a bare derivation, whose verdict is ``DERIVATION``: it speaks of no
    claim, subject or evidence.  Raises `Rejected` naming what fails, or `Unreadable`.
    """
    Work.spent = 0
    document = parse(raw)
    schema = document.get("schema") if isinstance(document, dict) else None
    if derivation:
        if schema != "dpaccount/derivation/1" or set(document) != {"schema", "steps"}:
            raise Unreadable("not a JSON object of schema dpaccount/derivation/1 with its steps alone")
        return (
            "DERIVATION",
            f"derivation of {len(check_derivation(document['steps']))} steps: every step follows",
        )
    if schema != "dpaccount/certificate/1":
        more = "; --derivation checks a bare one" if schema == "dpaccount/derivation/1" else ""
        raise Unreadable(f"not a JSON object of schema dpaccount/certificate/1{more}")
    try:
        check_certificate(document, at)
    except BROKEN as why:
        raise Rejected(f"a field has the wrong shape ({type(why).__name__}: {str(why)[:80]})") from None
    steps, verdict = len(document["proved"]["derivation"]), document["verdict"]
    return verdict, f"{verdict}: the digest, {steps} steps and the verdict follow"


def signature_of(raw: bytes) -> str:
    """Return what can be said of a valid document's signature without a key."""
    return "unsigned" if json.loads(raw).get("signature") is None else "signed, not checked"


EXIT = {"CERTIFIED": 0, "DERIVATION": 0, "REFUTED": 1, "UNPROVEN": 3}
USAGE = "usage: checker.py FILE [--at YYYY-MM-DD] [--derivation]"


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    bare, at = "--derivation" in arguments, None
    rest = [word for word in arguments if word != "--derivation"]
    if len(rest) == 3 and rest[1] == "--at":
        try:
            at = date.fromisoformat(rest[2])
        except ValueError:
            sys.stderr.write(f"error: {rest[2]!r} is not a date; write YYYY-MM-DD\n")
            return 2
    elif len(rest) != 1:
        sys.stderr.write(f"error: wrong arguments; {USAGE}\n")
        return 2
    name = rest[0]
    try:
        with open(name, "rb") as file:  # noqa: PTH123
            raw = file.read(MAX_BYTES + 1)
        verdict, said = judged(raw, at, derivation=bare)
        sys.stdout.write(f"valid: {said}" + ("\n" if bare else f", {signature_of(raw)}\n"))
    except OSError as why:
        sys.stderr.write(
            f"error: {plain(name)}: {why.strerror or 'unreadable'}; give the path of a certificate\n"
        )
        return 2
    except (Unreadable, ValueError, MemoryError, RecursionError) as why:
        sys.stderr.write(f"error: {plain(name)}: {plain(str(why))}; give a certificate\n")
        return 2
    except Rejected as why:
        sys.stdout.write(f"invalid: {why}\n")
        return 1
    return EXIT[verdict]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
