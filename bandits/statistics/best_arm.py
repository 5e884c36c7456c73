"""Which arm has the largest mean, from noisy sums of blocks: evidence that holds at any time.

For λ > 0, u an arm's mean, S the sum of its n rewards in [0, 1] and J noises of its blocks,

    exp(±λS − n ln(1 − u + u·e^(±λ)) − J·ψ(λ))

is a supermartingale that begins at 1, whatever arms earlier sums led to: e^(λy) is convex in y, and
ψ bounds the logarithm of the noise's moment generating function.  So is E₊(u), the mean of these
with + over a public law of λ, and E₋(u), that with −, and so is a product of E₊ of one arm and E₋ of
another, as a block adds to one arm.  E₊ falls in u and E₋ rises.  So if arm a has no larger mean than
b, the product at their means is min_u E₊ᵃ(u)·E₋ᵇ(u) at least, which is above (K − 1)/α at any time
with chance α/(K − 1) at most (Ville's inequality).  To name a wrong arm is to have such a product
for it against the best of K arms: at most K − 1 cases, α for all.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import exp, log

import numpy as np

from bandits.statistics.arrays import Floats, Integers

REFINEMENTS, PLACES = 10, 9  #: of the search for the least over u, each to a quarter of the last
ROUNDING = 1e-12  #: of rounding in floating point, as a share of what is added up


class ArmOrder:
    """What the sums so far say of the order of `arms`; `tilts` are pairs of λ and ψ(λ).

    Rewards are known to `rounding`: means are compared as if each could be off by that much.
    """

    def __init__(self, arms: int, tilts: Iterable[tuple[float, float]], rounding: float) -> None:
        self._tilts, self._growth = (np.array(each)[:, None] for each in zip(*tilts, strict=True))
        shares = 1 / np.arange(1.0, len(self._tilts) + 1)
        self._shares = np.log(shares / shares.sum())[:, None]
        self._rounding = rounding
        self._people, self._blocks, self._totals = (np.zeros(arms) for _ in range(3))
        self._beats = np.zeros((arms, arms))  #: log of the largest product so far that a beats b

    def add(self, arm: int, people: int, total: float) -> None:
        """Add a block of an arm: how many rewards, and their noisy sum."""
        self._people[arm] += people
        self._blocks[arm] += 1
        self._totals[arm] += total
        leader = int(np.argmax(self._means()))
        self._beats[leader] = np.maximum(self._beats[leader], self._products(leader))

    def _means(self) -> Floats:
        played = self._people > 0
        return np.where(played, self._totals / np.maximum(self._people, 1), -np.inf)

    def _products(self, arm: int) -> Floats:
        """Return a lower bound of the logarithm of min_u E₊(u)·E₋(u), against every other arm.

        It is convex in u: next to the least place of a grid is the least of all.
        """
        low, high = np.zeros_like(self._people), np.ones_like(self._people)
        ours, others = np.full(len(low), arm), np.arange(len(low))
        for _ in range(REFINEMENTS):
            at = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, PLACES)
            least = (self._side(ours, at, 1) + self._side(others, at, -1)).argmin(axis=1)
            low = at[others, np.maximum(least - 1, 0)]
            high = at[others, np.minimum(least + 1, PLACES - 1)]
        above = np.minimum(high + self._rounding, 1)[:, None]
        below = np.maximum(low - self._rounding, 0)[:, None]
        products = (self._side(ours, above, 1) + self._side(others, below, -1))[:, 0]
        products[arm] = 0.0
        return products

    def _side(self, arms: Integers, means: Floats, sign: int) -> Floats:
        """Return log E₊ or log E₋ of every arm at its row of means, less what rounding may add."""
        tilts = sign * self._tilts  # [tilt, 1], broadcast with [arm, 1, 1]
        people, blocks, totals = (
            each[arms][:, None, None] for each in (self._people, self._blocks, self._totals)
        )
        drift = people * np.log1p(means[:, None, :] * np.expm1(tilts))
        powers = tilts * totals - drift - blocks * self._growth
        slack = ROUNDING * (1 + np.abs(tilts * totals) + np.abs(drift) + blocks * self._growth)
        powers += self._shares - slack
        most: Floats = powers.max(axis=1)
        return most + np.log(np.exp(powers - most[:, None, :]).sum(axis=1))

    def best(self) -> tuple[int, float]:
        """Return an arm and its error, at most 1.

        The chance that a wrong arm is ever named with an error of α or less is at most α.
        """
        sure = self._beats + np.diag(np.full(len(self._beats), np.inf))
        sure = sure.min(axis=1)
        arm = int(np.lexsort((self._means(), sure))[-1])
        error = (len(sure) - 1) * exp(-min(float(sure[arm]), 700.0)) * (1 + 1e-9)  # not 0
        return arm, min(error, 1.0)

    def may_be_best(self, missed: Fraction) -> list[int]:
        """Return arms; the best one is missed, at any time, with at most this probability."""
        beyond = log(len(self._beats) - 1) + log(missed.denominator) - log(missed.numerator)
        return np.flatnonzero(self._beats.max(axis=0) <= beyond + 1e-9).tolist()
