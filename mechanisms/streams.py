"""Continual release by factorisation: rows of C·x in, prefix sums A·C⁻¹ of what was released out.

`add` takes a round's value, releases one row and returns the estimate of the prefix sum; `release`
returns the latest estimate again, as often as one likes.  The same recursion that forms a row of C·x
from past values, exactly in integers, recovers values from released rows, in floating point: what
comes after the release reads released rows only.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpaccount.noise import Integers
from mechanisms.factors import sqrt_toeplitz

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


class History(Protocol):
    """Past values in as much memory as a factor's next row needs."""

    def past(self) -> Values:
        """Return the past's part of the next row: Σ over earlier rounds s of C[t, s]·value[s]."""

    def push(self, value: Values) -> None:
        """Remember a round's value."""

    def own(self) -> int:
        """Return the next row's weight of its own round, C[t, t]."""


class FactorSums:
    """Prefix sums in grid units from a factor C; `history` makes its memory for a width and a type.

    Values are vectors of `width` integers.  The estimate is in floating point; it reads releases only.
    """

    def __init__(self, history: Callable[[int, type], History], width: int, release: Release) -> None:
        self._release = release
        self._exact = history(width, np.int64)
        self._found = history(width, np.float64)
        self._total = np.zeros(width)
        self.rounds = 0

    def add(self, value: Integers) -> Floats:
        """Add the next round's value; release its row and return the estimated prefix sum."""
        row = self._exact.past() + self._exact.own() * value
        noisy = self._release(self.rounds, row)
        self._exact.push(value)
        found = (noisy - self._found.past()) / self._found.own()
        self._found.push(found)
        self._total = self._total + found
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
        # twice over, so that any rotation is a slice: the newest value has age 1
        self._weights: Values = np.concatenate([weights[1:], weights[1:]]).astype(kind)
        self._next = 0

    def past(self) -> Values:
        """Return Σ_k c_k·value[t − k]."""
        size = len(self._last)
        turned = self._weights[::-1][size - self._next : 2 * size - self._next]
        total: Values = turned @ self._last
        return total

    def push(self, value: Values) -> None:
        """Remember a round's value in the place of the oldest."""
        if len(self._last):
            self._last[self._next] = value
            self._next = (self._next + 1) % len(self._last)

    def own(self) -> int:
        """Return c_0."""
        return self._own


class Bins:
    """The memory of a factor whose rows are constant on bins: about `width` · log₂(rounds / width) sums.

    A binned row gives all values of a bin the weight of its oldest one, so no entry exceeds the
    Toeplitz factor's, and every column is at most as long as its first.  Up to `size` bins of 2^j
    rounds are kept; one more, and the two oldest become one of 2^(j+1), exactly, in integers
    (after Andersson & Pagh 2024, on binning; the bins are those of an exponential histogram).
    """

    def __init__(self, rounds: int, size: int, width: int, kind: type) -> None:
        self._weights: Values = sqrt_toeplitz(rounds + 1).astype(kind)
        self._size, self._width = size, width
        self._levels: list[list[int]] = []  # by level: the places of its bins, oldest first
        self._sums: Values = np.zeros((0, width), dtype=kind)
        self._start = np.zeros(0, dtype=np.int64)  # by place: the first round in it; −1 where it is free
        self._free: list[int] = []
        self._rounds = 0

    def past(self) -> Values:
        """Return the sum over bins of weight times sum."""
        weights = np.where(self._start < 0, 0, self._weights[self._rounds - np.maximum(self._start, 0)])
        total: Values = weights @ self._sums
        return total

    def push(self, value: Values) -> None:
        """Open a bin for the value, and merge where a level overflows."""
        if not self._free:
            self._free = list(range(len(self._start), len(self._start) + self._size))
            self._sums = np.vstack(
                [self._sums, np.zeros((self._size, self._sums.shape[1]), self._sums.dtype)]
            )
            self._start = np.append(self._start, np.full(self._size, -1))
        place = self._free.pop()
        self._sums[place], self._start[place] = value, self._rounds
        self._rounds += 1
        level = 0
        while True:
            if level == len(self._levels):
                self._levels.append([])
            bins = self._levels[level]
            bins.append(place)
            if len(bins) <= self._size:
                return
            place, other = bins.pop(0), bins.pop(0)
            self._sums[place] += self._sums[other]
            self._sums[other], self._start[other] = 0, -1
            self._free.append(other)
            level += 1

    def own(self) -> int:
        """Return c_0."""
        return int(self._weights[0])


class AllRows:
    """The memory of an explicit factor: all past values."""

    def __init__(self, factor: Integers, width: int, kind: type) -> None:
        self._factor: Values = factor.astype(kind)
        self._values: Values = np.zeros((len(factor), width), dtype=kind)
        self._rounds = 0

    def past(self) -> Values:
        """Return the next row of the factor times the past."""
        total: Values = self._factor[self._rounds, : self._rounds] @ self._values[: self._rounds]
        return total

    def push(self, value: Values) -> None:
        """Remember a round's value."""
        self._values[self._rounds] = value
        self._rounds += 1

    def own(self) -> int:
        """Return the next diagonal entry."""
        return int(self._factor[self._rounds, self._rounds])


def formed(history: Callable[[int, type], History], rounds: int) -> Integers:
    """Return the factor whose rows a memory forms, as an integer matrix."""
    memory, factor = history(rounds, np.int64), np.zeros((rounds, rounds), dtype=np.int64)
    for t, unit in enumerate(np.eye(rounds, dtype=np.int64)):
        factor[t] = memory.past() + memory.own() * unit
        memory.push(unit)
    return factor


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
        """Add the next round's value, beginning a new epoch where the last one is full."""
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
