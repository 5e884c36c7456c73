"""Cells of public contexts, coarse or fine: cuts of one tree (Ward 1963) that joins the nearest first."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bandits.private_prediction.public_grid import PublicContexts
from bandits.statistics import kernels
from bandits.statistics.arrays import Floats, Integers

MAX_CELLS = 48  #: more follow no mean closer than its noise, and cost time
CELL_REACH = 0.35  #: of the kernel over cells, in medians of their distances


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
def cells_of(contexts: PublicContexts) -> ContextCells:
    """Return the cells of public contexts."""
    points, weights = contexts.middles, contexts.chances
    cuts = _cuts(points)
    of = cuts[:, -1]
    chances = np.bincount(of, weights)
    # A cell without weight may still be somebody's: it is there, with the middle of its points.
    heavy = np.where(chances[of] > 0, weights, 1.0)
    sums: Floats = np.array([np.bincount(of, heavy * axis) for axis in points.T], dtype=np.float64)
    middles = (sums / np.bincount(of, heavy)).T
    apart = np.linalg.norm(middles[:, None] - middles, axis=2)
    length = CELL_REACH * float(np.median(apart[apart > 0]))
    near = kernels.matrix("squared-exponential", middles, middles, length)
    first = np.unique(of, return_index=True)[1]
    return ContextCells(of, chances / chances.sum(), near, cuts[first])


def _cuts(points: Floats) -> Integers:
    """Return the group of each point, from 0, where all are 1, 2, … MAX_CELLS groups: a column each."""
    from scipy.cluster.hierarchy import linkage  # late: no other bandit needs them
    from scipy.spatial.distance import pdist

    count = len(points)
    group, found = np.arange(count), []
    for k, (one, other) in enumerate(linkage(pdist(points), "ward")[:, :2]):
        if count - k <= MAX_CELLS:
            found.append(np.unique(group, return_inverse=True)[1])
        group[(group == one) | (group == other)] = count + k
    return np.column_stack([np.zeros(count, dtype=np.int64), *found[::-1]])
