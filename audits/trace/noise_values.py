"""Noise as numbers that tell the tape what they are added to; in everything else they are plain numbers."""

from typing import Any

import numpy as np

from audits.trace.tape import Tape

LINEAR = {np.add: 1, np.subtract: -1}


class NoiseArray(np.ndarray):
    """An array of noise."""

    tape: Tape | None = None
    number = -1

    def __array_finalize__(self, made_from: Any) -> None:
        """Parts and copies are noise of the same call only where they are made by arithmetic."""

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **more: Any) -> Any:
        """Compute as usual, and tell the tape of sums."""
        return computed(ufunc, method, given, more)


class NoiseFloat(np.float64):
    """A float of noise."""

    of_python = False
    tape: Tape | None = None
    number = -1

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **more: Any) -> Any:
        """Compute as usual, and tell the tape of sums."""
        return computed(ufunc, method, given, more)


class NoiseInt(int):
    """A whole number of noise."""

    tape: Tape | None = None
    number = -1

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **more: Any) -> Any:
        """Compute as usual, and tell the tape of sums."""
        return computed(ufunc, method, given, more)


NOISE = (NoiseArray, NoiseFloat, NoiseInt)


def _forward(ufunc: Any) -> Any:
    return lambda self, other: computed(ufunc, "__call__", (self, other), {})


def _reflected(ufunc: Any) -> Any:
    return lambda self, other: computed(ufunc, "__call__", (other, self), {})


for _kind in (NoiseFloat, NoiseInt):
    for _name, _ufunc in (
        ("add", np.add),
        ("sub", np.subtract),
        ("mul", np.multiply),
        ("truediv", np.true_divide),
    ):
        setattr(_kind, f"__{_name}__", _forward(_ufunc))
        setattr(_kind, f"__r{_name}__", _reflected(_ufunc))
    _kind.__neg__ = lambda self: computed(np.negative, "__call__", (self,), {})  # type: ignore[method-assign]


def noise(value: Any, tape: Tape, number: int) -> Any:
    """Return a value as noise of a call."""
    made: Any
    if isinstance(value, np.ndarray):
        made = np.asarray(value).view(NoiseArray)
    elif isinstance(value, int | np.integer):
        made = NoiseInt(value)
    elif isinstance(value, float):
        made = NoiseFloat(value)
        made.of_python = type(value) is float
    else:
        return value
    made.tape, made.number = tape, number
    return made


def plain(value: Any) -> Any:
    """Return noise as the plain number that it is."""
    if isinstance(value, NoiseArray):
        return value.view(np.ndarray)
    if isinstance(value, NoiseFloat):
        return float(value) if value.of_python else np.float64(float(value))
    return int(value) if isinstance(value, NoiseInt) else value


def settled(value: Any) -> Any:
    """Return a result with all noise in it as plain numbers."""
    if type(value) in (list, tuple):
        return type(value)(settled(each) for each in value)
    if type(value) is dict:
        return {key: settled(each) for key, each in value.items()}
    return plain(value)


def computed(ufunc: Any, method: str, given: tuple[Any, ...], more: dict[str, Any]) -> Any:
    """Return what a function of arrays gives; sums and differences with noise go through the tape."""
    bare = tuple(plain(each) for each in given)
    out = more.get("out")
    if out is not None:
        more = {**more, "out": tuple(plain(each) for each in out)}
    result = getattr(ufunc, method)(*bare, **more)
    if isinstance(result, np.generic) and all(type(each) in (int, float) for each in bare):
        result = result.item()
    told = [each for each in given if isinstance(each, NOISE) and each.tape is not None]
    if method != "__call__" or not told:
        return result
    first = told[0]
    tape, number = first.tape, first.number
    if tape is None:
        return result
    if len(told) == len(given) and (
        ufunc in LINEAR or ufunc is np.negative
    ):  # noise of several calls, or turned
        return noise(result, tape, number)
    if ufunc in (np.multiply, np.true_divide) and given[0] is first:
        return _scaled(result, bare[1], ufunc is np.true_divide, tape, number)
    if ufunc is np.multiply:
        return _scaled(result, bare[0], False, tape, number)  # noqa: FBT003
    if ufunc not in LINEAR:
        return result
    other = bare[1] if given[0] is first else bare[0]
    total = tape.added(number, np.array(other) if isinstance(other, np.ndarray) else other, result)
    if out is not None and np.shape(total) == np.shape(out[0]):
        out[0][...] = total
        return out[0]
    return np.array(total) if isinstance(total, np.ndarray) else total


def _scaled(result: Any, factor: Any, divided: bool, tape: Tape, number: int) -> Any:  # noqa: FBT001
    """Return noise times a number: its scale grows with it, once."""
    if np.ndim(factor) != 0:
        return result
    call, size = tape.calls[number], abs(float(factor))
    if call.scale is not None and size > 0 and np.isfinite(size) and not call.inputs:
        call.scale = call.scale / size if divided else call.scale * size
    return noise(result, tape, number)
