"""Exact numbers in, outward-rounded numbers out.

Decimals are read as the fractions that were written, never through floats.
Bounds leave as doubles (or decimal strings beyond 1e±300) rounded away from the truth's side:
a printed lower bound is never above it, a printed upper bound never below it.
"""

import math
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from dpaccount.errors import InputError

Number = Fraction | float  #: an exact number, or ``math.inf``

MAX_CHARACTERS = 400
MAX_EXPONENT = 5000

_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE]([+-]?\d+))?", re.ASCII)


@lru_cache(maxsize=65536)
def read_number(text: str) -> Fraction:
    """Return the exact value of a decimal such as ``0.1``, ``1e-300`` or ``100.0``.

    Raises `InputError` for anything else (NaN, infinities, hexadecimal, more than 400
    characters, an exponent beyond ±5000), before any large number is formed.
    """
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"a number of {len(text)} characters; at most {MAX_CHARACTERS} are read")
    match = _DECIMAL.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not a finite decimal number; write one such as 0.1 or 1e-6")
    exponent = match.group(4)
    if exponent is not None and (len(exponent) > 6 or abs(int(exponent)) > MAX_EXPONENT):
        raise InputError(f"the exponent of {text!r} is out of range; use one within ±{MAX_EXPONENT}")
    return Fraction(text)


@dataclass(frozen=True)
class Enclosure:
    """A number known to lie in [lower, upper]; `lower` is None where only the upper side is known."""

    lower: Number | None
    upper: Number

    def __post_init__(self) -> None:
        """Refuse NaN and crossed ends."""
        ends = [end for end in (self.lower, self.upper) if end is not None]
        if any(isinstance(end, float) and math.isnan(end) for end in ends) or (
            self.lower is not None and self.lower > self.upper
        ):
            raise ValueError(f"not an enclosure: [{self.lower}, {self.upper}]")

    def __contains__(self, value: Number) -> bool:
        """Say whether `value` lies within."""
        return (self.lower is None or self.lower <= value) and value <= self.upper

    def as_json(self) -> dict[str, float | str | None]:
        """Return ``{"lower", "upper"}`` rounded outward, as contract files print it."""
        lower = None if self.lower is None else printed(self.lower, up=False)
        return {"lower": lower, "upper": printed(self.upper, up=True)}


def rounded(value: Number, *, up: bool) -> float:
    """Return the nearest double on the asked side of an exact value."""
    try:
        near = float(value)
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    if up and near < value:
        return math.nextafter(near, math.inf)
    if not up and near > value:
        return math.nextafter(near, -math.inf)
    return near


def printed(value: Number, *, up: bool) -> float | str:
    """Return a bound as JSON prints it: a double, a decimal string beyond 1e±300, or ``"inf"``."""
    if value == math.inf:
        return "inf"
    if value == 0 or Fraction(1, 10**300) <= abs(Fraction(value)) <= 10**300:
        near = rounded(value, up=up)
        # Readers may take the text or the double; both must lie on the right side.
        while (Fraction(repr(near)) < value) if up else (Fraction(repr(near)) > value):
            near = math.nextafter(near, math.inf if up else -math.inf)
        return near
    context = Context(prec=17, rounding=ROUND_CEILING if up else ROUND_FLOOR, Emin=-999999, Emax=999999)
    exact = Fraction(value)
    return str(context.divide(Decimal(exact.numerator), Decimal(exact.denominator)))


def shown(value: Fraction) -> str:
    """Return an exact number as text: the shortest decimal where one is exact, else ``p/q``."""
    near = float(value) if abs(value) < 10**300 else math.inf
    if math.isfinite(near) and Fraction(repr(near)) == value:
        return str(int(value)) if value.denominator == 1 and abs(value) < 10**15 else repr(near)
    denominator = value.denominator
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    if denominator == 1:
        digits = value.denominator.bit_length() + abs(value.numerator).bit_length()
        context = Context(prec=max(digits, 28), Emin=-999999, Emax=999999)
        return str(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
    return str(value)
