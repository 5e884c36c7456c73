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
HELD: Final = 2**22  #: rows that are held before those that cannot count are left out


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


class KeptRows:
    """The rows that count, at most `most` of each unit, of all that were added."""

    def __init__(self, most: int) -> None:
        """Begin without rows."""
        self._most, self._least = most, 0
        self._parts: list[tuple[Words, Digests, Floats]] = []
        self._held = 0

    def add(self, units: Words, digests: Digests, codes: Floats) -> None:
        """Add rows, each with the key of its unit, its digests and its codes."""
        self._parts.append((units, digests, codes))
        self._held += len(units)
        if self._held > max(HELD, 2 * self._least):
            self._shorten()

    def _shorten(self) -> None:
        """Leave out the rows that cannot count, and put the others in order."""
        units, digests, codes = (np.concatenate(each) for each in zip(*self._parts, strict=True))
        order = np.lexsort((digests[:, 1], digests[:, 0], units[:, 1], units[:, 0]))
        units = units[order]
        new = np.ones(len(units), dtype=bool)
        new[1:] = (units[1:] != units[:-1]).any(axis=1)
        first = np.flatnonzero(new)
        counts = np.arange(len(units)) - np.repeat(first, np.diff(first, append=len(units))) < self._most
        order = order[counts]
        self._parts = [(units[counts], digests[order], codes[order])]
        self._held = self._least = len(order)

    def rows(self) -> tuple[Words, Floats]:
        """Return the keys of the units of the rows that count, in their order, and their codes."""
        if not self._parts:
            return np.zeros((0, 2), dtype=np.uint64), np.zeros((0, 0))
        self._shorten()
        units, _, codes = self._parts[0]
        return units, codes
