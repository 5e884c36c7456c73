"""What a function gets in place of noise: calls that go through a tape, and numbers that remember them.

A tape (`audits.trace.tape`) records the noise of one run and replays it in another.  The calls are those of
numpy, random, secrets, scipy, OpenDP and diffprivlib.  Their numbers record on the tape what they are added
to, and are plain numbers otherwise.
"""

import math
import random
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from typing import Any, ClassVar

import numpy as np

from audits.trace.tape import ROUNDING, Tape, caller

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


def _operator(ufunc: Any, step: int) -> Any:
    """Return the method of an operator, forward (1) or reflected (-1)."""
    return lambda *both: apply_ufunc(ufunc, "__call__", both[::step], {})


for _kind in (NoiseFloat, NoiseInt):
    for _name, _ufunc in (
        ("add", np.add),
        ("sub", np.subtract),
        ("mul", np.multiply),
        ("truediv", np.true_divide),
    ):
        setattr(_kind, f"__{_name}__", _operator(_ufunc, 1))
        setattr(_kind, f"__r{_name}__", _operator(_ufunc, -1))
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


#: methods with additive noise: positions of location and scale, None where there is none
ADDITIVE: dict[str, tuple[int | None, int | None]] = {
    **dict.fromkeys(("laplace", "normal", "gumbel", "logistic", "gauss", "normalvariate"), (0, 1)),
    **dict.fromkeys(("exponential", "geometric", "expovariate"), (None, 0)),
    **dict.fromkeys(("standard_normal", "standard_exponential", "standard_cauchy"), (None, None)),
}
#: methods whose draws are replayed, but not followed as additive noise
DRAWS = (
    *("random", "uniform", "integers", "choice", "binomial", "poisson", "permutation", "rand", "randn"),
    *("randint", "gamma", "beta", "multinomial", "negative_binomial", "randrange", "sample", "choices"),
    *("getrandbits", "betavariate", "random_sample", "bytes", "multivariate_normal", "shuffle"),
)
#: methods that may select from an array: indices are drawn instead, since a replay has other rows
PICKS = ("choice", "permutation", "shuffle", "sample", "choices")
MISSING = object()  #: of a name that its owner did not define itself
#: keywords of the calls above, and their positions: 0 is the location, 1 the scale
NAMES = {"loc": 0, "mu": 0, "scale": 1, "sigma": 1}


def taped(tape: Tape, library: str, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return `original` with its draws recorded on the tape, or replayed from it."""

    def draw(*given: Any, **more: Any) -> Any:
        # What a noise call draws by other calls is its own; it would be recorded twice.
        if tape.depth:
            return original(*given, **more)
        frame = caller()
        source, given, more = _positions(library, name, given, more)
        value = tape.inside(lambda: original(*given, **more))
        location, scale, raw = _parameters(name, given, more)
        value = given[0] if name == "shuffle" else value
        number, value = tape.drawn(f"{library}.{name}", scale, value, frame, location)
        tape.calls[number].draws, tape.calls[number].raw = name not in ADDITIVE, raw
        if source is not None:
            return _pick(name, source, value)
        untracked = name not in ADDITIVE or np.any(location)
        return value if untracked else noise(value, tape, {number: 1.0})

    return draw


def _positions(library: str, name: str, given: tuple[Any, ...], more: dict[str, Any]) -> Any:
    """Return (the population, its axis) of a call that selects, if any, and arguments to draw indices."""
    key = next((each for each in ("a", "x", "population", "seq") if each in more), None)
    population = more[key] if key else given[0] if given else None
    if name not in PICKS or population is None or np.ndim(population) == 0:
        return None, given, more
    axis = more.get("axis", 0)
    rows = np.shape(population)[axis] if isinstance(population, np.ndarray) else len(population)
    counted: Any = np.arange(rows) if name == "shuffle" else rows
    if library in ("random", "secrets"):
        counted = list(range(rows))
    more = {each: value for each, value in more.items() if each not in (key, "axis")}
    return (population, axis), (counted, *given[0 if key else 1 :]), more


def _pick(name: str, source: tuple[Any, int], positions: Any) -> Any:
    """Return the members at these indices; a shuffle writes them to the population and returns None."""
    population, axis = source
    if isinstance(population, np.ndarray) or (isinstance(positions, np.ndarray) and name != "shuffle"):
        taken: Any = np.take(np.asarray(population), np.asarray(positions), axis)
    else:
        taken = [population[each] for each in positions] if np.ndim(positions) else population[positions]
    if name == "shuffle":
        population[:] = taken
    return None if name == "shuffle" else taken


def _parameters(name: str, given: tuple[Any, ...], more: dict[str, Any]) -> tuple[Any, float | None, Any]:
    """Return the location, the scale if it is one number (else None), and the scale as given."""
    if name not in ADDITIVE:
        return 0.0, None, None
    at, scale_at = ADDITIVE[name]
    named = {NAMES[key]: value for key, value in more.items() if key in NAMES}
    location = 0.0 if at is None else named.get(at, given[at] if len(given) > at else 0.0)
    if scale_at is None:
        return location, 1.0, None
    keyword = more.get({"geometric": "p", "expovariate": "lambd"}.get(name, "scale"), named.get(1))
    scale = keyword if keyword is not None else given[scale_at] if len(given) > scale_at else 1.0
    raw = np.array(scale, dtype=np.float64)
    scales = np.unique(raw)
    if len(scales) != 1 or not math.isfinite(scales[0]) or scales[0] <= 0:
        return location, None, raw
    scale = float(scales[0])
    if name == "geometric":
        # Two such draws differ by discrete Laplace noise of this scale.
        return location, -1 / math.log1p(-scale) if scale < 1 else 0.0, raw
    return location, 1 / scale if name == "expovariate" else scale, raw


def generator(tape: Tape, bits: Any) -> np.random.Generator:
    """Return a generator of NumPy whose draws go through the tape."""
    methods = {
        name: staticmethod(taped(tape, "numpy.random.Generator", name, method))
        for name, method in _methods(np.random.Generator(bits))
    }
    return type("Generator", (np.random.Generator,), methods)(bits)


def _methods(owner: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in (*ADDITIVE, *DRAWS):
        if hasattr(owner, name):
            yield name, getattr(owner, name)


@contextmanager
def patched(tape: Tape) -> Iterator[None]:
    """Let the noise calls inside the block go through the tape."""
    with ExitStack() as undo:  # in reverse: what was replaced twice gets its first value back

        def replace(owner: Any, name: str, new: object) -> None:
            before = vars(owner).get(name, MISSING)
            undo.callback(*((delattr, owner, name) if before is MISSING else (setattr, owner, name, before)))
            setattr(owner, name, new)

        original = np.random.default_rng
        replace(np.random, "default_rng", lambda seed=None: generator(tape, original(seed).bit_generator))
        for library, owner in (("numpy.random", np.random), ("random", random)):
            for name, method in _methods(owner):
                replace(owner, name, taped(tape, library, name, method))
        for name in ("randbelow", "randbits", "choice", "token_bytes"):
            replace(secrets, name, taped(tape, "secrets", name, getattr(secrets, name)))
        _patch_libraries(tape, replace)
        yield


def _patch_libraries(tape: Tape, replace: Callable[[Any, str, object], None]) -> None:
    """Patch the libraries that the code has imported."""
    stats = sys.modules.get("scipy.stats")
    if stats is not None:
        for name in ("laplace", "norm", "dlaplace", "expon", "gumbel_r", "uniform", "bernoulli"):
            replace(getattr(stats, name), "rvs", _taped_rvs(tape, name, getattr(stats, name).rvs))
    measurements = sys.modules.get("opendp.mod")
    if measurements is not None:
        kind = measurements.Measurement
        replace(kind, "__call__", _taped_mechanism(tape, "opendp.Measurement", kind.__call__))
    base = sys.modules.get("diffprivlib.mechanisms.base")
    for kind in [] if base is None else _subclasses(base.DPMechanism):
        if "randomise" in vars(kind):
            called = f"diffprivlib.{kind.__name__}"
            replace(kind, "randomise", _taped_mechanism(tape, called, vars(kind)["randomise"]))


def _subclasses(kind: type) -> list[type]:
    direct: list[type] = type.__subclasses__(kind)
    return [each for child in direct for each in (child, *_subclasses(child))]


def _taped_rvs(tape: Tape, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a distribution's `rvs`, recorded on the tape or replayed from it; loc and scale come by name."""

    def rvs(*given: Any, loc: Any = 0, scale: Any = 1, **more: Any) -> Any:
        frame = caller()
        value = tape.inside(lambda: original(*given, loc=loc, scale=scale, **more))
        size = float(scale) if np.ndim(scale) == 0 else None
        number, value = tape.drawn(f"scipy.stats.{name}", size, value, frame, loc)
        tape.calls[number].raw = copy(scale)
        return value if np.any(loc) else noise(value, tape, {number: 1.0})

    return rvs


def _taped_mechanism(tape: Tape, called: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a mechanism's call, recorded or replayed likewise: its argument is what noise is added to."""

    def call(self: Any, given: Any) -> Any:
        if tape.depth:
            return original(self, given)
        frame = caller()
        value = tape.inside(lambda: original(self, given))
        return tape.drawn(called, None, value, frame, given)[1]

    return call
