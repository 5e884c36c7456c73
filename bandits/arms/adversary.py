"""Arms of blocks where rewards are not drawn: an adversary has written them all down before the run.

Blocks of τ people play one arm each, as Asi, Raman & Talwar 2025 (arXiv 2505.21790) turn bandits private.
The arm is drawn from the p that minimises Σ_j p_j L_j − 2 Σ_j √p_j/η over p_j ≥ m, Σ p_j = 1 (Tsallis-INF,
Zimmert & Seldin 2021), L the sum of estimated losses −h/p of the arms that were drawn.

What h is.  Let S be τ times a block's mean reward less ½, so |S| ≤ τ/2, and Z Laplace noise of scale 1/ε.
Where S + Z ≥ τ/2, how far it is beyond is geometric (of continuous noise exponential), whatever S is.  So
its mean takes its place: E h = E(S + Z)/τ still, without bias, and h is bounded.  With b = 1/(ετ)

    |h| ≤ c = ½ + b,    E h² ≤ v = ¼ + (3/2 − e^(−1/b)/2) b²

as E h² = (S/τ)² + 2b² − b² P(beyond), which is largest at |S| = τ/2.  Discrete noise has smaller moments,
and tails as long: P(Z ≥ z) ≥ e^(−εz)/2 at its steps.

Regret, of rewards in [0, 1] that are fixed before the run by who does not know its coins, where all K arms
are on offer to all, of any number of people in at most B blocks: for every arm i

    E Σ_t (y_ti − what person t is paid) ≤ τ [2(√K − 1)/η + ηB√K v + 3η²BK c v + (K − 1) m B],

m = (3ηc/2)², and 2^−19 a person more, as sums are of rewards to 2^−20; who does not answer has paid ½.
Proof.  With u = i, mixed with m of every arm: rewards are within 1 of each other, which costs (K − 1) m B
blocks.  Against u, following the leader costs (F(u) − min F)/η ≤ 2(√K − 1)/η for F = −2 Σ √p, and a block
Σ_j √p_j η E[h²/(1 + x_j)] at most, x_j = −ηh/√p_j (Bregman's divergence of F's conjugate, in closed form,
times the chance p_j).  As √p_j ≥ 3ηc/2, x_j ≥ −⅔, so 1/(1 + x_j) ≤ 1 + 3ηc/√p_j; and Σ √p_j ≤ √K.  QED

The bound is of the mean over coins and noise.  Estimates of arms that are hardly ever played vary much: where
the leading arm changed, a run in ten lost three times the bound (two arms, 5,000 people, ε = 1).
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, expm1, sqrt

import numpy as np

from bandits.statistics.arrays import Floats
from bandits.statistics.first_moments import CONTRIBUTION_BITS

STEEP = 1.5  #: √m over ηc, above 1; the proof's 3 is STEEP/(STEEP − 1), and the terms in η² are about least
EXACT = 1e-12  #: how far probabilities may be from adding up to 1


@dataclass(frozen=True)
class AgainstAdversary:
    """The rates of a run of `rounds` people on `arms` arms in blocks of `size`, with noise of `scale` 1/ε."""

    arms: int
    rounds: int
    size: int
    scale: float

    @property
    def blocks(self) -> int:
        """Return B, blocks of a run at most."""
        return ceil(self.rounds / self.size)

    @property
    def reach(self) -> float:
        """Return c, which no estimate's size exceeds."""
        return 0.5 + self.scale / self.size

    @property
    def square(self) -> float:
        """Return v, the mean square of an estimate at most."""
        b = self.scale / self.size
        return 0.25 + (1.5 - exp(-1 / b) / 2) * b**2

    @cached_property
    def rate(self) -> float:
        """Return η: of least regret but for terms in η², and such that m is at most 1/K."""
        best = sqrt(2 * (sqrt(self.arms) - 1) / (self.blocks * sqrt(self.arms) * self.square))
        return min(best, 1 / (STEEP * self.reach * sqrt(self.arms)))

    @property
    def least(self) -> float:
        """Return m, which every arm's probability is at least."""
        return (STEEP * self.rate * self.reach) ** 2

    @property
    def regret(self) -> float:
        """Return what a run's expected regret is at most: see the module, where it is proved."""
        k, rate, blocks = self.arms, self.rate, self.blocks
        begins, each = 2 * (sqrt(k) - 1) / rate, rate * sqrt(k) * self.square
        later = 3 * rate**2 * k * self.reach * self.square + (k - 1) * self.least
        rounded = self.rounds * 2.0 ** (1 - CONTRIBUTION_BITS)
        return min((self.size * (begins + blocks * (each + later)) + rounded) * (1 + 1e-9), self.rounds)


class Leader:
    """Estimated losses of all arms, and the probabilities of the next block's arm."""

    def __init__(self, rates: AgainstAdversary) -> None:
        self._rates, self._losses = rates, np.zeros(rates.arms)
        step = 2.0**-CONTRIBUTION_BITS
        self._beyond = step / expm1(step / rates.scale)  # the mean of what is beyond, of discrete noise
        self.chances: Floats = np.full(rates.arms, 1 / rates.arms)  #: of the next block's arm

    def learn(self, arm: int, rest: float, among: Floats | None) -> None:
        """Take in a block: the noisy sum of its rewards less ½ each, and the arms its arm was drawn among."""
        chance = self.chances[arm] / (1 if among is None else self.chances[among.astype(np.int64)].sum())
        self._losses[arm] -= self.estimate(rest) / chance
        self.chances = self._probabilities()

    def estimate(self, rest: float) -> float:
        """Return h, of a block's mean reward less ½."""
        edge = self._rates.size / 2
        return float(rest if abs(rest) < edge else np.copysign(edge + self._beyond, rest)) / self._rates.size

    def _probabilities(self) -> Floats:
        """Return p: p_j = 1/(η(L_j − λ))², or m where that is more, with the λ for which they add up to 1.

        Newton's steps from above: their sum is convex and rises in λ, so none goes too far.
        """
        rate, least = self._rates.rate, self._rates.least
        above = self._losses - self._losses.min() + 1 / rate  # L − λ where the leader alone has 1
        while True:
            each = (rate * above) ** -2
            over = np.maximum(each, least).sum() - 1
            if over <= EXACT:
                chances: Floats = np.maximum(each, least)
                return chances / chances.sum()
            above += over / (2 * rate * each[each > least] ** 1.5).sum()

    def scores(self, coins: np.random.Generator) -> Floats:
        """Return numbers, the largest of which among any arms is at a draw from p, given one of these arms.

        They are ln p with Gumbel noise (Gumbel 1954).
        """
        return np.log(self.chances) + coins.gumbel(size=len(self._losses))
