"""Patches noise calls to go through a tape: numpy, random, secrets, scipy, OpenDP, diffprivlib."""

import math
import random
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np

from audits.trace.noise_values import noise
from audits.trace.tape import Tape, caller

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
MISSING = object()
NAMES = {"loc": 0, "mu": 0, "scale": 1, "sigma": 1}


def taped(tape: Tape, library: str, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return `original` with its draws recorded on the tape, or replayed from it."""

    def draw(*given: Any, **more: Any) -> Any:
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
        plain = name not in ADDITIVE or np.any(location)
        return value if plain else noise(value, tape, {number: 1.0})

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
    before: list[tuple[Any, str, object]] = []

    def replace(owner: Any, name: str, new: object) -> None:
        before.append((owner, name, vars(owner).get(name, MISSING)))
        setattr(owner, name, new)

    try:
        original = np.random.default_rng
        replace(np.random, "default_rng", lambda seed=None: generator(tape, original(seed).bit_generator))
        for library, owner in (("numpy.random", np.random), ("random", random)):
            for name, method in _methods(owner):
                replace(owner, name, taped(tape, library, name, method))
        for name in ("randbelow", "randbits", "choice", "token_bytes"):
            replace(secrets, name, taped(tape, "secrets", name, getattr(secrets, name)))
        _patch_libraries(tape, replace)
        yield
    finally:
        for owner, name, original in reversed(before):
            if original is MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, original)


def _patch_libraries(tape: Tape, replace: Callable[[Any, str, object], None]) -> None:
    """Patch the libraries that the code has imported."""
    stats = sys.modules.get("scipy.stats")
    if stats is not None:
        for name in ("laplace", "norm", "dlaplace", "expon", "gumbel_r", "uniform", "bernoulli"):
            replace(getattr(stats, name), "rvs", _frozen(tape, name, getattr(stats, name).rvs))
    measurements = sys.modules.get("opendp.mod")
    if measurements is not None:
        kind = measurements.Measurement
        replace(kind, "__call__", _mechanism(tape, "opendp.Measurement", kind.__call__))
    base = sys.modules.get("diffprivlib.mechanisms.base")
    for kind in [] if base is None else _subclasses(base.DPMechanism):
        if "randomise" in vars(kind):
            called = f"diffprivlib.{kind.__name__}"
            replace(kind, "randomise", _mechanism(tape, called, vars(kind)["randomise"]))


def _subclasses(kind: type) -> list[type]:
    direct: list[type] = type.__subclasses__(kind)
    return [each for child in direct for each in (child, *_subclasses(child))]


def _frozen(tape: Tape, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a distribution's `rvs` through the tape; loc and scale are given by name."""

    def rvs(*given: Any, loc: Any = 0, scale: Any = 1, **more: Any) -> Any:
        frame = caller()
        value = tape.inside(lambda: original(*given, loc=loc, scale=scale, **more))
        size = float(scale) if np.ndim(scale) == 0 else None
        number, value = tape.drawn(f"scipy.stats.{name}", size, value, frame, loc)
        tape.calls[number].raw = copy(scale)
        return value if np.any(loc) else noise(value, tape, {number: 1.0})

    return rvs


def _mechanism(tape: Tape, called: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a mechanism's call through the tape: its argument is what noise is added to."""

    def call(self: Any, given: Any) -> Any:
        if tape.depth:
            return original(self, given)
        frame = caller()
        value = tape.inside(lambda: original(self, given))
        return tape.drawn(called, None, value, frame, given)[1]

    return call
