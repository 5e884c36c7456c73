"""Numbers that stand in a subject's code or parameters: codes, thresholds and counts that branches ask for.

A branch on one value of a million is not met by chance; a constant that is written down is.  What code
builds from constants is read off a run (`audits.hypothesis_tests.run_constants`).
"""

import ast
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any, cast

import numpy as np

from audits.subjects.sources import content_of, modules_of, statements_of
from dpaccount.errors import InputError
from mechanisms.subject import Subject
from mechanisms.table.user_level import named

MAX_CONSTANTS = 1000  #: constants; of more, an evenly spread choice
LONGEST, DEEPEST = 10_000, 4  #: of text and tables
LONG, GROUPS = 24, 40  #: numbers that stand together, and how often
IN_A_ROW = 10  #: numbers of a series
RARE, MAX_ENTRIES, MAX_ODD = 50, 100_000, 200  #: one entry in so many; entries; numbers of such entries
MOST_SEARCHED = 10**7  #: of an array of which unusual rows are looked for
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Landmarks:
    """Numbers that code asks for, in order, and those that stand together: in a statement, in a function.

    `series` are those of a statement as they are written.
    When code runs it is seen which numbers it has `built` of constants, and how much `work` a run is: calls,
    and cells of its data.
    """

    numbers: tuple[float, ...] = ()
    together: tuple[tuple[float, ...], ...] = ()
    series: tuple[tuple[float, ...], ...] = ()
    built: tuple[float, ...] = ()
    work: int = 1


def landmarks(subject: Subject, built: Iterable[float] = (), work: int = 1) -> Landmarks:
    """Return the numbers in the source of a subject's modules, and those in its fields."""
    made_by = type(named(subject))
    own = frozenset(base.__name__ for base in made_by.__mro__)
    files = files_of(subject)
    sources = [content_of(file) for file in files if file.suffix == ".py"]
    written = [constants(source, own) for source in sources]
    series = dict.fromkeys(each for source in sources for top in _kept(source, own) for each in top.series)
    numbers = {number for one, _ in written for each in one for number in (each, -each)}
    kept = {number for table in _tables(files) for number in numbers_in(table)}
    fields = frozenset(numbers_in([*vars(subject).values(), *vars(named(subject)).values()]))
    groups = {group for _, several in written for group in several} | {fields}
    together = sorted((len(group), tuple(sorted(group))) for group in groups if 0 < len(group) <= LONG)
    grouped = tuple(group for _, group in together[:GROUPS])
    tables = [*vars(subject).values(), *(value for base in made_by.__mro__ for value in vars(base).values())]
    of = [*_tables(files), *tables]
    odd = {number for table in of for number in (*odd_numbers(table), *extreme_rows(table))}
    first = {*_chosen(numbers | fields), *sorted(odd)[:MAX_ODD]}  # before other numbers of long tables
    chosen = tuple(sorted({*first, *_chosen(kept, MAX_CONSTANTS - len(first))}))
    new = _chosen({*built} - numbers - kept)
    return Landmarks(chosen, grouped, tuple(series)[:GROUPS], new, max(work, 1))


def files_of(subject: Subject) -> list[Path]:
    """Return the files of a subject's modules; none of a class that was typed in: it has parameters only."""
    try:
        return modules_of(type(named(subject)))
    except InputError:
        return []


def _chosen(numbers: Iterable[float], most: int = MAX_CONSTANTS) -> tuple[float, ...]:
    # Sorted and evenly thinned, so that one source gives the same numbers on every machine.
    chosen = sorted(number for number in numbers if math.isfinite(number))
    return tuple(chosen[:: max(-(-len(chosen) // max(most, 1)), 1)])


def constants(content: bytes, own: frozenset[str]) -> tuple[frozenset[float], tuple[frozenset[float], ...]]:
    """Return every number that a source writes down, also as text; and those that stand together.

    That is in one statement, one function, or outside of functions; numbers of places, as in data[:, 2], are
    not among these.  Other subjects than `own` that stand in the source are left out.
    """
    kept = _kept(content, own)
    outside = frozenset[float]().union(*(each.outside for each in kept))
    groups = dict.fromkeys(group for each in kept for group in each.groups)
    return frozenset[float]().union(*(each.numbers for each in kept)), (*groups, outside)


def _kept(content: bytes, own: frozenset[str]) -> list["TopStatement"]:
    return [each for each in _statements(content) if not each.of_others(own)]


@dataclass(frozen=True)
class TopStatement:
    """The numbers of one statement of a module; and what tells whether it is a class that is a subject."""

    numbers: frozenset[float]
    groups: tuple[frozenset[float], ...]
    series: tuple[tuple[float, ...], ...]
    outside: frozenset[float]  #: of functions
    name: str | None  #: of a class
    bases: frozenset[str]
    subject: bool

    def of_others(self, own: frozenset[str]) -> bool:
        """Return whether it is a class that is none of `own`, and is a subject or extends one of `own`."""
        return self.name is not None and self.name not in own and (self.subject or bool(self.bases & own))


@lru_cache(maxsize=4096)  # a file is parsed once; whether it changed is seen by reading it
def _statements(content: bytes) -> tuple[TopStatement, ...]:
    return tuple(map(_top, statements_of(content)))


def _top(top: ast.stmt) -> TopStatement:
    nodes = list(ast.walk(top))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    places = {id(each) for node in nodes if isinstance(node, ast.Subscript) for each in ast.walk(node.slice)}
    functions = [node for node in nodes if isinstance(node, FUNCTIONS)]
    inside = {id(each) for node in functions for each in ast.walk(node)}
    found = ((node, frozenset(_written(node))) for node in nodes if id(node) not in docstrings)
    written = {id(node): numbers for node, numbers in found if numbers}
    together = {node: numbers for node, numbers in written.items() if node not in places}

    def of(group: Iterable[ast.AST]) -> frozenset[float]:
        return frozenset[float]().union(*(together.get(id(each), ()) for each in group))

    statements = [node for node in nodes if isinstance(node, ast.stmt)]
    several = dict.fromkeys(of(_inside(node)) for node in statements) if together else {}
    written_so = ([each for each in _inside(node) if isinstance(each, ast.Constant)] for node in statements)
    ordered = (_in_order(each, together) for each in written_so)
    series = tuple(numbers for numbers in ordered if 1 < len(numbers) <= IN_A_ROW)
    outside = of(node for node in nodes if id(node) not in inside)
    whole = frozenset[float]().union(*written.values())
    if not isinstance(top, ast.ClassDef):
        return TopStatement(whole, tuple(several), series, outside, None, frozenset(), subject=False)
    bases = frozenset(ast.unparse(base).rpartition(".")[2] for base in top.bases)
    methods = {each.name for each in top.body if isinstance(each, ast.FunctionDef)}
    subject = bool(methods & {"play", "proof"})
    return TopStatement(whole, tuple(several), series, outside, top.name, bases, subject)


def _in_order(found: list[ast.Constant], numbers: Mapping[int, frozenset[float]]) -> tuple[float, ...]:
    """Return the numbers of constants in the order in which they stand in the source."""
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    return tuple(number for node in found for number in numbers.get(id(node), ()))


def _inside(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the expressions of a statement; of a compound one those of its head, except for a function."""
    if isinstance(statement, FUNCTIONS) or not hasattr(statement, "body"):
        yield from ast.walk(statement)
        return
    for head in ast.iter_child_nodes(statement):
        yield from ast.walk(head) if isinstance(head, ast.expr) else ()


def _written(node: ast.AST) -> Iterator[float]:
    """Yield the numbers of one node: as they are written, and as the compiler works them out."""
    match node:
        case ast.Constant(value=value):
            yield from numbers_in(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
            yield from (-number for number in numbers_in(value))
        case ast.BinOp():  # as 24 * 60 * 60 - 1
            yield from numbers_in(_folded(node))


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


def _tables(files: list[Path]) -> list[Any]:
    """Return the globals of loaded modules, such as tables that they read from files."""
    names = set(map(str, files))
    loaded = [each for each in list(sys.modules.values()) if getattr(each, "__file__", None) in names]
    return [value for module in loaded for name, value in list(vars(module).items()) if name[:2] != "__"]


def odd_numbers(table: Any) -> Iterator[float]:
    """Yield numbers of few entries of a long table: of those that are there twice, or have a rare value."""
    if isinstance(table, Mapping):
        entries = list(table.items())
    elif isinstance(table, np.ndarray | list | tuple):
        rows = table.tolist() if isinstance(table, np.ndarray) else table
        entries = [(row[0], row[1:]) if isinstance(row, tuple | list) and row else (row, ()) for row in rows]
    else:
        return
    for side in (0, 1):
        counts = Counter(repr(entry[side]) for entry in entries[:MAX_ENTRIES])
        few = max(len(entries) // RARE, 2)
        odd = {text for text, count in counts.items() if (count <= few if side else count > 1)}
        if len(entries) >= LONG and sum(counts[text] for text in odd) * RARE <= 2 * len(entries):
            yield from (n for entry in entries if repr(entry[side]) in odd for n in numbers_in(entry[0]))


def extreme_rows(table: Any) -> Iterator[float]:
    """Yield the places of the rows of a long array with the least and the largest sum, or most entries."""
    if not isinstance(table, np.ndarray) or table.dtype.kind not in "iuf" or not table.ndim:
        return
    if LONG <= len(table) <= table.size <= MOST_SEARCHED:
        rows = np.nan_to_num(table.reshape(len(table), -1).astype(np.float64))
        for sizes in (rows.sum(axis=1), np.count_nonzero(rows, axis=1)):
            yield from (float(sizes.argmin()), float(sizes.argmax()))


def numbers_in(value: Any, depth: int = 0) -> Iterator[float]:
    """Yield the numbers in a value: itself, in text between what is none, in tables, and folded in code."""
    if isinstance(value, bool) or depth > DEEPEST:
        return
    if isinstance(value, int | float | Fraction | np.integer | np.floating):
        near = cast(Any, value)
        if abs(near) < 1e300:  # float() of a larger integer may raise
            yield float(near)
    elif isinstance(value, str):
        yield from (float(digits) for digits in NUMBER.findall(value[:LONGEST]) if len(digits) < 30)
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
