"""Exact numbers, real numbers enclosed in intervals of decimals rounded outward, and exact products."""

import math
import re
from collections.abc import Callable, Iterable
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

from .documents import ensure, spend

MAX_DIGITS = 480  # working digits before a comparison is given up
MAX_TEXT = 1000  # characters of one exact number
MAX_SUM = 40_000  # bits of a sum of exact numbers
MAX_PRODUCT = 20_000_000  # digits of one product of polynomials


# ------------------------------------------------------------------ exact numbers


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


def positive(value: object) -> Fraction:
    """Read an exact number above zero."""
    ensure(number(value) > 0, f"it must be above 0, found {value}")
    return number(value)


def added(values: Iterable[Fraction]) -> Fraction:
    """Return an exact sum, refusing one whose digits grow beyond use."""
    total = Fraction(0)
    for value in values:
        total += value
        size = total.denominator.bit_length() + total.numerator.bit_length()
        ensure(size <= MAX_SUM, "a sum of more digits than this checker adds")
        spend(2 + (size // 300) ** 2)
    return total


# ------------------------------------------------------------------ intervals


class Interval:
    """A real number known to lie in [lo, hi]; operations round outward at a fixed number of digits.

    Only methods of explicit contexts are used: operators, unary minus and abs() would round to the
    default context.  The decimal module rounds exp, ln and sqrt half-even in any mode,
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
        size = value.numerator.bit_length() + value.denominator.bit_length()
        spend(4 + (size // 500) ** 2)  # long integers become decimals in quadratic time
        top, bottom = Decimal(value.numerator), Decimal(value.denominator)
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


def exact(value: Decimal) -> Fraction:
    """Return a decimal as a fraction; one with a huge exponent, as next to 0 there are, is refused."""
    ensure(value == 0 or abs(value.adjusted()) < MAX_SUM, "a number of too large an exponent")
    return Fraction(value)


Pair = tuple[Decimal, Decimal]
ZERO: Pair = (Decimal(0), Decimal(0))


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


def power_of(i: Interval, base: Pair, times: int) -> Pair:
    """Enclose a power of a number in [0, 1]."""
    result = i.of(1)
    while times:
        result = i.mul(result, base) if times & 1 else result
        base, times = i.mul(base, base), times >> 1
    return result


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
    for _ in range(80):  # the rest is paid for below
        middle = Fraction(int((low + high) * 2**99), 2**100)
        low, high = (middle, high) if p(middle) >= 0 else (low, middle)
    top = (1 + b * b) ** 2 + (1 + low**2) ** 2 - 2 * (b * low - 1) ** 2
    return max(8 * b * b, top + 4 * p(low) * (high - low))


# ------------------------------------------------------------------ polynomials


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


def multiply(a: list[int], b: list[int], drop: int = 0) -> list[int]:
    """Return the product of two polynomials with coefficients ≥ 0, by one product of long decimals.

    Coefficients are set side by side in blocks wide enough that no sum runs over; `decimal` then
    multiplies exactly (its transform is integer), and an inexact result would raise.  The last `drop`
    digits of each coefficient are left out, rounding up.
    """
    ensure(min(*a, *b, 0) >= 0, "negative mass")
    width = max(digits_of(max(a)) + digits_of(max(b)) + digits_of(min(len(a), len(b))), drop) + 1
    ensure(width * (len(a) + len(b)) <= MAX_PRODUCT, "this lattice is too large for this checker")
    spend(width * (len(a) + len(b)) // 6)
    # exact, or an exception: the precision covers every digit
    exact = Context(
        prec=width * (len(a) + len(b)) + 9, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, InvalidOperation]
    )
    left = exact.create_decimal("".join([_text(v).rjust(width, "0") for v in a]))
    right = left if a is b else exact.create_decimal("".join([_text(v).rjust(width, "0") for v in b]))
    size = len(a) + len(b) - 1
    digits = format(exact.multiply(left, right), "f").rjust(width * size, "0")
    blocks = [digits[k : k + width] for k in range(0, width * size, width)]
    if not drop:
        return [_whole(block) for block in blocks]
    empty = "0" * drop
    return [_whole(block[:-drop]) + (block[-drop:] != empty) for block in blocks]


def digits_of(value: int | Fraction) -> int:
    """Return how many decimal digits a number has, or one more."""
    return int(int(value) + 1).bit_length() * 30103 // 100000 + 1


def _text(value: int) -> str:
    # str() refuses integers above 4300 digits
    return str(value) if value.bit_length() < 10_000 else format(Decimal(value), "f")


def _whole(text: str) -> int:
    return int(text) if len(text) < 4000 else int(Decimal(text))
