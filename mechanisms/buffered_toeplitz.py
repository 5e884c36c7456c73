"""Prefix sums of a vector stream under continual release: Toeplitz factorisation by decaying buffers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaccount.errors import InputError
from dpaccount.proof import Theorem, buffered
from mechanisms.continual import factors, prefix_sums
from mechanisms.continual.factors import DECAY
from mechanisms.continual.prefix_sums import FactorRows
from mechanisms.continual.sums import Buffers, History
from mechanisms.shared import grid


@dataclass(frozen=True)
class BufferedToeplitz(FactorRows):
    """Release the sum of the first t vectors after every round t ≤ `rounds`; a unit is one round.

    As √Toeplitz, with `buffers` sums that decay instead of all past vectors: memory and time per
    round do not grow with the rounds, and six buffers err less than √Toeplitz itself.  Decays are
    floored to the grid; the proof accounts for the effect.  Vectors of `columns` numbers are
    clipped to ℓ2 norm `radius` and truncated to steps of 2^−`bits`; rows get noise of standard
    deviation `sigma`.
    """

    source: ClassVar[str] = "Dvijotham, McMahan, Pillutla, Steinke & Thakurta 2024; the grid is ours"
    status: ClassVar[str] = "sound"
    most: ClassVar[int] = 2**30
    finer: ClassVar[int] = DECAY

    buffers: int = 6

    def __post_init__(self) -> None:
        if not 2 <= self.buffers <= 64:
            raise InputError(f"buffers is {self.buffers}", "needed 2 ... 64")
        super().__post_init__()

    def reach(self) -> Fraction:
        """Return an upper bound on a row: all weights at once, on the largest vectors."""
        return self.radius * (1 + sum(Fraction(w, 2**DECAY - f) for w, f in self._pairs()))

    def proof(self, delta: Fraction) -> Theorem:
        """Measure a column, floors included; noise by the better of two Gaussian rules."""
        step = grid.step(self.bits + DECAY)
        # A proposal in floats: whether it bounds the movement, the rule `buffered` decides in balls.
        most = factors.buffered_movement_squared(
            self._pairs(), self.rounds, self.columns, 2 * float(self.radius), step
        )

        def rows(vectors: Theorem) -> Theorem:
            return buffered(vectors, self.rounds, self.columns, self._pairs(), DECAY, step, most)

        return prefix_sums.row_proof("buffered-toeplitz", self, delta, rows)

    def floors(self) -> float:
        """Return a bound on what the floors of all buffers add to an estimate, in steps of the noise."""
        return float(sum(Fraction(2**DECAY, 2**DECAY - f) for _, f in self._pairs())) * (1 + 1e-9)

    def history(self, width: int, kind: type) -> History:
        """Return the decaying sums of past rows."""
        return Buffers(self._pairs(), width, kind)

    def _pairs(self) -> list[tuple[int, int]]:
        return factors.buffers(self.rounds, self.buffers)
