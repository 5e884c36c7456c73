"""One of several public candidates, chosen by the rows' votes: permute-and-flip."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaccount.proof import Theorem, permute_and_flip
from mechanisms.shared.votes import ChoiceByVotes
from mechanisms.subject import shown_to_all


@dataclass(frozen=True)
class PermuteAndFlip(ChoiceByVotes):
    """Choose one of `candidates` with the largest total after exponential noise of `rate`.

    Every row gives each candidate an integer vote, rounded down and clipped to 0 … `limit` (NaN is 0).
    This is report noisy max with exponential noise, and never worse than the exponential mechanism.
    """

    source: ClassVar[str] = "McKenna & Sheldon 2020; Ding et al. 2021 (as report noisy max)"
    status: ClassVar[str] = "sound"
    flip: ClassVar[bool] = True

    def proof(self, delta: Fraction) -> Theorem:
        """Bound the range of the change of totals: pure ε, which composes as pure."""
        return shown_to_all(permute_and_flip(self.totals(), self.rate, "choice"), "permute-and-flip", delta)
