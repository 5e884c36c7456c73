"""What a task computes, as canonical JSON: its function and all that the function was given.

Two tasks with one description give the same results.  What has no description is refused, because a
part that is left out could change and its old results would still be taken for the new ones.
"""

import dataclasses
import hashlib
import sys
from enum import Enum
from fractions import Fraction
from functools import _lru_cache_wrapper, partial
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from dpaccount.documents import canonical
from dpaccount.errors import InputError
from dpaccount_packages import folders

#: the metadata of a dataclass's field that follows from the others, and is left out
DERIVED = {"derived": True}


def described(value: object) -> Any:
    """Return a value as JSON that determines it.

    Numbers, texts, bytes, arrays, collections, enumerations, dataclasses, functions and classes of a
    module, and partial applications of these have a description; raises `InputError` for all else.
    """
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    for kind, words in _WORDS.items():
        if isinstance(value, kind):
            return [getattr(kind, "__name__", "name"), *words(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (each for each in dataclasses.fields(value) if each.metadata != DERIVED)
        parts = {each.name: described(getattr(value, each.name)) for each in fields}
        return ["dataclass", _named(type(value)), parts]
    raise _undescribed(value)


def digest(value: object) -> str:
    """Return the digest of a JSON value."""
    return hashlib.sha256(canonical(value)).hexdigest()


def _named(made: Any) -> list[str]:
    """Return where a function or class is defined; with the digest of its file unless it is ours."""
    module, name = made.__module__, made.__qualname__
    if module is None or "<" in name:  # a method of a value, <locals>, <lambda>
        raise _undescribed(made)
    named = [module, name]
    if module.partition(".")[0] in (*folders(), *sys.stdlib_module_names) and module != "__main__":
        return named
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not Path(file).is_file():
        raise _undescribed(made)
    return [*named, hashlib.sha256(Path(file).read_bytes()).hexdigest()]


def _undescribed(value: object) -> InputError:
    return InputError(
        f"a task holds {type(value).__qualname__} {str(value)[:60]!r}, which cannot be described",
        "give it numbers, texts, arrays, dataclasses, and functions or classes of a module",
    )


def _array(value: np.ndarray[Any, Any]) -> list[Any]:
    if value.dtype.hasobject:
        raise _undescribed(value)
    content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    return [value.dtype.str, list(value.shape), content]


#: the words that determine a value, by its type; the first that fits
_WORDS: dict[Any, Any] = {
    Enum: lambda value: [_named(type(value)), value.name],
    float: lambda value: [float(value).hex()],
    Fraction: lambda value: [str(value)],
    bytes: lambda value: [hashlib.sha256(value).hexdigest()],
    range: lambda value: [value.start, value.stop, value.step],
    np.ndarray: _array,
    tuple: lambda value: [_named(type(value)), *map(described, value)],
    list: lambda value: [*map(described, value)],
    dict: lambda value: sorted(map(described, value.items()), key=canonical),
    partial: lambda value: [described(value.func), described(value.args), described(value.keywords)],
    FunctionType | BuiltinFunctionType | _lru_cache_wrapper | type: lambda value: [_named(value)],
}
