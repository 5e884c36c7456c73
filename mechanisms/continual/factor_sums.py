"""Continual release by factorisation: releases rows of C·x, estimates prefix sums by A·C⁻¹.

`add` takes a round's value, releases one row and returns the estimate of the prefix sum; `release`
returns the latest estimate again, any number of times.  The same recursion that forms a row of C·x
from past values, exactly in integers, recovers values from released rows, in floating point: what
comes after the release reads released rows only.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpaccount.noise.samplers import Integers
from mechanisms.continual.factors import DECAY

Floats = NDArray[np.float64]
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
