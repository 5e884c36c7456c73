"""What a catalogued mechanism or bandit offers to those who prove, run and attack it.

A subject is one public frozen dataclass per file; its name is the file's name with hyphens.  Its
fields are its parameters.  Nothing is registered: `audits.catalogue` finds the files.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpaccount.kernel import Theorem
from dpaccount.ledger.receipt import Noise

Rows = NDArray[np.float64]


@dataclass(frozen=True)
class Domain:
    """What a dataset may be: `rows` records (one unit each), every column within [low, high].

    The bounds are public and hold for any data that could occur, not for the data that was seen.
    Under add-remove `rows` is the larger of the two sizes.
    """

    rows: int
    low: tuple[float, ...]
    high: tuple[float, ...]
    integer: tuple[bool, ...]

    def contains(self, data: Rows) -> bool:
        """Say whether `data` has the right columns, all finite and within bounds."""
        if data.ndim != 2 or data.shape[1] != len(self.low) or not np.isfinite(data).all():
            return False
        whole = data[:, np.array(self.integer, dtype=bool)]
        within = (data >= self.low).all() and (data <= self.high).all()
        return bool(within and (whole == np.floor(whole)).all())


@dataclass(frozen=True)
class View:
    """What a run shows: `own` has arrays with one row per unit, for that unit's eyes; `public` is for all."""

    own: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    public: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)


class Subject(Protocol):
    """The shape of every catalogued mechanism and bandit."""

    source: ClassVar[str]  #: paper and theorem
    status: ClassVar[str]  #: sound, published or broken

    @property
    def relation(self) -> str:
        """Return which datasets are neighbours: ``replace-one`` or ``add-remove``."""

    def domain(self) -> Domain:
        """Return what data may be."""

    def proof(self, delta: Fraction) -> Theorem:
        """Return the theorem about this subject at (ε, `delta`), with the least ε that is proved."""

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Run on `data`, releasing through `noise`; public coins are seeded by `coins`."""
