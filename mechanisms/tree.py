"""Running sums over a binary tree: every prefix from a few noisy nodes."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpaccount.noise import Integers

Floats = NDArray[np.float64]

Release = Callable[[tuple[int, int], Integers], Integers]


class TreeSums:
    """Adds one value a round and answers every prefix sum from at most ⌊log₂ t⌋ + 1 noisy nodes.

    Node (j, k) sums rounds k·2^j + 1 … (k+1)·2^j and is released once, when its last round arrives.
    Prefixes need even k only, so odd nodes are never released.  Memory is one exact and one noisy
    sum per level (Chan, Shi & Song 2011; Dwork, Naor, Pitassi & Rothblum 2010).
    """

    def __init__(self, release: Release) -> None:
        self._release = release
        self._open: list[
            Integers
        ] = []  # by level: the exact sum since the last prefix node that ended higher
        self._noisy: dict[int, Integers] = {}  # by level: the nodes that the prefix is made of
        self.rounds = 0

    def add(self, value: Integers) -> Integers:
        """Add the next round's value (an integer array, always of one shape); return the noisy prefix sum."""
        self.rounds += 1
        level = (self.rounds & -self.rounds).bit_length() - 1  # the node that ends here starts at t − 2^level
        exact = value + sum((part for part in self._open[:level]), start=np.zeros_like(value))
        self._open[:level] = [np.zeros_like(value)] * level
        self._open += [np.zeros_like(value)] * (level + 1 - len(self._open))
        self._open[level] = exact
        self._noisy = {j: noisy for j, noisy in self._noisy.items() if j > level}
        self._noisy[level] = self._release((level, (self.rounds >> level) - 1), exact)
        return self.release()

    def release(self) -> Integers:
        """Return the latest noisy prefix sum again; costs nothing.  Needs one round at least."""
        total: Integers = np.sum(list(self._noisy.values()), axis=0)
        return total

    def terms(self) -> int:
        """Return how many noisy nodes the present prefix is made of: the ones of the round's number."""
        return self.rounds.bit_count()


class HonakerSums:
    """Prefix sums from a binary tree, each node refined by its descendants (Honaker 2015, from below).

    Every complete node is released, odd ones too.  A node's own noisy sum has variance 1, the sum of
    its two refined halves 2v: weighted against each other they leave 2v/(2v + 1), towards ½.  That is
    post-processing: the cost is the plain tree's.  Memory is two sums per level.
    """

    def __init__(self, release: Release) -> None:
        self._release = release
        self._waiting: dict[int, tuple[Integers, Floats]] = {}  # by level: a node without its other half
        self.rounds = 0

    def add(self, value: Integers) -> Floats:
        """Add the next round's value; release the nodes that end with it; return the estimated prefix."""
        self.rounds += 1
        level, exact = 0, value
        refined = self._release((0, self.rounds - 1), exact).astype(np.float64)
        while level in self._waiting:  # the node is a right half: its parent ends here too
            left, left_refined = self._waiting.pop(level)
            exact, halves = left + exact, left_refined + refined
            weight = 2 * variance_from_below(level)
            level += 1
            own = self._release((level, (self.rounds >> level) - 1), exact)
            refined = (weight * own + halves) / (weight + 1)
        self._waiting[level] = exact, refined
        return self.release()

    def release(self) -> Floats:
        """Return the latest estimate again; costs nothing.  Needs one round at least."""
        total: Floats = np.sum([refined for _, refined in self._waiting.values()], axis=0)
        return total


def variance_from_below(level: int) -> float:
    """Return the variance of a refined node, in units of one node's: 1, ⅔, 4/7 and so on."""
    variance = 1.0
    for _ in range(level):
        variance = 2 * variance / (2 * variance + 1)
    return variance


def error(rounds: int, *, refined: bool) -> float:
    """Return the root mean square error of all prefixes, for node noise of variance 1.

    A prefix is the sum of the nodes at the ones of its number, with independent noises.
    """
    variances = [variance_from_below(level) if refined else 1.0 for level in range(rounds.bit_length())]
    counts = [sum(t >> level & 1 for t in range(1, rounds + 1)) for level in range(len(variances))]
    return math.sqrt(sum(v * n for v, n in zip(variances, counts, strict=True)) / rounds)
