"""Contextual bandit in small phases, whose sums are most informative where uncertainty is large.

A person adds g·(y − ½), g = (.3, h)/‖(.3, h)‖, where h = P^½(φ − .8φ̄) is scaled to root mean
square 1.  The mean feature that the phase's policy plays is φ̄, the posterior's covariance P:
little is asked of what is known already.  The policy is the posterior's mean, but public coins choose a
share of people, .2/√t in a phase that begins with slot t, who are shown one of their candidates at random:
φ̄ and second moments are of both.  Row j releases
Σ_{b≤j} c_{j−b} X_b + N(0, s²I), X_b the sum of a phase, c the square root of the prefix sums.

The posterior takes every row for a linear observation of the weights, and of a level that all rewards share:
centring at ½ moves a sum the least, wherever the level is.  Second moments are never
released:  Σgφᵀ and Σggᵀ of a phase are simulated, by the same policy on decision sets of the public
domain.  Of late answers, that is the policy that chose their actions, and g of the phase in which they come.

Why it forgets, and explores: the mean alone can lock in, where a world is one that its prior hardly has, such
as low rewards with one narrow peak.  Weights, not the level, fit the low rewards of what it plays, and carry
them to what it does not: at a peak of .9 it once expected −.4 ± .2.  Rows of what it plays, at .1, agree with
it, so no check of their errors can tell, and its certainty grows.  So a row takes earlier ones for a power
`TEMPERED` of their likelihood (as Grünwald & van Ommen 2017, arXiv 1412.3730, temper one), and what is not
played returns to the prior; meanwhile a few people at random show the rest.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from bandits.learning import contextual
from bandits.learning.contextual import LEAST_ANSWERS, ExpectsAnswers, Learner, MomentBandit, Played
from bandits.statistics import continual_sums
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.axes import symmetric_root
from bandits.statistics.first_moments import CONTRIBUTION_BITS, HALF, contribution
from bandits.statistics.linear_posterior import LinearPosterior
from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import REPLACE_ONE, Cover, Theorem, assume_ball
from mechanisms.continual import factors

WEIGHT_SPREAD = 0.4  #: of every weight before anything is learned, at a base rate of ½; in proportion to it
LEVEL_SPREAD = 0.2  #: of the level about the base rate, in proportion to it too
REWARD_NOISE = 0.25  #: mean square of a centred reward, which is ±½
STEADY = 0.3  #: of g's first entry, the same for all, where the others have root mean square 1
CENTRED = 0.8  #: share of the policy's mean feature that is taken off
TEMPERED = 0.87  #: power of earlier rows' likelihoods that a row leaves
UNIFORM = 0.2  #: share of people shown a candidate at random, times √t, t a phase's first slot
FIRST_PHASE = 8  #: people of a phase
GROWTH = Fraction(1, 16)  #: of a phase over the people before it, where that is more
SIMULATED = 400  #: people of the public domain in simulated second moments
STREAM = "sqrt-toeplitz"
LEAST_BASE = Fraction(1, 10**6)  #: of `base` and 1 − `base`


@dataclass(frozen=True)
class PhasedGpUcb(ExpectsAnswers, MomentBandit):
    """Jointly private contextual bandit that learns in growing phases; fields as of `moment-gp-ucb`.

    `base` is the mean reward that is expected where choices are uniform, and rewards are expected to vary in
    proportion to it, or to 1 − `base`: like `answering` and `late`, a public guess before the run.
    """

    source: ClassVar[str] = "ours; phases with simulated second moments (setting of Dubey 2021, section 6.1)"

    base: Fraction = HALF

    def __post_init__(self) -> None:
        super().__post_init__()
        if not LEAST_BASE <= self.base <= 1 - LEAST_BASE:
            raise InputError(f"base is {float(self.base):.6g}", "it is a mean reward in 1e-6 ... 1 - 1e-6")
        if self.size < 1:
            raise out_of_range("size >= 1")
        largest = max(FIRST_PHASE, int(GROWTH * self.rounds))
        continual_sums.stays_exact(STREAM, len(self.ends), largest, self.rounds)
        self.kernel_features  # noqa: B018  # refuses a kernel without such features

    @cached_property
    def batches(self) -> list[Cover]:
        """Return the people of every phase."""
        return contextual.together(self.rounds, FIRST_PHASE, GROWTH)

    @property
    def public_people(self) -> Floats:
        """Return features of decision sets that public coins draw from the public domain."""
        return _public_people(self.map_of, self.size, self.candidates)

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        person = assume_ball("phase", HALF, REPLACE_ONE, "movement")
        numbers = self.features.size + 1
        return continual_sums.vector_proof(STREAM, person, sigma, self.ends, numbers, delta, late=True)

    def learner(self, noise: Noise) -> Learner:
        """Return the learner: a phase is a round of the stream, rows of a square root."""
        root = factors.sqrt_toeplitz(len(self.ends))
        lags = np.subtract.outer(np.arange(len(root)), np.arange(len(root)))
        weights = np.where(lags >= 0, root[lags], 0)
        rows = continual_sums.StreamedRows(weights, lambda number, row: noise.noisy("sums", number, row))
        return Learner(PhaseBelief(self, weights / 2.0**factors.WEIGHT_BITS), rows.add, self.ends)


@lru_cache(maxsize=8)  # public, and the same in every run of a subject
def _public_people(of: contextual.PublicMap, size: int, candidates: int) -> Floats:
    rng = np.random.default_rng([contextual.PUBLIC_COINS, 2])
    points = of.points(rng, SIMULATED * candidates)
    features = contextual.leading(of, size)(points).reshape(SIMULATED, candidates, -1)
    features.setflags(write=False)  # it is shared
    return features


class PhaseBelief:
    """A linear posterior that takes every row for an observation; the policy is its mean, for most people.

    `uniform` is the share of a phase's people who are shown a candidate at random, by its first slot.
    Its first weight is the level less `base`, the others are those of features.
    `weights` [phases, phases] are those of the phases' sums in rows.
    """

    def __init__(self, subject: PhasedGpUcb, weights: Floats) -> None:
        self._subject, self._public, self._weights = subject, subject.public_people, weights
        self._variance = float(subject.noise_scale) ** 2
        self._base, spread = float(subject.base - HALF), 2 * float(min(subject.base, 1 - subject.base))
        spreads = [LEVEL_SPREAD, *[WEIGHT_SPREAD] * subject.features.size]
        self._prior = (spread * np.array(spreads)) ** 2
        self._observed = LinearPosterior(len(self._prior))
        self._phases: list[Played] = []
        self._shapes: list[Floats] = []  #: simulated Σg(1, φ)ᵀ of the answers of every phase
        self._spreads: list[Floats] = []  #: and Σggᵀ
        self._before = 0  #: people before this phase
        self._begin()

    def scores(self, candidates: Floats) -> Floats:
        """Return φᵀθ̂, less the level that all share."""
        return candidates @ self._mean

    def directions(self, features: Floats) -> Floats:
        """Return g of features [..., size], of norm 1."""
        away = (features - self._centre) @ self._root
        # The steady entry tells of the level that all rewards share, which the others, about a mean of 0, do
        # not show.
        whole = np.concatenate([np.full((*away.shape[:-1], 1), STEADY), away], axis=-1)
        return whole / np.linalg.norm(whole, axis=-1, keepdims=True)

    def contribution(self, features: Floats, reward: float | None) -> Integers:
        """Return g·(y − ½)."""
        return contribution(self.directions(features), reward)

    def _begin(self) -> None:
        """Set the policy to the posterior's mean, and direct contributions at its uncertainty."""
        whole = self._observed.covariance(self._prior)
        self._mean: Floats = (whole @ self._observed.moment)[1:]
        self.uniform = UNIFORM / float(np.sqrt(self._before + 1))
        best = self._public[np.arange(len(self._public)), np.argmax(self._public @ self._mean, axis=1)]
        # Public candidates are in random order, so that the first one's is a choice at random.
        self._played: Floats = np.concatenate([best, self._public[:, 0]])
        self._chances: Floats = np.repeat([1 - self.uniform, self.uniform], len(best)) / len(best)
        self._centre: Floats = CENTRED * (self._chances @ self._played)
        root = symmetric_root(whole[1:, 1:])
        away = (self._played - self._centre) @ root
        self._root: Floats = root / np.sqrt(self._chances @ (away**2).sum(axis=1))

    def _simulate(self, people: int) -> None:
        """Add Σg(1, φ)ᵀ and Σggᵀ of the answers expected in the phase that ends after `people` have asked."""
        self._phases.append((self._before, people, self._played, self._chances))
        shape, spread = np.zeros((2, len(self._prior), len(self._prior)))
        # Late answers count in the phase in which they come, so every earlier phase adds what is still
        # expected of it.
        for answers, played, chances in self._subject.answers(self._phases, people):
            if answers >= LEAST_ANSWERS:
                g = self.directions(played)
                weighed = answers * chances * g.T
                shape += np.column_stack([weighed.sum(axis=1), weighed @ played])
                spread += weighed @ g
        self._shapes.append(shape)
        self._spreads.append(spread)
        self._before = people

    def learn(self, released: Integers, people: int) -> None:
        """Temper the rows before, take in r = Hw + N(0, s²I + .25Σc²ggᵀ), and begin the next phase."""
        self._simulate(people)
        weights = self._weights[len(self._shapes) - 1, : len(self._shapes)]
        shape = np.tensordot(weights, np.array(self._shapes), axes=1)
        spread = np.tensordot(weights**2, np.array(self._spreads), axes=1)
        error = self._variance * np.eye(len(spread)) + REWARD_NOISE * spread
        row = released / 2.0 ** (CONTRIBUTION_BITS + factors.WEIGHT_BITS)
        # Weights are about the base rate, but contributions are about ½, which moves a sum the least.
        self._observed.temper(TEMPERED)
        self._observed.learn(shape, error, row - self._base * shape[:, 0])
        self._begin()
