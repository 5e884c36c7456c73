"""Contextual bandit with a bound on its regret: regression, elimination and optimal designs, in phases.

A phase's first people are shown what a design draws among their candidates that earlier phases left.  Their
second moments are released once, as one noisy matrix, which says how far an estimate may be off in every
direction: what is surely worse than another candidate of the same person is not shown again.  The phase's
other people are shown the best by all releases, of those that the last estimate has for nearly the best.

`regret_bound` is for people who are independent draws of one law and all answer, and rewards of mean
½ + φᵀθ with ‖θ‖ ≤ `norm` and ‖φ‖ ≤ 1; `bandits.learning.elimination` has the proof.  Privacy needs none of
that.  The bound is of order d^(3/2)·√(T ln T)·(1 + 1/√ε), but for ln 1/δ.  Re-weighted regression (Chen, Li,
Rakhlin & Simchi-Levi 2025, arXiv 2502.13115) has the better rate √T + 1/ε; with constants that we could
prove, its bound was larger below 10⁹ people, as some of them are needed to learn the weights.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import count
from math import log, sqrt
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bandits.learning.contextual import Contextual, Learner
from bandits.statistics import continual_sums
from bandits.statistics.arrays import Integers
from bandits.statistics.first_moments import HALF
from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import REPLACE_ONE, Cover, Theorem, assume_covers, assume_rank_one

if TYPE_CHECKING:
    from bandits.learning.elimination import Precision

EVENTS = 200  #: four a phase, of which there are fewer than 50
MOST_FEATURES, MOST_PEOPLE, MOST_PER_LEARNER, MOST_NORM = 64, 10**9, 1000, 1000
PHASES = 8  #: of a small member of the family that tests stand for, or so


@dataclass(frozen=True)
class PhasedRegression(Contextual):
    """Jointly private contextual bandit with a regret theorem.

    `norm` bounds ‖θ‖.  With the linear kernel features are coordinates over 2, so that a coordinate that is
    the same for all gives rewards another level than ½.  In the first phase `first` people learn, then twice
    as many in each; `per_learner` others are served for each of them.  Fewer others lower the bound.
    """

    source: ClassVar[str] = "ours; Shariff & Sheffet 2018 in phases, with elimination and designs"

    kernel: str = "linear"
    norm: Fraction = HALF
    first: int = 64
    per_learner: int = 7

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.norm <= MOST_NORM:
            raise InputError(f"norm is {float(self.norm):.6g}", f"it is above 0, at most {MOST_NORM}")
        if self.first < 1 or not 0 <= self.per_learner <= MOST_PER_LEARNER:
            raise out_of_range(f"first >= 1 and per_learner in 0 ... {MOST_PER_LEARNER}")
        if self.rounds > MOST_PEOPLE or self.features.size > MOST_FEATURES:
            raise out_of_range(f"at most {MOST_PEOPLE} rounds and {MOST_FEATURES} features")

    def member(self, rounds: int) -> "PhasedRegression":
        """Return this bandit on at most `rounds` people, in several phases."""
        if rounds >= self.rounds:
            return self
        first = max(rounds // (PHASES * (1 + self.per_learner)), 1)
        return replace(self, rounds=rounds, first=min(first, self.first))

    @cached_property
    def stages(self) -> list[tuple[int, bool]]:
        """Return how many people each batch has and whether they learn, by phases, the last one cut short."""
        found: list[tuple[int, bool]] = []
        left, learners = self.rounds, self.first
        while left > 0:
            for people, learning in ((learners, True), (self.per_learner * learners, False)):
                if min(people, left) > 0:
                    found.append((min(people, left), learning))
                    left -= found[-1][0]
            learners *= 2
        return found

    @cached_property
    def batches(self) -> list[Cover]:
        """Return the people of every batch."""
        ends = np.cumsum([people for people, _ in self.stages]).tolist()
        return list(zip([1, *(end + 1 for end in ends)], ends, strict=False))

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        person = assume_rank_one("statistics", HALF, REPLACE_ONE, "movement")
        covers = assume_covers("statistics", self.batches[: len(self.ends)], "movement")
        return continual_sums.matrix_proof(person, sigma, covers, self.features.size + 1, delta)

    def learner(self, noise: Noise) -> Learner:
        """Return the learner: a batch is one release."""
        from bandits.learning.elimination import RegressionBelief

        numbers = count()

        def released(exact: Integers) -> Integers:
            return noise.noisy_symmetric("sums", next(numbers), exact)

        return Learner(RegressionBelief(self.stages, self.precision), released, self.ends)

    def precision(self, people: int) -> "Precision":
        """Return what holds for a release of so many people, all such events but for a chance of 1/√T."""
        from bandits.learning.elimination import Precision

        chance = log(EVENTS * sqrt(self.rounds))
        return Precision(people, self.features.size, float(self.noise_scale), float(self.norm), chance)

    def regret_bound(self) -> float:
        """Return a bound on the expected regret of all people, at most `rounds`·min(1, 2·`norm`).

        It holds for points whose features have a norm of 1 at most, with the linear kernel a norm of 2 of
        coordinates: longer ones are shortened in sums, and not where actions are chosen.
        It says something where it is below what choices at random lose.
        """
        from bandits.learning.elimination import DOUBT

        most = min(1.0, 2 * float(self.norm))
        total, learning, serving = most * sqrt(self.rounds), most, most
        for (people, learns), (_, last) in zip(self.stages, self.batches, strict=True):
            total += people * (learning if learns else serving)
            if learns and last < self.rounds:
                width, _ = self.precision(people).best()
                learning, serving = min(most, 4 * width), min(most, 2 * (1 + DOUBT) * width)
        return min(total * (1 + 1e-9), most * self.rounds)  # more than floating point loses
