"""Expressions on a row's declared columns and public constants: conditions, and derived columns.

Nothing else is read: so which rows count, such as ``age >= 18 and readmitted == true``, and what a column is
that no file has, depend on each row alone.  A formula is arithmetic, a condition, or ``bins(…, edges)``, a
category of which a bin holds its lower edge.

Arithmetic has ``+ - * /``, ``min``, ``max``, ``abs`` and ``floor``, ``… if … else …``, and ``year``,
``quarter``, ``month`` or ``weekday`` (1 is Monday) of a date; ``period(day, "month")`` is a category.  The
difference of two dates is a number of days.  Bounds follow by exact interval arithmetic; each number in
between is clipped to its bounds, so that no rounding leaves them.

A cell that is missing, and has no declared value, is unknown, as NULL is in SQL: so is arithmetic with it,
and a comparison; ``and``, ``or`` and ``not`` have three values, and a row that may or may not meet a
condition is left out.  There are ``x is null``, ``x is not null``, ``coalesce(x, 0)`` and ``… else null``.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import lru_cache
from itertools import product
from keyword import iskeyword
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.noise.samplers import Floats
from mechanisms.table.bind_columns import FARTHEST_EDGE, MOST_BINS, cells_of
from mechanisms.table.columns import COMPARISONS, NULL, NUMERIC_KINDS, Column, day_number

Codes = Mapping[str, Floats]
Interval = tuple[Fraction, Fraction]

OF_FORMULAS: Final = "write minutes / 60, year(day), bins(age, 0, 18, 65), or a condition"
FUNCTIONS: Final = frozenset(
    {"min", "max", "abs", "floor", "year", "quarter", "month", "weekday", "coalesce"}
)
EPOCH: Final = date(1970, 1, 1).toordinal()
NEAREST: Final = Fraction(1, FARTHEST_EDGE)  #: to 0, that a divisor may be
ROUNDING: Final = Fraction(1, 2**51)  #: relative: of one operation in double precision, and of its clipping
UNDERFLOW: Final = Fraction(1, 10**300)
LARGEST_ERROR: Final = Fraction(10**30)  #: an error as large as any number here


@dataclass(frozen=True)
class Term:
    """A part of a formula: exact bounds, whether it is whole, and each row's number.

    `exact` is the same of one row without rounding, and `error` bounds how far `numbers` are from it.
    `gap` says in which rows it is unknown, where its number is any within the bounds; None: in no row.
    """

    ends: Interval
    whole: bool
    numbers: Callable[[Codes], Floats]
    exact: Callable[[Mapping[str, Fraction]], Fraction]
    error: Fraction = Fraction(0)
    gap: "Callable[[Codes], Flags] | None" = None

    @property
    def size(self) -> Fraction:
        """Return the largest absolute value."""
        return max(map(abs, self.ends))


def term(node: ast.expr, known: Mapping[str, Column]) -> Term:
    """Return an expression as a term of the known columns; raises `InputError` where it is undefined."""
    match node:
        case ast.Name(id=name):
            return _term_of(name, known)
        case ast.Constant():
            value = constant(node)
            whole = value.denominator == 1
            error = Fraction(0) if whole else abs(value) * ROUNDING + UNDERFLOW
            return Term((value, value), whole, lambda codes: _same(codes, value), lambda row: value, error)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            one = term(operand, known)
            ends = -one.ends[1], -one.ends[0]
            return replace(
                one,
                ends=ends,
                numbers=lambda codes: -one.numbers(codes),
                exact=lambda row: -one.exact(row),
            )
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(node, term(left, known), op, term(right, known))
        case ast.Call(keywords=[]):
            return _called(node, known)
        case _:
            return _chosen(node, known)


def _called(node: ast.Call, known: Mapping[str, Column]) -> Term:
    """Return a function of terms."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=of)]) if name in _PARTS:
            return _part(name, of, known)
        case ast.Call(func=ast.Name(id="abs"), args=[operand]):
            one = term(operand, known)
            low, high = one.ends
            ends = max(low, -high, Fraction(0)), one.size
            return replace(
                one,
                ends=ends,
                numbers=lambda codes: np.abs(one.numbers(codes)),
                exact=lambda row: abs(one.exact(row)),
            )
        case ast.Call(func=ast.Name(id="floor"), args=[operand]):
            return _floor(term(operand, known), tuple(names_in(operand, known)))
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[_, _, *_] as some):
            return _extreme(name, [term(each, known) for each in some])
    return _chosen(node, known)


def _chosen(node: ast.expr, known: Mapping[str, Column]) -> Term:
    """Return a term that is one of several, by a condition or by which are known."""
    match node:
        case ast.Call(func=ast.Name(id="coalesce"), args=[_, *_] as some):
            _check_gaps(node, known)
            return _first([term(each, known) for each in some])
        case ast.IfExp(test=test, body=body, orelse=other):
            values = [None if _is_null(each, known) else term(each, known) for each in (body, other)]
            if None in values:
                _check_gaps(node, known)
            return _either(_compiled(test, known).holds, *values)
    raise InputError(f"{ast.unparse(node)[:60]!r} is no arithmetic that is read", OF_FORMULAS)


def constant(node: ast.expr) -> Fraction:
    """Return a number that is written in a formula."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -constant(operand)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            if abs(value) <= FARTHEST_EDGE:
                return Fraction(repr(value))
    raise InputError(f"{ast.unparse(node)[:60]!r} is no number within 1e15", OF_FORMULAS)


def _same(codes: Codes, value: Fraction) -> Floats:
    return np.full(len(next(iter(codes.values()))), float(value))


def _term_of(name: str, known: Mapping[str, Column]) -> Term:
    if name == NULL and NULL not in known:
        raise InputError("null has no arithmetic", "write x is null, or … else null")
    if name not in known:
        raise InputError(f"{name[:60]!r} is no declared column", f"declared: {', '.join(known) or 'none'}")
    column = known[name]
    if column.kind not in (*NUMERIC_KINDS, "boolean", "date"):
        raise InputError(f"{name} is a {column.kind}, which has no arithmetic", "name a number or a date")
    low, high = (Fraction(0), Fraction(1)) if column.kind == "boolean" else (column.low, column.high)
    ends, whole = (Fraction(low or 0), Fraction(high or 0)), column.kind != "number"
    error = Fraction(0) if whole else max(map(abs, ends)) * ROUNDING + UNDERFLOW
    exact = lambda row: min(max(row[name], ends[0]), ends[1])  # noqa: E731
    if not column.gaps:
        return Term(ends, whole, lambda codes: codes[name], exact, error)
    least = float(ends[0])
    return Term(
        *(ends, whole, lambda codes: np.maximum(codes[name], least), exact, error),
        gap=lambda codes: column.is_gap(codes[name]),
    )


Gap = Callable[[Codes], "Flags"] | None


def _some_gap(terms: Iterable[Term]) -> Gap:
    """Return where at least one of the terms is unknown."""
    gaps = [one.gap for one in terms if one.gap is not None]
    return (lambda codes: np.logical_or.reduce([gap(codes) for gap in gaps])) if gaps else None


def _every_gap(terms: Iterable[Term]) -> Gap:
    """Return where all of the terms are unknown."""
    gaps = [one.gap for one in terms]
    if None in gaps:
        return None
    return lambda codes: np.logical_and.reduce([gap(codes) for gap in gaps if gap is not None])


def _at(gap: Gap, row: Mapping[str, Fraction]) -> bool:
    """Return whether a term is unknown in one row."""
    return gap is not None and bool(gap({name: np.array([float(code)]) for name, code in row.items()})[0])


def _hull(terms: Sequence[Term]) -> Interval:
    return min(one.ends[0] for one in terms), max(one.ends[1] for one in terms)


def _first(terms: list[Term]) -> Term:
    """Return the first of some terms that is known."""

    def numbers(codes: Codes) -> Floats:
        found = terms[-1].numbers(codes)
        for one in terms[-2::-1]:
            own = one.numbers(codes)
            found = own if one.gap is None else np.where(one.gap(codes), found, own)
        return found

    return Term(
        _hull(terms),
        all(one.whole for one in terms),
        numbers,
        lambda row: next((one for one in terms if not _at(one.gap, row)), terms[-1]).exact(row),
        max(one.error for one in terms),
        _every_gap(terms),
    )


def _is_null(node: ast.expr, known: Mapping[str, Column]) -> bool:
    return isinstance(node, ast.Name) and node.id == NULL and NULL not in known


def _check_gaps(node: ast.expr, known: Mapping[str, Column]) -> None:
    """Refuse to ask for missing cells where each counts as a declared value."""
    if any(known[name].schema == 1 for name in names_in(node, known)):
        raise InputError(
            f"{ast.unparse(node)[:60]!r} asks for missing cells, which count as a declared value here",
            'compare with that one, or write schema = "dpaccount/study/2"',
        )


def _extreme(name: str, terms: list[Term]) -> Term:
    """Return the least or the largest of those terms that are known."""
    pick, joined = (min, np.minimum) if name == "min" else (max, np.maximum)
    sure, (low, high) = [one for one in terms if one.gap is None], _hull(terms)
    beyond = float(high if name == "min" else low)  # changes no result
    if name == "min":
        high = min((one.ends[1] for one in sure), default=high)
    else:
        low = max((one.ends[0] for one in sure), default=low)

    def numbers(one: Term, codes: Codes) -> Floats:
        own = one.numbers(codes)
        return own if one.gap is None else np.where(one.gap(codes), beyond, own)

    def exact(row: Mapping[str, Fraction]) -> Fraction:
        there = [one for one in terms if not _at(one.gap, row)]
        return pick(one.exact(row) for one in there or terms)

    return Term(
        (low, high),
        all(one.whole for one in terms),
        lambda codes: joined.reduce([numbers(one, codes) for one in terms]),
        exact,
        max(one.error for one in terms),
        _every_gap(terms),
    )


#: of arrays, and of exact numbers
_ARITHMETIC: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def _either(holds: "Holds", given: Term | None, elsewhere: Term | None) -> Term:
    """Return the term that is one where a condition holds, and another one elsewhere; None is unknown."""
    one, other = given or elsewhere, elsewhere or given
    if one is None or other is None:
        raise InputError("both sides of an if are null", "give one of them a value")

    def exact(row: Mapping[str, Fraction]) -> Fraction:
        # A condition is decided as by exact numbers, which a row's codes are.
        codes = {name: np.array([float(number)]) for name, number in row.items()}
        return one.exact(row) if holds(codes)[0] else other.exact(row)

    def gap(codes: Codes) -> Flags:
        there = holds(codes)
        lost = [
            np.full(len(there), each is None) if each is None or each.gap is None else each.gap(codes)
            for each in (given, elsewhere)
        ]
        return np.where(there, *lost)

    sure = all(each is not None and each.gap is None for each in (given, elsewhere))
    return Term(
        _hull((one, other)),
        one.whole and other.whole,
        lambda codes: np.where(holds(codes), one.numbers(codes), other.numbers(codes)),
        exact,
        max(one.error, other.error),
        None if sure else gap,
    )


def _combined(node: ast.expr, left: Term, op: ast.operator, right: Term) -> Term:
    """Return the term that two terms make, clipped to its bounds; refuses overflow and division by 0."""
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
            raise InputError(f"{ast.unparse(node)[:60]!r} is no arithmetic that is read", OF_FORMULAS)
    size = max(map(abs, ends))
    if size > FARTHEST_EDGE:
        raise InputError(f"{ast.unparse(node)[:60]!r} may be beyond 1e15", "declare narrower bounds")
    error = Fraction(0) if whole else min(error + size * ROUNDING + UNDERFLOW, LARGEST_ERROR)
    bounds, joined = (min(ends), max(ends)), _ARITHMETIC[type(op)]
    least, most = map(float, bounds)
    return Term(
        bounds,
        whole,
        lambda codes: np.clip(joined(left.numbers(codes), right.numbers(codes)), least, most),
        lambda row: joined(left.exact(row), right.exact(row)),
        error,
        _some_gap((left, right)),
    )


# ------------------------------------------------------------------ parts of dates


def _since_1970(days: Floats, unit: str) -> Floats:
    """Return how many whole units, such as months, each day is after the first one of 1970."""
    dates = (days.astype(np.int64) - EPOCH).astype("datetime64[D]")
    return dates.astype(f"datetime64[{unit}]").astype(np.float64)


_PARTS: Final[dict[str, Callable[[Floats], Floats]]] = {
    "year": lambda days: _since_1970(days, "Y") + 1970,
    "month": lambda days: _since_1970(days, "M") % 12 + 1,
    "quarter": lambda days: _since_1970(days, "M") % 12 // 3 + 1,
    "weekday": lambda days: (days - 1) % 7 + 1.0,
}


def _part(name: str, of: str, known: Mapping[str, Column]) -> Term:
    days, part = _term_of(of, known), _PARTS[name]
    if known[of].kind != "date":
        raise InputError(f"{of} is no date, so it has no {name}", "name a date")
    ranges = {"year": tuple(date.fromordinal(int(end)).year for end in days.ends)}
    ranges |= {"quarter": (1, 4), "month": (1, 12)}
    low, high = ranges.get(name, (1, 7))
    return Term(
        (Fraction(low), Fraction(high)),
        whole=True,
        numbers=lambda codes: part(days.numbers(codes)),
        exact=lambda row: Fraction(int(part(np.array([float(days.exact(row))]))[0])),
        gap=days.gap,
    )


# ------------------------------------------------------------------ conditions


Flags = NDArray[np.bool_]
Constant = bool | str | float
Holds = Callable[[Codes], Flags]
Truths = NDArray[np.int8]  #: of each row 1 for true, −1 for false, 0 for unknown (Kleene 1938)
Compared = Callable[[Floats, float | Floats], Flags]

LONGEST: Final = 1000  #: characters of a condition
MOST_TERMS: Final = 300  #: of its syntax tree, so that no evaluation is nested too deeply
OF_CONDITIONS: Final = (
    'write comparisons such as age - 18 >= 2 * visits and `my ward` == "A", with and, or, not'
)
THRESHOLD: Final = "a threshold is a number or a declared value, which is public"

_SIGNS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
UNREAD: Final = (SyntaxError, ValueError, RecursionError, MemoryError)  #: errors of Python's parser
#: A text in quotes, a name in backquotes, a number, a bare name, any other character.
TOKEN: Final = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|`([^`]*)`|(\.?[0-9](?:[eE][+-]|[0-9A-Za-z_.])*)"""
    r"|((?:[A-Za-z_]|[^\x00-\x7f])(?:[0-9A-Za-z_]|[^\x00-\x7f])*)|.",
    re.DOTALL,
)
TRUTH: Final = {"true": True, "false": False, "True": True, "False": False}


@lru_cache(maxsize=256)
def condition(text: str, columns: tuple[Column, ...]) -> tuple[tuple[str, ...], Holds]:
    """Return the names of the columns that a condition reads, and which rows meet it.

    A comparison has a declared column on one side and a public constant on the other: a number for
    numbers and integers, a declared value or a date in quotes, true or false for a boolean.  Or it has
    arithmetic of declared columns and public numbers on its sides.  A boolean column is a condition.  Rows
    are judged one by one, by the codes of their cells; one that is unknown is not met.  Raises `InputError`.
    """
    known = {column.name: column for column in columns}
    body = parsed(text, "condition", OF_CONDITIONS, known)
    names = {each.id for each in ast.walk(body) if isinstance(each, ast.Name)}
    if unknown := names - known.keys() - FUNCTIONS - TRUTH.keys() - {NULL}:
        raise InputError(
            f"{min(unknown)[:60]!r} is no declared column",
            f"{THRESHOLD}; declared: {', '.join(known) or 'none'}",
        )
    return names_in(body, known), _compiled(body, known).holds


def parsed(text: str, what: str, right: str, known: Iterable[str]) -> ast.expr:
    """Return the syntax tree of a text that is to be a `what`; raises `InputError`.

    Python's parser would change names (NFKC) and read no others than its own: so it is given n0, n1 … for
    them, and the tree gets them back as they are written, bare or in backquotes.  It has to see the same
    texts in quotes: so none stand side by side, as in triple quotes, and no comment holds one.
    """
    if len(text) > LONGEST:
        raise InputError(f"the {what} has {len(text)} characters", f"at most {LONGEST}")
    tokens, names = list(TOKEN.finditer(text)), dict[str, str]()
    for name in known:
        if _is_expression(name) and _occurs(name, text, tokens):
            raise InputError(
                f"{name[:60]!r} is an expression, and the name of a column",
                f"write the column as `{name[:60]}` in backquotes, and the expression with other spaces",
            )
    parts = []
    for token in tokens:
        name = token[4] if token[4] and not iskeyword(token[4]) else token[2]
        word = token[1] if name is None else names.setdefault(name, f"n{len(names)}")
        parts.append(f" {word} " if word else token[0].replace("#", "$"))
    try:
        tree = ast.parse("".join(parts).strip(), mode="eval")
    except UNREAD:
        raise InputError(f"{text[:60]!r} is no {what}", right) from None
    if sum(1 for _ in ast.walk(tree)) > MOST_TERMS:
        raise InputError(f"{text[:60]!r} has too many parts", f"write a shorter {what}")
    written = {short: name for name, short in names.items()}
    for node in ast.walk(tree):
        for field in {"id", "attr", "arg"} & {*node._fields}:
            setattr(node, field, written.get(getattr(node, field), getattr(node, field)))
    return tree.body


def _is_expression(name: str) -> bool:
    """Return whether a column's name, without backquotes, means something else: a-b, 18, True."""
    if (match := TOKEN.fullmatch(name)) is not None and match[4] and not iskeyword(name):
        return False
    with suppress(*UNREAD):
        return bool(ast.parse(name, mode="eval"))
    return False


def _occurs(name: str, text: str, tokens: list[re.Match[str]]) -> bool:
    """Return whether some tokens of a text, one after the other, are the name."""
    ends = {token.end() for token in tokens}
    return any(text.startswith(name, at := token.start()) and at + len(name) in ends for token in tokens)


def names_in(node: ast.expr, known: Mapping[str, Column]) -> tuple[str, ...]:
    """Return the known names in a syntax tree, without repeats."""
    names = (each.id for each in ast.walk(node) if isinstance(each, ast.Name))
    return tuple(dict.fromkeys(name for name in names if name in known))


@dataclass(frozen=True)
class Truth:
    """What a condition says of each row; `sure` where it is never unknown."""

    of: Callable[[Codes], Truths]
    sure: bool

    def holds(self, codes: Codes) -> Flags:
        """Return which rows meet it."""
        return self.of(codes) > 0


def _compiled(node: ast.expr, known: Mapping[str, Column]) -> Truth:
    match node:
        case ast.BoolOp(op=op, values=values):
            parts = [_compiled(value, known) for value in values]
            return _joined(parts, np.minimum if isinstance(op, ast.And) else np.maximum)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _compiled(operand, known)
            return Truth(lambda codes: -inner.of(codes), inner.sure)
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[other]):
            if not _is_null(other, known):
                raise InputError(f"{ast.unparse(node)[:60]!r} is no comparison", "write x is null, or ==")
            _check_gaps(left, known)
            gap, sign = _gap_of(left, known) or _nowhere, np.int8(-1 if isinstance(op, ast.IsNot) else 1)
            return Truth(lambda codes: _truths(gap(codes)) * sign, sure=True)
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [left, *others]
            pairs = zip(sides, ops, sides[1:], strict=False)
            return _joined([_comparison(a, op, b, known) for a, op, b in pairs], np.minimum)
        case ast.Name(id=name) if name in known and known[name].kind == "boolean":
            return _where_known(lambda codes: codes[name] == 1, _gap_of(node, known))
        case _:
            raise InputError(f"{ast.unparse(node)[:60]!r} is no comparison", OF_CONDITIONS)


def _joined(parts: list[Truth], joined: np.ufunc) -> Truth:
    """Return the least or the largest of some truths: `and`, and `or`."""
    return Truth(
        lambda codes: joined.reduce([part.of(codes) for part in parts]), all(part.sure for part in parts)
    )


def _truths(flags: Flags) -> Truths:
    truths: Truths = flags.view(np.int8) * np.int8(2) - np.int8(1)
    return truths


def _where_known(holds: Holds, gap: Gap) -> Truth:
    """Return a comparison, which is unknown where one of its sides is."""
    if gap is None:
        return Truth(lambda codes: _truths(holds(codes)), sure=True)

    def of(codes: Codes) -> Truths:
        truths = _truths(holds(codes))
        truths[gap(codes)] = 0
        return truths

    return Truth(of, sure=False)


def _gap_of(node: ast.expr, known: Mapping[str, Column]) -> Gap:
    """Return where a side of a comparison is unknown: a column of any kind, or arithmetic."""
    if (column := _column(node, known)) is None:
        return term(node, known).gap
    return (lambda codes: column.is_gap(codes[column.name])) if column.gaps else None


def _nowhere(codes: Codes) -> Flags:
    return np.zeros(len(next(iter(codes.values()))), dtype=bool)


def _comparison(left: ast.expr, op: ast.cmpop, right: ast.expr, known: Mapping[str, Column]) -> Truth:
    sign = _SIGNS.get(type(op))
    if sign is None:
        raise InputError("a condition has an operator that is not read", OF_CONDITIONS)
    names = names_in(ast.Compare(left, [op], [right]), known)
    # The constant goes to the right, so that each case is written once.
    if _constant(left, known) is not None:
        left, sign, right = right, COMPARISONS[sign][1], left
    column, value, compared = _column(left, known), _constant(right, known), COMPARISONS[sign][0]
    if column is not None and value is not None:
        name, limit = column.name, _limit(column, sign, value)
        return _where_known(lambda codes: compared(codes[name], limit), _gap_of(left, known))
    if not names:
        raise InputError("a comparison names no column", f"declared: {', '.join(known)}")
    sides = term(left, known), term(right, known)
    return _where_known(_of_terms(sides[0], compared, sides[1], names), _some_gap(sides))


def _of_terms(left: Term, compared: Compared, right: Term, names: tuple[str, ...]) -> Holds:
    """Return which rows meet a comparison of arithmetic on some columns, decided as by exact numbers.

    A cell is the shortest decimal that is read as its number.  Where rounding might decide, rows are
    computed again in fractions.
    """
    margin = 2 * (left.error + right.error)

    def holds(codes: Codes) -> Flags:
        a, b = left.numbers(codes), right.numbers(codes)
        flags = compared(a, b)
        near = ~(np.abs(a - b) > float(margin)) if margin else np.zeros(0, dtype=bool)
        if near.any():
            again = _in_fractions(lambda row: compared(left.exact(row), right.exact(row)), names, codes, near)  # type: ignore[arg-type]
            flags[near] = again
        return flags

    return holds


def _in_fractions(
    of: Callable[[Mapping[str, Fraction]], Any], names: tuple[str, ...], codes: Codes, some: Flags
) -> Floats:
    """Return what follows from some rows without rounding.

    A cell is the shortest decimal that is read as its number.
    """
    cells = (codes[name][some] for name in names)
    rows = np.column_stack(
        [each if each.ndim == 1 else each.any(axis=1) for each in cells]
    )  # of a text, if any
    # Equal rows are computed once: ties are of few values.
    each, place = np.unique(rows, axis=0, return_inverse=True)
    numbers = ([Fraction(repr(cell)) for cell in row] for row in each.tolist())
    found = np.array([float(of(dict(zip(names, row, strict=True)))) for row in numbers])
    return found[place.reshape(-1)]


def _floor(one: Term, names: tuple[str, ...]) -> Term:
    """Return the largest whole number that is not above a term, as of exact numbers."""
    if one.whole:
        return one

    def numbers(codes: Codes) -> Floats:
        inner = one.numbers(codes)
        found: Floats = np.floor(inner)
        near = ~(np.abs(inner - np.rint(inner)) > float(one.error))
        if near.any():
            found[near] = _in_fractions(lambda row: math.floor(one.exact(row)), names, codes, near)
        return found

    low, high = (Fraction(math.floor(end)) for end in one.ends)
    return replace(
        *(one,),
        ends=(low, high),
        whole=True,
        numbers=numbers,
        exact=lambda row: Fraction(math.floor(one.exact(row))),
        error=Fraction(0),
    )


def _column(node: ast.expr, known: Mapping[str, Column]) -> Column | None:
    return known.get(node.id) if isinstance(node, ast.Name) else None


def _limit(column: Column, sign: str, value: Constant) -> float:
    """Return the code that a column is compared with: a public constant's."""
    if column.kind in NUMERIC_KINDS:
        if isinstance(value, bool | str):
            raise InputError(f"{column.name} is a number, compared with {value!r}", "write a number")
        if abs(value) > 10**300:
            raise InputError(f"{column.name} is compared with a number beyond 1e300", "write a smaller one")
        return float(value)
    if column.kind == "date":
        day = day_number(value)
        if not isinstance(value, str) or math.isnan(day):
            raise InputError(f"{column.name} is a date, compared with {value!r}", 'write "2024-12-31"')
        return day
    if sign not in ("==", "!="):
        raise InputError(f"{column.name} is a {column.kind}, which has no order", "compare by == or !=")
    if column.kind == "boolean":
        if not isinstance(value, bool):
            raise InputError(f"{column.name} is a boolean, compared with {value!r}", "write true or false")
        return float(value)
    if column.kind != "category" or not isinstance(value, str) or value not in column.labels:
        raise InputError(
            f"{column.name} is compared with {value!r}", f"known: {', '.join(map(repr, column.labels[:20]))}"
        )
    return float(column.labels.index(value))


def _constant(node: ast.expr, known: Mapping[str, Column]) -> Constant | None:
    match node:
        case ast.Name(id=name) if name in TRUTH and name not in known:
            return TRUTH[name]
        case ast.Constant(value=bool() | str() | int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return None if isinstance(value, bool) else -value
    return None


# ------------------------------------------------------------------ derived columns


WORDS: Final = FUNCTIONS | TRUTH.keys() | {"bins", "period", NULL}
#: of a period by its name: how many months it has, and what one is called by its year and first month
PERIODS: Final = {
    **{
        "year": (12, "{:04d}-{:02d}-01"),
        "quarter": (3, "{:04d}-{:02d}-01"),
        "month": (1, "{:04d}-{:02d}-01"),
    },
    **{"%Y": (12, "{:04d}"), "%Y-%m": (1, "{:04d}-{:02d}")},
}


@dataclass(frozen=True)
class DerivedColumn(Column):
    """A column that no file has: its code follows by `formula` from those of the columns `of`."""

    of: tuple[Column, ...] = ()
    formula: str = ""

    def code(self, codes: Codes) -> Floats:
        """Return each row's code from its codes of the columns `of`."""
        return _read(self.formula, self.of)[1](codes)


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
    columns = []
    for name in sorted(place.table((), tuple(place.value) if isinstance(place.value, dict) else ())):
        with place.child(name).placing():
            if name in [column.name for column in known]:
                raise InputError(f"{name} is declared too", "give the derived column another name")
            columns.append(derived(name, place.child(name).text(), known))
    return tuple(columns)


def derived(name: str, formula: str, known: tuple[Column, ...]) -> DerivedColumn:
    """Return the column that a formula defines; raises `InputError` where it is undefined for some row."""
    by_name = {column.name: column for column in known}
    body = parsed(formula, "formula", OF_FORMULAS, by_name)
    of = tuple(by_name[each] for each in names_in(body, by_name))
    names = {each.id for each in ast.walk(body) if isinstance(each, ast.Name)} - WORDS
    if not of or not names <= by_name.keys():
        named = f"{min(names - by_name.keys())[:60]!r} is no declared" if names else "a formula names no"
        raise InputError(f"{named} column", f"declared: {', '.join(by_name)}")
    kind = _read(formula, of)[0]
    own = {key: getattr(kind, key) for key in ("kind", "low", "high", "values", "gaps", "schema")}
    return DerivedColumn(name, **own, of=of, formula=formula)


@lru_cache(maxsize=256)
def _read(formula: str, of: tuple[Column, ...]) -> tuple[Column, Callable[[Codes], Floats]]:
    """Return the column that a formula defines, without its name, and each row's code."""
    known = {column.name: column for column in of}
    body = parsed(formula, "formula", OF_FORMULAS, known)
    schema = max(column.schema for column in of)
    match body:
        case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            truth = _compiled(body, known)
            column = Column("derived", "boolean", gaps=not truth.sure, schema=schema)
            return column, lambda codes: _flags_of(truth.of(codes), column)
        case ast.Call(func=ast.Name(id="bins"), args=[first, *edges], keywords=[]):
            return _binned(term(first, known), tuple(map(constant, edges)), schema)
        case ast.Call(func=ast.Name(id="period"), args=[ast.Name(id=day), unit], keywords=[]):
            return _periods(known[day], unit, schema)
    value = term(body, known)
    column = Column(
        *("derived", "integer" if value.whole else "number", *value.ends),
        gaps=value.gap is not None,
        schema=schema,
    )
    return column, _with_gaps(value.numbers, value.gap, column)


def _periods(days: Column, unit: ast.expr, schema: int) -> tuple[Column, Callable[[Codes], Floats]]:
    """Return the category of a date's year, quarter or month: each is called by its first day."""
    name = unit.value if isinstance(unit, ast.Constant) else None
    if days.kind != "date" or not isinstance(name, str) or name not in PERIODS:
        right = f"write period(day, {NAME_OF_PERIODS})"
        raise InputError(f"period of {days.name} by {ast.unparse(unit)[:60]} is none", right)
    months, label = PERIODS[name]
    first, last = (
        (day.year * 12 + day.month - 1) // months
        for day in (date.fromordinal(int(end)) for end in days.bounds)
    )
    if last - first >= MOST_BINS:
        raise InputError(f"{days.name} has more than {MOST_BINS} periods", "take longer ones")
    labels = tuple(label.format(*_year_and_month(each * months)) for each in range(first, last + 1))
    column = Column("derived", "category", values=labels, gaps=days.gaps, schema=schema)
    value = _term_of(days.name, {days.name: days})
    place = lambda codes: (_since_1970(value.numbers(codes), "M") + 1970 * 12) // months - first  # noqa: E731
    return column, _with_gaps(place, value.gap, column)


NAME_OF_PERIODS: Final = " or ".join(f'"{name}"' for name in PERIODS)


def _year_and_month(months: int) -> tuple[int, int]:
    return months // 12, months % 12 + 1


def _flags_of(truths: Truths, column: Column) -> Floats:
    """Return the codes of a boolean column."""
    return np.where(truths == 0, column.gap, (truths > 0) * 1.0)


def _with_gaps(numbers: Callable[[Codes], Floats], gap: Gap, column: Column) -> Callable[[Codes], Floats]:
    """Return numbers, with the column's code of a missing cell where they are unknown."""
    return numbers if gap is None else lambda codes: np.where(gap(codes), column.gap, numbers(codes))


def _binned(
    value: Term, edges: tuple[Fraction, ...], schema: int
) -> tuple[Column, Callable[[Codes], Floats]]:
    if not 2 <= len(edges) <= MOST_BINS:
        raise InputError(f"bins has {len(edges)} edges", "write bins(age, 0, 18, 65), with two or more")
    cells = cells_of(Column("bins", "number", *value.ends), edges)
    column = Column("derived", "category", values=cells.labels, gaps=value.gap is not None, schema=schema)
    return column, _with_gaps(lambda codes: cells.place(value.numbers(codes)), value.gap, column)
