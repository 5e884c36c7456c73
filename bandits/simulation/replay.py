"""Replay of a logged randomised trial: who is offered what, recommended what, and whose record counts.

People were logged on one arm; a policy is judged on those whose arm it would have recommended (Li, Chu,
Langford & Wang 2011).  Every record is a public slot.  Its own logged arm and its own coin make the offer and
the recommendation, in such a way that the recommended arm has the policy's law, and is the logged one as
often as can be (a maximal coupling): of kept records with one arm recommended, the rewards are those of
people logged on that arm.  A record that is not kept stays in its own slot and moves no other record.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bandits.logged.arm_counts import ArmCounts
from bandits.logged.logged_trials import ARM, CELL, REWARD, taking_part
from bandits.statistics.arrays import Floats, Integers
from mechanisms.subject import Rows

PURPOSES = ("part", "rounding", "partner", "kept", "drawn")  #: of coins
Offer = tuple[int, int, Fraction]  #: two arms and the probability that this pair is offered


@dataclass(frozen=True)
class Offers:
    """What is offered: the whole set to everyone, or `pairs`; `logging` has the arms' declared shares."""

    logging: tuple[Fraction, ...]
    pairs: tuple[Offer, ...] = ()

    def matrix(self) -> Floats:
        """Return the pairs' probabilities, symmetric with a zero diagonal."""
        shares = np.zeros((len(self.logging), len(self.logging)))
        for first, second, probability in self.pairs:
            shares[first, second] = shares[second, first] = float(probability)
        return shares

    def indifferent(self, cells: int) -> Floats:
        """Return the policy that prefers no arm, [contexts, arms]: equal shares, or equal scores of pairs."""
        return np.full((cells, len(self.logging)), 1 / len(self.logging))

    def greedy(self, values: Floats) -> Floats:
        """Return the policy that always takes the offered arm of largest value."""
        return values if self.pairs else (np.arange(values.shape[1]) == values.argmax(axis=1)[:, None]) * 1.0

    def played(self, policy: Floats) -> Floats:
        """Return how often a policy recommends each arm to somebody of a context: [contexts, arms]."""
        if not self.pairs:
            return policy
        gap = policy[:, :, None] - policy[:, None, :]
        wins = np.where(gap == 0, 0.5, gap > 0)
        return (self.matrix() * wins).sum(axis=2)


@lru_cache(maxsize=4)  # tests and attacks replay the same coins on neighbouring datasets
def flips(coins: int, slots: int, what: str) -> Floats:
    """Return the coins of all slots for one purpose, uniform in [0, 1)."""
    drawn = np.random.default_rng([coins, PURPOSES.index(what)]).random(slots)
    drawn.setflags(write=False)
    return drawn


class Replay:
    """The slots of one run: offers, recommendations and sums, with coins of its own for every slot.

    A `policy` is [contexts, arms]: shares of the arms that are recommended of the whole set, or scores, of
    which the larger wins a pair; a tie goes to the arm that was logged, which each is with probability ½.
    """

    def __init__(self, data: Rows, offers: Offers, counts: ArmCounts, chance: Fraction, coins: int) -> None:
        self.counts, self.offers = counts, offers
        self.inside = taking_part(data, chance, flips(coins, len(data), "part"))
        self.cell = np.where(self.inside, data[:, CELL], 0).astype(np.int64)
        self.arm = np.where(self.inside, data[:, ARM], 0).astype(np.int64)
        self.reward = counts.rounded(data[:, REWARD], flips(coins, len(data), "rounding"))
        self._kept_by = self._drawn_by = np.zeros(0)
        self.other = None
        if offers.pairs:
            self.other = self._partners(flips(coins, len(data), "partner"))
        else:
            self._kept_by, self._drawn_by = (flips(coins, len(data), what) for what in ("kept", "drawn"))

    def _partners(self, coins: Floats) -> Integers:
        """Draw the arm that is offered with the logged one, a: o with probability P{a, o}/ΣP{a, ·}."""
        matrix = self.offers.matrix()
        upto = np.cumsum(matrix / matrix.sum(axis=1, keepdims=True), axis=1)
        upto[:, -1] = 1.0
        partners: Integers = np.zeros(len(coins), dtype=np.int64)
        for edge in upto.T:
            partners += coins >= edge[self.arm]
        return partners

    def recommend(self, now: slice, policy: Floats) -> Integers:
        """Return the recommended arm of every slot; −1 where no record takes part."""
        cell, arm = self.cell[now], self.arm[now]
        if self.other is not None:
            other = self.other[now]
            chosen = np.where(policy[cell, arm] >= policy[cell, other], arm, other)
        else:
            chosen = self._coupled(policy, cell, arm, now)
        return np.where(self.inside[now], chosen, -1)

    def _coupled(self, shares: Floats, cell: Integers, arm: Integers, now: slice) -> Integers:
        """Return arms that have the law `shares`, and are the logged one with probability Σ min(p, share)."""
        logged = np.array([float(share) for share in self.offers.logging])
        both = np.minimum(logged, shares)
        left = shares - both
        upto = np.cumsum(left / np.maximum(left.sum(axis=1, keepdims=True), 1e-300), axis=1)
        upto[:, -1] = 1.0
        kept = self._kept_by[now] * logged[arm] < both[cell, arm]
        drawn: Integers = (self._drawn_by[now][:, None] >= upto[cell]).sum(axis=1)
        return np.where(kept, arm, drawn)

    def kept(self, now: slice, recommended: Integers) -> NDArray[np.bool_]:
        """Say which records have the recommended arm."""
        return recommended[now] == np.where(self.inside[now], self.arm[now], -2)

    def totals(self, now: slice, recommended: Integers, *, everyone: bool) -> Integers:
        """Return the exact sums over the slots of `now`: of kept records, or of everyone who takes part."""
        inside = self.inside[now]
        counted = inside if everyone else self.kept(now, recommended)
        cell, arm, reward = self.cell[now], self.arm[now], self.reward[now]
        return self.counts.totals(cell[counted], arm[counted], reward[counted], arm[inside & ~counted])

    def _paid(self, recommended: Integers) -> tuple[Floats, Floats, Floats]:
        """Return the arms' means in this very data, of those who take part: best, usual, recommended."""
        shape, arms = (self.counts.cells, self.counts.arms), self.counts.arms
        place = (self.cell * arms + self.arm)[self.inside]
        people = np.bincount(place, minlength=self.counts.places)
        good = np.bincount(place, self.reward[self.inside], minlength=self.counts.places) / self.counts.steps
        means = (good / np.maximum(people, 1)).reshape(shape)  # an arm without logged records counts 0
        cell = self.cell[self.inside]
        if self.other is None:
            best, usual = means.max(axis=1)[cell], means.mean(axis=1)[cell]
        else:
            pair = [means[cell, each[self.inside]] for each in (self.arm, self.other)]
            best, usual = np.maximum(*pair), (pair[0] + pair[1]) / 2
        return best, usual, means[cell, recommended[self.inside]]

    def regrets(self, recommended: Integers | None) -> Floats:
        """Return best − recommended mean of every slot, 0 where none takes part; None: uniform choices."""
        nothing = np.full(len(self.inside), -1, dtype=np.int64)
        best, usual, played = self._paid(nothing if recommended is None else recommended)
        regrets = np.zeros(len(self.inside))
        regrets[self.inside] = best - (usual if recommended is None else played)
        return regrets

    def evaluate(self, recommended: Integers) -> dict[str, float]:
        """Return rewards and regret against the arms' means in this very data, slot by slot."""
        best, usual, played = self._paid(recommended)
        kept = self.kept(slice(None), recommended)
        taken = self.reward[kept] / self.counts.steps
        return {
            "mean_reward": _mean(played),
            "mean_reward_uniform": _mean(usual),
            "mean_reward_best": _mean(best),
            "regret_fraction_of_uniform": float((best - played).sum() / max((best - usual).sum(), 1e-12)),
            "kept": float(kept.sum()),
            "mean_kept_reward": _mean(taken),
        }


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else 0.0
