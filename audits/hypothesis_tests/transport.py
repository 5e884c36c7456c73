"""Serialises runs between processes as plain values, so that deserialising executes no code."""

import io
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.hypothesis_tests.replay import Run
from dpaccount.errors import ReceiptError
from mechanisms.subject import View

Array = NDArray[Any]
MAX_INTEGER = 2**63  #: exclusive bound of signed integers in MessagePack


def packed_run(run: Run) -> list[object]:
    """Serialise a run; raises `ReceiptError` if a part's name is neither a number nor text."""
    view = run.view
    tables = (run.exact, run.released, run.hidden, view.own, view.public)
    asked_by = [[_name(part), how] for part, how in run.asked_by.items()]
    flags = [run.changed, run.printed, run.report]
    return [*(_table(arrays) for arrays in tables), asked_by, list(run.asked), *flags]


def unpacked_run(document: list[Any]) -> Run:
    """Deserialise a run."""
    exact, released, hidden, own, public = map(_read_table, document[:5])
    asked_by, asked, *flags = document[5:]
    draws = {_read_name(part): how for part, how in asked_by}
    return Run(exact, released, View(own, public), draws, hidden, tuple(asked), *flags)


def _table(arrays: Mapping[Any, Array]) -> list[object]:
    return [[_name(name), *_array(array)] for name, array in arrays.items()]


def _read_table(document: list[Any]) -> dict[Any, Array]:
    return {_read_name(name): _read_array(*array) for name, *array in document}


def _array(array: Array) -> tuple[list[int] | None, object]:
    """Return shape and cells of an array of objects; for other arrays None and the bytes of an .npy file."""
    if array.dtype.kind == "O":
        return list(array.shape), [_cell(value) for value in array.ravel().tolist()]
    data = io.BytesIO()
    np.save(data, array, allow_pickle=False)
    return None, data.getvalue()


def _read_array(shape: list[int] | None, data: Any) -> Array:
    if shape is None:
        return np.load(io.BytesIO(data), allow_pickle=False)
    cells = np.empty(len(data), dtype=object)
    cells[:] = [_read_name(value) for value in data]
    return cells.reshape(shape)


def _cell(value: object) -> object:
    """Serialise a cell of an array of objects; values other than numbers and text as their repr."""
    try:
        return _name(value)
    except ReceiptError:
        return repr(value)


def _name(value: object) -> object:
    """Serialise a part's name or a value; deserialising gives an equal value of the same type."""
    if isinstance(value, np.generic):
        return ["array", _array(np.asarray(value))[1]]
    if isinstance(value, tuple):
        return ["tuple", [_name(each) for each in value]]
    if isinstance(value, Fraction):
        return ["fraction", str(value)]
    if isinstance(value, int) and not -MAX_INTEGER <= value < MAX_INTEGER:
        return ["integer", str(value)]
    if value is None or isinstance(value, bool | bytes):
        return value
    if isinstance(value, str):
        plain = str.__str__(value)  # of an enumeration its text, not its name
        half = any("\ud800" <= letter <= "\udfff" for letter in plain)  # no valid UTF-8
        return ["text", plain.encode(errors="surrogatepass")] if half else plain
    for kind in (int, float):
        if isinstance(value, kind):
            return kind(value)
    raise ReceiptError(f"{value!r} cannot name a part; give a number, a text, or a tuple of these")


def _read_name(document: Any) -> Any:
    if not isinstance(document, list):
        return document
    kind, data = document
    match kind:
        case "array":
            return _read_array(None, data)[()]
        case "tuple":
            return tuple(_read_name(each) for each in data)
        case "fraction":
            return Fraction(data)
        case "text":
            return bytes(data).decode(errors="surrogatepass")
    return int(data)
