"""Prefix sums of a stream of vectors under continual release: binned Toeplitz factorisation."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaccount.errors import InputError
from dpaccount.kernel import Theorem
from dpaccount.ledger.receipt import Noise
from mechanisms import continual, factors
from mechanisms.continual import PrefixSums
from mechanisms.streams import Bins, formed
from mechanisms.subject import Rows, View


@dataclass(frozen=True)
class BinnedToeplitz(PrefixSums):
    """Release the sum of the first t vectors after every round t ≤ `rounds`; a unit is one round.

    As √Toeplitz, with rows that are constant on bins of past rounds: up to `size` bins of each power
    of two, so that memory and time grow with the logarithm of the rounds, exactly in integers.
    Vectors of `columns` numbers are clipped to ℓ2 norm `radius` and truncated to steps of 2^−`bits`;
    rows get noise of standard deviation `sigma` per coordinate.
    """

    source: ClassVar[str] = "Andersson & Pagh 2024 (binning); Fichtenberger, Henzinger & Upadhyay 2023"
    status: ClassVar[str] = "sound"

    rounds: int = 32
    size: int = 8

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense."""
        super().__post_init__()
        if not 1 <= self.size <= 1024 or self.rounds > 512:
            raise InputError("needed size in 1 ... 1024 and rounds <= 512 (the proof holds the matrix)")

    def proof(self, delta: Fraction) -> Theorem:
        """Measure the longest column of the factor exactly; noise by the better of two Gaussian rules."""
        return continual.proof(
            "binned-toeplitz", factors.lower(formed(self._history, self.rounds)), self, delta
        )

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release row by row; show all prefix sums, in the data's own units."""
        return continual.play(self._history, self, data, noise)

    def _history(self, width: int, kind: type) -> Bins:
        return Bins(self.rounds, self.size, width, kind)
