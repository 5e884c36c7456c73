"""Derived columns of a study: kinds and bounds, inferred from their formulas again."""

import ast
from datetime import date
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from ..documents import Rejected, brief, ensure
from .conditions import check_condition, day_of, named_in, parsed
from .shapes import exact_of

Table = dict[str, Any]
Term = tuple[tuple[Fraction, Fraction], bool]  # the least and the largest, whether it is whole
FARTHEST = 10**15
ORDERED = ("number", "integer", "date")  # kinds of columns that have bounds
PARTS = {"month": (1, 12), "weekday": (1, 7)}


def every_column(data: Table) -> Table:
    """Return the declarations of a study's columns by name: the file's, and those that follow."""
    found = {name: in_days(column) for name, column in data.get("columns", {}).items()}
    for name, join in sorted(data.get("join", {}).items()):
        key = data["columns"].get(join["key"], {})
        ensure(key.get("type") == "category", f"the key of {brief(name)} is no declared category")
        keyed = {"formula": f"{name}[{join['key']}]", "of": [join["key"]], "joined": True}
        given = {each: {**in_days(column), **keyed} for each, column in join["columns"].items()}
        ensure(not given.keys() & found.keys(), f"a column of {brief(name)} has the name of another")
        found |= given
    made = {name: derived(formula, found) for name, formula in data.get("derived", {}).items()}
    ensure(not made.keys() & found.keys(), "a derived column has the name of a declared one")
    return found | made


def check_joined(found: Table, columns: Table) -> None:
    """Verify that a joined column, and no other, has a code for each key, and one more."""
    said, codes = columns[found["name"]], found.get("found")
    ensure((codes is None) is not said.get("joined", False), "codes are of joined columns")
    if codes is None:
        return
    key = columns[said["of"][0]]
    labels = len(key["values"]) + key.get("other", False)
    ensure(type(codes) is list and len(codes) == labels + 1, "a joined column has no code for some key")
    low, high = Fraction(0), Fraction(1)
    if said["type"] in ORDERED:
        low, high = (Fraction(float(exact_of(said[end], end) or 0)) for end in ("low", "high"))
    elif said["type"] == "category":
        low, high = Fraction(-1), Fraction(len(said["values"]) + said.get("other", False) - 1)
    for code in codes:
        value = exact_of(code, "a code")
        if value is None:
            raise Rejected("a code is finite")
        whole = said["type"] == "number" or value.denominator == 1
        ensure(low <= value <= high and whole, f"a code of {brief(found['name'])} is none of its column's")


def in_days(column: Table) -> Table:
    """Return a declaration with the bounds of dates as numbers of days."""
    if column["type"] != "date":
        return column
    days = {key: day_of(column[key]) for key in ("low", "high", "missing") if column.get(key) is not None}
    return {**column, **days}


def derived(formula: object, columns: Table) -> Table:
    """Return the declaration of what a formula defines, with the names of what it reads."""
    body = parsed(formula)
    read = named_in(body, columns)
    ensure(read != [], f"the formula {brief(formula)} reads no column")
    said: Table = {"formula": formula, "of": read}
    if isinstance(body, ast.BoolOp | ast.Compare) or is_not(body):
        check_condition(body, columns)
        return {**said, "type": "boolean"}
    if isinstance(body, ast.Call) and name_of(body.func) == "bins" and not body.keywords:
        ensure(len(body.args) >= 3, "bins have two edges at least")
        ends_of(body.args[0], columns)
        edges = [float(constant(each)) for each in body.args[1:]]
        ensure(all(low < high for low, high in pairwise(edges)), "the edges of bins do not rise")
        names = [repr(edge).removesuffix(".0") for edge in edges]
        labels = [f"[{low}, {high})" for low, high in pairwise(names)]
        return {**said, "type": "category", "values": [*labels[:-1], f"{labels[-1][:-1]}]"]}
    (low, high), whole = ends_of(body, columns)
    return {**said, "type": "integer" if whole else "number", "low": str(low), "high": str(high)}


def is_not(node: ast.expr) -> bool:
    """Return whether a formula is the opposite of a condition."""
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def name_of(node: ast.expr) -> str | None:
    """Return the name that an expression is, None for all others."""
    return node.id if isinstance(node, ast.Name) else None


def ends_of(node: ast.expr, columns: Table) -> Term:
    """Return the least and the largest that a formula may be, and whether it is whole."""
    if isinstance(node, ast.Constant):
        value = constant(node)
        return (value, value), value.denominator == 1
    if isinstance(node, ast.Name):
        column = columns.get(node.id, {"type": ""})
        if column["type"] == "boolean":
            return (Fraction(0), Fraction(1)), True
        ensure(column["type"] in ORDERED, f"{brief(node.id)} is no number")
        low, high = (exact_of(column[end], end) or Fraction(0) for end in ("low", "high"))
        return (low, high), column["type"] != "number"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        (low, high), whole = ends_of(node.operand, columns)
        return (-high, -low), whole
    if isinstance(node, ast.BinOp):
        return combined(node.op, ends_of(node.left, columns), ends_of(node.right, columns))
    if isinstance(node, ast.Call) and not node.keywords:
        return called(name_of(node.func), node.args, columns)
    raise Rejected("a formula has a part that is not read")


def combined(op: ast.operator, left: Term, right: Term) -> Term:
    """Return what the sum, difference, product or quotient of two numbers is."""
    ((a, b), first), ((c, d), second) = left, right
    if isinstance(op, ast.Add):
        ends = [a + c, b + d]
    elif isinstance(op, ast.Sub):
        ends = [a - d, b - c]
    elif isinstance(op, ast.Mult):
        ends = [x * y for x, y in product((a, b), (c, d))]
    else:
        ensure(isinstance(op, ast.Div), "a formula has an operator that is not read")
        ensure(c * FARTHEST >= 1 or d * FARTHEST <= -1, "a formula may divide by 0")
        ends = [x / y for x, y in product((a, b), (c, d))]
    ensure(max(map(abs, ends)) <= FARTHEST, "a formula may be beyond 1e15")
    return (min(ends), max(ends)), first and second and not isinstance(op, ast.Div)


def called(name: str | None, args: list[ast.expr], columns: Table) -> Term:
    """Return what a function of a formula is of its arguments."""
    if name in ("year", *PARTS):
        column = columns.get(name_of(args[0]) or "", {}) if len(args) == 1 else {}
        ensure(column.get("type") == "date", f"{name} is of a date")
        ends = [date.fromordinal(column[end]).year for end in ("low", "high")]
        low, high = PARTS.get(name, ends)
        return (Fraction(low), Fraction(high)), True
    found = [ends_of(each, columns) for each in args]
    whole = all(each for _, each in found)
    lows, highs = [ends[0] for ends, _ in found], [ends[1] for ends, _ in found]
    if name == "abs" and len(args) == 1:
        nearest = max(lows[0], -highs[0], Fraction(0))
        return (nearest, max(abs(lows[0]), abs(highs[0]))), whole
    ensure(name in ("min", "max") and len(args) > 1, f"the function {brief(name)} is not read")
    pick = min if name == "min" else max
    return (pick(lows), pick(highs)), whole


def constant(node: ast.expr) -> Fraction:
    """Return a number that is written in a formula."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -constant(node.operand)
    value = node.value if isinstance(node, ast.Constant) else None
    fine = type(value) in (int, float) and -FARTHEST <= value <= FARTHEST  # type: ignore[operator]
    ensure(fine, "a formula has no number within 1e15 where one belongs")
    return Fraction(repr(value))
