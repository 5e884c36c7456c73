"""Running sums under continual release: by a factorisation of the matrix of sums, or over a binary tree.

`add` takes a round's value, releases what it must and returns the prefix sum; `release` returns the latest
prefix sum again, any number of times.  Of a factorisation rows of C·x are released, and prefix sums estimated
by A·C⁻¹: the same recursion that forms a row of C·x from past values, exactly in integers, recovers values
from released rows, in floating point.  What comes after the release reads released rows only.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpaccount.noise.samplers import Floats, Integers
from mechanisms.continual.factors import DECAY

Values = NDArray[Any]  #: integers on the way in, floating-point numbers on the way out
Release = Callable[[int, Integers], Integers]  #: round (from 0) and exact row ↦ released row


class Sums(Protocol):
    """Prefix sums under continual release: trees, factorisations, and restarts of either."""

    rounds: int

    def add(self, value: Integers) -> Values:
        """Add the next round's value (an integer array, always of one shape); return the prefix sum."""

    def release(self) -> Values:
        """Return the latest released prefix sum; costs nothing."""


class FactorSums:
    """Prefix sums in grid units from a factor C; `history` makes its memory for a width and a type.

    Values are vectors of `width` integers.  The estimate is in floating point; it reads releases only.
    """

    def __init__(self, history: "Callable[[int, type], History]", width: int, release: Release) -> None:
        self._release = release
        # Two memories of one shape that never meet: exact private values on the way in, and on the way out
        # what released rows say of them.
        self._exact = history(width, np.int64)
        self._solved = history(width, np.float64)
        self._total = np.zeros(width)
        self.rounds = 0

    def add(self, value: Integers) -> Floats:
        """Add the next round's value; release its row and return the estimated prefix sum."""
        row = self._exact.past() + self._exact.diagonal() * value
        noisy = self._release(self.rounds, row)
        self._exact.push(value)
        solved = (noisy - self._solved.past()) / self._solved.diagonal()
        self._solved.push(solved)
        self._total = self._total + solved
        self.rounds += 1
        return self._total

    def release(self) -> Floats:
        """Return the latest estimate."""
        return self._total


class Window:
    """The memory of a Toeplitz factor: the last values, as many as it has weights."""

    def __init__(self, weights: Integers, width: int, kind: type) -> None:
        self._own = int(weights[0])
        self._last: Values = np.zeros((max(len(weights) - 1, 0), width), dtype=kind)
        # stored twice, so that any rotation is a slice: the newest value has age 1
        self._weights: Values = np.concatenate([weights[1:], weights[1:]]).astype(kind)
        self._next = 0

    def past(self) -> Values:
        """Return the past's part of the next row: Σ_k c_k·value[t − k]."""
        size = len(self._last)
        turned = self._weights[::-1][size - self._next : 2 * size - self._next]
        return turned @ self._last

    def push(self, value: Values) -> None:
        """Remember a round's value in the place of the oldest."""
        if len(self._last):
            self._last[self._next] = value
            self._next = (self._next + 1) % len(self._last)

    def diagonal(self) -> int:
        """Return the next row's weight of its own round: c_0."""
        return self._own


class Buffers:
    """The memory of a Toeplitz factor whose weights are sums of powers: a decaying sum for each of them.

    A pair of integers over 2^`DECAY`, a weight w and a decay λ, keeps b ← ⌊λb⌋ + w·value: in integers the
    decay is floored, which rule `buffered` counts; in floating point it is not.  Integers stay exact
    while sums stay below 2^61.
    """

    def __init__(self, pairs: Sequence[tuple[int, int]], width: int, kind: type) -> None:
        self._exact = kind is np.int64
        self._weights: Values = np.array([[weight] for weight, _ in pairs], dtype=kind).reshape(-1, 1)
        self._decays: Values = np.array([[decay] for _, decay in pairs], dtype=kind).reshape(-1, 1)
        self._sums: Values = np.zeros((len(pairs), width), dtype=kind)

    def past(self) -> Values:
        """Return the sum of all decaying sums."""
        return self._sums.sum(axis=0)

    def push(self, value: Values) -> None:
        """Let the sums decay, and add the value to each."""
        if self._exact:
            high, low = self._sums >> 32, self._sums & 0xFFFFFFFF  # the product would overflow
            self._sums = high * self._decays * 2 ** (32 - DECAY) + (low * self._decays >> DECAY)
        else:
            self._sums = self._sums * (self._decays / 2.0**DECAY)
        self._sums += self._weights * value

    def diagonal(self) -> int:
        """Return 2^`DECAY`: the weight 1."""
        return int(2**DECAY)


class AllRows:
    """The memory of an explicit factor: all past values."""

    def __init__(self, factor: Integers, width: int, kind: type) -> None:
        self._factor: Values = factor.astype(kind)
        self._values: Values = np.zeros((len(factor), width), dtype=kind)
        self._rounds = 0

    def past(self) -> Values:
        """Return the next row of the factor times the past."""
        return self._factor[self._rounds, : self._rounds] @ self._values[: self._rounds]

    def push(self, value: Values) -> None:
        """Remember a round's value."""
        self._values[self._rounds] = value
        self._rounds += 1

    def diagonal(self) -> int:
        """Return the next diagonal entry."""
        return int(self._factor[self._rounds, self._rounds])


#: The past values that a factor's next row needs.
History = Window | Buffers | AllRows


class Restarting:
    """Prefix sums without a horizon: epochs of 1, 2, 4, … rounds, each by a fresh `make(epoch, rounds)`.

    A round belongs to one epoch, so epochs compose in parallel: the whole costs as much as the most
    costly epoch, while their errors add.
    """

    def __init__(self, make: Callable[[int, int], Sums]) -> None:
        self._make = make
        self._epoch = 0
        self._sums = make(0, 1)
        self._finished: Values | None = None
        self.rounds = 0

    def add(self, value: Integers) -> Values:
        """Add the next round's value; start a new epoch if the last one is full."""
        if self._sums.rounds == 2**self._epoch:
            self._finished = self.release()
            self._epoch += 1
            self._sums = self._make(self._epoch, 2**self._epoch)
        self._sums.add(value)
        self.rounds += 1
        return self.release()

    def release(self) -> Values:
        """Return the finished epochs' estimates and the present one's, added."""
        return self._sums.release() if self._finished is None else self._finished + self._sums.release()


# ------------------------------------------------------------------ trees

Node = Callable[[tuple[int, int], Integers], Integers]  #: level and place, and exact sum ↦ released sum


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

    def __init__(self, release: Node, depth: int = 64) -> None:
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


class HonakerSums:
    """Prefix sums from a binary tree, each node refined by its descendants (Honaker 2015, from below).

    Every complete node is released, odd ones too.  A node's own noisy sum has variance 1, the sum of
    its two refined halves 2v: weighted against each other they leave 2v/(2v + 1), towards ½.  That is
    post-processing: the cost is the plain tree's.  Memory is two sums per level.
    """

    def __init__(self, release: Node, depth: int = 64) -> None:
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
