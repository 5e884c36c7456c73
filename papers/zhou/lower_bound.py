"""Theorem 1 of Zhou & Tan 2020: its order against regret on the hard functions that its proof is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any, ClassVar

import numpy as np

from bandits.local_privacy.subject import LocalRewards
from bandits.simulation.potential_rewards import PotentialRewards
from bandits.space.points import MAX_POINTS, Axis, Space, grid
from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import one_of
from dpaccount.errors import InputError, out_of_range
from papers.reproduction import TrialWorld
from papers.zhou.hard_functions import HALF_WIDTHS, HARD_KERNELS, SMOOTHNESS, HardFunctions, hardest
from papers.zhou.local_bounds import lower_rate
from papers.zhou.panels import LENGTHSCALE, PANEL_POINTS, course, rational

SE = HARD_KERNELS[0]


@dataclass(frozen=True)
class HardWorld(TrialWorld):
    """The hard functions of appendix A for one ε and horizon, ‖f‖ ≤ 1 and E y² ≤ 1.

    People are offered 100 points of a line; of [0, 1]^d with d of 2 or 3 the middles of the functions' cells,
    each the best of one function: grids that are finer than cells would have thousands of points.
    """

    serves: ClassVar[type[Any]] = LocalRewards

    rounds: int
    kernel: str = SE
    lengthscale: Fraction = LENGTHSCALE
    epsilon: Fraction = Fraction(1)
    dimension: int = 1

    def __post_init__(self) -> None:
        """Refuse a kernel that is none, and what makes no functions."""
        one_of("kernel", self.kernel, HARD_KERNELS)
        if self.dimension not in HALF_WIDTHS:
            raise out_of_range("a dimension of 1, 2 or 3")
        if not (1 <= 1000 * self.epsilon <= 30_000 and 1 <= 1000 * self.lengthscale <= 1000):
            raise out_of_range("epsilon in [.001, 30] and lengthscale in [.001, 1]")

    @property
    def row(self) -> dict[str, object]:
        """Return the kernel and ε."""
        return {"data": "hard functions", "kernel": self.kernel, "epsilon": float(self.epsilon)}

    @property
    def functions(self) -> HardFunctions:
        """Return the functions for the proof's Δ with C = 1; from ε = ln 2 on those of ln 2, the hardest."""
        epsilon = min(float(self.epsilon), log(2))
        return hardest(self.kernel, float(self.lengthscale), epsilon, self.rounds, self.dimension)

    @property
    def places(self) -> Space:
        """Return the points that people are offered."""
        if self.dimension == 1:
            return grid(PANEL_POINTS)
        middles = self.functions.middles()
        if len(middles) > MAX_POINTS:
            raise InputError(f"{len(middles)} functions, at most {MAX_POINTS}", "take a longer lengthscale")
        names = tuple(" ".join(f"{at:.6g}" for at in each) for each in middles)
        source = f"[0, 1]^{self.dimension}, the middles of {len(names)} cells"
        return Space(names, middles.tobytes(), tuple(map(Axis, "xyz"[: self.dimension])), source=source)

    def people(self, seed: int) -> PotentialRewards:
        """Return one trial's people, under one of the functions drawn uniformly."""
        return self.functions.rewards(self.places.points, self.rounds, seed)

    def given(self, made_by: type[Any]) -> dict[str, object]:
        """Return the points, their kernel and ε, with B = 2Δ and B + R, the size of a non-zero reward."""
        peak, size = 2 * self.functions.gap, self.functions.size()
        points = {"points": PANEL_POINTS} if self.dimension == 1 else {"space": self.places}
        return {
            "rounds": self.rounds,
            "kernel": self.kernel,
            "lengthscale": self.lengthscale,
            **points,
            "epsilon": self.epsilon,
            "bound": rational(peak),
            # About √T at α = 1, unlike in Theorems 2 and 3: orders match across classes only.
            "noise_bound": rational(size - peak),
        }

    def regrets(self, bandit: Any, seed: int) -> Floats:
        """Return largest mean − mean of every point played."""
        return course(bandit, self.people(seed), seed)

    def by_chance(self, seed: int) -> Floats:
        """Return largest mean − mean over the points."""
        return np.full(self.rounds, self.people(seed).at_random / self.rounds)

    def details(self, bandit: Any, seeds: Sequence[int], runs: Floats) -> dict[str, object]:
        """Return Theorem 1's orders, without their constants, and what was measured over the larger."""
        smoothness = None if self.kernel == SE else SMOOTHNESS
        rate = lower_rate(self.rounds, float(self.epsilon), smoothness, self.dimension)
        measured = float(runs.sum(axis=1).mean())
        return {
            "random": round(sum(self.people(seed).at_random for seed in seeds) / len(seeds), 2),
            "gap": round(self.functions.gap, 6),
            "functions": self.functions.count,
            "rate": round(rate.value, 2),
            "rate_without_privacy": round(rate.without, 2),
            "measured_over_rate": round(measured / rate.value, 4),
            "outside": list(rate.outside),
        }
