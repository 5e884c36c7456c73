"""Contextual bandit that releases rewards' moments only: u = Σφ(y − ½), under continual release.

What the paper's algorithm also releases, Σφφᵀ, is replaced by t·Σ_pub, its value if the points
played were spread as the public domain is; the error of this enters the posterior as noise.
Replacing a person's decision set and reward changes u by at most 1 in ℓ2 (‖φ‖ ≤ 1, |y − ½| ≤ ½), and no
matrix needs to be made positive definite.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import ClassVar

import numpy as np

from bandits.learning import contextual
from bandits.learning.contextual import Learner, MomentBandit
from bandits.statistics import continual_sums
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.calibration import one_of
from bandits.statistics.first_moments import CONTRIBUTION_BITS, HALF, contribution
from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import REPLACE_ONE, Cover, Theorem, assume_ball

PRECISION = 4.0  #: of every weight before anything is learned, where it is assumed
PRECISIONS = (0.25, 1.0, 4.0, 16.0, 64.0, 256.0)  #: of which the likeliest is taken, where it is estimated
PRIORS = ("assumed", "estimated")
REWARD_NOISE = 0.22  #: variance of a Bernoulli reward about its mean, as the model has it


@dataclass(frozen=True)
class MomentGpUcb(MomentBandit):
    """Jointly private contextual bandit on `rounds` people with `candidates` points in a ball of radius 2.

    `stream` releases the prefix sums of u.  `sigma` is the noise of what it releases; left out, the least
    that is proved to meet (`epsilon`, `delta`).  `width` is the width of the upper confidence bound;
    `refresh` people, or `growth` times those before them if that is more, share one posterior, and one round
    of the stream: their sum moves as one of them does, and a stream of fewer rounds has less noise.  `prior`:
    the precision of weights before anything is learned: ``assumed``, 4, or ``estimated`` from releases.
    """

    source: ClassVar[str] = "ours; moments only under continual release (setting of Dubey 2021, section 6.1)"

    stream: str = "sqrt-toeplitz"
    width: Fraction = Fraction(0)
    refresh: int = 1
    growth: Fraction = Fraction(0)
    prior: str = "assumed"

    def __post_init__(self) -> None:
        one_of("stream", self.stream, continual_sums.STREAMS)
        super().__post_init__()
        one_of("prior", self.prior, PRIORS)
        if min(self.size, self.refresh) < 1 or min(self.width, self.growth) < 0 or self.growth > 3:
            raise out_of_range("size >= 1, refresh >= 1, width >= 0 and growth in [0, 3]")
        largest = max(self.refresh, int(self.growth * self.rounds))
        rows = len(self.ends) if self.growth else -(-self.rounds // self.refresh)
        continual_sums.stays_exact(self.stream, rows, largest, self.rounds)
        self.kernel_features  # noqa: B018  # refuses a kernel without such features

    @property
    def takes_late(self) -> bool:
        """Return whether a late answer enters the row of the batch in which it comes."""
        return continual_sums.takes_late(self.stream)

    @cached_property
    def batches(self) -> list[Cover]:
        """Return the people of every batch."""
        return contextual.together(self.rounds, self.refresh, self.growth)

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        size, late = self.features.size, self.takes_late
        return continual_sums.vector_proof(self.stream, _person(), sigma, self.ends, size, delta, late=late)

    def learner(self, noise: Noise) -> Learner:
        """Return the learner: a batch is a round of the stream."""
        sums = continual_sums.vector_sums(self.stream, noise, self.ends, self.features.size)
        return Learner(MomentBelief(self), sums.add, self.ends)


@cache  # one theorem, on which those of all noises rest
def _person() -> Theorem:
    return assume_ball("moments", HALF, REPLACE_ONE, "movement")


class MomentBelief:
    """Independent normal weights, one for each feature; the policy is an upper confidence bound."""

    def __init__(self, subject: MomentGpUcb) -> None:
        self._subject, self._eigenvalues = subject, subject.features.eigenvalues
        size = len(self._eigenvalues)
        self._mean, self._rounds = np.zeros(size), 0
        self._precision = PRECISION if subject.prior == "assumed" else PRECISIONS[0]
        self._variance = np.full(size, 1 / self._precision)

    def scores(self, candidates: Floats) -> Floats:
        """Return φᵀθ̂ + width·√(φᵀPφ), less the ½ that all share."""
        scores = candidates @ self._mean
        if self._subject.width:
            scores = scores + float(self._subject.width) * np.sqrt(candidates**2 @ self._variance)
        return scores

    def contribution(self, features: Floats, reward: float | None) -> Integers:
        """Return φ(y − ½)."""
        return contribution(features, reward)

    def learn(self, released: Floats, people: int) -> None:
        """Take u = Hθ + noise with H = t·Σ_pub: diagonal in the public domain's principal directions.

        The noise is the stream's s², the rewards' .22H, and what Σφφᵀ − tΣ_pub does to θ: with independent
        entries of variance t²Σ_iiΣ_jj it adds t²Σ_ii·Σ_j Σ_jj q_j, q the present guess of θ².
        """
        subject, moment = self._subject, released / 2.0**CONTRIBUTION_BITS
        self._rounds += 1
        deviation = continual_sums.deviation(subject.stream, self._rounds, len(subject.ends))
        # The public second moment, never that of the points played: decision sets are private, and it would
        # be a second release.
        known = people * self._eigenvalues
        guess = np.minimum(self._mean**2 + self._variance, 0.25)
        noise = (float(subject.noise_scale) * deviation) ** 2
        error = noise + people * known * float(self._eigenvalues @ guess) + REWARD_NOISE * known
        if subject.prior == "estimated":
            self._precision = max(PRECISIONS, key=lambda one: _likelihood(moment, known**2 / one + error))
        self._variance = 1 / (self._precision + known**2 / error)
        self._mean = self._variance * known * moment / error


def _likelihood(moment: Floats, variances: Floats) -> float:
    """Return ln p of independent normal numbers of mean 0, up to a constant."""
    return -float((moment**2 / variances + np.log(variances)).sum()) / 2
