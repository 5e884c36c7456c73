"""Prefix sums of a stream of vectors under continual release: Toeplitz factorisation by decaying buffers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.proof import Theorem, buffered
from mechanisms.continual import factors, prefix_sums
from mechanisms.continual.factor_sums import Buffers, History
from mechanisms.continual.factors import DECAY
from mechanisms.continual.prefix_sums import PrefixSums
from mechanisms.continual.spread import Spread, toeplitz
from mechanisms.shared import grid
from mechanisms.subject import Rows, View


@dataclass(frozen=True)
class BufferedToeplitz(PrefixSums):
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
        """Validate the parameters."""
        if not 2 <= self.buffers <= 64:
            raise InputError(f"buffers is {self.buffers}", "needed 2 ... 64")
        super().__post_init__()

    def reach(self) -> Fraction:
        """Return an upper bound on a row: all weights at once, on the largest vectors."""
        return self.radius * (1 + sum(Fraction(w, 2**DECAY - f) for w, f in self._pairs()))

    def proof(self, delta: Fraction) -> Theorem:
        """Measure a column, floors included; noise by the better of two Gaussian rules."""
        step = grid.step(self.bits + DECAY)
        most = factors.buffered_movement_squared(
            self._pairs(), self.rounds, self.columns, 2 * float(self.radius), step
        )

        def rows(vectors: Theorem) -> Theorem:
            return buffered(vectors, self.rounds, self.columns, self._pairs(), DECAY, step, most)

        return prefix_sums.row_proof("buffered-toeplitz", self, delta, rows)

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release row by row; show all prefix sums, in the data's own units."""
        return prefix_sums.play(self._history, self, data, noise)

    def spread(self) -> Spread:
        """Return what every estimate makes of the rows' noise, and of the floors."""
        floors = float(sum(Fraction(2**DECAY, 2**DECAY - f) for _, f in self._pairs())) * (1 + 1e-9)
        scale = self.scale(self.sigma)
        return toeplitz(self._history, self.rounds, scale, self.columns, bits=self.finer, floors=floors)

    def _history(self, width: int, kind: type) -> History:
        return Buffers(self._pairs(), width, kind)

    def _pairs(self) -> list[tuple[int, int]]:
        return factors.buffers(self.rounds, self.buffers)
