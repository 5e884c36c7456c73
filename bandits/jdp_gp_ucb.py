"""Jointly private contextual GP-UCB: noisy sums of features over a binary tree.

Round t brings a person with a decision set and a reward; the released statistics are prefix sums of
[φφᵀ, φy; yφᵀ, ·], noised as one symmetric matrix (Dubey 2021, Algorithms 1 and 2).  A person's
action reads their own decision set and released sums of others: joint differential privacy by the
billboard rule.  The roles of Algorithm 1 are separate objects here: only the `Privatiser` sees
actions and rewards; the `Server` reads releases only and scores candidates on the person's side.

``exact`` calibration adds the least noise that the kernel proves, centres rewards and leaves the
corner y² out, which nothing reads; ``published`` keeps everything as printed, noise by Lemma 2 as
in its proof and shift by Lemma 3, and is proved at the true cost of that noise.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bandits.learning import contextual
from bandits.learning.features import Features, kernel_of
from bandits.learning.gp_ucb import SolvedPosterior, raised
from bandits.simulation.regret_bounds import Spectrum, theorem1_width
from bandits.statistics import continual_sums, published_noise
from bandits.statistics.calibration import target
from bandits.statistics.second_moments import contribution, within
from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import REPLACE_ONE, Cover, Theorem, assume_rank_one, assume_tree, assume_view, billboard
from mechanisms.subject import Rows, View
from mechanisms.symmetric_gaussian import FEATURE_BITS

Floats = NDArray[np.float64]
REWARD_CENTRE = Fraction(1, 2)  #: rewards in [0, 1] are centred
ZETA = 0.1  #: failure probability in the published shift; the paper's experiments do not say theirs
CALIBRATIONS = ("exact", "published")
CONFIDENCES = ("constant", "theorem-1")
MAX_FEATURES = 2000  #: features; 1,764 are the published number for 1,024 people
NORM, DEVIATION = 1.0, 0.5  #: B of Theorem 1, and ρ of rewards in [0, 1]


@dataclass(frozen=True)
class JdpGpUcb(contextual.Calibrated, contextual.Contextual):
    """Jointly private GP-UCB on `rounds` people with `candidates` points each in a ball of radius 2.

    `sigma` is the off-diagonal noise of a node; left out, it is calibrated to (`epsilon`, `delta`).
    `shift` times the spectral edge of the noise makes the matrix positive definite (``exact``).
    `confidence`: ``constant``, a bound is `width` deviations above the mean; or Theorem 1's ρβ_t^½ of the
    published noise, for functions of norm 1, with the error of the features as found on public points.
    `refresh` rounds share a posterior, or `growth` times the rounds before them if that is more.
    """

    source: ClassVar[str] = "Dubey 2021, Algorithms 1-2 and Lemma 2; exact calibration without corner is ours"

    lengthscale: Fraction = Fraction(1)
    calibration: str = "exact"
    epsilon: Fraction = Fraction(8)
    delta: Fraction = Fraction(1, 10**6)
    sigma: Fraction | None = None
    stream: str = "tree"
    shift: Fraction = Fraction(2)
    confidence: str = "constant"
    width: Fraction = Fraction(1, 10)
    refresh: int = 1
    growth: Fraction = Fraction(1, 16)

    def __post_init__(self) -> None:
        """Validate the parameters, before any charge."""
        contextual.domain(self.rounds, self.candidates, self.dimension)
        continual_sums.known_stream(self.stream, ("tree", "honaker"))
        if self.calibration not in CALIBRATIONS:
            raise InputError(f"calibration is {self.calibration[:40]!r}", f"known: {', '.join(CALIBRATIONS)}")
        target(self.epsilon, self.delta)
        if min(self.nodes_per_axis, self.refresh) < 1 or not 0 <= self.growth <= 1:
            raise out_of_range("nodes_per_axis >= 1, refresh >= 1 and growth in [0, 1]")
        if (self.sigma is not None and self.sigma <= 0) or min(self.shift, self.width) < 0:
            raise out_of_range("sigma > 0, shift >= 0 and width >= 0")
        self._check_confidence()
        if self.features.size > MAX_FEATURES:
            raise InputError(
                f"{self.features.size} features are too many",
                f"at most {MAX_FEATURES}: use fewer nodes_per_axis",
            )

    def _check_confidence(self) -> None:
        if self.confidence not in CONFIDENCES:
            raise InputError(f"confidence is {self.confidence[:40]!r}", f"known: {', '.join(CONFIDENCES)}")
        if self.confidence == "theorem-1" and self.calibration != "published":
            raise InputError(
                "Theorem 1's confidence is for the published calibration", "say calibration published"
            )

    @cached_property
    def features(self) -> Features:
        """Return the public feature map."""
        return self.feature_map(self.lengthscale)

    @cached_property
    def batches(self) -> list[Cover]:
        """Return the rounds that share a posterior: public."""
        return contextual.together(self.rounds, self.refresh, self.growth)

    @property
    def spectrum(self) -> tuple[float, float, float]:
        """Return (λ_min, λ_max, κ) of Lemma 3."""
        return published_noise.lemma3_spectrum(float(self.noise_scale), self.rounds, self.features.size, ZETA)

    @cached_property
    def kernel_error(self) -> float:
        """Return the largest |k(x, x′) − φ(x)·φ(x′)| over 300 public points: the error is at least this."""
        points = contextual.in_ball(np.random.default_rng(contextual.PUBLIC_COINS), 300, self.dimension)
        phi, kernel = self.features(points), kernel_of(self.kernel, float(self.lengthscale))
        return float(np.abs(kernel(points, points) - phi @ phi.T).max())

    @property
    def reward(self) -> Fraction:
        """Return the bound on |y| as it enters: ½ about the centre, or 1 as published."""
        return REWARD_CENTRE if self.calibration == "exact" else Fraction(1)

    @cached_property
    def noise_scale(self) -> Fraction:
        """Return σ: as given, by Lemma 2, or the least that is proved to suffice."""
        if self.sigma is None and self.calibration == "published":
            return published_noise.lemma2_sigma(self.epsilon, self.delta, self.rounds, self.reward)
        return super().noise_scale

    def proof(self, delta: Fraction) -> Theorem:
        """Rank-one sensitivity, symmetric noise per node, the tree over rounds 1 … T−1, billboard."""
        return billboard(self._sums(self.noise_scale, delta), assume_view("jdp-gp-ucb", "others", "replay"))

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        kind = "rank-one" if self.calibration == "exact" else "outer"
        person = assume_rank_one("statistics", self.reward, REPLACE_ONE, "movement", kind)
        tree = assume_tree("statistics", self.rounds - 1, "movement")
        return continual_sums.matrix_proof(
            person, sigma, tree, self.features.size + 1, 2 * FEATURE_BITS, delta
        )

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once, in order; actions are private, the learned parameters public.

        The posterior mean at x is φ(x)ᵀG⁻¹u of the public `gram` G and `moment` u (Remark 1:
        release of parameters); both are functions of released sums.
        """
        return contextual.served(self.course(noise, coins), data, self.candidates)

    def course(self, noise: Noise, coins: int) -> contextual.ContextualCourse:
        """Return a run for people who come one by one: `refresh` of them share a posterior, and a batch."""
        learner, batches = Learner(self, noise), self.batches
        return contextual.ContextualCourse(
            *(self.domain(), self.candidates, self.features, learner, coins, batches),
            public=learner.server.parameters,
        )


class Privatiser:
    """Sees actions and rewards; returns noisy prefix sums only."""

    def __init__(self, subject: JdpGpUcb, noise: Noise) -> None:
        self._subject = subject
        self._sums = continual_sums.matrix_sums(subject.stream, noise)

    def add(self, features: Floats, reward: float | None) -> tuple[int, Floats]:
        """Add one person's statistics; return the rounds so far and the released prefix sum."""
        size = self._subject.features.size
        if features.shape != (size,):
            raise InputError(f"features have shape {features.shape}", f"this learner takes ({size},)")
        exact = self._subject.calibration == "exact"
        known = None if reward is None else within(reward) - (0.5 if exact else 0.0)
        total = self._sums.add(contribution(features, known, self._subject.reward, corner=not exact))
        return self._sums.rounds, total / 2.0 ** (2 * FEATURE_BITS)


class Server:
    """Reads released sums only; scores a person's candidates."""

    def __init__(self, subject: JdpGpUcb) -> None:
        self._subject, size = subject, subject.features.size
        self._ends = {last for _, last in subject.batches}
        self._posterior = SolvedPosterior(np.eye(size), np.zeros(size))
        self._width = float(subject.width)

    def scores(self, candidates: Floats) -> Floats:
        """Return upper confidence bounds of rows of features."""
        return self._posterior.upper_bounds(candidates, self._width)

    def parameters(self) -> dict[str, Floats]:
        """Return the posterior's parameters (G, u) as last refreshed."""
        return {"gram": self._posterior.gram, "moment": self._posterior.moment}

    def receive(self, rounds: int, released: Floats) -> None:
        """Take (G, u) from a noisy prefix: symmetric, shifted to be positive definite.

        The spectral edge of a symmetric Gaussian matrix of size m is 2σ√m.  The shift reads public numbers
        and releases only; eigenvalues that are still below 1 are raised to 1.
        """
        if rounds not in self._ends:
            return
        size = len(released) - 1
        self._posterior = SolvedPosterior(
            raised(released[:size, :size], self._shift(rounds)), released[:size, size].copy()
        )
        if self._subject.confidence == "theorem-1":
            self._width = self._theorem1(rounds)

    def _theorem1(self, rounds: int) -> float:
        """Return ρβ_t^½: ln det((Σ̃ + λI)/(λ + λ_min)) is that of the matrix in use, over 1 + λ_min."""
        spectrum = Spectrum(*self._subject.spectrum)
        _, logarithm = np.linalg.slogdet(self._posterior.gram / (1 + spectrum.least))
        found = theorem1_width(
            *(spectrum, rounds, float(logarithm)),
            norm=NORM,
            rho=DEVIATION,
            error=self._subject.kernel_error,
            zeta=ZETA,
        )
        return DEVIATION * found

    def _shift(self, rounds: int) -> float:
        subject, sigma, size = self._subject, float(self._subject.noise_scale), self._subject.features.size
        if subject.calibration == "published":
            return 2 * subject.spectrum[0]
        edge = 2 * sigma * np.sqrt(size) * continual_sums.deviation(subject.stream, rounds, subject.rounds)
        return float(subject.shift) * float(edge)


class Learner:
    """Privatiser and server together, in scores/tell: all that is learned passes through the tree."""

    def __init__(self, subject: JdpGpUcb, noise: Noise) -> None:
        self.privatiser, self.server = Privatiser(subject, noise), Server(subject)

    def scores(self, candidates: Floats) -> Floats:
        """Return one score for each row of features."""
        return self.server.scores(candidates)

    def tell(self, features: Floats, reward: float | None) -> None:
        """Add one person's statistics; rewards outside [0, 1] are clipped."""
        self.server.receive(*self.privatiser.add(features, reward))
