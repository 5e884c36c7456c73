"""GP-UCB on the grid of a known surface, with the noisy sums of Dubey 2021, Algorithms 1 and 2.

The setting of that paper's Table 1 as far as it is known: everyone is offered the whole domain, and
sums over groups of coordinates have the mean of the groups' kernels.  The largest upper confidence
bound is searched group by group.  A batch of people is shown one point, and their statistics [φφᵀ,
φy; yφᵀ, ·] enter a tree over batches: that saves time and harms nothing, as a coarser tree has
fewer nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import ClassVar

import numpy as np

from bandits.learning.arrivals import Actions, Answered
from bandits.learning.contextual import pick, together
from bandits.learning.features import eigenfeatures, quadrature_features
from bandits.learning.gp_ucb import SolvedPosterior, raised
from bandits.simulation.surfaces import SurfaceBandit, SurfaceCourse, on_offer, surface
from bandits.space.points import Space
from bandits.statistics import continual_sums, kernels, published_noise
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.calibration import one_of, target
from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.receipt import Noise
from dpaccount.proof import REPLACE_ONE, Cover, Theorem, assume_covers, assume_rank_one
from mechanisms.continual.sums import TreeSums
from mechanisms.shared import grid
from mechanisms.subject import shown
from mechanisms.symmetric_gaussian import FEATURE_BITS

REWARD_BOUND = Fraction(1)  #: rewards are clipped to [−1, 1]
CALIBRATIONS = ("exact", "published")
ZETA = 0.1  #: failure probability in the published shift; the paper's experiments do not say theirs
SWEEPS = 2  #: over the groups, in search of the largest bound
LENGTH = 1  #: place of the kernel's length among those of a surface
BASES = ("eigen", "quadrature")


@dataclass(frozen=True)
class SurfaceGpUcb(SurfaceBandit):
    """Play points of a known domain, `batch` people a point (at most half of all people).

    `calibration`: ``published`` has the noise of
    Lemma 2 as its proof reads, for |y| ≤ 1, and the shift of Lemma 3; ``exact`` the least noise that is
    proved, without the corner y².  `width` is the confidence width.

    `kernel` is squared-exponential or Matérn's.  `basis`: as many ``eigen`` features of each group's grid as
    leave a kernel error of at most `error`; or ``quadrature`` features, as in the paper, of so many
    `nodes_per_axis`, which are refused where their error on the grid is larger.
    """

    source: ClassVar[str] = (
        "Dubey 2021, Algorithms 1-2, Lemmas 2-3 and section 6.2; exact calibration is ours"
    )

    batch: int = 25
    kernel: str = "squared-exponential"
    basis: str = "eigen"
    error: Fraction = Fraction(1, 20)
    nodes_per_axis: int = 8
    calibration: str = "exact"
    width: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        if not 1 <= self.batch <= 1000 or not 2 <= self.rounds <= 1000 * self.batch:
            raise out_of_range("a batch of 1 ... 1000 people, at least 2 rounds and at most 1000 batches")
        one_of("calibration", self.calibration, CALIBRATIONS)
        self.kernel_on(self.kernel)
        one_of("basis", self.basis, BASES)
        if not 1 <= self.nodes_per_axis <= 16 or self.width < 0 or not 0 < self.error < 1:
            raise out_of_range("1 ... 16 nodes_per_axis, width >= 0 and error in (0, 1)")
        self.check_sigma()
        target(self.epsilon, self.delta)
        self._check_error()

    def _check_error(self) -> None:
        """Refuse a surface that is none, and features that do not follow the kernel: these are aliases."""
        points_of = self.world.points
        if self.basis == "eigen":
            return
        name = self.kernel_on(self.kernel)
        for points, phi in zip(points_of, self.features, strict=True):
            kernel = kernels.matrix(name, points, points, self.world.lengths[LENGTH])
            error = float(np.abs(kernel - len(self.features) * phi @ phi.T).max())
            if error > self.error:
                raise InputError(
                    f"{self.nodes_per_axis} nodes an axis leave a kernel error of {error:.3g} on the grid of"
                    f" {self.space or self.surface}, above {float(self.error):.3g}",
                    "use more nodes or the basis eigen",
                )

    @cached_property
    def features(self) -> tuple[Floats, ...]:
        """Return the features of every group's grid points; a point's are the groups' side by side.

        Each group's have norm 1/√G, so that a point's have norm 1.
        """
        kernel = self.kernel_on(self.kernel)
        return _features(self.space or self.surface, kernel, self.basis, self.error, self.nodes_per_axis)

    @property
    def size(self) -> int:
        """Return the number of features."""
        return sum(features.shape[1] for features in self.features)

    @cached_property
    def noise_scale(self) -> Fraction:
        """Return σ: as given, by Lemma 2, or the least that is proved to be enough."""
        if self.sigma is None and self.calibration == "published":
            return published_noise.lemma2_sigma(self.epsilon, self.delta, self.rounds, REWARD_BOUND)
        return super().noise_scale

    @property
    def together(self) -> int:
        """Return how many people share a point."""
        return min(self.batch, self.rounds // 2)

    def batches(self) -> list[Cover]:
        """Return the rounds [first, last] of every batch; nothing is released of the last one."""
        return together(self.rounds, self.together)

    def covers(self) -> list[Cover]:
        """Return the rounds of every node of the tree that prefixes are made of, as they are released."""
        return [
            (self.together * (b - (b & -b)) + 1, self.together * b) for b in range(1, len(self.batches()))
        ]

    def proof(self, delta: Fraction) -> Theorem:
        """Rank-one sensitivity, symmetric noise per node, each person in the nodes of the tree over them."""
        return shown(self._sums(self.noise_scale, delta), "surface-gp-ucb")

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        kind = "rank-one" if self.calibration == "exact" else "outer"
        person = assume_rank_one(
            "statistics", REWARD_BOUND, REPLACE_ONE, "movement", kind, source="dp-output"
        )
        covers = assume_covers("statistics", self.covers(), "movement")
        return continual_sums.matrix_proof(person, sigma, covers, self.size + 1, delta)

    def course(self, noise: Noise, coins: int) -> "TreeCourse":
        """Return a run for people who come one by one: `batch` of them are shown one point."""
        return TreeCourse(self, noise, coins)


@lru_cache(maxsize=8)  # public, and the same in every run of a subject
def _features(
    name: str | Space, kernel: str, basis: str, error: Fraction, per_axis: int
) -> tuple[Floats, ...]:
    """Return the features of each group of a surface; groups that share their points share them."""
    cached = dict[int, Floats]()
    world = SurfaceBandit(space=name).world if isinstance(name, Space) else surface(name)
    length = world.lengths[LENGTH]
    for points in world.points:
        if id(points) not in cached:
            if basis == "eigen":
                features = eigenfeatures(kernels.matrix(kernel, points, points, length), float(error))
            else:
                features = quadrature_features(points.shape[1], per_axis, length)(points)
            features = features / np.sqrt(len(world.points))
            features.flags.writeable = False
            cached[id(points)] = features
    return tuple(cached[id(points)] for points in world.points)


class TreeCourse(SurfaceCourse):
    """A run of batches whose sums enter a tree; no action uses the last batch's rewards."""

    last_is_read = False

    def __init__(self, subject: SurfaceGpUcb, noise: Noise, coins: int) -> None:
        super().__init__(subject, subject.batches(), len(subject.features))
        self._coins = np.random.default_rng(coins)  # ties only; apart from the noise
        self._learner, self._size = Learner(subject), subject.size + 1

        def release(node: tuple[int, int], exact: Integers) -> Integers:
            level, index = node
            return noise.noisy_symmetric("sums", ((index + 1) << level) - 1, exact)  # its cover's number

        self._tree = TreeSums(release)

    def ask(self, context: Floats | None = None) -> Actions:
        """Return the point that this person is shown: its place in the grid of every group."""
        if self._begins or not on_offer(self._shown[-1], context):
            self._shown.append(self._learner.ask(self._coins, context))
        else:
            self._shown.append(self._shown[-1])
        return self._shown[-1]

    def close(self, rewards: Floats, answered: Answered) -> None:
        """Release the nodes that end with the batch under way, and learn from the new prefix."""
        shown = np.array(self._shown[self.batches[len(self._sums)][0] - 1 :])
        exact = np.zeros((self._size, self._size), dtype=np.int64)
        for point in np.unique(shown, axis=0):  # one, unless it was not on offer for somebody
            those = np.flatnonzero((shown == point).all(axis=1))
            exact += self._learner.contributions(point, rewards[those], answered[those])
        self._sums.append(self._tree.add(exact))
        self._learner.tell(self._sums[-1] / 2.0 ** (2 * FEATURE_BITS))

    def _released(self) -> Integers:
        return np.array(self._sums, dtype=np.int64).reshape(-1, self._size, self._size)


class Learner:
    """Chooses a batch's point, computes its people's contribution, learns from the noisy prefix."""

    def __init__(self, subject: SurfaceGpUcb) -> None:
        self._subject, self._features = subject, subject.features
        edges = np.cumsum([0, *(features.shape[1] for features in self._features)])
        self._slices = [slice(a, b) for a, b in pairwise(edges.tolist())]
        self._posterior = SolvedPosterior(np.eye(subject.size), np.zeros(subject.size))
        self._width = float(subject.width)

    def ask(self, rng: np.random.Generator, among: Floats | None = None) -> Integers:
        """Return a point of large φᵀθ + width·√(φᵀV⁻¹φ), `among` places of the one group; ties by a coin.

        From the point of the largest mean, group by group: the best point of one, the others held.
        """
        barred = np.zeros(()) if among is None else np.full(len(self._features[0]), -np.inf)
        if among is not None:
            barred[among.astype(np.int64)] = 0.0
        pairs = list(zip(self._slices, self._features, strict=True))
        mean, inverse = self._posterior.mean, self._posterior.inverse
        chosen = [pick(f @ mean[part] + barred, rng.random(len(f))) for part, f in pairs]
        along = inverse @ self._of(chosen)
        square = float(self._of(chosen) @ along)
        for g, (part, features) in [*enumerate(pairs)] * SWEEPS:
            away = features - features[chosen[g]]
            squares = square + 2 * away @ along[part] + ((away @ inverse[part, part]) * away).sum(axis=1)
            bounds = features @ mean[part] + self._width * np.sqrt(np.maximum(squares, 0.0))
            chosen[g] = pick(bounds + barred, rng.random(len(bounds)))
            along = along + inverse[:, part] @ away[chosen[g]]
            square = float(squares[chosen[g]])
        return np.array(chosen)

    def _of(self, point: Sequence[int] | Integers) -> Floats:
        """Return the features φ of a point."""
        return np.concatenate([f[i] for f, i in zip(self._features, point, strict=True)])

    def contributions(self, point: Sequence[int] | Integers, rewards: Floats, answered: Answered) -> Integers:
        """Return the exact sum of [φφᵀ, φy; yφᵀ, ·] over a batch; rewards beyond [−1, 1] are clipped.

        NaN counts as 0.  With ``published`` the corner is y².  Who did not answer adds zero, φφᵀ too.
        """
        whole = grid.in_ball(self._of(point)[None, :], REWARD_BOUND, FEATURE_BITS)
        paid = grid.clipped(np.nan_to_num(rewards, nan=0.0), -REWARD_BOUND, REWARD_BOUND, FEATURE_BITS)
        people = np.concatenate([np.repeat(whole, len(paid), axis=0), paid[:, None]], axis=1)[answered]
        total: Integers = (people.T.astype(np.float64) @ people).astype(np.int64)  # exact: below 2^53
        if self._subject.calibration == "exact":
            total[-1, -1] = 0
        return total

    def tell(self, released: Floats) -> None:
        """Take (G, u) from a noisy prefix: V = G + I + shift, positive definite, θ = V⁻¹u."""
        gram, moment = released[:-1, :-1], released[:-1, -1]
        self._posterior = SolvedPosterior(raised(gram, self._shift()), moment)

    def _shift(self) -> float:
        """Return 2Λ of Lemma 3, or twice the spectral edge 2σ√m of as many nodes as a prefix may have."""
        subject, sigma = self._subject, float(self._subject.noise_scale)
        if subject.calibration == "published":
            return 2 * published_noise.lemma3_spectrum(sigma, subject.rounds, subject.size, ZETA).least
        nodes = len(subject.covers()).bit_length()
        return float(4 * sigma * np.sqrt(subject.size * nodes))
