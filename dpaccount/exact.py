"""Exact numbers in, outward-rounded numbers out.

Decimals are read as the fractions that were written, never through floats.
Bounds leave as doubles (or decimal strings beyond 1e±300) rounded away from the truth's side:
a printed lower bound is never above it, a printed upper bound never below it.
"""

import html
import json
import math
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from numbers import Rational

from dpaccount.errors import InputError

Number = Fraction | float  #: an exact number, or ``math.inf``
Exact = Fraction | int | float | Decimal | str  #: what Python code may give; read by `as_exact`

MAX_CHARACTERS = 400
MAX_EXPONENT = 5000

_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE]([+-]?\d+))?", re.ASCII)
_RATIO = re.compile(r"[+-]?\d+/\d*[1-9]\d*", re.ASCII)


def bounded(text: str) -> str:
    """Return the text of a number; raises `InputError` for a long one, before a large number is formed."""
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"a number of {len(text)} characters", f"at most {MAX_CHARACTERS} are read")
    return text


@lru_cache(maxsize=65536)
def read_number(text: str) -> Fraction:
    """Return the exact value of a decimal such as ``0.1``, ``1e-300`` or ``100.0``.

    Raises `InputError` for anything else (NaN, infinities, hexadecimal, more than 400
    characters, an exponent beyond ±5000), before any large number is formed.
    """
    match = _DECIMAL.fullmatch(bounded(text))
    if match is None:
        raise InputError(f"{text!r} is not a finite decimal number", "write one such as 0.1 or 1e-6")
    exponent = match.group(4)
    if exponent is not None and (len(exponent) > 6 or abs(int(exponent)) > MAX_EXPONENT):
        raise InputError(f"the exponent of {text!r} is out of range", f"use one within ±{MAX_EXPONENT}")
    return Fraction(text)


def read_exact(text: str) -> Fraction:
    """Return the exact value of a decimal or of a fraction of integers: ``1.1``, ``1e-5``, ``256/60000``.

    The one rule for numbers written as text: in files, on the command line and in Python.  Raises
    `InputError` for anything else.
    """
    if "/" not in text:
        return read_number(text)
    if _RATIO.fullmatch(bounded(text)) is None:
        raise InputError(f"{text!r} is not a fraction of whole numbers", "write one such as 1/3 or 256/60000")
    return Fraction(text)


def as_exact(value: "Exact") -> Fraction:
    """Return the exact number that Python code means: text by `read_exact`, a float by its decimal repr.

    ``0.1`` is 1/10, as it is in a file; what a float computed to, such as ``0.1 + 0.2``, is what it prints.
    So is a number of NumPy in whatever precision: ``np.float32(1.1)`` is 11/10.
    Raises `InputError` for NaN, infinities, booleans and what is no number.
    """
    # To Python True is an integer, and would count as 1.
    if isinstance(value, bool):
        raise InputError(f"{value!r} is a truth value", "give a number")
    if isinstance(value, Amount):
        return value.exact
    if isinstance(value, float):
        return read_exact(repr(float(value)))  # NumPy's doubles are floats too
    if isinstance(value, str) or getattr(value, "shape", None) == ():  # NumPy's numbers have no axes
        return read_exact(str(value).strip())
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))  # NumPy's integers would wrap around
    try:
        return Fraction(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{value!r} is no finite number", "give one such as 1.1, '1/3' or 2") from None


def exact_argument(name: str, value: "Exact") -> Fraction:
    """Return the number that an argument means, by `as_exact`; raises `InputError` naming it."""
    try:
        return as_exact(value)
    except InputError as error:
        raise error.inside(name) from None


def whole_argument(
    name: str,
    value: Fraction | None,
    least: int = 1,
    most: int | None = None,
    written: str | None = None,
) -> int | None:
    """Return an argument that is a whole number from `least` to `most`; None where it is not given.

    Raises `InputError` with the argument's name and the number, as it was `written` if that is known.
    """
    if value is None:
        return None
    if value.denominator != 1 or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        number = shown(value) if written is None else written
        raise InputError(f"{name} is {number}", f"give a whole number {limits}")
    return int(value)


@dataclass(frozen=True, repr=False)
class Enclosure:
    """A number known to lie in [lower, upper]; `lower` is None if only an upper bound is known.

    It prints as its upper end, rounded up to ten digits, and in parentheses how far below this
    number it reaches, also rounded up: the printed interval contains the enclosure.  A wide one
    prints as two ends.  As a float and in a format, it is its upper end, rounded up.

    >>> Enclosure(Fraction(1, 3), Fraction(1, 3) + Fraction(2, 10**15))
    0.3333333334 (±7e-11)
    >>> Enclosure(Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**7))
    0.3333334334 (±2e-7)
    >>> Enclosure(None, Fraction(1, 3))
    ≤ 0.33334
    >>> f"{Enclosure(Fraction(1, 3), Fraction(1, 3)):.3f}", Enclosure(Fraction(0), Fraction(1, 3))
    ('0.334', [0, 0.33334])
    """

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

    def __repr__(self) -> str:
        """Return the enclosure for a person: always outside of what is known."""
        upper = to_digits(self.upper, up=True)
        if self.lower is None:
            return f"≤ {upper}"
        if math.inf in (abs(self.lower), abs(self.upper)):
            return f"{upper} (±0)" if self.lower == self.upper else self._as_ends()
        if self.upper - self.lower > 2 * max(self.upper, -self.upper) / 10**SHOWN_DIGITS:
            return self._as_ends()
        centre = to_digits(self.upper, up=True, digits=CLOSE_DIGITS)
        reach = Fraction(centre) - self.lower  # the upper end is nearer, for the centre lies above it
        return f"{centre} (±{to_digits(reach, up=True, digits=1)})"

    def _as_ends(self) -> str:
        low = "-" if self.lower is None else to_digits(self.lower, up=False)
        return f"[{low}, {to_digits(self.upper, up=True)}]"

    def __format__(self, spec: str) -> str:
        """Return the upper end as decimals are formatted (``.3f``, ``.2e``, ``%``), rounded up.

        A format without a kind (``>30``) is that of the printed text.
        """
        return formatted(self.upper, spec, up=True) if spec[-1:] in FORMAT_KINDS else format(repr(self), spec)

    def __float__(self) -> float:
        """Return the upper end rounded up, `upper_float`."""
        return self.upper_float

    @property
    def upper_float(self) -> float:
        """Return the least double that is at least the upper end."""
        return rounded(self.upper, up=True)

    @property
    def lower_float(self) -> float | None:
        """Return the largest double that is at most the lower end; None if there is none."""
        return None if self.lower is None else rounded(self.lower, up=False)

    def as_json(self) -> dict[str, float | str | None]:
        """Return ``{"lower", "upper"}`` rounded outward, as contract files print it."""
        lower = None if self.lower is None else printed(self.lower, up=False)
        return {"lower": lower, "upper": printed(self.upper, up=True)}

    def as_amount(self) -> dict[str, float | str | None]:
        """Return `as_json`; the text of an end that is a decimal is this decimal."""
        lower = None if self.lower is None else printed_amount(self.lower, up=False)
        return {"lower": lower, "upper": printed_amount(self.upper, up=True)}

    def to_json(self) -> str:
        """Return `as_json` as text."""
        return json.dumps(self.as_json())

    def _repr_html_(self) -> str:
        """Return the enclosure for a notebook, both ends in full beside it."""
        ends = self.as_json()
        return f"<span title='from {ends['lower']} to {ends['upper']}'>{html.escape(repr(self))}</span>"


SHOWN_DIGITS = 5  #: of a number for a person
CLOSE_DIGITS = 10  #: of one that is known so closely
FORMAT_KINDS = tuple("eEfFgG%")  #: of formats of a decimal


def to_digits(value: Number, *, up: bool | None, digits: int = SHOWN_DIGITS) -> str:
    """Return a number with so many significant digits, rounded up or down as asked; None: to the nearest."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    with localcontext(_context(digits, up=up)):  # what the caller's context rounds is not ours
        short = to_decimal(value, digits, up=up).normalize()
    if -5 < short.adjusted() < 16:
        return f"{short:f}"
    mantissa, exponent = f"{short:e}".split("e")
    return f"{mantissa}e{int(exponent):+03d}"  # as Python writes a float


def in_digits(value: object, digits: int = SHOWN_DIGITS, *, up: bool | None) -> str:
    """Return a double by `to_digits`; what was exact, or is no number, as it is."""
    return to_digits(value, up=up, digits=digits) if isinstance(value, float) else str(value)


def to_noise(value: Number, noise: float, *, up: bool | None = None) -> str:
    """Return a number to two digits of its `noise`, rounded up or down as asked; None: to the nearest.

    >>> to_noise(12.3456, 0.5), to_noise(12.3456, 0.5, up=True), to_noise(-1234.5, 300, up=False)
    ('12.35', '12.35', '-1240')
    """
    if not value or not noise or not math.isfinite(value) or not math.isfinite(noise):
        return to_digits(value, up=up, digits=15)
    place = 1 - math.floor(math.log10(abs(noise)))
    scaled = Fraction(value) * Fraction(10) ** place
    integer = round(scaled) if up is None else math.ceil(scaled) if up else math.floor(scaled)
    return f"{Decimal((int(integer < 0), Decimal(abs(integer)).as_tuple().digits, -place)):f}"


def formatted(value: Number, spec: str, *, up: bool) -> str:
    """Return a number by a format for decimals, rounded up or down as asked whatever its precision."""
    if isinstance(value, float):
        return format(value, spec)
    if spec[-1:] in "gG" and "." not in spec:
        spec = f"{spec[:-1]}.6{spec[-1]}"  # as of a float
    with localcontext(_context(400, up=up)):
        return format(to_decimal(value, 60, up=up), spec)


def to_decimal(value: Number, digits: int, *, up: bool | None) -> Decimal:
    """Return a decimal of so many significant digits on the asked side of an exact value, if one is."""
    exact = as_exact(value)
    return _context(digits, up=up).divide(Decimal(exact.numerator), Decimal(exact.denominator))


def _context(digits: int, *, up: bool | None) -> Context:
    rounding = ROUND_HALF_EVEN if up is None else ROUND_CEILING if up else ROUND_FLOOR
    return Context(prec=digits, rounding=rounding, Emin=-999999, Emax=999999)


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


def double(value: Number, *, up: bool) -> float:
    """Return the nearest double that lies on the asked side of an exact value, and whose text does, too.

    Readers may take the one or the other.  It is infinite where there is none.
    """
    near = rounded(value, up=up)
    while math.isfinite(near) and (Fraction(repr(near)) < value if up else Fraction(repr(near)) > value):
        near = math.nextafter(near, math.inf if up else -math.inf)
    return near


def printed(value: Number, *, up: bool) -> float | str:
    """Return a bound as JSON prints it: a double, a decimal string beyond 1e±300, or ``"inf"``."""
    if value == math.inf:
        return "inf"
    if value == 0 or Fraction(1, 10**300) <= abs(Fraction(value)) <= 10**300:
        return double(value, up=up)
    return str(to_decimal(Fraction(value), 17, up=up))


class Amount(float):
    """An end of a bound as JSON prints it, which knows the exact number: a text shows that one."""

    exact: Fraction

    def __str__(self) -> str:
        return shown(self.exact)


def printed_amount(value: Number, *, up: bool) -> float | str:
    """Return what `printed` does; of an amount that a decimal is, with this decimal as its text.

    >>> printed_amount(Fraction(1, 10**6), up=True), str(printed_amount(Fraction(1, 10**6), up=True))
    (1.0000000000000002e-06, '1e-06')
    """
    found = printed(value, up=up)
    if isinstance(found, float) and Fraction(repr(float(value))) == value:
        found = Amount(found)
        found.exact = Fraction(value)
    return found


def json_number(value: Fraction, whole: Number = math.inf) -> int | float | str:
    """Return an exact number for JSON: an integer below `whole`, a double that reads as it, else `shown`."""
    if value.denominator == 1 and abs(value) < whole:
        return int(value)
    try:
        near = float(value)
    except OverflowError:
        return shown(value)
    return near if Fraction(repr(near)) == value else shown(value)


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
