"""People with private decision sets: one row a person, served once each, in order.

A person's row holds the coordinates of their candidates, then what each candidate would pay.  They are
shown scores of their own candidates under what was released before, and ties fall by coins of their
own slot, which also choose who is shown one at random, if a belief has a share of such people: no coin
of one slot depends on another person's data.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from bandits.learning.arrivals import Actions, Answered, Course, name_of, paid, replay, with_delays
from bandits.learning.features import RADIUS, Features, PrincipalFeatures, feature_map, kernel_of, principal
from bandits.learning.nystrom import NystromFeatures
from bandits.space.points import Space
from bandits.statistics import kernels, published_noise
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.calibration import exact, least_sigma, one_of, target
from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import REPLACE_ONE, Cover, Theorem, assume_view, billboard
from mechanisms.subject import Domain, Rows, View

TIE = 1e-12  #: scores so near the best one share it
#: a coordinate of NaN, as a number of the tested domain that no measurement is: not on offer
OFF = -RADIUS * (1 - 2.0**-30)

SEVERAL = 6  #: least number of batches of a bandit that represents its family in tests
MAX_DICTIONARY = 256  #: points of a space that features are made of

LEAST_ANSWERS = 0.05  #: expected answers to an earlier phase, below which none are expected
MOST_LATE = 10**6  #: of `late`
#: people before a phase and up to its end, what its policy is expected to play [n, size], how often [n]
Played = tuple[int, int, Floats, Floats]

PUBLIC_COINS = 2021  #: seed of the public points of dictionaries
NODES = ("given", "corollary-1", "remark-3")


class Belief(Protocol):
    """What a bandit knows of the reward function from released sums, and what follows from it."""

    def scores(self, candidates: Floats) -> Floats:
        """Return one score for each row of features; the highest is played."""

    def contribution(self, features: Floats, reward: float | None) -> Integers:
        """Return what a person adds to the sum, by what was played and paid; None adds zero."""

    def learn(self, released: NDArray[Any], people: int) -> None:
        """Learn from the noisy sum over the first `people` people."""


class Learner:
    """Sums contributions exactly and updates the belief by the sums to which `stream` added noise.

    After each of the people `ends` the sum enters the stream as its next round.
    """

    def __init__(
        self, belief: Belief, stream: Callable[[Integers], NDArray[Any]], ends: Iterable[int]
    ) -> None:
        self.belief, self._stream, self._ends = belief, stream, frozenset(ends)
        self._people = 0
        self._sum: Integers = np.zeros((), dtype=np.int64)

    def scores(self, candidates: Floats) -> Floats:
        """Return one score for each row of features."""
        return self.belief.scores(candidates)

    def place(self, candidates: Floats, coins: Floats) -> int:
        """Return which row is shown: that of the highest score, or what a belief with chances draws."""
        drawn: Callable[[Floats, Floats], int] | None = getattr(self.belief, "drawn", None)
        return pick(self.scores(candidates), coins) if drawn is None else drawn(candidates, coins)

    def add_late(self, features: Floats, reward: float) -> None:
        """Add the contribution of a person who was served in an earlier round."""
        self._sum = self._sum + self.belief.contribution(features, reward)

    def tell(self, features: Floats, reward: float | None) -> None:
        """Add one person's contribution; at the end of a round release the sum, and learn from it.

        Rewards outside [0, 1] are clipped, NaN counts as ½.
        """
        self._people += 1
        self._sum = self._sum + self.belief.contribution(features, reward)
        if self._people in self._ends:
            # The stream adds rounds up itself, so it is given what is new only.
            exact, self._sum = self._sum, np.zeros((), dtype=np.int64)
            self.belief.learn(self._stream(exact), self._people)


def on_offer(brought: Floats) -> tuple[Floats, Integers] | None:
    """Return a person's candidates, and of which candidate each row is.

    One with a coordinate of `OFF`, or NaN, is not on offer: its row is the first one's that is.  None says
    that nothing is on offer.
    """
    there = ((brought != OFF) & ~np.isnan(brought)).all(axis=1)
    if not there.any():
        return None
    places = np.where(there, np.arange(len(brought)), np.argmax(there))
    return brought[places], places


@dataclass(frozen=True)
class Calibrated:
    """A noise that is given, or the least that a subject's own proof shows to meet its ε and δ.

    A subject proves what all its sums cost.
    """

    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE

    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(1, 10**6)
    sigma: Fraction | None = None

    @cached_property
    def noise_scale(self) -> Fraction:
        """Return σ: as given, or the least that is proved to meet (`epsilon`, `delta`)."""
        if self.sigma is not None:
            return self.sigma
        return _calibrated(self)

    def check_sigma(self) -> None:
        """Raise `InputError` for a given noise that is not above 0."""
        if self.sigma is not None and self.sigma <= 0:
            raise InputError(f"sigma is {float(self.sigma)}", "it must be above 0")

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        """Return the theorem at `delta` about all sums that are released with this noise."""
        raise NotImplementedError


@lru_cache(maxsize=256)  # a subject is its class and parameters; a figure has some in several worlds
def _calibrated(subject: Calibrated) -> Fraction:
    return least_sigma(lambda sigma: subject._sums(sigma, subject.delta), subject.epsilon, subject.delta)


@dataclass(frozen=True)
class PublicMap:
    """All that a public feature map follows from: runs may share one if, and only if, this is equal."""

    kernel: str
    basis: str
    per_axis: int
    length: float
    dimension: int
    offered: Space | None

    def points(self, rng: np.random.Generator, count: int) -> Floats:
        """Return points that public coins draw from the ball, or from the space."""
        if self.offered is None:
            return in_ball(rng, count, self.dimension)
        offers = len(self.offered)
        return self.offered.points[
            np.concatenate([rng.permutation(offers) for _ in range(-(-count // offers))])[:count]
        ]


@lru_cache(maxsize=8)  # public, and the same in every run of a subject
def _features(of: PublicMap) -> Features:
    def public_points(count: int) -> Floats:
        return of.points(np.random.default_rng([PUBLIC_COINS, 1]), count)

    if of.offered is not None and of.basis == "chosen" and of.kernel in kernels.POINT_KERNELS:
        dictionary = public_points(min(len(of.offered), MAX_DICTIONARY))
        return NystromFeatures(kernel_of(of.kernel, of.length), dictionary)
    return feature_map(of.kernel, of.basis, of.per_axis, of.length, public_points)


@lru_cache(maxsize=8)
def leading(of: PublicMap, size: int) -> PrincipalFeatures:
    """Return the leading features over the public ball, or space; never over observed decision sets."""
    return principal(_features(of), of.points(np.random.default_rng(PUBLIC_COINS), 4000), size)


@dataclass(frozen=True)
class OwnCandidates:
    """Bandits for `rounds` people with `candidates` points each; a class says what is learned.

    With a `space`, candidates are its points, unless a person brings others in its units: at most as many as
    the space says.
    """

    rounds: int = 1024
    candidates: int = 25
    dimension: int = 2
    space: Space | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.space is not None:
            if self.space.alike:
                raise InputError(
                    "a kernel matrix has no coordinates", "give people's points by a file or a box"
                )
            self.space.counts(self, "candidates", self.space.most or len(self.space))
            self.space.counts(self, "dimension", self.space.dimension)
        self.domain()

    def domain(self) -> Domain:
        """Return one row per person: the candidates' coordinates, then what each would pay, in [0, 1]."""
        if self.rounds < 2 or min(self.candidates, self.dimension) < 1:
            raise out_of_range("rounds >= 2, candidates >= 1 and dimension >= 1")
        numbers, rewards = self.candidates * self.dimension, (0.0,) * self.candidates
        low, high = (-RADIUS,) * numbers + rewards, (RADIUS,) * numbers + (1.0,) * self.candidates
        return Domain(self.rounds, low, high, (False,) * len(low), (OFF,) * numbers + rewards)

    @property
    def takes_late(self) -> bool:
        """Return whether an answer may enter the sum of a later batch: then its proof says so."""
        return False

    @property
    def features(self) -> Features:
        """Return the public feature map that the belief is about."""
        raise NotImplementedError

    @cached_property
    def offered(self) -> Space | None:
        """Return `space` as the features have it: in the ball of radius 2."""
        return None if self.space is None else self.space.in_ball(RADIUS)

    @cached_property
    def batches(self) -> list[Cover]:
        """Return the people of every batch, who share a belief: public."""
        return together(self.rounds, 1)

    @property
    def ends(self) -> list[int]:
        """Return the last person of every batch but the last, whose sum no action would use."""
        return [last for _, last in self.batches[:-1] or self.batches]

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once, in order; a person sees their own action only."""
        return self.served(data, noise, coins)

    def served(self, data: Rows, noise: Noise, coins: int, delays: Integers | None = None) -> View:
        """Return the view of `play` for people who answer `delays` people later; by default at once."""
        contexts, rewards = data[:, : -self.candidates], data[:, -self.candidates :]
        return replay(self.course(noise, coins), contexts, paid(rewards), delays)

    def course(self, noise: Noise, coins: int) -> Course:
        """Return a run that serves people one by one."""
        raise NotImplementedError


@dataclass(frozen=True)
class Contextual(OwnCandidates, Calibrated):
    """Bandits for such people with features of one kernel, and calibrated noise; a class says its learner.

    `kernel` and `basis` say what features there are (`bandits.learning.features.feature_map`), of so many
    `nodes_per_axis`; `nodes`: as ``given``, or those of Dubey 2021, Corollary 1 or Remark 3, 6 or 3 ln T.
    """

    kernel: str = "squared-exponential"
    basis: str = "chosen"
    nodes: str = "given"
    nodes_per_axis: int = 4
    lengthscale: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        target(self.epsilon, self.delta)
        self.check_sigma()

    @property
    def features(self) -> Features:
        """Return the public feature map that the belief is about."""
        return self.kernel_features

    @property
    def kernel_features(self) -> Features:
        """Return the public feature map of the kernel; raises `InputError` if there is none."""
        return _features(self.map_of)

    @property
    def map_of(self) -> PublicMap:
        """Return what the feature map follows from; raises `InputError` for an unknown number of nodes."""
        one_of("nodes", self.nodes, NODES)
        per_axis = self.nodes_per_axis
        if self.nodes != "given":
            per_axis = published_noise.nodes_per_axis(self.rounds, remark3=self.nodes == "remark-3")
        length = float(self.lengthscale)
        return PublicMap(self.kernel, self.basis, per_axis, length, self.dimension, self.offered)

    def proof(self, delta: Fraction) -> Theorem:
        """Released sums, and actions that read these and own decision sets only: billboard."""
        return billboard(self._sums(self.noise_scale, delta), assume_view(name_of(self), "others", "replay"))

    def learner(self, noise: Noise) -> Learner:
        """Return a learner without observations."""
        raise NotImplementedError

    def course(self, noise: Noise, coins: int) -> Course:
        """Return a run that serves people one by one."""
        return ContextualCourse(self, self.learner(noise), coins)


@dataclass(frozen=True)
class WithDelays(OwnCandidates):
    """Bandits for such people, whose answers may be late.

    With `delays` a record ends with a number more: how many people ask before this one answers, `rounds` or
    NaN for never.  In a session that is seen as it happens; the proof is the same.
    """

    delays: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.delays) is not bool:
            raise InputError(f"delays is {str(self.delays)[:40]}", "it is true or false")
        if self.delays and not self.takes_late:
            raise InputError("this bandit takes no late answers", "leave delays out")

    def domain(self) -> Domain:
        """Return one row per person: coordinates, what each candidate would pay, and with `delays` when."""
        plain = super().domain()
        return with_delays(plain) if self.delays else plain

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once, in order; a person sees their own action only."""
        if not self.delays:
            return super().play(data, noise, coins)
        return self.served(data[:, :-1], noise, coins, data[:, -1].astype(np.int64))


@dataclass(frozen=True)
class ExpectsAnswers(WithDelays):
    """Bandits that expect a share of people to answer, and late.

    `answering` is the share of people who answer, and `late` how many others ask, on average, before one of
    them does (a geometric law).  They are public, guesses before the run: belief rests on them, privacy does
    not.
    """

    answering: Fraction = field(default=Fraction(1), kw_only=True)
    late: Fraction = field(default=Fraction(0), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        exact(answering=self.answering, late=self.late)
        if not 0 < self.answering <= 1:
            raise InputError(f"answering is {str(self.answering)[:40]}", "it is a share above 0, at most 1")
        if not 0 <= self.late <= MOST_LATE:
            raise InputError(f"late is {str(self.late)[:40]}", f"it is people, 0 ... {MOST_LATE}")

    @property
    def takes_late(self) -> bool:
        """Return that a late answer enters the sum, or row, of the phase in which it comes."""
        return True

    def expected(self, first: int, last: int, people: int) -> float:
        """Return the expected number of answers from people (`first`, `last`] after `people` have asked."""
        if people < last:
            return 0.0
        waits = float(self.late / (self.late + 1))
        late = waits ** (people - last + 1) * (1 - waits ** (last - first)) / (1 - waits)
        return float(self.answering) * (last - first - late)

    def answers(self, phases: Sequence[Played], people: int) -> list[tuple[float, Floats, Floats]]:
        """Return how many answers the last of `phases` has, which ends after `people`, by policy.

        With each number are what its policy plays, and how often.  The last phase's own are the last.
        """
        before, found = phases[-1][0], []
        for first, last, played, chances in phases:
            answers = self.expected(first, last, people) - self.expected(first, last, before)
            # The policy of the phase under way always counts: cells are made of what it plays.
            if last == people or answers >= LEAST_ANSWERS:
                found.append((answers, played, chances))
        return found


@dataclass(frozen=True)
class MomentBandit(WithDelays, Contextual):
    """A contextual bandit that releases first moments of `size` features, those that lead its map."""

    nodes_per_axis: int = 8
    size: int = 20

    def member(self, rounds: int) -> "MomentBandit":
        """Return this bandit on people who may be late: at most `rounds`, but several batches of them."""
        fewest = SEVERAL * self.batches[0][1]
        return replace(self, rounds=min(self.rounds, max(rounds, fewest)), delays=self.takes_late)

    @property
    def features(self) -> PrincipalFeatures:
        """Return the leading features over the public ball, or over `space`."""
        return leading(self.map_of, self.size)


def together(rounds: int, size: int, growth: Fraction = Fraction(0)) -> list[Cover]:
    """Return batches of `size` slots, or of `growth` times the slots before it if that is more.

    The last one has what is left.
    """
    covers, first = [], 1
    while first <= rounds:
        last = min(first + max(size, int(growth * (first - 1))) - 1, rounds)
        covers.append((first, last))
        first = last + 1
    return covers


class ContextualCourse(Course):
    """A run over such people: what was played is for a person's own eyes.

    No action uses the last batch's answers.
    """

    last_is_read = False

    def __init__(self, subject: OwnCandidates, learner: Learner, coins: int) -> None:
        self.batches, self.candidates = subject.batches, subject.candidates
        people = OwnCandidates.domain(subject)  # without a column that says when they answer
        self.takes_late = subject.takes_late
        self.context, self.space = _columns(people, slice(None, -self.candidates)), subject.offered
        self.reward = _columns(people, slice(-1, None))
        self._features, self._learner = subject.features, learner
        self._ties = np.random.default_rng(coins)  # one row of coins a slot
        self._actions: list[int] = []
        #: by slot: features whose reward may still be counted; None of who was offered nothing
        self._played: dict[int, Floats | None] = {}
        self._closed = 0

    def ask(self, context: Floats | None) -> Actions:
        """Return the place of the candidate that this person is shown; −1 if nothing is on offer.

        Who is offered nothing adds nothing.  A belief's share `uniform` of people, if it has one, is shown
        one of what is on offer at random: their slots' coins choose both who and what.
        """
        # Coins are drawn before it is known what is on offer: else the coins of later slots would depend on
        # this person's context.
        ties, slot = self._ties.random(self.candidates), len(self._actions) + 1
        offer = on_offer(np.asarray(context).reshape(self.candidates, -1))
        action, self._played[slot] = -1, None
        if offer is not None:
            phi = self._features(offer[0])
            best = self._learner.place(phi, ties)
            # The largest of K coins says nothing of which it is, and its K-th power is uniform in [0, 1].
            if ties.max() ** self.candidates < getattr(self._learner.belief, "uniform", 0.0):
                best = pick(np.where(offer[1] == np.arange(self.candidates), 0.0, -np.inf), ties)
            # a copy: a view would keep the features of all candidates
            action, self._played[slot] = int(offer[1][best]), phi[best].copy()
        self._actions.append(action)
        return np.array(action, dtype=np.int64)

    def close(self, rewards: Floats, answered: Answered) -> None:
        """Tell the learner what the batch under way was paid, slot by slot."""
        first, last = self.batches[self._closed]
        self._closed += 1
        slots = range(first, last + 1)
        for slot, reward, known in zip(slots, rewards.tolist(), answered.tolist(), strict=True):
            played = self._played[slot]
            if played is None:
                self._learner.tell(np.zeros(self._features.size), None)
            else:
                self._learner.tell(played, reward if known else None)
            if known or not self.takes_late:
                del self._played[slot]

    def add_late(self, slot: int, reward: float) -> None:
        """Add a late answer to the batch under way, by the features that its person played."""
        played = self._played.pop(slot)
        if played is not None:
            self._learner.add_late(played, reward)

    def view(self) -> View:
        """Return everyone's own action, and what the belief shows to all."""
        parameters = getattr(self._learner.belief, "parameters", dict)
        return View(own={"action": np.array(self._actions, dtype=np.int64)}, public=parameters())


def _columns(people: Domain, part: slice) -> Domain:
    """Return some columns of what a person's row may be, for one row."""
    return Domain(1, people.low[part], people.high[part], people.integer[part], people.missing[part])


def pick(scores: Floats, ties: Floats) -> int:
    """Return the place of the highest score; among those within 1e-12 of it, of the highest coin."""
    return int(np.argmax(np.where(scores >= scores.max() - TIE, ties, -1.0)))


def in_ball(rng: np.random.Generator, count: int, dimension: int) -> Floats:
    """Return points uniform in the ball of radius 2."""
    direction = rng.normal(size=(count, dimension))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return 2 * direction * rng.random((count, 1)) ** (1 / dimension)
