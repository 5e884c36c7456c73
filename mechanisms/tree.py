"""Running sums over a binary tree: every prefix from a few noisy nodes."""

from collections.abc import Callable

import numpy as np

from dpaccount.noise import Integers

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
        total: Integers = np.sum(list(self._noisy.values()), axis=0)
        return total

    def terms(self) -> int:
        """Return how many noisy nodes the present prefix is made of: the ones of the round's number."""
        return self.rounds.bit_count()
