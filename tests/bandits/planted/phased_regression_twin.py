"""Planted: people who learned are summed again with those who are served after them."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import ClassVar

from bandits.learning.contextual import Learner
from bandits.learning.elimination import RegressionBelief
from bandits.phased_regression import PhasedRegression


@dataclass(frozen=True)
class PhasedRegressionByPhase(PhasedRegression):
    """Releases a phase's learners twice: by themselves, and within the whole phase."""

    loses: ClassVar = {"assume_covers"}

    rounds: int = 12
    candidates: int = 2
    dimension: int = 1
    first: int = 2
    per_learner: int = 1
    sigma: Fraction | None = Fraction(2)

    def learner(self, noise):
        numbers, before = count(), []

        def released(exact):
            before.append(exact)
            number = next(numbers)
            return noise.noisy_symmetric("sums", number, sum(before[-2:]) if number % 2 else exact)

        return Learner(RegressionBelief(self.stages, self.precision), released, self.ends)
