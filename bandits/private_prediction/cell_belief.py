"""What noisy sums by cell and action say of mean rewards: a normal posterior for every action.

An action's means over the cells are a level, the same for all actions, plus a draw of a Gaussian process.
A phase releases R_ga = Σ(y − ½) over the people of group g who are shown action a, plus noise; the expected
number of people in a cell is public, n·P(cell)·P(a | cell).  So R_a = H_a(m_a − ½) + an error, of variance
¼ a person, as (y − ½)² ≤ ¼ whatever their number, and of the noise.
"""

from typing import Final

import numpy as np

from bandits.private_prediction.context_cells import ContextCells
from bandits.statistics.arrays import Floats, Integers

CELL_SPREAD: Final = 0.25  #: deviation of an action's means over the cells, about the level
LEVEL_SPREAD: Final = 0.25  #: of the level about ½
REWARD_VARIANCE: Final = 0.25  #: of y − ½, and of who comes, at most
POLICY_DRAWS: Final = 64  #: of the posterior, by which chances of actions are counted


class CellBelief:
    """The posterior of all means, [actions, cells], given releases."""

    def __init__(self, cells: ContextCells, actions: int) -> None:
        self._chances = cells.chances
        count = len(cells)
        # a little of each cell's own, by which the factor exists
        self._root = CELL_SPREAD * np.linalg.cholesky(cells.near + 1e-9 * np.eye(count))
        self._information = np.zeros((actions, count, count))
        self._moment, self._people = np.zeros((actions, count)), np.zeros((actions, count))
        self._settle()

    def learn(self, people: int, shown: Floats, groups: Integers, released: Floats, noise: float) -> None:
        """Take in the sums `released` [groups, actions] of `people` whose actions had the chances `shown`.

        `shown` is [cells, actions], `groups` [cells], and `noise` the variance of each number's noise.
        """
        expected = people * self._chances[:, None] * shown
        member = np.equal.outer(np.arange(len(released)), groups)
        shape = member[:, :, None] * expected  # H: [groups, cells, actions]
        count = shape.sum(axis=1)
        weighed = shape / (count * REWARD_VARIANCE + noise)[:, None]
        self._information += np.einsum("gca,gda->acd", weighed, shape)
        self._moment += np.einsum("gca,ga->ac", weighed, released)
        self._people += np.einsum("gca,ga->ac", weighed, count)
        self._settle()

    def _settle(self) -> None:
        """Compute covariances and means; the level, known up to N(0, LEVEL_SPREAD²), is estimated first."""
        inner = np.eye(len(self._root)) + self._root.T @ self._information @ self._root
        half = np.linalg.solve(np.linalg.cholesky(inner), np.broadcast_to(self._root.T, inner.shape))
        self._covariance = np.swapaxes(half, 1, 2) @ half
        told, taken = (np.einsum("acd,ad->ac", self._covariance, v) for v in (self._moment, self._people))
        precision = LEVEL_SPREAD**-2 + (self._people - self._weighed(taken)).sum()
        self._level = float((self._moment - self._weighed(told)).sum() / precision)
        self._means: Floats = told - self._level * taken

    def _weighed(self, means: Floats) -> Floats:
        return np.einsum("acd,ad->ac", self._information, means)

    def means(self) -> Floats:
        """Return the expected mean rewards in [0, 1], [cells, actions]."""
        return np.clip(0.5 + self._level + self._means.T, 0.0, 1.0)

    def chances(self, width: float, coins: np.random.Generator) -> Floats:
        """Return how often each action is the best of draws, [cells, actions].

        Draws have `width` times the posterior's spread; with 0, all are its mean.
        """
        size = len(self._root)
        root = np.linalg.cholesky(self._covariance + 1e-12 * np.eye(size))
        drawn = np.einsum("acd,nad->nac", root, coins.normal(size=(POLICY_DRAWS, *self._means.shape)))
        best = (self._means + width * drawn).argmax(axis=1)
        return np.stack([(best == action).mean(axis=0) for action in range(len(self._means))], axis=1)
