"""Derived columns: functions of one row's declared columns and public constants, and nothing else.

A formula is arithmetic, a condition, or ``bins(…, edges)``, a category of which a bin holds its lower edge.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np

from dpaccount.documents import Place
from dpaccount.errors import InputError
from mechanisms.statistics.arithmetic import FUNCTIONS, RIGHT, Codes, Floats, Term, constant, term
from mechanisms.statistics.conditions import TRUTH, condition, names_in, parsed
from mechanisms.table.bind_columns import MOST_BINS, cells_of
from mechanisms.table.columns import Column

WORDS: Final = FUNCTIONS | TRUTH.keys() | {"bins"}


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
    """Return what a formula defines; raises `InputError` where it is undefined for some row."""
    by_name = {column.name: column for column in known}
    body = parsed(formula, "formula", RIGHT, by_name)
    of = tuple(by_name[each] for each in names_in(body, by_name))
    names = {each.id for each in ast.walk(body) if isinstance(each, ast.Name)} - WORDS
    if not of or not names <= by_name.keys():
        named = f"{min(names - by_name.keys())[:60]!r} is no declared" if names else "a formula names no"
        raise InputError(f"{named} column", f"declared: {', '.join(by_name)}")
    kind = _read(formula, of)[0]
    return DerivedColumn(name, kind.kind, kind.low, kind.high, kind.values, of=of, formula=formula)


@lru_cache(maxsize=256)
def _read(formula: str, of: tuple[Column, ...]) -> tuple[Column, Callable[[Codes], Floats]]:
    """Return the column that a formula defines, without its name, and each row's code."""
    known = {column.name: column for column in of}
    body = parsed(formula, "formula", RIGHT, known)
    match body:
        case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            holds = condition(formula, of)[1]
            return Column("derived", "boolean"), lambda codes: holds(codes).astype(np.float64)
        case ast.Call(func=ast.Name(id="bins"), args=[first, *edges], keywords=[]):
            return _binned(term(first, known), tuple(map(constant, edges)))
    value = term(body, known)
    return Column("derived", "integer" if value.whole else "number", *value.ends), value.numbers


def _binned(value: Term, edges: tuple[Fraction, ...]) -> tuple[Column, Callable[[Codes], Floats]]:
    if not 2 <= len(edges) <= MOST_BINS:
        raise InputError(f"bins has {len(edges)} edges", "write bins(age, 0, 18, 65), with two or more")
    cells = cells_of(Column("bins", "number", *value.ends), edges)
    return Column("derived", "category", values=cells.labels), lambda codes: cells.place(value.numbers(codes))
