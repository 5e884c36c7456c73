"""People with private decision sets: one row a person, served once each, in order.

A person's row holds the coordinates of their candidates, then what each candidate would pay.  They are
shown scores of their own candidates under what was released before, and ties fall by a coin of their
own slot: no coin of one slot depends on another person's data.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from bandits.learning.arrivals import Actions, Answered, replay
from bandits.learning.features import RADIUS, Features, feature_map
from bandits.statistics import published_noise
from bandits.statistics.calibration import least_sigma
from dpaccount.errors import InputError, out_of_range
from dpaccount.proof import REPLACE_ONE, Cover, Theorem
from mechanisms.subject import Domain, Rows, View

Floats = NDArray[np.float64]
TIE = 1e-12  #: scores so near the best one share it

PUBLIC_COINS = 2021  #: seed of the public points of dictionaries
NODES = ("given", "corollary-1", "remark-3")


class Learner(Protocol):
    """What serves people: scores before a round, learning after it."""

    def scores(self, candidates: Floats) -> Floats:
        """Return one score for each row of features; the highest is played."""

    def tell(self, features: Floats, reward: float | None) -> None:
        """Learn from what was played and what it paid; None, of who did not say, adds zero in their round."""


def domain(rounds: int, candidates: int, dimension: int) -> Domain:
    """Return one row per person: the candidates' coordinates, then what each would pay, in [0, 1]."""
    if rounds < 2 or min(candidates, dimension) < 1:
        raise out_of_range("rounds >= 2, candidates >= 1 and dimension >= 1")
    low = (-RADIUS,) * (candidates * dimension) + (0.0,) * candidates
    high = (RADIUS,) * (candidates * dimension) + (1.0,) * candidates
    return Domain(rounds, low, high, (False,) * len(low))


class Calibrated:
    """A noise that is given, or the least that a subject's own proof shows to meet its ε and δ.

    A subject has these fields and proves what all its sums cost.
    """

    epsilon: Fraction
    delta: Fraction
    sigma: Fraction | None

    @cached_property
    def noise_scale(self) -> Fraction:
        """Return σ: as given, or the least that is proved to meet (`epsilon`, `delta`)."""
        if self.sigma is not None:
            return self.sigma
        return least_sigma(lambda sigma: self._sums(sigma, self.delta), self.epsilon, self.delta)

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        """Return the theorem at `delta` about all sums that are released with this noise."""
        raise NotImplementedError


@dataclass(frozen=True)
class Contextual:
    """What bandits for `rounds` such people with `candidates` points each have in common.

    `kernel` and `basis` say what features there are (`bandits.learning.features.feature_map`), of so many
    `nodes_per_axis`; `nodes`: as ``given``, or those of Dubey 2021, Corollary 1 or Remark 3, 6 or 3 ln T.
    """

    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE

    rounds: int = 1024
    candidates: int = 25
    dimension: int = 2
    kernel: str = "squared-exponential"
    basis: str = "chosen"
    nodes: str = "given"
    nodes_per_axis: int = 4

    def domain(self) -> Domain:
        """Return one row per person: the candidates' coordinates, then what each would pay."""
        return domain(self.rounds, self.candidates, self.dimension)

    def feature_map(self, lengthscale: Fraction) -> Features:
        """Return the public feature map of this length scale; raises `InputError` if none."""
        if self.nodes not in NODES:
            raise InputError(f"nodes is {self.nodes[:40]!r}", f"known: {', '.join(NODES)}")
        per_axis = self.nodes_per_axis
        if self.nodes != "given":
            per_axis = published_noise.nodes_per_axis(self.rounds, remark3=self.nodes == "remark-3")
        return feature_map(self.kernel, self.basis, per_axis, float(lengthscale), self._public_points)

    def _public_points(self, count: int) -> Floats:
        return in_ball(np.random.default_rng([PUBLIC_COINS, 1]), count, self.dimension)


def together(rounds: int, size: int, growth: Fraction = Fraction(0)) -> list[Cover]:
    """Return batches of `size` slots, or of `growth` times the slots before it if that is more.

    The last one has what is left.
    """
    found, first = [], 1
    while first <= rounds:
        last = min(first + max(size, int(growth * (first - 1))) - 1, rounds)
        found.append((first, last))
        first = last + 1
    return found


class ContextualCourse:
    """A run over such people: what was played is for a person's own eyes.

    `public` is what everyone is shown of the learner.  Nobody acts on the last batch's answers.
    """

    last_is_read = False

    def __init__(
        self,
        people: Domain,
        candidates: int,
        features: Callable[[Floats], Floats],
        learner: Learner,
        coins: int,
        batches: Sequence[Cover],
        public: Callable[[], Mapping[str, Floats]] = dict,
    ) -> None:
        self.batches = batches
        self.context = _columns(people, slice(None, -candidates))
        self.reward = _columns(people, slice(-1, None))
        self.candidates, self._features, self._public = candidates, features, public
        self._learner, self._ties = learner, np.random.default_rng(coins)  # one row of coins a slot
        self._actions: list[int] = []
        self._played: list[Floats] = []  #: the features that the batch under way played

    def ask(self, context: Floats | None) -> Actions:
        """Return the place of the candidate that this person is shown, of those that they bring."""
        phi = self._features(np.asarray(context).reshape(self.candidates, -1))
        action = pick(self._learner.scores(phi), self._ties.random(self.candidates))
        self._actions.append(action)
        self._played.append(phi[action])
        return np.array(action, dtype=np.int64)

    def close(self, rewards: Floats, answered: Answered) -> None:
        """Tell the learner what the batch under way was paid, slot by slot."""
        for phi, reward, known in zip(self._played, rewards.tolist(), answered.tolist(), strict=True):
            self._learner.tell(phi, reward if known else None)
        self._played = []

    def view(self) -> View:
        """Return everyone's own action, and what all are shown."""
        return View(own={"action": np.array(self._actions, dtype=np.int64)}, public=self._public())


def _columns(people: Domain, part: slice) -> Domain:
    """Return some columns of what a person's row may be, for one row."""
    return Domain(1, people.low[part], people.high[part], people.integer[part], people.missing[part])


def served(course: ContextualCourse, data: Rows, candidates: int) -> View:
    """Serve every row's person once, in order."""
    rewards = data[:, -candidates:]

    def pays(first: int, shown: list[Actions]) -> Floats:
        return rewards[np.arange(first, first + len(shown)), np.array(shown)]

    return replay(course, data[:, :-candidates], pays)


def serve(
    data: Rows, candidates: int, features: Callable[[Floats], Floats], learner: Learner, coins: int
) -> View:
    """Serve every row's person once, a batch each."""
    rounds, columns = data.shape
    people, batches = domain(rounds, candidates, columns // candidates - 1), together(rounds, 1)
    course = ContextualCourse(people, candidates, features, learner, coins, batches)
    return served(course, data, candidates)


def pick(scores: Floats, ties: Floats) -> int:
    """Return the place of the highest score; among those within 1e-12 of it, of the highest coin."""
    return int(np.argmax(np.where(scores >= scores.max() - TIE, ties, -1.0)))


def in_ball(rng: np.random.Generator, count: int, dimension: int) -> Floats:
    """Return points uniform in the ball of radius 2."""
    direction = rng.normal(size=(count, dimension))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    points: Floats = 2 * direction * rng.random((count, 1)) ** (1 / dimension)
    return points
