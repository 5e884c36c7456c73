"""Public points in their own units, and the kernel over them.

A learner sees coordinates in [0, 1]: numbers from `low` to `high` of their axis, a category as a place for
each of its values, of which two are a distance of 1 apart.  What lies outside is clipped, and counted.  Of
a kernel matrix the coordinates are features whose inner products are the kernel.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from math import isnan, nan, sqrt
from typing import Any, Final

import numpy as np

from bandits.statistics import kernels
from bandits.statistics.arrays import Floats
from bandits.statistics.axes import eigenfeatures
from dpaccount.errors import InputError, out_of_range

MAX_POINTS: Final = 2000  #: points, whose kernel matrix is held in memory
#: by which rounding may break symmetry, the diagonal's limit or an eigenvalue's sign
MATRIX_ROUNDING: Final = 1e-9


@dataclass(frozen=True)
class Axis:
    """A coordinate: numbers of `unit` from `low` to `high`, or a category with these `values`."""

    name: str
    low: float = 0.0
    high: float = 1.0
    unit: str = ""
    values: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Return how many coordinates of [0, 1] it takes."""
        return len(self.values) or 1

    def scaled(self, cell: Any) -> tuple[list[float], bool]:
        """Return a cell's coordinates in [0, 1], and whether it was clipped; of None, or NaN, all are NaN.

        Raises `InputError` for another category, or for what is no number.
        """
        if cell is None or (isinstance(cell, float) and isnan(cell)):
            return [nan] * self.size, False
        if self.values:
            if cell not in self.values:
                known = ", ".join(self.values)
                raise InputError(f"{self.name} is {str(cell)[:40]!r}", f"known: {known[:200]}")
            # With √½, two different values are at a distance of 1, as the ends of a number's axis are.
            return [sqrt(0.5) * (value == cell) for value in self.values], False
        try:
            number = float(cell)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{self.name} is {str(cell)[:40]!r}", "a number belongs there") from None
        if isnan(number):  # of a text, say
            return [nan], False
        span = self.high - self.low
        place = min(max((number - self.low) / span, 0.0), 1.0) if span else 0.0
        return [place], not self.low <= number <= self.high


@dataclass(frozen=True)
class Space:
    """Public points; read one by `bandits.space.reading`, or make one by `grid` or `of_matrix`.

    `coordinates` are doubles, a row for each name.  `alike`: they are features of a kernel matrix.  `most`
    is how many candidates a person may have who brings their own, `weights` the law of points that are
    contexts, `clipped` how many of the file's numbers were outside of the box, `source` whence it is.
    """

    names: tuple[str, ...]
    coordinates: bytes
    axes: tuple[Axis, ...] = ()
    alike: bool = False
    most: int = 0
    weights: tuple[float, ...] = ()
    contexts: "Space | None" = None
    clipped: int = 0
    source: str = ""
    reach: float = 0.0  #: if above 0, coordinates are turned from [0, 1] to plus or minus this

    def __len__(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        """Return what tells it from every other: its source, and the digest of all that it holds."""
        content = hashlib.sha256(repr([getattr(self, item.name) for item in fields(self)]).encode())
        return f"{len(self)} points of {self.source}, {content.hexdigest()}"

    @cached_property
    def points(self) -> Floats:
        """Return the points' coordinates, [n, d]."""
        return self._turned(np.frombuffer(self.coordinates).reshape(len(self.names), -1))

    def _turned(self, points: Floats) -> Floats:
        return (2 * points - 1) * self.reach if self.reach else points

    def in_ball(self, radius: float) -> "Space":
        """Return the same points in the largest cube in a ball about 0."""
        return replace(self, reach=radius / sqrt(self.dimension))

    @property
    def dimension(self) -> int:
        """Return d."""
        return self.points.shape[1]

    def kernel_name(self, kernel: str) -> str:
        """Return the kernel over `points`: this one, or inner products where a matrix is given."""
        return kernels.INNER if self.alike else kernel

    def kernel(self, kernel: str, lengthscale: float) -> Floats:
        """Return the kernel matrix, [n, n]."""
        return kernels.matrix(self.kernel_name(kernel), self.points, self.points, lengthscale)

    def place(self, named: Any) -> int:
        """Return the place of a point by its name or place, from 0; raises `InputError` for another."""
        if isinstance(named, str) and named in self.names:
            return self.names.index(named)
        if type(named) is int and 0 <= named < len(self):
            return named
        raise InputError(f"no point is called {str(named)[:40]!r}", f"known: {', '.join(self.names)[:200]}")

    def scaled(self, cells: Any) -> tuple[list[float], int]:
        """Return a point's coordinates in [0, 1], and how many numbers were clipped.

        It is a name, a number for each axis (a category's value as text), or None: not on offer.
        """
        if cells is None:
            return [float("nan")] * self.dimension, 0
        if isinstance(cells, str):
            return self.points[self.place(cells)].tolist(), 0
        if not isinstance(cells, Sequence) or len(cells) != len(self.axes):
            names = ", ".join(axis.name for axis in self.axes)
            raise InputError(f"a candidate is {str(cells)[:40]}", f"give its name, or {names[:200]}")
        scaled, clipped = of_cells(self.axes, cells)
        return self._turned(np.array(scaled)).tolist(), clipped

    def candidates(self, brought: Any, most: int) -> tuple[list[list[float]], int]:
        """Return `most` candidates as rows, and how many numbers were clipped; without any, all points.

        What a person does not bring is not on offer.
        """
        brought = self.names if brought is None else brought
        if (
            most == 1
            and isinstance(brought, Sequence)
            and not any(isinstance(each, list) for each in brought)
        ):
            brought = [brought]  # a context
        if not isinstance(brought, Sequence) or isinstance(brought, str) or len(brought) > most:
            raise InputError(f"a person has a list of at most {most} candidates", "declare more as most")
        rows = [self.scaled(each) for each in (*brought, *(None,) * (most - len(brought)))]
        return [row for row, _ in rows], sum(wrong for _, wrong in rows)

    def on_offer(self, named: Any) -> Floats:
        """Return the places, in order, of the points that a person may be shown, by name or place."""
        if not isinstance(named, Sequence) or isinstance(named, str) or not len(named):
            raise InputError("no candidate is on offer", "list the names of those that are")
        return np.array(sorted({self.place(each) for each in named}), dtype=np.float64)

    def counts(self, subject: Any, name: str, count: int) -> None:
        """Set a subject's number to that of the space; raises `InputError` where another one is said."""
        stated, default = getattr(subject, name), type(subject).__dataclass_fields__[name].default
        if stated not in (count, default):
            right = f"give {count}" if default is MISSING else f"leave {name} out"
            raise InputError(f"{name} is {stated}, and the space has {count}", right)
        object.__setattr__(subject, name, count)


def of_cells(axes: Sequence[Axis], cells: Sequence[Any]) -> tuple[list[float], int]:
    """Return the coordinates in [0, 1] of a cell for each axis, and how many were clipped."""
    scaled = [axis.scaled(cell) for axis, cell in zip(axes, cells, strict=True)]
    return [each for part, _ in scaled for each in part], sum(wrong for _, wrong in scaled)


def grid(count: int) -> Space:
    """Return `count` equally spaced points of [0, 1]; raises `InputError` for too few or too many."""
    if not 2 <= count <= MAX_POINTS:
        raise out_of_range(f"2 to {MAX_POINTS} points")
    at = np.linspace(0, 1, count)
    names = tuple(f"{each:.6g}" for each in at)
    return Space(names, at.tobytes(), (Axis("x"),), source=f"[0, 1], {count} points")


def of_matrix(kernel: Floats, names: tuple[str, ...] = (), source: str = "a kernel matrix") -> Space:
    """Return the points of a kernel matrix; raises `InputError` for what is none, or has k(x, x) > 1."""
    kernel = np.array(kernel, dtype=np.float64)
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1] or not 2 <= len(kernel) <= MAX_POINTS:
        raise InputError(
            f"a kernel matrix is square, for 2 to {MAX_POINTS} points", f"found the shape {kernel.shape}"
        )
    if not np.isfinite(kernel).all() or np.abs(kernel - kernel.T).max() > MATRIX_ROUNDING:
        raise InputError("a kernel matrix is symmetric and has finite numbers only")
    if np.diag(kernel).max() > 1 + MATRIX_ROUNDING:
        raise InputError(
            f"k(x, x) is {np.diag(kernel).max():.6g}", "divide the kernel so that it is at most 1"
        )
    least = float(np.linalg.eigvalsh(kernel)[0])
    if least < -MATRIX_ROUNDING * len(kernel):
        raise InputError(
            f"the kernel matrix has the eigenvalue {least:.3g}", "it must be positive semidefinite"
        )
    if not kernel.any():
        raise InputError("the kernel matrix is all zeros", "give one with a point that can be learned about")
    at = np.ascontiguousarray(eigenfeatures((kernel + kernel.T) / 2, 0.0))
    return Space(names or tuple(map(str, range(len(kernel)))), at.tobytes(), alike=True, source=source)
