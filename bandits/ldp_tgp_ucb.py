"""TGP-UCB: kernel bandit on private messages, truncated once where they are too large for their law.

Zhou & Tan 2020, Algorithm 2 and Theorem 3; when only moments are known, Chowdhury & Gopalan 2019.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import log, sqrt
from typing import ClassVar

import numpy as np

from bandits.learning.nystrom import embedding
from bandits.local_privacy.learner import Question
from bandits.local_privacy.payoffs import FAILURE, Payoffs, best
from bandits.local_privacy.published import PublishedGpUcb
from bandits.local_privacy.ridge import Ridge
from bandits.statistics.arrays import Floats
from dpaccount.errors import InputError


def tail_cut(payoffs: Payoffs, time: int) -> float:
    """Return b_t: `start` + `scale`·(ln t)^θ, or v^{1/(1+α)} t^{1/(2(1+α))} where moments only are known.

    Laplace noise has θ = 1 (Algorithm 2); at α = 1 the second is √v·t^¼.  Before the first message,
    at t = 0, it is 0: Algorithm 2 would need ln 0 in round 1.
    """
    if time < 1:
        return 0.0
    if payoffs.tail_power is not None:
        return payoffs.start + payoffs.scale * float(log(time) ** payoffs.tail_power)
    power = 1 / (1 + payoffs.order)
    return float(payoffs.moment**power * time ** (power / 2))


def tail_bias(payoffs: Payoffs, time: int) -> float:
    """Return a bound on (Σ_τ≤t E[y·1{|y| > b_τ}]²)^½, the bias of truncation in Theorem 3's proof.

    Sub-Weibull, α = 1: √(v(ln t + 1)) by Cauchy–Schwarz, as printed.  Moments only: E[|y|; |y| > b_τ] ≤
    v·b_τ^(−α) = v^{1/(1+α)} τ^{−α/(2(1+α))}, whose squares sum to at most (1 + α)·b_t².
    """
    if time < 1 or payoffs.sure:
        return 0.0
    if payoffs.tail_power is not None:
        return sqrt(payoffs.moment * (log(time) + 1))
    return sqrt(1 + payoffs.order) * tail_cut(payoffs, time)


class TruncatedGpUcb:
    """Algorithm 2 on the points of `kernel` [n, n]: the exact posterior (2), (3), in features with K = ΦΦᵀ.

    β = B + λ^(−½)(2b√(2(γ + ln(1/δ))) + bias), with `tail_cut` and `tail_bias` of the rounds told so far.
    γ is the information gained so far, which the proof's inequality has; the text writes its maximum.
    """

    times = 1.5  #: practical constants: prior deviations above the mean

    def __init__(self, kernel: Floats, payoffs: Payoffs, constants: str, coins: int) -> None:
        self._payoffs, self._constants = payoffs, constants
        whole = np.ones(len(kernel), dtype=np.bool_)
        self.table = Ridge(embedding(kernel, whole), kernel.diagonal().copy(), payoffs.ridge(constants))
        self.moment = np.zeros(self.table.size)
        self.told = 0
        self._rng = np.random.default_rng(coins)

    def width(self) -> float:
        """Return β of the next round."""
        if self._constants == "practical":
            return self.times * self._payoffs.spread
        cut = tail_cut(self._payoffs, self.told)
        noise = 2 * cut * sqrt(2 * (self.table.gain - log(FAILURE))) + tail_bias(self._payoffs, self.told)
        return self._payoffs.bound + noise / sqrt(self.table.ridge)

    def mean(self) -> Floats:
        """Return the posterior mean of every point."""
        return self.table.mean(self.moment)

    def ask(self) -> Question:
        """Return the point of the largest upper bound."""
        point = best(self.mean() + self.width() * self.table.deviation(), self._rng)
        return Question(point, 0.0, self._payoffs.clip)

    def tell(self, point: int, value: float, variance: float | None) -> None:
        """Learn one message, or 0 if it is above b_t."""
        self.told += 1
        self.table.play(point)
        if abs(value) <= tail_cut(self._payoffs, self.told):
            self.moment += value * self.table.features[point]


@dataclass(frozen=True)
class LdpTgpUcb(PublishedGpUcb):
    """Algorithm 2 on the messages of a channel; truncation comes after it, and is free.

    Without privacy, a reward's noise may be said to be sub-Weibull: P(|η| > `tail_scale`·(ln τ)^θ) ≤ 1/τ with
    θ the `tail_power`, so that rewards are truncated at B + `tail_scale`·(ln t)^θ.
    """

    source: ClassVar[str] = "Zhou & Tan 2020, Algorithm 2 and Theorem 3; clip before the channel is ours"

    tail_power: Fraction | None = None
    tail_scale: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tail_power is None and self.tail_scale != 1:
            raise InputError("tail_scale is that of a tail whose tail_power is given", "give both or neither")
        if self.tail_power is not None and (
            self.privacy == "local" or min(self.tail_power, self.tail_scale) <= 0
        ):
            raise InputError(
                "tail_power and tail_scale are above 0 and describe rewards that no channel protects",
                "leave them out with privacy 'local'",
            )

    @cached_property
    def payoffs(self) -> Payoffs:
        """Return the learner's assumptions about its messages, with the declared tail."""
        known = super().payoffs
        if self.tail_power is None:
            return known
        power, scale = float(self.tail_power), float(self.tail_scale)
        return replace(known, start=float(self.bound), scale=scale, tail_power=power)

    def learner(self, coins: int) -> TruncatedGpUcb:
        """Return the learner, which chooses points."""
        return TruncatedGpUcb(self.prior, self.payoffs, self.constants, coins)
