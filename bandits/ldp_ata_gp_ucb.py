"""ATA-GP-UCB: kernel bandit on private messages that are truncated anew in every feature and round.

Nyström features; Zhou & Tan 2020, Algorithm 1 and Theorem 2; for moments of order 1 + α below 2,
Chowdhury & Gopalan 2019.
"""

from dataclasses import dataclass
from math import log, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from bandits.learning.nystrom import embedding, members, oversampling
from bandits.local_privacy.learner import Question
from bandits.local_privacy.payoffs import ACCURACY, FAILURE, Payoffs, best
from bandits.local_privacy.published import PublishedGpUcb
from bandits.statistics.arrays import Floats


class MessageHistory:
    """All messages; equal ones of a point are counted together, so that Duchi's channel makes two a point."""

    def __init__(self, points: int) -> None:
        self._place: dict[tuple[int, float], int] = {}
        self._held = 0
        self._points, self._values, self._counts = (np.zeros(64, dtype=t) for t in (np.int64, float, float))
        self.sums = np.zeros(points)  #: of each point

    def add(self, point: int, value: float) -> None:
        """Keep one message."""
        self.sums[point] += value
        at = self._place.setdefault((point, value), self._held)
        if at == len(self._points):  # room is doubled, so that a message costs O(1)
            self._points, self._values, self._counts = (
                np.concatenate([old, np.zeros_like(old)])
                for old in (self._points, self._values, self._counts)
            )
        self._points[at], self._values[at] = point, value
        self._held = max(self._held, at + 1)
        self._counts[at] += 1

    def truncated(self, rows: Floats, cut: float) -> Floats:
        """Return Σ u·y·1{|u·y| ≤ cut} of every row u of `rows` [m, n], over all messages y.

        The whole sums minus the truncated products.  Only messages with |y|·max|u| above `cut` at their
        point can be truncated; they are found in O(messages), and only they are examined row by row.
        """
        points, values = self._points[: self._held], self._values[: self._held]
        tall = np.abs(values) * np.abs(rows).max(axis=0)[points] > cut
        products = rows[:, points[tall]] * values[tall]
        lost = np.where(np.abs(products) > cut, products, 0.0) @ self._counts[: self._held][tall]
        return rows @ self.sums - lost


class AdaptivelyTruncatedGpUcb:
    """Algorithm 1 on the points of `kernel` [n, n], for `rounds` people.

    The rows u_i are kept for points, not for plays.  They are those of L⁻¹Φ̃ᵀ with Ṽ = LLᵀ, for the text's
    symmetric root Ṽ^(−½), and m̃ is the rank of the embedding: both only turn the basis, and the proof, which
    reads ‖u_i‖ ≤ 1 and Σu_iu_iᵀ, holds in any.  Line 10 truncates at b_t (printed
    b_τ), σ̃₀² = k(x, x) (printed σ̃₀).  Every round truncates all history again, so memory grows with it.
    """

    times = 1.5  #: practical constants: deviations above the mean

    def __init__(self, kernel: Floats, payoffs: Payoffs, rounds: int, constants: str, coins: int) -> None:
        self._kernel, self._payoffs, self._rounds, self._constants = kernel, payoffs, rounds, constants
        self.ridge = payoffs.ridge(constants)
        self.q = oversampling(ACCURACY, rounds, FAILURE / 2)
        self._rng = np.random.default_rng(coins)
        self.history = MessageHistory(len(kernel))
        self.plays = np.zeros(len(kernel), dtype=np.int64)
        self.variance = kernel.diagonal().copy()
        self.mean = np.zeros(len(kernel))
        self._dictionary = np.zeros(len(kernel), dtype=np.bool_)
        self._features = np.zeros((len(kernel), 0))
        self._inner = np.zeros((0, 0))  #: Ṽ

    @property
    def size(self) -> int:
        """Return m̃, the number of features."""
        return int(self._features.shape[1])

    def _logarithm(self) -> float:
        return log(4 * max(self.size, 1) * self._rounds / FAILURE)

    def cut(self) -> float:
        """Return b_t = (v/ln(4m̃T/δ))^{1/(1+α)} t^{(1−α)/(2(1+α))}."""
        alpha, time = self._payoffs.order, int(self.plays.sum())
        growth = time ** ((1 - alpha) / (2 * (1 + alpha)))
        return float((self._payoffs.moment / self._logarithm()) ** (1 / (1 + alpha)) * growth)

    def width(self) -> float:
        """Return β = B(1 + (1 − ε)^(−½)) + 4λ^(−½)√m̃·b_t·ln(4m̃T/δ), which at α = 1 is Theorem 2's.

        For rows that are fixed: l is the logarithm, Σ|u|^(1+α) ≤ t^{(1−α)/2}, so vΣ|u|^(1+α) ≤ b^(1+α)l.
        A row's truncation then has a bias of at most bl, to which Bernstein's inequality adds (√2 + ⅓)bl.
        That rows depend on points, which depend on earlier messages, is passed over by the theorem's proof.
        """
        if self._constants == "practical":
            return self.times * self._payoffs.spread
        noise = 4 * sqrt(self.size / self.ridge) * self.cut() * self._logarithm()
        return self._payoffs.bound * (1 + 1 / sqrt(1 - ACCURACY)) + noise

    def ask(self) -> Question:
        """Return the point of the largest upper bound."""
        deviation = np.sqrt(np.maximum(self.variance, 0.0))
        return Question(best(self.mean + self.width() * deviation, self._rng), 0.0, self._payoffs.clip)

    def tell(self, point: int, value: float, variance: float | None) -> None:
        """Learn one message: a fresh dictionary, and everything truncated again."""
        self.plays[point] += 1
        self.history.add(point, value)
        self._embed(members(self.plays, self.variance, self.q, self._rng) > 0, point)
        phi = self._features
        rows = solve_triangular(np.linalg.cholesky(self._inner), phi.T, lower=True, check_finite=False)
        self.mean = rows.T @ self.history.truncated(rows, self.cut())
        unseen = self._kernel.diagonal() - (phi * phi).sum(axis=1)
        self.variance = unseen + self.ridge * (rows * rows).sum(axis=0)

    def _embed(self, dictionary: NDArray[np.bool_], point: int) -> None:
        """Recompute the features if the dictionary changed; else add one play to Ṽ."""
        if not dictionary.any():
            # A draw may leave no point at all, and so no features: then the last dictionary stays.
            dictionary = self._dictionary if self._dictionary.any() else self.plays > 0
        if not np.array_equal(dictionary, self._dictionary):
            self._dictionary, self._features = dictionary, embedding(self._kernel, dictionary)
            phi = self._features
            self._inner = (phi.T * self.plays) @ phi + self.ridge * np.eye(phi.shape[1])
            return
        self._inner = self._inner + np.outer(self._features[point], self._features[point])


@dataclass(frozen=True)
class LdpAtaGpUcb(PublishedGpUcb):
    """Algorithm 1 on the messages of a channel; truncation comes after it, and is free."""

    source: ClassVar[str] = "Zhou & Tan 2020, Algorithm 1 and Theorem 2; clip before the channel is ours"

    def learner(self, coins: int) -> AdaptivelyTruncatedGpUcb:
        """Return the learner, which chooses points."""
        return AdaptivelyTruncatedGpUcb(self.prior, self.payoffs, self.rounds, self.constants, coins)
