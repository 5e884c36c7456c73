"""What a task computes, as canonical JSON: its function and all that the function was given.

Two tasks with one description give the same results, as long as the code is the same.  Only our own
functions and classes have one: the digest of the code covers all files of our packages, but knows
nothing of what a user's function imports, closes over or reads.
"""

import dataclasses
import sys
from enum import Enum
from fractions import Fraction
from functools import _lru_cache_wrapper, partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from dpaccount.documents import canonical, sha256
from dpaccount.errors import InputError
from dpaccount_packages import folders

#: the metadata of a dataclass's field that follows from the others, and is left out
DERIVED = {"derived": True}


def described(value: object) -> Any:
    """Return a value as JSON that determines it.

    Numbers, texts, bytes, arrays, collections, and our enumerations, dataclasses, functions and classes,
    and partial applications of these have a description; raises `InputError` for all else.
    """
    kind = type(value)
    if value is None or kind in (bool, str, int):
        return value
    if kind in _WORDS:
        return [kind.__name__, *_WORDS[kind](value)]
    if isinstance(value, np.generic):
        return ["scalar", *_array(np.asarray(value))]
    if isinstance(value, Enum):
        return ["member", _named(kind), value.name]
    if isinstance(value, FunctionType | _lru_cache_wrapper | type):
        return ["code", _named(value)]
    if dataclasses.is_dataclass(kind):
        fields = (each for each in dataclasses.fields(kind) if each.metadata != DERIVED)
        parts = {each.name: described(getattr(value, each.name)) for each in fields}
        return ["dataclass", _named(kind), parts]
    raise _undescribed(value)


def _named(made: Any) -> list[str]:
    """Return where a function or class of ours is defined: what its module has under its name."""
    module, package = sys.modules.get(made.__module__), made.__module__.partition(".")[0]
    found: Any = module
    for part in made.__qualname__.split("."):
        found = getattr(found, part, None)
    file, home = getattr(module, "__file__", None), folders().get(package)
    if found is made and file and home and Path(file).resolve().is_relative_to(Path(home).resolve()):
        return [made.__module__, made.__qualname__]
    raise _undescribed(made)


def _undescribed(value: object) -> InputError:
    what = f"{type(value).__qualname__} {str(value)[:60]!r}"
    right = "keep nothing, or give numbers, texts, arrays, and functions and dataclasses of dpaccount"
    return InputError(f"a task holds {what}, so that its results cannot be kept", right)


def _array(value: np.ndarray[Any, Any]) -> list[Any]:
    if value.dtype.hasobject:
        raise _undescribed(value)
    content = sha256(np.ascontiguousarray(value).tobytes())
    return [repr(value.dtype), list(value.shape), content]


#: the words that determine a value, by its type
_WORDS: dict[type, Any] = {
    float: lambda value: [value.hex()],
    Fraction: lambda value: [str(value)],
    bytes: lambda value: [sha256(value)],
    range: lambda value: [value.start, value.stop, value.step],
    np.ndarray: _array,
    tuple: lambda value: map(described, value),
    list: lambda value: map(described, value),
    dict: lambda value: sorted(map(described, value.items()), key=canonical),
    partial: lambda value: map(described, (value.func, value.args, value.keywords)),
}
