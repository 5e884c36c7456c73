"""Theorem 1 of Zhou & Tan 2020: its order against regret on the hard functions that its proof is about."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from math import log
from typing import Any

import numpy as np

from bandits.ldp_ata_gp_ucb import LdpAtaGpUcb
from bandits.ldp_gp_ucb import LdpGpUcb
from bandits.local_posterior import LocalPosterior
from bandits.local_privacy.subject import LocalRewards
from bandits.papers.reproduction import Cell
from bandits.papers.zhou.hard_functions import HARD_KERNELS, SMOOTHNESS, HardFunctions, hardest
from bandits.papers.zhou.local_bounds import Setting, lower_rate
from bandits.papers.zhou.panels import PANEL_POINTS, channel_of, course, rational
from bandits.simulation.potential_rewards import PotentialRewards
from bandits.statistics.arrays import Floats

SE, MATERN = HARD_KERNELS


@dataclass(frozen=True)
class Hard:
    """The hard functions of appendix A for one ε and horizon, ‖f‖ ≤ 1 and E y² ≤ 1."""

    kernel: str
    lengthscale: Fraction
    epsilon: Fraction
    rounds: int

    @property
    def functions(self) -> HardFunctions:
        """Return them, Δ as the proof has it with C = 1; above ε = ln 2 those of ln 2: none are harder."""
        return _hardest(self.kernel, float(self.lengthscale), min(float(self.epsilon), log(2)), self.rounds)

    def world(self, seed: int) -> PotentialRewards:
        """Return one trial's people, under one of the functions drawn uniformly."""
        return self.functions.rewards(np.linspace(0, 1, PANEL_POINTS), self.rounds, seed, moment=1.0)

    def cell(self, name: str, kind: type[LocalRewards], **more: Any) -> Cell:
        """Return an algorithm configured with B = 2Δ and B + R, the size of a non-zero reward."""
        peak, size = 2 * self.functions.gap, self.functions.size(1.0)
        subject = kind(
            rounds=self.rounds,
            kernel=self.kernel,
            lengthscale=self.lengthscale,
            points=PANEL_POINTS,
            epsilon=self.epsilon,
            bound=rational(peak),
            noise_bound=rational(size - peak),
            **more,
        )
        row = {
            "data": "hard functions",
            "kernel": self.kernel,
            "epsilon": float(self.epsilon),
            "algorithm": name,
            "constants": more.get("constants"),
            "channel": subject.channel,
        }
        return Cell(row, partial(_on_hard, self, subject), subject=subject, details=self.details)

    def details(self, seeds: Sequence[int], runs: Floats) -> dict[str, Any]:
        """Return Theorem 1's orders, without their constants, and what was measured over the larger."""
        name, smooth = (SE, None) if self.kernel == SE else ("matern", SMOOTHNESS)
        rate = lower_rate(Setting(name, self.rounds, float(self.epsilon), smoothness=smooth))
        measured = float(runs.sum(axis=1).mean())
        return {
            "random": round(sum(self.world(seed).at_random for seed in seeds) / len(seeds), 2),
            "gap": round(self.functions.gap, 6),
            "functions": self.functions.count,
            "rate": round(rate.value, 2),
            "rate_without_privacy": round(rate.without, 2),
            "measured_over_rate": round(measured / rate.value, 4),
            "outside": list(rate.outside),
        }


def _on_hard(hard: Hard, subject: LocalRewards, seed: int) -> Floats:
    return course(subject, hard.world(seed), seed)


@cache
def _hardest(kernel: str, lengthscale: float, epsilon: float, rounds: int) -> HardFunctions:
    return hardest(kernel, lengthscale, bound=1.0, epsilon=epsilon, rounds=rounds, moment=1.0)


def cells(rounds: int) -> list[Cell]:
    """Return what is measured on the functions that Theorem 1's proof builds, by kernel and ε."""
    listed = []
    for kernel, lengthscale in ((SE, Fraction(1, 20)), (MATERN, Fraction(1, 5))):
        for epsilon in (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4)):
            hard = Hard(kernel, lengthscale, epsilon, rounds)
            listed.append(hard.cell("ldp-ata-gp-ucb", LdpAtaGpUcb, channel="laplace", constants="practical"))
            listed.append(hard.cell("ldp-gp-ucb", LdpGpUcb, channel=channel_of(epsilon)))
            listed.append(hard.cell("local-posterior", LocalPosterior, channel=channel_of(epsilon)))
    return listed
