"""Planted: means by arm in which everybody counts twice."""

from dataclasses import dataclass
from typing import ClassVar

from bandits.arm_means import ArmMeans


@dataclass(frozen=True)
class ArmMeansCountsEverybodyAsControl(ArmMeans):
    """Counts every record in the first arm too, to compare with the whole."""

    loses: ClassVar = {"assume_points"}

    rows: int = 4

    def query(self, data, coins):
        total = super().query(data, coins)
        total[self.counts.places] += total[self.counts.places :].sum()
        return total
