"""Planted: the plan finder with node noise calibrated to one leaf, as if a person were in one node."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from bandits.plan_finder import ARMS, PlanFinder
from dpaccount.proof import (
    REPLACE_ONE,
    assume_covers,
    assume_points,
    assume_view,
    billboard,
    differences,
    lattice_gaussian,
    nodes,
    parallel,
)
from dpaccount.proof.search import approximate


@dataclass(frozen=True)
class LeafCalibrated(PlanFinder):
    """Each node is declared to cover its newest batch only, so that one leaf's noise seems enough."""

    status: ClassVar[str] = "broken"
    sigma: Fraction | None = Fraction(271, 32)

    def proof(self, delta):
        basis = [tuple(sign * int(i == j) for j in range(ARMS)) for i in range(ARMS) for sign in (1, -1)]
        sums = assume_points("arm-sums", [(0,) * ARMS, *basis], REPLACE_ONE, "movement")
        report = assume_points("report-card", [(0, 0), (1, 1), (-1, 1)], REPLACE_ONE, "movement")
        size = self.plan[0]
        newest = [(last - size + 1, last) for _, last in self.covers()]
        learning = nodes(
            lattice_gaussian(differences(sums), self.noise_scale**2, "arm-sums"),
            assume_covers("arm-sums", newest, "movement"),
        )
        measuring = nodes(
            lattice_gaussian(differences(report), self.report_sigma**2, "report-card"),
            assume_covers("report-card", [self.last()], "movement"),
        )
        both = parallel(approximate(learning, delta), approximate(measuring, delta))
        return billboard(both, assume_view("leaf-calibrated", "others", "replay"))
