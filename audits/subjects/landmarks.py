"""Numbers that stand in a subject's code or parameters: codes, thresholds and counts that branches ask for.

A branch on one value of a million is not met by chance; a constant that is written down is.
"""

import ast
import math
import re
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any, cast

import numpy as np

from audits.subjects.sources import content_of, modules_of, nodes_of
from dpaccount.errors import InputError
from mechanisms.subject import Subject
from mechanisms.table.by_person import named

MOST = 1000  #: constants; of more, an evenly spread choice
LONGEST, DEEPEST = 10_000, 4  #: of text and tables
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def landmarks(subject: Subject) -> tuple[float, ...]:
    """Return the numbers in the source of a subject's modules, and those in its fields, in order."""
    made_by = type(named(subject))
    own = frozenset(base.__name__ for base in made_by.__mro__)
    try:
        files = modules_of(made_by)
    except InputError:  # a class that was typed in has parameters only
        files = []
    found = {number for file in files if file.suffix == ".py" for number in constants(content_of(file), own)}
    found |= {number for file in files for number in _globals(file)}
    found |= set(numbers_in([*vars(subject).values(), *vars(named(subject)).values()]))
    chosen = sorted(number for number in found if math.isfinite(number))
    return tuple(chosen[:: max(-(-len(chosen) // MOST), 1)])


@lru_cache(maxsize=4096)  # a file is parsed once; whether it changed is seen by reading it
def constants(content: bytes, own: frozenset[str]) -> frozenset[float]:
    """Return every number that a source writes down, also as text, and its negative.

    Other subjects than `own` that stand in it are left out.
    """

    def of_others(top: ast.stmt) -> bool:
        return isinstance(top, ast.ClassDef) and top.name not in own and _plays(top)

    nodes = list(nodes_of(content, of_others))
    said = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings
    found: set[float] = set()
    for node in nodes:
        values: list[object] = [node.value] if isinstance(node, ast.Constant) and id(node) not in said else []
        if isinstance(node, ast.BinOp):  # as 24 * 60 * 60 - 1, which the compiler works out
            values += [_folded(node)]
        found |= {one for number in numbers_in(values) for one in (number, -number)}
    return frozenset(found)


def _folded(node: ast.BinOp) -> object:
    """Return the number that arithmetic on written numbers gives, or None: the compiler's own folding."""
    if not all(
        isinstance(part, ast.BinOp | ast.UnaryOp | ast.Constant | ast.operator | ast.unaryop)
        for part in ast.walk(node)
    ):
        return None
    try:
        return compile(ast.Expression(node), "folded", "eval").co_consts
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return None


def _globals(file: Path) -> Iterator[float]:
    """Yield the numbers in the globals of a loaded module, such as tables that it read from a file."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(file):
            for name, value in list(vars(module).items()):
                if name[:2] != "__":
                    yield from numbers_in(value)


def _plays(made: ast.ClassDef) -> bool:
    methods = {each.name for each in made.body if isinstance(each, ast.FunctionDef)}
    return bool(methods & {"play", "proof"})


def numbers_in(value: Any, depth: int = 0) -> Iterator[float]:
    """Yield the numbers in a value: itself, in text between what is none, in tables, and folded in code."""
    if isinstance(value, bool) or depth > DEEPEST:
        return
    if isinstance(value, int | float | Fraction | np.integer | np.floating):
        near = cast(Any, value)
        if abs(near) < 1e300:
            yield float(near)
    elif isinstance(value, str):
        yield from (float(found) for found in NUMBER.findall(value[:LONGEST]) if len(found) < 30)
    elif isinstance(value, CodeType):
        for each in value.co_consts:
            yield from numbers_in(each, depth + (not isinstance(each, CodeType)))
    elif isinstance(value, np.ndarray) and value.dtype.kind in "iufU":
        yield from numbers_in(value.ravel()[:LONGEST].tolist(), depth)
    elif isinstance(value, Mapping):
        yield from numbers_in([*value.keys(), *value.values()][:LONGEST], depth + 1)
    elif isinstance(value, tuple | list | set | frozenset):
        for each in list(value)[:LONGEST]:
            yield from numbers_in(each, depth + 1)
