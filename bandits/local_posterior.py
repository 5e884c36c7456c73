"""Local optimisation from residuals: people report their reward's deviation from a prediction.

With the point the server shows a person μ(x), the posterior mean there, and a clip C: functions of
earlier messages and of coins.  Their device answers by the channel for clip(y − μ, ±C)/C, by default in
one bit.  For all μ and C the answer is drawn from the same table, so it is ε-DP for every
history; C does not enter the privacy, only the noise, which is in units of C = min(B + R, R + k·sd(x)):
the clip shrinks with what is not yet known, to about R.

The posterior takes an answer a for what it is: of d = f − μ it has E[a·d] = κ·var d for the linear update,
where by Stein's lemma κ = P(|d + η| < C).  That falls with |η|, so κ is at least its value at |η| = R, the
mean of erf((C − R)/(sd·√2)) and erf((C + R)/(sd·√2)), whatever law the noise has.  It also holds with the
mean square of d for its variance, where another posterior chose μ, if C ≥ R and η has mean 0.  A clip far
below R would keep next to nothing of some noise: none is used.

Points are drawn from the posterior (Thompson 1933), with a spread that fades.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import erf, log, sqrt
from typing import ClassVar

import numpy as np

from bandits.local_privacy.learner import Choosy, Question
from bandits.local_privacy.subject import LocalRewards, prior_kernel
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.axes import eigenfeatures
from dpaccount.errors import out_of_range

MIN_CLIP = 1e-3  #: of B + R: no clip is less, so that no reward is divided by nothing
TINY = 1e-12
LEARNED = "learned"  #: kernel that the messages choose
#: the kernels that it chooses among, each with its length scale and its chance before any message: messages
#: tell little of them, and a rough one loses little where the function is smooth
MODELS = (("squared-exponential", Fraction(1), 0.1), ("matern-3/2", Fraction(1, 4), 0.9))


class ResidualPosterior(Choosy):
    """Gaussian posterior of f on n points as mean [n] and root A [n, m] with AAᵀ its covariance.

    A root follows an observation by rank one, in O(nm): no refit, and a draw is μ + A·ξ.  `bound` is B,
    `noise_bound` R, `explore` the spread of the first draws in posterior deviations, which falls to none at
    `rounds`; `keep` is k.  With `one_bit` an answer's variance is all there is to it.
    """

    def __init__(
        self,
        features: Floats,
        bounds: tuple[float, float],
        rounds: int,
        spread: tuple[float, float],
        coins: int,
        *,
        one_bit: bool,
    ) -> None:
        (self._bound, self._noise), (self._explore, self._keep) = bounds, spread
        self._rounds, self._told, self._one_bit = rounds, 0, one_bit
        self._rng = np.random.default_rng((coins, 0))
        self.root = features * max(self._bound / 2, TINY)
        self.mean = np.zeros(len(features))
        self._share, self._centre = 1.0, 0.0

    def ask(self, among: Integers | None = None) -> Question:
        """Return the best point of a draw, what is expected there and the clip."""
        fading = self._explore * max(1 - self._told / self._rounds, 0.0)
        drawn = self.mean + fading * (self.root @ self._rng.standard_normal(self.root.shape[1]))
        point = int(np.argmax(drawn) if among is None else among[np.argmax(drawn[among])])
        deviation = max(sqrt(float(self.root[point] @ self.root[point])), TINY)
        reach = self._bound + self._noise
        clip = max(min(reach, self._noise + self._keep * deviation), MIN_CLIP * reach)
        asked = Question(point, float(self.mean[point]), clip)
        self.shown(asked)
        return asked

    def shown(self, asked: Question) -> None:
        """Take what a person is asked for what the next message is about."""
        row, away = self.root[asked.point], float(self.mean[asked.point]) - asked.centre
        deviation = max(sqrt(float(row @ row) + away**2), TINY)
        self._centre = asked.centre
        clip = asked.clip or 0.0
        ends = clip - self._noise, clip + self._noise
        self._share = sum(erf(end / (deviation * sqrt(2))) for end in ends) / 2

    def tell(self, point: int, value: float, variance: float | None) -> float:
        """Learn from one message about a point, which without a channel is the reward itself.

        Return ln p of the message before it, up to a constant.
        """
        row = self.root[point].copy()
        unsure, share = float(row @ row), 1.0 if variance is None else self._share
        total = variance or 0.0
        if variance is None or not self._one_bit:  # the reward's own, uniform noise's at most R
            total += share**2 * unsure + self._noise**2 / 3 + TINY
        # Never all of the variance: the root would lose this direction for good, and later answers could not
        # correct it.
        explained = min(share**2 * unsure / total, 1 - MIN_CLIP)
        along = self.root @ row
        beyond = value - (self._centre + share * (self.mean[point] - self._centre))
        self.mean += along * (share * beyond / total)
        if unsure > TINY**2:
            self.root -= np.outer(along, row * ((1 - sqrt(1 - explained)) / unsure))
        self._told += 1
        return -(beyond**2 / total + log(total)) / 2


class Mixture(Choosy):
    """Posteriors of several kernels, weighted by `prior` and the likelihood of earlier messages.

    A person is asked by one of them, drawn by the mean of this chance and `prior`, so that none is given up;
    all learn from the message.
    """

    def __init__(self, models: Sequence[ResidualPosterior], prior: Sequence[float], coins: int) -> None:
        self._models, self._prior, self._evidence = models, np.array(prior), np.log(prior)
        self._rng = np.random.default_rng((coins, 1))

    @property
    def chances(self) -> Floats:
        """Return how likely each kernel is."""
        weights = np.exp(self._evidence - self._evidence.max())
        return weights / weights.sum()

    def ask(self, among: Integers | None = None) -> Question:
        """Return the question that a kernel's posterior asks."""
        # The likelihood alone would soon settle on one kernel, by messages that say little of it.
        chances = (self.chances + self._prior) / 2
        asked = self._models[self._rng.choice(len(self._models), p=chances)].ask(among)
        for model in self._models:
            model.shown(asked)
        return asked

    def tell(self, point: int, value: float, variance: float | None) -> None:
        """Learn from one message about a point."""
        self._evidence += [model.tell(point, value, variance) for model in self._models]


@dataclass(frozen=True)
class LocalPosterior(LocalRewards):
    """Thompson sampling over a posterior of private answers about residuals; `epsilon` per answer.

    `explore` is the spread of the first draws in posterior deviations, falling to none in the last round;
    a clip is R and `keep` deviations, at most B + R.
    """

    source: ClassVar[str] = "ours; Duchi, Jordan & Wainwright 2018 (channel), Thompson 1933 (draws)"
    constants_from: ClassVar[str] = "dp-output"
    learned: ClassVar[tuple[str, ...]] = (LEARNED,)

    explore: Fraction = Fraction(7, 10)
    keep: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.explore < 0 or self.keep <= 0:
            raise out_of_range("explore >= 0 and keep > 0")

    def learner(self, coins: int) -> ResidualPosterior | Mixture:
        """Return the posterior before any answer."""
        if self.kernel != LEARNED:
            return self._believing(self.prior, coins)
        kernels = [
            prior_kernel(self.domain_points, name, float(self.lengthscale * share))
            for name, share, _ in MODELS
        ]
        prior = [chance for *_, chance in MODELS]
        return Mixture([self._believing(kernel, coins) for kernel in kernels], prior, coins)

    def _believing(self, kernel: Floats, coins: int) -> ResidualPosterior:
        return ResidualPosterior(
            eigenfeatures(kernel, 1e-9),
            (float(self.bound), float(self.noise_bound)),
            self.rounds,
            (float(self.explore), float(self.keep)),
            coins,
            one_bit=self.channel == "duchi",
        )
