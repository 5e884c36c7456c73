"""Runs a function in another Python interpreter (3.8 or later): one file, the standard library alone.

`audits.sandbox.foreign` starts it and sends requests, one JSON document a line.  NumPy is used if it is
there: without it, arrays are nested lists, and the generator is a `random.Random`.
"""

from __future__ import annotations

import base64
import importlib
import inspect
import json
import os
import random
import sys
from collections.abc import Callable
from typing import Any

# The other interpreter may be old and has none of our packages, so this file has the syntax of 3.8.
try:
    import numpy as np
except ImportError:  # the interpreter does without
    np = None  # type: ignore[assignment]

TAG = "\x00"  #: the key of a document that encodes a value without a JSON form


def takes_generator(function: Callable[..., Any]) -> bool:
    """Return whether a function takes a generator: f(data, rng), and not f(data) alone.

    A function with one required argument draws its own noise, unless its second argument is called ``rng``.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some compiled functions have no signature
        return True
    placed = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    required = [each for each in placed if each.default is each.empty]
    return len(required) != 1 or any(each.name == "rng" for each in placed[1:2])


def encode(value: Any) -> Any:
    """Return a value as a JSON document; values without a JSON form are tagged."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if np is not None and isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc":
        array = np.ascontiguousarray(value)
        content = base64.b64encode(array.tobytes()).decode()
        return {
            TAG: "array" if isinstance(value, np.ndarray) else "scalar",
            "is": [array.dtype.str, list(np.shape(value)), content],
        }
    if np is not None and isinstance(value, np.ndarray) and value.dtype.kind in "OU":
        members = [encode(each) for each in value.ravel().tolist()]
        return {TAG: "objects", "is": [value.dtype.str, list(value.shape), members]}
    if type(value) in (list, tuple, set, frozenset):
        members = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        return {TAG: type(value).__name__, "is": [encode(each) for each in members]}
    if type(value) is dict:
        return {TAG: "dict", "is": [[encode(key), encode(each)] for key, each in value.items()]}
    if type(value) is bytes:
        return {TAG: "bytes", "is": base64.b64encode(value).decode()}
    if type(value) is complex:
        return {TAG: "complex", "is": [value.real, value.imag]}
    return {TAG: "object", "is": type(value).__name__}


def decode(document: Any) -> Any:
    """Return the value that a document encodes."""
    if not isinstance(document, dict):
        return document
    kind, content = document[TAG], document["is"]
    if kind in ("array", "scalar"):
        return _array(kind, *content)
    if kind == "objects":
        return _objects(*content)
    if kind == "dict":
        return {decode(key): decode(each) for key, each in content}
    if kind == "bytes":
        return base64.b64decode(content)
    if kind == "complex":
        return complex(*content)
    if kind == "object":
        return type(content, (), {})()
    container: Any = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[kind]
    return container(decode(each) for each in content)


def _array(kind: str, dtype: str, shape: list[int], content: str) -> Any:
    raw = base64.b64decode(content)
    if np is not None:
        array = np.frombuffer(raw, dtype=np.dtype(dtype)).reshape(shape).copy()
        return array[()] if kind == "scalar" else array
    codes = {"f8": "d", "f4": "f", "i8": "q", "i4": "i", "u8": "Q", "b1": "?"}
    flat: list[Any] = memoryview(raw).cast(codes[dtype[1:]]).tolist()
    return _nested(flat, shape)


def _objects(dtype: str, shape: list[int], members: list[Any]) -> Any:
    flat = [decode(each) for each in members]
    if np is None:
        return _nested(flat, shape)
    array = np.empty(len(flat), dtype=np.dtype(dtype))
    array[:] = flat
    return array.reshape(shape)


def _nested(flat: list[Any], shape: list[int]) -> Any:
    if len(shape) < 2:
        return flat
    size = len(flat) // shape[0] if shape[0] else 0
    return [_nested(flat[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])]


def _seeded(seed: int) -> Any:
    """Return a generator; the global ones are seeded as well."""
    random.seed(seed)
    generator: Any = random.Random(seed)  # noqa: S311
    if np is not None:
        np.random.seed(seed)
        if hasattr(np.random, "default_rng"):
            generator = np.random.default_rng(seed)
    return generator


def text_of(error: BaseException) -> str:
    """Return the text of an error; none if it cannot be written."""
    try:
        return str(error)
    except Exception:
        return ""


def _answer(function: Callable[..., Any], data: Any, seed: int | None) -> Any:
    """Return the result of one run; without a seed the function is a query of the data alone."""
    more = () if seed is None else (_seeded(seed),)
    try:
        return encode(function(data, *more) if more and takes_generator(function) else function(data))
    except BaseException as error:  # whatever it raises is what it did
        name = "SystemExit" if isinstance(error, SystemExit) else type(error).__name__
        return {TAG: "raised", "is": [name, text_of(error)]}


def main() -> None:
    """Import the function that the first line names, then serve one request a line."""
    requests, answers = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)

    def answer(document: Any) -> None:
        answers.write(json.dumps(document) + "\n")
        answers.flush()

    module, name, folders = json.loads(requests.readline())
    sys.path.extend(folders)
    try:
        function = getattr(importlib.import_module(module), name)
    except BaseException as error:  # a module may raise anything
        answer({"failed": f"{type(error).__name__}: {error}"})
        return
    if not callable(function) or isinstance(function, type):
        answer({"failed": f"{name} is no function"})
        return
    answer({"python": list(sys.version_info[:3])})
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    kept: dict[str, Any] = {}
    for line in requests:
        request = json.loads(line)
        if "keep" in request:
            kept[request["keep"]] = request["data"]
            continue
        data = decode(kept[request["run"]])
        answer(_answer(function, data, request["seed"]))


if __name__ == "__main__":
    main()
