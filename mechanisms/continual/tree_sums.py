"""Running sums over a binary tree: every prefix from a few noisy nodes."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpaccount.noise.samplers import Integers

Floats = NDArray[np.float64]

Release = Callable[[tuple[int, int], Integers], Integers]


def levels(rounds: int) -> int:
    """Return how many levels of a tree over `rounds` are worth their noise: all but a lone root.

    The root of 2^k rounds serves one prefix, the last, at the price of a level for everyone.
    """
    return max(1, (rounds - 1).bit_length())


class TreeSums:
    """Adds one value a round and answers every prefix sum from at most ⌊log₂ t⌋ + 1 noisy nodes.

    Node (j, k) sums rounds k·2^j + 1 … (k+1)·2^j and is released once, when its last round arrives.
    Prefixes need even k only, so odd nodes are never released, but for those of the highest of `depth`
    levels, whose nodes add up.  Memory is one exact and one noisy sum per level (Chan, Shi & Song 2011;
    Dwork, Naor, Pitassi & Rothblum 2010).
    """

    def __init__(self, release: Release, depth: int = 64) -> None:
        self._release, self._top = release, depth - 1
        # By level: the exact sum since the last prefix node that ended higher.
        self._open: list[Integers] = []
        self._noisy: dict[int, Integers] = {}  # by level: the nodes that the prefix is made of
        self.rounds = 0

    def add(self, value: Integers) -> Integers:
        """Add the next round's value (an integer array, always of one shape); return the noisy prefix sum."""
        self.rounds += 1
        # the node that ends here starts at t − 2^level
        level = min((self.rounds & -self.rounds).bit_length() - 1, self._top)
        exact = value + sum((part for part in self._open[:level]), start=np.zeros_like(value))
        self._open[:level] = [np.zeros_like(value)] * level
        self._open += [np.zeros_like(value)] * (level + 1 - len(self._open))
        self._open[level] = exact
        noisy = self._release((level, (self.rounds >> level) - 1), exact)
        if level == self._top in self._noisy:
            noisy = self._noisy[level] + noisy
        self._noisy = {j: kept for j, kept in self._noisy.items() if j > level} | {level: noisy}
        return self.release()

    def release(self) -> Integers:
        """Return the latest noisy prefix sum again; costs nothing.  Needs one round at least."""
        return np.sum(list(self._noisy.values()), axis=0)

    def terms(self) -> int:
        """Return the number of noisy nodes in the prefix: the ones in the round's binary number.

        Nodes of the highest level count as often as there are.
        """
        return (self.rounds & (1 << self._top) - 1).bit_count() + (self.rounds >> self._top)


class HonakerSums:
    """Prefix sums from a binary tree, each node refined by its descendants (Honaker 2015, from below).

    Every complete node is released, odd ones too.  A node's own noisy sum has variance 1, the sum of
    its two refined halves 2v: weighted against each other they leave 2v/(2v + 1), towards ½.  That is
    post-processing: the cost is the plain tree's.  Memory is two sums per level.
    """

    def __init__(self, release: Release, depth: int = 64) -> None:
        self._release, self._top = release, depth - 1
        self._waiting: dict[int, tuple[Integers, Floats]] = {}  # by level: unpaired nodes
        self.rounds = 0

    def add(self, value: Integers) -> Floats:
        """Add the next round's value; release the nodes that end with it; return the estimated prefix."""
        self.rounds += 1
        level, exact = 0, value
        refined = self._release((0, self.rounds - 1), exact).astype(np.float64)
        while level < self._top and level in self._waiting:  # a right half: its parent ends here
            left, left_refined = self._waiting.pop(level)
            exact, halves = left + exact, left_refined + refined
            weight = 2 * variance_from_below(level)
            level += 1
            own = self._release((level, (self.rounds >> level) - 1), exact)
            refined = (weight * own + halves) / (weight + 1)
        if level in self._waiting:  # of the highest level: nodes add up
            refined = self._waiting[level][1] + refined
        self._waiting[level] = exact, refined
        return self.release()

    def release(self) -> Floats:
        """Return the latest estimate again; costs nothing.  Needs one round at least."""
        return np.sum([refined for _, refined in self._waiting.values()], axis=0)


def variance_from_below(level: int) -> float:
    """Return the variance of a refined node, in units of one node's: 1, ⅔, 4/7 and so on."""
    variance = 1.0
    for _ in range(level):
        variance = 2 * variance / (2 * variance + 1)
    return variance


def error(rounds: int, depth: int, *, refined: bool) -> float:
    """Return the root mean square error of all prefixes, for node noise of variance 1 on `depth` levels.

    A prefix is the sum of the nodes at the ones of its number, with independent noises, and of as many
    nodes of the highest level as it takes.
    """
    variances = [variance_from_below(level) if refined else 1.0 for level in range(depth)]
    counts = [sum(t >> level & 1 for t in range(1, rounds + 1)) for level in range(depth - 1)]
    counts.append(sum(t >> depth - 1 for t in range(1, rounds + 1)))
    return math.sqrt(sum(v * n for v, n in zip(variances, counts, strict=True)) / rounds)
