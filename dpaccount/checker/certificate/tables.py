"""A claim's declared table: bounds, persons and the parameters that it fixes are those of the proof."""

from datetime import date
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ..documents import Rejected, brief, ensure, integer, spend, text
from ..intervals import number
from .shapes import exact_of

Table = dict[str, Any]
ORDERED = ("number", "integer", "date")  # kinds of columns that have bounds
COLUMN_KINDS = (*ORDERED, "category", "text", "boolean")
MEMBERS = {"category": {"values", "other", "fold"}, "text": {"length", "fold"}}
MEMBERS |= {kind: {"low", "high", "decimal", "thousands", "negative"} for kind in ("number", "integer")}
MEMBERS |= {"date": {"low", "high", "date_format"}}
MOST_ROWS, MOST_OF_ONE, MOST_CELLS = 10**9, 1000, 10_000
FARTHEST = 10**15  # of a bound
STUDY = "noisy-statistics"  # the subject whose parameters list statistics
NAMING = ("column", "columns", "by", "bins")  # parameters that select what is read of a table
CLIPS = ("low", "high", "radius", "reward")  # follow from a table; a claim may narrow them


def check_tables(document: dict[str, Any]) -> None:
    """Verify what the claim declares of its table, and that the proof has the same bounds and persons."""
    data, asked = document["claim"].get("data", {}), document["claim"]["subject"]
    ensure(("file" in data) == ("ledger" in data), "a data file goes with the ledger that pays")
    ensure("file" in data or ("columns" in data) == bool(data), "data are a file, or a declared table")
    ensure("file" in data or "scope" not in data, "a scope is of a ledger")
    later = "schema" in data
    ensure(not later or (data["schema"] == 2 and asked["use"] == STUDY), "the schema is that of a study, 2")
    check_declared(data, later=later)
    held, steps = document["subject"]["parameters"], document["proved"]["derivation"]
    if not steps:
        return
    if asked["use"] != STUDY:
        check_named(asked, held, data.get("columns", {}))
    if ":" not in asked["use"]:
        moves = document["guarantee"].get("radius", 0)
        check_bounds(held, steps, centred=asked["use"] == "clipped-mean")
        same = exact_of(held.get("unit", moves), "unit") == exact_of(moves, "radius")
        ensure(same, "the parameter unit is not the radius of the guarantee")
    if data.get("columns"):
        check_following(document, data)


# ------------------------------------------------------------------ the declaration itself


def check_declared(table: Table, *, later: bool = False) -> None:
    """Verify that a declaration contradicts itself nowhere; in a `later` schema columns may have gaps."""
    declared = {"rows", "id", "max_rows", "columns"} & table.keys()
    ensure(not declared or {"rows", "columns"} <= declared, "a table declares its columns and how many rows")
    if not declared:
        return
    rows, most = counted(table)
    ensure(rows <= MOST_ROWS, f"a table has at most {MOST_ROWS} rows")
    ensure(most <= MOST_OF_ONE and (most == 1 or "id" in table), "max_rows goes with id, up to 1000")
    ensure(table["columns"] != {}, "a table has columns")
    for name, column in table["columns"].items():
        check_column(name, column, later=later)


def counted(table: Table) -> tuple[int, int]:
    """Return how many rows or persons a table has, and how many rows of a person count."""
    sizes = [exact_of(table.get(name, 1), name) for name in ("rows", "max_rows")]
    rows, most = (integer(int(n)) if n is not None and n.denominator == 1 else integer(n) for n in sizes)
    return rows, most


def check_column(name: str, column: Table, *, later: bool = False) -> None:
    """Verify that a column's bounds, values and default are of its kind, and go together."""
    if later:
        told = column.get("gaps", "missing" not in column) is ("missing" not in column)
        ensure(told, f"the column {brief(name)} has gaps and a value for them, or neither")
        column = {key: value for key, value in column.items() if key != "gaps"}
    column = in_days(column)
    kind, missing = column["type"], column.get("missing")
    ensure(column.get("missing", 0) is not None, f"the column {brief(name)} has nothing as its default")
    members = {"type", "missing", "missing_cells", "strip", "map"} | MEMBERS.get(kind, set())
    about = f"the column {brief(name)}"
    ensure(kind in COLUMN_KINDS and column.keys() <= members, f"{about} is no column of a known type")
    if kind in ORDERED:
        low, high = (exact_of(column[end], end) for end in ("low", "high"))
        ends = [low, high, low if missing is None else exact_of(missing, "missing")]
        a, b, default = (Fraction(FARTHEST + 1) if end is None else end for end in ends)
        ensure(-FARTHEST <= a <= default <= b <= FARTHEST, f"{about} has bounds in a wrong order")
        fits = kind == "number" or {a.denominator, b.denominator, default.denominator} == {1}
        ensure(fits, f"{about} is of integers, and a bound is none")
    elif kind == "category":
        values = column.get("values", [])
        once = values != [] and len(set(values)) == len(values)
        ensure(once and all(v and v.strip() == v for v in values), f"{about} lists each value once, bare")
        labels = labels_of(column, None) or []
        ensure(len(set(labels)) == len(labels), f"{about} has a value named other, and others")
        ensure(missing is None or missing in labels, f"{about} has no such value as its default")
    else:
        ensure(1 <= column.get("length", 48) <= 240, f"{about} counts 1 to 240 bytes")
        fits = missing is None or type(missing) is (bool if kind == "boolean" else str)
        ensure(fits, f"{about} has a default of another type")


def in_days(column: Table) -> Table:
    """Return a declaration with the bounds of dates as numbers of days."""
    if column["type"] != "date":
        return column
    days = {key: day_of(column[key]) for key in ("low", "high", "missing") if column.get(key) is not None}
    return {**column, **days}


def day_of(value: object) -> int:
    """Return the number of the day that YYYY-MM-DD names, 1 for 0001-01-01."""
    try:
        ensure(len(text(value)) == 10, f"{brief(value)} is no date")
        return date.fromisoformat(text(value)).toordinal()
    except ValueError:
        raise Rejected(f"{brief(value)} is no date, as YYYY-MM-DD") from None


def check_bounds(held: Table, steps: list[Table], *, centred: bool) -> None:
    """Verify that rows are clipped as proved: bounds, on a grid, or their width; and the radius."""
    assumed = [s["with"] for s in steps if s["rule"] in ("assume_clipped", "assume_ball")]
    clips = [(number(given["low"]), number(given["high"])) for given in assumed if "low" in given]
    balls = [number(given["radius"]) for given in assumed if "radius" in given]
    if {"low", "high"} <= held.keys() and any(low < high for low, high in clips):
        low, high = (exact_of(held[name], name) or Fraction(0) for name in ("low", "high"))
        bits = integer(held.get("bits", 20))
        ensure(bits <= 1000, "the parameter bits is too large")
        slack = (high - low) / 1000 + Fraction(2, 2**bits)
        apart = [
            abs((b - a) - (high - low)) if centred else max(abs(a - low), abs(b - high)) for a, b in clips
        ]
        ensure(low < high and min(apart) <= slack, "the parameters low and high are not those of the proof")
    if "radius" in held and balls:
        same = exact_of(held["radius"], "radius") in balls
        ensure(same, "the parameter radius is not the proof's")


# ------------------------------------------------------------------ what follows from it


def check_following(document: dict[str, Any], data: Table) -> None:
    """Verify the parameters that a table fixes."""
    asked, held = document["claim"]["subject"], document["subject"]["parameters"]
    parameters, steps = asked.get("parameters", {}), document["proved"]["derivation"]
    persons = next((s["with"] for s in steps if s["rule"] == "assume_persons"), None)
    (rows, most), relation = counted(data), document["guarantee"]["relation"]
    both = {"persons", "max_rows"} & held.keys()
    fits = both == {"persons", "max_rows"} if persons is not None else not both or ":" in asked["use"]
    ensure(fits, "persons are of the parameters and of the proof")
    fixed: dict[str, Any] = {"rows": rows * most, "rounds": rows * most, "relation": relation}
    if persons is not None:
        fixed |= {"persons": rows, "max_rows": most, "relation": persons["rows"]}
    if ("column" in parameters or "columns" in parameters) and ":" not in asked["use"]:
        fixed |= read_off(parameters, held, data["columns"])
    elif ":" not in asked["use"]:
        fixed["slots"] = rows
        if "arm" in parameters:
            column = {**data["columns"][parameters["arm"]], "other": False}
            fixed["arms"] = labels_of(column, None)
    else:
        fixed = {}
    sizes = ":" in asked["use"] or {"rows", "rounds", "slots"} & held.keys()
    ensure(bool(sizes), "no parameter says how many rows there are")
    for name in fixed.keys() & held.keys() - set(NAMING):
        if name not in CLIPS or name not in parameters:
            same = alike(held[name], fixed[name])
            ensure(same, f"the parameter {brief(name)} is not the table's")


def check_named(asked: Table, held: Table, columns: Table) -> None:
    """Verify that the columns that parameters name are declared, and the same for claim and subject."""
    parameters, own = asked.get("parameters", {}), ":" in asked["use"]
    ensure(not {"column", "columns"} <= parameters.keys(), "column and columns are not both given")
    named = [parameters[key] for key in ("column", "by", "arm") if type(parameters.get(key)) is str]
    named = [] if own and not columns else named  # a class of one's own may read files by itself
    named += parameters["columns"] if type(parameters.get("columns")) is list else []
    ensure(all(name in columns for name in named), f"a column among {brief(named)} is not declared")
    ensure(own or not columns or named != [], "no column of the table is read")
    alone = [key for key in NAMING if type(held.get(key)) in (str, list) and key not in parameters]
    ensure(own or alone == [], f"the parameter {brief(alone)} is the claim's to say")


def alike(held: object, fixed: object) -> bool:
    """Return whether two parameters are the same text, list or number."""
    if isinstance(fixed, int | Fraction):
        return exact_of(held, "a parameter") == fixed
    return held == fixed


def read_off(args: Table, held: Table, columns: Table) -> Table:
    """Return the parameters that columns fix."""
    names = [args["column"]] if "column" in args else args["columns"]
    read = [columns[name] for name in names]
    groups = labels_of(columns[args["by"]], None) if "by" in args else [""]
    if "cells" in held or any(column["type"] in ("category", "text") for column in read):
        labels = labels_of(read[0], args.get("bins"))
        if read[0]["type"] == "text" and "by" not in args:
            lengths = {column.get("length", 48) for column in read}
            one = len(lengths) == 1 and {column["type"] for column in read} == {"text"}
            ensure(one and "text" in held, "a text is read where others are listed")
            return {"text": lengths.pop(), "keys": len(read)}
        if labels is None or groups is None:
            raise Rejected(f"the column {brief(names[0])}, or its groups, has no cells")
        keys = {"keys": len(names)} if len(names) > 1 else {}
        return {"cells": len(groups) * len(labels), **keys}
    ends = [bounds_of(column) for column in read]
    fixed: Table = {"low": min(low for low, _ in ends), "high": max(high for _, high in ends)}
    target = ends.pop() if "reward" in held and len(ends) > 1 else None
    if target is not None:
        fixed["reward"] = max(map(abs, target))
    square = sum((max(abs(low), abs(high)) ** 2 for low, high in ends), Fraction(0))
    if "radius" in held and "radius" not in args:
        units = (exact_of(held["radius"], "radius") or Fraction(0)) * 10**6
        near = (
            units >= 0 and units**2 >= square * 10**12 and (units == 0 or (units - 1) ** 2 < square * 10**12)
        )
        ensure(near, "the parameter radius is not the longest that the bounds allow")
    if len(names) > 1:
        fixed |= dict.fromkeys(("candidates", "questions"), len(ends) * len(groups or [""]))
    if "by" not in args:
        fixed["bounds"] = "; ".join(f"{low} {high}" for low, high in ends)
    return fixed


def bounds_of(column: Table) -> tuple[Fraction, Fraction]:
    """Return the least and the largest that a cell counts as."""
    ends = [exact_of(column.get(name, default), name) or 0 for name, default in (("low", 0), ("high", 1))]
    return Fraction(float(ends[0])), Fraction(float(ends[1]))  # cells are doubles


def labels_of(column: Table, bins: list[Any] | None) -> list[str] | None:
    """Return what the cells of a column are called; None for one without cells."""
    if bins is not None:
        spend(200 * len(bins))
        ends = [repr(float(exact_of(edge, "bins") or 0)).removesuffix(".0") for edge in bins]
        names = [f"[{low}, {high})" for low, high in pairwise(ends)]
        return [*names[:-1], f"{names[-1][:-1]}]"]
    if column["type"] == "boolean":
        return ["false", "true"]
    if column["type"] == "category":
        return [text(value) for value in column["values"]] + ["other"] * column.get("other", False)
    low, high = bounds_of(column)
    if column["type"] != "integer" or high - low >= MOST_CELLS:
        return None
    return [str(value) for value in range(int(low), int(high) + 1)]
