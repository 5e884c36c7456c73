"""Prefix sums of a vector stream under continual release: the optimal factorisation."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaccount.errors import InputError
from dpaccount.noise.samplers import Integers
from dpaccount.proof import Theorem
from mechanisms.continual import factors, prefix_sums
from mechanisms.continual.prefix_sums import FactorRows, Spread, explicit
from mechanisms.continual.sums import AllRows


@dataclass(frozen=True)
class OptimalFactor(FactorRows):
    """Release the sum of the first t vectors after every round t ≤ `rounds`; a unit is one round.

    Of all lower-triangular factors the one of least total squared error, by convex optimisation; for
    few rounds, where it is several per cent better than √Toeplitz.
    Vectors of `columns` numbers are clipped to ℓ2 norm `radius` and truncated to steps of 2^−`bits`;
    rows get noise of standard deviation `sigma` per coordinate.
    """

    source: ClassVar[str] = "Denisov, McMahan, Rush, Smith & Thakurta 2022; Li et al. 2015 (matrix mechanism)"
    status: ClassVar[str] = "sound"

    rounds: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rounds > factors.MAX_OPTIMAL_ROUNDS:
            raise InputError(
                f"the optimal factor is for at most {factors.MAX_OPTIMAL_ROUNDS} rounds", "use sqrt-toeplitz"
            )

    def proof(self, delta: Fraction) -> Theorem:
        """Measure the longest column of the factor exactly; noise by the better of two Gaussian rules."""
        return prefix_sums.proof("optimal-factor", factors.lower(self._factor()), self, delta)

    def history(self, width: int, kind: type) -> AllRows:
        """Return all past rows."""
        return AllRows(self._factor(), width, kind)

    def spread(self) -> Spread:
        """Return how every estimate combines the rows' noise."""
        return explicit(self._factor(), self.scale(self.sigma), self.columns)

    def _factor(self) -> Integers:
        return factors.optimal(self.rounds)
