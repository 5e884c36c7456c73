"""Conditions on declared columns, such as ``age >= 18 and readmitted == true``: which rows count."""

import ast
import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from keyword import iskeyword
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from mechanisms.statistics.arithmetic import FUNCTIONS, Codes, Floats, Term, term
from mechanisms.table.columns import COMPARISONS, NUMERIC_KINDS, Column, day_number

Flags = NDArray[np.bool_]
Constant = bool | str | float
Holds = Callable[[Codes], Flags]
Compared = Callable[[Floats, float | Floats], Flags]

LONGEST: Final = 1000  #: characters of a condition
MOST_TERMS: Final = 300  #: of its syntax tree, so that no evaluation is nested too deeply
RIGHT: Final = 'write comparisons such as age - 18 >= 2 * visits and `my ward` == "A", with and, or, not'
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
    are judged one by one, by the codes of their cells (a missing cell has the code of the column's default).
    Raises `InputError`.
    """
    known = {column.name: column for column in columns}
    body = parsed(text, "condition", RIGHT, known)
    names = {each.id for each in ast.walk(body) if isinstance(each, ast.Name)}
    if unknown := names - known.keys() - FUNCTIONS - TRUTH.keys():
        raise InputError(
            f"{min(unknown)[:60]!r} is no declared column",
            f"{THRESHOLD}; declared: {', '.join(known) or 'none'}",
        )
    return names_in(body, known), _compiled(body, known)


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


def _compiled(node: ast.expr, known: Mapping[str, Column]) -> Holds:
    match node:
        case ast.BoolOp(op=op, values=values):
            parts = [_compiled(value, known) for value in values]
            joined = np.logical_and if isinstance(op, ast.And) else np.logical_or
            return lambda codes: joined.reduce([part(codes) for part in parts])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _compiled(operand, known)
            return lambda codes: ~inner(codes)
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [left, *others]
            pairs = zip(sides, ops, sides[1:], strict=False)
            parts = [_comparison(a, op, b, known) for a, op, b in pairs]
            return lambda codes: np.logical_and.reduce([part(codes) for part in parts])
        case ast.Name(id=name) if name in known and known[name].kind == "boolean":
            return lambda codes: codes[name] == 1
        case _:
            raise InputError(f"{ast.unparse(node)[:60]!r} is no comparison", RIGHT)


def _comparison(left: ast.expr, op: ast.cmpop, right: ast.expr, known: Mapping[str, Column]) -> Holds:
    sign = _SIGNS.get(type(op))
    if sign is None:
        raise InputError("a condition has an operator that is not read", RIGHT)
    names = names_in(ast.Compare(left, [op], [right]), known)
    if _constant(left, known) is not None:
        left, sign, right = right, COMPARISONS[sign][1], left
    column, value, compared = _column(left, known), _constant(right, known), COMPARISONS[sign][0]
    if column is not None and value is not None:
        name, limit = column.name, _limit(column, sign, value)
        return lambda codes: compared(codes[name], limit)
    if not names:
        raise InputError("a comparison names no column", f"declared: {', '.join(known)}")
    return _of_terms(term(left, known), compared, term(right, known), names)


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
            rows = np.column_stack([codes[name][near] for name in names])
            some, place = np.unique(rows, axis=0, return_inverse=True)
            numbers = ([Fraction(repr(cell)) for cell in row] for row in some.tolist())
            exact = (dict(zip(names, row, strict=True)) for row in numbers)
            again = [compared(left.exact(row), right.exact(row)) for row in exact]  # type: ignore[arg-type]
            flags[near] = np.array(again, dtype=bool)[place.reshape(-1)]
        return flags

    return holds


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
