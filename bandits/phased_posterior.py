"""Bandit with public contexts and private rewards: a posterior that knows its noise, in growing batches.

A batch of people is shown points drawn from the posterior (Thompson 1933).  Each reward, less what is
predicted, clipped at ±C, is spread over the directions g that the posterior is unsure of, and only the
noisy sum r = Σ g·clip(y − ŷ, ±C) + 2Cσξ leaves the batch.  The next posterior takes r for what it is: a
linear observation κΣgφᵀθ of the coefficients, with the noise that was drawn and the rewards' own.

Every scale is public, or chosen from earlier releases for contributions and noise alike; a person is in
one batch, and replacing their reward moves its sum by at most 2C: GDP of 1/σ for the whole transcript,
actions included.  It holds for public contexts only: a private context would move every g of its batch.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, erf, exp, pi, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular

from bandits.learning.arrivals import TOLD, Actions, Answered, replay
from bandits.statistics.calibration import least_sigma, target
from bandits.worlds.surfaces import Indices, Surface, surface
from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from dpaccount.proof import REPLACE_ONE, Cover, Theorem, assume_ball, assume_covers, linear, nodes
from mechanisms.shared import grid
from mechanisms.shared.gaussian_noise import gaussian
from mechanisms.subject import Domain, Rows, View, shown, wide

Floats = NDArray[np.float64]

BITS = 24  #: contributions lie on multiples of 2^−24, in units of the clip C
FIRST, GROWTH, LEAST = 60, 1.3, 30  #: batches after the first: 60, 78, 101, …; the first at least 30
CROWD = 0.07  #: or so many people for σ² and feature, if more: fewer would drown in a batch's noise
CHOOSING = 2  #: releases before the prior is chosen by them
OWN_NOISE = 0.1  #: standard deviation of a reward about its mean, as the model has it
SCALES = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8)  #: τ, of the surface's standard deviation
START = (3, 1)  #: places of the first scale and length; a step away has prior weight e^(−½), as a normal law
LEVEL = 0.3  #: weight of the common level beside the directions
EXPLORE = 0.8  #: Thompson draws spread by this much of the posterior's width, falling to none


@dataclass(frozen=True)
class PhasedPosterior:
    """Play `rounds` points of a known domain for an unknown `surface`; a person's reward is private.

    A record is what a person's reward has beyond the surface, so any reward can be any other's
    neighbour.  `sigma` is the noise in units of 2C; left out, the least that is proved to meet
    (`epsilon`, `delta`).
    """

    source: ClassVar[str] = "ours; Thompson sampling over noisy batch sums, noise-aware linear posterior"
    status: ClassVar[str] = "sound"
    relation: ClassVar[str] = REPLACE_ONE

    surface: str = "camelback"
    rounds: int = 10_000
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(1, 10**6)
    sigma: Fraction | None = None

    def __post_init__(self) -> None:
        """Refuse parameters that make no sense, before any charge."""
        if self.rounds < 2 or self.rounds > 10**6:
            raise InputError(f"rounds is {self.rounds}; it lies in 2 ... 1000000")
        if self.sigma is not None and not Fraction(1, 1000) <= self.sigma <= 10**6:
            raise InputError(f"sigma is {float(self.sigma)}; it lies in 0.001 ... 1000000")
        target(self.epsilon, self.delta)
        surface(self.surface)

    @cached_property
    def world(self) -> Surface:
        """Return the surface; the learner reads its points, never its values."""
        return surface(self.surface)

    @property
    def model(self) -> "Model":
        """Return the public features and priors."""
        return model_of(self.surface)

    @cached_property
    def noise_scale(self) -> Fraction:
        """Return σ: as given, or calibrated."""
        if self.sigma is not None:
            return self.sigma
        return least_sigma(lambda sigma: self._batches(sigma, self.delta), self.epsilon, self.delta)

    def covers(self) -> list[Cover]:
        """Return the rounds of every batch: public, from `rounds`, σ and the number of features alone."""
        crowd = CROWD * float(self.noise_scale) ** 2 * self.model.size
        second = max(FIRST, min(crowd, self.rounds / 10))  # few batches are worse than noisy ones
        size, first, found = max(LEAST, ceil(20 * self.noise_scale)), 1, []
        while first <= self.rounds:
            last = min(first + size - 1, self.rounds)
            found.append((first, last))
            first, size = last + 1, int(second * GROWTH ** (len(found) - 1))
        return found

    def domain(self) -> Domain:
        """Return one number a person, well beyond what is clipped."""
        return wide(self.rounds, 1, 4.0)

    def proof(self, delta: Fraction) -> Theorem:
        """One vector of norm at most 1 a person, in one batch's sum: Gaussian noise of 2σ there."""
        return shown(self._batches(self.noise_scale, delta, self.covers()), "phased-posterior")

    def _batches(self, sigma: Fraction, delta: Fraction, covers: list[Cover] | None = None) -> Theorem:
        inside = assume_ball("batch", Fraction(1), REPLACE_ONE, "movement", source="dp-output")
        batches = assume_covers("batch", covers or [(1, self.rounds)], "movement")
        step, numbers = grid.step(BITS), 1 + self.model.size
        return gaussian(
            linear(inside), 2 * sigma, step, numbers, "batch", delta, lambda one: nodes(one, batches)
        )

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Serve every person once; everyone sees the points played and the sums released."""

        def pays(first: int, shown: list[Actions]) -> Floats:
            return self.world.value(np.array(shown)) + data[first : first + len(shown), 0]

        return replay(self.course(noise, coins), None, pays)

    def course(self, noise: Noise, coins: int) -> "PosteriorCourse":
        """Return a run for people who come one by one."""
        return PosteriorCourse(self, noise, coins)


class PosteriorCourse:
    """A run over people to whom all points are offered; everyone sees the points and the sums."""

    last_is_read = True
    context, candidates = None, 0
    reward = TOLD

    def __init__(self, subject: PhasedPosterior, noise: Noise, coins: int) -> None:
        self.batches = subject.covers()
        self._noise, self._groups = noise, len(subject.model.groups)
        self._learner = Learner(subject.model, float(subject.noise_scale), subject.rounds, coins)
        self._offered: list[Indices] = []  #: the points of the batch under way that nobody was shown yet
        self._shown: list[Indices] = []
        self._sums: list[Integers] = []

    def ask(self, context: Floats | None = None) -> Indices:
        """Return the point that this person is shown: its place in the grid of every group."""
        if len(self._shown) == self.batches[len(self._sums)][0] - 1:
            first, last = self.batches[len(self._sums)]
            final = len(self._sums) == len(self.batches) - 1
            self._offered = list(self._learner.ask(first - 1, last, final=final))[::-1]
        self._shown.append(self._offered.pop())
        return self._shown[-1]

    def close(self, rewards: Floats, answered: Answered) -> None:
        """Release the sum of the batch under way, and learn from it."""
        exact = self._learner.contributions(rewards, answered)
        self._sums.append(self._noise.noisy("batch", len(self._sums), exact))
        self._learner.tell(self._sums[-1] / 2.0**BITS)

    def view(self) -> View:
        """Return the points played, and the sums one after another."""
        points = np.array(self._shown, dtype=np.int64).reshape(-1, self._groups)
        sums = np.array(self._sums, dtype=np.int64).reshape(-1)
        return View(public={"points": points, "sums": sums})


class Model:
    """Features φ = [1, F₁(x₁), …, F_G(x_G)] of a surface's points and Gaussian priors on their weights.

    F are eigenfeatures of the centred squared-exponential kernel at the smallest length offered; other
    lengths and scales are other priors on the same features.
    """

    def __init__(self, world: Surface) -> None:
        made: dict[int, tuple[Floats, list[Floats]]] = {}  # groups often share their points
        for points in world.points:
            if id(points) not in made:
                made[id(points)] = _prior_roots(points, world.lengths)
        self.groups = [made[id(points)][0] for points in world.points]
        self._roots = [made[id(points)][1] for points in world.points]
        self.lengths = len(world.lengths)
        edges = np.cumsum([1, *(features.shape[1] for features in self.groups)])
        self.slices = [slice(a, b) for a, b in pairwise(edges.tolist())]
        self.size = int(edges[-1])

    def features(self, chosen: Indices) -> Floats:
        """Return φ of choices [n, groups], as rows."""
        parts = [features[chosen[:, g]] for g, features in enumerate(self.groups)]
        return np.concatenate([np.ones((len(chosen), 1)), *parts], axis=1)

    def prior_root(self, scale: int, length: int) -> "Blocks":
        """Return L with LLᵀ the weights' covariance: level 1, group parts of total variance τ²."""
        size = SCALES[scale] / sqrt(len(self.groups))
        parts = [size * roots[length] for roots in self._roots]
        return Blocks(self.slices, parts)

    def best(self, weights: Floats) -> Indices:
        """Return the choice of largest φᵀw, group by group, for every row w of `weights`."""
        parts = [
            np.argmax(weights[:, part] @ features.T, axis=1)
            for part, features in zip(self.slices, self.groups, strict=True)
        ]
        return np.stack(parts, axis=1)


@lru_cache(maxsize=4)
def model_of(name: str) -> Model:
    """Return the model of a catalogued surface."""
    return Model(surface(name))


def _prior_roots(points: Floats, lengths: tuple[float, ...]) -> tuple[Floats, list[Floats]]:
    """Return features of the smallest length and, for every length, a root of their weights' covariance."""
    features = _eigenfeatures(points, lengths[0])
    inverse = np.linalg.pinv(features)
    parts = [inverse @ _eigenfeatures(points, length) for length in lengths]
    return features, [cholesky(part @ part.T + 1e-6 * np.eye(len(part)), lower=True) for part in parts]


def _eigenfeatures(points: Floats, length: float) -> Floats:
    """Return eigenfeatures of the centred kernel, eigenvalues above 1e-3 of the first, mean ‖F‖² = 1."""
    square = ((points[:, None] - points[None]) ** 2).sum(axis=-1)
    kernel = np.exp(-square / (2 * length**2))
    kernel = kernel - kernel.mean(axis=0) - kernel.mean(axis=1)[:, None] + kernel.mean()
    values, vectors = np.linalg.eigh(kernel)
    kept = np.flatnonzero(values > 1e-3 * values[-1])[::-1][:60]
    features: Floats = vectors[:, kept] * np.sqrt(values[kept])
    return features / sqrt(np.mean((features**2).sum(axis=1)))


@dataclass(frozen=True)
class Blocks:
    """A block-diagonal matrix L with a 1 in its first corner and `parts` at `slices`."""

    slices: list[slice]
    parts: list[Floats]

    def times(self, right: Floats) -> Floats:
        """Return L times a matrix or a vector."""
        product = right.copy()
        for place, part in zip(self.slices, self.parts, strict=True):
            product[place] = part @ right[place]
        return product

    def transposed_times(self, right: Floats) -> Floats:
        """Return Lᵀ times a matrix or a vector."""
        return Blocks(self.slices, [part.T for part in self.parts]).times(right)

    def around(self, middle: Floats) -> Floats:
        """Return I + Lᵀ·middle·L of a symmetric `middle`."""
        inner = self.transposed_times(self.transposed_times(middle).T)
        inner[np.diag_indices_from(inner)] += 1.0
        return inner


class Learner:
    """Ask for a batch's points, make its people's contributions, tell the noisy sum; batch after batch."""

    def __init__(self, model: Model, sigma: float, rounds: int, coins: int) -> None:
        self._model, self._sigma, self._rounds = model, sigma, rounds
        self._rng = np.random.default_rng(coins)  # apart from the noise
        (self._scale, self._length), self._told = START, 0
        self._information = np.zeros((model.size, model.size))
        self._moment = np.zeros(model.size)
        self._settle()

    # ------------------------------------------------------------------ a batch

    def ask(self, start: int, stop: int, *, final: bool) -> Indices:
        """Return the points of rounds `start` … `stop` − 1: uniform at first, greedy in the last batch."""
        if self._told == 0:
            sizes = [len(features) for features in self._model.groups]
            chosen = np.stack([self._rng.integers(0, n, stop - start) for n in sizes], axis=1)
        elif final:
            chosen = np.repeat(self._model.best(self._mean[None, :]), stop - start, axis=0)
        else:
            fading = EXPLORE * (1 - np.arange(start, stop) / self._rounds)
            drawn = self._rng.normal(size=(stop - start, self._model.size)) @ self._root.T
            chosen = self._model.best(self._mean + fading[:, None] * drawn)
        self._aim(chosen)
        return chosen

    def _aim(self, chosen: Indices) -> None:
        """Choose the directions g and the clip C of a batch, from public numbers only."""
        self._phi = self._model.features(chosen)
        if self._told == 0:
            self._directions = np.zeros((len(chosen), 1 + self._model.size))
            self._directions[:, 0] = 1.0
            self._clip, self._slope = 1.0, 1.0
            self._spread = self._variance = OWN_NOISE**2 + 0.04
            return
        # h = P^½(φ − φ̄) in any square root's coordinates: they only rotate the release
        away = (self._phi - self._phi.mean(axis=0)) @ self._root
        away /= max(sqrt(np.mean((away**2).sum(axis=1))), 1e-12)
        whole = np.concatenate([np.full((len(away), 1), LEVEL), away], axis=1)
        self._directions = whole / np.linalg.norm(whole, axis=1, keepdims=True)
        unsure = float(np.mean(((self._phi @ self._root) ** 2).sum(axis=1)))
        gram = self._directions.T @ self._directions
        typical = float((gram**2).sum() / np.trace(gram))  # Σλ²/Σλ
        width = min(sqrt(OWN_NOISE**2 + unsure), 1.0)
        self._clip = min(
            width * np.geomspace(0.1, 3, 40),
            key=lambda c: (
                (4 * c**2 * self._sigma**2 + clipped_variance(c / width) * width**2 * typical)
                / erf(c / (width * sqrt(2))) ** 2
            ),
        )
        self._slope = erf(self._clip / (width * sqrt(2)))
        self._variance = clipped_variance(self._clip / width) * width**2
        self._spread = max(self._variance - self._slope**2 * unsure, 0.2 * self._variance)

    def contributions(self, rewards: Floats, answered: Answered | None = None) -> NDArray[np.int64]:
        """Return the exact sum of g·clip(y − φᵀθ̂, ±C)/C in grid units; each person's has norm at most 1.

        Who did not answer adds zero; without `answered` everybody did.
        """
        known = np.nan_to_num(rewards, nan=0.0)
        # before the first release nothing is predicted, and rewards themselves are clipped to [−1, 1]
        residual = known - (self._phi @ self._mean if self._told else 0.0)
        within = np.clip(residual / self._clip, -1, 1)
        if answered is not None:
            within = np.where(answered, within, 0.0)
        total: NDArray[np.int64] = grid.in_ball(self._directions * within[:, None], Fraction(1), BITS).sum(0)
        return total

    def tell(self, released: Floats) -> None:
        """Learn from a batch's noisy sum, in units of the clip."""
        shape = self._slope * (self._directions.T @ self._phi)  # r = shape·θ + noise
        noise = self._spread * (self._directions.T @ self._directions)
        noise[np.diag_indices_from(noise)] += (2 * self._clip * self._sigma) ** 2
        observed = released * self._clip + (shape @ self._mean if self._told else 0.0)
        factor = cholesky(noise, lower=True)
        whitened = solve_triangular(factor, np.column_stack([shape, observed]), lower=True)
        self._information += whitened[:, :-1].T @ whitened[:, :-1]
        self._moment += whitened[:, :-1].T @ whitened[:, -1]
        self._told += 1
        if self._told >= CHOOSING:
            self._choose_prior()
        self._settle()

    # ------------------------------------------------------------------ the posterior

    def _settle(self) -> None:
        """Compute mean θ̂ and a square root of the covariance P = (Λ⁻¹ + J)⁻¹."""
        prior = self._model.prior_root(self._scale, self._length)
        factor = cholesky(prior.around(self._information), lower=True, overwrite_a=True)
        fitted = cho_solve((factor, True), prior.transposed_times(self._moment))
        self._mean = prior.times(fitted)
        # P = L·inner⁻¹·Lᵀ with inner = C·Cᵀ, so L·C⁻ᵀ is a root
        self._root = prior.times(solve_triangular(factor, np.eye(len(factor)), lower=True).T)

    def _choose_prior(self) -> None:
        """Move to the scale and length of largest marginal likelihood of the releases; at first among all."""
        reach = len(SCALES) + self._model.lengths if self._told == CHOOSING else 1
        known = [
            (scale, length)
            for scale in range(len(SCALES))
            for length in range(self._model.lengths)
            if abs(scale - self._scale) + abs(length - self._length) <= reach
        ]
        self._scale, self._length = max(known, key=lambda option: self._evidence(*option))

    def _evidence(self, scale: int, length: int) -> float:
        """Return ln p(releases) up to a constant, −½ ln det(I + ΛJ) + ½ hᵀ(Λ⁻¹ + J)⁻¹h, plus the prior's."""
        prior = self._model.prior_root(scale, length)
        factor = cholesky(prior.around(self._information), lower=True, overwrite_a=True)
        fitted = solve_triangular(factor, prior.transposed_times(self._moment), lower=True)
        away = (scale - START[0]) ** 2 + (length - START[1]) ** 2
        return float(fitted @ fitted / 2 - np.log(np.diag(factor)).sum()) - away / 2


def clipped_variance(c: float) -> float:
    """Return E clip(Z, ±c)² of a standard normal Z: erf(c/√2) − 2cφ(c) + c²(1 − erf(c/√2))."""
    inside = erf(c / sqrt(2))
    return inside - 2 * c * exp(-(c**2) / 2) / sqrt(2 * pi) + c**2 * (1 - inside)
