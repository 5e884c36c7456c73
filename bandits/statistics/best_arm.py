"""Which arm has the largest mean, from noisy sums of blocks: evidence that holds at any time.

For λ > 0, u an arm's mean, S the sum of its n rewards in [0, 1] and J noises of its blocks,

    exp(±λS − n ln(1 − u + u·e^(±λ)) − J·ψ(λ))

is a supermartingale that begins at 1, whatever arms earlier sums led to: e^(λy) is convex in y, and
ψ bounds the logarithm of the noise's moment generating function.  So is a product of one arm's with +
and another's with −, as a block adds to one arm, and so is E(u, v), the mean of these products over a
public law of pairs of λ, the arms' means being u and v.  E falls in u and rises in v.  So if arm a has no
larger mean than b, E at their means is min_u E(u, u) at least, which is above (K − 1)/α at any time with
chance α/(K − 1) at most (Ville's inequality).  To name a wrong arm is to have such a product for it
against the best of K arms: at most K − 1 cases, α for all.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import exp, log

import numpy as np

from bandits.statistics.arrays import Floats, Integers

REFINEMENTS, PLACES = 10, 9  #: of the search for the least over u, each to a quarter of the last
SIGNS = np.array([1.0, -1.0])[:, None, None, None]  #: of λ: for the arm that may be larger, and the other
ROUNDING = 1e-12  #: of rounding in floating point, as a share of what is added up


class ArmOrder:
    """What the sums so far say of the order of `arms`; `tilts` are pairs of λ and ψ(λ).

    Rewards are known to `rounding`: means are compared as if each could be off by that much.
    """

    def __init__(self, arms: int, tilts: Iterable[tuple[float, float]], rounding: float) -> None:
        tilts, growth = (np.array(each)[:, None] for each in zip(*tilts, strict=True))
        places = np.arange(len(tilts))  # λ of arms that are hard to tell apart are alike
        shares = 1 / ((1 + np.subtract.outer(places, places) ** 2) * (1 + places))
        self._shares = shares / shares.sum()
        self._tilts, self._growth = SIGNS * tilts, growth
        self._rounding = rounding
        self._people, self._noises, self._totals = (np.zeros(arms) for _ in range(3))
        self._beats = np.zeros((arms, arms))  #: log of the largest product so far that a beats b

    def add(self, arm: int, people: int, total: float, noises: int = 1, *, compare: bool = True) -> None:
        """Add a block of an arm: how many rewards, the sum of them and of noises, and how many these are.

        With `compare` false, the block is only added: call `compare` after the last one.
        """
        self._people[arm] += people
        self._noises[arm] += noises
        self._totals[arm] += total
        if compare:
            self.compare()

    def compare(self) -> None:
        """Take what was added so far for evidence."""
        leader = int(np.argmax(self._means()))
        others = self._worth_comparing(leader)
        if len(others):
            products = self._products(leader, others)
            self._beats[leader, others] = np.maximum(self._beats[leader, others], products)

    def _means(self) -> Floats:
        played = self._people > 0
        return np.where(played, self._totals / np.maximum(self._people, 1), -np.inf)

    def _worth_comparing(self, arm: int) -> Integers:
        """Return the arms against which the product at one mean, that of both arms' rewards, is a record.

        The least over all means is at most that, so nothing is lost by leaving the others out.
        """
        people, others = self._people + self._people[arm], np.arange(len(self._people))
        pooled = np.clip((self._totals + self._totals[arm]) / np.maximum(people, 1), 0, 1)[:, None]
        product = self._product(arm, others)(pooled)
        return others[(product[:, 0] > self._beats[arm]) & (others != arm)]

    def _products(self, arm: int, others: Integers) -> Floats:
        """Return a lower bound of the logarithm of min_u E(u, u), `arm` against each of `others`.

        It is convex in u: next to the least place of a grid is the least of all.
        """
        product, rows = self._product(arm, others), np.arange(len(others))
        low, high = np.zeros(len(others)), np.ones(len(others))
        for _ in range(REFINEMENTS):
            at = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, PLACES)
            least = product(at).argmin(axis=1)
            low = at[rows, np.maximum(least - 1, 0)]
            high = at[rows, np.minimum(least + 1, PLACES - 1)]
        ends = np.stack([np.minimum(high + self._rounding, 1), np.maximum(low - self._rounding, 0)])
        return product(ends[:, :, None])[:, 0]

    def _product(self, arm: int, others: Integers) -> Callable[[Floats], Floats]:
        """Return log E of `arm` and each of `others`, less what rounding may add, as a function.

        It takes means [others, places], or [2, others, places] where they differ for + and −.
        """
        arms = np.stack([np.full(len(others), arm), others])
        people, noises, totals = (
            each[arms][:, :, None, None] for each in (self._people, self._noises, self._totals)
        )
        known, growth, rates = self._tilts * totals, noises * self._growth, np.expm1(self._tilts)
        known = known - growth - ROUNDING * (1 + np.abs(known) + growth)
        people = people * (1 + SIGNS * ROUNDING)  # what is subtracted has that sign

        def product(means: Floats) -> Floats:  # arrays are [sign, other, tilt, place]
            powers = known - people * np.log1p(means[..., None, :] * rates)
            most = powers.max(axis=2, keepdims=True)
            larger, smaller = np.exp(powers - most)
            pairs = (larger * (self._shares @ smaller)).sum(axis=1)
            logs: Floats = most.sum(axis=(0, 2)) + np.log(pairs)
            return logs

        return product

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
