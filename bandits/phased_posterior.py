"""Bandit with public contexts and private rewards: a posterior that knows its noise, in growing batches.

A batch of people is shown points drawn from the posterior (Thompson 1933).  Each reward, less what is
predicted, clipped at ±C, is spread over the directions g that the posterior is unsure of, and only the
noisy sum r = Σ g·clip(y − ŷ, ±C) + 2Cσξ leaves the batch.  The next posterior takes r for what it is: a
linear observation κΣgφᵀθ of the coefficients, with the noise that was drawn and the rewards' own.

Under strong noise, against few features, batches are many and small and their noise is correlated: row j
releases Σ_{b≤j} C_jb X_b + 2σξ, X_b the batch's sum in units of its clip and C the square root of the prefix
sums, every column scaled to norm 1 (Denisov et al. 2022).  Rows then tell of sums over batches at the price
of one release, and add up coherently if all have the directions of the symmetric root P^½.

Every scale is public, or chosen from earlier releases for contributions and noise alike; a person is in
one batch, and replacing their reward moves its sum by at most 2C in ℓ2: GDP of 1/σ for the whole transcript,
actions included.  It holds for public contexts only: a private context would move every g of its batch.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt
from typing import ClassVar

import numpy as np

from bandits.learning.arrivals import Answered
from bandits.learning.contextual import SEVERAL
from bandits.simulation.surfaces import (
    COARSE,
    SurfaceBandit,
    SurfaceCourse,
    on_offer,
    surface,
)
from bandits.space.points import Space
from bandits.statistics import clipped_sums
from bandits.statistics.additive_model import SCALES, AdditiveModel
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.calibration import one_of, target
from bandits.statistics.clipped_sums import CONTRIBUTION_BITS, RewardNoise
from bandits.statistics.continual_sums import StreamedRows
from bandits.statistics.linear_posterior import LinearPosterior, evidence
from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.proof import (
    REPLACE_ONE,
    Cover,
    Theorem,
    assume_ball,
    assume_covers,
    assume_rounds,
    factorised,
    linear,
    nodes,
)
from mechanisms.continual import factors
from mechanisms.shared import grid
from mechanisms.shared.gaussian_noise import gaussian, unchanged
from mechanisms.subject import shown

FIRST, GROWTH, LEAST = 60, 1.3, 30  #: batches after the first: 60, 78, 101, …; the first at least 30
CROWD = 0.07  #: people for each σ² and feature, if that is more: fewer would drown in a batch's noise
ROW_FIRST, ROW_GROWTH = 250, 1.1  #: batches after the first where their noise is correlated
WEIGHTS = 16  #: weights of rows lie on multiples of 2^−16
DRAWS = 2000  #: different points of a batch at most; more people share them
PEOPLE_PER_BLOCK = 4096  #: people whose contributions are made at once
STREAMS = ("chosen", "separate", "correlated")
CHOOSING = 2  #: releases before the prior is chosen by them
OWN_NOISE = 0.1  #: standard deviation of a reward about its mean, where it is assumed
REWARD_NOISES = ("assumed", "estimated")
START = (3, 1)  #: places of the first scale and length; a step away has prior weight e^(−½), as a normal law
LEVEL = 0.3  #: weight of the common level relative to the directions
EXPLORE = 0.8  #: Thompson draws spread by this much of the posterior's width, falling to none


@dataclass(frozen=True)
class PhasedPosterior(SurfaceBandit):
    """Play points of a known domain; a person's reward is private.

    `sigma` is the noise in units of 2C; left out, the least that is proved to meet
    (`epsilon`, `delta`).  `stream` says whether the noise of batches is ``separate`` or ``correlated``; it is
    ``chosen`` by σ and the number of features.  `kernel`: the prior's, squared-exponential or Matérn's.
    `reward_noise`: a reward's deviation about its mean is ``assumed``, .1, or ``estimated`` from releases.
    """

    source: ClassVar[str] = "ours; Thompson sampling over noisy batch sums, noise-aware linear posterior"

    stream: str = "chosen"
    kernel: str = "squared-exponential"
    reward_noise: str = "assumed"

    def __post_init__(self) -> None:
        one_of("stream", self.stream, STREAMS)
        one_of("reward_noise", self.reward_noise, REWARD_NOISES)
        if self.rounds < 2 or self.rounds > 10**6:
            raise InputError(f"rounds is {self.rounds}", "it lies in 2 ... 1000000")
        if self.sigma is not None and not Fraction(1, 1000) <= self.sigma <= 10**6:
            raise InputError(f"sigma is {float(self.sigma)}", "it lies in 0.001 ... 1000000")
        target(self.epsilon, self.delta)
        self.kernel_on(self.kernel)
        self.world  # noqa: B018  # refuses a surface that is none

    @property
    def model(self) -> AdditiveModel:
        """Return the public features and priors."""
        return model_on(self.space or self.surface, self.kernel)

    @property
    def crowd(self) -> float:
        """Return how many people a batch takes that is not to drown in its noise."""
        return CROWD * float(self.noise_scale) ** 2 * self.model.size

    @property
    def correlated(self) -> bool:
        """Return whether batch noise is correlated: as given, or if it dominates small batches."""
        return self.stream == "correlated" or (self.stream == "chosen" and self.crowd > FIRST)

    def covers(self) -> list[Cover]:
        """Return the rounds of every batch: public, from `rounds`, σ and the number of features alone."""
        # few batches are worse than noisy ones
        most = max(self.rounds // SEVERAL, 1)
        second, growth = max(FIRST, min(self.crowd, self.rounds / 10)), GROWTH
        if self.correlated:
            second, growth = ROW_FIRST, ROW_GROWTH
        second, first, covers = min(second, most), 1, []
        size = min(max(LEAST, ceil(20 * self.noise_scale)), most)
        while first <= self.rounds:
            last = min(first + size - 1, self.rounds)
            covers.append((first, last))
            first, size = last + 1, int(second * growth ** (len(covers) - 1))
        return covers

    def weights(self) -> Integers:
        """Return C as integers over 2^`WEIGHTS`, a row a batch; the identity where noise is separate."""
        batches = len(self.covers())
        if not self.correlated:
            return np.eye(batches, dtype=np.int64)
        root = factors.sqrt_toeplitz(batches) / 2.0**factors.WEIGHT_BITS
        lengths = np.sqrt(np.cumsum(root**2))[::-1] * (1 + 1e-9)  # of column b: its first n − b weights
        lags = np.subtract.outer(np.arange(batches), np.arange(batches))
        # Rounded down: a column longer than 1 would cost more than one release.
        return np.floor(np.where(lags >= 0, root[lags] / lengths, 0.0) * 2**WEIGHTS).astype(np.int64)

    def member(self, rounds: int) -> "PhasedPosterior":
        """Return this bandit on at most `rounds` people."""
        return replace(self, rounds=min(self.rounds, rounds))

    def proof(self, delta: Fraction) -> Theorem:
        """One vector of norm at most 1 a person, in one batch: Gaussian noise of 2σ on sums, or on rows."""
        whole = (
            self._rows(delta) if self.correlated else self._batches(self.noise_scale, delta, self.covers())
        )
        return shown(whole, "phased-posterior")

    def _rows(self, delta: Fraction) -> Theorem:
        covers, weights = self.covers(), self.weights()
        inside = assume_ball("batch", Fraction(1), REPLACE_ONE, "movement", source="dp-output")
        ends = [last for _, last in covers]
        entered = assume_rounds("batch", len(covers), "movement", ends=ends)
        rows = factorised(linear(inside), entered, factors.lower(weights), WEIGHTS)
        step, numbers = grid.step(CONTRIBUTION_BITS + WEIGHTS), len(covers) * (1 + self.model.size)
        return gaussian(rows, 2 * self.noise_scale, step, numbers, "batch", delta, unchanged)

    def _sums(self, sigma: Fraction, delta: Fraction) -> Theorem:
        return self._batches(sigma, delta, [(1, self.rounds)])  # no batch costs more than one of everybody

    def _batches(self, sigma: Fraction, delta: Fraction, covers: list[Cover]) -> Theorem:
        inside = assume_ball("batch", Fraction(1), REPLACE_ONE, "movement", source="dp-output")
        batches = assume_covers("batch", covers, "movement")
        step, numbers = grid.step(CONTRIBUTION_BITS), 1 + self.model.size
        return gaussian(
            linear(inside), 2 * sigma, step, numbers, "batch", delta, lambda one: nodes(one, batches)
        )

    def course(self, noise: Noise, coins: int) -> "PosteriorCourse":
        """Return a run for people who come one by one."""
        return PosteriorCourse(self, noise, coins)


class PosteriorCourse(SurfaceCourse):
    """A run of batches, each of which ends a noisy row."""

    def __init__(self, subject: PhasedPosterior, noise: Noise, coins: int) -> None:
        super().__init__(subject, subject.covers(), len(subject.model.groups))
        weights, self._bits = subject.weights(), WEIGHTS if subject.correlated else 0
        self._rows = StreamedRows(weights, lambda number, row: noise.noisy("batch", number, row))
        self._learner = Learner(
            *(subject.model, float(subject.noise_scale), subject.rounds, coins),
            weights / 2.0**self._bits,
            None if subject.reward_noise == "estimated" else OWN_NOISE,
        )
        self._planned: Integers = np.zeros((0, 0), dtype=np.int64)  #: the points of the batch under way
        self._replanned = False

    def ask(self, context: Floats | None = None) -> Integers:
        """Return the point that this person is shown: its place in the grid of every group."""
        if self._begins:
            first, last = self.batches[len(self._sums)]
            final = len(self._sums) == len(self.batches) - 1
            self._planned = self._learner.ask(first - 1, last, final=final, among=context)
            self._replanned = False
        slot = len(self._shown) - self.batches[len(self._sums)][0] + 1
        if not on_offer(self._planned[slot], context):
            self._planned[slot], self._replanned = self._learner.best(context), True
        self._shown.append(self._planned[slot].copy())
        return self._shown[-1]

    def close(self, rewards: Floats, answered: Answered) -> None:
        """Release the row that ends with the batch under way, and learn from it."""
        if self._replanned:
            self._learner.replan(self._planned)
        self._sums.append(self._rows.add(self._learner.contributions(rewards, answered)))
        if len(self._sums) < len(self.batches):  # no one is shown what the last one says
            self._learner.tell(self._sums[-1] / 2.0 ** (CONTRIBUTION_BITS + self._bits))


@lru_cache(maxsize=8)
def model_on(where: str | Space, kernel: str) -> AdditiveModel:
    """Return the model of a catalogued surface, or of public points; a kernel matrix has one length only."""
    if isinstance(where, str):
        world = surface(where)
        return AdditiveModel(world.points, world.lengths, kernel)
    lengths = COARSE[:1] if where.alike else COARSE
    return AdditiveModel((where.points,), lengths, where.kernel_name(kernel))


class Learner:
    """Ask for a batch's points, make its people's contributions, tell the noisy row; batch after batch.

    `weights` [batches, batches] are those of rows; without them, or with the identity, noise is separate.
    `own` is a reward's deviation about its mean; None: it is estimated.
    """

    def __init__(
        self,
        model: AdditiveModel,
        sigma: float,
        rounds: int,
        coins: int,
        weights: Floats | None = None,
        own: float | None = OWN_NOISE,
    ) -> None:
        self._model, self._sigma, self._rounds = model, sigma, rounds
        self._weights = np.eye(0) if weights is None else weights
        self._correlated = bool(np.triu(self._weights.T, 1).any())
        self._past: list[tuple[Floats, float]] = []  #: H next to H·θ̂, and rewards' noise, of batches in rows
        self._rng = np.random.default_rng(coins)  # apart from the noise
        self._scale, self._length = START[0], min(START[1], self._model.lengths - 1)
        self._told, self._own = 0, RewardNoise(own)
        self._observed = LinearPosterior(model.size)
        self._settle()

    def ask(self, start: int, stop: int, *, final: bool, among: Floats | None = None) -> Integers:
        """Return the points of rounds `start` … `stop` − 1: uniform at first, greedy in the last batch.

        They are `among` these places of the one group, if any are given.

        A large batch has `DRAWS` different ones, each for neighbours in the order of arrival.
        """
        people = stop - start
        draws = 1 if final and self._told else min(people, DRAWS)  # nothing is learned after the last batch
        begins = start + np.arange(draws) * people // draws
        if self._told == 0:
            sizes = [len(features) for features in self._model.groups]
            points = np.stack([self._rng.integers(0, n, draws) for n in sizes], axis=1)
            points = points if among is None else among.astype(np.int64)[points % len(among)]
        elif final:
            points = self._model.best(self._mean[None, :], among)
        else:
            fading = EXPLORE * (1 - begins / self._rounds)
            points = self._model.best(self._mean + fading[:, None] * self._drawn(draws), among)
        self._point_of = np.searchsorted(begins, np.arange(start, stop), side="right") - 1
        self._aim(points, np.bincount(self._point_of, minlength=draws).astype(np.float64))
        return points[self._point_of]

    def best(self, among: Floats | None) -> Integers:
        """Return the point of the largest mean."""
        return self._model.best(self._mean[None, :], among)[0]

    def replan(self, points: Integers) -> None:
        """Take these points for those that the batch under way is shown, before it learns anything."""
        different, self._point_of, people = np.unique(points, axis=0, return_inverse=True, return_counts=True)
        self._aim(different, people.astype(np.float64))

    def _drawn(self, draws: int) -> Floats:
        """Return draws [draws, size] from N(0, P)."""
        coins = self._rng.normal(size=(len(self._factor), draws))
        return self._prior.times(np.linalg.solve(self._factor.T, coins)).T

    def _aim(self, points: Integers, people: Floats) -> None:
        """Choose directions g and clip C of a batch with `people` at each point, from public numbers.

        Directions lie in the span of `_basis` [size, r]: what the prior's length can tell apart.
        """
        phi = self._phi = self._model.features(points)
        self._clip, self._slope = 1.0, 1.0
        self._spread = self._own.value**2 + 0.04
        inner, self._basis = np.ones((len(phi), 1)), np.zeros((self._model.size, 0))
        if self._told:
            # in coordinates whose squares add up to φᵀPφ
            seen = np.linalg.solve(self._factor, self._prior.transposed_times(phi.T)).T
            inner, self._basis = self._turned(seen - people @ seen / people.sum())
            # one point for everyone leaves rounding, which is not to be blown up
            inner /= max(sqrt(people @ (inner**2).sum(axis=1) / people.sum()), 1e-6)
            inner = np.column_stack([np.full(len(phi), LEVEL), inner])
        # The sensitivity rests on this: a longer direction would count for more than one person.
        inner /= np.linalg.norm(inner, axis=1, keepdims=True)
        self._directions = np.column_stack([inner[:, 0], inner[:, 1:] @ self._basis.T])
        spread_over = (inner * people[:, None]).T
        self._gram, self._cross = spread_over @ inner, spread_over @ phi
        if self._told:
            self._choose_clip(float(people @ (seen**2).sum(axis=1) / people.sum()))

    def _turned(self, away: Floats) -> tuple[Floats, Floats]:
        """Return coordinates of rows and an orthonormal basis for them.

        A rotation does not matter where releases are apart; where they add up, it is that of the symmetric
        root, R(RᵀR)^(−½)Rᵀ of P = RRᵀ, whatever eigenvectors of RᵀR it is computed in.
        """
        if not self._correlated:
            return away, np.eye(self._model.size, away.shape[1])
        root = self._prior.times(np.linalg.solve(self._factor, np.eye(len(self._factor))).T)
        values, vectors = np.linalg.eigh(root.T @ root)
        return away @ vectors, root @ (vectors / np.sqrt(np.maximum(values, 1e-30)))

    def _inward(self, numbers: Floats) -> Floats:
        """Return the level's row and those of `_basis`, of what has a row for the level and each feature."""
        return np.concatenate([numbers[:1], self._basis.T @ numbers[1:]])

    def _outward(self, numbers: Floats) -> Floats:
        """Return what `_inward` would give these numbers."""
        return np.concatenate([numbers[:1], self._basis @ numbers[1:]])

    def _choose_clip(self, unsure: float) -> None:
        typical, width = clipped_sums.typical(self._gram), sqrt(self._own.value**2 + unsure)
        clip = clipped_sums.best_clip(min(width, 1.0), 2 * self._sigma, typical)
        self._clip, self._slope, self._unsure = clip.bound, clip.slope, unsure
        self._spread = clip.rest(unsure)

    def contributions(self, rewards: Floats, answered: Answered) -> Integers:
        """Return the exact sum of g·clip(y − φᵀθ̂, ±C)/C in grid units; each person's has norm at most 1.

        Who did not answer adds zero.
        """
        paid = np.nan_to_num(rewards, nan=0.0)
        # before the first release nothing is predicted, and rewards themselves are clipped to [−1, 1]
        residual = paid - ((self._phi @ self._mean)[self._point_of] if self._told else 0.0)
        total = np.zeros(self._directions.shape[1], dtype=np.int64)
        for start in range(0, len(paid), PEOPLE_PER_BLOCK):
            now = slice(start, start + PEOPLE_PER_BLOCK)
            directions = self._directions[self._point_of[now]]
            total += clipped_sums.contributions(directions, residual[now], self._clip, answered[now])
        return total

    def tell(self, released: Floats) -> None:
        """Learn from a noisy row, in units of the clips: r = Σ_b C_jb (H_b(θ − θ̂_b) + rewards' noise) + 2σξ.

        The rewards' own noise is taken for independent from row to row, which little noise would make false.
        """
        # A clip hides part of a residual: on average it passes the share κ, so what is observed is κ times as
        # steep.
        shape = self._slope / self._clip * self._cross
        predicted = shape @ self._mean if self._told else np.zeros(len(shape))
        noise = self._spread / self._clip**2 * self._gram
        if self._correlated:
            shape, predicted, noise = self._row(shape, predicted, noise)
        noise[np.diag_indices_from(noise)] += (2 * self._sigma) ** 2
        observed = self._inward(released) + predicted
        if self._own.estimated and self._told:
            self._weigh(shape, noise, observed)
        self._observed.learn(shape, noise, observed)
        self._told += 1
        if self._told >= CHOOSING:
            self._choose_prior()
        self._settle()

    def _weigh(self, shape: Floats, noise: Floats, observed: Floats) -> None:
        """Estimate the rewards' own noise by what a row has beyond its prediction."""
        gram = self._gram * (self._weights[self._told, self._told] ** 2 if self._correlated else 1.0)
        whitened = np.linalg.solve(self._factor, self._prior.transposed_times(shape.T))
        rest = whitened.T @ whitened + noise - self._spread / self._clip**2 * gram
        self._own.tell(observed - shape @ self._mean, rest, gram, self._clip, self._unsure)

    def _row(self, shape: Floats, predicted: Floats, noise: Floats) -> tuple[Floats, Floats, Floats]:
        """Return H, H·θ̂ and the rewards' noise of this batch's row, with the batches before it."""
        *past, weight = self._weights[self._told, : self._told + 1]
        whole, own = np.column_stack([shape, predicted]), clipped_sums.typical(noise)
        noise = weight**2 * noise
        noise[np.diag_indices_from(noise)] += sum(
            each**2 * reward for each, (_, reward) in zip(past, self._past, strict=True)
        )
        self._past.append((self._outward(whole), own))
        if past:
            before = sum(each * kept for each, (kept, _) in zip(past, self._past[:-1], strict=True))
            whole = weight * whole + self._inward(before)
        else:
            whole = weight * whole
        return whole[:, :-1], whole[:, -1], noise

    def _settle(self) -> None:
        """Compute mean θ̂ and the parts of the covariance P = L(I + LᵀJL)⁻¹Lᵀ."""
        prior = self._prior = self._model.prior_root(self._scale, self._length)
        inner = np.eye(prior.size) + prior.within(self._observed.information)
        self._factor = np.linalg.cholesky(inner)
        moment = prior.transposed_times(self._observed.moment)
        self._mean = prior.times(np.linalg.solve(inner, moment).astype(np.float64))

    def _choose_prior(self) -> None:
        """Move to the scale and length of largest marginal likelihood of the releases; at first among all."""
        # Among all at first, then a step at a time, so that the prior does not jump with every noisy release.
        reach = len(SCALES) + self._model.lengths if self._told == CHOOSING else 1
        likely: dict[tuple[int, int], float] = {}
        for length in range(self._model.lengths):
            left = reach - abs(length - self._length)
            scales = [scale for scale in range(len(SCALES)) if abs(scale - self._scale) <= left]
            if scales:
                found = self._evidence(scales, length).tolist()
                likely |= {(scale, length): value for scale, value in zip(scales, found, strict=True)}
        self._scale, self._length = max(likely, key=likely.__getitem__)

    def _evidence(self, scales: list[int], length: int) -> Floats:
        """Return ln p(releases) up to a constant, plus the prior's of each scale and the length."""
        prior = self._model.prior_root(scales[0], length)
        sizes = np.ones((len(scales), prior.size))  # of another scale's columns, but for the level's
        sizes[:, 1:] = np.array([[SCALES[scale] / SCALES[scales[0]]] for scale in scales])
        information = sizes[:, :, None] * prior.within(self._observed.information) * sizes[:, None, :]
        moment = sizes * prior.transposed_times(self._observed.moment)
        away = (np.array(scales) - START[0]) ** 2 + (length - START[1]) ** 2
        return evidence(np.eye(prior.size) + information, moment) - away / 2
