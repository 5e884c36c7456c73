"""Conditions and derived columns of a study: of one row's columns and constants, and of no other row."""

import ast
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from fractions import Fraction
from itertools import pairwise, product
from keyword import iskeyword
from typing import Any
from unicodedata import normalize

from dpaccount.checker.certificate.shapes import exact_of
from dpaccount.checker.certificate.tables import FARTHEST, MOST_CELLS, ORDERED, day_of, in_days
from dpaccount.checker.documents import Rejected, brief, ensure, spend, text

Table = dict[str, Any]
Term = tuple[tuple[Fraction, Fraction], bool]  # the least and the largest, whether it is whole
NULL = "null"
PARTS = {"quarter": (1, 4), "month": (1, 12), "weekday": (1, 7)}
MONTHS = {"year": 12, "quarter": 3, "month": 1, "%Y": 12, "%Y-%m": 1}  # of a period
LONGEST, MOST_TERMS, LARGEST_NUMBER = 1000, 300, 10**300
TRUTH = {"true": True, "false": False, "True": True, "False": False}
EQUAL = (ast.Eq, ast.NotEq)
COMPARED = (*EQUAL, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
UNREAD = (SyntaxError, ValueError, RecursionError, MemoryError)
TEXT = r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
NUMBER_TEXT = r"(\.?[0-9](?:[eE][+-]|[0-9A-Za-z_.])*)"
NAME_TEXT = r"((?:[A-Za-z_]|[^\x00-\x7f])(?:[0-9A-Za-z_]|[^\x00-\x7f])*)"
TOKEN = re.compile(f"{TEXT}|`([^`]*)`|{NUMBER_TEXT}|{NAME_TEXT}|.", re.DOTALL)


def parsed(source: object, columns: Table) -> ast.expr:
    """Return the syntax tree of a formula or a condition, its names as they are written."""
    ensure(len(text(source)) <= LONGEST, "a formula is too long")
    tokens, short, parts = list(TOKEN.finditer(text(source))), dict[str, str](), list[str]()
    starts, ends = {token.start() for token in tokens}, {token.end() for token in tokens}
    for name in filter(is_expression, columns):
        found = any(text(source).startswith(name, at) and at + len(name) in ends for at in starts)
        ensure(not found, f"{brief(name)} is an expression, and the name of a column")
    # Python's parser would normalise names, and read no others than its own.
    for token in tokens:
        word = token[4] if token[4] and not iskeyword(token[4]) else token[2]
        part = token[1] if word is None else short.setdefault(word, f"n{len(short)}")
        parts.append(f" {part} " if part else token[0].replace("#", "$"))
    try:
        body = ast.parse("".join(parts).strip(), mode="eval").body
    except UNREAD:
        raise Rejected(f"{brief(source)} is no formula") from None
    nodes = sum(1 for _ in ast.walk(body))
    ensure(nodes < MOST_TERMS, "a formula has too many parts")
    spend(1000 * nodes)
    names = {each: word for word, each in short.items()}
    for node in ast.walk(body):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return body


def is_expression(name: str) -> bool:
    """Return whether a column's name would be read as something else without backquotes."""
    bare = re.fullmatch(NAME_TEXT, name) is not None and not iskeyword(name)
    with suppress(*UNREAD):
        return not bare and bool(ast.parse(name, mode="eval"))
    return False


def named_in(body: ast.expr, columns: Mapping[str, Any]) -> list[str]:
    """Return the names of columns in a syntax tree, without repeats."""
    names = (node.id for node in ast.walk(body) if isinstance(node, ast.Name))
    return list(dict.fromkeys(name for name in names if name in columns))


def where_reads(condition: object, columns: Table) -> list[str]:
    """Return the columns that a statistic's `where` reads; reject what is no condition."""
    if not text(condition).strip():
        return []
    body = parsed(condition, columns)
    check_condition(body, columns)
    return named_in(body, columns)


def check_condition(node: ast.expr, columns: Table) -> None:
    """Verify that a condition is of comparisons that name a declared column, or of boolean columns."""
    if isinstance(node, ast.BoolOp):
        for part in node.values:
            check_condition(part, columns)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        check_condition(node.operand, columns)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot):
        ensure(is_null(node.comparators[0], columns), "a condition has a comparison that is not read")
        check_has_gaps(node.left, columns)
        if column_of(node.left, columns) is None:
            ends_of(node.left, columns)
    elif isinstance(node, ast.Compare):
        for (left, right), op in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            check_comparison(left, op, right, columns)
    else:
        column = column_of(node, columns)
        alone = column is not None and column["type"] == "boolean"
        ensure(alone, "a condition has a part that is no comparison of a declared column")


def check_comparison(left: ast.expr, op: ast.cmpop, right: ast.expr, columns: Table) -> None:
    """Verify that it compares a column with a constant of its kind, or arithmetic that names a column."""
    column, other = column_of(left, columns), right
    if is_constant(left, columns):
        column, other = column_of(right, columns), left
    if column is None or not is_constant(other, columns):
        ensure(named_in(left, columns) + named_in(right, columns) != [], "a condition compares no column")
        ensure(isinstance(op, COMPARED), "a condition has a comparison that is not read")
        ends_of(left, columns)
        ends_of(right, columns)
        return
    value, kind = constant_of(other, columns), column["type"]
    ordered = kind in ORDERED
    known = isinstance(op, COMPARED if ordered else EQUAL)
    ensure(known, f"a condition has a comparison that no {kind} has")
    if kind == "date":
        day_of(text(value).strip()[:10])
    elif ordered:
        fine = type(value) in (int, float) and -LARGEST_NUMBER <= value <= LARGEST_NUMBER  # type: ignore[operator]
        ensure(fine, f"a condition compares a number with {brief(value)}")
    elif kind == "boolean":
        ensure(type(value) is bool, f"a condition compares a boolean with {brief(value)}")
    else:
        labels = [*column.get("values", []), *(["other"] if column.get("other", False) else [])]
        fine = kind == "category" and type(value) is str and value in labels
        ensure(fine, f"a condition compares a {kind} with {brief(value)}")


def column_of(node: ast.expr, columns: Mapping[str, Any]) -> Table | None:
    """Return the declaration of the column that an expression names, None for all others."""
    return columns.get(node.id) if isinstance(node, ast.Name) else None


def is_constant(node: ast.expr, columns: Mapping[str, Any]) -> bool:
    """Return whether an expression is a number with a sign or none, a text, or a truth value."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float)
    truth = isinstance(node, ast.Name) and node.id in TRUTH and node.id not in columns
    return truth or isinstance(node, ast.Constant)


def constant_of(node: ast.expr, columns: Mapping[str, Any]) -> bool | str | float:
    """Return the constant that a condition compares a column with, or reject."""
    if isinstance(node, ast.Name) and node.id in TRUTH and node.id not in columns:
        return TRUTH[node.id]
    sign = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if isinstance(node, ast.UnaryOp) and sign else node
    value = inner.value if isinstance(inner, ast.Constant) else None
    if isinstance(value, bool | str) and not sign:
        return value
    ensure(type(value) in (int, float), "a condition compares a column with something that is no constant")
    return -value if sign else value  # type: ignore[return-value, operator]


# ------------------------------------------------------------------ arithmetic


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
        (low, high), integer = ends_of(node.operand, columns)
        return (-high, -low), integer
    if isinstance(node, ast.BinOp):
        return combined(node.op, ends_of(node.left, columns), ends_of(node.right, columns))
    if isinstance(node, ast.IfExp):
        check_condition(node.test, columns)
        sides = [each for each in (node.body, node.orelse) if not is_null(each, columns)]
        if len(sides) < 2:
            check_has_gaps(node, columns)
        return hull([ends_of(each, columns) for each in sides])
    if isinstance(node, ast.Call) and not node.keywords:
        return called(name_of(node.func), node.args, columns)
    raise Rejected("a formula has a part that is not read")


def combined(op: ast.operator, left: Term, right: Term) -> Term:
    """Return the range of the sum, difference, product or quotient of two numbers."""
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
    """Return the range of a function call in a formula, and whether it is an integer."""
    if name in ("year", *PARTS):
        column = columns.get(name_of(args[0]) or "", {}) if len(args) == 1 else {}
        ensure(column.get("type") == "date", f"{name} is of a date")
        ends = [date.fromordinal(column[end]).year for end in ("low", "high")]
        low, high = PARTS.get(name, ends)
        return (Fraction(low), Fraction(high)), True
    terms = [ends_of(each, columns) for each in args]
    if name == "floor" and len(args) == 1:
        (least, largest), _ = terms[0]
        return (Fraction(math.floor(least)), Fraction(math.floor(largest))), True
    if name == "coalesce":
        for each in args:
            check_has_gaps(each, columns)
        return hull(terms)
    integer = all(each for _, each in terms)
    lows, highs = [ends[0] for ends, _ in terms], [ends[1] for ends, _ in terms]
    if name == "abs" and len(args) == 1:
        nearest = max(lows[0], -highs[0], Fraction(0))
        return (nearest, max(abs(lows[0]), abs(highs[0]))), integer
    ensure(name in ("min", "max") and len(args) > 1, f"the function {brief(name)} is not read")
    # those that may be missing bound the result on one side alone
    sure = [ends for each, (ends, _) in zip(args, terms, strict=True) if not may_lack(each, columns)]
    if name == "min":
        return (min(lows), min((high for _, high in sure), default=max(highs))), integer
    return (max((low for low, _ in sure), default=min(lows)), max(highs)), integer


def hull(terms: list[Term]) -> Term:
    """Return the range of what is one of several terms."""
    ensure(terms != [], "a formula has no value")
    lows, highs = [ends[0] for ends, _ in terms], [ends[1] for ends, _ in terms]
    return (min(lows), max(highs)), all(whole for _, whole in terms)


# ------------------------------------------------------------------ what may be missing


def is_null(node: ast.expr, columns: Mapping[str, Any]) -> bool:
    """Return whether an expression is the missing value."""
    return name_of(node) == NULL and NULL not in columns


def check_has_gaps(node: ast.expr, columns: Mapping[str, Any]) -> None:
    """Verify that an expression which asks for missing cells is of a schema that has them."""
    has = all(columns[name].get("schema", 1) > 1 for name in named_in(node, columns))
    ensure(has, "a formula asks for missing cells where each counts as a declared value")


def may_lack(node: ast.expr, columns: Mapping[str, Any]) -> bool:
    """Return whether a number may be missing in some row."""
    if isinstance(node, ast.Name):
        return bool(columns.get(node.id, {}).get("gaps", False))
    if isinstance(node, ast.UnaryOp):
        return may_lack(node.operand, columns)
    if isinstance(node, ast.BinOp):
        return may_lack(node.left, columns) or may_lack(node.right, columns)
    if isinstance(node, ast.IfExp):
        return any(is_null(each, columns) or may_lack(each, columns) for each in (node.body, node.orelse))
    if isinstance(node, ast.Call):
        lacking = [may_lack(each, columns) for each in node.args]
        return all(lacking) if name_of(node.func) in ("min", "max", "coalesce") else any(lacking)
    return False


def may_be_unknown(node: ast.expr, columns: Mapping[str, Any]) -> bool:
    """Return whether a condition may be neither true nor false in some row."""
    if isinstance(node, ast.BoolOp):
        return any(may_be_unknown(each, columns) for each in node.values)
    if isinstance(node, ast.UnaryOp):
        return may_be_unknown(node.operand, columns)
    if isinstance(node, ast.Compare):
        asks = isinstance(node.ops[0], ast.Is | ast.IsNot)
        return not asks and any(may_lack(each, columns) for each in (node.left, *node.comparators))
    return may_lack(node, columns)


def constant(node: ast.expr) -> Fraction:
    """Return a number that is written in a formula."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -constant(node.operand)
    value = node.value if isinstance(node, ast.Constant) else None
    fine = type(value) in (int, float) and -FARTHEST <= value <= FARTHEST  # type: ignore[operator]
    ensure(fine, "a formula has no number within 1e15 where one belongs")
    return Fraction(repr(value))


# ------------------------------------------------------------------ derived and joined columns


def every_column(data: Table) -> Table:
    """Return the declarations of a study's columns by name: the file's, and those that follow."""
    meaning = data.get("schema", 1)
    known = declared(data.get("columns", {}), meaning)
    joined = [name for join in data.get("join", {}).values() for name in join["columns"]]
    named = {*known, *joined, *data.get("derived", {})}
    ensure(meaning == 1 or NULL not in named, "null is a missing cell, and the name of a column")
    for name, join in sorted(data.get("join", {}).items()):
        key = data["columns"].get(join["key"], {})
        ensure(key.get("type") == "category", f"the key of {brief(name)} is no declared category")
        keyed = {"formula": f"{name}[{join['key']}]", "of": [join["key"]], "joined": True}
        given = {each: {**column, **keyed} for each, column in declared(join["columns"], meaning).items()}
        ensure(not given.keys() & known.keys(), f"a column of {brief(name)} has the name of another")
        known |= given
    names = {*known, *data.get("derived", {}), *([data["id"]] if "id" in data else [])}
    ensure(len({normalize("NFKC", name) for name in names}) == len(names), "two names of columns are one")
    new = {name: derived(formula, known) for name, formula in data.get("derived", {}).items()}
    ensure(not new.keys() & known.keys(), "a derived column has the name of a declared one")
    return known | new


def declared(columns: Mapping[str, Any], schema: int) -> Table:
    """Return declarations by name, dates as days; from schema 2 on with whether a cell may be missing."""
    days = {name: in_days(column) for name, column in columns.items()}
    if schema == 1:
        return days
    return {name: {**each, "gaps": "missing" not in each, "schema": schema} for name, each in days.items()}


def check_joined(joined: Table, columns: Table) -> None:
    """Verify that a joined column, and no other, has a code for each key, and one more."""
    column, codes = columns[joined["name"]], joined.get("found")
    ensure((codes is None) is not column.get("joined", False), "codes are of joined columns")
    if codes is None:
        return
    key = columns[column["of"][0]]
    labels = len(key["values"]) + key.get("other", False)
    ensure(type(codes) is list and len(codes) == labels + 1, "a joined column has no code for some key")
    low, high, gap = 0.0, 1.0, -1.0
    if column["type"] in ORDERED:
        low, high = (float(exact_of(column[end], end) or 0) for end in ("low", "high"))
        gap = low - 1
    elif column["type"] == "category":
        low, high, gap = -1.0, float(len(column["values"]) + column.get("other", False) - 1), -2.0
    for code in codes:
        value = exact_of(code, "a code")
        if value is None:
            raise Rejected("a code is finite")
        of_kind = column["type"] == "number" or value.denominator == 1
        within = low <= float(value) <= high or (column.get("gaps", False) and float(value) == gap)
        ensure(within and of_kind, f"a code of {brief(joined['name'])} is none of its column's")


def derived(formula: object, columns: Table) -> Table:
    """Return the declaration of what a formula defines, with the names of what it reads."""
    body = parsed(formula, columns)
    read = named_in(body, columns)
    ensure(read != [], f"the formula {brief(formula)} reads no column")
    schema = max(columns[name].get("schema", 1) for name in read)
    shape: Table = {"formula": formula, "of": read, **({"schema": schema} if schema > 1 else {})}
    opposite = isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.Not)
    if opposite or isinstance(body, ast.BoolOp | ast.Compare):
        check_condition(body, columns)
        return {**shape, "type": "boolean", "gaps": may_be_unknown(body, columns)}
    if isinstance(body, ast.Call) and name_of(body.func) == "bins" and not body.keywords:
        ensure(len(body.args) >= 3, "bins have two edges at least")
        ends_of(body.args[0], columns)
        edges = [float(constant(each)) for each in body.args[1:]]
        ensure(all(low < high for low, high in pairwise(edges)), "the edges of bins do not rise")
        names = [repr(edge).removesuffix(".0") for edge in edges]
        labels = [f"[{low}, {high})" for low, high in pairwise(names)]
        lacks = may_lack(body.args[0], columns)
        return {**shape, "type": "category", "values": [*labels[:-1], f"{labels[-1][:-1]}]"], "gaps": lacks}
    if isinstance(body, ast.Call) and name_of(body.func) == "period" and not body.keywords:
        return {**shape, **periods(body.args, columns)}
    (low, high), integer = ends_of(body, columns)
    shape |= {"low": str(low), "high": str(high), "gaps": may_lack(body, columns)}
    return {**shape, "type": "integer" if integer else "number"}


def periods(args: list[ast.expr], columns: Mapping[str, Any]) -> Table:
    """Return the category of a date's years, quarters or months, each called by its first day."""
    column = columns.get(name_of(args[0]) or "", {}) if len(args) == 2 else {}
    unit = args[1].value if len(args) == 2 and isinstance(args[1], ast.Constant) else None
    ensure(column.get("type") == "date" and unit in MONTHS, "a period is of a date, by a known name")
    months, days = MONTHS[str(unit)], [date.fromordinal(int(column[end])) for end in ("low", "high")]
    low, high = ((12 * day.year + day.month - 1) // months * months for day in days)
    ensure((high - low) // months < MOST_CELLS, "a date has too many periods")
    spend(100 * (high - low) // months)
    firsts = [date(month // 12, month % 12 + 1, 1).isoformat() for month in range(low, high + 1, months)]
    length = {"%Y": 4, "%Y-%m": 7}.get(str(unit), 10)
    return {"type": "category", "values": [day[:length] for day in firsts], "gaps": column.get("gaps", False)}
