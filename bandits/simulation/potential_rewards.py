"""What every point of a finite set would pay every person: rows that a local bandit reads one entry of."""

from dataclasses import dataclass

from bandits.statistics.arrays import Floats, Integers
from dpaccount.errors import InputError


@dataclass(frozen=True)
class PotentialRewards:
    """Mean reward of every point, and what each would pay each person: `rows` is [people, points].

    `bound` (B) and `noise_bound` (R) are what a learner knows of |mean| and |noise|: public numbers, which
    the rewards themselves may exceed.
    """

    means: Floats
    rows: Floats
    bound: float
    noise_bound: float

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or self.rows.shape[1] != len(self.means):
            raise InputError(f"rows have the shape {self.rows.shape}", f"needed {len(self.means)} columns")

    def regrets(self, chosen: Integers) -> Floats:
        """Return largest mean − mean of the point that each person was given."""
        return self.means.max() - self.means[chosen]

    @property
    def at_random(self) -> float:
        """Return the regret that uniform choices are expected to have in all."""
        return float(len(self.rows) * (self.means.max() - self.means.mean()))
