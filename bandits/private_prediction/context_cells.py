"""Cells of public contexts, coarse or fine: cuts of one tree (Ward 1963) that joins the nearest first."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bandits.private_prediction.public_grid import OfContexts
from bandits.space.points import Space
from bandits.statistics import kernels
from bandits.statistics.arrays import Floats, Integers
from dpaccount.errors import InputError

MAX_CELLS = 48  #: more follow no mean closer than its noise, and cost time


@dataclass(frozen=True)
class PublicContexts(OfContexts):
    """`contexts` equal cells of [0, 1], or those of the `space`."""

    contexts: int
    space: Space | None = None

    def __post_init__(self) -> None:
        """Refuse fewer than two contexts, and those without coordinates; raises `InputError`."""
        if self.law is not None and self.law.alike:
            raise InputError("a kernel matrix has no coordinates", "give contexts a file or a box")
        if self.contexts < 2:
            raise InputError(f"contexts is {self.contexts}", "give 2 at least, or take arm-phases")

    @property
    def points(self) -> Floats:
        """Return the contexts' coordinates in [0, 1], [contexts, numbers]."""
        if self.law is not None:
            return self.law.points
        return ((np.arange(self.contexts) + 0.5) / self.contexts)[:, None]

    @property
    def weights(self) -> Floats:
        """Return the chance of every context."""
        known = () if self.law is None else self.law.weights
        return np.array(known or np.full(self.contexts, 1 / self.contexts))


@dataclass(frozen=True, eq=False)
class ContextCells:
    """The finest cells that are told apart.

    `of` [contexts] is the cell of every context, `chances` [cells] those of the public contexts in each, and
    `near` [cells, cells] a kernel of their middles.  `cuts` [cells, cells] has in column k the group of each
    cell where all are k + 1 groups.
    """

    of: Integers
    chances: Floats
    near: Floats
    cuts: Integers

    def __len__(self) -> int:
        return len(self.chances)

    def groups(self, count: int) -> Integers:
        """Return the group of each cell, from 0, in `count` groups, or in all cells where these are fewer."""
        return self.cuts[:, min(count, len(self)) - 1]


@lru_cache(maxsize=8)  # public, and the same in every run of a subject
def cells_of(contexts: PublicContexts, reach: float) -> ContextCells:
    """Return the cells of public contexts; a kernel reaches `reach` times the median of their distances."""
    points, weights = contexts.points, contexts.weights
    cuts = _cuts(points)
    of = cuts[:, -1]
    chances = np.bincount(of, weights)
    # A cell without weight may still be somebody's: it is there, with the middle of its points.
    heavy = np.where(chances[of] > 0, weights, 1.0)
    middles = np.column_stack([np.bincount(of, heavy * axis) for axis in points.T])
    middles /= np.bincount(of, heavy)[:, None]
    apart = np.linalg.norm(middles[:, None] - middles, axis=2)
    length = reach * float(np.median(apart[apart > 0]))
    near = kernels.matrix("squared-exponential", middles, middles, length)
    first = np.unique(of, return_index=True)[1]
    return ContextCells(of, chances / chances.sum(), near, cuts[first])


def _cuts(points: Floats) -> Integers:
    """Return the group of each point, from 0, where all are 1, 2, … MAX_CELLS groups: a column each."""
    from scipy.cluster.hierarchy import linkage  # late: no other bandit needs it

    count = len(points)
    group, found = np.arange(count), []
    for k, (one, other) in enumerate(linkage(points, "ward")[:, :2]):
        if count - k <= MAX_CELLS:
            found.append(np.unique(group, return_inverse=True)[1])
        group[(group == one) | (group == other)] = count + k
    return np.column_stack([np.zeros(count, dtype=np.int64), *found[::-1]])
