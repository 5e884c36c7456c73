"""Contextual bandit in small phases, whose sums are most informative where uncertainty is large.

A person adds g·(y − ½), g = (.3, h)/‖(.3, h)‖, where h = P^½(φ − .8φ̄) is scaled to root mean
square 1.  The mean feature that the phase's policy plays is φ̄, the posterior's covariance P:
little is asked of what is known already.  The policy is the posterior's mean.  Row j releases
Σ_{b≤j} c_{j−b} X_b + N(0, s²I), X_b the sum of a phase, c the square root of the prefix sums.

The posterior takes every row for a linear observation of the weights.  Second moments are never
released:  Σgφᵀ and Σggᵀ of a phase are simulated, by the same policy on decision sets of the public
domain.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bandits.learning import contextual
from bandits.learning.public_moments import MomentBandit
from bandits.statistics import continual_sums
from bandits.statistics.axes import symmetric_root
from bandits.statistics.calibration import target
from bandits.statistics.first_moments import CONTRIBUTION_BITS, HALF, contribution
from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import REPLACE_ONE, Cover, Theorem, assume_ball, assume_view, billboard
from mechanisms.continual import factors
from mechanisms.subject import Rows, View

Floats = NDArray[np.float64]
PRECISION = 4.0  #: of every weight before anything is learned
REWARD_NOISE = 0.25  #: mean square of a centred reward, which is ±½
STEADY = 0.3  #: of g's first entry, the same for all, beside the root mean square 1 of the others
CENTRED = 0.8  #: share of the policy's mean feature that is taken off
FIRST_PHASE = 8  #: people of a phase
GROWTH = Fraction(1, 16)  #: of a phase over the people before it, where that is more
SIMULATED = 400  #: people of the public domain in simulated second moments
STREAM = "sqrt-toeplitz"


@dataclass(frozen=True)
class PhasedGpUcb(MomentBandit):
    """Jointly private contextual bandit that learns in growing phases; fields as of `moment-gp-ucb`."""

    source: ClassVar[str] = "ours; phases with simulated second moments (setting of Dubey 2021, section 6.1)"

    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(1, 10**6)
    sigma: Fraction | None = None

    def __post_init__(self) -> None:
        """Validate the parameters, before any charge."""
        contextual.domain(self.rounds, self.candidates, self.dimension)
        if self.size < 1 or (self.sigma is not None and self.sigma <= 0):
            raise out_of_range("size >= 1 and sigma > 0")
        target(self.epsilon, self.delta)
        largest = max(FIRST_PHASE, int(GROWTH * self.rounds))
        continual_sums.stays_exact(STREAM, len(self.ends), largest, CONTRIBUTION_BITS)
        self.feature_map(self.lengthscale)

    @cached_property
    def batches(self) -> list[Cover]:
        """Return the people of every phase."""
        return contextual.together(self.rounds, FIRST_PHASE, GROWTH)

    @property
    def ends(self) -> list[int]:
        """Return the last person of every phase that is summed: of all but the last, on which nobody acts."""
        return [last for _, last in self.batches[:-1] or self.batches]

    @cached_property
    def public_people(self) -> Floats:
        """Return features of decision sets that public coins draw from the public domain."""
        rng = np.random.default_rng([contextual.PUBLIC_COINS, 2])
        points = contextual.in_ball(rng, SIMULATED * self.candidates, self.dimension)
        return self.features.phi(points).reshape(SIMULATED, self.candidates, -1)

    def proof(self, delta: Fraction) -> Theorem:
        """Moments in the ball of radius ½, a stream of prefix sums of phases, billboard."""
        whole = self._sums(self.noise_scale, delta)
        return billboard(whole, assume_view("phased-gp-ucb", "others", "replay"))

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        person = assume_ball("phase", HALF, REPLACE_ONE, "movement")
        numbers = self.features.phi.size + 1
        return continual_sums.vector_proof(
            STREAM, person, sigma, self.ends, numbers, CONTRIBUTION_BITS, delta
        )

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once, in order; a person sees their own action only."""
        return contextual.served(self.course(noise, coins), data, self.candidates)

    def course(self, noise: Noise, coins: int) -> contextual.ContextualCourse:
        """Return a run for people who come one by one: a phase is a batch."""
        learner = Learner(self, noise)
        return contextual.ContextualCourse(
            self.domain(), self.candidates, self.features.phi, learner, coins, self.batches
        )


class Learner:
    """Scores by the posterior's mean; learning at the end of each phase, from released rows alone."""

    def __init__(self, subject: PhasedGpUcb, noise: Noise) -> None:
        self._public, self._noise, self._ends = subject.public_people, noise, frozenset(subject.ends)
        self._variance = float(subject.noise_scale) ** 2
        self._weights = factors.sqrt_toeplitz(len(self._ends))
        size = subject.features.phi.size
        self._precision: Floats = np.eye(size) * PRECISION
        self._moment: Floats = np.zeros(size)
        self._sums: list[NDArray[np.int64]] = []  #: exact sum of every phase
        self._shapes: list[Floats] = []  #: simulated Σgφᵀ of every phase
        self._spreads: list[Floats] = []  #: and Σggᵀ
        self._people, self._before = 0, 0  #: people so far, and before this phase
        self._begin()

    def scores(self, candidates: Floats) -> Floats:
        """Return φᵀθ̂."""
        found: Floats = candidates @ self._mean
        return found

    def directions(self, features: Floats) -> Floats:
        """Return g of features [..., size], of norm 1."""
        away = (features - self._centre) @ self._root
        whole = np.concatenate([np.full((*away.shape[:-1], 1), STEADY), away], axis=-1)
        found: Floats = whole / np.linalg.norm(whole, axis=-1, keepdims=True)
        return found

    def tell(self, features: Floats, reward: float | None) -> None:
        """Add one person's g·(y − ½); at the end of a phase, release a row and learn from it."""
        self._exact += contribution(self.directions(features), reward)
        self._people += 1
        if self._people in self._ends:
            self._close()
            self._begin()

    def _begin(self) -> None:
        """Set the policy to the posterior's mean, and direct contributions at its uncertainty."""
        covariance = np.linalg.inv(self._precision).astype(np.float64)
        self._mean: Floats = covariance @ self._moment
        played = self._public[np.arange(len(self._public)), np.argmax(self._public @ self._mean, axis=1)]
        self._centre: Floats = CENTRED * played.mean(axis=0)
        root = symmetric_root(covariance)
        away = (played - self._centre) @ root
        self._root: Floats = root / np.sqrt((away**2).sum(axis=1).mean())
        g = self.directions(played)
        self._shape, self._spread = g.T @ played / len(g), g.T @ g / len(g)
        self._exact, self._before = np.zeros(len(self._mean) + 1, dtype=np.int64), self._people

    def _close(self) -> None:
        """Release the row r = Hθ + noise and take it in: J += HᵀR⁻¹H, h += HᵀR⁻¹r, R = s²I + .25Σc²ggᵀ."""
        number, people = len(self._sums), self._people - self._before
        self._sums.append(self._exact)
        self._shapes.append(people * self._shape)
        self._spreads.append(people * self._spread)
        weights = self._weights[number::-1]
        row = np.tensordot(weights, np.array(self._sums), axes=1)
        released = self._noise.noisy("sums", number, row) / 2.0 ** (CONTRIBUTION_BITS + factors.WEIGHT_BITS)
        real = weights / 2.0**factors.WEIGHT_BITS
        shape = np.tensordot(real, np.array(self._shapes), axes=1)
        spread = np.tensordot(real**2, np.array(self._spreads), axes=1)
        error = self._variance * np.eye(len(spread)) + REWARD_NOISE * spread
        weighted = np.linalg.solve(error, np.column_stack([shape, released]))
        self._precision += shape.T @ weighted[:, :-1]
        self._moment += shape.T @ weighted[:, -1]
