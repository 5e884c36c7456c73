"""The tape of one run: its noise calls, and the values that noise was added to.

A first run is recorded.  In a replay on the neighbouring dataset every noise call returns its first value,
and every sum with noise is that of the first run: what still changes is not protected by noise.
"""

import math
import sys
import sysconfig
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

LIBRARIES = tuple(
    str(Path(sysconfig.get_paths()[key])) for key in ("stdlib", "platstdlib", "purelib", "platlib")
)
OWN = str(Path(__file__).parent)
#: noise above 0 only: a difference of two such values is Laplace noise, one alone hides nothing
ONE_SIDED = ("geometric", "exponential", "standard_exponential", "expovariate")
#: families of noise: what moves is measured in ℓ1 for Laplace and in ℓ2 for Gaussian noise.
#: The log density of logistic noise has slopes up to 1/scale, as that of Laplace noise has.
LAPLACE = ("laplace", "dlaplace", "logistic", *ONE_SIDED)
GAUSSIAN = ("normal", "standard_normal", "gauss", "normalvariate", "norm")
ROUNDING = 1e-9  #: relative difference that rounding may explain
SHARED = "one noise value of {} is added to several values"


class SourcePlace(NamedTuple):
    """Where noise is drawn in the code."""

    call: str
    file: str
    line: int

    @property
    def name(self) -> str:
        """Return the name of the function that draws."""
        return self.call.rpartition(".")[2]

    def __str__(self) -> str:
        """Return the place in words."""
        return f"{self.call} at {self.file}:{self.line}"


@dataclass(frozen=True)
class Sum:
    """One addition of noise: the factor of each call, by number; the value it was added to; the sum."""

    parts: dict[int, float]
    given: Any
    total: Any


@dataclass
class NoiseCall:
    """One call: its place, its scale if known, its value, and its inputs with their sums.

    `scale` is that of the noise as added; `unit` and `raw` are the scale that the call was made with.
    """

    place: SourcePlace
    shape: tuple[int, ...]
    scale: float | None
    value: Any
    location: Any = 0.0
    draws: bool = False  #: no additive noise, but a sample, a coin or a uniform number
    unit: float | None = None
    raw: Any = None
    inputs: list[tuple[Any, Any]] = field(default_factory=list)
    moved: float | None = None
    largest: float = 0.0  #: largest movement of one entry

    @property
    def seen(self) -> list[Any]:
        """Return the recorded values that the noise was added to."""
        return [*([self.location] if np.any(self.location) else []), *(given for given, _ in self.inputs)]

    @property
    def one_sided(self) -> bool:
        """Return whether the noise has one sign."""
        return self.place.name in ONE_SIDED

    @property
    def family(self) -> str:
        """Return laplace, gaussian or other."""
        name = self.place.name
        return "laplace" if name in LAPLACE else "gaussian" if name in GAUSSIAN else "other"


@dataclass
class Tape:
    """Noise calls in order; with `before`, a replay of that tape."""

    before: "Tape | None" = None
    calls: list[NoiseCall] = field(default_factory=list)
    findings: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    sums: list[Sum] = field(default_factory=list)
    shown: set[int] = field(default_factory=set)  #: calls whose noise itself is in the result
    depth: int = 0
    shift: dict[int, Any] = field(default_factory=dict)  #: what a replay adds to the noise of calls

    def drawn(
        self, call: str, scale: float | None, value: Any, frame: FrameType | None, location: Any = 0.0
    ) -> tuple[int, Any]:
        """Record a call that gave `value`; return its number and the value to use (in a replay the first)."""
        place = SourcePlace(call, *_where(frame))
        number = len(self.calls)
        if np.any(location) and np.shape(location) != np.shape(value):
            location = np.broadcast_to(location, np.shape(value))
        kept = copy(value), copy(location)  # the function may change its own in place
        noise_call = NoiseCall(place, np.shape(value), scale, *kept, unit=scale)
        first = self._first(number)
        if self.before is not None:
            if first is None or first.place != place:
                what = "the number or the order of noise calls depends on the data"
                self.findings.setdefault(f"{what}, from {place} on")
            else:
                noise_call.value = self._replayed(first, noise_call)
                value = copy(noise_call.value)
                value = value + self.shift[number] if number in self.shift else value
                self._moved(noise_call, first.location, location)
        self.calls.append(noise_call)
        return number, value

    def inside(self, call: Callable[[], Any]) -> Any:
        """Return the value of a noise call; the calls that it makes itself are not recorded."""
        self.depth += 1
        try:
            return call()
        finally:
            self.depth -= 1

    def _first(self, number: int) -> NoiseCall | None:
        calls = [] if self.before is None else self.before.calls
        return calls[number] if number < len(calls) else None

    def _replayed(self, first: NoiseCall, noise_call: NoiseCall) -> Any:
        """Return the first run's values, followed by new ones if the replay draws more."""
        if first.shape == noise_call.shape:
            return first.value
        # Common rows come first, so the first values are theirs; a row that is new gets a new one.
        if len(first.shape) == 1 and len(noise_call.shape) == 1:
            if noise_call.place.name.endswith(("permutation", "shuffle")):
                order, rows = np.asarray(first.value), noise_call.shape[0]
                return np.concatenate([order[:rows], np.arange(len(order), rows)])
            same = min(first.shape[0], noise_call.shape[0])
            return np.concatenate([np.asarray(first.value)[:same], np.asarray(noise_call.value)[same:]])
        return noise_call.value

    def dominant_call(self, parts: dict[int, float]) -> tuple[int, float | None]:
        """Return the call with the largest scale in a combination of noise, and that scale, if known.

        The noise of the other calls is post-processing.  Gaussian scales add up as root of squares.
        """
        most = max(math.prod(self.calls[number].shape) for number in parts)
        full = [number for number in sorted(parts) if math.prod(self.calls[number].shape) == most]
        units = {each: unit for each in full if (unit := self.calls[each].unit) is not None}
        scales = {each: abs(parts[each]) * unit for each, unit in units.items()}
        largest = max(scales, key=lambda number: scales[number], default=full[0])
        families = {self.calls[number].family for number, scale in scales.items() if scale}
        if len(families) > 1 or not scales:
            return largest, None
        return largest, math.hypot(*scales.values()) if families == {"gaussian"} else scales[largest]

    def added(self, parts: dict[int, float], given: Any, total: Any) -> Any:
        """Record that noise was added to `given`; return the sum, in a replay that of the first run."""
        number, scale = self.dominant_call(parts)
        noise_call = self.calls[number]
        if np.shape(given) != np.shape(total):
            given = np.broadcast_to(given, np.shape(total))
        given, total = (copy(each) if np.ndim(each) else each for each in (given, total))
        known = noise_call.scale if noise_call.inputs else scale
        noise_call.scale = None if known is None or scale is None else min(known, scale)
        noise_call.inputs.append((given, total))
        self.sums.append(Sum(parts, given, total))
        first = self._first(number)
        if first is None or first.place != noise_call.place or len(first.inputs) < len(noise_call.inputs):
            return total
        before, total_before = first.inputs[len(noise_call.inputs) - 1]
        if not self._moved(noise_call, before, given):
            return total
        self._compare(noise_call, parts[number], before, given)
        # The run goes on with the first sum: what still changes was not protected by this noise.
        self.sums[-1] = Sum(parts, given, total_before)
        return total_before

    def _compare(self, noise_call: NoiseCall, factor: float, before: Any, given: Any) -> None:
        """Report noise that is broadcast to several entries, and integer noise added to non-integers."""
        one, other = np.asarray(before, dtype=np.float64), np.asarray(given, dtype=np.float64)
        if math.prod(noise_call.shape) < one.size:
            shape = (1,) * (one.ndim - len(noise_call.shape)) + noise_call.shape
            axes = tuple(axis for axis in range(one.ndim) if shape[axis] < one.shape[axis])
            with np.errstate(invalid="ignore"):
                apart = (other - one).max(axis=axes) - (other - one).min(axis=axes)
            differs = (apart > ROUNDING * np.abs([one, other]).max(initial=1.0)).any()
            (self.findings if differs else self.notes).setdefault(SHARED.format(noise_call.place))
        if noise_call.place.name.endswith(("geometric", "dlaplace")) and factor:
            steps = np.concatenate([one.ravel(), other.ravel()]) / factor
            if not np.allclose(steps, np.round(steps), ROUNDING, ROUNDING):
                self.notes.setdefault(f"the whole noise of {noise_call.place} is added to what is not whole")

    def _moved(self, noise_call: NoiseCall, before: Any, given: Any) -> bool:
        """Record the movement of an input; return False if its shape changed."""
        moved = distance(before, given, noise_call.family)
        if moved is None:
            self.findings.setdefault(f"the shape of what {noise_call.place} is added to depends on the data")
            return False
        if moved > 0 or np.any(given) or noise_call.inputs:
            noise_call.moved = max(noise_call.moved or 0.0, moved)
            noise_call.largest = max(noise_call.largest, distance(before, given, "largest entry") or 0.0)
        return True


def distance(one: Any, other: Any, family: str) -> float | None:
    """Return the distance of two inputs: ℓ2 for "gaussian", ℓ∞ for "largest entry", else ℓ1.

    None if shapes differ.
    """
    try:
        left, right = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if left.shape != right.shape:
        return None
    with np.errstate(invalid="ignore"):
        apart = np.where(left == right, 0.0, np.abs(left - right)).ravel()
    apart = np.nan_to_num(apart, nan=np.inf, posinf=np.inf)
    if family == "largest entry":
        return float(apart.max(initial=0.0))
    return float(np.sqrt((apart * apart).sum()) if family == "gaussian" else apart.sum())


def _where(frame: FrameType | None) -> tuple[str, int]:
    """Return the file and line of the nearest caller outside libraries and this package."""
    nearest = frame
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((*LIBRARIES, OWN, "<frozen")):
            return _shown(name), frame.f_lineno
        frame = frame.f_back
    return ("?", 0) if nearest is None else (_shown(nearest.f_code.co_filename), nearest.f_lineno)


def _shown(name: str) -> str:
    path = Path(name)
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name


def caller() -> FrameType | None:
    """Return the frame that called a patched function."""
    return sys._getframe(2)
