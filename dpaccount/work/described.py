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
from types import BuiltinFunctionType, FunctionType, MethodType
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
            return [kind.__name__, *words(value)]
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
    if "<" in name:  # <locals>, <lambda>
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


def _members(value: Any) -> list[Any]:
    return [[described(each) for each in value]]


def _sorted(found: list[Any]) -> list[Any]:
    return [sorted(found, key=canonical)]


#: the words that determine a value, by its type; the first that fits
_WORDS: dict[Any, Any] = {
    Enum: lambda value: [_named(type(value)), value.name],
    int: lambda value: [_named(type(value)), int(value)],
    float: lambda value: [value.hex()],
    Fraction: lambda value: [str(value)],
    bytes: lambda value: [hashlib.sha256(value).hexdigest()],
    range: lambda value: [value.start, value.stop, value.step],
    np.ndarray: _array,
    np.generic: lambda value: _array(np.asarray(value)),
    tuple: lambda value: [*([_named(type(value))] if type(value) is not tuple else []), *_members(value)],
    list: _members,
    set: lambda value: _sorted(_members(value)[0]),
    frozenset: lambda value: _sorted(_members(value)[0]),
    dict: lambda value: _sorted([[described(key), described(each)] for key, each in value.items()]),
    partial: lambda value: [described(value.func), described(value.args), described(value.keywords)],
    MethodType: lambda value: [described(value.__self__), value.__name__],
    FunctionType: lambda value: [_named(value)],
    BuiltinFunctionType: lambda value: [_named(value)],
    _lru_cache_wrapper: lambda value: [_named(value)],
    type: lambda value: [_named(value)],
}
