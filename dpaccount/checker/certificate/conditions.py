"""Conditions of a study: columns against constants, and what joins these; nothing that reads other rows."""

import ast
from datetime import date
from itertools import pairwise
from typing import Any

from ..documents import Rejected, brief, ensure, spend, text

Table = dict[str, Any]
LONGEST, MOST_TERMS, LARGEST = 1000, 300, 10**300
TRUTH = {"true": True, "false": False, "True": True, "False": False}
EQUAL = (ast.Eq, ast.NotEq)
COMPARED = (*EQUAL, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def parsed(said: object) -> ast.expr:
    """Return the syntax tree of a formula or a condition."""
    try:
        ensure(len(text(said)) <= LONGEST, "a formula is too long")
        body = ast.parse(text(said).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Rejected(f"{brief(said)} is no formula") from None
    many = sum(1 for _ in ast.walk(body))
    ensure(many < MOST_TERMS, "a formula has too many parts")
    spend(1000 * many)
    return body


def named_in(body: ast.expr, columns: Table) -> list[str]:
    """Return the names of columns that stand in a syntax tree, each once."""
    names = (node.id for node in ast.walk(body) if isinstance(node, ast.Name))
    return list(dict.fromkeys(name for name in names if name in columns))


def where_reads(said: object, columns: Table) -> list[str]:
    """Return the columns that a statistic's `where` reads; rejects what is no condition on them."""
    if not text(said).strip():
        return []
    body = parsed(said)
    check_condition(body, columns)
    return named_in(body, columns)


def check_condition(node: ast.expr, columns: Table) -> None:
    """Verify that a condition is of comparisons of a declared column with a constant, or boolean columns."""
    if isinstance(node, ast.BoolOp):
        for part in node.values:
            check_condition(part, columns)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        check_condition(node.operand, columns)
    elif isinstance(node, ast.Compare):
        for (left, right), op in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            check_comparison(left, op, right, columns)
    else:
        column = column_of(node, columns)
        alone = column is not None and column["type"] == "boolean"
        ensure(alone, "a condition has a part that is no comparison of a declared column")


def check_comparison(left: ast.expr, op: ast.cmpop, right: ast.expr, columns: Table) -> None:
    """Verify that one side is a column, and the other a constant of its kind."""
    column, other = column_of(left, columns), right
    if column is None:
        column, other = column_of(right, columns), left
    if column is None:
        raise Rejected("a condition compares no declared column")
    value, kind = constant_of(other, columns), column["type"]
    ordered = kind in ("number", "integer", "date")
    known = isinstance(op, COMPARED if ordered else EQUAL)
    ensure(known, f"a condition has a comparison that no {kind} has")
    if kind == "date":
        day_of(text(value).strip()[:10])
    elif ordered:
        fine = type(value) in (int, float) and -LARGEST <= value <= LARGEST  # type: ignore[operator]
        ensure(fine, f"a condition compares a number with {brief(value)}")
    elif kind == "boolean":
        ensure(type(value) is bool, f"a condition compares a boolean with {brief(value)}")
    else:
        labels = [*column.get("values", []), *(["other"] if column.get("other", False) else [])]
        fine = kind == "category" and type(value) is str and value in labels
        ensure(fine, f"a condition compares a {kind} with {brief(value)}")


def column_of(node: ast.expr, columns: Table) -> Table | None:
    """Return the declaration of the column that an expression names, None for all others."""
    return columns.get(node.id) if isinstance(node, ast.Name) else None


def constant_of(node: ast.expr, columns: Table) -> bool | str | float:
    """Return what a condition compares a column with; rejects what is not written there."""
    if isinstance(node, ast.Name) and node.id in TRUTH and node.id not in columns:
        return TRUTH[node.id]
    sign = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if isinstance(node, ast.UnaryOp) and sign else node
    value = inner.value if isinstance(inner, ast.Constant) else None
    if isinstance(value, bool | str) and not sign:
        return value
    ensure(type(value) in (int, float), "a condition compares a column with something that is no constant")
    return -value if sign else value  # type: ignore[return-value, operator]


def day_of(value: object) -> int:
    """Return the number of the day that YYYY-MM-DD names, 1 for 0001-01-01."""
    try:
        ensure(len(text(value)) == 10, f"{brief(value)} is no date")
        return date.fromisoformat(text(value)).toordinal()
    except ValueError:
        raise Rejected(f"{brief(value)} is no date, as YYYY-MM-DD") from None
