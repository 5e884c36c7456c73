"""Synthetic contextual worlds on [0, 1]²: functions from an RKHS, and from its Gaussian process.

Scaled to max |f| = 1.  Rewards are f(x, c) plus normal noise; contexts are uniform on a fine grid.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import Final

import numpy as np

from bandits.private_prediction.public_grid import PublicGrid
from bandits.statistics import kernels
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.axes import settled_eigh
from bandits.statistics.calibration import one_of
from mechanisms.subject import Rows

CENTRES: Final = 100  #: kernels in a drawn sum
CONTEXTS: Final = 256  #: contexts that occur, all equally often
MIDDLES: Final = (np.arange(CONTEXTS) + 0.5) / CONTEXTS  #: where they are
VARIANCE: Final = 0.1  #: of rewards about f
DRAW_KINDS: Final = ("rkhs", "process")


@dataclass(frozen=True)
class KernelWorld:
    """f at `CONTEXTS` equally spaced contexts and all actions of a grid: `table` [CONTEXTS, actions]."""

    table: Floats

    def records(self, rounds: int, seed: int) -> Rows:
        """Return a row a person: a uniform context, then what each action would pay, with one noise each."""
        rng = np.random.default_rng([seed, 7])
        places = rng.integers(0, CONTEXTS, rounds)
        noise = rng.normal(0, sqrt(VARIANCE), rounds)
        return np.concatenate([MIDDLES[places, None], self.table[places] + noise[:, None]], axis=1)

    def losses(self) -> Floats:
        """Return max_x f(x, c) − f(x, c) over the grid's actions, [CONTEXTS, actions]."""
        return self.table.max(axis=1, keepdims=True) - self.table

    def errors(self, chosen: Integers) -> Floats:
        """Return max_x f(x, c) − f(x̂, c) of an action for every context (Pavlovic et al. 2025, Eq. (1))."""
        return self.losses()[np.arange(CONTEXTS), chosen]


@lru_cache(maxsize=128)
def drawn(grid: PublicGrid, kind: str, seed: int) -> KernelWorld:
    """Return the function of a seed: "rkhs", a sum of kernels at random centres, or "process", a draw."""
    one_of("kind", kind, DRAW_KINDS)
    rng = np.random.default_rng([seed, DRAW_KINDS.index(kind)])
    if kind == "rkhs":
        centres, weights = rng.random((CENTRES, 2)), rng.normal(size=CENTRES)
    else:
        root = _inverse_root(grid)
        centres, weights = grid.points(), root @ rng.normal(size=root.shape[1])
    actions, length = grid.point_of(np.arange(grid.actions)), float(grid.lengthscale)
    across = (MIDDLES[:, None] - centres[:, 1]) ** 2
    columns = [
        kernels.at_distance(grid.kernel, np.sqrt(across + (action - centres[:, 0]) ** 2), length) @ weights
        for action in actions
    ]
    table = np.stack(columns, axis=1)
    return KernelWorld(table / np.abs(table).max())


@lru_cache(maxsize=8)
def _inverse_root(grid: PublicGrid) -> Floats:
    """Return R with k(·, grid)R ξ a draw of the process, up to eigenvalues below 1e-8 of the first."""
    values, vectors = settled_eigh(grid.gram())
    kept = values > 1e-8 * values[0]
    return vectors[:, kept] / np.sqrt(values[kept])
