"""Counts of any number of public groups."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaccount.errors import InputError
from dpaccount.proof import Theorem, assume_cell
from mechanisms.shared.counts import CellCounts, NoisyCounts

MAX_GROUPS = 2**20  #: groups of one release


@dataclass(frozen=True)
class CountByGroup(CellCounts, NoisyCounts):
    """Release how many rows are in each of `cells` public groups, numbered from 0.

    A number is rounded down; outside the groups (NaN and infinities too) it counts nowhere.  Noise is of
    `law` and `scale`, independent for every group, and costs the same however many there are: a replaced
    row leaves one group and enters another, an added one enters one.  `law` is ``laplace`` (pure ε) or
    ``gaussian`` (the exact curve of the discrete Gaussian, whose standard deviation is `scale`, a double
    exactly).  The set of groups must be public; for unknown keys, which only the data reveal, use
    `stable-histogram`.
    """

    source: ClassVar[str] = "Dwork, McSherry, Nissim & Smith 2006; Canonne, Kamath & Steinke 2020"
    status: ClassVar[str] = "sound"

    cells: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.cells <= MAX_GROUPS:
            raise InputError(f"cells is {self.cells}", f"needed 1 ... {MAX_GROUPS}")

    def proof(self, delta: Fraction) -> Theorem:
        """Let a row add 1 to one group or to none; noise by the law."""
        row = self.zero_or_one() if self.cells == 1 else assume_cell("counts", self.relation, "movement")
        return self.noisy_counts("count-by-group", row, delta)
