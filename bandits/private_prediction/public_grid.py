"""Public grids: actions of [0, 1] and cells of contexts in [0, 1], and features of a kernel on both.

With a `space`, actions are its points and cells those of its contexts.

Everything is an enumeration of actions × cells: a place is cell · actions + action.  Contexts of records
and of people who ask are rounded to their cell, so that every maximum over places is a maximum over all
that can occur.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import isnan
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bandits.space.points import MAX_POINTS, Space
from bandits.statistics import kernels
from bandits.statistics.arrays import Floats
from bandits.statistics.axes import settled_eigh
from dpaccount.errors import InputError, out_of_range
from dpaccount.proof import REPLACE_ONE
from mechanisms.subject import Domain

Places = NDArray[np.int64]
MAX_PLACES = 4096  #: places of one grid
MIN_EIGENVALUE_SHARE = 1e-3  #: features whose eigenvalue is below this share of the first are left out


class OfContexts:
    """Public contexts: equal cells of [0, 1], or those of a `space`, to which people's own are rounded."""

    contexts: int
    space: Space | None

    @property
    def law(self) -> Space | None:
        """Return the contexts that are declared, with their law; without any they are uniform on [0, 1]."""
        return None if self.space is None else self.space.contexts

    @property
    def numbers(self) -> int:
        """Return how many numbers a context has."""
        return 1 if self.law is None else self.law.dimension

    def cell_of(self, contexts: Floats) -> Places:
        """Return the cell of every context; beyond [0, 1] it is the nearest, and NaN is in the first."""
        if self.law is not None:
            return np.array([self._nearest(row) for row in np.atleast_2d(contexts)], dtype=np.int64)
        known = np.nan_to_num(np.asarray(contexts, dtype=np.float64), nan=0.0)
        cells: Places = np.floor(np.clip(known, 0.0, 1.0) * self.contexts).astype(np.int64)
        return np.minimum(cells, self.contexts - 1)

    def _nearest(self, context: Floats) -> int:
        """Return the declared context nearest to this one; of equally near ones the first."""
        away = np.clip(np.nan_to_num(context, nan=0.0), 0.0, 1.0) - self.law.points  # type: ignore[union-attr]
        return int(np.argmin((away**2).sum(axis=1)))

    def cell(self, context: Floats) -> int:
        """Return the cell of one context, [numbers], as `cell_of` does."""
        if self.law is not None:
            return self._nearest(context)
        within = 0.0 if isnan(context[0]) else min(max(float(context[0]), 0.0), 1.0)
        return min(int(within * self.contexts), self.contexts - 1)

    @property
    def middles(self) -> Floats:
        """Return the declared contexts, or the middles of the cells, [contexts, numbers], in [0, 1]."""
        if self.law is not None:
            return self.law.points
        return ((np.arange(self.contexts) + 0.5) / self.contexts)[:, None]

    @property
    def chances(self) -> Floats:
        """Return the chance of every context."""
        known = () if self.law is None else self.law.weights
        return np.array(known or np.full(self.contexts, 1 / self.contexts))

    def rows(self, count: int, low: tuple[float, ...], high: tuple[float, ...]) -> Domain:
        """Return rows of a context, well beyond what is clipped, and numbers from `low` to `high`."""
        low, high = (-0.5,) * self.numbers + low, (1.5,) * self.numbers + high
        return Domain(count, low, high, (False,) * len(low))


def count_offers(subject: object, space: Space | None) -> None:
    """Set a subject's `actions` and `contexts` to its space's; raises `InputError` if it says others."""
    if space is not None:
        space.counts(subject, "actions", len(space))
        if space.contexts is not None:
            space.counts(subject, "contexts", len(space.contexts))


@dataclass(frozen=True)
class PublicContexts(OfContexts):
    """`contexts` equal cells of [0, 1], or those of the `space`."""

    contexts: int
    space: Space | None = None

    def __post_init__(self) -> None:
        """Refuse fewer than two contexts, and those without coordinates; raises `InputError`."""
        if self.law is not None and self.law.alike:
            raise InputError("a kernel matrix has no coordinates", "give contexts a file or a box")
        if not 2 <= self.contexts <= MAX_POINTS:
            right = f"give 2 to {MAX_POINTS}, or take arm-phases, which has none"
            raise InputError(f"contexts is {self.contexts}", right)


@dataclass(frozen=True)
class PublicGrid(OfContexts):
    """`actions` points and `contexts` cells, both of equal width, and the kernel of their pairs."""

    actions: int
    contexts: int
    kernel: str
    lengthscale: Fraction
    space: Space | None = None  #: whose points are the actions, and whose contexts the cells

    def __post_init__(self) -> None:
        """Refuse grids without points, with too many, and unknown kernels; raises `InputError`."""
        if self.space is not None and (self.space.alike or (self.law is not None and self.law.alike)):
            raise InputError(
                "a kernel matrix has no coordinates", "give actions and contexts a file or a box"
            )
        count_offers(self, self.space)
        if self.actions < 1:
            raise InputError("the action grid is empty", "needed actions >= 1")
        if self.contexts < 1 or self.actions * self.contexts > MAX_PLACES:
            raise out_of_range(f"contexts >= 1 and at most {MAX_PLACES} pairs of an action and a cell")
        kernels.known(self.kernel, self.lengthscale)

    @property
    def places(self) -> int:
        """Return the number of pairs of an action and a cell."""
        return self.actions * self.contexts

    def weights(self) -> Floats | None:
        """Return the chance of every place, actions being uniform; None if all are alike."""
        if self.law is None or not self.law.weights:
            return None
        return np.repeat(self.law.weights, self.actions) / self.actions

    def points(self) -> Floats:
        """Return (action, middle of the cell) of every place, of shape [places, 2], or those of a space."""
        cells, actions = np.divmod(np.arange(self.places), self.actions)
        middles = self.point_of(actions)[:, None] if self.space is None else self.space.points[actions]
        return np.concatenate([middles, self.middles[cells]], axis=1)

    def exact_points(self) -> list[tuple[Fraction, ...]]:
        """Return `points` as rational numbers, for balls: doubles round the middles of cells."""
        if self.space is not None:
            return [tuple(map(Fraction, point)) for point in self.points().tolist()]
        middles = [Fraction(2 * a + 1, 2 * self.actions) for a in range(self.actions)]
        return [(a, Fraction(2 * c + 1, 2 * self.contexts)) for c in range(self.contexts) for a in middles]

    def point_of(self, actions: Places) -> Floats:
        """Return the middles that actions stand for."""
        return (actions + 0.5) / self.actions

    def contexts_in(self, data: Floats) -> Floats:
        """Return the contexts of people's rows."""
        return data[:, 0] if self.law is None else data[:, : self.law.dimension]

    def place_of(self, contexts: Floats, actions: Places) -> Places:
        """Return the place of contexts with actions."""
        return self.cell_of(contexts) * self.actions + actions

    def people(self, count: int, bound: Fraction) -> Domain:
        """Return rows of a context and a reward for each action, both well beyond what is clipped."""
        reach = (4 * float(bound),) * self.actions
        return self.rows(count, tuple(-most for most in reach), reach)

    def gram(self) -> Floats:
        """Return the kernel matrix of all places."""
        return _gram(self)

    def features(self, least: float) -> "Eigenfeatures":
        """Return eigenfeatures of the kernel on the places, eigenvalues above `least` of the first."""
        return _features(self, least)


@dataclass(frozen=True)
class OnPublicGrid:
    """What learns from `rounds` people with a context, each shown one of a grid's `actions`.

    A row is a person's context, then what each of the actions would pay them; rewards are clipped at
    ±`bound`.  With a `space` its points are the actions, and its contexts, with their law, the cells.
    """

    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE

    rounds: int = 1024
    actions: int = 32
    contexts: int = 32
    kernel: str = "squared-exponential"
    lengthscale: Fraction = Fraction(1, 5)
    bound: Fraction = Fraction(1)
    space: Space | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        count_offers(self, self.space)
        kernels.moderate("the bound of rewards", self.bound)
        _ = self.grid

    @property
    def grid(self) -> PublicGrid:
        """Return the public actions and cells."""
        return PublicGrid(self.actions, self.contexts, self.kernel, self.lengthscale, self.space)


@dataclass(frozen=True)
class Eigenfeatures:
    """φ of every place, [places, size], orthogonal under the uniform law of the places.

    `eigenvalues` are those of Λ = E φφᵀ for actions and contexts that are uniform on the grid: the public
    quadrature, which no observed context enters.
    """

    phi: Floats
    eigenvalues: Floats

    @property
    def size(self) -> int:
        """Return the number of features."""
        return len(self.eigenvalues)


@lru_cache(maxsize=8)
def _gram(grid: PublicGrid) -> Floats:
    points = grid.points()
    matrix = kernels.matrix(grid.kernel, points, points, float(grid.lengthscale))
    matrix.setflags(write=False)
    return matrix


@lru_cache(maxsize=16)
def _features(grid: PublicGrid, least: float) -> Eigenfeatures:
    values, vectors = _eigen(grid)
    kept = np.flatnonzero(values > least * values[0])
    phi = vectors[:, kept] * np.sqrt(values[kept])
    phi.setflags(write=False)
    return Eigenfeatures(phi, (phi**2).mean(axis=0))


@lru_cache(maxsize=8)
def _eigen(grid: PublicGrid) -> tuple[Floats, Floats]:
    return settled_eigh(_gram(grid))
