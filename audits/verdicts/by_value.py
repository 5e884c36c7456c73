"""Functions that no name leads to: lambdas, local functions, closures; how they travel, and what they are.

They travel by cloudpickle with all that they use of their own module; other modules are imported where they
run.  Their digest is taken over the code as it is in this process, and over everything that goes with it.
"""

import math
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from audits.verdicts.code_words import names_in, names_of, refused_words, same, told
from audits.verdicts.places import text_digest

PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), type(...), Fraction, Decimal})

HEAP_TYPE = 1 << 9  #: of a class that Python code made; any other may hold what `__dict__` does not
LOOKUPS = frozenset({"globals", "eval", "exec", "_getframe", "currentframe"})


class Unfollowed(Exception):  # noqa: N818
    """Something belongs to a function that cannot be said by value; the text says what."""


def sent(function: Callable[..., Any]) -> bytes:
    """Return a function as it travels.  Raises what pickling raises where a part of it cannot travel."""
    import cloudpickle

    own = sys.modules.get(str(getattr(function, "__module__", None)))
    if own is None or own.__name__ in cloudpickle.list_registry_pickle_by_value():
        return bytes(cloudpickle.dumps(function))
    cloudpickle.register_pickle_by_value(own)
    try:
        return bytes(cloudpickle.dumps(function))
    finally:
        cloudpickle.unregister_pickle_by_value(own)


def fingerprint(function: Callable[..., Any]) -> tuple[str, list[str]]:
    """Return the digest of a function with all that belongs to it, and why a verdict on it cannot be kept."""
    told_ = _Telling(str(getattr(function, "__module__", None)))
    try:
        said = text_digest(repr(told_.value(function)))
    except Unfollowed as unfollowed:
        return "", [str(unfollowed)]
    why = [f"it {why}" for code in told_.codes for why in refused_words(code)]
    by_text = sorted({name for code in told_.codes for name in names_in(code)} & LOOKUPS)
    return said, why + [f"it may look names up that cannot be followed ({name})" for name in by_text]


class _Telling:
    """Says values in full: functions and classes of the module `own` by what they are, others by name."""

    def __init__(self, own: str) -> None:
        self.own, self.codes = own, list[CodeType]()
        self._seen: dict[int, int] = {}
        self._kept: list[object] = []  # so that no identity is used again

    def value(self, value: Any) -> object:
        """Return nested lists of texts that only an equal value has."""
        if type(value) in PLAIN:  # a subclass may do otherwise than its base
            return [type(value).__name__, repr(value)]
        if id(value) in self._seen:
            return ["seen", self._seen[id(value)]]
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        return [type(value).__qualname__, *self._parts(value)]

    def _parts(self, value: Any) -> Iterator[object]:
        kind = type(value)
        if kind in (tuple, list):
            yield from map(self.value, value)
        elif kind is dict:
            yield from ([self.value(key), self.value(member)] for key, member in value.items())
        elif kind in (set, frozenset):
            yield sorted(repr(self.value(each)) for each in sorted(value, key=repr))
        elif kind is np.ndarray or isinstance(value, np.generic):
            yield from self._array(np.asarray(value))
        elif isinstance(value, ModuleType):
            yield self._module(value)
        elif isinstance(value, BuiltinFunctionType):
            yield from self._builtin(value)
        elif isinstance(value, FunctionType):
            yield from self._function(value)
        elif isinstance(value, MethodType):
            yield from (self.value(value.__func__), self.value(value.__self__))
        elif kind is partial:
            yield from map(self.value, (value.func, value.args, value.keywords, vars(value)))
        elif isinstance(value, type):
            yield from self._class(value)
        else:
            yield from self._instance(value)

    def _module(self, value: ModuleType) -> str:
        """Return the name of a module that another process imports; others travel with all that they hold."""
        name = value.__name__
        if self._owns(name) or sys.modules.get(name) is not value or value.__spec__ is None:
            raise Unfollowed(f"it holds the module {name} by value")
        return name

    def _owns(self, module: str | None) -> bool:
        """Say whether what a module defines travels by value: the function's own, and those inside it."""
        return f"{module}.".startswith(f"{self.own}.")

    def _array(self, value: Any) -> Iterator[object]:
        if value.dtype.hasobject:
            raise Unfollowed("it holds an array of objects")
        yield from (value.dtype.str, value.shape, value.tobytes().hex())

    def _builtin(self, value: Any) -> Iterator[object]:
        if not isinstance(value.__self__, ModuleType | type(None)):
            raise Unfollowed(f"it holds {value.__qualname__}, bound to a {type(value.__self__).__name__}")
        yield from (str(value.__module__), value.__qualname__)

    def _function(self, value: FunctionType) -> Iterator[object]:
        yield from (str(value.__module__), value.__qualname__)
        if not self._owns(value.__module__) and _found(value.__module__, value.__qualname__) is value:
            return
        self.codes.append(value.__code__)
        yield told(value.__code__)
        more = {name: held for name, held in vars(value).items() if name != "pytestmark"}
        yield from map(self.value, (value.__defaults__, value.__kwdefaults__, more))
        for cell in value.__closure__ or ():
            yield self.value(_held(cell))
        for name in sorted(names_in(value.__code__) & value.__globals__.keys()):
            yield [name, self.value(value.__globals__[name])]

    def _class(self, value: type) -> Iterator[object]:
        yield from (value.__module__, value.__qualname__)
        if self._owns(value.__module__):
            yield from map(self.value, (type(value), *value.__bases__))
            yield from ([name, self._member(member)] for name, member in vars(value).items() if _tells(name))
        elif _found(value.__module__, value.__qualname__) is not value:
            raise Unfollowed(f"it holds the class {value.__qualname__}, which no name leads to")

    def _member(self, member: Any) -> object:
        if isinstance(member, staticmethod | classmethod):
            return [type(member).__name__, self.value(member.__func__)]
        if isinstance(member, property):
            return ["property", *map(self.value, (member.fget, member.fset, member.fdel))]
        return self.value(member)

    def _instance(self, value: Any) -> Iterator[object]:
        kind: Any = type(value)
        plain = kind.__reduce_ex__ is object.__reduce_ex__ and kind.__reduce__ is object.__reduce__
        native = any(each is not object and not each.__flags__ & HEAP_TYPE for each in kind.__mro__)
        if native or not plain or not hasattr(value, "__dict__") or hasattr(type(value), "__slots__"):
            raise Unfollowed(f"it holds an object of type {type(value).__qualname__}")
        yield from (self.value(type(value)), self.value(vars(value)))


def _tells(name: str) -> bool:
    return name not in ("__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__")


def _held(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return math.nan  # nothing yet


def _found(module: str, name: str) -> object:
    """Return what a name of a module leads to; None where it leads nowhere."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def differing_names(names: dict[str, dict[str, list[str]]]) -> list[str]:
    """Return the names of modules that stand for something else here than where the code ran."""
    here = {getattr(module, "__file__", None): module for module in list(sys.modules.values())}
    found = []
    for file, theirs in names.items():
        if file in here:
            ours = names_of(vars(here[file]))
            found += [
                f"{here[file].__name__}.{n}" for n, said in theirs.items() if not same(ours.get(n), said)
            ]
    return found
