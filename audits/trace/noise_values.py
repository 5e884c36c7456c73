"""Noise as numbers that tell the tape what they are added to; in everything else they are plain numbers."""

from typing import Any

import numpy as np

from audits.trace.tape import Tape

ADDITIONS = {np.add: 1, np.subtract: -1}


class NoiseArray(np.ndarray):
    """An array of noise."""

    tape: Tape | None = None
    number = -1
    sign = 1

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
    sign = 1

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **more: Any) -> Any:
        """Compute as usual, and tell the tape of sums."""
        return computed(ufunc, method, given, more)


class NoiseInt(int):
    """A whole number of noise."""

    tape: Tape | None = None
    number = -1
    sign = 1

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


def noise(value: Any, tape: Tape, number: int, sign: int = 1) -> Any:
    """Return a value as noise of a call, or of a call turned by `sign`."""
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
    made.tape, made.number, made.sign = tape, number, sign
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
    if ufunc is np.negative:
        return noise(result, tape, number, -first.sign)
    if ufunc is np.multiply or (ufunc is np.true_divide and given[0] is first):
        return _scaled(result, bare[1 if given[0] is first else 0], ufunc is np.true_divide, first)
    if ufunc not in ADDITIONS:
        return result
    _note_signs(given, ADDITIONS[ufunc])
    if len(told) == len(given):  # noise of several calls
        return noise(result, tape, number, first.sign)
    other = bare[1] if given[0] is first else bare[0]
    total = tape.added(number, np.array(other) if isinstance(other, np.ndarray) else other, result)
    if out is not None and np.shape(total) == np.shape(out[0]):
        out[0][...] = total
        return out[0]
    return np.array(total) if isinstance(total, np.ndarray) else total


def _note_signs(given: tuple[Any, ...], second: int) -> None:
    """Note sign and scale of the first use of each noise in a sum or (`second` is -1) a difference."""
    for each, sign in zip(given, (1, second), strict=True):
        if isinstance(each, NOISE) and each.tape is not None:
            call = each.tape.calls[each.number]
            call.used = call.used or (each.sign * sign, call.scale)


def _scaled(result: Any, factor: Any, divided: bool, made: Any) -> Any:  # noqa: FBT001
    """Return noise times a number: its scale grows with it.

    What is made of noise after that was added to something is no noise: it may be taken off again.
    """
    call, size = made.tape.calls[made.number], 0.0 if np.ndim(factor) else abs(float(factor))
    if np.ndim(factor) or not np.isfinite(size) or (divided and not size) or call.inputs:
        return result
    if call.scale is not None:
        call.scale = call.scale / size if divided else call.scale * size
    return noise(result, made.tape, made.number, made.sign if factor >= 0 else -made.sign)
