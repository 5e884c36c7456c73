"""Which rows of a unit count, where it has more than may: the first in the order of a digest of their cells.

The digest is of a row's codes in the columns of the study's first edition, before any condition, and then of
those in columns that later editions declared.  It has no key.  So the choice depends on the unit's own rows
alone, not on their order, nor on what is measured, nor on the kind of file; and rows of one digest are equal
in every declared column.  An order by the cells themselves would keep the smallest ones.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpaccount.noise.samplers import Floats

Words = NDArray[np.uint64]  #: [n, 2]
Digests = Words

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_FACTORS: Final = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))
_ENDS, _BEGINS = np.uint64(2**24 - 1), np.uint64(40)  #: bits of a digest that are sorted by first
HELD: Final = 2**20  #: rows that are held before those that cannot count are left out
PARTS_OF_UNITS: Final = 32  #: in which they are held, each with as many of them


def digests_of(first: Floats, later: Floats) -> Digests:
    """Return two words for each row: of its codes in the `first` columns, and in the `later` ones."""
    return np.column_stack([_digest(first), _digest(later)])


def _digest(codes: Floats) -> NDArray[np.uint64]:
    """Return 64 bits of each row that look random and are alike for equal rows (steps of splitmix64)."""
    bits: NDArray[np.uint64] = np.zeros(len(codes), dtype=np.uint64)
    for column in (codes + 0.0).T:  # of two zeros one
        bits = (bits + _GOLDEN) ^ np.ascontiguousarray(column).view(np.uint64)
        for shift, factor in _FACTORS:
            bits = (bits ^ bits >> np.uint64(shift)) * factor
        bits ^= bits >> np.uint64(31)
    return bits


def order_of(units: Words, digests: Digests) -> NDArray[np.int64]:
    """Return an order of rows in which those of a unit are together, by their digests.

    One sort of 64 bits, some of the unit's and some of the digest's, is faster than one of four words.  It
    leaves few rows in doubt, which are sorted whole.
    """
    together = _bits(units) & ~_ENDS | digests[:, 0] >> _BEGINS
    order = np.argsort(together)
    together = together[order]
    alike = together[1:] == together[:-1]
    groups = together & ~_ENDS
    unlike = _changes(units[order]) | (alike & _changes(digests[order]) if alike.any() else alike)
    unlike &= groups[1:] == groups[:-1]
    if unlike.any():
        doubt = np.flatnonzero(np.isin(groups, groups[1:][unlike]))
        some = order[doubt]
        order[doubt] = some[np.lexsort((*digests[some].T[::-1], *units[some].T[::-1], groups[doubt]))]
    return order


def _bits(units: Words) -> NDArray[np.uint64]:
    """Return 64 bits of each unit, of which the first ones look random."""
    return np.asarray((units[:, 0] ^ units[:, 1] * _GOLDEN) * _FACTORS[0][1])


def _changes(words: Words) -> NDArray[np.bool_]:
    """Return which rows but the first differ from the one before."""
    first, second = words.T
    return np.asarray((first[1:] != first[:-1]) | (second[1:] != second[:-1]))


class KeptRows:
    """The rows that count, at most `most` of each unit, of all that were added.

    They are held in shares by unit: what is sorted fits into the processor's cache.
    """

    def __init__(self, most: int) -> None:
        """Begin without rows."""
        self._shares = [_Share(most) for _ in range(PARTS_OF_UNITS)]

    def add(self, units: Words, digests: Digests, codes: Floats) -> None:
        """Add rows, each with the key of its unit, its digests and its codes."""
        numbers = (_bits(units) >> np.uint64(32)) % np.uint64(PARTS_OF_UNITS)
        order = np.argsort(numbers, kind="stable")
        ends = np.searchsorted(numbers[order], np.arange(PARTS_OF_UNITS + 1))
        for number in np.flatnonzero(np.diff(ends)).tolist():
            some = order[ends[number] : ends[number + 1]]
            self._shares[number].add(units[some], digests[some], codes[some])

    def parts(self) -> list[Floats]:
        """Return the codes of the rows that count, in no order."""
        return [share.rows()[1] for share in self._shares if share.held]

    def rows(self) -> tuple[Words, Floats]:
        """Return the keys of the units of the rows that count, a unit's in order, and the codes."""
        found = [share.rows() for share in self._shares if share.held]
        if not found:
            return np.zeros((0, 2), dtype=np.uint64), np.zeros((0, 0))
        units, codes = (np.concatenate(each) for each in zip(*found, strict=True))
        return units, codes


class _Share:
    """The rows that count of some units."""

    def __init__(self, most: int) -> None:
        self._most, self._least, self.held = most, 0, 0
        self._parts: list[tuple[Words, Digests, Floats]] = []

    def add(self, units: Words, digests: Digests, codes: Floats) -> None:
        """Add rows; leave out those that cannot count where too many are held."""
        self._parts.append((units, digests, codes))
        self.held += len(units)
        if self.held > max(HELD // PARTS_OF_UNITS, 3 * self._least // 2):
            self._shorten()

    def rows(self) -> tuple[Words, Floats]:
        """Return the keys of the units of the rows that count, in their order, and the codes."""
        self._shorten()
        units, _, codes = self._parts[0]
        return units, codes

    def _shorten(self) -> None:
        units, digests, codes = (np.concatenate(each) for each in zip(*self._parts, strict=True))
        order = order_of(units, digests)
        new = np.ones(len(units), dtype=bool)
        new[1:] = _changes(units[order])
        first = np.flatnonzero(new)
        rank = np.arange(len(units)) - np.repeat(first, np.diff(first, append=len(units)))
        order = order[rank < self._most]
        self._parts = [(units[order], digests[order], codes[order])]
        self.held = self._least = len(order)
