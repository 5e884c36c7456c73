"""MoMA-GP-UCB: every point is played by k people, and k regressions vote by their median distance.

Zhou & Tan 2020, Algorithm 3 and Theorem 4 (with 3λ^(−½)γ, which Theorem 4 and Corollary 1 print without λ).
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, e, log, sqrt
from typing import ClassVar

import numpy as np

from bandits.learning.arrivals import name_of
from bandits.learning.nystrom import embedding, members, oversampling
from bandits.local_privacy.learner import Question
from bandits.local_privacy.payoffs import ACCURACY, FAILURE, Payoffs, best
from bandits.local_privacy.published import PublishedGpUcb
from bandits.local_privacy.ridge import Ridge
from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import one_of
from dpaccount.errors import InputError
from dpaccount.proof import Theorem
from mechanisms.subject import Domain

PRACTICAL = 3  #: people an epoch in practical constants


def replays(rounds: int, constants: str) -> int:
    """Return k: ⌈24 ln(4eT/δ)⌉ in theory, 334 at T = 10³ and 389 at 10⁴, or a small constant."""
    return ceil(24 * log(4 * e * rounds / FAILURE)) if constants == "theory" else PRACTICAL


def reach(payoffs: Payoffs, features: int, epochs: int) -> float:
    """Return γ = (9m̃c)^{1/(1+α)} n^{(1−α)/(2(1+α))} of Lemma 10, for n epochs."""
    power = 1 / (1 + payoffs.order)
    return float((9 * features * payoffs.noise_moment) ** power * epochs ** ((1 - payoffs.order) * power / 2))


def median_choice(estimates: Floats, coins: Floats) -> int:
    """Return k*: which row of `estimates` [k, m] has the least median distance to the others (Euclidean)."""
    count = len(estimates)
    if count == 1:
        return 0
    products = estimates @ estimates.T
    square = products.diagonal()[:, None] + products.diagonal() - 2 * products
    distance = np.sqrt(np.maximum(square, 0.0))
    others = distance[~np.eye(count, dtype=np.bool_)].reshape(count, count - 1)
    medians = np.median(others, axis=1)
    return int(np.argmax(np.where(medians <= medians.min(), coins, -1.0)))


class MedianOfMeansGpUcb:
    """Algorithm 3 on the points of `kernel` [n, n], for `rounds` people, `people` of them an epoch.

    What is left after the last whole epoch replays its point, with new people, and teaches nothing.
    Memory is n·k numbers, independent of the horizon.
    """

    times = 1.0  #: practical constants: deviations above the mean

    def __init__(
        self, kernel: Floats, payoffs: Payoffs, rounds: int, people: int, constants: str, coins: int
    ) -> None:
        self._payoffs, self._constants, self.people = payoffs, constants, people
        ridge = payoffs.ridge(constants)
        self._kernel, self._epochs = kernel, rounds // self.people
        self.q = oversampling(ACCURACY, rounds, FAILURE / 2)
        self._rng = np.random.default_rng(coins)
        self._dictionary = np.zeros(len(kernel), dtype=np.bool_)
        self._regression = Ridge(np.zeros((len(kernel), 0)), kernel.diagonal().copy(), ridge)
        self.sums = np.zeros((len(kernel), self.people))  #: of each point, what the j-th of each epoch paid
        self.mean = np.zeros(len(kernel))
        self.epoch, self._asked, self._point = 0, 0, 0

    @property
    def size(self) -> int:
        """Return m̃, the number of features."""
        return self._regression.size

    def width(self) -> float:
        """Return β = B(1 + (1 − ε)^(−½)) + 3λ^(−½)γ."""
        if self._constants == "practical":
            return self.times * self._payoffs.spread
        gamma = reach(self._payoffs, self.size, self.epoch)
        return self._payoffs.bound * (1 + 1 / sqrt(1 - ACCURACY)) + 3 * gamma / sqrt(self._regression.ridge)

    def ask(self) -> Question:
        """Return the epoch's point, chosen when its first person comes."""
        if self._asked == 0 and self.epoch < self._epochs:
            self._point = best(self.mean + self.width() * self._regression.deviation(), self._rng)
        return Question(self._point, 0.0, self._payoffs.clip)

    def tell(self, point: int, value: float, variance: float | None) -> None:
        """Learn one message; the last of an epoch closes it."""
        if self.epoch == self._epochs:
            return
        self.sums[point, self._asked] += value
        self._asked = (self._asked + 1) % self.people
        if self._asked == 0:
            self._close(point)

    def _close(self, point: int) -> None:
        """Draw a dictionary, estimate k times, keep the estimate amid the others."""
        self.epoch += 1
        plays = self._regression.plays.copy()
        plays[point] += 1
        dictionary = members(plays, self._regression.variance, self.q, self._rng) > 0
        if dictionary.any() and not np.array_equal(dictionary, self._dictionary):
            self._dictionary = dictionary
            prior, ridge = self._kernel.diagonal().copy(), self._regression.ridge
            self._regression = Ridge(embedding(self._kernel, dictionary), prior, ridge, plays)
        else:
            self._regression.play(point)
        moments = self._regression.features.T @ self.sums  # a column for each j
        # ‖θ_j − θ_s‖_V is the Euclidean distance of V^(−½) times the moments
        inner = (self._regression.features.T * plays) @ self._regression.features
        half = np.linalg.cholesky(inner + self._regression.ridge * np.eye(self.size))
        whitened = np.linalg.solve(half, moments).T
        chosen = median_choice(whitened, self._rng.random(self.people))
        self.mean = self._regression.mean(moments[:, chosen])


USERS = ("new", "same")


@dataclass(frozen=True)
class LdpMomaGpUcb(PublishedGpUcb):
    """Algorithm 3 on the messages of a channel: every point is played by `people` people, one message each.

    `people` is k; left out, it is that of `constants`.  Every replay is answered by a new person, in a row of
    their own.  With `users` ``same`` one person answers all of an epoch: a row an epoch, charged k·ε.
    """

    source: ClassVar[str] = "Zhou & Tan 2020, Algorithm 3 and Theorem 4; clip before the channel is ours"

    people: int | None = None
    users: str = "new"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("users", self.users, USERS)
        if not 1 <= self.replays <= self.rounds:
            raise InputError(
                f"an epoch takes {self.replays} people and there are {self.rounds}: needed 1 <= k <= rounds"
            )

    @property
    def replays(self) -> int:
        """Return k, the people an epoch."""
        return replays(self.rounds, self.constants) if self.people is None else self.people

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the certificate's warnings about people who answer more than once."""
        if self.users == "new":
            return (
                f"Epsilon is a person's who answers once; who answered all {self.replays} replays of an epoch"
                f" would pay {self.replays} times epsilon (dpaccount claims zhou-moma --set users=same).",
            )
        return (f"A person answers all {self.replays} replays of an epoch, and pays for each.",)

    def row(self, slot: int) -> int:
        """Return the row that answers each slot: one per slot, or one per epoch."""
        return slot if self.users == "new" else slot // self.replays

    def domain(self) -> Domain:
        """Return one row a person: the reward of every point, also beyond the clip."""
        unclipped = super().domain()
        return Domain(self.row(self.rounds - 1) + 1, unclipped.low, unclipped.high, unclipped.integer)

    def _messages(self, delta: Fraction) -> Theorem:
        each = 1 if self.users == "new" else self.replays
        return self.by.proof(name_of(self), self.rounds, delta, self.constants_from, each)

    def learner(self, coins: int) -> MedianOfMeansGpUcb:
        """Return the learner, which chooses points."""
        return MedianOfMeansGpUcb(self.prior, self.payoffs, self.rounds, self.replays, self.constants, coins)
