"""Contextual bandit of pure ε: noisy sums of rewards by cells of what is uncertain, under several beliefs.

A phase's people are shown the candidate that a draw from the belief likes best (Thompson 1933), whose spread
fades over the run.  Before it begins, public coins cluster what it would play on public decision sets, in
coordinates whose distances are those of the belief's covariance: points whose rewards are expected to be
known together are in one cell.  Of several numbers of cells the one is taken whose sums are expected to tell
most.  At its end a phase releases one noisy sum for each cell, of y − ½.  If it is large, or two sums are
expected to tell more, it releases two: a public coin rounds y to 0 or 1, and a person adds ½ to the sum of
the ones or to that of the zeros, which together estimate the number of people.  A late answer is in the phase
in which it comes, by the current cell of what its person played and the coin of their slot.  So a person adds
to one sum, once, regardless of their candidates: Laplace noise of scale 1/ε is pure ε for the whole run
(`in_one_sum`).

What is believed is a mixture: linear, smooth, rough, of single coordinates, of all of these, of products of
two, and, of up to four, of the side of its middle on which each lies.  All are priors of one linear model,
whose likelihood under the released sums weighs them.

The distribution of decision sets is not known either.  Public ones are of several kinds: points in the ball
or in a cube, independent or with coordinates in common.  Released numbers of people reweight them.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from typing import ClassVar, Final, Self

import numpy as np

from bandits.context_histogram import LARGEST, SMALLEST, in_one_sum
from bandits.learning import contextual
from bandits.learning.arrivals import Actions, Course, name_of
from bandits.learning.features import RADIUS, kernel_of, principal
from bandits.learning.nystrom import NystromFeatures, root
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.axes import settled_eigh
from bandits.statistics.first_moments import CONTRIBUTION_BITS, HALF
from bandits.statistics.kernels import at_distance
from bandits.statistics.linear_posterior import LinearPosterior, evidence
from dpaccount.errors import out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import REPLACE_ONE, Cover, Theorem
from mechanisms.shared import grid

FIRST_PHASE: Final = 40  #: people of a phase
SHORTEST_PHASE: Final = 8  #: people of a phase in a run of few
LARGE_PHASE: Final = 100  #: people; phases of more count the people of each cell
PHASE_GROWTH: Final = Fraction(1, 4)  #: of a phase over the people before it, where that is more
CELL_COUNTS: Final = (4, 8, 16, 32)
FEWEST_IN_CELL: Final = 3  #: people, on average
SIMULATED: Final = 300  #: public decision sets
CLUSTERED: Final = 8  #: directions of most uncertainty in which cells are made
CLUSTERINGS: Final = 6  #: steps of Lloyd's algorithm
PRIOR_SPREAD: Final = 0.2  #: of rewards over points, before anything is learned
LEVEL_SPREAD: Final = 0.25  #: of their level about ½
MISFIT: Final = 0.4  #: relative deviation of the mean features of a cell's people from the expected ones
CROWDING: Final = 1.0  #: of their expected number from the true one, in the first phase
CARRIED: Final = 0.3  #: share of what earlier phases tell of this number that holds for new cells
MOST_CROWDED: Final = 5.0  #: most and, inverted, least ratio of actual to expected people
LEAST_VARIANCE: Final = 0.01  #: of a reward about its expectation
FIRST_SPREAD: Final = (
    0.5  #: the first draws of a long run spread by this much of the belief's, the last by none
)
LONG_RUN: Final = 4096  #: people of a long run, at ε = 1
UNIFORM: Final = 0.2  #: share of people shown a candidate at random, times √t, t a phase's first slot
UNLIKELY: Final = 1e-3  #: beliefs of less weight are left out
SMOOTH, ROUGH = "squared-exponential", "matern-3/2"
AXIS_LENGTH: Final = 0.7  #: of features of one coordinate
DICTIONARY: Final = 96  #: points that features are made of
KNOTS: Final = 24  #: points on an axis that features of a coordinate are made of
MOST_AXES: Final = 5  #: coordinates of which each has a belief of its own
FEW_AXES: Final = 3  #: coordinates, at most, of whose products and sides beliefs count twice
MOST_SIDES: Final = 4  #: coordinates, at most, whose signs are features


@dataclass(frozen=True)
class PhasedCells(contextual.ExpectsAnswers):
    """Show one of their own `candidates` to each of `rounds` people; rows are as of `moment-gp-ucb`.

    With a `space`, candidates are its points, unless a person brings others in its units.
    The noise meets `epsilon` at a δ of 0; a `delta` above 0 only says at which the proof is asked for.
    """

    source: ClassVar[str] = "ours; Dwork et al. 2006 (histogram), Lloyd 1982 (cells), Thompson 1933"
    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE

    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        super().__post_init__()
        exact = isinstance(self.epsilon, Fraction) and isinstance(self.delta, Fraction)
        if not exact or not SMALLEST <= self.epsilon <= LARGEST or not 0 <= self.delta < 1:
            raise out_of_range("a fraction epsilon in 1e-6 ... 1e6, and a fraction delta in [0, 1)")

    @cached_property
    def batches(self) -> list[Cover]:
        """Return the people of every phase."""
        return contextual.together(
            self.rounds, max(min(FIRST_PHASE, self.rounds // 12), SHORTEST_PHASE), PHASE_GROWTH
        )

    @property
    def features(self) -> "FeatureBlocks":
        """Return the public features."""
        return _blocks(self.domain_of)

    @property
    def domain_of(self) -> contextual.PublicMap:
        """Return what the public domain, and so all features, follow from."""
        return contextual.PublicMap("linear", "chosen", 1, 1.0, self.dimension, self.offered)

    def member(self, rounds: int) -> Self:
        """Return this bandit on at most `rounds` people, who may be late, but on several phases of them."""
        rounds = min(self.rounds, max(rounds, contextual.SEVERAL * SHORTEST_PHASE))
        return replace(self, rounds=rounds, delays=True)

    def proof(self, delta: Fraction) -> Theorem:
        """One clipped number a person, in one sum, whichever; own actions read the sums: billboard."""
        return in_one_sum(name_of(self), len(self.ends) * 2 * CELL_COUNTS[-1], self.epsilon, delta)

    def course(self, noise: Noise, coins: int) -> Course:
        """Return a run that serves people one by one."""
        belief = CellsBelief(self, coins)
        learner = contextual.Learner(
            belief, lambda sums: noise.noisy("phase", belief.phases, sums), self.ends
        )
        return CellsCourse(self, learner, coins)


class CellsCourse(contextual.ContextualCourse):
    """Keeps the coin of their slot with the features that a person played, until they answer.

    So the time of an answer changes nobody else's coin.
    """

    def __init__(self, subject: PhasedCells, learner: contextual.Learner, coins: int) -> None:
        super().__init__(subject, learner, coins)
        # apart from ties, and from the coins of the belief
        self._slots = np.random.default_rng([coins, 2])

    def ask(self, context: Floats | None) -> Actions:
        """Return the place of the candidate that this person is shown; −1 if nothing is on offer."""
        action, coin = super().ask(context), self._slots.random()
        slot = len(self._actions)
        played = self._played[slot]
        self._played[slot] = None if played is None else np.append(played, coin)
        return action


@dataclass(frozen=True)
class FeatureBlocks:
    """Features side by side: coordinates, three lengths of all, each one alone, products of two, sides.

    Sides are all products of signs of coordinates, which span the functions of the orthants.
    """

    dictionary: Floats  #: [points, d]
    whole: tuple[tuple[str, float, Floats], ...]  #: kernel, length and [points, size] of each length
    knots: Floats
    axis: Floats  #: [knots, size]

    def __call__(self, points: Floats) -> Floats:
        """Return features of shape [..., size] for points of shape [..., d]."""
        apart = np.sqrt(((points[..., None, :] - self.dictionary) ** 2).sum(axis=-1))
        whole = (at_distance(kernel, apart, length) @ lead for kernel, length, lead in self.whole)
        alone = at_distance(ROUGH, np.abs(points[..., None] - self.knots), AXIS_LENGTH) @ self.axis
        one, two = np.triu_indices(points.shape[-1], 1)
        products = points[..., one] * points[..., two] / RADIUS
        parts = [points, *whole, alone.reshape(*points.shape[:-1], -1), products]
        if 1 < points.shape[-1] <= MOST_SIDES:
            chosen = np.array([*product((False, True), repeat=points.shape[-1])][1:])
            signs = np.where(points < 0, -1.0, 1.0)[..., None, :]
            parts.append(np.where(chosen, signs, 1.0).prod(axis=-1))
        return np.concatenate(parts, axis=-1)

    @property
    def sizes(self) -> list[int]:
        """Return how many features each block has."""
        (_, d), (_, alone) = self.dictionary.shape, self.axis.shape
        pairs = [d * (d - 1) // 2] if d > 1 else []
        sides = [2**d - 1] if 1 < d <= MOST_SIDES else []
        return [d, *(lead.shape[1] for _, _, lead in self.whole), *[alone] * d, *pairs, *sides]

    @property
    def size(self) -> int:
        """Return the number of features."""
        return sum(self.sizes)

    def beliefs(self, features: Floats) -> Floats:
        """Return the variances of all weights [beliefs, size], by public `features` [points, size].

        A belief says which share of the variance of rewards over these points every block has.
        """
        d = self.dictionary.shape[1]
        none, all_axes = [0.0] * d, [1 / d] * d
        shares = [[1.0, 0, 0, 0, *none], [0.2, 0.8, 0, 0, *none], [0.2, 0, 0.8, 0, *none]]
        shares += [[0.2, 0, 0.3, 0.5, *none], [0.2, 0, 0, 0, *np.multiply(0.8, all_axes)]]
        if 1 < d <= MOST_AXES:
            shares += [[0.1, 0, 0.3, 0.3, *np.multiply(0.3, all_axes)]]
            shares += [[0, 0, 0, 0, *axis] for axis in np.eye(d)]
        # what single coordinates say hides what products do; of many, few products matter
        often = 2 if d <= FEW_AXES else 1
        if d > 1:
            shares = [[*each, 0] for each in shares] + often * [[0.2, 0, 0, 0, *none, 0.8]]
        if 1 < d <= MOST_SIDES:
            shares = [[*each, 0] for each in shares] + often * [[0.1, 0, 0, 0, *none, 0, 0.9]]
        starts = np.cumsum([0, *self.sizes[:-1]])
        power = np.add.reduceat(features.var(axis=0), starts)
        power = np.where(power > 1e-9, power, np.inf)  # what is the same everywhere explains nothing
        return PRIOR_SPREAD**2 * np.repeat(np.array(shares) / power, self.sizes, axis=1)


@lru_cache(maxsize=8)  # public, and the same in every run of a subject
def _blocks(of: contextual.PublicMap) -> FeatureBlocks:
    points = of.points(np.random.default_rng([contextual.PUBLIC_COINS, 3]), 4000)
    dictionary = points[: len(of.offered or range(DICTIONARY))][:DICTIONARY]
    whole = [
        (kernel, length, _leading(kernel, length, dictionary, points, size))
        for kernel, length, size in ((SMOOTH, 2.0, 10), (SMOOTH, 1.0, 20), (ROUGH, 0.5, 30))
    ]
    knots = np.linspace(-RADIUS, RADIUS, KNOTS)
    axis = _leading(ROUGH, AXIS_LENGTH, knots[:, None], points[:, :1], 6)
    return FeatureBlocks(dictionary, tuple(whole), knots, axis)


def _leading(kernel: str, length: float, dictionary: Floats, points: Floats, size: int) -> Floats:
    """Return what makes kernels with a dictionary the `size` leading Nyström features over public points."""
    whole = NystromFeatures(kernel_of(kernel, length), dictionary)
    return root(whole.kernel(dictionary, dictionary)) @ principal(whole, points, size).basis


@lru_cache(maxsize=8)
def _public_people(of: contextual.PublicMap, candidates: int) -> Floats:
    """Return features of decision sets; in half of them, about half of the coordinates are the same for all.

    Without a space they lie in the ball, or in the largest cube inside, as often.
    """
    rng, shape = np.random.default_rng([contextual.PUBLIC_COINS, 4]), (SIMULATED, candidates, of.dimension)
    points = of.points(rng, SIMULATED * candidates).reshape(SIMULATED, candidates, -1)
    if of.offered is None:
        box = rng.uniform(-1, 1, shape) * RADIUS / np.sqrt(of.dimension)
        points = np.where(rng.random((SIMULATED, 1, 1)) < 0.5, box, points)
        own = (rng.random((SIMULATED, 1, of.dimension)) < 0.5) & (rng.random((SIMULATED, 1, 1)) < 0.5)
        points = np.where(own & ~own.all(axis=2, keepdims=True), points[:, :1], points)
        far = np.linalg.norm(points, axis=2, keepdims=True)
        points = points * np.minimum(1, RADIUS / np.maximum(far, RADIUS / 2))
    features = _blocks(of)(points)
    features.setflags(write=False)  # it is shared
    return features


@dataclass(frozen=True)
class PointCells:
    """Cells of features about a centre, in clustered coordinates."""

    centre: Floats
    axes: Floats  #: [size, directions]
    middles: Floats  #: [cells, directions]

    def __call__(self, features: Floats) -> Integers:
        """Return the cell of each row of features."""
        return nearest((features - self.centre) @ self.axes, self.middles)


def nearest(at: Floats, middles: Floats) -> Integers:
    """Return the nearest middle of each row."""
    return ((middles**2).sum(axis=1) / 2 - at @ middles.T).argmin(axis=1)


def within(of: Integers, weights: Floats, count: int) -> Floats:
    """Return [count, rows]: the weight of each row in the cell `of` it, and 0 elsewhere."""
    return np.where(np.arange(count)[:, None] == of, weights, 0.0)


def clustered(at: Floats, chances: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Return `count` middles [count, directions] by Lloyd's algorithm."""
    middles = at[rng.choice(len(at), count, replace=False, p=chances)]
    for _ in range(CLUSTERINGS):
        weights = within(nearest(at, middles), chances, count)
        whole = weights.sum(axis=1, keepdims=True)
        middles = np.where(whole > 0, weights @ at / np.maximum(whole, 1e-300), middles)
    return middles


@dataclass(frozen=True)
class Design:
    """What a phase releases of its cells, and what that is expected to tell of the weights.

    With `counted`, a cell has two sums: A of the rewards that are rounded to 1, and B of the others.
    """

    cells: PointCells
    of: Integers  #: cells of what is expected to be played
    counted: bool
    shape: Floats  #: [cells, size]: Σ(1, φ) expected
    spread: Floats  #: Σ of the variances of rewards expected in each cell
    carried: float  #: precision that earlier phases leave, for each person expected in a cell
    noise: float  #: variance of a released number

    @property
    def people(self) -> Floats:
        """Return how many people are expected in each cell."""
        return np.maximum(self.shape[:, 0], 1e-6)

    @property
    def known(self) -> Floats:
        """Return the precision of the expected number of people, relative to itself."""
        return CROWDING**-2 + self.carried * self.people

    @property
    def precision(self) -> Floats:
        """Return that of the actual number of people before it is released, relative to the expected one."""
        return 1 / (1 / self.known + 1 / self.people)

    @property
    def measured(self) -> Floats:
        """Return that of 2(A + B), the released number of people, relative to the expected one."""
        return self.counted * self.people**2 / (8 * self.noise)

    def error(self, mean: Floats, covariance: Floats, crowd: Floats) -> Floats:
        """Return the variance of Σ(y − ½) by cell beyond the weights', for `crowd` times the people."""
        unsure, shape = 1 / (self.precision + self.measured), self.shape
        prior = np.einsum("cf,fg,cg->c", shape, covariance, shape)
        of_shape = crowd**2 * MISFIT**2 * prior + unsure * (shape @ mean) ** 2
        return (1 + self.counted) * self.noise + crowd * self.spread + of_shape


class CellsBelief:
    """A mixture of linear posteriors of one model, learned from sums by cell; the policy is a draw from it.

    Its first weight is the level less ½.  `uniform` is the share of people shown a candidate at random.
    """

    def __init__(self, subject: PhasedCells, coins: int) -> None:
        self._subject, self._public = subject, _public_people(subject.domain_of, subject.candidates)
        # apart from ties, and from the coins of slots
        self._coins = np.random.default_rng([coins, 1])
        variances = subject.features.beliefs(self._public.reshape(-1, self._public.shape[-1]))
        self._roots = np.sqrt(np.insert(variances, 0, LEVEL_SPREAD**2, axis=1))
        self._observed = LinearPosterior(self._roots.shape[1])
        self._long = min(float(subject.epsilon) ** 2 * subject.rounds / LONG_RUN, 1.0)
        self._chances: Floats = np.full(SIMULATED, 1 / SIMULATED)  #: of public decision sets
        self.phases, self._before, self._counted, self._answers = 0, 0, 0.0, 0.0
        self._played: list[contextual.Played] = []
        self._begin()

    def scores(self, candidates: Floats) -> Floats:
        """Return φᵀθ of the phase's draw θ, less the level that all share."""
        return candidates @ self._drawn

    def contribution(self, played: Floats, reward: float | None) -> Integers:
        """Return y − ½ in grid units in the cell of what was played, or ½ in one of its two sums.

        `played` has its features, and last the coin of the person's slot.  No answer adds zero.
        """
        design = self._design
        count = len(design.shape)
        added = np.zeros(count * (1 + design.counted), dtype=np.int64)
        if reward is not None and not np.isnan(reward):
            place, unit = int(design.cells(played[None, :-1])[0]), np.clip(reward, 0, 1)
            if design.counted:
                place, unit = place + count * int(played[-1] >= unit), np.ones(())
            added[place] = grid.clipped(unit - 0.5, -HALF, HALF, CONTRIBUTION_BITS)
        return added

    def learn(self, released: Integers, people: int) -> None:
        """Take in a phase's noisy sums by cell, and begin the next phase."""
        design, sums = self._design, released / 2.0**CONTRIBUTION_BITS
        crowd = np.ones(len(design.shape))
        if design.counted:
            ones, others = np.split(sums, 2)
            sums, share = ones - others, 2 * (ones + others) / design.people
            self._counted += self._answers
            crowd = posterior_ratio(design.precision, design.measured, share)
            told = posterior_ratio(design.known, 1 / (1 / design.people + 1 / design.measured), share)
            # what the policies of earlier phases played comes first
            played = np.split(told[design.of[-2 * SIMULATED :]], 2)
            self._chances = self._chances * ((1 - self.uniform) * played[0] + self.uniform * played[1])
            self._chances /= self._chances.sum()
        error = design.error(*self._believed, crowd)
        self._observed.learn(crowd[:, None] * design.shape, np.diag(error), sums)
        self.phases, self._before = self.phases + 1, people
        self._begin()

    def _posterior(self) -> tuple[Floats, Floats]:
        """Return the mixture's mean and covariance of the weights."""
        inner = np.eye(self._roots.shape[1]) + self._roots[:, :, None] * (
            self._observed.information * self._roots[:, None, :]
        )
        logs = evidence(inner, self._roots * self._observed.moment)
        chances = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
        kept = chances > UNLIKELY
        chances, roots = chances[kept] / chances[kept].sum(), self._roots[kept]
        each = roots[:, :, None] * np.linalg.inv(inner[kept]) * roots[:, None, :]
        means = each @ self._observed.moment
        mean = chances @ means
        covariance = np.tensordot(chances, each, axes=1) + ((means - mean).T * chances) @ (means - mean)
        return mean, (covariance + covariance.T) / 2

    def _begin(self) -> None:
        """Draw the phase's policy, and make its cells, by public coins and what was released before."""
        subject = self._subject
        mean, covariance = self._believed = self._posterior()
        values, axes = settled_eigh(covariance[1:, 1:])
        axes = axes * np.sqrt(np.maximum(values, 0.0))
        # Exploration at the end pays off for nobody; nor does it in a run too short to use what it shows.
        spread = FIRST_SPREAD * self._long * (1 - self._before / subject.rounds)
        self._drawn: Floats = (self.phases > 0) * (
            mean[1:] + spread * axes @ self._coins.normal(size=len(axes))
        )
        self.uniform = UNIFORM / float(np.sqrt(self._before + 1))
        best = self._public[np.arange(SIMULATED), np.argmax(self._public @ self._drawn, axis=1)]
        # Public candidates are in random order, so that the first one's is a choice at random.
        played = np.concatenate([best, self._public[:, 0]])
        chances = np.concatenate([(1 - self.uniform) * self._chances, self.uniform * self._chances])
        end = next((end for end in subject.ends if end > self._before), None)
        if end is not None:
            self._played.append((self._before, end, played, chances))
            parts = subject.answers(self._played, end)
            answers = np.maximum([number for number, _, _ in parts], contextual.LEAST_ANSWERS)
            self._answers = float(answers.sum())
            played = np.concatenate([each for _, each, _ in parts])
            shares = zip(answers / self._answers, parts, strict=True)
            chances = np.concatenate([share * each for share, (_, _, each) in shares])
            self._partition(played, chances, self._answers, axes[:, :CLUSTERED])

    def _partition(self, played: Floats, chances: Floats, people: float, axes: Floats) -> None:
        """Choose the cells whose sums are expected to take most from the variance of what is played.

        `people` are those who answer in the phase, late or not.
        """
        mean, covariance = self._believed
        centre, most, noise = chances @ played, -1.0, 2 / float(self._subject.epsilon) ** 2
        whole = np.column_stack([np.ones(len(played)), played])
        told = covariance[:, 1:] @ ((played.T * chances) @ played) @ covariance[1:, :]
        expected = np.clip(0.5 + whole @ mean, 0, 1)
        spread = np.maximum(expected * (1 - expected), LEAST_VARIANCE)
        carried = CARRIED * self._counted / people
        for count in CELL_COUNTS:
            if count > max(people // FEWEST_IN_CELL, CELL_COUNTS[0]):
                break
            cells = PointCells(centre, axes, clustered((played - centre) @ axes, chances, count, self._coins))
            of = cells(played)
            weights = within(of, people * chances, count)
            shape = weights @ whole
            prior, useful = shape @ covariance @ shape.T, shape @ told @ shape.T
            for counted in (True,) if people > LARGE_PHASE else (False, True):
                design = Design(cells, of, counted, shape, weights @ spread, carried, noise)
                error = np.diag(design.error(mean, covariance, np.ones(count)))
                gain = float(np.trace(np.linalg.solve(prior + error, useful)))
                if gain > most:
                    most, self._design = gain, design


def posterior_ratio(prior: Floats, precision: Floats, released: Floats) -> Floats:
    """Return the posterior mean of the ratio of actual to expected people, whose prior mean is 1.

    `prior` is the precision of the prior, and `precision` that of the `released` ratio.
    """
    return np.clip((prior + precision * released) / (prior + precision), 1 / MOST_CROWDED, MOST_CROWDED)
