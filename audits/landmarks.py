"""Numbers that stand in a subject's code or parameters: codes, thresholds and counts that branches ask for.

A branch on one value of a million is not met by chance; a constant that is written down is.
"""

import ast
import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from audits.sources import modules_of, nodes_of
from dpaccount.errors import InputError
from mechanisms.subject import Subject

MOST = 200  #: constants; of more, an evenly spread choice


def landmarks(subject: Subject) -> tuple[float, ...]:
    """Return the numbers in the source of a subject's modules, and those in its fields, in order."""
    made_by = type(subject)
    own = frozenset(base.__name__ for base in made_by.__mro__)
    try:
        files = modules_of(made_by)
    except InputError:  # a class that was typed in has parameters only
        files = []
    found = {number for file in files if file.suffix == ".py" for number in constants(file, own)}
    found |= {float(value) for value in vars(subject).values() if type(value) in (int, float, Fraction)}
    chosen = sorted(number for number in found if math.isfinite(number))
    return tuple(chosen[:: max(-(-len(chosen) // MOST), 1)])


def constants(file: Path, own: frozenset[str]) -> Iterator[float]:
    """Yield every number that a source file writes down, also as text, and its negative.

    Other subjects than `own` that stand in the same file are left out.
    """

    def of_others(top: ast.stmt) -> bool:
        return isinstance(top, ast.ClassDef) and top.name not in own and _plays(top)

    for node in nodes_of(file, of_others):
        number = _number(node.value) if isinstance(node, ast.Constant) else None
        if number is not None:
            yield number
            yield -number


def _plays(made: ast.ClassDef) -> bool:
    methods = {each.name for each in made.body if isinstance(each, ast.FunctionDef)}
    return bool(methods & {"play", "proof"})


def _number(value: object) -> float | None:
    if type(value) in (int, float):
        return float(value) if abs(value) < 1e300 else None  # type: ignore[arg-type]
    if type(value) is str and value[:1].isdigit() and len(value) < 30:
        try:
            return float(Fraction(value))
        except (ValueError, ZeroDivisionError, OverflowError):
            return None
    return None
