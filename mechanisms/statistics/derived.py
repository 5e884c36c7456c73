"""Derived columns: functions of one row's declared columns and public constants, and nothing else.

A formula is arithmetic with ``+ - * /``, ``min``, ``max`` and ``abs``; ``year``, ``month`` or
``weekday`` (1 is Monday) of a date; a condition; or ``bins(…, edges)``, a category of which a bin holds
its lower edge.  The difference of two dates is a number of days.  Bounds follow by exact interval
arithmetic; each number in between is clipped to its bounds, so that no rounding leaves them.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpaccount.documents import Place
from dpaccount.errors import InputError
from mechanisms.statistics.conditions import condition, names_in, parsed
from mechanisms.table.bind_columns import FARTHEST_EDGE, MOST_BINS, cells_of
from mechanisms.table.columns import NUMERIC_KINDS, Column

Floats = NDArray[np.float64]
Codes = Mapping[str, Floats]
Interval = tuple[Fraction, Fraction]

RIGHT: Final = "write minutes / 60, year(day), bins(age, 0, 18, 65), or a condition"
WORDS: Final = frozenset({"bins", "min", "max", "abs", "year", "month", "weekday", "true", "false"})
EPOCH: Final = date(1970, 1, 1).toordinal()
NEAREST: Final = Fraction(1, FARTHEST_EDGE)  #: to 0, that a divisor may be


@dataclass(frozen=True)
class DerivedColumn(Column):
    """A column that no file has: its code follows by `formula` from those of the columns `of`."""

    of: tuple[Column, ...] = ()
    formula: str = ""

    def code(self, codes: Codes) -> Floats:
        """Return each row's code from its codes of the columns `of`."""
        return _read(self.formula, self.of)[1](codes)


@dataclass(frozen=True)
class Term:
    """A part of a formula: exact bounds, whether it is whole, and each row's number."""

    ends: Interval
    whole: bool
    numbers: Callable[[Codes], Floats]


def sources_of(column: Column) -> tuple[Column, ...]:
    """Return the columns of the file from which a column's codes follow: itself, if it is one."""
    if not isinstance(column, DerivedColumn):
        return (column,)
    return tuple(each for one in column.of for each in sources_of(one))


def code_of(column: Column, codes: Codes) -> Floats:
    """Return each row's code of a column, given its codes of the columns of the file."""
    if not isinstance(column, DerivedColumn):
        return codes[column.name]
    return column.code({each.name: code_of(each, codes) for each in column.of})


def derived_columns(place: Place, known: tuple[Column, ...]) -> tuple[Column, ...]:
    """Return the columns that ``[data.derived]`` defines by formulas in columns that are known."""
    found = []
    for name in sorted(place.table((), tuple(place.value) if isinstance(place.value, dict) else ())):
        try:
            if name in [column.name for column in known]:
                raise InputError(f"{name} is declared too", "give the derived column another name")
            found.append(derived(name, place.child(name).text(), known))
        except InputError as error:
            raise place.child(name).placed(error) from None
    return tuple(found)


def derived(name: str, formula: str, known: tuple[Column, ...]) -> DerivedColumn:
    """Return what a formula defines; raises `InputError` where it is undefined for some row."""
    body, by_name = parsed(formula, "formula", RIGHT), {column.name: column for column in known}
    of = tuple(by_name[each] for each in names_in(body, by_name))
    names = {each.id for each in ast.walk(body) if isinstance(each, ast.Name)} - WORDS
    if not of or not names <= by_name.keys():
        named = f"{min(names - by_name.keys())[:60]!r} is no declared" if names else "a formula names no"
        raise InputError(f"{named} column", f"declared: {', '.join(by_name)}")
    made = _read(formula, of)[0]
    return DerivedColumn(name, made.kind, made.low, made.high, made.values, of=of, formula=formula)


@lru_cache(maxsize=256)
def _read(formula: str, of: tuple[Column, ...]) -> tuple[Column, Callable[[Codes], Floats]]:
    """Return the column that a formula defines, without its name, and each row's code."""
    body, known = parsed(formula, "formula", RIGHT), {column.name: column for column in of}
    match body:
        case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            holds = condition(formula, of)[1]
            return Column("derived", "boolean"), lambda codes: holds(codes).astype(np.float64)
        case ast.Call(func=ast.Name(id="bins"), args=[first, *edges], keywords=[]):
            return _binned(_term(first, known), tuple(map(_constant, edges)))
    term = _term(body, known)
    return Column("derived", "integer" if term.whole else "number", *term.ends), term.numbers


def _binned(term: Term, edges: tuple[Fraction, ...]) -> tuple[Column, Callable[[Codes], Floats]]:
    if not 2 <= len(edges) <= MOST_BINS:
        raise InputError(f"bins has {len(edges)} edges", "write bins(age, 0, 18, 65), with two or more")
    cells = cells_of(Column("bins", "number", *term.ends), edges)
    return Column("derived", "category", values=cells.labels), lambda codes: cells.place(term.numbers(codes))


# ------------------------------------------------------------------ arithmetic


def _term(node: ast.expr, known: Mapping[str, Column]) -> Term:
    match node:
        case ast.Name(id=name):
            return _column(name, known)
        case ast.Constant():
            value = _constant(node)
            return Term((value, value), value.denominator == 1, lambda codes: _same(codes, value))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            term = _term(operand, known)
            ends = -term.ends[1], -term.ends[0]
            return Term(ends, term.whole, lambda codes: -term.numbers(codes))
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(node, _term(left, known), op, _term(right, known))
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=of)], keywords=[]) if name in _PARTS:
            return _part(name, of, known)
        case ast.Call(func=ast.Name(id="abs"), args=[operand], keywords=[]):
            term = _term(operand, known)
            low, high = term.ends
            nearest = max(low, -high, Fraction(0))
            return Term(
                (nearest, max(abs(low), abs(high))), term.whole, lambda codes: np.abs(term.numbers(codes))
            )
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[_, _, *_] as some, keywords=[]):
            terms = [_term(each, known) for each in some]
            pick, joined = (min, np.minimum) if name == "min" else (max, np.maximum)
            ends = pick(term.ends[0] for term in terms), pick(term.ends[1] for term in terms)
            whole = all(term.whole for term in terms)
            return Term(ends, whole, lambda codes: joined.reduce([term.numbers(codes) for term in terms]))
    raise InputError(f"{ast.unparse(node)[:60]!r} is no arithmetic that is read", RIGHT)


def _column(name: str, known: Mapping[str, Column]) -> Term:
    if name not in known:
        raise InputError(f"{name[:60]!r} is no declared column", f"declared: {', '.join(known) or 'none'}")
    column = known[name]
    if column.kind not in (*NUMERIC_KINDS, "boolean", "date"):
        raise InputError(f"{name} is a {column.kind}, which has no arithmetic", "name a number or a date")
    low, high = (Fraction(0), Fraction(1)) if column.kind == "boolean" else (column.low, column.high)
    return Term((Fraction(low or 0), Fraction(high or 0)), column.kind != "number", lambda codes: codes[name])


def _combined(node: ast.expr, left: Term, op: ast.operator, right: Term) -> Term:
    whole, (low, high) = left.whole and right.whole, right.ends
    match op:
        case ast.Add():
            ends = [left.ends[0] + low, left.ends[1] + high]
        case ast.Sub():
            ends = [left.ends[0] - high, left.ends[1] - low]
        case ast.Mult():
            ends = [a * b for a, b in product(left.ends, right.ends)]
        case ast.Div():
            if low < NEAREST and high > -NEAREST:
                raise InputError(
                    f"{ast.unparse(node)[:60]!r} may divide by 0", "divide by max(…, 1), or declare bounds"
                )
            whole, ends = False, [a / b for a, b in product(left.ends, right.ends)]
        case _:
            raise InputError(f"{ast.unparse(node)[:60]!r} is no arithmetic that is read", RIGHT)
    made = _OPERATIONS[type(op)]
    term = Term((min(ends), max(ends)), whole, lambda codes: made(left.numbers(codes), right.numbers(codes)))
    return _bounded(term, node)


_OPERATIONS: Final[dict[type[ast.operator], Callable[[Floats, Floats], Floats]]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
}


def _bounded(term: Term, node: ast.expr) -> Term:
    """Return a term whose numbers are clipped to its bounds; refuses what may overflow."""
    if max(map(abs, term.ends)) > FARTHEST_EDGE:
        raise InputError(f"{ast.unparse(node)[:60]!r} may be beyond 1e15", "declare narrower bounds")
    low, high = map(float, term.ends)
    return Term(term.ends, term.whole, lambda codes: np.clip(term.numbers(codes), low, high))


def _same(codes: Codes, value: Fraction) -> Floats:
    return np.full(len(next(iter(codes.values()))), float(value))


def _constant(node: ast.expr) -> Fraction:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_constant(operand)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            if abs(value) <= FARTHEST_EDGE:
                return Fraction(repr(value))
    raise InputError(f"{ast.unparse(node)[:60]!r} is no number within 1e15", RIGHT)


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
        raise InputError(f"{of} is no date, and its {name} is asked for", "name a date")
    every = {"year": tuple(date.fromordinal(int(end)).year for end in days.ends), "month": (1, 12)}
    low, high = every.get(name, (1, 7))
    return Term((Fraction(low), Fraction(high)), whole=True, numbers=lambda codes: part(codes[of]))
