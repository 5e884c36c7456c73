"""One of several public candidates, chosen by the rows' votes: the exponential mechanism."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaccount.proof import Theorem, exponential
from mechanisms.shared.votes import ChoiceByVotes
from mechanisms.subject import shown_to_all


@dataclass(frozen=True)
class Exponential(ChoiceByVotes):
    """Choose one of `candidates` with weight ∝ exp(`rate`·total).

    Every row gives each candidate an integer vote, rounded down and clipped to 0 … `limit` (NaN is 0).
    The choice is exact: the largest total plus Gumbel noise, compared without rounding.
    """

    source: ClassVar[str] = "McSherry & Talwar 2007, Section 2; Durfee & Rogers 2019 (bounded range)"
    status: ClassVar[str] = "sound"

    def proof(self, delta: Fraction) -> Theorem:
        """Bound the range of the change of totals, hence of the change of log-probabilities."""
        return shown_to_all(exponential(self.totals(), self.rate, "choice"), "exponential", delta)
