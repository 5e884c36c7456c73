"""Watching a subject from inside: record a run, then replay its releases on a neighbouring dataset.

Given the same public coins and the same releases, a run on a neighbour must show everyone else the
same thing, and the private values that go into each release move by the sensitivity that was
declared.  Both are read off the running code, through the noise source that it is handed.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpaccount import likelihood
from dpaccount.laws import Law
from dpaccount.ledger.receipt import Noise
from dpaccount.noise import Integers, in_range
from mechanisms.subject import Rows, Subject, View

Part = tuple[str, Hashable]


class ReplayError(Exception):
    """The neighbour's run asked for a release that the recorded run did not make."""


@dataclass
class Recorder:
    """A noise source that passes requests on and keeps what went in and what came out."""

    inner: Noise
    exact: dict[Part, Integers] = field(default_factory=dict)
    released: dict[Part, Integers] = field(default_factory=dict)

    def noisy(self, key: str, part: Hashable, values: Integers) -> Integers:
        """Release through the inner source and remember it."""
        self.exact[key, part] = in_range(values)
        self.released[key, part] = self.inner.noisy(key, part, values)
        return self.released[key, part].copy()

    def noisy_symmetric(self, key: str, part: Hashable, matrix: Integers) -> Integers:
        """Release a symmetric matrix through the inner source and remember it."""
        self.exact[key, part] = in_range(matrix)
        self.released[key, part] = self.inner.noisy_symmetric(key, part, matrix)
        return self.released[key, part].copy()


@dataclass
class Replayer:
    """A noise source that answers with the releases of an earlier run, and keeps what went in."""

    released: dict[Part, Integers]
    exact: dict[Part, Integers] = field(default_factory=dict)

    def noisy(self, key: str, part: Hashable, values: Integers) -> Integers:
        """Return the recorded release; raises `ReplayError` where there is none of this shape."""
        exact = in_range(values)
        recorded = self.released.get((key, part))
        if recorded is None or recorded.shape != exact.shape:
            raise ReplayError(f"the neighbour's run releases {key!r}, part {part!r}, shape {exact.shape}")
        self.exact[key, part] = exact
        return recorded.copy()

    noisy_symmetric = noisy


@dataclass(frozen=True)
class Run:
    """One run: the private values, the releases, and what was shown."""

    exact: dict[Part, Integers]
    released: dict[Part, Integers]
    view: View


def record(subject: Subject, data: Rows, noise: Noise, coins: int) -> Run:
    """Run a subject and return what it did."""
    recorder = Recorder(noise)
    view = kept(subject.play(data, recorder, coins))
    return Run(recorder.exact, recorder.released, view)


def replay(subject: Subject, data: Rows, run: Run, coins: int) -> Run:
    """Run a subject on other data with the releases of `run`; raises `ReplayError` if it asks for others."""
    replayer = Replayer(run.released)
    view = kept(subject.play(data, replayer, coins))
    if replayer.exact.keys() != run.exact.keys():
        missing = next(iter(run.exact.keys() - replayer.exact.keys()))
        raise ReplayError(f"the neighbour's run never releases {missing[0]!r}, part {missing[1]!r}")
    return Run(replayer.exact, run.released, view)


def kept(view: View) -> View:
    """Return a copy of what was shown, which no later run overwrites; raises `ReplayError` for objects."""
    for name, shown in (*view.own.items(), *view.public.items()):
        if shown.dtype.kind == "O":
            raise ReplayError(f"{name} shows objects, which are not compared; show numbers or text")
    own, public = ({name: a.copy() for name, a in part.items()} for part in (view.own, view.public))
    return View(own, public)


def differing(run: Run, other: Run, unit: int) -> str | None:
    """Return what others than `unit` (1-based; 0: everyone looks) can tell two views apart by, or None.

    Arrays are compared bit for bit, with type and shape: a sign of zero is seen too.
    """
    if run.view.own.keys() != other.view.own.keys() or run.view.public.keys() != other.view.public.keys():
        return "the views have different parts"
    for name, shown in run.view.public.items():
        if not _identical(shown, other.view.public[name]):
            return f"the public {name} differs"
    for name, whole in run.view.own.items():
        against = other.view.own[name]
        removed = unit > 0 and len(whole) == len(against) + 1  # add-remove: no row on the right
        shown = np.delete(whole, unit - 1, axis=0) if removed else whole
        if (shown.shape, shown.dtype) != (against.shape, against.dtype):
            return f"{name} has another shape or type"
        changed = [i + 1 for i in range(len(shown)) if not _identical(shown[i], against[i])]
        if removed and changed:
            return f"{name} of another unit differs, although only unit {unit} was removed"
        strangers = [person for person in changed if person != unit]
        if strangers:
            return f"{name} of unit {strangers[0]} differs, although only unit {unit or 'one'} changed"
    return None


def _identical(a: NDArray[np.generic] | np.generic, b: NDArray[np.generic] | np.generic) -> bool:
    return (a.shape, a.dtype) == (b.shape, b.dtype) and a.tobytes() == b.tobytes()


def log_ratio(run: Run, other: Run, noise: dict[str, Law]) -> float:
    """Return ln P(releases | `run`'s values) − ln P(releases | `other`'s): known noise, nothing fitted.

    It is infinite where a release is impossible under one of them, and 0 where each forbids another.
    """
    found = [
        likelihood.log_ratio(noise[part[0]], run.released[part], run.exact[part], other.exact[part])
        for part in run.exact
    ]
    forbidden = {value for value in found if math.isinf(value)}
    return forbidden.pop() if len(forbidden) == 1 else 0.0 if forbidden else math.fsum(found)


def distance(run: Run, other: Run, noise: dict[str, Law]) -> float:
    """Return Σ ‖shift‖²/scale² over the releases: how far apart the two runs are in noise units."""
    total = 0.0
    for part, exact in run.exact.items():
        moved = (other.exact[part] - exact).astype(np.float64).ravel()
        total += float(moved @ moved) / (noise[part[0]].scale or 1.0) ** 2  # a table has no scale
    return total
