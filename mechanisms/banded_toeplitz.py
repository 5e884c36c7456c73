"""Prefix sums of a vector stream under continual release: banded Toeplitz factorisation."""

from dataclasses import dataclass
from typing import ClassVar

from dpaccount.errors import InputError
from dpaccount.noise.samplers import Integers
from mechanisms.sqrt_toeplitz import SqrtToeplitz


@dataclass(frozen=True)
class BandedToeplitz(SqrtToeplitz):
    """Release the sum of the first t vectors after every round t ≤ `rounds`; a unit is one round.

    As √Toeplitz, with the first `band` coefficients only: memory and time per round are those of the
    band.  Good while the band is a fair share of the rounds; `buffered-toeplitz` is good for any.
    Vectors of `columns` numbers are clipped to ℓ2 norm `radius` and truncated to steps of 2^−`bits`;
    rows get noise of standard deviation `sigma` per coordinate.
    """

    source: ClassVar[str] = "Kalinin & Lampert 2024 (banded square root); Choquette-Choo et al. 2023"
    named: ClassVar[str] = "banded-toeplitz"

    band: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.band <= 4096:
            raise InputError(f"band is {self.band}", "needed 1 ... 4096")

    def _weights(self) -> Integers:
        return super()._weights()[: self.band]
