"""Prefix sums of a vector stream under continual release: √Toeplitz factorisation."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaccount.noise.samplers import Integers
from dpaccount.proof import Theorem
from mechanisms.continual import factors, prefix_sums
from mechanisms.continual.prefix_sums import FactorRows
from mechanisms.continual.sums import History, Window


@dataclass(frozen=True)
class SqrtToeplitz(FactorRows):
    """Release the sum of the first t vectors after every round t ≤ `rounds`; a unit is one round.

    Prefix sums are A = C·C with the Toeplitz factor c_k = C(2k, k)/4^k; rows of C·x are released and
    C is applied to them.  Near the least error of all; memory grows with the rounds.
    Vectors of `columns` numbers are clipped to ℓ2 norm `radius` and truncated to steps of 2^−`bits`;
    rows get noise of standard deviation `sigma` per coordinate.
    """

    source: ClassVar[str] = "Fichtenberger, Henzinger & Upadhyay 2023; Denisov et al. 2022 (adaptive)"
    status: ClassVar[str] = "sound"
    named: ClassVar[str] = "sqrt-toeplitz"

    def proof(self, delta: Fraction) -> Theorem:
        """Measure the first column of the factor, the longest; noise by the better of two Gaussian rules."""
        return prefix_sums.proof(self.named, [self._weights().tolist()], self, delta)

    def history(self, width: int, kind: type) -> History:
        """Return a window of past rows, each with its weight."""
        return Window(self._weights(), width, kind)

    def _weights(self) -> Integers:
        return factors.sqrt_toeplitz(self.rounds)
