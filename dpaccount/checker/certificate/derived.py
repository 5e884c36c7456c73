"""Derived columns of a study: kinds and bounds, inferred from their formulas again."""

import ast
from fractions import Fraction
from itertools import pairwise
from typing import Any
from unicodedata import normalize

from ..documents import Rejected, brief, ensure
from .conditions import ORDERED, check_condition, constant, day_of, ends_of, name_of, named_in, parsed
from .shapes import exact_of

Table = dict[str, Any]


def every_column(data: Table) -> Table:
    """Return the declarations of a study's columns by name: the file's, and those that follow."""
    known = {name: in_days(column) for name, column in data.get("columns", {}).items()}
    for name, join in sorted(data.get("join", {}).items()):
        key = data["columns"].get(join["key"], {})
        ensure(key.get("type") == "category", f"the key of {brief(name)} is no declared category")
        keyed = {"formula": f"{name}[{join['key']}]", "of": [join["key"]], "joined": True}
        given = {each: {**in_days(column), **keyed} for each, column in join["columns"].items()}
        ensure(not given.keys() & known.keys(), f"a column of {brief(name)} has the name of another")
        known |= given
    names = {*known, *data.get("derived", {}), *([data["id"]] if "id" in data else [])}
    ensure(len({normalize("NFKC", name) for name in names}) == len(names), "two names of columns are one")
    new = {name: derived(formula, known) for name, formula in data.get("derived", {}).items()}
    ensure(not new.keys() & known.keys(), "a derived column has the name of a declared one")
    return known | new


def check_joined(joined: Table, columns: Table) -> None:
    """Verify that a joined column, and no other, has a code for each key, and one more."""
    column, codes = columns[joined["name"]], joined.get("found")
    ensure((codes is None) is not column.get("joined", False), "codes are of joined columns")
    if codes is None:
        return
    key = columns[column["of"][0]]
    labels = len(key["values"]) + key.get("other", False)
    ensure(type(codes) is list and len(codes) == labels + 1, "a joined column has no code for some key")
    low, high = Fraction(0), Fraction(1)
    if column["type"] in ORDERED:
        low, high = (Fraction(float(exact_of(column[end], end) or 0)) for end in ("low", "high"))
    elif column["type"] == "category":
        low, high = Fraction(-1), Fraction(len(column["values"]) + column.get("other", False) - 1)
    for code in codes:
        value = exact_of(code, "a code")
        if value is None:
            raise Rejected("a code is finite")
        whole = column["type"] == "number" or value.denominator == 1
        ensure(low <= value <= high and whole, f"a code of {brief(joined['name'])} is none of its column's")


def in_days(column: Table) -> Table:
    """Return a declaration with the bounds of dates as numbers of days."""
    if column["type"] != "date":
        return column
    days = {key: day_of(column[key]) for key in ("low", "high", "missing") if column.get(key) is not None}
    return {**column, **days}


def derived(formula: object, columns: Table) -> Table:
    """Return the declaration of what a formula defines, with the names of what it reads."""
    body = parsed(formula, columns)
    read = named_in(body, columns)
    ensure(read != [], f"the formula {brief(formula)} reads no column")
    shape: Table = {"formula": formula, "of": read}
    if isinstance(body, ast.BoolOp | ast.Compare) or is_not(body):
        check_condition(body, columns)
        return {**shape, "type": "boolean"}
    if isinstance(body, ast.Call) and name_of(body.func) == "bins" and not body.keywords:
        ensure(len(body.args) >= 3, "bins have two edges at least")
        ends_of(body.args[0], columns)
        edges = [float(constant(each)) for each in body.args[1:]]
        ensure(all(low < high for low, high in pairwise(edges)), "the edges of bins do not rise")
        names = [repr(edge).removesuffix(".0") for edge in edges]
        labels = [f"[{low}, {high})" for low, high in pairwise(names)]
        return {**shape, "type": "category", "values": [*labels[:-1], f"{labels[-1][:-1]}]"]}
    (low, high), whole = ends_of(body, columns)
    return {**shape, "type": "integer" if whole else "number", "low": str(low), "high": str(high)}


def is_not(node: ast.expr) -> bool:
    """Return whether a formula is the opposite of a condition."""
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
