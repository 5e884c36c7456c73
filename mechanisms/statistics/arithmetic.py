"""Arithmetic on one row's declared columns and public constants, for formulas and comparisons.

It has ``+ - * /``, ``min``, ``max`` and ``abs``, and ``year``, ``month`` or ``weekday`` (1 is Monday) of a
date.  The difference of two dates is a number of days.  Bounds follow by exact interval arithmetic; each
number in between is clipped to its bounds, so that no rounding leaves them.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from mechanisms.table.bind_columns import FARTHEST_EDGE
from mechanisms.table.columns import NUMERIC_KINDS, Column

Floats = NDArray[np.float64]
Codes = Mapping[str, Floats]
Interval = tuple[Fraction, Fraction]

RIGHT: Final = "write minutes / 60, year(day), bins(age, 0, 18, 65), or a condition"
FUNCTIONS: Final = frozenset({"min", "max", "abs", "year", "month", "weekday"})
EPOCH: Final = date(1970, 1, 1).toordinal()
NEAREST: Final = Fraction(1, FARTHEST_EDGE)  #: to 0, that a divisor may be
ROUNDING: Final = Fraction(1, 2**51)  #: relative: of one operation in double precision, and of its clipping
UNDERFLOW: Final = Fraction(1, 10**300)
LARGEST_ERROR: Final = Fraction(10**30)  #: an error as large as any number here


@dataclass(frozen=True)
class Term:
    """A part of a formula: exact bounds, whether it is whole, and each row's number.

    `exact` is the same of one row without rounding, and `error` bounds how far `numbers` are from it.
    """

    ends: Interval
    whole: bool
    numbers: Callable[[Codes], Floats]
    exact: Callable[[Mapping[str, Fraction]], Fraction]
    error: Fraction = Fraction(0)

    @property
    def size(self) -> Fraction:
        """Return the largest absolute value."""
        return max(map(abs, self.ends))


def term(node: ast.expr, known: Mapping[str, Column]) -> Term:
    """Return what an expression is of the known columns; raises `InputError` where it is undefined."""
    match node:
        case ast.Name(id=name):
            return _column(name, known)
        case ast.Constant():
            value = constant(node)
            whole = value.denominator == 1
            error = Fraction(0) if whole else abs(value) * ROUNDING + UNDERFLOW
            return Term((value, value), whole, lambda codes: _same(codes, value), lambda row: value, error)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            one = term(operand, known)
            ends = -one.ends[1], -one.ends[0]
            return Term(
                ends, one.whole, lambda codes: -one.numbers(codes), lambda row: -one.exact(row), one.error
            )
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(node, term(left, known), op, term(right, known))
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=of)], keywords=[]) if name in _PARTS:
            return _part(name, of, known)
        case ast.Call(func=ast.Name(id="abs"), args=[operand], keywords=[]):
            one = term(operand, known)
            low, high = one.ends
            ends = max(low, -high, Fraction(0)), one.size
            return Term(
                ends,
                one.whole,
                lambda codes: np.abs(one.numbers(codes)),
                lambda row: abs(one.exact(row)),
                one.error,
            )
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[_, _, *_] as some, keywords=[]):
            return _extreme(name, [term(each, known) for each in some])
    raise InputError(f"{ast.unparse(node)[:60]!r} is no arithmetic that is read", RIGHT)


def constant(node: ast.expr) -> Fraction:
    """Return a number that is written in a formula."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -constant(operand)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            if abs(value) <= FARTHEST_EDGE:
                return Fraction(repr(value))
    raise InputError(f"{ast.unparse(node)[:60]!r} is no number within 1e15", RIGHT)


def _same(codes: Codes, value: Fraction) -> Floats:
    return np.full(len(next(iter(codes.values()))), float(value))


def _column(name: str, known: Mapping[str, Column]) -> Term:
    if name not in known:
        raise InputError(f"{name[:60]!r} is no declared column", f"declared: {', '.join(known) or 'none'}")
    column = known[name]
    if column.kind not in (*NUMERIC_KINDS, "boolean", "date"):
        raise InputError(f"{name} is a {column.kind}, which has no arithmetic", "name a number or a date")
    low, high = (Fraction(0), Fraction(1)) if column.kind == "boolean" else (column.low, column.high)
    ends, whole = (Fraction(low or 0), Fraction(high or 0)), column.kind != "number"
    error = Fraction(0) if whole else max(map(abs, ends)) * ROUNDING + UNDERFLOW
    return Term(
        ends, whole, lambda codes: codes[name], lambda row: min(max(row[name], ends[0]), ends[1]), error
    )


def _extreme(name: str, terms: list[Term]) -> Term:
    pick, joined = (min, np.minimum) if name == "min" else (max, np.maximum)
    return Term(
        (pick(one.ends[0] for one in terms), pick(one.ends[1] for one in terms)),
        all(one.whole for one in terms),
        lambda codes: joined.reduce([one.numbers(codes) for one in terms]),
        lambda row: pick(one.exact(row) for one in terms),
        max(one.error for one in terms),
    )


_NUMBERS: Final[dict[type[ast.operator], Callable[[Floats, Floats], Floats]]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
}
_EXACT: Final[dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def _combined(node: ast.expr, left: Term, op: ast.operator, right: Term) -> Term:
    """Return what two terms make, clipped to its bounds; refuses what may overflow, or divide by 0."""
    whole, (low, high) = left.whole and right.whole, right.ends
    error = left.error + right.error
    match op:
        case ast.Add():
            ends = [left.ends[0] + low, left.ends[1] + high]
        case ast.Sub():
            ends = [left.ends[0] - high, left.ends[1] - low]
        case ast.Mult():
            ends = [a * b for a, b in product(left.ends, right.ends)]
            error = left.error * right.size + right.error * left.size + left.error * right.error
        case ast.Div():
            if low < NEAREST and high > -NEAREST:
                raise InputError(
                    f"{ast.unparse(node)[:60]!r} may divide by 0", "divide by max(…, 1), or declare bounds"
                )
            whole, ends = False, [a / b for a, b in product(left.ends, right.ends)]
            near = min(map(abs, right.ends)) - right.error  # to 0, of the rounded divisor
            error = (left.error + max(map(abs, ends)) * right.error) / near if near > 0 else LARGEST_ERROR
        case _:
            raise InputError(f"{ast.unparse(node)[:60]!r} is no arithmetic that is read", RIGHT)
    size = max(map(abs, ends))
    if size > FARTHEST_EDGE:
        raise InputError(f"{ast.unparse(node)[:60]!r} may be beyond 1e15", "declare narrower bounds")
    error = Fraction(0) if whole else min(error + size * ROUNDING + UNDERFLOW, LARGEST_ERROR)
    bounds, numbers, exact = (min(ends), max(ends)), _NUMBERS[type(op)], _EXACT[type(op)]
    least, most = map(float, bounds)
    return Term(
        bounds,
        whole,
        lambda codes: np.clip(numbers(left.numbers(codes), right.numbers(codes)), least, most),
        lambda row: exact(left.exact(row), right.exact(row)),
        error,
    )


# ------------------------------------------------------------------ parts of dates


def _years(days: Floats) -> Floats:
    return (_dates(days).astype("datetime64[Y]").astype(np.int64) + 1970).astype(np.float64)


def _months(days: Floats) -> Floats:
    return (_dates(days).astype("datetime64[M]").astype(np.int64) % 12 + 1).astype(np.float64)


def _dates(days: Floats) -> NDArray[np.datetime64]:
    return (days.astype(np.int64) - EPOCH).astype("datetime64[D]")


_PARTS: Final[dict[str, Callable[[Floats], Floats]]] = {
    "year": _years,
    "month": _months,
    "weekday": lambda days: (days - 1) % 7 + 1.0,
}


def _part(name: str, of: str, known: Mapping[str, Column]) -> Term:
    days, part = _column(of, known), _PARTS[name]
    if known[of].kind != "date":
        raise InputError(f"{of} is no date, so it has no {name}", "name a date")
    every = {"year": tuple(date.fromordinal(int(end)).year for end in days.ends), "month": (1, 12)}
    low, high = every.get(name, (1, 7))
    return Term(
        (Fraction(low), Fraction(high)),
        whole=True,
        numbers=lambda codes: part(codes[of]),
        exact=lambda row: Fraction(int(part(np.array([float(row[of])]))[0])),
    )
