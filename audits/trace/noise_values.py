"""Number types for noise that record on the tape what they are added to, and are plain numbers otherwise."""

from typing import Any, ClassVar

import numpy as np

from audits.trace.tape import ROUNDING, Tape

ADDITIONS = {np.add: 1, np.subtract: -1}


class NoiseValue:
    """A linear combination of noise values: a factor for each call, by its number on the tape."""

    tape: Tape | None = None
    parts: ClassVar[dict[int, float]] = {}

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **more: Any) -> Any:
        """Compute as usual, and record sums on the tape."""
        return apply_ufunc(ufunc, method, given, more)


class NoiseArray(NoiseValue, np.ndarray):
    """An array of noise."""

    def __array_finalize__(self, made_from: Any) -> None:
        """Inherit no noise: slices and views are no longer known to be the noise of a call."""


class NoiseFloat(np.float64, NoiseValue):  # type: ignore[misc]  # NumPy requires its type as first base
    """A float of noise."""

    of_python = False


class NoiseInt(int, NoiseValue):
    """A whole number of noise."""


NOISE = (NoiseArray, NoiseFloat, NoiseInt)


def _forward(ufunc: Any) -> Any:
    return lambda self, other: apply_ufunc(ufunc, "__call__", (self, other), {})


def _reflected(ufunc: Any) -> Any:
    return lambda self, other: apply_ufunc(ufunc, "__call__", (other, self), {})


for _kind in (NoiseFloat, NoiseInt):
    for _name, _ufunc in (
        ("add", np.add),
        ("sub", np.subtract),
        ("mul", np.multiply),
        ("truediv", np.true_divide),
    ):
        setattr(_kind, f"__{_name}__", _forward(_ufunc))
        setattr(_kind, f"__r{_name}__", _reflected(_ufunc))
    _kind.__neg__ = lambda self: apply_ufunc(np.negative, "__call__", (self,), {})  # type: ignore[method-assign]


def noise(value: Any, tape: Tape, parts: dict[int, float]) -> Any:
    """Return a number or array as noise: a linear combination of the noise of calls, by number."""
    noisy: Any
    if isinstance(value, np.ndarray):
        noisy = np.array(value).view(NoiseArray)
    elif isinstance(value, int | np.integer):
        noisy = NoiseInt(value)
    elif isinstance(value, float):
        noisy = NoiseFloat(value)
        noisy.of_python = type(value) is float
    else:
        return value
    noisy.tape, noisy.parts = tape, parts
    return noisy


def plain(value: Any) -> Any:
    """Return noise as a plain number; other values unchanged."""
    if isinstance(value, NoiseArray):
        return value.view(np.ndarray)
    if isinstance(value, NoiseFloat):
        return float(value) if value.of_python else np.float64(float(value))
    return int(value) if isinstance(value, NoiseInt) else value


def without_noise_types(value: Any) -> Any:
    """Return a result with all noise as plain numbers; note on the tape which noise it shows."""
    if type(value) in (list, tuple):
        return type(value)(without_noise_types(each) for each in value)
    if type(value) is dict:
        return {key: without_noise_types(each) for key, each in value.items()}
    if isinstance(value, NOISE) and value.tape is not None:
        value.tape.shown.update(value.parts)
    return plain(value)


def apply_ufunc(ufunc: Any, method: str, given: tuple[Any, ...], more: dict[str, Any]) -> Any:
    """Apply a NumPy function to noise and other values; record sums and differences on the tape."""
    bare, parts_of = tuple(plain(each) for each in given), tuple(_parts(each) for each in given)
    out = more.get("out")
    if out is not None:
        more = {**more, "out": tuple(plain(each) for each in out)}
    result = getattr(ufunc, method)(*bare, **more)
    if isinstance(result, np.generic) and all(type(each) in (int, float) for each in bare):
        result = result.item()
    tape = next((each.tape for each in given if isinstance(each, NOISE) and each.tape), None)
    for each in out or ():
        if isinstance(each, NoiseArray):  # overwritten, so no longer noise
            each.tape = None
    if method != "__call__" or tape is None or not any(parts_of):
        return result
    if ufunc is np.negative:
        return noise(result, tape, _times(parts_of[0], -1.0))
    if ufunc in (np.multiply, np.true_divide):
        return _scaled(result, tape, bare, parts_of, divided=ufunc is np.true_divide)
    if ufunc not in ADDITIONS:
        return result
    one, other = parts_of[0], _times(parts_of[1], ADDITIONS[ufunc])
    parts = {each: one.get(each, 0.0) + other.get(each, 0.0) for each in sorted({*one, *other})}
    if one and other:
        return noise(result, tape, parts)
    total = tape.added(parts, bare[0] if other else bare[1], result)
    if out is not None and np.shape(total) == np.shape(out[0]):
        out[0][...] = total
        return out[0]
    return np.array(total) if isinstance(total, np.ndarray) else total


def _parts(value: Any) -> dict[int, float]:
    """Return the factors of a noise value; empty for other values and for arrays changed in place."""
    if not isinstance(value, NOISE) or value.tape is None:
        return {}
    if isinstance(value, NoiseArray):
        terms = [factor * value.tape.calls[number].value for number, factor in value.parts.items()]
        size = ROUNDING * max(np.abs(term).max(initial=0) for term in terms)
        if not (np.abs(sum(terms) - plain(value)) <= size).all():
            return {}
    return value.parts


def _times(parts: dict[int, float], factor: float) -> dict[int, float]:
    return {number: factor * each for number, each in parts.items()}


def _scaled(result: Any, tape: Tape, bare: Any, parts_of: Any, *, divided: bool) -> Any:
    """Return noise multiplied or divided by a number; other products and quotients are plain numbers."""
    at = 0 if parts_of[0] else 1
    factor = bare[1 - at]
    if all(parts_of) or (divided and at) or np.ndim(factor):
        return result
    factor = float(factor)
    if not np.isfinite(factor) or (divided and not factor):
        return result
    factor = 1 / factor if divided else factor
    return noise(result, tape, _times(parts_of[at], factor))
