"""Jointly private contextual GP-UCB: noisy sums of features over a binary tree.

Round t brings a person with a decision set and a reward; the released statistics are prefix sums of
[φφᵀ, φy; yφᵀ, ·], noised as one symmetric matrix (Dubey 2021, Algorithms 1 and 2).  A person's
action reads their own decision set and released sums of others: joint differential privacy by the
billboard rule.  The roles of Algorithm 1 are separate objects here: only the `Learner` sees actions
and rewards, on their way into the tree; the belief reads releases only, and scores candidates where
the person is.

``exact`` calibration adds the least noise that the kernel proves, centres rewards and leaves the
corner y² out, which nothing reads; ``published`` keeps everything as printed, noise by Lemma 2 as
in its proof and shift by Lemma 3, and is proved at the true cost of that noise.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bandits.learning import contextual
from bandits.learning.features import kernel_of
from bandits.learning.gp_ucb import SecondMomentBelief
from bandits.statistics import continual_sums, published_noise
from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import one_of
from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import REPLACE_ONE, Cover, Theorem, assume_rank_one, assume_tree

REWARD_CENTRE = Fraction(1, 2)  #: rewards in [0, 1] are centred
ZETA = 0.1  #: failure probability in the published shift; the paper's experiments do not say theirs
CALIBRATIONS = ("exact", "published")
CONFIDENCES = ("constant", "theorem-1")
MAX_FEATURES = 2000  #: features; 1,764 are the published number for 1,024 people
NORM, DEVIATION = 1.0, 0.5  #: B of Theorem 1, and ρ of rewards in [0, 1]


@dataclass(frozen=True)
class JdpGpUcb(contextual.Contextual):
    """Jointly private GP-UCB on `rounds` people with `candidates` points each in a ball of radius 2.

    `sigma` is the off-diagonal noise of a node; left out, it is calibrated to (`epsilon`, `delta`).
    `shift` times the spectral edge of the noise makes the matrix positive definite (``exact``).
    `confidence`: ``constant``, a bound is `width` deviations above the mean; or Theorem 1's ρβ_t^½ of the
    published noise, for functions of norm 1, with the error of the features as found on public points.
    `refresh` rounds share a posterior, or `growth` times the rounds before them if that is more.
    """

    source: ClassVar[str] = "Dubey 2021, Algorithms 1-2 and Lemma 2; exact calibration without corner is ours"

    calibration: str = "exact"
    epsilon: Fraction = Fraction(8)
    stream: str = "tree"
    shift: Fraction = Fraction(2)
    confidence: str = "constant"
    width: Fraction = Fraction(1, 10)
    refresh: int = 1
    growth: Fraction = Fraction(1, 16)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("stream", self.stream, ("tree", "honaker"))
        one_of("calibration", self.calibration, CALIBRATIONS)
        if min(self.nodes_per_axis, self.refresh) < 1 or not 0 <= self.growth <= 1:
            raise out_of_range("nodes_per_axis >= 1, refresh >= 1 and growth in [0, 1]")
        if min(self.shift, self.width) < 0:
            raise out_of_range("shift >= 0 and width >= 0")
        one_of("confidence", self.confidence, CONFIDENCES)
        if self.confidence == "theorem-1" and self.calibration != "published":
            what = "Theorem 1's confidence is for the published calibration"
            raise InputError(what, "say calibration published")
        if self.features.size > MAX_FEATURES:
            raise InputError(
                f"{self.features.size} features are too many",
                f"at most {MAX_FEATURES}: use fewer nodes_per_axis",
            )

    @cached_property
    def batches(self) -> list[Cover]:
        """Return the rounds that share a posterior: public."""
        return contextual.together(self.rounds, self.refresh, self.growth)

    @property
    def spectrum(self) -> published_noise.Spectrum:
        """Return λ_min, λ_max and κ of Lemma 3."""
        return published_noise.lemma3_spectrum(float(self.noise_scale), self.rounds, self.features.size, ZETA)

    @cached_property
    def kernel_error(self) -> float:
        """Return the largest |k(x, x′) − φ(x)·φ(x′)| over 300 public points: the error is at least this."""
        points = self.map_of.points(np.random.default_rng(contextual.PUBLIC_COINS), 300)
        phi, kernel = self.features(points), kernel_of(self.kernel, float(self.lengthscale))
        return float(np.abs(kernel(points, points) - phi @ phi.T).max())

    @property
    def reward(self) -> Fraction:
        """Return the bound on |y| as it enters: ½ about the centre, or 1 as published."""
        # Lemma 2 bounds rewards by chance only, yet joint privacy speaks of every reward: without a clip one
        # person could move the sums without limit.
        return REWARD_CENTRE if self.calibration == "exact" else Fraction(1)

    @cached_property
    def noise_scale(self) -> Fraction:
        """Return σ: as given, by Lemma 2, or the least that is proved to suffice."""
        if self.sigma is None and self.calibration == "published":
            return published_noise.lemma2_sigma(self.epsilon, self.delta, self.rounds, self.reward)
        return super().noise_scale

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        kind = "rank-one" if self.calibration == "exact" else "outer"
        person = assume_rank_one("statistics", self.reward, REPLACE_ONE, "movement", kind)
        # The last person's statistics enter no sum: nobody comes after them to use it.
        tree = assume_tree("statistics", self.rounds - 1, "movement")
        return continual_sums.matrix_proof(person, sigma, tree, self.features.size + 1, delta)

    def learner(self, noise: Noise) -> contextual.Learner:
        """Return the learner: a person is a round of the stream, and a batch shares a posterior."""
        sums = continual_sums.matrix_sums(self.stream, noise)
        return contextual.Learner(JdpBelief(self), sums.add, range(1, self.rounds + 1))

    def shift_after(self, people: int) -> float:
        """Return the number that is added to the diagonal after `people` people.

        The spectral edge of a symmetric Gaussian matrix of size m is 2σ√m.
        """
        if self.calibration == "published":
            return 2 * self.spectrum.least
        deviation = continual_sums.deviation(self.stream, people, self.rounds)
        edge = 2 * float(self.noise_scale) * np.sqrt(self.features.size) * deviation
        return float(self.shift) * float(edge)


class JdpBelief(SecondMomentBelief):
    """The belief whose parameters are public: the posterior mean at x is φ(x)ᵀG⁻¹u (Remark 1)."""

    def __init__(self, subject: JdpGpUcb) -> None:
        ends, centred = (last for _, last in subject.batches), subject.calibration == "exact"
        super().__init__(
            subject.features.size, float(subject.width), subject.shift_after, ends, centred=centred
        )
        self._subject = subject

    def parameters(self) -> dict[str, Floats]:
        """Return the posterior's parameters (G, u) as last refreshed."""
        return {"gram": self.posterior.gram, "moment": self.posterior.moment}

    def learn(self, released: NDArray[Any], people: int) -> None:
        """Take (G, u), and with them Theorem 1's ρβ_t^½ if `confidence` needs it.

        ln det((Σ̃ + λI)/(λ + λ_min)) is that of the matrix in use, over 1 + λ_min.
        """
        super().learn(released, people)
        if self._subject.confidence == "theorem-1" and people in self._ends:
            spectrum = self._subject.spectrum
            _, logarithm = np.linalg.slogdet(self.posterior.gram / (1 + spectrum.least))
            # Algorithm 1 prints β_t; Equation 8 and the regret bound of Theorem 1 have its root.
            self.width = DEVIATION * published_noise.theorem1_width(
                *(spectrum, people, float(logarithm)),
                norm=NORM,
                rho=DEVIATION,
                error=self._subject.kernel_error,
                zeta=ZETA,
            )
